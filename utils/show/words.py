"""Tokens as a reader can see them: spaces and newlines visible, repeated tokens told apart.

Every figure with tokens on it goes through here, so that one token looks the same all through the book.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from utils.show.problem import ShowProblem

SPACE, NEWLINE, TAB = "·", "↵", "⇥"
_MARKS = {"\r": "␍", "\n": NEWLINE, "\t": TAB, "\u00a0": "⍽", "\u200b": "∅", "\ufffd": "�"}


def visible(token: Any) -> str:
    """A token with its leading and trailing blanks made visible; blanks between words are left as they are.

    >>> visible(" cat"), visible("\\n\\n"), visible("  "), visible("two words")
    ('·cat', '↵↵', '··', 'two words')
    """
    text = token if isinstance(token, str) else str(token)
    if text == "":
        return "(empty)"
    inner = text.strip(" ")
    if not inner:
        return SPACE * len(text)
    left, right = len(text) - len(text.lstrip(" ")), len(text) - len(text.rstrip(" "))
    marked = "".join(_MARKS.get(character, character) for character in inner)
    marked = "".join(character if character.isprintable() else f"\\x{ord(character):02x}" for character in marked)
    return SPACE * left + marked + SPACE * right


def distinct(labels: Iterable[Any]) -> list[str]:
    """Visible labels, no two alike: where one is repeated, every label gets its position in front.

    >>> distinct([" a", " b"]), distinct([" a", " b", " a"])
    (['·a', '·b'], ['0 ·a', '1 ·b', '2 ·a'])
    """
    seen = [visible(label) for label in labels]
    if len(set(seen)) == len(seen):
        return seen
    return [f"{place} {label}" for place, label in enumerate(seen)]


def positioned(tokens: Sequence[Any]) -> list[str]:
    """Visible tokens, each with its position in front.

    >>> positioned(["The", " cat"])
    ['0 The', '1 ·cat']
    """
    return [f"{place} {visible(token)}" for place, token in enumerate(tokens)]


def labels_for(labels: Sequence[Any] | None, length: int, axis: str) -> list[str]:
    """One visible, distinct label for each place on an axis; the places' numbers where none are given.

    Raises ShowProblem: another number of labels than places.
    """
    if labels is None:
        return [str(place) for place in range(length)]
    if isinstance(labels, str):
        raise ShowProblem(f"The labels of {axis} should be a list of {length} strings, but got one string.")
    if len(labels) != length:
        raise ShowProblem(f"The axis {axis} has {length} places, but got {len(labels)} labels for it.")
    return distinct(labels)


def clipped(text: str, width: int) -> str:
    """At most `width` characters, the last an ellipsis where some were left out."""
    return text if len(text) <= width else text[: max(0, width - 1)] + "…"


def sentences(*, title: Any, note: Any) -> tuple[str, str]:
    """The two sentences every figure has, checked. Raises ShowProblem where one is missing."""
    for name, text in (("title", title), ("note", note)):
        if not isinstance(text, str) or not text.strip():
            raise ShowProblem(f"Every figure needs a {name}: one sentence of text, but got {text!r}.")
    return " ".join(title.split()), " ".join(note.split())
