"""Chapter 11, from GPT-2 to the models of today: RMSNorm, rotary positions, grouped queries, SwiGLU, and their block.

The norm is Zhang and Sennrich 2019; rotary positions are Su et al. 2021, in the form of the published Llama weights,
where dimension i turns together with dimension i + d_head/2; grouped queries are Ainslie et al. 2023 and SwiGLU is
Shazeer 2020. Nothing here loads a model: that the oracles are SmolLM2's own arithmetic is tested beside the book.
"""

import math

import torch
from einops import einsum, repeat
from jaxtyping import Float, Int
from torch import Tensor, nn

from utils.exercises.ch04 import EPS_RAISED, GAIN_SIGN_LOST
from utils.exercises.ch05 import attention_out, attention_pattern, attention_scores, mix_values
from utils.exercises.declare import Exercise

# The models' own norm and angles are worked out in float32 whatever x is: that is right, so float64 asks for no more.
VARIED = ("fresh", "again", "strided", "ones", "square", "bfloat16")

# 11.1 ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

norm = Exercise("11.1", difficulty=2, minutes=10, vary=VARIED)


@norm.oracle
def rms_norm(
    x: Float[Tensor, "... d_model"],
    w: Float[Tensor, "d_model"],
    eps: float,
) -> Float[Tensor, "... d_model"]:
    """x over the root of its mean square, times the gain (Zhang and Sennrich 2019, eq. 4, with eps under the root)."""
    return x / (x.square().mean(-1, keepdim=True) + eps).sqrt() * w


@norm.fresh
def _(draw):
    return draw.normal("batch pos d_model", scale=1.5, mean=1.0), draw.gain("d_model"), draw.eps()


@norm.fresh
def _(draw):
    """Rows alone, without a batch."""
    return draw.normal("rows d_model", scale=1.5, mean=1.0), draw.gain("d_model"), draw.eps()


@norm.special("on a single row, a tensor of one axis")
def _(draw):
    return draw.normal("7", mean=1.0), draw.gain("7"), 0.1


@norm.special("on rows of very small numbers")
def _(draw):
    return draw.normal("2 4 6", scale=1e-3), draw.gain("6"), 1e-5


@norm.special("on rows of very small numbers, with eps = 0")
def _(draw):
    return draw.normal("2 4 6", scale=1e-3), draw.gain("6"), 0.0


@norm.special("with negative gains")
def _(draw):
    return draw.normal("2 4 6", mean=1.0), -draw.gain("6"), 0.1


@norm.special("on a row of zeros")
def _(draw):
    x = draw.normal("2 3 5")
    x[0, 1] = 0.0
    return x, draw.gain("5"), 1e-5


norm.forbid(
    "rms_norm",
    "layer_norm",
    "group_norm",
    "batch_norm",
    because="It would do the exercise in one call; the point is to see what is left of LayerNorm.",
)
norm.hints(
    "Take LayerNorm and leave out two things: the mean is not subtracted, and there is no bias. What is left?",
    "The mean of the squares over the last axis, plus eps, then the root: each row is divided by that.",
    "keepdim=True keeps an axis of length 1, so that the division fits; the gain w comes last.",
    "`x / (x.square().mean(…, keepdim=True) + …).sqrt() * w`",
)


@norm.wrong(
    "centered",
    "The mean is subtracted, as in LayerNorm: RMSNorm leaves it in and divides by the root of the mean square.",
)
def _(x, w, eps):
    return rms_norm(x - x.mean(-1, keepdim=True), w, eps)


@norm.wrong(
    "divided_by_the_standard_deviation",
    "The division is by the standard deviation, which measures from the mean: RMSNorm takes the mean of x² itself.",
)
def _(x, w, eps):
    return x / (x.var(-1, unbiased=False, keepdim=True) + eps).sqrt() * w


@norm.wrong("eps_outside_the_root", "eps is added after the root: it belongs to the mean square, under the root.")
def _(x, w, eps):
    return x / (x.square().mean(-1, keepdim=True).sqrt() + eps) * w


@norm.wrong("eps_left_out", "eps is left out: a row of zeros gives 0/0.")
def _(x, w, eps):
    return x / x.square().mean(-1, keepdim=True).sqrt() * w


for _eps in (1e-5, 1e-6, 1e-8):

    @norm.wrong(
        f"eps_of_{_eps:.0e}".replace("-0", "_minus_"),
        "eps is written into the answer, or left at a default: use the one given.",
    )
    def _(x, w, eps, by_heart=_eps):
        return rms_norm(x, w, by_heart)

    @norm.wrong(
        f"eps_raised_to_{_eps:.0e}".replace("-0", "_minus_"),
        EPS_RAISED,
    )
    def _(x, w, eps, least=_eps):
        return rms_norm(x, w, max(eps, least))


@norm.wrong(
    "eps_as_limit",
    "eps is only the least that the mean square may be, as by clamp(min=eps): it is added to the mean square.",
)
def _(x, w, eps):
    return x / x.square().mean(-1, keepdim=True).clamp(min=eps).sqrt() * w


@norm.wrong(
    "one_plus_w",
    "The gain is taken as 1 + w, as in Gemma, whose weights are stored minus 1: in Llama the gain is w itself.",
)
def _(x, w, eps):
    return rms_norm(x, 1 + w, eps)


@norm.wrong("w_minus_one", "The gain is taken as w − 1: it is w itself.")
def _(x, w, eps):
    return rms_norm(x, w - 1, eps)


@norm.wrong("gain_sign_lost", GAIN_SIGN_LOST)
def _(x, w, eps):
    return rms_norm(x, w.abs(), eps)


