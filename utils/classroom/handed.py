"""What the inside may know and ask of an object of the book that an answer is handed: public values and methods."""

from types import FunctionType, SimpleNamespace
from typing import Any

import torch
from torch import Tensor

_SPECIAL = ("__call__", "__len__", "__getitem__")


def looks(value: Any) -> Any:
    """When this is the same as the last time, so is the value, and it need not be sent again."""
    if isinstance(value, Tensor):
        return value._version, value.data_ptr(), value.dtype, value.shape
    if isinstance(value, torch.Generator):
        return bytes(value.get_state().numpy())
    if isinstance(value, list):
        return [id(item) for item in value]
    return [(id(key), id(item)) for key, item in value.items()]


def methods(value: Any) -> list[str]:
    """The public methods that the book's own class of an object defines."""
    if isinstance(value, FunctionType):
        return ["__call__"]
    names = {
        name
        for kind in type(value).__mro__
        if kind.__module__.startswith("utils.")
        for name, held in vars(kind).items()
        if isinstance(held, FunctionType) and (not name.startswith("_") or name in _SPECIAL)
    }
    return sorted(names)


def is_simple(value: Any) -> bool:
    if value is None or isinstance(value, (bool, int, float, str, torch.dtype, torch.device)):
        return True
    if isinstance(value, SimpleNamespace) or type(value).__module__.startswith("utils.exercises"):
        return not callable(value) and all(is_simple(v) or isinstance(v, Tensor) for v in _public(value).values())
    return False


def _public(value: Any) -> dict[str, Any]:
    return {name: getattr(value, name) for name in dir(value) if not name.startswith("_")}


def namespace(value: Any) -> SimpleNamespace:
    return SimpleNamespace(**_public(value))
