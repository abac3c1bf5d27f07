"""Which cells of a submission's notebook are run, and in which order.

As in a kernel after "restart and run all", a student's cells run in the notebook's order, so that of several
definitions of a name the last one holds. The book's own cells are taken from the book, not from the submission. Its
demonstrations are left out, except those that define a name which an answer reads.
"""

import builtins
import functools
import json
import symtable
from collections import defaultdict
from collections.abc import Container
from dataclasses import dataclass
from typing import NamedTuple

from utils.classroom.marks import Cell, Notebook
from utils.classroom.matching import definitions
from utils.classroom.problems import ClassProblem
from utils.classroom.similar import LONGEST
from utils.paths import chapters_dir

MOST_ORDERED, MOST_TEXT = 300, 2 * LONGEST  # cells and characters: more runs as it stands
COMPREHENSIONS = ("listcomp", "setcomp", "dictcomp", "genexpr")


@dataclass(frozen=True)
class Step:
    """One cell to run. `exercise` is set for an answer; `own` for a cell of the student's."""

    key: str
    source: str
    exercise: str | None = None
    own: bool = False


class Names(NamedTuple):
    """The global names that a cell reads without defining them, those that it defines, and those read as it runs."""

    reads: frozenset[str] = frozenset()
    makes: frozenset[str] = frozenset()
    at_once: frozenset[str] = frozenset()


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
    book = book_cells(notebook.chapter)
    place = {key: i for i, (key, _, _, _) in enumerate(book)}
    answers = {exercise: key for key, _, exercise, _ in book if exercise}
    theirs = [cell for cell in notebook.cells if cell.exercise or not _is_of_book(cell, place)]
    needed = _needed(notebook.chapter, [cell.source for cell in theirs])
    steps = [Step(key, source) for key, source, _, always in book if always]
    coming = [Step(key, source) for key, source, _, always in book if key in needed and not always]
    for i, cell in enumerate(notebook.cells):
        key = answers.get(cell.exercise, cell.id)
        while coming and place[coming[0].key] <= place.get(key, 0):
            steps.append(coming.pop(0))
        if cell.exercise in answers:
            steps.append(Step(key, cell.source, cell.exercise))
        elif cell.kind == "code" and not cell.exercise and not _is_of_book(cell, place):
            steps.append(Step(f"own-{i}", cell.source, own=True))
    return _in_order(steps + coming)


def _is_of_book(cell: Cell, keys: Container[str | None]) -> bool:
    """Whether a cell is one of the book's own, whatever has become of it: it is taken from the book, or left out."""
    return cell.id in keys or cell.source.startswith("grade(")


def _in_order(steps: list[Step]) -> list[Step]:
    """As they stand, but a cell that would ask for what only a later one defines waits for that one.

    Cells that define the same name never change places, so that the last definition stays the last.
    """
    if len(steps) > MOST_ORDERED or sum(len(step.source) for step in steps) > MOST_TEXT:
        return steps
    said = [names(step.source) for step in steps]
    makers = defaultdict(list)
    for i, of_cell in enumerate(said):
        for name in of_cell.makes:
            makers[name].append(i)
    needs = [_needs(i, said, makers) & makers.keys() for i in range(len(steps))]
    waiting, ordered, made = list(range(len(steps))), [], set()
    while waiting:
        passed: set[str] = set()  # what the cells define that would be overtaken
        for i in waiting:
            if needs[i] <= made and not said[i].makes & passed:
                break
            passed |= said[i].makes
        else:
            i = waiting[0]  # each waits for another
        waiting.remove(i)
        ordered.append(steps[i])
        made |= said[i].makes
    return ordered


def _needs(i: int, said: list[Names], makers: dict[str, list[int]]) -> set[str]:
    """The names that a cell reads as it runs, and what the functions among them may read in turn."""
    needs: set[str] = set()
    seen, waiting = {i}, list(said[i].at_once)
    while waiting:
        name = waiting.pop()
        if name not in needs:
            needs.add(name)
            new = [j for j in makers.get(name, ()) if j not in seen]
            seen.update(new)
            waiting += [read for j in new for read in said[j].reads]
    return needs - said[i].makes


def _needed(chapter: str, sources: list[str]) -> set[str]:
    """Keys of the demonstrations that define what the sources read, and what those read in turn."""
    demonstrations = [(key, source) for key, source, exercise, always in book_cells(chapter) if not exercise]
    wanted = set().union(*(names(source).reads for source in sources))
    made = set().union(*(names(source).makes for source in sources))
    needed: set[str] = set()
    for key, source in reversed(demonstrations):
        of_cell = names(source)
        if of_cell.makes & (wanted - made):
            needed.add(key)
            wanted |= of_cell.reads
    return needed


@functools.lru_cache(maxsize=256)  # the book's cells; students' texts come once
def names(source: str) -> Names:
    """What a cell has to do with global names: of one that has no syntax, or is too long, what it seems to define."""
    seen = frozenset(definitions(source))
    if len(source) > LONGEST:
        return Names(makes=seen)
    try:
        table = symtable.symtable(source, "cell", "exec")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return Names(makes=seen)
    makes = {s.get_name() for s in table.get_symbols() if s.is_assigned() or s.is_imported() or s.is_namespace()}
    reads = {s.get_name() for s in table.get_symbols() if s.is_referenced()}
    at_once = set(reads)
    waiting = [(inner, True) for inner in table.get_children()]
    while waiting:
        inner, runs = waiting.pop()
        found = {s.get_name() for s in inner.get_symbols() if s.is_global() and s.is_referenced()}
        runs = runs and (inner.get_type() == "class" or inner.get_name() in COMPREHENSIONS)
        reads |= found
        at_once |= found if runs else set()
        waiting += [(child, runs) for child in inner.get_children()]
    left = makes | set(dir(builtins))
    return Names(frozenset(reads - left), frozenset(makes), frozenset(at_once - left))
