"""Chapter 01, linear maps and retrieval: from two equations with two unknowns to self-attention.

The linear algebra is what any first course teaches (Strang, "Introduction to Linear Algebra", chapters 1, 2 and 8).
The retrieval half is Vaswani et al. 2017, section 3.2.1, without heads and without a mask.
"""

from collections.abc import Callable
from math import sqrt

import torch
from einops import einsum
from jaxtyping import Float
from torch import Tensor

from utils.exercises.declare import Exercise


class NotOneVector(TypeError):
    """A map was given something other than one vector of its length."""


class NotFloat64(TypeError):
    """A map was given one vector of its length, in another dtype."""


class VectorMap:
    """A map on vectors, as a learner is handed it: a function and nothing to look into.

    It takes one float64 vector of the right length and refuses anything else with a sentence that says so. With
    `copies=False` it hands out what the rule gives, which may be the vector itself.
    """

    def __init__(self, n_in: int, rule: Callable[[Tensor], Tensor], *, copies: bool = True):
        self._n_in, self._rule, self._copies = n_in, rule, copies

    def __call__(self, v: Tensor) -> Tensor:
        if not isinstance(v, Tensor) or v.dtype != torch.float64 or v.shape != (self._n_in,):
            got = f"a {v.dtype} tensor of shape {tuple(v.shape)}" if isinstance(v, Tensor) else f"a {type(v).__name__}"
            # A type of its own for each, so that the one mistake is not named as the other.
            kind = NotFloat64 if isinstance(v, Tensor) and v.shape == (self._n_in,) else NotOneVector
            raise kind(f"f takes one vector at a time, a torch.float64 tensor of shape ({self._n_in},), not {got}")
        image = self._rule(v)
        return image.clone() if self._copies else image

    def __repr__(self) -> str:
        return f"<a map on vectors of length {self._n_in}>"


def _matrix_map(matrix: Tensor) -> VectorMap:
    return VectorMap(matrix.shape[1], lambda v: matrix.to(v.device) @ v)


def _matrix(draw, n_out: int, n_in: int, scale: float = 1.0) -> Tensor:
    return torch.randn(n_out, n_in, generator=draw.generator, dtype=torch.float64) * scale


# 01.1 ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

equations = Exercise("01.1", difficulty=1, minutes=10, title="solve two equations")


@equations.oracle
def solve_two(a: float, b: float, e: float, c: float, d: float, f: float) -> tuple[float, float]:
    """The one (x, y) with ax + by = e and cx + dy = f, by Cramer's rule.

    Raises:
        ValueError: there is none, or more than one: the determinant is 0 to rounding.
    """
    determinant = a * d - b * c
    if abs(determinant) <= 1e-12 * (abs(a * d) + abs(b * c)):
        raise ValueError("the determinant is 0: there is no single answer")
    return (e * d - b * f) / determinant, (a * f - e * c) / determinant


@equations.fresh
def _(draw):
    return _system(draw)


@equations.fresh
def _(draw):
    return _system(draw)


def _system(draw) -> tuple[float, ...]:
    """A system that is far from singular, whose x and y are far from 0 and from each other."""
    while True:
        A = _matrix(draw, 2, 2, 1.5)
        x = _matrix(draw, 2, 1, 2.0)
        apart = min(float((x[0] - x[1]).abs()), float(x.abs().min()), float(torch.linalg.det(A).abs())) > 0.5
        if apart and float(A.abs().min()) > 0.2 and float(torch.linalg.cond(A)) < 5:
            (a, b), (c, d) = A.tolist()
            e, f = (A @ x).flatten().tolist()
            return a, b, e, c, d, f


@equations.special("for whole numbers, 5x + y = 17 and x − y = 1")
def _(draw):
    return 5, 1, 17, 1, -1, 1


@equations.special("where x does not stand in the first equation (a = 0)")
def _(draw):
    return 0.0, 2.0, 6.0, 4.0, 1.0, 11.0


@equations.special("where y does not stand in the first equation (b = 0)")
def _(draw):
    return 2.0, 0.0, 6.0, 1.0, 4.0, 11.0


@equations.special("where x does not stand in the second equation (c = 0)")
def _(draw):
    return 2.0, 1.0, 8.0, 0.0, 4.0, 8.0


@equations.special("where y does not stand in the second equation (d = 0)")
def _(draw):
    return 1.0, 2.0, 8.0, 4.0, 0.0, 8.0


@equations.special("where both right-hand sides are 0, 2x + y = 0 and x − 3y = 0")
def _(draw):
    return 2.0, 1.0, 0.0, 1.0, -3.0, 0.0


@equations.special(
    "for small numbers, 0.004x + 0.005y = 0.014 and 0.006x + 0.003y = 0.012, whose determinant is −0.000018"
)
def _(draw):
    return 0.004, 0.005, 0.014, 0.006, 0.003, 0.012


@equations.special("where the two equations contradict each other, x + 2y = 3 and 2x + 4y = 7")
def _(draw):
    return 1.0, 2.0, 3.0, 2.0, 4.0, 7.0


@equations.special("where the two equations say the same, 2x + 3y = 4 and 4x + 6y = 8")
def _(draw):
    return 2.0, 3.0, 4.0, 4.0, 6.0, 8.0


@equations.special("where the determinant is 0 but for rounding, 0.1x + 0.7y = 1 and 0.3x + 2.1y = 2")
def _(draw):
    return 0.1, 0.7, 1.0, 0.3, 2.1, 2.0


@equations.special("where all coefficients are 0")
def _(draw):
    return 0.0, 0.0, 1.0, 0.0, 0.0, 1.0


equations.hints(
    "Get rid of y: multiply the first equation by d, the second by b, and subtract. What stands in front of x then?",
    "(ad − bc)·x = ed − bf. The same with x got rid of gives y. The number ad − bc is the determinant.",
    "When is ad − bc = 0? Then the two lines are parallel or the same, and there is no single answer: raise "
    "ValueError. With decimals the products are rounded, so do not ask for exactly 0.",
    "`if abs(a * d - b * c) < 1e-9: raise ValueError(…)`, then `return (e * d - b * f) / …, (a * f - e * c) / …`",
)


def _or_error(determinant: float) -> float:
    if abs(determinant) < 1e-9:
        raise ValueError("no single answer")
    return determinant


@equations.wrong(
    "cramer_signs_swapped",
    "Both results have the wrong sign: the differences on top are taken the other way round than the determinant. "
    "x = (ed − bf)/(ad − bc) and y = (af − ec)/(ad − bc).",
)
def _(a, b, e, c, d, f):
    determinant = _or_error(a * d - b * c)
    return (b * f - e * d) / determinant, (e * c - a * f) / determinant


@equations.wrong("sign_of_x", "x has the wrong sign: its numerator is ed − bf, over ad − bc.")
def _(a, b, e, c, d, f):
    determinant = _or_error(a * d - b * c)
    return (b * f - e * d) / determinant, (a * f - e * c) / determinant


@equations.wrong("sign_of_y", "y has the wrong sign: its numerator is af − ec, over ad − bc.")
def _(a, b, e, c, d, f):
    determinant = _or_error(a * d - b * c)
    return (e * d - b * f) / determinant, (e * c - a * f) / determinant


@equations.wrong(
    "size_of_the_determinant",
    "Both results have the wrong sign where the determinant is negative: divide by ad − bc itself, not by its size. "
    "abs belongs into the test for 0 only.",
)
def _(a, b, e, c, d, f):
    determinant = abs(_or_error(a * d - b * c))
    return (e * d - b * f) / determinant, (a * f - e * c) / determinant


@equations.wrong("determinant_with_plus", "The determinant is ad + bc in your answer: it is ad − bc.")
def _(a, b, e, c, d, f):
    determinant = _or_error(a * d + b * c)
    return (e * d - b * f) / determinant, (a * f - e * c) / determinant


@equations.wrong(
    "transposed_system",
    "This solves ax + cy = e and bx + dy = f: b and c have changed places. The first equation is ax + by = e.",
)
def _(a, b, e, c, d, f):
    return solve_two(a, c, e, b, d, f)


@equations.wrong("x_and_y_swapped", "x and y have changed places: return (x, y), in this order.")
def _(a, b, e, c, d, f):
    return solve_two(a, b, e, c, d, f)[::-1]


@equations.wrong(
    "inf_or_nan",
    "With a determinant of 0 the answer goes on quietly and gives inf or nan: no numbers solve such a system, or "
    "endlessly many do. Look at the determinant first and raise ValueError.",
)
def _(a, b, e, c, d, f):
    a, b, e, c, d, f = torch.tensor([a, b, e, c, d, f], dtype=torch.float64)
    determinant = a * d - b * c
    return float((e * d - b * f) / determinant), float((a * f - e * c) / determinant)


@equations.wrong(
    "division_by_zero",
    "With a determinant of 0 the answer stops at a division by zero: look at the determinant first and raise "
    "ValueError, which says what is wrong.",
)
def _(a, b, e, c, d, f):
    determinant = a * d - b * c
    return (e * d - b * f) / determinant, (a * f - e * c) / determinant


@equations.wrong(
    "the_solvers_own_error",
    "With a determinant of 0 it is the library's own error that comes out: look at the determinant first and raise "
    "ValueError.",
)
def _(a, b, e, c, d, f):
    A = torch.tensor([[a, b], [c, d]], dtype=torch.float64)
    x, y = torch.linalg.solve(A, torch.tensor([e, f], dtype=torch.float64)).tolist()
    return x, y


@equations.wrong("none_if_singular", "With a determinant of 0 the answer gives None: it should raise ValueError.")
def _(a, b, e, c, d, f):
    return None if abs(a * d - b * c) < 1e-9 else solve_two(a, b, e, c, d, f)


@equations.wrong(
    "asks_for_exactly_zero",
    "The determinant is compared with exactly 0. In 0.1·2.1 − 0.7·0.3 rounding leaves 0.00000000000000003, so ask "
    "whether it is very small instead.",
)
def _(a, b, e, c, d, f):
    determinant = a * d - b * c
    if determinant == 0:
        raise ValueError("no single answer")
    return (e * d - b * f) / determinant, (a * f - e * c) / determinant


@equations.wrong(
    "tolerance_too_wide",
    "A small determinant is taken for 0, although there is a single answer: small numbers make a small determinant. "
    "Only rounding may be let through, as with abs(…) < 1e-9.",
)
def _(a, b, e, c, d, f):
    if abs(a * d - b * c) <= 0.1:
        raise ValueError("no single answer")
    return solve_two(a, b, e, c, d, f)


@equations.wrong(
    "least_squares",
    "With a determinant of 0 the answer gives the nearest or the smallest of many solutions: there is no single "
    "answer, so raise ValueError.",
)
def _(a, b, e, c, d, f):
    A = torch.tensor([[a, b], [c, d]], dtype=torch.float64)
    x, y = (torch.linalg.pinv(A) @ torch.tensor([e, f], dtype=torch.float64)).tolist()
    return x, y


@equations.wrong(
    "divides_by_a",
    "The elimination divides by a, which may be 0: then x simply does not stand in the first equation. Swap the "
    "equations first, or use the determinant.",
)
def _(a, b, e, c, d, f):
    _or_error(a * d - b * c)
    factor = c / a
    y = (f - factor * e) / (d - factor * b)
    return (e - b * y) / a, y


@equations.wrong(
    "divides_by_b",
    "The answer divides by b, which may be 0: then y simply does not stand in the first equation. Swap the equations "
    "first, or use the determinant for x and for y.",
)
def _(a, b, e, c, d, f):
    x = (e * d - b * f) / _or_error(a * d - b * c)
    return x, (e - a * x) / b


