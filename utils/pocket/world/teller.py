"""The one way to make a choice in the story world, and the small template language that makes them.

A `Teller` holds the random generator, the text so far and the sum of -log p of every choice, so that a finished text
comes with its true probability. A template is plain text with slots: `{toy:toys}` draws from the list `toys` and
remembers the word as `toy`; `{toy}` says it again; `{:toys}` draws without remembering; `{w:weather.start}` draws a
record and prints one field of it; `{b:places!a}` draws a place other than `a`; `{a+toy}` puts "a" or "an" before the
word. Every choice shows in the text, so a text has one derivation and the sum is its true -log p.
"""

from __future__ import annotations

import hashlib
import math
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from utils.pocket.world.lexicon import LISTS

HELD_OUT_ONE_IN = 24
_LOG = [0.0, *(math.log(n) for n in range(1, 4096))]
_SLOT = re.compile(r"\{(a\+)?(\w*)(?::(@?\w+))?(?:\.(\w+))?(?:!(\w+))?\}")


class WrongSplit(Exception):
    """This derivation belongs to the other split; the caller starts the document again."""


@cache
def fixed_draw(key: str, n: int) -> int:
    """A number below n that hangs on the key alone: the same on every machine and in every session."""
    return int.from_bytes(hashlib.blake2b(key.encode(), digest_size=8).digest(), "big") % n


def is_held_out(key: str) -> bool:
    """Whether everything with this key is kept out of training: one key in 24."""
    return fixed_draw(key, HELD_OUT_ONE_IN) == 0


def pair_key(first: str, second: str) -> str:
    """The key of two names that meet in a text, whichever comes first."""
    return "pair:" + "+".join(sorted((first, second)))


@dataclass(frozen=True)
class Slot:
    name: str
    source: str | None
    field: str | None
    unlike: str | None
    article: bool


@dataclass(frozen=True)
class Template:
    text: str
    parts: tuple[str | Slot, ...]


@cache
def template(text: str) -> Template:
    """'the {toy:toys}' → the parts 'the ' and Slot('toy', 'toys', ...)."""
    parts: list[str | Slot] = []
    end = 0
    for match in _SLOT.finditer(text):
        if match.start() > end:
            parts.append(text[end : match.start()])
        article, name, source, field, unlike = match.groups()
        parts.append(Slot(name, source, field, unlike, article is not None))
        end = match.end()
    if end < len(text):
        parts.append(text[end:])
    if any(isinstance(part, str) and ("{" in part or "}" in part) for part in parts):
        raise ValueError(f"A slot in this template cannot be read: {text!r}")
    return Template(text, tuple(parts))


def group(*variants: str) -> tuple[Template, ...]:
    """The ways one sentence of a story may be told, all equally likely."""
    return tuple(template(text) for text in variants)


def with_article(word: str) -> str:
    """'apple' → 'an apple', 'honest' → 'an honest'; the world has no 'u' that sounds like 'you'."""
    return ("an " if word[0] in "aeiou" or word.startswith("honest") else "a ") + word


class Teller:
    """Tells one text: makes choices, adds up their nats, and remembers what was said."""

    def __init__(self, rng: random.Random, split: str | None = None) -> None:
        self.random = rng.random
        self.split = split
        self.begin()

    def begin(self) -> None:
        self.nats = 0.0
        self.said: list[str] = []
        self.slots: dict[str, Any] = {}
        self.held_out = False

    def index(self, n: int) -> int:
        """A number below n, each equally likely. Every uniform choice of the world ends here."""
        self.nats += _LOG[n]
        return int(self.random() * n)

    def choose(self, options: Sequence, weights: Sequence[float] | None = None):
        if weights is None:
            return options[self.index(len(options))]
        return options[self.weighted(weights)]

    def weighted(self, weights: Sequence[float]) -> int:
        """The place of one weight, each as likely as its share of the sum. Every other choice ends here."""
        total = sum(weights)
        left = self.random() * total
        place = 0
        while place < len(weights) - 1 and left >= weights[place]:
            left -= weights[place]
            place += 1
        self.nats -= math.log(weights[place] / total)
        return place

    def choose_unlike(self, options: Sequence, unlike: Any):
        """Any option but `unlike`, which must be among them."""
        place = self.index(len(options) - 1)
        return options[place + 1] if place >= options.index(unlike) else options[place]

    def some(self, options: Sequence, count: int) -> list:
        """`count` different options, in an order that matters."""
        left = list(options)
        return [left.pop(self.index(len(left))) for _ in range(count)]

    def key(self, key: str) -> None:
        """Says what this text is about, so that a combination kept for held-out text stays out of training."""
        if is_held_out(key):
            self.hold_out()

    def hold_out(self) -> None:
        """This text is held out: it ends here when training text is wanted."""
        self.held_out = True
        if self.split == "train":
            raise WrongSplit

    def settle(self) -> None:
        """No more keys will come: a text that turns out not to be held out ends here when held-out text is wanted."""
        if self.split == "held_out" and not self.held_out:
            raise WrongSplit

    def fill(self, form: Template) -> str:
        slots, out = self.slots, []
        for part in form.parts:
            if isinstance(part, str):
                out.append(part)
                continue
            if part.source is None:
                value = slots[part.name]
            else:
                options = slots[part.source[1:]] if part.source[0] == "@" else LISTS[part.source]
                value = self.choose(options) if part.unlike is None else self.choose_unlike(options, slots[part.unlike])
                if part.name:
                    slots[part.name] = value
            word = value if part.field is None else value[part.field]
            out.append(with_article(word) if part.article else word)
        return "".join(out)

    def tell(self, variants: Sequence[Template]) -> None:
        """Adds one sentence (or nothing, for the empty variant) to the text."""
        text = self.fill(self.choose(variants))
        if text:
            self.said.append(text)

    def say(self, text: str) -> None:
        """Adds text that follows from what was chosen already."""
        self.said.append(text)

    def text(self) -> str:
        return " ".join(self.said)
