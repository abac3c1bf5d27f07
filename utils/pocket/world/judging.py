"""Judges a story by its text alone: does it keep its hero, and does it end as it began?

The judge reads the same templates that tell the stories. It takes any story of the world, and does not mind how the
middle is told; it is strict about names, pronouns, and an ending that belongs to the plot set up at the start and
speaks of the same things. What happens between, cause by cause, it does not judge.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from utils.pocket.world.facts import RELATIONS
from utils.pocket.world.lexicon import LISTS, NAMES
from utils.pocket.world.plots import CLOSINGS, OPENINGS, PLOTS
from utils.pocket.world.story import BONDS, PRONOUNS, gender, sentences
from utils.pocket.world.teller import Slot, Template

_NAMED = re.compile(r"\b(boy|girl) named (\w+)")
_PAL = re.compile(r"\b(friend|brother|sister|cousin|neighbor) ([A-Z]\w*)")
_PRONOUN = re.compile(r"\b(he|him|his|she|her|hers)\b", re.IGNORECASE)
_CAPITAL = re.compile(r"\b[A-Z]\w*")
_PRONOUN_SLOTS = {"he", "his", "him", "He", "His", "kid"}


@dataclass(frozen=True)
class Reading:
    """A template as a pattern, and the slot and field that each of its groups holds."""

    pattern: re.Pattern
    groups: tuple[tuple[str, str | None, str | None], ...]  # slot, field, list it is drawn from (None: told before)


def _part_pattern(part: Slot, groups: list) -> str:
    if part.name in _PRONOUN_SLOTS:
        return r"\w+"
    article = "an? " if part.article else ""
    if not part.name:
        return article + r"[\w ]+?"
    groups.append((part.name, part.field, part.source))
    return article + (r"(\w+)" if part.name in ("hero", "pal") else r"([\w ]+?)")


@cache
def _reading(form: Template) -> Reading:
    groups: list = []
    pattern = "".join(re.escape(part) if isinstance(part, str) else _part_pattern(part, groups) for part in form.parts)
    return Reading(re.compile(pattern), tuple(groups))


@cache
def _endings(plot: str) -> tuple[Reading, ...]:
    """Each last sentence of the plot with each closing: a story must end in one of them."""
    endings = []
    for last in PLOTS[plot][-1]:
        for closing in CLOSINGS:
            first, second = _reading(last), _reading(closing)
            glue = " " if closing.text else ""
            pattern = re.compile(r"(?:^| )" + first.pattern.pattern + glue + second.pattern.pattern + "$")
            endings.append(Reading(pattern, first.groups + second.groups))
    return tuple(endings)


@cache
def _sources(plot: str) -> dict[str, str]:
    """The list from which each slot of a plot's stories is drawn."""
    slots = (part for variants in sentences(plot) for form in variants for part in form.parts if isinstance(part, Slot))
    return {slot.name: slot.source for slot in slots if slot.name and slot.source and slot.source[0] != "@"}


@cache
def _capitals() -> frozenset[str]:
    """Every word that a story may write with a capital."""
    words: set[str] = set(NAMES)
    texts = [form.text for plot in PLOTS for variants in sentences(plot) for form in variants]
    texts += [text for relation in RELATIONS for text in (relation.ask, relation.reply.capitalize(), *relation.tells)]
    texts += [text for relation in RELATIONS for pair in relation.pairs for text in pair]
    for options in LISTS.values():
        for option in options:
            texts += option.values() if isinstance(option, dict) else option if isinstance(option, tuple) else [option]
    for text in texts:
        words.update(_CAPITAL.findall(re.sub(r"\{.*?\}", " ", text)))
    return frozenset(words | {PRONOUNS[kid][slot] for kid in PRONOUNS for slot in ("He", "His")})


def _values(plot: str, slot: str, field: str | None, said: str) -> list:
    """The words or records of a slot's list that would be printed as `said`."""
    options = LISTS[_sources(plot)[slot]]
    return [option for option in options if (option if field is None else option[field]) == said]


def _fits(plot: str, reading: Reading, match: re.Match, known: dict[str, list], before: str, names: dict) -> bool:
    """Whether what a sentence speaks of is what the story spoke of before; new words are added to `known`."""
    for (slot, field, source), said in zip(reading.groups, match.groups(), strict=True):
        if slot in ("hero", "pal"):
            if said != names[slot]:
                return False
            continue
        if slot == "fact":
            continue
        values = _values(plot, slot, field, said)
        if slot in known:
            values = [value for value in values if value in known[slot]]
        elif source is None and not re.search(rf"\b{re.escape(said)}\b", before):
            return False
        if not values:
            return False
        known[slot] = values
    return True


def _plot_and_ending(text: str, names: dict) -> tuple[str | None, bool]:
    """The plot that the text sets up, and whether it ends as that plot ends."""
    readings = ((reading, reading.pattern.match(text)) for reading in map(_reading, OPENINGS))
    opening, opened = next(((reading, match) for reading, match in readings if match), (None, None))
    if opened is None:
        return None, False
    for plot, groups in PLOTS.items():
        for form in groups[0]:
            setup = _reading(form)
            begun = setup.pattern.search(text)
            known: dict[str, list] = {}
            if begun is None or not _fits(plot, opening, opened, known, "", names):
                continue
            if not _fits(plot, setup, begun, known, text[: begun.start()], names):
                continue
            for ending in _endings(plot):
                ended = ending.pattern.search(text, begun.end())
                if ended and _fits(plot, ending, ended, dict(known), text[: ended.start()], names):
                    return plot, True
            return plot, False
    return None, False


def check_story(text: str, facts: dict | None = None) -> dict[str, bool]:
    """What is right about a story: hero, name, pal, pronoun, plot and ending; all true for every story of the world.

    hero: an opening that names one. name: nobody but hero and pal is named, the hero more than once.
    pal: one pal, whose bond fits the name. pronoun: the hero's, throughout. plot: one that the world knows is set up.
    ending: the text stops where that plot's last sentence (and perhaps a closing) stops, speaking of the same things.
    `facts` may give the hero, pal, plot or pronoun that the story was asked to have.
    """
    facts = facts or {}
    text = text.strip()
    named = _NAMED.search(text)
    hero = named[2] if named else None
    known_hero = hero in NAMES and gender(hero) == named[1] and hero == facts.get("hero", hero)
    if not known_hero:
        return dict.fromkeys(("hero", "name", "pal", "pronoun", "plot", "ending"), False)
    pals = {(bond, name) for bond, name in _PAL.findall(text)}
    pal = next(iter(pals))[1] if len(pals) == 1 else None
    capitals = _CAPITAL.findall(text)
    people = {word for word in capitals if word in NAMES}
    own = {PRONOUNS[named[1]][slot] for slot in ("he", "his", "him")}
    said = {word.lower() for word in _PRONOUN.findall(text)}
    plot, ends = _plot_and_ending(text, {"hero": hero, "pal": pal})
    return {
        "hero": True,
        "name": people <= {hero, pal} and capitals.count(hero) > 1 and set(capitals) <= _capitals(),
        "pal": pal in NAMES
        and pal != hero
        and all(bond in BONDS[gender(pal)] for bond, _ in pals)
        and pal == facts.get("pal", pal),
        "pronoun": bool(said) and said <= own and facts.get("pronoun", PRONOUNS[named[1]]["he"]) in own,
        "plot": plot is not None and plot == facts.get("plot", plot),
        "ending": ends,
    }
