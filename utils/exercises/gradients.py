"""Whether gradients flow through an answer, where a later chapter trains through it.

Only that the same gradient comes back as through the book's own answer: what it is worth is for chapter 08.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

CUT_OFF = (
    "No gradient flows through the answer, so that a model could not learn through it: is there a detach, .data, "
    "no_grad "
    "or a trip through numpy?"
)


def gradient_fault(answer: Callable, oracle: Callable, **arguments: Any) -> str | None:
    """The sentence that says which gradient is missing or wrong; None where all are those of the oracle.

    Args:
        arguments: by name, in the answer's order; floating tensors, and those in a dict, are differentiated.
    """
    with torch.enable_grad():
        theirs, ours = _gradients(answer, arguments), _gradients(oracle, arguments)
    if theirs is None:
        return CUT_OFF
    missing = [name for name, gradient in ours.items() if gradient is not None and theirs[name] is None]
    if missing:
        return f"No gradient reaches {', '.join(missing)}."
    for name, gradient in ours.items():
        if gradient is None:
            continue
        gap, size = float((theirs[name] - gradient).abs().max()), float(gradient.abs().max())
        if gap > 1e-3 * size + 1e-6:
            return f"The gradient of {name} is not that of a right answer: is a part of the calculation detached?"
    return None


def _gradients(fn: Callable, arguments: dict[str, Any]) -> dict[str, Tensor | None] | None:
    """The gradients of a fixed weighted sum of the result, by name; None where it cannot be differentiated."""
    found: dict[str, Tensor] = {}

    def ready(name: str, value: Any) -> Any:
        if isinstance(value, dict):
            return {key: ready(key, item) for key, item in value.items()}
        if not (isinstance(value, Tensor) and value.is_floating_point()):
            return value
        found[name] = value.detach().clone().requires_grad_()
        return found[name]

    out = fn(*(ready(name, value) for name, value in arguments.items()))
    if not (isinstance(out, Tensor) and out.requires_grad):
        return None
    weights = torch.arange(1, out.numel() + 1, dtype=out.dtype, device=out.device).sin().view(out.shape)
    gradients = torch.autograd.grad((out * weights).sum(), list(found.values()), allow_unused=True)
    return dict(zip(found, gradients, strict=True))
