# Chapter 05, attention: the one source of its notebooks in chapters/ and solutions/ (`book build 05`).
# Whatever is said about a particular head or word is computed in the cell that shows it, so that the text stays true
# on another reference. Numbers in the prose are only those that hold for every model of this shape.

# %% [markdown] key="title"
# # Attention: how a word looks back
#
# *The animal didn't cross the street because it was too tired.* You know who was tired. To go on with this sentence a
# model has to know as well, and the word that it needs, "animal", stands seven tokens before "it".
#
# An embedding cannot reach it, and an MLP cannot: each works on one position alone. Attention is the one part of
# GPT-2 that carries anything from one position to another. In this chapter you build it in seven steps, until your
# layer gives the model's own numbers. Then you use what you wrote to find out what the heads of a trained model do.

# %% [markdown] key="what-you-will-do"
# ## What you will be able to do
#
# - **Compute** a head's queries, keys, values, scores, pattern and output, and name every axis on the way.
# - **Explain** why scores are divided by $\sqrt{d_\text{head}}$, and why the mask comes before the softmax.
# - **Build** a whole attention layer, put it into the model, and **prove** that no position sees the future.
# - **Measure**, in any model, which heads look at the previous word, rest on the first token, continue a repetition.
# - **Read** from the weights alone what a head looks for and what it writes.
#
# **Builds on** 00 (named axes), 01 (queries, keys, values and softmax), 03 (the residual stream), 04 (LayerNorm).
# **Time**: two sittings. Exercises 05.1 to 05.7 build the layer; 05.8 to 05.12 read it.
#
# | exercise | you write | difficulty (1–5) | minutes |
# |---|---|---|---|
# | 05.1 | `project_heads`: queries, keys, values | 2 | 10 |
# | 05.2 | `attention_scores`: how well each key fits each query | 2 | 10 |
# | 05.3 | `causal_mask`: nobody sees the future | 3 | 15 |
# | 05.4 | `attention_pattern`: from scores to weights | 2 | 10 |
# | 05.5 | `mix_values`: move what was found | 2 | 10 |
# | 05.6 | `attention_out`: back into the stream | 2 | 10 |
# | 05.7 | `attention`: the whole layer | 4 | 20 |
# | 05.8 | `head_results`: what each head alone writes | 2 | 5 |
# | 05.9 | `previous_token_score`: who looks one back? | 2 | 10 |
# | 05.10 | `induction_score`: who continues a repetition? | 3 | 15 |
# | 05.11 | `ov_circuit`: what a head writes | 4 | 15 |
# | 05.12 | `qk_circuit`: what a head looks for | 4 | 10 |
#
# Write an answer where you find `raise NotImplementedError`, run that cell, then run the cell below it: it grades
# your function. `hint("05.1")` gives a hint, and a stronger one each time you ask. You may skip an exercise: later
# cells use the book's version where yours is missing, and say so.

# %% key="setup"
import torch
from einops import einsum
from jaxtyping import Float, Int
from torch import Tensor, tensor

from utils import grade, hint, reference, show, use

model = reference(device="cpu")  # the pocket model; it needs no accelerator
rng = torch.Generator().manual_seed(5)  # every random number of this chapter comes from here

# %% [markdown] key="which-model"
# The model is the book's **pocket model**: GPT-2's architecture and tokenizer, with 4 layers of 8 heads, trained on
# short stories and a few patterns of English. GPT-2 small has 12 layers of 12 heads. All that you build fits both,
# number for number. *Which* head does what is a fact about one trained model: this chapter looks it up in a cell and
# never knows it in advance. A small model learns some things only in part, and then a figure is blurred where GPT-2's
# would be sharp: the figures show what is there.
#
# To see GPT-2's own heads, run `book reference gpt2` once in a terminal, write
# `model = reference("gpt2", device="cpu")` in the cell above, and run the chapter again.

# %% [markdown] key="question" covers="N8" terms="attention, residual stream"
# ## 1 · What one position cannot know
#
# Here are two little stories. They differ in one word, the fifth, and what comes next hangs on it.

# %% key="two-texts" tags=["demo"]
story = 'Anna had a white {}. One morning it climbed a tall tree and was stuck. "Come down!" called Anna, but the'
kitten_story, goat_story = story.format("kitten"), story.format("goat")


def next_words(text, hooks=()):
    """The three likeliest next tokens of `text`, each with its probability."""
    logits = model.run_with_hooks(text, fwd_hooks=list(hooks))  # [batch pos d_vocab]
    best = logits[0, -1].softmax(-1).topk(3)  # [3], of the last position
    found = zip(best.indices, best.values, strict=True)
    return [f"{model.to_string(token)!r} {probability:.2f}" for token, probability in found]


def both(title, note, hooks=()):
    """The likeliest next tokens of both stories, as a table."""
    one = ["… a white kitten … but the", *next_words(kitten_story, hooks)]
    other = ["… a white goat … but the", *next_words(goat_story, hooks)]
    columns = ["story", "likeliest", "second", "third"]
    return show.table([one, other], columns, title=title, note=note)


both("What comes next?", "The number after each token is its probability.")

# %% [markdown] key="predict-without" tags=["predict"]
# The last position holds "the", twenty-one tokens after the animal, and knows which animal it was.
#
# **Predict.** Now attention is switched off: what it would add to the stream is replaced by zeros, in every layer.
# Embeddings, positions and MLPs work as before. What will the model say after the two stories?
#
# - **a**: the same animals as above, only less sure;
# - **b**: the two animals the other way round;
# - **c**: exactly the same for both stories.
#
# Write your guess down first. A guess that turns out wrong is remembered better than a truth that was only read.

# %% key="guess-without" tags=["predict"]
my_guess = "?"  # a, b or c


# %% key="without-attention" tags=["demo"]
def nothing(attn_out, hook):
    """What attention adds to the stream, replaced by zeros."""
    return torch.zeros_like(attn_out)


switched_off = [(f"blocks.{layer}.hook_attn_out", nothing) for layer in range(model.cfg.n_layers)]
both("What comes next, without attention?", "Compare the two rows with your guess.", switched_off)

# %% [markdown] key="why-the-same"
# <details><summary>What you see, and why</summary>
#
# It is **c**, and not by chance. Without attention the last position works with two facts: its token is "the", and it
# is number 26. Both are the same in the two stories, so every number that follows from them is the same.
#
# </details>
#
# That is the question of this chapter: **how does the last position find out which animal it was?** It has to find
# the right earlier position and fetch something from there. At the end you will catch the model looking.

# %% [markdown] key="by-hand" covers="M11, N13" terms="self-attention, query, key, value"
# ## 2 · One head by hand
#
# Attention is the retrieval of chapter 01. Each position asks a question (the **query**), each position carries a
# label that questions are compared with (the **key**), and each position has something to hand over (the **value**).
# The better a key fits the query, the more of its value is taken.
#
# In a library the question comes from you, and labels and books belong to the shelves. Here all three are made from
# the same tokens: the text asks itself. Hence the name **self-attention**.
#
# Take the word "it" in the sentence about the tired animal, and one head with $d_\text{head} = 2$. Say that axis 0
# stands for living things and axis 1 for places. (In a trained model nobody gives the axes a meaning, and there are
# 32 or 64 of them.) "it" asks for something alive:

# %% key="one-query-by-hand" tags=["demo"]
words = ["animal", "street", "it"]
query = tensor([1.5, 0.0])  # what "it" looks for: [d_head]
keys = tensor([[2.0, 0.0], [0.0, 2.0], [0.5, 0.5]])  # found by: [key_pos d_head]
values = tensor([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])  # hands over: [key_pos d_head]

match = keys @ query  # [key_pos]
weight = (match / 2**0.5).softmax(-1)  # [key_pos], sums to 1
found = weight @ values  # [d_head]

show.table(
    list(zip(words, match, match / 2**0.5, weight, strict=True)),
    ["key", "query · key", "÷ √d_head", "weight"],
    title='What "it" pays attention to',
    note=f"Fetched: ({found[0]:.2f}, {found[1]:.2f}), which is mostly what animal hands over.",
)

# %% [markdown] key="whole-formula" covers="N13" terms="head, pattern, d_head"
# That is a whole head for one query. Check one number by hand: $2 \cdot 1.5 = 3$, and $3 / \sqrt 2 \approx 2.12$.
#
# GPT-2 does this for every position at once and in several heads. For the stream $x_i$ at position $i$ (after
# LayerNorm) and head $h$:
#
# $$
# q^h_i = x_i W_Q^h + b_Q^h \qquad k^h_j = x_j W_K^h + b_K^h \qquad v^h_j = x_j W_V^h + b_V^h
# $$
#
# $$
# A^h_{ij} = \operatorname{softmax}_{j \le i}\!\left(\frac{q^h_i \cdot k^h_j}{\sqrt{d_\text{head}}}\right)
# \qquad
# z^h_i = \sum_{j \le i} A^h_{ij}\, v^h_j
# \qquad
# \text{out}_i = b_O + \sum_h z^h_i W_O^h
# $$
#
# | symbol | in words | name in the model | axes |
# |---|---|---|---|
# | $q, k, v$ | query, key, value | `hook_q`, `hook_k`, `hook_v` | batch pos n_heads d_head |
# | $q \cdot k / \sqrt{d_\text{head}}$ | score: how well key $j$ fits query $i$ | `hook_attn_scores` (masked already) | batch n_heads query_pos key_pos |
# | $A$ | pattern: each query's weights over the keys | `hook_pattern` | batch n_heads query_pos key_pos |
# | $z$ | the values, mixed by the pattern | `hook_z` | batch pos n_heads d_head |
# | out | what the layer adds to the stream | `hook_attn_out` | batch pos d_model |
#
# $W_Q, W_K, W_V$ are [n_heads d_model d_head], $W_O$ is [n_heads d_head d_model]. You will write these lines one by
# one, and each time `grade` compares your numbers with the model's.

# %% key="one-layer" tags=["demo"]
n_layers, n_heads = model.cfg.n_layers, model.cfg.n_heads
layer_names = [f"layer {i}" for i in range(n_layers)]
head_names = [f"head {i}" for i in range(n_heads)]

tokens = model.to_str_tokens(kitten_story)
_, cache = model.run_with_cache(kitten_story)  # every activation of the model on this text
layer = 0  # the layer that you will rebuild first
attn = model.blocks[layer].attn  # holds W_Q, b_Q, W_K, b_K, W_V, b_V, W_O, b_O
x = cache[f"blocks.{layer}.ln1.hook_out"]  # what the layer reads: [batch pos d_model]

show.tokens(
    tokens,
    ids=model.to_tokens(kitten_story)[0],
    title=f"The story in {len(tokens)} tokens, positions 0 to {len(tokens) - 1}",
    note=f"Position 0 is BOS. x has the shape {tuple(x.shape)}: batch, pos, d_model.",
)

