"""The sandbox: a bubblewrap container with a preloaded process in it, from which each submission's process is forked.

See `container` for what is in it, and `inside.lockdown` for what each child gives up besides.
"""

import contextlib
import functools
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType

from utils.classroom import container
from utils.classroom.inside.nursery import LOCKED
from utils.classroom.problems import ClassProblem

READY_SECONDS = 180
WAITS = (0.1, 0.2, 0.4, 0.8, 1.6)  # seconds, between tries to have a submission's process locked in
MODEL = "pocket"  # what classes are graded with: in every installation, the same everywhere
NEEDS_LINUX = "A class is graded on Linux: use a Linux machine, a virtual machine or a container of Linux."
LENDER = "BOOK_SANDBOX"  # names the socket of a process of this machine that lends its container: see `lending`


@dataclass(frozen=True)
class Limits:
    """What one submission may use.

    Attributes:
        call_seconds: processor seconds of one call of an answer; on the clock four times as many, and six at least.
        cell_seconds: the same for one cell.
        own_seconds: the same for a cell of the student's own, which no mark hangs on.
        total_seconds: wall time of the whole submission.
        cpu_seconds: processor time of its process.
        memory: bytes beyond what the preloaded process holds.
        file_bytes: size of one file in /tmp.
        tmp_megabytes: size of /tmp.
        threads: processes and threads together.
    """

    call_seconds: float = 10.0
    cell_seconds: float = 10.0
    own_seconds: float = 2.0
    total_seconds: float = 300.0
    cpu_seconds: int = 150
    memory: int = 2 * 2**30
    file_bytes: int = 16 * 2**20
    tmp_megabytes: int = 32
    threads: int = 24


def available() -> str | None:
    """None where a sandbox can be had; else the sentence that says why not and what to do."""
    if sys.platform != "linux":
        return NEEDS_LINUX
    if shutil.which("bwrap") is None:
        return "The sandbox needs bubblewrap: install it (Debian, Ubuntu: apt install bubblewrap), or add --no-sandbox."
    if hidden := container.hidden():
        return (
            f"Each submission has a /tmp of its own, and Python's packages lie there ({hidden}): make the book's "
            "environment in another folder, or add --no-sandbox."
        )
    return _tried()


