"""How the book's figures look: one palette, two color scales and one layout, for light and dark pages.

The colors are Okabe and Ito's (2008), chosen for color-blind readers; every series also has a dash and a marker of
its own, so that nothing is told by color alone. Backgrounds are transparent and the text is a gray that reads on
white and on black; under JupyterLab the note's stylesheet (see html.py) gives the text the theme's own color.
"""

from __future__ import annotations

from html import escape as _escape

from utils.show.words import wrapped

BLUE, ORANGE, GREEN, PINK, YELLOW, SKY = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"
SERIES = (
    (BLUE, "solid", "circle"),
    (ORANGE, "dash", "square"),
    (GREEN, "dot", "diamond"),
    (PINK, "dashdot", "triangle-up"),
    (YELLOW, "longdash", "x"),
    (SKY, "longdashdot", "cross"),
    ("#8C8C8C", "solid", "triangle-down"),
)
INK = "#757575"  # at least 4:1 on white and on JupyterLab's dark background
RULE = "rgba(128,128,128,0.28)"
CLEAR = "rgba(0,0,0,0)"

# From dark blue to yellow, lightness rising evenly (the idea of cividis): more is lighter, on either background.
SEQUENTIAL = [[0, "#0B2A4A"], [0.25, "#3F5573"], [0.5, "#7A8483"], [0.75, "#BDB26A"], [1, "#FDE74C"]]
# Zero is pale gray, below it orange, above it blue: two hues that no common color blindness confuses.
DIVERGING = [[0, "#A63E00"], [0.25, "#E59A5F"], [0.5, "#F3F1EE"], [0.75, "#6CA9D2"], [1, "#004C7F"]]

TITLE_WIDTH = 46  # characters of title on a line, so that a page 400 pixels wide holds it


def style(place: int) -> tuple[str, str, str]:
    """Color, dash and marker of the series at this place. Seven differ; then they come round again."""
    return SERIES[place % len(SERIES)]


def plotly_text(text: str) -> str:
    """Text that plotly shows as it stands: it would read `<|endoftext|>` as a tag."""
    return _escape(str(text), quote=False)


def axis(name: str, **more: object) -> dict:
    """A plotly axis with its name; `more` is plotly's own."""
    return {
        "title": {"text": plotly_text(name), "standoff": 8},
        "automargin": True,
        "gridcolor": RULE,
        "linecolor": RULE,
        "zerolinecolor": RULE,
        "ticks": "",
        **more,
    }


def categories(labels: list[str], name: str, **more: object) -> dict:
    """An axis of labels; every label is written where there are few, else plotly leaves some out."""
    every = {"dtick": 1} if len(labels) <= 26 else {}
    return axis(name, type="category", showgrid=False, zeroline=False, **every, **more)


def layout(title: str, height: int, *, legend: int = 0, **more: object) -> dict:
    """The layout that every plotly figure shares. `legend`: characters of legend above the plot, 0 for none."""
    lines = wrapped(title, TITLE_WIDTH)
    legend_rows = -(-legend // 44)
    top = 16 + 20 * len(lines) + 20 * legend_rows
    return {
        "title": {
            "text": "<br>".join(plotly_text(line) for line in lines),
            "x": 0,
            "xanchor": "left",
            "xref": "container",
            "y": 1,
            "yanchor": "top",
            "yref": "container",
            "pad": {"t": 8, "l": 8},
            "font": {"size": 15},
        },
        "height": height + top,
        "autosize": True,
        "margin": {"l": 56, "r": 16, "t": top, "b": 48},
        "paper_bgcolor": CLEAR,
        "plot_bgcolor": CLEAR,
        "font": {
            "family": "system-ui, -apple-system, Segoe UI, Helvetica, Arial, sans-serif",
            "size": 12,
            "color": INK,
        },
        "hoverlabel": {"bgcolor": "#202124", "font": {"color": "#FFFFFF", "size": 13}},
        "showlegend": bool(legend),
        "legend": {"orientation": "h", "x": 0, "xanchor": "left", "y": 1, "yanchor": "bottom", "bgcolor": CLEAR},
        **more,
    }


def colorbar(name: str) -> dict:
    """The bar that says what the colors mean."""
    return {"title": {"text": plotly_text(name), "side": "right"}, "thickness": 12, "outlinewidth": 0, "len": 1}
