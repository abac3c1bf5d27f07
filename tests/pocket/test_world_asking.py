"""Probes ask what was never trained on word for word, with the right answer and wrong ones of the same sort."""

from itertools import islice

import pytest

from utils.pocket.world import check_story, documents, probes
from utils.pocket.world.facts import RELATION, held_out_form
from utils.pocket.world.teller import is_held_out, pair_key
from utils.reference import tokenizer


@pytest.fixture(scope="module")
def training_text():
    return [document.text for document in islice(documents(31), 30_000)]


@pytest.mark.parametrize("kind", ["fact", "indirect_object", "story"])
def test_probes_are_seeded(kind):
    assert probes(kind, 1, 40) == probes(kind, 1, 40)
    assert probes(kind, 1, 40) != probes(kind, 2, 40)
    assert len(probes(kind, 1, 40)) == 40


def test_every_fact_is_asked_once_before_any_is_asked_twice():
    number = sum(len(relation.pairs) for relation in RELATION.values())
    asked = [(probe.facts["relation"], probe.facts["subject"]) for probe in probes("fact", 1, number)]
    assert len(set(asked)) == number > 250


def test_facts_are_asked_in_their_held_out_form_and_answered_right():
    for probe in probes("fact", 2, 300):
        relation = RELATION[probe.facts["relation"]]
        frame, way = held_out_form(relation, probe.facts["subject"])
        assert (probe.facts["frame"], probe.facts["way"]) == (frame.name, way)
        assert (probe.facts["subject"], probe.answer.strip()) in relation.pairs
        assert probe.answer not in probe.wrong and len(probe.wrong) >= 6


@pytest.mark.parametrize("kind", ["fact", "indirect_object", "story"])
def test_no_training_text_begins_with_a_probe_and_its_answer(kind, training_text):
    asked = tuple(probe.prompt + probe.answer for probe in probes(kind, 3, 400))
    assert not any(text.startswith(asked) for text in training_text)


def test_indirect_objects_have_names_held_apart_in_either_order():
    sample = probes("indirect_object", 4, 400)
    for probe in sample:
        first, second = probe.facts["names"]
        assert is_held_out(pair_key(first, second))
        assert {probe.answer.strip(), probe.wrong[0].strip()} == {first, second}
        assert probe.wrong == (f" {probe.facts['subject']}",)
    assert 100 < sum(probe.answer.strip() == probe.facts["names"][0] for probe in sample) < 300


def test_a_name_to_be_answered_is_one_token():
    answers = [probe.answer for probe in probes("indirect_object", 5, 100)]
    assert {len(ids) for ids in tokenizer()(answers)["input_ids"]} == {1}


def test_a_story_probe_opens_a_story_that_its_answer_ends():
    for probe in probes("story", 6, 50):
        assert probe.facts["hero"] in probe.prompt
        assert all(check_story(probe.prompt + probe.answer, probe.facts).values())


def test_prompts_end_where_a_token_ends():
    """The prompt's tokens are the first tokens of the whole text, so a model meets what it was trained on."""
    for kind in ("fact", "indirect_object", "story"):
        for probe in probes(kind, 7, 100):
            prompt, whole = (
                tokenizer()(probe.prompt)["input_ids"],
                tokenizer()(probe.prompt + probe.answer)["input_ids"],
            )
            assert whole[: len(prompt)] == prompt


def test_an_unknown_kind_is_named():
    with pytest.raises(ValueError, match="'poem'.*indirect_object"):
        probes("poem", 0, 1)