@equations.wrong(
    "divides_by_c",
    "The answer divides by c, which may be 0: then x simply does not stand in the second equation. Swap the equations "
    "first, or use the determinant for x and for y.",
)
def _(a, b, e, c, d, f):
    y = (a * f - e * c) / _or_error(a * d - b * c)
    return (f - d * y) / c, y


@equations.wrong(
    "divides_by_d",
    "The elimination divides by d, which may be 0: then y simply does not stand in the second equation. Swap the "
    "equations first, or use the determinant.",
)
def _(a, b, e, c, d, f):
    _or_error(a * d - b * c)
    factor = b / d
    x = (e - factor * f) / (a - factor * c)
    return x, (f - c * x) / d


@equations.wrong(
    "zeros_on_the_right",
    "Equations with 0 on the right are turned away: then x = 0, y = 0 is the single answer. Whether there is one, the "
    "determinant alone decides.",
)
def _(a, b, e, c, d, f):
    if e == 0 and f == 0:
        raise ValueError("no single answer")
    return solve_two(a, b, e, c, d, f)


@equations.right
def by_elimination(a, b, e, c, d, f):
    if abs(c) > abs(a):
        a, b, e, c, d, f = c, d, f, a, b, e
    if a == 0 or abs(d - c / a * b) < 1e-9:
        raise ValueError("The lines are parallel.")
    y = (f - c / a * e) / (d - c / a * b)
    return (e - b * y) / a, y


@equations.right
def with_a_solver(a, b, e, c, d, f):
    A, right_side = torch.tensor([[a, b], [c, d]], dtype=torch.float64), torch.tensor([e, f], dtype=torch.float64)
    if torch.linalg.det(A).abs() < 1e-9:
        raise ValueError(f"{A} has no inverse")
    return tuple(torch.linalg.solve(A, right_side))


@equations.right
def in_float32(a, b, e, c, d, f):
    A, right_side = torch.tensor([[a, b], [c, d]]).float(), torch.tensor([e, f]).float()
    if torch.linalg.det(A).abs() < 1e-5:
        raise ValueError("singular")
    return list(torch.linalg.inv(A) @ right_side)


@equations.right
def with_fractions(a, b, e, c, d, f):
    from fractions import Fraction

    a, b, e, c, d, f = map(Fraction, (a, b, e, c, d, f))
    determinant = a * d - b * c
    if abs(determinant) < Fraction(1, 10**12):
        raise ValueError
    return float((e * d - b * f) / determinant), float((a * f - e * c) / determinant)


# 01.2 ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

matrix = Exercise("01.2", difficulty=2, minutes=10, title="the matrix of a map")


@matrix.oracle
def matrix_of(f: Callable[[Tensor], Tensor], n_in: int) -> Float[Tensor, "n_out n_in"]:
    """Column j is f of the j-th basis vector."""
    return torch.stack([f(basis) for basis in torch.eye(n_in, dtype=torch.float64)], dim=1)


@matrix.on_reference
def _(cache, layer):
    """How a head of the model writes what it found into the stream."""
    W_O = cache.weight(f"blocks.{layer}.attn.W_O")[0].double().cpu()
    return (VectorMap(W_O.shape[0], lambda v: v @ W_O.to(v.device)), W_O.shape[0]), None


@matrix.fresh
def _(draw):
    n_in, n_out = draw.size("n_in"), draw.size("n_out")
    return _matrix_map(_matrix(draw, n_out, n_in)), n_in


@matrix.fresh
def _(draw):
    """More numbers in than out."""
    n_out, n_in = draw.size("n_out"), draw.size("n_in")
    return _matrix_map(_matrix(draw, n_out, n_in)), n_in


@matrix.special("for a map from vectors to vectors of the same length")
def _(draw):
    return _matrix_map(_matrix(draw, 4, 4)), 4


@matrix.special("for a map of one number")
def _(draw):
    return _matrix_map(_matrix(draw, 3, 1)), 1


@matrix.special("for a map onto one number")
def _(draw):
    return _matrix_map(_matrix(draw, 1, 4)), 4


@matrix.special("for a map that is not written as a matrix, running sums of neighbors' differences")
def _(draw):
    return VectorMap(5, lambda v: 2 * v.cumsum(0)[1:] - v[:-1].flip(0)), 5


@matrix.special("for the map that hands back the very vector it is given, f(x) = x")
def _(draw):
    return VectorMap(3, lambda v: v, copies=False), 3


matrix.hints(
    "If you know where a linear map sends (1, 0) and (0, 1), you know where it sends everything. Why?",
    "Matrix times the j-th basis vector is the matrix's j-th column. So what is column j?",
    "Apply f to each row of torch.eye(n_in, dtype=torch.float64), and set the results side by side as columns.",
    "`torch.stack([f(basis) for basis in torch.eye(…)], dim=…)`",
)


@matrix.wrong(
    "rows_and_columns_swapped",
    "The results are laid in rows: what f makes of the j-th basis vector is column j, not row j.",
)
def _(f, n_in):
    return torch.stack([f(basis) for basis in torch.eye(n_in, dtype=torch.float64)])


@matrix.wrong(
    "vector_of_ones",
    "f is given a vector of ones, which adds all columns up: a basis vector has a single 1, in place j.",
)
def _(f, n_in):
    return torch.stack([f(torch.ones(n_in, dtype=torch.float64)) for _ in range(n_in)], 1)


@matrix.wrong(
    "ones_left_over",
    "The 1 of the last round is still there: the vector goes (1, 0, 0), (1, 1, 0), (1, 1, 1), which adds columns up. "
    "Start each time from zeros.",
)
def _(f, n_in):
    vector, columns = torch.zeros(n_in, dtype=torch.float64), []
    for j in range(n_in):
        vector[j] = 1
        columns.append(f(vector))
    return torch.stack(columns, 1)


@matrix.wrong(
    "one_vector_changed_under_the_results",
    "One vector is used again and again. A map such as f(x) = x hands back that very vector, so that results kept "
    "earlier change with it. Make a new vector for each j, or keep f(v).clone().",
)
def _(f, n_in):
    vector, columns = torch.zeros(n_in, dtype=torch.float64), []
    for j in range(n_in):
        vector.zero_()
        vector[j] = 1
        columns.append(f(vector))
    return torch.stack(columns, 1)


@matrix.wrong(
    "counted_vectors",
    "The vectors have j + 1 in place j, where a basis vector has 1, so that column j is j + 1 times too large.",
)
def _(f, n_in):
    counted = torch.diag(torch.arange(1, n_in + 1, dtype=torch.float64))
    return torch.stack([f(v) for v in counted], 1)


@matrix.wrong(
    "assumes_square",
    "The matrix is made n_in × n_in: f may give vectors of another length. Its number of rows is the length of f's "
    "result.",
)
def _(f, n_in):
    out = torch.zeros(n_in, n_in, dtype=torch.float64)
    for j, basis in enumerate(torch.eye(n_in, dtype=torch.float64)):
        out[:, j] = f(basis)
    return out


@matrix.wrong(
    "joined_and_reshaped",
    "The columns were joined into one long row of numbers and reshaped, which fills the matrix row by row: set them "
    "side by side with torch.stack(…, dim=1).",
)
def _(f, n_in):
    return torch.cat([f(basis) for basis in torch.eye(n_in, dtype=torch.float64)]).reshape(-1, n_in)


@matrix.wrong(
    "columns_in_reverse",
    "The columns stand in reverse order: column 0 is what f makes of (1, 0, …, 0).",
)
def _(f, n_in):
    return matrix_of(f, n_in).flip(1)


@matrix.wrong(
    "whole_matrix_at_once",
    "f is handed all basis vectors at once, as a matrix: it takes one vector at a time. Call it once for each.",
)
def _(f, n_in):
    return f(torch.eye(n_in, dtype=torch.float64))


@matrix.wrong(
    "float32_vectors",
    "f is handed float32 vectors: it takes float64. Say dtype=torch.float64 where you make them.",
)
def _(f, n_in):
    return torch.stack([f(basis) for basis in torch.eye(n_in)], 1)


@matrix.wrong(
    "float32_result",
    "The values are right, but the matrix was made in float32, which rounds them: say dtype=torch.float64 where you "
    "make it.",
)
def _(f, n_in):
    return matrix_of(f, n_in).float()


@matrix.right
def column_by_column(f, n_in):
    first = f(torch.zeros(n_in, dtype=torch.float64))
    out = torch.zeros(len(first), n_in, dtype=torch.float64)
    for j in range(n_in):
        basis = torch.zeros(n_in, dtype=torch.float64)
        basis[j] = 1.0
        out[:, j] = f(basis)
    return out


@matrix.right
def rows_then_transposed(f, n_in):
    basis = torch.zeros(n_in, dtype=torch.float64)
    rows = []
    for j in range(n_in):
        basis[j] = 1
        rows.append(f(basis).tolist())
        basis[j] = 0
    return torch.tensor(rows, dtype=torch.float64).T


@matrix.right
def by_solving(f, n_in):
    """From any n_in vectors that span the space: f(V) = M V."""
    vectors = torch.eye(n_in, dtype=torch.float64) + torch.ones(n_in, n_in, dtype=torch.float64).tril()
    images = torch.stack([f(v) for v in vectors.T], 1)
    return images @ torch.linalg.inv(vectors)


@matrix.right
def by_differences(f, n_in):
    steps = torch.ones(n_in + 1, n_in, dtype=torch.float64).tril(-1)
    images = torch.stack([f(v) for v in steps], dim=-1)
    return images.diff(dim=-1)


# 01.3 ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

linearity = Exercise("01.3", difficulty=3, minutes=15)


@linearity.oracle
def is_linear(f: Callable[[Tensor], Tensor], n_in: int, trials: int = 8) -> bool:
    """Whether f(x + y) = f(x) + f(y) and f(c·x) = c·f(x), to rounding, for random x, y and c."""
    for _ in range(trials):
        x, y = torch.randn(2, n_in, dtype=torch.float64)
        c = float(torch.randn(()))
        if not torch.allclose(f(x + y), f(x) + f(y)) or not torch.allclose(f(c * x), c * f(x)):
            return False
    return True


@linearity.fresh
def _(draw):
    n_in, n_out = draw.size("n_in"), draw.size("n_out")
    return _matrix_map(_matrix(draw, n_out, n_in)), n_in


@linearity.special("for a linear map of 40 numbers")
def _(draw):
    return _matrix_map(_matrix(draw, 30, 40, 3.0)), 40, 12


@linearity.special("for a linear map that is not written as a matrix")
def _(draw):
    return VectorMap(9, lambda v: v.cumsum(0)[1:] - 0.3 * v[:-1].flip(0)), 9


@linearity.special("for the map that sends everything to 0")
def _(draw):
    return VectorMap(3, lambda v: torch.zeros(2, dtype=v.dtype, device=v.device)), 3


@linearity.special("for a linear map of one number")
def _(draw):
    return VectorMap(1, lambda v: -3.7 * v), 1


@linearity.special("for the map that adds 0.001 to each number")
def _(draw):
    return VectorMap(4, lambda v: v + 0.001), 4


@linearity.special("for a map that is linear but for two of its numbers, f(x) = (x₀, x₁², −x₁², x₂)")
def _(draw):
    return VectorMap(3, lambda v: torch.stack([v[0], v[1] ** 2, -(v[1] ** 2), v[2]])), 3


