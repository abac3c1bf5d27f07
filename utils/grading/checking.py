"""`check`: one answer, the checks in their fixed order, one verdict. It never raises for anything the answer does."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from utils.exercises import exercise as find_exercise
from utils.exercises.declare import Exercise, named_axes
from utils.grading.activations import Activations, activations
from utils.grading.callable import not_callable
from utils.grading.cases import fresh_cases, reference_cases
from utils.grading.compare import Difference, short
from utils.grading.diagnosis import Diagnosis, diagnose, property_failure, which_property
from utils.grading.held import Patches, originals
from utils.grading.mismatch import mismatch_of
from utils.grading.raised import STOPPED, text_of
from utils.grading.run import Outcome
from utils.grading.text import cut_short
from utils.grading.trial import Trial, remembered, try_answer
from utils.grading.verdict import Verdict


def check(
    exercise_id: str,
    answer: Any,
    reference: Any = None,
    device: Any = None,
    *,
    timeout: float | None = None,
    seed: int = 0,
    named: bool = True,
) -> Verdict:
    """Grade one answer.

    Args:
        exercise_id: "05.2", or the answer's name.
        answer: what the learner wrote.
        reference: a TransformerBridge, its Activations, the name of a kind, or None for the chosen one.
        device: where inputs are put; the reference's device where left out.
        timeout: seconds for each single call of the answer; None for no limit.
        seed: of the fresh inputs.
        named: whether a wrong answer's mistake is looked for, which takes most of the time and decides nothing.

    Raises:
        UnknownExercise: there is no such exercise.
        ReferenceProblem: the reference cannot be loaded.
    """
    exercise = find_exercise(exercise_id)
    with one_thread(), originals(timeout) as patches:
        try:
            early = not_callable(exercise, answer, patches)
            if early is not None:
                return _no(exercise, *early)
            return _Grading(exercise, answer, reference, device, seed, patches, named).verdict()
        except KeyboardInterrupt:
            return _no(exercise, "runs", STOPPED)


@contextmanager
def one_thread() -> Iterator[None]:
    """Grade on one thread: the tensors are small, and threads that wait for each other cost five times the work."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


class _Grading:
    """The state of one call of `check`."""

    def __init__(
        self,
        exercise: Exercise,
        answer: Callable,
        reference: Any,
        device: Any,
        seed: int,
        patches: Patches,
        named: bool,
    ):
        self.exercise, self.answer, self.patches, self.named = exercise, answer, patches, named
        self.seed = seed
        self.cases, self.device = self._cases(reference, device)
        self.trials: list[Trial] = []

    def _cases(self, reference: Any, device: Any) -> tuple[list, torch.device]:
        from utils.reference import device as default_device
        from utils.reference import reference as load

        place = torch.device(device) if device is not None else None
        if self.exercise.reference_cases:
            if reference is None or isinstance(reference, str):
                reference = load(reference, device=place)
            cache = reference if isinstance(reference, Activations) else activations(reference)
            place = place or cache.tokens.device
        place = place or default_device()
        alike = (self.exercise, self.seed, str(place), cache.number if self.exercise.reference_cases else 0)

        def made() -> list:
            cases = [*reference_cases(self.exercise, cache)] if self.exercise.reference_cases else []
            cases += fresh_cases(self.exercise, self.seed, place)
            return [replace(case, key=(alike, i)) for i, case in enumerate(cases)]

        return remembered(alike, "cases", made), place

    def verdict(self) -> Verdict:
        for i, case in enumerate(self.cases):
            trial = try_answer(self.exercise, case, self.answer, self.patches)
            self.trials.append(trial)
            if trial.failure:
                if i == 0 and _unwritten(trial.outcome.error):
                    return not_written(self.exercise, text_of(trial.outcome.error))
                return self._failed(trial, self.cases[i + 1 :])
        failed = self._properties()
        return self._passed() if failed is None else failed

    def _properties(self) -> Verdict | None:
        for prop in self.exercise.properties:
            sentence = property_failure(self.exercise, prop.key, self.answer, self.seed, self.device, self.patches)
            if sentence is not None:
                found = (
                    which_property(self.exercise, prop.key, sentence, self.trials, self.seed, self.device)
                    if self.named
                    else Diagnosis()
                )
                return self._verdict(
                    "property",
                    found.sentences[0] if found.sentences else sentence,
                    found if found.keys else Diagnosis((prop.key,)),
                    where=f"property: {prop.key.replace('_', ' ')}",
                    evidence=sentence if found.sentences else "",
                )
        return None

    def _passed(self) -> Verdict:
        stages = [trial.case.stage for trial in self.trials]
        checked = []
        if stages.count("reference"):
            checked.append(
                f"{stages.count('reference')} comparison{'s' if stages.count('reference') > 1 else ''} with the "
                "reference model's own values"
            )
        if stages.count("fresh"):
            checked.append(f"{stages.count('fresh')} on fresh inputs of other shapes and dtypes")
        if self.exercise.properties:
            checked.append("properties: " + ", ".join(p.key.replace("_", " ") for p in self.exercise.properties))
        return Verdict(
            self.exercise.id,
            self.exercise.title,
            True,
            "passed",
            f"{self.exercise.name} is right.",
            checked=tuple(checked),
            printed=self._printed(),
        )

    def _failed(self, trial: Trial, rest: list) -> Verdict:
        failure = trial.failure
        found = (
            Diagnosis()
            if failure.stage in ("allowed", "untouched") or not self.named
            else diagnose(self.exercise, self.trials, rest, self.answer, self.patches)
        )
        stage = trial.case.stage if failure.stage == "value" else failure.stage
        if failure.stage == "untouched":
            found = Diagnosis(("changes_input",), (failure.message,))
        message = " Or: ".join(found.sentences[:2]) or failure.message or self._plain_message(trial)
        evidence = found.evidence or (failure.message if found.sentences and failure.message != message else "")
        if failure.stage == "runs" and not trial.outcome.interrupted:
            evidence = " ".join(filter(None, [evidence, _called_with(self.exercise, trial.case.args)]))
        return self._verdict(stage, message, found, trial, evidence, trial.case.where)

    def _plain_message(self, trial: Trial) -> str:
        failure = trial.failure
        if failure.stage == "shape":
            return _about_shape(failure.got, failure.want, named_axes(self.exercise.returns, failure.want.ndim))
        if isinstance(failure.want, Tensor):
            return "The values are not right yet; no mistake that this book knows gives exactly these."
        if mismatch_of(self.exercise, trial):
            return "That is not right yet; no mistake that this book knows gives exactly this."
        place = f" at {failure.path}" if failure.path else ""
        return f"The value{place} is {cut_short(repr(failure.got))}; {cut_short(repr(failure.want))} is right."

    def _verdict(
        self,
        stage: str,
        message: str,
        found: Diagnosis,
        trial: Trial | None = None,
        evidence: str = "",
        where: str = "",
    ) -> Verdict:
        wanted, got = _shapes(self.exercise, trial) if trial else (None, None)
        return Verdict(
            self.exercise.id,
            self.exercise.title,
            False,
            stage,
            message,
            diagnosis=found.keys[0] if found.keys else None,
            also=found.keys[1:],
            readings=found.sentences[:2] if len(found.sentences) > 1 else (),
            evidence=evidence,
            where=where,
            wanted_shape=wanted,
            got_shape=got,
            mismatch=mismatch_of(self.exercise, trial) if trial else None,
            advice=f'hint("{self.exercise.id}") gives a hint.',
            printed=self._printed(),
        )

    def _printed(self) -> str:
        return self.trials[0].outcome.printed.strip() if self.trials else ""