# %% [markdown] key="queries-keys-values" terms="projection"
# ## 3 · Queries, keys and values
#
# All heads read the same stream, and each has glasses of its own: a matrix that takes $x_i$ from d_model numbers down
# to d_head. For queries, keys and values the arithmetic is the same, so one function does all three.

# %% [markdown] key="project-heads" covers="N13"
# ### Exercise 05.1 · Project into heads
#
# *difficulty 2 · 10 minutes · stuck?* `hint("05.1")`
#
# $$q^h_i = x_i W_Q^h + b_Q^h$$
#
# $x_i$ is the stream at position $i$, a row of d_model numbers; $W_Q^h$ is head $h$'s matrix [d_model d_head];
# $b_Q^h$ its bias. Do it for every text, position and head at once. The letter Q stands for any of Q, K, V.


# %% key="project-heads-answer" exercise="05.1" covers="N13"
def project_heads(
    x: Float[Tensor, "batch pos d_model"],
    W: Float[Tensor, "n_heads d_model d_head"],
    b: Float[Tensor, "n_heads d_head"],
) -> Float[Tensor, "batch pos n_heads d_head"]:
    """Queries, keys or values of all heads: W is W_Q, W_K or W_V, and b its bias.

    >>> x = tensor([[[1.0, 2.0]]])  # one text, one position, d_model = 2
    >>> W = tensor([[[1.0], [0.0]], [[0.0], [10.0]]])  # two heads, d_head = 1
    >>> project_heads(x, W, tensor([[0.0], [0.5]])).tolist()
    [[[[1.0], [20.5]]]]
    """
    # SOLUTION
    # d_model is left out on the right, so it is summed: a dot product for each column of W.
    axes = "batch pos d_model, n_heads d_model d_head -> batch pos n_heads d_head"
    return einsum(x, W, axes) + b  # b, [n_heads d_head], lines up with the last two axes
    # END


# %% key="project-heads-grade"
grade(project_heads)

# %% [markdown] key="project-heads-why" solution="05.1"
# #### Why it works
#
# A linear map is a dot product with each column. `einsum` sums the axis that is missing on the right, d_model, and
# keeps the four others. The bias has the axes [n_heads d_head], which are the last two of the result, so it is added
# to each text and position.
#
# **What the classic mistake looks like.** Some write one big product, `x @ W_flat`, and cut the result into heads
# with the axes in the wrong order. The shape is right and so is every number, only in another head: nothing crashes,
# and the report says that the heads are cut out in strides.

# %% key="project-heads-second" solution="05.1"
# A second way: all heads side by side in one matrix, as GPT-2's own code has it.
side_by_side = attn.W_Q.permute(1, 0, 2).flatten(1)  # [d_model n_heads·d_head]
flat = (x @ side_by_side).unflatten(-1, (n_heads, -1))  # head 0's numbers stand first
torch.allclose(flat + attn.b_Q, project_heads(x, attn.W_Q, attn.b_Q), atol=1e-5)

# %% [markdown] key="projected-text"
# **Use it.** Your function makes all queries, keys and values of this layer. Below are the keys, compared with the
# key of "kitten" by the cosine of the angle between them: 1 is the same direction. A head that looks for the kitten's
# key finds the other dark words in its row as well.

# %% key="projected" tags=["demo"]
project = use(project_heads)
q = project(x, attn.W_Q, attn.b_Q)  # [batch pos n_heads d_head]
k = project(x, attn.W_K, attn.b_K)
v = project(x, attn.W_V, attn.b_V)

kitten = tokens.index(" kitten")
direction = k[0] / k[0].norm(dim=-1, keepdim=True)  # [pos n_heads d_head], each of length 1
alike = (direction * direction[kitten]).sum(-1).T  # [n_heads pos]

show.matrix(
    alike,
    rows=head_names,
    columns=tokens,
    title=f'Which words have a key like that of " kitten"? Layer {layer}',
    note="Each head has its own idea of which words are alike: compare the rows.",
    row_name="head",
    column_name="token",
    value_name="cosine",
    numbers_in_cells=False,
)

# %% [markdown] key="scores" covers="M8" terms="score"
# ## 4 · Scores: how well does each key fit?
#
# A dot product is large where two vectors point the same way. So $q_i \cdot k_j$ says how well key $j$ fits query
# $i$. But the scores are divided by $\sqrt{d_\text{head}}$ as well, and it is worth knowing why before you write it.

# %% [markdown] key="predict-spread" tags=["predict"]
# **Predict.** Take two vectors of $d$ random numbers, each number with mean 0 and spread (standard deviation) 1. How
# large is their dot product, typically, when $d = 64$: about 1, about 8, or about 64?

# %% key="guess-spread" tags=["predict"]
my_guess = "?"  # 1, 8 or 64

# %% key="spread" tags=["demo"]
sizes = [2, 4, 8, 16, 32, 64, 128, 256]
measured = {}
for d in sizes:
    a, b = torch.randn(2, 10_000, d, generator=rng)  # 10,000 pairs of random vectors
    measured[d] = (a * b).sum(-1).std().item()

show.lines(
    [str(d) for d in sizes],
    {"measured": list(measured.values()), "√d": [d**0.5 for d in sizes]},
    title="The spread of the dot product of two random vectors",
    note=f"At d = 64 the measured spread is {measured[64]:.1f}. The curve lies on √d.",
    x_name="d, numbers in each vector",
    y_name="spread of q · k",
)

# %% [markdown] key="why-sqrt" covers="M8"
# Why $\sqrt d$? One product $q_c k_c$ has mean 0 and variance $1 \cdot 1 = 1$. The dot product is a sum of $d$ of
# them; variances of independent numbers add, so its variance is $d$ and its spread $\sqrt d$. Division by
# $\sqrt{d_\text{head}}$ brings it back to 1, whatever the size of the head.
#
# What would be wrong with large scores? The softmax takes $e^\text{score}$. A lead of 1 is a factor of 2.7, a lead of
# 8 one of 3000: one key gets everything. And then nothing can be learned: where a weight is close to 1 or 0, a small
# change of a score changes nothing. The softmax is **saturated**, and the gradient through it is nearly zero. Measure
# both:


# %% key="saturation" tags=["demo"]
def largest_weight_and_gradient(d, divide_by, n_keys=8, n=2000):
    """For random queries and keys: the mean largest weight, and the gradient at the scores."""
    queries = torch.randn(n, 1, d, generator=rng)
    keys = torch.randn(n, n_keys, d, generator=rng)
    scores = ((queries * keys).sum(-1) / divide_by).requires_grad_()  # [n n_keys]
    weights = scores.softmax(-1)
    wanted = torch.randn(n, n_keys, generator=rng)  # some loss wants more of these, less of those
    (gradient,) = torch.autograd.grad((weights * wanted).sum(), scores)
    return weights.max(-1).values.mean().item(), gradient.norm(dim=-1).mean().item()


raw = tensor([largest_weight_and_gradient(d, 1) for d in sizes])  # [size 2]
scaled = tensor([largest_weight_and_gradient(d, d**0.5) for d in sizes])  # [size 2]

# %% key="saturation-weight" tags=["demo"]
show.lines(
    [str(d) for d in sizes],
    {"not divided": raw[:, 0], "divided by √d_head": scaled[:, 0]},
    title="The largest of eight attention weights",
    note="Without the division one key takes nearly everything in a large head.",
    x_name="d_head",
    y_name="mean largest weight",
    levels={"all eight equal": 1 / 8},
)

# %% key="saturation-gradient" tags=["demo"]
show.lines(
    [str(d) for d in sizes],
    {"not divided": raw[:, 1], "divided by √d_head": scaled[:, 1]},
    title="How much of the gradient gets through the softmax",
    note="Without the division a wrong score can hardly be corrected in a large head.",
    x_name="d_head",
    y_name="mean gradient length",
)

# %% [markdown] key="attention-scores"
# ### Exercise 05.2 · Attention scores
#
# *difficulty 2 · 10 minutes · stuck?* `hint("05.2")`
#
# $$s^h_{ij} = \frac{q^h_i \cdot k^h_j}{\sqrt{d_\text{head}}}$$
#
# For each text and head: the score of query $i$ (row) with key $j$ (column), where $d_\text{head}$ is the length of a
# head's vectors. No mask yet. The result has the head axis *before* the positions, so that each head is a grid.


# %% key="attention-scores-answer" exercise="05.2" covers="M8, M11"
def attention_scores(
    q: Float[Tensor, "batch query_pos n_heads d_head"],
    k: Float[Tensor, "batch key_pos n_heads d_head"],
) -> Float[Tensor, "batch n_heads query_pos key_pos"]:
    """The scaled dot product of every query with every key of the same text and head.

    >>> q = tensor([[[[2.0, 0.0, 0.0, 0.0]]]])  # one text, one query, one head, d_head = 4
    >>> k = tensor([[[[3.0, 9.0, 9.0, 9.0]], [[1.0, 9.0, 9.0, 9.0]]]])  # two keys
    >>> attention_scores(q, k).tolist()
    [[[[3.0, 1.0]]]]
    """
    # SOLUTION
    # query_pos comes from q and key_pos from k; both stay. d_head is left out on the right: summed.
    left, right = "batch query_pos n_heads d_head", "batch key_pos n_heads d_head"
    dots = einsum(q, k, f"{left}, {right} -> batch n_heads query_pos key_pos")
    return dots / q.shape[-1] ** 0.5  # the length of one head's vectors, not d_model
    # END


# %% key="attention-scores-grade"
grade(attention_scores)

# %% [markdown] key="attention-scores-why" solution="05.2"
# #### Why it works
#
# The two position axes have different names, so `einsum` pairs every query with every key. Batch and head have the
# same name on both sides, so texts and heads are never mixed. What is left out on the right, d_head, is summed: a dot
# product.
#
# **What the classic mistake looks like.** Without the scale the scores are $\sqrt{d_\text{head}}$ times too large.
# Every shape is right and the pattern even looks convincing: sharper than the model's, because each softmax is nearly
# saturated. The grader compares the size of the numbers and says so:

# %% key="attention-scores-mistake" solution="05.2"
from utils.grading import check


def without_the_scale(q, k):
    return attention_scores(q, k) * q.shape[-1] ** 0.5


check("05.2", without_the_scale)

# %% key="attention-scores-second" solution="05.2"
# A second way: move the head axis forward and let the matrix product do the pairing.
# [batch n_heads query_pos d_head] @ [batch n_heads d_head key_pos]
by_matmul = q.transpose(1, 2) @ k.permute(0, 2, 3, 1) / q.shape[-1] ** 0.5
torch.allclose(by_matmul, attention_scores(q, k), atol=1e-4)

