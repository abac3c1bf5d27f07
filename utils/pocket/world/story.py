"""Tells whole stories: picks hero, pal and plot, then one sentence from each group of the plot.

The hero's combinations with a pal and with a plot are the keys by which stories are kept out of training. The
grammar is data (`plots.py`), so the number of different stories can be counted without telling them.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import prod

from utils.pocket.world.facts import RELATIONS, story_fact
from utils.pocket.world.lexicon import BOYS, GIRLS, LISTS, NAMES
from utils.pocket.world.plots import CLOSINGS, MANNERS, OPENINGS, PLOTS, POSSESSIONS
from utils.pocket.world.teller import Slot, Teller, Template, pair_key

PLOT_NAMES = tuple(PLOTS)
BONDS = {"boy": ["friend", "brother", "cousin", "neighbor"], "girl": ["friend", "sister", "cousin", "neighbor"]}
PRONOUNS = {
    "boy": {"he": "he", "his": "his", "him": "him", "He": "He", "His": "His", "kid": "boy"},
    "girl": {"he": "she", "his": "her", "him": "her", "He": "She", "His": "Her", "kid": "girl"},
}
_GENDER = dict.fromkeys(BOYS, "boy") | dict.fromkeys(GIRLS, "girl")


def gender(name: str) -> str:
    """'boy' or 'girl': every name of the world belongs to one of the two."""
    return _GENDER[name]


def sentences(plot: str) -> Iterable[tuple[Template, ...]]:
    """The groups of sentences of a story, in order."""
    return (OPENINGS, MANNERS, POSSESSIONS, *PLOTS[plot], CLOSINGS)


def tell_story(teller: Teller) -> dict:
    plot = teller.choose(PLOT_NAMES)
    hero = teller.choose(NAMES)
    pal = teller.choose_unlike(NAMES, hero)
    teller.key(pair_key(hero, pal))
    teller.key(f"story:{hero}:{plot}")
    teller.settle()
    slots = teller.slots
    slots.update(PRONOUNS[gender(hero)], hero=hero, pal=pal, bonds=BONDS[gender(pal)])
    if plot == "school":
        slots["fact"] = story_fact(teller)
    for variants in sentences(plot):
        teller.tell(variants)
    return {"hero": hero, "pronoun": slots["he"], "pal": pal, "plot": plot, "sentences": tuple(teller.said)}


def _size(slot: Slot) -> int:
    """In how many ways a slot that draws can be filled."""
    if slot.source is None:
        return 1
    options = BONDS["boy"] if slot.source == "@bonds" else LISTS[slot.source]
    return len(options) - (slot.unlike is not None)


def count_stories(plot: str) -> int:
    """How many different stories a plot has: each is one sequence of choices, and each sequence another text."""
    count = len(NAMES) * (len(NAMES) - 1)
    if plot == "school":
        count *= sum(len(relation.pairs) for relation in RELATIONS)
    for variants in sentences(plot):
        count *= sum(prod(_size(part) for part in form.parts if isinstance(part, Slot)) for form in variants)
    return count
