"""The checks of `book doctor`: each gives the sentence that says all is well, or raises the one that says what to do.

A `BookError` is something wrong, a `Note` something that only some people need. None of them writes anything, but for
the two folders that every part of the book makes.
"""

import json
import os
import platform
import re
import shutil
import sys
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

import utils
from utils.errors import BookError
from utils.paths import book_root, cache_dir, chapters_dir, data_dir, is_checkout, solutions_dir, writable

NAME = "gpt2-exercise-book"
PYTHON = (3, 11)
GIGABYTE = 1e9
ROOM = 0.2  # gigabytes that the book must be able to write
ROOM_FOR_MODELS = 1.5  # for GPT-2 small, or for the modern model of chapter 11


class Note(Exception):
    """Something that only some people need is not there; the message says who, and what to do."""


def repair() -> str:
    """What makes the installation whole again."""
    return "Run `make env`." if is_checkout() else "Install the book again with pip."


def _machine() -> str:
    found = f"{platform.system()} {platform.release()} on {platform.machine()}, {os.cpu_count()} processors"
    return f"Book {utils.__version__} {'in a checkout' if is_checkout() else 'from pip'}; {found}."


def _python() -> str:
    if sys.version_info < PYTHON:
        wanted = ".".join(map(str, PYTHON))
        raise BookError(
            f"Python {platform.python_version()} is too old: install {wanted} or newer, then run `make env`."
        )
    return f"Python {platform.python_version()} at {sys.executable}."


def _kernel() -> str:
    from jupyter_client.kernelspec import KernelSpecManager, NoSuchKernel

    try:
        spec = KernelSpecManager().get_kernel_spec("python3")
    except NoSuchKernel as reason:
        raise BookError(f"Jupyter knows no Python kernel. {repair()}") from reason
    own = ("python", "python3", f"python3.{sys.version_info.minor}", sys.executable)
    if spec.argv[0] not in own:
        raise BookError(
            f"Notebooks would run with {spec.argv[0]}, not with {sys.executable}: remove {spec.resource_dir}, "
            "which comes before the book's own kernel."
        )
    return f"Notebooks run with {sys.executable}."


def _packages() -> str:
    if not is_checkout():
        return _requirements()
    pinned = dict(_pins(book_root() / "requirements.lock"))
    found = {name: _installed(name) for name in pinned}
    wrong = [f"{name} {found[name]} instead of {pin}" for name, pin in pinned.items() if found[name] != pin]
    if wrong:
        raise BookError(f"Not as in requirements.lock: {_first(wrong)}. Run `make env`.")
    return f"All {len(pinned)} packages are those of requirements.lock."


def _requirements() -> str:
    """Without a checkout pip chose the versions: they need only be ones that the book takes."""
    from packaging.requirements import Requirement

    wanted = [Requirement(line) for line in metadata.requires(NAME) or []]
    wanted = [one for one in wanted if one.marker is None or one.marker.evaluate({"extra": ""})]
    found = {one.name: _installed(one.name) for one in wanted}
    wrong = [
        f"{one.name} {found[one.name]} where {one.specifier or 'any version'} is needed"
        for one in wanted
        if found[one.name] == "missing" or not one.specifier.contains(found[one.name], prereleases=True)
    ]
    if wrong:
        raise BookError(f"Not as the book needs them: {_first(wrong)}. {repair()}")
    return f"All {len(wanted)} packages that the book asks for are here in versions that it takes."


def _torch() -> str:
    import torch

    from utils.reference.devices import device

    names = [torch.cuda.get_device_name(place) for place in range(torch.cuda.device_count())]
    present = [*names, *["Apple's MPS"] * torch.backends.mps.is_available()] or ["no accelerator, and none is needed"]
    return f"PyTorch {torch.__version__} computes on {device()}; there is {', '.join(present)}."


def _folders() -> str:
    places = [writable(cache_dir()), writable(data_dir())]
    return f"Can write to {places[0]} and {places[1]}."


