"""The first process in the sandbox: loads what answers need once, then makes a child for each submission.

It reads no learner's code. A child gets a socket to the outside, namespaces of its own, and after `lock` nothing more.
Requests come over control sockets: "spawn" with the child's socket attached, "kill N", "adopt" with another control
socket attached, for another process outside. The end of a control socket ends the children that came over it; the end
of the first one ends everything.
"""

import contextlib
import json
import os
import random
import select
import signal
import socket
import sys

from utils.classroom.inside import lockdown

LOCKED = b"L"  # the first byte that a child's socket carries, before any learner's line
DEVICES = tuple(f"/dev/{name}" for name in ("null", "zero", "full", "random", "urandom"))  # no terminals
SEED = 5  # of Python's random numbers: the same bytes get the same marks


def main(fd: int, settings: dict) -> None:
    """Load, say that it is ready, then serve until the outside hangs up."""
    control = socket.socket(fileno=fd)
    if settings["walls"]:
        lockdown.leave_root()
        lockdown.head_processes()
    from utils.classroom.inside.agent import Agent, preload

    preload(settings)
    lockdown.settle_memory()
    control.sendall(b"ready\n")
    family, lines = _Family(), [control]
    while control in lines:
        ready, _, _ = select.select(lines, [], [], 1.0)
        family.reap()
        for line in ready:
            _serve(line, lines, family, Agent, settings)
    family.end()


def _serve(line: socket.socket, lines: list[socket.socket], family: "_Family", agent: type, settings: dict) -> None:
    """One request that came over `line`."""
    try:
        message, fds, _, _ = socket.recv_fds(line, 64, 1, socket.MSG_DONTWAIT)
    except BlockingIOError:
        return
    except ConnectionError:
        message, fds = b"", []
    word, _, number = message.decode().partition(" ")
    name = line.fileno(), int(number or 0)
    if word == "spawn" and fds:
        try:
            family.add(name, _child(agent, fds[0], settings))
        except OSError as error:  # no more processes or namespaces now; the end of its socket tells who asked
            _complain(error)
        os.close(fds[0])
    elif word == "adopt" and fds:
        lines.append(socket.socket(fileno=fds[0]))
        _say(lines[-1], b"ready\n")
    elif word == "kill":
        family.kill(name)
    elif word == "settle":
        family.settle()
        _say(line, b"settled")
    else:
        family.end(line.fileno())
        lines.remove(line)
        line.close()


def _say(line: socket.socket, word: bytes) -> None:
    with contextlib.suppress(ConnectionError):  # who asked has ended; the next look at the line sees it
        line.sendall(word)


class _Family:
    """The children by line and number: the process of each, and which of them were killed."""

    def __init__(self):
        self.processes: dict[tuple[int, int], int] = {}
        self.dying: set[tuple[int, int]] = set()

    def add(self, name: tuple[int, int], pid: int) -> None:
        self.processes[name] = pid

    def kill(self, name: tuple[int, int]) -> None:
        """Kill the first process of a child's namespaces, and with it all that are in them."""
        if name in self.processes and name not in self.dying:
            self.dying.add(name)
            os.kill(self.processes[name], signal.SIGKILL)  # until it is reaped the number is its own

    def reap(self, flags: int = os.WNOHANG) -> None:
        for name, pid in list(self.processes.items()):
            if (name in self.dying or flags) and os.waitpid(pid, flags)[0]:
                del self.processes[name]
                self.dying.discard(name)

    def settle(self) -> None:
        """Wait until all that were killed are gone."""
        self.reap(0)

    def end(self, line: int | None = None) -> None:
        """End the children of one line, or all."""
        for name in list(self.processes):
            if line in (None, name[0]):
                self.kill(name)
        self.settle()


def _child(agent: type, fd: int, settings: dict) -> int:
    """Start a submission's process, the first and only one in its namespaces. Gives its number."""
    pid = lockdown.fork_first() if settings["walls"] else os.fork()
    if pid:
        return pid
    status = 1
    try:
        _close_all_but(fd)
        if settings["walls"]:
            lockdown.new_namespaces()
        lockdown.die_with_parent()  # after it: new privileges make the kernel forget it
        _lock(settings)
        random.seed(SEED)
        line = socket.socket(fileno=fd)
        line.sendall(LOCKED)
        agent(line).serve()
        status = 0
    except BaseException as error:  # noqa: BLE001  (nothing may go on in a copy of the nursery)
        _complain(error)
    finally:
        os._exit(status)


def _complain(error: BaseException) -> None:
    os.write(2, f"sandbox: {type(error).__name__}: {error}\n".encode()[:500])


def _close_all_but(*kept: int) -> None:
    """Control sockets, and the other children's pipes, are the nursery's alone."""
    ends = [2, *sorted(kept), os.sysconf("SC_OPEN_MAX")]
    for low, high in zip(ends, ends[1:], strict=False):
        os.closerange(low + 1, high)


def _lock(settings: dict) -> None:
    lockdown.limit(settings["seconds"], settings["memory"], settings["file_bytes"], settings["threads"])
    if settings["walls"]:
        lockdown.own_files(settings["tmp_megabytes"])
        lockdown.no_privileges()
        lockdown.landlock(settings["readable"], ["/tmp", *DEVICES])
        if not lockdown.filter_calls():
            raise OSError("this kernel cannot filter system calls (seccomp)")
    nothing = os.open("/dev/null", os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nothing, standard)
    os.close(nothing)


if __name__ == "__main__":
    main(int(sys.argv[1]), json.loads(sys.argv[2]))
