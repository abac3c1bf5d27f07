"""One answer on one case: run it, then check in a fixed order; the first check that fails ends it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from utils.exercises.declare import Exercise, Unfit
from utils.grading import compare
from utils.grading.cases import BY_ORACLE, Case
from utils.grading.compare import Difference
from utils.grading.held import Patches
from utils.grading.plain import describe, plain
from utils.grading.raised import describe_error, error_sentence
from utils.grading.run import Outcome, run
from utils.grading.trees import in_double, leaves, private_copy, same_bits, tree_map
from utils.grading.watch import watching

# What right answers give, by case, while many answers to the same exercises are graded; None where nothing is kept.
MOST_KEPT = 2**26  # numbers


class Memory(dict):
    """Values by key, forgotten all at once when they hold more than MOST_KEPT numbers."""

    numbers = 0

    def keep(self, key: tuple, found: Any) -> None:
        size = 64 + sum(v.numel() for _, v in leaves(getattr(found, "value", found)) if isinstance(v, Tensor))
        if self.numbers + size > MOST_KEPT:
            self.clear()
            self.numbers = 0
        self.numbers += size
        self[key] = found


_memory: Memory | None = None


@contextmanager
def remembering(memory: Memory) -> Iterator[None]:
    """Work out what a case expects once, however many answers meet it: a class is graded on the same cases."""
    global _memory
    before, _memory = _memory, memory
    try:
        yield
    finally:
        _memory = before


def remembered(key: tuple, what: str, make: Callable[[], Any]) -> Any:
    """`make()`, or what it gave the last time it was asked for under this key while answers are remembered."""
    if _memory is None or not key:
        return make()
    if (key, what) not in _memory:
        _memory.keep((key, what), make())
    return _memory[key, what]


@dataclass(frozen=True)
class Trial:
    """What an answer gave on a case, what was expected, and the check that failed, if any did."""

    case: Case
    outcome: Outcome
    want: Any = None
    observed: Any = None
    wanted: Any = None
    failure: Difference | None = None
    calls: tuple[str, ...] = ()


def outcome_of(
    exercise: Exercise, case: Case, answer: Callable, patches: Patches | None = None
) -> tuple[Outcome, Any, tuple]:
    """Run an answer on copies of the case's arguments: what came of it, the arguments afterwards, calls seen.

    With `patches` it is the learner's, and called through their door; without, it is one of the book's own.
    """
    given = private_copy(case.args)

    def call() -> Any:
        if patches is None:
            return plain(exercise.call(answer, given))
        return plain(patches.call(exercise.call, answer, given))

    with watching(exercise.forbidden if patches is not None else ()) as watch:
        outcome = run(call, learners=patches is not None)
    return outcome, given, tuple(watch.seen)


def try_answer(exercise: Exercise, case: Case, answer: Callable, patches: Patches) -> Trial:
    """The answer on this case, checked. The expected value is computed after the answer has returned."""
    outcome, given, calls = outcome_of(exercise, case, answer, patches)
    if outcome.interrupted:
        return Trial(case, outcome, failure=Difference("runs", "", outcome.error, None, error_sentence(outcome.error)))
    oracle = remembered(case.key, "oracle", lambda: _oracle_result(exercise, case))
    if calls:
        message = f"The answer calls {' and '.join(calls)}. {exercise.forbidden_because}"
        return Trial(case, outcome, oracle.value, failure=Difference("allowed", "", None, None, message), calls=calls)
    if oracle.error is not None:
        return _error_wanted(case, outcome, oracle.error)
    want = oracle.value
    if outcome.error is not None:
        return Trial(case, outcome, want, failure=_error_failure(outcome.error, want))
    failure = compare.structure(outcome.value, want)
    if failure:
        return Trial(case, outcome, want, failure=failure)
    changed = _changed(exercise, given, case)
    if changed:
        return Trial(case, outcome, want, failure=Difference("untouched", "", None, None, changed))
    if exercise.judge_fn is not None:
        verdict = exercise.judge_fn(outcome.value, *private_copy(case.args))
        failure = Difference("value", "", outcome.value, want, verdict) if verdict else None
        return Trial(case, outcome, want, outcome.value, want, failure)
    return _by_value(exercise, case, outcome, want)


def _by_value(exercise: Exercise, case: Case, outcome: Outcome, want: Any) -> Trial:
    observed = run(lambda: seen_of(exercise, outcome.value, case.args))
    if observed.error is not None:
        message = f"The result cannot be used as it should: {describe_error(observed.error)}."
        return Trial(case, outcome, want, failure=Difference("runs", "", observed.error, want, message))
    wanted = remembered(case.key, "wanted", lambda: seen_of(exercise, want, case.args))
    exact = remembered(case.key, "exact", lambda: _exact(exercise, case))
    got, wanted = at_most_float32(observed.value), at_most_float32(wanted)
    failure = compare.values(got, wanted, exact, case.visible)
    return Trial(case, outcome, want, got, wanted, failure)


def seen_of(exercise: Exercise, result: Any, args: tuple) -> Any:
    """What of a result is compared. Arguments are copied only where they are needed: a copy may build a model."""
    return result if exercise._observe is None else exercise.observed(result, private_copy(args))


def at_most_float32(result: Any) -> Any:
    """Values count to float32's precision in float64 too: torch.sqrt(torch.tensor(64)) is a right way to write 8."""
    return tree_map(lambda x: x.float() if isinstance(x, Tensor) and x.dtype == torch.float64 else x, result)


def _oracle_result(exercise: Exercise, case: Case) -> Outcome:
    if case.expected is not BY_ORACLE:
        return Outcome(case.expected)
    given = private_copy(case.args)
    return run(lambda: plain(exercise.call(exercise.solution, given)))


def _exact(exercise: Exercise, case: Case) -> Any:
    """The oracle's result in float64, from which the honest error follows; None where it cannot be had."""
    if not exercise.exact or not any(isinstance(v, Tensor) and v.is_floating_point() for _, v in leaves(case.args)):
        return None
    given = in_double(private_copy(case.args))
    exact = run(
        lambda: seen_of(exercise, plain(exercise.call(exercise.solution, given)), in_double(private_copy(case.args)))
    )
    return exact.value if exact.error is None else None


def _error_wanted(case: Case, outcome: Outcome, error: BaseException) -> Trial:
    kind = type(error).__name__
    if outcome.error is None:
        message = f"Here a right answer raises {kind} ({error}); yours returned {describe(outcome.value)}."
    elif issubclass(type(outcome.error), type(error)):
        return Trial(case, outcome, wanted=error)
    else:
        message = f"Here a right answer raises {kind} ({error}); yours raised {describe_error(outcome.error)}."
    return Trial(case, outcome, error, failure=Difference("value", "", outcome.value, None, message))


def _changed(exercise: Exercise, given: tuple, case: Case) -> str | None:
    for parameter, now, before in zip(exercise.parameters, given, case.args, strict=False):
        if parameter.name not in exercise.in_place and not same_bits(now, before):
            return (
                f"The answer changes its input {parameter.name}. Leave inputs as they are: an operation that ends in _ "
                "or an assignment such as x[...] = or x += works in place."
            )
    return None


def _error_failure(error: BaseException, want: Any) -> Difference:
    """A probe's own sentence is about what the answer gave; any other error comes from the answer's lines."""
    if isinstance(error, Unfit):
        return Difference("type", "", error, want, str(error))
    return Difference("runs", "", error, want, error_sentence(error))
