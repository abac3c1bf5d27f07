"""Small pieces of HTML that figures and the grader's report share: title, note, folded text.

They take JupyterLab's colors where there are some (`--jp-…`) and have their own where there are none. No scripts
here; bundle.py has the only ones.
"""

from __future__ import annotations

from html import escape

INK = "var(--jp-content-font-color1, currentColor)"
FAINT = "var(--jp-border-color1, #9e9e9e)"
CODE = "var(--jp-code-font-family, monospace)"

# For the plotly figure in the same output area as the note. Text in the theme's color, and words inside the plot on a
# ground or a rim of the page's, or a curve would run through them; on a dark page a heatmap and its color bar turned
# round (hue kept), so that zero is nearest to the page there too, and lines a little brighter. A notebook that was
# saved and opened again shows a picture, `.plot-img`, until the pointer comes near: that is turned as a whole.
_AREA = ".jp-OutputArea:has(.book-note)"
_PLOT = f"{_AREA} .js-plotly-plot "
_TEXT = ":is([class$=tick],.infolayer g,.annotation,.scatterlayer) text"
_THEME = (
    f"<style>{_PLOT}{_TEXT}{{fill:var(--jp-content-font-color1)!important}}"
    f"{_PLOT}.textpoint text{{paint-order:stroke;stroke:var(--jp-layout-color0);stroke-width:3px}}"
    f"{_PLOT}.annotation .bg{{fill:var(--jp-layout-color0)!important;fill-opacity:.5!important}}"
    f"[data-jp-theme-light=false] {_PLOT}:is(.heatmaplayer,.cbfills){{filter:invert(1) hue-rotate(180deg)}}"
    f"[data-jp-theme-light=false] {_AREA} .plot-img{{filter:invert(1) hue-rotate(180deg)}}"
    f"[data-jp-theme-light=false] {_PLOT}:is(.trace,.legend .layers){{filter:brightness(1.4)}}</style>"
)


def title_html(title: str) -> str:
    """A figure's title, in the notebook's own font and color."""
    return f'<div class="book-title" style="font-weight:600;color:{INK}">{escape(title)}</div>'


def note_html(note: str, text: str, min_width: int = 0, height: int = 0) -> str:
    """The note under a figure, and the figure as text behind a fold, for screen readers and for who wants numbers.

    `min_width`: the pixels that the drawing above needs; on a narrower page it scrolls sideways. `height`: its own,
    which JupyterLab sets to 0 for a plotly figure when the theme is changed.
    """
    wide, tall = f"book-wide-{min_width}", f"book-tall-{height}"
    area = f".jp-OutputArea:has(.{wide}) "
    rules = f"{area}.jp-RenderedPlotly{{min-width:{min_width}px}}{area}{{overflow-x:auto}}" if min_width else ""
    above = f".jp-OutputArea-child:has(+ .jp-OutputArea-child .{tall}) .jp-RenderedPlotly"
    rules += f"{above}{{min-height:{height}px}}" if height else ""
    names = " ".join(["book-note", *([wide] if min_width else []), *([tall] if height else [])])
    note_ = f'<p style="margin:0 0 .3em">{escape(note)}</p>'
    body = f'style="max-width:46em;padding-top:.35em;color:{INK}">{note_}{folded_text(text)}</div>'
    return f'{_THEME}{f"<style>{rules}</style>" if rules else ""}<div class="{names}" {body}'


def folded_text(text: str, *, unfolded: bool = False) -> str:
    """The figure as text, folded away behind a line that says so."""
    return (
        f"<details{' open' if unfolded else ''}><summary>The figure as text</summary>"
        f'<pre style="overflow-x:auto;font-size:12px;line-height:1.25;margin:.3em 0">{escape(text)}</pre></details>'
    )


def figure_html(title: str, body: str, note: str, *, after: str = "") -> str:
    """Title, body and note as one `<figure>`; `body` and `after` are HTML already, the others are text."""
    return (
        f'<figure class="book-figure" style="margin:0;color:{INK}">{title_html(title)}'
        f'<div style="margin:.4em 0">{body}</div>'
        f'<figcaption style="max-width:46em">{escape(note)}</figcaption>{after}</figure>'
    )
