"""Ends the book's own code when the time is up of the submission that has called it.

A thread looks at the clock and raises `Late` in the thread that is late, at its next step of Python: signals would
only reach the main thread, and a worker grades in another one.
"""

import ctypes
import math
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager


class Late(BaseException):
    """The time is up. No exception that code of the book's may catch."""


class _Clock(threading.Thread):
    """Waits for the moment of the one block that is running; it is woken only where that is earlier than it waits."""

    def __init__(self):
        super().__init__(daemon=True)
        self.changed = threading.Condition()
        self.running: tuple[float, int] | None = None
        self.wakes = 0.0

    def run(self) -> None:
        with self.changed:
            while True:
                if self.running and self.running[0] <= time.monotonic():
                    thread, self.running = self.running[1], None
                    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(Late))
                self.wakes = self.running[0] if self.running else math.inf
                self.changed.wait(None if self.wakes == math.inf else max(0.0, self.wakes - time.monotonic()))

    def watch(self, block: tuple[float, int] | None) -> None:
        with self.changed:
            self.running = block
            if block and block[0] < self.wakes:
                self.changed.notify()


_clock: _Clock | None = None


@contextmanager
def until(moment: float | None) -> Iterator[None]:
    """Raise `Late` in the block if it still runs at this moment of time.monotonic(); a block in a block is as late."""
    global _clock
    if moment is None:
        yield
        return
    if _clock is None or not _clock.is_alive():  # threads do not survive a fork
        _clock = _Clock()
        _clock.start()
    before = _clock.running
    _clock.watch((moment, threading.get_ident()))
    try:
        yield
    finally:
        _clock.watch(before)
