"""Runs a learner's cells, within a time, and puts what they raise into words and plain values."""

import ast
import builtins
import contextlib
import linecache
import signal
import traceback
from collections.abc import Iterator
from typing import Any

from IPython.core.inputtransformer2 import TransformerManager

from utils.classroom.inside import book
from utils.classroom.wire import WireError
from utils.grading.raised import TimeUp
from utils.grading.run import Capped

_transformer = TransformerManager()
MOST_TOLD = 600  # characters of an error's text


def run_cell(names: dict[str, Any], key: str, source: str, seconds: float) -> str | None:
    """Run a cell in the notebook's names, within so many processor seconds: the error that ended it, or None."""
    name = f"<cell {key}>"
    names["get_ipython"] = lambda: book.Shell(names)
    try:
        source = _without_magics(source)
    except Exception as error:
        return f"{type(error).__name__}: {text_of(error)}"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    try:
        with alarm(seconds), contextlib.redirect_stdout(Capped()), contextlib.redirect_stderr(Capped()):
            exec(compile(source, name, "exec", dont_inherit=True), names)
    except BaseException as error:  # noqa: BLE001  (a cell may raise anything)
        if isinstance(error, WireError):
            raise
        return f"{type(error).__name__}: {text_of(error)}"
    return None


def _without_magics(source: str) -> str:
    """A cell as Python: IPython's own lines are calls of `get_ipython`, where the cell is not Python without that."""
    try:
        compile(source, "cell", "exec", flags=ast.PyCF_ONLY_AST, dont_inherit=True)
        return source
    except SyntaxError:
        return _transformer.transform_cell(source)


@contextlib.contextmanager
def alarm(seconds: float | None) -> Iterator[None]:
    """Raise TimeUp after so many processor seconds, again and again, for an answer may catch it.

    A busy machine takes no time from an answer in this way; one that only waits is ended from outside.
    """
    if seconds is None:
        yield
        return

    on = [True]

    def ring(number: int, frame: Any) -> None:
        if on:
            raise TimeUp

    signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, seconds, 0.05)
    try:
        yield
    finally:
        while on:
            with contextlib.suppress(TimeUp):
                on.clear()
        signal.setitimer(signal.ITIMER_PROF, 0)


def told_of(error: BaseException) -> dict[str, Any]:
    """An error as its kind, the built-in kinds that it is one of, its text and the learner's line."""
    bases = [base.__name__ for base in type(error).__mro__ if getattr(builtins, base.__name__, None) is base]
    lines = [
        frame.line
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename.startswith("<cell ") and frame.line
    ]
    kind = "TimeUp" if isinstance(error, TimeUp) else type(error).__name__
    told = {"kind": kind, "bases": bases, "text": text_of(error), "line": lines[-1].strip() if lines else ""}
    if bases[:1] == [kind] and all(type(arg) in (str, int, bytes) for arg in error.args):
        told["args"] = [arg.hex() if type(arg) is bytes else arg for arg in error.args]
        told["bytes"] = [i for i, arg in enumerate(error.args) if type(arg) is bytes]
    return told


def text_of(error: BaseException) -> str:
    try:
        return str(error)[:MOST_TOLD]
    except BaseException:  # noqa: BLE001  (the error's own __str__ may raise anything)
        return "its text cannot be had"
