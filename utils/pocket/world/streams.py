"""Endless, seeded streams of documents: the texts a model reads, each with its true -log p.

`nats` is always that of the whole world, whichever split a document comes from. Splitting never touches the choice of
kind; within a kind, a derivation of the other split is thrown away and begun again, so a document of a split has
probability p(text) / P(split | kind): for training text that is at most `-log(1 - share held out)` nats per document
below the figure reported here, the same constant for every document of a kind.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from math import log

from utils.pocket.world.facts import tell_facts
from utils.pocket.world.patterns import tell_agreement, tell_brackets, tell_list, tell_meeting, tell_pairs
from utils.pocket.world.story import tell_story
from utils.pocket.world.teller import Teller, WrongSplit

SPLITS = ("train", "held_out")
TELL: dict[str, Callable[[Teller], dict]] = {
    "story": tell_story,
    "fact": tell_facts,
    "ioi": tell_meeting,
    "list": tell_list,
    "agreement": tell_agreement,
    "brackets": tell_brackets,
    "pair": tell_pairs,
}
KINDS = tuple(TELL)
# How often each kind comes, in documents; the shares in tokens are about 55, 15, 10, 7, 5, 5 and 3 in a hundred.
WEIGHTS = (17, 16, 16, 7.5, 8, 9, 4)


@dataclass(frozen=True)
class Document:
    """A text of the world. `nats` is -log p(text), its end and the choice of its kind included."""

    text: str
    kind: str
    nats: float
    facts: dict = field(hash=False)


def generator(seed: int, split: str) -> random.Random:
    if split not in SPLITS:
        raise ValueError(f"There is no split {split!r}; ask for one of: {', '.join(SPLITS)}.")
    return random.Random(f"story world {split} {seed}")


def tell(teller: Teller, kind: str, nats_of_kind: float) -> Document:
    """One document of a kind, begun again until it belongs to the teller's split."""
    while True:
        teller.begin()
        try:
            facts = TELL[kind](teller)
            teller.settle()
        except WrongSplit:
            continue
        return Document(teller.text(), kind, nats_of_kind + teller.nats, facts)


def documents(seed: int, split: str = "train") -> Iterator[Document]:
    """Every kind of document in its share, endlessly; the same seed and split give the same documents."""
    teller = Teller(generator(seed, split), split)
    while True:
        teller.begin()
        kind = KINDS[teller.weighted(WEIGHTS)]
        yield tell(teller, kind, teller.nats)


def stories(seed: int, split: str = "train") -> Iterator[Document]:
    """Stories alone, with the same nats as among all documents."""
    return of_kind("story", seed, split)


def of_kind(kind: str, seed: int, split: str = "train") -> Iterator[Document]:
    """Documents of one kind alone, with the same nats as among all documents."""
    if kind not in TELL:
        raise ValueError(f"There is no kind {kind!r}; ask for one of: {', '.join(KINDS)}.")
    nats = -log(WEIGHTS[KINDS.index(kind)] / sum(WEIGHTS))
    teller = Teller(generator(seed, split), split)
    while True:
        yield tell(teller, kind, nats)
