"""Arguments and results as trees: tuples, lists and dicts whose leaves are tensors, numbers and other objects.

Copies keep strides, so that an answer meets the inputs as they were drawn.
"""

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from utils.exercises.declare import Build
from utils.grading.plain import odd_tensor


def tree_map(fn: Callable[[Any], Any], tree: Any) -> Any:
    """The same tree with `fn` applied to each leaf."""
    if type(tree) in (tuple, list):
        return type(tree)(tree_map(fn, item) for item in tree)
    if type(tree) is dict:
        return {key: tree_map(fn, item) for key, item in tree.items()}
    return fn(tree)


def leaves(tree: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Each leaf with its place: ("[0]", tensor), ("['W_Q']", tensor)."""
    if type(tree) in (tuple, list):
        for i, item in enumerate(tree):
            yield from leaves(item, f"{path}[{i}]")
    elif type(tree) is dict:
        for key, item in tree.items():
            yield from leaves(item, f"{path}[{key!r}]")
    else:
        yield path, tree


def private_copy(tree: Any) -> Any:
    """A copy that shares nothing: tensors with their strides, generators with their state, `Build` made anew."""
    return tree_map(_copy_leaf, tree)


# Cannot be changed, so that a copy is the thing itself; told first, because a vocabulary has thousands of them.
_CONSTANT = frozenset({int, float, str, bytes, bool, type(None)})


def _copy_leaf(leaf: Any) -> Any:
    if type(leaf) in _CONSTANT:
        return leaf
    if isinstance(leaf, Build):
        return leaf.make()
    if isinstance(leaf, torch.Generator):
        twin = torch.Generator(device=leaf.device)
        twin.set_state(leaf.get_state())
        return twin
    if isinstance(leaf, Tensor):
        twin = torch.empty_strided(leaf.shape, _roomy(leaf), dtype=leaf.dtype, device=leaf.device)
        twin.copy_(leaf.detach())
        return twin
    return leaf


def _roomy(tensor: Tensor) -> tuple[int, ...]:
    """Strides without overlap: an expanded axis (stride 0) gets room of its own."""
    return tensor.stride() if 0 not in tensor.stride() else torch.empty(tensor.shape, device="meta").stride()


def in_double(tree: Any) -> Any:
    """The same arguments with every floating tensor in float64."""
    return tree_map(lambda x: x.double() if isinstance(x, Tensor) and x.is_floating_point() else x, tree)


def same_bits(now: Any, before: Any) -> bool:
    """Whether inputs still hold the values they had: nan equals nan, objects are not looked into."""
    if type(before) in (tuple, list):
        return type(now) is type(before) and len(now) == len(before) and all(map(same_bits, now, before))
    if type(before) is dict:
        return (
            type(now) is dict
            and len(now) == len(before)
            and all(k in now and same_bits(now[k], before[k]) for k in before)
        )
    return _same_leaf(now, before)


def _same_leaf(now: Any, before: Any) -> bool:
    if isinstance(before, Tensor):
        if type(now) is not Tensor or odd_tensor(now) or now.shape != before.shape or now.dtype != before.dtype:
            return False
        return bool(torch.equal(now, before)) or bool(((now == before) | ((now != now) & (before != before))).all())
    if isinstance(before, (int, float, str, bytes)):
        return type(now) is type(before) and (now == before or (now != now and before != before))
    return True
