"""Mistakes that any exercise can show are told from the values, with their evidence."""

import math

import pytest
import torch

from utils.grading.general import Scene, dtype_note, find

WANT = torch.randn(2, 4, 5, 3, generator=torch.Generator().manual_seed(0))
AXES = ("batch", "n_heads", "pos", "d_head")
SIZES = {"batch": 2, "n_heads": 4, "pos": 5, "d_head": 32}


def scene(got, want=WANT, **more):
    axes = AXES[: want.ndim]
    return Scene(got, want, axes, SIZES, **more)


def with_nan():
    out = WANT.clone()
    out[0, 0, 0] = torch.nan
    return out


def only(axis, index):
    out = WANT + 1
    out.select(axis, index).copy_(WANT.select(axis, index))
    return out


def except_for(axis, index):
    out = WANT.clone()
    out.select(axis, index).add_(
        torch.arange(out.select(axis, index).numel()).reshape(out.select(axis, index).shape) + 1
    )
    return out


MISTAKES = {
    "factor by √d_head": (WANT * math.sqrt(32), "factor", "√d_head"),
    "factor 1/d_head": (WANT / 32, "factor", "1/d_head"),
    "a factor of no name": (WANT * 1.77, "factor", "1.77"),
    "sign": (-WANT, "sign", "opposite"),
    "offset": (WANT + 0.25, "offset", "plus 0.25"),
    "bias": (WANT + torch.tensor([1.0, -2.0, 3.0]), "bias", "d_head"),
    "transposed": (WANT.transpose(1, 2), "transposed", "pos"),
    "permuted": (WANT.permute(1, 2, 0, 3), "permuted", "n_heads"),
    "missing batch axis": (WANT[0], "first_only", "batch"),
    "summed away": (WANT.sum(1), "summed_away", "n_heads"),
    "averaged away, kept as 1": (WANT.mean(1, keepdim=True), "averaged_away", "n_heads"),
    "extra axis": (WANT[:, None], "extra_axis", "squeeze(1)"),
    "flat": (WANT.flatten(2), "shape_only", "(2, 4, 5, 3)"),
    "shifted": (WANT.roll(1, 2), "shifted", "one place too late"),
    "shifted back": (WANT.roll(-1, 2), "shifted", "one place too early"),
    "reversed": (WANT.flip(2), "reversed", "pos"),
    "batch 0 only": (only(0, 0), "first_batch_only", "batch 0"),
    "last row wrong": (except_for(2, 4), "last_pos_wrong", "pos 4"),
    "first row wrong": (except_for(2, 0), "first_pos_wrong", "pos 0"),
    "nan rows": (with_nan(), "nan_rows", "1 whole row is NaN"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_named_with_evidence(name):
    got, key, evidence = MISTAKES[name]
    found = find(scene(got.contiguous()))
    assert found, "nothing was found"
    assert found[0][0] == key
    assert evidence in found[0][1]


def test_offset_names_the_argument_that_it_is():
    found = find(scene(WANT + 0.1, constants={"eps": 0.1}))
    assert found[0][0] == "offset" and "eps" in found[0][1]


def test_noise_is_not_explained():
    noise = torch.randn(WANT.shape, generator=torch.Generator().manual_seed(1))
    assert find(scene(noise)) == []


def test_right_values_of_another_dtype():
    assert dtype_note(WANT.half(), WANT)[0] == "dtype"
    assert dtype_note(WANT, WANT.double())[0] == "dtype"
    assert dtype_note((WANT + 1).half(), WANT) is None


def test_another_result_at_each_call_is_named_before_its_values_are_looked_at():
    from utils.exercises import exercise
    from utils.grading import check

    scores = exercise("05.2").solution
    assert check("05.2", lambda q, k: scores(q, k) + torch.randn(())).diagnosis == "changes"


def test_a_factor_is_not_explained_by_the_number_of_texts():
    found = find(scene(WANT * 2))
    assert found[0][0] == "factor" and "batch" not in found[0][1]


def test_a_factor_of_two_is_not_said_twice():
    found = find(Scene(WANT * 2, WANT, AXES, {"d_head": 32}))
    assert found[0][0] == "factor" and "that is" not in found[0][1]


def test_a_single_number_may_be_too_large_by_the_number_of_texts():
    mean = torch.tensor(1.37, dtype=torch.float64)
    found = find(Scene(mean * 5, mean, (), {"batch": 5, "pos": 4}))
    assert found[0][0] == "factor" and "batch" in found[0][1]
    assert find(Scene(mean * 5.002, mean, (), {"batch": 5, "pos": 4})) == []


def test_a_few_wrong_cells_in_one_text_are_not_the_first_text_used_for_all():
    got = WANT.clone()
    got[1, 0, 0] += 1
    assert "first_batch_only" not in [key for key, _ in find(scene(got))]


def test_the_first_rank_alone_says_nothing_of_the_others():
    want = torch.tensor([[7, 3, 5], [2, 9, 4]])
    assert find(Scene(want[:, [0, 2, 1]], want, ("batch", "k"))) == []


@pytest.mark.parametrize("filler", [-1e9, 0.0, torch.finfo(torch.float32).min])
def test_a_number_where_minus_infinity_is_wanted(filler):
    want = WANT.masked_fill(WANT > 1, -torch.inf)
    found = find(scene(WANT.masked_fill(WANT > 1, filler), want))
    assert found[0][0] == "not_infinite"
    assert "not_infinite" not in [key for key, _ in find(scene(WANT + 1, want))]


def test_a_tensor_of_one_value_is_not_called_a_python_number():
    from utils.exercises import exercise
    from utils.grading import check

    loss = exercise("07.6").solution
    verdict = check("07.6", lambda logits, tokens: loss(logits, tokens)[None])
    assert not verdict.passed and verdict.stage == "shape"
    assert "python_number" not in (verdict.diagnosis, *verdict.also)


def test_two_axes_of_one_name_are_told_apart_by_their_places():
    square = torch.randn(4, 4, generator=torch.Generator().manual_seed(2))
    assert find(Scene(square.T.contiguous(), square, ("n", "n")))[0] == (
        "transposed",
        "Your values are right, but axes 0 and 1 have changed places: transpose them.",
    )


def test_a_lost_dtype_is_not_also_called_a_factor():
    from utils.exercises import exercise
    from utils.grading import check

    def in_float32(x, *others):
        return exercise("00.1").solution(x.float() if x.dtype == torch.bfloat16 else x, *others)

    verdict = check("00.1", in_float32)
    assert verdict.diagnosis == "dtype" and "bfloat16" in verdict.message and "same factor" not in verdict.message