# %% [markdown] key="which-is-it" covers="M11"
# **Use it** on the question that opened the chapter: who is "it"? First an honest look at what the pocket model knows
# of the sentence about the animal. It has met only the words of its own small world; all other tokens share one
# embedding, and to the model they look alike.

# %% key="known-words" tags=["demo"]
tired = "The animal didn't cross the street because it was too tired."
never_met = model.W_E[model.to_single_token(" quantum")]


def known(text):
    """1 for each token of `text` that has an embedding of its own, else 0."""
    return (model.W_E[model.to_tokens(text)[0]] != never_met).any(-1).float()  # [pos]


show.tokens(
    model.to_str_tokens(tired),
    known(tired),
    title="Which tokens does this model know?",
    note=f"Of the kitten's story it knows {known(kitten_story).mean():.0%} of the tokens.",
    value_name="mark (1: known, 0: not)",
)

# %% [markdown] key="ask-the-story"
# So ask the kitten's story, where "it" has the same job. These are your scores, head by head.

# %% key="scores-on-it" tags=["demo"]
score = use(attention_scores)(q, k)  # [batch n_heads query_pos key_pos]
some = 18  # the first two sentences, so that every token has room for its name

show.heads(
    score[0, :, :some, :some],
    tokens[:some],
    title=f"Scores before the mask, layer {layer}",
    note='Blue: the key fits the query. Orange: it does not. Look along the row of " it".',
)

# %% [markdown] key="scores-on-it-text"
# Point at a head to enlarge it, click to keep it. Two things to see. The heads differ: each asks another question of
# the same words. And the scores fill the whole square, above the diagonal too: so far a word may ask about words that
# come *after* it. That is about to end.

# %% [markdown] key="mask" covers="N13" terms="causal mask, autoregressive"
# ## 5 · The mask: nobody sees the future
#
# GPT-2 guesses the next token at *every* position at once. If position 3 could look at position 4, the answer would
# be in front of it: in training it would learn to copy and nothing else, and in use there is nothing to copy from. So
# a query may look at itself and back, never forward. Attention of this kind is called **causal**, and a model that
# goes on in this way, token by token, **autoregressive**.
#
# It has a price. When GPT-2 stands at "it" in *because it was too tired*, it has not read "tired" yet. So "it" can
# only collect candidates. Had the street been too *wide*, "it" would have looked exactly the same; which one is meant
# can be settled only at the last word, which looks back at all of them. (Models that read in both directions, such as
# BERT, can settle it at "it".)
#
# How to forbid a cell: give it the score $-\infty$. The softmax takes $e^{-\infty} = 0$.

# %% [markdown] key="predict-mask" tags=["predict"]
# **Predict.** A text of 6 tokens is given, and the scores of the last 3 queries only: a grid of 3 rows and 6 columns.
# (This happens when a text is continued: the old positions need not be computed again.) How many keys may the *first*
# row see: 1, 3, 4 or 6?

# %% key="guess-mask" tags=["predict"]
my_guess = "?"  # 1, 3, 4 or 6

# %% [markdown] key="causal-mask"
# ### Exercise 05.3 · Causal mask
#
# *difficulty 3 · 15 minutes · stuck?* `hint("05.3")`
#
# $$
# \tilde s_{ij} = \begin{cases} s_{ij} & \text{if key } j \text{ is not after query } i \\ -\infty & \text{otherwise}
# \end{cases}
# $$
#
# $s_{ij}$ is the score of query $i$ with key $j$. Build the mask from the shape of `scores`, so that a text of any
# length works. There may be fewer queries than keys: then the queries are the *last* positions, as in the example.
# Leave `scores` itself as it is and return a new tensor.


# %% key="causal-mask-answer" exercise="05.3" covers="N13"
def causal_mask(
    scores: Float[Tensor, "batch n_heads query_pos key_pos"],
) -> Float[Tensor, "batch n_heads query_pos key_pos"]:
    """The scores, with −∞ wherever the key comes after the query.

    >>> causal_mask(torch.ones(1, 1, 2, 3)).tolist()  # the last two of three positions
    [[[[1.0, 1.0, -inf], [1.0, 1.0, 1.0]]]]
    """
    # SOLUTION
    query_pos, key_pos = scores.shape[-2:]
    position = torch.arange(key_pos, device=scores.device)  # [key_pos]
    # The queries are the last query_pos positions; as a column they meet every key.
    query = position[key_pos - query_pos :, None]  # [query_pos 1]
    return scores.masked_fill(position > query, float("-inf"))  # the mask is [query_pos key_pos]
    # END


# %% key="causal-mask-grade"
grade(causal_mask)

# %% [markdown] key="causal-mask-why" solution="05.3"
# #### Why it works
#
# A column of query positions compared with a row of key positions gives the whole grid of True and False by
# broadcasting. `masked_fill` makes a new tensor, and its mask broadcasts over batch and heads.
#
# **A second way** is `torch.triu`, with its diagonal moved by the number of earlier positions (the next cell).
#
# **What the classic mistakes look like.** Masking the diagonal as well leaves the first query nothing to see: its row
# is all −∞, and the softmax makes it NaN, which then spreads through the whole model. Filling with 0 looks harmless
# and is not: $e^0 = 1$, so the future keeps a good part of the weight. And adding `mask * float("-inf")` makes NaN of
# every allowed cell, because $0 \cdot \infty$ is not a number.


# %% key="causal-mask-second" solution="05.3"
def with_triu(scores):
    query_pos, key_pos = scores.shape[-2:]
    everywhere = torch.full((query_pos, key_pos), -torch.inf, dtype=scores.dtype)
    return scores + everywhere.to(scores.device).triu(1 + key_pos - query_pos)  # 0 where allowed


torch.equal(with_triu(score), causal_mask(score))


# %% key="causal-mask-mistake" solution="05.3"
def with_zeros(scores):
    """The classic mistake: 0 where −∞ should stand."""
    return scores.tril(scores.shape[-1] - scores.shape[-2])


check("05.3", with_zeros)

# %% [markdown] key="mask-grid-text"
# **Use it** on the scores of head 0, cut to the first six tokens, and then on the last three of these queries only.
# Empty cells hold −∞.

# %% key="mask-grid" tags=["demo"]
mask = use(causal_mask)
show.matrix(
    mask(score[:, :, :6, :6])[0, 0],  # [query_pos key_pos]
    rows=tokens[:6],
    columns=tokens[:6],
    title="Scores after the mask: six queries",
    note="The diagonal and all below it stay. Each query sees itself and what stands before it.",
    row_name="query",
    column_name="key",
    value_name="score",
)

# %% key="mask-grid-last" tags=["demo"]
last_three = mask(score[:, :, 3:6, :6])[0, 0]  # [query_pos key_pos]
show.matrix(
    last_three,
    rows=tokens[3:6],
    columns=tokens[:6],
    title="Scores after the mask: the last three queries",
    note=f"Positions 3, 4 and 5. The first of them sees {(last_three[0] > -1e4).sum()} keys: compare with your guess.",
    row_name="query",
    column_name="key",
    value_name="score",
)

# %% [markdown] key="pattern" covers="N13" terms="softmax, pattern"
# ## 6 · The pattern: from scores to weights
#
# Each query has a weight of 1 to give away among the keys that it may see. The softmax turns its row of scores into
# such weights: a probability distribution over this and earlier tokens, one for each query and head. The whole grid
# is called the **attention pattern**.

# %% [markdown] key="attention-pattern"
# ### Exercise 05.4 · Attention pattern
#
# *difficulty 2 · 10 minutes · stuck?* `hint("05.4")`
#
# $$A_{ij} = \frac{e^{\tilde s_{ij}}}{\sum_{j'} e^{\tilde s_{ij'}}}$$
#
# $\tilde s$ are the masked scores, and the sum runs over all keys $j'$ of row $i$. In: scores without a mask. Out:
# the masked and normalized pattern. Any softmax may be used, torch's too. If you skipped 05.3, `use(causal_mask)` is
# the book's.


# %% key="attention-pattern-answer" exercise="05.4" covers="N13"
def attention_pattern(
    scores: Float[Tensor, "batch n_heads query_pos key_pos"],
) -> Float[Tensor, "batch n_heads query_pos key_pos"]:
    """Each query's weights over the keys that it may see: rows sum to 1, the future has weight 0.

    >>> attention_pattern(torch.zeros(1, 1, 2, 2)).tolist()
    [[[[1.0, 0.0], [0.5, 0.5]]]]
    """
    # SOLUTION
    # key_pos is the last axis: each row, one query, is normalized by itself.
    return causal_mask(scores).softmax(dim=-1)
    # END


# %% key="attention-pattern-grade"
grade(attention_pattern)

# %% [markdown] key="attention-pattern-why" solution="05.4"
# #### Why it works
#
# The mask puts −∞ where the future is, the exponential makes 0 of it, and the softmax divides each row by its sum.
# Over dim −1, because that is key_pos: the weights of *one query* sum to 1.
#
# **A second way**, right as well: take the softmax of the bare scores, set the future to 0 and divide each row by its
# sum again. Dividing by the sum over all keys and then by the visible share is dividing by the sum over the visible
# keys. It is numerically worse: where a hidden key has the largest score by far, all visible weights round to 0
# first.
#
# **What the classic mistake looks like.** The same without dividing again: a row sums to less than 1 by as much as
# the hidden keys had taken, and only the last row, which hides nothing, is right. Softmax over dim −2 is harder to
# see: the *columns* sum to 1. The last key is seen by one query alone, so the last cell of the diagonal is exactly 1.

# %% key="attention-pattern-second" solution="05.4"
hidden_later = score.softmax(-1).tril()  # too late: the future has had its share
renormalized = hidden_later / hidden_later.sum(-1, keepdim=True)
sums = hidden_later[0, 0].sum(-1)[:4]  # of the first four queries in head 0
print("not divided again, rows sum to", *[f"{total:.2f}" for total in sums])
torch.allclose(renormalized, attention_pattern(score), atol=1e-5)

# %% [markdown] key="patterns-text" covers="N13"
# **Use it.** Your patterns for the kitten's story. Point at the small pictures to go through the heads.

# %% key="patterns" tags=["demo"]
pattern = use(attention_pattern)(score)  # [batch n_heads query_pos key_pos]
show.heads(
    pattern[0, :, :some, :some],
    tokens[:some],
    title=f"Attention patterns, layer {layer}",
    note="Each row sums to 1. Rows of different heads look at different words.",
)

# %% [markdown] key="it-looks-at-text" covers="M11"
# And what does "it" look at? The next cell goes through all layers and heads and takes the one that gives "kitten"
# the largest weight in the row of "it". Expect no more than the model has use for: it learns to look where that helps to
# guess the *next* token, and what is done by an animal that gets stuck may be plain without knowing which one it is.

