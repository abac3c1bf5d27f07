"""`book start FOLDER`: the chapters, copied into a folder of the learner's own.

For whoever has the book from `pip install` and no checkout, and for whoever wants to keep a checkout clean. The folder
remembers in `.book.json` what was put there, so that a newer book can renew what the learner left as it was; whatever
the learner has changed is never touched.
"""

import hashlib
import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import typer

from utils.errors import BookError
from utils.paths import chapters_dir

REMEMBERED = ".book.json"  # name → SHA-256 of the file as it was put there


class StartProblem(BookError):
    """The chapters cannot be copied to where they were asked for."""


@dataclass
class Started:
    """What became of each file: copied for the first time, renewed, there already, or kept because it was changed."""

    folder: Path
    new: list[str] = field(default_factory=list)
    renewed: list[str] = field(default_factory=list)
    same: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)


def start(
    folder: Annotated[Path, typer.Argument(help="A folder of your own; it is made if it is not there.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
) -> None:
    """Copy the chapters into a folder of your own.

    Run it again after the book was updated: a notebook that you have changed stays as it is, the others are renewed.
    """
    done = copy_chapters(folder.expanduser().absolute())
    if as_json:
        facts = {name: value for name, value in vars(done).items() if name != "folder"}
        typer.echo(json.dumps({"folder": str(done.folder), **facts}))
        return
    for line in sentences(done):
        typer.echo(line)


def copy_chapters(folder: Path) -> Started:
    """Copy what is in the book's chapters/ into `folder`; nothing that the learner has changed is written to.

    Raises:
        StartProblem: there are no chapters, or the folder is the book's own, no folder, or cannot be written.
    """
    source = chapters_dir()
    files = sorted([*source.glob("[0-9][0-9]_*.ipynb"), *source.glob("*.md")])
    if not any(path.suffix == ".ipynb" for path in files):
        raise StartProblem(f"There are no chapters in {source}: install the book again, or run `book build`.")
    if folder.resolve() == source.resolve():
        raise StartProblem("That is the folder that the chapters are copied from: name another one.")
    done = Started(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        remembered = _remembered(folder)
        for path in files:
            data = path.read_bytes()
            there = folder / path.name
            before = _digest(there.read_bytes()) if there.exists() else None
            if before is None:
                kind = done.new
            elif before == _digest(data):
                kind = done.same
            elif before == remembered.get(path.name):
                kind = done.renewed
            else:
                done.kept.append(path.name)
                continue
            kind.append(path.name)
            if before != _digest(data):
                _put(there, data)
            remembered[path.name] = _digest(data)
        _put(folder / REMEMBERED, (json.dumps(remembered, indent=1, sort_keys=True) + "\n").encode())
    except OSError as reason:
        raise StartProblem(
            f"{folder} cannot be used ({reason.strerror or reason}): name a folder that you may write to."
        ) from reason
    return done


def sentences(done: Started) -> list[str]:
    """What to tell the learner, a sentence a line."""
    lines = []
    if done.new:
        count = sum(name.endswith(".ipynb") for name in done.new)
        lines.append(f"Copied {_counted(count)} to {done.folder}, with the glossary and the list of exercises beside.")
    if done.renewed:
        lines.append(f"Renewed, since you had not changed them: {', '.join(done.renewed)}.")
    if done.kept:
        it = "it" if len(done.kept) == 1 else "them"
        lines.append(
            f"Kept as you have {it}, with your changes: {', '.join(done.kept)}. "
            f"For the book's own version, rename yours and run this again."
        )
    if not done.new and not done.renewed and not done.kept:
        count = sum(name.endswith(".ipynb") for name in done.same)
        lines.append(f"All {_counted(count)} are in {done.folder} already.")
    lines.append(f"Next: cd {_quoted(done.folder)} && book lab")
    return lines


def _counted(chapters: int) -> str:
    return f"{chapters} chapter{'' if chapters == 1 else 's'}"


def _quoted(folder: Path) -> str:
    return f'"{folder}"' if " " in str(folder) else str(folder)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _remembered(folder: Path) -> dict[str, str]:
    """What an earlier start put there; nothing where that cannot be read, so that every file counts as changed."""
    try:
        found = json.loads((folder / REMEMBERED).read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _put(path: Path, data: bytes) -> None:
    """In one step, so that a copy that is broken off leaves no half notebook."""
    temporary = path.with_name(f".{path.name}.tmp")
    temporary.write_bytes(data)
    os.replace(temporary, path)
