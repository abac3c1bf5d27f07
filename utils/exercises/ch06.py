"""Chapter 06, MLPs: the activation, the layer, and what single neurons read and write.

The activation is Hendrycks and Gimpel 2016, "Gaussian Error Linear Units", in the tanh form that GPT-2 uses. Neurons as
keys and values are Geva et al. 2021, "Transformer Feed-Forward Layers Are Key-Value Memories"; neurons that erase what
they read are described by Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits".
"""

import math
from types import SimpleNamespace

import torch
from einops import einsum
from jaxtyping import Float, Int
from torch import Tensor

from utils.exercises.declare import Build, Exercise
from utils.exercises.gradients import gradient_fault

# 06.1 ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

activation = Exercise("06.1", difficulty=2, minutes=10)


@activation.oracle
def gelu_new(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """½·x·(1 + tanh(√(2/π)·(x + 0.044715·x³))), number by number (Hendrycks and Gimpel 2016, section 2)."""
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


@activation.on_reference
def _(cache, layer):
    """The first neurons: enough numbers of all sizes, few enough for an answer that goes through them one by one."""
    mlp, first = f"blocks.{layer}.mlp", (..., slice(0, 60))
    return (cache[f"{mlp}.hook_pre"][first],), cache.part(f"{mlp}.hook_post", first, "of the first neurons")


@activation.fresh
def _(draw):
    return (draw.normal("batch pos d_mlp", scale=2.0),)


@activation.special("on a tensor of one axis")
def _(draw):
    return (draw.normal("9", scale=2.0),)


@activation.special("on a single number, a tensor without axes")
def _(draw):
    return (torch.tensor(-0.75, device=draw.device),)


@activation.special("on numbers far from 0, of both signs")
def _(draw):
    return (
        torch.cat([draw.normal("40", scale=10.0), torch.tensor([-30.0, -12.0, 0.0, 12.0, 30.0], device=draw.device)]),
    )


@activation.prop("gradients_flow")
def _(answer, draw):
    return gradient_fault(answer, gelu_new, x=draw.normal("4 7"))


activation.forbid("gelu", because="It is the exercise in one call; the point is to see what the curve is made of.")

activation.hints(
    "The formula is worked on each number by itself, so that no axis matters. Which of torch's functions does it need?",
    "Only torch.tanh, products and sums. Inside the tanh stands √(2/π) times (x + 0.044715·x³).",
    "Build it from the inside: first x + 0.044715 * x**3, then times math.sqrt(2 / math.pi), then tanh, then 1 + that.",
    "`0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (…)))`",
)


ROOT = math.sqrt(2 / math.pi)


def _inner(x, *, root=ROOT, coefficient=0.044715, power=3):
    return root * (x + coefficient * x**power)


def _erf_gelu(x):
    return 0.5 * x * (1 + torch.erf(x / math.sqrt(2)))


ERF = (
    "This is GELU with erf, the exact normal distribution: GPT-2 was trained with the tanh formula, and they differ "
    "from the fourth decimal on."
)
RELU = "This is ReLU: GELU is smooth, and lets small negative values through."


@activation.wrong("erf_gelu", ERF)
def _(x):
    return _erf_gelu(x)


@activation.wrong("relu", RELU)
def _(x):
    return x.clamp(min=0)


@activation.wrong("silu", "This is SiLU (swish), x·sigmoid(x): GELU rises faster around 0.")
def _(x):
    return x * torch.sigmoid(x)


@activation.wrong(
    "sigmoid_gelu",
    "This is the quick form of GELU, x·sigmoid(1.702·x): GPT-2 uses the tanh formula, and they differ in the second "
    "decimal.",
)
def _(x):
    return x * torch.sigmoid(1.702 * x)


@activation.wrong("coefficient_left_out", "The factor 0.044715 before x³ is left out.")
def _(x):
    return 0.5 * x * (1 + torch.tanh(_inner(x, coefficient=1.0)))


@activation.wrong("cube_left_out", "The cubic term 0.044715·x³ is left out.")
def _(x):
    return 0.5 * x * (1 + torch.tanh(_inner(x, coefficient=0.0)))


@activation.wrong("square_for_cube", "The inner term is x²: it must be the cube, x³, whose sign follows x.")
def _(x):
    return 0.5 * x * (1 + torch.tanh(_inner(x, power=2)))


@activation.wrong("root_left_out", "The factor √(2/π) inside the tanh is left out.")
def _(x):
    return 0.5 * x * (1 + torch.tanh(_inner(x, root=1.0)))


@activation.wrong("no_root", "The factor inside the tanh is 2/π: it must be its root, √(2/π).")
def _(x):
    return 0.5 * x * (1 + torch.tanh(_inner(x, root=2 / math.pi)))


@activation.wrong(
    "root_of_two_alone",
    "The factor inside the tanh is √2/π: the root is taken of the whole fraction, √(2/π), math.sqrt(2 / math.pi).",
)
def _(x):
    return 0.5 * x * (1 + torch.tanh(_inner(x, root=math.sqrt(2) / math.pi)))


@activation.wrong("coefficient_ten_times_too_large", "The factor before x³ is 0.44715: a 0 is missing, it is 0.044715.")
def _(x):
    return 0.5 * x * (1 + torch.tanh(_inner(x, coefficient=0.44715)))


@activation.wrong(
    "coefficient_cubed", "The factor is cubed too, (0.044715·x)³: only x is cubed, 0.044715 * x**3. Mind the brackets."
)
def _(x):
    return 0.5 * x * (1 + torch.tanh(_inner(x, coefficient=0.044715**3)))


@activation.wrong(
    "outer_brackets_left_out",
    "½·x multiplies the 1 alone, and the tanh is added to that: the brackets round the sum are missing, "
    "½·x·(1 + tanh(…)).",
)
def _(x):
    return 0.5 * x * 1 + torch.tanh(_inner(x))


@activation.wrong(
    "root_on_x_alone", "√(2/π) multiplies x alone: it multiplies the whole sum x + 0.044715·x³. Mind the brackets."
)
def _(x):
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * x + 0.044715 * x**3))


@activation.wrong("half_left_out", "The factor ½ is left out: for large x the result must come near x, not 2x.")
def _(x):
    return x * (1 + torch.tanh(_inner(x)))


@activation.wrong("one_left_out", "The 1 before the tanh is left out: for very negative x the result must come near 0.")
def _(x):
    return 0.5 * x * torch.tanh(_inner(x))


@activation.wrong("gate_alone", "The factor x is left out: this is only the share of x that passes, between 0 and 1.")
def _(x):
    return 0.5 * (1 + torch.tanh(_inner(x)))


