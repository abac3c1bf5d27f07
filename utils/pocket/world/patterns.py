"""The short texts around the stories, each one a pattern that a head of a small transformer can learn.

Indirect objects, pairs in one order only, lists and refrains that come back, agreement across a distance, brackets and
quotes that close. Facts are in `facts.py`. Every choice goes through the teller, so each text has its probability.
"""

from __future__ import annotations

from utils.pocket.world.facts import DAYS, MONTHS, NUMBERS
from utils.pocket.world.lexicon import (
    ADJECTIVES,
    ANIMALS,
    BINOMIALS,
    COUNTED,
    FULL_NAMES,
    GOODS,
    LINKS,
    LISTS,
    LOOKS,
    NAMES,
    OBJECTS,
    PLACES,
    TRAITS,
)
from utils.pocket.world.teller import Teller, pair_key, with_article

# {A} and {B} are named first, then {S} gives {thing} to {IO}; S and IO are A and B in either order.
MEETINGS = (
    "When {A} and {B} went to the {place}, {S} {gave} {thing} to {IO}.",
    "After {A} and {B} came to the {place}, {S} {gave} {thing} to {IO}.",
    "While {A} and {B} were at the {place}, {S} {gave} {thing} to {IO}.",
    "Then {A} and {B} had a long day at the {place}. {S} {gave} {thing} to {IO}.",
    "One day {A} and {B} met at the {place}, and {S} {gave} {thing} to {IO}.",
    "The friends {A} and {B} were going to the {place}. {S} {gave} {thing} to {IO}.",
    "Yesterday {A} and {B} found {thing} at the {place}, and {S} {gave} it to {IO}.",
    "Because {A} and {B} liked the {place}, they walked there, and {S} {gave} {thing} to {IO}.",
)
GIVING = ("gave", "handed", "showed", "brought", "passed", "offered", "sold", "sent")
THANKS = ("", "{IO} thanked {S}.", "Then {IO} smiled at {S}.", "{IO} was happy, and so was {S}.")

NOTABLES = (
    "Today {x} came to the {place}.",
    "Everyone at the {place} knows {x}.",
    "The {place} belongs to {x}.",
    "People say that {x} lives near the {place}.",
    "There was a letter for {x} at the {place}.",
)
SIDE_BY_SIDE = (
    "The song is about {x}.",
    "At the {place} there is a picture of {x}.",
    "Nobody at the {place} thought of {x}.",
    "The children drew {x}.",
)

# Every word of a list but those with a capital: names meet and follow each other under rules of their own.
WORD_BANK = sorted(
    {
        word
        for options in LISTS.values()
        for option in options
        for phrase in (
            option.values() if isinstance(option, dict) else option if isinstance(option, tuple) else [option]
        )
        for word in phrase.split()
        if word.isalpha() and word.islower()
    }
)


def tell_meeting(teller: Teller) -> dict:
    form = teller.choose(MEETINGS)
    first = teller.choose(NAMES)
    second = teller.choose_unlike(NAMES, first)
    teller.key(pair_key(first, second))
    teller.settle()
    giver, receiver = teller.choose(((first, second), (second, first)))
    slots = {
        "A": first,
        "B": second,
        "S": giver,
        "IO": receiver,
        "place": teller.choose(PLACES),
        "gave": teller.choose(GIVING),
        "thing": with_article(teller.choose(OBJECTS)),
    }
    teller.say(form.format(**slots))
    if thanks := teller.choose(THANKS):
        teller.say(thanks.format(**slots))
    return {"names": (first, second), "subject": giver, "answer": receiver}


def tell_pairs(teller: Teller) -> dict:
    """Three sentences, each about a full name or about two things that always stand in one order."""
    said = []
    for _ in range(3):
        if teller.choose((True, False)):
            form, word = teller.choose(NOTABLES), teller.choose(FULL_NAMES)
        else:
            form, word = teller.choose(SIDE_BY_SIDE), teller.choose(BINOMIALS)
        place = teller.choose(PLACES) if "{place}" in form else ""
        teller.key(f"pair:{form}:{word}")
        teller.say(form.format(x=word, place=place))
        said.append(word)
    return {"pairs": said}


def _listed(words: list[str]) -> str:
    return ", ".join(words[:-1]) + " and " + words[-1]


def _shopping(teller: Teller) -> None:
    name, place = teller.choose(NAMES), teller.choose(("store", "market", "shop", "farm"))
    goods = teller.some(GOODS, 3 + teller.index(4))
    teller.key(f"list:{name}:{goods[0]}")
    teller.say(f"The list of {name}: {_listed(goods)}.")
    teller.say(f"So at the {place} {name} bought {_listed(goods)}.")


def _say_after_me(teller: Teller) -> None:
    words = teller.some(WORD_BANK, 4 + teller.index(9))
    teller.key(f"words:{words[0]}:{words[1]}")
    said = " ".join(words)
    teller.say(f"Say after me: {said}. Again: {said}.")
    if teller.choose((False, True)):
        teller.say(f"And again: {said}.")


