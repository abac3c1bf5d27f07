"""A reader can see a space, a newline, and which of two equal tokens is meant."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from utils.show.problem import ShowProblem
from utils.show.words import clipped, distinct, labels_for, positioned, visible


@pytest.mark.parametrize(
    ("token", "seen"),
    [
        (" cat", "·cat"),
        ("cat ", "cat·"),
        ("  ", "··"),
        ("\n", "↵"),
        (" \n", "·↵"),
        ("\t", "⇥"),
        ("\x00", "\\x00"),
        ("", "(empty)"),
        ("layer 0", "layer 0"),
        ("é", "é"),
        (3, "3"),
    ],
)
def test_blanks_show(token, seen):
    assert visible(token) == seen


@given(st.text())
def test_what_is_shown_can_be_printed_on_one_line(token):
    assert visible(token).isprintable()


@given(st.lists(st.sampled_from([" a", "a", "\n", " b"]), min_size=1, max_size=8))
def test_no_two_labels_are_alike(tokens):
    assert len(set(distinct(tokens))) == len(tokens)


def test_positions_stand_in_front():
    assert positioned(["The", " cat"]) == ["0 The", "1 ·cat"]


def test_labels_have_to_fit(one_sentence):
    for labels in (["a"], "ab"):
        with pytest.raises(ShowProblem) as problem:
            labels_for(labels, 2, "key_pos")
        assert "key_pos" in one_sentence(problem.value)


def test_a_long_label_ends_in_an_ellipsis():
    assert clipped("abcdef", 4) == "abc…"
    assert clipped("abcd", 4) == "abcd"
