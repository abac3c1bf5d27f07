"""Equations ax + by = c as lines in the plane, and where they cross.

What crosses where is worked out here, in numbers, so that the text form says the same as the drawing: one point, the
same line twice, or no point at all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from utils.show import plain, theme
from utils.show.display import Figure
from utils.show.problem import ShowProblem
from utils.show.values import describe, numbers, short, tidy
from utils.show.words import sentences, visible

PARALLEL = 1e-9  # the sine of the angle between two lines, below which they have the same direction


def equations(
    lines: Mapping[str, Sequence[Any]],
    *,
    title: str,
    note: str,
    x_name: str = "x",
    y_name: str = "y",
    x_range: tuple[float, float] = (-5, 5),
    y_range: tuple[float, float] = (-5, 5),
) -> Figure:
    """Lines `{"5x + y = 15": (a, b, c), …}`, each all (x, y) with ax + by = c; where two of them cross is marked.

    Both axes have the same scale and keep their range, so that lines can be compared when one of them moves.

    Raises ShowProblem: no lines, or one with other than three finite numbers, or with a = b = 0, which is no line.
    """
    title, note = sentences(title=title, note=note)
    if not isinstance(lines, Mapping) or not lines:
        raise ShowProblem(f'lines should be a dict like {{"label": (a, b, c)}}, but got {describe(lines)}.')
    given = {visible(name): _coefficients(values, name) for name, values in lines.items()}
    data, rows = [], []
    for place, (name, line) in enumerate(given.items()):
        ends = _ends(line, x_range, y_range)
        data.append(_drawn(name, ends, *theme.style(place)[:2]))
        rows.append([name, " to ".join(_point(end) for end in ends) if len(ends) else "outside the picture"])
    body = [plain.table(rows, ["equation", "drawn from"])]
    for (first, one), (second, other) in combinations(given.items(), 2):
        point, sentence = _meeting(one, other)
        body.append(f"{first} and {second}: {sentence}")
        if point is not None and _inside(point, x_range, y_range):
            data.append(_crossing(point))
    layout = theme.layout(
        400,
        legend=[*given, "crossing"],
        xaxis=theme.axis(x_name, range=list(x_range), constrain="domain"),
        yaxis=theme.axis(y_name, range=list(y_range), scaleanchor="x", scaleratio=1, constrain="domain"),
    )
    return Figure(data, layout, title, note, "\n".join(body))


def _coefficients(values: Any, name: str) -> np.ndarray:
    line = numbers(values, "coefficient", f"The line {name!r}")
    if line.shape != (3,) or not np.isfinite(line).all() or not line[:2].any():
        raise ShowProblem(
            f"The line {name!r} should be three finite numbers (a, b, c) for ax + by = c, a and b not both 0, "
            f"but got {', '.join(short(float(number)) for number in line)}."
        )
    return line


def _ends(line: np.ndarray, x_range: tuple[float, float], y_range: tuple[float, float]) -> list[np.ndarray]:
    """Where the line meets the edge of the picture: two points, or none when it passes outside."""
    a, b, c = line
    met = [np.array([x, (c - a * x) / b]) for x in x_range if b] + [
        np.array([(c - b * y) / a, y]) for y in y_range if a
    ]
    met = [point for point in met if _inside(point, x_range, y_range)]
    if not met:
        return []
    along = np.array([-b, a])
    return [min(met, key=lambda point: point @ along), max(met, key=lambda point: point @ along)]


def _inside(point: np.ndarray, x_range: tuple[float, float], y_range: tuple[float, float]) -> bool:
    return all(low - 1e-9 <= at <= high + 1e-9 for at, (low, high) in zip(point, (x_range, y_range), strict=True))


def _meeting(one: np.ndarray, other: np.ndarray) -> tuple[np.ndarray | None, str]:
    """The one common point of two lines, if there is one, and a sentence."""
    one, other = (line / np.hypot(*line[:2]) for line in (one, other))
    determinant = one[0] * other[1] - one[1] * other[0]
    if abs(determinant) < PARALLEL:
        same = abs(one[2] - other[2] * np.sign(one[:2] @ other[:2])) < PARALLEL * max(1.0, abs(one[2]))
        return None, "the same line" if same else "parallel, no common point"
    point = np.array([one[2] * other[1] - one[1] * other[2], one[0] * other[2] - one[2] * other[0]]) / determinant
    return point, f"cross at {_point(point)}"


def _point(point: np.ndarray) -> str:
    return f"({', '.join(short(tidy(float(np.round(at, 9)) + 0.0)) for at in point)})"


def _drawn(name: str, ends: list[np.ndarray], color: str, dash: str) -> dict:
    return {
        "type": "scatter",
        "name": theme.plotly_text(name),
        "mode": "lines",
        "x": [tidy(float(end[0])) for end in ends],
        "y": [tidy(float(end[1])) for end in ends],
        "line": {"color": color, "dash": dash, "width": 2.5},
        "hovertemplate": f"{theme.plotly_text(name)}<br>(%{{x}}, %{{y}})<extra></extra>",
    }


def _crossing(point: np.ndarray) -> dict:
    return {
        "type": "scatter",
        "name": "crossing",
        "mode": "markers+text",
        "x": [tidy(float(point[0]))],
        "y": [tidy(float(point[1]))],
        "text": [_point(point)],
        "textposition": "middle right",
        "textfont": {"size": 13},
        "cliponaxis": False,
        "marker": {"color": theme.INK, "symbol": "circle-open", "size": 12, "line": {"width": 2.5}},
        "hovertemplate": "crossing %{text}<extra></extra>",
        "showlegend": False,
    }
