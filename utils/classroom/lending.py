"""One container for all workers of a machine: the process that starts them lends its own.

A worker connects to the lender's socket and hands in one end of a control socket, which the container then serves
beside the others. So the models and libraries in it are held once, and not once a worker. Where the lender is gone a
worker makes a container of its own.
"""

import contextlib
import os
import socket
import tempfile
import threading
from pathlib import Path
from types import TracebackType

from utils.classroom.problems import ClassProblem
from utils.classroom.sandbox import Sandbox


class Lending:
    """Lends a sandbox while the context is open. `address` is the socket's path, which only this user can reach."""

    def __init__(self, sandbox: Sandbox):
        self.sandbox = sandbox

    def __enter__(self) -> "Lending":
        self._folder = tempfile.TemporaryDirectory(prefix="book-", dir="/tmp")  # a socket's path has to be short
        self.address = str(Path(self._folder.name) / "sandbox")
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(self.address)
        self._listener.listen(64)
        self._thread = threading.Thread(target=self._lend, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        with contextlib.suppress(OSError):  # it is closed already where the container could not be made
            self._listener.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._folder.cleanup()

    def _lend(self) -> None:
        """Start the container and hand it sockets until the listener is shut down.

        The container dies with the thread that started it, so that this one stays to the end.
        """
        with self._listener:
            try:
                self.sandbox.start()
                while (line := self._asked()) is not None:
                    try:
                        self.sandbox.adopt(line)
                    finally:
                        os.close(line)
            except ClassProblem:
                pass  # whoever asks now makes a container of its own, or says why it cannot
            finally:
                self.sandbox.stop()

    def _asked(self) -> int | None:
        """The control socket of the next one who asks; None at the end."""
        while True:
            try:
                asking, _ = self._listener.accept()
            except OSError:
                return None
            with asking:
                _, lines, _, _ = socket.recv_fds(asking, 16, 1)
            if lines:
                return lines[0]
