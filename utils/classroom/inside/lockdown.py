"""Takes from the calling process all that a learner's answers do not need, with the kernel's own means.

New user, PID, mount, IPC, network and host-name namespaces; limits on memory, processor time, files; a filter on system
calls (seccomp), after which no process can be started, no program run, no socket made, nobody traced or signaled; and
Landlock where the kernel has it. Each is a wall by itself. Linux only.

Source: man 2 unshare, 2 seccomp, 7 landlock, 2 prctl; include/uapi/linux/{seccomp,filter,landlock,audit}.h.
"""

import ctypes
import gc
import os
import platform
import resource
import struct

_libc = ctypes.CDLL(None, use_errno=True)
_NEW = {"user": 0x10000000, "pid": 0x20000000, "mount": 0x20000, "ipc": 0x8000000, "net": 0x40000000, "uts": 0x4000000}
_NO_SUID, _NO_DEV, _NO_EXEC, _READ_ONLY = 2, 4, 8, 1
_PRIVATE, _RECURSIVE = 1 << 18, 1 << 14
_SET_NO_NEW_PRIVS, _SET_PDEATHSIG, _SET_SECCOMP, _SET_DUMPABLE = 38, 1, 22, 4

# System calls that are refused (EPERM), by their numbers on x86-64 and on 64-bit ARM. clone is looked at: threads may.
REFUSED: dict[str, tuple[int | None, int]] = {
    "fork": (57, None),
    "vfork": (58, None),
    "execve": (59, 221),
    "execveat": (322, 281),
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "kill": (62, 129),
    "tkill": (200, 130),
    "tgkill": (234, 131),
    "pidfd_open": (434, 434),
    "pidfd_send_signal": (424, 424),
    "pidfd_getfd": (438, 438),
    "rt_sigqueueinfo": (129, 138),
    "socket": (41, 198),
    "socketpair": (53, 199),
    "connect": (42, 203),
    "bind": (49, 200),
    "listen": (50, 201),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "unshare": (272, 97),
    "setns": (308, 268),
    "move_mount": (429, 429),
    "open_tree": (428, 428),
    "fsopen": (430, 430),
    "fsmount": (432, 432),
    "mount_setattr": (442, 442),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "keyctl": (250, 219),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "shmget": (29, 194),
    "msgget": (68, 186),
    "semget": (64, 190),
    "mknod": (133, None),
    "mknodat": (259, 33),
    "symlink": (88, None),
    "symlinkat": (266, 36),
    "link": (86, None),
    "linkat": (265, 37),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "kexec_load": (246, 104),
    "reboot": (169, 142),
    "swapon": (167, 224),
    "personality": (135, 92),
    "setrlimit": (160, 164),
    "prlimit64": (302, 261),
    "open_by_handle_at": (304, 265),
    "name_to_handle_at": (303, 264),
    "statmount": (457, 457),
    "listmount": (458, 458),
}
_CLONE, _CLONE3 = (56, 220), (435, 435)
_CLONE_THREAD = 0x10000
_MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
_ALLOW, _ERRNO, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_EPERM, _ENOSYS = 1, 38


def _check(result: int, what: str) -> None:
    if result != 0:
        raise OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")


def leave_root() -> None:
    """Become nobody, where a sandbox had to be made by root."""
    if os.getuid() == 0:
        os.setgroups([])
        os.setresgid(65534, 65534, 65534)
        os.setresuid(65534, 65534, 65534)
        _check(_libc.prctl(_SET_DUMPABLE, 1, 0, 0, 0), "prctl")  # else /proc/self is root's, and namespaces need it


def settle_memory() -> None:
    """Before many forks: what is free goes back to the system, and what is held is left alone by the collector."""
    free_memory()
    gc.freeze()


def free_memory() -> None:
    """What nothing refers to any more goes back to the system."""
    gc.collect()
    if hasattr(_libc, "malloc_trim"):  # of glibc
        _libc.malloc_trim(ctypes.c_size_t(0))


def die_with_parent() -> None:
    """The kernel ends this process when the one that started it ends."""
    _check(_libc.prctl(_SET_PDEATHSIG, 9, 0, 0, 0), "prctl")


def head_processes() -> None:
    """Go on as the first process of a PID namespace, in a user namespace where `fork_first` may make more of them.

    The calling process stays outside, does nothing but wait, and ends as this one does. There must be one thread.
    """
    _unshare("user", "pid")
    inside = os.fork()
    if inside:
        os._exit(os.waitstatus_to_exitcode(os.waitpid(inside, 0)[1]) & 0xFF)
    die_with_parent()


def fork_first() -> int:
    """Fork, as `os.fork` does, a process that is the first in a PID namespace of its own. After `head_processes`."""
    own = os.open("/proc/self/ns/pid", os.O_RDONLY)
    child = -1
    try:
        _unshare("pid")  # of the next child, until this process takes its own namespace again
        try:
            child = os.fork()
        finally:
            if child != 0:
                _check(_libc.setns(own, _NEW["pid"]), "setns")
    finally:
        os.close(own)
    return child


def new_namespaces() -> None:
    """From here on this process has no network, no files but its own, and in its namespaces no powers outside."""
    _unshare(*(name for name in _NEW if name != "pid"))


