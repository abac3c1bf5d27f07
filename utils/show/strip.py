"""A strip of cells as inline SVG, small enough for a report: where two arrays differ, and how much.

It reads without color (hatching and an outline say the same) and without a drawing library, and a screen reader gets
one sentence. Larger arrays are shown by blocks; exact values are for `show.matrix`.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

from utils.show.html import CODE, FAINT, INK
from utils.show.theme import BLUE, ORANGE
from utils.show.values import numbers, short
from utils.show.words import clipped, labels_for, sentences

CELL, MAX_ROWS, MAX_COLUMNS, MOST_TIPS = 16, 24, 48, 256


def svg_heatmap(
    matrix: Any,
    rows: Sequence[Any] | None = None,
    columns: Sequence[Any] | None = None,
    title: str = "Where the values differ",
    *,
    row_name: str = "",
    column_name: str = "",
) -> str:
    """A strip of cells as inline SVG: 0 is empty, more is bluer and more hatched, the largest is outlined.

    `matrix` is [row, column], numbers ≥ 0 or booleans (True: differs). NaN cells are crossed out. A matrix larger
    than 24 × 48 is shown by the largest value of each block of neighbors, and the caption inside says so.

    Raises ShowProblem: another shape, or labels that do not fit.
    """
    grid = np.abs(numbers(matrix, "row column", "matrix"))
    shape = grid.shape
    row_labels = labels_for(rows, grid.shape[0], "row")
    column_labels = labels_for(columns, grid.shape[1], "column")
    title, _ = sentences(title=title, note=title)
    grid, row_labels, row_step = _blocks(grid, row_labels, MAX_ROWS)
    flipped, column_labels, column_step = _blocks(grid.T, column_labels, MAX_COLUMNS)
    return _svg(flipped.T, row_labels, column_labels, title, row_name, column_name, (row_step, column_step), shape)


def _blocks(grid: np.ndarray, labels: list[str], most: int) -> tuple[np.ndarray, list[str], int]:
    """Axis 0 in at most `most` blocks, each its largest value (NaN where one is NaN), with its first label."""
    step = -(-len(grid) // most)
    parts = [np.max(grid[start : start + step], axis=0) for start in range(0, len(grid), step)]
    return np.array(parts), labels[::step], step


def _svg(
    grid: np.ndarray,
    rows: list[str],
    columns: list[str],
    title: str,
    row_name: str,
    column_name: str,
    steps: tuple[int, int],
    shape: tuple[int, ...],
) -> str:
    left = 14 + 7 * max(len(clipped(label, 12)) for label in rows) + (16 if row_name else 0)
    slanted = max(len(clipped(label, 12)) for label in columns)
    top = 28 + round(5.2 * slanted)
    height, width = top + CELL * len(rows) + 24, max(left + CELL * len(columns) + 8 + 5 * slanted, 260)
    largest = float(np.nanmax(grid)) if np.isfinite(grid).any() else 0.0
    words = _labels(rows, columns, left, top)
    words.append(f'<text x="0" y="13" font-weight="600">{escape(clipped(title, 60))}</text>')
    if row_name:
        middle = top + CELL * len(rows) / 2
        turn = f'transform="translate(11 {middle:g}) rotate(-90)" text-anchor="middle"'
        words.append(f"<text {turn}>{escape(row_name)}</text>")
    block = f" · each cell: the largest of {steps[0]} × {steps[1]}" if max(steps) > 1 else ""
    foot = f"{f'columns: {column_name} · ' if column_name else ''}largest {short(largest)}{block}"
    words.append(f'<text x="{left}" y="{height - 8}">{escape(foot)}</text>')
    where, outline = "all are zero", ""
    if largest > 0:
        i, j = (int(place) for place in np.unravel_index(int(np.nanargmax(grid)), grid.shape))
        where = f"largest {short(largest)} at {rows[i]}, {columns[j]}"
        square = _square(left + CELL * j, top + CELL * i)
        outline = f'<path d="{square}" fill="none" stroke="{ORANGE}" stroke-width="2.5"/>'
    spoken = f"{title}: {shape[0]} rows × {shape[1]} columns; {where}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 {width} {height}" width="{width}" '
        f'style="max-width:100%;height:auto;color:{INK}" font-family="{CODE}" font-size="11" fill="currentColor">'
        f"<title>{escape(spoken)}</title>{_cells(grid, largest, left, top)}{outline}{''.join(words)}"
        f"{_tips(grid, rows, columns, left, top)}</svg>"
    )


def _square(x: int, y: int) -> str:
    return f"M{x} {y}h{CELL}v{CELL}h-{CELL}z"


def _labels(rows: list[str], columns: list[str], left: int, top: int) -> list[str]:
    across = [
        f'<text x="{left - 5}" y="{top + CELL * i + 12}" text-anchor="end">{escape(clipped(label, 12))}</text>'
        for i, label in enumerate(rows)
    ]
    down = [
        f'<text transform="translate({left + CELL * j + 11} {top - 4}) rotate(-50)">{escape(clipped(label, 12))}</text>'
        for j, label in enumerate(columns)
    ]
    return [*across, *down]


def _cells(grid: np.ndarray, largest: float, left: int, top: int) -> str:
    """A path for each of ten depths of color, and one each for hatching, crosses and the lines between."""
    depths: dict[int, list[str]] = {}
    hatch, crosses = [], []
    for i, j in np.ndindex(*grid.shape):
        x, y, value = left + CELL * j, top + CELL * i, grid[i, j]
        if value != value:
            crosses.append(f"M{x + 3} {y + 3}l{CELL - 6} {CELL - 6}m0 {6 - CELL}l{6 - CELL} {CELL - 6}")
        elif value > 0:
            depths.setdefault(max(1, round(10 * value / largest)), []).append(_square(x, y))
            hatch.append(f"M{x + 2} {y + CELL - 2}l{CELL - 4} {4 - CELL}")
            if value > largest / 2:
                hatch.append(f"M{x + 2} {y + 8}l6 -6M{x + 8} {y + CELL - 2}l6 -6")
    high, wide = CELL * grid.shape[0], CELL * grid.shape[1]
    lines = [f"M{left} {top + CELL * i}h{wide}" for i in range(grid.shape[0] + 1)]
    lines += [f"M{left + CELL * j} {top}v{high}" for j in range(grid.shape[1] + 1)]
    fills = [
        f'<path class="cells" d="{"".join(depths[depth])}" fill="{BLUE}" fill-opacity="{0.085 * depth:.2g}"/>'
        for depth in sorted(depths)
    ]
    return (
        f'{"".join(fills)}<path d="{"".join(lines)}" stroke="{FAINT}" stroke-width=".6" fill="none"/>'
        f'<path class="hatch" d="{"".join(hatch)}" stroke="currentColor" stroke-opacity=".7" fill="none"/>'
        f'<path class="crosses" d="{"".join(crosses)}" stroke="{ORANGE}" stroke-width="1.6" fill="none"/>'
    )


def _tips(grid: np.ndarray, rows: list[str], columns: list[str], left: int, top: int) -> str:
    """Each cell's value on hover, where there are so few that it costs little."""
    if grid.size > MOST_TIPS:
        return ""
    tips = [
        f'<path d="{_square(left + CELL * j, top + CELL * i)}">'
        f"<title>{escape(f'{rows[i]}, {columns[j]}: {short(float(grid[i, j]))}')}</title></path>"
        for i, j in np.ndindex(*grid.shape)
    ]
    return f'<g fill-opacity="0">{"".join(tips)}</g>'
