"""What an answer did to its arguments in place: a value as it was, and whether it is so still."""

from typing import Any

import torch
from torch import Tensor

from utils.classroom.modules import Mirror


def snapshot(value: Any, sent: Any) -> Any:
    """What a value is now; `sent` is the same in memory that no answer can reach, where it has just come."""
    if isinstance(value, torch.Generator):
        return value.get_state()
    if isinstance(value, Tensor):
        return value.detach().clone() if sent is None else sent, None if value.grad is None else value.grad.clone()
    return value.copy()


def fill(value: Any, new: Any) -> None:
    """Make a value what another one is, in place."""
    if isinstance(value, Tensor):
        value.data = new
    elif isinstance(value, torch.Generator):
        value.set_state(new.get_state())
    elif isinstance(value, list):
        value[:] = new
    else:
        value.clear()
        value.update(new)


def unchanged(value: Any, was: Any) -> bool:
    """Whether a value is what its `snapshot` says."""
    if isinstance(value, Mirror):
        return False  # what is done through .data leaves no trace: a module goes back whole
    if isinstance(value, torch.Generator):
        return torch.equal(value.get_state(), was)
    if isinstance(value, Tensor):
        then, grad = was
        return _equal(value, then) and _equal(value.grad, grad)
    return _alike(value, was)


def _equal(now: Any, then: Any) -> bool:
    if now is None or then is None:
        return now is then
    if now.shape != then.shape or now.dtype != then.dtype or now.layout != torch.strided:
        return False
    return torch.equal(now, then) or bool(((now == then) | ((now != now) & (then != then))).all())


def _alike(now: Any, then: Any) -> bool:
    if len(now) != len(then):
        return False
    if isinstance(now, list):
        pairs = zip(now, then, strict=True)
        return all(a is b or type(a) is type(b) and not isinstance(a, Tensor) and a == b for a, b in pairs)
    return list(now) == list(then) and all(now[k] is then[k] for k in now)
