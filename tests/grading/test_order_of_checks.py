"""The checks run in a fixed order, and the first that fails decides."""

import pytest
import torch

from utils.exercises import UnknownExercise, exercise
from utils.grading import check
from utils.grading.verdict import STAGES

scores = exercise("05.2").solution


def printed_and_nothing_returned(q, k):
    print(scores(q, k).shape)


def in_place(q, k):
    q.mul_(k.shape[-1] ** -0.5)
    return torch.einsum("bqhd,bkhd->bhqk", q, k)


ANSWERS = {
    "there": None,
    "callable": 3.0,
    "signature": lambda q: q,
    "runs": lambda q, k: q @ k,
    "type": printed_and_nothing_returned,
    "shape": lambda q, k: scores(q, k)[0],
    "dtype": lambda q, k: scores(q, k).double(),
    "untouched": in_place,
    "finite": lambda q, k: scores(q, k) * torch.nan,
    "reference": lambda q, k: scores(q, k) + scores(q, k) ** 2,
    "fresh": lambda q, k: torch.einsum("bqhd,bkhd->bhqk", q, k) / 32**0.5,
    "passed": scores,
}


@pytest.mark.parametrize("stage", ANSWERS)
def test_stage(stage):
    verdict = check("05.2", ANSWERS[stage])
    assert verdict.stage == stage, verdict.message
    assert verdict.passed == (stage == "passed")
    assert verdict.message


def test_forbidden_call_is_told_before_its_values_are_looked_at():
    def answer(x, *weights):
        return torch.nn.functional.scaled_dot_product_attention(x, x, x)

    verdict = check("05.7", answer)
    assert verdict.stage == "allowed"
    assert "scaled_dot_product_attention" in verdict.message


def test_property_comes_last():
    verdict = check("05.7", lambda x, *weights: exercise("05.7").solution(x, *weights).detach())
    assert verdict.stage == "property"
    assert verdict.diagnosis == "no_gradient"


def test_every_stage_is_named():
    assert {*ANSWERS, "allowed", "property", "device"} == set(STAGES)


def test_name_or_id():
    assert check("attention_scores", scores).exercise == "05.2"
    with pytest.raises(UnknownExercise, match="attention_scores"):
        check("attention_score", scores)


def test_expected_value_is_computed_after_the_answer(monkeypatch):
    from utils.grading import trial

    order, compute = [], trial._oracle_result
    monkeypatch.setattr(trial, "_oracle_result", lambda *args: order.append("expected") or compute(*args))
    check("05.2", lambda q, k: order.append("answer") or scores(q, k))
    assert order and order == ["answer", "expected"] * (len(order) // 2)


def test_check_is_a_function_whatever_was_imported_before():
    import utils.grading
    import utils.grading.checking

    assert utils.grading.check is utils.grading.checking.check


def test_shapes_carry_axis_names():
    verdict = check("05.2", lambda q, k: scores(q, k).transpose(1, 2))
    assert [name for name, _ in verdict.wanted_shape] == ["batch", "n_heads", "query_pos", "key_pos"]
    assert verdict.got_shape != verdict.wanted_shape
    assert verdict.diagnosis == "transposed"


def test_first_bad_index_is_named():
    def one_wrong(q, k):
        out = scores(q, k)
        out[1, 2, 4, 3] += 1
        return out

    index = dict(check("05.2", one_wrong).mismatch.index)
    assert index == {"batch": 1, "n_heads": 2, "query_pos": 4, "key_pos": 3}
