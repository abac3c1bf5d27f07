"""A linear map seen at work: what it does to the plane's grid, to the unit square and to the two basis vectors.

Only maps of the plane; a map between other spaces is better read as a matrix (`show.matrix`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from utils.show import theme
from utils.show.display import Figure
from utils.show.values import ShowProblem, numbers, short, tidy, tidy_list
from utils.show.words import words

REACH = 2  # the grid goes from −2 to 2


def grid_map(matrix2x2: Any, *, title: str, note: str) -> Figure:
    """The plane's grid before (gray) and after (blue) the map x ↦ matrix2x2 · x, [2, 2]; columns are where e₁, e₂ go.

    Raises ShowProblem: another shape, or an entry that is not finite.
    """
    title, note = words(title=title, note=note)
    matrix = numbers(matrix2x2, "2 2", "matrix2x2")
    if matrix.shape != (2, 2) or not np.isfinite(matrix).all():
        raise ShowProblem(
            f"matrix2x2 should have the axes [2, 2] and finite entries, but got the shape {matrix.shape}."
        )
    reach = float(max(REACH, np.abs(matrix).sum(1).max() * REACH)) * 1.05
    square = np.array([[0, 1, 1, 0, 0], [0, 0, 1, 1, 0]], dtype=float)
    data = [
        _lines(_grid(), "before", "rgba(128,128,128,0.6)", "dot", 1),
        _lines(matrix @ _grid(), "after", theme.BLUE, "solid", 1.4),
        {
            "type": "scatter",
            "name": "unit square, after",
            "mode": "lines",
            "fill": "toself",
            "hoverinfo": "skip",
            "fillcolor": "rgba(230,159,0,0.35)",
            "line": {"color": theme.YELLOW, "width": 1.5},
            "x": tidy_list((matrix @ square)[0]),
            "y": tidy_list((matrix @ square)[1]),
        },
    ]
    arrows = []
    for place, (name, color) in enumerate((("e₁", theme.ORANGE), ("e₂", theme.GREEN))):
        x, y = (tidy(float(value)) for value in matrix[:, place])
        arrows.append(
            {
                "x": x,
                "y": y,
                "ax": 0,
                "ay": 0,
                "xref": "x",
                "yref": "y",
                "axref": "x",
                "ayref": "y",
                "text": "",
                "showarrow": True,
                "arrowhead": 2,
                "arrowwidth": 3,
                "arrowcolor": color,
            }
        )
        data.append(
            {
                "type": "scatter",
                "name": f"where {name} goes",
                "mode": "markers+text",
                "x": [x],
                "y": [y],
                "text": [f"{name} → ({short(float(x))}, {short(float(y))})"],
                "textposition": "top center",
                "cliponaxis": False,
                "marker": {"color": color, "symbol": "circle" if place == 0 else "square", "size": 8},
                "textfont": {"color": color, "size": 13},
                "hovertemplate": "%{text}<extra></extra>",
            }
        )
    limits = {"range": [-reach, reach], "zeroline": True}
    layout = theme.layout(
        title,
        420,
        legend=96,
        annotations=arrows,
        xaxis=theme.axis("x₁", **limits),
        yaxis=theme.axis("x₂", scaleanchor="x", scaleratio=1, **limits),
    )
    return Figure(data, layout, title, note, _in_words(matrix))


def _grid() -> np.ndarray:
    """The grid's lines as one path [2, point], NaN between two lines."""
    ticks = np.arange(-REACH, REACH + 1, dtype=float)
    path = []
    for at in ticks:
        path += [(at, -REACH), (at, REACH), (np.nan, np.nan), (-REACH, at), (REACH, at), (np.nan, np.nan)]
    return np.array(path).T


def _lines(path: np.ndarray, name: str, color: str, dash: str, width: float) -> dict:
    return {
        "type": "scatter",
        "name": f"grid, {name}",
        "mode": "lines",
        "x": tidy_list(path[0]),
        "y": tidy_list(path[1]),
        "line": {"color": color, "dash": dash, "width": width},
        "hoverinfo": "skip",
        "connectgaps": False,
    }


def _in_words(matrix: np.ndarray) -> str:
    (a, b), (c, d) = matrix
    area = a * d - b * c
    if abs(area) < 1e-9 * max(1.0, np.abs(matrix).max() ** 2):
        effect = "the plane is flattened: there is no way back"
    else:
        effect = f"areas grow {short(abs(area))} times, orientation is {'kept' if area > 0 else 'flipped'}"
    return "\n".join(
        [
            f"| {short(a):>6} {short(b):>6} |",
            f"| {short(c):>6} {short(d):>6} |",
            f"e₁ = (1, 0) goes to ({short(a)}, {short(c)})",
            f"e₂ = (0, 1) goes to ({short(b)}, {short(d)})",
            f"determinant {short(area)}: {effect}",
        ]
    )