@norm.wrong("gain_left_out", "The gain w is left out: the normed row is multiplied by it, number by number.")
def _(x, w, eps):
    return rms_norm(x, torch.ones_like(w), eps)


@norm.wrong(
    "sum_for_mean", "The squares are summed: their mean is wanted, so that a vector's size does not depend on d_model."
)
def _(x, w, eps):
    return x / (x.square().sum(-1, keepdim=True) + eps).sqrt() * w


@norm.wrong("root_left_out", "The row is divided by its mean square: the root of it is missing.")
def _(x, w, eps):
    return x / (x.square().mean(-1, keepdim=True) + eps) * w


@norm.wrong("one_norm_for_all", "One mean square is taken over everything: each row has its own, over the last axis.")
def _(x, w, eps):
    return x / (x.square().mean() + eps).sqrt() * w


@norm.wrong(
    "keepdim_left_out",
    "keepdim=True is missing: the mean has lost its axis and does not fit the rows it is to divide, or on a square "
    "input divides the wrong ones.",
)
def _(x, w, eps):
    return x / (x.square().mean(-1) + eps).sqrt() * w


for _key, _size in (
    ("mean_of_sizes", lambda x, eps: x.abs().mean(-1, keepdim=True) + eps),
    ("mean_of_sizes_without_eps", lambda x, eps: x.abs().mean(-1, keepdim=True)),
    ("root_of_the_mean_of_sizes", lambda x, eps: (x.abs().mean(-1, keepdim=True) + eps).sqrt()),
):

    @norm.wrong(_key, "The mean of |x| is taken: it is the mean of the squares, x², and then its root.")
    def _(x, w, eps, size=_size):
        return x / size(x, eps) * w


@norm.wrong(
    "length_for_root_mean_square",
    "The row is divided by its length: the root of the sum of the squares is √d_model times too large, take the mean.",
)
def _(x, w, eps):
    return x / (x.norm(dim=-1, keepdim=True) + eps) * w


@norm.wrong(
    "over_the_first_axis", "The mean runs over the first axis: each row has its own, over d_model, the last axis."
)
def _(x, w, eps):
    return x / (x.square().mean(0, keepdim=True) + eps).sqrt() * w


@norm.right
def with_rsqrt_and_pow(x, w, eps):
    return w * (x * torch.rsqrt(x.pow(2).mean(dim=-1, keepdim=True) + eps))


@norm.right
def with_einsum_in_float64(x, w, eps):
    wide = x.double()
    size = torch.einsum("...d,...d->...", wide, wide) / x.shape[-1]
    return (wide / (size + eps)[..., None] ** 0.5 * w.double()).to(x.dtype)


@norm.right
def in_float32_as_the_model(x, w, eps):
    wide = x.float()
    return w * (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + eps)).to(x.dtype)


@norm.right
def row_by_row(x, w, eps):
    rows = [row / math.sqrt(float(row.double().square().mean()) + eps) * w for row in x.reshape(-1, x.shape[-1])]
    return torch.stack(rows).reshape(x.shape)


class _Norm(nn.Module):
    """A module stands for a function."""

    def forward(self, x, w, eps):
        length = torch.linalg.vector_norm(x, dim=-1, keepdim=True)
        return x / torch.sqrt(length**2 / x.shape[-1] + eps) * w


norm.right(_Norm())

# 11.2 ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

rotary = Exercise("11.2", difficulty=4, minutes=25, vary=VARIED)


def _angles(x, positions, theta):
    """[pos d_head/2] in float32, or float64 where x is."""
    dtype = torch.float64 if x.dtype == torch.float64 else torch.float32
    pair = torch.arange(x.shape[-1] // 2, device=x.device, dtype=dtype)
    return positions.to(dtype)[:, None] * theta ** (-2 * pair / x.shape[-1])


def _turn_halves(x, angles):
    """Dimension i with dimension i + d_head/2, by angles [pos d_head/2]."""
    cos, sin = (t[:, None].to(x.dtype) for t in (angles.cos(), angles.sin()))  # [pos 1 d_head/2]
    a, b = x.chunk(2, -1)
    return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)


@rotary.oracle
def rope(
    x: Float[Tensor, "batch pos n_heads d_head"],
    positions: Int[Tensor, "pos"],
    theta: float,
) -> Float[Tensor, "batch pos n_heads d_head"]:
    """Pair (i, i + d_head/2) turned by position · theta^(−2i/d_head) (Su et al. 2021, eq. 15, in halves)."""
    return _turn_halves(x, _angles(x, positions, theta))


def _even_head(draw):
    """d_head is twice something; 4 where all axes are to be alike."""
    draw.fix(d_head=4 if draw.how.square else 2 * draw.size("half"))


def _positions(draw, start=2, step=4):
    """Rising positions with gaps, so that neither their number nor their place tells them."""
    gaps = torch.randint(1, step, (draw.size("pos"),), generator=draw.generator)
    return (gaps.cumsum(0) + start).to(draw.device)


@rotary.fresh
def _(draw):
    _even_head(draw)
    return draw.normal("batch pos n_heads d_head"), _positions(draw), 50.0 + 9950.0 * (draw.how.values % 2)


@rotary.special("at positions 0, 1, 2, …")
def _(draw):
    return draw.normal("2 6 3 8"), torch.arange(6, device=draw.device), 10000.0


@rotary.special("at positions that do not rise")
def _(draw):
    return draw.normal("2 4 3 6"), torch.tensor([7, 0, 3, 3], device=draw.device), 500.0


