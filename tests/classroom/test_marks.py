"""Marks go through JSON and come back the same, and no hidden input goes with them."""

import json
import math

import pytest

from utils.classroom import marks
from utils.grading.report import to_html, to_text
from utils.grading.verdict import Mismatch, Verdict

WHERE = (("batch", 1), ("pos", 2))


def verdict(stage="fresh", **given):
    return Verdict("05.2", "attention scores", False, stage, "Nothing divides by √d_head.", **given)


def through_json(data):
    return json.loads(json.dumps(data, allow_nan=False))


def test_a_graded_notebook_comes_back():
    kept = marks.verdict_as_json(verdict(diagnosis="no_scale", also=("off_by_factor",)))
    mark = marks.ExerciseMark("05.2", "failed", kept, 0.25, "def attention_scores(q, k): ...")
    graded = marks.Graded("Ann Onym", "05_attention", "ab12", (mark,), ("The notebook was renamed.",), 1.5)
    assert marks.Graded.from_json(through_json(graded.as_json())) == graded


def test_a_submission_and_a_notebook_come_back():
    sent = marks.Submission("ann", "ann/05.ipynb", 2, "2031-01-31T12:00:00+00:00", {"05_attention": "ab"}, ("Odd.",))
    assert marks.Submission.from_json(through_json(sent.as_json())) == sent
    notebook = marks.Notebook("05_attention", (marks.Cell("a", "code", "x = 1\ud800", "05.1"),), ("Odd.",))
    assert marks.Notebook.from_json(through_json(notebook.as_json())) == notebook


def test_the_digest_is_of_what_is_graded():
    cells = (marks.Cell("a", "code", "x = 1"), marks.Cell("b", "code", "y = 1"))
    digest = marks.Notebook("05_attention", cells).digest
    assert marks.Notebook("05_attention", cells, ("A note.",)).digest == digest
    assert marks.Notebook("05_attention", cells[::-1]).digest != digest
    assert marks.Notebook("06_mlp", cells).digest != digest


@pytest.mark.parametrize("value", [0.5, math.inf, -math.inf, 3, True, "text", None])
def test_a_value_on_the_reference_comes_back(value):
    found = Mismatch(WHERE, value, 1.5, 2, 6, math.inf, 1e-6, ((0.0, 1.0), (-1.0, 0.5)), ("batch", "pos"))
    before = verdict("reference", mismatch=found, wanted_shape=WHERE, got_shape=WHERE, checked=("one", "two"))
    assert marks.verdict_from_json("05.2", through_json(marks.verdict_as_json(before))) == before


def test_nan_comes_back():
    before = verdict("reference", mismatch=Mismatch(WHERE, math.nan, 1.5, 2, 6))
    assert math.isnan(marks.verdict_from_json("05.2", through_json(marks.verdict_as_json(before))).mismatch.got)


@pytest.mark.parametrize("index", [WHERE, ()], ids=["a tensor", "one number"])
@pytest.mark.parametrize("stage", ["fresh", "property", "finite"])
def test_of_fresh_inputs_no_value_is_told(stage, index):
    hidden = verdict(
        stage,
        printed="SECRET 31.25",
        evidence="It has another sign. It was called with x (2, 3), n = 31.25.",
        mismatch=Mismatch(index, 31.25, 31.25, 1, 1),
    )
    kept = marks.verdict_as_json(hidden)
    again = marks.verdict_from_json("05.2", kept)
    for text in (json.dumps(kept), to_text(again), to_html(again)):
        assert "31.25" not in text and "SECRET" not in text and "None" not in text
    assert "It has another sign." in to_text(again)
