"""Curves, bars, histograms and points: the figures with two axes.

Each takes what a notebook has at hand, gives plotly's JSON, and says the same in text. Sub-sampling is the caller's:
a curve of more than 2,000 points is refused, so that no stored notebook grows by accident.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from utils.show import plain, theme
from utils.show.display import Figure
from utils.show.values import ShowProblem, describe, labels_for, numbers, short, tidy, tidy_list
from utils.show.words import visible, words

MOST_POINTS = 2000


def lines(
    x: Any,
    series: Mapping[str, Any],
    *,
    title: str,
    note: str,
    x_name: str,
    y_name: str,
    log_x: bool = False,
    log_y: bool = False,
    band: Mapping[str, tuple[Any, Any]] | None = None,
    marks: Mapping[str, float] | None = None,
) -> Figure:
    """Curves over a common `x` (numbers or labels), told apart by color, dash and marker.

    `band` puts a (low, high) range around the series of that name; `marks` draws a labeled vertical line at an x.

    Raises ShowProblem: a series that is not as long as x, a band without its series.
    """
    title, note = words(title=title, note=note)
    if not isinstance(series, Mapping) or not series:
        raise ShowProblem(f'series should be a dict like {{"label": values}}, but got {describe(series)}.')
    if len(x) and isinstance(x[0], str):
        x_labels = labels_for(x, len(x), "x")
        x_values: list = x_labels
        x_axis = theme.categories(x_labels, x_name)
    else:
        grid = numbers(x, "x", "x")
        x_values = tidy_list(grid, 6)
        x_labels = [short(value) for value in x_values]
        x_axis = theme.axis(x_name, zeroline=False, **({"type": "log"} if log_x else {}))
    if len(x_values) > MOST_POINTS:
        raise ShowProblem(f"A curve may have {MOST_POINTS} points at most, but got {len(x_values)}: show every nth.")
    curves = {visible(name): _along(values, len(x_values), name) for name, values in series.items()}
    data: list[dict] = []
    for name, (low, high) in (band or {}).items():
        if name not in series:
            raise ShowProblem(f"The band {name!r} has no series of that name; there are {', '.join(series)}.")
        color = theme.style(list(series).index(name))[0]
        edges = np.concatenate([_along(high, len(x_values), name), _along(low, len(x_values), name)[::-1]])
        data.append(
            {
                "type": "scatter",
                "x": x_values + x_values[::-1],
                "y": tidy_list(edges),
                "fill": "toself",
                "fillcolor": color,
                "opacity": 0.18,
                "line": {"width": 0},
                "mode": "lines",
                "hoverinfo": "skip",
                "showlegend": False,
            }
        )
    few = len(x_values) <= 30
    for place, (name, values) in enumerate(curves.items()):
        color, dash, symbol = theme.style(place)
        data.append(
            {
                "type": "scatter",
                "name": theme.plotly_text(name),
                "x": x_values,
                "y": tidy_list(values),
                "mode": "lines+markers" if few else "lines",
                "line": {"color": color, "dash": dash, "width": 2},
                "marker": {"symbol": symbol, "size": 7, "color": color},
                "hovertemplate": f"{theme.plotly_text(x_name)} %{{x}}<br>{theme.plotly_text(name)}: %{{y:.4g}}<extra></extra>",
            }
        )
    y_axis = theme.axis(y_name, **({"type": "log"} if log_y else {}))
    legend = sum(len(name) + 8 for name in curves) if len(curves) > 1 else 0
    layout = theme.layout(title, 320, legend=legend, xaxis=x_axis, yaxis=y_axis, **_marks(marks, log_x))
    body = plain.curves(x_labels, curves, x_name)
    if marks:
        body += "\nmarked: " + ", ".join(f"{name} at {x_name} = {short(value)}" for name, value in marks.items())
    return Figure(data, layout, title, note, f"{y_name} against {x_name}\n{body}")


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
    marked: Sequence[str] = (),
    marked_name: str = "marked",
) -> Figure:
    """A bar for each label: `{"label": value}` or `[(label, value), …]`; `x_name` names the labels, `y_name` the values.

    With `series`, each value is a list with one number a series, drawn side by side. `baseline` is a labeled line to
    compare with. The labels in `marked` are hatched, and the legend says what that means. Many or long labels lie flat.

    Raises ShowProblem: no bars, a value that is not a number, a marked label that is not there.
    """
    title, note = words(title=title, note=note)
    pairs = list(values.items()) if isinstance(values, Mapping) else [tuple(pair) for pair in values]
    if not pairs or any(len(pair) != 2 for pair in pairs):
        raise ShowProblem('values should be a dict like {"label": value} or a list of (label, value) pairs, not empty.')
    raw = [str(label) for label, _ in pairs]
    labels = labels_for(raw, len(raw), x_name or "label")
    names = [visible(name) for name in series] if series else [y_name]
    heights = numbers([value if series else [value] for _, value in pairs], "label series", "The bars' values")
    if heights.shape[1] != len(names):
        raise ShowProblem(f"Each bar should have {len(names)} values, one a series, but got {heights.shape[1]}.")
    unknown = [label for label in marked if str(label) not in raw]
    if unknown:
        raise ShowProblem(f"marked names {unknown[0]!r}, which is none of the labels.")
    flat = len(labels) > 14 or max(len(label) for label in labels) > 9
    groups = _groups(heights, names, [label in {str(m) for m in marked} for label in raw], marked_name)
    data = [_bar(labels, chosen, flat, name, place, hatch, x_name) for chosen, name, place, hatch in groups]
    across = theme.categories(labels, x_name, **({"autorange": "reversed"} if flat else {}))
    along = theme.axis(y_name, rangemode="tozero")
    lines_ = _baseline(baseline, baseline_name, flat)
    legend = sum(len(name) + 8 for _, name, _, _ in groups) if len(groups) > 1 else 0
    height = max(220, 22 * len(labels) * len(names) + 70) if flat else 300
    axes = {"xaxis": along, "yaxis": across} if flat else {"xaxis": across, "yaxis": along}
    layout = theme.layout(
        title, min(height, 900), legend=legend, bargap=0.25, barmode="group" if series else "overlay", **axes, **lines_
    )
    return Figure(
        data,
        layout,
        title,
        note,
        _bars_text(labels, heights, names, raw, marked, marked_name, x_name, y_name, baseline, baseline_name),
    )


def histogram(
    samples: Mapping[str, Any], *, title: str, note: str, x_name: str, y_name: str = "share of samples", bins: int = 40
) -> Figure:
    """How each label's numbers are spread: outlines over common bins, so that several can be compared.

    Raises ShowProblem: nothing to count.
    """
    if not isinstance(samples, Mapping) or not samples:
        raise ShowProblem(f'samples should be a dict like {{"label": values}}, but got {describe(samples)}.')
    flat = {}
    for name, values in samples.items():
        array = numbers(values.reshape(-1) if hasattr(values, "reshape") else np.ravel(values), "sample", str(name))
        flat[name] = array[np.isfinite(array)]
        if not flat[name].size:
            raise ShowProblem(f"The samples of {name!r} hold no finite number.")
    edges = np.histogram_bin_edges(np.concatenate(list(flat.values())), bins=bins)
    middles = (edges[:-1] + edges[1:]) / 2
    shares = {name: np.histogram(array, bins=edges)[0] / len(array) for name, array in flat.items()}
    figure = lines(middles, shares, title=title, note=note, x_name=x_name, y_name=y_name)
    for trace in figure.data:
        trace["line"]["shape"] = "hvh"
        trace["mode"] = "lines"
    spread = "\n".join(
        f"{name}: mean {short(a.mean())}, spread {short(a.std())}, n = {a.size}" for name, a in flat.items()
    )
    return Figure(figure.data, figure.layout, figure.title, figure.note, f"{spread}\n{figure.body}")


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

    `equal` draws both axes to the same scale, for directions and angles.

    Raises ShowProblem: another shape, or labels that do not fit.
    """
    title, note = words(title=title, note=note)
    where = numbers(xy, "point 2", "xy")
    if where.shape[1] != 2:
        raise ShowProblem(f"xy should have the axes [point, 2], but got the shape {where.shape}.")
    names = labels_for(labels, len(where), "point")
    kinds = [visible(group) for group in groups] if groups is not None else [""] * len(where)
    if len(kinds) != len(where):
        raise ShowProblem(f"There are {len(where)} points, but got {len(kinds)} groups for them.")
    data = []
    for place, kind in enumerate(dict.fromkeys(kinds)):
        color, _, symbol = theme.style(place)
        chosen = [index for index, other in enumerate(kinds) if other == kind]
        data.append(
            {
                "type": "scatter",
                "name": theme.plotly_text(kind),
                "mode": "markers+text" if labels is not None else "markers",
                "x": tidy_list(where[chosen, 0]),
                "y": tidy_list(where[chosen, 1]),
                "text": [theme.plotly_text(names[index]) for index in chosen],
                "textposition": "top center",
                "marker": {"color": color, "symbol": symbol, "size": 9},
                "cliponaxis": False,
                "hovertemplate": "%{text}<br>(%{x:.3g}, %{y:.3g})<extra></extra>",
            }
        )
    same = {"scaleanchor": "x", "scaleratio": 1} if equal else {}
    legend = sum(len(kind) + 8 for kind in dict.fromkeys(kinds)) if groups is not None else 0
    layout = theme.layout(title, 380, legend=legend, xaxis=theme.axis(x_name), yaxis=theme.axis(y_name, **same))
    rows = [[name, kind, *map(short, map(float, at))] for name, kind, at in zip(names, kinds, where, strict=True)]
    body = plain.table(rows, ["point", "group", x_name, y_name], right=[False, False, True, True])
    return Figure(data, layout, title, note, body)


