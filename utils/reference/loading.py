"""From a kind's name to a model ready to run, once a kernel.

What each kind is made of lives in its own module; this one says which module that is and remembers what was loaded.
"""

import functools
from pathlib import Path

import torch

from utils.paths import pocket_dir
from utils.reference.bridge import bridge_of
from utils.reference.choice import chosen, known
from utils.reference.compact import compact_model, is_compact
from utils.reference.devices import device as the_device
from utils.reference.folders import cached_gpt2, folder_model
from utils.reference.problems import ReferenceProblem
from utils.reference.shaped import shaped_model
from utils.reference.vocabulary import tokenizer_folder


def reference(kind: str | Path | None = None, device: str | torch.device | None = None):
    """The reference model as a TransformerLens `TransformerBridge`, loaded once a kernel for each kind and device.

    Args:
        kind: "pocket", "gpt2", "gpt2-shaped", "smollm2" or a folder; None for the one chosen with `book reference`.
        device: where to put it; None for the best one present (see `device`).

    Raises:
        ReferenceProblem: the kind is unknown, or its weights are missing or broken.
        FolderProblem: the cache cannot be written.
    """
    return _load(known(str(kind)) if kind is not None else chosen(), the_device(device))


@functools.lru_cache(maxsize=4)
def _load(kind: str, device: torch.device):
    with torch.random.fork_rng(devices=[]):  # loading draws numbers; a learner's own seed must not notice
        model, tokenizer = _model(kind)
        return bridge_of(model, tokenizer, device)


def _model(kind: str):
    """The Hugging Face model and its tokenizer's folder."""
    if kind == "gpt2-shaped":
        return shaped_model(), tokenizer_folder()
    if kind == "smollm2":
        raise ReferenceProblem("The reference smollm2 is not part of this version: use pocket or gpt2.")
    folder = {"pocket": pocket_dir, "gpt2": _gpt2}.get(kind, lambda: Path(kind))()
    if is_compact(folder) or kind == "pocket":
        return compact_model(folder), tokenizer_folder()
    return folder_model(folder)


def _gpt2() -> Path:
    folder = cached_gpt2()
    if folder is None:
        raise ReferenceProblem(
            "GPT-2 small is not on this machine: run `book reference gpt2` once to fetch it, "
            "or use reference(\"pocket\"), which is always there."
        )
    return folder
