"""How the book's figures look: one palette, two color scales and one layout, for light and dark pages.

The colors are Okabe and Ito's (2008), chosen for color-blind readers; every series also has a dash, a marker and a
hatching of its own, so that nothing is told by color alone. Backgrounds are transparent and text is a gray that reads
on white and on black. In JupyterLab the stylesheet in html.py does better: text in the theme's own color, and on a
dark page the color scales turned round, so that zero is always nearest to the page.
"""

from __future__ import annotations

from html import escape

BLUE, ORANGE, GREEN, PINK, YELLOW, SKY = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"
GRAY = "#8C8C8C"
SERIES = (
    (BLUE, "solid", "circle", ""),
    (ORANGE, "dash", "square", "/"),
    (GREEN, "dot", "diamond", "x"),
    (PINK, "dashdot", "triangle-up", "."),
    (YELLOW, "longdash", "x", "-"),
    (SKY, "longdashdot", "cross", "+"),
    (GRAY, "solid", "triangle-down", "|"),
)
INK = "#757575"  # at least 4:1 on white and on JupyterLab's dark background
RULE = "rgba(128,128,128,0.28)"
CLEAR = "rgba(0,0,0,0)"
FONT = "system-ui, -apple-system, Segoe UI, Helvetica, Arial, sans-serif"

# More is darker. Zero is not quite white: a masked cell is empty, and must look different.
SEQUENTIAL = [[0, "#EAF1F7"], [0.25, "#A9CCE3"], [0.5, "#5B9CC9"], [0.75, "#1F6AA5"], [1, "#08305F"]]
# Zero is pale gray, below it orange, above it blue: two hues that no common color blindness confuses.
DIVERGING = [[0, "#A63E00"], [0.25, "#F0B183"], [0.5, "#F3F1EE"], [0.75, "#8DBFE2"], [1, "#004C7F"]]

COLORBAR = 42  # pixels above the plot that its color bar takes
LEGEND_WIDTH = 320  # pixels for a line of the legend on a page 400 pixels wide


def style(place: int) -> tuple[str, str, str, str]:
    """Color, dash, marker and hatching of the series at this place. Seven differ; then they come round again."""
    return SERIES[place % len(SERIES)]


def plotly_text(text: str) -> str:
    """Text that plotly shows as it stands: it would read `<|endoftext|>` as a tag."""
    return escape(str(text), quote=False)


def plotly_texts(texts: list[str]) -> list[str]:
    """`plotly_text` for each."""
    return [plotly_text(text) for text in texts]


def axis(name: str, **more: object) -> dict:
    """A plotly axis with its name; `more` is plotly's own."""
    return {
        "title": {"text": plotly_text(name), "standoff": 8},
        "automargin": True,
        "gridcolor": RULE,
        "linecolor": RULE,
        "zerolinecolor": RULE,
        "ticks": "",
        "hoverformat": ".4~g",  # by the axis, because a format in a hovertemplate writes a hyphen for the minus
        **more,
    }


def categories(labels: list[str], name: str, **more: object) -> dict:
    """An axis of labels; every label is written where there are few, else plotly leaves some out."""
    if len(labels) <= 26:
        shown = {"dtick": 1}
    else:
        shown = {"nticks": 16} if all(label.isdigit() for label in labels) else {}
    return axis(name, **{"type": "category", "showgrid": False, "zeroline": False, **shown, **more})


def layout(height: int, *, legend: list[str] | None = None, above: int = 0, **more: object) -> dict:
    """The layout that every plotly figure shares: `height` pixels, and what lies above it.

    `legend`: its entries, none for a single one. `above`: more pixels above the plot, for a color bar say. Both only
    make the figure taller: plotly itself moves the plot down by what they take on this page, and no further.
    """
    entries = legend if legend and len(legend) > 1 else []
    rows = -(-sum(45 + 7 * len(entry) for entry in entries) // LEGEND_WIDTH)
    return {
        "height": height + 20 * rows + above,
        "autosize": True,
        "margin": {"l": 56, "r": 16, "t": 14, "b": 44},
        "paper_bgcolor": CLEAR,
        "plot_bgcolor": CLEAR,
        "font": {"family": FONT, "size": 12, "color": INK},
        "hoverlabel": {"bgcolor": "#202124", "font": {"color": "#FFFFFF", "size": 13}},
        "modebar": {"bgcolor": CLEAR, "color": INK, "activecolor": BLUE},
        "showlegend": bool(entries),
        "legend": {"orientation": "h", "x": 0, "xanchor": "left", "y": 1, "yanchor": "bottom", "bgcolor": CLEAR},
        **more,
    }


def colorbar(name: str, *, left: bool = False) -> dict:
    """The bar that says what the colors mean, above the plot, because a narrow page has no room beside it.

    It stands at the right end and grows to the left, where there is room above the rows' labels; `left` is for a
    drawing that scrolls sideways.
    """
    return {
        "title": {"text": f"{plotly_text(name)}\u2002", "side": "right"},
        "orientation": "h",
        "x": 0 if left else 1,
        "xanchor": "left" if left else "right",
        "y": 0.9999,  # at 1 plotly leaves half as much again free above it
        "ypad": 4,
        "yanchor": "bottom",
        "lenmode": "pixels",
        "len": 230,
        "thickness": 10,
        "outlinewidth": 0,
        "nticks": 5,
    }


def color_scale(low: float, high: float, diverging: bool | None) -> dict:
    """A heatmap's `colorscale`, `zmin` and `zmax` for values from `low` to `high`; diverging where both signs occur."""
    if diverging if diverging is not None else low < 0 < high:
        reach = float(f"{max(abs(low), abs(high)) or 1.0:.4g}")
        return {"colorscale": DIVERGING, "zmin": -reach, "zmax": reach}
    bottom = 0.0 if 0 <= low < 0.5 * high else low
    top = high if high > bottom else bottom + 1
    return {"colorscale": SEQUENTIAL, "zmin": float(f"{bottom:.4g}"), "zmax": float(f"{top:.4g}")}
