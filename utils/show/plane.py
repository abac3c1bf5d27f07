"""The plane: points with labels, and a linear map seen at work on its grid.

Only two dimensions; what has more is projected by the caller, and a map between other spaces is better read as a
matrix (`show.matrix`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from utils.show import plain, theme
from utils.show.display import Figure
from utils.show.problem import ShowProblem
from utils.show.values import numbers, short, tidy, tidy_list
from utils.show.words import labels_for, sentences, visible

REACH = 2  # the grid goes from −2 to 2


def points(
    xy: Any,
    labels: Sequence[Any] | None = None,
    *,
    title: str,
    note: str,
    x_name: str,
    y_name: str,
    groups: Sequence[Any] | None = None,
    equal: bool = False,
) -> Figure:
    """Points `xy` [point, 2], each with its label beside it; `groups` (one a point) gives color and marker.

    In a crowd a label that has no room is left out: hovering and the text form still give it.

    `equal` draws both axes to the same scale, for directions and angles.

    Raises ShowProblem: another shape, or labels that do not fit.
    """
    title, note = sentences(title=title, note=note)
    where = numbers(xy, "point 2", "xy")
    if where.shape[1] != 2:
        raise ShowProblem(f"xy should have the axes [point, 2], but got the shape {where.shape}.")
    names = labels_for(labels, len(where), "point")
    if groups is not None and len(groups) != len(where):
        raise ShowProblem(f"There are {len(where)} points, but got {len(groups)} groups for them.")
    kinds = [visible(group) for group in groups] if groups is not None else [""] * len(where)
    each = list(dict.fromkeys(kinds))
    sides = _room(where, names) if labels is not None else ["top center"] * len(names)
    written = [name if side else "" for name, side in zip(names, sides, strict=True)]
    sides = [side or "top center" for side in sides]
    data = []
    for place, kind in enumerate(each):
        color, _, symbol, _ = theme.style(place)
        chosen = [index for index, other in enumerate(kinds) if other == kind]
        data.append(
            {
                "type": "scatter",
                "name": theme.plotly_text(kind),
                "mode": "markers" if labels is None else "markers+text",
                "x": tidy_list(where[chosen, 0]),
                "y": tidy_list(where[chosen, 1]),
                "text": theme.plotly_texts([written[index] for index in chosen]),
                "hovertext": theme.plotly_texts([names[index] for index in chosen]),
                "textposition": [sides[index] for index in chosen],
                "cliponaxis": False,
                "marker": {"color": color, "symbol": symbol, "size": 9},
                "hovertemplate": "%{hovertext}<br>(%{x}, %{y})<extra></extra>",
            }
        )
    same = {"scaleanchor": "x", "scaleratio": 1} if equal else {}
    legend = each if groups is not None else []
    layout = theme.layout(380, legend=legend, xaxis=theme.axis(x_name), yaxis=theme.axis(y_name, **same))
    rows = [[name, kind, *(short(float(c)) for c in at)] for name, kind, at in zip(names, kinds, where, strict=True)]
    body = plain.table(rows, ["point", "group", x_name, y_name], right=[False, False, True, True])
    return Figure(data, layout, title, note, body)


SPAN, LETTER, LINE = (640.0, 290.0), 7.0, 15.0  # about how many pixels the plot has, and a letter and a line take
SIDES = {"top center": (0, 1), "bottom center": (0, -1), "middle right": (1, 0), "middle left": (-1, 0)}


def _room(where: np.ndarray, names: list[str]) -> list[str]:
    """On which side of each point its label covers no point and no other label; "" where there is no such side."""
    finite = np.where(np.isfinite(where), where, 0.0)
    extent = np.ptp(finite, axis=0)
    spots = (finite - finite.min(0)) / np.where(extent > 0, extent, 1.0) * SPAN
    taken = [(x, y, 5.0, 5.0) for x, y in spots]  # boxes: middle, half width, half height
    found = []
    for own, (name, (x, y)) in enumerate(zip(names, spots, strict=True)):
        half = LETTER * len(name) / 2
        for side, (right, up) in SIDES.items():
            box = (x + right * (half + 6), y + up * (LINE / 2 + 6), half, LINE / 2)
            if not any(_overlap(box, other) for place, other in enumerate(taken) if place != own):
                taken.append(box)
                found.append(side)
                break
        else:
            found.append("")
    return found


def _overlap(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return all(abs(one[i] - other[i]) < one[i + 2] + other[i + 2] for i in (0, 1))


def grid_map(matrix2x2: Any, *, title: str, note: str) -> Figure:
    """The plane's grid before (gray, dotted) and after (blue) x ↦ matrix2x2 · x, [2, 2]; e₁, e₂ go to its columns.

    Raises ShowProblem: another shape, or an entry that is not finite.
    """
    title, note = sentences(title=title, note=note)
    matrix = numbers(matrix2x2, "2 2", "matrix2x2")
    if matrix.shape != (2, 2) or not np.isfinite(matrix).all():
        raise ShowProblem(
            f"matrix2x2 should have the axes [2, 2] and finite entries, but got the shape {matrix.shape} "
            f"with {int(np.isnan(matrix).sum())} that are not finite."
        )
    square = np.array([[0, 1, 1, 0, 0], [0, 0, 1, 1, 0]], dtype=float)
    data = [
        _path(_grid(), "before", theme.GRAY, "dot", 1),
        _path(matrix @ _grid(), "after", theme.BLUE, "solid", 1.4),
        _path(square, "unit square before", theme.GRAY, "dot", 2.5, showlegend=False),
        _path(matrix @ square, "unit square", theme.YELLOW, "solid", 2, fill="toself", fillcolor="rgba(230,159,0,0.3)"),
    ]
    arrows = []
    reach = float(max(REACH, np.abs(matrix).sum(1).max() * REACH)) * 1.08
    sides = _sides(matrix, reach)
    for place, (name, color) in enumerate((("e₁", theme.ORANGE), ("e₂", theme.GREEN))):
        tip = matrix[:, place]
        arrows.append(_arrow(tip, color))
        data.append(_tip(tip, name, color, "circle" if place == 0 else "square", sides[place]))
    square_axis = {"range": [-reach, reach], "showgrid": False, "zeroline": True, "constrain": "domain"}
    layout = theme.layout(
        430,
        legend=["before", "after", "unit square"],
        annotations=arrows,
        xaxis=theme.axis("x₁", **square_axis),
        yaxis=theme.axis("x₂", scaleanchor="x", scaleratio=1, **square_axis),
    )
    return Figure(data, layout, title, note, _in_words(matrix))


def _grid() -> np.ndarray:
    """The grid's lines as one path [2, point], NaN between two lines."""
    path = []
    for at in range(-REACH, REACH + 1):
        path += [(at, -REACH), (at, REACH), (np.nan, np.nan), (-REACH, at), (REACH, at), (np.nan, np.nan)]
    return np.array(path, dtype=float).T


