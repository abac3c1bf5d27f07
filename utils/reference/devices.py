"""Which device the book computes on, said once.

CUDA where there is one, else the CPU. Apple's MPS only when asked for: it has no float64, which the grader needs for
its tolerances, and TransformerLens does not choose it by itself either.
"""

import os

import torch

from utils.reference.problems import ReferenceProblem


def device(name: str | torch.device | None = None) -> torch.device:
    """The device named, or the one in BOOK_DEVICE, or the best one present.

    >>> device("cpu")
    device(type='cpu')

    Raises:
        ReferenceProblem: the name is unknown, or this machine has no such device.
    """
    asked = str(name or os.environ.get("BOOK_DEVICE") or "")
    if not asked:
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        chosen = torch.device(asked)
    except RuntimeError:
        chosen = None
    if chosen is None or chosen.type not in ("cuda", "mps", "cpu"):
        raise ReferenceProblem(f"'{asked}' is not a device this book knows: use cuda, mps or cpu.")
    if not _present(chosen):
        raise ReferenceProblem(f"This machine has no device '{asked}': use cpu, or leave BOOK_DEVICE unset.")
    return chosen


def _present(chosen: torch.device) -> bool:
    if chosen.type == "cuda":
        return torch.cuda.is_available() and (chosen.index or 0) < torch.cuda.device_count()
    if chosen.type == "mps":
        return torch.backends.mps.is_available()
    return True