@activation.wrong(
    "exponential_overflows",
    "The tanh is made from exponentials, which overflow for large numbers, so that ∞/∞ gives NaN: torch.tanh is safe.",
)
def _(x):
    power = torch.exp(2 * _inner(x))
    return 0.5 * x * (1 + (power - 1) / (power + 1))


@activation.wrong("no_gradient", "No gradient flows back through the result: a detach, .data or no_grad cuts it off.")
def _(x):
    return gelu_new(x).detach()


@activation.right
def with_sigmoid(x):
    """½(1 + tanh u) is sigmoid(2u)."""
    return x * torch.sigmoid(2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x))


@activation.right
def with_rounded_constants(x):
    return 0.5 * x * (1 + torch.tanh(0.79788456 * (x + 0.044715 * x * x * x)))


@activation.right
def factored_in_float64(x):
    wide = x.double()
    return (wide / 2 * (torch.tanh((2 / math.pi) ** 0.5 * wide * (1 + 0.044715 * wide.square())) + 1)).to(x.dtype)


@activation.right
def number_by_number(x):
    values = [0.5 * v * (1 + torch.tanh(0.7978845608028654 * (v + 0.044715 * v.pow(3)))) for v in x.reshape(-1)]
    return torch.stack(values).view(x.shape)


class _Gelu(torch.nn.Module):
    """A module stands for a function."""

    def forward(self, x):
        return torch.lerp(torch.zeros_like(x), x, (_inner(x).tanh() + 1) / 2)


activation.right(_Gelu())

# 06.2 ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

before = Exercise("06.2", difficulty=1, minutes=5)


@before.oracle
def mlp_pre(
    x: Float[Tensor, "batch pos d_model"],
    W_in: Float[Tensor, "d_model d_mlp"],
    b_in: Float[Tensor, "d_mlp"],
) -> Float[Tensor, "batch pos d_mlp"]:
    """How strongly each neuron's input weights match the stream, before the activation."""
    return x @ W_in + b_in


@before.on_reference
def _(cache, layer):
    block = cache.block(layer)
    args = (cache[f"blocks.{layer}.ln2.hook_out"], block["mlp.W_in"], block["mlp.b_in"])
    return args, cache[f"blocks.{layer}.mlp.hook_pre"]


@before.fresh
def _(draw):
    return draw.normal("batch pos d_model"), draw.weight("d_model d_mlp", "d_model"), draw.normal("d_mlp")


before.hints(
    "Each neuron compares the stream with its own column of W_in. How many dot products is that for one position?",
    "One for each of the d_mlp neurons: a matrix product, in which d_model disappears.",
    "The bias is added at the end, one number for each neuron.",
    "`x @ … + …`",
)


@before.wrong("bias_forgotten", "The bias b_in is not added.")
def _(x, W_in, b_in):
    return x @ W_in


@before.wrong(
    "transposed", "W_in is transposed: it has the shape [d_model, d_mlp] already, so that x @ W_in ends in d_mlp."
)
def _(x, W_in, b_in):
    return x @ W_in.T + b_in


@before.wrong(
    "activated",
    "The activation is applied already: pre is what goes into it, and may be as negative as it likes.",
)
def _(x, W_in, b_in):
    return gelu_new(x @ W_in + b_in)


@before.wrong("erf_activated", "An activation (GELU) is applied already: pre is what goes into it.")
def _(x, W_in, b_in):
    return _erf_gelu(x @ W_in + b_in)


@before.wrong("relu_applied", "A ReLU is applied already: pre is what goes into the activation, negative values too.")
def _(x, W_in, b_in):
    return (x @ W_in + b_in).relu()


@before.wrong(
    "normed_first", "x is normalized once more: what comes in has been through the block's second LayerNorm already."
)
def _(x, W_in, b_in):
    return torch.nn.functional.layer_norm(x, x.shape[-1:]) @ W_in + b_in


@before.wrong("bias_subtracted", "The bias is subtracted: it is added.")
def _(x, W_in, b_in):
    return x @ W_in - b_in


@before.right
def with_einsum(x, W_in, b_in):
    return einsum(x, W_in, "batch pos d_model, d_model d_mlp -> batch pos d_mlp") + b_in


@before.right
def with_linear(x, W_in, b_in):
    return torch.nn.functional.linear(x, W_in.T, b_in)


@before.right
def neuron_by_neuron(x, W_in, b_in):
    return torch.stack([(x * W_in[:, i]).sum(-1) + b_in[i] for i in range(W_in.shape[1])], dim=-1)


@before.right
def bias_as_one_more_row(x, W_in, b_in):
    ones = torch.ones_like(x[..., :1])
    return torch.cat([x, ones], -1) @ torch.cat([W_in, b_in[None]])


# 06.3 ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

layer_of = Exercise("06.3", difficulty=2, minutes=10)
WEIGHTS = ("W_in", "b_in", "W_out", "b_out")


@layer_of.oracle
def mlp(
    x: Float[Tensor, "batch pos d_model"],
    W_in: Float[Tensor, "d_model d_mlp"],
    b_in: Float[Tensor, "d_mlp"],
    W_out: Float[Tensor, "d_mlp d_model"],
    b_out: Float[Tensor, "d_model"],
) -> Float[Tensor, "batch pos d_model"]:
    """Read, activate, write: each position alone (Vaswani et al. 2017, section 3.3, with GELU for ReLU)."""
    return gelu_new(mlp_pre(x, W_in, b_in)) @ W_out + b_out


@layer_of.on_reference
def _(cache, layer):
    block = cache.block(layer)
    weights = [block[f"mlp.{name}"] for name in WEIGHTS]
    return (cache[f"blocks.{layer}.ln2.hook_out"], *weights), cache[f"blocks.{layer}.hook_mlp_out"]


def _mlp_inputs(draw):
    x = draw.normal("batch pos d_model", scale=1.5)
    reads = draw.weight("d_model d_mlp", "d_model"), draw.normal("d_mlp")
    return x, *reads, draw.weight("d_mlp d_model", "d_mlp"), draw.normal("d_model")


@layer_of.fresh
def _(draw):
    return _mlp_inputs(draw)


@layer_of.prop("each_position_alone")
def _(answer, draw):
    x, *weights = _mlp_inputs(draw)
    changed = x.clone()
    changed[:, 1:] += 1.0
    gap = float((answer(x.clone(), *weights)[:, 0] - answer(changed, *weights)[:, 0]).abs().max())
    return None if gap <= 1e-5 else f"Changing other positions changes the output at position 0, by up to {gap:.2g}."


