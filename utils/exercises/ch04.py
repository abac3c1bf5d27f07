"""Chapter 04, LayerNorm: mean 0 and variance 1 for each vector of the stream, then a gain and a bias.

The norm is Ba, Kiros and Hinton 2016, "Layer Normalization", equations 3 and 4, with GPT-2's eps under the root.
Folding (04.4) and centering (04.5) are what TransformerLens calls fold_ln and center_writing_weights.
"""

import torch
from einops import reduce
from jaxtyping import Float
from torch import Tensor

from utils.exercises.declare import Exercise
from utils.exercises.gradients import gradient_fault

ONE_CALL = "It would do the exercise in one call; the point is to see what a norm does, from a mean and a variance."
NORMS = ("layer_norm", "group_norm", "batch_norm", "rms_norm", "code of transformers", "code of transformer_lens")

GAIN_SIGN_LOST = (
    "The sign of the gain is lost: a gain may be negative, and then turns the sign of its number. Use w as it is."
)
EPS_RAISED = (
    "eps is raised where it is very small, as by max(eps, 1e-5): use the one that is given, even where it is 0."
)


def _at_every_norm(hook, weights=False):
    """Cases at a layer's two norms and, with the last layer, at the final one."""

    def from_hooks(cache, layer):
        places = [
            (f"blocks.{layer}.hook_resid_pre", f"blocks.{layer}.ln1"),
            (f"blocks.{layer}.hook_resid_mid", f"blocks.{layer}.ln2"),
        ]
        if layer == cache.n_layers - 1:
            places.append((f"blocks.{layer}.hook_resid_post", "ln_final"))
        for stream, norm in places:
            learned = (cache.weight(f"{norm}.w"), cache.weight(f"{norm}.b")) if weights else ()
            yield (cache[stream], *learned, float(cache.cfg.eps)), cache[f"{norm}.{hook}"]

    return from_hooks


def _rows(draw, axes="batch pos d_model"):
    """Rows whose mean is not 0; long enough that none of them is nearly constant by chance."""
    draw.size("d_model", at_least=5)
    return draw.normal(axes, scale=1.5, mean=1.0)


def _alike(draw):
    """A row of equal numbers among others: its variance is exactly 0."""
    x = draw.normal("2 3 8", mean=1.0)
    x[0, 1] = 2.0
    return x


# 04.1 ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

scale = Exercise("04.1", difficulty=2, minutes=10)


@scale.oracle
def ln_scale(x: Float[Tensor, "... d_model"], eps: float) -> Float[Tensor, "... 1"]:
    """The root of each row's variance plus eps (Ba et al. 2016, eq. 3); what LayerNorm divides by."""
    return (x.var(-1, unbiased=False, keepdim=True) + eps).sqrt()


scale.on_reference(_at_every_norm("hook_scale"))


@scale.fresh
def _(draw):
    return _rows(draw), draw.eps()


@scale.fresh
def _(draw):
    """Rows alone, without a batch."""
    return _rows(draw, "rows d_model"), draw.eps()


@scale.special("on a single row, a tensor of one axis")
def _(draw):
    return draw.normal("7", mean=1.0), 0.1


@scale.special("on rows of very small numbers")
def _(draw):
    return draw.normal("2 4 6", scale=1e-3), 1e-5


@scale.special("on rows of very small numbers, with eps = 0")
def _(draw):
    return draw.normal("2 4 6", scale=1e-3), 0.0


@scale.special("on a row whose numbers are all alike")
def _(draw):
    return _alike(draw), 1e-5


scale.hints(
    "How far do a row's numbers typically lie from their mean? That is one number for each row.",
    "The variance is the mean of the squared distances from the mean, over the last axis. eps is added to it, then "
    "the root is taken.",
    "x.var divides by d_model − 1 unless you say unbiased=False (or correction=0). keepdim=True keeps an axis of "
    "length 1.",
    "`(x.var(-1, unbiased=…, keepdim=…) + …).sqrt()`",
)


