"""Questions put to a model: prompts with their right answer, in forms and combinations never trained on.

A fact is asked in the one form kept out of training for it, indirect objects with two names that never met there, and
a story is to be told on from its opening. What a model answers is judged elsewhere (`judging.py`, the evaluation).
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from itertools import combinations, islice

from utils.pocket.world.facts import RELATIONS, fact_sentence, held_out_form
from utils.pocket.world.lexicon import NAMES, OBJECTS, PLACES
from utils.pocket.world.patterns import GIVING, MEETINGS
from utils.pocket.world.streams import of_kind
from utils.pocket.world.teller import is_held_out, pair_key, with_article


@dataclass(frozen=True)
class Probe:
    """`prompt + answer` is text of the world; `wrong` are answers of the same sort. Answers start with their space."""

    prompt: str
    answer: str
    wrong: tuple[str, ...]
    facts: dict = field(hash=False)


def _fact_probes(rng: random.Random, n: int) -> list[Probe]:
    """Each fact once before any comes twice; at the second asking other names ask it."""
    every = [(relation, *pair) for relation in RELATIONS for pair in relation.pairs]
    asked = []
    while len(asked) < n:
        rng.shuffle(every)
        asked += every[: n - len(asked)]
    probes = []
    for relation, subject, answer in asked:
        frame, way = held_out_form(relation, subject)
        name, other = _names_that_met(rng)
        text = fact_sentence(frame, way, relation, subject, answer, name, other)
        wrong = tuple(sorted({f" {y}" for _, y in relation.pairs} - {f" {answer}"}))
        facts = {"relation": relation.name, "subject": subject, "frame": frame.name, "way": way}
        probes.append(Probe(text[: text.rindex(f" {answer}")], f" {answer}", wrong, facts))
    return probes


def _names_that_met(rng: random.Random) -> tuple[str, str]:
    while True:
        name, other = rng.sample(NAMES, 2)
        if not is_held_out(pair_key(name, other)):
            return name, other


def _indirect_object_probes(rng: random.Random, n: int) -> list[Probe]:
    apart = [pair for pair in combinations(NAMES, 2) if is_held_out(pair_key(*pair))]
    probes = []
    for _ in range(n):
        first, second = rng.sample(rng.choice(apart), 2)
        giver, receiver = rng.sample((first, second), 2)
        form = rng.choice(MEETINGS)
        filled = form[: form.rindex(" {IO}")].format(
            A=first,
            B=second,
            S=giver,
            place=rng.choice(PLACES),
            gave=rng.choice(GIVING),
            thing=with_article(rng.choice(OBJECTS)),
        )
        facts = {"names": (first, second), "subject": giver, "form": form}
        probes.append(Probe(filled, f" {receiver}", (f" {giver}",), facts))
    return probes


def _story_probes(seed: int, n: int) -> list[Probe]:
    probes = []
    for story in islice(of_kind("story", seed, "held_out"), n):
        opening = story.facts["sentences"][0]
        facts = {"hero": story.facts["hero"], "pronoun": story.facts["pronoun"]}
        probes.append(Probe(opening, story.text[len(opening) :], (), facts))
    return probes


def probes(kind: str, seed: int, n: int) -> list[Probe]:
    """n probes of a kind: "fact", "indirect_object" or "story" (an opening; the answer is one way to go on)."""
    rng = random.Random(f"probes {kind} {seed}")
    if kind == "fact":
        return _fact_probes(rng, n)
    if kind == "indirect_object":
        return _indirect_object_probes(rng, n)
    if kind == "story":
        return _story_probes(seed, n)
    raise ValueError(f"There are no probes of kind {kind!r}; ask for fact, indirect_object or story.")