@layer_of.prop("gradients_flow")
def _(answer, draw):
    return gradient_fault(answer, mlp, **dict(zip(("x", *WEIGHTS), _mlp_inputs(draw), strict=True)))


layer_of.hints(
    "Three steps: each neuron reads the stream, decides how much to say, and writes. You have written two of them.",
    "The activation stands in the middle: after the first bias, before W_out.",
    "The second linear map takes d_mlp back to d_model, and has its own bias.",
    "`gelu_new(mlp_pre(x, W_in, b_in)) @ … + …`",
)


@layer_of.wrong(
    "activation_left_out",
    "There is no activation: two linear maps in a row are only one linear map, and could be merged.",
)
def _(x, W_in, b_in, W_out, b_out):
    return mlp_pre(x, W_in, b_in) @ W_out + b_out


@layer_of.wrong(
    "activation_after_W_out",
    "The activation comes after W_out: it belongs between the two linear maps, on the d_mlp neurons.",
)
def _(x, W_in, b_in, W_out, b_out):
    return gelu_new(mlp_pre(x, W_in, b_in) @ W_out + b_out)


@layer_of.wrong(
    "activation_twice",
    "The output is activated too: the activation stands only between the two linear maps.",
)
def _(x, W_in, b_in, W_out, b_out):
    return gelu_new(mlp(x, W_in, b_in, W_out, b_out))


@layer_of.wrong(
    "activation_before_bias", "The activation comes before b_in is added: the bias belongs to what the neuron reads."
)
def _(x, W_in, b_in, W_out, b_out):
    return (gelu_new(x @ W_in) + b_in) @ W_out + b_out


@layer_of.wrong(
    "both_biases_at_the_end",
    "b_in is added at the end, beside b_out: it belongs before the activation, one number for each of the d_mlp "
    "neurons.",
)
def _(x, W_in, b_in, W_out, b_out):
    return gelu_new(x @ W_in) @ W_out + b_in + b_out


@layer_of.wrong(
    "biases_swapped",
    "The biases are swapped: b_in goes with W_in, over d_mlp, and b_out with W_out, over d_model.",
)
def _(x, W_in, b_in, W_out, b_out):
    return mlp(x, W_in, b_out, W_out, b_in)


@layer_of.wrong("input_bias_forgotten", "The bias b_in is not added.")
def _(x, W_in, b_in, W_out, b_out):
    return mlp(x, W_in, torch.zeros_like(b_in), W_out, b_out)


@layer_of.wrong("output_bias_forgotten", "The bias b_out is not added.")
def _(x, W_in, b_in, W_out, b_out):
    return mlp(x, W_in, b_in, W_out, torch.zeros_like(b_out))


@layer_of.wrong("biases_forgotten", "Neither bias is added: b_in comes before the activation, b_out at the end.")
def _(x, W_in, b_in, W_out, b_out):
    return mlp(x, W_in, torch.zeros_like(b_in), W_out, torch.zeros_like(b_out))


@layer_of.wrong("erf_gelu", ERF)
def _(x, W_in, b_in, W_out, b_out):
    return _erf_gelu(mlp_pre(x, W_in, b_in)) @ W_out + b_out


@layer_of.wrong("relu", RELU)
def _(x, W_in, b_in, W_out, b_out):
    return mlp_pre(x, W_in, b_in).relu() @ W_out + b_out


@layer_of.wrong(
    "transposed", "The weights are transposed: W_in has the shape [d_model, d_mlp] already, and W_out [d_mlp, d_model]."
)
def _(x, W_in, b_in, W_out, b_out):
    return mlp(x, W_in.T, b_in, W_out.T, b_out)


@layer_of.wrong(
    "stream_added",
    "The stream x is added to the result: the layer gives only what it writes; the block adds it to the stream.",
)
def _(x, W_in, b_in, W_out, b_out):
    return x + mlp(x, W_in, b_in, W_out, b_out)


@layer_of.wrong("no_gradient", "No gradient flows back through the result: a detach, .data or no_grad cuts it off.")
def _(x, W_in, b_in, W_out, b_out):
    return mlp(x, W_in, b_in, W_out, b_out).detach()


@layer_of.right
def with_linear_and_torchs_gelu(x, W_in, b_in, W_out, b_out):
    """Here the activation is an earlier exercise, and torch's own may be used."""
    linear = torch.nn.functional.linear
    return linear(torch.nn.functional.gelu(linear(x, W_in.T, b_in), approximate="tanh"), W_out.T, b_out)


@layer_of.right
def neuron_by_neuron(x, W_in, b_in, W_out, b_out):
    total = b_out.expand_as(x)
    for i in range(W_in.shape[1]):
        total = total + gelu_new(x @ W_in[:, i] + b_in[i])[..., None] * W_out[i]
    return total


@layer_of.right
def position_by_position_in_float64(x, W_in, b_in, W_out, b_out):
    W_in, b_in, W_out, b_out = (w.double() for w in (W_in, b_in, W_out, b_out))
    rows = [b_out + W_out.T @ gelu_new(b_in + W_in.T @ row) for row in x.double().flatten(0, 1)]
    return torch.stack(rows).view(x.shape).to(x.dtype)


class _Mlp(torch.nn.Module):
    """A module stands for a function."""

    def forward(self, x, W_in, b_in, W_out, b_out):
        pre = torch.einsum("bpm,mn->bpn", x, W_in).add(b_in)
        return torch.einsum("bpn,nm->bpm", pre * torch.sigmoid(2 * _inner(pre)), W_out).add(b_out)


layer_of.right(_Mlp())

# 06.4 ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

writing = Exercise("06.4", difficulty=2, minutes=10)


@writing.oracle
def neuron_outputs(
    post: Float[Tensor, "batch pos d_mlp"],
    W_out: Float[Tensor, "d_mlp d_model"],
) -> Float[Tensor, "batch pos d_mlp d_model"]:
    """What each neuron alone writes: its activation times its row of W_out (Geva et al. 2021, eq. 2)."""
    return post[..., None] * W_out


@writing.on_reference
def _(cache, layer):
    """The first neurons and positions: the whole result has d_mlp · d_model numbers for each position."""
    return (cache[f"blocks.{layer}.mlp.hook_post"][:, :5, :60], cache.weight(f"blocks.{layer}.mlp.W_out")[:60]), None


@writing.fresh
def _(draw):
    return draw.normal("batch pos d_mlp"), draw.weight("d_mlp d_model", "d_mlp")


@writing.prop("sum_of_neurons_is_the_layer")
def _(answer, draw):
    x, *weights = _mlp_inputs(draw)
    W_in, b_in, W_out, b_out = weights
    neurons = answer(gelu_new(mlp_pre(x, W_in, b_in)), W_out.clone())
    gap = float((neurons.sum(2) - (mlp(x, *weights) - b_out)).abs().max())
    if gap < 1e-4:
        return None
    return f"Summed over the neurons, the results differ from the layer's output without b_out by {gap:.2g}."


