"""Makes text harmless that comes from an answer: what it printed, what its errors say, what its objects are called."""

import re

_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|.)", re.DOTALL)
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")

_HALVES = re.compile("[\ud800-\udfff]")


def harmless(text: str) -> str:
    """Text without terminal codes, control characters (but line ends and tabs) and marks that turn its direction.

    Halves of characters, which no file can hold, become the mark for what is unreadable.
    """
    return _HALVES.sub("\ufffd", _CONTROLS.sub("", _ESCAPES.sub("", text.replace("\r\n", "\n"))))


def cut_short(text: str, most: int = 120) -> str:
    """Text of at most so many characters, with … where it was longer."""
    return text if len(text) <= most else text[: most - 1] + "…"


def one_line(text: str) -> str:
    """Harmless text on one line."""
    return " ".join(harmless(text).split())


def counted(n: int, noun: str) -> str:
    """A number of things.

    >>> counted(1, "seed"), counted(2, "seed")
    ('1 seed', '2 seeds')
    """
    return f"{n:,} {noun}{'' if n == 1 else 's'}"
