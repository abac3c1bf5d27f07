# Chapter 11, from GPT-2 to the models of today: the one source of its notebooks (`book build 11`).
# Without the extra `modern` it runs on an untrained Llama of the same parts: what is said about a model's numbers is
# computed in the cell that shows it.

# %% [markdown] key="title"
# # From GPT-2 to the models of today
#
# GPT-2 is from 2019. You have built all of it. Now take a model that is five years younger and look inside: it has
# the same stream, the same two sublayers a block, weights with the same names. So put them into the block that you
# wrote in chapter 07. It answers nonsense.
#
# Four parts have changed, each of them small. In this chapter you write the four, build the block of today from
# them, and check it number for number against SmolLM2, a model that writes real English on your own machine.

# %% [markdown] key="what-you-will-do"
# ## What you will be able to do
#
# - **Name** the four parts in which a Llama-like model differs from GPT-2, and **say** what each is good for.
# - **Build** RMSNorm, rotary positions, shared key heads, SwiGLU, and the block made of them.
# - **Show** that a rotary model reads distances, never positions.
# - **Compute** what shared key heads save in memory, and how wide a gated MLP may be.
# - **Run** a model of today with the sampler that you wrote for GPT-2.
#
# **Builds on** 04 (LayerNorm), 05 (attention), 06 (MLP), 07 (the block as a dict), 09 (sampling, the cache).
# **Time**: about two hours.
#
# | exercise | you write | difficulty (1–5) | minutes |
# |---|---|---|---|
# | 11.1 | `rms_norm`: LayerNorm without the mean | 2 | 10 |
# | 11.2 | `rope`: positions as rotations | 4 | 25 |
# | 11.3 | `repeat_kv`: several queries share a key head | 2 | 10 |
# | 11.4 | `swiglu`: an MLP with a gate | 2 | 10 |
# | 11.5 | `llama_block`: the block of today | 4 | 30 |
#
# Write an answer where you find `raise NotImplementedError`, run that cell, then run the cell below it: it grades
# your function. `hint("11.1")` gives a hint, and a stronger one each time you ask. You may skip an exercise: later
# cells use the book's version where yours is missing, and say so.

# %% key="setup"
import contextlib
import json
import re
from pathlib import Path

import torch
from einops import einsum
from jaxtyping import Float, Int
from torch import Tensor, tensor

from utils import grade, hint, reference, show, use
from utils.exercises import exercise
from utils.reference import ReferenceProblem

pocket = reference("pocket", device="cpu")  # the GPT-2 of the chapters before
rng = torch.Generator().manual_seed(11)  # every random number of this chapter comes from here

# %% [markdown] key="which-model"
# The model is **SmolLM2-135M-Instruct**: 135 million parameters, of the same kind as Llama. Its weights come with the
# book's environment, nothing is downloaded. The first time they are converted, which takes about half a minute (a line
# says so); after that they load in seconds.
#
# **If it is missing**, run `make env` in a terminal and restart this kernel; until then the chapter runs to its end on
# a small *untrained* model of the same parts, with which your numbers can be compared just as well, only its words
# mean nothing.


# %% key="untrained-model" tags=["demo"]
def untrained():
    """A small Llama that has learned nothing: the same parts, for when SmolLM2 is not there."""
    from transformers import LlamaConfig, LlamaForCausalLM

    from utils.reference import tokenizer_folder
    from utils.reference.bridge import bridge_of

    sizes = dict(vocab_size=50257, hidden_size=72, intermediate_size=192, max_position_embeddings=2048)
    heads = dict(num_hidden_layers=6, num_attention_heads=9, num_key_value_heads=3)
    config = LlamaConfig(**sizes, **heads, tie_word_embeddings=True, attn_implementation="eager")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(11)
        return bridge_of(LlamaForCausalLM(config), tokenizer_folder(), torch.device("cpu"))


# %% key="load-modern" tags=["demo", "nbval-ignore-output"]
try:  # what this cell prints may vary: a line about the conversion, or about what is missing
    modern = reference("smollm2", device="cpu")
    print("SmolLM2-135M-Instruct is loaded.")
except (ReferenceProblem, ImportError) as problem:
    modern = untrained()
    print(f"{problem}\nThis chapter runs on an untrained model in its place.")

# %% [markdown] key="question" terms="Llama"
# ## 1 · A block that does not fit
#
# Here are the weights of one block, side by side: of the pocket model, which is a GPT-2, and of the modern one. Look
# for what is *missing* on the right, for the one matrix that is *new*, and for two whose number of heads is odd.

# %% key="weights-by-name" tags=["demo"]
theta = modern.original_model.config.rope_parameters["rope_theta"]  # its use comes in section 3


def block_of(layer):
    """The weights of one block of the modern model, by the names of chapter 07."""
    block = modern.blocks[layer]
    found = {f"attn.W_{letter}": getattr(block.attn, f"W_{letter}") for letter in "QKVO"}
    found |= {f"mlp.{name}": getattr(block.mlp, name) for name in ("W_gate", "W_in", "W_out")}
    return found | {"ln1.w": block.ln1.w, "ln2.w": block.ln2.w, "eps": modern.cfg.eps, "theta": theta}


blocks = [block_of(layer) for layer in range(modern.cfg.n_layers)]
old = pocket.blocks[0]
weights_of_old = {f"attn.{c}_{a}": getattr(old.attn, f"{c}_{a}") for a in "QKVO" for c in "Wb"}
weights_of_old |= {f"mlp.{name}": getattr(old.mlp, name) for name in ("W_in", "b_in", "W_out", "b_out")}
weights_of_old |= {f"{n}.{p}": getattr(getattr(old, n), p) for n in ("ln1", "ln2") for p in "wb"}


# %% key="weights-by-name-table" tags=["demo"]
def size(weight):
    """`9 × 576 × 64`, or a dash for a weight that is not there."""
    return "–" if weight is None else " × ".join(str(n) for n in weight.shape)


names = sorted(weights_of_old | {name: w for name, w in blocks[0].items() if isinstance(w, Tensor)})
gone = [name for name in names if name not in blocks[0]]
show.table(
    [[name, size(weights_of_old.get(name)), size(blocks[0].get(name))] for name in names],
    ["weight", "GPT-2's block (pocket model)", "the modern block"],
    title="The weights of one block",
    note=f"{len(gone)} weights are gone, all of them biases; W_gate is new; W_K and W_V have fewer heads than W_Q.",
)

# %% [markdown] key="question-text"
# There is one more thing, which this table cannot show. GPT-2 has a table of positions, `W_pos`. The modern model has
# none: its stream begins with the tokens' embeddings and nothing else. Chapter 05 showed that attention then sees a
# *set* of tokens, in no order.
#
# See it fail. The next cells run the modern model twice: with its own blocks, and with your block of chapter 07 in
# their place (the book's version of it). What GPT-2's block wants and cannot find is filled in: zeros for biases, and
# more copies of the keys and values.

# %% key="forced" tags=["demo"]
gpt2_block = exercise("07.1").solution  # the book's transformer_block


def as_gpt2(weights):
    """The weights of a modern block by the names that GPT-2's block looks up."""
    filled, copies = dict(weights), len(weights["attn.W_Q"]) // len(weights["attn.W_K"])
    for letter in "KV":
        filled[f"attn.W_{letter}"] = torch.cat([weights[f"attn.W_{letter}"]] * copies)
    for letter in "QKV":
        filled[f"attn.b_{letter}"] = torch.zeros_like(filled["attn.W_Q"][:, 0])  # [n_heads d_head]
    for name in ("attn.b_O", "mlp.b_out", "ln1.b", "ln2.b"):
        filled[name] = torch.zeros_like(weights["ln1.w"])  # [d_model]
    return filled | {"mlp.b_in": torch.zeros_like(weights["mlp.W_in"][0])}  # [d_mlp]


def logits_with(block, ids):
    """The whole model, with `block(resid, weights)` in the place of its blocks."""
    resid = modern.W_E[ids]  # [batch pos d_model]
    for weights in blocks:
        resid = block(resid, weights)
    return modern.unembed(modern.ln_final(resid))  # [batch pos d_vocab]