writing.hints(
    "post @ W_out is a sum over neurons. What are the terms of that sum, before they are added?",
    "Neuron i adds its activation, one number for each position, times its row W_out[i].",
    "Give post one more axis at the end, so that each activation meets the d_model numbers of its row.",
    "`post[..., …] * …`, or einsum with d_mlp kept on the right",
)


@writing.wrong("summed_already", "The neurons are summed already: keep the d_mlp axis, one vector for each neuron.")
def _(post, W_out):
    return post @ W_out


@writing.wrong(
    "transposed",
    "The last two axes are swapped: the order wanted is batch, pos, d_mlp, d_model, a row for each neuron.",
)
def _(post, W_out):
    return neuron_outputs(post, W_out).mT


@writing.wrong(
    "activation_on_the_other_axis",
    "The activations multiply W_out along d_model, which only runs where both have the same length: each scales its "
    "row.",
)
def _(post, W_out):
    return post[..., None, :] * W_out


@writing.wrong(
    "activation_left_out",
    "The activations are not used: a neuron writes its row of W_out times its activation.",
)
def _(post, W_out):
    return W_out.expand(*post.shape[:2], -1, -1)


@writing.wrong("merged_into_one_axis", "Neurons and d_model are merged into one axis: keep d_mlp and d_model apart.")
def _(post, W_out):
    return neuron_outputs(post, W_out).flatten(-2)


@writing.wrong(
    "averaged",
    "Each neuron's part is divided by d_mlp: the neurons' parts add up to the output, undivided.",
)
def _(post, W_out):
    return neuron_outputs(post, W_out) / W_out.shape[0]


@writing.right
def with_einsum(post, W_out):
    return einsum(post, W_out, "batch pos d_mlp, d_mlp d_model -> batch pos d_mlp d_model")


@writing.right
def with_diagonal_matrices(post, W_out):
    return torch.diag_embed(post) @ W_out


@writing.right
def stacked(post, W_out):
    return torch.stack([post[:, :, i, None] * W_out[i] for i in range(len(W_out))], dim=2)


# 06.5 ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

loudest = Exercise("06.5", difficulty=3, minutes=15, keep=("d_mlp",))


@loudest.oracle
def top_neurons(
    post: Float[Tensor, "batch pos d_mlp"],
    W_out: Float[Tensor, "d_mlp d_model"],
    k: int,
) -> Int[Tensor, "batch pos k"]:
    """The neurons that write most: the norm of activation times row is |activation| · |row|."""
    return (post.abs() * W_out.norm(dim=-1)).topk(k).indices


def ranking_fault(sizes: Tensor, ids: Tensor, slack: Tensor | float, what: str) -> str | None:
    """Whether ids are those of the largest sizes, largest first; those within `slack` of each other may change places.

    Args:
        sizes: [... n], what is ranked.
        ids: [... k], the answer.
        what: what a size is, for the sentence.
    """
    if bool(((ids < 0) | (ids >= sizes.shape[-1])).any()):
        return f"There is an id below 0 or not below {sizes.shape[-1]}."
    if bool((ids.sort(-1).values.diff(dim=-1) == 0).any()):
        return "An id stands twice in one row."
    chosen, best = sizes.gather(-1, ids), sizes.topk(ids.shape[-1]).values
    off = (chosen - best).abs() > slack
    if not bool(off.any()):
        return None
    at = tuple(int(i) for i in off.nonzero()[0])
    right = int(sizes[at[:-1]].topk(ids.shape[-1]).indices[at[-1]])
    where = f"In row {at[:-1]}, place {at[-1]}" if len(at) > 1 else f"In place {at[0]}"
    return (
        f"{where} stands {int(ids[at])}, whose {what} is {float(chosen[at]):.4g}; {right} belongs there, with "
        f"{float(best[at]):.4g}."
    )


@loudest.judge
def _(ids, post, W_out, k):
    sizes = post.double().abs() * W_out.double().norm(dim=-1)
    return ranking_fault(sizes, ids, 8 * torch.finfo(post.dtype).eps * float(sizes.max()), "size of what it writes")


@loudest.on_reference
def _(cache, layer):
    """At the first positions."""
    mlp = f"blocks.{layer}.mlp"
    return (cache[f"{mlp}.hook_post"][:, :6], cache.weight(f"{mlp}.W_out"), 5), None


def _neurons(draw, axes="batch pos d_mlp"):
    """Rows of W_out of very different lengths."""
    draw.size("d_mlp", at_least=12)
    return draw.normal(axes), draw.weight("d_mlp d_model", "d_model") * draw.uniform("d_mlp 1", 0.2, 3.0)


@loudest.fresh
def _(draw):
    return *_neurons(draw), 3


@loudest.special("with k = 1")
def _(draw):
    return *_neurons(draw), 1


@loudest.special("with k = d_mlp: all of them, in order")
def _(draw):
    return *_neurons(draw), draw.size("d_mlp")


@loudest.special("where the strongest activations are negative")
def _(draw):
    post, W_out = _neurons(draw)
    return post - 1.5, W_out, 4


loudest.hints(
    "A neuron writes activation · row. How long is that vector, if you know the activation and the row's length?",
    "The norm of a number times a vector is the number's size (without its sign) times the vector's norm.",
    "topk gives values and indices; the indices are the neurons' ids, largest first.",
    "`(post.abs() * W_out.norm(dim=…)).topk(k).…`",
)


@loudest.wrong(
    "by_activation",
    "The neurons are ranked by activation alone: what one writes also depends on the length of its row of W_out, and "
    "a negative activation writes as well.",
)
def _(post, W_out, k):
    return post.topk(k).indices


@loudest.wrong(
    "by_size_of_activation",
    "The neurons are ranked by the activation's size alone, and a norm of the whole of W_out changes no ranking: what "
    "one writes also depends on the length of its own row of W_out.",
)
def _(post, W_out, k):
    return post.abs().topk(k).indices


@loudest.wrong(
    "by_row_alone",
    "The neurons are ranked by the length of their rows of W_out alone: a neuron whose activation is near 0 writes "
    "nothing.",
)
def _(post, W_out, k):
    return W_out.norm(dim=-1).topk(k).indices.expand(*post.shape[:2], k)


@loudest.wrong(
    "signed", "The sign counts: a large negative activation writes as much as a positive one. Take its size, abs()."
)
def _(post, W_out, k):
    return (post * W_out.norm(dim=-1)).topk(k).indices