# %% key="it-looks-at" tags=["demo"]
patterns = [cache["pattern", i][0] for i in range(n_layers)]
all_patterns = torch.stack(patterns)  # [layer n_heads query_pos key_pos]
it = tokens.index(" it")
best_layer, best_head = divmod(all_patterns[:, :, it, kitten].argmax().item(), n_heads)
it_weights = all_patterns[best_layer, best_head, it, : it + 1]  # [key_pos]
verdict = 'That is what " it" looks for' if it_weights[kitten] > 0.5 else 'Here " it" hardly looks for its animal'

show.tokens(
    tokens[: it + 1],
    it_weights.round(decimals=3),
    title=f'What " it" looks at, in layer {best_layer}, head {best_head}',
    note=f'Of all heads this one gives " kitten" most: {it_weights[kitten]:.2f}. {verdict}.',
    value_name="weight",
)

# %% [markdown] key="bos" covers="N4" terms="BOS, attention sink"
# ### A place to rest: BOS
#
# The softmax makes a head spend its whole weight, even where it has found nothing. Somewhere the weight must go, and
# it should do no harm there. Trained models learn a solution: they put it on the first token. Here that is always BOS,
# which says nothing about the text. (GPT-2's training rows began anywhere in a text; its heads rest on the first
# position all the same.) How much rests there?

# %% key="bos-weight" tags=["demo"]
on_bos = all_patterns[:, :, 1:, 0].mean(-1)  # [layer n_heads], the mean over the queries after BOS
evenly = (1 / torch.arange(2, len(tokens) + 1)).mean()  # 1/2, 1/3, … for queries 1, 2, …
show.matrix(
    on_bos.round(decimals=2),
    rows=layer_names,
    columns=head_names,
    title="Mean weight on BOS",
    note=f"All heads: {on_bos.mean():.0%} of the weight. Spread evenly it would be {evenly:.0%}.",
    row_name="layer",
    column_name="head",
    value_name="weight",
    diverging=False,
)

# %% [markdown] key="bos-rest-text" covers="N4"
# Weight alone does no harm or good: what counts is weight times value. If BOS is a resting place, what it hands over
# should be short beside what the other tokens hand over, in the heads that rest there most.

# %% key="bos-value" tags=["demo"]
values = torch.stack([cache["v", i][0] for i in range(n_layers)])
length = values.norm(dim=-1)  # [layer pos n_heads]
ratio = length[:, 0] / length[:, 1:].mean(1)  # [layer n_heads]

shorter = (ratio < 1).sum()
show.points(
    torch.stack([on_bos.flatten(), ratio.flatten()], dim=-1),
    [f"{i // n_heads}.{i % n_heads}" for i in range(ratio.numel())],
    title="Heads that rest on BOS, and what BOS hands over",
    note=f"Each point is a head, layer.head. In {shorter} of {ratio.numel()} BOS hands over less.",
    x_name="mean weight on BOS",
    y_name="length of BOS's value ÷ mean of the others",
)

# %% [markdown] key="bos-three-jobs" covers="N4"
# In GPT-2 one token, `<|endoftext|>`, has three jobs: it begins a text (BOS), it ends a text (EOS), and by
# convention it fills short rows of a batch (padding). Is that not confusing?
#
# - **BOS and EOS**: in training texts follow one another, with one such token between. It ends the one and begins the
#   next, and both times it says the same: what came before does not matter now.
# - **Padding**: it stands on the right, after the text. No query looks to the right, so no real position ever sees
#   it:

# %% key="padding" tags=["demo"]
ids = model.to_tokens(kitten_story)  # [batch pos]
padded = torch.cat([ids, ids[:, :1].expand(-1, 5)], dim=1)  # five more BOS: [batch pos+5]
moved = (model(padded)[:, : ids.shape[1]] - model(ids)).abs().max()
print(f"padding with {model.to_string(ids[0, 0])!r}: the logits of the text stay: {moved < 1e-3}")

# %% [markdown] key="values" terms="z"
# ## 7 · Mix the values
#
# The pattern says where to look. Now something is fetched: each query takes the average of the values, with its
# weights.
#
# Because the weights are positive and sum to 1, a mixture always lies *between* the values it is made of. In the
# picture three words have values in the plane, and four queries mix them.

# %% key="mixing" tags=["demo"]
corner = tensor([[0.0, 0.0], [4.0, 0.0], [2.0, 3.0]])  # three values: [key_pos d_head]
rows = [[0.8, 0.1, 0.1], [0.5, 0.5, 0], [0.2, 0.2, 0.6], [1 / 3, 1 / 3, 1 / 3]]
mixed = tensor(rows) @ corner  # [query_pos key_pos] @ [key_pos d_head] → [query_pos d_head]

show.points(
    torch.cat([corner, mixed]),
    ["value 0", "value 1", "value 2", "mostly 0", "half 0, half 1", "mostly 2", "all alike"],
    groups=["value"] * 3 + ["mixture"] * 4,
    title="Mixtures of three values",
    note="All mixtures lie in the triangle of the values; equal weights give its center.",
    x_name="first number of the value",
    y_name="second number",
)

# %% [markdown] key="mix-values"
# ### Exercise 05.5 · Mix the values
#
# *difficulty 2 · 10 minutes · stuck?* `hint("05.5")`
#
# $$z^h_i = \sum_j A^h_{ij}\, v^h_j$$
#
# $A^h_{ij}$ is the weight that query $i$ gives to key $j$ in head $h$; $v^h_j$ is the value of position $j$, d_head
# numbers. Each text and each head uses its own pattern and its own values.


# %% key="mix-values-answer" exercise="05.5" covers="N13"
def mix_values(
    pattern: Float[Tensor, "batch n_heads query_pos key_pos"],
    v: Float[Tensor, "batch key_pos n_heads d_head"],
) -> Float[Tensor, "batch query_pos n_heads d_head"]:
    """For each query, the values averaged with its weights.

    >>> pattern = tensor([[[[0.75, 0.25]]]])  # one text, one head, one query, two keys
    >>> v = tensor([[[[4.0, 0.0]], [[0.0, 8.0]]]])  # the two values, d_head = 2
    >>> mix_values(pattern, v).tolist()
    [[[[3.0, 2.0]]]]
    """
    # SOLUTION
    # The sum runs over key_pos: the weight of each key times the value that stands there.
    left, right = "batch n_heads query_pos key_pos", "batch key_pos n_heads d_head"
    return einsum(pattern, v, f"{left}, {right} -> batch query_pos n_heads d_head")
    # END


# %% key="mix-values-grade"
grade(mix_values)

# %% [markdown] key="mix-values-why" solution="05.5"
# #### Why it works
#
# key_pos is in both and missing on the right: the sum over keys. The value axis d_head stays. Nothing of the query's
# own position enters but its weights: what is fetched comes from elsewhere. This is the only line of the whole model
# in which one position's numbers meet another's as *content*.
#
# **What the classic mistake looks like.** With `v` read at query_pos, `einsum` sums each row of the pattern, which is
# 1, and hands every position its own value back. The shape is right, the numbers look like values, and attention
# moves nothing. With the pattern transposed, each position instead *sends* to where it looks: later words write into
# earlier ones.

# %% key="mix-values-second" solution="05.5"
# A second way: a matrix product for each head, [query_pos key_pos] @ [key_pos d_head].
by_matmul = (pattern @ v.transpose(1, 2)).transpose(1, 2)
torch.allclose(by_matmul, mix_values(pattern, v), atol=1e-5)

# %% [markdown] key="mixed-text"
# **Use it.** What does a head fetch from each token? A pattern with the weights on its diagonal keeps the parts of
# the mixture apart: row $j$ is then weight $j$ times value $j$. Here for the row of "it" in
# the head of section 6:

# %% key="mixed" tags=["demo"]
weights = all_patterns[best_layer, best_head, it, : it + 1]  # [key_pos]
fetched = cache["v", best_layer][:, : it + 1, [best_head]]  # [batch key_pos 1 d_head]
parts = use(mix_values)(torch.diag(weights)[None, None], fetched)  # [batch key_pos 1 d_head]

show.tokens(
    tokens[: it + 1],
    parts[0, :, 0].norm(dim=-1).round(decimals=2),
    title=f'What " it" receives from each token, in layer {best_layer}, head {best_head}',
    note="The length of weight × value. Compare with the weights in section 6.",
    value_name="length",
)

# %% [markdown] key="output" terms="W_O"
# ## 8 · Back into the stream
#
# A head's mixture has d_head numbers; the stream has d_model. Each head has a matrix $W_O^h$ that says where in the
# stream its finding is written. The heads do not vote and do not wait for one another: **their outputs add**.

# %% [markdown] key="attention-out"
# ### Exercise 05.6 · Write into the stream
#
# *difficulty 2 · 10 minutes · stuck?* `hint("05.6")`
#
# $$\text{out}_i = b_O + \sum_h z^h_i\, W_O^h$$
#
# $z^h_i$ is what head $h$ fetched for position $i$, d_head numbers; $W_O^h$ is [d_head d_model]; $b_O$ is one bias
# for the whole layer.


# %% key="attention-out-answer" exercise="05.6" covers="N13"
def attention_out(
    z: Float[Tensor, "batch pos n_heads d_head"],
    W_O: Float[Tensor, "n_heads d_head d_model"],
    b_O: Float[Tensor, "d_model"],
) -> Float[Tensor, "batch pos d_model"]:
    """What the layer adds to the stream: the sum of all heads' outputs, and the bias.

    >>> z = tensor([[[[1.0], [2.0]]]])  # one text, one position, two heads, d_head = 1
    >>> W_O = tensor([[[1.0, 0.0]], [[0.0, 10.0]]])  # d_model = 2
    >>> attention_out(z, W_O, tensor([5.0, 5.0])).tolist()
    [[[6.0, 25.0]]]
    """
    # SOLUTION
    # Both d_head and n_heads are summed: each head's own map, then the sum over heads.
    axes = "batch pos n_heads d_head, n_heads d_head d_model -> batch pos d_model"
    return einsum(z, W_O, axes) + b_O  # the bias once: it belongs to the layer, not to a head
    # END


# %% key="attention-out-grade"
grade(attention_out)

# %% [markdown] key="attention-out-why" solution="05.6"
# #### Why it works
#
# Two axes are missing on the right, so two sums are taken: over d_head, which is the linear map of one head, and over
# n_heads, which adds the heads.
#
# **A second way** puts the heads side by side: `z` flattened to [n_heads · d_head] times one matrix of that many
# rows. Papers write it so ("concatenate the heads, then multiply by $W^O$"). It is the same sum: a row of $W^O$
# belongs to one number of one head. The order of flattening matters, head 0's numbers first.
#
# **What the classic mistake looks like.** A bias inside the sum over heads is added n_heads times: the result is off
# by the same vector at every position. Averaging the heads is harder to see, because it gives the right direction;
# only the length is n_heads times too small.

