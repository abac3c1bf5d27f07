"""Mistakes told from which cases fail, not from the values: another result at each call, a size or a value by heart.

Where an answer is right on the reference model alone, it is tried on the model's values with a little noise, with one
argument changed, or with other ids, to see what it does not follow.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from utils.exercises.declare import Exercise
from utils.exercises.draw import VARIATIONS
from utils.grading import dice, general
from utils.grading.alike import same_outcome, seen
from utils.grading.cases import BY_ORACLE, Case
from utils.grading.held import Patches
from utils.grading.trees import leaves, tree_map
from utils.grading.trial import Trial, outcome_of, try_answer


def from_the_run(
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
        with dice.thrown(20_011):
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
            return [_only_on_the_model(exercise, before, failed.case, answer, patches)]
    return []


def _only_on_the_model(
    exercise: Exercise, passed: Sequence[Trial], failed: Case, answer: Callable, patches: Patches
) -> general.Finding:
    """Why an answer is right on the reference model's values alone: told by trying them with a little noise.

    If one argument alone is changed and the answer's result does not follow, it does not use that argument. If other
    ids in the same places make it wrong, it treats some in a way of its own, or counts on their order. If a number of
    the failed case makes it wrong, that number is in a wrong place. If all tensors are changed and it is still right,
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
    if any(_wrong_with_other_ids(exercise, trial, answer, patches, _in_turn) for trial in passed):
        return (
            "by_heart",
            (
                "Right on the reference model's own text, wrong on other tokens: is one id written into the answer and "
                "treated unlike all others, as for padding or the beginning of a text?"
            ),
        )
    if any(_wrong_with_other_ids(exercise, trial, answer, patches, _falling_in_pairs) for trial in passed):
        return (
            "special_to_the_model",
            "Right on the reference model's own ids, wrong on others: ids may come in any order, and more than once.",
        )
    numbers = [
        parameter.name
        for i, parameter in enumerate(exercise.parameters)
        if any(_wrong_with_the_number(exercise, trial, i, failed, answer, patches) for trial in passed)
    ]
    if numbers:
        return (
            "another_number",
            f"Right with the {' and '.join(numbers)} of the reference model, wrong with another: is it where it "
            "belongs in the formula, and used as it is given?",
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
    now = seen(exercise, case, outcome_of(exercise, case, answer, patches)[0])
    if not same_outcome(now, seen(exercise, trial.case, trial.outcome), case.visible):
        return False
    right, before = (seen(exercise, one, outcome_of(exercise, one, exercise.solution)[0]) for one in (case, trial.case))
    return right.error is None and not same_outcome(right, before, case.visible)


def _can_be_changed(value: Any) -> bool:
    return type(value) in (int, float) or any(
        isinstance(leaf, Tensor) and leaf.is_floating_point() for _, leaf in leaves(value)
    )


def _wrong_with_other_ids(
    exercise: Exercise, trial: Trial, answer: Callable, patches: Patches, ids: Callable[[int], Tensor]
) -> bool:
    """Whether the answer fails when the ids of a text are others, all values and lengths being what they were."""
    args = tuple(_other_ids(arg, ids) for arg in trial.case.args)
    if all(arg is before for arg, before in zip(args, trial.case.args, strict=True)):
        return False
    return _wrong_on(exercise, replace(trial.case, args=args, expected=BY_ORACLE, key=()), answer, patches)


def _other_ids(value: Any, ids: Callable[[int], Tensor]) -> Any:
    """For a tensor of ids, others that are no larger than its largest. Anything else as it is."""
    if not (isinstance(value, Tensor) and value.dtype == torch.int64 and value.numel() > 1 and int(value.amax()) > 1):
        return value
    return (ids(value.numel()) % int(value.amax())).to(value.device).view(value.shape)


def _in_turn(count: int) -> Tensor:
    return torch.arange(count)


def _falling_in_pairs(count: int) -> Tensor:
    return torch.arange(count - 1, -1, -1) // 2


def _wrong_with_the_number(
    exercise: Exercise, trial: Trial, which: int, failed: Case, answer: Callable, patches: Patches
) -> bool:
    """Whether the answer fails on a case that it passed when one fraction is what it is in the failed case."""
    if which >= min(len(trial.case.args), len(failed.args)):
        return False
    here, there = trial.case.args[which], failed.args[which]
    if type(here) is not float or type(there) is not float or here == there:
        return False
    args = (*trial.case.args[:which], there, *trial.case.args[which + 1 :])
    return _wrong_on(exercise, replace(trial.case, args=args, expected=BY_ORACLE, key=()), answer, patches)


def _wrong_on(exercise: Exercise, case: Case, answer: Callable, patches: Patches) -> bool:
    """Whether the answer fails on a case that was made up here; False where the oracle says that there is none."""
    if outcome_of(exercise, case, exercise.solution)[0].error is not None:
        return False
    return try_answer(exercise, case, answer, patches).failure is not None


def _right_with_noise(exercise: Exercise, trial: Trial, answer: Callable, patches: Patches) -> bool:
    return try_answer(exercise, _with_noise(trial.case), answer, patches).failure is None


def _right_when_contiguous(exercise: Exercise, case: Case, answer: Callable, patches: Patches) -> bool:
    args = tree_map(lambda leaf: leaf.contiguous() if isinstance(leaf, Tensor) else leaf, case.args)
    return try_answer(exercise, replace(case, args=args), answer, patches).failure is None
