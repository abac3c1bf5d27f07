"""Figures that work offline, in light and dark, with color or without, and as text.

Every function takes `title` and `note` (the one sentence that says what to see) and gives an object that a notebook
draws and a terminal prints. Neither plotly nor circuitsvis is ever imported: plotly's figures are written as its
JSON, and CircuitsVis's drawing code is read from its package.
"""

from utils.show.attention import heads
from utils.show.barchart import bars
from utils.show.boxes import table, tokens
from utils.show.curves import histogram, lines
from utils.show.display import Figure, Html
from utils.show.early import lens
from utils.show.equations import equations
from utils.show.grids import matrices, matrix
from utils.show.plane import grid_map, points
from utils.show.problem import ShowProblem
from utils.show.residual import stream
from utils.show.slider import slider
from utils.show.strip import svg_heatmap

__all__ = [
    "Figure",
    "Html",
    "ShowProblem",
    "bars",
    "equations",
    "grid_map",
    "heads",
    "histogram",
    "lens",
    "lines",
    "matrices",
    "matrix",
    "points",
    "slider",
    "stream",
    "svg_heatmap",
    "table",
    "tokens",
]
