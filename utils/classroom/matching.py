"""A student's cells beside the book's: which chapter they are of, and which cell answers which exercise.

A cell is the book's by its id, by the key in its metadata, or by its text. An answer is where the function or class is
defined, and the last definition counts, as it does in a kernel (`plan` runs the cells so that it does); a stub as
shipped counts only where there is nothing else, and text only where there is no code. What a student has added is kept;
the book's own cells are known by their ids, so that they can be restored.
"""

import ast
import re
from collections import Counter
from dataclasses import dataclass

from utils.classroom.decoding import RawCell, RawNotebook
from utils.classroom.known import BookCell, Chapter, squeezed
from utils.classroom.marks import Cell, Notebook
from utils.classroom.similar import LONGEST

_DEFINITION = re.compile(r"^(?:(?:async\s+def|def|class)\s+(\w+)|(\w+)[ \t]*=[ \t]*lambda\b)", re.MULTILINE)
_ASSIGNMENT = re.compile(r"^(\w+)[ \t]*(?::[^=\n]*)?=(?!=)", re.MULTILINE)


def chapter_of(raw: RawNotebook, known: dict[str, Chapter], name: str) -> Chapter | None:
    """By the ids of its cells, else by its metadata, by the functions that it defines, by the file's name."""
    votes = Counter(slug for cell in raw.cells for slug, chapter in known.items() if cell.id in chapter.by_id)
    if votes:
        return known[votes.most_common(1)[0][0]]
    if raw.chapter in known:
        return known[raw.chapter]
    code = [cell for cell in raw.cells if cell.kind == "code"]
    defined = {found for cell in code for found in definitions(cell.source)}
    votes = Counter({slug: len(defined & chapter.names.keys()) for slug, chapter in known.items()})
    (slug, count), (_, next_best) = votes.most_common(2)
    if count > next_best:
        return known[slug]
    return next((chapter for slug, chapter in known.items() if slug in name), None)


@dataclass
class _Placed:
    """A student's cell with the book's cell that it is, if it is one."""

    raw: RawCell
    of_book: BookCell | None
    defines: frozenset[str]
    assigns: frozenset[str]  # in cells of the student's

    @property
    def is_stub(self) -> bool:
        book = self.of_book
        return bool(book and book.exercise and squeezed(self.raw.source) == squeezed(book.source))

    @property
    def unchanged(self) -> bool:
        return bool(self.of_book) and squeezed(self.raw.source) == squeezed(self.of_book.source)


def matched(raw: RawNotebook, chapter: Chapter) -> Notebook:
    """The notebook to be graded: code cells in the student's order, with the exercise that each of them answers."""
    placed = _placed(raw, chapter)
    notes = list(raw.notes)
    chosen: dict[int, list[str]] = {}  # place of a cell → its exercises
    passed_over: set[int] = set()
    for name, exercise in chapter.names.items():
        at, others = _answer(placed, name, exercise)
        if at is None:
            notes.append(f"There is no cell for exercise {exercise} ({name}).")
            continue
        written = [i for i in others if name in placed[i].defines and placed[i].raw.kind == placed[at].raw.kind]
        written = [i for i in written if not placed[i].is_stub]
        if written:
            notes.append(f"Exercise {exercise} ({name}) is answered {len(written) + 1} times; the last one counts.")
        if placed[at].raw.kind != "code":
            notes.append(f"The answer to exercise {exercise} ({name}) was turned into text; it is read as code.")
        if not placed[at].is_stub and any(name in cell.assigns for cell in placed[at + 1 :]):
            notes.append(f"After the answer to exercise {exercise}, {name} is given another value, which counts.")
        chosen.setdefault(at, []).append(exercise)
        passed_over.update(i for i in others if i > at or not placed[i].is_stub)  # earlier stubs run as they stand
    notes += _about_the_rest(placed, chapter, chosen)
    cells: list[Cell] = []
    for i, cell in enumerate(placed):
        cells += _as_cells(cell, chosen.get(i, []), i in passed_over, notes)
    return Notebook(chapter.slug, tuple(cells), tuple(dict.fromkeys(notes)))


def definitions(source: str) -> list[str]:
    """The functions and classes defined at the left edge of a cell, which need not be sound Python."""
    return [name for found in _DEFINITION.findall(source) for name in found if name]


