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
from utils.show.html import INK, figure_html, folded_text
from utils.show.values import ShowProblem, labels_for, numbers, short, tidy_list, to_decimals
from utils.show.words import clipped, positioned, visible, words

MOST_CELLS = 60_000
LINKS = 3  # how many of a head's strongest links the text form gives

# CircuitsVis draws dark on white: turned round on a dark page (hue kept), so that zero is the page's own black.
_STYLE = (
    "<style>.book-heads-box{min-height:2em}.book-heads-box h3{font-size:1em;margin:.2em 0}"
    ".book-heads-box h2{font-size:1em!important}.book-heads-box h4{font-size:.7em!important}"
    "[data-jp-theme-light=false] .book-heads-box canvas{filter:invert(1) hue-rotate(180deg)}</style>"
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
    title, note = words(title=title, note=note)
    grid = numbers(pattern, "n_heads query_pos key_pos", "pattern")
    n_heads, n_query, n_key = grid.shape
    if n_query != n_key:
        raise ShowProblem(
            f"pattern [n_heads, query_pos, key_pos] should have as many queries as keys, but got the shape {grid.shape}; "
            "show.matrices shows any shape."
        )
    if isinstance(tokens, str) or len(tokens) != n_key:
        raise ShowProblem(
            f"pattern {grid.shape} needs a list of {n_key} tokens, one a position, but got {len(tokens)}."
        )
    if grid.size > MOST_CELLS:
        raise ShowProblem(
            f"An attention figure may have {MOST_CELLS} cells at most, but got the shape {grid.shape}: show fewer heads."
        )
    names = (
        labels_for(labels, n_heads, "n_heads") if labels is not None else [f"Head {head}" for head in range(n_heads)]
    )
    causal = _is_causal(grid)
    seen = np.where(_future(n_key), np.nan, grid) if causal else grid
    text = in_lines(title, _in_words(seen, tokens, names, causal), note)
    return Heads(_html(seen, tokens, names, causal, title, note, text), text)


def _future(n: int) -> np.ndarray:
    return np.triu(np.ones((n, n), dtype=bool), 1)


def _is_causal(grid: np.ndarray) -> bool:
    """Whether all that lies in the future is masked: zero in a pattern, missing or hugely negative in scores."""
    future = grid[:, _future(grid.shape[-1])]
    if not future.size:
        return False
    return bool(np.all(np.isnan(future) | (future == 0)) or np.all(np.isnan(future) | (future <= -1e4)))


def _html(
    grid: np.ndarray, tokens: Sequence[Any], names: list[str], causal: bool, title: str, note: str, text: str
) -> str:
    reach = float(np.nanmax(np.abs(grid))) if np.isfinite(grid).any() else 1.0
    reach = 1.0 if np.nanmin(grid) >= 0 and 0.5 < reach <= 1.0001 else (reach or 1.0)
    props = {
        "tokens": [visible(token) for token in tokens],
        "attention": tidy_list(np.nan_to_num(to_decimals(grid)) + 0.0),
        "attentionHeadNames": names,
        "maxValue": float(f"{reach:.4g}"),
        "minValue": float(f"{-reach:.4g}"),
        "positiveColor": theme.BLUE,
        "negativeColor": theme.ORANGE,
        "maskUpperTri": causal,
    }
    code = json.dumps(props, ensure_ascii=False, separators=(",", ":")).replace("</", "<\\/").replace("<!--", "<\\!--")
    name = "book-heads-" + hashlib.sha256((title + code).encode()).hexdigest()[:12]
    waiting = "The patterns are drawn here once this notebook is trusted and its first attention figure is on the page."
    body = (
        f'{_STYLE}<div class="book-heads-box" id="{name}" role="img" aria-label="{escape(f"{title}. {note}")}">'
        f'<span style="opacity:.75">{waiting}</span></div>'
        f'<div style="font-size:.85em;color:{INK};opacity:.85">Row: the token that asks (destination, query_pos). '
        f"Column: the token it looks at (source, key_pos).{' Gray: the future, masked.' if causal else ''}</div>"
    )
    end = f"{folded_text(text, open_=True)}<script>{bundle.QUEUE_SCRIPT % code}</script>"
    return figure_html(title, body, note).replace("</figure>", f"{end}</figure>")


def _in_words(grid: np.ndarray, tokens: Sequence[Any], names: list[str], causal: bool) -> str:
    places = [clipped(label, 18) for label in positioned(tokens)]
    mask = ", the future masked" if causal else ""
    lines = [f"{len(names)} heads over {len(places)} tokens{mask}; each head's {LINKS} strongest links, query ← key"]
    for name, head in zip(names, grid, strict=True):
        flat = np.where(np.isnan(head), -np.inf, head)
        order = np.argsort(-flat, axis=None, kind="stable")[:LINKS]
        spots = [np.unravel_index(int(place), head.shape) for place in order]
        links = "   ".join(
            f"{places[i]} ← {places[j]} {short(float(head[i, j]))}" for i, j in spots if head[i, j] == head[i, j]
        )
        lines.append(f"{name}: {links}")
    return "\n".join(lines)
