"""Grades one notebook: its cells run in the sandbox, its answers are called from here, verdicts are reached here."""

import dataclasses
import hashlib
import re
import time
from types import TracebackType
from typing import Any

from utils.classroom.inside.lockdown import free_memory
from utils.classroom.marks import ExerciseMark, Graded, Notebook, verdict_as_json
from utils.classroom.plan import Step, book_cells, plan
from utils.classroom.sandbox import MODEL, Limits, Sandbox
from utils.classroom.wire import Channel

PIECES = range(3, 7)  # chapters whose functions later chapters are built of
SHORT = 1.0  # processor seconds in which all cells of a notebook have nearly always run
TIDY = 50  # notebooks after which memory is given back
AGAIN = "an error when it was run again"
MOST_STARTS = 7  # processes for one notebook: each answer that ends its process costs one


class Grader:
    """Holds a sandbox and the reference model. One for each worker process.

    Args:
        seed: of the fresh inputs of this grading.
        sandbox: False runs answers in an ordinary process with the grader's own rights.
        limits: what one submission may use.
    """

    def __init__(self, seed: int, sandbox: bool = True, limits: Limits | None = None):
        self.seed, self.limits = seed, limits or Limits()
        self.sandbox = Sandbox(self.limits, walls=sandbox)
        self.graded = 0

    def __enter__(self) -> "Grader":
        from utils.grading.activations import activations
        from utils.grading.trial import Memory
        from utils.reference import reference

        self.sandbox.start()
        self.model = reference(MODEL, "cpu")
        self.activations, self.memory = activations(self.model), Memory()
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.sandbox.stop()

    def grade(self, notebook: Notebook, student: str) -> Graded:
        """The marks of one notebook. Never raises for anything that is in it.

        Raises:
            ClassProblem: the sandbox is gone and cannot be made again.
        """
        from utils.grading.settings import standard
        from utils.grading.watch import elsewhere

        started = time.monotonic()
        run = _Run(self, notebook)
        try:
            with standard(), elsewhere():
                marks = run.marks()
        finally:
            run.stop()
        self.graded += 1
        if self.graded % TIDY == 0:
            free_memory()
        return Graded(
            student, notebook.chapter, notebook.digest, marks, tuple(run.notes), round(time.monotonic() - started, 3)
        )