# %% key="forced-table" tags=["demo"]
capital = modern.to_tokens("The capital of France is")  # [batch pos]


def likeliest(logits):
    """The three likeliest next tokens, each with its probability."""
    best = logits[0, -1].softmax(-1).topk(3)  # [3]
    return [f"{modern.to_string(i)!r} {p:.2f}" for i, p in zip(best.indices, best.values, strict=True)]


forced = logits_with(lambda resid, weights: gpt2_block(resid, as_gpt2(weights)), capital)
show.table(
    [["its own", *likeliest(modern(capital))], ["GPT-2's, of chapter 07", *likeliest(forced)]],
    ["blocks", "likeliest", "second", "third"],
    title="The capital of France is …",
    note="The same weights twice. The number after each token is its probability.",
)

# %% [markdown] key="question-asked"
# SmolLM2's weights hold the answer, and the old block cannot read it. So the questions of this chapter: **what are the
# four changes, and how does a model without a table of positions know the order of its words?**

# %% key="one-text" tags=["demo"]
text = "The old keeper climbed the stairs every evening, lit the lamp, and wrote a line in his book."
tokens = modern.to_str_tokens(text)
_, cache = modern.run_with_cache(text)  # every activation of the modern model on this text
n_layers, eps = modern.cfg.n_layers, modern.cfg.eps


def agrees(mine, hook):
    """Whether every row lies within a ten-thousandth of the model's own, by length."""
    theirs = cache[hook]
    apart = (mine - theirs).norm(dim=-1) / theirs.norm(dim=-1)
    return mine.shape == theirs.shape and bool((apart < 1e-4).all())


show.tokens(
    tokens,
    title=f"The text of this chapter, {len(tokens)} tokens",
    note="This tokenizer is not GPT-2's, but of the same kind: pairs of bytes, merged. The first token is BOS.",
)

# %% [markdown] key="rms" terms="RMSNorm, root mean square"
# ## 2 · RMSNorm: a norm with less to do
#
# LayerNorm does two things to a row: it moves its mean to 0 and its spread to 1. **RMSNorm** does the second alone.
# It divides the row by its **root mean square** (RMS): square the numbers, take their mean, then the root. The mean
# stays where it is, and there is no bias.
#
# A row to follow by hand: (2, 4, 4, 8). Its squares are 4, 16, 16, 64, their mean is 25, the root 5.

# %% key="rms-by-hand" tags=["demo"]
row = tensor([2.0, 4.0, 4.0, 8.0])  # [d_model]
by_rms = row / row.square().mean() ** 0.5
by_ln = (row - row.mean()) / row.var(unbiased=False) ** 0.5
show.table(
    [["the row", *row], ["after RMSNorm", *by_rms], ["after LayerNorm", *by_ln.round(decimals=2)]],
    ["", "x₀", "x₁", "x₂", "x₃"],
    title="One row, two norms (gain 1, no bias)",
    note="RMSNorm keeps the signs and the proportions of the row; LayerNorm makes the smaller numbers negative.",
)

# %% [markdown] key="rms-norm"
# ### Exercise 11.1 · RMSNorm
#
# *difficulty 2 · 10 minutes · stuck?* `hint("11.1")`
#
# $$\text{rms\_norm}(x) = \frac{x}{\sqrt{\frac{1}{d} \sum_{c} x_c^2 + \varepsilon}} \odot w$$
#
# $x$ is one row of the stream, $d$ its length d_model, $c$ runs over its numbers; $\varepsilon$ (`eps`) keeps the
# root away from 0; $w$ is the gain, one number for each feature, and $\odot$ multiplies number by number. Each row is
# normed by itself, whatever axes stand before d_model.


# %% key="rms-norm-answer" exercise="11.1"
def rms_norm(
    x: Float[Tensor, "... d_model"],
    w: Float[Tensor, "d_model"],
    eps: float,
) -> Float[Tensor, "... d_model"]:
    """Each row divided by its root mean square, times the gain.

    >>> rms_norm(tensor([[3.0, -3.0]]), tensor([1.0, 10.0]), 0.0).tolist()
    [[1.0, -10.0]]
    """
    # SOLUTION
    mean_square = x.square().mean(dim=-1, keepdim=True)  # [... 1]
    return x / (mean_square + eps).sqrt() * w  # the kept axis lines up with d_model
    # END


# %% key="rms-norm-grade"
grade(rms_norm)

# %% [markdown] key="rms-norm-why" solution="11.1"
# #### Why it works
#
# The mean square over the last axis is one number a row. `keepdim=True` keeps its axis, so that the division pairs
# each row with its own number.
#
# **What the classic mistakes look like.** With the mean subtracted it is LayerNorm without bias: on rows whose mean is
# near 0 the two agree to two digits, which is why it is often not noticed. eps outside the root looks right on normal
# rows and is wrong on small ones. And a gain of 1 + w is right for Gemma's weights, which are stored that way, and
# wrong for these.

# %% key="rms-norm-second" solution="11.1"
# A second way: RMSNorm sets a row's length to √d_model, whatever it was.
some_rows = torch.randn(5, 72, generator=rng)  # [rows d_model]
by_length = some_rows / torch.linalg.vector_norm(some_rows, dim=-1, keepdim=True) * 72**0.5
torch.allclose(by_length, rms_norm(some_rows, torch.ones(72), 0.0), atol=1e-5)

# %% [markdown] key="rms-use-text"
# **Use it** on the model's stream, and compare with its own norms: two a block, and one before the unembedding.

# %% key="rms-use" tags=["demo"]
norm = use(rms_norm)
places = [f"blocks.{layer}.{name}" for layer in range(n_layers) for name in ("ln1", "ln2")]
gains = [blocks[layer][f"{name}.w"] for layer in range(n_layers) for name in ("ln1", "ln2")]
right = [
    agrees(norm(cache[f"{place}.hook_in"], gain, eps), f"{place}.hook_out")
    for place, gain in zip([*places, "ln_final"], [*gains, modern.ln_final.w], strict=True)
]
print(f"the same as the model's own norm: {sum(right)} of {len(right)}")

# %% [markdown] key="rms-mean-text"
# Why may the mean be left out? Ask the stream how large its mean is. The mean square of a row is the square of its
# mean plus its variance; below is the part that belongs to the mean. Where it is close to 0, LayerNorm and RMSNorm
# divide by nearly the same number.


# %% key="rms-mean" tags=["demo"]
def part_of_mean(stream):
    """mean² ÷ mean square, averaged over the positions after BOS; `stream` is [batch pos d_model]."""
    rows = stream[0, 1:]  # [pos d_model]
    return (rows.mean(-1).square() / rows.square().mean(-1)).mean().item()


parts = [part_of_mean(cache[f"blocks.{layer}.hook_resid_post"]) for layer in range(n_layers)]
_, old_cache = pocket.run_with_cache("Once upon a time there was a little dog. It was happy.")
old_parts = [part_of_mean(old_cache[f"blocks.{i}.hook_resid_post"]) for i in range(pocket.cfg.n_layers)]
show.lines(
    list(range(n_layers)),
    {"modern model": parts},
    levels={"pocket model, mean of its layers": sum(old_parts) / len(old_parts)},
    title="How much of the stream's size is its mean?",
    note=f"At most {max(parts):.1%} in the modern model: subtracting the mean would change little.",
    x_name="layer",
    y_name="mean² ÷ mean square",
)

# %% [markdown] key="rms-saved"
# So nearly nothing is lost. What is won: one mean less to compute, no bias to store, and a row that keeps its
# direction, because dividing by a number does not turn a vector (the gain then stretches single features). Zhang and
# Sennrich (2019) measured the same quality as with LayerNorm in less time.