@scale.wrong(
    "eps_outside_the_root",
    "eps is added after the root: it belongs to the variance, under the root.",
)
def _(x, eps):
    return x.var(-1, unbiased=False, keepdim=True).sqrt() + eps


@scale.wrong(
    "unbiased_variance",
    "The variance divides by d_model − 1, as torch's var and std do by default: LayerNorm divides by d_model "
    "(unbiased=False).",
)
def _(x, eps):
    return (x.var(-1, unbiased=True, keepdim=True) + eps).sqrt()


@scale.wrong(
    "mean_of_squares_as_variance",
    "The mean of x² is taken for the variance: that is right only where the mean is 0. Subtract the mean before "
    "squaring.",
)
def _(x, eps):
    return (x.square().mean(-1, keepdim=True) + eps).sqrt()


@scale.wrong(
    "unbiased_and_eps_outside",
    "Two things are off: torch's std divides by d_model − 1 unless told otherwise, and eps is added after the root. It "
    "belongs to the variance, under the root.",
)
def _(x, eps):
    return x.std(-1, keepdim=True) + eps


@scale.wrong("no_root", "The root is missing: this is the variance plus eps, and the scale is its root.")
def _(x, eps):
    return x.var(-1, unbiased=False, keepdim=True) + eps


@scale.wrong(
    "keepdim_lost",
    "The last axis is gone: it must stay, with length 1 (keepdim=True), so that x can be divided by the result.",
)
def _(x, eps):
    return (x.var(-1, unbiased=False) + eps).sqrt()


@scale.wrong("no_eps", "eps is not added: a row whose numbers are all alike has variance 0, and would be divided by 0.")
def _(x, eps):
    return x.var(-1, unbiased=False, keepdim=True).sqrt()


@scale.wrong("eps_written_in", "eps is written into the function as 1e-5: use the one that is given.")
def _(x, eps):
    return (x.var(-1, unbiased=False, keepdim=True) + 1e-5).sqrt()


@scale.wrong("eps_raised", EPS_RAISED)
def _(x, eps):
    return ln_scale(x, max(eps, 1e-5))


@scale.wrong("inverted", "This is 1/scale: give the scale itself, what x is divided by.")
def _(x, eps):
    return (x.var(-1, unbiased=False, keepdim=True) + eps).rsqrt()


@scale.wrong(
    "one_scale_for_all",
    "One variance is taken over all numbers: each row (each position of each text) has its own, over the last axis.",
)
def _(x, eps):
    return (x.var(unbiased=False) + eps).sqrt().expand(*x.shape[:-1], 1)


@scale.wrong(
    "sum_of_squares",
    "The squared distances are added up, not averaged: that makes the scale √d_model times too large.",
)
def _(x, eps):
    return ((x - x.mean(-1, keepdim=True)).square().sum(-1, keepdim=True) + eps).sqrt()


@scale.right
def by_hand(x, eps):
    distance = x - x.mean(dim=-1, keepdim=True)
    return torch.sqrt((distance**2).mean(dim=-1, keepdim=True) + eps)


@scale.right
def from_the_mean_of_squares(x, eps):
    return ((x * x).mean(-1, keepdim=True) - x.mean(-1, keepdim=True) ** 2 + eps).sqrt()


@scale.right
def from_the_norm_in_float64(x, eps):
    distance = x.double() - x.double().mean(-1, keepdim=True)
    return (distance.norm(dim=-1, keepdim=True) ** 2 / x.shape[-1] + eps).sqrt().to(x.dtype)


@scale.right
def row_by_row(x, eps):
    rows = [torch.dot(row - row.mean(), row - row.mean()) / len(row) for row in x.reshape(-1, x.shape[-1])]
    return (torch.stack(rows) + eps).sqrt().view(*x.shape[:-1], 1)


# 04.2 ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

normalize = Exercise("04.2", difficulty=2, minutes=10)


@normalize.oracle
def ln_normalize(x: Float[Tensor, "... d_model"], eps: float) -> Float[Tensor, "... d_model"]:
    """Each row minus its mean, divided by its scale (Ba et al. 2016, eq. 4, before gain and bias)."""
    return (x - x.mean(-1, keepdim=True)) / ln_scale(x, eps)


