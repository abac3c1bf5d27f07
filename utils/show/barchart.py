"""Bars: probabilities of next tokens, parts of a sum, a before and an after.

Many or long labels lie flat, so that they can be read; series and marked bars differ in hatching as well as color.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from utils.show import plain, theme
from utils.show.display import Figure
from utils.show.problem import ShowProblem
from utils.show.values import describe, numbers, short, tidy, tidy_list
from utils.show.words import labels_for, sentences, visible

MOST_BARS = 60


def bars(
    values: Mapping[str, Any] | Sequence[tuple[Any, Any]],
    *,
    title: str,
    note: str,
    x_name: str,
    y_name: str,
    baseline: float | None = None,
    baseline_name: str = "baseline",
    series: Sequence[str] | None = None,
    marked: Sequence[str] | None = None,
    marked_name: str = "marked",
) -> Figure:
    """A bar for each label, `{"label": value}` or `[(label, value), …]`.

    `x_name` says what the labels are, `y_name` what the values are, lying flat or not. With `series`, each value
    is a list with one number a series, drawn side by side. `baseline` is a labeled line to compare with. With
    `marked`, those labels stand out, the others are gray and hatched, and the legend says why.

    Raises ShowProblem: no bars or more than 60, a value that is not a number, a marked label that is not there.
    """
    title, note = sentences(title=title, note=note)
    raw, amounts = _pairs(values)
    labels = labels_for(raw, len(raw), x_name)
    names = [visible(name) for name in series] if series else [y_name]
    heights = numbers(amounts if series else [[amount] for amount in amounts], "label series", "The bars' values")
    if heights.shape[1] != len(names):
        raise ShowProblem(f"Each bar should have {len(names)} values, one a series, but got {heights.shape[1]}.")
    chosen = _chosen(marked, raw, series)
    flat = len(labels) > 14 or max(len(label) for label in labels) > 9
    data = _traces(labels, heights, names, chosen, marked_name, flat, x_name)
    label_axis = theme.categories(labels, x_name, **({"autorange": "reversed"} if flat else {}))
    value_axis = theme.axis(y_name, rangemode="tozero")
    axes = {"xaxis": value_axis, "yaxis": label_axis} if flat else {"xaxis": label_axis, "yaxis": value_axis}
    height = max(200, 22 * len(labels) * len(names) + 70) if flat else 300
    legend = [trace["name"] for trace in data]
    line = _baseline(baseline, baseline_name, flat)
    if line and len(data) == 1:
        data[0]["showlegend"] = False  # the axis says what the bars are; the legend is for the line
    legend += [shape["name"] for shape in line.get("shapes", ())]
    layout = theme.layout(
        min(height, 900), legend=legend, bargap=0.25, barmode="group" if series else "overlay", **axes, **line
    )
    body = [f"{y_name} by {x_name}", _in_words(labels, heights, names, chosen, x_name)]
    body += [f"* {marked_name}"] if chosen is not None else []
    body += [f"{baseline_name}: {short(float(baseline))}"] if baseline is not None else []
    return Figure(data, layout, title, note, "\n".join(body))


def _pairs(values: Any) -> tuple[list[str], list[Any]]:
    pairs = list(values.items()) if isinstance(values, Mapping) else values
    if (
        not isinstance(pairs, (list, tuple))
        or not pairs
        or any(not isinstance(pair, (list, tuple)) or len(pair) != 2 for pair in pairs)
    ):
        raise ShowProblem(
            'The bars should be a dict like {"label": value} or a list of (label, value) pairs, not empty, '
            f"but got {describe(values)}."
        )
    if len(pairs) > MOST_BARS:
        raise ShowProblem(f"There may be {MOST_BARS} bars at most, but got {len(pairs)}: show the largest.")
    return [str(label) for label, _ in pairs], [amount for _, amount in pairs]


def _chosen(marked: Sequence[str] | None, raw: list[str], series: Sequence[str] | None) -> np.ndarray | None:
    if marked is None:
        return None
    if series:
        raise ShowProblem("Bars have either `series` or `marked`, not both.")
    wanted = [str(label) for label in marked]
    unknown = [label for label in wanted if label not in raw]
    if unknown:
        raise ShowProblem(f"marked names {unknown[0]!r}, which is none of the labels.")
    return np.array([label in wanted for label in raw])


def _traces(labels, heights, names, chosen, marked_name, flat, x_name) -> list[dict]:
    if chosen is None:
        looks = [theme.style(place) for place in range(len(names))]
        return [
            _trace(labels, heights[:, place], name, look[0], look[3], flat, x_name)
            for place, (name, look) in enumerate(zip(names, looks, strict=True))
        ]
    whole = heights[:, 0]
    return [
        _trace(labels, np.where(chosen, whole, np.nan), marked_name, theme.BLUE, "", flat, x_name),
        _trace(labels, np.where(chosen, np.nan, whole), "the others", theme.GRAY, "/", flat, x_name),
    ]


def _trace(labels: list[str], values: np.ndarray, name: str, color: str, hatch: str, flat: bool, x_name: str) -> dict:
    along, across = ("x", "y") if flat else ("y", "x")
    pattern = {
        "shape": hatch,
        "fillmode": "overlay",
        "size": 7,
        "solidity": 0.25,
        "fgcolor": "#FFFFFF",
        "fgopacity": 0.8,
    }
    return {
        "type": "bar",
        "orientation": "h" if flat else "v",
        "name": theme.plotly_text(name),
        along: tidy_list(values),
        across: theme.plotly_texts(labels),
        "marker": {"color": color, **({"pattern": pattern} if hatch else {})},
        "hovertemplate": f"{theme.plotly_text(x_name)} %{{{across}}}<br>"
        f"{theme.plotly_text(name)}: %{{{along}}}<extra></extra>",
    }


def _baseline(value: float | None, name: str, flat: bool) -> dict:
    """The line to compare with, across the bars. Its words are in the legend, where no bar covers them."""
    if value is None:
        return {}
    at, line = tidy(float(value)), {"color": theme.INK, "dash": "dash", "width": 2}
    where = {"x0": at, "x1": at, "yref": "paper", "y0": 0, "y1": 1}
    if not flat:
        where = {"y0": at, "y1": at, "xref": "paper", "x0": 0, "x1": 1}
    name = theme.plotly_text(f"{name} ({short(float(value))})")
    return {"shapes": [{"type": "line", "name": name, "showlegend": True, "line": line, **where}]}


def _in_words(labels: list[str], heights: np.ndarray, names: list[str], chosen: np.ndarray | None, x_name: str) -> str:
    if len(names) > 1:
        rows = [[label, *(short(float(value)) for value in row)] for label, row in zip(labels, heights, strict=True)]
        return plain.table(rows, [x_name, *names], right=[False, *[True] * len(names)])
    stars = chosen if chosen is not None else np.zeros(len(labels), dtype=bool)
    shown = [f"{label} *" if star else label for label, star in zip(labels, stars, strict=True)]
    return plain.bars(list(zip(shown, heights[:, 0], strict=True)))
