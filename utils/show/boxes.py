"""Tokens as boxes in a line of text, and tables: the figures that are HTML and need no drawing library.

Both wrap or scroll on a narrow page and follow the notebook's theme.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import numpy as np

from utils.show import plain
from utils.show.display import Html, in_lines
from utils.show.html import BLUE, CODE, FAINT, ORANGE, figure_html
from utils.show.values import ShowProblem, describe, numbers, short, tidy
from utils.show.words import visible, words


def tokens(
    strings: Sequence[Any],
    values: Any = None,
    *,
    title: str,
    note: str,
    ids: Any = None,
    value_name: str = "value",
    rows: Sequence[Any] | None = None,
) -> Html:
    """Tokens as boxes, `strings` [pos]: spaces and newlines visible, ids and values under each.

    `values` [pos] tint the boxes: blue above zero, orange with a dashed edge below. With `rows`, `strings` is a list
    of token lists, one a row with its label (the steps of a merge, say), and there are no values or ids.

    Raises ShowProblem: values or ids that do not fit the tokens.
    """
    title, note = words(title=title, note=note)
    if isinstance(strings, str):
        raise ShowProblem(
            "strings should be a list of tokens [pos], but got one string; list(text) gives its characters."
        )
    if rows is not None:
        if values is not None or ids is not None or len(rows) != len(strings):
            raise ShowProblem(
                f"rows should hold one label for each of the {len(strings)} token lists, without values or ids."
            )
        lines = [(str(label), [visible(token) for token in line]) for label, line in zip(rows, strings, strict=True)]
        body = "".join(
            f'<div style="margin:.15em 0"><span style="display:inline-block;min-width:7em">{escape(label)}</span>'
            f"{''.join(_box(word) for word in line)}</div>"
            for label, line in lines
        )
        width = max(len(label) for label, _ in lines)
        text = "\n".join(f"{label:<{width}}  {' | '.join(line)}" for label, line in lines)
        return Html(figure_html(title, body, note), in_lines(title, text, note))
    if not len(strings):
        raise ShowProblem("strings should be a list of tokens [pos], but got an empty one.")
    shown = [visible(token) for token in strings]
    amounts = _fit(values, shown, "values")
    numbers_ = _fit(ids, shown, "ids")
    largest = float(np.nanmax(np.abs(amounts))) if amounts is not None and np.isfinite(amounts).any() else 0.0
    boxes, table_rows = [], []
    for place, word in enumerate(shown):
        under = [] if numbers_ is None else [str(int(numbers_[place]))]
        share = 0.0
        if amounts is not None:
            under.append(short(float(amounts[place])))
            share = 0.0 if largest == 0 or amounts[place] != amounts[place] else float(amounts[place]) / largest
        boxes.append(_box(word, under, share, f"position {place}", ends_line="\n" in str(strings[place])))
        table_rows.append([str(place), word, *under])
    names = ["pos", "token", *(["id"] if numbers_ is not None else []), *([value_name] if amounts is not None else [])]
    text = plain.table(table_rows, names, right=[True, False, *[True] * (len(names) - 2)])
    if len(names) == 2:
        text = " | ".join(shown)
    legend = "· is a space, ↵ a new line." + (f" Under each token: {', '.join(names[2:])}." if len(names) > 2 else "")
    body = (
        f'<div style="line-height:1.6">{"".join(boxes)}</div>'
        f'<div style="font-size:.85em;opacity:.8">{escape(legend)}</div>'
    )
    return Html(figure_html(title, body, note), in_lines(title, text, note))


def table(rows: Sequence[Any], columns: Sequence[str], *, title: str, note: str) -> Html:
    """A table: `rows` are lists in the order of `columns`, or dicts with the columns as keys; numbers stand right.

    Raises ShowProblem: a row with another number of cells, or without one of the columns.
    """
    title, note = words(title=title, note=note)
    cells = [_row(row, list(columns), place) for place, row in enumerate(rows)]
    if not cells:
        raise ShowProblem("A table should have at least one row.")
    right = [all(_is_number(row[place]) for row in cells) for place in range(len(columns))]
    texts = [[_cell(value) for value in row] for row in cells]
    head = "".join(
        f'<th scope="col" style="text-align:{_side(r)}">{escape(str(c))}</th>'
        for c, r in zip(columns, right, strict=True)
    )
    body = "".join(
        "<tr>"
        + "".join(f'<td style="text-align:{_side(r)}">{escape(text)}</td>' for text, r in zip(row, right, strict=True))
        + "</tr>"
        for row in texts
    )
    html = f'<div style="overflow-x:auto"><table style="margin:0"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
    text = plain.table(texts, [str(column) for column in columns], right=right)
    return Html(figure_html(title, html, note, label=title), in_lines(title, text, note))


def _box(word: str, under: Sequence[str] = (), share: float = 0.0, tip: str = "", ends_line: bool = False) -> str:
    color, edge = (BLUE, "solid") if share >= 0 else (ORANGE, "dashed")
    strength = round(75 * abs(share))
    tint = f"background:color-mix(in srgb,{color} {strength}%,transparent);" if strength else ""
    small = "".join(f'<span style="display:block;font-size:.75em;opacity:.85">{escape(line)}</span>' for line in under)
    return (
        f'<span title="{escape(tip)}" style="display:inline-block;text-align:center;font-family:{CODE};border:1px {edge} '
        f'{color if strength else FAINT};border-radius:3px;padding:0 .3em;margin:1px;{tint}">{escape(word)}{small}</span>'
        f"{'<br>' if ends_line else ''}"
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


def _is_number(value: Any) -> bool:
    if hasattr(value, "item") and getattr(value, "ndim", 1) == 0:
        return True
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _cell(value: Any) -> str:
    if hasattr(value, "item") and getattr(value, "ndim", 1) == 0:
        value = value.item()
    if isinstance(value, float):
        return short(tidy(value))
    return "–" if value is None else " ".join(str(value).split("\n")) if isinstance(value, str) else str(value)


def _side(right: bool) -> str:
    return "right" if right else "left"