normalize.on_reference(_at_every_norm("hook_normalized"))


@normalize.fresh
def _(draw):
    return _rows(draw), draw.eps()


@normalize.special("on rows alone, without a batch")
def _(draw):
    return draw.normal("5 7", mean=1.0), 0.1


@normalize.special("on a single row, a tensor of one axis")
def _(draw):
    return draw.normal("7", mean=1.0), 0.1


@normalize.special("on a tensor of four axes")
def _(draw):
    return draw.normal("2 3 4 6", mean=-1.0), 0.1


@normalize.special("on rows of very small numbers")
def _(draw):
    return draw.normal("2 4 6", scale=1e-3, mean=1e-3), 1e-5


@normalize.special("on rows of very small numbers, with eps = 0")
def _(draw):
    return draw.normal("2 4 6", scale=1e-3), 0.0


@normalize.special("on a row whose numbers are all alike")
def _(draw):
    return _alike(draw), 1e-5


normalize.hints(
    "Two things are to become true of each row: its mean is 0, its variance is 1. Which two operations do that?",
    "Subtract the row's mean, then divide by the row's scale, which you wrote in 04.1.",
    "Mean and scale both run over the last axis and keep it with length 1, so that they line up with x.",
    "`(x - x.mean(…, keepdim=True)) / ln_scale(…, …)`",
)


def _normalized(x, *, mean=-1, spread=-1, unbiased=False, centered=True, scale=lambda variance: variance.sqrt()):
    """LayerNorm's arithmetic with one of its parts replaced."""
    top = x - x.mean(mean, keepdim=True) if centered else x
    return top / scale(x.var(spread, unbiased=unbiased, keepdim=True))


@normalize.wrong(
    "not_centered",
    "The mean is not subtracted: the row is divided by its scale, but it must be centered first.",
)
def _(x, eps):
    return x / ln_scale(x, eps)


@normalize.wrong(
    "rms_norm",
    "This is RMSNorm: the mean is not subtracted, and the mean of x² stands for the variance. LayerNorm centers each "
    "row first.",
)
def _(x, eps):
    return x / (x.square().mean(-1, keepdim=True) + eps).sqrt()


@normalize.wrong(
    "spread_from_zero",
    "The row is centered, but the mean of x² stands for the variance: the squares are those of the centered numbers.",
)
def _(x, eps):
    return (x - x.mean(-1, keepdim=True)) / (x.square().mean(-1, keepdim=True) + eps).sqrt()


@normalize.wrong(
    "unbiased_variance",
    "The variance divides by d_model − 1, as torch's var and std do by default: LayerNorm divides by d_model "
    "(unbiased=False).",
)
def _(x, eps):
    return _normalized(x, unbiased=True, scale=lambda variance: (variance + eps).sqrt())


@normalize.wrong("eps_outside_the_root", "eps is added after the root: it belongs to the variance, under the root.")
def _(x, eps):
    return _normalized(x, scale=lambda variance: variance.sqrt() + eps)


@normalize.wrong(
    "unbiased_and_eps_outside",
    "Two things are off: torch's std divides by d_model − 1 unless told otherwise, and eps is added after the root. It "
    "belongs to the variance, under the root.",
)
def _(x, eps):
    return _normalized(x, unbiased=True, scale=lambda variance: variance.sqrt() + eps)


@normalize.wrong(
    "eps_added_to_the_result", "eps is added to the normalized row: it belongs to the variance, under the root."
)
def _(x, eps):
    return _normalized(x) + eps


@normalize.wrong("eps_written_in", "eps is written into the function as 1e-5: use the one that is given.")
def _(x, eps):
    return ln_normalize(x, 1e-5)


@normalize.wrong("eps_raised", EPS_RAISED)
def _(x, eps):
    return ln_normalize(x, max(eps, 1e-5))


@normalize.wrong(
    "eps_as_limit",
    "eps is only the least that the variance may be, as by clamp(min=eps): it is added to the variance.",
)
def _(x, eps):
    return _normalized(x, scale=lambda variance: variance.clamp(min=eps).sqrt())


