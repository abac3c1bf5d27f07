"""What the functions of `show` give back: an object that a notebook draws and a terminal prints.

`Html` holds HTML and the same facts as text. `Figure` holds a plotly figure as plain JSON, written by us, so that
neither making nor printing one loads plotly; JupyterLab draws it with the extension that plotly installs. In a
notebook a Figure is two outputs: the drawing, then its note and its text form, which a screen reader can read.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from utils.show.html import note_html

PLOTLY = "application/vnd.plotly.v1+json"
MAX_LINES = 40


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
    config: dict = field(default_factory=lambda: {"displaylogo": False, "responsive": True})

    @property
    def spec(self) -> dict:
        """The figure as plotly's JSON."""
        return {"data": self.data, "layout": self.layout, "config": self.config}

    @property
    def text(self) -> str:
        """Title, figure and note in at most 40 lines."""
        return in_lines(self.title, self.body, self.note)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return {PLOTLY: self.spec, "text/plain": self.text}

    def _ipython_display_(self) -> None:
        """The drawing, and under it the note: two outputs, because plotly's cannot hold text that wraps."""
        from IPython.display import display

        text = in_lines(self.title, self.body, "")
        display({PLOTLY: self.spec, "text/plain": text.rstrip("\n")}, raw=True)
        display({"text/html": note_html(self.note, f"{self.title}\n{self.body}"), "text/plain": self.note}, raw=True)

    def __repr__(self) -> str:
        return self.text
