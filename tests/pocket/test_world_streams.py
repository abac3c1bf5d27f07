"""The streams are endless and seeded, and what is held out never stands in training text."""

from itertools import combinations, islice

import pytest

from utils.pocket.world import documents, of_kind, stories
from utils.pocket.world.facts import RELATIONS, fact_sentence, held_out_form
from utils.pocket.world.lexicon import NAMES
from utils.pocket.world.streams import KINDS
from utils.pocket.world.teller import is_held_out, pair_key


@pytest.mark.parametrize("split", ["train", "held_out"])
def test_the_same_seed_tells_the_same_documents(split):
    first = list(islice(documents(3, split), 300))
    assert first == list(islice(documents(3, split), 300))
    assert first != list(islice(documents(4, split), 300))


def test_every_kind_comes_in_both_splits():
    for split in ("train", "held_out"):
        assert {document.kind for document in islice(documents(0, split), 2000)} == set(KINDS)


def test_stories_are_stories():
    assert {document.kind for document in islice(stories(0), 50)} == {"story"}


def test_an_unknown_split_or_kind_is_named():
    with pytest.raises(ValueError, match="'test'.*train, held_out"):
        next(documents(0, "test"))
    with pytest.raises(ValueError, match="'poem'.*story"):
        next(of_kind("poem", 0))


def test_names_held_apart_never_meet_in_training_text():
    names = set(NAMES)
    for document in islice(documents(5), 20_000):
        met = {word.strip(".,?!'\"") for word in document.text.split()} & names
        for pair in combinations(met, 2):
            asked_apart = document.kind == "fact" and not _meet_in_one_sentence(document.text, pair)
            assert asked_apart or not is_held_out(pair_key(*pair)), document.text


def _meet_in_one_sentence(text, pair):
    return f"Once {pair[0]} asked {pair[1]}," in text or f"Once {pair[1]} asked {pair[0]}," in text


def test_held_out_stories_hold_a_combination_that_training_never_has():
    def kept_apart(facts):
        return is_held_out(pair_key(facts["hero"], facts["pal"])) or is_held_out(
            f"story:{facts['hero']}:{facts['plot']}"
        )

    assert all(kept_apart(story.facts) for story in islice(stories(6, "held_out"), 500))
    assert not any(kept_apart(story.facts) for story in islice(stories(6, "train"), 5000))


def test_no_fact_stands_in_training_text_in_its_held_out_form():
    by_name = {relation.name: relation for relation in RELATIONS}
    forms_seen = {}
    for document in islice(of_kind("fact", 7), 20_000):
        for fact in document.facts["facts"]:
            relation = by_name[fact["relation"]]
            frame, way = held_out_form(relation, fact["subject"])
            forms_seen.setdefault((fact["relation"], fact["subject"]), set()).add(fact["frame"])
            assert (fact["frame"], fact["way"]) != (frame.name, way)
            if "{name}" not in frame.form:
                asked = fact_sentence(frame, way, relation, fact["subject"], fact["answer"])
                assert not document.text.startswith(asked)
    assert len(forms_seen) == sum(len(relation.pairs) for relation in RELATIONS)
    assert min(map(len, forms_seen.values())) >= 6


def test_no_held_out_document_is_ever_told_in_training():
    held_out = {document.text for document in islice(documents(8, "held_out"), 3000)}
    assert held_out.isdisjoint(document.text for document in islice(documents(9, "train"), 30_000))
