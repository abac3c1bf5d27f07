"""The container that submissions run in: bubblewrap's command line, and that of the first process inside.

What is in it: the interpreter, the installed packages, the parts of the book that answers meet (models, the tokenizer,
the wire), read-only. What is not: exercises, oracles, the grader, solutions, chapters, other submissions, the store, a
network, and the rest of the machine's files.
"""

import json
import os
import shutil
import sys
import sysconfig
from pathlib import Path

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
BOOK = "/book"


def command(control: int, settings: dict, copies: Path) -> list[str]:
    """The container and in it the nursery; with settings["walls"] false, the nursery as an ordinary process.

    Args:
        control: the file descriptor of the nursery's first control socket.
        settings: what the nursery's `main` is given.
        copies: an empty folder, which lasts as long as the container.
    """
    walls = settings["walls"]
    book = BOOK if walls else str(Path(__file__).resolve().parent.parent.parent)
    code = (
        f"import json, sys; sys.path[:0] = ['{book}']; sys.path += {_packages()!r}; "
        "from utils.classroom.inside.nursery import main; main(int(sys.argv[1]), json.loads(sys.argv[2]))"
    )
    readable = ["/usr", "/lib", "/lib64", BOOK, "/cache", *_python_folders()]
    given = json.dumps(settings | {"readable": readable})
    run = [_interpreter(), "-P", "-s", "-S", "-c", code, str(control), given]
    return [*_wall(), *_contents(copies), *run] if walls else run


def hidden() -> str | None:
    """A folder of Python's that no submission could see, because it has a /tmp of its own; None where there is none."""
    return next((folder for folder in _python_folders() if Path(folder).is_relative_to("/tmp")), None)


def smallest(program: str) -> list[str]:
    """A container with the system's programs alone, which runs one: what a machine must be able to make."""
    return [*_wall(), "--ro-bind", "/usr", "/usr", *_links(), program]


def environment(walls: bool) -> dict[str, str]:
    """The variables of the process that makes the container; in an ordinary one they join what is there."""
    variables = {"PATH": "/usr/bin", "HOME": "/tmp", "LANG": "C.UTF-8", "OMP_NUM_THREADS": "1"}
    variables |= {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    variables |= {"PYTHONHASHSEED": "0"}  # a set of words has the same order in every run
    variables |= {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}  # large pages: a large process forks faster
    library = Path(sys.base_prefix).resolve() / "lib"
    variables |= {"LD_LIBRARY_PATH": str(library), "BOOK_DATA": "/tmp/book"}
    return variables if walls else {**os.environ, **variables, "HOME": os.environ.get("HOME", "/tmp")}


def _contents(copies: Path) -> list[str]:
    """What is bound into the container, and where."""
    from utils.reference import tokenizer_folder

    tokens = copies / tokenizer_folder().name  # the cache's own files may be for its owner only
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
    for name, value in (environment(True) | {"BOOK_CACHE": "/cache"}).items():
        command += ["--setenv", name, value]
    return [*command, "--remount-ro", "/", "--chdir", "/tmp"]


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
    tried = ("/usr/lib64", "/etc/ld.so.cache")
    return [*command, *(word for path in tried for word in ("--ro-bind-try", path, path))]


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
