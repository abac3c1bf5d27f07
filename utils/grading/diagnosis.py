"""Which misconception gives exactly these wrong values? The exercise's own wrong answers are run on the same inputs.

A wrong answer is named when it gives the learner's result on every case; where several do, all are named. Only if none
does are the general mistakes looked for in the values.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from utils.exercises.declare import Exercise, Unfit, Wrong, bound_sizes, named_axes
from utils.exercises.draw import VARIATIONS, Draw
from utils.grading import general
from utils.grading.alike import FIGURES, KIND_ONLY, NOT, is_right, likeness, right_here
from utils.grading.by_heart import from_the_run
from utils.grading.cases import Case
from utils.grading.held import Patches
from utils.grading.raised import error_sentence
from utils.grading.run import run
from utils.grading.trial import Trial, outcome_of

_LINE = re.compile(r", in the line `[^`]*`")


@dataclass(frozen=True)
class Diagnosis:
    """The misconceptions that fit, the first of them the plainest, and the evidence seen in the values."""

    keys: tuple[str, ...] = ()
    sentences: tuple[str, ...] = ()
    evidence: str = ""


def diagnose(
    exercise: Exercise,
    trials: Sequence[Trial],
    rest: Sequence[Case],
    answer: Callable,
    patches: Patches,
) -> Diagnosis:
    """Name the mistake behind the last of `trials`, which failed; `rest` are the cases not tried yet."""
    failed = trials[-1]
    later = [Trial(case, outcome_of(exercise, case, answer, patches)[0]) for case in rest] if _may_go_on(failed) else []
    fits = _fitting(exercise, failed, trials[:-1], later)
    scene = _scene(exercise, failed)
    findings = general.find(scene) if scene else []
    if fits:
        evidence = next((sentence for key, sentence in findings if key in ("factor", "offset", "sign", "nan_rows")), "")
        return Diagnosis(tuple(w.key for w in fits), tuple(dict.fromkeys(w.message for w in fits)), evidence)
    own = from_the_run(exercise, trials, later, answer, patches)
    findings = own if [key for key, _ in own] in (["changes"], ["dtype"]) else own + findings
    return Diagnosis(tuple(key for key, _ in findings), tuple(sentence for _, sentence in findings))


def _may_go_on(failed: Trial) -> bool:
    return (
        not failed.outcome.interrupted
        and failed.failure.stage != "allowed"
        and type(failed.outcome.error).__name__ != "TimeUp"
    )


def _fitting(exercise: Exercise, failed: Trial, passed: Sequence[Trial], later: Sequence[Trial]) -> list[Wrong]:
    """Wrong answers that give the learner's result everywhere; failing that, on the failed case and most others.

    Errors of one kind that say different things show one mistake only where the learner is right on other cases and
    the wrong answer is right and wrong on the same ones; an answer that always fails may do so for any reason.
    """
    scored: list[tuple[float, float, Wrong]] = []
    split: tuple[list[Trial], list[Trial]] | None = None
    for wrong in exercise.wrongs:
        here = likeness(exercise, failed, wrong)
        if here == NOT or right_here(exercise, failed, wrong):
            continue
        right, off = split = split or _by_rightness(exercise, passed, later)
        elsewhere = [likeness(exercise, trial, wrong) for trial in off]
        apart = sum(likeness(exercise, trial, wrong) == NOT for trial in right)
        share = _share_explained(elsewhere, apart)
        weak = (share if elsewhere else here) <= KIND_ONLY
        if failed.outcome.error is not None and weak and (apart or NOT in elsewhere or not right):
            continue
        scored.append((share, here, wrong))
    if not scored:
        return []
    best = max(found[:2] for found in scored)
    return [wrong for *found, wrong in scored if tuple(found) == best and best[0] >= 0.5]


def _by_rightness(
    exercise: Exercise, passed: Sequence[Trial], later: Sequence[Trial]
) -> tuple[list[Trial], list[Trial]]:
    """The cases on which the learner's result is right, and those on which it is not."""
    sides: tuple[list[Trial], list[Trial]] = [*passed], []
    for trial in later:
        sides[0 if is_right(exercise, trial.case, trial.outcome) else 1].append(trial)
    return sides