@loudest.wrong("smallest", "The neurons that write least are taken: the largest are wanted.")
def _(post, W_out, k):
    return (post.abs() * W_out.norm(dim=-1)).topk(k, largest=False).indices


@loudest.wrong("largest_last", "The right neurons, in the wrong order: the one that writes most comes first.")
def _(post, W_out, k):
    return top_neurons(post, W_out, k).flip(-1)


@loudest.wrong("sorted_by_id", "The right neurons, sorted by id: the one that writes most comes first.")
def _(post, W_out, k):
    return top_neurons(post, W_out, k).sort(-1).values


@loudest.wrong("sizes_for_ids", "These are the sizes themselves: their places are wanted, topk's indices.")
def _(post, W_out, k):
    return (post.abs() * W_out.norm(dim=-1)).topk(k).values


@loudest.wrong(
    "by_sum",
    "What a neuron writes is summed up with its signs, so that parts cancel: its size is the norm, √(sum of squares).",
)
def _(post, W_out, k):
    return (post * W_out.sum(-1)).abs().topk(k).indices


@loudest.wrong(
    "by_sum_of_the_row",
    "The rows of W_out are summed up with their signs, so that parts cancel: a row's length is its norm, √(sum of "
    "squares).",
)
def _(post, W_out, k):
    return (post.abs() * W_out.sum(-1)).topk(k).indices


@loudest.wrong(
    "by_sum_of_sizes",
    "The sizes of a row's numbers are added up: a row's length is its norm, √(sum of squares), which ranks otherwise.",
)
def _(post, W_out, k):
    return (post.abs() * W_out.abs().sum(-1)).topk(k).indices


@loudest.wrong(
    "by_squared_norm",
    "The root is left out: |activation| times the square of the row's norm, so that long rows count too much.",
)
def _(post, W_out, k):
    return (post.abs() * W_out.square().sum(-1)).topk(k).indices


@loudest.wrong("by_column", "The norms are those of W_out's columns: a neuron writes its row, W_out[i], over d_model.")
def _(post, W_out, k):
    return (post.abs() * W_out.norm(dim=0)).topk(k).indices


@loudest.wrong(
    "over_the_text", "One ranking is made for a whole text: each position has its own neurons, largest first."
)
def _(post, W_out, k):
    best = (post.abs() * W_out.norm(dim=-1)).sum(1, keepdim=True).topk(k).indices
    return best.expand(-1, post.shape[1], -1)


@loudest.right
def from_what_they_write(post, W_out, k):
    return neuron_outputs(post, W_out).norm(dim=-1).argsort(-1, descending=True)[..., :k]


@loudest.right
def by_squares(post, W_out, k):
    return torch.topk(post**2 * (W_out**2).sum(1), k, dim=-1).indices


@loudest.right
def position_by_position(post, W_out, k):
    rows = []
    for row in post.double().flatten(0, 1):
        sizes = [float(a.abs() * w.norm()) for a, w in zip(row, W_out.double(), strict=True)]
        rows.append(sorted(range(len(sizes)), key=lambda i, sizes=sizes: -sizes[i])[:k])
    return torch.tensor(rows, device=post.device).view(*post.shape[:2], k)


# 06.6 ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

promoting = Exercise("06.6", difficulty=3, minutes=10, keep=("d_mlp", "d_vocab", "d_model"))


@promoting.oracle
def promoted_tokens(
    W_out: Float[Tensor, "d_mlp d_model"],
    W_U: Float[Tensor, "d_model d_vocab"],
    neuron: int,
    k: int,
) -> Int[Tensor, "k"]:
    """The tokens whose logits a neuron raises most: its row of W_out, unembedded (Geva et al. 2021, section 4)."""
    return (W_out[neuron] @ W_U).topk(k).indices


@promoting.judge
def _(ids, W_out, W_U, neuron, k):
    row, columns = W_out[neuron].double(), W_U.double()
    size = float((row.abs() @ columns.abs()).max())
    return ranking_fault(row @ columns, ids, 8 * torch.finfo(W_U.dtype).eps * size, "logit")


@promoting.on_reference
def _(cache, layer):
    """In a vocabulary of the text's own tokens: the whole of W_U has 50,257 columns."""
    return (cache.weight(f"blocks.{layer}.mlp.W_out"), cache.weight("unembed.W_U")[:, cache.text_ids], 3, 5), None


def _vocabulary(draw):
    """Columns of very different lengths; enough of them that a ranking is never right by chance."""
    draw.size("d_vocab", at_least=40), draw.size("d_model", at_least=5)
    W_out, W_U = (
        draw.weight("d_mlp d_model", "d_model"),
        draw.normal("d_model d_vocab") * draw.uniform("1 d_vocab", 0.2, 3.0),
    )
    return W_out, W_U


@promoting.fresh
def _(draw):
    W_out, W_U = _vocabulary(draw)
    return W_out, W_U, min(draw.size("d_mlp"), draw.size("d_model")) - 1, 6


@promoting.special("with k = d_vocab: all of them, in order")
def _(draw):
    return draw.normal("7 5"), draw.normal("5 11"), 2, 11


@promoting.special("where the strongest effects are negative")
def _(draw):
    W_out, W_U = _vocabulary(draw)
    W_U[:, ::3] = -3 * W_out[1][:, None] * draw.uniform(str(len(W_U[0, ::3])), 1.0, 2.0)
    return W_out, W_U, 1, 6


@promoting.special("for neuron 0 and k = 1")
def _(draw):
    """All other neurons promote what this one lowers."""
    W_out, W_U = _vocabulary(draw)
    W_out[1:] = -W_out[0]
    return W_out, W_U, 0, 1


promoting.hints(
    "A neuron writes its row of W_out into the stream. What does the unembedding make of that vector?",
    "Logits: row @ W_U gives one number for each token, how much the neuron raises or lowers it.",
    "topk(k) puts the largest first; its indices are the token ids.",
    "`(W_out[…] @ W_U).topk(k).…`",
)


@promoting.wrong(
    "column_for_row", "A column of W_out is taken: what neuron i writes is its row, W_out[i], of d_model numbers."
)
def _(W_out, W_U, neuron, k):
    return (W_out[:, neuron] @ W_U).topk(k).indices


@promoting.wrong("smallest", "These are the tokens that the neuron lowers most: the most promoted are wanted.")
def _(W_out, W_U, neuron, k):
    return (W_out[neuron] @ W_U).topk(k, largest=False).indices


@promoting.wrong("sorted_by_id", "The right tokens, sorted by id: the most promoted comes first.")
def _(W_out, W_U, neuron, k):
    return promoted_tokens(W_out, W_U, neuron, k).sort().values