@linearity.special("for a map with a constant added, f(x) = Mx + b")
def _(draw):
    M, b = _matrix(draw, 3, 4), 2.0 + torch.rand(3, generator=draw.generator, dtype=torch.float64)
    return VectorMap(4, lambda v: M.to(v.device) @ v + b.to(v.device)), 4


@linearity.special("for a map that follows scaling but not sums, the cube root of a sum of cubes")
def _(draw):
    def rule(v):
        total = (v**3).sum()
        return total.sign() * total.abs() ** (1 / 3) * torch.tensor([1.0, -2.0, 0.5], dtype=v.dtype, device=v.device)

    return VectorMap(5, rule), 5


@linearity.special("for a map that is linear on one line only, f(x) = Mx + (x₀ − x₁)²")
def _(draw):
    M = _matrix(draw, 3, 4)
    return VectorMap(4, lambda v: M.to(v.device) @ v + (v[0] - v[1]) ** 2), 4


@linearity.special("for a map that squares each number")
def _(draw):
    return VectorMap(4, lambda v: v * v), 4


@linearity.special("for the map that takes the absolute value of each number")
def _(draw):
    return VectorMap(20, lambda v: v.abs()), 20  # of so many, no trial fits by luck


@linearity.special("for a map that multiplies three of its numbers, f(x) = Mx + x₀x₁x₂")
def _(draw):
    M = _matrix(draw, 2, 5)
    return VectorMap(5, lambda v: M.to(v.device) @ v + v[0] * v[1] * v[2]), 5


RUNS, OFTEN = 300, 100


@linearity.prop("one_trial_that_fails_is_enough")
def _(answer, draw):
    """ReLU of three numbers keeps the laws in one trial of 8 to 16. So a run of 20 trials finds it out all but surely,
    and what is decided by one trial alone, first or last, calls it linear in one of 300 runs all but surely."""
    relu = VectorMap(3, lambda v: v.clamp(min=0))
    passed = sum(bool(answer(relu, 3, 20)) for _ in range(RUNS))
    if not passed:
        return None
    said = f"ReLU of three numbers breaks a law in most trials, and is called linear in {passed} of {RUNS} runs: "
    return said + (
        "a trial that fits by luck must not decide."
        if passed > OFTEN
        else "a trial that failed must not be forgotten when the last one fits."
    )


linearity.hints(
    "Two laws: a sum goes to the sum of the images, and a multiple goes to the same multiple of the image. How would "
    "you look for a vector that breaks one of them?",
    "Draw random x, y and a random number c, `trials` times, and compare f(x + y) with f(x) + f(y) and f(c·x) with "
    "c·f(x).",
    "Floating-point sums are rounded, so == finds differences in the sixteenth digit: torch.allclose allows for them.",
    "`if not torch.allclose(f(x + y), …) or not torch.allclose(f(c * x), …): return False`, and True at the end",
)


def _random(n_in: int) -> Tensor:
    return torch.randn(n_in, dtype=torch.float64)


@linearity.wrong(
    "only_zero",
    "Only f(0) = 0 is tested: x² passes that too. Test both laws, sums and multiples, on random vectors.",
)
def _(f, n_in, trials=8):
    out = f(torch.zeros(n_in, dtype=torch.float64))
    return torch.allclose(out, torch.zeros_like(out))


@linearity.wrong(
    "only_scaling",
    "A map passes that keeps multiples but not sums (x + x is a multiple, too): both laws have to hold, and the sums "
    "have to be of different vectors.",
)
def _(f, n_in, trials=8):
    for _ in range(trials):
        x = _random(n_in)
        if not torch.allclose(f(2.5 * x), 2.5 * f(x)):
            return False
    return True


@linearity.wrong(
    "one_pair",
    "Sums are tested on vectors that all lie on one line: a map can be linear there and nowhere else. Draw new random "
    "vectors for every trial.",
)
def _(f, n_in, trials=8):
    x = torch.ones(n_in, dtype=torch.float64)
    return torch.allclose(f(x + 2 * x), f(x) + f(2 * x))


@linearity.wrong(
    "exact_equality",
    "A linear map is turned away. If the two sides are compared exactly: each sum is rounded, in another order on each "
    "side, so even a linear map differs in the sixteenth digit. Use torch.allclose.",
)
def _(f, n_in, trials=8):
    for _ in range(trials):
        x, y = _random(n_in), _random(n_in)
        if not torch.equal(f(x + y), f(x) + f(y)) or not torch.equal(f(1.7 * x), 1.7 * f(x)):
            return False
    return True


@linearity.wrong(
    "straight_lines",
    "Maps with a constant added pass as well (they send straight lines to straight lines): a linear map keeps sums, "
    "and so sends 0 to 0.",
)
def _(f, n_in, trials=8):
    for _ in range(trials):
        x, y = _random(n_in), _random(n_in)
        if not torch.allclose(f((x + y) / 2), (f(x) + f(y)) / 2):
            return False
    return True


@linearity.wrong(
    "basis_vectors_only",
    "Only basis vectors, pairs of them and their multiples are tried: a map can be linear there and fail as soon as "
    "three numbers differ from 0. Use random vectors.",
)
def _(f, n_in, trials=8):
    basis = list(torch.eye(n_in, dtype=torch.float64))
    sums = all(torch.allclose(f(x + y), f(x) + f(y)) for x in basis for y in basis)
    return sums and all(torch.allclose(f(-1.5 * x), -1.5 * f(x)) for x in basis)


@linearity.wrong(
    "positive_only",
    "Only vectors and factors without a minus sign are tried, as torch.rand gives them: |x| keeps both laws there. "
    "torch.randn gives both signs.",
)
def _(f, n_in, trials=8):
    for _ in range(trials):
        x, y = torch.rand(2, n_in, dtype=torch.float64)
        if not torch.allclose(f(x + y), f(x) + f(y)) or not torch.allclose(f(1.5 * x), 1.5 * f(x)):
            return False
    return True


@linearity.wrong(
    "the_other_way_round",
    "True and False are swapped: True means that f is linear.",
)
def _(f, n_in, trials=8):
    return not is_linear(f, n_in, trials)


@linearity.wrong("always_true", "Every map passes: one that breaks a law, such as x², must give False.")
def _(f, n_in, trials=8):
    return True


@linearity.wrong(
    "true_as_soon_as_one_trial_fits",
    "True is returned as soon as one trial fits: by luck a law may hold for some x, y and c. Return False at the first "
    "trial that fails, and True only after all of them.",
)
def _(f, n_in, trials=8):
    for _ in range(trials):
        x, y = _random(n_in), _random(n_in)
        c = float(_random(1))
        if torch.allclose(f(x + y), f(x) + f(y)) and torch.allclose(f(c * x), c * f(x)):
            return True
    return False


@linearity.wrong(
    "judged_by_the_last_trial",
    "One trial alone decides, be it the last of several or the only one: by luck a map may keep the laws in it. Make "
    "`trials` of them, and return False at the first that fails.",
)
def _(f, n_in, trials=8):
    fits = True
    for _ in range(trials):
        x, y = _random(n_in), _random(n_in)
        c = float(_random(1))
        fits = torch.allclose(f(x + y), f(x) + f(y)) and torch.allclose(f(c * x), c * f(x))
    return fits


@linearity.wrong(
    "not_every_number_compared",
    "A map passes that keeps the laws in some of its numbers only. Every number of the two sides has to agree: the "
    "first alone, any one of them or their sum is not enough. torch.allclose compares all.",
)
def _(f, n_in, trials=8):
    for _ in range(trials):
        x, y, c = _random(n_in), _random(n_in), _random(1)
        if not torch.isclose(f(x + y), f(x) + f(y)).any() or not torch.isclose(f(c * x), c * f(x)).any():
            return False
    return True


def _within(allowed: float) -> Callable:
    def answer(f, n_in, trials=8):
        for _ in range(trials):
            x, y = torch.randn(2, n_in, dtype=torch.float64)
            c = float(torch.randn(()))
            if not torch.allclose(f(x + y), f(x) + f(y), atol=allowed):
                return False
            if not torch.allclose(f(c * x), c * f(x), atol=allowed):
                return False
        return True

    return answer


for _allowed in (0.1, 5.0):
    linearity.wrong(
        f"differences_up_to_{_allowed:g}",
        "The comparison allows too much: a map that adds 0.001 to each number passes, and it is not linear. Only "
        "rounding may be let through, as torch.allclose does without further arguments.",
    )(_within(_allowed))


# Sums of random pairs alone are right: no map that can be written down keeps them all and is not linear.


@linearity.right
def against_its_own_matrix(f, n_in, trials=8):
    """A map is linear where it equals the matrix of its basis vectors."""
    M = torch.stack([f(basis) for basis in torch.eye(n_in, dtype=torch.float64)], dim=1)
    vectors = [torch.randn(n_in, dtype=torch.float64) for _ in range(trials)]
    return all(bool((f(v) - M @ v).abs().max() < 1e-8) for v in vectors)


@linearity.right
def both_laws_at_once(f, n_in, trials=8):
    for _ in range(trials):
        x, y = torch.rand(2, n_in, dtype=torch.float64)
        a, b = (10 * torch.rand(2, dtype=torch.float64) - 5).tolist()
        if (f(a * x + b * y) - a * f(x) - b * f(y)).norm() > 1e-9:
            return False
    return True


@linearity.right
def sums_of_random_pairs(f, n_in, trials=8):
    pairs = [(torch.randn(n_in, dtype=torch.float64), torch.randn(n_in, dtype=torch.float64)) for _ in range(trials)]
    gaps = torch.stack([(f(x + y) - f(x) - f(y)).abs().max() for x, y in pairs])
    return (gaps < 1e-7).all()


@linearity.right
def without_tensors(f, n_in, trials=8):
    import random

    def image(numbers):
        return f(torch.tensor(numbers, dtype=torch.float64)).tolist()

    for _ in range(trials):
        x, y = ([random.uniform(-3, 3) for _ in range(n_in)] for _ in range(2))
        c = random.uniform(-2, 2)
        both, left, right = image([p + q for p, q in zip(x, y, strict=True)]), image(x), image(y)
        if any(abs(b - p - q) > 1e-9 for b, p, q in zip(both, left, right, strict=True)):
            return False
        if any(abs(s - c * p) > 1e-9 for s, p in zip(image([c * p for p in x]), left, strict=True)):
            return False
    return True


# 01.4 ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

composition = Exercise("01.4", difficulty=1, minutes=5)


@composition.oracle
def compose(outer: Float[Tensor, "n_out n_mid"], inner: Float[Tensor, "n_mid n_in"]) -> Float[Tensor, "n_out n_in"]:
    """The matrix of x ↦ outer(inner x): first inner, then outer."""
    return outer @ inner


@composition.on_reference
def _(cache, layer):
    """What a head reads (W_V) and then writes (W_O), as matrices that act on columns."""
    attn = f"blocks.{layer}.attn"
    return (cache.weight(f"{attn}.W_O")[0].T, cache.weight(f"{attn}.W_V")[0].T), None


@composition.fresh
def _(draw):
    return draw.normal("n_out n_mid"), draw.normal("n_mid n_in")


@composition.special("on maps that lead back to vectors of the first length")
def _(draw):
    return draw.normal("5 3"), draw.normal("3 5")


@composition.prop("one_after_the_other")
def _(answer, draw):
    outer, inner, x = draw.normal("3 4"), draw.normal("4 5"), draw.normal("5")
    gap = float((answer(outer, inner) @ x - outer @ (inner @ x)).abs().max())
    if gap < 1e-4:
        return None
    return f"compose(outer, inner) times x is off by {gap:.2g} from outer times (inner times x)."


