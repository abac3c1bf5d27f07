"""From a kind's name to a model ready to run, once a kernel.

What each kind is made of lives in its own module; this one says which module that is and remembers what was loaded.
"""

import functools
from pathlib import Path

import torch

from utils.paths import pocket_dir
from utils.reference.bridge import bridge_of
from utils.reference.choice import chosen, known
from utils.reference.compact import check_compact, compact_model, is_compact
from utils.reference.devices import device as the_device
from utils.reference.folders import cached_gpt2, check_folder, folder_model
from utils.reference.modern import is_converted, shipped_weights, smollm2_folder
from utils.reference.problems import ReferenceProblem
from utils.reference.shaped import shaped_model
from utils.reference.vocabulary import tokenizer_folder

_REMEDIES = {
    "gpt2": "run `book reference gpt2` to fetch it again",
    "smollm2": "remove the folder that it is in, and it is made again",
}


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


def check(kind: str) -> None:
    """Raise what `reference(kind)` would for weights that are missing or broken, without loading or making any."""
    if kind == "gpt2-shaped":
        return
    if kind == "smollm2" and not is_converted():
        shipped_weights()
        return
    folder = _folder_of(kind)
    if kind == "pocket" or is_compact(folder):
        check_compact(folder)
    else:
        check_folder(folder, _REMEDIES.get(kind))


def _model(kind: str):
    """The Hugging Face model and its tokenizer's folder."""
    if kind == "gpt2-shaped":
        return shaped_model(), tokenizer_folder()
    folder = _folder_of(kind)
    if kind == "pocket" or is_compact(folder):
        return compact_model(folder), tokenizer_folder()
    return folder_model(folder, _REMEDIES.get(kind))


def _folder_of(kind: str) -> Path:
    places = {"pocket": pocket_dir, "gpt2": _gpt2, "smollm2": smollm2_folder}
    return places[kind]() if kind in places else Path(kind)


def _gpt2() -> Path:
    folder = cached_gpt2()
    if folder is None:
        raise ReferenceProblem(
            "GPT-2 small is not on this machine: run `book reference gpt2` once to fetch it, "
            'or use reference("pocket"), which is always there.'
        )
    return folder