@promoting.wrong("most_promoted_last", "The right tokens, in the wrong order: the most promoted comes first.")
def _(W_out, W_U, neuron, k):
    return promoted_tokens(W_out, W_U, neuron, k).flip(0)


@promoting.wrong("by_size", "The sign is dropped: a token with a large negative logit is held back, not promoted.")
def _(W_out, W_U, neuron, k):
    return (W_out[neuron] @ W_U).abs().topk(k).indices


@promoting.wrong("logits_for_ids", "These are the logits themselves: the tokens' ids are wanted, topk's indices.")
def _(W_out, W_U, neuron, k):
    return (W_out[neuron] @ W_U).topk(k).values


@promoting.wrong(
    "by_cosine", "The columns of W_U are brought to length 1: a token's logit is the plain dot product, length counted."
)
def _(W_out, W_U, neuron, k):
    return (W_out[neuron] @ (W_U / W_U.norm(dim=0))).topk(k).indices


@promoting.wrong("every_neuron", "All neurons are summed: only the row of the neuron asked for counts.")
def _(W_out, W_U, neuron, k):
    return (W_out.sum(0) @ W_U).topk(k).indices


@promoting.wrong("neuron_before", "The neuron before is taken: neurons are counted from 0, so nothing is subtracted.")
def _(W_out, W_U, neuron, k):
    return (W_out[neuron - 1] @ W_U).topk(k).indices


@promoting.wrong(
    "neuron_0_passed_over",
    "Neuron 0 is passed over: 0 is a neuron like any other, so do not write `if neuron` or `neuron or 1`.",
)
def _(W_out, W_U, neuron, k):
    return promoted_tokens(W_out, W_U, neuron or 1, k)


@promoting.wrong(
    "squeezed",
    "The axis is dropped where its length is 1, as by squeeze(): with k = 1 the result is a tensor of one id.",
)
def _(W_out, W_U, neuron, k):
    return promoted_tokens(W_out, W_U, neuron, k).squeeze()


@promoting.right
def argsort(W_out, W_U, neuron, k):
    return torch.argsort(W_U.T @ W_out[neuron], descending=True)[:k]


@promoting.right
def all_neurons_then_one(W_out, W_U, neuron, k):
    return einsum(W_out, W_U, "d_mlp d_model, d_model d_vocab -> d_mlp d_vocab").topk(k, dim=-1).indices[neuron]


@promoting.right
def one_token_after_another(W_out, W_U, neuron, k):
    logits = [float(W_out[neuron].double() @ W_U[:, t].double()) for t in range(W_U.shape[1])]
    return torch.tensor(sorted(range(len(logits)), key=lambda t: -logits[t])[:k], device=W_U.device)


@promoting.right
def by_probability(W_out, W_U, neuron, k):
    """A softmax keeps the order."""
    return (W_out[neuron].double() @ W_U.double()).softmax(-1).topk(k).indices


# 06.7 ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

erasing = Exercise("06.7", difficulty=3, minutes=10)


@erasing.oracle
def erasure_score(
    W_in: Float[Tensor, "d_model d_mlp"],
    W_out: Float[Tensor, "d_mlp d_model"],
) -> Float[Tensor, "d_mlp"]:
    """Cosine of what a neuron reads and what it writes: near −1, it erases what it finds (Elhage et al. 2021)."""
    dots = einsum(W_in, W_out, "d_model d_mlp, d_mlp d_model -> d_mlp")
    return dots / (W_in.norm(dim=0) * W_out.norm(dim=1))


@erasing.on_reference
def _(cache, layer):
    block = cache.block(layer)
    return (block["mlp.W_in"], block["mlp.W_out"]), None


@erasing.fresh
def _(draw):
    """Writing weights that lean against the reading ones, so that the cosines are far from 0."""
    W_in = draw.normal("d_model d_mlp", scale=1.5)
    return W_in, draw.normal("d_mlp d_model") - 0.7 * W_in.T


@erasing.special("where every neuron erases exactly what it reads")
def _(draw):
    W_in = draw.normal("5 7")
    return W_in, -2.5 * W_in.T


erasing.forbid(
    "cosine_similarity",
    because="It is the exercise in one call; the point is that a cosine is a dot product of two vectors of length 1.",
)

erasing.hints(
    "A neuron reads along one vector of d_model numbers and writes along another. When does it take away what it read?",
    "The cosine of two vectors is their dot product divided by both their norms: −1 where they point opposite ways.",
    "Neuron i reads with the column W_in[:, i] and writes the row W_out[i]. The product (W_in.T * W_out) lines them "
    "up.",
    "`(W_in.T * W_out).sum(-1) / (W_in.norm(dim=…) * W_out.norm(dim=…))`",
)


@erasing.wrong("not_normalized", "The dot products are not divided by the norms: a cosine lies between −1 and 1.")
def _(W_in, W_out):
    return (W_in.T * W_out).sum(-1)


@erasing.wrong("one_norm_only", "The dot products are divided by W_in's norms only: W_out's belong there too.")
def _(W_in, W_out):
    return (W_in.T * W_out).sum(-1) / W_in.norm(dim=0)


@erasing.wrong("other_norm_only", "The dot products are divided by W_out's norms only: W_in's belong there too.")
def _(W_in, W_out):
    return (W_in.T * W_out).sum(-1) / W_out.norm(dim=1)


@erasing.wrong(
    "divided_by_squares",
    "The dot products are divided by the squared norms: a cosine needs the norms, the roots.",
)
def _(W_in, W_out):
    return (W_in.T * W_out).sum(-1) / (W_in.square().sum(0) * W_out.square().sum(1))


@erasing.wrong(
    "norm_of_the_whole_matrix",
    "The dot products are divided by the norms of the whole matrices: each neuron has norms of its own, "
    "W_in.norm(dim=0) and W_out.norm(dim=1).",
)
def _(W_in, W_out):
    return (W_in.T * W_out).sum(-1) / (W_in.norm() * W_out.norm())


@erasing.wrong(
    "wrong_axis",
    "The sums run over the neurons, so that there is a score for each of the d_model places: sum over d_model, for a "
    "score for each neuron.",
)
def _(W_in, W_out):
    return (W_in.T * W_out).sum(0) / (W_in.norm(dim=1) * W_out.norm(dim=0))


@erasing.wrong("sign_lost", "The sign is lost: a neuron that erases has a cosine near −1, one that repeats near +1.")
def _(W_in, W_out):
    return erasure_score(W_in, W_out).abs()


@erasing.wrong(
    "opposite_sign",
    "The sign is turned round: the score is the cosine itself, negative where a neuron erases.",
)
def _(W_in, W_out):
    return -erasure_score(W_in, W_out)