composition.hints(
    "x goes into inner first; what comes out goes into outer. Which matrix stands next to x?",
    "outer (inner x) = (outer inner) x: the product of the two matrices does both steps.",
    "The matrix that acts first stands on the right. `@` multiplies matrices; `*` multiplies cell by cell.",
    "`outer @ …`",
)


@composition.wrong(
    "other_order",
    "The product is in the other order, inner times outer: what acts first stands on the right, next to x.",
)
def _(outer, inner):
    return inner @ outer


@composition.wrong(
    "elementwise",
    "The matrices are multiplied cell by cell (*): a cell of the product is a row of outer times a column of inner "
    "(@).",
)
def _(outer, inner):
    return outer * inner


@composition.wrong(
    "transposed",
    "The result is transposed: that would be right for row vectors. Here x is a column, and the matrix stands to its "
    "left.",
)
def _(outer, inner):
    return (outer @ inner).T


@composition.wrong(
    "added",
    "The matrices are added: that adds the maps' results. One map after the other is their product.",
)
def _(outer, inner):
    return outer + inner


@composition.wrong("inner_transposed", "inner is transposed before the product: it goes in as it is.")
def _(outer, inner):
    return outer @ inner.T


@composition.wrong("inner_undone", "inner is undone (inv or pinv) before the product: it goes in as it is.")
def _(outer, inner):
    return outer @ torch.linalg.pinv(inner)


@composition.right
def with_einsum(outer, inner):
    return torch.einsum("om,mi->oi", outer, inner)


@composition.right
def with_loops(outer, inner):
    out = torch.zeros(outer.shape[0], inner.shape[1], dtype=outer.dtype, device=outer.device)
    for m in range(outer.shape[1]):
        out += outer[:, m, None] * inner[None, m]
    return out


@composition.right
def column_by_column(outer, inner):
    return torch.stack([outer.mv(column) for column in inner.T], dim=1)


@composition.right
def in_float64(outer, inner):
    return (outer.double() @ inner.double()).to(outer.dtype)


# 01.5 ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

transposing = Exercise("01.5", difficulty=2, minutes=5)


@transposing.oracle
def transpose_of_product(
    A: Float[Tensor, "rows mid"], B: Float[Tensor, "mid columns"]
) -> Float[Tensor, "columns rows"]:
    """(AB)ᵀ = BᵀAᵀ."""
    return B.T @ A.T


@transposing.fresh
def _(draw):
    return draw.normal("rows mid"), draw.normal("mid columns")


@transposing.special("where BA has the same shape as AB")
def _(draw):
    return draw.normal("5 5"), draw.normal("5 5")


@transposing.special("where A and Bᵀ have the same shape")
def _(draw):
    return draw.normal("4 6"), draw.normal("6 4")


transposing.hints(
    "A is rows × mid, B is mid × columns. Which shape has (AB)ᵀ? In which order can Aᵀ and Bᵀ be multiplied at all?",
    "Socks and shoes: what was put on last comes off first. Transposing reverses the order of a product.",
    "Cell (j, i) of (AB)ᵀ is row i of A times column j of B, which is row j of Bᵀ times column i of Aᵀ.",
    "`B.T @ …`",
)


@transposing.wrong(
    "order_kept",
    "That is AᵀBᵀ, the transpose of BA: transposing reverses the order, so Bᵀ stands on the left.",
)
def _(A, B):
    return A.T @ B.T


@transposing.wrong("BA", "That is BA: the order is reversed, but nothing is transposed.")
def _(A, B):
    return B @ A


@transposing.wrong("AB", "That is AB itself, not transposed: (AB)ᵀ is wanted.")
def _(A, B):
    return A @ B


@transposing.wrong("A_not_transposed", "That is BᵀA: A has to be transposed as well.")
def _(A, B):
    return B.T @ A


@transposing.wrong("B_not_transposed", "That is BAᵀ: B has to be transposed as well.")
def _(A, B):
    return B @ A.T


@transposing.wrong("elementwise", "The matrices are multiplied cell by cell (*): @ is the product of matrices.")
def _(A, B):
    return B.T * A.T


@transposing.right
def product_transposed(A, B):
    return (A @ B).mT


@transposing.right
def with_einsum(A, B):
    return einsum(A, B, "rows mid, mid columns -> columns rows")


@transposing.right
def with_loops(A, B):
    rows = [torch.stack([(of_B * of_A).sum() for of_A in A.T.mT]) for of_B in B.T]
    return torch.stack(rows)


@transposing.right
def with_addmm(A, B):
    return torch.mm(B.t(), A.t())


# 01.6 ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

rotations = Exercise("01.6", difficulty=3, minutes=15, vary=("fresh", "again", "strided", "float64"))


@rotations.oracle
def is_rotation(A: Float[Tensor, "rows columns"]) -> bool:
    """AᵀA = I, and det A = +1 (−1 would be a reflection), to 1e-5; only square matrices can rotate."""
    if A.shape[0] != A.shape[1]:
        return False
    gap = A.T @ A - torch.eye(A.shape[0], dtype=A.dtype, device=A.device)
    return float(gap.abs().max()) < 1e-5 and abs(float(torch.linalg.det(A)) - 1) < 1e-5


def _orthogonal(draw, n: int, determinant: int) -> Tensor:
    """A random rotation (determinant 1) or reflection (−1), float64."""
    Q, R = torch.linalg.qr(_matrix(draw, n, n))
    Q = Q * R.diagonal().sign()
    if float(torch.linalg.det(Q)) * determinant < 0:
        Q[:, 0] *= -1
    return Q


def _given(draw, matrix: Tensor) -> Tensor:
    """In the case's dtype and strides."""
    draw.made_floats = True
    return draw.place(matrix.to(draw.dtype))


@rotations.fresh
def _(draw):
    return (_given(draw, _orthogonal(draw, draw.size("n"), 1)),)


@rotations.fresh
def _(draw):
    return (_given(draw, _orthogonal(draw, draw.size("n") + 1, 1)),)


@rotations.fresh
def _(draw):
    """Reflections."""
    return (_given(draw, _orthogonal(draw, draw.size("n"), -1)),)


@rotations.special("for a quarter turn of the plane")
def _(draw):
    return (_given(draw, torch.tensor([[0.0, -1.0], [1.0, 0.0]])),)


@rotations.special("for a rotation whose numbers are rounded to six places")
def _(draw):
    return (_given(draw, _orthogonal(draw, 4, 1).mul(1e6).round().div(1e6)),)


@rotations.special("for the matrix of one row and one column that holds 1")
def _(draw):
    return (_given(draw, torch.ones(1, 1)),)


@rotations.special("for a mirror, (x, y) ↦ (x, −y)")
def _(draw):
    return (_given(draw, torch.diag(torch.tensor([1.0, -1.0]))),)


@rotations.special("for a turn by 180° of an even number of axes, diagonal −1")
def _(draw):
    return (_given(draw, -torch.eye(4)),)


@rotations.special("for a point mirror of three axes, diagonal −1")
def _(draw):
    return (_given(draw, -torch.eye(3)),)


@rotations.special("for a shear, whose determinant is 1")
def _(draw):
    return (_given(draw, torch.tensor([[1.0, 0.7], [0.0, 1.0]])),)


@rotations.special("for the shear (x, y) ↦ (x − 2y, y)")
def _(draw):
    """The cells of AᵀA − I sum to 0."""
    return (_given(draw, torch.tensor([[1.0, -2.0], [0.0, 1.0]])),)


@rotations.special("for a matrix whose columns have length 1 but no right angle between them")
def _(draw):
    return (_given(draw, torch.tensor([[1.0, -0.6], [0.0, 0.8]])),)


@rotations.special("for a matrix whose first and last column alone do not stand at right angles")
def _(draw):
    return (_given(draw, torch.tensor([[1.0, 0.0, 0.6], [0.0, 1.0, 0.0], [0.0, 0.0, 0.8]])),)


@rotations.special("for a matrix whose columns stand at right angles but have other lengths, with determinant 1")
def _(draw):
    return (_given(draw, _orthogonal(draw, 2, 1) @ torch.diag(torch.tensor([2.0, 0.5]).double())),)


@rotations.special("for a rotation times 1.5")
def _(draw):
    return (_given(draw, 1.5 * _orthogonal(draw, 3, 1)),)


@rotations.special("for a rotation times 1.001")
def _(draw):
    return (_given(draw, 1.001 * _orthogonal(draw, 3, 1)),)


@rotations.special("for a rotation times 1.00004")
def _(draw):
    return (_given(draw, 1.00004 * _orthogonal(draw, 2, 1)),)


@rotations.special("for a tall matrix with AᵀA = I")
def _(draw):
    return (_given(draw, _orthogonal(draw, 4, 1)[:, :2]),)


@rotations.special("for a wide matrix with AAᵀ = I")
def _(draw):
    return (_given(draw, _orthogonal(draw, 4, 1)[:2]),)


@rotations.special("for a matrix of zeros")
def _(draw):
    return (_given(draw, torch.zeros(3, 3)),)


rotations.hints(
    "A rotation keeps lengths and angles, and it does not mirror. Which of these does AᵀA = I say?",
    "AᵀA holds the dot products of A's columns with each other: I means length 1 and right angles. A mirror has that, "
    "too. What tells the two apart?",
    "The determinant of a rotation is +1, that of a reflection −1. It exists for square matrices only: look at the "
    "shape first, and say False where rows and columns differ in number.",
    "Compare with a tolerance of 1e-5: torch.allclose(A.T @ A, torch.eye(…), atol=1e-5).",
    "`A.shape[0] == A.shape[1] and torch.allclose(A.T @ A, …, atol=1e-5) and abs(torch.linalg.det(A) - …) < 1e-5`",
)


def _square(A: Tensor) -> bool:
    return A.shape[0] == A.shape[1]


def _is_identity(product: Tensor, **tolerance) -> bool:
    return torch.allclose(product, torch.eye(len(product), dtype=product.dtype, device=product.device), **tolerance)


@rotations.wrong(
    "accepts_reflections",
    "Reflections pass as well: they have AᵀA = I, too. Their determinant is −1; a rotation's is +1.",
)
def _(A):
    return _square(A) and _is_identity(A.T @ A, atol=1e-5)


@rotations.wrong(
    "accepts_wide_matrices",
    "A matrix with fewer rows than columns passes, because AAᵀ = I is checked: only a square matrix can be a rotation.",
)
def _(A):
    return _is_identity(A @ A.T, atol=1e-5) and (not _square(A) or float(torch.linalg.det(A)) > 0)


@rotations.wrong(
    "accepts_tall_matrices",
    "A matrix with more rows than columns passes, because AᵀA = I holds for it: only a square matrix can be a "
    "rotation.",
)
def _(A):
    return _is_identity(A.T @ A, atol=1e-5) and (not _square(A) or float(torch.linalg.det(A)) > 0)


@rotations.wrong(
    "determinant_of_a_matrix_that_is_not_square",
    "The determinant is asked for before the shape: it exists for square matrices only. Say False first where rows and "
    "columns differ in number.",
)
def _(A):
    return abs(float(torch.linalg.det(A)) - 1) < 1e-5 and _is_identity(A.T @ A, atol=1e-5)


@rotations.wrong(
    "determinant_after_the_product",
    "For a tall matrix AᵀA = I holds, and then its determinant is asked for, which exists for square matrices only. "
    "Look at the shape first.",
)
def _(A):
    return _is_identity(A.T @ A, atol=1e-5) and abs(float(torch.linalg.det(A)) - 1) < 1e-5


