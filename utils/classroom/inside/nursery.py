"""The first process in the sandbox: loads what answers need once, then makes a child for each submission.

It reads no learner's code. A child gets a socket to the outside, namespaces of its own, and after `lock` nothing more.
Requests come over the control socket: "spawn" with the child's socket attached, "kill N", and the end of the socket
ends everything.
"""

import contextlib
import gc
import json
import os
import select
import signal
import socket
import sys

from utils.classroom.inside import lockdown


def main(fd: int, settings: dict) -> None:
    """Load, say that it is ready, then serve until the outside hangs up."""
    control = socket.socket(fileno=fd)
    if settings["walls"]:
        lockdown.leave_root()
    from utils.classroom.inside.agent import Agent, preload

    preload(settings)
    gc.collect()
    gc.freeze()
    control.sendall(b"ready\n")
    family = _Family()
    while True:
        select.select([control], [], [], 1.0)
        family.reap()
        try:
            message, fds, _, _ = socket.recv_fds(control, 64, 1, socket.MSG_DONTWAIT)
        except BlockingIOError:
            continue
        if not message:
            break
        word, _, number = message.decode().partition(" ")
        if word == "spawn":
            family.add(int(number), *_child(Agent, control, fds[0], settings))
            os.close(fds[0])
        elif word == "kill":
            family.kill(int(number))
        elif word == "settle":
            family.settle()
            control.sendall(b"settled")
    family.end()


class _Family:
    """The children by number: the process that waits for each, and where it says which one the submission's is."""

    def __init__(self):
        self.waiting: dict[int, tuple[int, int]] = {}
        self.dying: set[int] = set()

    def add(self, number: int, pid: int, pipe: int) -> None:
        self.waiting[number] = pid, pipe

    def kill(self, number: int) -> None:
        """Kill the first process of a child's namespaces, and with it all that are in them."""
        if number in self.waiting and number not in self.dying:
            self.dying.add(number)
            inner = os.read(self.waiting[number][1], 16)
            if inner:
                with contextlib.suppress(ProcessLookupError):  # it has ended by itself
                    os.kill(int(inner), signal.SIGKILL)

    def reap(self, flags: int = os.WNOHANG) -> None:
        for number, (pid, pipe) in list(self.waiting.items()):
            if (number in self.dying or flags) and os.waitpid(pid, flags)[0]:
                os.close(pipe)
                del self.waiting[number]
                self.dying.discard(number)

    def settle(self) -> None:
        """Wait until all that were killed are gone."""
        self.reap(0)

    def end(self) -> None:
        for number in list(self.waiting):
            self.kill(number)
        self.settle()


def _child(agent: type, control: socket.socket, fd: int, settings: dict) -> tuple[int, int]:
    """Start a submission's process, the first and only one in its namespaces.

    Gives the process that waits for it, and a pipe on which that one writes the other's number.
    """
    reading, writing = os.pipe()
    waiting = os.fork()
    if waiting:
        os.close(writing)
        return waiting, reading
    status = 1
    try:
        control.close()
        os.close(reading)
        if settings["walls"]:
            lockdown.new_namespaces()
        lockdown.die_with_parent()  # after it: new privileges make the kernel forget it
        inner = os.fork()
        if inner:
            os.close(fd)
            os.write(writing, str(inner).encode())
            os.close(writing)
            os.waitpid(inner, 0)
            status = 0
        else:
            os.close(writing)
            lockdown.die_with_parent()
            _lock(settings)
            agent(socket.socket(fileno=fd)).serve()
            status = 0
    except BaseException as error:  # noqa: BLE001  (nothing may go on in a copy of the nursery)
        os.write(2, f"sandbox: {type(error).__name__}: {error}\n".encode()[:500])
    finally:
        os._exit(status)


def _lock(settings: dict) -> None:
    lockdown.limit(settings["seconds"], settings["memory"], settings["file_bytes"], settings["threads"])
    if settings["walls"]:
        lockdown.own_files(settings["tmp_megabytes"])
        lockdown.no_privileges()
        lockdown.landlock(settings["readable"], ["/tmp", "/dev"])
        if not lockdown.filter_calls():
            raise OSError("this kernel cannot filter system calls (seccomp)")
    nothing = os.open("/dev/null", os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nothing, standard)


if __name__ == "__main__":
    main(int(sys.argv[1]), json.loads(sys.argv[2]))
