"""Fills the grading worksheet that Moodle offers for an assignment: one chapter's grades, everything else as it was.

Moodle takes the same file back. A row is found by Moodle's number of the participant, which also stands in the names
of its downloads, and only by that: two participants may share a name. Moodle finds its columns by their names in the
teacher's language, so this does it too, in English; the others do not matter.
"""

import re
from pathlib import Path

from utils.classroom.exports import total
from utils.classroom.gradebook import ACCOUNT, Filled, Gradebook, scaled
from utils.classroom.points import Points
from utils.classroom.problems import ClassProblem
from utils.classroom.store import Store

PERSON, GRADE, MOST, OPEN, SCALE = "Identifier", "Grade", "Maximum Grade", "Grade can be changed", "Scale"
_NUMBER = re.compile(r"\D*(\d+)")


def fill(store: Store, points: Points, exported: Path, target: Path, chapter: str | None = None) -> Filled:
    """Write the worksheet at `exported` to `target` with the grades of one chapter in it.

    A grade is scaled to Moodle's maximum. Whoever has no marks, or whose grade is locked in Moodle, keeps what was
    there.

    Args:
        chapter: its slug; where None, the only one that the class has handed in.

    Raises:
        ClassProblem: the file is no worksheet of Moodle's, or there are several chapters to choose from.
    """
    book = Gradebook(exported, "the grading worksheet from Moodle")
    header = book.rows[0] if book.rows else []
    if PERSON not in header or GRADE not in header:
        raise ClassProblem(
            f"{exported} has no columns {PERSON} and {GRADE}: set your language in Moodle to English, "
            "and download the grading worksheet again."
        )
    if SCALE in header:
        raise ClassProblem(f"{exported} grades by a scale of words: set points for the assignment in Moodle.")
    if chapter is None:
        chapter = _only_chapter(store, exported)
    rows = {found[1]: row for row in book.rows[1:] if row and (found := _NUMBER.fullmatch(_cell(header, row, PERSON)))}
    filled = Filled({chapter: GRADE})
    for standing in store.standings():
        if standing.graded is None or standing.chapter != chapter:
            continue
        student = standing.submission.student
        known = ACCOUNT.fullmatch(student)
        row = rows.get(known["account"]) if known else None
        if row is None:
            filled.notes.append(f"{student} is in no row of {exported.name}.")
        elif _cell(header, row, OPEN).casefold() == "no":
            filled.notes.append(f"{student} has a grade that is locked in Moodle, and keeps it.")
        else:
            most = _most(_cell(header, row, MOST))
            book.put(row, header.index(GRADE), scaled(*total(standing, points), most))
            filled.rows += 1
    book.write(target)
    return filled


def _only_chapter(store: Store, exported: Path) -> str:
    found = sorted({standing.chapter for standing in store.standings() if standing.graded})
    if len(found) > 1:
        raise ClassProblem(
            f"{exported} is for one assignment, and there are marks for {', '.join(found)}: say which with --chapter."
        )
    return found[0] if found else ""


def _cell(header: list[str], row: list[str], name: str) -> str:
    at = header.index(name) if name in header else len(row)
    return row[at].strip() if at < len(row) else ""


def _most(text: str) -> float | None:
    """Moodle's maximum, "100.00"; with a comma where its language has one."""
    try:
        return float(text.replace(",", "."))
    except ValueError:
        return None