@rotations.wrong(
    "tolerance_too_wide",
    "A rotation times 1.00004 passes, which misses AᵀA = I by 8e-5: the two sides may differ by 1e-5 at most.",
)
def _(A):
    return _square(A) and _is_identity(A.T @ A, atol=1e-4) and abs(float(torch.linalg.det(A)) - 1) < 1e-4


@rotations.wrong(
    "only_unit_columns",
    "Only the columns' lengths are checked: they have to stand at right angles as well, which is the rest of AᵀA = I.",
)
def _(A):
    lengths = A.norm(dim=0)
    unit = torch.allclose(lengths, torch.ones_like(lengths), atol=1e-5)
    return _square(A) and unit and float(torch.linalg.det(A)) > 0


@rotations.wrong(
    "only_neighbors_at_right_angles",
    "Only neighboring columns are compared: every column has to stand at a right angle to every other, as AᵀA = I "
    "says.",
)
def _(A):
    product = A.T @ A
    near = [product.diagonal() - 1, product.diagonal(1)]
    return _square(A) and float(torch.cat(near).abs().max()) < 1e-5 and float(torch.linalg.det(A)) > 0


@rotations.wrong(
    "differences_cancel",
    "The differences between AᵀA and I are added up with their signs, so that they may cancel: take abs() of each "
    "first.",
)
def _(A):
    gap = A.T @ A - torch.eye(A.shape[1], dtype=A.dtype, device=A.device)
    return _square(A) and float(gap.sum()) < 1e-5 and abs(float(torch.linalg.det(A)) - 1) < 1e-5


@rotations.wrong(
    "negative_differences_pass",
    "A cell of AᵀA that is too small passes: a difference from I may be negative, so take abs() before max().",
)
def _(A):
    gap = A.T @ A - torch.eye(A.shape[1], dtype=A.dtype, device=A.device)
    return _square(A) and float(gap.max()) < 1e-5 and float(torch.linalg.det(A)) > 0


@rotations.wrong(
    "one_axis_turned_away",
    "A matrix of one row and one column is turned away: [[1]] has AᵀA = I and determinant 1, as a rotation must.",
)
def _(A):
    return len(A) > 1 and is_rotation(A)


@rotations.wrong(
    "only_right_angles",
    "Only the right angles are checked: the columns must have length 1 as well, which is the diagonal of AᵀA = I.",
)
def _(A):
    product = A.T @ A
    angles = float((product - torch.diag(product.diagonal())).abs().max()) < 1e-5
    return _square(A) and angles and float(torch.linalg.det(A)) > 0


@rotations.wrong(
    "only_the_determinant",
    "Only the determinant is checked: a shear has determinant 1, too, and does not keep lengths. AᵀA = I is the other "
    "half.",
)
def _(A):
    return _square(A) and abs(float(torch.linalg.det(A)) - 1) < 1e-5


@rotations.wrong(
    "determinant_of_either_sign",
    "The determinant's sign is lost, so that reflections pass: |det| = 1 and det² = det(AᵀA) = 1 hold for them, too. "
    "Wanted is det = +1.",
)
def _(A):
    return _square(A) and abs(abs(float(torch.linalg.det(A))) - 1) < 1e-5


@rotations.wrong(
    "exact_equality",
    "A rotation is turned away. If AᵀA is compared with I exactly: sines and cosines are rounded, so a rotation "
    "misses I in the last digits. Allow 1e-5.",
)
def _(A):
    if not _square(A):
        return False
    exact = torch.equal(A.T @ A, torch.eye(len(A), dtype=A.dtype, device=A.device))
    return exact and float(torch.linalg.det(A)) > 0


@rotations.wrong(
    "allclose_as_it_comes",
    "The comparison is too strict: beside 0, torch.allclose allows only 1e-8 unless you say atol=1e-5.",
)
def _(A):
    return _square(A) and _is_identity(A.T @ A) and float(torch.linalg.det(A)) > 0


@rotations.wrong(
    "too_loose",
    "The comparison is too loose: a rotation times 1.001 stretches by a thousandth and is none. Allow 1e-5.",
)
def _(A):
    return _square(A) and _is_identity(A.T @ A, atol=1e-2) and float(torch.linalg.det(A)) > 0


@rotations.wrong(
    "identity_in_float32",
    "A is float64 here and the identity is float32, which torch does not compare: say dtype=A.dtype where you make it.",
)
def _(A):
    return _square(A) and torch.allclose(A.T @ A, torch.eye(len(A)), atol=1e-5) and float(torch.linalg.det(A)) > 0


@rotations.wrong(
    "A_times_A",
    "A·A is compared with I: that holds for a map that undoes itself. A rotation is undone by its transpose, AᵀA = I.",
)
def _(A):
    return _square(A) and _is_identity(A @ A, atol=1e-5) and float(torch.linalg.det(A)) > 0


@rotations.right
def columns_one_by_one(A):
    rows, columns = A.shape
    if rows != columns:
        return False
    for i in range(columns):
        for j in range(columns):
            if abs(float(A[:, i] @ A[:, j]) - (i == j)) > 1e-5:
                return False
    return bool(torch.linalg.det(A) > 0)


@rotations.right
def its_transpose_is_its_inverse(A):
    if A.ndim != 2 or A.size(0) != A.size(1) or torch.det(A) < 0.5:
        return False
    return torch.dist(torch.linalg.inv(A), A.mT) < 2e-5


@rotations.right
def by_singular_values(A):
    if A.shape[0] != A.shape[1]:
        return torch.tensor(False)
    stretch = torch.linalg.svdvals(A.double())
    return ((stretch - 1).abs() < 5e-6).all() & (torch.linalg.det(A.double()) > 0)


@rotations.right
def rows_instead_of_columns(A):
    square = A.shape[0] == A.shape[1]
    return square and _is_identity(A @ A.T, atol=1e-5) and torch.linalg.slogdet(A)[0].item() > 0


# 01.7 ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

# torch.linalg has no inverse in bfloat16.
basis = Exercise("01.7", difficulty=3, minutes=10, vary=("fresh", "again", "strided", "ones", "float64"))


@basis.oracle
def change_basis(A: Float[Tensor, "n n"], P: Float[Tensor, "n n"]) -> Float[Tensor, "n n"]:
    """P⁻¹AP: the map A, written for coordinates along P's columns."""
    return torch.linalg.inv(P) @ A @ P


@basis.fresh
def _(draw):
    return draw.normal("n n"), _good_basis(draw)


@basis.fresh
def _(draw):
    draw.size("n", at_least=6)
    return draw.normal("n n"), _good_basis(draw)


def _good_basis(draw) -> Tensor:
    """Neither orthogonal nor nearly singular."""
    n = draw.size("n")
    while True:
        P = _orthogonal(draw, n, 1) * (0.7 + torch.rand(n, generator=draw.generator, dtype=torch.float64))
        P = P + _matrix(draw, n, n, 0.3 / sqrt(n))
        if float(torch.linalg.cond(P)) < 6:
            return _given(draw, P)


@basis.special("for a basis of the map's own directions, where the result is diagonal")
def _(draw):
    P = _given(draw, torch.tensor([[1.0, 1.0], [0.5, -1.0]]))
    return P @ torch.diag(torch.tensor([3.0, -1.0], device=P.device)) @ torch.linalg.inv(P), P


@basis.prop("the_same_map")
def _(answer, draw):
    A, P, x = draw.normal("4 4"), draw.normal("4 4", 0.2) + torch.eye(4, device=draw.device), draw.normal("4")
    gap = float((P @ (answer(A, P) @ x) - A @ (P @ x)).abs().max())
    if gap < 1e-3:
        return None
    return f"P(change_basis(A, P) x) is off by {gap:.2g} from A(P x), for coordinates x along P's columns."


basis.hints(
    "A vector has coordinates x along P's columns. Which vector is that in the old coordinates?",
    "It is Px. A acts on it: APx. Then the result has to be told in the new coordinates again.",
    "P turns new coordinates into old ones, P⁻¹ turns old into new. What acts first stands on the right.",
    "`torch.linalg.inv(P) @ … @ …`, or torch.linalg.solve(P, A @ P) without an inverse",
)


@basis.wrong(
    "inverse_on_the_other_side",
    "That is PAP⁻¹: P turns new coordinates into old ones, so it acts first and stands on the right, P⁻¹AP.",
)
def _(A, P):
    return P @ A @ torch.linalg.inv(P)


@basis.wrong(
    "transpose_for_inverse",
    "That is PᵀAP: the transpose is the inverse only if P's columns have length 1 and stand at right angles.",
)
def _(A, P):
    return P.T @ A @ P


@basis.wrong("transpose_on_the_right", "That is PAPᵀ: wanted is P⁻¹AP, and the transpose is not the inverse here.")
def _(A, P):
    return P @ A @ P.T


@basis.wrong(
    "not_told_in_the_new_basis",
    "That is AP: the result has to be told in the new coordinates as well, P⁻¹AP.",
)
def _(A, P):
    return A @ P


@basis.wrong(
    "input_in_the_old_basis",
    "That is P⁻¹A: the input comes in the new coordinates as well, so P acts first: P⁻¹AP.",
)
def _(A, P):
    return torch.linalg.inv(P) @ A


@basis.wrong("roles_swapped", "A and P have changed places: that is A⁻¹PA. The columns of P are the new basis.")
def _(A, P):
    return torch.linalg.pinv(A) @ P @ A


@basis.wrong("rows_for_columns", "The rows of P are taken for the new basis: it is P's columns.")
def _(A, P):
    return torch.linalg.inv(P.T) @ A @ P.T


@basis.right
def by_solving(A, P):
    return torch.linalg.solve(P, A @ P)


@basis.right
def column_by_column(A, P):
    """What A makes of each basis vector, told along the basis."""
    return torch.stack([torch.linalg.solve(P, A @ direction) for direction in P.T], dim=1)


@basis.right
def in_float64(A, P):
    return (P.double().inverse() @ A.double() @ P.double()).to(A.dtype)


@basis.right
def from_the_transposes(A, P):
    return torch.linalg.solve(P, A @ P).T.contiguous().T


# 01.8 ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

lookups = Exercise("01.8", difficulty=1, minutes=5)


@lookups.oracle
def lookup(
    query: Float[Tensor, "d"], keys: Float[Tensor, "item d"], values: Float[Tensor, "item d_value"]
) -> Float[Tensor, "d_value"]:
    """The value of the item whose key has the largest dot product with the query."""
    return values[(keys @ query).argmax()]


@lookups.on_reference
def _(cache, layer):
    """One head's queries, keys and values: of all queries the one that is least in doubt."""
    attn = f"blocks.{layer}.attn"
    q, k, v = (cache[f"{attn}.hook_{x}"][0, :, 0] for x in "qkv")
    best = (q @ k.T).topk(2, dim=-1).values
    return (q[int((best[:, 0] - best[:, 1]).argmax())], k, v), None


@lookups.fresh
def _(draw):
    query, keys, values = draw.normal("d"), draw.normal("item d"), draw.normal("item d_value")
    return query, _with_winner(draw, query, keys), values


def _with_winner(draw, query: Tensor, keys: Tensor) -> Tensor:
    """The keys with one of them moved along the query, so that it wins clearly in any dtype."""
    wide, query = keys.double(), query.double()
    winner = draw.integer(0, len(wide))
    best = float((wide @ query).max())
    short = best + 1.0 + 0.2 * abs(best) - float(wide[winner] @ query)
    wide[winner] += short * query / (query @ query)
    return _given(draw, wide)


