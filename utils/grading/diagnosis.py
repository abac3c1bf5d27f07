"""Which misconception gives exactly these wrong values? The exercise's own wrong answers are run on the same inputs.

A wrong answer is named when it gives the learner's result on every case; where several do, all are named. Only if none
does are the general mistakes looked for in the values.
"""

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from utils.exercises.declare import Exercise, Unfit, Wrong, bound_sizes, named_axes
from utils.exercises.draw import VARIATIONS, Draw
from utils.grading import compare, general
from utils.grading.cases import BY_ORACLE, Case
from utils.grading.held import Patches
from utils.grading.raised import error_sentence, text_of
from utils.grading.run import Outcome, run
from utils.grading.trees import leaves, tree_map
from utils.grading.trial import Trial, at_most_float32, outcome_of, seen_of

_FIGURES = re.compile(r"-?\d[\d.]*(?:e[+-]?\d+)?")
_LINE = re.compile(r", in the line `[^`]*`")
# How alike two outcomes are: the same; errors that say the same but for figures; errors of one kind; not alike.
SAME, WORDS_ONLY, KIND_ONLY, NOT = 1.0, 0.75, 0.5, 0.0
# In these errors the figures are the operands' shapes, which tell one mistake from another.
_SHAPES = ("cannot be multiplied", "must match", "Expected size", "out of bounds for dimension")


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
    own = _from_the_run(exercise, trials, later, answer, patches)
    findings = own if [key for key, _ in own] == ["changes"] else own + findings
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
        likeness = _likeness(exercise, failed, wrong)
        if likeness == NOT or _right_here(exercise, failed, wrong):
            continue
        right, off = split = split or _by_rightness(exercise, passed, later)
        elsewhere = [_likeness(exercise, trial, wrong) for trial in off]
        apart = sum(_likeness(exercise, trial, wrong) == NOT for trial in right)
        share = _share_explained(elsewhere, apart)
        if failed.outcome.error is not None and share <= KIND_ONLY and (apart or NOT in elsewhere or off and not right):
            continue
        scored.append((share, likeness, wrong))
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
        sides[0 if _is_right(exercise, trial.case, trial.outcome) else 1].append(trial)
    return sides


def _share_explained(elsewhere: Sequence[float], apart: int) -> float:
    """How many of the learner's other wrong results a program gives, less what it gets wrong where they are right.

    Cases on which both are right say nothing: for a yes or no they would count as agreement by chance.

    Args:
        elsewhere: how like the learner's its results are, where those are wrong.
        apart: on how many cases the learner is right and it is not.
    """
    return sum(elsewhere) / (len(elsewhere) + apart) if elsewhere or apart else 1.0


def _is_right(exercise: Exercise, case: Case, outcome: Outcome) -> bool:
    right = outcome_of(exercise, case, exercise.solution)[0]
    return same_outcome(_seen(exercise, case, outcome), _seen(exercise, case, right), case.visible)


def _likeness(exercise: Exercise, trial: Trial, wrong: Wrong) -> float:
    """A learner's outcome beside a wrong answer's: SAME, WORDS_ONLY, KIND_ONLY or NOT."""
    ours, theirs = _seen(exercise, trial.case, trial.outcome), _seen_of(exercise, trial.case, wrong)
    if isinstance(trial.want, Tensor) and isinstance(ours.value, Tensor) is not isinstance(theirs.value, Tensor):
        return NOT  # a number and a tensor of one value are alike only where a number is wanted
    if not same_outcome(ours, theirs, trial.case.visible):
        return NOT
    if ours.error is None or isinstance(ours.error, Unfit):
        return SAME
    mine, other = text_of(ours.error), text_of(theirs.error)
    if mine == other:
        return SAME
    words_alone = _FIGURES.sub("#", mine) == _FIGURES.sub("#", other) and not any(said in mine for said in _SHAPES)
    return WORDS_ONLY if words_alone else KIND_ONLY


# What the wrong answers of the exercise that was graded last give, by case: another attempt meets the same cases.
_kept: dict[tuple, Outcome] = {}
MOST_KEPT = 2**26  # numbers


def _seen_of(exercise: Exercise, case: Case, wrong: Wrong) -> Outcome:
    """What of a wrong answer's result is compared on a case."""
    place = (*case.key, wrong.key)
    if place in _kept:
        return _kept[place]
    found = _seen(exercise, case, outcome_of(exercise, case, wrong.answer)[0])
    if case.key:
        if any(other[0] != case.key[0] for other in _kept):
            _kept.clear()
        if _numbers(found) + sum(map(_numbers, _kept.values())) < MOST_KEPT:
            _kept[place] = found
    return found