@erasing.wrong(
    "every_pair",
    "Every neuron's input is compared with every neuron's output: only the pairs of one and the same count.",
)
def _(W_in, W_out):
    return (W_out / W_out.norm(dim=1, keepdim=True)) @ (W_in / W_in.norm(dim=0))


@erasing.right
def normalized_first(W_in, W_out):
    reads, writes = (torch.nn.functional.normalize(w, dim=-1) for w in (W_in.T, W_out))
    return (reads * writes).sum(-1)


@erasing.right
def neuron_by_neuron(W_in, W_out):
    scores = []
    for i in range(W_out.shape[0]):
        reads, writes = W_in[:, i].double(), W_out[i].double()
        scores.append(reads @ writes / torch.sqrt((reads @ reads) * (writes @ writes)))
    return torch.stack(scores).to(W_in.dtype)


@erasing.right
def from_the_diagonal(W_in, W_out):
    return (W_out @ W_in).diagonal() / W_in.square().sum(0).sqrt() / W_out.square().sum(1).sqrt()


# 06.8 ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

counting = Exercise("06.8", difficulty=2, minutes=15, vary=("fresh",))


@counting.oracle
def count_parameters(cfg: SimpleNamespace) -> dict[str, int]:
    """GPT-2's parameters by kind, the unembedding tied to the embedding; `ln` counts the final norm too."""
    width = cfg.n_heads * cfg.d_head
    counts = {
        "embed": cfg.d_vocab * cfg.d_model,
        "pos": cfg.n_ctx * cfg.d_model,
        "attn": cfg.n_layers * (4 * cfg.d_model * width + 3 * width + cfg.d_model),
        "mlp": cfg.n_layers * (2 * cfg.d_model * cfg.d_mlp + cfg.d_mlp + cfg.d_model),
        "ln": (2 * cfg.n_layers + 1) * 2 * cfg.d_model,
    }
    return {**counts, "total": sum(counts.values())}


FIELDS = ("d_model", "n_layers", "n_heads", "d_head", "d_mlp", "d_vocab", "n_ctx")
GPT2_SMALL = dict(d_model=768, n_layers=12, n_heads=12, d_head=64, d_mlp=3072, d_vocab=50257, n_ctx=1024)


def _config(**fields):
    return (Build(lambda: SimpleNamespace(**fields)),)


@counting.on_reference
def _(cache):
    """The counts are those of the model's own tensors."""
    model = cache.model
    blocks = [cache.block(i) for i in range(cache.n_layers)]

    def of(part):
        return sum(w.numel() for block in blocks for name, w in block.items() if name.startswith(part))

    final = sum(cache.weight(f"ln_final.{name}").numel() for name in ("w", "b"))
    counts = {"embed": model.W_E.numel(), "pos": model.W_pos.numel(), "attn": of("attn."), "mlp": of("mlp.")}
    counts["ln"] = of("ln") + final
    return _config(**{name: getattr(cache.cfg, name) for name in FIELDS}), {**counts, "total": sum(counts.values())}


@counting.fresh
def _(draw):
    """Heads that do not fill d_model, and an MLP that is not four times as wide: only the fields given say so."""
    heads, d_head = draw.integer(2, 6), draw.integer(7, 12)
    d_model = heads * d_head + draw.integer(1, 6)
    rest = dict(n_layers=draw.integer(2, 7), d_mlp=4 * d_model + draw.integer(1, 9), d_vocab=draw.integer(90, 200))
    return _config(d_model=d_model, n_heads=heads, d_head=d_head, n_ctx=draw.integer(20, 60), **rest)


@counting.special("for GPT-2 small")
def _(draw):
    return _config(**GPT2_SMALL)


@counting.special("for a model of one layer with one head")
def _(draw):
    return _config(d_model=6, n_layers=1, n_heads=1, d_head=6, d_mlp=24, d_vocab=11, n_ctx=8)


@counting.prop("mlp_has_two_thirds_of_the_blocks")
def _(answer, draw):
    counts = answer(SimpleNamespace(**GPT2_SMALL))
    share = counts["mlp"] / (counts["attn"] + counts["mlp"])
    return (
        None if abs(share - 2 / 3) < 0.002 else f"In GPT-2 small the MLPs hold {share:.1%} of the blocks; it is 66.6%."
    )


counting.hints(
    "List every tensor of one block with its shape. How many numbers has a tensor of shape [n_heads, d_model, d_head]?",
    "Attention has W_Q, W_K, W_V, W_O and b_Q, b_K, b_V, b_O; the MLP W_in, b_in, W_out, b_out; each norm w and b. "
    "Every block has two norms, and one more comes after the last block.",
    "The unembedding is W_E again, so it counts once, and it has no bias.",
    "`attn = cfg.n_layers * (4 * cfg.d_model * cfg.n_heads * cfg.d_head + 3 * cfg.n_heads * cfg.d_head + …)`",
)


def _recounted(change):
    """The right counts with some of them changed; the total is added up from them unless it is given."""

    def answer(cfg):
        counts = {**count_parameters(cfg)}
        del counts["total"]
        counts |= change(cfg, counts)
        return {**counts, "total": counts.get("total", sum(counts.values()))}

    return answer


counting.wrong(
    "biases_left_out", "The biases are left out: b_Q, b_K, b_V and b_O in attention, b_in and b_out in the MLP."
)(
    _recounted(
        lambda cfg, _: {
            "attn": cfg.n_layers * 4 * cfg.d_model * cfg.n_heads * cfg.d_head,
            "mlp": cfg.n_layers * 2 * cfg.d_model * cfg.d_mlp,
        }
    )
)

counting.wrong("mlp_biases_left_out", "The MLP's biases are left out: b_in has d_mlp numbers, b_out d_model.")(
    _recounted(lambda cfg, _: {"mlp": cfg.n_layers * 2 * cfg.d_model * cfg.d_mlp})
)

counting.wrong(
    "attention_biases_left_out",
    "Attention's biases are left out: b_Q, b_K and b_V have n_heads · d_head numbers each, b_O d_model.",
)(_recounted(lambda cfg, _: {"attn": cfg.n_layers * 4 * cfg.d_model * cfg.n_heads * cfg.d_head}))

counting.wrong(
    "output_bias_in_each_head", "b_O is counted once for each head: it belongs to the layer, d_model numbers in all."
)(_recounted(lambda cfg, counts: {"attn": counts["attn"] + cfg.n_layers * (cfg.n_heads - 1) * cfg.d_model}))

