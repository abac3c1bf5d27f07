"""Fills the gradebook that Canvas exports: the scores of one column a chapter, everything else as it was.

Canvas takes the same file back. Rows are found by Canvas's own number of a student where the downloaded files carry
it, else by login, id or name; whoever cannot be found is told, and nobody is guessed.
"""

import re
from pathlib import Path

from utils.classroom.exports import total
from utils.classroom.gradebook import ACCOUNT, Filled, Gradebook, scaled
from utils.classroom.known import chapters
from utils.classroom.points import Points
from utils.classroom.problems import ClassProblem
from utils.classroom.store import Store

_COLUMN_ID = re.compile(r"\s*\(\d+\)\s*$")
PERSON = ("ID", "SIS Login ID", "SIS User ID")
POSSIBLE = "pointspossible"


def fill(store: Store, points: Points, exported: Path, target: Path) -> Filled:
    """Write the gradebook at `exported` to `target` with the scores of this class in it.

    A score is scaled to the points that Canvas has for the column. A student without marks keeps what was there.

    Raises:
        ClassProblem: the file is no gradebook of Canvas's, or no column or several fit a chapter.
    """
    book = Gradebook(exported, "the gradebook from Canvas")
    rows = book.rows
    header = next((row for row in rows if "Student" in row and "ID" in row), None)
    if header is None:
        raise ClassProblem(f"{exported} has no columns Student and ID: export the gradebook from Canvas again.")
    people = _People(header, rows[rows.index(header) + 1 :])
    filled = Filled()
    for standing in store.standings():
        if standing.graded is None:
            continue
        column = filled.columns.get(standing.chapter) or _column(header, standing.chapter, exported)
        filled.columns[standing.chapter] = column
        at = header.index(column)
        row = people.find(standing.submission.student)
        if row is None:
            filled.notes.append(f"{standing.submission.student} is in no row of {exported.name}, or in several.")
            continue
        earned, possible = total(standing, points)
        book.put(row, at, scaled(earned, possible, people.possible(at)))
        filled.rows += 1
    book.write(target)
    return filled


def _column(header: list[str], slug: str, path: Path) -> str:
    """The one column that is named after a chapter: by its slug, its title, or a word for it and its number."""
    title = chapters()[slug].title
    wanted = {_plain(slug), _plain(title), _plain(slug[3:]), _plain(title.split(":")[0])}
    wanted |= {f"{word}{n}" for word in ("", "chapter", "ch", "notebook") for n in (slug[:2], str(int(slug[:2])))}
    found = [name for name in header if _plain(_COLUMN_ID.sub("", name)) in wanted]
    if len(found) == 1:
        return found[0]
    offered = ", ".join(name for name in header if _COLUMN_ID.search(name)) or "none"
    how_many = "No column" if not found else "More than one column"
    raise ClassProblem(
        f"{how_many} of {path} is named after chapter {slug}: name one assignment {slug!r} in Canvas and export again "
        f"(its assignments are {offered})."
    )


class _People:
    """The rows of students, by what each is called."""

    def __init__(self, header: list[str], rows: list[list[str]]):
        self._rows, at = rows, {name: header.index(name) for name in ("Student", *PERSON) if name in header}
        self._by_name: dict[str, list[list[str]]] = {}
        self._by_account: dict[str, list[list[str]]] = {}
        self._possible = next((row for row in rows if row and _plain(row[at["Student"]]) == POSSIBLE), [])
        for row in rows:
            held = {name: row[i].strip() for name, i in at.items() if i < len(row)}
            if row is self._possible or not held.get("ID"):
                continue
            self._by_account.setdefault(held["ID"], []).append(row)
            last, _, first = held.get("Student", "").partition(",")
            logins = {held.get(name, "") for name in PERSON}
            for name in {_plain(n) for n in (last + first, first + last, *logins)} - {""}:
                self._by_name.setdefault(name, []).append(row)

    def find(self, student: str) -> list[str] | None:
        """The one row of a student; None where there is none, or more than one."""
        from_platform = ACCOUNT.fullmatch(student)
        if from_platform:
            found = self._by_account.get(from_platform["account"], [])
            if len(found) == 1:
                return found[0]
            student = from_platform["name"]
        found = self._by_name.get(_plain(student), [])
        return found[0] if len(found) == 1 else None

    def possible(self, column: int) -> float | None:
        """What Canvas has as the most points of a column."""
        try:
            return float(self._possible[column])
        except (ValueError, IndexError):
            return None


def _plain(text: str) -> str:
    """Letters and digits alone, in lower case."""
    return "".join(c for c in text.casefold() if c.isalnum())
