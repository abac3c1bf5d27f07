"""Chapter 00's answers, against plain loops over numbers."""

import itertools

import pytest
import torch

from utils.exercises.ch00 import causal_grid, center_rows, merge_heads, pairwise_dots, pick, split_heads


@pytest.fixture
def numbers():
    generator = torch.Generator().manual_seed(3)
    return lambda *shape: torch.randn(*shape, generator=generator, dtype=torch.float64)


@pytest.mark.parametrize("shape", [(5,), (3, 4), (2, 3, 4), (2, 1, 3, 1)])
def test_every_row_loses_its_own_mean(numbers, shape):
    x = numbers(*shape) + 3
    centered = center_rows(x)
    for where in itertools.product(*map(range, shape[:-1])):
        row = x[where].tolist()
        wanted = [value - sum(row) / len(row) for value in row]
        assert centered[where].tolist() == pytest.approx(wanted)


def test_a_head_is_a_stretch_of_the_row(numbers):
    x = numbers(2, 3, 12)
    heads = split_heads(x, 4)
    assert heads.shape == (2, 3, 4, 3)
    for b, p, h, d in itertools.product(range(2), range(3), range(4), range(3)):
        assert heads[b, p, h, d] == x[b, p, 3 * h + d]


def test_heads_put_together_are_the_row(numbers):
    x = numbers(2, 3, 12)
    for n_heads in (1, 3, 12):
        assert torch.equal(merge_heads(split_heads(x, n_heads)), x)


def test_every_row_meets_every_row_of_its_own_text(numbers):
    q, k = numbers(2, 3, 5), numbers(2, 4, 5)
    dots = pairwise_dots(q, k)
    for b, i, j in itertools.product(range(2), range(3), range(4)):
        wanted = sum(x * y for x, y in zip(q[b, i].tolist(), k[b, j].tolist(), strict=True))
        assert float(dots[b, i, j]) == pytest.approx(wanted)


def test_the_index_picks_in_its_own_row(numbers):
    values, index = numbers(2, 3, 4), torch.tensor([[0, 3, 1], [2, 2, 0]])
    picked = pick(values, index)
    for b, p in itertools.product(range(2), range(3)):
        assert picked[b, p] == values[b, p, int(index[b, p])]


def test_a_position_sees_itself_and_what_came_before():
    assert causal_grid(3).tolist() == [[True, False, False], [True, True, False], [True, True, True]]