@normalize.wrong(
    "no_eps", "eps is not used: a row whose numbers are all alike has variance 0, and 0/0 is not a number (NaN)."
)
def _(x, eps):
    return _normalized(x)


@normalize.wrong("no_root", "The row is divided by its variance: it must be divided by the root of it.")
def _(x, eps):
    return _normalized(x, scale=lambda variance: variance + eps)


@normalize.wrong("centered_only", "The row is centered, but not divided by its scale.")
def _(x, eps):
    return x - x.mean(-1, keepdim=True)


@normalize.wrong(
    "over_the_batch",
    "Mean and variance run over the batch, as in batch norm: here each position of each text has its own, over the "
    "last axis.",
)
def _(x, eps):
    return _normalized(x, mean=0, spread=0, scale=lambda variance: (variance + eps).sqrt())


@normalize.wrong(
    "over_positions",
    "Mean and variance run over the positions: each position has its own, over the last axis, d_model.",
)
def _(x, eps):
    return _normalized(x, mean=-2, spread=-2, scale=lambda variance: (variance + eps).sqrt())


@normalize.wrong(
    "over_everything",
    "One mean and one variance are taken over all numbers: each position of each text has its own, over the last axis.",
)
def _(x, eps):
    return (x - x.mean()) / (x.var(unbiased=False) + eps).sqrt()


@normalize.wrong(
    "over_each_text",
    "One mean and one variance are taken for a whole text: each position has its own, over the last axis, d_model.",
)
def _(x, eps):
    axes = (-2, -1)
    return _normalized(x, mean=axes, spread=axes, scale=lambda variance: (variance + eps).sqrt())


@normalize.wrong(
    "mean_of_everything",
    "One mean is taken over all numbers: each position of each text has its own, over the last axis.",
)
def _(x, eps):
    return (x - x.mean()) / (x.var(-1, unbiased=False, keepdim=True) + eps).sqrt()


@normalize.wrong(
    "only_the_mean_divided",
    "Only the mean is divided by the scale: / binds tighter than −, so the difference x − mean needs parentheses.",
)
def _(x, eps):
    return x - x.mean(-1, keepdim=True) / (x.var(-1, unbiased=False, keepdim=True) + eps).sqrt()


@normalize.right
def by_hand(x, eps):
    distance = x - x.mean(-1, keepdim=True)
    return distance * torch.rsqrt(distance.pow(2).mean(-1, keepdim=True) + eps)


@normalize.right
def with_var_mean(x, eps):
    variance, mean = torch.var_mean(x, dim=-1, correction=0, keepdim=True)
    return (x - mean) / (variance + eps) ** 0.5


@normalize.right
def with_einops(x, eps):
    centered = x - reduce(x, "... d_model -> ... 1", "mean")
    return centered / (reduce(centered**2, "... d_model -> ... 1", "mean") + eps).sqrt()


@normalize.right
def row_by_row_in_float64(x, eps):
    rows = []
    for row in x.double().reshape(-1, x.shape[-1]):
        centered = row - row.sum() / len(row)
        rows.append(centered / torch.sqrt(centered @ centered / len(row) + eps))
    return torch.stack(rows).view(x.shape).to(x.dtype)


# 04.3 ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

norm = Exercise("04.3", difficulty=2, minutes=10)


@norm.oracle
def layer_norm(
    x: Float[Tensor, "... d_model"],
    w: Float[Tensor, "d_model"],
    b: Float[Tensor, "d_model"],
    eps: float,
) -> Float[Tensor, "... d_model"]:
    """The normalized row times the gain, plus the bias (Ba et al. 2016, eq. 4)."""
    return ln_normalize(x, eps) * w + b


norm.on_reference(_at_every_norm("hook_out", weights=True))


def _learned(draw, d_model="d_model"):
    return draw.gain(d_model), draw.normal(d_model)


@norm.fresh
def _(draw):
    return _rows(draw), *_learned(draw), draw.eps()


