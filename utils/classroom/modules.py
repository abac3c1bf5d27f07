"""A module on one side of the wall and its mirror on the other: the same parameters and buffers under the same names.

Only what has changed since the last time is sent. Parameters that are one tensor under two names stay one.
"""

from typing import Any

import torch
from torch import Tensor, nn

Stamps = dict[str, tuple]


class Mirror(nn.Module):
    """Stands for a module beyond the wall: its own tensors, the other's forward."""

    def __init__(self, peer: Any, number: int, state: dict, attributes: dict[str, Any] | None = None):
        super().__init__()
        self.__dict__.update(_peer=peer, _number=number, _given=attributes, _first={})
        for name, value in (attributes or {}).items():
            setattr(self, name, value)
        apply_state(self, state)
        self.__dict__["_first"] = {name: tensor for name, tensor, _ in _entries(self)}

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self._peer.run_mirror(self, args, kwargs)

    def __deepcopy__(self, memo: dict) -> "Mirror":
        """Another mirror of the same module, with tensors of its own; its forward puts them into the module first."""
        state = state_of(self, {})
        entries = [(*e[:3], e[3].clone(), *e[4:]) if e[2] == "value" else e for e in state["entries"]]
        return Mirror(self._peer, self._number, state | {"entries": entries}, self._given)


def _entries(module: nn.Module) -> list[tuple[str, Tensor, bool]]:
    parameters = [(name, p, True) for name, p in module.named_parameters(remove_duplicate=False)]
    return parameters + [(name, b, False) for name, b in module.named_buffers(remove_duplicate=False)]


def _stamp(tensor: Tensor) -> tuple:
    grad = tensor.grad
    own = (id(tensor), tensor._version, tensor.data_ptr(), tensor.dtype, tensor.shape, tensor.requires_grad)
    return own if grad is None else (*own, id(grad), grad._version, grad.data_ptr())


def stamp(module: nn.Module) -> Stamps:
    """What the tensors of a module look like now: when a stamp is the same, so is the tensor."""
    return {name: _stamp(tensor) for name, tensor, _ in _entries(module)}


def state_of(module: nn.Module, known: Stamps, shared: dict[int, int] | None = None) -> dict[str, Any]:
    """What has changed since `known`, which is brought up to date.

    Args:
        shared: numbers by memory address of tensors that the other side has too, whose memory a parameter may share.
    """
    entries: list[tuple] = []
    first: dict[int, str] = {}
    for name, tensor, is_parameter in _entries(module):
        now = _stamp(tensor)
        if known.get(name) == now:
            first.setdefault(id(tensor), name)
            continue
        known[name] = now
        if id(tensor) in first:
            entries.append((name, is_parameter, "same", first[id(tensor)]))
            continue
        first[id(tensor)] = name
        grad = None if tensor.grad is None else tensor.grad.detach()
        alias = (shared or {}).get(tensor.data_ptr()) if tensor.numel() else None
        first_one = getattr(module, "_first", {}).get(name, tensor)
        about = (tensor.requires_grad, grad, alias, first_one is not tensor)
        entries.append((name, is_parameter, "value", tensor.detach(), *about))
    return {"entries": entries, "training": module.training}


def apply_state(module: nn.Module, state: dict[str, Any], aliases: dict[int, Tensor] | None = None) -> None:
    """Make a module's tensors what `state` says; those that are there and fit are filled, not replaced."""
    held = {name: tensor for name, tensor, _ in _entries(module)}
    for name, is_parameter, how, *rest in state["entries"]:
        if how == "same":
            _put(module, name, held[rest[0]], is_parameter)
            held[name] = held[rest[0]]
            continue
        value, requires_grad, grad, alias, is_new = rest
        there = None if is_new else held.get(name)
        if alias is not None and aliases and alias in aliases:
            value = aliases[alias].detach()
        if there is None or isinstance(there, nn.Parameter) is not is_parameter:
            there = nn.Parameter(value, requires_grad=requires_grad) if is_parameter else value
            _put(module, name, there, is_parameter)
            held[name] = there
        elif alias is not None and aliases or there.shape != value.shape or there.dtype != value.dtype:
            there.data = value
        else:
            with torch.no_grad():
                there.copy_(value)
        if is_parameter:
            there.requires_grad_(requires_grad)
            there.grad = grad
    if module.training is not state["training"]:
        module.train(state["training"])


def _put(module: nn.Module, name: str, tensor: Tensor, is_parameter: bool) -> None:
    *path, last = name.split(".")
    place = module
    for part in path:
        if part not in place._modules:
            place.add_module(part, nn.Module())
        place = place._modules[part]
    if is_parameter:
        place._parameters[last] = tensor
    elif last in place._buffers:
        place._buffers[last] = tensor
    else:
        place.register_buffer(last, tensor)