def _along(values: Any, length: int, name: str) -> np.ndarray:
    array = numbers(values, "x", f"The series {name!r}")
    if len(array) != length:
        raise ShowProblem(f"The series {name!r} has {len(array)} values, but x has {length}.")
    return array


def _marks(marks: Mapping[str, float] | None, log_x: bool) -> dict:
    shapes, annotations = [], []
    for name, value in (marks or {}).items():
        shapes.append(
            {
                "type": "line",
                "x0": value,
                "x1": value,
                "yref": "paper",
                "y0": 0,
                "y1": 1,
                "line": {"color": theme.INK, "dash": "dot", "width": 1.5},
            }
        )
        annotations.append(
            {
                "x": float(np.log10(value)) if log_x else value,
                "yref": "paper",
                "y": 1,
                "showarrow": False,
                "text": theme.plotly_text(name),
                "xanchor": "left",
                "yanchor": "top",
                "xshift": 4,
            }
        )
    return {"shapes": shapes, "annotations": annotations} if shapes else {}


def _groups(heights: np.ndarray, names: list[str], is_marked: list[bool], marked_name: str) -> list[tuple]:
    """(values, legend name, place in the palette, hatched) for each trace; a mark splits one series in two."""
    if len(names) > 1 or not any(is_marked):
        return [(heights[:, place], name, place, False) for place, name in enumerate(names)]
    hatched = np.array(is_marked)
    whole = heights[:, 0]
    return [
        (np.where(hatched, np.nan, whole), f"not {marked_name}", 0, False),
        (np.where(hatched, whole, np.nan), marked_name, 1, True),
    ]


