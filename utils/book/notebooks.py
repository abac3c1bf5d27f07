"""Shapes a chapter's cells into notebooks, and writes notebooks so that equal content is equal bytes.

Only what the book needs is in the metadata. A cell's id says which cell it is and never changes with the text:
`<key, at most 48 characters>-<first 12 hex digits of SHA-256("<chapter>/<key>")>`, so that a learner's old copy, a
test in the browser and a class grader find the same cell by the same id.
"""

import hashlib
import json
import os
import tempfile
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from utils.book.elsewhere import with_first_line
from utils.book.links import linked
from utils.book.problems import BuildProblem
from utils.book.source import Cell, Chapter
from utils.book.strip import chapter_text, solution_text
from utils.paths import pocket_dir

NOT_A_NOTEBOOK = (  # all that nbformat raises on JSON of another shape, besides its own errors
    nbformat.reader.NotJSONError,
    nbformat.ValidationError,
    UnicodeDecodeError,
    AttributeError,
    KeyError,
    TypeError,
)
KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}


def cell_id(chapter: str, key: str) -> str:
    """The id of a cell in both notebooks; nbformat allows 64 characters of [a-zA-Z0-9-_]."""
    return f"{key[:48]}-{hashlib.sha256(f'{chapter}/{key}'.encode()).hexdigest()[:12]}"


def chapter_notebook(chapter: Chapter) -> NotebookNode:
    """What the learner opens: stubs for answers, no outputs."""
    texts = [(cell, chapter_text(cell)) for cell in chapter.cells]
    return _notebook(chapter, [(cell, text) for cell, text in texts if text is not None])


def solution_notebook(chapter: Chapter) -> NotebookNode:
    """All cells with their answers, not yet executed."""
    return _notebook(chapter, [(cell, solution_text(cell)) for cell in chapter.cells])


def outputs_depend_on(notebook: NotebookNode) -> str:
    """SHA-256 over the code cells in order and the shipped model's checksum: stored outputs belong to these alone.

    The code of `utils` counts as well and is not in it: whether outputs still come out the same, `book run` sees.
    """
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    code = [[cell.id, cell.source, cell.metadata.get("tags", [])] for cell in cells]
    checksums = pocket_dir() / "checksums.json"
    model = checksums.read_text(encoding="utf-8") if checksums.is_file() else ""
    return hashlib.sha256(json.dumps([code, model]).encode()).hexdigest()


def as_text(notebook: NotebookNode) -> str:
    """The file's text: keys sorted, one space of indentation, a newline at the end."""
    return nbformat.writes(notebook, version=4).rstrip("\n") + "\n"


def read_notebook(path: Path) -> NotebookNode | None:
    """The notebook at `path`, None when there is no such file.

    Raises:
        BuildProblem: something is there that is not a notebook.
    """
    try:
        return nbformat.reads(path.read_text(encoding="utf-8"), as_version=4)
    except FileNotFoundError:
        return None
    except NOT_A_NOTEBOOK as why:
        raise BuildProblem("it is not a notebook: delete it and run `book build`.", path) from why
    except OSError as reason:
        raise BuildProblem(f"it cannot be read ({reason.strerror}): check what is there.", path) from reason


def write_whole(path: Path, text: str) -> bool:
    """Put `text` at `path` in one step, so that no one ever reads half a notebook; False when it stood there already.

    Raises:
        BuildProblem: the folder or the file cannot be written.
    """
    data = text.encode("utf-8")
    temporary = None
    try:
        if path.is_file() and path.read_bytes() == data:
            return False
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem}-", suffix=".tmp")
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except OSError as reason:
        sentence = f"it cannot be written ({reason.strerror}): make its folder writable and build again."
        raise BuildProblem(sentence, path) from reason
    finally:
        if temporary:
            Path(temporary).unlink(missing_ok=True)
    return True


def _notebook(chapter: Chapter, cells: list[tuple[Cell, str]]) -> NotebookNode:
    notebook = nbformat.from_dict({
        "nbformat": 4,
        "nbformat_minor": 5,
        "metadata": {"book": {"chapter": chapter.name}, "kernelspec": KERNEL, "language_info": {"name": "python"}},
        "cells": [_cell(chapter, cell, text) for cell, text in cells],
    })  # fmt: skip
    nbformat.validate(notebook)
    return notebook


def _cell(chapter: Chapter, cell: Cell, text: str) -> dict:
    flags = cell.flags
    of_book = {"key": flags.key, "exercise": flags.exercise, "solution": flags.solution}
    of_book |= {"covers": list(flags.covers), "terms": list(flags.terms)}
    metadata = {"book": {name: value for name, value in of_book.items() if value}}
    if flags.tags:
        metadata["tags"] = list(flags.tags)
    made = {"id": cell_id(chapter.name, flags.key), "cell_type": cell.kind, "metadata": metadata}
    made["source"] = with_first_line(cell, linked(chapter, cell, text))
    if cell.kind == "code":
        made |= {"execution_count": None, "outputs": []}
    return made
