"""The hard lines are the same everywhere, hold what is hard, and nothing on which right tokenizers may differ."""

import unicodedata
from collections import Counter

import pytest

from utils.exercises.ch02 import _all_ranks, _gpt2, encode
from utils.reference import tokenizer
from utils.tokens import hard_lines

LINES = hard_lines(2_000)


def test_a_seed_gives_the_same_lines_and_another_gives_others():
    assert hard_lines(2_000) == LINES
    assert hard_lines(5) == LINES[:5]
    assert hard_lines(5, seed=1) != LINES[:5]
    assert LINES[:2] == ["\t\tésooiéEo\t\tI\t\t\u2028", "\xa0;  TiTaur\t\t\x0b"]


@pytest.mark.parametrize(
    "hard",
    ["'s", "’s", "'LL", "  ", "\t", "\r\n", "\u3000", "1969", "½", "👍🏽", "\u200d", "مرحبا", "你好", "<|endoftext|>",
     "<|endoftext| ", "def f(x)", "e\u0301"],
)  # fmt: skip
def test_what_is_hard_comes_up(hard):
    assert any(hard in line for line in LINES)


def test_they_are_text_that_every_library_knows():
    kinds = Counter(unicodedata.category(character) for line in LINES for character in line)
    assert not {"Cn", "Cs"} & set(kinds)
    assert {"Lu", "Ll", "Lo", "Mn", "Nd", "No", "Zs", "Cc", "So"} <= set(kinds)
    assert all(line.encode("utf-8").decode("utf-8") == line for line in LINES)


def test_the_books_encoder_agrees_with_gpt2s_on_them():
    ranks, vocab = _all_ranks(), _gpt2()[0]
    assert [encode(line, ranks, vocab) for line in LINES] == tokenizer()(LINES)["input_ids"]
