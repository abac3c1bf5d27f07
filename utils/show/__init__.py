"""Figures that work offline, in light and dark, with color or without, and as text.

Every function takes `title` and `note` (the one sentence that says what to see) and gives an object that a notebook
draws and a terminal prints. Nothing is drawn on import, and neither plotly nor circuitsvis is ever imported: plotly's
figures are written as its JSON, and CircuitsVis's code is read from its package.
"""

from utils.show.attention import heads
from utils.show.boxes import table, tokens
from utils.show.charts import bars, histogram, lines, points
from utils.show.display import Figure, Html
from utils.show.heatmaps import lens, matrices, matrix
from utils.show.html import svg_heatmap
from utils.show.plane import grid_map
from utils.show.values import ShowProblem

__all__ = [
    "Figure",
    "Html",
    "ShowProblem",
    "bars",
    "grid_map",
    "heads",
    "histogram",
    "lens",
    "lines",
    "matrices",
    "matrix",
    "points",
    "svg_heatmap",
    "table",
    "tokens",
]