def _placed(raw: RawNotebook, chapter: Chapter) -> list[_Placed]:
    placed = []
    for cell in raw.cells:
        book = chapter.by_id.get(cell.id) or chapter.by_key.get(cell.key)
        if book is None and cell.kind == "code":
            book = chapter.by_text.get(squeezed(cell.source))
        own = cell.kind == "code" and (book is None or book.exercise)
        assigns = frozenset(_ASSIGNMENT.findall(cell.source) if own else ())
        placed.append(_Placed(cell, book, frozenset(definitions(cell.source)), assigns))
    return placed


def _answer(placed: list[_Placed], name: str, exercise: str) -> tuple[int | None, list[int]]:
    """The place of the cell that counts, and the places of others that answer the same exercise."""
    at_home = [i for i, cell in enumerate(placed) if cell.of_book and cell.of_book.exercise == exercise]
    defining = [
        i
        for i, cell in enumerate(placed)
        if name in cell.defines
        and (cell.raw.kind == "code" or i in at_home)
        and not (cell.unchanged and not cell.is_stub)
    ]
    written = [i for i in defining if not placed[i].is_stub]
    run = [i for i in written if placed[i].raw.kind == "code"]
    counts = (run or written or defining or at_home or [None])[-1]
    return counts, [i for i in {*defining, *at_home} if i != counts]


def _as_cells(cell: _Placed, exercises: list[str], passed_over: bool, notes: list[str]) -> list[Cell]:
    raw, book = cell.raw, cell.of_book
    if exercises:
        own = book.id if book and book.exercise in exercises else None
        return [Cell(own if i == 0 else None, "code", raw.source, e) for i, e in enumerate(exercises)]
    if raw.kind != "code" or not raw.source.strip():
        return []
    if passed_over:
        return [] if cell.is_stub else [Cell(None, "code", raw.source)]
    if book is None or book.exercise:
        return [Cell(raw.id if book is None else None, "code", raw.source)]
    added = "" if cell.unchanged else _added(raw.source, book.source)
    if added:
        notes.append(f"What was added to the book's cell {book.key!r} is kept; the rest of that cell is the book's.")
    return [Cell(book.id, "code", raw.source), *([Cell(None, "code", added)] if added else [])]


def _added(source: str, shipped: str) -> str:
    """Imports, definitions and plain constants of new names that a student has put into one of the book's own cells.

    Nothing of a cell so long that looking at it would take minutes.
    """
    if len(source) > LONGEST:
        return ""
    try:
        mine, books = ast.parse(source), ast.parse(shipped)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    taken = {name for node in books.body for name in _binds(node)}
    taken |= {n.id for n in ast.walk(books) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    new = [node for node in mine.body if (names := _binds(node)) and not names & taken]
    return "\n\n".join(ast.get_source_segment(source, node) or "" for node in new)


def _binds(node: ast.stmt) -> set[str]:
    """The names that an import, a definition or the assignment of a constant binds; nothing for other statements."""
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return {alias.asname or alias.name for alias in node.names}
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return {node.name}
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
        return {target.id for target in node.targets if isinstance(target, ast.Name)}
    return set()


def _about_the_rest(placed: list[_Placed], chapter: Chapter, chosen: dict[int, list[str]]) -> list[str]:
    """What else is odd: cells of the book that are gone or stand in another order. None of it changes a mark."""
    notes = []
    there = {cell.of_book.key for cell in placed if cell.of_book}
    graders = [f"{name}" for name, key in _graders(chapter).items() if key not in there]
    if graders and there:
        notes.append(f"The cells that grade {_some(graders)} are gone; that changes no mark.")
    order = [exercise for i in sorted(chosen) for exercise in chosen[i]]
    if order != [exercise for exercise in chapter.exercises if exercise in order]:
        notes.append("The answers stand in another order than in the book; they are run in the order of the notebook.")
    return notes


def _graders(chapter: Chapter) -> dict[str, str]:
    """The key of the cell that grades each answer, by the answer's name."""
    code = [cell for cell in chapter.cells if cell.kind == "code"]
    return {name: cell.key for name in chapter.names for cell in code if cell.source.strip() == f"grade({name})"}


def _some(words: list[str], most: int = 6) -> str:
    more = len(words) - most
    return ", ".join(words[:most]) + (f" and {more} more" if more > 0 else "")
