"""The sandbox: a bubblewrap container with a preloaded process in it, from which each submission's process is forked.

What is in it: the interpreter, the installed packages, the parts of the book that answers meet (models, the tokenizer,
the wire), read-only. What is not: exercises, oracles, the grader, solutions, chapters, other submissions, the store, a
network, and the rest of the machine's files. See `inside.lockdown` for what each child gives up besides.
"""

import contextlib
import functools
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType

from utils.classroom.inside.nursery import LOCKED
from utils.classroom.problems import ClassProblem

# Files and folders of the book that are bound into the sandbox, under utils/.
PARTS = (
    "__init__.py",
    "errors.py",
    "paths.py",
    "reference",
    "classroom/__init__.py",
    "classroom/wire.py",
    "classroom/peer.py",
    "classroom/modules.py",
    "classroom/inside",
    "exercises/small.py",
    "grading/plain.py",
    "grading/raised.py",
    "grading/run.py",
    "grading/settings.py",
    "grading/text.py",
    "grading/watch.py",
    "pocket/__init__.py",
    "pocket/vocabulary.py",
    "pocket/world",
)
READY_SECONDS = 180
WAITS = (0.1, 0.2, 0.4, 0.8, 1.6)  # seconds, between tries to have a submission's process locked in
BOOK = "/book"
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
    return _tried()


@functools.lru_cache(maxsize=1)
def _tried() -> str | None:
    command = [*_wall(), "--ro-bind", "/usr", "/usr", *_links(), "/usr/bin/true"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
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
        settings = {
            **asdict(self.limits),
            "seconds": self.limits.cpu_seconds,
            "models": list(self.models),
            "readable": ["/usr", "/lib", "/lib64", BOOK, "/cache", *_python_folders()],
            "walls": self.walls,
        }
        book = BOOK if self.walls else str(Path(__file__).resolve().parent.parent.parent)
        code = (
            f"import json, sys; sys.path[:0] = ['{book}']; sys.path += {_packages()!r}; "
            "from utils.classroom.inside.nursery import main; main(int(sys.argv[1]), json.loads(sys.argv[2]))"
        )
        run = [_interpreter(), "-P", "-s", "-S", "-c", code, str(theirs.fileno()), json.dumps(settings)]
        self.process = subprocess.Popen(
            [*_wall(), *self._inside(), *run] if self.walls else run,
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=self.words,
            stderr=self.words,
            env=_environment()
            if self.walls
            else {**os.environ, **_environment(), "HOME": os.environ.get("HOME", "/tmp")},
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

    def _inside(self) -> list[str]:
        """What is bound into the container, and where."""
        from utils.reference import tokenizer_folder

        tokens = Path(self.copies.name) / tokenizer_folder().name  # the cache's own files may be for its owner only
        tokens.mkdir()
        for file in tokenizer_folder().iterdir():
            shutil.copyfile(file, tokens / file.name)
        binds: list[tuple[str, str]] = [(str(folder), str(folder)) for folder in _python_folders()]
        book = Path(__file__).resolve().parent.parent
        binds += [(str(book / part), f"{BOOK}/utils/{part}") for part in PARTS]
        binds.append((str(tokens), f"/cache/{tokens.name}"))
        command = [*_folders([inside for _, inside in binds]), "--ro-bind", "/usr/lib", "/usr/lib", *_links()]
        for outside, inside in binds:
            command += ["--ro-bind", outside, inside]
        for package in ("grading", "exercises"):
            command += ["--ro-bind", str(book / "classroom/inside/__init__.py"), f"{BOOK}/utils/{package}/__init__.py"]
        for folder in _packages():
            if (Path(folder) / "utils").is_dir():
                command += ["--tmpfs", f"{folder}/utils", "--remount-ro", f"{folder}/utils"]
        for name, value in (_environment() | {"BOOK_CACHE": "/cache"}).items():
            command += ["--setenv", name, value]
        return [*command, "--remount-ro", "/", "--chdir", "/tmp"]


def _locked(sock: socket.socket) -> bool:
    """Whether the process behind a socket says that it has locked itself, before it runs anything."""
    sock.settimeout(READY_SECONDS)
    try:
        return sock.recv(1) == LOCKED
    except OSError:
        return False
    finally:
        sock.settimeout(None)


def _wall() -> list[str]:
    """bubblewrap without what is bound: namespaces, no capabilities, no network."""
    command = ["bwrap", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]
    if os.geteuid() == 0:  # root needs no user namespace, and leaves its powers inside: see lockdown.leave_root
        command += ["--cap-drop", "ALL", "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
    else:
        command += ["--unshare-user", "--cap-drop", "ALL", "--uid", "65534", "--gid", "65534"]
    command += ["--die-with-parent", "--new-session", "--clearenv", "--hostname", "sandbox"]
    return [*command, "--proc", "/proc", "--dev", "/dev", "--remount-ro", "/dev", "--perms", "1777", "--tmpfs", "/tmp"]


def _links() -> list[str]:
    """The system's libraries, as they are laid out here."""
    command: list[str] = []
    for name in ("lib", "lib64"):
        folder = Path("/") / name
        if folder.is_symlink():
            command += ["--symlink", os.readlink(folder), str(folder)]
        elif folder.is_dir():
            command += ["--ro-bind", str(folder), str(folder)]
    return [
        *command,
        "--ro-bind-try",
        "/usr/lib64",
        "/usr/lib64",
        "--ro-bind-try",
        "/etc/ld.so.cache",
        "/etc/ld.so.cache",
    ]


def _folders(targets: list[str]) -> list[str]:
    """Every folder above the targets, open to all: bubblewrap's own are for their maker only."""
    above = {str(parent) for target in (*targets, "/usr/lib", "/etc/x") for parent in Path(target).parents}
    command: list[str] = []
    for folder in sorted(above - {"/"}):
        command += ["--perms", "0755", "--dir", folder]
    return command


def _interpreter() -> str:
    return str(Path(sys.executable).resolve())


def _python_folders() -> list[str]:
    """The Python installation and the packages, without the folders that the system's are bound with anyway."""
    base = Path(sys.base_prefix).resolve()
    own = [str(base)] if base not in (Path("/usr"), Path("/usr/local")) else [_interpreter(), "/usr/local/lib"]
    return list(dict.fromkeys([*own, *(p for p in _packages() if not Path(p).is_relative_to(base))]))


def _packages() -> list[str]:
    return list(dict.fromkeys(str(Path(sysconfig.get_path(name)).resolve()) for name in ("purelib", "platlib")))


def _own_environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}


def _environment() -> dict[str, str]:
    variables = {"PATH": "/usr/bin", "HOME": "/tmp", "LANG": "C.UTF-8", "OMP_NUM_THREADS": "1"}
    variables |= {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    variables |= {"PYTHONHASHSEED": "0"}  # a set of words has the same order in every run
    variables |= {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}  # large pages: a large process forks faster
    library = Path(sys.base_prefix).resolve() / "lib"
    return variables | {"LD_LIBRARY_PATH": str(library), "BOOK_DATA": "/tmp/book"}