def _numbers(outcome: Outcome) -> int:
    return sum(leaf.numel() if isinstance(leaf, Tensor) else 1 for _, leaf in leaves(outcome.value))


def _right_here(exercise: Exercise, failed: Trial, wrong: Wrong) -> bool:
    """Whether a wrong answer is right on the failed case, so that it explains nothing there."""
    if failed.failure.stage != "value" or failed.wanted is None or exercise.judge_fn is not None:
        return False
    theirs = _seen_of(exercise, failed.case, wrong)
    if theirs.error is not None:
        return False
    return compare.structure(theirs.value, failed.wanted) is None and (
        compare.values(theirs.value, failed.wanted, visible=failed.case.visible) is None
    )


def _seen(exercise: Exercise, case: Case, outcome: Outcome) -> Outcome:
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


def _from_the_run(
    exercise: Exercise, trials: Sequence[Trial], later: Sequence[Trial], answer: Callable, patches: Patches
) -> list[general.Finding]:
    """Mistakes told from which cases fail, not from the values: another result at each call, sizes by heart, …"""
    failed = trials[-1]
    if failed.failure.stage == "dtype" and isinstance(failed.failure.got, Tensor):
        note = general.dtype_note(failed.failure.got, failed.failure.want)
        return [note] if note else []
    if failed.failure.stage not in ("finite", "value", "runs", "shape"):
        return []

    def with_other_dice(*args):
        torch.manual_seed(20_011)
        random.seed(20_011)
        return answer(*args)

    again = outcome_of(exercise, failed.case, answer if exercise.is_class else with_other_dice, patches)[0]
    if failed.outcome.error is None and not same_outcome(failed.outcome, again):
        return [
            (
                "changes",
                (
                    "The same input gives another result at each call. Is there randomness (dropout in training "
                    "mode?) or something left over from the call before?"
                ),
            )
        ]
    before = [t for t in trials[:-1]]
    if failed.case.stage == "fresh" and before:
        if failed.case.where == VARIATIONS["strided"].where and _right_when_contiguous(
            exercise, failed.case, answer, patches
        ):
            return [
                (
                    "strides",
                    (
                        "The answer is right, except on non-contiguous inputs: use reshape, not view, and never "
                        "as_strided or data pointers."
                    ),
                )
            ]
        if failed.case.where == VARIATIONS["again"].where:
            return [
                (
                    "remembers",
                    "Right at first, wrong on other values of the same shape: something is kept from an earlier call.",
                )
            ]
        if all(t.case.stage == "reference" for t in before):
            return [_only_on_the_model(exercise, before, answer, patches)]
    return []


def _only_on_the_model(
    exercise: Exercise, passed: Sequence[Trial], answer: Callable, patches: Patches
) -> general.Finding:
    """Why an answer is right on the reference model's values alone: told by trying them with a little noise.

    If one argument alone is changed and the answer's result does not follow, it does not use that argument. If other
    ids in the same places make it wrong, it treats some in a way of its own. If all are changed and it is still right,
    it is the sizes that it has by heart.
    """
    ignored = [
        parameter.name
        for i, parameter in enumerate(exercise.parameters)
        if any(_does_not_follow(exercise, trial, i, answer, patches) for trial in passed)
    ]
    if ignored:
        return (
            "by_heart",
            (
                "Right on the reference model's own values, but the result does not depend on "
                f"{' and '.join(ignored)}: is a value of the model, or a variable of the notebook, used in its place?"
            ),
        )
    if any(_wrong_with_other_ids(exercise, trial, answer, patches) for trial in passed):
        return (
            "by_heart",
            (
                "Right on the reference model's own text, wrong on other tokens: is one id written into the answer and "
                "treated unlike all others, as for padding or the beginning of a text?"
            ),
        )
    if all(_right_with_noise(exercise, trial, answer, patches) for trial in passed):
        return (
            "by_heart",
            (
                "Right on the reference model's shapes, whatever the values, and wrong on other shapes: is a size of "
                "the model written into the answer?"
            ),
        )
    return (
        "special_to_the_model",
        (
            "Right on the reference model's own values, wrong on others: does the answer count on something that holds "
            "only there?"
        ),
    )


