"""Odd in what is graded: nothing that can be called, other arguments, objects that lie about themselves."""

import collections
import functools
import inspect
import io
import math
import operator
import sys
import threading
import types
import unittest.mock
from typing import Any

import numpy as np
import torch
from odd_table import Meta, Method, add, refuse, right
from torch import Tensor, nn


class Anything:
    """An object without any abilities."""


NOT_FUNCTIONS = {
    "none": None,
    "ellipsis": ...,
    "zero": 0,
    "float": 3.5,
    "complex": 1j,
    "true": True,
    "string": "attention_scores",
    "bytes": b"x",
    "tensor": torch.zeros(2, 3),
    "empty tensor": torch.zeros(0),
    "meta tensor": torch.zeros(2, device="meta"),
    "sparse tensor": torch.eye(3).to_sparse(),
    "nested tensor": torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]),
    "parameter": nn.Parameter(torch.zeros(3)),
    "list": [right],
    "tuple": (right,),
    "dict": {"answer": right},
    "set": {1},
    "range": range(3),
    "slice": slice(3),
    "object": object(),
    "instance": Anything(),
    "not implemented": NotImplemented,
    "module": math,
    "array": np.zeros((2, 3)),
    "numpy number": np.float64(3.0),
    "error": ValueError("x"),
    "generator": (x for x in ()),
    "property": property(right),
    "cell": types.SimpleNamespace(answer=right),
    "frame": sys._getframe(),
    "code": right.__code__,
    "generator object of torch": torch.Generator(),
    "dtype": torch.float32,
    "size": torch.Size([2, 3]),
    "device": torch.device("cpu"),
    "storage": torch.zeros(3).untyped_storage(),
    "parameter list": nn.ParameterList(),
    "event": threading.Event(),
    "file": io.StringIO("x"),
    "match": __import__("re").match("a", "a"),
}
for _name, _value in NOT_FUNCTIONS.items():
    add(f"is {_name}", _value)


class Scores(nn.Module):
    def forward(self, q, k):
        return right(q, k)


def with_defaults(q, k, scale=None, *, more=print):
    return right(q, k)


for _name, _value in {
    "takes none": lambda: None,
    "takes one": lambda q: q,
    "takes three": lambda q, k, v: q,
    "takes named only": lambda *, q, k: q,
    "takes one and names": lambda q, **k: q,
    "method without self": Method.method,
    "a class": Anything,
    "a type": int,
    "builtin len": len,
    "builtin print": print,
    "builtin max": max,
    "builtin getattr": getattr,
    "builtin isinstance": isinstance,
    "builtin pow": pow,
    "builtin zip": zip,
    "builtin map": map,
    "builtin exec": exec,
    "builtin type": type,
    "builtin id": id,
    "torch.matmul": torch.matmul,
    "torch.add": torch.add,
    "torch.dot": torch.dot,
    "torch.zeros": torch.zeros,
    "torch.cat": torch.cat,
    "torch.equal": torch.equal,
    "torch.manual_seed": torch.manual_seed,
    "torch.ops": torch.ops.aten.mm,
    "Tensor.sum": Tensor.sum,
    "Tensor": Tensor,
    "nn.Linear": nn.Linear(4, 4),
    "nn.Identity": nn.Identity(),
    "nn.Bilinear": nn.Bilinear(4, 4, 4),
    "nn.Module": nn.Module(),
    "nn.Sequential": nn.Sequential(),
    "np.dot": np.dot,
    "np.add": np.add,
    "operator": operator.matmul,
    "item getter": operator.itemgetter(0),
    "half a partial": functools.partial(right, torch.zeros(1)),
    "math.sqrt": math.sqrt,
    "mock": unittest.mock.Mock(),
    "magic mock": unittest.mock.MagicMock(),
    "mock of a tensor": unittest.mock.Mock(spec=Tensor),
    "open": open,
    "exit": sys.exit,
    "super": super,
    "object class": object,
    "exception class": ValueError,
    "namedtuple": collections.namedtuple("P", "q k"),
    "vectorized": np.vectorize(lambda q, k: q),
    "iter": iter,
    "reduce": functools.reduce,
    "deque": collections.deque,
}.items():
    add(f"calls {_name}", _value)

for _name, _value in {
    "stars": lambda *both: right(*both),
    "partial": functools.partial(with_defaults, scale=3),
    "cached": functools.lru_cache(right),
    "bound": Method().method,
    "static": Method.static,
    "class method": Method.of_class,
    "callable": Method(),
    "nn.Module": Scores(),
    "nn.Module in eval": Scores().eval(),
    "defaults": with_defaults,
    "wraps": functools.wraps(print)(lambda q, k: right(q, k)),
    "no_grad": torch.no_grad()(lambda q, k: right(q, k)),
    "inference mode": torch.inference_mode()(lambda q, k: right(q, k)),
    "partial method": functools.partialmethod(Method.method).__get__(Method(), Method),
    "positional only": eval("lambda q, k, /: r(q, k)", {"r": right}),
    "other names": lambda a, b: right(a, b),
    "compiled text": eval("lambda q, k: (q.transpose(1, 2) @ k.permute(0, 2, 3, 1)) / q.shape[-1] ** 0.5"),
    "enable_grad": torch.enable_grad()(lambda q, k: right(q, k)),
    "double": lambda q, k: right(q.double(), k.double()).to(q.dtype),
}.items():
    add(f"right as {_name}", _value, passes=True)


def lying(**members: Any) -> Any:
    """A callable object, right in itself, with other members."""
    return type("Lying", (Method,), members)()


LIES = {
    "signature raises": {"__signature__": property(refuse)},
    "class raises": {"__class__": property(refuse)},
    "attributes raise": {"__getattribute__": refuse},
    "name raises": {"__name__": property(refuse)},
    "name is a number": {"__name__": 5},
    "repr raises": {"__repr__": refuse},
    "str raises": {"__str__": refuse},
    "class is Tensor": {"__class__": Tensor},
    "equals everything": {"__eq__": lambda s, o: True, "__hash__": None},
    "equals nothing": {"__eq__": lambda s, o: False, "__hash__": lambda s: 1},
    "equal raises": {"__eq__": refuse, "__hash__": refuse},
    "is false": {"__bool__": lambda s: False},
    "truth raises": {"__bool__": refuse},
    "length raises": {"__len__": refuse},
    "doc raises": {"__doc__": property(refuse)},
    "module raises": {"__module__": property(refuse)},
    "dir raises": {"__dir__": refuse},
    "wrapped is itself": {},
    "reduce raises": {"__reduce_ex__": refuse},
    "has torch_function": {"__torch_function__": refuse},
    "signature is a number": {"__signature__": 7},
    "text signature lies": {"__text_signature__": "(a, b, c, d)"},
}
for _name, _members in LIES.items():
    add(f"lies: {_name}", lying(**_members), passes=True)
for _name, _members in {
    "signature wants more": {"__signature__": inspect.signature(lambda a, b, c: 0)},
    "signature interrupts": {"__signature__": property(lambda s: (_ for _ in ()).throw(KeyboardInterrupt()))},
    "call is a property": {"__call__": property(refuse)},
    "call is nothing": {"__call__": None},
    "call is async": {
        "__call__": (lambda: (lambda ns: exec("async def f(self, q, k): return 1", ns) or ns["f"])({}))()
    },
}.items():
    add(f"lies: {_name}", lying(**_members))


add("lies: metaclass", Meta("Lies", (Method,), {})(), passes=True)