@lookups.special("where the longest key wins, though another points more nearly along the query")
def _(draw):
    keys = [[0.5, 0.0], [2.0, 3.0], [-4.0, 1.0], [0.0, -1.0]]
    return draw.place(torch.tensor([1.0, 0.2])), draw.place(torch.tensor(keys)), draw.normal("4 3")


@lookups.special("where all dot products are far below 0")
def _(draw):
    keys = [[-2e5, 1e5], [-5e4, 2e4], [-3e5, -1e5]]
    return draw.place(torch.tensor([1.5, 0.1])), draw.place(torch.tensor(keys)), draw.normal("3 5")


lookups.hints(
    "Each item is a key and a value. The key says what the item is about, the value what it holds. What does the "
    "query do?",
    "One dot product a key says how well it matches: keys @ query, of shape [item].",
    "argmax gives the number of the best item; then take that row of the values.",
    "`values[(keys @ query).…]`",
)


@lookups.wrong("smallest", "The item with the smallest dot product is taken: the largest one matches best.")
def _(query, keys, values):
    return values[(keys @ query).argmin()]


@lookups.wrong("key_returned", "The best item's key is returned: its value is wanted.")
def _(query, keys, values):
    return keys[(keys @ query).argmax()]


@lookups.wrong("index_returned", "The best item's number is returned: its value is wanted, values[number].")
def _(query, keys, values):
    return int((keys @ query).argmax())


@lookups.wrong("score_returned", "The largest dot product itself is returned: the value of that item is wanted.")
def _(query, keys, values):
    return (keys @ query).max()


@lookups.wrong(
    "largest_in_size",
    "The dot product that is largest in size wins, whatever its sign: a negative one says that key and query are "
    "opposed.",
)
def _(query, keys, values):
    return values[(keys @ query).abs().argmax()]


@lookups.wrong(
    "search_from_a_fixed_number",
    "The search for the largest starts from a fixed number, such as 0 or −1, and where all dot products are below it "
    "finds none: start from −inf or from the first item, or take argmax.",
)
def _(query, keys, values):
    best, found = -1.0, values[0]
    for key, value in zip(keys, values, strict=True):
        if float(key @ query) > best:
            best, found = float(key @ query), value
    return found


@lookups.wrong(
    "cosine",
    "The keys are divided by their lengths first, so that only directions count: the plain dot product is wanted.",
)
def _(query, keys, values):
    return values[(keys @ query / keys.norm(dim=-1)).argmax()]


@lookups.wrong(
    "nearest",
    "The key nearest to the query is taken: the largest dot product is wanted, and a long key may win.",
)
def _(query, keys, values):
    return values[(keys - query).norm(dim=-1).argmin()]


@lookups.wrong(
    "soft",
    "All values are mixed, weighted by a softmax: that comes later; here only the best item's value counts.",
)
def _(query, keys, values):
    return (keys @ query).softmax(-1) @ values


@lookups.wrong("one_item_kept_as_a_table", "The value stands in a table of one row: return the row itself, [d_value].")
def _(query, keys, values):
    return values[(keys @ query).argmax()].unsqueeze(0)


@lookups.wrong(
    "score_for_a_place",
    "The largest score itself is used as an index, as max gives it: argmax gives the place where it stands.",
)
def _(query, keys, values):
    return values[(keys @ query).max()]


@lookups.right
def with_a_loop(query, keys, values):
    best, found = -float("inf"), values[0]
    for key, value in zip(keys, values, strict=True):
        score = float((key * query).sum())
        if score > best:
            best, found = score, value
    return found


@lookups.right
def with_one_hot(query, keys, values):
    scores = torch.einsum("id,d->i", keys, query)
    return (scores == scores.max()).to(values.dtype) @ values


@lookups.right
def by_sorting(query, keys, values):
    order = (query[None] @ keys.T).squeeze(0).sort(descending=True).indices
    return values.index_select(0, order[:1]).squeeze(0)


@lookups.right
def in_float64(query, keys, values):
    return values[int(keys.double().mv(query.double()).argmax())]


# 01.9 ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

shares = Exercise("01.9", difficulty=3, minutes=15)
shares.forbid(
    "softmax",
    "log_softmax",
    "logsumexp",
    "scaled_dot_product_attention",
    "MultiheadAttention",
    because="It does the whole exercise; build it from exp, a sum and the largest number of each row.",
)


@shares.oracle
def softmax(x: Float[Tensor, "... d"], dim: int = -1) -> Float[Tensor, "... d"]:
    """exp(x) divided by its sum along `dim`. Subtracting the largest number changes nothing but keeps exp in range."""
    powers = (x - x.amax(dim, keepdim=True)).exp()
    return powers / powers.sum(dim, keepdim=True)


@shares.on_reference
def _(cache, layer):
    """The masked scores, whose hidden cells hold the lowest number there is."""
    attn = f"blocks.{layer}.attn"
    return (cache[f"{attn}.hook_attn_scores"],), cache[f"{attn}.hook_pattern"]


@shares.fresh
def _(draw):
    return (draw.normal("batch pos d", scale=2.0),)


@shares.fresh
def _(draw):
    """Along every other axis in turn."""
    return draw.normal("batch pos d", scale=2.0), (0, 1, -2, -3)[draw.how.values % 4]


@shares.special("along the rows of a table")
def _(draw):
    return draw.normal("4 6", scale=2.0), 1


@shares.special("on a single row, a tensor of one axis")
def _(draw):
    return (draw.normal("7"),)


@shares.special("on numbers of which some are exactly 0")
def _(draw):
    return (draw.place(torch.tensor([[0.0, 0.0, 0.0, 0.0], [1.5, 0.0, -2.0, 0.0], [-1.0, -3.0, 0.0, -0.5]])),)


@shares.special("on numbers near 10,000")
def _(draw):
    return (draw.normal("3 5", scale=2.0) + 1e4,)


@shares.special("on numbers near −10,000")
def _(draw):
    return (draw.normal("3 5", scale=2.0) - 1e4,)


@shares.special("on rows that differ by 10,000 from each other")
def _(draw):
    levels = torch.tensor([1e4, 0.0, -1e4], device=draw.device)[:, None]
    return (draw.normal("3 5", scale=2.0) + levels,)


@shares.special("on columns that differ by 10,000 from each other, along the columns")
def _(draw):
    levels = torch.tensor([0.0, -1e4, 1e4, 5e3], device=draw.device)
    return draw.normal("3 4", scale=2.0) + levels, 0


@shares.special("on rows that hold both 10,000 and −10,000")
def _(draw):
    x = draw.normal("3 5")
    x[0, 1], x[0, 3], x[1, 0], x[2, 4] = 1e4, -1e4, -1e4, 1e4
    return (x,)


@shares.prop("sums_to_1_along_dim")
def _(answer, draw):
    x = draw.normal("2 3 4", scale=3.0)
    for dim in (0, 1, 2, -3):
        gap = float((answer(x, dim).sum(dim) - 1).abs().max())
        if gap > 1e-5:
            return f"Along dim={dim} the results sum to 1 only up to {gap:.2g}."
    return None


shares.hints(
    "exp makes every number positive and keeps the order. What has to follow, so that a row sums to 1?",
    "Divide by the sum along `dim`, with keepdim=True so that the axis stays for the division.",
    "exp(10000) is too large for any float. Adding the same number to a whole row changes nothing in the result: which "
    "number brings every row into range?",
    "Subtract each row's own largest number: x.amax(dim, keepdim=True). One for the whole tensor is not enough.",
    "`powers = (x - x.amax(…)).exp()`, then `powers / powers.sum(…)`",
)


@shares.wrong(
    "overflow",
    "No maximum is subtracted: exp(10000) is inf, exp(−10000) is 0, and inf/inf and 0/0 are nan. Subtract each row's "
    "largest number first; the result stays the same.",
)
def _(x, dim=-1):
    return x.exp() / x.exp().sum(dim, keepdim=True)


@shares.wrong(
    "max_over_everything",
    "One maximum is subtracted for the whole tensor: in a row that lies 10,000 below it every exp is 0, and 0/0 is "
    "nan. Each row needs its own, along dim.",
)
def _(x, dim=-1):
    powers = (x - x.max()).exp()
    return powers / powers.sum(dim, keepdim=True)


@shares.wrong(
    "mean_subtracted",
    "The row's mean is subtracted: a number far above the mean still overflows. The largest number is safe, because "
    "then no exponent is above 0.",
)
def _(x, dim=-1):
    powers = (x - x.mean(dim, keepdim=True)).exp()
    return powers / powers.sum(dim, keepdim=True)


@shares.wrong(
    "min_subtracted",
    "The row's smallest number is subtracted, so that the exponents grow large: subtract the largest, so that none is "
    "above 0.",
)
def _(x, dim=-1):
    powers = (x - x.amin(dim, keepdim=True)).exp()
    return powers / powers.sum(dim, keepdim=True)


@shares.wrong(
    "clamped",
    "The numbers are clamped to a range before exp, so that 10,000 and 9,990 count the same: subtract the row's "
    "largest number instead, which keeps their distances.",
)
def _(x, dim=-1):
    powers = x.clamp(-50, 50).exp()
    return powers / powers.sum(dim, keepdim=True)


@shares.wrong(
    "max_along_the_last_axis",
    "The maximum is taken along the last axis whatever dim says: where dim is another axis, a row far below it becomes "
    "0/0.",
)
def _(x, dim=-1):
    powers = (x - x.amax(-1, keepdim=True)).exp()
    return powers / powers.sum(dim, keepdim=True)


@shares.wrong("dim_ignored", "dim is ignored: the results sum to 1 along the last axis, whichever was asked for.")
def _(x, dim=-1):
    return softmax(x, -1)


@shares.wrong(
    "always_the_first_axis",
    "The results sum to 1 along the first axis: dim says which, and it is the last one by default.",
)
def _(x, dim=-1):
    return softmax(x, 0)


@shares.wrong(
    "sums_to_1_over_all",
    "All the results together sum to 1: each row is to sum to 1 by itself, so sum along dim only.",
)
def _(x, dim=-1):
    powers = (x - x.amax(dim, keepdim=True)).exp()
    return powers / powers.sum()


@shares.wrong(
    "one_row_of_everything",
    "The whole tensor is treated as one row, in the maximum and in the sum: each row along dim is to sum to 1 by "
    "itself.",
)
def _(x, dim=-1):
    powers = (x - x.max()).exp()
    return powers / powers.sum()


@shares.wrong(
    "no_keepdim",
    "The sums lost their axis, so they no longer line up with the rows: keepdim=True keeps an axis of length 1.",
)
def _(x, dim=-1):
    powers = (x - x.amax(dim, keepdim=True)).exp()
    return powers / powers.sum(dim)


@shares.wrong("not_divided", "The results are not divided by their sum along dim, so that they do not sum to 1.")
def _(x, dim=-1):
    return (x - x.amax(dim, keepdim=True)).exp()


@shares.wrong(
    "no_exp",
    "Nothing is raised to a power: the numbers themselves are divided by their sum. exp comes first.",
)
def _(x, dim=-1):
    return x / x.sum(dim, keepdim=True)


@shares.wrong(
    "zeros_left_out",
    "A score of 0 gets no share: 0 is a score like any other and no empty place; exp(0) is 1.",
)
def _(x, dim=-1):
    powers = (x - x.amax(dim, keepdim=True)).exp() * (x != 0)
    return powers / powers.sum(dim, keepdim=True)


@shares.wrong("base_2", "The powers are of 2: exp takes powers of e.")
def _(x, dim=-1):
    powers = torch.exp2(x - x.amax(dim, keepdim=True))
    return powers / powers.sum(dim, keepdim=True)