@norm.special("on a single row, a tensor of one axis")
def _(draw):
    return draw.normal("7", mean=1.0), *_learned(draw, "7"), 0.1


@norm.special("on a tensor of four axes, with negative gains")
def _(draw):
    return draw.normal("2 3 4 6", mean=-1.0), -draw.gain("6"), draw.normal("6"), 0.1


@norm.special("on rows of very small numbers")
def _(draw):
    return draw.normal("2 4 6", scale=1e-3, mean=1e-3), *_learned(draw, "6"), 1e-5


@norm.special("on rows of very small numbers, with eps = 0")
def _(draw):
    return draw.normal("2 4 6", scale=1e-3), *_learned(draw, "6"), 0.0


@norm.special("on a row whose numbers are all alike")
def _(draw):
    return _alike(draw), *_learned(draw, "8"), 1e-5


@norm.prop("gradients_flow")
def _(answer, draw):
    return gradient_fault(answer, layer_norm, x=_rows(draw), w=draw.gain("d_model"), b=draw.normal("d_model"), eps=0.1)


norm.hints(
    "After normalizing, all rows have the same mean and the same spread. What do w and b give back to the model?",
    "Each of the d_model places has its own gain and its own bias: times w, then plus b.",
    "w and b have the shape [d_model], so they line up with the last axis by themselves.",
    "`ln_normalize(x, eps) * … + …`",
)


def _with_gain_and_bias(wrong):
    return lambda x, w, b, eps: wrong(x, eps) * w + b


for _wrong in normalize.wrongs:
    norm.wrong(_wrong.key, _wrong.message)(_with_gain_and_bias(_wrong.answer))


@norm.wrong(
    "bias_before_gain",
    "The bias is added before the gain, so that it is multiplied too: first times w, then plus b.",
)
def _(x, w, b, eps):
    return (ln_normalize(x, eps) + b) * w


@norm.wrong("gain_ignored", "The gain w is not used: each of the d_model places is multiplied by its own gain.")
def _(x, w, b, eps):
    return ln_normalize(x, eps) + b


@norm.wrong("gain_sign_lost", GAIN_SIGN_LOST)
def _(x, w, b, eps):
    return layer_norm(x, w.abs(), b, eps)


@norm.wrong("bias_ignored", "The bias b is not added.")
def _(x, w, b, eps):
    return ln_normalize(x, eps) * w


@norm.wrong("gain_and_bias_ignored", "Neither the gain w nor the bias b is used.")
def _(x, w, b, eps):
    return ln_normalize(x, eps)


@norm.wrong(
    "gain_as_matrix",
    "@ adds up over d_model, so that one number a row is left: the gain multiplies number by number, with *.",
)
def _(x, w, b, eps):
    return ln_normalize(x, eps) @ w + b


@norm.wrong("gain_plus_one", "The gain is used as 1 + w, as some other models store it: in GPT-2 it is w itself.")
def _(x, w, b, eps):
    return ln_normalize(x, eps) * (1 + w) + b


@norm.wrong(
    "gain_and_bias_swapped",
    "w and b are swapped: w is the gain, which multiplies, and b the bias, which is added.",
)
def _(x, w, b, eps):
    return ln_normalize(x, eps) * b + w


@norm.wrong("changes_input", "x is changed in place, by -= or /=: that would overwrite the stream. Make a new tensor.")
def _(x, w, b, eps):
    scale = ln_scale(x, eps)
    x -= x.mean(-1, keepdim=True)
    x /= scale
    return x * w + b


@norm.wrong("no_gradient", "No gradient flows back through the result: a detach, .data or no_grad cuts it off.")
def _(x, w, b, eps):
    return layer_norm(x, w, b, eps).detach()


@norm.wrong(
    "statistics_detached",
    "Mean and scale are cut off from the gradient, by detach or no_grad: they depend on x, and training must see that.",
)
def _(x, w, b, eps):
    return (x - x.mean(-1, keepdim=True).detach()) / ln_scale(x, eps).detach() * w + b


