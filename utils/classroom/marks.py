"""What passes between the parts of class grading, as plain data that goes through JSON and comes back the same.

A `Submission` is what a student handed in, a `Notebook` one cleaned chapter of it, and a `Graded` what became of that
notebook. They hold no code, no tensors and no pickles, so that a worker, a database and a page can all carry them.
"""

import hashlib
import json
import math
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from typing import Any, Literal

from utils.grading.text import cut_short
from utils.grading.verdict import Mismatch, Verdict

Status = Literal["passed", "failed", "not_written", "missing", "timeout", "crashed", "not_run"]
STATUSES: tuple[str, ...] = ("passed", "failed", "not_written", "missing", "timeout", "crashed", "not_run")
LONGEST_SENTENCE = 600
ON_REFERENCE = "on the reference model"
# Left out of what is kept: what an answer prints can be the inputs that it was called with.
HIDDEN = ("exercise", "printed")


@dataclass(frozen=True)
class Cell:
    """One cell of a student's notebook. `exercise` is "05.2" where it is the answer to one, else None."""

    id: str | None
    kind: Literal["code", "markdown"]
    source: str
    exercise: str | None = None


@dataclass(frozen=True)
class Notebook:
    """One chapter as a student handed it in, after cleaning. `notes` says what was odd about it, a sentence each."""

    chapter: str  # "05_attention"
    cells: tuple[Cell, ...]
    notes: tuple[str, ...] = ()

    @cached_property
    def digest(self) -> str:
        """SHA-256 of what is graded: the chapter and the cells. Outputs and notes are not in it."""
        return hashlib.sha256(_dumped([self.chapter, [vars(cell) for cell in self.cells]])).hexdigest()

    def as_json(self) -> dict[str, Any]:
        cells = [dict(vars(cell)) for cell in self.cells]
        return {"chapter": self.chapter, "cells": cells, "notes": list(self.notes)}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "Notebook":
        return cls(data["chapter"], tuple(Cell(**cell) for cell in data["cells"]), tuple(data["notes"]))


@dataclass(frozen=True)
class Submission:
    """What one student handed in at one time.

    Attributes:
        student: as the folder, the file's name or the gradebook calls them.
        path: where it lay, inside the folder or the archive that was given.
        attempt: its number where the name says one, else None.
        received: when, ISO 8601, where that is known.
        notebooks: chapter → digest of the cleaned notebook.
        problems: what could not be read or recognized, one sentence each.
        late: whether the learning platform says that it came late.
    """

    student: str
    path: str
    attempt: int | None = None
    received: str | None = None
    notebooks: dict[str, str] | None = None
    problems: tuple[str, ...] = ()
    late: bool = False

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "Submission":
        return cls(**{**data, "problems": tuple(data["problems"])})


@dataclass(frozen=True)
class ExerciseMark:
    """What became of one exercise. `verdict` is `verdict_as_json` of it; `source` is the answer as handed in."""

    exercise: str
    status: Status
    verdict: dict[str, Any] | None = None
    seconds: float = 0.0
    source: str = ""

    @property
    def passed(self) -> bool:
        return self.status == "passed"


@dataclass(frozen=True)
class Graded:
    """The marks of one student's notebook, with sentences about what was odd."""

    student: str
    chapter: str
    digest: str
    marks: tuple[ExerciseMark, ...]
    notes: tuple[str, ...] = ()
    seconds: float = 0.0

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "Graded":
        marks = tuple(ExerciseMark(**mark) for mark in data["marks"])
        return cls(**{**data, "marks": marks, "notes": tuple(data["notes"])})


def verdict_as_json(verdict: Verdict) -> dict[str, Any]:
    """A verdict to be kept, without what was printed and without values of fresh inputs, which are nobody's to know.

    Its sentences are kept as they are; `told` says what of them a student may read.
    """
    data = {field.name: getattr(verdict, field.name) for field in fields(Verdict) if field.name not in HIDDEN}
    for name in ("message", "evidence", "where"):
        data[name] = cut_short(data[name], LONGEST_SENTENCE)
    data["evidence"] = data["evidence"].partition("It was called with ")[0].strip()
    mismatch = verdict.mismatch
    if mismatch is not None:
        shown = verdict.stage == "reference"
        mismatch = replace(mismatch, got=_told(mismatch.got, shown), want=_told(mismatch.want, shown))
        data["mismatch"] = _finite(asdict(mismatch))
    return json.loads(_dumped(data))


def verdict_from_json(exercise: str, data: dict[str, Any]) -> Verdict:
    """The verdict again, equal to the one that was kept."""
    given = {name: _tuples(value) for name, value in data.items()}
    if given.get("mismatch"):
        values = {name: _tuples(value) for name, value in data["mismatch"].items()}
        for name in ("got", "want", "worst", "tolerance"):
            values[name] = _float(values[name])
        given["mismatch"] = Mismatch(**values)
    return Verdict(exercise=exercise, **given)


def _told(value: Any, shown: bool) -> Any:
    if not shown:
        return None
    return value if value is None or isinstance(value, (bool, int, float, str)) else cut_short(repr(value))


def _finite(value: Any) -> Any:
    """NaN and ∞ in a form that JSON knows."""
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": repr(value)}
    if isinstance(value, dict):
        return {name: _finite(inner) for name, inner in value.items()}
    return [_finite(inner) for inner in value] if isinstance(value, (list, tuple)) else value


def _float(value: Any) -> Any:
    return float(value["float"]) if isinstance(value, dict) else value


def _tuples(value: Any) -> Any:
    return tuple(_tuples(inner) for inner in value) if isinstance(value, list) else value


def _dumped(data: Any) -> bytes:
    return json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":"), sort_keys=True).encode()
