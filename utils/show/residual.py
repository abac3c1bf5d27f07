"""The residual stream drawn as what it is: one line that every part reads from and adds to.

For the plan of a model or of one block. Names and words only; how large each part's share is belongs in `show.bars`.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from utils.show.display import Html, in_lines
from utils.show.html import FAINT, INK, figure_html, folded_text
from utils.show.problem import ShowProblem
from utils.show.theme import BLUE
from utils.show.words import clipped, sentences

WIDTH, STREAM, LEFT = 400, 34, 84  # of the drawing; where the stream runs; where a part's box begins
STEP, BOX, END = 66, 42, 42  # heights: from part to part, a part's box, the boxes at both ends
PAGE = "var(--jp-layout-color0, #fff)"
LETTERS = 44  # that a box holds on a line


def stream(
    parts: Sequence[tuple[str, str]],
    *,
    start: tuple[str, str],
    end: tuple[str, str],
    title: str,
    note: str,
) -> Html:
    """A plan of the residual stream, from `start` down to `end`; each is (name, what it does), 44 letters at most.

    Every one of `parts` reads the stream and adds its output to it. Lengths are fixed, so that a page 400 pixels wide
    holds it.

    Raises ShowProblem: no parts, or an entry that is not a pair of short strings.
    """
    title, note = sentences(title=title, note=note)
    for part in [start, *parts, end]:
        if not isinstance(part, (tuple, list)) or len(part) != 2 or any(len(str(word)) > LETTERS for word in part):
            raise ShowProblem(
                f"Each part should be (name, what it does) of at most {LETTERS} letters, but got {part!r}."
            )
    if not parts:
        raise ShowProblem("parts should hold at least one (name, what it does), but got none.")
    text = "\n".join(
        [
            f"   {start[0]}: {start[1]}",
            "   |",
            *(f" ⊕ | ← {name}: {what}" for name, what in parts),
            "   |",
            f"   {end[0]}: {end[1]}",
        ]
    )
    svg = _svg(list(parts), start, end, title)
    return Html(figure_html(title, svg, note, after=folded_text(text)), in_lines(title, text, note))


def _svg(parts: list[tuple[str, str]], start: tuple[str, str], end: tuple[str, str], title: str) -> str:
    bottom = END + STEP * len(parts) + 22
    height = bottom + END + 2
    pieces = [_box(1, 1, WIDTH - 2, *start), _box(1, bottom, WIDTH - 2, *end)]
    pieces.append(f'<path d="M{STREAM} {END + 1}V{bottom - 9}" stroke="{BLUE}" stroke-width="5" fill="none"/>')
    pieces.append(_head(STREAM, bottom - 1, "down"))
    for place, (name, what) in enumerate(parts):
        top = END + 12 + STEP * place
        read, add = top + 12, top + STEP - 18
        middle = (LEFT + WIDTH) // 2
        pieces.append(_box(LEFT, top, WIDTH - LEFT - 1, name, what))
        pieces.append(
            f'<path d="M{STREAM} {read}H{LEFT - 8}" stroke="currentColor" fill="none"/>{_head(LEFT, read, "right")}'
        )
        back = f"M{middle} {top + BOX}V{add}H{STREAM + 17}"
        pieces.append(f'<path d="{back}" stroke="currentColor" fill="none"/>{_head(STREAM + 9, add, "left")}')
        pieces.append(
            f'<circle cx="{STREAM}" cy="{add}" r="9" fill="{PAGE}" stroke="{BLUE}" stroke-width="2"/>'
            f'<path d="M{STREAM - 5} {add}h10m-5 -5v10" stroke="{BLUE}" stroke-width="2"/>'
        )
    names = ", ".join(name for name, _ in parts)
    label = f"{title}: the stream runs from {start[0]} to {end[0]}; reading it and adding to it: {names}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
        f'style="max-width:100%;height:auto;color:{INK}" fill="currentColor" font-size="13">'
        f"<title>{escape(label)}</title>{''.join(pieces)}</svg>"
    )


def _box(x: int, y: int, width: int, name: str, what: str) -> str:
    return (
        f'<rect x="{x}" y="{y}" width="{width}" height="{BOX}" rx="5" fill="none" stroke="{FAINT}"/>'
        f'<text x="{x + 10}" y="{y + 17}" font-weight="600">{escape(clipped(name, LETTERS))}</text>'
        f'<text x="{x + 10}" y="{y + 34}" font-size="12">{escape(clipped(what, LETTERS))}</text>'
    )


def _head(x: int, y: int, way: str) -> str:
    """An arrow's head with its tip at (x, y)."""
    wings = {"down": "l-6 -10h12z", "right": "l-9 -4v8z", "left": "l9 -4v8z"}[way]
    fill = BLUE if way == "down" else "currentColor"
    return f'<path d="M{x} {y}{wings}" fill="{fill}"/>'
