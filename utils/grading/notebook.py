"""What a learner calls in a notebook: grade, hint, use, progress. Each says what is wrong in a sentence of its own."""

import sys
from collections.abc import Callable
from typing import Any

from utils.exercises import UnknownExercise, exercise
from utils.exercises.declare import Exercise
from utils.grading.checking import check
from utils.grading.ladder import Hint, next_hint
from utils.grading.overview import Progress, standings
from utils.grading.page import Note
from utils.grading.plain import describe
from utils.grading.store import StoreProblem, attempts, hints_taken, notice, record
from utils.grading.verdict import Verdict

# The answers that passed in this kernel, by exercise id.
_passed: dict[str, Callable] = {}
# What `use` has said, by exercise and run of a cell.
_said: set[tuple[str, int | None]] = set()


def grade(answer: Any, exercise_id: str | None = None, *, reference: Any = None, device: Any = None) -> Verdict:
    """Grade an answer, keep the attempt, and show the report.

    The exercise is found by the name of the function or class; `exercise_id` says it outright. Where neither is known
    the verdict says so.

    Raises:
        ReferenceProblem: the reference model cannot be loaded.
    """
    try:
        found = _exercise_of(answer, exercise_id)
    except UnknownExercise as problem:
        return Verdict("", "", False, "callable", str(problem))
    verdict = check(found.id, answer, reference, device)
    if verdict.passed:
        _passed[found.id] = answer
    else:
        _passed.pop(found.id, None)
    _say(record(verdict))
    return verdict


def use(answer: Any, exercise_id: str | None = None) -> Callable:
    """The learner's own function if it passed in this kernel, else the book's, with a line that says so.

    Later chapters, in whose kernel nothing was graded, give None and the id.

    Raises:
        UnknownExercise: no exercise has this name or id.
    """
    found = _exercise_of(answer, exercise_id)
    if answer is not None and _passed.get(found.id) is answer:
        return answer
    if _first_time_in_this_cell(found.id):
        if answer is None:
            print(f"Using the book's {found.name} (exercise {found.id}).")
        else:
            print(
                f"Using the book's {found.name}: yours has not passed exercise {found.id} in this notebook yet.\n"
                f'grade({found.name}, "{found.id}") tries it.'
            )
    return found.solution


def _first_time_in_this_cell(exercise_id: str) -> bool:
    """Whether a run of a cell asks for this function for the first time: a loop need not say it at every turn."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    now = (exercise_id, getattr(shell, "execution_count", None))
    said = shell is not None and now in _said
    _said.add(now)
    return not said


def hint(which: Any = None) -> Hint | Note:
    """The next hint of an exercise, which is given by its id, its name or the answer itself: `hint("05.2")`."""
    try:
        if which is None:
            raise UnknownExercise('Say which exercise you want a hint for: hint("05.2").')
        return next_hint(exercise(which) if isinstance(which, str) else _exercise_of(which, None))
    except UnknownExercise as problem:
        return Note("No hint", str(problem))


def progress() -> Progress:
    """Which exercises of the book are passed, tried and untouched, as a picture and a table."""
    try:
        found = standings(attempts(), hints_taken())
        return Progress(found, notice() or "")
    except StoreProblem as problem:
        return Progress(standings((), {}), str(problem))


def _exercise_of(answer: Any, exercise_id: str | None) -> Exercise:
    """The exercise that an answer is for.

    Raises:
        UnknownExercise: it cannot be told; the sentence says what to write.
    """
    if exercise_id is not None:
        return exercise(exercise_id)
    if answer is None:
        raise UnknownExercise('There is no answer yet. With its id the exercise is known: grade(answer, "05.2").')
    if isinstance(answer, str):
        raise UnknownExercise(
            'Give the answer itself, without quotation marks, and then the id: grade(answer, "05.2").'
        )
    if not callable(answer):
        raise UnknownExercise(f"Give the function itself, as in grade(attention_scores); this is {describe(answer)}.")
    name = _name_of(answer)
    if not name or name == "<lambda>":
        raise UnknownExercise('This answer has no name, so say which exercise it is for: grade(answer, "05.2").')
    return exercise(name)


def _name_of(answer: Any) -> str:
    """Its own name, or that of its class for an object that can be called."""
    try:
        name = answer.__name__
    except Exception:  # noqa: BLE001  (whatever an object's attribute raises, it has no name then)
        name = None
    return name if type(name) is str else type(answer).__name__


def _say(sentence: str | None) -> None:
    if sentence:
        print(sentence)
