"""What grading decides, as plain data. Deciding is apart from showing: `utils.grading.report` turns it into a page."""

from dataclasses import dataclass, field
from typing import Any

# The checks, in the order in which they are made.
STAGES = (
    "there",
    "callable",
    "signature",
    "runs",
    "allowed",
    "type",
    "shape",
    "dtype",
    "device",
    "untouched",
    "finite",
    "reference",
    "fresh",
    "property",
    "passed",
)


@dataclass(frozen=True)
class Mismatch:
    """Where values differ. `index` names each axis: (("batch", 0), ("query_pos", 3)); `map` is a small 2-D picture: the
    largest error over the other axes, from 0 (right) to 1 (the largest of all), −1 where nothing is compared. It begins
    at `map_start`; `map_first` is the first bad place on its two axes. Plain values have a `path` in place of an index,
    as "total" in a dict; `after` says what is done to results before they are compared."""

    index: tuple[tuple[str, int], ...] = ()
    got: Any = None
    want: Any = None
    bad: int = 0
    total: int = 0
    worst: float = 0.0
    tolerance: float = 0.0
    map: tuple[tuple[float, ...], ...] = ()
    map_axes: tuple[str, str] = ("", "")
    map_start: tuple[int, int] = (0, 0)
    map_first: tuple[int, int] = (0, 0)
    map_cut: bool = False
    path: str = ""
    after: str = ""


@dataclass(frozen=True)
class Verdict:
    """The result of grading one answer.

    Attributes:
        passed: whether the answer is right.
        stage: the check that decided, one of STAGES; "passed" where all agreed.
        diagnosis: the key of the misconception that the wrong values show, or None.
        message: the one sentence that helps most.
        also: keys of other misconceptions that fit equally well.
        readings: a sentence for each where several fit; `message` is these joined.
        evidence: what in the values shows it.
        where: the case that failed ("blocks.1.attn.hook_q on real text").
        wanted_shape, got_shape: (axis name, length) pairs, aligned where the number of axes agrees.
        advice: what to try next.
        printed: what the answer printed, at most some lines.
        checked: what was compared, for a report of success.
    """

    exercise: str
    title: str
    passed: bool
    stage: str
    message: str
    diagnosis: str | None = None
    also: tuple[str, ...] = ()
    readings: tuple[str, ...] = ()
    evidence: str = ""
    where: str = ""
    wanted_shape: tuple[tuple[str, int], ...] | None = None
    got_shape: tuple[tuple[str, int], ...] | None = None
    mismatch: Mismatch | None = None
    advice: str = ""
    printed: str = ""
    checked: tuple[str, ...] = field(default=())

    def __bool__(self) -> bool:
        return self.passed

    def _repr_html_(self) -> str:
        from utils.grading.report import to_html

        return to_html(self)

    def _repr_pretty_(self, printer, cycle: bool) -> None:
        printer.text(str(self))

    def __str__(self) -> str:
        from utils.grading.report import to_text

        return to_text(self)