# %% key="attention-out-second" solution="05.6"
z = mix_values(pattern, v)  # [batch pos n_heads d_head]
# [batch pos n_heads·d_head] @ [n_heads·d_head d_model]
concatenated = z.flatten(-2) @ attn.W_O.flatten(0, 1) + attn.b_O
torch.allclose(concatenated, attention_out(z, attn.W_O, attn.b_O), atol=1e-5)

# %% [markdown] key="written-text"
# **Use it.** How much does this layer change each position? Below each token stands how many times as long as the
# stream before is what attention adds. In layer 0 the stream is still a bare embedding, short beside what is written.

# %% key="written" tags=["demo"]
added = use(attention_out)(cache["z", layer], attn.W_O, attn.b_O)[0]  # [pos d_model]
before = cache[f"blocks.{layer}.hook_resid_pre"][0]  # [pos d_model]

show.tokens(
    tokens,
    (added.norm(dim=-1) / before.norm(dim=-1)).round(decimals=2),
    title=f"How much attention of layer {layer} adds to the stream",
    note="The length of what is added ÷ the length of the stream before.",
    value_name="times",
)

# %% [markdown] key="whole-layer" covers="N8"
# ## 9 · The whole layer
#
# You have all the parts. Put together they have a property that is worth stating exactly, because the whole model
# rests on it. A transformer works on all positions **in parallel**, in one go, and attention is the only part that
# carries anything from one position to another. And it carries only forward: what stands at position $i$ depends on
# the tokens up to $i$, and on nothing after them. The grader will change later tokens and check that earlier outputs
# do not move.

# %% [markdown] key="attention" covers="N8"
# ### Exercise 05.7 · Attention
#
# *difficulty 4 · 20 minutes · stuck?* `hint("05.7")`
#
# $$
# \text{out}_i = b_O + \sum_h \Big( \sum_{j \le i} A^h_{ij}\, v^h_j \Big) W_O^h
# \qquad
# A^h_{ij} = \operatorname{softmax}_{j \le i}\!\left(\frac{q^h_i \cdot k^h_j}{\sqrt{d_\text{head}}}\right)
# $$
#
# All symbols as in section 2: $q, k, v$ are the projections of $x$; $A$ the pattern; $W_O^h$ and $b_O$ write into the
# stream. Use what you wrote, or write it anew in any way you like; if you skipped a part, `use(attention_pattern)` is
# the book's. torch's own `scaled_dot_product_attention` and `nn.MultiheadAttention` would do it in one call, and are
# not allowed here.


# %% key="attention-answer" exercise="05.7" covers="N8, N13"
def attention(
    x: Float[Tensor, "batch pos d_model"],
    W_Q: Float[Tensor, "n_heads d_model d_head"],
    b_Q: Float[Tensor, "n_heads d_head"],
    W_K: Float[Tensor, "n_heads d_model d_head"],
    b_K: Float[Tensor, "n_heads d_head"],
    W_V: Float[Tensor, "n_heads d_model d_head"],
    b_V: Float[Tensor, "n_heads d_head"],
    W_O: Float[Tensor, "n_heads d_head d_model"],
    b_O: Float[Tensor, "d_model"],
) -> Float[Tensor, "batch pos d_model"]:
    """A whole attention layer.

    >>> one, zero = torch.ones(1, 1, 1), torch.zeros(1, 1)  # one head, every size 1
    >>> x = tensor([[[1.0], [3.0]]])  # two positions; with W_Q = 0 all scores are equal
    >>> attention(x, 0 * one, zero, one, zero, one, zero, one, zero[0]).tolist()
    [[[1.0], [2.0]]]
    """
    # SOLUTION
    q = project_heads(x, W_Q, b_Q)  # [batch pos n_heads d_head]
    k = project_heads(x, W_K, b_K)
    v = project_heads(x, W_V, b_V)
    pattern = attention_pattern(attention_scores(q, k))  # [batch n_heads query_pos key_pos]
    z = mix_values(pattern, v)  # [batch pos n_heads d_head]
    return attention_out(z, W_O, b_O)  # [batch pos d_model]
    # END


# %% key="attention-grade"
grade(attention)

# %% [markdown] key="attention-why" solution="05.7"
# #### Why it works
#
# Six lines, one for each shape. The only one where positions meet is `mix_values` (and `attention_scores`, which
# decides how much). The mask is inside `attention_pattern`, so no later value ever enters.
#
# **A second way** is the loop below: one head at a time, plain matrices, as one would write it on paper.
#
# **What the classic mistakes look like.** A missing scale gives an output that is close but too sure of itself. A
# missing mask is found by the property even where the values happen to look fine: change the last token, and the
# first outputs move. And one omission cannot be seen here at all: without $b_K$ every score of query $i$ changes by
# the same number $q_i \cdot b_K$, and the softmax does not see what is added to a whole row.


# %% key="attention-second" solution="05.7"
def head_by_head(x, W_Q, b_Q, W_K, b_K, W_V, b_V, W_O, b_O):
    total = b_O.expand(*x.shape[:2], -1)  # [batch pos d_model]
    hidden = torch.ones_like(x[0] @ x[0].T).triu(1).bool()  # [pos pos]
    for h in range(len(W_Q)):
        q, k, v = x @ W_Q[h] + b_Q[h], x @ W_K[h] + b_K[h], x @ W_V[h] + b_V[h]
        scores = q @ k.mT / q.shape[-1] ** 0.5  # [batch pos d_head] @ [batch d_head pos]
        total = total + scores.masked_fill(hidden, -torch.inf).softmax(-1) @ v @ W_O[h]
    return total


check("05.7", head_by_head)

# %% [markdown] key="transplant-text"
# **Use it.** A layer that gives the right numbers can take the place of the model's own. The next cell takes
# attention out of *every* layer and puts yours in. Then it asks the question of section 1 again.

# %% key="transplant" tags=["demo"]
layer_of = use(attention)
NAMES = ("W_Q", "b_Q", "W_K", "b_K", "W_V", "b_V", "W_O", "b_O")
read = {}  # what each layer reads, noted on the way


def note_input(x, hook):
    read[hook.name] = x


def mine(attn_out, hook):
    """The output of your attention in place of the model's."""
    layer = int(hook.name.split(".")[1])
    weights = [getattr(model.blocks[layer].attn, name) for name in NAMES]
    return layer_of(read[f"blocks.{layer}.ln1.hook_out"], *weights)


transplanted = []
for i in range(n_layers):
    transplanted += [(f"blocks.{i}.ln1.hook_out", note_input), (f"blocks.{i}.hook_attn_out", mine)]

# %% key="transplanted" tags=["demo"]
both("What comes next, with your attention?", "Compare with the first table.", transplanted)

# %% [markdown] key="parallel-text" covers="N8"
# **In parallel.** Because no position sees the future, all positions can be computed at once, and each is what it
# would have been had the text ended there. One pass over $n$ tokens is $n$ predictions. Compare the two ways on the
# text above:

# %% key="parallel" tags=["demo"]
layer_weights = [getattr(attn, name) for name in NAMES]
at_once = layer_of(x, *layer_weights)  # [batch pos d_model]
one_by_one = [layer_of(x[:, : i + 1], *layer_weights)[:, -1:] for i in range(x.shape[1])]
one_by_one = torch.cat(one_by_one, dim=1)  # [batch pos d_model]
print("all at once equals one after the other:", torch.allclose(at_once, one_by_one, atol=1e-4))

# %% [markdown] key="predict-order" tags=["predict"]
# **Predict.** Take the token embeddings alone, *without* positions, and run your layer on them. Now shuffle all the
# tokens before the last. What happens to the output at the last position: does it change a lot, a little, or not at
# all?

# %% key="guess-order" tags=["predict"]
my_guess = "?"  # a lot, a little, or not at all

# %% key="order" tags=["demo"]
n = len(tokens)
shuffled = torch.cat([torch.randperm(n - 1, generator=rng), tensor([n - 1])])  # the last stays
bare, places = cache["hook_embed"], cache["hook_pos_embed"]  # [batch pos d_model]


def change(before, after):
    """How far the layer's output at the last position moves, relative to its length."""
    before, after = layer_of(before, *layer_weights)[0, -1], layer_of(after, *layer_weights)[0, -1]  # [d_model]
    return ((after - before).norm() / before.norm()).item()


print(f"without positions: {change(bare, bare[:, shuffled]):.0%}")
print(f"with positions:    {change(bare + places, bare[:, shuffled] + places):.0%}")

# %% [markdown] key="order-text" covers="N8"
# A weighted average does not care in which order its parts are listed. To attention a text is a *set* of tokens, with
# the mask as its only sense of before and after. All finer order has to come from the position embeddings of chapter
# 03, which are part of each token's query and key.

# %% [markdown] key="many-heads" covers="M12, N13" terms="multi-head attention"
# ## 10 · Many heads
#
# One head gives each query one distribution, so it looks for one kind of thing at a time. A verb may need its subject
# *and* its object. So a layer has many heads, small ones: d_head is d_model divided by the number of heads, and all
# heads together cost as much as a single one of full width. They work side by side, do not see one another within a
# layer, and their outputs add.
#
# Multi-head attention, the scaled dot product and the model built of them come from one paper: Vaswani et al.,
# *Attention Is All You Need* (2017), written for translation. GPT-2 keeps the half of it that looks back only, the
# decoder.
#
# Because the outputs add, the sum can be taken apart: what did each head write?

# %% [markdown] key="head-results"
# ### Exercise 05.8 · What each head writes
#
# *difficulty 2 · 5 minutes · stuck?* `hint("05.8")`
#
# $$r^h_i = z^h_i\, W_O^h$$
#
# $r^h_i$, d_model numbers, is the result of head $h$ alone at position $i$. It is 05.6 before the heads are added,
# and without $b_O$, which belongs to no head.


# %% key="head-results-answer" exercise="05.8" covers="N13"
def head_results(
    z: Float[Tensor, "batch pos n_heads d_head"],
    W_O: Float[Tensor, "n_heads d_head d_model"],
) -> Float[Tensor, "batch pos n_heads d_model"]:
    """What each head alone writes into the stream.

    >>> z = tensor([[[[1.0], [2.0]]]])  # one text, one position, two heads, d_head = 1
    >>> head_results(z, tensor([[[1.0, 0.0]], [[0.0, 10.0]]])).tolist()
    [[[[1.0, 0.0], [0.0, 20.0]]]]
    """
    # SOLUTION
    # As in attention_out, only that n_heads stays.
    axes = "batch pos n_heads d_head, n_heads d_head d_model -> batch pos n_heads d_model"
    return einsum(z, W_O, axes)
    # END