# %% [markdown] key="rope" terms="rotary positions"
# ## 3 · Rotary positions
#
# GPT-2 adds a vector for position 7 to whatever stands at position 7. What a head needs to know, though, is hardly
# ever "I am number 7". It is "the word *before* me", "a few words back". A **distance**.
#
# **Rotary positions** give just that. Nothing is added to the stream. Instead every query and every key is *turned*,
# by an angle that grows with its position. Two vectors that are turned by the same angle have the same dot product as
# before; if one is turned further, it is the *difference* of the two angles that counts.
#
# Take a head with two numbers. They are a point in the plane. Let it turn by half a radian at each position:

# %% key="turning" tags=["demo"]
positions = torch.arange(8)
angles = 0.5 * positions  # [pos], in radians; a whole turn is 2π, about 6.28
circle = torch.stack([angles.cos(), angles.sin()], dim=-1)  # [pos 2], the point (1, 0), turned
show.points(
    circle,
    [f"position {p}" for p in positions.tolist()],
    title="The vector (1, 0), turned by half a radian for each position",
    note="Neighbors are always the same angle apart: 0 and 1 just as 6 and 7. The length never changes.",
    x_name="first number of the pair",
    y_name="second number of the pair",
    equal=True,
)

# %% [markdown] key="rope-frequencies" terms="theta"
# One pair cannot do it alone: after a whole turn all begins again, and position 13 looks almost like position 0. So
# the $d_\text{head}$ numbers of a head are cut into pairs, and each pair turns at a speed of its own, like the hands
# of a clock. Pair 0 is the fastest, by one radian a position; each further pair is slower by the same factor:
#
# $$\text{angle}_i(p) = p \cdot \theta^{-2i / d_\text{head}}$$
#
# $p$ is the position, $i$ the number of the pair from 0 to $d_\text{head}/2 - 1$, and $\theta$ one number for the
# whole model: 10,000 in the paper, more in models for longer texts. How many positions does one turn take?

