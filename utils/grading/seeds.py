"""Proves that no verdict is a matter of luck: every program of an exercise, graded again and again with other seeds.

A seed changes the fresh inputs and the dice that a program may roll itself. Which mistake a wrong answer shows is left
out: `audit` looks at that.
"""

import random
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import torch

from utils.exercises import all_exercises
from utils.exercises.declare import Exercise
from utils.grading.activations import activations
from utils.grading.audit import programs
from utils.grading.checking import check
from utils.grading.trial import Memory, remembering


@dataclass(frozen=True)
class Tally:
    """What became of one program over all seeds.

    Attributes:
        kind: solution, right or wrong.
        against: the seeds whose verdict is not the wanted one: a right program failed, or a wrong one passed.
        seeds: how many were tried.
        message: what the first of `against` said.
    """

    exercise: str
    kind: str
    program: str
    against: tuple[int, ...]
    seeds: int
    message: str = ""

    @property
    def ok(self) -> bool:
        return not self.against

    @property
    def by_chance(self) -> bool:
        """Whether it passes with some seeds and fails with others."""
        return 0 < len(self.against) < self.seeds

    def __str__(self) -> str:
        did = "passes" if self.kind == "wrong" else "fails"
        which = ", ".join(map(str, self.against[:10])) + (", …" if len(self.against) > 10 else "")
        return (
            f"{self.exercise} {self.kind} {self.program} {did} with {len(self.against)} of {self.seeds} seeds "
            f"({which}). {self.message}"
        )


def over_seeds(seeds: range, chapter: int | None = None, ids: tuple[str, ...] = ()) -> Iterator[list[Tally]]:
    """Grade every program of the exercises with each seed: the tallies of one exercise after another."""
    for exercise in all_exercises(chapter):
        if not ids or exercise.id in ids:
            yield tallies(exercise, seeds)


def tallies(exercise: Exercise, seeds: range) -> list[Tally]:
    """Grade the programs of one exercise with each seed: all with one seed, then with the next, on the same cases."""
    from utils.reference import reference

    model = activations(reference()) if exercise.reference_cases else None
    declared = list(programs(exercise))
    against: list[dict[int, str]] = [{} for _ in declared]
    for seed in seeds:
        with remembering(Memory()):
            for (kind, _, program), found in zip(declared, against, strict=True):
                torch.manual_seed(seed)
                random.seed(seed)
                verdict = check(exercise.id, program, model, seed=seed, named=False)
                if verdict.passed is (kind == "wrong"):
                    found[seed] = verdict.message
    return [
        Tally(exercise.id, kind, name, tuple(found), len(seeds), next(iter(found.values()), ""))
        for (kind, name, _), found in zip(declared, against, strict=True)
    ]


def summary(tallies: list[Tally], seeds: range) -> dict[str, Any]:
    """How many programs keep their verdict with every seed, and those that do not."""
    of = {kind: [one for one in tallies if (one.kind == "wrong") is (kind == "wrong")] for kind in ("right", "wrong")}
    return {
        "exercises": len({one.exercise for one in tallies}),
        "seeds": len(seeds),
        "right_total": len(of["right"]),
        "right_accepted": sum(one.ok for one in of["right"]),
        "wrong_total": len(of["wrong"]),
        "wrong_rejected": sum(one.ok for one in of["wrong"]),
        "by_chance": sum(one.by_chance for one in tallies),
        "failures": [asdict(one) for one in tallies if not one.ok],
    }
