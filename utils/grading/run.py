"""Runs an answer so that nothing it does reaches the grader or the next answer.

Whatever it raises is caught, what it prints is kept short, torch's global settings and random states are put back,
and its result is copied at once.
"""

import contextlib
import io
import random
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch

PRINT_LIMIT = 2000


class TimeUp(BaseException):
    """The answer ran longer than the caller of `check` allows."""


@dataclass(frozen=True)
class Outcome:
    """What came of one run: a value or an error, and what was printed."""

    value: Any = None
    error: BaseException | None = None
    printed: str = ""

    @property
    def interrupted(self) -> bool:
        return isinstance(self.error, KeyboardInterrupt)


class Capped(io.TextIOBase):
    """Keeps the first PRINT_LIMIT characters and counts the rest."""

    def __init__(self):
        self.kept, self.total = "", 0

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        text = str(text)
        if len(self.kept) < PRINT_LIMIT:
            self.kept += text[: PRINT_LIMIT - len(self.kept)]
        self.total += len(text)
        return len(text)

    def text(self) -> str:
        more = self.total - len(self.kept)
        return self.kept + (f"\n… and {more:,} more characters" if more else "")


def run(fn: Callable[[], Any], timeout: float | None = None) -> Outcome:
    """Call `fn` alone and report what came of it. Never raises for anything `fn` does."""
    out = Capped()
    try:
        with settings_restored(), _limit(timeout), contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                value = fn()
        return Outcome(value, None, out.text())
    except BaseException as error:  # noqa: BLE001  (an answer may raise anything, SystemExit too)
        return Outcome(None, error, out.text())


@contextlib.contextmanager
def settings_restored() -> Iterator[None]:
    """Random states and torch's global settings are afterwards as they were before."""
    state = torch.get_rng_state()
    cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_available() and torch.cuda.is_initialized() else None
    python = random.getstate()
    numpy = sys.modules.get("numpy")
    numpy_state = numpy.random.get_state() if numpy is not None else None
    before = [get() for get, _ in _SETTINGS]
    try:
        yield
    finally:
        for (get, put), value in zip(_SETTINGS, before, strict=True):
            if get() != value:
                put(value)
        torch.set_rng_state(state)
        if cuda is not None:
            torch.cuda.set_rng_state_all(cuda)
        random.setstate(python)
        if numpy_state is not None:
            numpy.random.set_state(numpy_state)


def _put_device(device: torch.device) -> None:
    torch.set_default_device(None if device == torch.device("cpu") else device)


def _flag(module: object, name: str) -> tuple[Callable, Callable]:
    return (lambda: getattr(module, name)), (lambda value: setattr(module, name, value))


_SETTINGS: list[tuple[Callable, Callable]] = [
    (torch.get_default_dtype, torch.set_default_dtype),
    (torch.get_default_device, _put_device),
    (torch.is_grad_enabled, torch.set_grad_enabled),
    (torch.get_num_threads, torch.set_num_threads),
    (torch.are_deterministic_algorithms_enabled, torch.use_deterministic_algorithms),
    (torch.get_float32_matmul_precision, torch.set_float32_matmul_precision),
    (torch.is_anomaly_enabled, torch.set_anomaly_enabled),
    (sys.getrecursionlimit, sys.setrecursionlimit),
    (sys.gettrace, sys.settrace),
    (sys.getprofile, sys.setprofile),
    _flag(sys, "stdout"),
    _flag(sys, "stderr"),
    _flag(torch.backends.cuda.matmul, "allow_tf32"),
    _flag(torch.backends.cudnn, "allow_tf32"),
]


@contextlib.contextmanager
def _limit(seconds: float | None) -> Iterator[None]:
    """Raise TimeUp in the answer after this many seconds; only in the main thread, where signals arrive."""
    if seconds is None or threading.current_thread() is not threading.main_thread():
        yield
        return

    def ring(signum, frame):
        raise TimeUp()

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def describe_error(error: BaseException) -> str:
    """The error's name and text in one line, with the line of the learner's code that raised it."""
    first = (str(error).strip().splitlines() or [""])[0][:300]
    frames = [f for f in traceback.extract_tb(error.__traceback__) if not _ours(f.filename)]
    place = f' in the line "{frames[-1].line}"' if frames and frames[-1].line else ""
    return f"{type(error).__name__}{': ' + first if first else ''}{place}"


def _ours(filename: str) -> bool:
    return "/utils/grading/" in filename or "/site-packages/" in filename or filename.startswith("<frozen")
