"""Whether gradients flow through an answer, where a later chapter trains through it.

Only that the same gradient comes back as through the book's own answer: what it is worth is for chapter 08.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from utils.exercises.declare import Unfit

Gradients = dict[str, Tensor | None]

CUT_OFF = (
    "No gradient flows through the answer, so that a model could not learn through it: is there a detach, .data, "
    "no_grad or a trip through numpy?"
)


def gradient_fault(answer: Callable, oracle: Callable, *, unseen: tuple[str, ...] = (), **arguments: Any) -> str | None:
    """The sentence that says which gradient is missing or wrong; None where all are those of the oracle.

    Args:
        unseen: names of arguments that do not change the result, so that an answer may leave them out.
        arguments: by name, in the answer's order; floating tensors, and those in a dict, are differentiated.
    """
    with torch.enable_grad():
        theirs, ours = _gradients(answer, arguments), _gradients(oracle, arguments)
    left_out = {name: torch.zeros_like(ours[name]) for name in unseen if theirs[name] is None}
    return difference(theirs | left_out, ours)


def difference(theirs: Gradients, ours: Gradients) -> str | None:
    """What of an answer's gradients, by name, differs from the oracle's."""
    missing = [name for name, gradient in ours.items() if gradient is not None and theirs[name] is None]
    if missing:
        return f"No gradient reaches {', '.join(missing)}."
    sizes = {name: float(gradient.abs().max()) for name, gradient in ours.items() if gradient is not None}
    rounding = 1e-5 * max(sizes.values())  # all that is left of a gradient that cancels, as b_K's does
    for name, size in sizes.items():
        if float((theirs[name] - ours[name]).abs().max()) > 1e-3 * size + rounding:
            return f"The gradient of {name} is not that of a right answer: is a part of the calculation detached?"
    return None


def weighted_sum(out: Any) -> Tensor:
    """A number that depends on every entry of a result, each in its own way.

    Raises:
        Unfit: the result cannot be differentiated.
    """
    if not isinstance(out, Tensor):
        raise Unfit(f"No gradient can flow back from a {type(out).__name__}: the result must be a tensor.")
    if not out.requires_grad:
        raise Unfit(CUT_OFF)
    return (out * torch.arange(1, out.numel() + 1, dtype=out.dtype, device=out.device).sin().view(out.shape)).sum()


def _gradients(fn: Callable, arguments: dict[str, Any]) -> Gradients:
    """The gradients of a fixed weighted sum of the result, by name."""
    found: dict[str, Tensor] = {}

    def ready(name: str, value: Any) -> Any:
        if isinstance(value, dict):
            return {key: ready(key, item) for key, item in value.items()}
        if not (isinstance(value, Tensor) and value.is_floating_point()):
            return value
        found[name] = value.detach().clone().requires_grad_()
        return found[name]

    total = weighted_sum(fn(*(ready(name, value) for name, value in arguments.items())))
    return dict(zip(found, torch.autograd.grad(total, list(found.values()), allow_unused=True), strict=True))
