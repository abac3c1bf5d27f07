"""What a learner calls in a notebook: grade, hint, use, progress."""

from collections.abc import Callable
from typing import Any

from utils.exercises import UnknownExercise, exercise
from utils.exercises.declare import Exercise
from utils.grading.checking import check
from utils.grading.verdict import Verdict

# The answers that passed in this kernel, by exercise id.
_passed: dict[str, Callable] = {}


def grade(answer: Any, exercise_id: str | None = None, *, reference: Any = None, device: Any = None) -> Verdict:
    """Grade an answer and show the report.

    The exercise is found by the name of the function or class; `exercise_id` says it outright.

    Raises:
        UnknownExercise: no exercise has this name or id.
    """
    found = _exercise_of(answer, exercise_id)
    verdict = check(found.id, answer, reference, device)
    if verdict.passed:
        _passed[found.id] = answer
    else:
        _passed.pop(found.id, None)
    from utils.grading.progress import record

    record(verdict)
    return verdict


def use(answer: Any, exercise_id: str | None = None) -> Callable:
    """The learner's own function if it passed in this kernel, else the book's, with a line that says so."""
    found = _exercise_of(answer, exercise_id)
    if _passed.get(found.id) is answer and answer is not None:
        return answer
    print(f"Using the book's {found.name}: yours has not passed exercise {found.id} yet.")
    return found.solution


def _exercise_of(answer: Any, exercise_id: str | None) -> Exercise:
    if exercise_id is not None:
        return exercise(exercise_id)
    name = getattr(answer, "__name__", None) or getattr(type(answer), "__name__", "")
    if answer is None or not isinstance(name, str):
        raise UnknownExercise('Say which exercise this is: grade(answer, "05.2").')
    return exercise(name)
