"""The comparison passes what honest arithmetic gives and nothing else, for any shape, dtype, strides and device."""

import copy
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from utils.grading.compare import agree, structure, values
from utils.grading.plain import plain
from utils.grading.tolerance import TABLE, allowed, kind_of
from utils.grading.trees import private_copy, same_bits

DTYPES = {"float64": torch.float64, "float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}
WHOLE = {"int64": torch.int64, "int32": torch.int32, "uint8": torch.uint8, "bool": torch.bool}
DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU"))]
some = settings(max_examples=40, deadline=None, database=None)


@pytest.fixture(scope="module", params=DEVICES)
def device(request):
    return request.param


@pytest.fixture(scope="module", params=DTYPES)
def dtype(request):
    return DTYPES[request.param]


shapes = st.lists(st.integers(1, 5), max_size=4).map(tuple)
seeds = st.integers(0, 2**31)
scales = st.sampled_from([1e-4, 1e-2, 1.0, 30.0, 1e3])


def drawn(shape, seed, scale=1.0):
    """Exact numbers in float64, the same for every dtype and device."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64) * scale


def otherwise_laid_out(tensor, how):
    """The same values with other strides."""
    if tensor.ndim == 0:
        return tensor
    if how == "transposed":
        return tensor.transpose(0, -1).contiguous().transpose(0, -1)
    if how == "every second":
        return torch.stack([tensor, tensor], -1).flatten(-2)[..., ::2]
    if how == "part of more":
        return torch.cat([tensor, tensor])[len(tensor) :]
    return tensor[None].expand(3, *tensor.shape)[1]


layouts = st.sampled_from(["transposed", "every second", "part of more", "expanded"])


@some
@given(shape=shapes, seed=seeds, scale=scales, how=layouts)
def test_the_same_values_pass_however_they_are_laid_out(device, dtype, shape, seed, scale, how):
    want = drawn(shape, seed, scale).to(device, dtype)
    got = plain(otherwise_laid_out(want, how))
    assert structure(got, want) is None
    assert values(got, want) is None and agree(got, want)


@some
@given(rows=st.integers(4, 8), inner=st.integers(1, 200), seed=seeds, scale=scales.filter(lambda scale: scale <= 30))
def test_another_order_of_sums_passes(device, dtype, rows, inner, seed, scale):
    """In a table of sums, as results are: a single sum that comes out near 0 says nothing of its own rounding."""
    a, b = (drawn((rows, inner), seed + i, scale).to(device, dtype) for i in range(2))
    exact = a.double() @ b.double().T
    want = a @ b.T
    one_by_one = sum((a[:, None, i] * b[None, :, i] for i in range(inner)), torch.zeros_like(want))
    backwards = a.flip(-1) @ b.flip(-1).T
    in_parts = sum((x @ y.T for x, y in zip(a.split(7, -1), b.split(7, -1), strict=True)), torch.zeros_like(want))
    in_double = exact.to(dtype)
    for got in (backwards, in_parts, in_double):
        assert values(got, want, exact) is None
    if dtype in (torch.float32, torch.float64):  # summed one by one in a short dtype, errors add up as they may not
        assert values(one_by_one, want, exact) is None


@some
@given(shape=shapes, seed=seeds, scale=scales, cell=st.integers(0, 10**6), sign=st.sampled_from([-1.0, 1.0]))
def test_the_tolerance_is_where_the_table_says_from_both_sides(device, dtype, shape, seed, scale, cell, sign):
    """A cell half the tolerance off passes; one twice the tolerance off fails, and is the one that is pointed at."""
    want = drawn(shape, seed, scale).to(device, dtype)
    tolerance = allowed(want)
    at = cell % want.numel()
    for share, passes in ((0.5, True), (2.0, False)):
        got = want.double().clone()
        got.flatten()[at] += sign * share * tolerance
        found = values(got.to(dtype), want)
        assert (found is None) == passes
        if found:
            assert found.stage == "value" and found.bad.flatten().nonzero().tolist() == [[at]]
            assert found.worst > found.tolerance
        masked = values(got.to(dtype), want, visible=torch.ones_like(want, dtype=torch.bool))  # goes another way
        assert (masked and (masked.worst, masked.tolerance)) == (found and (found.worst, found.tolerance))


@some
@given(shape=shapes, seed=seeds, scale=scales, error=st.floats(0, 1))
def test_an_oracle_with_a_larger_error_of_its_own_allows_more(device, dtype, shape, seed, scale, error):
    want = drawn(shape, seed, scale).to(device, dtype)
    row, size = TABLE[kind_of(want)], float(want.double().abs().max())
    off = error * row.ceiling * size / row.multiple
    exact = want.double() + off
    allows = allowed(want, off)
    assert allows >= allowed(want) and allows <= max(row.ceiling * size, row.multiple * row.least)
    assert values((want.double() + 0.4 * allows).to(dtype), want, exact) is None
    assert values((want.double() + 2.5 * allows).to(dtype), want, exact) is not None


@some
@given(shape=shapes, seed=seeds, whole=st.sampled_from(sorted(WHOLE)), cell=st.integers(0, 10**6))
def test_whole_numbers_and_truth_values_are_exact(device, shape, seed, whole, cell):
    want = (drawn(shape, seed, 50.0).abs() % 2 if whole == "bool" else drawn(shape, seed, 50.0).abs()).to(device)
    want = (want > 1 if whole == "bool" else want).to(WHOLE[whole])
    assert values(want.clone(), want) is None and agree(want.clone(), want)
    got = want.clone()
    at = cell % want.numel()
    got.view(-1)[at] = ~got.view(-1)[at] if whole == "bool" else got.view(-1)[at] + 1
    found = values(got, want)
    assert found is not None and int(found.bad.sum()) == 1 and not agree(got, want)


@some
@given(shape=shapes, seed=seeds, cell=st.integers(0, 10**6), odd=st.sampled_from([math.nan, math.inf, -math.inf]))
def test_what_is_not_finite_must_be_so_in_the_same_cell(device, dtype, shape, seed, cell, odd):
    plain_values = drawn(shape, seed).to(device, dtype)
    with_odd = plain_values.clone()
    with_odd.view(-1)[cell % with_odd.numel()] = odd
    assert values(with_odd.clone(), with_odd) is None and agree(with_odd.clone(), with_odd)
    found = values(with_odd, plain_values)
    assert found is not None and found.stage == "finite" and int(found.bad.sum()) == 1
    found = values(plain_values, with_odd)
    assert found is not None and found.stage == "value"
    if odd == odd:
        assert values(with_odd.where(with_odd != odd, -odd), with_odd) is not None
    assert not agree(with_odd, plain_values) and not agree(plain_values, with_odd)


@some
@given(
    shape=shapes.filter(bool), seed=seeds, cell=st.integers(0, 10**6), off=st.sampled_from([1.0, math.nan, math.inf])
)
def test_cells_that_do_not_count_do_not_count(device, dtype, shape, seed, cell, off):
    want = drawn((3, *shape), seed).to(device, dtype)
    visible = torch.ones(shape, dtype=torch.bool, device=device)
    hidden = cell % visible.numel()
    visible.view(-1)[hidden] = False
    got = want.clone()
    got.view(3, -1)[:, hidden] = off
    assert values(got, want, visible=visible) is None
    assert values(got, want) is not None


@some
@given(shape=shapes, other=shapes, seed=seeds)
def test_nothing_is_ever_broadcast_into_agreement(device, dtype, shape, other, seed):
    want = torch.ones(shape, device=device, dtype=dtype)
    got = torch.ones(other, device=device, dtype=dtype)
    found = structure(got, want)
    assert (found is None) == (shape == other)
    assert shape == other or found.stage == "shape" and not agree(got, want)


@pytest.mark.parametrize("other", [*DTYPES.values(), *WHOLE.values(), torch.complex64], ids=str)
def test_another_dtype_is_another_result(device, dtype, other):
    want = torch.ones(2, 3, device=device, dtype=dtype)
    found = structure(want.to(other), want)
    assert (found is None) == (other == dtype)
    assert other == dtype or found.stage == "dtype"


numbers = st.one_of(
    st.integers(-(10**20), 10**20), st.floats(allow_nan=False, width=32), st.booleans(), st.text(max_size=5)
)
trees = st.recursive(
    numbers,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(st.one_of(st.text(max_size=3), st.integers()), inner, max_size=3),
    ),
    max_leaves=8,
)


@some
@given(tree=trees)
def test_a_result_is_copied_and_equals_its_copy(tree):
    got = plain(tree)
    assert got == tree and type(got) is type(tree)
    assert structure(got, copy.deepcopy(tree)) is None and values(got, copy.deepcopy(tree)) is None


@some
@given(number=st.floats(-1e6, 1e6), share=st.floats(-1, 1))
def test_a_number_passes_within_float32s_precision(number, share):
    row = TABLE["number"]
    tolerance = row.multiple * row.floor * row.eps * max(abs(number), 1e-3)
    assert values(number + 0.9 * share * tolerance, number) is None
    assert values(number + math.copysign(1.2, share) * tolerance, number) is not None
    assert values(torch.tensor(number, dtype=torch.float32), number) is None


@some
@given(shape=shapes, seed=seeds, how=layouts, cell=st.integers(0, 10**6))
def test_an_input_that_changes_in_one_cell_has_changed(device, dtype, shape, seed, how, cell):
    before = [otherwise_laid_out(drawn(shape, seed).to(device, dtype), how), {"scale": 3}]
    with_nan = before[0].clone()
    with_nan[(0,) * with_nan.ndim] = math.nan
    for tensor in (before[0], with_nan):
        kept = [tensor, {"scale": 3}]
        given_away = private_copy(kept)
        assert same_bits(given_away, kept)
        index = tuple(int(i) for i in torch.unravel_index(torch.tensor(cell % tensor.numel()), shape)) if shape else ()
        given_away[0][index] = given_away[0][index] + 1 if given_away[0][index] == given_away[0][index] else 0
        assert not same_bits(given_away, kept) and not same_bits([kept[0], {"scale": 4}], kept)


def test_each_dtype_that_is_graded_has_a_row():
    assert {*DTYPES, "tf32", "number"} == set(TABLE)
    for row in TABLE.values():
        assert 0 < row.floor * row.multiple * row.eps < row.ceiling < 1


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
def test_products_that_a_gpu_rounds_to_tf32_pass_and_a_factor_does_not(monkeypatch):
    monkeypatch.setattr(torch.backends.cuda.matmul, "allow_tf32", True)
    a, b = (drawn((64, 512), seed).to("cuda", torch.float32) for seed in range(2))
    exact = a.double() @ b.double().T
    assert kind_of(a) == "tf32"
    assert values(a @ b.T, exact.float(), exact) is None
    assert values(1.5 * (a @ b.T), exact.float(), exact) is not None
