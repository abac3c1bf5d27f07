"""The first process in the sandbox: loads what answers need once, then makes a child for each submission.

It reads no learner's code. A child gets a socket to the outside, namespaces of its own, and after `lock` nothing more.
Requests come over the control socket: "spawn" with the child's socket attached, "kill N", and the end of the socket
ends everything.
"""

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
    children: dict[int, int] = {}
    while True:
        select.select([control], [], [], 1.0)
        _reap(children)
        try:
            message, fds, _, _ = socket.recv_fds(control, 64, 1, socket.MSG_DONTWAIT)
        except BlockingIOError:
            continue
        if not message:
            break
        word, _, number = message.decode().partition(" ")
        if word == "spawn":
            children[int(number)] = _child(Agent, control, fds[0], settings)
            os.close(fds[0])
        elif int(number) in children:
            os.kill(children[int(number)], signal.SIGKILL)
    for pid in children.values():
        os.kill(pid, signal.SIGKILL)


def _reap(children: dict[int, int]) -> None:
    for number, pid in list(children.items()):
        if os.waitpid(pid, os.WNOHANG)[0]:
            del children[number]


def _child(agent: type, control: socket.socket, fd: int, settings: dict) -> int:
    """Start a submission's process, the first and only one in its namespaces. Gives the process that waits for it."""
    waiting = os.fork()
    if waiting:
        return waiting
    status = 1
    try:
        control.close()
        if settings["walls"]:
            lockdown.new_namespaces()
        lockdown.die_with_parent()  # after it: new privileges make the kernel forget it
        inner = os.fork()
        if inner:
            os.close(fd)
            os.waitpid(inner, 0)
            status = 0
        else:
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
