"""How far a learner has come: every exercise of the book as a picture and as a table."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from html import escape
from typing import Any

from utils.exercises import all_exercises
from utils.grading.page import page, paragraph
from utils.grading.store import Attempt
from utils.paths import chapters_dir

# A mark of its own for each state, so that color is not needed.
MARKS = {"passed": "✓", "tried": "◐", "untouched": "○"}


@dataclass(frozen=True)
class Standing:
    """One exercise and what became of it. `last` is when it was last tried, UTC; `hints` how many were asked for."""

    id: str
    name: str
    title: str
    chapter: int
    difficulty: int
    minutes: int
    state: str
    attempts: int
    hints: int
    last: str | None
    diagnosis: str | None


@dataclass(frozen=True)
class Progress:
    """Every exercise's standing; a notebook or terminal shows it."""

    standings: tuple[Standing, ...]
    notice: str = ""

    @property
    def passed(self) -> int:
        return sum(s.state == "passed" for s in self.standings)

    @property
    def tried(self) -> int:
        return sum(s.state == "tried" for s in self.standings)

    @property
    def headline(self) -> str:
        rest = f", {self.tried} begun" if self.tried else ""
        return f"Progress: {self.passed} of {len(self.standings)} exercises passed{rest}"

    def chapters(self) -> dict[int, list[Standing]]:
        """Standings by chapter, in the book's order."""
        found: dict[int, list[Standing]] = {}
        for standing in self.standings:
            found.setdefault(standing.chapter, []).append(standing)
        return found

    def as_json(self, attempts: Iterable[Attempt]) -> dict[str, Any]:
        """All of it, every attempt included, for `book progress --json`."""
        return {
            "total": len(self.standings),
            "passed": self.passed,
            "tried": self.tried,
            "exercises": [asdict(standing) for standing in self.standings],
            "attempts": [asdict(attempt) for attempt in attempts],
        }

    def _repr_html_(self) -> str:
        marks = "".join(_row_html(chapter, row) for chapter, row in self.chapters().items())
        body = f'<table class="marks">{marks}</table>{paragraph(_legend(), small=True)}{paragraph(self.notice)}'
        return page("overview", MARKS["tried"], self.headline, body + _table_html(self.standings))

    def _repr_pretty_(self, printer, cycle: bool) -> None:
        printer.text(str(self))

    def __str__(self) -> str:
        labels = {chapter: _chapter_label(chapter) for chapter in self.chapters()}
        width = max(map(len, labels.values()), default=0)
        rows = [
            f"  {labels[c].ljust(width)}  {' '.join(MARKS[s.state] for s in row)}" for c, row in self.chapters().items()
        ]
        return "\n".join(
            filter(None, [self.headline, *rows, f"  {_legend()}", self.notice, *_table_text(self.standings)])
        )


def standings(attempts: Iterable[Attempt], hints: dict[str, int]) -> tuple[Standing, ...]:
    """What became of each exercise of the book.

    Attempts at exercises that are no longer there are left out, and so are stubs: who runs a whole notebook has not
    tried what is not written.
    """
    by_exercise: dict[str, list[Attempt]] = {}
    for attempt in attempts:
        if attempt.stage != "there":
            by_exercise.setdefault(attempt.exercise, []).append(attempt)
    found = []
    for e in all_exercises():
        mine = by_exercise.get(e.id, [])
        state = "passed" if any(a.passed for a in mine) else "tried" if mine else "untouched"
        last = mine[-1] if mine else None
        diagnosis = last.diagnosis if last and state == "tried" else None
        found.append(
            Standing(
                e.id, e.name, e.title, e.chapter, e.difficulty, e.minutes, state, len(mine), hints.get(e.id, 0),
                last.at if last else None, diagnosis,
            )
        )  # fmt: skip
    return tuple(found)


def _chapter_label(chapter: int) -> str:
    """ "05 attention", by the name of the chapter's notebook where there is one."""
    found = sorted(chapters_dir().glob(f"{chapter:02}_*.ipynb"))
    return f"{chapter:02} {found[0].stem[3:].replace('_', ' ')}" if found else f"{chapter:02}"


def _legend() -> str:
    return f"{MARKS['passed']} passed, {MARKS['tried']} tried, {MARKS['untouched']} not tried yet"


def _row_html(chapter: int, row: list[Standing]) -> str:
    boxes = "".join(
        f'<span class="mark {s.state}" role="img" aria-label="{escape(f"{s.id} {s.title}: {_state(s)}")}" '
        f'title="{escape(f"{s.id} {s.title}: {_state(s)}")}">{MARKS[s.state]}<small>{s.id.split(".")[1]}</small></span>'
        for s in row
    )
    return f'<tr><th scope="row">{escape(_chapter_label(chapter))}</th><td>{boxes}</td></tr>'


def _state(standing: Standing) -> str:
    return {"passed": "passed", "tried": "tried, not passed yet", "untouched": "not tried yet"}[standing.state]


COLUMNS = ("exercise", "title", "state", "attempts", "hints", "last tried (UTC)")


def _cells(s: Standing) -> tuple[str, ...]:
    last = s.last[:16].replace("T", " ") if s.last else ""
    return s.id, s.title, f"{MARKS[s.state]} {_state(s)}", str(s.attempts or ""), str(s.hints or ""), last


def _table_html(standings: tuple[Standing, ...]) -> str:
    head = "".join(f'<th scope="col">{name}</th>' for name in COLUMNS)
    rows = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in _cells(s)) + "</tr>" for s in standings)
    table = f'<table class="list"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>'
    return f'<details><summary class="small">As a table</summary><div class="wide">{table}</div></details>'


def _table_text(standings: tuple[Standing, ...]) -> list[str]:
    rows = [COLUMNS, *(_cells(s) for s in standings)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(COLUMNS))]
    return [
        "", *("  " + "  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows)
    ]  # fmt: skip