def _bar(labels: list[str], values: np.ndarray, flat: bool, name: str, place: int, hatch: bool, x_name: str) -> dict:
    color = theme.style(place)[0]
    shapes = ("", "/", "x", ".", "-", "+", "|")
    along, across = ("x", "y") if flat else ("y", "x")
    texts = [theme.plotly_text(label) for label in labels]
    return {
        "type": "bar",
        "orientation": "h" if flat else "v",
        along: tidy_list(values),
        across: texts,
        "name": theme.plotly_text(name),
        "marker": {
            "color": color,
            "pattern": {"shape": shapes[1 if hatch else place % len(shapes)], "size": 6, "solidity": 0.35},
        },
        "hovertemplate": f"{theme.plotly_text(x_name)} %{{{across}}}<br>{theme.plotly_text(name)}: %{{{along}:.4g}}<extra></extra>",
    }


def _baseline(value: float | None, name: str, flat: bool) -> dict:
    if value is None:
        return {}
    at = tidy(float(value))
    (a, b, free) = ("x", "y", "y") if flat else ("y", "x", "x")
    line = {
        "type": "line",
        f"{a}0": at,
        f"{a}1": at,
        f"{free}ref": "paper",
        f"{b}0": 0,
        f"{b}1": 1,
        "line": {"color": theme.INK, "dash": "dash", "width": 1.5},
    }
    words_ = {
        f"{a}": at,
        f"{free}ref": "paper",
        f"{b}": 0 if flat else 1,
        "showarrow": False,
        "text": theme.plotly_text(f"{name} ({short(float(value))})"),
        "xanchor": "left" if flat else "right",
        "yanchor": "bottom",
        "xshift": 4 if flat else 0,
    }
    return {"shapes": [line], "annotations": [words_]}


def _bars_text(labels, heights, names, raw, marked, marked_name, x_name, y_name, baseline, baseline_name) -> str:
    if len(names) > 1:
        rows = [[label, *map(short, map(float, row))] for label, row in zip(labels, heights, strict=True)]
        body = plain.table(rows, [x_name, *names], right=[False, *[True] * len(names)])
    else:
        stars = {str(label) for label in marked}
        shown = [label + (" *" if original in stars else "") for label, original in zip(labels, raw, strict=True)]
        body = plain.bars(list(zip(shown, heights[:, 0], strict=True)))
    extra = f"\n* {marked_name}" if marked else ""
    if baseline is not None:
        extra += f"\n{baseline_name}: {short(float(baseline))}"
    return f"{y_name} by {x_name}\n{body}{extra}"