def _noisy(value: Any, seed: int) -> Any:
    """The same tree with noise on each floating tensor; whole numbers and text stay what they are."""
    generator = torch.Generator().manual_seed(seed)

    def changed(leaf: Any) -> Any:
        if not (isinstance(leaf, Tensor) and leaf.is_floating_point()):
            return leaf
        noise = torch.randn(leaf.shape, generator=generator).to(leaf)
        finite = leaf[torch.isfinite(leaf)]
        return leaf + noise * (float(finite.double().std(correction=0)) / 2 + 0.1 if finite.numel() else 1.0)

    return tree_map(changed, value)


def _changed(value: Any, seed: int) -> Any:
    """Another value of the same kind: a number near by, or noise on tensors."""
    if type(value) is float:
        return 0.9 * value
    return value + 1 if type(value) is int else _noisy(value, seed)


def _with_noise(case: Case, which: int | None = None) -> Case:
    """A case with noise on all tensors, or with one argument changed; what is right there is for the oracle to say."""
    if which is None:
        args = tuple(_noisy(arg, i) for i, arg in enumerate(case.args))
    else:
        args = tuple(_changed(arg, i) if i == which else arg for i, arg in enumerate(case.args))
    return replace(case, args=args, expected=BY_ORACLE, key=())


def _does_not_follow(exercise: Exercise, trial: Trial, which: int, answer: Callable, patches: Patches) -> bool:
    if which >= len(trial.case.args) or not _can_be_changed(trial.case.args[which]):
        return False
    case = _with_noise(trial.case, which)
    now = _seen(exercise, case, outcome_of(exercise, case, answer, patches)[0])
    if not same_outcome(now, _seen(exercise, trial.case, trial.outcome), case.visible):
        return False
    right, before = (
        _seen(exercise, one, outcome_of(exercise, one, exercise.solution)[0]) for one in (case, trial.case)
    )
    return right.error is None and not same_outcome(right, before, case.visible)


def _can_be_changed(value: Any) -> bool:
    return type(value) in (int, float) or any(
        isinstance(leaf, Tensor) and leaf.is_floating_point() for _, leaf in leaves(value)
    )


def _wrong_with_other_ids(exercise: Exercise, trial: Trial, answer: Callable, patches: Patches) -> bool:
    """Whether the answer fails when the ids of a text are others, all values and lengths being what they were."""
    from utils.grading.trial import try_answer

    args = tuple(_other_ids(arg) for arg in trial.case.args)
    if all(arg is before for arg, before in zip(args, trial.case.args, strict=True)):
        return False
    case = replace(trial.case, args=args, expected=BY_ORACLE, key=())
    if outcome_of(exercise, case, exercise.solution)[0].error is not None:
        return False
    return try_answer(exercise, case, answer, patches).failure is not None


def _other_ids(value: Any) -> Any:
    """For a tensor of ids, the numbers from 0 up to its largest, in turn. Anything else as it is."""
    if not (isinstance(value, Tensor) and value.dtype == torch.int64 and value.numel() > 1 and int(value.amax()) > 1):
        return value
    return (torch.arange(value.numel(), device=value.device) % int(value.amax())).view(value.shape)


def _right_with_noise(exercise: Exercise, trial: Trial, answer: Callable, patches: Patches) -> bool:
    from utils.grading.trial import try_answer

    return try_answer(exercise, _with_noise(trial.case), answer, patches).failure is None


def _right_when_contiguous(exercise: Exercise, case: Case, answer: Callable, patches: Patches) -> bool:
    from utils.grading.trial import try_answer

    args = tree_map(lambda leaf: leaf.contiguous() if isinstance(leaf, Tensor) else leaf, case.args)
    return try_answer(exercise, replace(case, args=args), answer, patches).failure is None


def which_property(
    exercise: Exercise, key: str, sentence: str, trials: Sequence[Trial], seed: int, device: Any
) -> Diagnosis:
    """A property failed after all values agreed: which wrong answer agrees with all cases and fails it too?

    It must fail with the same sentence, but for the figures in it: another sentence shows another mistake.
    """
    fits = []
    for wrong in exercise.wrongs:
        if all(_likeness(exercise, trial, wrong) != NOT for trial in trials):
            theirs = property_failure(exercise, key, wrong.answer, seed, device)
            if theirs and _without_particulars(theirs) == _without_particulars(sentence):
                fits.append(wrong)
    return Diagnosis(tuple(w.key for w in fits), tuple(dict.fromkeys(w.message for w in fits)))


def _without_particulars(sentence: str) -> str:
    """Without figures and the learner's own line of code."""
    return _FIGURES.sub("#", _LINE.sub("", sentence))


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