def _unshare(*names: str) -> None:
    uid, gid = os.getuid(), os.getgid()
    _check(_libc.unshare(sum(_NEW[name] for name in names)), "unshare")
    if "user" in names:
        for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
            with open(f"/proc/self/{name}", "w") as file:
                file.write(text)


def own_files(megabytes: int) -> None:
    """A small, empty /tmp of its own and no /proc: nothing that one submission writes is there for the next."""
    _check(_libc.mount(None, b"/", None, _PRIVATE | _RECURSIVE, None), "mount /")
    tmp = f"size={megabytes}m,nr_inodes=4096,mode=0700".encode()
    _check(_libc.mount(b"tmpfs", b"/tmp", b"tmpfs", _NO_SUID | _NO_DEV | _NO_EXEC, tmp), "mount /tmp")
    nothing = b"size=0,nr_inodes=1,mode=0555"
    _check(
        _libc.mount(b"tmpfs", b"/proc", b"tmpfs", _READ_ONLY | _NO_SUID | _NO_DEV | _NO_EXEC, nothing), "mount /proc"
    )
    os.chdir("/tmp")


def limit(seconds: int, memory: int, file_bytes: int, threads: int) -> None:
    """Hard limits: processor seconds, bytes of memory beyond what is held now, bytes of a file, threads."""
    with open("/proc/self/statm") as file:
        held = int(file.read().split()[0]) * resource.getpagesize()
    for kind, most in (
        (resource.RLIMIT_AS, held + memory),
        (resource.RLIMIT_FSIZE, file_bytes),
        (resource.RLIMIT_NOFILE, 256),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NPROC, threads),
        (resource.RLIMIT_MSGQUEUE, 0),
    ):
        resource.setrlimit(kind, (most, most))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))


def no_privileges() -> None:
    """Every capability of the new user namespace is given up, and none can be had again."""
    _check(_libc.prctl(_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "prctl")
    header, nothing = struct.pack("Ii", 0x20080522, 0), bytes(24)
    _check(_libc.capset(header, nothing), "capset")


def landlock(readable: list[str], writable: list[str]) -> bool:
    """Restrict file access to these folders and files, in the kernel's Landlock. Gives whether the kernel has it."""
    create, add, restrict = 444, 445, 446
    abi = _libc.syscall(create, None, ctypes.c_size_t(0), 1)
    if abi < 1:
        return False
    every = (1 << 13) - 1 | (1 << 13 if abi >= 2 else 0) | (1 << 14 if abi >= 3 else 0)
    read = 1 | 1 << 2 | 1 << 3  # run, read a file, list a folder
    of_a_file = 1 | 1 << 1 | 1 << 2 | 1 << 14  # run, write, read, cut short
    rules = _libc.syscall(create, struct.pack("Q", every), ctypes.c_size_t(8), 0)
    if rules < 0:
        return False
    for folder, allowed in [(f, read) for f in readable] + [(f, every) for f in writable]:
        try:
            fd = os.open(folder, os.O_PATH | os.O_CLOEXEC)
        except FileNotFoundError:
            continue
        rights = allowed & every if os.path.isdir(folder) else allowed & every & of_a_file
        _check(_libc.syscall(add, rules, 1, struct.pack("=Qi", rights, fd), 0), f"landlock {folder}")
        os.close(fd)
    _check(_libc.syscall(restrict, rules, 0), "landlock")
    os.close(rules)
    return True


def filter_calls() -> bool:
    """Refuse the system calls of REFUSED, and new processes, from here on. Gives whether the kernel could."""
    if platform.machine() not in _MACHINES:
        return False
    column, arch = _MACHINES[platform.machine()]
    program = _program(column, arch)
    code = b"".join(struct.pack("HBBI", *step) for step in program)
    buffer = ctypes.create_string_buffer(code, len(code))
    head = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(program), ctypes.addressof(buffer)))
    return _libc.prctl(_SET_SECCOMP, ctypes.c_ulong(2), ctypes.c_void_p(ctypes.addressof(head)), 0, 0) == 0


def _program(column: int, arch: int) -> list[tuple[int, int, int, int]]:
    load, equal, at_least, any_bit, give = 0x20, 0x15, 0x35, 0x45, 0x06
    steps = [(load, 0, 0, 4), (equal, 1, 0, arch), (give, 0, 0, _KILL), (load, 0, 0, 0)]
    if arch == _MACHINES["x86_64"][1]:  # the 32-bit numbers of x32
        steps += [(at_least, 0, 1, 0x40000000), (give, 0, 0, _ERRNO | _ENOSYS)]
    for numbers in REFUSED.values():
        if numbers[column] is not None:
            steps += [(equal, 0, 1, numbers[column]), (give, 0, 0, _ERRNO | _EPERM)]
    # clone3's flags lie in memory, where a filter cannot look: libc falls back to clone when it is not there.
    steps += [(equal, 0, 1, _CLONE3[column]), (give, 0, 0, _ERRNO | _ENOSYS)]
    steps += [(equal, 0, 3, _CLONE[column]), (load, 0, 0, 16), (any_bit, 1, 0, _CLONE_THREAD)]
    steps += [(give, 0, 0, _ERRNO | _EPERM), (give, 0, 0, _ALLOW)]
    return steps
