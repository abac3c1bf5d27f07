"""Odd in what they return."""

import asyncio
import collections
import itertools
import math
import types
import unittest.mock
from typing import Any

import numpy as np
import torch
from odd_table import AlwaysEqual, Meta, add, emptied, refuse, right
from torch import Tensor, nn


class Subclass(Tensor):
    """Kept through every operation, as a subclass is."""


class NeverAnswers(Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        raise ValueError("not with me")


class LyingInt(int):
    __eq__ = lambda self, other: True  # noqa: E731
    __hash__ = int.__hash__


class LyingList(list):
    __len__ = lambda self: 10**9  # noqa: E731
    __iter__ = lambda self: itertools.repeat(torch.zeros(1))  # noqa: E731


class LyingDict(dict):
    items = keys = values = refuse


def with_own_methods(q, k):
    out = right(q, k) + 1
    out.detach = out.clone = out.double = lambda *a, **n: right(q, k)
    return out


def deep(n: int) -> list:
    out: list = []
    for _ in range(n):
        out = [out]
    return out


def itself() -> list:
    out: list = []
    out.append(out)
    return out


def of_class(cls: Any) -> Any:
    """An object whose __class__ says that it is another's."""
    return type("Pretender", (), {"__class__": cls, "__getattr__": refuse})()


async def _nothing():
    return 1


async def _endless():
    yield 1


RESULTS = {
    "none": lambda q, k: None,
    "true": lambda q, k: True,
    "number": lambda q, k: 3.14,
    "complex number": lambda q, k: 1j,
    "string": lambda q, k: "scores",
    "bytes": lambda q, k: b"",
    "empty list": lambda q, k: [],
    "empty tuple": lambda q, k: (),
    "dict": lambda q, k: {"scores": right(q, k)},
    "set": lambda q, k: {1},
    "frozenset": lambda q, k: frozenset((1,)),
    "object": lambda q, k: object(),
    "class": lambda q, k: Tensor,
    "function": lambda q, k: right,
    "lambda": lambda q, k: lambda: right(q, k),
    "ellipsis": lambda q, k: ...,
    "not implemented": lambda q, k: NotImplemented,
    "list of tensors": lambda q, k: list(right(q, k)),
    "one in a list": lambda q, k: [right(q, k)],
    "one in a tuple": lambda q, k: (right(q, k),),
    "with a remark": lambda q, k: (right(q, k), "done"),
    "nested lists": lambda q, k: right(q, k).tolist(),
    "array": lambda q, k: right(q, k).numpy(),
    "numpy number": lambda q, k: np.float32(1),
    "masked array": lambda q, k: np.ma.masked_array([1.0]),
    "object array": lambda q, k: np.array([right], dtype=object),
    "record": lambda q, k: np.rec.array([(1, 2)]),
    "memory view": lambda q, k: memoryview(b"abc"),
    "zero axes": lambda q, k: right(q, k).sum(),
    "zero size": lambda q, k: right(q, k)[:0],
    "zero keys": lambda q, k: right(q, k)[..., :0],
    "empty": lambda q, k: torch.empty(0),
    "one axis more": lambda q, k: right(q, k)[None],
    "flat": lambda q, k: right(q, k).flatten(),
    "booleans": lambda q, k: right(q, k) > 0,
    "whole numbers": lambda q, k: right(q, k).long(),
    "bytes tensor": lambda q, k: right(q, k).to(torch.uint8),
    "complex": lambda q, k: right(q, k).to(torch.complex64),
    "conjugate": lambda q, k: right(q, k).to(torch.complex64).conj(),
    "complex view": lambda q, k: torch.view_as_complex(right(q, k)[..., None].expand(-1, -1, -1, -1, 2).contiguous()),
    "sparse": lambda q, k: right(q, k).to_sparse(),
    "sparse rows": lambda q, k: right(q, k)[0, 0].to_sparse_csr(),
    "sparse columns": lambda q, k: right(q, k)[0, 0].to_sparse_csc(),
    "quantized": lambda q, k: torch.quantize_per_tensor(right(q, k).float(), 0.1, 0, torch.qint8),
    "nested": lambda q, k: torch.nested.nested_tensor(list(right(q, k))),
    "jagged": lambda q, k: torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], layout=torch.jagged),
    "meta": lambda q, k: right(q, k).to("meta"),
    "float64": lambda q, k: right(q, k).double(),
    "float16": lambda q, k: right(q, k).half(),
    "bfloat16": lambda q, k: right(q, k).bfloat16(),
    "float8": lambda q, k: right(q, k).to(torch.float8_e4m3fn),
    "other float8": lambda q, k: right(q, k).to(torch.float8_e5m2),
    "nan": lambda q, k: right(q, k) * math.nan,
    "inf": lambda q, k: right(q, k) + math.inf,
    "minus inf": lambda q, k: right(q, k) - math.inf,
    "some nan": lambda q, k: right(q, k).masked_fill(right(q, k) > 0.5, math.nan),
    "constant": lambda q, k: torch.zeros(()).expand_as(right(q, k)),
    "itself in a list": lambda q, k: itself(),
    "deep list": lambda q, k: deep(10_000),
    "deeper list": lambda q, k: deep(100),
    "lying list": lambda q, k: LyingList([1]),
    "lying dict": lambda q, k: LyingDict(a=1),
    "lying int": lambda q, k: LyingInt(1),
    "generator": lambda q, k: (row for row in right(q, k)),
    "map": lambda q, k: map(right, q, k),
    "iterator": lambda q, k: iter(right(q, k)),
    "zip": lambda q, k: zip(q, k, strict=False),
    "enumerate": lambda q, k: enumerate(q),
    "coroutine": lambda q, k: _nothing(),
    "async generator": lambda q, k: _endless(),
    "endless iterator": lambda q, k: itertools.count(),
    "future": lambda q, k: asyncio.Future(loop=asyncio.new_event_loop()),
    "the input": lambda q, k: q,
    "the other input": lambda q, k: k,
    "view of the input": lambda q, k: q.transpose(1, 2),
    "window on the input": lambda q, k: q.as_strided(right(q, k).shape, (0, 0, 0, 0)),
    "both inputs": lambda q, k: (q, k),
    "size": lambda q, k: q.shape,
    "dtype": lambda q, k: q.dtype,
    "device": lambda q, k: q.device,
    "storage": lambda q, k: q.untyped_storage(),
    "subclass": lambda q, k: right(q, k).as_subclass(Subclass),
    "always equal": lambda q, k: torch.zeros_like(right(q, k)).as_subclass(AlwaysEqual),
    "never answers": lambda q, k: right(q, k).as_subclass(NeverAnswers),
    "own methods": with_own_methods,
    "storage taken away": lambda q, k: emptied(right(q, k)),
    "storage cut": lambda q, k: emptied(right(q, k), 8),
    "mock of a tensor": lambda q, k: unittest.mock.Mock(spec=Tensor),
    "magic mock": lambda q, k: unittest.mock.MagicMock(),
    "says Tensor": lambda q, k: of_class(Tensor),
    "says list": lambda q, k: of_class(list),
    "says dict": lambda q, k: of_class(dict),
    "says float": lambda q, k: of_class(float),
    "says tuple": lambda q, k: of_class(tuple),
    "class raises": lambda q, k: type("R", (), {"__class__": property(refuse), "__repr__": refuse})(),
    "metaclass": lambda q, k: Meta("M", (), {})(),
    "wrapped by vmap": lambda q, k: leaked_from_vmap(q),
    "wrapped by grad": lambda q, k: leaked_from_grad(q),
    "fake": lambda q, k: fake(q),
    "named tuple": lambda q, k: collections.namedtuple("P", "a b")(q, k),
    "ordered dict": lambda q, k: collections.OrderedDict(a=q),
    "default dict": lambda q, k: collections.defaultdict(list),
    "lazy parameter": lambda q, k: nn.UninitializedParameter(),
    "module": lambda q, k: nn.Linear(2, 2),
    "distribution": lambda q, k: torch.distributions.Normal(0.0, 1.0),
    "error": lambda q, k: ValueError("as a value"),
    "raw bytes": lambda q, k: right(q, k).numpy().tobytes(),
    "transposed": lambda q, k: right(q, k).mT,
    "negative view": lambda q, k: torch.complex(right(q, k).float(), -right(q, k).float()).conj().imag * 2,
    "script": lambda q, k: types.ModuleType("m"),
    "more than memory seems": lambda q, k: torch.zeros(()).expand(10**6, 10**6),
    "many axes": lambda q, k: torch.zeros((1,) * 60),
    "huge number": lambda q, k: 10**400,
    "huge list": lambda q, k: [0.0] * 10**5,
    "surrogates": lambda q, k: "\ud800\x00\x1b[31m",
}
for _name, _value in RESULTS.items():
    add(f"gives {_name}", _value)

for _name, _value in {
    "a parameter": lambda q, k: nn.Parameter(right(q, k)),
    "a leaf": lambda q, k: right(q, k).requires_grad_(),
    "a graph": lambda q, k: right(q.requires_grad_(), k),
    "a buffer": lambda q, k: nn.Buffer(right(q, k)),
    "other strides": lambda q, k: right(q, k).mT.contiguous().mT,
    "an expanded view": lambda q, k: right(q, k)[None].expand(3, -1, -1, -1, -1)[1],
    "part of a larger one": lambda q, k: torch.cat([right(q, k)] * 2)[: len(q)],
    "attributes": lambda q, k: (out := right(q, k)) is not setattr(out, "note", refuse) and out,
    "an offset view": lambda q, k: torch.cat([torch.zeros_like(right(q, k))[:1], right(q, k)])[1:],
}.items():
    add(f"gives {_name}, which is right", _value, passes=True)


def leaked_from_vmap(q):
    kept = []
    torch.func.vmap(lambda x: kept.append(x) or x)(q)
    return kept[0]


def leaked_from_grad(q):
    kept = []
    torch.func.grad(lambda x: kept.append(x) or x.sum())(q)
    return kept[0]


def fake(q):
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode() as mode:
        return mode.from_tensor(q)