def _share_explained(elsewhere: Sequence[float], apart: int) -> float:
    """How many of the learner's other wrong results a program gives, less what it gets wrong where they are right.

    Cases on which both are right say nothing: for a yes or no they would count as agreement by chance.

    Args:
        elsewhere: how like the learner's its results are, where those are wrong.
        apart: on how many cases the learner is right and it is not.
    """
    return sum(elsewhere) / (len(elsewhere) + apart) if elsewhere or apart else 1.0


def _scene(exercise: Exercise, failed: Trial) -> general.Scene | None:
    """The two tensors side by side, of the first leaf that fails."""
    failure = failed.failure
    got, want = _as_tensor(failure.got), _as_tensor(failure.want)
    if failure.stage not in ("shape", "finite", "value", "dtype") or not (
        isinstance(got, Tensor) and isinstance(want, Tensor)
    ):
        return None
    axes = named_axes(exercise.returns, want.ndim)
    constants = {name: float(v) for name, v in _named_numbers(exercise, failed.case.args)}
    visible = failed.case.visible if not failure.path else None
    if visible is not None:
        # What the model keeps in cells that do not count says nothing about the answer: the oracle's values do.
        oracle = outcome_of(exercise, failed.case, exercise.solution)[0]
        if isinstance(oracle.value, Tensor) and oracle.value.shape == want.shape:
            want, visible = oracle.value, None
    return general.Scene(got, want, axes, bound_sizes(exercise, failed.case.args), visible, constants)


def _as_tensor(value: Any) -> Any:
    """A plain number in fractions as a tensor of one value, so that it is looked at in the same way."""
    return torch.tensor(value, dtype=torch.float64) if type(value) is float else value


def _named_numbers(exercise: Exercise, args: tuple) -> list[tuple[str, float]]:
    pairs = zip(exercise.parameters, args, strict=False)
    return [(p.name, value) for p, value in pairs if isinstance(value, (int, float)) and not isinstance(value, bool)]


def which_property(
    exercise: Exercise, key: str, sentence: str, trials: Sequence[Trial], seed: int, device: Any
) -> Diagnosis:
    """A property failed after all values agreed: which wrong answer agrees with all cases and fails it too?

    It must fail with the same sentence, but for the figures in it: another sentence shows another mistake.
    """
    fits = []
    for wrong in exercise.wrongs:
        if all(likeness(exercise, trial, wrong) != NOT for trial in trials):
            theirs = property_failure(exercise, key, wrong.answer, seed, device)
            if theirs and _without_particulars(theirs) == _without_particulars(sentence):
                fits.append(wrong)
    return Diagnosis(tuple(w.key for w in fits), tuple(dict.fromkeys(w.message for w in fits)))


def _without_particulars(sentence: str) -> str:
    """Without figures and the learner's own line of code."""
    return FIGURES.sub("#", _LINE.sub("", sentence))


def property_failure(
    exercise: Exercise, key: str, answer: Callable, seed: int, device: Any, patches: Patches | None = None
) -> str | None:
    """The sentence that says how this property fails for an answer, or None. With `patches` it is the learner's."""
    holds = next(p.holds for p in exercise.properties if p.key == key)
    draw = Draw(seed + 17, VARIATIONS["fresh"], device)
    if patches is None:
        outcome = run(lambda: holds(answer, draw))
    elif exercise.is_class:  # its methods are the learner's too
        outcome = run(lambda: patches.call(holds, answer, draw), learners=True)
    else:
        outcome = run(lambda: holds(lambda *args: patches.call(answer, *args), draw), learners=True)
    if isinstance(outcome.error, Unfit):
        return str(outcome.error)
    if outcome.error is not None:
        return error_sentence(outcome.error)
    return outcome.value
