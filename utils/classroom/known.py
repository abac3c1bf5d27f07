"""What the book's own notebooks hold, so that a student's cells can be told from the book's.

Read once from `chapters/`, as JSON and without PyTorch: the cells by id, by key and by text, which cell answers which
exercise, and the name that an answer has to define.
"""

import functools
import hashlib
import json
import re
from dataclasses import dataclass, field
from pathlib import Path

from utils.classroom.problems import ClassProblem
from utils.paths import chapters_dir, package_dir, pocket_dir

_STUB = re.compile(r'raise NotImplementedError\("Write (\w+)')


@dataclass(frozen=True)
class BookCell:
    """A cell as shipped."""

    id: str
    key: str
    kind: str
    source: str
    exercise: str | None
    demo: bool


@dataclass(frozen=True)
class Chapter:
    """One chapter as shipped: `names` gives the exercise of each function or class that a learner writes."""

    slug: str
    title: str
    cells: tuple[BookCell, ...] = field(repr=False)
    by_id: dict[str, BookCell] = field(repr=False)
    by_key: dict[str, BookCell] = field(repr=False)
    by_text: dict[str, BookCell] = field(repr=False)
    names: dict[str, str] = field(repr=False)

    @property
    def exercises(self) -> tuple[str, ...]:
        """In the order in which the chapter asks for them."""
        return tuple(cell.exercise for cell in self.cells if cell.exercise)

    def stub(self, exercise: str) -> str:
        """The answer cell as shipped."""
        return next(cell.source for cell in self.cells if cell.exercise == exercise)


def squeezed(source: str) -> str:
    """A cell's text as far as tools keep it: line ends, and spaces at the ends of lines, are theirs."""
    return "\n".join(line.rstrip() for line in source.strip().splitlines())


@functools.cache
def chapters(folder: Path | None = None) -> dict[str, Chapter]:
    """Every chapter by its slug, in the order of the book.

    Raises:
        ClassProblem: there are none.
    """
    paths = sorted((folder or chapters_dir()).glob("[0-9][0-9]_*.ipynb"))
    if not paths:
        raise ClassProblem("The book's chapters are not there: run `book build`, or restore them from git.")
    return {path.stem: _chapter(path) for path in paths}


def choose(wanted: str) -> str:
    """The slug of the chapter meant by "5", "05" or "05_attention".

    Raises:
        ClassProblem: no chapter is meant.
    """
    stem = Path(wanted).name.removesuffix(".ipynb")
    for slug in chapters():
        if stem == slug or (stem.isdecimal() and stem.zfill(2) == slug[:2]):
            return slug
    raise ClassProblem(f"There is no chapter {wanted!r}: use one of {', '.join(chapters())}.")


@functools.cache
def book_version() -> str:
    """Twelve hex digits that change whenever the chapters, the exercises, the grader or the shipped model do."""
    utils = package_dir()
    files = [*chapters_dir().glob("*.ipynb"), *(utils / "exercises").glob("*.py"), *(utils / "grading").glob("*.py")]
    digest = hashlib.sha256()
    for path in [*sorted(files), pocket_dir() / "checksums.json"]:
        digest.update(f"{path.name}\0".encode() + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:12]


def _chapter(path: Path) -> Chapter:
    notebook = json.loads(path.read_text(encoding="utf-8"))
    cells = tuple(_cell(cell) for cell in notebook["cells"])
    answers = [cell for cell in cells if cell.exercise]
    heading = next(cell.source for cell in cells if cell.kind == "markdown").splitlines()[0]
    return Chapter(
        path.stem,
        heading.lstrip("# "),
        cells,
        {cell.id: cell for cell in cells},
        {cell.key: cell for cell in cells},
        {squeezed(cell.source): cell for cell in cells if cell.kind == "code"},
        {_STUB.search(cell.source)[1]: cell.exercise for cell in answers},
    )


def _cell(cell: dict) -> BookCell:
    of_book = cell["metadata"]["book"]
    demo = "demo" in cell["metadata"].get("tags", [])
    source = "".join(cell["source"])
    return BookCell(cell["id"], of_book["key"], cell["cell_type"], source, of_book.get("exercise"), demo)
