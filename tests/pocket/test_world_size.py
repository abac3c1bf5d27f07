"""The world is large enough to be worth learning and small enough for four layers."""

from itertools import islice

import pytest

from utils.pocket.world import documents
from utils.pocket.world.lexicon import LISTS, NAMES
from utils.pocket.world.plots import PLOTS
from utils.pocket.world.story import count_stories
from utils.pocket.world.streams import KINDS
from utils.reference import tokenizer

SHARES = {"story": 0.55, "fact": 0.15, "ioi": 0.10, "list": 0.07, "agreement": 0.05, "brackets": 0.05, "pair": 0.03}


@pytest.fixture(scope="module")
def sample():
    told = list(islice(documents(0), 20_000))
    return told, tokenizer()([document.text for document in told])["input_ids"]


def test_there_are_enough_distinct_tokens_and_not_too_many(sample):
    assert 1500 <= len({token for ids in sample[1] for token in ids}) <= 2500


def test_every_document_fits_in_the_context_with_room_for_its_ends(sample):
    assert max(map(len, sample[1])) + 2 <= 250


def test_stories_have_the_length_of_little_stories(sample):
    lengths = [len(ids) for document, ids in zip(*sample, strict=True) if document.kind == "story"]
    assert 60 <= min(lengths) and max(lengths) <= 180


def test_each_kind_has_its_share_of_the_tokens(sample):
    tokens = dict.fromkeys(KINDS, 0)
    for document, ids in zip(*sample, strict=True):
        tokens[document.kind] += len(ids) + 1
    for kind, share in SHARES.items():
        assert tokens[kind] / sum(tokens.values()) == pytest.approx(share, abs=0.012), kind


def test_there_are_more_than_a_billion_stories():
    counts = {plot: count_stories(plot) for plot in PLOTS}
    assert len(counts) >= 12 and min(counts.values()) > 10**9


def test_a_name_is_one_token_wherever_it_stands():
    assert {len(ids) for ids in tokenizer()([f" {name}" for name in NAMES])["input_ids"]} == {1}


@pytest.mark.parametrize("name", LISTS)
def test_no_list_holds_a_word_twice(name):
    options = [tuple(option.items()) if isinstance(option, dict) else option for option in LISTS[name]]
    assert len(set(options)) == len(options)
