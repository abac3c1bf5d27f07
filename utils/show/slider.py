"""A figure that the reader can change with a slider, and that is a plain figure wherever nobody can.

Notebooks are also run by programs (a builder, a test, a converter) which store what they get: a widget is of no use to
them, and one opened later without its kernel is only an error message. Jupyter's protocol tells the two apart: whoever
runs a cell says whether a person is there who could be asked something (`allow_stdin`). Without a person, or without
ipywidgets, there is the figure at its start and a sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from utils.show.display import PLOTLY, Figure, Html
from utils.show.problem import ShowProblem
from utils.show.values import short
from utils.show.words import sentences

WITHOUT = "Run this cell in a notebook to get a slider for {name}, from {first} to {last}. Shown: {name} = {start}."


@dataclass(frozen=True, repr=False)
class Slider:
    """`draw(place)` for one of `places` at a time; `start` is the place where it stands at first."""

    draw: Callable[[Any], Figure | Html]
    places: tuple[Any, ...]
    name: str
    start: Any

    @property
    def sentence(self) -> str:
        """What stands in the slider's place where there is none."""
        first, last, start = (short(place) for place in (self.places[0], self.places[-1], self.start))
        return WITHOUT.format(name=self.name, first=first, last=last, start=start)

    def __repr__(self) -> str:
        return f"{self.draw(self.start)!r}\n{self.sentence}"

    def _ipython_display_(self) -> None:
        from IPython.display import display

        widget = self._widget() if somebody_is_there() else None
        if widget is None:
            display(self.draw(self.start))
            display({"text/plain": self.sentence}, raw=True)
            return
        display(widget)
        shown = [display(bundle, raw=True, display_id=True) for bundle in self.draw(self.start).bundles()]

        def redraw(change: dict) -> None:
            for handle, bundle in zip(shown, self.draw(change["new"]).bundles(), strict=True):
                if PLOTLY in bundle:
                    # JupyterLab hands a new plotly figure to the old one's renderer, and that keeps what it has.
                    handle.update({"text/plain": ""}, raw=True)
                handle.update(bundle, raw=True)

        widget.observe(redraw, "value")

    def _widget(self) -> Any:
        """The slider itself, None where ipywidgets is missing."""
        try:
            from ipywidgets import Layout, SelectionSlider
        except ImportError:
            return None
        options = [(short(place), place) for place in self.places]
        wide, whole_name = Layout(width="min(36em, 95%)"), {"description_width": "initial"}
        return SelectionSlider(options=options, value=self.start, description=self.name, layout=wide, style=whole_name)


def slider(
    draw: Callable[[Any], Figure | Html], places: Sequence[Any], *, name: str, start: Any | None = None
) -> Slider:
    """A slider over `places` that shows the figure `draw(place)`; it stands at `start`, by default the first place.

    Raises ShowProblem: no places, or a start that is none of them.
    """
    kept = tuple(places)
    sentences(title=name, note=name)
    if not kept or (start is not None and start not in kept):
        raise ShowProblem(f"A slider needs places, its start one of them, but got {len(kept)} places, start {start!r}.")
    return Slider(draw, kept, name, kept[0] if start is None else start)


def somebody_is_there() -> bool:
    """Whether a person has run this cell, who can move a slider: what Jupyter's protocol calls `allow_stdin`."""
    from IPython import get_ipython

    kernel = getattr(get_ipython(), "kernel", None)
    if kernel is None:
        return False
    return bool(kernel.get_parent().get("content", {}).get("allow_stdin", False))