@rotary.special("at positions in the hundreds")
def _(draw):
    return draw.normal("1 3 2 8"), torch.tensor([300, 411, 787], device=draw.device), 100000.0


@rotary.special("in bfloat16, at positions in the hundreds", dtype="bfloat16")
def _(draw):
    return draw.normal("1 3 2 8"), torch.tensor([301, 411, 787], device=draw.device), 10000.0


@rotary.prop("position_0_changes_nothing")
def _(answer, draw):
    x = draw.normal("2 3 4 6")
    gap = float((answer(x, torch.zeros(3, dtype=torch.int64, device=x.device), 10000.0) - x).abs().max())
    return None if gap < 1e-5 else f"At position 0 nothing turns, yet numbers change by up to {gap:.2g}."


@rotary.prop("only_the_distance_counts")
def _(answer, draw):
    """q at i with k at j depends on i − j alone: what rotary positions are for."""
    q, k = draw.normal("1 5 2 8"), draw.normal("1 5 2 8")
    near = torch.arange(5, device=q.device)

    def dots(start):
        turned = (answer(x, near + start, 100.0) for x in (q, k))
        return torch.einsum("bqhd,bkhd->bhqk", *turned)

    gap = float((dots(0) - dots(40)).abs().max())
    return None if gap < 1e-3 else f"Moving all positions by 40 changes the queries' dot products by up to {gap:.2g}."


rotary.hints(
    "Split d_head into pairs. Each pair is a point in a plane and is turned about the origin; its length stays.",
    "In the half-split form dimension i pairs with dimension i + d_head/2. Pair i turns by position · "
    "theta^(−2i/d_head).",
    "Turning (a, b) by an angle gives (a·cos − b·sin, b·cos + a·sin). The angles are [pos d_head/2]; give them an axis "
    "for n_heads.",
    "`a, b = x.chunk(2, -1)`, then `torch.cat([a * cos - b * sin, …], -1)`, with "
    "`angles = positions[:, None] * theta ** (-2 * i / d_head)`",
)


@rotary.wrong(
    "interleaved",
    "Neighbors are paired, 0 with 1, 2 with 3: these weights want the half-split form, i with i + d_head/2.",
)
def _(x, positions, theta):
    angles = _angles(x, positions, theta)
    cos, sin = (t[:, None].to(x.dtype) for t in (angles.cos(), angles.sin()))
    a, b = x[..., ::2], x[..., 1::2]
    return torch.stack([a * cos - b * sin, b * cos + a * sin], -1).flatten(-2)


@rotary.wrong(
    "neighbors_read_halves_written",
    "Neighbors are read as pairs and written as halves: both must be halves, i with i + d_head/2 (x.chunk(2, -1)).",
)
def _(x, positions, theta):
    return rope(torch.cat([x[..., ::2], x[..., 1::2]], -1), positions, theta)


@rotary.wrong("positions_from_1", "Every position is one too large: the first token stands at position 0.")
def _(x, positions, theta):
    return rope(x, positions + 1, theta)


@rotary.wrong(
    "positions_ignored",
    "The places 0, 1, 2, … are used in place of the positions given: a text that goes on from a cache starts later.",
)
def _(x, positions, theta):
    return rope(x, torch.arange(x.shape[1], device=x.device), theta)


@rotary.wrong(
    "turned_backwards",
    "The pairs turn the other way: it is (a·cos − b·sin, b·cos + a·sin), with the minus in the first half.",
)
def _(x, positions, theta):
    return rope(x, -positions, theta)


@rotary.wrong(
    "both_minus",
    "Both halves have a minus before the sine, so that nothing turns: the second is b·cos + a·sin.",
)
def _(x, positions, theta):
    angles = _angles(x, positions, theta)
    cos, sin = (t[:, None].to(x.dtype) for t in (angles.cos(), angles.sin()))
    a, b = x.chunk(2, -1)
    return torch.cat([a * cos - b * sin, b * cos - a * sin], -1)


@rotary.wrong(
    "halves_not_swapped",
    "The sine multiplies x itself: it goes with the other half, (−b, a).",
)
def _(x, positions, theta):
    angles = _angles(x, positions, theta).repeat(1, 2)[:, None]
    return x * angles.cos().to(x.dtype) + x * angles.sin().to(x.dtype)


@rotary.wrong(
    "exponent_without_2",
    "The frequencies fall too slowly: the exponent of pair i is −2i/d_head, or −i over the number of pairs.",
)
def _(x, positions, theta):
    angles = _angles(x, positions, theta**0.5)
    return _turn_halves(x, angles)


@rotary.wrong(
    "exponent_twice_too_large",
    "The frequencies fall too fast: the exponent is −2i/d_head, and d_head is the whole head, not half of it.",
)
def _(x, positions, theta):
    return _turn_halves(x, _angles(x, positions, theta**2))


@rotary.wrong(
    "frequencies_rise",
    "The frequencies rise with i: the exponent is negative, so that pair 0 turns fastest, by one radian a position.",
)
def _(x, positions, theta):
    return _turn_halves(x, _angles(x, positions, 1 / theta))


@rotary.wrong("one_frequency", "All pairs turn at one speed: pair i has its own frequency, theta^(−2i/d_head).")
def _(x, positions, theta):
    return _turn_halves(x, _angles(x, positions, 1.0))


@rotary.wrong("theta_by_heart", "theta is taken to be 10,000 whatever is given: newer models use other values.")
def _(x, positions, theta):
    return rope(x, positions, 10000.0)


@rotary.wrong(
    "position_of_the_head",
    "Heads are turned by their number, not by the position: the angles belong to axis 1 of x, pos.",
)
def _(x, positions, theta):
    heads = torch.arange(x.shape[2], device=x.device)
    return rope(x.transpose(1, 2), heads, theta).transpose(1, 2)


