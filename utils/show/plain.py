"""Figures as text: what a terminal, a screen reader or an untrusted notebook shows in place of a drawing.

Each function gives lines of at most about a hundred characters and never more than 36 of them, so that with the title
and the note a figure's text form stays within 40 lines. Facts are the figure's own, at fewer places where there are
many.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from utils.show.values import short
from utils.show.words import clipped

MOST = 34
SHADES = " ░▒▓█"


def table(rows: Sequence[Sequence[str]], columns: Sequence[str], *, right: Sequence[bool] = ()) -> str:
    """Aligned columns under their names. `right` says which columns are numbers."""
    right = list(right) or [False] * len(columns)
    shown = [[clipped(cell, 40) for cell in row] for row in rows]
    kept = shown if len(shown) <= MOST else [*shown[: MOST - 1]]
    widths = [max(len(row[place]) for row in [list(columns), *kept]) for place in range(len(columns))]
    lines = [
        "  ".join(
            cell.rjust(width) if is_right else cell.ljust(width)
            for cell, width, is_right in zip(row, widths, right, strict=True)
        ).rstrip()
        for row in [list(columns), *kept]
    ]
    lines.insert(1, "  ".join("-" * width for width in widths))
    if len(kept) < len(shown):
        lines.append(f"… {len(shown) - len(kept)} more rows")
    return "\n".join(lines)


def heatmap(grid: np.ndarray, rows: Sequence[str], columns: Sequence[str], name: str = "value") -> str:
    """Numbers where they fit, else shades from the smallest value to the largest."""
    if len(columns) <= 10:
        cells = [[label, *(short(float(value)) for value in row)] for label, row in zip(rows, grid, strict=True)]
        names = [clipped(label, 9) for label in columns]
        return table(cells, ["", *names], right=[False, *[True] * len(columns)])
    finite = grid[np.isfinite(grid)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)
    step = -(-len(columns) // 72)
    lines = []
    for label, row in list(zip(rows, grid, strict=True))[: MOST - 2]:
        strip = "".join(_shade(value, low, high) for value in row[::step])
        lines.append(f"{clipped(label, 14):>14} |{strip}|")
    if len(rows) > MOST - 2:
        lines.append(f"… {len(rows) - MOST + 2} more rows")
    every = f", every {step}th column" if step > 1 else ""
    lines.append(f"columns: {clipped(', '.join(columns[::step]), 90)}{every}")
    lines.append(f"{name}: '{SHADES[0]}' = {short(low)} … '{SHADES[-1]}' = {short(high)}; '×' = masked or missing")
    return "\n".join(lines)


def _shade(value: float, low: float, high: float) -> str:
    if value != value:
        return "×"
    if high == low:
        return SHADES[2]
    return SHADES[round((value - low) / (high - low) * (len(SHADES) - 1))]


def bars(pairs: Sequence[tuple[str, float]], unit: str = "") -> str:
    """A bar of blocks for each label; those below zero are drawn with another block and their sign is in the number."""
    finite = [abs(value) for _, value in pairs if value == value]
    longest = max(finite, default=0.0) or 1.0
    width = max(len(clipped(label, 24)) for label, _ in pairs)
    kept = list(pairs) if len(pairs) <= MOST else list(pairs[: MOST - 1])
    lines = []
    for label, value in kept:
        block = "" if value != value else ("█" if value >= 0 else "▒") * round(abs(value) / longest * 30)
        lines.append(f"{clipped(label, 24):>{width}} | {block} {short(float(value))}{unit}")
    if len(kept) < len(pairs):
        lines.append(f"… {len(pairs) - len(kept)} more")
    return "\n".join(lines)


def curves(x: Sequence[str], series: dict[str, np.ndarray], x_name: str) -> str:
    """A table of the curves at up to 14 places along x, with the first and the last, and each curve's extremes."""
    count = len(x)
    places = sorted({round(step * (count - 1) / 13) for step in range(14)}) if count > 14 else range(count)
    names = [clipped(name, 16) for name in series]
    rows = [[x[place], *(short(float(values[place])) for values in series.values())] for place in places]
    for word, pick in (("lowest", np.nanmin), ("highest", np.nanmax)):
        rows.append([word, *(short(float(pick(v))) if np.isfinite(v).any() else "–" for v in series.values())])
    return table(rows, [x_name, *names], right=[True] * (len(names) + 1))
