"""What the solutions show under their answers is what grading says today: a changed exercise wants a new build."""

import nbformat
import pytest

from utils.book.shelf import the_book
from utils.exercises import all_exercises
from utils.grading.checking import check
from utils.grading.report import to_text

SHELF = the_book()


@pytest.mark.parametrize("chapter", SHELF.chapters())
def test_a_stored_report_is_what_grading_says_today(chapter):
    stored = passing_reports(chapter)
    exercises = [exercise for exercise in all_exercises() if exercise.id.startswith(chapter[:2])]
    assert stored.keys() >= {exercise.id for exercise in exercises}, "an answer without a passing report"
    old = []
    for exercise in exercises:
        now = to_text(check(exercise.id, exercise.solution))
        old += [exercise.id for report in stored[exercise.id] if words(report) != words(now)]
    assert not old, f"graded otherwise than stored: {old}; run `book build {chapter[:2]}`"


def passing_reports(chapter):
    """The reports of answers that passed, in order, by exercise."""
    found = {}
    for cell in nbformat.read(SHELF.solution(chapter), 4).cells:
        for output in cell.get("outputs", []):
            text = output.get("data", {}).get("text/plain", "")
            if text.startswith("✓ Passed · "):
                found.setdefault(text.split()[3], []).append(text)
    return found


def words(report):
    """Without the heading, which names the learner's function."""
    return report.split("\n", 2)[2].split()