@norm.wrong("not_normalized", "Gain and bias are applied to x itself: it must be normalized first, as in 04.2.")
def _(x, w, b, eps):
    return x * w + b


@norm.right
def by_hand(x, w, b, eps):
    distance = x - x.mean(-1, keepdim=True)
    return torch.addcmul(b, distance / (distance.square().mean(-1, keepdim=True) + eps).sqrt(), w)


@norm.right
def in_float32_or_more(x, w, b, eps):
    """As careful libraries do it: statistics never in a coarser dtype than float32."""
    wide = x.float() if x.dtype in (torch.bfloat16, torch.float16) else x
    variance, mean = torch.var_mean(wide, -1, correction=0, keepdim=True)
    return ((wide - mean) * (variance + eps).rsqrt() * w + b).to(x.dtype)


@norm.right
def with_matrices(x, w, b, eps):
    """Centering is a projection, the gain a diagonal matrix."""
    d = x.shape[-1]
    center = torch.eye(d, dtype=x.dtype, device=x.device) - 1 / d
    centered = x @ center
    return centered / ((centered * centered).sum(-1, keepdim=True) / d + eps).sqrt() @ torch.diag(w) + b


class _Module(torch.nn.Module):
    """A module stands for a function."""

    def forward(self, x, w, b, eps):
        centered = x - torch.einsum("...m->...", x)[..., None] / x.shape[-1]
        variance = torch.einsum("...m,...m->...", centered, centered)[..., None] / x.shape[-1]
        return torch.einsum("...m,m->...m", centered / torch.sqrt(variance + eps), w) + b


norm.right(_Module())

for _exercise in (scale, normalize, norm):
    _exercise.forbid(*NORMS, because=ONE_CALL)

# 04.4 ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

folding = Exercise("04.4", difficulty=4, minutes=20)


@folding.oracle
def fold_layer_norm(
    w: Float[Tensor, "d_model"],
    b: Float[Tensor, "d_model"],
    W: Float[Tensor, "d_model d_out"],
    b_lin: Float[Tensor, "d_out"],
) -> tuple[Float[Tensor, "d_model d_out"], Float[Tensor, "d_out"]]:
    """(x̂·w + b)·W + b_lin = x̂·(w·W) + (b·W + b_lin): the gain scales W's rows, the bias goes through W."""
    return w[:, None] * W, b @ W + b_lin


@folding.observe
def _(folded, w, b, W, b_lin) -> Float[Tensor, "d_model d_out"]:
    """Judged by what they do to normalized rows: (W', b') are not the only ones, because those rows have mean 0.

    Row i is what comes of place i alone, a row of the unit matrix: centered, and √d_model long as all of them are.
    """
    W_folded, b_folded = folded
    wide = W_folded.double()
    return ((wide - wide.mean(0)) * W.shape[0] ** 0.5 + b_folded.double()).to(W_folded.dtype)


@folding.on_reference
def _(cache, layer):
    """The norm before the MLP and the MLP's first layer."""
    block = cache.block(layer)
    return (block["ln2.w"], block["ln2.b"], block["mlp.W_in"], block["mlp.b_in"]), None


@folding.fresh
def _(draw):
    return *_learned(draw), draw.weight("d_model d_out", "d_model"), draw.normal("d_out")


@folding.special("with negative gains")
def _(draw):
    return -draw.gain("5"), draw.normal("5"), draw.weight("5 3", "5"), draw.normal("3")


@folding.prop("same_as_before_folding")
def _(answer, draw):
    """The sentence of the exercise itself, with the book's own layer_norm."""
    x, w, b = draw.normal("2 5 6", mean=1.0), draw.gain("6"), draw.normal("6")
    W, b_lin = draw.weight("6 4", "6"), draw.normal("4")
    W_folded, b_folded = answer(w.clone(), b.clone(), W.clone(), b_lin.clone())
    before = layer_norm(x, w, b, 0.1) @ W + b_lin
    gap = float((ln_normalize(x, 0.1) @ W_folded + b_folded - before).abs().max())
    return None if gap < 1e-4 else f"normalize(x)·W' + b' differs from layer_norm(x)·W + b_lin by up to {gap:.2g}."


