"""Tensors of any dtype and device, arrays, lists: all become the same figure."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from utils.show.problem import ShowProblem
from utils.show.values import numbers, short, tidy, tidy_list

GRID = [[0.5, 2.0], [-1.0, 4.0]]


@pytest.mark.parametrize(
    "values",
    [
        GRID,
        tuple(map(tuple, GRID)),
        np.array(GRID),
        torch.tensor(GRID),
        torch.tensor(GRID, dtype=torch.bfloat16),
        torch.tensor(GRID, dtype=torch.float16),
        torch.tensor(GRID, requires_grad=True),
        torch.tensor(GRID).T.contiguous().T,
        [torch.tensor(row) for row in GRID],
        [[torch.tensor(value, requires_grad=True) for value in row] for row in GRID],
    ],
)
def test_the_same_numbers_whatever_they_come_in(values):
    np.testing.assert_array_equal(numbers(values, "row column"), GRID)


def test_whole_numbers_and_booleans_are_numbers():
    np.testing.assert_array_equal(numbers(torch.tensor([True, False]), "pos"), [1, 0])
    np.testing.assert_array_equal(numbers(range(3), "pos"), [0, 1, 2])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
def test_a_mask_fill_is_a_missing_cell(dtype):
    lowest = torch.finfo(dtype).min
    got = numbers(torch.tensor([1.0, lowest, -torch.inf, torch.nan], dtype=dtype), "key_pos")
    np.testing.assert_array_equal(got, [1, np.nan, np.nan, np.nan])


def test_float16s_floor_is_an_ordinary_number_elsewhere():
    assert numbers(torch.tensor([-65504.0]), "key_pos")[0] == -65504


@pytest.mark.parametrize(
    "values",
    [
        None,
        "text",
        3.0,
        ["a", "b"],
        [["1", "2"]],
        [[1, 2], [3]],
        {1, 2},
        object(),
        torch.zeros(2),
        torch.zeros(2, 2, 2),
        torch.zeros(0, 2),
        torch.zeros(2, 2, dtype=torch.complex64),
        torch.zeros(2, 2, device="meta"),
    ],
)
def test_anything_else_is_one_sentence_that_names_the_axes(values, one_sentence):
    with pytest.raises(ShowProblem) as problem:
        numbers(values, "row column", "values")
    assert "[row, column]" in one_sentence(problem.value)


@given(st.floats(allow_nan=False, allow_infinity=False, min_value=-1e12, max_value=1e12))
def test_tidying_changes_a_number_by_less_than_its_fourth_digit(value):
    assert abs(tidy(value) - value) <= 5.0001e-4 * abs(value)


@pytest.mark.parametrize("digits", [3, 4, 6])
def test_a_list_is_tidied_as_its_numbers_are(digits):
    rng = np.random.default_rng(0)
    values = rng.standard_normal(2000) * 10.0 ** rng.integers(-12, 12, 2000)
    assert tidy_list(values, digits) == [tidy(float(value), digits) for value in values]


def test_missing_numbers_are_null_in_json_and_a_dash_in_text():
    assert tidy_list(np.array([np.nan, np.inf, 1.0])) == [None, None, 1]
    assert short(float("nan")) == short(None) == "–"
