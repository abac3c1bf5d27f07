"""Python and torch as they were when the grader was loaded, and the one door through which an answer is called.

A learner may write `torch.softmax = my_softmax`, by accident or to see what happens. The grader's own arithmetic must
not change with it: while it works, the functions it leans on are put back, and while the answer runs the learner's are.
Whatever the answer changes in turn is undone when it returns.
"""

import builtins
import inspect
import math
import random
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from operator import is_
from types import FrameType
from typing import Any

import einops
import einops.einops
import numpy
import torch
import torch.nn.functional

from utils.grading import settings, watch
from utils.grading.raised import TimeUp
from utils.grading.settings import Settings, standard

_MISSING = object()
# Changed by torch or Jupyter themselves as they work, or by a person for good reasons; none is arithmetic.
_FREE = frozenset(
    {"_dynamo", "_inductor", "grad_fn", "__doc__", "_", "__", "___", "input", "display", "help", "get_ipython"}
    | {"exit", "quit", "copyright", "credits", "license", "breakpoint", "__IPYTHON__"}
)
_PLACES = (
    builtins,
    math,
    random,
    inspect,
    torch,
    torch.nn.functional,
    torch.linalg,
    torch.nn,
    torch.nn.Module,
    numpy,
    numpy.linalg,
    einops,
    einops.einops,
    torch.Tensor,
)
_HELD = [{name: value for name, value in vars(place).items() if name not in _FREE} for place in _PLACES]
_PAIRS = list(zip(_PLACES, _HELD, strict=True))
# Looked up here, not among the built-in names, which may be the notebook's at that moment.
_all, _map, _zip, _len, _vars, _setattr, _delattr = all, map, zip, len, vars, setattr, delattr
_NOT_HERE = (__file__, settings.__file__)
_set_handler, _set_timer = signal.signal, signal.setitimer


class Patches:
    """What the notebook has changed in Python and torch; empty nearly always. `call` is the door to the answer."""

    def __init__(self, timeout: float | None = None):
        self.timeout = timeout
        self.running = False
        self.interrupts = 0
        self.seen: list[list] = []
        self.changed = self.look()

    def look(self) -> list[tuple[object, str, object, object]]:
        """What is not as it was; quick where nothing has changed since the last look."""
        now = [[*_vars(place).values()] for place in _PLACES]
        if self.seen and _all(_len(a) == _len(b) and _all(_map(is_, a, b)) for a, b in _zip(now, self.seen)):
            return self.changed
        self.seen = self.seen or now
        return [difference for difference in _differences()]

    def off(self) -> None:
        """All as it was."""
        for place, name, original, _ in self.changed:
            _put(place, name, original)

    def on(self) -> None:
        """All as the notebook left it."""
        for place, name, _, theirs in self.changed:
            _put(place, name, theirs)

    def call(self, answer: Callable, *args: Any) -> Any:
        """Call the answer in the notebook's world; undo what it changed, and go back to the grader's.

        Raises:
            TimeUp: it ran longer than `timeout` seconds.
            KeyboardInterrupt: somebody interrupted it.
            BaseException: whatever the answer raises.
        """
        if self.interrupts:
            raise KeyboardInterrupt
        before = Settings()
        timer = self._start_timer()
        self.on()
        try:
            self.running = True
            return answer(*args)
        finally:
            self.running = False
            sys.setrecursionlimit(before.recursion_limit)
            if timer is not None:
                _set_timer(signal.ITIMER_REAL, *timer)
            for place, name, original, _ in self.look():
                _put(place, name, original)
            before.put_back()

    def _start_timer(self) -> tuple[float, float] | None:
        """Rings again and again: an answer may catch what the first ring raises."""
        if self.timeout is None or threading.current_thread() is not threading.main_thread():
            return None
        return _set_timer(signal.ITIMER_REAL, self.timeout, 0.02)

    def on_signal(self, number: int, frame: FrameType | None) -> None:
        """Interrupt whatever runs, but not while settings are being put back; then it is noted for the next call."""
        in_between = frame is not None and frame.f_code.co_filename in _NOT_HERE
        if number == signal.SIGINT:
            self.interrupts += 1
            if not in_between:
                raise KeyboardInterrupt
        elif self.running and not in_between:
            raise TimeUp


class Beyond(Patches):
    """The door to an answer that runs in another process, and can change nothing in this one."""

    def __init__(self):
        self.timeout, self.changed = None, []

    def call(self, answer: Callable, *args: Any) -> Any:
        return answer(*args)


@contextmanager
def originals(timeout: float | None = None) -> Iterator[Patches]:
    """While the grader works: Python's and torch's own functions and settings, whatever the notebook did to them.

    Where answers run in another process there is no notebook here, and whoever grades has made settings `standard`.
    """
    if watch.runs_elsewhere():
        yield Beyond()
        return
    patches = Patches(timeout)
    patches.off()
    try:
        with standard(), _signals(patches):
            yield patches
    finally:
        patches.on()


@contextmanager
def _signals(patches: Patches) -> Iterator[None]:
    """Interrupts and the timer go to `patches`; only in the main thread, where signals arrive.

    Where interrupts are ignored, as in a process that was started in the background, they stay so.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = [(number, signal.getsignal(number)) for number in (signal.SIGINT, signal.SIGALRM)]
    before = [(number, now) for number, now in before if number == signal.SIGALRM or callable(now)]
    for number, _ in before:
        _set_handler(number, patches.on_signal)
    try:
        yield
    finally:
        for number, handler in before:
            _set_handler(number, handler)


def _differences() -> Iterator[tuple[object, str, object, object]]:
    """Each name that is not what it was: where, the name, what it was, what it is."""
    for place, held in _PAIRS:
        now = _vars(place)
        for name, original in held.items():
            theirs = now.get(name, _MISSING)
            if theirs is not original:
                yield place, name, original, theirs
    for name, theirs in [pair for pair in _vars(torch.Tensor).items()]:  # a new name hides the base class's
        if name not in _HELD[-1] and name not in _FREE:
            yield torch.Tensor, name, _MISSING, theirs


def _put(place: object, name: str, value: object) -> None:
    if value is not _MISSING:
        _setattr(place, name, value)
    elif name in _vars(place):
        _delattr(place, name)