folding.hints(
    "Write layer_norm(x)·W + b_lin with x̂ for the normalized row: (x̂·w + b)·W + b_lin. Multiply it out.",
    "One part has x̂ in it, the other has not. The first tells you W', the second b'.",
    "x̂·w is number by number, so (x̂·w)·W = x̂·W' where row i of W' is w[i] times row i of W.",
    "`return w[:, None] * W, … @ W + …`",
)


@folding.wrong(
    "bias_not_folded", "The norm's bias b is lost: after the norm it goes through W, so b·W belongs to the new bias."
)
def _(w, b, W, b_lin):
    return w[:, None] * W, b_lin.clone()


@folding.wrong(
    "bias_not_through_weights",
    "The norm's bias is added to the linear layer's as it is: it goes through W first, b·W, as W comes after the norm.",
)
def _(w, b, W, b_lin):
    return w[:, None] * W, b + b_lin


@folding.wrong(
    "gain_on_the_output_axis",
    "The gain multiplies W's columns: it acts on W's input, so that it scales the rows, w[:, None] * W.",
)
def _(w, b, W, b_lin):
    return w * W, b @ W + b_lin


@folding.wrong(
    "bias_through_folded_weights",
    "The bias goes through the folded weights, so that it is multiplied by the gain: it is added after the gain, and "
    "goes through W as it was.",
)
def _(w, b, W, b_lin):
    folded = w[:, None] * W
    return folded, b @ folded + b_lin


@folding.wrong("gain_folded_twice", "The gain is folded in twice: the rows of W are multiplied by w once.")
def _(w, b, W, b_lin):
    return w[:, None] ** 2 * W, b @ W + b_lin


@folding.wrong("bias_folded_twice", "The norm's bias is folded in twice: b·W is added once.")
def _(w, b, W, b_lin):
    return w[:, None] * W, b @ W + b @ W + b_lin


@folding.wrong("folded_twice", "Everything is folded in twice: the gain and the bias go into W and b_lin once.")
def _(w, b, W, b_lin):
    return fold_layer_norm(w, b, *fold_layer_norm(w, b, W, b_lin))


@folding.wrong("gain_not_folded", "The gain is lost: the rows of W must be multiplied by w.")
def _(w, b, W, b_lin):
    return W.clone(), b @ W + b_lin


@folding.wrong("gain_sign_lost", GAIN_SIGN_LOST)
def _(w, b, W, b_lin):
    return w.abs()[:, None] * W, b @ W + b_lin


@folding.wrong("pair_swapped", "The two results are swapped: the new weights W' come first, then the new bias b'.")
def _(w, b, W, b_lin):
    return b @ W + b_lin, w[:, None] * W


@folding.wrong("linear_bias_lost", "The linear layer's own bias b_lin is lost: b' is b·W plus b_lin.")
def _(w, b, W, b_lin):
    return w[:, None] * W, b @ W


@folding.wrong(
    "divided_by_gain",
    "W is divided by the gain: the gain is to act as before, so that W's rows are multiplied.",
)
def _(w, b, W, b_lin):
    return W / w[:, None], b @ W + b_lin


@folding.right
def with_diag(w, b, W, b_lin):
    return torch.diag(w) @ W, b_lin + W.T @ b


@folding.right
def with_einsum(w, b, W, b_lin):
    return torch.einsum("m,mo->mo", w, W), torch.einsum("m,mo->o", b, W) + b_lin


@folding.right
def folded_and_centered(w, b, W, b_lin):
    """A normalized row has mean 0, so what all rows of W' have in common does nothing."""
    folded = w.unsqueeze(1) * W
    return folded - folded.mean(0), (b.unsqueeze(1) * W).sum(0) + b_lin


@folding.right
def row_by_row(w, b, W, b_lin):
    rows, bias = [], b_lin
    for gain, shift, row in zip(w, b, W, strict=True):
        rows.append(gain * row)
        bias = bias + shift * row
    return [torch.stack(rows), bias]


# 04.5 ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

