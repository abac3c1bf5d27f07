"""Grids of numbers: one matrix, several side by side, and what the model would say layer by layer.

Small matrices show their numbers in the cells; larger ones are read by color and by hovering. Masked cells stay empty.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from utils.show import plain, theme
from utils.show.display import Figure
from utils.show.values import ShowProblem, labels_for, numbers, short, tidy_list
from utils.show.words import clipped, positioned, visible, words

MOST_CELLS = 40_000


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

    Raises ShowProblem: another shape, labels that do not fit, more than 40,000 cells.
    """
    title, note = words(title=title, note=note)
    grid = numbers(values, "row column", "values")
    if grid.size > MOST_CELLS:
        raise ShowProblem(
            f"A heatmap may have {MOST_CELLS} cells at most, but got the shape {grid.shape}: show a part of it."
        )
    row_labels = labels_for(rows, grid.shape[0], row_name or "row")
    column_labels = labels_for(columns, grid.shape[1], column_name or "column")
    written = max(grid.shape) <= 8 if numbers_in_cells is None else numbers_in_cells
    trace = {
        "type": "heatmap",
        "z": tidy_list(grid, 3 if grid.size > 2500 else 4),
        "x": [theme.plotly_text(label) for label in column_labels],
        "y": [theme.plotly_text(label) for label in row_labels],
        "xgap": 1,
        "ygap": 1,
        "hoverongaps": False,
        "colorbar": theme.colorbar(value_name),
        "hovertemplate": _hover(row_name or "row", column_name or "column", value_name or "value"),
        **_scale(grid, diverging),
    }
    if written:
        trace["texttemplate"] = "%{z:.3~g}"
    height = int(np.clip(26 * grid.shape[0] + 40, 160, 620)) + _slant(column_labels)
    layout = theme.layout(
        title,
        height,
        xaxis=theme.categories(column_labels, column_name),
        yaxis=theme.categories(row_labels, row_name, autorange="reversed"),
    )
    axes = f"rows: {row_name or 'row'}, columns: {column_name or 'column'}"
    body = plain.heatmap(grid, row_labels, column_labels, value_name or "value")
    return Figure([trace], layout, title, note, f"{axes}\n{body}")


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

    Raises ShowProblem: another shape, labels that do not fit, more than 40,000 cells.
    """
    title, note = words(title=title, note=note)
    grid = numbers(values, "panel row column", "values")
    if grid.size > MOST_CELLS:
        raise ShowProblem(
            f"The heatmaps may have {MOST_CELLS} cells at most, but got the shape {grid.shape}: show some panels."
        )
    names = labels_for(labels, len(grid), "panel")
    row_labels = labels_for(rows, grid.shape[1], row_name or "row")
    column_labels = labels_for(columns, grid.shape[2], column_name or "column")
    across = min(4, len(grid))
    down = -(-len(grid) // across)
    panel = int(np.clip(14 * grid.shape[1], 90, 200))
    height = down * (panel + 34) + 30
    data, axes, annotations = [], {}, []
    for place, name in enumerate(names):
        line, column = divmod(place, across)
        left, right = column / across + 0.01, (column + 1) / across - 0.01
        top = 1 - (line * (panel + 34) + 24) / (height - 10)
        bottom = top - panel / (height - 10)
        number = "" if place == 0 else str(place + 1)
        data.append(
            {
                "type": "heatmap",
                "z": tidy_list(grid[place], 3),
                "x": [theme.plotly_text(label) for label in column_labels],
                "y": [theme.plotly_text(label) for label in row_labels],
                "xaxis": f"x{number}",
                "yaxis": f"y{number}",
                "coloraxis": "coloraxis",
                "hoverongaps": False,
                "hovertemplate": f"{theme.plotly_text(name)}<br>"
                + _hover(row_name or "row", column_name or "column", value_name or "value"),
            }
        )
        hidden = {"showticklabels": False, "showline": True, "mirror": True, "title": {"text": ""}, "automargin": False}
        axes[f"xaxis{number}"] = {
            **theme.categories(column_labels, ""),
            **hidden,
            "domain": [left, right],
            "anchor": f"y{number}",
        }
        axes[f"yaxis{number}"] = {
            **theme.categories(row_labels, ""),
            **hidden,
            "domain": [max(0, bottom), top],
            "anchor": f"x{number}",
            "autorange": "reversed",
        }
        annotations.append(
            {
                "text": theme.plotly_text(name),
                "x": (left + right) / 2,
                "y": top,
                "xref": "paper",
                "yref": "paper",
                "xanchor": "center",
                "yanchor": "bottom",
                "showarrow": False,
            }
        )
    foot = (
        f"In each panel: rows are {row_name or 'rows'}, columns are {column_name or 'columns'}; hover to read a cell."
    )
    annotations.append(
        {
            "text": theme.plotly_text(foot),
            "x": 0,
            "y": 0,
            "xref": "paper",
            "yref": "paper",
            "xanchor": "left",
            "yanchor": "top",
            "yshift": -6,
            "showarrow": False,
            "font": {"size": 11},
        }
    )
    scale = _scale(grid, diverging)
    coloraxis = {
        "colorscale": scale["colorscale"],
        "cmin": scale["zmin"],
        "cmax": scale["zmax"],
        "colorbar": theme.colorbar(value_name),
    }
    layout = theme.layout(title, height, coloraxis=coloraxis, annotations=annotations, **axes)
    layout["margin"].update(l=12, b=28)
    return Figure(
        data, layout, title, note, _panels_text(grid, names, row_labels, column_labels, row_name, column_name)
    )


def lens(
    top_tokens: Sequence[Sequence[Sequence[str]]],
    top_values: Any,
    *,
    tokens: Sequence[Any],
    title: str,
    note: str,
    layers: Sequence[Any] | None = None,
    value_name: str = "probability",
) -> Figure:
    """What the stream would predict if it were read out early: `top_tokens` and `top_values` are [layer, pos, k].

    Each cell is the likeliest token after that layer, its color how likely; hovering gives all k. `tokens` are the
    input. The first layer is drawn at the bottom, as the stream flows.

    Raises ShowProblem: shapes that do not fit each other.
    """
    title, note = words(title=title, note=note)
    grid = numbers(top_values, "layer pos k", "top_values")
    n_layers, n_pos, k = grid.shape
    spoken = [[[visible(token) for token in cell] for cell in line] for line in top_tokens]
    if len(spoken) != n_layers or any(len(line) != n_pos or any(len(cell) != k for cell in line) for line in spoken):
        raise ShowProblem(f"top_tokens should be lists [layer, pos, k] as top_values is, of the shape {grid.shape}.")
    if len(tokens) != n_pos:
        raise ShowProblem(f"The axis pos has {n_pos} places, but got {len(tokens)} tokens for it.")
    columns = positioned(tokens)
    rows = labels_for(layers, n_layers, "layer")
    best = grid[:, :, 0]
    hover = [
        [
            "<br>".join(
                f"{theme.plotly_text(word)}  {short(float(value))}" for word, value in zip(cell, row, strict=True)
            )
            for cell, row in zip(line, values, strict=True)
        ]
        for line, values in zip(spoken, grid, strict=True)
    ]
    trace = {
        "type": "heatmap",
        "z": tidy_list(best, 3),
        "x": [theme.plotly_text(c) for c in columns],
        "y": rows,
        "text": [[theme.plotly_text(clipped(cell[0], 9)) for cell in line] for line in spoken],
        "texttemplate": "%{text}",
        "customdata": hover,
        "xgap": 1,
        "ygap": 1,
        "colorbar": theme.colorbar(value_name),
        "hovertemplate": "layer %{y}, after %{x}<br>%{customdata}<extra></extra>",
        "colorscale": theme.SEQUENTIAL,
        "zmin": 0,
        "zmax": 1 if np.nanmax(best) <= 1 else float(np.nanmax(best)),
    }
    layout = theme.layout(
        title,
        int(np.clip(30 * n_layers + 60, 200, 620)) + _slant(columns),
        xaxis=theme.categories(columns, "position and input token"),
        yaxis=theme.categories(rows, "layer"),
    )
    body = plain.table(
        [
            [row, *(f"{clipped(cell[0], 8)} {short(float(value))}" for cell, value in zip(line, values, strict=True))][
                :9
            ]
            for row, line, values in zip(rows, spoken, best, strict=True)
        ],
        ["layer", *(clipped(c, 13) for c in columns)][:9],
    )
    left_out = f"\n({n_pos - 8} more positions)" if n_pos > 8 else ""
    return Figure([trace], layout, title, note, f"likeliest next token and its {value_name}\n{body}{left_out}")


def _scale(grid: np.ndarray, diverging: bool | None) -> dict:
    finite = grid[np.isfinite(grid)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
    if diverging is None:
        diverging = low < 0 < high
    if diverging:
        reach = float(f"{max(abs(low), abs(high)) or 1.0:.4g}")
        return {"colorscale": theme.DIVERGING, "zmin": -reach, "zmax": reach}
    low = 0.0 if 0 <= low and low < 0.5 * high else low
    return {
        "colorscale": theme.SEQUENTIAL,
        "zmin": float(f"{low:.4g}"),
        "zmax": float(f"{high if high > low else low + 1:.4g}"),
    }


def _hover(row_name: str, column_name: str, value_name: str) -> str:
    names = [theme.plotly_text(name) for name in (row_name, column_name, value_name)]
    return f"{names[0]}: %{{y}}<br>{names[1]}: %{{x}}<br>{names[2]}: %{{z:.3g}}<extra></extra>"


def _slant(labels: list[str]) -> int:
    """Room for labels that plotly turns where they do not fit side by side."""
    longest = max(len(label) for label in labels)
    return min(110, 6 * longest) if longest * len(labels) > 40 else 0


def _panels_text(grid, names, rows, columns, row_name, column_name) -> str:
    lines = [
        f"{len(names)} panels; rows: {row_name or 'row'}, columns: {column_name or 'column'}; largest cells of each"
    ]
    for name, panel in zip(names, grid, strict=True):
        order = np.argsort(-np.where(np.isnan(panel), -np.inf, panel), axis=None, kind="stable")[:3]
        spots = [np.unravel_index(int(place), panel.shape) for place in order]
        lines.append(f"{name}: " + "; ".join(f"{rows[i]} × {columns[j]} {short(float(panel[i, j]))}" for i, j in spots))
    return "\n".join(lines)
