"""Odd in what they raise or print, or in never ending, or in giving another result each time."""

import asyncio
import contextlib
import itertools
import math
import queue
import random
import sys
import threading
import time
from typing import Any

import numpy as np
import torch
from odd_table import add, refuse, right
from torch import nn


def lazily(error: Any) -> Any:
    """A function that raises what `error()` makes."""

    def answer(q, k):
        raise error()

    return answer


class Untellable(Exception):
    __str__ = __repr__ = refuse


class Pretending(Exception):
    __class__ = property(refuse)
    __traceback__ = property(refuse)


class TextInDisguise(Exception):
    def __str__(self):
        return type("Text", (str,), {"strip": refuse, "splitlines": refuse, "__format__": refuse})("shown")


def in_a_circle():
    a, b = ValueError("a"), ValueError("b")
    a.__cause__, b.__cause__ = b, a
    return a


ERRORS = {
    "ValueError": lambda: ValueError("wrong"),
    "Exception": Exception,
    "BaseException": BaseException,
    "KeyboardInterrupt": KeyboardInterrupt,
    "SystemExit": SystemExit,
    "SystemExit 1": lambda: SystemExit(1),
    "SystemExit text": lambda: SystemExit("bye"),
    "GeneratorExit": GeneratorExit,
    "StopIteration": lambda: StopIteration(3),
    "StopAsyncIteration": StopAsyncIteration,
    "MemoryError": MemoryError,
    "RecursionError": RecursionError,
    "AssertionError": AssertionError,
    "OSError": lambda: OSError(2, "No such file", "/x"),
    "UnicodeError": lambda: UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"),
    "cancelled": asyncio.CancelledError,
    "group": lambda: ExceptionGroup("two", [ValueError("a"), KeyError("b")]),
    "base group": lambda: BaseExceptionGroup("two", [KeyboardInterrupt()]),
    "no text": Untellable,
    "pretending": Pretending,
    "text in disguise": TextInDisguise,
    "long text": lambda: ValueError("x" * 10**6),
    "many lines": lambda: ValueError("a\nb\n" * 1000),
    "markup": lambda: ValueError("<script>alert(1)</script>"),
    "terminal codes": lambda: ValueError("\x1b[2J\x1b]0;gone\x07"),
    "in a circle": in_a_circle,
    "warning": lambda: UserWarning("as an error"),
    "syntax": lambda: SyntaxError("bad", ("f", 1, 1, "x", 1, 1)),
    "KeyError": lambda: KeyError("W_Q"),
    "no arguments": lambda: ValueError(),
    "empty text": lambda: ValueError(""),
    "other arguments": lambda: ValueError(1, [2], {3: torch.zeros(2)}),
    "torch's memory": lambda: torch.OutOfMemoryError("CUDA out of memory"),
    "name in disguise": lambda: type("TimeUp", (Exception,), {})(),
}
for _name, _error in ERRORS.items():
    add(f"raises {_name}", lazily(_error))


def without_end(q, k):
    return without_end(q, k)


def without_end_by_objects(q, k):
    class Loop:
        def __getattr__(self, name):
            return getattr(self, name + "x")

    return Loop().x


def by_exec(q, k):
    exec("def f(:\n pass")


def prints_a_megabyte(q, k):
    print("x" * 2**20)
    for i in range(20_000):
        print(i)
    sys.stderr.write("y" * 2**20)
    return right(q, k)


def writes_bytes(q, k):
    sys.stdout.buffer.write(b"x")


for _name, _value in {
    "recursion": without_end,
    "recursion by attributes": without_end_by_objects,
    "sys.exit": lambda q, k: sys.exit(3),
    "exit": lambda q, k: sys.exit("done"),
    "zero division": lambda q, k: 1 / 0,
    "assert": lambda q, k: (_ for _ in ()).throw(AssertionError),
    "broken text": by_exec,
    "index": lambda q, k: q[99],
    "shape": lambda q, k: q @ k.mT[..., :1, :],
    "dtype": lambda q, k: q @ k.long(),
    "name": lambda q, k: not_defined,
    "attribute": lambda q, k: q.shapes,
    "device": lambda q, k: q.to("cuda:99"),
    "memory of torch": lambda q, k: torch.empty(2**60),  # noqa: F821
    "memory": lambda q, k: bytearray(2**62),
    "memory of lists": lambda q, k: [0] * 2**62,
    "import": lambda q, k: __import__("no_such_module_at_all"),
    "file": lambda q, k: open("/no/such/file"),
    "input": lambda q, k: input(),
    "bytes to stdout": writes_bytes,
    "einsum": lambda q, k: torch.einsum("nonsense", q, k),
    "lock twice": lambda q, k: threading.Lock().release(),
    "unpack": lambda q, k: [a for a, b, c in [(1, 2)]],
    "call a tensor": lambda q, k: q(k),
    "overflow": lambda q, k: math.exp(1e9),
    "int of text": lambda q, k: int("9" * 10**5),
    "asyncio": lambda q, k: asyncio.run(right),
}.items():
    add(f"fails by {_name}", _value)
add("prints a megabyte", prints_a_megabyte, passes=True)


def catches_everything(q, k):
    n = 0
    while True:
        try:
            n += 1
        except BaseException:
            pass


def never(q, k):
    while True:
        pass


def prints_for_ever(q, k):
    while True:
        print("and on")


def cleans_up_slowly(q, k):
    try:
        never(q, k)
    finally:
        time.sleep(1e6)


for _name, _value in {
    "loop": never,
    "loop that catches": catches_everything,
    "sleep": lambda q, k: time.sleep(1e6),
    "prints": prints_for_ever,
    "lock": lambda q, k: [lock.acquire() for lock in [threading.Lock()] * 2],
    "queue": lambda q, k: queue.Queue().get(),
    "thread": lambda q, k: [
        t.start() or t.join() for t in [threading.Thread(target=threading.Event().wait, daemon=True)]
    ],
    "slow end": cleans_up_slowly,
    "tensors": lambda q, k: [q + 1 for _ in itertools.count() if False or q is None],
    "suppressed": lambda q, k: [
        contextlib.suppress(BaseException).__exit__(None, None, None) for _ in itertools.repeat(0) if q is None
    ],
}.items():
    add(f"never ends: {_name}", _value, timeout=0.05, says="time was up")


class Dropped(nn.Module):
    def __init__(self):
        super().__init__()
        self.dropout = nn.Dropout(0.5)

    def forward(self, q, k):
        return self.dropout(right(q, k))


class Counting:
    calls = 0

    def __call__(self, q, k):
        self.calls += 1
        return right(q, k) + self.calls


add("dropout in training", Dropped(), says="randomness")
add("dropout in eval", Dropped().eval(), passes=True)
add("random numbers", lambda q, k: right(q, k) + torch.randn(()), says="randomness")
add("numpy's random numbers", lambda q, k: right(q, k) + float(np.random.randn()), says="randomness")
add("python's random numbers", lambda q, k: right(q, k) + random.random(), says="randomness")
add("counts its calls", Counting(), says="call")


async def later(q, k):
    return right(q, k)


class Unwritten(NotImplementedError):
    __str__ = refuse


add("raises NotImplementedError without text", lazily(Unwritten))
add("async", later, says="async")
add("generator function", lambda q, k: (yield right(q, k)))