@functools.lru_cache(maxsize=1)
def _tried() -> str | None:
    done = subprocess.run(container.smallest("/usr/bin/true"), capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return None
    said = (done.stderr.strip().splitlines() or ["it gave no reason"])[-1][:200]
    return (
        f"The sandbox cannot be made here ({said}): allow unprivileged user namespaces "
        "(sysctl user.max_user_namespaces, kernel.apparmor_restrict_unprivileged_userns), or add --no-sandbox."
    )


class Sandbox:
    """The container. `spawn` gives a socket to a new submission's process; `end` kills it and all that it started."""

    def __init__(self, limits: Limits, models: tuple[str, ...] = (MODEL,), *, walls: bool = True):
        self.limits, self.models, self.walls = limits, models, walls
        self.lender = os.environ.get(LENDER) if walls else None
        self.process: subprocess.Popen | None = None
        self.control: socket.socket | None = None
        self.count = 0

    def __enter__(self) -> "Sandbox":
        self.start()
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()

    def start(self) -> None:
        """Make the container and wait until everything is loaded in it, or use the one that is lent here.

        Raises:
            ClassProblem: it does not come up; the sentence has what it said last.
        """
        if self.lender is not None and self._borrow():
            return
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.words = tempfile.TemporaryFile()
        self.copies = tempfile.TemporaryDirectory()
        settings = {**asdict(self.limits), "seconds": self.limits.cpu_seconds, "models": list(self.models)}
        self.process = subprocess.Popen(
            container.command(theirs.fileno(), settings | {"walls": self.walls}, Path(self.copies.name)),
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=self.words,
            stderr=self.words,
            env=container.environment(self.walls),
        )
        theirs.close()
        ours.settimeout(READY_SECONDS)
        self.control = ours
        try:
            ready = ours.recv(16)
        except OSError:
            ready = b""
        if ready != b"ready\n":
            said = self.said()
            self.stop()
            raise ClassProblem(f"The sandbox did not start: {said or 'it gave no reason'}. Run `book doctor`.")

    def _borrow(self) -> bool:
        """Have the lender's container serve this process too, over a control socket of its own."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs, socket.socket(socket.AF_UNIX) as asking:
            try:
                asking.connect(self.lender)
                socket.send_fds(asking, [b"adopt"], [theirs.fileno()])
            except OSError:  # it has ended, or it was never there: a container of one's own does as well
                ours.close()
                return False
        ours.settimeout(READY_SECONDS)
        with contextlib.suppress(OSError):
            if ours.recv(16) == b"ready\n":
                self.control = ours
                return True
        ours.close()
        return False

    def adopt(self, line: int) -> None:
        """Let the container serve another control socket, by its file descriptor.

        Raises:
            ClassProblem: the container is gone and cannot be made again.
        """
        self._order("adopt 0", line)

    def said(self) -> str:
        """The last line that the container's own process wrote; empty where it is another's."""
        if self.process is None:
            return ""
        self.words.seek(0)
        lines = self.words.read()[-2000:].decode(errors="replace").strip().splitlines()
        return lines[-1][:300] if lines else ""

    def stop(self) -> None:
        """End the container and everything in it."""
        if self.control is not None:
            self.control.close()
            self.control = None
        if self.process is not None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
            self.process = None
            self.words.close()
            self.copies.cleanup()

    def spawn(self) -> tuple[int, socket.socket]:
        """A new submission's process: its number, and the socket to it.

        Raises:
            ClassProblem: the container is gone and cannot be made again, or no process can be locked in now.
        """
        for wait in (*WAITS, None):
            ours, theirs = socket.socketpair()
            for kind in (socket.SO_SNDBUF, socket.SO_RCVBUF):
                ours.setsockopt(socket.SOL_SOCKET, kind, 2**20)
                theirs.setsockopt(socket.SOL_SOCKET, kind, 2**20)
            self.count += 1
            self._order(f"spawn {self.count}", theirs.fileno())
            theirs.close()
            if _locked(ours):
                return self.count, ours
            self.end(self.count, ours)
            if wait is not None:  # namespaces of those that have ended may not be free yet
                time.sleep(wait)
        raise ClassProblem(
            f"The sandbox cannot lock in a submission ({self.said() or 'it gave no reason'}): give this user more "
            "processes and namespaces, and run again."
        )

    def _order(self, words: str, fd: int) -> None:
        """Send a request with a file descriptor; to a new container where this one is gone."""
        try:
            if self.control is None or self.process is not None and self.process.poll() is not None:
                raise ConnectionError("the container is gone")
            socket.send_fds(self.control, [words.encode()], [fd])
        except OSError:
            self.stop()
            self.start()
            socket.send_fds(self.control, [words.encode()], [fd])

    def end(self, number: int, sock: socket.socket) -> None:
        """Kill a submission's process with everything in its namespaces."""
        sock.close()
        with contextlib.suppress(OSError):  # the container is gone, and with it the process
            self.control.sendall(f"kill {number}".encode())

    def settle(self) -> None:
        """Wait until every process that was ended is gone."""
        self.control.sendall(b"settle 0")
        if self.control.recv(16) != b"settled":
            raise ClassProblem("The sandbox has ended by itself: run `book doctor`.")

    def alive(self) -> bool:
        """Whether the container still answers, so that a submission's process that ended did so by itself."""
        try:
            self.settle()
        except (ClassProblem, OSError):
            return False
        return True


def _locked(sock: socket.socket) -> bool:
    """Whether the process behind a socket says that it has locked itself, before it runs anything."""
    sock.settimeout(READY_SECONDS)
    try:
        return sock.recv(1) == LOCKED
    except OSError:
        return False
    finally:
        sock.settimeout(None)
