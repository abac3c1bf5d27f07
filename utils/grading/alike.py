"""Whether two answers did the same on a case: the same values, or an error that says the same.

What the wrong answers of the exercise graded last give is kept, because another attempt meets the same cases.
"""

import re

from torch import Tensor

from utils.exercises.declare import Exercise, Unfit, Wrong
from utils.grading import compare
from utils.grading.cases import Case
from utils.grading.raised import text_of
from utils.grading.run import Outcome, run
from utils.grading.trees import leaves
from utils.grading.trial import Trial, at_most_float32, outcome_of, seen_of

FIGURES = re.compile(r"-?\d[\d.]*(?:e[+-]?\d+)?")
# How alike two outcomes are: the same; errors that say the same but for figures; errors of one kind; not alike.
SAME, WORDS_ONLY, KIND_ONLY, NOT = 1.0, 0.75, 0.5, 0.0
# In these errors the figures are the operands' shapes, which tell one mistake from another.
_SHAPES = ("cannot be multiplied", "must match", "Expected size", "out of bounds for dimension")


def likeness(exercise: Exercise, trial: Trial, wrong: Wrong) -> float:
    """A learner's outcome beside a wrong answer's: SAME, WORDS_ONLY, KIND_ONLY or NOT."""
    ours, theirs = seen(exercise, trial.case, trial.outcome), _seen_of(exercise, trial.case, wrong)
    if isinstance(trial.want, Tensor) and isinstance(ours.value, Tensor) is not isinstance(theirs.value, Tensor):
        return NOT  # a number and a tensor of one value are alike only where a number is wanted
    if not same_outcome(ours, theirs, trial.case.visible):
        return NOT
    if ours.error is None or isinstance(ours.error, Unfit):
        return SAME
    mine, other = text_of(ours.error), text_of(theirs.error)
    if mine == other:
        return SAME
    words_alone = FIGURES.sub("#", mine) == FIGURES.sub("#", other) and not any(said in mine for said in _SHAPES)
    return WORDS_ONLY if words_alone else KIND_ONLY


# What the wrong answers of the exercise that was graded last give, by case: another attempt meets the same cases.
_kept: dict[tuple, Outcome] = {}
MOST_KEPT = 2**26  # numbers


def _seen_of(exercise: Exercise, case: Case, wrong: Wrong) -> Outcome:
    """What of a wrong answer's result is compared on a case."""
    place = (*case.key, wrong.key)
    if place in _kept:
        return _kept[place]
    found = seen(exercise, case, outcome_of(exercise, case, wrong.answer)[0])
    if case.key:
        if any(other[0] != case.key[0] for other in _kept):
            _kept.clear()
        if _numbers(found) + sum(map(_numbers, _kept.values())) < MOST_KEPT:
            _kept[place] = found
    return found


def _numbers(outcome: Outcome) -> int:
    return sum(leaf.numel() if isinstance(leaf, Tensor) else 1 for _, leaf in leaves(outcome.value))


def is_right(exercise: Exercise, case: Case, outcome: Outcome) -> bool:
    right = outcome_of(exercise, case, exercise.solution)[0]
    return same_outcome(seen(exercise, case, outcome), seen(exercise, case, right), case.visible)


def right_here(exercise: Exercise, failed: Trial, wrong: Wrong) -> bool:
    """Whether a wrong answer is right on the failed case, so that it explains nothing there."""
    if failed.failure.stage != "value" or failed.wanted is None or exercise.judge_fn is not None:
        return False
    theirs = _seen_of(exercise, failed.case, wrong)
    if theirs.error is not None:
        return False
    return compare.structure(theirs.value, failed.wanted) is None and (
        compare.values(theirs.value, failed.wanted, visible=failed.case.visible) is None
    )


def seen(exercise: Exercise, case: Case, outcome: Outcome) -> Outcome:
    """What of an outcome is compared; the raw result where it cannot be observed."""
    if outcome.error is not None:
        return outcome
    observed = run(lambda: at_most_float32(seen_of(exercise, outcome.value, case.args)))
    return outcome if observed.error is not None else observed


def same_outcome(a: Outcome, b: Outcome, visible: Tensor | None = None) -> bool:
    """Whether two runs came to the same: errors of one kind, or results that agree where they are compared."""
    if isinstance(a.error, Unfit) and isinstance(b.error, Unfit):
        return a.error.kind == b.error.kind
    if a.error is not None or b.error is not None:
        return type(a.error) is type(b.error)
    left, right = a.value, b.value
    if visible is not None and isinstance(left, Tensor) and isinstance(right, Tensor) and left.dtype == right.dtype:
        if left.shape == right.shape and left.shape[left.ndim - visible.ndim :] == visible.shape:
            shown = visible.expand(left.shape)
            left, right = left[shown], right[shown]
    agreed = run(lambda: compare.agree(left, right))
    return agreed.error is None and bool(agreed.value)
