"""Curves over a common axis, and histograms as such curves.

Sub-sampling is the caller's: more than 2,000 places are refused, so that no stored notebook grows by accident.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from utils.show import guides, plain, theme
from utils.show.display import Figure
from utils.show.problem import ShowProblem
from utils.show.values import describe, numbers, short, tidy_list
from utils.show.words import labels_for, sentences, visible

MOST_PLACES = 2000
FEW = 30  # up to so many places each one gets its marker


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
    levels: Mapping[str, float] | None = None,
) -> Figure:
    """Curves over a common `x` (numbers or labels), told apart by color, dash and marker.

    `band` puts a (low, high) range around the series of that name. `marks` draws a labeled vertical line at an x,
    `levels` a labeled horizontal one at a y (the loss of guessing, say).

    Raises ShowProblem: a series that is not as long as x, a band without its series.
    """
    title, note = sentences(title=title, note=note)
    if not isinstance(series, Mapping) or not series:
        raise ShowProblem(f'series should be a dict like {{"label": values}}, but got {describe(series)}.')
    places, spoken, x_axis, hover = _places(x, x_name, log_x)
    curves = {visible(name): _along(values, len(places), name) for name, values in series.items()}
    data = [_band(name, edges, list(series), places) for name, edges in (band or {}).items()]
    for place, (name, values) in enumerate(curves.items()):
        color, dash, symbol, _ = theme.style(place)
        data.append(
            {
                "type": "scatter",
                "name": theme.plotly_text(name),
                "x": places,
                "y": tidy_list(values),
                "mode": "lines+markers" if len(places) <= FEW else "lines",
                "line": {"color": color, "dash": dash, "width": 2},
                "marker": {"symbol": symbol, "size": 7, "color": color},
                "hovertemplate": f"{theme.plotly_text(x_name)} {hover}<br>"
                f"{theme.plotly_text(name)}: %{{y}}<extra></extra>",
            }
        )
    values = list(curves.values())
    beyond = {} if log_y else guides.room(values, levels or {})
    y_axis = theme.axis(y_name, **(_logarithmic(np.concatenate(values)) if log_y else beyond))
    at_x = np.arange(len(places)) if isinstance(places[0], str) else np.log10(places) if log_x else np.array(places)
    drawn = []
    for name, at in (marks or {}).items():
        corner = guides.corner(name, np.log10(at) if log_x else at, at_x, values, log_y)
        drawn.append(guides.mark(name, at, log_x, corner))
    for name, at in (levels or {}).items():
        drawn.append(guides.level(name, at, log_y, guides.clear(at, at_x, values, log_y)))
    lines_ = {"shapes": [line for line, _ in drawn], "annotations": [word for _, word in drawn]} if drawn else {}
    layout = theme.layout(320, legend=list(curves), xaxis=x_axis, yaxis=y_axis, **lines_)
    body = [f"{y_name} against {x_name}", plain.curves(spoken, curves, x_name)]
    body += [f"marked: {name} at {x_name} = {short(at)}" for name, at in (marks or {}).items()]
    body += [f"level: {name} at {y_name} = {short(at)}" for name, at in (levels or {}).items()]
    return Figure(data, layout, title, note, "\n".join(body))


def histogram(
    samples: Mapping[str, Any], *, title: str, note: str, x_name: str, y_name: str = "share of samples", bins: int = 40
) -> Figure:
    """How each label's numbers are spread: outlines over common bins, so that several can be compared.

    Raises ShowProblem: nothing to count.
    """
    if not isinstance(samples, Mapping) or not samples:
        raise ShowProblem(f'samples should be a dict like {{"label": values}}, but got {describe(samples)}.')
    counted = {}
    for name, values in samples.items():
        flat = values.reshape(-1) if hasattr(values, "reshape") else list(values)
        array = numbers(flat, "sample", f"The samples of {name!r}")
        counted[name] = array[np.isfinite(array)]
        if not counted[name].size:
            raise ShowProblem(f"The samples of {name!r} hold no finite number.")
    edges = np.histogram_bin_edges(np.concatenate(list(counted.values())), bins=bins)
    middles = (edges[:-1] + edges[1:]) / 2
    shares = {name: np.histogram(array, bins=edges)[0] / len(array) for name, array in counted.items()}
    figure = lines(middles, shares, title=title, note=note, x_name=x_name, y_name=y_name)
    for trace in figure.data:
        trace["line"]["shape"] = "hvh"
        trace["mode"] = "lines"
    spread = [f"{name}: mean {short(a.mean())}, spread {short(a.std())}, n = {a.size}" for name, a in counted.items()]
    return Figure(figure.data, figure.layout, figure.title, figure.note, "\n".join([*spread, figure.body]))


def _places(x: Any, x_name: str, log_x: bool) -> tuple[list, list[str], dict, str]:
    """The places along x for plotly, the same in words, the axis, and how hovering writes a place."""
    if isinstance(x, (list, tuple)) and x and isinstance(x[0], str):
        spoken, hover = labels_for(x, len(x), x_name), "%{x}"
        places: list = theme.plotly_texts(spoken)
        axis = theme.categories(spoken, x_name)
    else:
        places = tidy_list(numbers(x, "x", "x"), 6)
        spoken = [short(place) for place in places]
        hover = "%{x}"
        axis = theme.axis(x_name, zeroline=False, **(_logarithmic(np.array(places)) if log_x else {}))
    if len(places) > MOST_PLACES:
        raise ShowProblem(f"A curve may have {MOST_PLACES} places at most, but got {len(places)}: show every nth.")
    return places, spoken, axis, hover


def _logarithmic(values: np.ndarray) -> dict:
    """A logarithmic axis. Over many decades powers of ten, where plotly would write 10µ or 100n; over a few 1, 2, 5."""
    some = values[np.isfinite(values) & (values > 0)]
    low, high = (float(np.log10(some.min())), float(np.log10(some.max()))) if some.size else (0.0, 0.0)
    if high - low > 3:
        step = int(np.ceil((high - low) / 8))
        powers = range(int(np.floor(low)) // step * step, int(np.ceil(high)) + 1, step)
        return {"type": "log", "tickvals": [10.0**power for power in powers], "ticktext": [*map(_power, powers)]}
    if high - low < 0.5:
        return {"type": "log", "exponentformat": "power"}
    steps = (1, 2, 5) if high - low > 1 else (1, 1.5, 2, 3, 5, 7)
    ticks = [step * 10.0**power for power in range(int(np.floor(low)), int(np.ceil(high)) + 1) for step in steps]
    return {"type": "log", "tickvals": tidy_list(np.array(ticks)), "ticktext": [short(tick) for tick in ticks]}


def _power(power: int) -> str:
    """A power of ten in letters of one size; plotly sets its own larger than other labels.

    >>> _power(0), _power(1), _power(-12)
    ('1', '10', '10⁻¹²')
    """
    return str(10**power) if power in (0, 1) else "10" + str(power).translate(_RAISED)


_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def _along(values: Any, length: int, name: str) -> np.ndarray:
    array = numbers(values, "x", f"The series {name!r}")
    if len(array) != length:
        raise ShowProblem(f"The series {name!r} has {len(array)} values, but x has {length}.")
    return array


def _band(name: str, edges: tuple[Any, Any], names: list[str], places: list) -> dict:
    if name not in names:
        raise ShowProblem(f"The band {name!r} has no series of that name; there are {', '.join(names)}.")
    low, high = (_along(edge, len(places), f"band of {name}") for edge in edges)
    return {
        "type": "scatter",
        "x": places + places[::-1],
        "y": tidy_list(np.concatenate([high, low[::-1]])),
        "fill": "toself",
        "fillcolor": theme.style(names.index(name))[0],
        "opacity": 0.2,
        "line": {"width": 0},
        "mode": "lines",
        "hoverinfo": "skip",
        "showlegend": False,
    }
