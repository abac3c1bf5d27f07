"""Lines to compare curves with: a mark at a place along x, a level along y, and where their words can be read.

Words stand where the curves cross them least. How the curves are drawn is curves.py's job.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from utils.show import theme
from utils.show.values import short, tidy_list

_LINE = {"color": theme.INK, "dash": "dot", "width": 1.5}


def mark(name: str, at: float, log: bool, corner: tuple[str, str]) -> tuple[dict, dict]:
    """A vertical line and its words, in this corner of it."""
    xanchor, yanchor = corner
    where = {"x": float(np.log10(at)) if log else at, "yref": "paper", "y": int(yanchor == "top")}
    return (
        {"type": "line", "x0": at, "x1": at, "yref": "paper", "y0": 0, "y1": 1, "line": _LINE},
        {
            "text": theme.plotly_text(name),
            "showarrow": False,
            "xshift": 4 if xanchor == "left" else -4,
            "xanchor": xanchor,
            "yanchor": yanchor,
            **where,
        },
    )


def corner(name: str, at: float, x: np.ndarray, curves: list[np.ndarray], log_y: bool) -> tuple[str, str]:
    """Where the words of a mark are crossed least by the curves: their anchors beside its line, top or bottom."""
    grid, heights = _on_a_grid(x, curves, log_y)
    place = (at - x.min()) / (np.ptp(x) or 1.0)
    wide, low, high = 0.01 * len(name) + 0.01, np.nanmin(heights), np.nanmax(heights)
    tall = 0.1 * (high - low or 1.0)
    crossed = {}
    for xanchor, yanchor in (("left", "top"), ("right", "top"), ("left", "bottom"), ("right", "bottom")):
        start = place if xanchor == "left" else place - wide
        inside = (grid >= start) & (grid <= start + wide)
        near = heights > high - tall if yanchor == "top" else heights < low + tall
        crossed[xanchor, yanchor] = int((near.any(0) & inside).sum()) + (start < 0 or start + wide > 1) * len(grid)
    return min(crossed, key=crossed.get)


def _on_a_grid(x: np.ndarray, curves: list[np.ndarray], log_y: bool) -> tuple[np.ndarray, np.ndarray]:
    """101 even places along x, from 0 to 1, and each curve's height there, [curve place], as it is drawn."""
    across = (x - x.min()) / (np.ptp(x) or 1.0)
    order, grid = np.argsort(across, kind="stable"), np.linspace(0, 1, 101)
    with np.errstate(divide="ignore", invalid="ignore"):
        heights = [np.log10(curve) if log_y else curve for curve in curves]
    return grid, np.array([np.interp(grid, across[order], height[order]) for height in heights])


def room(curves: list[np.ndarray], levels: Mapping[str, float]) -> dict:
    """For plotly's axis: some of it beyond a level outside all curves, whose line would else lie on the plot's edge."""
    every = np.concatenate([*curves, [*levels.values()]])
    low, high = np.nanmin(every), np.nanmax(every)
    some = 0.06 * (high - low)
    beyond = [low - some] * (low in levels.values()) + [high + some] * (high in levels.values())
    return {"autorangeoptions": {"include": tidy_list(np.array(beyond))}} if beyond else {}


_PLACES = {"right": (1, 0.7, 1.0), "left": (0, 0.0, 0.3), "center": (0.5, 0.35, 0.65)}  # x, and what words there cover


def clear(at: float, x: np.ndarray, curves: list[np.ndarray], log_y: bool) -> str:
    """Where along a level its words are crossed least by the curves; the right end, if that is as good as another."""
    grid, heights = _on_a_grid(x, curves, log_y)
    height = np.log10(at) if log_y else at
    finite = np.append(heights[np.isfinite(heights)], height)
    above, tall = heights - height, 0.1 * np.ptp(finite)
    covered = ((above > 0.1 * tall) & (above < tall)).any(0)
    return min(_PLACES, key=lambda end: covered[(grid >= _PLACES[end][1]) & (grid <= _PLACES[end][2])].sum())


def level(name: str, at: float, log: bool, end: str) -> tuple[dict, dict]:
    """A horizontal line and its words, at this end of it."""
    where = {"y": float(np.log10(at)) if log else at, "xref": "paper", "x": _PLACES[end][0], "xanchor": end}
    where["yanchor"] = "bottom"
    return (
        {"type": "line", "y0": at, "y1": at, "xref": "paper", "x0": 0, "x1": 1, "line": _LINE},
        {"text": theme.plotly_text(f"{name} ({short(at)})"), "showarrow": False, **where},
    )
