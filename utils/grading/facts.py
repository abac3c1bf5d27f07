"""What a report says, as plain text in the order in which it is read; how it looks is for `report`.

Both reports, HTML and text, are written from these facts, so they cannot say different things. Whatever the answer
printed or raised is made harmless here: terminal codes, other control characters and marks that turn the direction of
text are taken out.
"""

from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

from utils.grading.text import cut_short, harmless, one_line
from utils.grading.verdict import Mismatch, Verdict

PRINTED_LINES = 12
# Axes whose length has a plural name: one place on them is called by the singular.
SINGULAR = {"n_heads": "head", "ids": "id", "n_kv_heads": "kv_head"}


@dataclass(frozen=True)
class Column:
    """One axis of the table of shapes; an empty length where one of the two shapes has no such axis."""

    name: str
    wanted: str
    yours: str

    @property
    def differs(self) -> bool:
        return self.wanted != self.yours


@dataclass(frozen=True)
class Facts:
    """A report's parts, top to bottom; an empty part is left out."""

    state: str
    headline: str
    sentences: tuple[str, ...]
    several: bool
    shape: str
    columns: tuple[Column, ...]
    differ: str
    first: str
    picture: Mismatch | None
    evidence: str
    where: str
    checked: tuple[str, ...]
    advice: str
    printed: tuple[str, ...]


def facts_of(verdict: Verdict) -> Facts:
    """The facts of a verdict. `state` is "passed", "unwritten" or "not yet"."""
    state = "passed" if verdict.passed else "unwritten" if verdict.stage == "there" else "not yet"
    word = {"passed": "Passed", "unwritten": "Not written yet", "not yet": "Not yet"}[state]
    columns = _columns(verdict.wanted_shape, verdict.got_shape)
    same = columns and not any(column.differs for column in columns)
    joint = " = " if any(" " in column.name for column in columns) else " "
    lengths = ", ".join(f"{column.name}{joint}{column.wanted}" for column in columns)
    mismatch = verdict.mismatch
    return Facts(
        state=state,
        headline=" · ".join(filter(None, [word, f"{verdict.exercise} {verdict.title}".strip()])),
        sentences=tuple(map(one_line, verdict.readings or (verdict.message,))),
        several=len(verdict.readings) > 1,
        shape=f"Shape: {lengths}, as wanted." if same else "",
        columns=() if same else columns,
        differ=_differ(mismatch, verdict.stage) if mismatch else "",
        first=_first(mismatch) if mismatch else "",
        picture=mismatch if mismatch and mismatch.map else None,
        evidence=one_line(verdict.evidence),
        where=f"Seen {one_line(verdict.where)}." if verdict.where else "",
        checked=verdict.checked,
        advice=verdict.advice,
        printed=_printed(verdict.printed),
    )


def place(index: tuple[tuple[str, int], ...]) -> str:
    """An index in words.

    >>> place((("batch", 0), ("n_heads", 2), ("query_pos", 3)))
    'batch 0, head 2, query_pos 3'
    """
    names = [name for name, _ in index]
    if len(index) == 2 and names[0] == names[1]:
        return f"row {index[0][1]}, column {index[1][1]}"
    return ", ".join(f"{name} at {i}" if " " in name else f"{SINGULAR.get(name, name)} {i}" for name, i in index)


def figures(got: Any, want: Any) -> tuple[str, str]:
    """Two values with as few digits as show that they differ, four at least.

    >>> figures(0.53, 0.21), figures(1.000001, 1.0), figures(float("nan"), 1.0)
    (('0.53', '0.21'), ('1.000001', '1'), ('NaN', '1'))
    """
    if not (isinstance(got, float) or isinstance(want, float)) or not (_is_number(got) and _is_number(want)):
        return one_line(_shown(got)), one_line(_shown(want))
    texts = ("", "")
    for digits in range(4, 18):
        texts = tuple(
            f"{value:.{digits}g}".replace("nan", "NaN").replace("inf", "∞").replace("-", "−") for value in (got, want)
        )
        if texts[0] != texts[1]:
            break
    return texts


def _is_number(value: Any) -> bool:
    return isinstance(value, float) or type(value) is int and abs(value) < 2**53


def _shown(value: Any) -> str:
    """Texts in quotation marks, so that a space at the end is seen; a whole number with commas."""
    return repr(value) if isinstance(value, (str, bytes)) else f"{value:,}" if type(value) is int else str(value)


def _differ(mismatch: Mismatch, stage: str) -> str:
    verb, verbs = ("is not finite", "are not finite") if stage == "finite" else ("differs", "differ")
    after = f" after {mismatch.after}" if mismatch.after else ""
    if mismatch.total == 1:
        alone = not (mismatch.index or mismatch.path) and _values(mismatch)
        return f"The value {verb}{after}{f': {alone}' if alone else ''}."
    count = "All" if mismatch.bad == mismatch.total else f"{mismatch.bad:,} of"
    if mismatch.bad == mismatch.total == 2:
        return f"Both values {verbs}{after}."
    return f"{count} {mismatch.total:,} values {verbs}{after}."


def _first(mismatch: Mismatch) -> str:
    where = place(mismatch.index) or one_line(mismatch.path)
    return ": ".join(filter(None, [where, _values(mismatch)])) if where else ""


def _values(mismatch: Mismatch) -> str:
    """Yours and the wanted one; nothing where neither is told, as of inputs that a class grader keeps to itself."""
    if mismatch.got is None and mismatch.want is None:
        return ""
    yours, wanted = (cut_short(text) for text in figures(mismatch.got, mismatch.want))
    return f"yours {yours}, wanted {wanted}"


def _columns(wanted, got) -> tuple[Column, ...]:
    """The axes of both shapes under each other. Where their number differs, equal lengths stand under each other."""
    if wanted is None or got is None:
        return ()
    if len(wanted) == len(got):
        return tuple(Column(name, str(n), str(m)) for (name, n), (_, m) in zip(wanted, got, strict=True))
    columns: list[Column] = []
    lengths = [n for _, n in wanted], [n for _, n in got]
    for _, i, j, k, m in SequenceMatcher(None, *lengths, autojunk=False).get_opcodes():
        left = [(name, str(n)) for name, n in wanted[i:j]]
        right = [str(n) for _, n in got[k:m]]
        rows = max(len(left), len(right))
        left += [("–", "")] * (rows - len(left))
        right += [""] * (rows - len(right))
        columns += [Column(name, n, r) for (name, n), r in zip(left, right, strict=True)]
    return tuple(columns)


def _printed(text: str) -> tuple[str, ...]:
    lines = harmless(text).expandtabs(4).splitlines()
    more = len(lines) - PRINTED_LINES
    return (*lines[:PRINTED_LINES], f"… and {more} more lines") if more > 1 else tuple(lines)