@shares.wrong("log_of_it", "That is the logarithm of softmax: take exp of it, or leave the log out.")
def _(x, dim=-1):
    below = x - x.amax(dim, keepdim=True)
    return below - below.exp().sum(dim, keepdim=True).log()


# A 1e-8 added to the divisor is right to float32's precision, so it is no wrong answer.
@shares.wrong(
    "max_with_places",
    "x.max(dim) gives two tensors, the largest numbers and their places: take .values of it, or use x.amax(dim).",
)
def _(x, dim=-1):
    powers = (x - x.max(dim, keepdim=True)).exp()
    return powers / powers.sum(dim, keepdim=True)


@shares.right
def with_a_small_number_in_the_divisor(x, dim=-1):
    powers = (x - x.amax(dim, keepdim=True)).exp()
    return powers / (powers.sum(dim, keepdim=True) + 1e-8)


@shares.right
def with_max_and_expand(x, dim=-1):
    top = x.max(dim=dim, keepdim=True).values.expand_as(x)
    powers = torch.exp(torch.sub(x, top))
    return powers.div(powers.sum(dim=dim, keepdim=True))


@shares.right
def by_differences(x, dim=-1):
    """1 / Σⱼ exp(xⱼ − xᵢ): an infinite sum only makes the share 0."""
    x = x.movedim(dim, -1)
    return (1 / (x[..., None, :] - x[..., :, None]).exp().sum(-1)).movedim(-1, dim)


@shares.right
def row_by_row(x, dim=-1):
    moved = x.transpose(dim, -1)
    rows = []
    for row in moved.reshape(-1, moved.shape[-1]):
        powers = torch.exp(row - max(row.tolist()))
        rows.append(powers / powers.sum())
    return torch.stack(rows).reshape(moved.shape).transpose(dim, -1)


@shares.right
def in_float64(x, dim=-1):
    wide = x.double()
    powers = 2.718281828459045 ** (wide - wide.amax(dim, keepdim=True))
    return (powers / powers.sum(dim, keepdim=True)).to(x.dtype)


class _Softmax(torch.nn.Module):
    """A module stands for a function."""

    def forward(self, x, dim=-1):
        powers = (x - x.amax(dim, True)).exp()
        return powers / torch.linalg.vector_norm(powers, 1, dim, keepdim=True)


shares.right(_Softmax())

# 01.10 ───────────────────────────────────────────────────────────────────────────────────────────────────────────────

scores = Exercise("01.10", difficulty=2, minutes=5)
_LIBRARIES = ("code of transformers", "code of transformer_lens")
_WHOLE = "It does the whole exercise; build it from matrix products and your softmax."
scores.forbid("scaled_dot_product_attention", "MultiheadAttention", *_LIBRARIES, because=_WHOLE)


@scores.oracle
def scaled_scores(Q: Float[Tensor, "query_pos d"], K: Float[Tensor, "key_pos d"]) -> Float[Tensor, "query_pos key_pos"]:
    """QKᵀ/√d: how well each query matches each key, at a size that does not grow with d."""
    return Q @ K.T / sqrt(Q.shape[-1])


@scores.on_reference
def _(cache, layer):
    """One head on one text; hidden cells of the model's own scores are not compared."""
    attn = f"blocks.{layer}.attn"
    expected = cache[f"{attn}.hook_attn_scores"][0, 0]
    visible = torch.ones(expected.shape, dtype=torch.bool, device=expected.device).tril()
    return (cache[f"{attn}.hook_q"][0, :, 0], cache[f"{attn}.hook_k"][0, :, 0]), expected, visible


@scores.fresh
def _(draw):
    return draw.normal("query_pos d"), draw.normal("key_pos d")


@scores.fresh
def _(draw):
    """In another order of lengths: more keys than numbers in a key."""
    draw.size("d")
    return draw.normal("query_pos d"), draw.normal("key_pos d")


scores.hints(
    "Row i, column j holds query i's dot product with key j. Which product of matrices gives them all at once?",
    "Q is [query_pos, d], K is [key_pos, d]: to multiply, K has to be transposed.",
    "A dot product of d random numbers is about √d in size. Divide by that; d is the last axis's length.",
    "`Q @ … / sqrt(Q.shape[…])`",
)


@scores.wrong(
    "no_scale",
    "Nothing divides by √d: the scores grow with d, and the softmax will pick one key and ignore the rest.",
)
def _(Q, K):
    return Q @ K.T


@scores.wrong(
    "divided_by_d",
    "You divide by d: a dot product of d random numbers is about √d in size, so √d brings it to 1.",
)
def _(Q, K):
    return Q @ K.T / Q.shape[-1]


@scores.wrong(
    "divided_by_root_of_keys",
    "You divide by the root of the number of keys: what a dot product grows with is d, the length of a key.",
)
def _(Q, K):
    return Q @ K.T / sqrt(K.shape[0])


@scores.wrong(
    "divided_by_root_of_queries",
    "You divide by the root of the number of queries: what a dot product grows with is d, the length of a query.",
)
def _(Q, K):
    return Q @ K.T / sqrt(Q.shape[0])


@scores.wrong("multiplied", "You multiply by √d: that makes the scores larger still. Divide.")
def _(Q, K):
    return Q @ K.T * sqrt(Q.shape[-1])


@scores.wrong("transposed", "Rows and columns are swapped: row i belongs to query i, column j to key j.")
def _(Q, K):
    return K @ Q.T / sqrt(Q.shape[-1])


@scores.wrong("K_not_transposed", "Q is multiplied by K as it stands: K has to be transposed, so that d meets d.")
def _(Q, K):
    return Q @ K / sqrt(Q.shape[-1])


@scores.wrong("softmaxed", "A softmax is applied already: the scores themselves are wanted.")
def _(Q, K):
    return scaled_scores(Q, K).softmax(-1)


@scores.wrong(
    "cosines",
    "The dot products are divided by the vectors' lengths, which gives cosines: divide by √d only.",
)
def _(Q, K):
    return (Q / Q.norm(dim=-1, keepdim=True)) @ (K / K.norm(dim=-1, keepdim=True)).T


@scores.wrong(
    "divided_by_8",
    "You divide by 8 always, the root of 64: d is the length of a query, whatever that is, Q.shape[-1].",
)
def _(Q, K):
    return Q @ K.T / 8


@scores.right
def with_einsum(Q, K):
    return einsum(Q, K, "query d, key d -> query key") * Q.shape[-1] ** -0.5


@scores.right
def queries_scaled_first(Q, K):
    return (Q / sqrt(Q.shape[-1])).matmul(K.mT)


@scores.right
def pair_by_pair(Q, K):
    return torch.stack([torch.stack([(q * k).sum() / len(q) ** 0.5 for k in K]) for q in Q])


@scores.right
def spread_and_summed(Q, K):
    return (Q[:, None] * K).sum(-1).div(Q.size(-1) ** 0.5)


# 01.11 ───────────────────────────────────────────────────────────────────────────────────────────────────────────────

soft = Exercise("01.11", difficulty=3, minutes=10)
soft.forbid("scaled_dot_product_attention", "MultiheadAttention", *_LIBRARIES, because=_WHOLE)


@soft.oracle
def soft_lookup(
    Q: Float[Tensor, "... query_pos d"], K: Float[Tensor, "... key_pos d"], V: Float[Tensor, "... key_pos d_value"]
) -> Float[Tensor, "... query_pos d_value"]:
    """softmax(QKᵀ/√d)V: for each query a mixture of the values, by how well the keys match."""
    return (Q @ K.mT / sqrt(Q.shape[-1])).softmax(-1) @ V


@soft.on_reference
def _(cache, layer):
    """All heads at once, batch and heads in front; without a mask."""
    attn = f"blocks.{layer}.attn"
    return tuple(cache[f"{attn}.hook_{x}"].transpose(1, 2) for x in "qkv"), None


@soft.special("without any axis in front")
def _(draw):
    return draw.normal("4 3", 1.5), draw.normal("5 3", 1.5), draw.normal("5 2")


@soft.fresh
def _(draw):
    """With two leading axes."""
    lead = "batch n_heads"
    q, k = draw.normal(f"{lead} query_pos d", 1.5), draw.normal(f"{lead} key_pos d", 1.5)
    return q, k, draw.normal(f"{lead} key_pos d_value")


@soft.special("where values are as long as keys, and there are as many keys as queries")
def _(draw):
    return draw.normal("2 5 3", 1.5), draw.normal("2 5 3", 1.5), draw.normal("2 5 3")


@soft.special("on scores near 400 and near −400")
def _(draw):
    Q = [[40.0, 0.0, 0.0, 0.0], [0.0, -40.0, 0.0, 0.0], [-40.0, 0.0, 0.0, 0.0]]
    K = [[20.0, -20.0625, 1.0, 0.0], [20.0625, -20.0, 0.0, 1.0], [19.9375, -20.0, 2.0, 0.0]]
    return draw.place(torch.tensor(Q)), draw.place(torch.tensor(K)), draw.normal("3 2")


@soft.prop("a_mixture_of_values")
def _(answer, draw):
    q, k, v = draw.normal("2 3 4"), draw.normal("2 5 4"), torch.ones(2, 5, 3, device=draw.device)
    gap = float((answer(q, k, v) - 1).abs().max())
    return None if gap < 1e-5 else f"Where every value is 1, each mixture must be 1; yours is off by {gap:.2g}."


soft.hints(
    "This is lookup with a soft choice: instead of the best item's value, every value a little. What are the weights?",
    "Scores first (01.10), then a softmax that makes each query's weights sum to 1, then the weights times the values.",
    "Each query spreads its weight over the keys, so the softmax runs over key_pos, the scores' last axis. With axes "
    "in front, swap only K's last two: K.mT or K.transpose(-1, -2).",
    "`pattern = softmax(Q @ K.transpose(…) / …, dim=…)`, then `pattern @ …`",
)


@soft.wrong(
    "softmax_over_queries",
    "The softmax runs over the queries: each query spreads its weight over the keys, so each row sums to 1 (dim=-1).",
)
def _(Q, K, V):
    return (Q @ K.mT / sqrt(Q.shape[-1])).softmax(-2) @ V


@soft.wrong("keys_for_values", "The keys are mixed in place of the values: weights from Q and K, then times V.")
def _(Q, K, V):
    return soft_lookup(Q, K, K)


@soft.wrong("queries_for_values", "The queries are mixed in place of the values: weights from Q and K, then times V.")
def _(Q, K, V):
    return (Q @ K.mT / sqrt(Q.shape[-1])).softmax(-1).mT @ Q


@soft.wrong("no_scale", "Nothing divides by √d before the softmax: it picks one key too sharply.")
def _(Q, K, V):
    return (Q @ K.mT).softmax(-1) @ V


@soft.wrong("divided_by_d", "The scores are divided by d: √d keeps their size at 1; d makes the weights too even.")
def _(Q, K, V):
    return (Q @ K.mT / Q.shape[-1]).softmax(-1) @ V


@soft.wrong(
    "divided_by_root_of_d_value",
    "The scores are divided by the root of the values' length: what counts is the keys' length, d.",
)
def _(Q, K, V):
    return (Q @ K.mT / sqrt(V.shape[-1])).softmax(-1) @ V


@soft.wrong(
    "divided_by_root_of_keys",
    "The scores are divided by the root of the number of keys: what counts is the keys' length, d.",
)
def _(Q, K, V):
    return (Q @ K.mT / sqrt(K.shape[-2])).softmax(-1) @ V


