"""Lines in the plane: where they cross is said in the drawing and in words, also where they do not."""

import pytest

from utils import show
from utils.show.problem import ShowProblem

WORDS = {"title": "t", "note": "n"}


def crossings(figure):
    return [(trace["x"][0], trace["y"][0]) for trace in figure.data if trace["name"] == "crossing"]


def test_two_lines_cross_in_one_point():
    figure = show.equations({"a": (5, 1, 15), "b": (1, -1, 3)}, **WORDS)
    assert crossings(figure) == [(3, 0)]
    assert "a and b: cross at (3, 0)" in str(figure)


def test_parallel_lines_and_the_same_line_twice_have_no_crossing():
    figure = show.equations({"a": (1, 2, 3), "b": (2, 4, 7), "c": (-2, -4, -6)}, **WORDS)
    assert crossings(figure) == []
    assert "a and b: parallel" in str(figure) and "a and c: the same line" in str(figure)


@pytest.mark.parametrize("line, ends", [((1, 0, 2), {(2, -5), (2, 5)}), ((0, 1, 2), {(-5, 2), (5, 2)})])
def test_upright_and_level_lines_go_from_edge_to_edge(line, ends):
    (drawn,) = show.equations({"a": line}, **WORDS).data
    assert set(zip(drawn["x"], drawn["y"], strict=True)) == ends


def test_a_line_outside_the_picture_is_named_and_not_drawn():
    figure = show.equations({"a": (1, 0, 20)}, **WORDS)
    assert figure.data[0]["x"] == [] and "outside the picture" in str(figure)


@pytest.mark.parametrize("line", [(0, 0, 1), (1, 2), (1, float("nan"), 2)])
def test_what_is_no_line_is_refused(line):
    with pytest.raises(ShowProblem, match="ax \\+ by = c"):
        show.equations({"a": line}, **WORDS)


def test_no_lines_are_refused():
    with pytest.raises(ShowProblem, match="should be a dict"):
        show.equations({}, **WORDS)