# %% key="head-results-grade"
grade(head_results)

# %% [markdown] key="head-results-why" solution="05.8"
# #### Why it works
#
# n_heads is on both sides and on the right, so each head meets its own matrix and none is added to another. Summed
# over the heads it is `attention_out` without its bias: the grader checks that too.
#
# **What the classic mistake looks like.** With n_heads left out the result is [batch pos d_model], and the report
# says that the heads are summed already.

# %% key="head-results-second" solution="05.8"
# A second way: head by head.
stacked = torch.stack([z[:, :, h] @ attn.W_O[h] for h in range(n_heads)], dim=2)
torch.allclose(stacked, head_results(z, attn.W_O), atol=1e-5)

# %% [markdown] key="who-carries-text"
# **Use it** on the question of section 1. If a head carries the animal to the last position, the model should be at a
# loss without it. So take one head's result away: subtract it from what its layer adds at the last position, and
# leave all the rest as it is. A batch does all heads of a layer at once: row $h$ of the batch loses head $h$.
#
# Where a model is very sure, a probability hardly moves. So look at the **lead**: the logit of "kitten" minus the
# highest logit of any other token. At a lead of 0 another token is as likely; below 0 "kitten" has lost.

# %% key="who-carries" tags=["demo"]
results_of = use(head_results)
kitten_id = model.to_single_token(" kitten")
copies = ids.expand(n_heads, -1)  # the same text once for each head: [n_heads pos]


def lead(logits):
    """How far the logit of " kitten" lies above the best other one: [batch d_vocab] → [batch]."""
    others = logits.clone()
    others[:, kitten_id] = -torch.inf
    return logits[:, kitten_id] - others.amax(-1)


# %% key="who-carries-without" tags=["demo"]
def lead_without(layer):
    """The lead of " kitten" when one head's result is taken away: [n_heads]."""
    results = results_of(cache["z", layer], model.blocks[layer].attn.W_O)[0, -1]  # [n_heads d_model]

    def take_away(attn_out, hook):
        attn_out = attn_out.clone()
        attn_out[:, -1] -= results  # row h loses head h
        return attn_out

    hooks = [(f"blocks.{layer}.hook_attn_out", take_away)]
    return lead(model.run_with_hooks(copies, fwd_hooks=hooks)[:, -1])


without = torch.stack([lead_without(i) for i in range(n_layers)])  # [layer n_heads]

# %% key="who-carries-figure" tags=["demo"]
with_all = lead(model(ids)[:, -1]).item()
show.matrix(
    without.round(decimals=1),
    rows=layer_names,
    columns=head_names,
    title='The lead of " kitten" without one head',
    note=f"With all heads it is {with_all:.1f}. The lower the number, the more hangs on the head.",
    row_name="layer",
    column_name="head",
    value_name="lead in logits",
    diverging=False,
)

# %% key="who-carries-look" tags=["demo"]
carrier_layer, carrier_head = divmod(without.argmin().item(), n_heads)
show.tokens(
    tokens,
    all_patterns[carrier_layer, carrier_head, -1].round(decimals=2),
    title=f"What the last position looks at, in layer {carrier_layer}, head {carrier_head}",
    note="The head that is missed most. Under each token: its weight in the last row.",
    value_name="weight",
)

# %% [markdown] key="backups-text"
# One head less need not change the answer: another may look at the same word and write the same thing. How many do?

# %% key="backups" tags=["demo"]
on_kitten = all_patterns[:, :, -1, kitten]  # [layer n_heads], the last position's weight on " kitten"
lookers = (on_kitten > 0.5).sum(-1)  # [layer]
least = without.min().item()

for i in range(n_layers):
    print(f"layer {i}: {lookers[i]} of {n_heads} heads put more than half of their weight on ' kitten'")
sure = "still says ' kitten'" if least > 0 else "no longer says ' kitten'"
print(f"without its most important head the model {sure}: a lead of {least:.1f}, down from {with_all:.1f}.")

# %% [markdown] key="reading-heads" terms="previous-token head"
# ## 11 · What does a head do?
#
# Some heads do one thing so purely that they have a name. The simplest is the **previous-token head**: each word
# looks at the word before it. In the pattern this is a line, the diagonal one below the main one.

# %% [markdown] key="previous-token-score"
# ### Exercise 05.9 · Previous-token score
#
# *difficulty 2 · 10 minutes · stuck?* `hint("05.9")`
#
# $$\text{score}^h = \operatorname{mean}_{\text{batch},\; i \ge 1} A^h_{i,\,i-1}$$
#
# $A^h_{i,i-1}$ is the weight that query $i$ gives to the key just before it. Query 0 has none before it and does not
# count. One number between 0 and 1 for each head.


# %% key="previous-token-score-answer" exercise="05.9"
def previous_token_score(
    pattern: Float[Tensor, "batch n_heads pos pos"],
) -> Float[Tensor, "n_heads"]:
    """How much each head looks at the token before, on average.

    >>> rows = [[1.0, 0.0, 0.0], [0.75, 0.25, 0.0], [0.0, 0.25, 0.75]]  # three tokens
    >>> previous_token_score(tensor([[rows]])).tolist()  # one text, one head
    [0.5]
    """
    # SOLUTION
    one_back = pattern.diagonal(-1, dim1=-2, dim2=-1)  # cells (1, 0), (2, 1), …
    return one_back.mean((0, -1))  # over the batch and the queries
    # END


# %% key="previous-token-score-grade"
grade(previous_token_score)

# %% [markdown] key="previous-token-score-why" solution="05.9"
# #### Why it works
#
# `diagonal(-1)` cuts out exactly the cells (i, i − 1). There are pos − 1 of them, so the mean leaves query 0 out by
# itself.
#
# **What the classic mistake looks like.** Offset 0 measures how much each token looks at *itself*; offset +1 lies in
# the future and gives exactly 0 for every head, which is a good alarm: a score that is 0 everywhere was measured in
# the wrong place.

# %% key="previous-token-score-second" solution="05.9"
i = torch.arange(1, pattern.shape[-1])  # a second way: name the cells
torch.allclose(pattern[:, :, i, i - 1].mean((0, 2)), previous_token_score(pattern))

# %% [markdown] key="previous-heads-text"
# **Use it** on all layers, on the kitten's story.

# %% key="previous-heads" tags=["demo"]
score_previous = use(previous_token_score)
previous = [score_previous(cache["pattern", i]) for i in range(n_layers)]
previous = torch.stack(previous)  # [layer n_heads]


def eight_highest(scores):
    """The eight heads with the highest scores [layer n_heads], by name."""
    best = scores.flatten().topk(8)
    places = [f"layer {i // n_heads} head {i % n_heads}" for i in best.indices]
    return dict(zip(places, best.values, strict=True))


show.bars(
    eight_highest(previous),
    title="Heads that look at the previous token",
    note="The eight highest scores of all heads. 1 would be a pure previous-token head.",
    x_name="head",
    y_name="mean weight on the previous token",
    baseline=evenly,
    baseline_name="spread evenly",
)

# %% [markdown] key="predict-induction" terms="induction head" tags=["predict"]
# **Predict.** Some words in random order, and then the same words again: *A B C D A B …* No grammar helps to guess
# the next word. But at the second *A* there is a way to know. On which earlier token should a head put its weight
# there, in order to say what comes next: on the first *A*, on the first *B*, or on the *D* just before?

# %% key="guess-induction" tags=["predict"]
my_guess = "?"  # A, B or D

# %% key="repeated-words" tags=["demo"]
WORDS = "ball hat cup fish bread lamp dog coat apple".split()
period = len(WORDS)
word_ids = tensor([model.to_single_token(f" {word}") for word in WORDS])  # [period]
orders = [word_ids[torch.randperm(period, generator=rng)] for _ in range(8)]
orders = torch.stack(orders)  # [batch period]
first = torch.full((8, 1), model.tokenizer.bos_token_id)
twice = torch.cat([first, orders, orders], dim=1)  # [batch 1+2·period]
twice_logits, twice_cache = model.run_with_cache(twice)

# %% key="repeated-words-guessed" tags=["demo"]
guesses = twice_logits[:, :-1].softmax(-1)  # [batch pos-1 d_vocab]
right = guesses.gather(-1, twice[:, 1:, None])[..., 0]  # of the word that comes: [batch pos-1]
again = right[:, period + 1 :].mean()

show.lines(
    list(range(1, 2 * period + 1)),
    {"probability of the right word": right.mean(0)},
    title="Guessing random words that come twice",
    note=f"From the second word of the second time on the mean is {again:.2f}.",
    x_name="position of the word that is guessed",
    y_name="probability",
    marks={"second time begins": period + 1},
    levels={"one of the words, at random": 1 / period},
)

# %% [markdown] key="induction" covers="N13" terms="induction head"
# <details><summary>Compare with your guess</summary>
#
# **The first B**: the token *after* the earlier copy of A. "I have seen A before, and B came after it; now A again,
# so B." The first A tells the head that it is in the right place, but the word to say stands one further.
#
# </details>
#
# A head that looks there is an **induction head** (Olsson et al. 2022). With a period of $p$ tokens, the query at $i$
# has its earlier copy at $i - p$, and the token after that stands at $i - p + 1$.

# %% [markdown] key="induction-score"
# ### Exercise 05.10 · Induction score
#
# *difficulty 3 · 15 minutes · stuck?* `hint("05.10")`
#
# $$\text{score}^h = \operatorname{mean}_{\text{batch},\; i \ge p} A^h_{i,\,i-p+1}$$
#
# $p$ is `period`, the number of tokens after which the sequence repeats; $A^h$ is head $h$'s pattern. Only queries of
# the second time count, $i \ge p$: before that there is nothing to go back to.


# %% key="induction-score-answer" exercise="05.10"
def induction_score(pattern: Float[Tensor, "batch n_heads pos pos"], period: int) -> Float[Tensor, "n_heads"]:
    """How much each head looks at the token after the earlier copy, on average.

    >>> rows = [[1, 0, 0, 0], [0.5, 0.5, 0, 0], [0, 1, 0, 0], [0, 0, 0.5, 0.5]]  # of A B A B
    >>> induction_score(tensor([[rows]]), 2).tolist()  # the cells (2, 1) and (3, 2)
    [0.75]
    """
    # SOLUTION
    # Cells (i, i − period + 1) lie on one diagonal. Its first cell, query period − 1, is of the
    # first time and is cut off.
    after_copy = pattern.diagonal(1 - period, dim1=-2, dim2=-1)[..., 1:]
    return after_copy.mean((0, -1))
    # END


# %% key="induction-score-grade"
grade(induction_score)