@soft.wrong(
    "scaled_after_softmax",
    "√d divides the weights, after the softmax: it belongs under the scores, before it.",
)
def _(Q, K, V):
    return (Q @ K.mT).softmax(-1) / sqrt(Q.shape[-1]) @ V


@soft.wrong(
    "pattern_transposed",
    "The pattern is transposed before it meets the values: row i holds the weights with which query i mixes them.",
)
def _(Q, K, V):
    return (Q @ K.mT / sqrt(Q.shape[-1])).softmax(-1).mT @ V


@soft.wrong(
    "queries_and_keys_swapped",
    "Queries and keys are swapped: each row of the scores belongs to a query, so Q stands on the left, Q·Kᵀ.",
)
def _(Q, K, V):
    return soft_lookup(K, Q, V)


@soft.wrong("no_softmax", "There is no softmax: the scores themselves weigh the values, negative ones too.")
def _(Q, K, V):
    return Q @ K.mT / sqrt(Q.shape[-1]) @ V


@soft.wrong("hard", "Only the best key's value is taken: every value comes in, with the softmax of its score.")
def _(Q, K, V):
    best = (Q @ K.mT).argmax(-1, keepdim=True)
    return V.gather(-2, best.expand(*best.shape[:-1], V.shape[-1]))


@soft.wrong(
    "softmax_over_all",
    "One softmax runs over all queries and keys: each query's weights are to sum to 1 by themselves.",
)
def _(Q, K, V):
    s = Q @ K.mT / sqrt(Q.shape[-1])
    return s.flatten(-2).softmax(-1).reshape(s.shape) @ V


@soft.wrong(
    "softmax_over_the_first_axis",
    "The softmax runs over the first axis (dim=0): the keys are the last one, dim=-1.",
)
def _(Q, K, V):
    return (Q @ K.mT / sqrt(Q.shape[-1])).softmax(0) @ V


@soft.wrong(
    "only_two_axes",
    "K's axes are swapped wrongly where others stand in front: only the last two change places, K.transpose(-1, -2). "
    "(K.T turns all axes around.)",
)
def _(Q, K, V):
    return (Q @ K.permute(*reversed(range(K.ndim))) / sqrt(Q.shape[-1])).softmax(-1) @ V


@soft.wrong(
    "overflow",
    "exp of a large score is inf, and inf/inf is nan; where all are far below 0, it is 0/0. Use your softmax of 01.9, "
    "or subtract each row's largest score first.",
)
def _(Q, K, V):
    powers = (Q @ K.mT / sqrt(Q.shape[-1])).exp()
    return powers / powers.sum(-1, keepdim=True) @ V


@soft.wrong("weights_alone", "These are the weights alone: mix the values with them, weights @ V.")
def _(Q, K, V):
    return (Q @ K.mT / sqrt(Q.shape[-1])).softmax(-1)


@soft.right
def with_einsum(Q, K, V):
    s = torch.einsum("...qd,...kd->...qk", Q, K) / Q.shape[-1] ** 0.5
    return torch.einsum("...qk,...kv->...qv", softmax(s), V)


@soft.right
def query_by_query(Q, K, V):
    rows = []
    for i in range(Q.shape[-2]):
        s = (K * Q[..., i, None, :]).sum(-1) / Q.shape[-1] ** 0.5
        w = (s - s.amax(-1, keepdim=True)).exp()
        rows.append((w[..., None] * V).sum(-2) / w.sum(-1, keepdim=True))
    return torch.stack(rows, -2)


@soft.right
def in_float64(Q, K, V):
    q, k, v = Q.double(), K.double(), V.double()
    return (torch.softmax(q @ k.transpose(-2, -1) * q.size(-1) ** -0.5, -1) @ v).to(V.dtype)


@soft.right
def keys_first(Q, K, V):
    """The scores with keys in the rows: then the softmax runs over the rows."""
    s = K @ Q.mT / sqrt(K.shape[-1])
    return s.softmax(-2).mT @ V


# 01.12 ───────────────────────────────────────────────────────────────────────────────────────────────────────────────

attending = Exercise("01.12", difficulty=3, minutes=10)
attending.forbid("scaled_dot_product_attention", "MultiheadAttention", *_LIBRARIES, because=_WHOLE)


@attending.oracle
def self_attention(
    X: Float[Tensor, "pos d_model"],
    W_Q: Float[Tensor, "d_model d_head"],
    W_K: Float[Tensor, "d_model d_head"],
    W_V: Float[Tensor, "d_model d_head"],
) -> Float[Tensor, "pos d_head"]:
    """soft_lookup with queries, keys and values made from the same rows."""
    return soft_lookup(X @ W_Q, X @ W_K, X @ W_V)


@attending.on_reference
def _(cache, layer):
    """One head's matrices on one text; without biases and without a mask."""
    attn = f"blocks.{layer}.attn"
    weights = (cache.weight(f"{attn}.W_{x}")[0] for x in "QKV")
    return (cache[f"blocks.{layer}.ln1.hook_out"][0], *weights), None


@attending.fresh
def _(draw):
    weights = (draw.weight("d_model d_head", "d_model") for _ in range(3))
    return (draw.normal("pos d_model", 1.5), *weights)


@attending.special("where d_head is as large as d_model")
def _(draw):
    weights = (draw.weight("5 5", "5") for _ in range(3))
    return (draw.normal("4 5", 1.5), *weights)


@attending.prop("moving_rows_moves_results")
def _(answer, draw):
    X, order = draw.normal("6 5", 1.5), torch.tensor([3, 0, 5, 1, 4, 2], device=draw.device)
    weights = [draw.weight("5 4", "5") for _ in range(3)]
    gap = float((answer(X[order], *weights) - answer(X, *weights)[order]).abs().max())
    if gap < 1e-4:
        return None
    return f"With the rows of X in another order the same results should come in that order; they are off by {gap:.2g}."


attending.hints(
    "soft_lookup needs queries, keys and values. Where do they come from, if all there is are the rows of X?",
    "Three linear maps: each row of X asks (W_Q), offers itself (W_K) and hands something over (W_V).",
    "X @ W_Q makes all queries at once; likewise keys and values. The rest is 01.11.",
    "`soft_lookup(X @ W_Q, X @ …, X @ …)`",
)


@attending.wrong(
    "queries_and_keys_swapped",
    "Queries and keys are swapped: W_Q makes what asks (rows), W_K what is asked about.",
)
def _(X, W_Q, W_K, W_V):
    return soft_lookup(X @ W_K, X @ W_Q, X @ W_V)


@attending.wrong("rows_for_values", "The rows of X themselves are mixed: the values are X·W_V.")
def _(X, W_Q, W_K, W_V):
    return soft_lookup(X @ W_Q, X @ W_K, X)


@attending.wrong("keys_for_values", "The keys are mixed in place of the values: the values are X·W_V.")
def _(X, W_Q, W_K, W_V):
    return soft_lookup(X @ W_Q, X @ W_K, X @ W_K)


@attending.wrong("keys_by_W_Q", "The keys are made with W_Q: they have a matrix of their own, W_K.")
def _(X, W_Q, W_K, W_V):
    return soft_lookup(X @ W_Q, X @ W_Q, X @ W_V)


@attending.wrong("rows_for_keys", "The scores compare the rows of X themselves: compare X·W_Q with X·W_K.")
def _(X, W_Q, W_K, W_V):
    return (X @ X.T / sqrt(X.shape[-1])).softmax(-1) @ (X @ W_V)


@attending.wrong("no_scale", "Nothing divides by √d_head before the softmax: it picks one row too sharply.")
def _(X, W_Q, W_K, W_V):
    return (X @ W_Q @ (X @ W_K).T).softmax(-1) @ X @ W_V


@attending.wrong(
    "scaled_by_d_model",
    "The scores are divided by √d_model: a query has d_head numbers, so √d_head is what its dot products grow with.",
)
def _(X, W_Q, W_K, W_V):
    return (X @ W_Q @ (X @ W_K).T / sqrt(X.shape[-1])).softmax(-1) @ X @ W_V


@attending.wrong("divided_by_d_head", "The scores are divided by d_head: √d_head is what dot products grow with.")
def _(X, W_Q, W_K, W_V):
    return (X @ W_Q @ (X @ W_K).T / W_Q.shape[-1]).softmax(-1) @ X @ W_V


@attending.wrong(
    "softmax_over_queries",
    "The softmax runs over the queries: each row spreads its weight over the keys (dim=-1).",
)
def _(X, W_Q, W_K, W_V):
    return (X @ W_Q @ (X @ W_K).T / sqrt(W_Q.shape[-1])).softmax(0) @ X @ W_V


@attending.wrong("no_softmax", "There is no softmax: the scores themselves weigh the values, negative ones too.")
def _(X, W_Q, W_K, W_V):
    return X @ W_Q @ (X @ W_K).T / sqrt(W_Q.shape[-1]) @ X @ W_V


@attending.wrong(
    "masked",
    "Later rows are masked out, as GPT-2 does: that comes in chapter 05. Here every row may look at every other.",
)
def _(X, W_Q, W_K, W_V):
    s = X @ W_Q @ (X @ W_K).T / sqrt(W_Q.shape[-1])
    return (s + torch.full_like(s, -torch.inf).triu(1)).softmax(-1) @ X @ W_V


@attending.wrong(
    "input_added",
    "X is added to the result, as in a whole block of the model: here only the mixture is wanted.",
)
def _(X, W_Q, W_K, W_V):
    return X + self_attention(X, W_Q, W_K, W_V)


@attending.wrong(
    "no_maps",
    "The rows of X themselves ask, are found and are mixed: make queries, keys and values of them first, with W_Q, W_K "
    "and W_V.",
)
def _(X, W_Q, W_K, W_V):
    return soft_lookup(X, X, X)


@attending.wrong(
    "matrices_on_the_left",
    "The matrices stand on the left of X: tokens are rows here, and a row meets its matrix from the left, X @ W_Q.",
)
def _(X, W_Q, W_K, W_V):
    return soft_lookup(W_Q @ X, W_K @ X, W_V @ X)


@attending.wrong(
    "scaled_after_softmax",
    "√d_head divides the weights, after the softmax: it belongs under the scores, before it.",
)
def _(X, W_Q, W_K, W_V):
    return (X @ W_Q @ (X @ W_K).T).softmax(-1) @ X @ W_V / sqrt(W_Q.shape[-1])


@attending.right
def scores_by_one_matrix(X, W_Q, W_K, W_V):
    return (X @ (W_Q @ W_K.T) @ X.T / sqrt(W_Q.shape[1])).softmax(-1) @ (X @ W_V)


@attending.right
def with_einsum(X, W_Q, W_K, W_V):
    q, k, v = (torch.einsum("pm,md->pd", X, W) for W in (W_Q, W_K, W_V))
    pattern = softmax(torch.einsum("qd,kd->qk", q, k) / q.shape[-1] ** 0.5)
    return torch.einsum("qk,kd->qd", pattern, v)


@attending.right
def row_by_row(X, W_Q, W_K, W_V):
    keys, values, out = X @ W_K, X @ W_V, []
    for row in X:
        w = torch.exp(keys @ (row @ W_Q) / W_Q.shape[1] ** 0.5)
        out.append((w / w.sum()) @ values)
    return torch.stack(out)


class _SelfAttention(torch.nn.Module):
    """A module stands for a function."""

    def forward(self, X, W_Q, W_K, W_V):
        wide = [t.double() for t in (X, W_Q, W_K, W_V)]
        return soft_lookup(wide[0] @ wide[1], wide[0] @ wide[2], wide[0] @ wide[3]).to(X.dtype)


attending.right(_SelfAttention())