def _called_with(exercise: Exercise, args: tuple) -> str:
    """The shapes and numbers with which an answer was called, for one that raised; empty where a probe calls it."""
    if exercise._probe is not None:
        return ""
    told = []
    for parameter, value in zip(exercise.parameters, args, strict=False):
        if isinstance(value, Tensor) and value.ndim:
            kind = "" if value.dtype in (torch.float32, torch.int64) else f" {short(value.dtype)}"
            told.append(f"{parameter.name} {tuple(value.shape)}{kind}")
        elif isinstance(value, (int, float, str, bytes, Tensor)):
            told.append(f"{parameter.name} = {cut_short(repr(value), 40)}")
    return f"It was called with {', '.join(told)}." if told else ""


def _about_shape(got: Tensor, want: Tensor, names: tuple[str, ...]) -> str:
    if got.ndim != want.ndim:
        axes = "axis" if got.ndim == 1 else "axes"
        wanted = "axis is wanted" if want.ndim == 1 else "axes are wanted"
        listed = f": {', '.join(names)}" if any(" " not in name for name in names) else ""
        return f"The result has {got.ndim} {axes}, where {want.ndim} {wanted}{listed}."
    wrong = [name for name, n, m in zip(names, got.shape, want.shape, strict=True) if n != m]
    return f"The result has another length than wanted along {' and '.join(wrong)}."


def _shapes(exercise: Exercise, trial: Trial):
    failure = trial.failure
    if not (isinstance(failure.want, Tensor) and isinstance(failure.got, Tensor)) or failure.path:
        return None, None
    names = named_axes(exercise.returns, failure.want.ndim)
    wanted = tuple(zip(names, map(int, failure.want.shape), strict=True))
    same = failure.got.ndim == failure.want.ndim
    got_names = names if same else tuple(f"axis {i}" for i in range(failure.got.ndim))
    return wanted, tuple(zip(got_names, map(int, failure.got.shape), strict=True))


def _no(exercise: Exercise, stage: str, message: str) -> Verdict:
    return Verdict(exercise.id, exercise.title, False, stage, message, advice=f'hint("{exercise.id}") gives a hint.')


def _unwritten(error: BaseException | None) -> bool:
    """Whether a stub raised this. torch raises NotImplementedError for reasons of its own, with other words."""
    said = text_of(error) if issubclass(type(error), NotImplementedError) else "something else"
    return not said or said.startswith("Write ")


def not_written(exercise: Exercise, stub: str = "") -> Verdict:
    """The verdict on a stub: polite, and it says what to do next. `stub` is what it says, "Write NAME here, …"."""
    words = stub.split()
    name = words[1] if len(words) > 1 else exercise.name
    if name.split(".")[0] == exercise.name:
        message = f"{exercise.name} is not written yet. Write it in the cell above, run that cell, then this one."
    else:
        first = f"Write that first, or call use({name}) in its place."
        message = f"{exercise.name} uses {name}, which is not written yet. {first}"
    return Verdict(exercise.id, exercise.title, False, "there", message, advice=f'hint("{exercise.id}") gives a hint.')


__all__ = ["Difference", "Outcome", "check", "not_written"]
