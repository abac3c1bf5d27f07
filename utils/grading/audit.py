"""Proves the grader: every right program passes, every wrong one is rejected and named, every stub fails politely.

A wrong answer is named rightly when its key is the verdict's diagnosis, or among the ones that fit equally well.
"""

import functools
import multiprocessing
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from itertools import chain
from typing import Any

import torch

from utils.exercises import all_exercises
from utils.exercises import exercise as find
from utils.exercises.declare import Exercise
from utils.grading.checking import check

FEW = 6  # exercises, for which no other processes are started: each loads torch and the model first
MOST_WORKERS = 8  # each holds the reference model, about 0.6 GB


@dataclass(frozen=True)
class Line:
    """What became of one program of an exercise. `kind` is solution, right, wrong or stub."""

    exercise: str
    kind: str
    program: str
    ok: bool
    stage: str
    named: tuple[str, ...]
    message: str


def audit(chapter: int | None = None, *, ids: tuple[str, ...] = (), seed: int = 0) -> Iterator[Line]:
    """Grade every program of the exercises, one line each, in the book's order; many exercises on all cores."""
    wanted = [one.id for one in all_exercises(chapter) if not ids or one.id in ids]
    lines_of = functools.partial(_lines_of, seed)
    if len(wanted) <= FEW:
        yield from chain.from_iterable(map(lines_of, wanted))
        return
    cores = min(os.cpu_count() or 1, MOST_WORKERS)
    context = multiprocessing.get_context("spawn")  # torch's threads do not survive a fork
    with ProcessPoolExecutor(cores, context, initializer=torch.set_num_threads, initargs=(1,)) as pool:
        yield from chain.from_iterable(pool.map(lines_of, wanted))


def _lines_of(seed: int, exercise_id: str) -> list[Line]:
    return list(audit_exercise(find(exercise_id), seed=seed))


def audit_exercise(exercise: Exercise, reference: Any = None, device: Any = None, seed: int = 0) -> Iterator[Line]:
    """The solution, the right variants, the wrong answers and the stub of one exercise."""

    def line(kind: str, program: str, answer: Callable, ok: Callable) -> Line:
        verdict = check(exercise.id, answer, reference, device, seed=seed)
        named = tuple(filter(None, (verdict.diagnosis, *verdict.also)))
        return Line(exercise.id, kind, program, ok(verdict, named), verdict.stage, named, verdict.message)

    for kind, name, program in programs(exercise):
        if kind == "wrong":
            yield line(kind, name, program, lambda verdict, named, key=name: not verdict.passed and key in named)
        else:
            yield line(kind, name, program, lambda verdict, _: verdict.passed)
    yield line(
        "stub", exercise.name, stub(exercise), lambda verdict, _: not verdict.passed and verdict.stage == "there"
    )


def programs(exercise: Exercise) -> Iterator[tuple[str, str, Callable]]:
    """Every program that is declared for an exercise: its kind (solution, right or wrong), its name, itself."""
    yield "solution", exercise.name, exercise.solution
    for right in exercise.rights:
        yield "right", getattr(right, "__name__", type(right).__name__), right
    for wrong in exercise.wrongs:
        yield "wrong", wrong.key, wrong.answer


def stub(exercise: Exercise) -> Callable:
    """The exercise as the chapter ships it: every call raises NotImplementedError."""
    if exercise.is_class:
        methods = [name for name, member in vars(exercise.solution).items() if callable(member)]

        def unwritten(self, *args, **kwargs):
            raise NotImplementedError(f"Write {exercise.name} here, then run the next cell.")

        return type(exercise.name, exercise.solution.__bases__, dict.fromkeys(methods, unwritten))

    def unwritten_function(*args):
        raise NotImplementedError(f"Write {exercise.name} here, then run the next cell.")

    return unwritten_function


def summary(lines: list[Line]) -> dict[str, Any]:
    """The figures of an audit: counts, the failures, and which wrong answers are not told apart."""
    of = {kind: [line for line in lines if line.kind == kind] for kind in ("solution", "right", "wrong", "stub")}
    passing = of["solution"] + of["right"]
    rejected = [line for line in of["wrong"] if line.stage != "passed"]
    confused: dict[str, list[str]] = {}
    for line in of["wrong"]:
        others = [key for key in line.named if key != line.program]
        if others:
            confused[f"{line.exercise} {line.program}"] = others
    return {
        "exercises": len(of["solution"]),
        "right_total": len(passing),
        "right_accepted": sum(line.ok for line in passing),
        "wrong_total": len(of["wrong"]),
        "wrong_rejected": len(rejected),
        "wrong_named": sum(line.ok for line in of["wrong"]),
        "stubs_polite": sum(line.ok for line in of["stub"]),
        "confused": confused,
        "failures": [asdict(line) for line in lines if not line.ok],
    }