def _song(teller: Teller) -> None:
    """Verse, refrain, verse, refrain: only the verses change."""
    look, animal, place = teller.choose(ADJECTIVES), teller.choose(ANIMALS), teller.choose(PLACES)
    teller.key(f"song:{animal}:{place}")
    cry = teller.choose(("oh", "hey", "la la", "ho ho"))
    refrain = f"{cry}, the {look} {animal}, {cry}, the {animal} of the {place}!"
    for start in ("First", "Then", "Last"):
        teller.say(f"{start} came {with_article(teller.choose(ANIMALS))} with {with_article(teller.choose(OBJECTS))},")
        teller.say(refrain)


def _in_order(teller: Teller) -> None:
    """A stretch of the numbers, days or months, which everyone can go on with."""
    words = teller.choose((NUMBERS, DAYS, MONTHS)).split()
    length = 4 + teller.index(4)
    start = teller.index(len(words)) if len(words) < 20 else teller.index(len(words) - 7)
    stretch = [words[(start + step) % len(words)] for step in range(length)]
    name = teller.choose(NAMES)
    teller.key(f"order:{name}:{stretch[0]}")
    teller.say(f"Now {name} counts: {', '.join(stretch)}.")


def _named(teller: Teller) -> None:
    """Three animals, each with the name it earned; asked for again, each name follows its own animal."""
    animals = teller.some(ANIMALS, 3)
    teller.key(f"named:{animals[0]}:{animals[1]}")
    full = [f"{animal.capitalize()} the {teller.choose(TRAITS)['cap']}" for animal in animals]
    teller.say(f"The three friends were {_listed(full)}.")
    again = teller.some(full, 3)
    teller.say(f"Home came {_listed(again)}.")


_LISTS = (_shopping, _say_after_me, _song, _in_order, _named)


def tell_list(teller: Teller) -> dict:
    form = teller.choose(_LISTS)
    form(teller)
    return {"form": form.__name__.strip("_")}


def _agreement(teller: Teller) -> str:
    """'The keys near the old cabinet are red.' The verb agrees with the first noun, not with the nearest."""
    one, many = teller.choose(COUNTED)
    plural = teller.choose((False, True))
    said = f"The {many if plural else one}"
    for _ in range(1 + teller.choose((0, 1), (3, 1))):
        other = teller.choose(COUNTED)
        said += f" {teller.choose(LINKS)} the {teller.choose(other)}"
    teller.key(f"agree:{one}:{said.split()[-1]}")
    verb = teller.choose((("is", "are"), ("was", "were")))[plural]
    degree = teller.choose(("", "very ", "not ", "always "))
    return f"{said} {verb} {degree}{teller.choose(LOOKS)}."


def tell_agreement(teller: Teller) -> dict:
    for _ in range(2):
        teller.say(_agreement(teller))
    return {}


_CLOSER = {"(": ")", "[": "]"}
# By how many brackets are open: what may come next, and its weight.
_MOVES = (
    (("word", "open", "end"), (2, 2, 1)),
    (("word", "open", "close"), (2, 1, 2)),
    (("word", "close"), (1, 1)),
)


def _bracketed(teller: Teller) -> None:
    """Words and brackets, at most two deep: what may come next hangs on what is open."""
    said, open_now = ["Code:", teller.choose(OBJECTS)], []
    while True:
        move = teller.choose(*_MOVES[len(open_now)])
        if move == "word":
            said.append(teller.choose(OBJECTS))
        elif move == "open":
            bracket = teller.choose(tuple(_CLOSER))
            open_now.append(bracket)
            said += [bracket, teller.choose(OBJECTS)]
        elif move == "close":
            said.append(_CLOSER[open_now.pop()])
        else:
            break
    teller.key(f"brackets:{said[1]}:{len(said)}")
    teller.say(" ".join(said) + " end.")


def _quoted(teller: Teller) -> None:
    """A quote in a quote, and both close."""
    speaker = teller.choose(NAMES)
    quoted = teller.choose_unlike(NAMES, speaker)
    teller.key(pair_key(speaker, quoted))
    first = teller.choose(PLACES)
    call = teller.choose(("Come to the {}", "Meet me at the {}", "Stay away from the {}", "I am lost near the {}"))
    rest = teller.choose((" and ran away", " and laughed", "", " at the {}"))
    if "{}" in rest:
        rest = rest.format(teller.choose_unlike(PLACES, first))
    teller.say(f"Then {speaker} told us: \"I heard {quoted} say '{call.format(first)}'{rest}.\"")


def _aside(teller: Teller) -> None:
    """A bracket within a bracket, in a sentence that goes on after both."""
    name = teller.choose(NAMES)
    job, place = teller.choose(LISTS["jobs"]), teller.choose(PLACES)
    teller.key(f"aside:{name}:{job}")
    inner = f" [the {teller.choose(LOOKS)} one]" if teller.choose((False, True)) else ""
    said = f"Yesterday {name} (the {job} from the {place}{inner}) bought {with_article(teller.choose(OBJECTS))}"
    teller.say(said + f" ({with_article(teller.choose(LISTS['colors']))} one).")


_BRACKETS = (_bracketed, _quoted, _aside)


def tell_brackets(teller: Teller) -> dict:
    form = teller.choose(_BRACKETS)
    form(teller)
    return {"form": form.__name__.strip("_")}