def _disk() -> str:
    free = {folder: _free(folder) / GIGABYTE for folder in (cache_dir(), data_dir())}
    said = " and ".join(f"{room:.1f} GB at {folder}" for folder, room in free.items())
    if min(free.values()) < ROOM:
        raise BookError(f"Too little room, {said}: free some, or move the folders with BOOK_CACHE and BOOK_DATA.")
    if free[cache_dir()] < ROOM_FOR_MODELS:
        raise Note(
            f"Free: {said}. GPT-2 small and chapter 11's model need {ROOM_FOR_MODELS} GB: set BOOK_CACHE for them."
        )
    return f"Free: {said}."


def _free(folder: Path) -> int:
    """Bytes that can be written below `folder`, which need not be there yet."""
    there = next(place for place in (folder, *folder.parents) if place.is_dir())
    return shutil.disk_usage(there).free


def _vocabulary() -> str:
    from utils.reference.vocabulary import check_vocabulary

    return f"GPT-2's vocabulary at {check_vocabulary()} is the true one."


def _reference() -> str:
    from utils.reference.choice import chosen
    from utils.reference.loading import check

    kind = chosen()
    check("pocket")
    check(kind)
    return f"The chosen reference is {kind}; its weights and the pocket model's are there and whole."


def _chapters() -> str:
    count = len(list(chapters_dir().glob("*.ipynb")))
    if not count:
        raise BookError(f"There are no chapters in {chapters_dir()}: run `book build`.")
    if not is_checkout():
        return f"{count} are here: `book start FOLDER` copies them to where you work."
    return f"{count} in {chapters_dir()}."


def _trust() -> str:
    """Whether JupyterLab draws what notebooks with stored outputs hold. Reads its signatures, makes none."""
    from jupyter_core.paths import jupyter_data_dir

    kept = [path for folder in (chapters_dir(), solutions_dir()) for path in sorted(folder.glob("*.ipynb"))]
    with_outputs = [path for path in kept if _has_outputs(path)]
    signatures = Path(jupyter_data_dir()) / "nbsignatures.db"
    unsigned = with_outputs if not signatures.is_file() else [path for path in with_outputs if not _signed(path)]
    if unsigned:
        which = unsigned[0].name if len(unsigned) == 1 else f"{len(unsigned)} notebooks"
        where = ", ".join(dict.fromkeys(f"{path.parent.name}/" for path in unsigned))
        raise Note(
            f"JupyterLab shows some stored figures of {which} in {where} as text: run their cells, or `jupyter trust` "
            "and the notebook's name."
        )
    return "JupyterLab draws all that the book's notebooks hold."


def _has_outputs(path: Path) -> bool:
    try:
        notebook = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as reason:
        raise BookError(f"{path} is not a notebook any more: delete it and restore it from git.") from reason
    return any(cell.get("outputs") for cell in notebook.get("cells", []))


def _signed(path: Path) -> bool:
    import nbformat
    from nbformat.sign import NotebookNotary

    return NotebookNotary().check_signature(nbformat.read(path, as_version=4))


def _sandbox() -> str:
    from utils.classroom.sandbox import available

    if problem := available():
        raise Note(f"Only teachers need it, for `book grade`. {problem}")
    return "`book grade` can wall off the notebooks that it runs."


CHECKS: dict[str, Callable[[], str]] = {
    "machine": _machine,
    "python": _python,
    "kernel": _kernel,
    "packages": _packages,
    "torch": _torch,
    "folders": _folders,
    "disk": _disk,
    "vocabulary": _vocabulary,
    "reference": _reference,
    "chapters": _chapters,
    "trust": _trust,
    "sandbox": _sandbox,
}


def _first(wrong: list[str]) -> str:
    """The three that matter most, missing ones before others, and how many more there are."""
    wrong = sorted(wrong, key=lambda one: " missing " not in one)
    return ", ".join(wrong[:3]) + (f" and {len(wrong) - 3} more" if len(wrong) > 3 else "")


def _pins(lock) -> list[tuple[str, str]]:
    try:
        text = lock.read_text(encoding="utf-8")
    except OSError as reason:
        raise BookError(f"{lock} cannot be read ({reason.strerror}): run this from a checkout of the book.") from reason
    return re.findall(r"^([A-Za-z0-9._-]+)==([^\s;]+)", text, flags=re.MULTILINE)


def _installed(name: str) -> str:
    try:
        return metadata.version(name).partition("+")[0]  # after "+": how the wheel was built
    except metadata.PackageNotFoundError:
        return "missing"
