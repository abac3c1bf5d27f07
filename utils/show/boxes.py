"""Tokens as boxes in a line of text, and tables: the figures that are HTML and need no drawing library.

Both wrap or scroll on a narrow page and follow the notebook's theme.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import numpy as np

from utils.show import plain
from utils.show.display import Html, in_lines
from utils.show.html import CODE, FAINT, figure_html
from utils.show.problem import ShowProblem
from utils.show.theme import BLUE, GREEN, ORANGE
from utils.show.values import describe, numbers, short, tidy
from utils.show.words import sentences, visible


def _judged(color: str, edge: str) -> str:
    tint = f"background:color-mix(in srgb,{color} 22%,transparent)"
    return f' style="{tint};outline:1px {edge} {color};outline-offset:-1px"'


WRITTEN = re.compile(r"[+−-]?[\d,]*\.?\d+(e[+−-]?\d+)?%?")  # a number that a chapter has written itself, as 1,024 or 5%
VERDICTS = {True: ("✓", _judged(GREEN, "solid")), False: ("✗", _judged(ORANGE, "dashed")), None: ("·", "")}


def tokens(
    strings: Sequence[Any],
    values: Any = None,
    *,
    title: str,
    note: str,
    ids: Any = None,
    value_name: str = "value",
    rows: Sequence[Any] | None = None,
    below: Mapping[str, Sequence[Any]] | None = None,
) -> Html:
    """Tokens as boxes, `strings` [pos]: spaces and newlines visible, ids and values under each.

    `values` [pos] tint the boxes: blue above zero, orange with a dashed edge below. With `rows`, `strings` is a list
    of token lists, one a row with its label (the steps of a merge, say), and there are no values or ids. `below` is
    for more lines under each token, `{"bytes": […]}` with one entry a token.

    Raises ShowProblem: values, ids or lines below that do not fit the tokens.
    """
    title, note = sentences(title=title, note=note)
    if not isinstance(strings, (list, tuple)) or not strings:
        raise ShowProblem(f"strings should be a list of tokens [pos], not empty, but got {describe(strings)}.")
    if rows is None:
        return _line(strings, values, ids, title, note, value_name, below or {})
    if values is not None or ids is not None or below or len(rows) != len(strings):
        raise ShowProblem(
            f"rows should hold a label for each of the {len(strings)} token lists, without values, ids or lines below."
        )
    lines = [(str(label), [visible(token) for token in line]) for label, line in zip(rows, strings, strict=True)]
    width = max(len(label) for label, _ in lines)
    cells = "".join(
        f'<span style="font-family:{CODE};font-size:.9em;padding-top:.2em">{escape(label)}</span>'
        f"<span>{''.join(_box(word) for word in line)}</span>"
        for label, line in lines
    )
    body = f'<div style="display:grid;grid-template-columns:max-content 1fr;gap:.1em .8em">{cells}</div>'
    text = "\n".join(f"{label:<{width}}  {' | '.join(line)}" for label, line in lines)
    return Html(figure_html(title, body, note), in_lines(title, text, note))


def _line(
    strings: Sequence[Any],
    values: Any,
    ids: Any,
    title: str,
    note: str,
    value_name: str,
    below: Mapping[str, Sequence[Any]],
) -> Html:
    """One line of boxes, with what stands under each."""
    shown = [visible(token) for token in strings]
    for name, entries in below.items():
        if len(entries) != len(shown):
            raise ShowProblem(f"below[{name!r}] should have {len(shown)} entries, one a token, but got {len(entries)}.")
    amounts, given_ids = _fit(values, shown, "values"), _fit(ids, shown, "ids")
    largest = float(np.nanmax(np.abs(amounts))) if amounts is not None and np.isfinite(amounts).any() else 0.0
    boxes, rows = [], []
    for place, word in enumerate(shown):
        under = [] if given_ids is None else [str(int(given_ids[place]))]
        share = 0.0
        if amounts is not None:
            under.append(short(float(amounts[place])))
            share = 0.0 if largest == 0 or amounts[place] != amounts[place] else float(amounts[place]) / largest
        under += [str(entries[place]) for entries in below.values()]
        boxes.append(_box(word, under, share, f"position {place}", ends_line="\n" in str(strings[place])))
        rows.append([str(place), word, *under])
    names = ["pos", "token", *(["id"] if ids is not None else []), *([value_name] if values is not None else [])]
    right = [True, False, *[True] * (len(names) - 2), *[False] * len(below)]
    names += below
    text = plain.table(rows, names, right=right)
    legend = "· is a space, ↵ a new line." + (f" Under each token: its {', '.join(names[2:])}." if names[2:] else "")
    body = f'<div>{"".join(boxes)}</div><div style="font-size:.85em;opacity:.85">{escape(legend)}</div>'
    return Html(figure_html(title, body, note), in_lines(title, text if names[2:] else " | ".join(shown), note))


def table(
    rows: Sequence[Any],
    columns: Sequence[str],
    *,
    title: str,
    note: str,
    verdicts: Sequence[bool | None] | None = None,
    verdict_name: str = "agrees",
) -> Html:
    """A table: `rows` are lists in the order of `columns`, or dicts with the columns as keys. Numbers stand right,
    also those written as text (`"1,024"`, `"5%"`).

    `verdicts`, one a row, put a column called `verdict_name` first: ✓ on green for True, ✗ on orange with a dashed
    edge for False, · for None.

    Raises ShowProblem: a row with another number of cells, or without one of the columns; verdicts that do not fit.
    """
    title, note = sentences(title=title, note=note)
    cells = [_row(row, list(columns), place) for place, row in enumerate(rows)]
    if not cells:
        raise ShowProblem("A table should have at least one row.")
    names, looks = [str(name) for name in columns], [""] * len(cells)
    if verdicts is not None:
        if len(verdicts) != len(cells) or not all(v is None or isinstance(v, (bool, np.bool_)) for v in verdicts):
            raise ShowProblem(f"verdicts should hold True, False or None for each of the {len(cells)} rows.")
        looks = [VERDICTS[verdict][1] for verdict in verdicts]
        cells = [[VERDICTS[verdict][0], *row] for verdict, row in zip(verdicts, cells, strict=True)]
        names = [verdict_name, *names]
    right = [_stands_right([row[place] for row in cells]) for place in range(len(names))]
    sides = ["right" if numeric else "left" for numeric in right]
    texts = [[_cell(value) for value in row] for row in cells]
    head = "".join(
        f'<th scope="col" style="text-align:{side}">{escape(name)}</th>'
        for name, side in zip(names, sides, strict=True)
    )
    body = "".join(f"<tr{look}>{_cells(row, sides)}</tr>" for row, look in zip(texts, looks, strict=True))
    grid = f'<table style="margin:0"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
    text = plain.table(texts, names, right=right)
    html = figure_html(title, f'<div style="overflow-x:auto">{grid}</div>', note)
    return Html(html, in_lines(title, text, note))


def _cells(row: list[str], sides: list[str]) -> str:
    def cell(text: str, side: str) -> str:
        spaces = ";white-space:pre-wrap" if "  " in text else ""  # a page would show two spaces as one
        return f'<td style="text-align:{side}{spaces}">{escape(text)}</td>'

    return "".join(cell(text, side) for text, side in zip(row, sides, strict=True))


def _box(word: str, under: Sequence[str] = (), share: float = 0.0, tip: str = "", ends_line: bool = False) -> str:
    color, edge = (BLUE, "solid") if share >= 0 else (ORANGE, "dashed")
    strength = round(75 * abs(share))
    tint = f"background:color-mix(in srgb,{color} {strength}%,transparent);" if strength else ""
    border = f"border:1px {edge} {color if strength else FAINT};border-radius:3px"
    small = "".join(f'<span style="display:block;font-size:.75em">{escape(line)}</span>' for line in under)
    return (
        f'<span title="{escape(tip)}" style="display:inline-block;text-align:center;font-family:{CODE};{border};'
        f'padding:0 .3em;margin:1px;{tint}">{escape(word)}{small}</span>{"<br>" if ends_line else ""}'
    )


def _fit(values: Any, shown: list[str], name: str) -> np.ndarray | None:
    if values is None:
        return None
    array = numbers(values, "pos", name)
    if len(array) != len(shown):
        raise ShowProblem(
            f"{name} should have the axis [pos] with {len(shown)} places, one a token, but got {len(array)}."
        )
    return array


def _row(row: Any, columns: list[str], place: int) -> list[Any]:
    if isinstance(row, Mapping):
        absent = [column for column in columns if column not in row]
        if absent:
            raise ShowProblem(f"Row {place} of the table has no {absent[0]!r}; it has {', '.join(map(str, row))}.")
        return [row[column] for column in columns]
    if isinstance(row, str) or not isinstance(row, Sequence):
        raise ShowProblem(
            f"Row {place} of the table should be a list of {len(columns)} cells, but got {describe(row)}."
        )
    if len(row) != len(columns):
        raise ShowProblem(f"Row {place} of the table should have {len(columns)} cells, but has {len(row)}.")
    return list(row)


def _stands_right(column: list[Any]) -> bool:
    filled = [value for value in column if value is not None and value != ""]
    return bool(filled) and all(_is_number(value) for value in filled)


def _is_number(value: Any) -> bool:
    if hasattr(value, "item") and getattr(value, "ndim", 1) == 0:
        return True
    if isinstance(value, str):
        return bool(WRITTEN.fullmatch(value))
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _cell(value: Any) -> str:
    if hasattr(value, "item") and getattr(value, "ndim", 1) == 0:
        value = value.item()
    if isinstance(value, float):
        return short(tidy(value))
    return "–" if value is None else " ".join(str(value).split("\n")) if isinstance(value, str) else str(value)
