"""What the residual stream would predict if it were read out early, layer by layer and token by token.

It shows what a chapter has computed; the reading itself (the logit lens) is the learner's exercise.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from utils.show import plain, theme
from utils.show.display import Figure
from utils.show.grids import slant
from utils.show.problem import ShowProblem
from utils.show.values import numbers, short, tidy_list
from utils.show.words import clipped, labels_for, positioned, sentences, visible

TEXT_COLUMNS = 8
CELL_WIDTH = 56  # pixels that a token in a cell needs; a narrower page scrolls sideways


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
    """The likeliest next tokens, `top_tokens` and `top_values` [layer, pos, k], over the input `tokens` [pos].

    The k are sorted, likeliest first. Each cell is the likeliest token after that layer, its color how likely;
    hovering gives all k. The first layer is drawn at the bottom, as the stream flows.

    Raises ShowProblem: shapes that do not fit each other.
    """
    title, note = sentences(title=title, note=note)
    grid = numbers(top_values, "layer pos k", "top_values")
    n_layers, n_pos, k = grid.shape
    spoken = [[[visible(token) for token in cell] for cell in line] for line in top_tokens]
    if len(spoken) != n_layers or any(len(line) != n_pos or any(len(cell) != k for cell in line) for line in spoken):
        raise ShowProblem(f"top_tokens should be lists [layer, pos, k] as top_values is, of the shape {grid.shape}.")
    if len(tokens) != n_pos:
        raise ShowProblem(f"The axis pos has {n_pos} places, but got {len(tokens)} tokens for it.")
    columns, rows = positioned(tokens), labels_for(layers, n_layers, "layer")
    best = grid[:, :, 0]
    largest = float(np.nanmax(best)) if np.isfinite(best).any() else 1.0
    trace = {
        "type": "heatmap",
        "z": tidy_list(best, 3),
        "x": theme.plotly_texts(columns),
        "y": theme.plotly_texts(rows),
        "text": [[theme.plotly_text(clipped(cell[0], 9)) for cell in line] for line in spoken],
        "texttemplate": "%{text}",
        "customdata": _hover(spoken, grid),
        "hovertemplate": "%{y}, after %{x}<br>%{customdata}<extra></extra>",
        "xgap": 1,
        "ygap": 1,
        "colorbar": theme.colorbar(value_name, left=True),
        **theme.color_scale(0.0, max(1.0, largest), False),
    }
    layout = theme.layout(
        int(np.clip(30 * n_layers + 56, 120, 640)) + slant(columns),
        above=theme.COLORBAR,
        xaxis=theme.categories(columns, "position and input token"),
        yaxis=theme.categories(rows, "layer"),
    )
    body = _in_words(rows, columns, spoken, best, value_name)
    return Figure([trace], layout, title, note, body, min_width=100 * round(1.5 + CELL_WIDTH * n_pos / 100))


def _hover(spoken: list[list[list[str]]], grid: np.ndarray) -> list[list[str]]:
    """The k tokens of each cell with their values, one a line."""
    return [
        [
            "<br>".join(f"{theme.plotly_text(word)}  {short(float(value))}" for word, value in zip(*pair, strict=True))
            for pair in zip(line, values, strict=True)
        ]
        for line, values in zip(spoken, grid, strict=True)
    ]


def _in_words(rows: list[str], columns: list[str], spoken: list, best: np.ndarray, value_name: str) -> str:
    """The last positions, which are the ones a chapter mostly asks about, last layer first."""
    first = max(0, len(columns) - TEXT_COLUMNS)
    table = [
        [row, *(f"{clipped(cell[0], 9)} {short(float(value))}" for cell, value in zip(line, values, strict=True))]
        for row, line, values in zip(
            rows[::-1], [line[first:] for line in spoken[::-1]], best[::-1, first:], strict=True
        )
    ]
    text = plain.table(table, ["layer", *(clipped(column, 14) for column in columns[first:])])
    left_out = f"\n(the last {TEXT_COLUMNS} of {len(columns)} positions)" if first else ""
    return f"likeliest next token and its {value_name}, the last layer first\n{text}{left_out}"
