"""A grid of numbers by color, alone or several side by side.

Small matrices show their numbers in the cells; larger ones are read by color and by hovering. Masked cells stay empty.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from utils.show import plain, theme
from utils.show.display import Figure
from utils.show.problem import ShowProblem
from utils.show.values import numbers, short, tidy_list
from utils.show.words import labels_for, sentences

MOST_CELLS = 20_000
ACROSS, GAP = 4, 34  # panels in a row, and the pixels between two rows of them
MOST_LABELS = 12  # up to so many rows or columns of a panel have their labels written


def matrix(
    values: Any,
    *,
    rows: Sequence[Any] | None = None,
    columns: Sequence[Any] | None = None,
    title: str,
    note: str,
    row_name: str = "",
    column_name: str = "",
    value_name: str = "",
    diverging: bool | None = None,
    numbers_in_cells: bool | None = None,
) -> Figure:
    """A heatmap of `values` [row, column], with the exact value on hover.

    `diverging` puts pale gray at zero, orange below and blue above; by default where there are values of both signs.
    `numbers_in_cells` writes each value in its cell; by default up to 8 × 8.

    Raises ShowProblem: another shape, labels that do not fit, more than 20,000 cells.
    """
    title, note = sentences(title=title, note=note)
    grid = numbers(values, "row column", "values")
    _check_size(grid)
    row_name, column_name, value_name = row_name or "row", column_name or "column", value_name or "value"
    row_labels = labels_for(rows, grid.shape[0], row_name)
    column_labels = labels_for(columns, grid.shape[1], column_name)
    trace = {
        **_heatmap(grid, row_labels, column_labels, row_name, column_name, value_name),
        "xgap": 1,
        "ygap": 1,
        "colorbar": theme.colorbar(value_name),
        **theme.color_scale(*_extremes(grid), diverging),
    }
    if max(grid.shape) <= 8 if numbers_in_cells is None else numbers_in_cells:
        # As text, because plotly writes a hyphen for the minus of a number that it formats itself.
        trace |= {"text": _written(grid), "texttemplate": "%{text}", "textfont": {"size": 13}}
    layout = theme.layout(
        int(np.clip(30 * grid.shape[0] + 52, 110, 640)) + slant(column_labels),
        above=theme.COLORBAR,
        # No standoff: with one, plotly writes a short name between two labels instead of below them.
        xaxis=theme.categories(column_labels, column_name, title={"text": theme.plotly_text(column_name)}),
        yaxis=theme.categories(row_labels, row_name, autorange="reversed"),
    )
    body = plain.heatmap(grid, row_labels, column_labels, value_name)
    return Figure([trace], layout, title, note, f"rows: {row_name}, columns: {column_name}\n{body}")


def matrices(
    values: Any,
    labels: Sequence[Any],
    *,
    rows: Sequence[Any] | None = None,
    columns: Sequence[Any] | None = None,
    title: str,
    note: str,
    row_name: str = "",
    column_name: str = "",
    value_name: str = "",
    diverging: bool | None = None,
) -> Figure:
    """Small heatmaps `values` [panel, row, column] in one color scale, so that they can be compared.

    For attention patterns whose queries and keys are not the same tokens, for all layers at a glance, for sweeps.

    Raises ShowProblem: another shape, labels that do not fit, more than 20,000 cells.
    """
    title, note = sentences(title=title, note=note)
    grid = numbers(values, "panel row column", "values")
    _check_size(grid)
    row_name, column_name, value_name = row_name or "row", column_name or "column", value_name or "value"
    names = labels_for(labels, len(grid), "panel")
    row_labels = labels_for(rows, grid.shape[1], row_name)
    column_labels = labels_for(columns, grid.shape[2], column_name)
    panel = int(np.clip(14 * grid.shape[1], 90, 200))
    height = -(-len(grid) // ACROSS) * (panel + GAP)
    middle = (-(-len(grid) // ACROSS) - 1) // 2 * ACROSS  # the first panel of the middle row
    data, axes, words = [], {}, []
    for place, name in enumerate(names):
        number = "" if place == 0 else str(place + 1)
        left, right, bottom, top = _domain(place, len(grid), panel, height)
        heatmap = _heatmap(grid[place], row_labels, column_labels, row_name, column_name, value_name)
        heatmap |= {"xaxis": f"x{number}", "yaxis": f"y{number}", "coloraxis": "coloraxis"}
        heatmap["hovertemplate"] = f"{theme.plotly_text(name)}<br>{heatmap['hovertemplate']}"
        data.append(heatmap)
        # Labels stand below the last panel of a column and beside the first of a row; each axis's name stands once.
        below = _outer(column_labels, place + ACROSS >= len(grid))
        beside = _outer(row_labels, place % ACROSS == 0, row_name if place == middle else "")
        axes[f"xaxis{number}"] = theme.categories(column_labels, "", domain=[left, right], anchor=f"y{number}", **below)
        axes[f"yaxis{number}"] = theme.categories(
            row_labels, "", domain=[bottom, top], anchor=f"x{number}", autorange="reversed", **beside
        )
        words.append(_words_at(name, (left + right) / 2, top, "center", "bottom", 12))
    scale = theme.color_scale(*_extremes(grid), diverging)
    coloraxis = {
        "colorscale": scale["colorscale"],
        "cmin": scale["zmin"],
        "cmax": scale["zmax"],
        "colorbar": theme.colorbar(value_name),
    }
    labeled = max(15, slant(column_labels, min(ACROSS, len(grid)))) if len(column_labels) <= MOST_LABELS else 3
    words.append(_words_at(column_name, 0.5, 0, "center", "top", 11) | {"yshift": -labeled})
    room = labeled + 20
    layout = theme.layout(height + room, above=theme.COLORBAR, coloraxis=coloraxis, annotations=words, **axes)
    layout["margin"] |= {"l": 8, "r": 8, "b": room}
    body = _in_words(grid, names, row_labels, column_labels)
    head = f"{len(names)} panels; rows: {row_name}, columns: {column_name}; the largest cells of each"
    return Figure(data, layout, title, note, f"{head}\n{body}")


def slant(labels: list[str], panels: int = 1) -> int:
    """Pixels for labels that plotly turns where they do not fit side by side, in so many panels side by side."""
    longest = max(len(label) for label in labels)
    return min(80, 5 * longest) if longest * len(labels) * panels > (60 if panels == 1 else 45) else 0


def _written(grid: np.ndarray) -> list[list[str]]:
    return [["" if np.isnan(value) else short(float(value)) for value in row] for row in grid]


def _check_size(grid: np.ndarray) -> None:
    if grid.size > MOST_CELLS:
        raise ShowProblem(
            f"A heatmap may have {MOST_CELLS} cells at most, but got the shape {grid.shape}: show a part."
        )


def _extremes(grid: np.ndarray) -> tuple[float, float]:
    finite = grid[np.isfinite(grid)]
    return (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)


def _heatmap(
    grid: np.ndarray, rows: list[str], columns: list[str], row_name: str, column_name: str, value_name: str
) -> dict:
    names = theme.plotly_texts([row_name, column_name, value_name])
    return {
        "type": "heatmap",
        "z": tidy_list(grid, 4 if grid.size <= 400 else 3),
        "x": theme.plotly_texts(columns),
        "y": theme.plotly_texts(rows),
        "hoverongaps": False,
        "hovertemplate": f"{names[0]}: %{{y}}<br>{names[1]}: %{{x}}<br>{names[2]}: %{{z}}<extra></extra>",
        "zhoverformat": ".3~g",
    }


def _domain(place: int, count: int, panel: int, height: int) -> tuple[float, float, float, float]:
    """Where a panel lies, as shares of the whole: left, right, bottom, top; its name has room above it."""
    line, column = divmod(place, ACROSS)
    across = min(ACROSS, count)
    top = 1 - (line * (panel + GAP) + GAP - 10) / height
    return (
        round(column / across + 0.01, 4),
        round((column + 1) / across - 0.01, 4),
        round(max(0.0, top - panel / height), 4),
        round(top, 4),
    )


def _words_at(text: str, x: float, y: float, xanchor: str, yanchor: str, size: int) -> dict:
    return {
        "text": theme.plotly_text(text),
        "x": x,
        "y": y,
        "xref": "paper",
        "yref": "paper",
        "xanchor": xanchor,
        "yanchor": yanchor,
        "showarrow": False,
        "font": {"size": size},
    }


def _outer(labels: list[str], outer: bool, name: str = "") -> dict:
    """An axis of a panel: a frame, and on an outer side the labels where there is room for them."""
    shown = outer and len(labels) <= MOST_LABELS
    tick = {"showticklabels": shown, "tickfont": {"size": 10}} if shown else {"showticklabels": False}
    words = {"text": theme.plotly_text(name), "font": {"size": 11}, "standoff": 6} if name else {"text": ""}
    return {"showline": True, "mirror": True, "title": words, **tick}


def _in_words(grid: np.ndarray, names: list[str], rows: list[str], columns: list[str]) -> str:
    lines = []
    for name, panel in zip(names, grid, strict=True):
        order = np.argsort(-np.where(np.isnan(panel), -np.inf, panel), axis=None, kind="stable")[:3]
        spots = [np.unravel_index(int(place), panel.shape) for place in order]
        lines.append(f"{name}: " + "; ".join(f"{rows[i]} × {columns[j]} {short(float(panel[i, j]))}" for i, j in spots))
    return "\n".join(lines)
