"""Marks for other programs: a CSV for spreadsheets, results.json for Gradescope, JUnit's XML.

Each is written student by student, so that a class of any size needs little memory. What a student has chosen, a name
or an error's text, is made harmless for the program that will read it.
"""

import csv
import json
import re
from collections.abc import Iterable
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

from utils.classroom.known import chapters
from utils.classroom.marks import ExerciseMark
from utils.classroom.pages import file_name
from utils.classroom.points import Points, number
from utils.classroom.store import Standing, Store
from utils.classroom.told import told
from utils.grading.report import to_text
from utils.grading.text import harmless

# What a spreadsheet would run as a formula: also in wide letters, and after what another country takes for a new cell.
_FORMULA = re.compile(r"(^|[;,|\t\n]\s*)(?=[=+\-@＝＋－＠\t])")
# Characters that XML 1.0 does not have.
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
WORDS = {
    "passed": "passed",
    "failed": "not right yet",
    "not_written": "not written",
    "missing": "not in the notebook",
    "timeout": "took too long",
    "crashed": "ended its process",
    "not_run": "could not be run",
}


def write_csv(store: Store, points: Points, path: Path) -> None:
    """One row a student and chapter: points for each exercise, total, what it is out of, and how it was handed in.

    Exercises of other chapters stay empty; so does a notebook that has no marks.
    """
    ids = exercises_of(store)
    with open(path, "w", encoding="utf-8-sig", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["student", "chapter", *ids, "total", "out of", "late", "attempt", "received", "path"])
        for standing in store.standings():
            marks = {mark.exercise: mark for mark in standing.graded.marks} if standing.graded else {}
            cells = [number(points.earned(marks[e])) if e in marks else "" for e in ids]
            earned, possible = total(standing, points)
            sent = standing.submission
            writer.writerow([
                plain(sent.student), standing.chapter, *cells, number(earned) if marks else "", number(possible),
                "late" if sent.late else "", sent.attempt or "", sent.received or "", plain(sent.path),
            ])  # fmt: skip


def write_gradescope(store: Store, points: Points, folder: Path) -> list[Path]:
    """A results.json for each notebook, in a folder of its own, in the format of Gradescope's autograders."""
    written = []
    for standing in store.standings():
        if standing.graded is None:
            continue
        target = folder / file_name(standing.submission.student) / standing.chapter / "results.json"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(json.dumps(gradescope(standing, points), indent=1) + "\n", encoding="utf-8")
        written.append(target)
    return written


def gradescope(standing: Standing, points: Points) -> dict:
    """One notebook's results: a test for each exercise, shown to its student, with the report as text."""
    earned, _ = total(standing, points)
    tests = [
        {
            "name": f"{mark.exercise} {_title(standing.chapter, mark.exercise)}",
            "number": mark.exercise,
            "score": points.earned(mark),
            "max_score": points.worth(mark.exercise),
            "status": "passed" if mark.passed else "failed",
            "output": said(mark),
            "output_format": "text",
            "tags": [mark.status],
            "visibility": "visible",
        }
        for mark in standing.graded.marks
    ]
    return {
        "score": earned,
        "execution_time": round(standing.graded.seconds, 3),
        "output": harmless("\n".join((*standing.graded.notes, *standing.submission.problems))),
        "output_format": "text",
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "tests": tests,
    }


def write_junit(store: Store, path: Path) -> None:
    """One suite a notebook, one case an exercise: failures, errors, and skipped where nothing is written."""
    with open(path, "w", encoding="utf-8") as file:
        file.write('<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="book grade">\n')
        for standing in store.standings():
            if standing.graded is not None:
                file.write(_suite(standing))
        file.write("</testsuites>\n")


def _suite(standing: Standing) -> str:
    marks = standing.graded.marks
    counts = {"failure": 0, "error": 0, "skipped": 0, None: 0}
    cases = []
    for mark in marks:
        kind = _kind(mark)
        counts[kind] += 1
        text = xml(said(mark))
        inner = "" if kind is None else f"<{kind} message={quoteattr(text.splitlines()[0])}>{escape(text)}</{kind}>"
        name = f"{mark.exercise} {_title(standing.chapter, mark.exercise)}"
        cases.append(
            f"  <testcase classname={quoteattr(standing.chapter)} name={quoteattr(name)} "
            f'time="{mark.seconds:.3f}">{inner}</testcase>\n'
        )
    head = (
        f' <testsuite name={quoteattr(xml(standing.submission.student))} tests="{len(marks)}" '
        f'failures="{counts["failure"]}" errors="{counts["error"]}" skipped="{counts["skipped"]}" '
        f'time="{standing.graded.seconds:.3f}">\n'
    )
    return head + "".join(cases) + " </testsuite>\n"


def _kind(mark: ExerciseMark) -> str | None:
    if mark.passed:
        return None
    return {"failed": "failure", "not_written": "skipped", "missing": "skipped"}.get(mark.status, "error")


def said(mark: ExerciseMark) -> str:
    """The report of an exercise as text, or what became of it where there is none."""
    verdict = told(mark)
    if verdict is not None:
        return to_text(verdict)
    return f"{mark.exercise}: {WORDS[mark.status]}."


def total(standing: Standing, points: Points) -> tuple[float, float]:
    """Points earned and points to be had in this chapter."""
    marks = standing.graded.marks if standing.graded else ()
    return sum(map(points.earned, marks)), sum(map(points.worth, chapters()[standing.chapter].exercises))


def exercises_of(store: Store) -> list[str]:
    """The exercises of all chapters that were handed in, in the order of their numbers."""
    slugs = {standing.chapter for standing in store.standings()}
    found = [e for slug in slugs for e in chapters()[slug].exercises]
    return sorted(found, key=lambda e: [int(part) for part in e.split(".")])


def plain(text: str) -> str:
    """Text that a spreadsheet takes for text, whichever sign it takes for the end of a cell.

    >>> plain("=1+1"), plain("Ann"), plain("Ann;=1+1")
    ("'=1+1", 'Ann', "Ann;'=1+1")
    """
    return _FORMULA.sub(r"\1'", harmless(text))


def xml(text: str) -> str:
    """Text of characters that XML has; not yet escaped."""
    return _NOT_XML.sub("\ufffd", harmless(text)) or "–"


def _title(slug: str, exercise: str) -> str:
    return next(name for name, e in chapters()[slug].names.items() if e == exercise)


def sentences(problems: Iterable[str]) -> str:
    """Problems on one line each, for a terminal."""
    return "\n".join(harmless(problem) for problem in problems)