# %% key="wavelengths" tags=["demo"]
d_head = modern.cfg.d_head
pair = torch.arange(d_head // 2)  # [pair]
show.lines(
    pair,
    {f"θ = {base:,.0f}": 2 * torch.pi * base ** (2 * pair / d_head) for base in (10_000.0, theta)},
    levels={"longest text": modern.cfg.n_ctx},
    log_y=True,
    title=f"Positions that one whole turn takes, in a head of {d_head} numbers",
    note=f"The model may read texts of up to {modern.cfg.n_ctx:,} tokens. The fast pairs tell neighbors apart; pairs "
    "above that line never come round, and tell near from far.",
    x_name="pair",
    y_name="positions a turn",
)

# %% [markdown] key="half-split" terms="half-split form"
# Which two numbers make a pair? The paper takes neighbors, 0 with 1, 2 with 3. The weights that you have here, and
# most that are published, are laid out for the **half-split form**: number $i$ pairs with number $i + d_\text{head}/2$.
# Both are the same idea with the numbers in another order. But one must know which: weights trained for one form give
# nonsense in the other, and no shape tells.

# %% [markdown] key="rope-exercise"
# ### Exercise 11.2 · Rotary positions
#
# *difficulty 4 · 25 minutes · stuck?* `hint("11.2")`
#
# For each position $p$ and pair $i$, with $a = x_i$ and $b = x_{i + d_\text{head}/2}$ and the angle from above:
#
# $$
# x'_i = a \cos(\text{angle}) - b \sin(\text{angle})
# \qquad
# x'_{i + d_\text{head}/2} = b \cos(\text{angle}) + a \sin(\text{angle})
# $$
#
# `positions` holds the position of each token along axis 1 of `x`; they need not begin at 0, because a text that is
# continued from a cache starts later. Work out the angles in float32 even where `x` is bfloat16, which cannot tell
# 411 from 412, and give the result in the dtype of `x`.


# %% key="rope-answer" exercise="11.2"
def rope(
    x: Float[Tensor, "batch pos n_heads d_head"],
    positions: Int[Tensor, "pos"],
    theta: float,
) -> Float[Tensor, "batch pos n_heads d_head"]:
    """Queries or keys, each pair of numbers turned by an angle that grows with the position.

    >>> x = tensor([1.0, 0.0, 0.0, 0.0]).expand(1, 2, 1, 4)  # twice the same vector: pairs (0, 2) and (1, 3)
    >>> [round(number, 2) for number in rope(x, tensor([0, 1]), 100.0).flatten().tolist()]
    [1.0, 0.0, 0.0, 0.0, 0.54, 0.0, 0.84, 0.0]
    """
    # SOLUTION
    half = x.shape[-1] // 2
    speed = theta ** (-torch.arange(half, device=x.device).float() / half)  # [pair], pair 0 is the fastest
    angle = positions.float()[:, None] * speed  # [pos pair]
    cos, sin = angle.cos()[:, None].to(x.dtype), angle.sin()[:, None].to(x.dtype)  # [pos 1 pair], 1 for n_heads
    a, b = x[..., :half], x[..., half:]  # [batch pos n_heads pair] each
    return torch.cat([a * cos - b * sin, b * cos + a * sin], dim=-1)  # [batch pos n_heads d_head]
    # END


# %% key="rope-grade"
grade(rope)

# %% [markdown] key="rope-why" solution="11.2"
# #### Why it works
#
# $-2i/d_\text{head}$ is $-i$ over the number of pairs, which is how the code has it. The angles form a table [pos
# pair]; an axis of length 1 in the middle lets every head use the same one. Then two lines turn all pairs at once.
#
# **Why only the distance counts.** Write the turning as a matrix $R_p$. Rotations compose by adding their angles, and
# the transpose turns back, so $(R_i q) \cdot (R_j k) = q^\top R_i^\top R_j k = q \cdot R_{j - i}\, k$.
#
# **What the classic mistakes look like.** The interleaved form has the right shape and the right lengths, and even
# keeps the distance property; only against trained weights is it wrong. A sign turned round is the same: the model
# then confuses "before" with "after", which the mask half hides. Angles in bfloat16 are right for the first tokens
# and fail where the text gets long.

# %% key="rope-second" solution="11.2"
# A second way: a pair is one complex number, and turning is one multiplication.
x = torch.randn(1, 6, 2, 8, generator=rng)  # [batch pos n_heads d_head]
as_complex = torch.complex(*x.chunk(2, dim=-1))  # [batch pos n_heads pair]
turns = torch.polar(torch.ones(6, 4), torch.arange(6)[:, None] * 100.0 ** (-torch.arange(4) / 4))  # [pos pair]
turned = as_complex * turns[:, None]
torch.allclose(torch.cat([turned.real, turned.imag], -1), rope(x, torch.arange(6), 100.0), atol=1e-5)

# %% [markdown] key="rope-use-text"
# **Use it** on the model's queries and keys, in every layer, and compare with `hook_rot_q` and `hook_rot_k`.

# %% key="rope-use" tags=["demo"]
turn = use(rope)
places = torch.arange(len(tokens))  # [pos]
right = [
    agrees(turn(cache[f"blocks.{i}.attn.hook_{letter}"], places, theta), f"blocks.{i}.attn.hook_rot_{letter}")
    for i in range(n_layers)
    for letter in "qk"
]
print(f"the same as the model's own: {sum(right)} of {len(right)}")

# %% [markdown] key="predict-shift" tags=["predict"]
# **Predict.** Now the text is moved: its first token stands at position 20 in place of 0, the next at 21, and so on.
# How much of the attention of layer 0 goes to other words than before, in GPT-2's way (positions added, the pocket
# model) and in the rotary way?
#
# - **a**: some in both;
# - **b**: some in GPT-2's way, none in the rotary way;
# - **c**: none in both, because all words move together.

# %% key="guess-shift" tags=["predict"]
my_guess = "?"  # a, b or c

# %% key="shift" tags=["demo"]
attention_scores, attention_pattern = (exercise(number).solution for number in ("05.2", "05.4"))
project = exercise("05.1").solution  # three parts of chapter 05 that have not changed: the book's versions


def added(start):
    """The pocket model's pattern in layer 0 when the text begins at `start`."""
    ids = pocket.to_tokens("Once upon a time there was a little dog. It was happy.")[0]
    x = pocket.blocks[0].ln1((pocket.W_E[ids] + pocket.W_pos[start : start + len(ids)])[None])
    attn = pocket.blocks[0].attn
    return attention_pattern(attention_scores(project(x, attn.W_Q, attn.b_Q), project(x, attn.W_K, attn.b_K)))


def rotary(start):
    """The modern model's pattern in layer 0 when the text begins at `start`."""
    q, k = (turn(cache[f"blocks.0.attn.hook_{letter}"], places + start, theta) for letter in "qk")
    group = q.shape[2] // k.shape[2]
    one_group = q[:, :, :group], k[:, :, [0] * group]  # the heads that share key head 0: section 4 says why
    return attention_pattern(attention_scores(*one_group))  # [batch n_heads query_pos key_pos]


# %% key="shift-table" tags=["demo"]
def moved(pattern, start):
    """The share of the weight that goes to other keys when the text begins at `start`."""
    return ((pattern(start) - pattern(0)).abs().sum(-1) / 2).mean().item()


show.table(
    [
        ["added to the stream (pocket model)", f"{moved(added, 20):.1%}"],
        ["rotary (modern model)", f"{moved(rotary, 20):.1%}"],
    ],
    ["positions", "weight that goes to other words"],
    title="The same text, twenty positions later",
    note="The mean over heads and words of layer 0. Compare with your guess.",
)

# %% [markdown] key="why-shift"
# <details><summary>What you see, and why</summary>
#
# It is **b**. Turned by the same twenty steps, each query meets each key at the same angle as before. What is added
# to the stream is another vector at every place, and a model has to learn for each place anew what "one back" means.
#
# </details>
#
# **A sense of distance.** What does turning do to a query and a key that were equal? Their dot product begins at its
# largest and falls with the distance, in waves, because the fast pairs come round:

# %% key="decay" tags=["demo"]
far = torch.arange(129)  # [pos]
equal = torch.ones(1, len(far), 1, d_head)  # [batch pos n_heads d_head], the same vector everywhere
curves = {}
for base in (100.0, 10_000.0, theta):
    turned = turn(equal, far, base)[0, :, 0]  # [pos d_head]
    curves[f"θ = {base:,.0f}"] = turned @ turned[0] / d_head  # [pos], cosine of the angle to position 0
show.lines(
    far,
    curves,
    title="How alike a query and an equal key look, by their distance",
    note="1 at distance 0. A larger θ turns more slowly, so that far words still look alike: for longer texts.",
    x_name="distance in tokens",
    y_name="cosine after turning",
)

# %% [markdown] key="gqa" terms="grouped queries, key head"
# ## 4 · Grouped queries
#
# In chapter 09 a cache kept the keys and values of all earlier positions, so that each new token costs one step. For
# a long text that cache is large, and reading it is what takes the time. Where could one save? Queries are used once
# and forgotten; keys and values are kept. So have fewer of *them*.
#
# With **grouped queries** several query heads share one **key head** (its key and its value). With one key head for
# all it is called multi-query attention; with one for each it is GPT-2's.

# %% key="cache-size" tags=["demo"]
n_heads, n_kv = modern.cfg.n_heads, modern.cfg.n_key_value_heads
bytes_a_head = 2 * n_layers * d_head * modern.cfg.n_ctx * 2  # keys and values; two bytes a number
show.bars(
    {
        f"{n_heads} (one for each query head)": n_heads * bytes_a_head / 1e6,
        f"{n_kv} (this model)": n_kv * bytes_a_head / 1e6,
        "1 (one for all)": bytes_a_head / 1e6,
    },
    title=f"The cache of one text of {modern.cfg.n_ctx:,} tokens, by the number of key heads",
    note=f"In 16-bit numbers. Sharing makes it {n_heads // n_kv} times smaller here.",
    x_name="key heads",
    y_name="megabytes",
)

# %% [markdown] key="predict-gqa" tags=["predict"]
# **Predict.** So the cache is three times smaller. And the *weights* of a whole block, compared with a block that has
# a key head for each query head: how much smaller are they?
#
# - **a**: three times as well;
# - **b**: by about a tenth;
# - **c**: by less than a hundredth.

# %% key="guess-gqa" tags=["predict"]
my_guess = "?"  # a, b or c

# %% key="gqa-weights" tags=["demo"]
now = sum(w.numel() for w in blocks[0].values() if isinstance(w, Tensor))
shared = sum(blocks[0][f"attn.W_{letter}"].numel() for letter in "KV")
before = now + shared * (n_heads // n_kv - 1)
print(
    f"a block has {now:,} weights; with {n_heads} key heads it would have {before:,}: {1 - now / before:.0%} are saved"
)

# %% [markdown] key="why-gqa"
# <details><summary>What you see, and why</summary>
#
# It is **b**. Keys and values are the smaller part of the block's weights: queries and output keep all their heads,
# and the MLP has three matrices, which are larger still. Grouped queries are there for the cache, not for the weights.
#
# </details>
#
# Which query head reads which key head? Neighbors share: with 9 and 3 it is 0, 1, 2 → 0, then 3, 4, 5 → 1, then 6, 7,
# 8 → 2. To go on with the attention of chapter 05, which wants as many keys as queries, each key head is repeated for
# its group.

# %% [markdown] key="repeat-kv"
# ### Exercise 11.3 · Repeat the key heads
#
# *difficulty 2 · 10 minutes · stuck?* `hint("11.3")`
#
# $$k'_h = k_{\lfloor h / n_\text{rep} \rfloor}$$
#
# $k_g$ is key head $g$ (of n_kv_heads), $k'_h$ the one that query head $h$ reads, and $n_\text{rep}$ the number of
# query heads that share a key head. The function serves for values as well.


# %% key="repeat-kv-answer" exercise="11.3"
def repeat_kv(
    k: Float[Tensor, "batch pos n_kv_heads d_head"],
    n_rep: int,
) -> Float[Tensor, "batch pos n_heads d_head"]:
    """Each key head n_rep times, so that every query head finds its own at its own number.

    >>> k = tensor([[[[1.0], [2.0]]]])  # one text, one position, two key heads, d_head = 1
    >>> repeat_kv(k, 3).flatten().tolist()
    [1.0, 1.0, 1.0, 2.0, 2.0, 2.0]
    """
    # SOLUTION
    # Each head several times in a row, along the head axis: 0, 0, 0, 1, 1, 1.
    return k.repeat_interleave(n_rep, dim=2)  # [batch pos n_kv_heads·n_rep d_head]
    # END


# %% key="repeat-kv-grade"
grade(repeat_kv)

# %% [markdown] key="repeat-kv-why" solution="11.3"
# #### Why it works
#
# `repeat_interleave` repeats each entry of an axis before it goes on to the next, so that head $h$ of the result is
# head $\lfloor h/n_\text{rep} \rfloor$ of the input.
#
# **A second way** gives the heads an axis of copies that takes no memory, and merges it (the next cell). Fast
# programs do not repeat at all: they let a group of queries read the one key where it lies.
#
# **What the classic mistake looks like.** `repeat` tiles the whole list: 0, 1, 2, 0, 1, 2, …. The shape is right, and
# query head 1 looks for what it was trained to find among the keys of another group. Section 7 shows what that costs.

# %% key="repeat-kv-second" solution="11.3"
keys = torch.randn(1, 5, 3, 4, generator=rng)  # [batch pos n_kv_heads d_head]
copies = keys[:, :, :, None].expand(-1, -1, -1, 2, -1)  # [batch pos n_kv_heads n_rep d_head], nothing is copied yet
torch.equal(copies.flatten(2, 3), repeat_kv(keys, 2))

# %% [markdown] key="gqa-use-text"
# **Use it**, with your `rope`, to get the model's own attention: turn queries and keys, repeat the keys, and let the
# scores and the pattern of chapter 05 do the rest.

# %% key="gqa-use" tags=["demo"]
spread = use(repeat_kv)
group = n_heads // n_kv  # query heads that share a key head
patterns = []
for i in range(n_layers):
    q, k = (turn(cache[f"blocks.{i}.attn.hook_{letter}"], places, theta) for letter in "qk")
    patterns.append(attention_pattern(attention_scores(q, spread(k, group))))

right = [agrees(pattern, f"blocks.{i}.attn.hook_pattern") for i, pattern in enumerate(patterns)]
print(f"the same as the model's own patterns: {sum(right)} of {len(right)} layers")

# %% [markdown] key="gqa-heads-text"
# Do heads that share a key also look at the same words? Here is one group, the one whose heads differ most.

# %% key="gqa-heads" tags=["demo"]
all_patterns = torch.cat(patterns)  # [layer n_heads query_pos key_pos]
by_group = all_patterns.unflatten(1, (n_kv, group))  # [layer n_kv_heads group query_pos key_pos]
apart = by_group.std(dim=2).mean((-2, -1))  # [layer n_kv_heads]
some_layer, some_group = divmod(apart.argmax().item(), n_kv)
one_group = by_group[some_layer, some_group]  # [group query_pos key_pos]
elsewhere = (one_group[0] - one_group[1:]).abs().sum(-1).mean() / 2  # the weight that the others have on other words
some = 14  # tokens, so that each has room for its name
show.heads(
    one_group[:, :some, :some],
    tokens[:some],
    labels=[f"Head {some_group * group + i}" for i in range(group)],
    title=f"Layer {some_layer}: the {group} query heads that share key head {some_group}",
    note="The same keys for all, and each head asks in its own way. Beside the first, the others have "
    f"{elsewhere:.0%} of their weight on other words, on average.",
)

# %% [markdown] key="swiglu" terms="gate, SiLU, SwiGLU"
# ## 5 · SwiGLU: an MLP with a gate
#
# GPT-2's MLP has neurons that each read the stream once, go through GELU, and write. In the MLP of today each neuron
# reads *twice*. One reading says **what** (up), the other **how much of it gets through** (the **gate**). The two are
# multiplied.
#
# The gate goes through **SiLU**, $z \cdot \text{sigmoid}(z)$, a near twin of GELU:

# %% key="activations" tags=["demo"]
z = torch.linspace(-4, 4, 33)
curves = {"SiLU": z * torch.sigmoid(z), "GELU": torch.nn.functional.gelu(z), "ReLU": z.relu()}
show.lines(
    z,
    curves,
    title="SiLU, GELU and ReLU",
    note="SiLU dips deeper below 0 than GELU and comes back more slowly; far out all three are alike.",
    x_name="z, what the neuron reads",
    y_name="activation",
)

# %% [markdown] key="gate-map-text"
# With a gate the activation of a neuron is a function of two numbers. The picture has the gate's reading from left to
# right and the other from bottom to top.

# %% key="gate-map" tags=["demo"]
steps = torch.linspace(-3, 3, 13)
readings = [f"{value:g}".replace("-", "−") for value in steps.tolist()]
activation = (steps * torch.sigmoid(steps))[None, :] * steps.flip(0)[:, None]  # [up gate]
show.matrix(
    activation,
    rows=readings[::-1],
    columns=readings,
    title="The activation of one neuron with a gate",
    note="Left the gate is shut, and next to nothing passes; right it is open, and up decides the sign.",
    row_name="up",
    column_name="gate, before SiLU",
    value_name="activation",
    numbers_in_cells=False,
)

# %% [markdown] key="swiglu-width"
# A neuron of GPT-2 can only be silent or write its own direction. This one can write it forwards *and* backwards, or
# not at all.
#
# It needs three matrices where GPT-2 has two. To have the same number of weights, the hidden layer must be narrower:
# $3 \cdot d_\text{mlp}' = 2 \cdot 4\, d_\text{model}$, so $d_\text{mlp}' = \tfrac{8}{3} d_\text{model}$.

# %% key="width" tags=["demo"]
d_model, d_mlp = modern.cfg.d_model, modern.cfg.d_mlp
print(f"8/3 of d_model = {d_model} is {8 * d_model // 3}; this model's d_mlp is {d_mlp}")

# %% [markdown] key="swiglu-exercise"
# ### Exercise 11.4 · SwiGLU
#
# *difficulty 2 · 10 minutes · stuck?* `hint("11.4")`
#
# $$\text{swiglu}(x) = \big( \text{SiLU}(x W_\text{gate}) \odot x W_\text{up} \big)\, W_\text{down}
# \qquad \text{SiLU}(z) = z \cdot \text{sigmoid}(z)$$
#
# $x$ is a row of the normed stream; $W_\text{gate}$ and $W_\text{up}$ are [d_model d_mlp], $W_\text{down}$ is [d_mlp
# d_model]; $\odot$ multiplies neuron by neuron. There are no biases. torch's own functions for SiLU may be used.


# %% key="swiglu-answer" exercise="11.4"
def swiglu(
    x: Float[Tensor, "batch pos d_model"],
    W_gate: Float[Tensor, "d_model d_mlp"],
    W_up: Float[Tensor, "d_model d_mlp"],
    W_down: Float[Tensor, "d_mlp d_model"],
) -> Float[Tensor, "batch pos d_model"]:
    """An MLP with a gate.

    >>> one = torch.ones(1, 1)  # d_model = d_mlp = 1
    >>> swiglu(one[None], 100 * one, 2 * one, 3 * one).tolist()  # the gate is wide open: SiLU(100) = 100
    [[[600.0]]]
    """
    # SOLUTION
    gate = x @ W_gate  # [batch pos d_mlp]
    opened = gate * torch.sigmoid(gate)  # SiLU
    return (opened * (x @ W_up)) @ W_down  # [batch pos d_mlp] → [batch pos d_model]
    # END


# %% key="swiglu-grade"
grade(swiglu)

# %% [markdown] key="swiglu-why" solution="11.4"
# #### Why it works
#
# Two matrix products read, one product of numbers gates, one matrix product writes. Each position is alone, as in
# GPT-2's MLP, and the result is still a sum over neurons: activation times a row of $W_\text{down}$.
#
# **What the classic mistakes look like.** Gate and up swapped is the most common one, because both have the same
# shape and files name them in different ways. The numbers are of the right size and wrong everywhere. GELU in place
# of SiLU is closer, for the two curves are nowhere more than 0.2 apart: only a comparison by numbers tells.

# %% key="swiglu-second" solution="11.4"
# A second way: both readings in one product of twice the width, as fast programs do it.
x, both = (
    torch.randn(1, 4, 6, generator=rng),
    torch.randn(6, 16, generator=rng),
)  # [batch pos d_model], [d_model 2·d_mlp]
down = torch.randn(8, 6, generator=rng)
left, right_half = (x @ both).chunk(2, dim=-1)  # [batch pos d_mlp] each
by_one_product = (torch.nn.functional.silu(left) * right_half) @ down
torch.allclose(by_one_product, swiglu(x, both[:, :8], both[:, 8:], down), atol=1e-4)

# %% [markdown] key="swiglu-use-text"
# **Use it**, and mind the names: in the model $W_\text{up}$ is called `W_in`, as in GPT-2, and $W_\text{down}$ is
# `W_out`.

# %% key="swiglu-use" tags=["demo"]
mlp = use(swiglu)
right, shut = [], []
for i, weights in enumerate(blocks):
    normed = cache[f"blocks.{i}.ln2.hook_out"]  # [batch pos d_model]
    out = mlp(normed, weights["mlp.W_gate"], weights["mlp.W_in"], weights["mlp.W_out"])
    right.append(agrees(out, f"blocks.{i}.hook_mlp_out"))
    opened = torch.nn.functional.silu(normed[0, 1:] @ weights["mlp.W_gate"])  # [pos d_mlp], without BOS
    shut.append((opened < 0.1).float().mean().item())
print(f"the same as the model's own: {sum(right)} of {len(right)} layers")

# %% key="shut" tags=["demo"]
show.lines(
    list(range(n_layers)),
    {"gates that are shut": shut},
    title="How many gates are shut?",
    note=f"The share whose SiLU is below 0.1, over words and neurons: {min(shut):.0%} to {max(shut):.0%}, by layer.",
    x_name="layer",
    y_name="share of all gates",
)

# %% [markdown] key="block" terms="pre-norm"
# ## 6 · The block of today
#
# The frame is GPT-2's. Each sublayer norms what it reads and adds what it makes; the stream itself is never normed
# (**pre-norm**). Inside, four parts are new, and all biases are gone.

# %% key="frame" tags=["demo"]
show.table(
    [
        ["norm before each sublayer", "layer_norm: w, b", "rms_norm: w"],
        ["queries, keys, values", "x W + b", "x W"],
        ["positions", "added once, at the start", "rope on q and k, in every block"],
        ["key heads", "as many as query heads", "fewer: repeat_kv"],
        ["scores, mask, pattern, z", "as in chapter 05", "the same"],
        ["out", "z W_O + b_O, added", "z W_O, added"],
        ["MLP", "W_in, GELU, W_out", "swiglu: W_gate, W_in, W_out"],
    ],
    ["step", "GPT-2's block", "the block of today"],
    title="What changes in a block, and what stays",
    note="The frame, the scores and the mask stay; four parts and the biases change.",
)

# %% [markdown] key="llama-block"
# ### Exercise 11.5 · The block
#
# *difficulty 4 · 30 minutes · stuck?* `hint("11.5")`
#
# With $r$ the stream and $r'$ the stream between the two sublayers:
#
# $$
# r' = r + \text{attention}\big(\text{rms\_norm}_1(r)\big) \qquad
# \text{out} = r' + \text{swiglu}\big(\text{rms\_norm}_2(r')\big)
# $$
#
# In the attention $q$ and $k$ (not $v$) are turned by `rope` at the `positions` given; $k$ and $v$ are repeated for
# their groups; scores, mask, pattern and mixture are those of chapter 05, and the next cell gives you the book's.
# `block` is a dict: `"ln1.w" "ln2.w" "attn.W_Q" "attn.W_K" "attn.W_V" "attn.W_O" "mlp.W_gate" "mlp.W_in" "mlp.W_out"`
# and the numbers `"eps" "theta"`. $W_Q$ is [n_heads d_model d_head], $W_K$ and $W_V$ are [n_kv_heads d_model d_head],
# $W_O$ is [n_heads d_head d_model]. If you skipped a part, `use(rope)` is the book's.

# %% key="parts-of-05"
attention_scores = exercise("05.2").solution  # (q, k) → scores [batch n_heads query_pos key_pos], scaled, no mask
attention_pattern = exercise("05.4").solution  # scores → pattern, masked and normalized
mix_values = exercise("05.5").solution  # (pattern, v) → z [batch pos n_heads d_head]


# %% key="llama-block-answer" exercise="11.5"
def llama_block(
    resid: Float[Tensor, "batch pos d_model"],
    block: dict[str, Tensor | float],
    positions: Int[Tensor, "pos"],
) -> Float[Tensor, "batch pos d_model"]:
    """The stream after one block.

    >>> zero = torch.zeros(1, 2, 2)  # one head; d_model = d_head = d_mlp = 2
    >>> block = {"ln1.w": torch.ones(2), "ln2.w": torch.ones(2), "eps": 1e-5, "theta": 100.0}
    >>> block |= {f"attn.W_{letter}": zero for letter in "QKVO"}
    >>> block |= {f"mlp.W_{name}": zero[0] for name in ("gate", "in", "out")}
    >>> llama_block(tensor([[[3.0, 4.0]]]), block, tensor([0])).tolist()  # nothing is added
    [[[3.0, 4.0]]]
    """
    # SOLUTION
    normed = rms_norm(resid, block["ln1.w"], block["eps"])
    axes = "batch pos d_model, heads d_model d_head -> batch pos heads d_head"
    q, k, v = (einsum(normed, block[f"attn.W_{letter}"], axes) for letter in "QKV")
    q, k = rope(q, positions, block["theta"]), rope(k, positions, block["theta"])  # v is not turned
    n_rep = q.shape[2] // k.shape[2]
    scores = attention_scores(q, repeat_kv(k, n_rep))  # [batch n_heads query_pos key_pos]
    z = mix_values(attention_pattern(scores), repeat_kv(v, n_rep))  # [batch pos n_heads d_head]
    axes = "batch pos heads d_head, heads d_head d_model -> batch pos d_model"
    resid_mid = resid + einsum(z, block["attn.W_O"], axes)
    normed = rms_norm(resid_mid, block["ln2.w"], block["eps"])
    return resid_mid + swiglu(normed, block["mlp.W_gate"], block["mlp.W_in"], block["mlp.W_out"])
    # END


# %% key="llama-block-grade"
grade(llama_block)

# %% [markdown] key="llama-block-why" solution="11.5"
# #### Why it works
#
# The frame is `transformer_block` of chapter 07, line by line. The same `einsum` makes queries and keys although they
# have different numbers of heads, because it never says how many there are. Turning comes before repeating: that way
# each key head is turned once, not once for every query head that reads it. The result is the same either way.
#
# **A second way** is torch's own `scaled_dot_product_attention` for the middle: it may be used here, as attention was
# the point of chapter 05 (the next cell).
#
# **What the classic mistakes look like.** Values turned as well: then what is fetched depends on where it stood, and
# every mixture is of vectors turned against one another. Queries turned and keys not: the score depends on the
# position of the query alone. All shapes are right in both; only the comparison with the model's own stream tells.


# %% key="llama-block-second" solution="11.5"
def with_torch(resid, block, positions):
    x = rms_norm(resid, block["ln1.w"], block["eps"])
    q, k, v = (torch.einsum("bpm,hmd->bphd", x, block[f"attn.W_{c}"]) for c in "QKV")
    q, k = (rope(t, positions, block["theta"]) for t in (q, k))
    q, k, v = (t.transpose(1, 2) for t in (q, k, v))  # [batch heads pos d_head]
    z = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
    resid = resid + torch.einsum("bhpd,hdm->bpm", z, block["attn.W_O"])
    x = rms_norm(resid, block["ln2.w"], block["eps"])
    return resid + swiglu(x, *(block[f"mlp.W_{name}"] for name in ("gate", "in", "out")))


stream, places = cache["blocks.0.hook_resid_pre"], torch.arange(len(tokens))
torch.allclose(with_torch(stream, blocks[0], places), llama_block(stream, blocks[0], places), atol=1e-4)

# %% key="examples-run" solution="11.5"
import doctest

doctest.testmod()  # the examples in the docstrings of all five exercises, run

# %% [markdown] key="block-use-text"
# **Use it.** Every block of the model, rebuilt by yours from the stream before it, and compared at
# `hook_resid_post`. The curves are the size of the stream: the model's, and what your blocks make of the embeddings
# when they run one after another and nothing of the model's is put in between.

# %% key="block-use" tags=["demo"]
mine = use(llama_block)
right, resid = [], modern.W_E[modern.to_tokens(text)]  # [batch pos d_model]
sizes = {"the model's": [], "yours, block after block": []}
for i, weights in enumerate(blocks):
    after = f"blocks.{i}.hook_resid_post"
    right.append(agrees(mine(cache[f"blocks.{i}.hook_resid_pre"], weights, places), after))
    resid = mine(resid, weights, places)
    for name, stream in zip(sizes, (cache[after], resid), strict=True):
        sizes[name].append(stream[0, 1:].square().mean().sqrt().item())  # root mean square, without BOS

# %% key="block-use-figure" tags=["demo"]
alike = sum(abs(one / other - 1) < 1e-3 for one, other in zip(*sizes.values(), strict=True))
show.lines(
    list(range(n_layers)),
    sizes,
    title="The size of the stream, layer by layer",
    note=f"{sum(right)} of {n_layers} blocks agree with the model at every position. The two curves agree to a "
    f"thousandth at {alike} of {n_layers} layers.",
    x_name="layer",
    y_name="root mean square of the stream",
)

# %% [markdown] key="predict-worth" tags=["predict"]
# ## 7 · What each part is worth
#
# Now spoil one thing at a time, in every block, and see how much worse the model guesses the next token of a real
# text. Your function need not change: a spoiled *argument* does it.
#
# **Predict.** One of these does no harm at all. Which? And which do you think is the worst?
#
# - **a**: all positions are 0, so that nothing is turned;
# - **b**: all positions are 1000 too large;
# - **c**: the groups are tiled: query heads 0, 1, 2 read key heads 0, 1, 2 and not 0, 0, 0;
# - **d**: gate and up are swapped;
# - **e**: the mean is taken out of the stream before each block, as LayerNorm would see it.

# %% key="guess-worth" tags=["predict"]
my_guess = "?"  # the harmless one, and the worst

# %% key="worth" tags=["demo"]
english = (
    "In the winter the river froze, and people walked across it to the market on the other side. "
    "They sold bread, apples and warm coats, and the children skated home when it got dark."
)
ids = modern.to_tokens(english)  # [batch pos]
here = torch.arange(ids.shape[1])  # [pos]
tiling = torch.arange(n_heads).view(group, n_kv).T.flatten()  # the order in which groups of neighbors are tiles


def tiled(weights):
    """Query heads in another order, so that each reads the key head that a tiled list would give it."""
    return weights | {f"attn.W_{letter}": weights[f"attn.W_{letter}"][tiling] for letter in "QO"}


def swapped(weights):
    """Gate and up, each in the other's place."""
    return weights | {"mlp.W_gate": weights["mlp.W_in"], "mlp.W_in": weights["mlp.W_gate"]}


def loss_with(block):
    """The mean loss on the text in nats, from the second token on."""
    log_probs = logits_with(block, ids)[:, :-1].log_softmax(-1)  # [batch pos-1 d_vocab]
    return -log_probs.gather(-1, ids[:, 1:, None]).mean().item()


# %% key="worth-figure" tags=["demo"]
losses = {
    "as it should be": loss_with(lambda r, w: mine(r, w, here)),
    "a: all positions 0": loss_with(lambda r, w: mine(r, w, 0 * here)),
    "b: positions + 1000": loss_with(lambda r, w: mine(r, w, here + 1000)),
    "c: groups tiled": loss_with(lambda r, w: mine(r, tiled(w), here)),
    "d: gate and up swapped": loss_with(lambda r, w: mine(r, swapped(w), here)),
    "e: mean taken out": loss_with(lambda r, w: mine(r - r.mean(-1, keepdim=True), w, here)),
    "GPT-2's block": loss_with(lambda r, w: gpt2_block(r, as_gpt2(w))),
}
spoiled = {name: loss for name, loss in losses.items() if name[1] == ":"}
best, worst = min(spoiled, key=spoiled.get), max(spoiled, key=spoiled.get)
evenly = torch.tensor(modern.cfg.d_vocab).log().item()
verdict = f"Of the five, {best!r} costs the least and {worst!r} the most."
if losses["as it should be"] > 0.9 * evenly:
    verdict = "This model has learned nothing, so that there is nothing to spoil: SmolLM2 is another matter."
show.bars(
    losses | {"guessing evenly": evenly},
    title="The loss on a real text when one thing is spoiled in every block",
    note=f"{verdict} The last bar is log d_vocab.",
    x_name="what is changed",
    y_name="loss in nats a token",
)

# %% [markdown] key="why-worth"
# <details><summary>What you see, and why</summary>
#
# **b** does no harm: every query and key is turned by the same thousand steps, and only differences count. In SmolLM2
# **e** costs little, as the small mean of section 2 promised, and the others break what the weights were trained for:
# with **a** only the mask still tells before from after, with **c** each query searches the wrong keys, with **d** what
# was to be let through decides what lets through.
#
# </details>

# %% [markdown] key="side-by-side"
# ## 8 · Side by side
#
# The GPT-2 that you built in chapter 07 and the model of today. GPT-2 small's numbers are the published ones; the
# other two columns are read from the models in this notebook.


# %% key="side-by-side-table" tags=["demo"]
def facts(model, family):
    """What there is to say about a model, in the order of the table's rows."""
    cfg = model.cfg
    # TransformerLens holds GPT-2's joint matrix "qkv" beside the three made from it: it counts once.
    million = sum(p.numel() for name, p in model.named_parameters() if ".qkv." not in name) / 1e6
    table = cfg.d_vocab * cfg.d_model / 1e6
    key_heads = getattr(cfg, "n_key_value_heads", None) or cfg.n_heads
    sizes = [cfg.n_layers, cfg.d_model, f"{cfg.n_heads} of {cfg.d_head}", key_heads, f"{cfg.d_mlp:,}"]
    return [*family, *sizes, f"{cfg.d_vocab:,}", f"{cfg.n_ctx:,}", f"{million:.1f}", f"{table / million:.0%}"]


gpt2 = ["LayerNorm", "learned, added", "GELU", "yes"]
today = ["RMSNorm", "rotary", "SwiGLU", "none"]
small = [*gpt2, 12, 768, "12 of 64", 12, "3,072", "50,257", "1,024", "124.4", "31%"]
rows = ["norm", "positions", "MLP", "biases", "layers", "d_model", "query heads", "key heads", "d_mlp"]
rows += ["tokens in the vocabulary", "longest text", "parameters, millions", "of these in the token table"]
tied = all(torch.equal(model.W_U, model.W_E.T) for model in (pocket, modern))
columns = zip(rows, small, facts(pocket, gpt2), facts(modern, today), strict=True)
show.table(
    [[str(cell) for cell in line] for line in columns],
    ["", "GPT-2 small (2019)", "pocket model", "modern model"],
    title="GPT-2 and a model of today",
    note=f"The modern model is deep and narrow: {n_layers} layers of d_model {modern.cfg.d_model}. "
    f"W_U is W_E's transpose in both models of this notebook: {tied}.",
)

# %% [markdown] key="what-else"
# The architecture is the smaller part of what has changed. GPT-2 small read some 40 GB of text; the makers of
# SmolLM2-135M report two *trillion* tokens, chosen with care. Then it was trained further on conversations, hence
# "Instruct".

# %% [markdown] key="writes"
# ## 9 · It writes
#
# The loop of chapter 09 does not ask what is inside a model: tokens in, logits out. So your sampler works here as it
# stands. The next two cells look for your notebook of chapter 09 beside this one, as you last saved it, and take four
# functions from it. Each is graded again; where one is missing, or not right yet, the book's stands in.

# %% key="sampler" tags=["demo"]
SAMPLER = {"apply_temperature": "09.2", "top_p_filter": "09.5", "sample": "09.3", "generate": "09.7"}
IMPORT = re.compile(r"^(?:import|from) .+$", re.MULTILINE)
DEFINED = re.compile(r"^(?:def|class) (\w+)", re.MULTILINE)


def written_in(chapter):
    """What the exercise cells of your notebook of `chapter` define, as in chapter 07: {name: function}."""
    names, missing = {}, set()
    for file in sorted(Path().glob(f"{chapter}_*.ipynb")):
        for cell in json.loads(file.read_text(encoding="utf-8"))["cells"]:
            code = "".join(cell["source"]) if cell["cell_type"] == "code" else ""
            if "exercise" not in cell["metadata"].get("book", {}):
                code = "\n".join(IMPORT.findall(code))  # of all other cells only what they import
            missing |= {*DEFINED.findall(code)} if "raise NotImplementedError" in code else set()
            try:
                exec(code, names)
            except Exception as error:
                print(f"A cell of {file.name} is left out: {type(error).__name__}: {error}")
    return {name: made for name, made in names.items() if name not in missing}


# %% key="sampler-used" tags=["demo", "nbval-ignore-output"]
yours, sampler, owner = written_in("09"), {}, {}
for name, exercise_id in SAMPLER.items():
    passed = name in yours and grade(yours[name], exercise_id).passed
    owner[name] = "you" if passed else "the book"
    with contextlib.redirect_stdout(None):  # the table says whose it is
        sampler[name] = use(yours.get(name), exercise_id)
temper, nucleus, draw, write = sampler.values()


def pick(logits):
    """One token for each row, [batch d_vocab] → [batch]: temperature 0.8, the likeliest 90%."""
    return draw(nucleus(temper(logits, 0.8), 0.9), rng)


show.table(
    [[name, by] for name, by in owner.items()],
    ["part of the sampler", "written by"],
    title="Whose sampler writes here",
    note="Save chapter 09 and run this cell again to bring in what is new.",
)

# %% [markdown] key="sampled-text"
# Two draws from the modern model, and one from the pocket model, which knows only the words of its own small world.
# (What is drawn may differ from one kind of processor to another: their random numbers do.)

# %% key="sampled" tags=["demo", "nbval-ignore-output"]
beginning = "The lighthouse stood at the end of the world, and"
start = modern.to_tokens(beginning, prepend_bos=False).expand(2, -1)  # [batch pos], the same prompt twice
drawn = write(modern, start, 24, pick)  # [batch pos+24]
rows = [["modern model", " ".join(modern.to_string(line).split())] for line in drawn]
small_world = write(pocket, pocket.to_tokens("Once upon a time there was a"), 24, pick)
rows += [["pocket model", " ".join(pocket.to_string(small_world[0, 1:]).split())]]
show.table(
    rows,
    ["who writes", "text"],
    title="Written by your loop" if owner["generate"] == "you" else "Written by the book's loop",
    note="24 tokens each after the words that were given.",
)

# %% [markdown] key="chat-text" terms="chat template"
# And an assistant? It is the same loop once more. A question and its answer are written down as *one text*, with
# marks for who speaks: a **chat template**. The model continues that text, and `<|im_end|>`, its EOS, ends the turn.
# This time the likeliest token is taken at each step, so that the answer is always the same.

# %% key="chat" tags=["demo"]
question = "What is the capital of France?"
template = f"<|im_start|>user\n{question}<|im_end|>\n<|im_start|>assistant\n"
asked = modern.to_tokens(template, prepend_bos=False)  # [batch pos]
greedy = exercise("09.1").solution
answered = write(modern, asked, 8, greedy, modern.tokenizer.eos_token_id)  # [batch pos+8]
show.tokens(
    modern.to_str_tokens(answered[0], prepend_bos=False),
    title="A question and its answer are one text",
    note="The template holds all up to the word assistant and the line's end; the model wrote what follows.",
)

# %% [markdown] key="answer"
# ## 10 · Back to the questions
#
# Why did the weights answer nonsense in GPT-2's block? Ask once more, with yours:

# %% key="answer-table" tags=["demo"]
steps = torch.arange(capital.shape[1])  # [pos]
mended = logits_with(lambda resid, weights: mine(resid, weights, steps), capital)
says = "what its own blocks say" if likeliest(mended) == likeliest(modern(capital)) else "something else than its own"
show.table(
    [["its own", *likeliest(modern(capital))], ["yours", *likeliest(mended)], ["GPT-2's", *likeliest(forced)]],
    ["blocks", "likeliest", "second", "third"],
    title="The capital of France is …",
    note=f"With the four parts in their places your block says {says}, to the digits shown.",
)

# %% [markdown] key="answer-text"
# Four parts were missing: a norm that keeps the mean, key heads that are shared, an MLP with a gate, and positions. And
# how does a model without a table of positions know the order of its words? It never looks a position up. **Each
# query and key is turned by its position, and what is left when the two meet is how far they stand apart.**
#
# The rest, which is most of it, you knew already: the stream, attention, the sums, the loop.

# %% [markdown] key="summary"
# ## Summary
#
# Say it in your own words first, then compare.
#
# - **RMSNorm** divides a row by its root mean square. It leaves the mean in and has no bias; the stream's mean is
#   small, so little is lost.
# - **Rotary positions** turn pairs of numbers of each query and key, each pair at a speed of its own. Dot products
#   then depend on distances alone. They work in every block, and the stream itself carries no positions.
# - **Grouped queries** let several query heads share a key head. That makes the cache smaller by the size of a group,
#   and the weights by a little.
# - **SwiGLU** multiplies two readings of the stream, one of them through SiLU. Three matrices, so the hidden layer is
#   8/3 of d_model wide for the weights of GPT-2's MLP.
# - The frame is GPT-2's: pre-norm, attention, add; pre-norm, MLP, add. No biases.

# %% [markdown] key="self-test"
# ## Test yourself
#
# **1.** Multiply every number of the stream by 3 before an RMSNorm with a tiny eps. What changes in its output? And
# if you add 3 to every number?
#
# <details><summary>Answer</summary>
#
# Multiplied: nothing, because the root mean square grows by the same factor of 3 (LayerNorm is the same in this).
# Added: the output changes. LayerNorm would take the 3 away again with the mean; RMSNorm keeps it.
#
# </details>
#
# **2.** Why are queries and keys turned, and values not?
#
# <details><summary>Answer</summary>
#
# A turned query meets a turned key in a dot product, where only the difference of the angles is left. A value meets
# nothing that is turned: it would arrive in the stream at the angle of its absolute position, and values from
# different places would be mixed at different angles.
#
# </details>
#
# **3.** A model has 32 query heads and 8 key heads of 128 numbers, and 32 layers. How many numbers does one token put
# into the cache, and how many would it be with a key head for each query head?
#
# <details><summary>Answer</summary>
#
# A key and a value of $8 \cdot 128$ numbers in each of 32 layers: $2 \cdot 8 \cdot 128 \cdot 32 = 65{,}536$. With 32
# key heads four times as many, $262{,}144$.
#
# </details>

# %% [markdown] key="glossary" covers="N21"
# ## Words met
#
# | term | meaning |
# |---|---|
# | Llama | the family of models (2023) whose block most open models have taken over |
# | root mean square | the root of the mean of the squares: the size of a typical number of the row |
# | RMSNorm | a row divided by its root mean square, times a gain; no mean subtracted, no bias |
# | rotary positions | queries and keys turned by an angle that grows with the position (RoPE) |
# | theta | the base of the speeds: pair $i$ turns by θ^(−2i/d_head) a position |
# | half-split form | number i pairs with number i + d_head/2; the interleaved form pairs neighbors |
# | grouped queries | several query heads share one key head |
# | key head | a head's keys and values, where there are fewer of these than of queries |
# | SiLU | z · sigmoid(z), also called swish |
# | gate | the reading of a neuron that says how much of its other reading gets through |
# | SwiGLU | an MLP whose gate goes through SiLU |
# | pre-norm | each sublayer norms what it reads; the stream is never normed |
# | chat template | how a conversation is written down as one text, with marks for who speaks |

# %% [markdown] key="read-on"
# ## Where to read on
#
# - Zhang and Sennrich, *Root Mean Square Layer Normalization* (2019).
# - Su et al., *RoFormer: Enhanced Transformer with Rotary Position Embedding* (2021): section 3 has the rotation and
#   why only distances are left.
# - Shazeer, *Fast Transformer Decoding: One Write-Head is All You Need* (2019), one key head for all; Ainslie et al.,
#   *GQA: Training Generalized Multi-Query Transformer Models from Multi-Head Checkpoints* (2023), groups.
# - Shazeer, *GLU Variants Improve Transformer* (2020): the gates, compared; the author gives no reason why they help.
# - Touvron et al., *LLaMA: Open and Efficient Foundation Language Models* (2023): the parts put together. Its first
#   version has no groups; they came with the larger models of the second.
# - Ben Allal et al., *SmolLM2: When Smol Goes Big* (2025): the model of this chapter, and above all its data.
#
# This is the last chapter: there is no next one to name. What remains is yours. Put another model of this family into
# `block_of`, go back to chapter 10 and read *this* model's heads, or run `progress()` (from `utils`) to see which
# exercises still wait.