# %% [markdown] key="induction-score-why" solution="05.10"
# #### Why it works
#
# The distance from query to key is $p - 1$, the same for every query, so the cells lie on the diagonal $1 - p$. That
# diagonal starts at query $p - 1$, the last of the first time, which looks at key 0; it is cut off by `[..., 1:]`.
#
# **What the classic mistake looks like.** Offset $-p$ measures how much a head looks at the earlier copy of *itself*.
# There are such heads (duplicate-token heads), so the scores are not zero, only about another kind of head: an honest
# number with the wrong name.


# %% key="induction-score-second" solution="05.10"
def cut_then_diagonal(pattern, period):
    """A second way: cut the square so that the wanted cells become its main diagonal."""
    return pattern[..., period:, 1:].diagonal(dim1=-2, dim2=-1).mean((0, -1))


check("05.10", cut_then_diagonal)

# %% [markdown] key="induction-heads-text"
# **Use it.** BOS is cut off first, so that position 0 is the first word and the period fits.

# %% key="induction-heads" tags=["demo"]
score_induction = use(induction_score)
induction = []
for i in range(n_layers):
    without_bos = twice_cache["pattern", i][:, :, 1:, 1:]  # [batch n_heads pos pos]
    induction.append(score_induction(without_bos, period))
induction = torch.stack(induction)  # [layer n_heads]

places = torch.arange(period, 2 * period)  # the queries that count; each sees BOS as well
show.bars(
    eight_highest(induction),
    title="Induction heads",
    note="The eight highest scores of all heads. 1 would be a pure induction head.",
    x_name="head",
    y_name="mean weight on the token after the earlier copy",
    baseline=(1 / (places + 2)).mean(),
    baseline_name="spread evenly",
)

# %% key="induction-pattern" tags=["demo"]
induction_layer, induction_head = divmod(induction.argmax().item(), n_heads)
show.heads(
    twice_cache["pattern", induction_layer][0, induction_head : induction_head + 1],
    [model.to_string(token) for token in twice[0]],
    labels=[f"layer {induction_layer}, head {induction_head}"],
    title=f"The head with the highest induction score, {induction.max():.2f}",
    note="A pure induction head shows one line in the lower half, where the words come again: "
    f"{period - 1} columns left of the diagonal.",
)

# %% [markdown] key="how-induction-works"
# How can a head find "the token after the earlier copy"? Its key must say *what came before me*. That is what a
# previous-token head of an earlier layer has written there: at *B* it wrote "A stands before me". The induction
# head's query at the second *A* asks for exactly this. So **two heads in two layers work together**, through the
# stream, and a model with a single layer cannot do it this way.
#
# In training such a pair appears rather suddenly, and some small models never get one. In a model that has one, some
# bars above come near 1, and the curve of guesses is near 1 in the second half. And this model?

# %% key="induction-verdict" tags=["demo"]
best = induction.max().item()
print(f"The highest induction score here is {best:.2f}.", end=" ")
print("That is an induction head." if best > 0.5 else "This model has no induction head; GPT-2 small has several.")

# %% [markdown] key="convolution" covers="N14" terms="convolution"
# ## 12 · Attention and convolution
#
# A convolution also mixes neighbors with weights. The difference: its weights are fixed. "One to the left: 0.8; two
# to the left: 0.1", whatever the text says. A pure previous-token head would be just that. The head that finds the
# kitten cannot be: *where* it looks is computed anew from every text.
#
# To compare, build the fixed convolution that fits a head best on one text, with the head's average weight at each
# distance, and use it on another text.

# %% key="as-convolution" tags=["demo"]
other_story = (
    "Tom took a robot into the kitchen, which was not allowed. The robot hit the jar of his grandfather, and it broke."
)
_, other = model.run_with_cache(other_story)
n = min(len(tokens), len(model.to_str_tokens(other_story)))


def fixed_weights(pattern):
    """A head's mean weight at each distance 0, 1, 2, … : [pos pos] → [pos]."""
    return torch.stack([pattern.diagonal(-distance).mean() for distance in range(len(pattern))])


def convolve(weights):
    """A convolution as a pattern: each row the same weights, shifted, cut where the text begins."""
    i = torch.arange(len(weights))
    grid = weights[(i[:, None] - i).clamp(min=0)].tril()  # [query_pos key_pos]
    return grid / grid.sum(-1, keepdim=True)


# %% key="beside-a-convolution" tags=["demo"]
def beside(layer, head):
    """A head on the kitten's story, the convolution fitted there, the head on the other story."""
    here, there = (c["pattern", layer][0, head, :n, :n] for c in (cache, other))
    return here, convolve(fixed_weights(here)), there


grids = torch.stack(beside(carrier_layer, carrier_head))  # [panel query_pos key_pos]
show.matrices(
    mask(grids[None])[0],
    ["head, kitten's story", "convolution fitted there", "head, the other story"],
    title=f"Layer {carrier_layer}, head {carrier_head}, beside a fixed convolution",
    note="The convolution can only repeat itself along the diagonal. The head's columns are words.",
    row_name="query_pos",
    column_name="key_pos",
    value_name="weight",
)

# %% [markdown] key="convolution-text" covers="N14"
# So attention is a **generalized convolution**. Both replace each position by a weighted mixture of others, with the
# same rule at all positions. A convolution's weights depend on the distance alone and are learned once. Attention's
# weights are *computed*: what is learned is how to compute them, $W_Q$ and $W_K$. A head whose scores depend on the
# distance alone is a convolution; a head that compares contents finds what it looks for at any distance.

# %% [markdown] key="circuits" terms="OV circuit, QK circuit"
# ## 13 · Reading a head's weights
#
# So far you have watched heads at work on texts. Two questions can be put to the weights themselves, without any
# text. If a head looks at a token, what does it write? And which token does it look for?
#
# Follow the first through the head: a token's embedding is read by $W_V$, written by $W_O$ and turned into logits by
# $W_U$. All four are linear, so they are one matrix: the **OV circuit** (output–value). It says how reading one token
# changes the logit of every token, its own among them.

# %% [markdown] key="ov-circuit"
# ### Exercise 05.11 · OV circuit
#
# *difficulty 4 · 15 minutes · stuck?* `hint("05.11")`
#
# $$\text{OV}_{ab} = \big( W_E\, W_V^h\, W_O^h\, W_U \big)_{ab}$$
#
# Row $a$: the token that is read. Column $b$: the token whose logit changes. $W_E$ is the embedding [d_vocab
# d_model], $W_U$ the unembedding [d_model d_vocab]. Only for the token ids in `ids`: the full table would have
# d_vocab² cells, two and a half billion for GPT-2.


# %% key="ov-circuit-answer" exercise="05.11"
def ov_circuit(
    W_E: Float[Tensor, "d_vocab d_model"],
    W_V: Float[Tensor, "n_heads d_model d_head"],
    W_O: Float[Tensor, "n_heads d_head d_model"],
    W_U: Float[Tensor, "d_model d_vocab"],
    head: int,
    ids: Int[Tensor, "ids"],
) -> Float[Tensor, "ids ids"]:
    """What reading token a (row) adds to the logit of token b (column), through one head.

    >>> W_V, W_O = tensor([[[1.0], [0.0]]]), tensor([[[0.0, 3.0]]])  # d_model = 2, d_head = 1
    >>> ov_circuit(torch.eye(2), W_V, W_O, torch.eye(2), 0, tensor([0, 1])).tolist()
    [[0.0, 3.0], [0.0, 0.0]]
    """
    # SOLUTION
    # Vectors are rows, so the path reads from left to right: embed, read, write, unembed.
    written = W_E[ids] @ W_V[head] @ W_O[head]  # [ids d_model] → [ids d_head] → [ids d_model]
    return written @ W_U[:, ids]  # [ids ids]
    # END


# %% key="ov-circuit-grade"
grade(ov_circuit)

# %% [markdown] key="ov-circuit-why" solution="05.11"
# #### Why it works
#
# With vectors as rows the path of the data is the order of the matrices: embed, read, write, unembed. Matrix products
# are associative, so the small ones can be taken first; taking the d_vocab × d_vocab product and choosing `ids`
# afterwards gives the same table and needs ten gigabytes.
#
# **What the classic mistake looks like.** $W_O W_V$ in place of $W_V W_O$ even has fitting shapes when one transposes
# until it runs. The numbers are then about a path that no token takes. A transposed table is easier to see: for a
# head that copies, the diagonal stays and everything else moves.

# %% key="ov-circuit-second" solution="05.11"
# A second way: the head's two matrices first, [d_model d_model]. The rank is at most d_head.
two = word_ids[:2]
merged = attn.W_V[0] @ attn.W_O[0]
print("rank of W_V W_O:", torch.linalg.matrix_rank(merged).item(), "of", len(merged))
by_merged = model.W_E[two] @ merged @ model.W_U[:, two]
torch.allclose(by_merged, ov_circuit(model.W_E, attn.W_V, attn.W_O, model.W_U, 0, two), atol=1e-3)

# %% [markdown] key="ov-text"
# **Use it** to look for heads that hand on the very word they look at. In such a head reading *kitten* should raise
# *kitten*: the diagonal of its table should stand out. The circuit is an idealization: it leaves out LayerNorm, the
# biases, and all that other layers do.

# %% key="copying-heads" tags=["demo"]
PETS = ["cat", "kitten", "puppy", "goat", "lamb", "rabbit", "mouse", "chicken"]
pet_ids = tensor([model.to_single_token(f" {pet}") for pet in PETS])  # [ids]
ov = use(ov_circuit)


def table_of(layer, head):
    """A head's OV table of the pets: [ids ids]."""
    weights = model.blocks[layer].attn
    return ov(model.W_E, weights.W_V, weights.W_O, model.W_U, head, pet_ids)


def copying(layer, head):
    """How far the diagonal of a head's OV table lies above the rest, in spreads of the rest."""
    table = table_of(layer, head)
    rest = table[~torch.eye(len(table), dtype=torch.bool)]
    return ((table.diagonal().mean() - rest.mean()) / rest.std()).item()


copies_word = tensor([[copying(i, head) for head in range(n_heads)] for i in range(n_layers)])

# %% key="copying-heads-figure" tags=["demo"]
show.matrix(
    copies_word.round(decimals=1),
    rows=layer_names,
    columns=head_names,
    title="Which heads hand on the pet that they look at?",
    note="How far the diagonal of a head's OV table stands out. Above 0: reading a pet raises it.",
    row_name="layer",
    column_name="head",
    value_name="spreads",
)

# %% key="ov-table" tags=["demo"]
copier_layer, copier_head = divmod(copies_word.argmax().item(), n_heads)
table = table_of(copier_layer, copier_head)
top = table.argmax(-1) == torch.arange(len(table))  # is the diagonal the largest of its row?