class _Run:
    """One notebook being graded: its process, and what is known about its cells."""

    def __init__(self, grader: Grader, notebook: Notebook):
        self.grader, self.notebook = grader, notebook
        self.steps = plan(notebook)
        self.sources = {step.exercise: step.source for step in self.steps if step.exercise}
        self.stubs = {exercise: source for _, source, exercise, _ in book_cells(notebook.chapter) if exercise}
        self.until = time.monotonic() + grader.limits.total_seconds
        self.notes = list(notebook.notes)
        self.outside: Any = None
        self.number = 0
        self.starts = 0
        self.used = False
        self.together = True  # whether the cells are run at one go, as long as none hinders the others
        self.left_out: set[str] = set()
        self.errors: dict[str, str] = {}
        self.first_errors: dict[str, str] = {}
        self.called = False  # whether an answer has met inputs, which a cell that is run again could tell
        self.verdicts: dict[str, ExerciseMark] = {}

    def stop(self) -> None:
        """End the submission's process."""
        if self.outside is not None:
            self.grader.sandbox.end(self.number, self.outside.channel.sock)
            self.outside = None

    def marks(self) -> tuple[ExerciseMark, ...]:
        """One for each exercise of the chapter."""
        for exercise in self.stubs:
            started = time.monotonic()
            status, verdict = self._judge(exercise)
            self.verdicts[exercise] = ExerciseMark(
                exercise, status, verdict, round(time.monotonic() - started, 4), self.sources.get(exercise, "")
            )
        return tuple(self.verdicts.values())

    def _judge(self, exercise_id: str) -> tuple[str, dict | None]:
        from utils.exercises import exercise as find
        from utils.grading.checking import not_written

        if exercise_id not in self.sources:
            return "missing", None
        exercise = find(exercise_id)
        if self.sources[exercise_id].strip() == self.stubs[exercise_id].strip() and not self._named_elsewhere(exercise):
            return "not_written", verdict_as_json(not_written(exercise))
        while self._ready():
            used = self.used
            self.used = self.called = True
            status, verdict = self._try(exercise)
            if status != "crashed" or not used and self.grader.sandbox.alive():
                return status, verdict
            # an earlier answer may have damaged the process, or the container is gone: once more, in a new one
        return "not_run", None

    def _named_elsewhere(self, exercise: Any) -> bool:
        """Whether a cell of the student's own may give this name a value: what it holds then is seen when it is run."""
        name = re.compile(rf"\b{re.escape(exercise.name)}\b")
        return any(step.own and name.search(step.source) for step in self.steps)

    def _try(self, exercise: Any) -> tuple[str, dict | None]:
        from utils.classroom.outside import Ended
        from utils.classroom.remote import answer_of
        from utils.grading.checking import check
        from utils.grading.raised import TimeUp
        from utils.grading.trial import remembering

        key = next(step.key for step in self.steps if step.exercise == exercise.id)
        stopped, error = key in self.left_out, self.errors.get(key)
        try:
            answer = None if stopped or error else answer_of(self.outside, exercise.name)
            with remembering(self.grader.memory):
                seed = seed_of(self.grader.seed, exercise.id)
                verdict = check(exercise.id, answer, self.grader.activations, "cpu", seed=seed)
        except (Ended, TimeUp) as error:
            self.stop()
            return ("timeout" if isinstance(error, TimeUp) else "crashed"), None
        if stopped or error:
            message = f"The cell with the answer {'did not come to an end' if stopped else f'raised {error}'}."
            verdict = dataclasses.replace(verdict, stage="runs", message=message)
            return "timeout" if stopped else "failed", verdict_as_json(verdict)
        late = self.outside.late
        self.outside.forget()
        if self.outside.ended is not None:
            how = "timeout" if self.outside.ended == "time" else "crashed"
            self.stop()
            return how, verdict_as_json(verdict)
        if self.outside.threads and self.starts < MOST_STARTS:
            self.stop()  # what an answer left running would slow the next one down
        status = "passed" if verdict.passed else "not_written" if verdict.stage == "there" else "failed"
        return "timeout" if status == "failed" and late else status, verdict_as_json(verdict)

    # the process

    def _ready(self) -> bool:
        """Whether there is a process in which the cells have run; starts one where there is none."""
        while self.outside is None:
            if self.starts >= MOST_STARTS or time.monotonic() > self.until:
                return False
            self.starts += 1
            self._start()
        return True

    def _start(self) -> None:
        from utils.classroom.outside import Outside

        self.number, sock = self.grader.sandbox.spawn()
        self.outside = Outside(Channel(sock), self.grader.limits.call_seconds, self.until, self._lent)
        self.outside.bridges = self._bridges()
        self.errors, self.used = {}, False
        steps = [step for step in self.steps if step.key not in self.left_out]
        if self.together:
            self.together = self._ran(steps, SHORT)
            if not self.together:  # which cell it was is seen when they run one by one, in a new process
                self.stop()
            return
        for step in steps:
            if not self._ran([step], self.grader.limits.own_seconds if step.own else self.grader.limits.cell_seconds):
                self.stop()
                if self.grader.sandbox.alive():
                    self.left_out.add(step.key)
                    self._note(f"{_named(step)} did not come to an end, or ended its process; it was left out.")
                return

    def _ran(self, steps: list[Step], seconds: float) -> bool:
        """Run cells one after the other, and see what they raised. False where the process ended or is given up."""
        from utils.classroom.outside import Ended
        from utils.grading.raised import TimeUp

        limits = self.grader.limits
        cells = tuple((s.key, s.source, limits.own_seconds if s.own else limits.cell_seconds) for s in steps)
        try:
            ends = self.outside.ask("run", {"cells": cells}, {"seconds": seconds})
        except (Ended, TimeUp):
            return False
        if type(ends) is not list or len(ends) != len(steps):
            return False
        for step, end in zip(steps, ends, strict=True):
            if end:
                self._failed(step, str(end)[:300])
        return True

    def _failed(self, step: Step, error: str) -> None:
        """Note what a cell raised, in its own words only if no answer has been called yet."""
        said = self.first_errors.get(step.key, AGAIN) if self.called else error
        self.errors[step.key] = self.first_errors[step.key] = said
        if error.startswith("TimeUp"):
            self._note(f"{_named(step)} took too long and was stopped.")
            self.left_out.add(step.key)  # so that it costs its time once
        elif step.own:
            self._note(f"{_named(step)} raised {said}.")

    def _note(self, sentence: str) -> None:
        if sentence not in self.notes:
            self.notes.append(sentence)

    def _bridges(self) -> dict[int, str]:
        import torch

        from utils.exercises.small import small_model

        return {id(self.grader.model): MODEL, id(small_model(torch.device("cpu"))): "small"}

    def _lent(self, name: str, own: bool) -> Any:
        """The book's function for `use`; None where the student's own is to be taken.

        As in a notebook, the book's stands in for one that has not passed. No mark can be had with it: that exercise
        is judged already. Of the chapter's other exercises, none is lent, and none that changes its arguments: it
        runs on this side, on copies.
        """
        from utils.exercises import UnknownExercise
        from utils.exercises import exercise as find

        try:
            found = find(name)
        except UnknownExercise:
            if own:
                return None
            raise
        if own:
            judged = self.verdicts.get(found.id)
            lent = judged is not None and not judged.passed and not found.in_place
            return found.solution if lent else None
        if found.in_place or found.chapter >= int(self.notebook.chapter[:2]) or found.chapter not in PIECES:
            raise LookupError(f"{found.name} cannot be had here: define it.")
        return found.solution


def seed_of(seed: int, exercise: str) -> int:
    """The seed of one exercise's inputs: whoever works it out from inputs learns nothing of the other exercises'.

    Torch's generators tell 2³² seeds apart, which can be tried out.
    """
    return int.from_bytes(hashlib.sha256(f"{seed} {exercise}".encode()).digest()[:5], "big")


def _named(step: Step) -> str:
    return f"The cell with the answer to {step.exercise}" if step.exercise else "A cell of the student's own"
