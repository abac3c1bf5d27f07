"""Fills the gradebook that Canvas exports: the scores of one column a chapter, everything else as it was.

Canvas takes the same file back. Rows are found by Canvas's own number of a student where the downloaded files carry
it, else by login, id or name; whoever cannot be found is told, and nobody is guessed.
"""

import csv
import io
import re
from dataclasses import dataclass, field
from pathlib import Path

from utils.classroom.exports import total
from utils.classroom.known import chapters
from utils.classroom.points import Points, number
from utils.classroom.problems import ClassProblem
from utils.classroom.store import Store

_ACCOUNT = re.compile(r"(?P<name>.*) \((?P<account>\d+)\)")
_COLUMN_ID = re.compile(r"\s*\(\d+\)\s*$")
PERSON = ("ID", "SIS Login ID", "SIS User ID")
POSSIBLE = "pointspossible"


@dataclass
class Filled:
    """What was done: columns by chapter, rows filled, and a sentence for each thing that a teacher should know."""

    columns: dict[str, str] = field(default_factory=dict)
    rows: int = 0
    notes: list[str] = field(default_factory=list)


def fill(store: Store, points: Points, exported: Path, target: Path) -> Filled:
    """Write the gradebook at `exported` to `target` with the scores of this class in it.

    A score is scaled to the points that Canvas has for the column. A student without marks keeps what was there.

    Raises:
        ClassProblem: the file is no gradebook of Canvas's, or no column or several fit a chapter.
    """
    text, dialect = _read(exported)
    rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=dialect.delimiter))
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
        row += [""] * (at + 1 - len(row))
        row[at] = number(earned / possible * (people.possible(at) or possible) if possible else 0.0)
        filled.rows += 1
    held = io.StringIO(newline="")
    csv.writer(held, delimiter=dialect.delimiter, lineterminator=dialect.line_end).writerows(rows)
    target.write_bytes((dialect.mark + held.getvalue()).encode("utf-8"))
    return filled


@dataclass(frozen=True)
class _Dialect:
    delimiter: str
    line_end: str
    mark: str  # "\ufeff" or ""


def _read(path: Path) -> tuple[str, _Dialect]:
    try:
        text = path.read_bytes().decode("utf-8")
    except OSError as why:
        raise ClassProblem(f"{path} cannot be read ({why.strerror}): check the path.") from why
    except UnicodeDecodeError as why:
        raise ClassProblem(f"{path} is not UTF-8: export the gradebook from Canvas again, and do not edit it.") from why
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    text = text.removeprefix("\ufeff")
    first = text.split("\n", 1)[0]
    delimiter = ";" if first.count(";") > first.count(",") else ","
    return text, _Dialect(delimiter, "\r\n" if first.endswith("\r") else "\n", mark)


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
        from_platform = _ACCOUNT.fullmatch(student)
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
