"""Which cells teach which row of what the book has to teach (`coverage.toml`), and which rows have none.

A cell says so itself, with `covers="N13, M8"` in its header. Whether it teaches the row well is for people; that a
row is not forgotten is for this. `python -m utils.book.coverage` prints the rows of each chapter there is.
"""

import tomllib
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from utils.book.source import Chapter


@dataclass(frozen=True)
class Row:
    """One idea, the chapters ("05") that have to teach it, and whether the reader has to write something."""

    id: str
    idea: str
    chapters: tuple[str, ...]
    exercise: bool


@dataclass(frozen=True)
class Place:
    """A cell that teaches a row; `exercise` when it, or the cell right after it, is an exercise."""

    chapter: str
    key: str
    exercise: bool


@cache
def rows() -> dict[str, Row]:
    """All rows, by id, in the order of the table."""
    table = tomllib.loads(Path(__file__).with_name("coverage.toml").read_text(encoding="utf-8"))
    return {id: Row(id, row["idea"], tuple(row["chapters"]), row["exercise"]) for id, row in table.items()}


def places(chapters: Iterable[Chapter]) -> dict[str, list[Place]]:
    """Every row's cells, an empty list for a row that has none."""
    found: dict[str, list[Place]] = {id: [] for id in rows()}
    for chapter in chapters:
        for cell, following in zip(chapter.cells, [*chapter.cells[1:], None], strict=True):
            exercise = bool(cell.flags.exercise or (following and following.flags.exercise))
            for id in cell.flags.covers:
                found.setdefault(id, []).append(Place(chapter.number, cell.flags.key, exercise))
    return found


def gaps(chapters: Iterable[Chapter], wanted: Collection[str] | None = None) -> list[str]:
    """A sentence for each row without a cell in one of its chapters, and each without its exercise.

    Args:
        wanted: numbers of the chapters to judge, all of the book when None. A row's exercise may be in any of its
            chapters, so it is missed only when all of them are wanted.
    """
    found = places(chapters)
    sentences = []
    for row in rows().values():
        for number in row.chapters:
            if (wanted is None or number in wanted) and number not in {place.chapter for place in found[row.id]}:
                sentences.append(
                    f'{row.id} has no cell in chapter {number}: mark one with covers="{row.id}" ({row.idea})'
                )
        judged = wanted is None or set(row.chapters) <= set(wanted)
        if row.exercise and judged and not any(place.exercise for place in found[row.id]):
            sentences.append(
                f"{row.id} has no exercise in chapter {' or '.join(row.chapters)}: it needs one ({row.idea})"
            )
    return sentences


def _print() -> None:
    from utils.book.shelf import the_book
    from utils.book.source import read_chapter

    shelf = the_book()
    chapters = [read_chapter(shelf.source(name)) for name in shelf.choose(None)]
    for id, cells in places(chapters).items():
        if cells:
            print(f"{id:4}", ", ".join(f"{cell.chapter} {cell.key}{' (exercise)' * cell.exercise}" for cell in cells))
    print(*gaps(chapters, [chapter.number for chapter in chapters]), sep="\n")


if __name__ == "__main__":
    _print()
