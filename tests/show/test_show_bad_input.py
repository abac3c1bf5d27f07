"""What a figure cannot show is one sentence that says what it wants."""

import pytest
import torch

from utils import show
from utils.errors import BookError

T = {"title": "t", "note": "n"}
XY = {"x_name": "x", "y_name": "y"}
CASES = {
    "heads of a batch": (lambda: show.heads(torch.rand(1, 2, 3, 3), "abc", **T), "[n_heads, query_pos, key_pos]"),
    "heads not square": (lambda: show.heads(torch.rand(2, 3, 4), list("abcd"), **T), "show.matrices"),
    "heads with too few tokens": (lambda: show.heads(torch.rand(2, 3, 3), ["a"], **T), "list of 3 strings"),
    "heads with a string": (lambda: show.heads(torch.rand(2, 3, 3), "abc", **T), "list of 3 strings"),
    "heads with token ids": (lambda: show.heads(torch.rand(2, 3, 3), torch.arange(3), **T), "list of 3 strings"),
    "heads too many": (lambda: show.heads(torch.rand(144, 35, 35), ["a"] * 35, **T), "fewer heads"),
    "heads with too few labels": (lambda: show.heads(torch.rand(2, 1, 1), ["a"], labels=["x"], **T), "n_heads"),
    "matrix of three axes": (lambda: show.matrix(torch.rand(2, 2, 2), **T), "[row, column]"),
    "matrix too large": (lambda: show.matrix(torch.rand(300, 300), **T), "20000 cells"),
    "matrix with too few rows named": (lambda: show.matrix([[1, 2]], rows=[], row_name="query_pos", **T), "query_pos"),
    "matrices of two axes": (lambda: show.matrices([[1]], ["a"], **T), "[panel, row, column]"),
    "lens of unequal shapes": (lambda: show.lens([[["a"]]], [[[1, 2]]], tokens=["x"], **T), "[layer, pos, k]"),
    "lens with too few tokens": (lambda: show.lens([[["a"]]], [[[1]]], tokens=[], **T), "axis pos"),
    "lines without a dict": (lambda: show.lines([1], [1], **XY, **T), "dict"),
    "lines of unequal length": (lambda: show.lines([1, 2], {"f": [1]}, **XY, **T), "'f' has 1 values"),
    "lines too long": (lambda: show.lines(range(3000), {"f": range(3000)}, **XY, **T), "every nth"),
    "a band of nothing": (lambda: show.lines([1], {"f": [1]}, band={"g": ([1], [1])}, **XY, **T), "'g'"),
    "bars of nothing": (lambda: show.bars({}, **XY, **T), "label"),
    "bars of a number": (lambda: show.bars(3, **XY, **T), "label"),
    "bars too many": (lambda: show.bars({str(i): 1 for i in range(99)}, **XY, **T), "60 bars"),
    "bars of words": (lambda: show.bars({"a": "b"}, **XY, **T), "[label, series]"),
    "bars in another number of series": (lambda: show.bars({"a": [1]}, series=["x", "y"], **XY, **T), "2 values"),
    "bars marked where none is": (lambda: show.bars({"a": 1}, marked=["b"], **XY, **T), "'b'"),
    "bars in series and marked": (lambda: show.bars({"a": [1, 2]}, series="xy", marked=["a"], **XY, **T), "not both"),
    "a histogram of nothing": (lambda: show.histogram({"a": [float("nan")]}, x_name="x", **T), "no finite number"),
    "points in space": (lambda: show.points([[1, 2, 3]], **XY, **T), "[point, 2]"),
    "points with too few groups": (lambda: show.points([[1, 2]], groups=[], **XY, **T), "0 groups"),
    "a map of space": (lambda: show.grid_map(torch.eye(3), **T), "[2, 2]"),
    "a map with a hole": (lambda: show.grid_map([[1, float("nan")], [0, 1]], **T), "finite"),
    "tokens as a string": (lambda: show.tokens("abc", **T), "list of tokens"),
    "no tokens": (lambda: show.tokens([], **T), "list of tokens"),
    "tokens with too few values": (lambda: show.tokens(["a", "b"], [1], **T), "2 places"),
    "tokens with too little below": (lambda: show.tokens(["a", "b"], below={"bytes": ["61"]}, **T), "below['bytes']"),
    "token rows with lines below": (lambda: show.tokens([["a"]], rows=["r"], below={"bytes": ["61"]}, **T), "below"),
    "token rows without a label": (lambda: show.tokens([["a"]], rows=[], **T), "rows"),
    "a table without rows": (lambda: show.table([], ["a"], **T), "at least one row"),
    "a table with a short row": (lambda: show.table([[1]], ["a", "b"], **T), "Row 0"),
    "a table with a key missing": (lambda: show.table([{"a": 1}], ["b"], **T), "'b'"),
    "a table of a string": (lambda: show.table(["ab"], ["a", "b"], **T), "Row 0"),
    "a table with a verdict too few": (lambda: show.table([[1], [2]], ["a"], verdicts=[True], **T), "2 rows"),
    "a table with a verdict of words": (lambda: show.table([[1]], ["a"], verdicts=["yes"], **T), "True, False or None"),
    "a stream of nothing": (lambda: show.stream([], start=("a", "b"), end=("c", "d"), **T), "at least one"),
    "a stream of names": (lambda: show.stream(["attention"], start=("a", "b"), end=("c", "d"), **T), "'attention'"),
    "a strip of one axis": (lambda: show.svg_heatmap([1, 2]), "[row, column]"),
    "no title": (lambda: show.matrix([[1]], title="", note="n"), "title"),
    "no note": (lambda: show.matrix([[1]], title="t", note=None), "note"),
}  # fmt: skip


@pytest.mark.parametrize("case", list(CASES))
def test_one_sentence_names_what_is_wanted(case, one_sentence):
    make, wanted = CASES[case]
    with pytest.raises(show.ShowProblem) as problem:
        make()
    assert isinstance(problem.value, BookError)
    assert wanted in one_sentence(problem.value)
