"""`nats` is the true -log p(text): a text comes from one sequence of choices, and all texts together have p = 1."""

import math
import random
from itertools import islice

import pytest

from utils.pocket.world import documents, facts, of_kind, patterns, story
from utils.pocket.world.lexicon import LISTS
from utils.pocket.world.plots import PLOTS
from utils.pocket.world.streams import KINDS, WEIGHTS, tell
from utils.pocket.world.teller import Slot, Teller


class Walker(Teller):
    """Takes every sequence of choices in turn instead of drawing one: the whole grammar, leaf by leaf."""

    def __init__(self):
        self.path, self.sizes = [], []
        self.split = None
        self.begin()

    def _take(self, n):
        if self.at == len(self.path):
            self.path.append(0)
            self.sizes.append(n)
        self.at += 1
        return self.path[self.at - 1]

    def index(self, n):
        self.nats += math.log(n)
        return self._take(n)

    def weighted(self, weights):
        place = self._take(len(weights))
        self.nats -= math.log(weights[place] / sum(weights))
        return place

    def leaves(self, tell):
        while True:
            self.begin()
            self.at = 0
            tell(self)
            yield self.text(), self.nats
            while self.path and self.path[-1] + 1 == self.sizes[-1]:
                self.path.pop()
                self.sizes.pop()
            if not self.path:
                return
            self.path[-1] += 1


def all_texts(tell):
    """Every text with its nats; a text that can be told in two ways would come twice."""
    leaves = list(Walker().leaves(tell))
    texts = dict(leaves)
    assert len(texts) == len(leaves), "one text has two derivations"
    assert math.fsum(math.exp(-nats) for nats in texts.values()) == pytest.approx(1)
    return texts


def slots_of(groups):
    return [part for variants in groups for form in variants for part in form.parts if isinstance(part, Slot)]


@pytest.fixture
def few_words(monkeypatch):
    """The same grammar with few words, so that all of it can be told."""
    for module in (facts, patterns, story):
        monkeypatch.setattr(module, "NAMES", ["Tom", "Anna", "Ben"])
    for name in ("PLACES", "OBJECTS", "ANIMALS", "GOODS", "LOOKS", "LINKS", "ADJECTIVES", "GIVING", "FULL_NAMES"):
        monkeypatch.setattr(patterns, name, list(getattr(patterns, name))[:2])
    monkeypatch.setattr(patterns, "BINOMIALS", patterns.BINOMIALS[:2])
    monkeypatch.setattr(patterns, "COUNTED", patterns.COUNTED[:2])
    for name in list(LISTS):
        if name != "names":
            monkeypatch.setitem(LISTS, name, LISTS[name][:2])


def test_facts_are_exact(few_words):
    assert len(all_texts(facts.tell_fact)) > 5000


def test_indirect_objects_are_exact(few_words):
    assert len(all_texts(patterns.tell_meeting)) == 8 * 3 * 2 * 2 * 2 * 2 * 2 * 4


def test_agreement_is_exact(few_words):
    all_texts(lambda teller: teller.say(patterns._agreement(teller)))


@pytest.mark.parametrize("form", [patterns._quoted, patterns._aside, patterns._in_order])
def test_small_patterns_are_exact(form, few_words):
    all_texts(form)


def test_pairs_are_exact(few_words):
    all_texts(patterns.tell_pairs)


@pytest.mark.parametrize("plot", PLOTS)
def test_stories_are_exact_and_counted(plot, monkeypatch):
    """For each group of the plot: every way to tell it, with two words a list, the others told in one way."""
    monkeypatch.setattr(story, "PLOT_NAMES", (plot,))
    monkeypatch.setattr(story, "NAMES", ["Tom", "Anna"])
    monkeypatch.setattr(story, "BONDS", {"boy": ["friend", "brother"], "girl": ["friend", "sister"]})
    for module in (facts, story):
        monkeypatch.setattr(module, "RELATIONS", facts.RELATIONS[:1])
    monkeypatch.setattr(facts, "_WEIGHTS", [1])
    whole, words = story.sentences(plot), dict(LISTS)
    need_two = {slot.source for slot in slots_of(whole) if slot.unlike}
    for place, variants in enumerate(whole):
        one_way = tuple(group if at == place else group[-1:] for at, group in enumerate(whole))
        monkeypatch.setattr(story, "sentences", lambda _, one_way=one_way: one_way)
        varied = {slot.source for slot in slots_of([variants])} | need_two
        for name, options in words.items():
            monkeypatch.setitem(LISTS, name, options[: 2 if name in varied else 1])
        assert len(all_texts(story.tell_story)) == story.count_stories(plot) >= 2


def test_a_text_told_twice_has_the_same_probability():
    seen = {}
    for document in islice(documents(1), 30_000):
        assert seen.setdefault(document.text, document.nats) == pytest.approx(document.nats)
    assert len(seen) < 30_000, "no text came twice, so nothing was tested"


@pytest.mark.parametrize("kind", KINDS)
def test_the_choice_of_kind_is_counted(kind):
    """Among all documents a text costs what it costs alone: the kind is paid for in both."""
    one = next(of_kind(kind, 2))
    assert one.nats > -math.log(WEIGHTS[KINDS.index(kind)] / sum(WEIGHTS))
    assert one.nats == pytest.approx(next(of_kind(kind, 2)).nats)


def test_frequencies_follow_the_reported_probabilities():
    """Texts that one sample found likely come in another sample as often as their probabilities say."""
    n = 30_000
    probability = {}
    for document in told_facts(seed=11, n=n):
        if document.nats < math.log(8_000):
            probability[document.text] = math.exp(-document.nats)
    expected = n * sum(probability.values())
    found = sum(document.text in probability for document in told_facts(seed=12, n=n))
    assert expected > 300 and abs(found - expected) < 5 * math.sqrt(expected)


def told_facts(seed, n):
    """Facts of the whole world, neither split thrown away."""
    teller = Teller(random.Random(seed))
    return (tell(teller, "fact", 0.0) for _ in range(n))
