"""A model in a folder in the Hugging Face layout, wherever the folder came from.

GPT-2 small takes this way too, from the Hugging Face cache. Everything is checked before the loading libraries see it,
because what they say about a broken folder is a page long.
"""

import json
from pathlib import Path

import torch

from utils.reference.problems import ReferenceProblem
from utils.reference.quiet import quiet_and_offline
from utils.reference.vocabulary import tokenizer_folder
from utils.reference.weights import check_weights

GPT2_REPOSITORIES = ("openai-community/gpt2", "gpt2")
GPT2_D_VOCAB = 50257


def check_folder(folder: Path, remedy: str | None = None) -> None:
    """Raise what `folder_model` would for a file that is missing or cut short, without reading tensors.

    `remedy` ends the sentence about broken weights; it is to put a whole copy there where nothing else is said.
    """
    if not (folder / "config.json").is_file():
        raise ReferenceProblem(f"{folder} holds no config.json: give a model's folder in the Hugging Face layout.")
    for file in _weight_files(folder):
        check_weights(file, remedy or f"put a whole copy of the model in {folder}")


def folder_model(folder: Path, remedy: str | None = None):
    """The Hugging Face model in `folder` and the folder of its tokenizer; `remedy` as in `check_folder`.

    Raises:
        ReferenceProblem: there is no configuration, it is not of a model, or the weights are missing or broken.
    """
    from transformers import AutoConfig, AutoModelForCausalLM

    check_folder(folder, remedy)
    with quiet_and_offline():
        try:
            config = AutoConfig.from_pretrained(folder, local_files_only=True)
        except (OSError, ValueError, KeyError) as reason:
            raise ReferenceProblem(
                f"{folder / 'config.json'} does not describe a model that transformers knows: "
                "put a whole copy of the model there."
            ) from reason
        model, report = AutoModelForCausalLM.from_pretrained(
            folder,
            config=config,
            dtype=torch.float32,
            attn_implementation="eager",
            local_files_only=True,
            output_loading_info=True,
        )
    if missing := sorted(report["missing_keys"]):
        raise ReferenceProblem(
            f"The weights in {folder} lack {len(missing)} tensors that config.json asks for, first {missing[0]}: "
            "put a whole copy of the model there."
        )
    return model, _tokenizer_for(folder, config.vocab_size)


def cached_gpt2() -> Path | None:
    """The folder of GPT-2 small in the Hugging Face cache, or None. Never asks the network."""
    from huggingface_hub import constants, try_to_load_from_cache

    for repository in GPT2_REPOSITORIES:
        found = [
            try_to_load_from_cache(repository, name, cache_dir=constants.HF_HUB_CACHE)
            for name in ("config.json", "model.safetensors")
        ]
        if all(isinstance(path, str) for path in found):
            return Path(found[0]).parent
    return None


def fetch_gpt2(again: bool = False) -> Path:
    """Fetch GPT-2 small from the hub into the Hugging Face cache, with its progress bars, and return the folder.

    With `again`, what is in the cache is not believed: it was found broken.

    Raises:
        ReferenceProblem: the hub cannot be reached.
    """
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

    try:
        fetched = snapshot_download(
            GPT2_REPOSITORIES[0], allow_patterns=["config.json", "model.safetensors"], force_download=again
        )
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError) as reason:
        raise ReferenceProblem(
            "GPT-2 small could not be fetched from the Hugging Face hub: check the network and run "
            "`book reference gpt2` again, or give a folder that holds it with `book reference FOLDER`."
        ) from reason
    return Path(fetched)


def _weight_files(folder: Path) -> list[Path]:
    """The safetensors files of the model: one, or those that its index names."""
    index = folder / "model.safetensors.index.json"
    if not index.is_file():
        return [folder / "model.safetensors"]
    try:
        parts = json.loads(index.read_text(encoding="utf-8"))["weight_map"].values()
        return [folder / name for name in sorted(set(parts))]
    except (ValueError, KeyError, AttributeError) as reason:
        raise ReferenceProblem(f"{index} cannot be read: put a whole copy of the model in {folder}.") from reason


def _tokenizer_for(folder: Path, d_vocab: int) -> Path:
    if (folder / "tokenizer.json").is_file():
        return folder
    if d_vocab == GPT2_D_VOCAB:
        return tokenizer_folder()
    raise ReferenceProblem(
        f"{folder} holds no tokenizer.json and its vocabulary of {d_vocab:,} is not GPT-2's: put its tokenizer there."
    )
