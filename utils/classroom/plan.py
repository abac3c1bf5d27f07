"""Which cells of a submission's notebook are run, and in which order.

The book's own cells are taken from the book, not from the submission. Its demonstrations are left out, except those
that define a name which an answer reads. Answers stand in the book's order; a student's own cells keep their place
before the answer that they come before.
"""

import builtins
import functools
import json
import symtable
from collections.abc import Iterable
from dataclasses import dataclass

from utils.classroom.marks import Cell, Notebook
from utils.classroom.problems import ClassProblem
from utils.classroom.similar import LONGEST
from utils.paths import chapters_dir


@dataclass(frozen=True)
class Step:
    """One cell to run. `exercise` is set for an answer; `own` for a cell of the student's."""

    key: str
    source: str
    exercise: str | None = None
    own: bool = False


@functools.lru_cache(maxsize=16)
def book_cells(chapter: str) -> tuple[tuple[str, str, str | None, bool], ...]:
    """The code cells of a chapter as shipped: (key, source, exercise, whether it always runs).

    Raises:
        ClassProblem: the book has no such chapter.
    """
    try:
        notebook = json.loads((chapters_dir() / f"{chapter}.ipynb").read_text(encoding="utf-8"))
    except OSError:
        raise ClassProblem(f"The book has no chapter {chapter}: is this checkout complete?") from None
    found = []
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            said, source = cell["metadata"].get("book", {}), "".join(cell["source"])
            always = said.get("key") == "setup"
            if not source.startswith("grade("):
                found.append((cell["id"], source, said.get("exercise"), always))
    return tuple(found)


def plan(notebook: Notebook) -> list[Step]:
    """The cells to run for a submission's notebook, in order."""
    of_book = {key for key, _, _, _ in book_cells(notebook.chapter)}
    cells = [cell for cell in notebook.cells if cell.exercise or not _is_of_book(cell, of_book)]
    answers = {cell.exercise: cell for cell in cells if cell.exercise}
    before, after = _own_cells(cells)
    theirs = [cell.source for cell in cells]
    needed = _needed(notebook.chapter, theirs)
    steps: list[Step] = []
    for key, source, exercise, always in book_cells(notebook.chapter):
        if exercise in answers and exercise is not None:
            steps += before.get(exercise, [])
            steps.append(Step(key, answers[exercise].source, exercise))
        elif exercise is None and (always or key in needed):
            steps.append(Step(key, source))
    return steps + after


def _is_of_book(cell: Cell, of_book: set[str]) -> bool:
    """Whether a cell is one of the book's own, whatever has become of it: it is taken from the book, or left out."""
    return cell.id in of_book or cell.source.startswith("grade(")


def _own_cells(cells: Iterable[Cell]) -> tuple[dict[str, list[Step]], list[Step]]:
    """The student's own cells by the answer that they stand before, and those after the last."""
    before: dict[str, list[Step]] = {}
    waiting: list[Step] = []
    for i, cell in enumerate(cells):
        if cell.exercise:
            before[cell.exercise] = before.get(cell.exercise, []) + waiting
            waiting = []
        elif cell.kind == "code":
            waiting.append(Step(f"own-{i}", cell.source, own=True))
    return before, waiting


def _needed(chapter: str, sources: list[str]) -> set[str]:
    """Keys of the demonstrations that define what the sources read, and what those read in turn."""
    demonstrations = [(key, source) for key, source, exercise, always in book_cells(chapter) if not exercise]
    wanted = set().union(*(names(source)[0] for source in sources)) if sources else set()
    made = set().union(*(names(source)[1] for source in sources)) if sources else set()
    needed: set[str] = set()
    for key, source in reversed(demonstrations):
        reads, makes = names(source)
        if makes & (wanted - made):
            needed.add(key)
            wanted |= reads
    return needed


@functools.lru_cache(maxsize=256)  # the book's cells; students' texts come once
def names(source: str) -> tuple[frozenset[str], frozenset[str]]:
    """The global names that a cell reads without defining them, and those that it defines.

    None of either if it has no syntax, or is too long.
    """
    if len(source) > LONGEST:
        return frozenset(), frozenset()
    try:
        table = symtable.symtable(source, "cell", "exec")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return frozenset(), frozenset()
    makes = {s.get_name() for s in table.get_symbols() if s.is_assigned() or s.is_imported() or s.is_namespace()}
    reads = {s.get_name() for s in table.get_symbols() if s.is_referenced()}
    waiting = list(table.get_children())
    while waiting:
        inner = waiting.pop()
        reads |= {s.get_name() for s in inner.get_symbols() if s.is_global() and s.is_referenced()}
        waiting += inner.get_children()
    return frozenset(reads - makes - set(dir(builtins))), frozenset(makes)
