"""Copies what an answer gave to plain values, so that nothing it returns has a say in how it is compared.

Tensors become new dense ones, numbers and containers lose their own classes; whatever has no plain form becomes a
`Refused` that only says what it was. So the grader never touches an object of the learner's again. Classes are asked
through `type`, because `__class__` may lie, and methods are the base class's, because an object may have its own.
"""

import sys
import types
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from utils.grading.raised import type_name

DEEPEST = 16  # no exercise asks for a result that is nested so deep
MOST_BITS = 2**13  # of a whole number: Python itself refuses to print one of twice as many
_EXACT = frozenset({int, float, complex, str, bytes, bool, type(None), type(...), torch.dtype, torch.device})
_KINDS = {torch.nn.Parameter, torch.nn.Buffer, Tensor}
_detach, _clone, _storage = Tensor.detach, Tensor.clone, Tensor.untyped_storage
_nbytes = torch.UntypedStorage.nbytes


def is_a(value: Any, kinds: Any) -> bool:
    """isinstance by the true class of a value."""
    return issubclass(type(value), kinds)


@dataclass(frozen=True)
class Refused:
    """Stands for a value that is no tree of tensors, numbers and text. `what` it was, and what helps, in words."""

    what: str
    advice: str = ""
    is_tensor: bool = False


def plain(value: Any, depth: int = 0) -> Any:
    """A copy of a result that shares nothing with it and has no ideas of its own."""
    kind = type(value)
    if kind in _EXACT or kind is Refused:
        return value if kind is not int or value.bit_length() <= MOST_BITS else _huge(value)
    if issubclass(kind, Tensor):
        odd = odd_tensor(value)
        return Refused(odd, is_tensor=True) if odd else _clone(_detach(value), memory_format=torch.contiguous_format)
    for base in (tuple, list):  # a named tuple stands for a tuple
        if issubclass(kind, base) and depth < DEEPEST:
            return base([plain(item, depth + 1) for item in base.__iter__(value)])
    if issubclass(kind, dict) and depth < DEEPEST:
        return {_key(key): plain(item, depth + 1) for key, item in dict.items(value)}
    return _plain_leaf(value, kind)


def _huge(value: int) -> Refused:
    return Refused(f"a whole number of {value.bit_length():,} binary digits")


def _key(key: Any, depth: int = 0) -> Any:
    """A key that compares by value: plain, or a tuple of plain ones; any other becomes the words for what it is."""
    if issubclass(type(key), tuple) and depth < DEEPEST:
        return tuple(_key(part, depth + 1) for part in tuple.__iter__(key))
    found = plain(key, DEEPEST)
    return found if type(found) in _EXACT else describe(key)


def _plain_leaf(value: Any, kind: type) -> Any:
    for base, exact in ((int, int.__int__), (float, float.__float__), (str, str.__str__), (bytes, bytes.__bytes__)):
        if issubclass(kind, base):
            return plain(exact(value))
    numpy = sys.modules.get("numpy")
    if numpy is not None and (issubclass(kind, numpy.generic) or kind is numpy.ndarray and value.size == 1):
        number = value.item()
        return number if type(number) in _EXACT else Refused(describe(value))
    advice = ""
    if issubclass(kind, types.CoroutineType):
        value.close()  # nobody will await it
        advice = " Define it with def, not async def."
    elif issubclass(kind, (types.GeneratorType, types.AsyncGeneratorType)):
        advice = " Use return, not yield."
    elif numpy is not None and issubclass(kind, numpy.ndarray):
        advice = " Stay in torch: torch.from_numpy(...) turns an array into a tensor."
    return Refused(describe(value), advice)


def odd_tensor(value: Tensor) -> str | None:
    """What is odd about this tensor, in words for the learner; None for a plain dense one."""
    if type(value) not in _KINDS:
        return f"{_a(type_name(value))}, a subclass of Tensor with rules of its own"
    if torch._C._functorch.is_functorch_wrapped_tensor(value):
        return "a tensor that torch.func has wrapped, which ends with the call that made it"
    if value.is_nested:
        return "a nested tensor"
    if value.layout != torch.strided:
        return "a sparse tensor"
    if value.is_quantized:
        return "a quantized tensor"
    if value.is_meta:
        return "a tensor on the meta device, which holds no values"
    if _needs(value) > _nbytes(_storage(value)):
        return "a tensor whose memory has been taken away"
    return None


def _needs(value: Tensor) -> int:
    """The bytes of storage up to a tensor's last element."""
    if value.numel() == 0:
        return 0
    if value.is_contiguous():
        last = value.numel() - 1
    else:
        last = sum((n - 1) * step for n, step in zip(value.shape, value.stride(), strict=True))
    return (value.storage_offset() + last + 1) * value.element_size()


def describe(value: Any) -> str:
    """What a value is, in a few words: "None", "a list of 3", "a function", "a numpy array"."""
    kind = type(value)
    if value is None:
        return "None"
    if kind is Refused:
        return value.what
    for base in (tuple, list, dict, set):
        if issubclass(kind, base):
            return f"a {type_name(value)} of {base.__len__(value)}"
    if issubclass(kind, types.CoroutineType):
        return "a coroutine"
    if issubclass(kind, (types.GeneratorType, types.AsyncGeneratorType)):
        return "a generator"
    if issubclass(kind, (types.FunctionType, types.BuiltinFunctionType, types.MethodType)):
        return "a function"
    if issubclass(kind, type):
        return "a class"
    if issubclass(kind, Tensor):
        return odd_tensor(value) or f"a tensor of shape {tuple(value.shape)}"
    name = {str: "string", bytes: "bytes object"}.get(kind) or type_name(value)
    numpy = sys.modules.get("numpy")
    if numpy is not None and issubclass(kind, (numpy.ndarray, numpy.generic)):
        return f"a numpy {name}"
    return _a(name)


def _a(name: str) -> str:
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"