@rotary.wrong(
    "angles_in_bfloat16",
    "The angles are worked out in x's own dtype: bfloat16 cannot tell position 411 from 412. Take float32 for "
    "positions, frequencies and angles.",
)
def _(x, positions, theta):
    exponents = -2 * torch.arange(x.shape[-1] // 2, device=x.device).to(x.dtype) / x.shape[-1]
    return _turn_halves(x, positions[:, None].to(x.dtype) * theta**exponents)


@rotary.right
def in_float32_whatever_x_is(x, positions, theta):
    frequencies = theta ** -(torch.arange(0, x.shape[-1], 2, device=x.device) / x.shape[-1])
    angles = torch.einsum("p,i->pi", positions.float(), frequencies).repeat(1, 2)
    a, b = x[..., : x.shape[-1] // 2], x[..., x.shape[-1] // 2 :]
    turned = x * angles.cos()[None, :, None, :] + torch.cat((-b, a), -1) * angles.sin()[None, :, None, :]
    return turned.to(x.dtype)


@rotary.right
def with_rotate_half(x, positions, theta):
    """As in the published code: cos and sin over the whole head, and a helper that swaps the halves."""
    d = x.shape[-1]
    frequencies = 1.0 / theta ** (torch.arange(0, d, 2, device=x.device).double() / d)
    angles = torch.outer(positions.double(), frequencies)
    angles = torch.cat([angles, angles], -1)[None, :, None]
    swapped = torch.cat([-x[..., d // 2 :], x[..., : d // 2]], -1)
    return x * angles.cos().to(x.dtype) + swapped * angles.sin().to(x.dtype)


@rotary.right
def as_complex_numbers(x, positions, theta):
    angles = _angles(x.double(), positions, theta)
    a, b = x.double().chunk(2, -1)
    turned = torch.complex(a, b) * torch.polar(torch.ones_like(angles), angles)[:, None]
    return torch.cat([turned.real, turned.imag], -1).to(x.dtype)


@rotary.right
def pair_by_pair(x, positions, theta):
    out, half = torch.empty_like(x), x.shape[-1] // 2
    for p, position in enumerate(positions.tolist()):
        for i in range(half):
            angle = position * theta ** (-i / half)
            a, b = x[:, p, :, i], x[:, p, :, i + half]
            out[:, p, :, i] = a * math.cos(angle) - b * math.sin(angle)
            out[:, p, :, i + half] = a * math.sin(angle) + b * math.cos(angle)
    return out


@rotary.right
def with_matrices(x, positions, theta):
    """A rotation matrix for each position, [pos d_head d_head]."""
    half = x.shape[-1] // 2
    angles = _angles(x.double(), positions, theta)
    cos, sin = torch.diag_embed(angles.cos()), torch.diag_embed(angles.sin())
    turn = torch.cat([torch.cat([cos, sin], -1), torch.cat([-sin, cos], -1)], -2)
    assert turn.shape[-1] == 2 * half
    return torch.einsum("bphd,pde->bphe", x.double(), turn).to(x.dtype)


# 11.3 ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

repeating = Exercise("11.3", difficulty=2, minutes=10)


@repeating.oracle
def repeat_kv(
    k: Float[Tensor, "batch pos n_kv_heads d_head"],
    n_rep: int,
) -> Float[Tensor, "batch pos n_heads d_head"]:
    """Each key-value head n_rep times in a row: head h of the queries reads head h // n_rep (Ainslie et al. 2023)."""
    return repeat(k, "batch pos n_kv_heads d_head -> batch pos (n_kv_heads n_rep) d_head", n_rep=n_rep)


@repeating.fresh
def _(draw):
    return draw.normal("batch pos n_kv_heads d_head"), draw.size("n_rep")


@repeating.special("for one key-value head that all share")
def _(draw):
    return draw.normal("2 5 1 4"), 3


@repeating.special("for n_rep = 1, where nothing is repeated")
def _(draw):
    return draw.normal("2 5 3 4"), 1


repeating.hints(
    "With 9 query heads and 3 key heads, query heads 0, 1, 2 share key head 0. In which order must key heads stand?",
    "0, 0, 0, 1, 1, 1, 2, 2, 2: each head several times in a row, not the whole list several times.",
    "torch.repeat_interleave repeats each entry of an axis in a row; repeat would tile the whole axis. "
    "Or give it a new axis after n_kv_heads, expand that, and merge the two.",
    "`k.repeat_interleave(n_rep, dim=…)`",
)


@repeating.wrong(
    "tiled",
    "The heads are tiled, 0, 1, 0, 1: neighboring query heads share a key head, so each is repeated in a row, "
    "0, 0, 1, 1.",
)
def _(k, n_rep):
    return k.repeat(1, 1, n_rep, 1)


@repeating.wrong("repeats_d_head", "The numbers within a head are repeated: it is the head axis that grows, axis 2.")
def _(k, n_rep):
    return k.repeat_interleave(n_rep, -1)


@repeating.wrong("repeats_positions", "Positions are repeated: it is the head axis that grows, axis 2.")
def _(k, n_rep):
    return k.repeat_interleave(n_rep, 1)


@repeating.wrong("axis_not_merged", "The copies stand in an axis of their own: merge it with n_kv_heads into n_heads.")
def _(k, n_rep):
    return k[:, :, :, None].expand(-1, -1, -1, n_rep, -1)


@repeating.wrong(
    "scrambled_by_view",
    "The copies are right, but their axis stands before n_kv_heads or elsewhere when it is merged, so that numbers of "
    "different positions meet: it must come right after n_kv_heads.",
)
def _(k, n_rep):
    batch, pos, heads, d_head = k.shape
    return k[:, None].expand(-1, n_rep, -1, -1, -1).reshape(batch, pos, heads * n_rep, d_head)


@repeating.right
def interleaved(k, n_rep):
    return k.repeat_interleave(n_rep, dim=2)


@repeating.right
def expanded_and_merged(k, n_rep):
    return k.unsqueeze(3).expand(*k.shape[:3], n_rep, k.shape[3]).flatten(2, 3)


@repeating.right
def by_index(k, n_rep):
    return k[:, :, torch.arange(k.shape[2] * n_rep, device=k.device) // n_rep]


@repeating.right
def head_after_head(k, n_rep):
    return torch.stack([k[:, :, h] for h in range(k.shape[2]) for _ in range(n_rep)], 2)


# 11.4 ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

gated = Exercise("11.4", difficulty=2, minutes=10)


@gated.oracle
def swiglu(
    x: Float[Tensor, "batch pos d_model"],
    W_gate: Float[Tensor, "d_model d_mlp"],
    W_up: Float[Tensor, "d_model d_mlp"],
    W_down: Float[Tensor, "d_mlp d_model"],
) -> Float[Tensor, "batch pos d_model"]:
    """(SiLU(x·W_gate) ⊙ x·W_up)·W_down (Shazeer 2020, eq. 6)."""
    gate = x @ W_gate
    return (gate * torch.sigmoid(gate) * (x @ W_up)) @ W_down


@gated.fresh
def _(draw):
    x = draw.normal("batch pos d_model", scale=1.5)
    gate, up = (draw.weight("d_model d_mlp", "d_model") for _ in range(2))
    return x, gate, up, draw.weight("d_mlp d_model", "d_mlp")


gated.hints(
    "Two matrices read the stream side by side. One says what, the other how much of it gets through: the gate.",
    "Only the gate goes through SiLU, z·sigmoid(z). Then gate and up are multiplied neuron by neuron.",
    "No biases. W_down writes the product back into the stream.",
    "`(torch.nn.functional.silu(x @ …) * (x @ …)) @ W_down`",
)


@gated.wrong("gate_and_up_swapped", "Gate and up are swapped: SiLU belongs to x @ W_gate, and x @ W_up stays as it is.")
def _(x, W_gate, W_up, W_down):
    return swiglu(x, W_up, W_gate, W_down)


def _gated_with(activation):
    def answer(x, W_gate, W_up, W_down):
        return (activation(x @ W_gate) * (x @ W_up)) @ W_down

    return answer


gated.wrong("gelu", "The gate goes through GELU (with erf): here it is SiLU, z·sigmoid(z).")(
    _gated_with(nn.functional.gelu)
)
gated.wrong("gelu_new", "The gate goes through GELU, in GPT-2's tanh form: here it is SiLU, z·sigmoid(z).")(
    _gated_with(lambda z: nn.functional.gelu(z, approximate="tanh"))
)
gated.wrong("relu", "The gate goes through ReLU: here it is SiLU, z·sigmoid(z).")(_gated_with(nn.functional.relu))
gated.wrong(
    "sigmoid", "The gate goes through a sigmoid alone, as in the first gated units: SiLU is z·sigmoid(z), z times that."
)(_gated_with(torch.sigmoid))
gated.wrong("no_activation", "The activation is left out: the gate goes through SiLU before the product.")(
    _gated_with(lambda z: z)
)


@gated.wrong(
    "activation_on_the_product", "SiLU is applied to the product of gate and up: it belongs to the gate alone."
)
def _(x, W_gate, W_up, W_down):
    return nn.functional.silu((x @ W_gate) * (x @ W_up)) @ W_down


@gated.wrong("activation_at_the_end", "SiLU comes after W_down: it belongs to the gate alone, before the product.")
def _(x, W_gate, W_up, W_down):
    return nn.functional.silu(((x @ W_gate) * (x @ W_up)) @ W_down)


@gated.wrong("activation_on_both", "SiLU is applied to both: up stays as it is, only the gate goes through SiLU.")
def _(x, W_gate, W_up, W_down):
    return (nn.functional.silu(x @ W_gate) * nn.functional.silu(x @ W_up)) @ W_down


@gated.wrong("added", "Gate and up are added: the gate multiplies, neuron by neuron.")
def _(x, W_gate, W_up, W_down):
    return (nn.functional.silu(x @ W_gate) + x @ W_up) @ W_down


@gated.wrong("no_gate", "Only one of the two matrices that read is used, as in GPT-2's MLP: the product needs both.")
def _(x, W_gate, W_up, W_down):
    return nn.functional.silu(x @ W_gate) @ W_down


@gated.wrong(
    "up_alone", "W_gate is not used: x @ W_gate goes through SiLU and multiplies x @ W_up, which stays as it is."
)
def _(x, W_gate, W_up, W_down):
    return nn.functional.silu(x @ W_up) @ W_down


@gated.wrong(
    "linear_up_alone",
    "The gate is left out, and with it all that is not linear: x @ W_up is multiplied by silu(x @ W_gate).",
)
def _(x, W_gate, W_up, W_down):
    return (x @ W_up) @ W_down


@gated.wrong("linear_gate_alone", "Only W_gate is used, and without SiLU: silu(x @ W_gate) multiplies x @ W_up.")
def _(x, W_gate, W_up, W_down):
    return (x @ W_gate) @ W_down


@gated.right
def with_silu(x, W_gate, W_up, W_down):
    return torch.matmul(nn.functional.silu(torch.matmul(x, W_gate)).mul(torch.matmul(x, W_up)), W_down)


@gated.right
def with_einsum_in_float64(x, W_gate, W_up, W_down):
    wide, gate, up, down = (t.double() for t in (x, W_gate, W_up, W_down))
    g = einsum(wide, gate, "b p m, m n -> b p n")
    return einsum(g / (1 + torch.exp(-g)), wide @ up, down, "b p n, b p n, n m -> b p m").to(x.dtype)


@gated.right
def both_at_once(x, W_gate, W_up, W_down):
    gate, up = (x @ torch.cat([W_gate, W_up], 1)).chunk(2, -1)
    return (up * nn.SiLU()(gate)) @ W_down


@gated.right
def row_by_row(x, W_gate, W_up, W_down):
    rows = [W_down.T @ (nn.functional.silu(W_gate.T @ row) * (W_up.T @ row)) for row in x.flatten(0, 1)]
    return torch.stack(rows).view_as(x)


# 11.5 ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

block_of_today = Exercise("11.5", difficulty=4, minutes=30, vary=VARIED)


def _llama(resid, block, positions, *, norm=rms_norm, turn=rope, spread=repeat_kv, mlp=None, **also):
    """A block put together from parts, any of which a wrong answer may replace.

    `also`: `scale` of the scores, `pattern` from the scores, `turn_v`, `turn_q`, `turn_k`; `norm1` and `norm2`; what
    attention's output and the MLP's are added to, `base(resid, x)` and `carry(resid, resid_mid, x)`.
    """
    theta, eps = block["theta"], block["eps"]
    x = also.get("norm1", norm)(resid, block["ln1.w"], eps)
    q, k, v = (einsum(x, block[f"attn.W_{c}"], "b p m, h m d -> b p h d") for c in "QKV")
    q = also.get("turn_q", turn)(q, positions, theta)
    k = also.get("turn_k", turn)(k, positions, theta)
    v = also.get("turn_v", lambda v, positions, theta: v)(v, positions, theta)
    n_rep = q.shape[2] // k.shape[2]
    k, v = spread(k, n_rep), spread(v, n_rep)
    pattern = also.get("pattern", attention_pattern)(attention_scores(q, k) * also.get("scale", 1.0))
    base = also.get("base", lambda resid, x: resid)(resid, x)
    resid_mid = base + einsum(mix_values(pattern, v), block["attn.W_O"], "b p h d, h d m -> b p m")
    x = also.get("norm2", norm)(resid_mid, block[also.get("second", "ln2.w")], eps)
    carried = also.get("carry", lambda resid, mid, x: mid)(resid, resid_mid, x)
    return carried + (mlp or swiglu)(x, block["mlp.W_gate"], block["mlp.W_in"], block["mlp.W_out"])


@block_of_today.oracle
def llama_block(
    resid: Float[Tensor, "batch pos d_model"],
    block: dict[str, Tensor | float],
    positions: Int[Tensor, "pos"],
) -> Float[Tensor, "batch pos d_model"]:
    """Norm, attention with turned q and k and shared keys, add; norm, SwiGLU, add; no biases (Touvron et al. 2023)."""
    x = rms_norm(resid, block["ln1.w"], block["eps"])
    q, k, v = (einsum(x, block[f"attn.W_{c}"], "b p m, h m d -> b p h d") for c in "QKV")
    q, k = (rope(t, positions, block["theta"]) for t in (q, k))
    n_rep = q.shape[2] // k.shape[2]
    pattern = attention_pattern(attention_scores(q, repeat_kv(k, n_rep)))
    no_bias = torch.zeros_like(resid[0, 0])
    resid_mid = resid + attention_out(mix_values(pattern, repeat_kv(v, n_rep)), block["attn.W_O"], no_bias)
    x = rms_norm(resid_mid, block["ln2.w"], block["eps"])
    return resid_mid + swiglu(x, block["mlp.W_gate"], block["mlp.W_in"], block["mlp.W_out"])


def _random_block(draw):
    """Weights large enough that attention is far from even; n_rep query heads share a key head."""
    _even_head(draw)
    draw.fix(n_heads=draw.size("n_rep") * draw.size("n_kv_heads"))
    block: dict = {f"{name}.w": draw.gain("d_model") for name in ("ln1", "ln2")}
    for letter, heads in (("Q", "n_heads"), ("K", "n_kv_heads"), ("V", "n_kv_heads")):
        block[f"attn.W_{letter}"] = draw.weight(f"{heads} d_model d_head", "d_model") * (1.0 if letter == "V" else 1.5)
    block["attn.W_O"] = draw.weight("n_heads d_head d_model", "n_heads d_head")
    block |= {f"mlp.W_{name}": draw.weight("d_model d_mlp", "d_model") for name in ("gate", "in")}
    return block | {"mlp.W_out": draw.weight("d_mlp d_model", "d_mlp"), "eps": draw.eps(), "theta": 30.0}


@block_of_today.fresh
def _(draw):
    resid = draw.normal("batch pos d_model", mean=0.5)
    return resid, _random_block(draw), _positions(draw)


@block_of_today.special("where positions start at 0 and every head has a key head of its own")
def _(draw):
    draw.fix(n_rep=1, n_kv_heads=3)
    resid = draw.normal("batch pos d_model")
    return resid, _random_block(draw) | {"theta": 10000.0}, torch.arange(draw.size("pos"), device=draw.device)


@block_of_today.special("with negative gains")
def _(draw):
    resid = draw.normal("batch pos d_model")
    block = _random_block(draw)
    return resid, block | {name: -block[name] for name in ("ln1.w", "ln2.w")}, _positions(draw)


@block_of_today.prop("causal")
def _(answer, draw):
    resid = draw.normal("batch 6 d_model")
    draw.fix(pos=6)
    block, positions = _random_block(draw), _positions(draw)
    other = resid.clone()
    other[:, 4:] += 1.0
    gap = float((answer(resid, block, positions) - answer(other, block, positions))[:, :4].abs().max())
    return None if gap < 1e-4 else f"Changing positions 4 and 5 changes what comes out at 0 to 3, by up to {gap:.2g}."


block_of_today.hints(
    "The frame is GPT-2's: norm, attention, add; norm, MLP, add. Which four parts inside are new?",
    "Both norms are rms_norm; q and k (not v) go through rope; k and v are repeated for their query heads; the MLP is "
    "swiglu. There is not one bias.",
    "n_rep is q.shape[2] // k.shape[2]. The scores are still divided by √d_head, masked and softmaxed.",
    "`q, k = (rope(t, positions, block['theta']) for t in (q, k))`, then "
    "`attention_scores(q, repeat_kv(k, …))`, and so on as in transformer_block",
)


def _llama_with(**parts):
    return lambda resid, block, positions: _llama(resid, block, positions, **parts)


def _stay(x, positions, theta):
    return x


def _neighbors(x, positions, theta):
    """The interleaved form."""
    order = torch.cat([torch.arange(0, x.shape[-1], 2), torch.arange(1, x.shape[-1], 2)]).to(x.device)
    return rope(x[..., order], positions, theta)


block_of_today.wrong(
    "no_positions",
    "Positions are left out: q and k must be turned by rope, or the block does not know the order of the tokens.",
)(_llama_with(turn=_stay))


@block_of_today.wrong(
    "positions_added",
    "Positions are added to the stream, as with GPT-2's learned positions: here q and k are turned by rope, in every "
    "block, and the stream itself gets nothing.",
)
def _(resid, block, positions):
    angles = _angles(resid, positions, block["theta"])
    table = torch.stack([angles.sin(), angles.cos()], -1).flatten(-2).to(resid.dtype)
    table = nn.functional.pad(table, (0, resid.shape[-1] - table.shape[-1]))
    return _llama(resid + table, block, positions, turn=_stay)


@block_of_today.wrong(
    "biases",
    "The block has no weight of that name: there are no biases here, and the MLP's matrices are mlp.W_gate, mlp.W_in "
    "and mlp.W_out.",
)
def _(resid, block, positions):
    x = rms_norm(resid, block["ln1.w"], block["eps"])
    return einsum(x, block["attn.W_Q"], "b p m, h m d -> b p h d") + block["attn.b_Q"]


@block_of_today.wrong(
    "post_ln",
    "The norms come after the sums: each sublayer norms what it reads, and the stream itself is never normed.",
)
def _(resid, block, positions):
    eps, nothing = block["eps"], {"mlp.W_out": torch.zeros_like(block["mlp.W_out"])}
    mid = rms_norm(_llama(resid, block | nothing, positions, norm=_as_it_is), block["ln1.w"], eps)
    return rms_norm(mid + swiglu(mid, block["mlp.W_gate"], block["mlp.W_in"], block["mlp.W_out"]), block["ln2.w"], eps)


def _layer_norm(x, w, eps):
    return rms_norm(x - x.mean(-1, keepdim=True), w, eps)


def _as_it_is(x, w, eps):
    return x


def _zeros(resid, *rest):
    return torch.zeros_like(resid)


def _normed(*parts):
    return parts[-1]


def _tanh_gelu_gate(x, W_gate, W_up, W_down):
    return (nn.functional.gelu(x @ W_gate, approximate="tanh") * (x @ W_up)) @ W_down


for key, message, parts in (
    ("layer_norm", "The norm subtracts the mean, as LayerNorm does: here it is rms_norm.", {"norm": _layer_norm}),
    ("gain_sign_lost", GAIN_SIGN_LOST, {"norm": lambda x, w, eps: rms_norm(x, w.abs(), eps)}),
    ("ln1_twice", "The first norm's gain is used twice: before the MLP it is ln2.w.", {"second": "ln1.w"}),
    (
        "first_norm_left_out",
        "The norm before attention is left out: attention reads rms_norm of the stream, with ln1.w.",
        {"norm1": _as_it_is},
    ),
    (
        "second_norm_left_out",
        "The norm before the MLP is left out: the MLP reads rms_norm of the stream, with ln2.w.",
        {"norm2": _as_it_is},
    ),
    (
        "no_norms",
        "Both norms are left out: attention and the MLP each read rms_norm of the stream, with ln1.w and ln2.w.",
        {"norm": _as_it_is},
    ),
    (
        "attention_not_added",
        "Attention's output replaces the stream: it must be added to it.",
        {"base": _zeros},
    ),
    (
        "nothing_added",
        "Neither output is added to the stream: attention's and the MLP's both must be.",
        {"base": _zeros, "carry": _zeros},
    ),
    (
        "attention_lost",
        "The MLP's output is added to the stream as the block found it: it goes on what attention has left.",
        {"carry": lambda resid, mid, x: resid},
    ),
    (
        "added_to_the_normed",
        "Both outputs are added to what the norms gave: they go on the stream itself, which is never normed.",
        {"base": _normed, "carry": _normed},
    ),
    (
        "attention_added_to_the_normed",
        "Attention's output is added to what the norm gave: it goes on the stream itself, which is never normed.",
        {"base": _normed},
    ),
    (
        "mlp_added_to_the_normed",
        "The MLP's output is added to what the norm gave: it goes on the stream itself, which is never normed.",
        {"carry": _normed},
    ),
    ("values_turned", "Values are turned as well: only q and k carry positions.", {"turn_v": rope}),
    ("only_queries_turned", "Only q is turned: k must be turned too, by its own position.", {"turn_k": _stay}),
    ("only_keys_turned", "Only k is turned: q must be turned too, by its own position.", {"turn_q": _stay}),
    (
        "interleaved",
        "rope pairs neighboring dimensions: these weights want the half-split form, i with i + d_head/2.",
        {"turn": _neighbors},
    ),
    (
        "places_for_positions",
        "The places 0, 1, 2, … are used in place of the positions given.",
        {"turn": lambda x, positions, theta: rope(x, torch.arange(x.shape[1], device=x.device), theta)},
    ),
    (
        "theta_by_heart",
        "theta is taken to be 10,000 whatever the block says: use block['theta'].",
        {"turn": lambda x, positions, theta: rope(x, positions, 10000.0)},
    ),
    (
        "kv_tiled",
        "Key heads are tiled, 0, 1, 0, 1: each is repeated in a row for its group of queries, 0, 0, 1, 1.",
        {"spread": lambda k, n_rep: k.repeat(1, 1, n_rep, 1)},
    ),
    (
        "no_mask",
        "Attention is not masked: every position sees the ones after it.",
        {"pattern": lambda s: s.softmax(-1)},
    ),
    ("gelu", "The gate goes through GELU, as in GPT-2: here it is SiLU.", {"mlp": _tanh_gelu_gate}),
    (
        "gate_and_up_swapped",
        "Gate and up are swapped: SiLU belongs to x @ mlp.W_gate, and x @ mlp.W_in stays as it is.",
        {"mlp": lambda x, gate, up, down: swiglu(x, up, gate, down)},
    ),
):
    block_of_today.wrong(key, message)(_llama_with(**parts))


@block_of_today.wrong("not_scaled", "The scores are not divided by √d_head: that has stayed as it was.")
def _(resid, block, positions):
    return _llama(resid, block, positions, scale=math.sqrt(block["attn.W_Q"].shape[-1]))


@block_of_today.wrong("mlp_not_added", "The MLP's output replaces the stream: it must be added to it.")
def _(resid, block, positions):
    nothing = {"mlp.W_out": torch.zeros_like(block["mlp.W_out"])}
    return llama_block(resid, block, positions) - llama_block(resid, block | nothing, positions)


@block_of_today.wrong(
    "parallel", "Attention and MLP both read the stream at the block's start: the MLP reads what attention has left."
)
def _(resid, block, positions):
    nothing = {"mlp.W_out": torch.zeros_like(block["mlp.W_out"])}
    x = rms_norm(resid, block["ln2.w"], block["eps"])
    neurons = swiglu(x, block["mlp.W_gate"], block["mlp.W_in"], block["mlp.W_out"])
    return llama_block(resid, block | nothing, positions) + neurons


@block_of_today.right
def with_torchs_functions(resid, block, positions):
    F = nn.functional
    x = F.rms_norm(resid, resid.shape[-1:], block["ln1.w"], block["eps"])
    q, k, v = (torch.einsum("bpm,hmd->bphd", x, block[f"attn.W_{c}"]) for c in "QKV")
    q, k = (with_rotate_half(t, positions, block["theta"]) for t in (q, k))
    q, k, v = (t.transpose(1, 2) for t in (q, k, v))
    k, v = (t.repeat_interleave(q.shape[1] // k.shape[1], 1) for t in (k, v))
    z = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    resid = resid + torch.einsum("bhpd,hdm->bpm", z, block["attn.W_O"])
    x = F.rms_norm(resid, resid.shape[-1:], block["ln2.w"], block["eps"])
    return resid + (F.silu(x @ block["mlp.W_gate"]) * (x @ block["mlp.W_in"])) @ block["mlp.W_out"]


@block_of_today.right
def in_float64(resid, block, positions):
    wide = {name: w.double() if isinstance(w, Tensor) else w for name, w in block.items()}
    return _llama(resid.double(), wide, positions, turn=pair_by_pair, spread=by_index).to(resid.dtype)


@block_of_today.right
def head_by_head(resid, block, positions):
    """Each query head asks for its own key head: nothing is repeated."""
    x = rms_norm(resid, block["ln1.w"], block["eps"])
    W_Q, W_K, W_V, W_O = (block[f"attn.W_{c}"] for c in "QKVO")
    group, total = len(W_Q) // len(W_K), resid
    for h in range(len(W_Q)):
        q, k = (rope((x @ W)[:, :, None], positions, block["theta"])[:, :, 0] for W in (W_Q[h], W_K[h // group]))
        scores = q @ k.mT / q.shape[-1] ** 0.5
        hidden = torch.ones_like(scores[0], dtype=torch.bool).triu(1)
        pattern = scores.masked_fill(hidden, torch.finfo(scores.dtype).min).softmax(-1)
        total = total + pattern @ (x @ W_V[h // group]) @ W_O[h]
    x = rms_norm(total, block["ln2.w"], block["eps"])
    return total + swiglu(x, block["mlp.W_gate"], block["mlp.W_in"], block["mlp.W_out"])


class _Block(nn.Module):
    """A module stands for a function."""

    def forward(self, resid, block, positions):
        return _llama(resid, block, positions, turn=as_complex_numbers, spread=expanded_and_merged, mlp=both_at_once)


block_of_today.right(_Block())
