"""Float64 rounded on the way is said to be so, and a single number is no multiple of another without a reason."""

import math

import torch

from utils.grading.general import Scene, find

WANT = torch.randn(3, 4, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


def test_float64_rounded_on_the_way_is_named():
    assert [key for key, _ in find(Scene(WANT.float().double(), WANT))] == ["float32_inside"]


def test_a_float32_result_is_not_called_rounded():
    assert find(Scene(WANT.float() + 0.1 * WANT.float().sin(), WANT.float())) == []


def test_a_real_mistake_in_float64_is_not_called_rounded():
    assert "float32_inside" not in dict(find(Scene(WANT * (1 + 1e-3), WANT)))


def test_one_number_times_anything_is_no_finding():
    assert find(Scene(torch.tensor(1.7), torch.tensor(2.3))) == []


def test_one_number_times_a_known_factor_is_one():
    assert "ln 2" in dict(find(Scene(torch.tensor(2.3 / math.log(2)), torch.tensor(2.3))))["factor"]


def test_an_axis_without_a_name_is_counted_in_words():
    got = WANT + 1
    got[:, 0] = WANT[:, 0]
    finding = dict(find(Scene(got, WANT, axes=("batch", "axis 1"))))["first_axis_1_only"]
    assert "Only 0 on axis 1 is right" in finding
