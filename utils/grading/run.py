"""Runs an answer so that nothing it does reaches the grader or the next answer.

Whatever it raises is caught, what it prints is kept short, torch's global settings and random states are put back,
and its result is copied at once.
"""

import contextlib
import io
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch

from utils.grading.raised import TimeUp
from utils.grading.settings import TORCH
from utils.grading.watch import runs_elsewhere

PRINT_LIMIT = 2000
_getstate, _setstate = random.getstate, random.setstate  # as they were before an answer


@dataclass(frozen=True)
class Outcome:
    """What came of one run: a value or an error, and what was printed."""

    value: Any = None
    error: BaseException | None = None
    printed: str = ""

    @property
    def interrupted(self) -> bool:
        return issubclass(type(self.error), (KeyboardInterrupt, TimeUp))


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


def run(fn: Callable[[], Any], *, learners: bool = False) -> Outcome:
    """Call `fn` and report what came of it. Never raises for anything `fn` does.

    Args:
        learners: `fn` is the learner's, who may raise KeyboardInterrupt; in the book's own code it ends the grading.
    """
    out = Capped()
    try:
        with settings_restored(), contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            value = fn()
        return Outcome(value, None, out.text())
    except BaseException as error:  # noqa: BLE001  (an answer may raise anything, SystemExit too)
        if not learners and type(error) is KeyboardInterrupt:
            raise
        return Outcome(None, error, out.text())


def settings_now() -> tuple[list[tuple[Callable, Callable, Any]], Any]:
    """What `settings_restored` puts back beside torch's random states: how to read and write each setting and its
    value, and Python's random state.

    numpy's state, which takes long to read, is put back once, after the whole grading. An answer that runs in another
    process can reach no settings of this one, and of its random states torch's alone.
    """
    if runs_elsewhere():
        return [], None
    return [(get, put, get()) for get, put in TORCH], _getstate()


@contextlib.contextmanager
def settings_restored(before: tuple | None = None) -> Iterator[None]:
    """Random states and torch's settings are afterwards as they were before, so that every run begins alike.

    Args:
        before: what `settings_now` gave, where nothing can have changed since.
    """
    state = torch.get_rng_state()
    cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else None
    settings, python = before or settings_now()
    try:
        yield
    finally:
        for get, put, value in settings:
            now = get()
            if now is not value and now != value:
                put(value)
        torch.set_rng_state(state)
        if cuda is not None:
            torch.cuda.set_rng_state_all(cuda)
        if python is not None:
            _setstate(python)
