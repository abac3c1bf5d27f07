"""What a terminal, a screen reader or an untrusted notebook shows: the same facts, in at most 40 lines."""

import numpy as np
import torch

from utils import show
from utils.show import plain

WORDS = {"title": "t", "note": "n"}


def test_title_first_note_last_at_most_40_lines(figure):
    lines = str(figure).split("\n")
    assert lines[0] == "What the figure is"
    assert lines[-1] == "The one thing to see in it."
    assert 3 <= len(lines) <= 40


def test_text_is_in_every_bundle(figure):
    bundle = figure._repr_mimebundle_()
    assert bundle["text/plain"] == str(figure) == repr(figure)


def test_a_small_matrix_shows_its_numbers():
    text = str(show.matrix([[1.0, -0.25]], rows=["q"], columns=[" a", " b"], **WORDS))
    assert "·a" in text and "−0.25" in text


def test_a_wide_matrix_shows_shades_and_what_they_mean():
    text = str(show.matrix(torch.eye(20), value_name="weight", **WORDS))
    assert text.count("█") == 20 + 1 and "weight: ' ' = 0 … '█' = 1" in text


def test_masked_cells_are_crossed():
    grid = np.full((1, 20), np.nan)
    grid[0, 0] = 1
    assert plain.heatmap(grid, ["q"], [str(i) for i in range(20)]).count("×") == 19 + 1  # and once in the legend


def test_curves_give_first_last_lowest_and_highest():
    text = str(show.lines(range(100), {"f": [(x - 50) ** 2 for x in range(100)]}, x_name="x", y_name="y", **WORDS))
    rows = {line.split()[0]: line.split()[-1] for line in text.split("\n") if len(line.split()) == 2}
    assert (rows["0"], rows["99"], rows["lowest"], rows["highest"]) == ("2500", "2400", "0", "2500")


def test_bars_give_values_marks_and_baseline():
    text = str(
        show.bars(
            {"a": 0.5, "b": -0.25}, x_name="x", y_name="y", marked=["a"], marked_name="kept", baseline=0.1, **WORDS
        )
    )
    assert "a * | " + "█" * 30 + " 0.5" in text and "▒" * 15 + " −0.25" in text
    assert "* kept" in text and "baseline: 0.1" in text


def test_heads_name_each_heads_strongest_link():
    pattern = torch.zeros(2, 3, 3)
    pattern[:, 0, 0] = pattern[:, 1, 0] = 1
    pattern[0, 2, 1], pattern[1, 2, 2] = 1, 1
    text = str(show.heads(pattern, [" a", " b", " c"], **WORDS))
    assert "Head 0: 1 ·b ← 0 ·a 1   2 ·c ← 1 ·b 1" in text
    assert "Head 1: 1 ·b ← 0 ·a 1   2 ·c ← 2 ·c 1" in text
    assert "the future masked" in text


def test_many_rows_say_how_many_are_left_out():
    text = str(show.table([[i] for i in range(100)], ["i"], **WORDS))
    assert "… 67 more rows" in text
    text = str(show.heads(torch.eye(2).expand(90, 2, 2), ["a", "b"], **WORDS))
    assert "… 54 more lines" in text


def test_a_map_says_what_it_does_to_areas():
    assert "orientation is flipped" in str(show.grid_map([[0, 1], [1, 0]], **WORDS))
    assert "6 times as large" in str(show.grid_map([[2, 0], [0, 3]], **WORDS))
    assert "no way back" in str(show.grid_map([[1, 2], [2, 4]], **WORDS))


def test_tokens_without_values_are_one_line():
    assert str(show.tokens(["The", " cat", "\n"], **WORDS)) == "t\nThe | ·cat | ↵\nn"


def test_lines_below_tokens_are_columns():
    figure = show.tokens(["a", " b"], ids=[64, 275], below={"bytes": ["61", "20 62"]}, **WORDS)
    assert str(figure).split("\n")[1::2] == ["pos  token   id  bytes", "  0  a       64  61", "n"]
    assert all(words in figure.html for words in (">20 62<", "its id, bytes"))
