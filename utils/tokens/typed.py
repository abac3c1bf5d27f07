"""A box to type into, and under it what a function makes of the text: chapter 02's token explorer.

The function gives a figure of `utils.show`. Where a notebook has no live widgets (GitHub, a printed page, a terminal,
an editor without ipywidgets) the figure of the first text stands in its place, so that nothing is missing but the box.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from utils.errors import BookError
from utils.show import Html
from utils.show.html import note_html

VIEW = "application/vnd.jupyter.widget-view+json"
MOST_CHARACTERS = 600


def typed(figure: Callable[[str], Html], text: str, *, label: str = "Your text") -> Typed:
    """A box that holds `text` and can be changed; `figure(text)` is drawn anew at each change."""
    return Typed(figure, text, label)


class Typed:
    """What `typed` gives: in a notebook a box with its figure, elsewhere the figure of the first text."""

    def __init__(self, figure: Callable[[str], Html], text: str, label: str) -> None:
        self.figure, self.first, self.label = figure, text, label

    def drawn(self, text: str) -> Html:
        """The figure of any text that a person can type or paste, or one sentence in its place."""
        text = text.encode("utf-8", "replace").decode()  # a browser may send half of a surrogate pair
        if not text:
            return _sentence("Type something: an empty text has no tokens.")
        if len(text) > MOST_CHARACTERS:
            return _sentence(f"That is {len(text):,} characters: type {MOST_CHARACTERS} at most.")
        try:
            return self.figure(text)
        except BookError as problem:
            return _sentence(str(problem))

    def widget(self) -> Any:
        """The box and its figure as a widget. Raises ImportError where ipywidgets is missing."""
        from ipywidgets import HTML, Layout, Textarea, VBox

        box = Textarea(self.first, description=self.label, rows=3, layout=Layout(width="100%", max_width="46em"))
        page = HTML(self.drawn(self.first).html)
        box.observe(lambda change: setattr(page, "value", self.drawn(change["new"]).html), "value")
        return VBox([box, page])

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        """The widget for whoever can show one, the first figure as HTML and as text for everyone."""
        bundle: dict[str, Any] = self.drawn(self.first)._repr_mimebundle_()
        try:
            view = self.widget()._repr_mimebundle_()
        except ImportError:
            return bundle
        return bundle | {VIEW: view[VIEW]} if VIEW in view else bundle

    def __repr__(self) -> str:
        return repr(self.drawn(self.first))


def _sentence(text: str) -> Html:
    return Html(note_html(text, text), text)
