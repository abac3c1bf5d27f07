"""Every exercise: solution and right variants pass, wrong answers are rejected and named, the stub fails politely."""

import pytest

from utils.exercises import all_exercises
from utils.grading.audit import audit_exercise

EXERCISES = all_exercises()


@pytest.mark.parametrize("exercise", EXERCISES, ids=[f"{e.id} {e.name}" for e in EXERCISES])
def test_right_passes_and_wrong_is_named(exercise):
    failures = [line for line in audit_exercise(exercise) if not line.ok]
    assert not failures, "\n".join(f"{f.kind} {f.program}: {f.stage}, named {f.named}. {f.message}" for f in failures)


@pytest.mark.parametrize("exercise", EXERCISES, ids=[f"{e.id} {e.name}" for e in EXERCISES])
def test_declaration_is_complete(exercise):
    from utils.grading.watch import unknown_names

    assert len(exercise.rights) >= 3, "at least three right variants in different styles"
    assert len(exercise.wrongs) >= 3, "at least three wrong answers"
    assert len(exercise.hint_ladder) >= 3, "at least three hints"
    assert 1 <= exercise.difficulty <= 5 and exercise.minutes > 0
    assert exercise.solution.__doc__, "the oracle says what it computes"
    assert exercise.reference_cases or exercise.fresh_cases or exercise.special_cases
    assert not unknown_names(exercise.forbidden)
    assert not exercise.forbidden or exercise.forbidden_because
