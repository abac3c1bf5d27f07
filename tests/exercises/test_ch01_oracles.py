"""Chapter 01's answers, against torch's own functions and plain arithmetic; chance never decides."""

import pytest
import torch
import torch.nn.functional as F

from utils.exercises import exercise
from utils.exercises.ch01 import (
    VectorMap,
    change_basis,
    is_linear,
    is_rotation,
    lookup,
    matrix_of,
    self_attention,
    soft_lookup,
    softmax,
    solve_two,
)
from utils.exercises.draw import VARIATIONS, Draw
from utils.grading.cases import fresh_cases
from utils.grading.checking import check


@pytest.fixture
def numbers():
    generator = torch.Generator().manual_seed(5)
    return lambda *shape: torch.randn(*shape, generator=generator, dtype=torch.float64)


def test_two_equations_against_a_solver(numbers):
    for _ in range(50):
        A, right = numbers(2, 2), numbers(2)
        (a, b), (c, d), (e, f) = *A.tolist(), right.tolist()
        assert solve_two(a, b, e, c, d, f) == pytest.approx(torch.linalg.solve(A, right).tolist(), rel=1e-6)


@pytest.mark.parametrize("left", [(1, 2, 2, 4), (0, 0, 0, 0), (0.1, 0.7, 0.3, 2.1), (1e6, 1e6, 1e6, 1e6)])
def test_no_single_answer_is_an_error(left):
    a, b, c, d = left
    with pytest.raises(ValueError):
        solve_two(a, b, 1, c, d, 3)


def test_the_matrix_does_what_the_map_does(numbers):
    M, x = numbers(3, 5), numbers(5)
    f = VectorMap(5, lambda v: M @ v)
    assert torch.allclose(matrix_of(f, 5) @ x, f(x))


@pytest.mark.parametrize("wrong", [torch.eye(3).double(), torch.ones(3), torch.ones(4).double(), [1.0, 2.0, 3.0]])
def test_a_map_refuses_what_is_no_vector_of_its_length(wrong):
    with pytest.raises(TypeError, match=r"one vector at a time, a torch.float64 tensor of shape \(3,\), not a"):
        VectorMap(3, lambda v: v)(wrong)


def test_a_map_hands_out_nothing_of_its_argument():
    v = torch.zeros(3, dtype=torch.float64)
    image = VectorMap(3, lambda v: v[:2])(v)
    v[0] = 1
    assert image.tolist() == [0, 0]


def test_chance_never_decides_what_is_linear():
    """Each map of each case, 30 times over: the answer and all right ones say the same every time."""
    linearity = exercise("01.3")
    torch.manual_seed(0)
    for case in fresh_cases(linearity, 0, torch.device("cpu")):
        wanted = is_linear(*case.args)
        for _ in range(30):
            for answer in (is_linear, *linearity.rights):
                assert bool(answer(*case.args)) is wanted, case.where


def test_rotations_against_sines_and_cosines():
    for angle in torch.arange(0, 7, 0.5, dtype=torch.float64):
        s, c = angle.sin(), angle.cos()
        turn = torch.stack([torch.stack([c, -s]), torch.stack([s, c])])
        assert is_rotation(turn) and is_rotation(turn.float())
        assert not is_rotation(turn.flip(0)) and not is_rotation(1.001 * turn)


def test_a_changed_basis_keeps_what_no_basis_changes(numbers):
    A, P = numbers(4, 4), numbers(4, 4)
    changed = change_basis(A, P)
    assert float(changed.trace()) == pytest.approx(float(A.trace()), rel=1e-6)
    assert float(torch.linalg.det(changed)) == pytest.approx(float(torch.linalg.det(A)), rel=1e-6)


def test_the_best_item_wins():
    keys, values = torch.tensor([[1.0, 0.0], [0.0, 2.0], [-3.0, 0.0]]), torch.tensor([[1.0], [2.0], [3.0]])
    assert lookup(torch.tensor([1.0, 0.0]), keys, values) == 1
    assert lookup(torch.tensor([1.0, 1.0]), keys, values) == 2
    assert lookup(torch.tensor([-1.0, 0.0]), keys, values) == 3


def test_no_item_comes_near_to_winning_too():
    for seed in range(20):
        for how in VARIATIONS.values():
            query, keys, _ = (t.double() for t in exercise("01.8").fresh_cases[0](Draw(seed, how)))
            best = (keys @ query).topk(min(2, len(keys))).values
            assert len(best) == 1 or float(best[0] - best[1]) > 0.5


@pytest.mark.parametrize("level", [0.0, 1e4, -1e4])
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_softmax_against_torchs(numbers, level, dim):
    x = 3 * numbers(4, 5) + level
    assert torch.allclose(softmax(x, dim), torch.softmax(x, dim), rtol=1e-9)


def test_soft_lookup_against_torchs(numbers):
    q, k, v = numbers(2, 3, 4, 5), numbers(2, 3, 6, 5), numbers(2, 3, 6, 7)
    assert torch.allclose(soft_lookup(q, k, v), F.scaled_dot_product_attention(q, k, v))


def test_self_attention_against_torchs(numbers):
    X, W_Q, W_K, W_V = numbers(4, 6), numbers(6, 5), numbers(6, 5), numbers(6, 5)
    theirs = F.scaled_dot_product_attention((X @ W_Q)[None], (X @ W_K)[None], (X @ W_V)[None])[0]
    assert torch.allclose(self_attention(X, W_Q, W_K, W_V), theirs)


WHOLE = {
    "torch.softmax": ("01.9", lambda x, dim=-1: torch.softmax(x, dim)),
    "log": ("01.9", lambda x, dim=-1: F.log_softmax(x, dim).exp()),
    "logsumexp": ("01.9", lambda x, dim=-1: (x - x.logsumexp(dim, keepdim=True)).exp()),
    "softmin": ("01.9", lambda x, dim=-1: F.softmin(-x, dim)),
    "distribution": ("01.9", lambda x, dim=-1: torch.distributions.Categorical(logits=x.movedim(dim, -1)).probs),
    "attention": ("01.11", lambda Q, K, V: F.scaled_dot_product_attention(Q, K, V)),
    "self-attention": ("01.12", lambda X, q, k, v: F.scaled_dot_product_attention(*((X @ w)[None] for w in (q, k, v)))),
}


@pytest.mark.parametrize("id, answer", WHOLE.values(), ids=WHOLE)
def test_a_call_that_does_the_whole_exercise_is_not_allowed(pocket, id, answer):
    verdict = check(id, answer, pocket)
    assert not verdict.passed and verdict.stage == "allowed"