def _path(path: np.ndarray, name: str, color: str, dash: str, width: float, **more: object) -> dict:
    return {
        "type": "scatter",
        "name": name,
        "mode": "lines",
        "x": tidy_list(path[0]),
        "y": tidy_list(path[1]),
        "line": {"color": color, "dash": dash, "width": width},
        "hoverinfo": "skip",
        "connectgaps": False,
        **more,
    }


def _arrow(tip: np.ndarray, color: str) -> dict:
    x, y = (tidy(float(value)) for value in tip)
    from_origin = {"x": x, "y": y, "ax": 0, "ay": 0, "xref": "x", "yref": "y", "axref": "x", "ayref": "y"}
    return {**from_origin, "text": "", "showarrow": True, "arrowhead": 2, "arrowwidth": 3, "arrowcolor": color}


def _sides(matrix: np.ndarray, reach: float) -> list[str]:
    """Where the words of e₁ and e₂ stand: away from the origin, and apart where the arrows end at the same height."""
    ends = [(float(x), float(y)) for x, y in matrix.T]
    high = ["bottom" if y < 0 else "top" for _, y in ends]
    wide = ["left" if x < -1e-9 else "right" for x, _ in ends]
    if high[0] == high[1] and abs(ends[0][1] - ends[1][1]) < 0.12 * reach:
        if ends[0][0] == ends[1][0]:
            high = ["top", "bottom"]
        else:
            wide = ["left", "right"] if ends[0][0] < ends[1][0] else ["right", "left"]
    return [f"{h} {w}" for h, w in zip(high, wide, strict=True)]


def _tip(tip: np.ndarray, name: str, color: str, symbol: str, side: str) -> dict:
    """The basis vector's new place, its words on this side of it."""
    x, y = (tidy(float(value)) for value in tip)
    return {
        "type": "scatter",
        "name": f"where {name} goes",
        "mode": "markers+text",
        "x": [x],
        "y": [y],
        "text": [f"{name} → ({short(float(x))}, {short(float(y))})"],
        "textposition": side,
        "textfont": {"color": color, "size": 13},
        "cliponaxis": False,
        "marker": {"color": color, "symbol": symbol, "size": 8},
        "hovertemplate": "%{text}<extra></extra>",
        "showlegend": False,
    }


def _in_words(matrix: np.ndarray) -> str:
    (a, b), (c, d) = matrix
    area = a * d - b * c
    if abs(area) < 1e-9 * max(1.0, np.abs(matrix).max() ** 2):
        effect = "the plane is flattened: there is no way back"
    else:
        effect = f"areas become {short(abs(area))} times as large, orientation is {'kept' if area > 0 else 'flipped'}"
    return "\n".join(
        [
            f"| {short(a):>6} {short(b):>6} |",
            f"| {short(c):>6} {short(d):>6} |",
            f"e₁ = (1, 0) goes to ({short(a)}, {short(c)})",
            f"e₂ = (0, 1) goes to ({short(b)}, {short(d)})",
            f"determinant {short(area)}: {effect}",
        ]
    )
