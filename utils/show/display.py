"""What the functions of `show` give back: an object that a notebook draws and a terminal prints.

`Html` holds HTML and the same facts as text. `Figure` holds a plotly figure as plain JSON, written by us, so that
neither making nor printing one loads plotly; JupyterLab draws it with the extension that plotly installs. In a
notebook a Figure is three outputs: title, drawing, and the note with the text form. Plotly's own text neither wraps
on a narrow page nor follows the theme, and a screen reader cannot read it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from utils.show.html import note_html, title_html

PLOTLY = "application/vnd.plotly.v1+json"
MAX_LINES = 40

# By default plotly.js 4 offers to send a figure's data to its makers' server: neither the button nor the address here.
CONFIG = {
    "displaylogo": False,
    "responsive": True,
    "showSendToCloud": False,
    "plotlyServerURL": "",
    "modeBarButtons": [["zoom2d", "pan2d", "resetScale2d", "toImage"]],
}


def in_lines(*parts: str) -> str:
    """The text form: the parts under each other, at most 40 lines, the last of them (the note) always kept."""
    body = "\n".join(part for part in parts[:-1] if part).split("\n")
    last = parts[-1].split("\n")
    room = MAX_LINES - len(last)
    if len(body) > room:
        body = [*body[: room - 1], f"… {len(body) - room + 1} more lines"]
    return "\n".join([*body, *last])


@dataclass(frozen=True, repr=False)
class Html:
    """HTML for a notebook and the same facts in plain text for everything else."""

    html: str
    text: str

    def bundles(self) -> list[dict[str, str]]:
        """The outputs that a notebook shows: one."""
        return [self._repr_mimebundle_()]

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/html": self.html, "text/plain": self.text}

    def __repr__(self) -> str:
        return self.text


@dataclass(frozen=True, repr=False)
class Figure:
    """A plotly figure: `data` and `layout` are plotly's own JSON, `body` is the figure in words and numbers."""

    data: list[dict]
    layout: dict
    title: str
    note: str
    body: str
    min_width: int = 0  # pixels; on a narrower page the drawing scrolls sideways

    @property
    def spec(self) -> dict:
        """The figure as plotly's JSON; its title and note are in `layout.meta`."""
        return {
            "data": self.data,
            "layout": {**self.layout, "meta": {"title": self.title, "note": self.note}},
            "config": CONFIG,
        }

    @property
    def text(self) -> str:
        """Title, figure and note in at most 40 lines."""
        return in_lines(self.title, self.body, self.note)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        """The figure as one output, for whoever asks for it; a notebook shows the three of `_ipython_display_`."""
        return {PLOTLY: self.spec, "text/plain": self.text}

    def bundles(self) -> list[dict[str, Any]]:
        """The outputs that a notebook shows: title, drawing, and the note with the text form."""
        body = in_lines(self.body, "").rstrip("\n")
        note = note_html(self.note, f"{self.title}\n{body}", self.min_width, self.layout["height"])
        return [
            {"text/html": title_html(self.title), "text/plain": self.title},
            {PLOTLY: self.spec, "text/plain": body},
            {"text/html": note, "text/plain": self.note},
        ]

    def _ipython_display_(self) -> None:
        from IPython.display import display

        for bundle in self.bundles():
            display(bundle, raw=True)

    def __repr__(self) -> str:
        return self.text
