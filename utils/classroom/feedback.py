"""A page of feedback for each student: their exercises, the reports, their own answers, and nothing about anyone else.

The reports are those of the notebook, made again from what was kept; inputs that nobody should know were never kept.
"""

import re
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

from utils.classroom.exports import total
from utils.classroom.known import chapters
from utils.classroom.marks import ExerciseMark, Graded
from utils.classroom.pages import file_name, render, report_style, without_style
from utils.classroom.points import Points, number
from utils.classroom.store import Standing, Store
from utils.classroom.told import told
from utils.grading.report import to_html

SENTENCES = {
    "passed": "This is right.",
    "failed": "This is not right yet.",
    "not_written": "This is not written yet.",
    "missing": "There is no answer to this exercise in the notebook.",
    "timeout": "The answer took too long and was stopped. Is there a loop that does not end, or one over every number?",
    "crashed": "The answer ended the process that ran it, so nothing can be said about its values.",
    "not_run": "The answer could not be run, because its cell or one before it fails.",
}


def write_feedback(store: Store, points: Points, folder: Path) -> int:
    """A page for each student who has handed in anything; gives how many were written."""
    folder.mkdir(parents=True, exist_ok=True)
    written = 0
    problems = _problems(store)
    for student, standings in groupby(store.standings(), key=lambda s: s.submission.student):
        page = student_page(student, list(standings), points, problems.pop(student, []))
        (folder / f"{file_name(student)}.html").write_text(page, encoding="utf-8")
        written += 1
    for student, sentences in sorted(problems.items()):
        page = student_page(student, [], points, sentences)
        (folder / f"{file_name(student)}.html").write_text(page, encoding="utf-8")
        written += 1
    return written


def student_page(student: str, standings: list[Standing], points: Points, problems: list[str]) -> str:
    """The page of one student as HTML."""
    graded = [standing for standing in standings if standing.graded]
    waiting = [f"{s.submission.path} is not graded yet." for s in standings if not s.graded]
    return render(
        "feedback.html.j2",
        title=f"Feedback for {student}",
        student=student,
        chapters=[_chapter(standing, points) for standing in graded],
        problems=[*problems, *waiting],
        report_style=report_style(),
    )


def _problems(store: Store) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for student, sentence in store.problems():
        found.setdefault(student, []).append(sentence)
    return found


def _chapter(standing: Standing, points: Points) -> dict[str, Any]:
    earned, possible = total(standing, points)
    graded: Graded = standing.graded
    return {
        "number": standing.chapter[:2],
        "title": chapters()[standing.chapter].title,
        "passed": sum(mark.passed for mark in graded.marks),
        "earned": number(earned),
        "possible": number(possible),
        "path": standing.submission.path,
        "received": (standing.submission.received or "")[:16].replace("T", " "),
        "late": standing.submission.late,
        "notes": list(dict.fromkeys(graded.notes)),
        "marks": list(_marks(standing.chapter, graded, points)),
    }


def _marks(slug: str, graded: Graded, points: Points) -> Iterator[dict[str, Any]]:
    names = {exercise: name for name, exercise in chapters()[slug].names.items()}
    wrong = {names[mark.exercise]: mark.exercise for mark in graded.marks if not mark.passed}
    for mark in graded.marks:
        yield {
            "exercise": mark.exercise,
            "name": names.get(mark.exercise, ""),
            "earned": number(points.earned(mark)),
            "worth": number(points.worth(mark.exercise)),
            "report": _report(mark),
            "sentence": SENTENCES[mark.status],
            "tone": "good" if mark.passed else "none" if mark.status in ("not_written", "missing") else "bad",
            "leans_on": [] if mark.passed else _called(mark, wrong),
            "source": mark.source if mark.status not in ("not_written", "missing") else "",
        }


def _called(mark: ExerciseMark, wrong: dict[str, str]) -> list[tuple[str, str]]:
    """(name, exercise) of the student's answers that this one calls and that are not right either."""
    return [
        (name, exercise)
        for name, exercise in wrong.items()
        if exercise != mark.exercise and re.search(rf"\b{name}\(", mark.source)
    ]


def _report(mark: ExerciseMark):
    verdict = told(mark)
    return None if verdict is None else without_style(to_html(verdict))