centering = Exercise("04.5", difficulty=3, minutes=15)


@centering.oracle
def center_writing(W: Float[Tensor, "d_in d_model"]) -> Float[Tensor, "d_in d_model"]:
    """Each row minus its mean over d_model: then every output has mean 0, the part that LayerNorm removes anyway."""
    return W - W.mean(-1, keepdim=True)


@centering.on_reference
def _(cache, layer):
    return (cache.weight(f"blocks.{layer}.mlp.W_out"),), None


@centering.on_reference
def _(cache):
    """Attention writes too: the heads' rows under each other."""
    return (cache.weight("blocks.0.attn.W_O").flatten(0, 1),), None


@centering.fresh
def _(draw):
    return (draw.normal("d_in d_model", mean=0.5),)


@centering.prop("outputs_have_mean_zero")
def _(answer, draw):
    mean = float((draw.normal("5 4") @ answer(draw.normal("4 6", mean=1.0))).mean(-1).abs().max())
    return None if mean < 1e-5 else f"The layer's outputs should have mean 0; one here has a mean of {mean:.2g}."


@centering.prop("next_norm_unchanged")
def _(answer, draw):
    stream, hidden, W = draw.normal("5 6", mean=1.0), draw.normal("5 4"), draw.normal("4 6", mean=1.0)
    before, after = ln_normalize(stream + hidden @ W, 1e-5), ln_normalize(stream + hidden @ answer(W.clone()), 1e-5)
    gap = float((before - after).abs().max())
    return None if gap < 1e-4 else f"The norm that reads the stream next now sees something else, by up to {gap:.2g}."


centering.hints(
    "The layer's output is hidden @ W: a sum of W's rows, each times a number. When does every such sum have mean 0?",
    "When every row of W has mean 0 by itself, over d_model.",
    "Subtract from each row its own mean; keepdim=True lets the means line up with the rows.",
    "`W - W.mean(…, keepdim=True)`",
)


@centering.wrong(
    "wrong_axis",
    "The mean runs over d_in, so that columns are centered: an output is a sum of rows, so each row needs mean 0.",
)
def _(W):
    return W - W.mean(0, keepdim=True)


@centering.wrong("global_mean", "One mean of the whole matrix is subtracted: each row has its own.")
def _(W):
    return W - W.mean()


@centering.wrong(
    "no_keepdim",
    "The rows' means lost their axis, so that they no longer line up with the rows: keepdim=True keeps it, with "
    "length 1.",
)
def _(W):
    return W - W.mean(-1)


@centering.wrong(
    "divided_too",
    "The rows are divided by their spread too: that changes what the layer writes. Only subtract the mean.",
)
def _(W):
    return (W - W.mean(-1, keepdim=True)) / W.std(-1, keepdim=True)


@centering.wrong(
    "both_axes",
    "Rows and columns are both centered: only the rows' means go, the columns stay as they are.",
)
def _(W):
    return W - W.mean(-1, keepdim=True) - W.mean(0, keepdim=True) + W.mean()


@centering.wrong(
    "last_number_adjusted",
    "The rows sum to 0 because one number was changed, the last: the same amount must go from each number of a row, "
    "since that is the part which LayerNorm removes.",
)
def _(W):
    return torch.cat([W[:, :-1], W[:, -1:] - W.sum(-1, keepdim=True)], -1)


@centering.right
def as_a_projection(W):
    d = W.shape[1]
    return W @ (
        torch.eye(d, dtype=W.dtype, device=W.device) - torch.full((d, d), 1 / d, dtype=W.dtype, device=W.device)
    )


@centering.right
def with_einops(W):
    return W - reduce(W, "d_in d_model -> d_in 1", "mean")


@centering.right
def row_by_row(W):
    return torch.stack([row - row.sum() / len(row) for row in W])


@centering.right
def without_the_direction_of_ones(W):
    ones = torch.ones(W.shape[1], dtype=torch.float64, device=W.device)
    ones = ones / ones.norm()
    return (W - torch.outer(W.double() @ ones, ones)).to(W.dtype)
