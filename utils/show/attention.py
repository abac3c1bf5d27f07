"""Attention patterns, head by head, drawn by CircuitsVis without a network.

A row of small patterns, the chosen one large, values on hover; and the same as text for terminals, screen readers and
notebooks that are not trusted. Patterns whose queries and keys are not the same tokens are `show.matrices`' job.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from utils.show import bundle, theme
from utils.show.display import in_lines
from utils.show.html import figure_html, folded_text
from utils.show.problem import ShowProblem
from utils.show.values import describe, numbers, short, tidy, tidy_list, to_decimals
from utils.show.words import clipped, labels_for, positioned, sentences, visible

MOST_CELLS = 60_000
LINKS = 3  # how many of a head's strongest links the text form gives

# CircuitsVis draws dark on white, as large as the page: here the large pattern has a limit, its name stands once, and
# a dark page turns the drawing round (hue kept), so that zero is nearest to the page there too.
_STYLE = (
    "<style>.book-heads-box h3{font-size:1em;font-weight:400;margin:.2em 0!important}.book-heads-box h2{display:none}"
    ".book-heads-box h4{font-size:.7em;font-weight:400}"
    ".book-heads-box div:has(>canvas){max-width:min(100%,34em)!important}"
    "[data-jp-theme-light=false] .book-heads-box canvas{filter:invert(1) hue-rotate(180deg)}</style>"
)
_WAITING = (
    "Not drawn yet: the same in words stands below. To see it drawn, run this cell, or choose Trust Notebook in the "
    "command palette (Ctrl + Shift + C) if you know where the notebook comes from. A figure that still waits is drawn "
    "as soon as the notebook's first attention figure, which carries the drawing code, is on the page."
)


@dataclass(frozen=True, repr=False)
class Heads:
    """An attention figure: the element and its numbers as HTML, and the same as text."""

    html: str
    text: str

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        """The figure with the drawing code before it where this is the notebook's figure that carries it."""
        return {"text/html": bundle.script_if_needed() + self.html, "text/plain": self.text}

    def __repr__(self) -> str:
        return self.text


def heads(
    pattern: Any,
    tokens: Sequence[Any],
    *,
    title: str,
    note: str,
    labels: Sequence[Any] | None = None,
) -> Heads:
    """Attention patterns `pattern` [n_heads, query_pos, key_pos] over `tokens` [pos]; scores may be shown as well.

    Row: the token that asks (query). Column: the token it looks at (key). Cells that a causal mask hides are gray.
    `labels` names the heads, "Head 0" and so on by default.

    Raises ShowProblem: another shape, query_pos ≠ key_pos, tokens or labels that do not fit, more than 60,000 cells.
    """
    title, note = sentences(title=title, note=note)
    grid = numbers(pattern, "n_heads query_pos key_pos", "pattern")
    n_heads, n_query, n_key = grid.shape
    if n_query != n_key:
        raise ShowProblem(
            "pattern [n_heads, query_pos, key_pos] should have as many queries as keys here, but got the shape "
            f"{grid.shape}; show.matrices shows any shape."
        )
    if not isinstance(tokens, (list, tuple)) or len(tokens) != n_key:
        raise ShowProblem(
            f"pattern has the shape {grid.shape}, so tokens should be a list of {n_key} strings, one a position, "
            f"but got {describe(tokens)}."
        )
    if grid.size > MOST_CELLS:
        raise ShowProblem(
            f"pattern may have {MOST_CELLS} cells at most, but got the shape {grid.shape}: show fewer heads."
        )
    names = labels_for(labels, n_heads, "n_heads") if labels is not None else [f"Head {i}" for i in range(n_heads)]
    causal = _is_causal(grid)
    seen = np.where(_future(n_key), np.nan, grid) if causal else grid
    text = in_lines(title, _in_words(seen, tokens, names, causal), note)
    signed = bool(np.nanmin(seen) < 0)
    return Heads(_html(_props(seen, tokens, names, causal), causal, signed, title, note, text), text)


def _future(n: int) -> np.ndarray:
    return np.triu(np.ones((n, n), dtype=bool), 1)


def _is_causal(grid: np.ndarray) -> bool:
    """Whether all that lies in the future is masked: zero in a pattern, missing or hugely negative in scores."""
    future = grid[:, _future(grid.shape[-1])]
    if not future.size:
        return False
    return bool(np.all(np.isnan(future) | (future == 0)) or np.all(np.isnan(future) | (future <= -1e4)))


def _props(grid: np.ndarray, tokens: Sequence[Any], names: list[str], causal: bool) -> str:
    """What CircuitsVis draws, as JavaScript; nothing in a token can end the script that it stands in."""
    finite = np.nan_to_num(to_decimals(grid)) + 0.0  # no −0
    reach = float(np.abs(finite).max()) or 1.0
    if finite.min() >= 0 and 0.5 < reach <= 1:
        reach = 1.0  # a pattern: full color is full attention
    props = {
        "tokens": [visible(token) for token in tokens],
        "attention": tidy_list(finite, 6),
        "attentionHeadNames": names,
        "maxValue": tidy(reach),
        "minValue": tidy(-reach),
        "positiveColor": theme.BLUE,
        "negativeColor": theme.ORANGE,
        "maskUpperTri": causal,
    }
    code = json.dumps(props, ensure_ascii=False, separators=(",", ":"))
    return code.replace("<", "\\u003c")


def _html(props: str, causal: bool, signed: bool, title: str, note: str, text: str) -> str:
    name = "book-heads-" + hashlib.sha256(f"{title}\n{props}".encode()).hexdigest()[:12]
    masked = " Gray: the future, which is masked." if causal else ""
    colors = " Blue: above 0; orange: below; stronger color: further from it." if signed else " Stronger color: more."
    body = (
        f'{_STYLE}<div class="book-heads-box" id="{name}" role="img" aria-label="{escape(f"{title}. {note}")}">'
        f'<span style="opacity:.75">{_WAITING}</span></div>'
        f'<div style="font-size:.85em;opacity:.85">Row: the token that asks (destination, query_pos). '
        f"Column: the token it looks at (source, key_pos).{colors}{masked}</div>"
    )
    script = f"<script>{bundle.QUEUE_SCRIPT % props}</script>"
    return figure_html(title, body, note, after=folded_text(text, unfolded=True) + script)


def _in_words(grid: np.ndarray, tokens: Sequence[Any], names: list[str], causal: bool) -> str:
    """Each head's strongest links. A masked pattern's first query is left out: it can only look at itself."""
    places = [clipped(label, 18) for label in positioned(tokens)]
    first = 1 if causal and len(places) > 1 else 0
    mask = ", the future masked" if causal else ""
    over = f"{len(names)} head{'' if len(names) == 1 else 's'} over {len(places)} tokens{mask}"
    lines = [f"{over}; each head's {LINKS} strongest links, query ← key"]
    for name, head in zip(names, grid[:, first:], strict=True):
        order = np.argsort(-np.where(np.isnan(head), -np.inf, head), axis=None, kind="stable")[:LINKS]
        spots = [np.unravel_index(int(place), head.shape) for place in order]
        links = [f"{places[i + first]} ← {places[j]} {short(float(head[i, j]))}" for i, j in spots]
        lines.append(f"{name}: {'   '.join(links)}")
    return "\n".join(lines)