show.matrix(
    table,
    rows=PETS,
    columns=PETS,
    title=f"OV circuit of layer {copier_layer}, head {copier_head}",
    note=f"The diagonal is the largest of its row in {top.sum()} of {len(top)} rows.",
    row_name="token read",
    column_name="token raised or lowered",
    value_name="logit",
)

# %% [markdown] key="ov-limits"
# Is the head of section 10 among them? It may be, and it need not. What an early head writes reaches the unembedding,
# but it is read by the layers after it as well, which make of it what they need. A table that goes straight from $W_O$
# to $W_U$ sees nothing of that.

# %% [markdown] key="qk-circuit-text" terms="QK circuit"
# The second question: which token does a head look for? The score of two tokens is the product of the one's query
# with the other's key. That is linear in each of the two tokens, so one matrix says it all: the **QK circuit**
# (query–key).

# %% [markdown] key="qk-circuit"
# ### Exercise 05.12 · QK circuit
#
# *difficulty 4 · 10 minutes · stuck?* `hint("05.12")`
#
# $$\text{QK}_{ab} = \big( W_E\, W_Q^h \big)_a \cdot \big( W_E\, W_K^h \big)_b$$
#
# Row $a$: the token that asks. Column $b$: the token asked about. $W_E$ is the embedding; no biases, no positions, no
# division by $\sqrt{d_\text{head}}$ and no softmax. Only for the token ids in `ids`.


# %% key="qk-circuit-answer" exercise="05.12"
def qk_circuit(
    W_E: Float[Tensor, "d_vocab d_model"],
    W_Q: Float[Tensor, "n_heads d_model d_head"],
    W_K: Float[Tensor, "n_heads d_model d_head"],
    head: int,
    ids: Int[Tensor, "ids"],
) -> Float[Tensor, "ids ids"]:
    """How much token a as a query (row) fits token b as a key (column), in one head.

    >>> W_Q, W_K = tensor([[[1.0], [0.0]]]), tensor([[[0.0], [2.0]]])  # d_model = 2, d_head = 1
    >>> qk_circuit(torch.eye(2), W_Q, W_K, 0, tensor([0, 1])).tolist()  # token 0 looks for token 1
    [[0.0, 2.0], [0.0, 0.0]]
    """
    # SOLUTION
    queries = W_E[ids] @ W_Q[head]  # [ids d_head]
    keys = W_E[ids] @ W_K[head]  # [ids d_head]
    return queries @ keys.T  # [ids ids]
    # END


# %% key="qk-circuit-grade"
grade(qk_circuit)

# %% [markdown] key="qk-circuit-why" solution="05.12"
# #### Why it works
#
# Each token makes one query and one key; the table is every query against every key. The table is not symmetric: that
# *drink* looks for *store* does not mean that *store* looks for *drink*. With $W_Q$ used for both it would be.
#
# **What the classic mistake looks like.** A symmetric table. No trained head's QK table is symmetric by itself, so if
# yours equals its own transpose, one matrix was used twice.

# %% key="qk-circuit-second" solution="05.12"
# A second way: merge the two matrices. A head never uses W_Q or W_K alone, only W_Q W_Kᵀ.
looks_for = attn.W_Q[0] @ attn.W_K[0].T  # [d_model d_model], its rank is at most d_head
by_merged = model.W_E[two] @ looks_for @ model.W_E[two].T
torch.allclose(by_merged, qk_circuit(model.W_E, attn.W_Q, attn.W_K, 0, two), atol=1e-2)

# %% key="examples-run" solution="05.12"
import doctest

doctest.testmod()  # the examples in the docstrings of all twelve exercises, run

# %% [markdown] key="qk-text"
# **Use it** on the head of section 10. It found the kitten from "the". Is that in its weights, without any text? Then
# the row of "the" should be high at the animals, and the goat should do as well as the kitten.

# %% key="qk-words" tags=["demo"]
some_words = [" the", " but", " it", " Anna", " kitten", " goat", " tree", " morning"]
some_ids = tensor([model.to_single_token(word) for word in some_words])  # [ids]
looker = model.blocks[carrier_layer].attn
table = use(qk_circuit)(model.W_E, looker.W_Q, looker.W_K, carrier_head, some_ids)  # [ids ids]
table = table - table.mean(-1, keepdim=True)  # softmax does not see what a row has in common

show.matrix(
    table,
    rows=some_words,
    columns=some_words,
    title=f"QK circuit of layer {carrier_layer}, head {carrier_head}",
    note=f'Above the row\'s mean. For " the" the highest is {some_words[table[0].argmax()]!r}.',
    row_name="token that asks",
    column_name="token asked about",
    value_name="score",
)

# %% [markdown] key="qk-limits"
# The table leaves out positions, biases and LayerNorm, and above all what earlier layers have written. In layer 0
# there is nothing earlier, so it says most there. The key of an induction head, for one, was written by a
# previous-token head: its own QK table on embeddings does not show what it looks for.

# %% [markdown] key="answer" covers="N8"
# ## 14 · Back to the question
#
# How does the last position find out which animal it was? It must have looked. So forbid it: in one layer after
# another, the score of the last position with "kitten" is set to −∞, as your mask does with the future. Not one word
# of the story is changed.


# %% key="cut-looks" tags=["demo"]
def cut(scores, hook):
    """The last position may not look at " kitten"."""
    scores = scores.clone()
    scores[:, :, -1, kitten] = -torch.inf
    return scores


def chance_of_kitten(layers):
    """The probability of " kitten" when these layers are cut."""
    hooks = [(f"blocks.{i}.attn.hook_attn_scores", cut) for i in layers]
    return model.run_with_hooks(ids, fwd_hooks=hooks)[0, -1].softmax(-1)[kitten_id].item()


chances = {"nothing cut": chance_of_kitten([])}
chances |= {f"cut in layer {i}": chance_of_kitten([i]) for i in range(n_layers)}
chances["cut in all layers"] = chance_of_kitten(range(n_layers))

# %% key="cut-looks-figure" tags=["demo"]
show.bars(
    chances,
    title='The probability of " kitten" when the last position may not look at it',
    note="Where the bar falls, the look mattered.",
    x_name="what is cut",
    y_name='probability of " kitten"',
)

# %% [markdown] key="answer-text"
# Where the bar falls, you have caught the look that answers the question. Where it stays high, that look was not
# needed. (Were it high everywhere, the word would have taken another way: a position in between had fetched it, and
# the last position read it there.) Each step of the way is a look, because there is no other way from one position to
# another:
#
# **a query that fits a key, a value that is moved, and a matrix that writes it down.**

# %% [markdown] key="summary"
# ## Summary
#
# Say it in your own words first, then compare.
#
# - Every position makes a **query**, a **key** and a **value** in every head, each a linear map of the stream.
# - The **score** of query $i$ and key $j$ is their dot product, divided by $\sqrt{d_\text{head}}$ so that its spread
#   does not grow with the size of the head and the softmax stays able to learn.
# - The **mask** puts −∞ on the future. The softmax over keys turns scores into a **pattern**: for each query and
#   head, a distribution over this and earlier tokens. A head with nothing to find rests on **BOS**.
# - The pattern mixes **values**; $W_O$ writes the mixture into the stream; heads act side by side and their outputs
#   add.
# - Attention is the only place where positions meet. It is a convolution whose weights are computed from the text,
#   and without position embeddings it does not know the order of what it sees.
# - A head can be read: QK says what it looks for, OV what it writes when it looks there.

# %% [markdown] key="self-test"
# ## Test yourself
#
# **1.** In some head nearly every row of the pattern is (0.97, 0.01, 0.01, …), and the first token is BOS. What does
# this head do on this text?
#
# <details><summary>Answer</summary>
#
# Next to nothing. It adds almost the same vector, BOS's value times $W_O$, at every position, whatever the text says.
# It rests, and it will stop resting on a text where its query finds a key that fits.
#
# </details>
#
# **2.** You forget $b_K$ everywhere. How much do the patterns change? And if you forget $b_Q$?
#
# <details><summary>Answer</summary>
#
# Without $b_K$ not at all: $q_i \cdot (k_j + b_K) = q_i \cdot k_j + q_i \cdot b_K$, and the second part is the same
# for every key $j$ of the row. The softmax does not see what is added to a whole row. Without $b_Q$ they do change:
# $b_Q \cdot k_j$ differs from key to key.
#
# </details>
#
# **3.** Someone computes the softmax first, then sets the future to 0, then divides each row by its sum. Right or
# wrong?
#
# <details><summary>Answer</summary>
#
# Right, in exact arithmetic: $e^{s_j}$ divided by the sum over all keys, divided again by the visible share, is
# $e^{s_j}$ divided by the sum over the visible keys. Without the last division it is wrong. In floating point it can
# fail as well: where a hidden score is larger than the others by two hundred, all visible weights round to 0 before the
# last division.
#
# </details>

# %% [markdown] key="glossary" covers="N21"
# ## Words met
#
# | term | meaning |
# |---|---|
# | self-attention | queries, keys and values all come from the same tokens |
# | query, key, value | what a position looks for; what it is found by; what it hands over |
# | score | query · key, divided by √d_head; before mask and softmax |
# | causal mask | −∞ on every key that comes after the query; attention with it is causal |
# | autoregressive | of a model that guesses each token from those before it, one after the other |
# | pattern | each query's weights over the keys, rows sum to 1 |
# | z | a head's mixture of values, d_head numbers for each position |
# | head | one set of W_Q, W_K, W_V, W_O; d_head wide |
# | BOS | the token that begins every text; a resting place, or attention sink, for heads |
# | previous-token head | looks at the token just before |
# | induction head | looks at the token after an earlier copy of the present one |
# | QK circuit, OV circuit | a head's weights as one table: what it looks for, what it writes |

# %% [markdown] key="read-on" covers="M12"
# ## Where to read on
#
# - Vaswani et al., *Attention Is All You Need* (2017): scaled dot-product and multi-head attention, in section 3.2.
# - Clark, Khandelwal, Levy and Manning, *What Does BERT Look At? An Analysis of BERT's Attention* (2019): heads that
#   rest, heads that look one back, heads that follow grammar, in a model that reads in both directions.
# - Elhage et al., *A Mathematical Framework for Transformer Circuits* (2021): QK and OV circuits, and attention-only
#   models of one and two layers taken apart.
# - Olsson et al., *In-context Learning and Induction Heads* (2022): how induction heads form in training, and what
#   they are good for.
# - Xiao, Tian, Chen, Han and Lewis, *Efficient Streaming Language Models with Attention Sinks* (2023): why models
#   rest on the first tokens, and what breaks when these are dropped.
#
# Next, [chapter 06](06_mlp.ipynb): what happens to a position *between* two attention layers.
