"""`book doctor`: what an installation needs, checked one by one, each answered in a sentence.

It looks, it never mends: every sentence about something wrong says what to run. Checks are independent, so that one
missing package does not hide the next problem.
"""

import json
import platform
import re
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib import metadata

import typer

from utils.errors import BookError
from utils.paths import book_root, cache_dir, chapters_dir, data_dir, writable


@dataclass(frozen=True)
class Finding:
    """One answer: which check, whether all is well, and the sentence to show."""

    check: str
    ok: bool
    sentence: str


def doctor(as_json: bool = typer.Option(False, "--json", help="Print one JSON object.")) -> None:
    """Check the installation and say what is wrong. Exits with 1 when something is."""
    findings = examine()
    if as_json:
        well = all(finding.ok for finding in findings)
        typer.echo(json.dumps({"ok": well, "findings": [asdict(finding) for finding in findings]}))
    else:
        for finding in findings:
            typer.echo(f"{'well ' if finding.ok else 'WRONG'}  {finding.check}: {finding.sentence}")
    if not all(finding.ok for finding in findings):
        raise typer.Exit(1)


def examine() -> list[Finding]:
    """Run every check, in order."""
    return [_examined(name, check) for name, check in CHECKS.items()]


def _examined(name: str, check: Callable[[], str]) -> Finding:
    try:
        return Finding(name, True, check())
    except BookError as problem:
        return Finding(name, False, str(problem))
    except (ImportError, OSError) as problem:  # a package that is missing, or whose libraries are
        return Finding(name, False, f"{problem}. Run `make env`.")


def _kernel() -> str:
    from jupyter_client.kernelspec import KernelSpecManager, NoSuchKernel

    try:
        spec = KernelSpecManager().get_kernel_spec("python3")
    except NoSuchKernel as reason:
        raise BookError("Jupyter knows no Python kernel: run `make env`.") from reason
    own = ("python", "python3", f"python3.{sys.version_info.minor}", sys.executable)
    if spec.argv[0] not in own:
        raise BookError(
            f"Notebooks would run with {spec.argv[0]}, not with {sys.executable}: remove {spec.resource_dir}, "
            "which comes before the book's own kernel."
        )
    return f"Notebooks run with Python {platform.python_version()} at {sys.executable}."


def _packages() -> str:
    pinned = dict(_pins(book_root() / "requirements.lock"))
    found = {name: _installed(name) for name in pinned}
    wrong = [f"{name} {found[name]} instead of {pin}" for name, pin in pinned.items() if found[name] != pin]
    if wrong:
        raise BookError(f"Not as in requirements.lock: {', '.join(wrong)}. Run `make env`.")
    return f"All {len(pinned)} packages are those of requirements.lock."


def _torch() -> str:
    import torch

    from utils.reference.devices import device

    return f"PyTorch {torch.__version__} computes on {device()}."


def _folders() -> str:
    places = [writable(cache_dir()), writable(data_dir())]
    return f"Can write to {places[0]} and {places[1]}."


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
    return f"{count} in {chapters_dir()}."


CHECKS: dict[str, Callable[[], str]] = {
    "kernel": _kernel,
    "packages": _packages,
    "torch": _torch,
    "folders": _folders,
    "vocabulary": _vocabulary,
    "reference": _reference,
    "chapters": _chapters,
}


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