counting.wrong(
    "output_weights_left_out", "W_O is left out: a head has four matrices, three that read and one that writes."
)(_recounted(lambda cfg, counts: {"attn": counts["attn"] - cfg.n_layers * cfg.n_heads * cfg.d_head * cfg.d_model}))

counting.wrong("one_head", "Only one head's weights are counted: there are n_heads of them.")(
    _recounted(lambda cfg, _: {"attn": cfg.n_layers * (4 * cfg.d_model * cfg.d_head + 3 * cfg.d_head + cfg.d_model)})
)

counting.wrong(
    "unembedding_counted", "The unembedding W_U is counted too: it is tied to W_E, one table that is used twice."
)(_recounted(lambda cfg, counts: {"embed": 2 * counts["embed"]}))

counting.wrong(
    "unembedding_in_the_total",
    "The total counts the unembedding W_U too: it is tied to W_E, one table that is used twice.",
)(_recounted(lambda cfg, counts: {"total": sum(counts.values()) + counts["embed"]}))

counting.wrong("unembedding_bias", "The total counts a bias of the unembedding, d_vocab numbers: GPT-2 has none.")(
    _recounted(lambda cfg, counts: {"total": sum(counts.values()) + cfg.d_vocab})
)

counting.wrong("layer_norms_left_out", "The LayerNorms are left out: each has a gain and a bias of d_model numbers.")(
    _recounted(lambda cfg, _: {"ln": 0})
)

counting.wrong("final_norm_left_out", "The final LayerNorm is left out: one more comes after the last block.")(
    _recounted(lambda cfg, counts: {"ln": counts["ln"] - 2 * cfg.d_model})
)

counting.wrong("one_norm_in_each_block", "One LayerNorm is counted in each block: there are two, and the final one.")(
    _recounted(lambda cfg, _: {"ln": (cfg.n_layers + 1) * 2 * cfg.d_model})
)

counting.wrong("norms_without_bias", "Only the LayerNorms' gains are counted: each has a bias too.")(
    _recounted(lambda cfg, counts: {"ln": counts["ln"] // 2})
)

counting.wrong("one_block", "Only one block is counted: there are n_layers of them.")(
    _recounted(
        lambda cfg, counts: {
            "attn": counts["attn"] // cfg.n_layers,
            "mlp": counts["mlp"] // cfg.n_layers,
            "ln": 6 * cfg.d_model,
        }
    )
)

counting.wrong("attention_of_one_layer", "Attention is counted for one layer only: there are n_layers of them.")(
    _recounted(lambda cfg, counts: {"attn": counts["attn"] // cfg.n_layers})
)

counting.wrong("mlp_of_one_layer", "The MLP is counted for one layer only: there are n_layers of them.")(
    _recounted(lambda cfg, counts: {"mlp": counts["mlp"] // cfg.n_layers})
)

counting.wrong(
    "norms_of_one_layer", "The LayerNorms of one layer only are counted: each layer has two, and the final one."
)(_recounted(lambda cfg, counts: {"ln": 6 * cfg.d_model}))

counting.wrong("total_is_zero", "The total is 0: it is the sum of the five other counts, made after they are.")(
    _recounted(lambda cfg, counts: {"total": 0})
)

counting.wrong("positions_not_in_the_total", "The total leaves the positions out: W_pos has n_ctx · d_model numbers.")(
    _recounted(lambda cfg, counts: {"total": sum(counts.values()) - counts["pos"]})
)

counting.wrong("total_without_embeddings", "The total leaves the embeddings out: W_E and W_pos are parameters too.")(
    _recounted(lambda cfg, counts: {"total": sum(counts.values()) - counts["pos"] - counts["embed"]})
)

counting.wrong(
    "heads_fill_d_model",
    "d_model is taken for n_heads · d_head: in GPT-2 they are equal, but W_Q has n_heads · d_model · d_head numbers "
    "in any model.",
)(_recounted(lambda cfg, _: {"attn": cfg.n_layers * (4 * cfg.d_model**2 + 4 * cfg.d_model)}))

counting.wrong(
    "mlp_four_times_as_wide",
    "4 · d_model is taken for d_mlp: in GPT-2 they are equal, but the field d_mlp says how wide it is.",
)(_recounted(lambda cfg, _: {"mlp": cfg.n_layers * (8 * cfg.d_model**2 + 5 * cfg.d_model)}))


def _shapes(cfg):
    """Every tensor of the model by kind."""
    m, n, h, d = cfg.d_model, cfg.n_heads, cfg.d_head, cfg.d_mlp
    yield "embed", (cfg.d_vocab, m)
    yield "pos", (cfg.n_ctx, m)
    for _ in range(cfg.n_layers):
        yield from [("attn", (n, m, h)), ("attn", (n, h))] * 3
        yield from [("attn", (n, h, m)), ("attn", (m,))]
        yield from [("mlp", (m, d)), ("mlp", (d,)), ("mlp", (d, m)), ("mlp", (m,))]
        yield from [("ln", (m,))] * 4
    yield from [("ln", (m,))] * 2


@counting.right
def from_a_list_of_shapes(cfg):
    counts = dict.fromkeys(("embed", "pos", "attn", "mlp", "ln", "total"), 0)
    for kind, shape in _shapes(cfg):
        counts[kind] += math.prod(shape)
        counts["total"] += math.prod(shape)
    return counts


@counting.right
def from_tensors_without_values(cfg):
    made = [(kind, torch.empty(shape, device="meta")) for kind, shape in _shapes(cfg)]
    kinds = ("embed", "pos", "attn", "mlp", "ln")
    counts = {kind: sum(t.numel() for other, t in made if other == kind) for kind in kinds}
    return counts | {"total": sum(t.numel() for _, t in made)}


@counting.right
def from_torchs_layers(cfg):
    """Linear layers and norms as torch builds them, on a device that holds no values."""
    m, width = cfg.d_model, cfg.n_heads * cfg.d_head
    nn, on = torch.nn, {"device": "meta"}
    block = {
        "attn": [nn.Linear(m, 3 * width, **on), nn.Linear(width, m, **on)],
        "mlp": [nn.Linear(m, cfg.d_mlp, **on), nn.Linear(cfg.d_mlp, m, **on)],
        "ln": [nn.LayerNorm(m, **on), nn.LayerNorm(m, **on)],
    }
    counts = {
        kind: cfg.n_layers * sum(p.numel() for part in parts for p in part.parameters())
        for kind, parts in block.items()
    }
    counts["ln"] += 2 * m
    counts["embed"], counts["pos"] = (nn.Embedding(rows, m, **on).weight.numel() for rows in (cfg.d_vocab, cfg.n_ctx))
    counts["total"] = sum(counts.values())
    return counts
