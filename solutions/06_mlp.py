# Chapter 06, MLPs: the one source of its notebooks in chapters/ and solutions/ (`book build 06`).
# Whatever is said about a particular neuron, word or fact is computed in the cell that shows it, so that the text stays
# true on another reference. Numbers in the prose are only those that hold for every model of this shape.

# %% [markdown] key="title"
# # MLPs: what a position knows
#
# *Everyone knows that the capital of France is* … You know how this goes on, though no word of the sentence tells
# you. Attention, the last chapter's subject, fetches what stands elsewhere in the text. "Paris" stands nowhere in the
# text. It has to come out of the model.
#
# Between two attention layers stands an **MLP**, the plainest network there is: one matrix, a bent curve, another
# matrix. It never looks at a neighbor, and it holds most of each block's numbers. In this chapter you build it, take
# it apart into single neurons, and read what some of them do. At the end you cut a fact out of the model, and count
# what it took and what else broke.

# %% [markdown] key="what-you-will-do"
# ## What you will be able to do
#
# - **Build** an MLP that gives the model's own numbers, and **tell** its activation from three look-alikes.
# - **Prove** that an MLP treats each position alone.
# - **Take** its output apart into neurons, and **say** of a neuron what it reads and which tokens it promotes.
# - **Find** neurons that erase what they read.
# - **Silence** the neurons that carry a fact, and **measure** how far it is gone and what else breaks.
# - **Count** a model's parameters by part.
#
# **Builds on** 03 (the residual stream), 04 (LayerNorm), 05 (attention). **Time**: about two hours.
#
# | exercise | you write | difficulty (1–5) | minutes |
# |---|---|---|---|
# | 06.1 | `gelu_new`: the bent curve | 2 | 10 |
# | 06.2 | `mlp_pre`: what each neuron reads | 1 | 5 |
# | 06.3 | `mlp`: the whole layer | 2 | 10 |
# | 06.4 | `neuron_outputs`: what each neuron writes | 2 | 10 |
# | 06.5 | `top_neurons`: who writes most? | 3 | 15 |
# | 06.6 | `promoted_tokens`: the words that a neuron raises | 3 | 10 |
# | 06.7 | `erasure_score`: who takes away what it reads? | 3 | 10 |
# | 06.8 | `count_parameters`: how many numbers, and where | 2 | 15 |
#
# Write an answer where you find `raise NotImplementedError`, run that cell, then run the cell below it: it grades
# your function. `hint("06.1")` gives a hint, and a stronger one each time you ask. You may skip an exercise: later
# cells use the book's version where yours is missing, and say so.

# %% key="setup"
import math
from itertools import islice
from types import SimpleNamespace

import torch
from einops import einsum
from jaxtyping import Float, Int
from torch import Tensor, tensor
from torch.nn.functional import gelu, pad, silu

from utils import grade, hint, reference, show, use
from utils.pocket.world import documents, facts, lexicon

model = reference(device="cpu")  # the pocket model; it needs no accelerator
rng = torch.Generator().manual_seed(6)  # every random number of this chapter comes from here

n_layers, d_model, d_mlp = model.cfg.n_layers, model.cfg.d_model, model.cfg.d_mlp
layer_names = [f"layer {i}" for i in range(n_layers)]

# %% [markdown] key="which-model"
# The model is the book's **pocket model**: GPT-2's architecture and tokenizer, trained on a small made-up world of
# stories and facts. The world's facts are in `utils/pocket/world/facts.py`: capitals, colors, opposites, sums. So we
# know exactly what this model had occasion to learn.
#
# *Which* neuron does what is a fact about one trained model. It is looked up in a cell, never known in advance. To see
# GPT-2's own neurons, run `book reference gpt2` once in a terminal, write `model = reference("gpt2", device="cpu")` in
# the cell above, and run the chapter again. (It has nine times as many neurons, and the slowest cells take minutes.)

# %% [markdown] key="question"
# ## 1 · Where was Paris?
#
# The next cell asks for capitals. Each question has the same number of tokens, and the last of them is "is". The
# helper `last_logits` will be used all through the chapter: it gives the logits after the last token of each text,
# with or without changes on the way.


# %% key="last-logits" tags=["demo"]
def last_logits(texts, hooks=()):
    """The logits after the last token of each text: [text d_vocab]."""
    rows = [model.to_tokens(text)[0] for text in texts]
    ends = tensor([len(row) - 1 for row in rows])
    longest = max(len(row) for row in rows)
    bos = model.tokenizer.bos_token_id
    ids = torch.stack([pad(row, (0, longest - len(row)), value=bos) for row in rows])  # [text pos]

    def last_only(x, hook):
        return x[torch.arange(len(x)), ends][:, None]  # [text 1 d_model]: the rest is not unembedded

    hooks = [*hooks, ("unembed.hook_in", last_only)]
    return model.run_with_hooks(ids, fwd_hooks=hooks)[:, 0]


def is_one_token(word):
    return len(model.to_tokens(f" {word}", prepend_bos=False)[0]) == 1


pairs = facts.RELATION["capital"].pairs
capital_of = {country: city for country, city in pairs if is_one_token(country) and is_one_token(city)}
countries, cities = list(capital_of), list(capital_of.values())
questions = [f"Everyone knows that the capital of {country} is" for country in countries]
city_ids = tensor([model.to_single_token(f" {city}") for city in cities])  # [country]


# %% key="capitals" tags=["demo"]
def answers(hooks=()):
    """The likeliest answer for each country, and the probability of the right one: two [country]."""
    probability = last_logits(questions, hooks).softmax(-1)  # [country d_vocab]
    return probability.argmax(-1), probability[torch.arange(len(countries)), city_ids]


def some_answers(title, hooks=(), some=5):
    """What the model says of the first few countries, as a table; the note counts all of them."""
    said, chance = answers(hooks)
    right = said == city_ids
    rows = [[countries[i], model.to_string(said[i]), f"{chance[i]:.2f}"] for i in range(some)]
    return show.table(
        rows,
        ["the capital of … is", "the model says", "probability of the right one"],
        verdicts=right[:some].tolist(),
        verdict_name="right",
        title=title,
        note=f"Of all {len(countries)} countries it gives the right capital for {right.sum()}.",
    )


some_answers("What the model knows")

# %% [markdown] key="predict-without" tags=["predict"]
# **Predict.** Now every MLP is silenced: what it would add to the stream is replaced by zeros. Attention works as
# before, so the last position can still look at the name of the country. What will the model say?
#
# - **a**: mostly the right capitals, only less sure;
# - **b**: capitals, but of the wrong countries;
# - **c**: hardly ever a capital at all.
#
# Write your guess down first. A guess that turns out wrong is remembered better than a truth that was only read.

# %% key="guess-without" tags=["predict"]
my_guess = "?"  # a, b or c


# %% key="without-mlps" tags=["demo"]
def nothing(out, hook):
    """What a part adds to the stream, replaced by zeros."""
    return torch.zeros_like(out)


no_mlps = [(f"blocks.{i}.hook_mlp_out", nothing) for i in range(n_layers)]
said = answers(no_mlps)[0]
a_capital = torch.isin(said, city_ids)
print(f"{a_capital.sum()} of {len(said)} answers are a capital, {(said == city_ids).sum()} are right.")
some_answers("What the model knows without its MLPs", no_mlps)


# %% key="without-one-part" tags=["demo"]
def share_right(part, layer):
    """The share of capitals that are right when one layer's attention ("attn") or MLP ("mlp") is silent."""
    said = answers([(f"blocks.{layer}.hook_{part}_out", nothing)])[0]
    return (said == city_ids).float().mean().item()


shares = {layer_names[i]: [share_right("mlp", i), share_right("attn", i)] for i in range(n_layers)}
whole = (answers()[0] == city_ids).float().mean().item()
show.bars(
    shares,
    series=["its MLP silent", "its attention silent"],
    title="Capitals that are right when one part of one layer is silent",
    note=f"With nothing silent it is {whole:.0%}. The lower the bar, the more the answer needs that part.",
    x_name="layer",
    y_name="share of capitals that are right",
    baseline=whole,
    baseline_name="nothing silent",
)

# %% [markdown] key="needed-is-not-known"
# <details><summary>What you see, and why</summary>
#
# Without any MLP the model has lost more than geography. Its parts were trained together, and the stream that reaches
# the last layer is like nothing it ever met. The count above the table says which of a, b, c it is here.
#
# </details>
#
# The figure takes away one part at a time, which is a gentler question. But it shows only what is *needed*. Attention
# is needed too, since the name of the country stands before the last position and has to be carried there. What
# is carried along a road is not kept on it.
#
# That is the question of this chapter: **where is "Paris" kept, and could one take out that single fact?** To answer
# it we have to open the MLP.

# %% [markdown] key="by-hand" covers="N15" terms="MLP, neuron, hidden layer, pre, post, activation function"
# ## 2 · A fact by hand
#
# An **MLP** (multi-layer perceptron) is two linear maps with a bent curve between them. GPT-2's has one **hidden
# layer**: the numbers between the two maps. Each of these numbers belongs to a **neuron**. A neuron does three
# things:
#
# 1. It **reads**: the dot product of the stream with its own vector, plus a bias. The result is called **pre**.
# 2. It **decides** how much to say: pre goes through a curve, the **activation function**, which lets large numbers
#    through and holds negative ones back. The result is called **post**, the neuron's activation.
# 3. It **writes**: its activation times another vector of its own, added to the stream.
#
# Say the stream has five axes with a meaning: *France*, *Japan*, *a capital is asked for*, *Paris*, *Tokyo*. (In a
# trained model nobody gives the axes a meaning, and there are hundreds.) Two neurons hold two facts:

# %% key="by-hand-neurons" tags=["demo"]
#                 France Japan asked Paris Tokyo
reads = tensor([[4.0, 0.0, 4.0, 0.0, 0.0], [0.0, 4.0, 4.0, 0.0, 0.0]])  # [neuron axis]
writes = tensor([[0.0, 0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 0.0, 1.0]])  # [neuron axis]
threshold = -6.0  # the bias: one of the two things alone is not enough

streams = {
    "France": [1.0, 0, 0, 0, 0],
    "a capital is asked for": [0, 0, 1.0, 0, 0],
    "France, and a capital is asked for": [1.0, 0, 1.0, 0, 0],
    "Japan, and a capital is asked for": [0, 1.0, 1.0, 0, 0],
}
pre = tensor(list(streams.values())) @ reads.T + threshold  # [stream neuron]
post = gelu(pre)  # torch's own curve, for now
written = post @ writes  # [stream axis]

show.table(
    [[name, *pre[i], *post[i].round(decimals=2), *written[i, 3:].round(decimals=2)] for i, name in enumerate(streams)],
    ["the stream says", "pre 0", "pre 1", "post 0", "post 1", "adds to Paris", "adds to Tokyo"],
    title="Two neurons that know two capitals",
    note="Neuron 0 speaks only where both of its conditions hold, and then it writes Paris.",
)

# %% [markdown] key="by-hand-why" covers="N15"
# Check one number: $4 \cdot 1 + 4 \cdot 1 - 6 = 2$ goes in, and a little less than 2 comes out.
#
# No linear map could do this. For a linear map, what it makes of *France and asked* is the sum of what it makes of
# *France* and of *asked*. Here both of these are near 0 and the sum should be near 2. It takes the curve: **without
# it two matrices in a row are only one matrix**, and no "and" can be computed.

# %% [markdown] key="by-hand-formulas" covers="N15, N16"
# So a neuron is like an entry in a dictionary. The vector with which it reads is the entry's key, a pattern to be
# recognized. The vector that it writes is what stands there. In formulas, for the stream $x$ of one position (after
# LayerNorm):
#
# $$
# \text{pre} = x\,W_\text{in} + b_\text{in} \qquad \text{post} = \operatorname{GELU}(\text{pre}) \qquad
# \text{out} = \text{post}\;W_\text{out} + b_\text{out}
# $$
#
# | symbol | in words | name in the model | axes |
# |---|---|---|---|
# | $x$ | the stream after the block's second LayerNorm | `ln2.hook_out` | batch pos d_model |
# | pre | how well each neuron's key fits | `mlp.hook_pre` | batch pos d_mlp |
# | post | how much each neuron says, its activation | `mlp.hook_post` | batch pos d_mlp |
# | out | what the MLP adds to the stream | `hook_mlp_out` | batch pos d_model |
# | $W_\text{in}$, $b_\text{in}$ | column $i$: what neuron $i$ reads; its threshold | `mlp.W_in`, `mlp.b_in` | d_model d_mlp; d_mlp |
# | $W_\text{out}$, $b_\text{out}$ | row $i$: what neuron $i$ writes; one bias for all | `mlp.W_out`, `mlp.b_out` | d_mlp d_model; d_model |
#
# In GPT-2 there are four times as many neurons as the stream has numbers, $d_\text{mlp} = 4\, d_\text{model}$.

# %% key="one-text" tags=["demo"]
story = 'Anna had a white kitten. One morning it climbed a tall tree and was stuck. "Come down!" called Anna, but the'
tokens = model.to_str_tokens(story)
_, cache = model.run_with_cache(story)  # every activation of the model on this text
layer = 0  # the layer that you will rebuild first
weights = model.blocks[layer].mlp  # holds W_in, b_in, W_out, b_out
x = cache[f"blocks.{layer}.ln2.hook_out"]  # what the layer reads: [batch pos d_model]
print(f"This model: d_model = {d_model}, d_mlp = {d_mlp} = {d_mlp // d_model} · d_model, {n_layers} layers.")
print(f"x: {tuple(x.shape)}, W_in: {tuple(weights.W_in.shape)}, W_out: {tuple(weights.W_out.shape)}")

# %% [markdown] key="gelu" covers="N15" terms="GELU, ReLU"
# ## 3 · The bent curve: GELU and its look-alikes
#
# The simplest activation function is **ReLU**: negative numbers become 0, positive ones pass. It has a corner at 0,
# and where it is flat no gradient flows, so a neuron that is off everywhere cannot learn its way back.
#
# **GELU** (Gaussian error linear unit, Hendrycks and Gimpel 2016) rounds the corner. It multiplies $x$ by the
# probability that a standard normal number is smaller than $x$:
#
# $$\operatorname{GELU}(x) = x \cdot \Phi(x) \qquad \Phi(x) = P(Z \le x),\; Z \sim \mathcal N(0, 1)$$
#
# Read $\Phi(x)$ as the share of $x$ that passes: half of it at 0, nearly all at 3, nearly nothing at −3.

# %% [markdown] key="predict-smallest" tags=["predict"]
# **Predict.** Which of these is the *smallest*: GELU(−3), GELU(−0.75) or GELU(0)?

# %% key="guess-smallest" tags=["predict"]
my_guess = "?"  # -3, -0.75 or 0

# %% key="curves" tags=["demo"]
at = torch.linspace(-4, 3, 141)  # in steps of 0.05
show.lines(
    at,
    {"GELU": gelu(at), "ReLU": at.relu(), "SiLU, x · sigmoid(x)": silu(at)},
    title="Three activation functions",
    note="All three let large numbers through. Left of 0 only ReLU is flat; GELU and SiLU dip below 0 and come back.",
    x_name="x, what goes in (pre)",
    y_name="what comes out (post)",
)


# %% key="curve-values" tags=["demo"]
def written(number, digits=2):
    """A number as the text writes it, with a minus sign and not a hyphen."""
    return f"{number:.{digits}f}".replace("-", "−")


some_x = tensor([-3.0, -2.0, -0.75, -0.5, 0.0, 0.5, 1.0, 3.0])
passes = 0.5 * (1 + torch.erf(some_x / 2**0.5))  # Φ: the share that passes
columns = ["x", "Φ(x)", "GELU: x · Φ(x)", "ReLU", "SiLU"]
rows = torch.stack([some_x, passes, some_x * passes, some_x.relu(), silu(some_x)], dim=-1)  # [x column]
show.table(
    [[written(row[0]), *(written(value, 3) for value in row[1:])] for row in rows],
    columns,
    title="The same in numbers",
    note=f"Of these x the one with the smallest GELU is {written(some_x[rows[:, 2].argmin()])}.",
)

# %% [markdown] key="gelu-dips" covers="N15"
# <details><summary>Compare with your guess</summary>
#
# **−0.75.** GELU falls, reaches its lowest value of about −0.17 near −0.75, and then *rises* toward 0 as $x$ goes on
# to −∞. At −3 the share that passes is 0.001, so next to nothing is left. A curve that goes down and up again cannot
# be undone: from the output −0.1 nobody can tell which of two inputs it was.
#
# </details>
#
# $\Phi$ was slow to compute once, so the paper also gives a formula with tanh that comes very near to it. GPT-2 was
# trained with that formula. In libraries it is called `gelu_new`, or GELU with the tanh approximation.

# %% [markdown] key="gelu-new"
# ### Exercise 06.1 · GELU, as GPT-2 has it
#
# *difficulty 2 · 10 minutes · stuck?* `hint("06.1")`
#
# $$\operatorname{gelu\_new}(x) = \tfrac12\, x \left(1 + \tanh\!\left(\sqrt{2/\pi}\,\big(x + 0.044715\, x^3\big)\right)\right)$$
#
# $x$ is a tensor of any shape, and each number is treated by itself. Of torch's functions you need only `torch.tanh`;
# `math.sqrt` and `math.pi` are there. torch's own `gelu` would be the exercise in one call, and is not allowed here.


# %% key="gelu-new-answer" exercise="06.1" covers="N15"
def gelu_new(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """GELU by the tanh formula, number by number.

    >>> [round(value, 3) for value in gelu_new(tensor([-1.0, 0.0, 1.0, 10.0])).tolist()]
    [-0.159, 0.0, 0.841, 10.0]
    """
    # SOLUTION
    inner = math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)  # its sign follows x, and it grows like x³
    return 0.5 * x * (1 + torch.tanh(inner))  # ½(1 + tanh) lies between 0 and 1: the share that passes
    # END


# %% key="gelu-new-grade"
grade(gelu_new)

# %% [markdown] key="gelu-new-why" solution="06.1"
# #### Why it works
#
# $\tfrac12 (1 + \tanh u)$ goes from 0 to 1 as $u$ goes from −∞ to ∞, like $\Phi$. The factor $\sqrt{2/\pi}$ gives it
# the same slope at 0: $\Phi'(0) = 1/\sqrt{2\pi}$, and $\tfrac12 \sqrt{2/\pi}$ is the same number. The cubic term was
# fitted to make the rest of the curve agree.
#
# **What the classic mistake looks like.** $\Phi$ with `torch.erf` is the *better* GELU and the wrong one here: the
# numbers agree to three decimals and no further. Left out, the cubic term costs up to 0.03.

# %% key="gelu-new-mistake" solution="06.1"
from utils.grading import check


def with_erf(x):
    return x * 0.5 * (1 + torch.erf(x / math.sqrt(2)))


check("06.1", with_erf)


# %% key="gelu-new-second" solution="06.1"
def with_sigmoid(x):
    """A second way: ½(1 + tanh u) is the sigmoid of 2u."""
    return x * torch.sigmoid(math.sqrt(8 / math.pi) * (x + 0.044715 * x.pow(3)))


check("06.1", with_sigmoid)

# %% [markdown] key="look-alikes-text" covers="N15"
# **Use it.** How far are the look-alikes from your curve? One of them is new: $x \cdot \operatorname{sigmoid}(1.702\,
# x)$, a quick form that some models use.

# %% key="look-alikes" tags=["demo"]
curve = use(gelu_new)
LOOK_ALIKES = {
    "GELU with erf": gelu,
    "quick GELU": lambda x: x * torch.sigmoid(1.702 * x),
    "SiLU": silu,
    "ReLU": torch.relu,
}
wide = torch.linspace(-5, 5, 400, dtype=torch.float64)
off = {name: (f(wide) - curve(wide)).abs() for name, f in LOOK_ALIKES.items()}
show.lines(
    wide,
    {name: gap.clamp(min=1e-7) for name, gap in off.items()},
    title="How far four activation functions are from gelu_new",
    note="The largest distances: " + ", ".join(f"{name} {gap.max():.2g}" for name, gap in off.items()) + ". Below 10⁻⁷ "
    "the drawing stops.",
    x_name="x",
    y_name="distance from gelu_new (logarithmic)",
    log_y=True,
)

# %% [markdown] key="predict-swapped" tags=["predict"]
# How well a model does is measured by its *surprise*: the mean of $-\log p$, where $p$ is the probability that it gave
# to the token that came. With the natural logarithm the unit is called *nat*. Less is better, and 0 would be perfect
# foresight. (Chapter 07 has more to say about it.)
#
# **Predict.** Put each of these curves into the trained model, in all layers, in place of its own. Nothing is trained
# again. Which will the model hardly notice, and which will ruin it? Put them in order: erf, quick GELU, SiLU, ReLU, and
# no curve at all (pre passes as it is).

# %% key="guess-swapped" tags=["predict"]
my_guess = "?"  # from the least to the most harmful

# %% key="surprise" tags=["demo"]
held_out = [document.text for document in islice(documents(seed=60, split="held_out"), 4)]


def log_probs(hooks=()):
    """log p of each token of four texts that the model has not read: [token]."""
    found = []
    for text in held_out:
        ids = model.to_tokens(text)  # [1 pos]
        logp = model.run_with_hooks(ids, fwd_hooks=list(hooks))[0, :-1].log_softmax(-1)  # [pos-1 d_vocab]
        found.append(logp.gather(-1, ids[0, 1:, None])[:, 0])
    return torch.cat(found)


def surprise(hooks=()):
    """The mean of −log p over these tokens, in nats."""
    return -log_probs(hooks).mean().item()


# %% key="swap-curves" tags=["demo"]
def with_curve(f):
    """Hooks that put `f` in the place of every MLP's activation function."""
    kept, hooks = {}, []
    for i in range(n_layers):

        def note(pre, hook, i=i):
            kept[i] = pre

        def replace(post, hook, i=i):
            return f(kept[i])

        hooks += [(f"blocks.{i}.mlp.hook_pre", note), (f"blocks.{i}.mlp.hook_post", replace)]
    return hooks


# %% key="swapped" tags=["demo"]
swapped = {"yours (gelu_new)": curve, **LOOK_ALIKES, "no curve": lambda pre: pre}
as_it_is = log_probs()
rows = []
for name, f in swapped.items():
    with_f = log_probs(with_curve(f))
    rows.append([name, f"{-with_f.mean():.3f}", f"{(with_f - as_it_is).abs().mean():.5f}"])

show.table(
    rows,
    ["activation function", "surprise, nats a token", "mean change of a token's log p, either way"],
    title="The model with another activation function",
    note=f"As it is, the model's surprise is {-as_it_is.mean():.3f}. Guessing among all tokens alike would be "
    f"{math.log(model.cfg.d_vocab):.1f}.",
)

# %% [markdown] key="swapped-text" covers="N15"
# Compare the last line with the others. What the model cannot do without is *a* curve, one that holds negative numbers
# back. How much it minds *which* depends on where its neurons work: far from 0 all these curves agree, near 0 they
# differ. The next section shows how far from 0 the neurons of this model are.
#
# The small change with erf is worth knowing all the same, since both are called "GELU": a model loaded with the wrong
# one works, and its numbers agree with nobody else's to the last decimals.

# %% [markdown] key="reading" covers="N15"
# ## 4 · What each neuron reads
#
# The first half of the layer: each neuron compares the stream with its own vector, column $i$ of $W_\text{in}$.

# %% [markdown] key="mlp-pre"
# ### Exercise 06.2 · What goes into the activation
#
# *difficulty 1 · 5 minutes · stuck?* `hint("06.2")`
#
# $$\text{pre} = x\, W_\text{in} + b_\text{in}$$
#
# $x$ is the stream of each text and position (after LayerNorm, which is not your business here), d_model numbers;
# $W_\text{in}$ has a column for each neuron, $b_\text{in}$ a number for each.


# %% key="mlp-pre-answer" exercise="06.2" covers="N15"
def mlp_pre(
    x: Float[Tensor, "batch pos d_model"],
    W_in: Float[Tensor, "d_model d_mlp"],
    b_in: Float[Tensor, "d_mlp"],
) -> Float[Tensor, "batch pos d_mlp"]:
    """How well the stream fits each neuron's key, before the activation.

    >>> x = tensor([[[1.0, 2.0]]])  # one text, one position, d_model = 2
    >>> W_in = tensor([[1.0, 0.0, -1.0], [0.0, 1.0, 1.0]])  # three neurons: the columns
    >>> mlp_pre(x, W_in, tensor([0.0, 0.0, 0.5])).tolist()
    [[[1.0, 2.0, 1.5]]]
    """
    # SOLUTION
    return x @ W_in + b_in  # [batch pos d_model] @ [d_model d_mlp]: a dot product with each column
    # END


# %% key="mlp-pre-grade"
grade(mlp_pre)

# %% [markdown] key="mlp-pre-why" solution="06.2"
# #### Why it works
#
# A matrix product with vectors as rows is a dot product with each column. `@` keeps all axes before the last, so
# every text and position is treated in the same way and by itself.
#
# **What the classic mistake looks like.** `torch.nn.Linear` and Hugging Face's GPT-2 store their weights in opposite
# orientations: `Linear` has [out in], GPT-2's file [in out], like $W_\text{in}$ here. Whoever transposes "to be safe"
# gets an error, unless the matrix is square; then nothing crashes.

# %% key="mlp-pre-second" solution="06.2"
# A second way, with every axis named.
named = einsum(x, weights.W_in, "batch pos d_model, d_model d_mlp -> batch pos d_mlp") + weights.b_in
torch.allclose(named, mlp_pre(x, weights.W_in, weights.b_in), atol=1e-4)

# %% [markdown] key="pre-spread-text"
# **Use it.** How often does a neuron's key fit? Below: the values of pre, over all tokens of the story and all
# neurons, layer by layer.

# %% key="pre-spread" tags=["demo"]
pre_of = use(mlp_pre)
values = {}
for i in range(n_layers):
    mlp_i = model.blocks[i].mlp
    values[layer_names[i]] = pre_of(cache[f"blocks.{i}.ln2.hook_out"], mlp_i.W_in, mlp_i.b_in)  # [1 pos d_mlp]

above = ", ".join(f"{(pre > 0).float().mean():.0%}" for pre in values.values())
show.histogram(
    {name: pre.clamp(-10, 10) for name, pre in values.items()},
    title="What goes into the activation function",
    note=f"Above 0, where a neuron speaks up, are {above} of the values, by layer. Beyond ±10 counts as ±10.",
    x_name="pre",
    y_name="share of the values",
)

# %% [markdown] key="dip-text" covers="N15"
# Most neurons are not asked most of the time. And what does a neuron say that is not asked? That depends on how far
# below 0 it rests. Far below, GELU gives 0. But near −0.75 lies the bottom of the dip, where GELU gives −0.17 and ReLU
# gives 0. The next cell counts how many activations lie in the dip.

# %% key="dip" tags=["demo"]
in_dip = {name: (curve(pre) < -0.1).float().mean().item() for name, pre in values.items()}
show.bars(
    in_dip,
    title="Neurons that rest in GELU's dip",
    note=f"Of all layers together {sum(in_dip.values()) / n_layers:.0%} of the activations lie there.",
    x_name="layer",
    y_name="share of activations below −0.1",
)

# %% [markdown] key="dip-why" covers="N15"
# A neuron in the dip is not silent: it writes its row, turned round, a little. Each does so at almost every token, and
# hundreds of them together are a constant push that the layers after it have learned to expect. ReLU takes the push
# away. So the higher these bars, the more ReLU must cost the model in the table of section 3.

# %% [markdown] key="whole-layer" covers="N15"
# ## 5 · The whole layer
#
# Read, decide, write. The second matrix takes the d_mlp activations back to the d_model numbers of the stream.

# %% [markdown] key="mlp"
# ### Exercise 06.3 · The MLP
#
# *difficulty 2 · 10 minutes · stuck?* `hint("06.3")`
#
# $$
# \text{out} = \operatorname{gelu\_new}\!\big(x\, W_\text{in} + b_\text{in}\big)\; W_\text{out} + b_\text{out}
# $$
#
# All symbols as in section 2. The curve stands between the two maps, with the first bias inside it and the second
# outside. Use what you wrote; if you skipped one of the two, `use(gelu_new)` and `use(mlp_pre)` are the book's.


# %% key="mlp-answer" exercise="06.3" covers="N15"
def mlp(
    x: Float[Tensor, "batch pos d_model"],
    W_in: Float[Tensor, "d_model d_mlp"],
    b_in: Float[Tensor, "d_mlp"],
    W_out: Float[Tensor, "d_mlp d_model"],
    b_out: Float[Tensor, "d_model"],
) -> Float[Tensor, "batch pos d_model"]:
    """What the MLP adds to the stream.

    >>> W_in, W_out = tensor([[1.0, -1.0]]), tensor([[2.0], [5.0]])  # d_model = 1, two neurons
    >>> x = tensor([[[10.0]]])  # pre is 10 and −10: one neuron speaks, one is silent
    >>> mlp(x, W_in, torch.zeros(2), W_out, tensor([0.5])).tolist()
    [[[20.5]]]
    """
    # SOLUTION
    post = gelu_new(mlp_pre(x, W_in, b_in))  # [batch pos d_mlp]
    return post @ W_out + b_out  # [batch pos d_mlp] @ [d_mlp d_model] → [batch pos d_model]
    # END


# %% key="mlp-grade"
grade(mlp)

# %% [markdown] key="mlp-why" solution="06.3"
# #### Why it works
#
# Two products with a curve between them. Each position's row goes through both products by itself: there is no sum
# over pos anywhere.
#
# **What the classic mistakes look like.** Without the curve every shape is right and the layer is linear: twice the
# input gives twice the output (but for the biases), a quick test worth knowing. With the curve at the end, the layer
# can hardly ever write a negative number into the stream, since GELU never goes below −0.17.


# %% key="mlp-mistake" solution="06.3"
def curve_at_the_end(x, W_in, b_in, W_out, b_out):
    return gelu_new(mlp_pre(x, W_in, b_in) @ W_out + b_out)


check("06.3", curve_at_the_end)


# %% key="mlp-second" solution="06.3"
def neuron_by_neuron(x, W_in, b_in, W_out, b_out):
    """A second way: a sum over neurons, as section 7 will have it."""
    out = b_out.expand(*x.shape[:2], -1)  # [batch pos d_model]
    for i, row in enumerate(W_out):
        says = gelu_new(x @ W_in[:, i] + b_in[i])  # [batch pos]
        out = out + says[..., None] * row
    return out


check("06.3", neuron_by_neuron)

# %% [markdown] key="transplant-text"
# **Use it.** The next cell takes the MLP out of every layer, puts yours in, and asks for the capitals again.

# %% key="transplant" tags=["demo"]
mlp_of = use(mlp)


def with_mlps(f):
    """Hooks that put `f(x, W_in, b_in, W_out, b_out)` in the place of every MLP."""
    kept, hooks = {}, []
    for i in range(n_layers):
        w = model.blocks[i].mlp

        def note(x, hook, i=i):
            kept[i] = x

        def replace(out, hook, i=i, w=w):
            return f(kept[i], w.W_in, w.b_in, w.W_out, w.b_out)

        hooks += [(f"blocks.{i}.ln2.hook_out", note), (f"blocks.{i}.hook_mlp_out", replace)]
    return hooks


some_answers("What the model knows with your MLPs", with_mlps(mlp_of))

# %% [markdown] key="alone" covers="N15"
# ## 6 · Each position alone
#
# There is a claim in this book that you have read several times and not yet checked: *only attention carries anything
# from one position to another*. So an MLP must treat each position as if it were alone in the world.
#
# Here is a way to put it to the test. In one layer, **shuffle** the positions of what a part reads, and put the rows
# of what it writes back in their old order. A part that treats each position alone cannot notice.

# %% [markdown] key="predict-shuffle" tags=["predict"]
# **Predict.** This is done to the MLP of one layer, in the middle of the running model. Then, instead, to attention.
# What happens to the model's predictions, each time: nothing at all, a small change, or a large one?

# %% key="guess-shuffle" tags=["predict"]
my_guess = "?"  # for the MLP; for attention

# %% key="shuffle" tags=["demo"]
ids = model.to_tokens(story)  # [batch pos]
order = torch.randperm(len(tokens), generator=rng)
back = order.argsort()  # puts shuffled rows back


def shuffled(part, norm, layer):
    """How far the probabilities move, at most, when a part reads shuffled positions."""

    def shuffle(x, hook):
        return x[:, order]

    def unshuffle(out, hook):
        return out[:, back]

    hooks = [(f"blocks.{layer}.{norm}.hook_out", shuffle), (f"blocks.{layer}.hook_{part}_out", unshuffle)]
    gap = model.run_with_hooks(ids, fwd_hooks=hooks).softmax(-1) - model(ids).softmax(-1)
    return gap.abs().max().item()


# %% key="shuffle-figure" tags=["demo"]
show.bars(
    {layer_names[i]: [shuffled("mlp", "ln2", i), shuffled("attn", "ln1", i)] for i in range(n_layers)},
    series=["the MLP", "attention"],
    title="How far a probability moves when a part reads shuffled positions",
    note="The largest change of any token's probability at any position. An MLP's bar is too low to be seen.",
    x_name="layer",
    y_name="largest change of a probability",
)

# %% [markdown] key="shuffle-why" covers="N15"
# <details><summary>What you see, and why</summary>
#
# For the MLP **nothing**, but for rounding: `x @ W_in` is one dot product for each row and column, the curve is taken
# number by number, and no step has a sum over pos. For attention the bars are
# there to be seen: its weights depend on who stands before whom, and with the rows shuffled the mask hides others.
#
# </details>
#
# The same in one line, with your function: an MLP of one position is what the MLP of the whole text gives there.

# %% key="one-position" tags=["demo"]
own = (weights.W_in, weights.b_in, weights.W_out, weights.b_out)
at_once = mlp_of(x, *own)  # [batch pos d_model]
one_by_one = torch.cat([mlp_of(x[:, [i]], *own) for i in range(x.shape[1])], dim=1)  # [batch pos d_model]
print("all at once equals each alone:", torch.allclose(at_once, one_by_one, atol=1e-4))

# %% [markdown] key="memory" covers="N16" terms="key–value memory"
# ## 7 · A sum over neurons
#
# The output is post times $W_\text{out}$, and a vector times a matrix is a sum of the matrix's rows:
#
# $$
# \text{out} = b_\text{out} + \sum_{i=1}^{d_\text{mlp}} \text{post}_i\; w^\text{out}_i
# \qquad
# \text{post}_i = \operatorname{GELU}\big(x \cdot w^\text{in}_i + b^\text{in}_i\big)
# $$
#
# $w^\text{in}_i$ is column $i$ of $W_\text{in}$, $w^\text{out}_i$ is row $i$ of $W_\text{out}$. Put beside the formula of
# an attention head it looks familiar: something is compared with keys, and values are added with the weights that
# come of it. Hence the name **key–value memory** (Geva et al. 2021).
#
# | | attention | MLP |
# |---|---|---|
# | is compared | the query of this position | the stream at this position |
# | with the keys | of the earlier positions: made from the text | $w^\text{in}_i$: learned once, the same for every text |
# | the weights | softmax: positive, they sum to 1 | GELU: each neuron for itself, none or many may fire |
# | are added | the values of those positions | $w^\text{out}_i$: learned once |
#
# So attention remembers *this text*, and an MLP remembers *the training*. Where else could "Paris" be?
#
# A sum can be taken apart. What did each neuron write?

# %% [markdown] key="neuron-outputs"
# ### Exercise 06.4 · What each neuron writes
#
# *difficulty 2 · 10 minutes · stuck?* `hint("06.4")`
#
# $$o_i = \text{post}_i\; w^\text{out}_i$$
#
# $o_i$, d_model numbers, is what neuron $i$ alone adds to the stream at one position: its activation times row $i$ of
# $W_\text{out}$. Keep all neurons apart. The bias $b_\text{out}$ belongs to none of them.


# %% key="neuron-outputs-answer" exercise="06.4" covers="N16"
def neuron_outputs(
    post: Float[Tensor, "batch pos d_mlp"],
    W_out: Float[Tensor, "d_mlp d_model"],
) -> Float[Tensor, "batch pos d_mlp d_model"]:
    """The terms of post @ W_out before they are added.

    >>> post = tensor([[[2.0, 0.5]]])  # one text, one position, two neurons
    >>> neuron_outputs(post, tensor([[1.0, 0.0, 0.0], [0.0, 4.0, 0.0]])).tolist()
    [[[[2.0, 0.0, 0.0], [0.0, 2.0, 0.0]]]]
    """
    # SOLUTION
    # d_mlp is on the right as well, so it is not summed: each activation scales its own row.
    return einsum(post, W_out, "batch pos d_mlp, d_mlp d_model -> batch pos d_mlp d_model")
    # END


# %% key="neuron-outputs-grade"
grade(neuron_outputs)

# %% [markdown] key="neuron-outputs-why" solution="06.4"
# #### Why it works
#
# With d_mlp left out on the right, `einsum` would be the matrix product. With d_mlp kept it stops one step earlier.
#
# **What the classic mistake looks like.** `post[..., None, :] * W_out` lines the activations up with d_model in place
# of d_mlp. It fails at once, unless both have the same length: then each *column* is scaled, and the sum over neurons
# is wrong without a word. The result is large, d_model times as large as post: take a few positions at a time.

# %% key="neuron-outputs-second" solution="06.4"
# A second way: one more axis for post, so that each activation meets all numbers of its row.
post = cache[f"blocks.{layer}.mlp.hook_post"][:, -3:]  # [batch pos d_mlp], the last three positions
by_hand = post.unsqueeze(-1) * weights.W_out  # [batch pos d_mlp 1] * [d_mlp d_model]
torch.allclose(by_hand, neuron_outputs(post, weights.W_out))

# %% [markdown] key="sum-text" covers="N16"
# **Use it.** What your neurons write, added up with the bias, must be what the model's own MLP wrote:

# %% key="sum" tags=["demo"]
outputs_of = use(neuron_outputs)
last = cache[f"blocks.{layer}.mlp.hook_post"][:, -1:]  # [batch 1 d_mlp], at the last position
total = outputs_of(last, weights.W_out).sum(2) + weights.b_out  # [batch 1 d_model]
right = torch.allclose(total, cache[f"blocks.{layer}.hook_mlp_out"][:, -1:], atol=1e-4)
print(f"the sum of {d_mlp} neurons and the bias is the layer's output: {right}")

# %% [markdown] key="who-writes-most" covers="N16"
# Not all neurons say something. How long is what neuron $i$ writes? A vector times a number has a length that you can
# take from both:
#
# $$\lVert \text{post}_i\, w^\text{out}_i \rVert = |\text{post}_i| \cdot \lVert w^\text{out}_i \rVert$$
#
# Mind the $|\ldots|$: an activation may be negative, if only a little, and then the neuron writes its row turned round.

# %% [markdown] key="top-neurons"
# ### Exercise 06.5 · Who writes most?
#
# *difficulty 3 · 15 minutes · stuck?* `hint("06.5")`
#
# For each text and position, the ids of the $k$ neurons that write the longest vectors, the longest first. The length
# is the one above; $w^\text{out}_i$ is row $i$ of $W_\text{out}$. `torch.topk` gives values and their places.


# %% key="top-neurons-answer" exercise="06.5" covers="N16"
def top_neurons(
    post: Float[Tensor, "batch pos d_mlp"],
    W_out: Float[Tensor, "d_mlp d_model"],
    k: int,
) -> Int[Tensor, "batch pos k"]:
    """The neurons that write most, by the length of what they write.

    >>> post = tensor([[[1.0, -3.0, 2.0]]])  # one position, three neurons
    >>> top_neurons(post, tensor([[1.0], [1.0], [2.0]]), 2).tolist()  # lengths 1, 3 and 4
    [[[2, 1]]]
    """
    # SOLUTION
    lengths = post.abs() * W_out.norm(dim=-1)  # [batch pos d_mlp]; the norm of each row is [d_mlp]
    return lengths.topk(k).indices  # topk sorts, largest first
    # END


# %% key="top-neurons-grade"
grade(top_neurons)

# %% [markdown] key="top-neurons-why" solution="06.5"
# #### Why it works
#
# The length of a number times a vector is the number's size times the vector's length, so nothing of size
# [d_mlp d_model] has to be built for each position.
#
# **What the classic mistake looks like.** Ranking by activation alone. Where the rows have rather similar lengths the
# two rankings mostly agree, and the mistake goes unnoticed until a neuron with a small activation and a long row
# matters.

# %% key="top-neurons-second" solution="06.5"
# A second way, the long one: build what each neuron writes, then measure it.
measured = neuron_outputs(post, weights.W_out).norm(dim=-1)  # [batch pos d_mlp]
torch.equal(measured.argsort(-1, descending=True)[..., :5], top_neurons(post, weights.W_out, 5))

# %% [markdown] key="predict-few" tags=["predict"]
# **Predict.** Keep only the neurons that write most and drop the rest. How many of the neurons must stay, so that
# their sum is within a tenth of the sum of all (the distance between the two is a tenth of its length): fewer
# than ten, about one in ten, or more than that?

# %% key="guess-few" tags=["predict"]
my_guess = "?"  # fewer than ten, one in ten, or more

# %% key="few-neurons" tags=["demo"]
rank = use(top_neurons)


def distance_left(layer, some=8):
    """What is missing of the sum when only the k largest neurons are kept: [k], k = 1 … d_mlp − 1."""
    W_out = model.blocks[layer].mlp.W_out
    post = cache[f"blocks.{layer}.mlp.hook_post"][:, -some:]  # [batch pos d_mlp]
    largest_first = rank(post, W_out, d_mlp)[..., None].expand(-1, -1, -1, d_model)  # [batch pos d_mlp d_model]
    parts = outputs_of(post, W_out).gather(2, largest_first)  # [batch pos d_mlp d_model]
    missing = parts.flip(2).cumsum(2).flip(2)[:, :, 1:]  # what comes after the k-th: [batch pos d_mlp-1 d_model]
    left = missing.norm(dim=-1) / parts.sum(2).norm(dim=-1)[..., None]  # [batch pos d_mlp-1]
    return left.mean((0, 1))


left = torch.stack([distance_left(i) for i in range(n_layers)])  # [layer d_mlp-1]
needed = [(row > 0.1).sum().item() + 1 for row in left]

# %% key="few-neurons-figure" tags=["demo"]
places = torch.unique(torch.logspace(0, math.log10(d_mlp - 1), 60).long())  # numbers of neurons to show
show.lines(
    places,
    {name: row[places - 1] for name, row in zip(layer_names, left, strict=True)},
    title="How much of an MLP's sum a few neurons make",
    note=f"Within a tenth: {', '.join(map(str, needed))} of {d_mlp} neurons, by layer (on the story's last 8 tokens).",
    x_name="neurons kept, those that write most (logarithmic)",
    y_name="distance to the whole sum ÷ its length",
    log_x=True,
)

# %% [markdown] key="few-neurons-text" covers="N16"
# Compare the note with your guess. How sparse a layer is differs from model to model and from layer to layer. Two
# things are true of all of them: the first neurons do far more than their share, and a rest of many small
# contributions is not nothing.

# %% [markdown] key="promoted" covers="N16" terms="promoted tokens"
# ## 8 · What a neuron says
#
# A neuron writes the same vector every time, more or less of it. So one can ask once and for all what the vector means
# to the end of the model: unembed it. The product $w^\text{out}_i W_U$ has a number for each token of the vocabulary,
# how much the neuron raises or lowers its logit. The tokens it raises most are its **promoted tokens**.

# %% [markdown] key="promoted-tokens"
# ### Exercise 06.6 · Promoted tokens
#
# *difficulty 3 · 10 minutes · stuck?* `hint("06.6")`
#
# $$\text{effect} = w^\text{out}_i\, W_U$$
#
# $w^\text{out}_i$ is row $i$ of $W_\text{out}$ (`neuron` is $i$), $W_U$ the unembedding [d_model d_vocab]. Give the ids of
# the $k$ tokens with the largest effect, the most promoted first. No bias, no final LayerNorm.


# %% key="promoted-tokens-answer" exercise="06.6" covers="N16"
def promoted_tokens(
    W_out: Float[Tensor, "d_mlp d_model"],
    W_U: Float[Tensor, "d_model d_vocab"],
    neuron: int,
    k: int,
) -> Int[Tensor, "k"]:
    """The tokens whose logits a neuron raises most when it fires.

    >>> W_U = tensor([[0.0, 3.0, 1.0], [5.0, 0.0, 0.0]])  # d_model = 2, three tokens
    >>> promoted_tokens(torch.eye(2), W_U, 0, 2).tolist()  # neuron 0 writes along axis 0
    [1, 2]
    """
    # SOLUTION
    effect = W_out[neuron] @ W_U  # [d_model] @ [d_model d_vocab] → [d_vocab]
    return effect.topk(k).indices
    # END


# %% key="promoted-tokens-grade"
grade(promoted_tokens)

# %% [markdown] key="promoted-tokens-why" solution="06.6"
# #### Why it works
#
# The stream is a sum, and the unembedding is linear: what a neuron adds to the stream it adds to the logits, as its
# own row unembedded. Two things are left out. Between them stands the final LayerNorm, whose gain stretches some
# axes and whose division makes everything smaller where the stream is long. And later layers read what was written
# and answer it. So the list says most for the last layers.
#
# **What the classic mistake looks like.** `W_out[:, neuron]`, the column: d_mlp numbers, so that the product fails.
# On a square matrix it would not, and the words would be somebody else's.

# %% key="promoted-tokens-second" solution="06.6"
# A second way: sort all effects.
effects = model.blocks[-1].mlp.W_out[7] @ model.W_U  # [d_vocab]
five = promoted_tokens(model.blocks[-1].mlp.W_out, model.W_U, 7, 5)
torch.equal(effects.sort(descending=True).values[:5], effects[five])  # by effect: ties may change places

# %% [markdown] key="one-thing" covers="N16"
# ### Neurons that fire on one thing
#
# **Use it.** First a search: are there neurons that fire on one kind of word? The cell below reads texts that the
# model has not seen before and writes down all activations. For each kind of word and each neuron it takes the
# *correlation* of the neuron's activation with "the token here is of that kind", 1 or 0. A correlation of 1 would be a
# neuron that always says the same at such words and is always silent elsewhere.


# %% key="read-texts" tags=["demo"]
def read_posts(text):
    """A text's token ids [pos], and all activations on it: [pos layer d_mlp]."""
    found = []

    def note(post, hook):
        found.append(post[0])  # [pos d_mlp]

    def last_only(x, hook):
        return x[:, -1:]  # nobody asks for the logits here

    hooks = [(f"blocks.{i}.mlp.hook_post", note) for i in range(n_layers)]
    ids = model.to_tokens(text)  # [1 pos]
    model.run_with_hooks(ids, fwd_hooks=[*hooks, ("unembed.hook_in", last_only)])
    return ids[0], torch.stack(found, dim=1)


texts = [document.text for document in islice(documents(seed=61, split="held_out"), 50)]
read = [read_posts(text) for text in texts]
here = torch.cat([ids[1:-1] for ids, _ in read])  # the token at each place: [place]
after = torch.cat([ids[2:] for ids, _ in read])  # and the one that comes next: [place]
spoken = torch.cat([posts[1:-1] for _, posts in read])  # [place layer d_mlp]; BOS is left out
print(f"{len(texts)} texts, {len(here):,} tokens, {n_layers * d_mlp:,} neurons")

# %% key="kinds" tags=["demo"]
KINDS = {
    "boys' names": lexicon.BOYS,
    "girls' names": lexicon.GIRLS,
    "countries": countries,
    "capitals": cities,
    "colors": lexicon.COLORS,
    "numbers": facts.NUMBERS.split(),
    "days": facts.DAYS.split(),
    "months": facts.MONTHS.split(),
    "animals": lexicon.ANIMALS,
    "places": lexicon.PLACES,
    "prepositions": ["in", "on", "at", "to", "of", "with", "from", "for", "by", "near", "behind", "under"],
    "quotation marks": ['"', ',"', '."', '?"', '!"'],
}


def ids_of(words):
    """The ids of all words that are one token, with and without a space before them."""
    rows = [model.to_tokens(form, prepend_bos=False)[0] for word in words for form in (word, f" {word}")]
    return torch.cat([row for row in rows if len(row) == 1]).unique()


kind_ids = {kind: ids_of(words) for kind, words in KINDS.items()}


# %% key="correlations" tags=["demo"]
def standardized(values):
    """Each column [place, …] with mean 0 and variance 1."""
    values = values - values.mean(0)
    return values / values.square().mean(0).sqrt().clamp(min=1e-6)


def correlations(of_which):
    """How each neuron goes with "the token `of_which` [place] is of that kind": [kind layer d_mlp]."""
    marks = torch.stack([torch.isin(of_which, ids).float() for ids in kind_ids.values()], dim=-1)  # [place kind]
    return einsum(standardized(marks), loudness, "p kind, p layer n -> kind layer n") / len(here)


loudness = standardized(spoken)  # [place layer d_mlp]
fires_on = correlations(here)  # [kind layer d_mlp]

# %% key="correlations-figure" tags=["demo"]
show.matrix(
    fires_on.amax(-1).T.round(decimals=2),
    rows=layer_names,
    columns=list(KINDS),
    title="The neuron that fits a kind of word best, layer by layer",
    note=f"Highest of all: {list(KINDS)[fires_on.amax((1, 2)).argmax()]}, {fires_on.max():.2f}. 1 would be perfect.",
    row_name="layer",
    column_name="kind of the token here",
    value_name="correlation",
    diverging=False,
    numbers_in_cells=True,
)

# %% [markdown] key="best-neuron-text" covers="N16"
# Take the best of them all and look at it: how loud is it at words of its kind, and elsewhere?

# %% key="best-neuron" tags=["demo"]
kind, of_layer, neuron = (int(i) for i in torch.unravel_index(fires_on.argmax(), fires_on.shape))
kind_name = list(KINDS)[kind]
best_name = f"neuron {neuron} of layer {of_layer}"
activation = spoken[:, of_layer, neuron]  # [place]
inside = torch.isin(here, kind_ids[kind_name])  # [place]

show.histogram(
    {
        f"{kind_name}: {inside.sum()} tokens": activation[inside],
        f"all else: {(~inside).sum():,} tokens": activation[~inside],
    },
    title=f"How loud {best_name} is",
    note=f"Its mean is {written(activation[inside].mean())} at {kind_name} and "
    f"{written(activation[~inside].mean())} elsewhere.",
    x_name="activation (post)",
    y_name="share of the tokens",
)

# %% key="best-neuron-in-text" tags=["demo"]
most = [int((torch.isin(ids, kind_ids[kind_name])).sum()) for ids, _ in read]
example = max(range(len(texts)), key=lambda i: most[i] / len(read[i][0]))  # the text densest in such words
ids, posts = read[example]
n = min(len(ids), 45)
show.tokens(
    [model.to_string(i) for i in ids[:n]],
    posts[:n, of_layer, neuron].round(decimals=2),
    title=f"What {best_name} says, token by token",
    note=f"It was chosen for {kind_name}. Look for boxes that do not fit, and for such words that are pale.",
    value_name="activation",
)

# %% [markdown] key="other-way-text" covers="N16"
# Now the other end: which words does a neuron *promote*? Below, the best neuron of each kind, with the tokens that it
# raises most. (Only tokens are listed that have an embedding of their own. The pocket model has met no others.)

# %% key="promoted-by-best" tags=["demo"]
never_met = model.W_E[model.to_single_token(" quantum")]
known_ids = (model.W_E != never_met).any(-1).nonzero()[:, 0]  # [known]
W_U_known = model.W_U[:, known_ids]  # [d_model known]
promoted = use(promoted_tokens)


def visible(token):
    return token.replace(" ", "·").replace("\n", "↵")


def words_of(layer, neuron, k=5, sign=1):
    """The k words that a neuron promotes most (or, with sign=-1, holds back), as one string."""
    best = promoted(sign * model.blocks[layer].mlp.W_out, W_U_known, neuron, k)
    return " ".join(visible(model.to_string(known_ids[i])) for i in best)


# %% key="promoted-by-best-shown" tags=["demo"]
rows = []
for name, found in zip(KINDS, fires_on, strict=True):
    i, j = divmod(int(found.argmax()), d_mlp)
    rows.append([name, f"{i}.{j}", f"{found.max():.2f}", words_of(i, j)])
show.table(
    rows,
    ["fires on", "layer.neuron", "correlation", "promotes"],
    title="The best neuron for each kind of word",
    note="· is a space. A neuron of an early layer writes for the layers after it, so its words may look odd.",
)

# %% [markdown] key="says-what-comes-text" covers="N16"
# What a neuron recognizes and what it promotes need not be the same: the key is what stands here, the value is what
# should come. In the last layers one expects neurons that fire *before* words of a kind and promote them. Search for
# them in the same way, with the *next* token's kind, in the last layer.

# %% key="says-what-comes" tags=["demo"]
fires_before = correlations(after)[:, -1]  # [kind d_mlp], of the last layer
rows, fits = [], []
for name, found in zip(KINDS, fires_before, strict=True):
    j = int(found.argmax())
    raised = promoted(model.blocks[-1].mlp.W_out, W_U_known, j, 10)
    fitting = int(torch.isin(known_ids[raised], kind_ids[name]).sum())
    loudest = spoken[:, -1, j].topk(20).indices  # the 20 tokens at which it is loudest
    comes = torch.isin(after[loudest], kind_ids[name]).float().mean()
    usual = torch.isin(after, kind_ids[name]).float().mean()
    rows.append([name, str(j), f"{comes:.0%}", f"{usual:.1%}", f"{fitting} of 10", words_of(n_layers - 1, j)])
    fits.append(fitting >= 5)

# %% key="says-what-comes-shown" tags=["demo"]
show.table(
    rows,
    ["fires before", "neuron", "follows when loud", "follows anywhere", "promoted of that kind", "promotes"],
    verdicts=fits,
    verdict_name="fits",
    title=f"Neurons of layer {n_layers - 1} that fire before words of a kind",
    note="Follows when loud: the share of the 20 tokens at which the neuron is loudest that have such a word after them. "
    "Follows anywhere: the share of all tokens.",
)

# %% [markdown] key="picked-neurons" covers="N16"
# Where *fits* is ticked, a whole entry of the dictionary lies open: the neuron fires where such a word is due, and it
# raises such words.
#
# A warning belongs here. These neurons were picked out of thousands, each for one kind of word out of twelve, so some
# must look good. What about all the others?

# %% key="how-many-fit" tags=["demo"]
best = torch.maximum(fires_on, correlations(after)).amax(0)  # [layer d_mlp], the token here or the next
for name, row in zip(layer_names, best, strict=True):
    print(f"{name}: {(row > 0.5).float().mean():.1%} of the neurons fit one of the twelve kinds above 0.5")

# %% [markdown] key="polysemantic" covers="N16" terms="polysemantic"
# Twelve kinds are not all there is in a text, and a finer list would find more. But the neurons that fit nobody's list
# are a fact of life. A neuron that fires on several things that have nothing to do with each other is called
# **polysemantic**: a model has more to remember than it has neurons. That will matter when we take a fact out.

# %% [markdown] key="erasing" covers="N16" terms="erasing neuron"
# ## 9 · Neurons that erase
#
# The stream is a memory that is only ever added to. How can a model get rid of something it no longer needs? It adds
# the opposite. A neuron that reads along one direction and writes along the opposite one takes away what it finds:
# an **erasing neuron**. The measure is the cosine of the two vectors. −1: it writes exactly against what it reads. 0:
# the two have nothing to do with each other. +1: it makes what it reads stronger.
#
# By hand: a stream holds a direction $u$ of length 1, $t$ times. A neuron reads along $u$, with bias 0, and writes
# against it. How much of $u$ is left after it?

# %% key="eraser-by-hand" tags=["demo"]
t = torch.linspace(-4, 4, 81)
show.lines(
    t,
    {"no neuron": t, "cosine −1, as long as u": t - curve(t), "cosine −1, half as long": t - curve(t) / 2},
    title="What an erasing neuron leaves",
    note="What lies above 0 is taken away, whole or half; what lies below stays: GELU lets only one side through.",
    x_name="u in the stream before",
    y_name="u in the stream after",
)

# %% [markdown] key="eraser-measure" covers="N16"
# So a neuron takes away only *one* side of a direction, that above its threshold. Two of them, reading along $u$ and
# along $-u$, could take away both. First measure all cosines.

# %% [markdown] key="erasure-score"
# ### Exercise 06.7 · Erasure score
#
# *difficulty 3 · 10 minutes · stuck?* `hint("06.7")`
#
# $$
# \cos_i = \frac{w^\text{in}_i \cdot w^\text{out}_i}{\lVert w^\text{in}_i \rVert \; \lVert w^\text{out}_i \rVert}
# $$
#
# $w^\text{in}_i$ is column $i$ of $W_\text{in}$, what neuron $i$ reads; $w^\text{out}_i$ is row $i$ of $W_\text{out}$, what
# it writes. One number between −1 and 1 for each neuron. torch's own cosine functions are not allowed here.


# %% key="erasure-score-answer" exercise="06.7" covers="N16"
def erasure_score(
    W_in: Float[Tensor, "d_model d_mlp"],
    W_out: Float[Tensor, "d_mlp d_model"],
) -> Float[Tensor, "d_mlp"]:
    """The cosine between what each neuron reads and what it writes; −1 erases.

    >>> W_in = tensor([[1.0, 2.0], [0.0, 0.0]])  # two neurons, both read along axis 0
    >>> erasure_score(W_in, tensor([[-3.0, 0.0], [0.0, 1.0]])).tolist()
    [-1.0, 0.0]
    """
    # SOLUTION
    reads_along = W_in.T  # [d_mlp d_model], like W_out
    dots = (reads_along * W_out).sum(-1)  # [d_mlp]: each neuron's own pair
    return dots / (reads_along.norm(dim=-1) * W_out.norm(dim=-1))
    # END


# %% key="erasure-score-grade"
grade(erasure_score)

# %% [markdown] key="erasure-score-why" solution="06.7"
# #### Why it works
#
# After the transpose both are [d_mlp d_model], a row for each neuron, so that a product number by number and a sum
# over d_model are d_mlp dot products.
#
# **What the classic mistake looks like.** `W_out @ W_in` is [d_mlp d_mlp]: what each neuron writes against what each
# *other* one reads. Only its diagonal is wanted here. (The rest is about neurons that talk to each other, and would
# make sense between one layer and a later one.)

# %% key="erasure-score-second" solution="06.7"
# A second way: bring all vectors to length 1 first.
unit_in = weights.W_in / weights.W_in.norm(dim=0)  # [d_model d_mlp]
unit_out = weights.W_out / weights.W_out.norm(dim=1, keepdim=True)  # [d_mlp d_model]
by_units = einsum(unit_in, unit_out, "d_model d_mlp, d_mlp d_model -> d_mlp")
torch.allclose(by_units, erasure_score(weights.W_in, weights.W_out), atol=1e-5)

# %% [markdown] key="stream-side" covers="N16"
# **Use it.** One thing must be said first. $W_\text{in}$ reads the *normalized* stream, and between the stream and it
# stand LayerNorm's centering and its gain $w$. Both are linear, so they can be folded into $W_\text{in}$, as in chapter
# 04: row $m$ times $w_m$, then each column minus its mean. Then both vectors are directions of the stream, and can be
# compared honestly. (The division by the scale changes no direction.)
#
# For comparison: two *random* directions of d_model numbers have cosines around 0 with a spread of about
# $1/\sqrt{d_\text{model}}$.

# %% key="erasure" tags=["demo"]
score_of = use(erasure_score)


def as_the_stream_sees_it(layer):
    """W_in with the norm's gain and centering folded in: [d_model d_mlp]."""
    block = model.blocks[layer]
    folded = block.ln2.w[:, None] * block.mlp.W_in  # row m times w_m
    return folded - folded.mean(0)


erasure = {layer_names[i]: score_of(as_the_stream_sees_it(i), model.blocks[i].mlp.W_out) for i in range(n_layers)}
a, b = torch.randn(2, d_model, d_mlp, generator=rng)
limit = 5 / d_model**0.5  # five spreads of random cosines
below = ", ".join(str((cosines < -limit).sum().item()) for cosines in erasure.values())
beyond = ", ".join(str((cosines > limit).sum().item()) for cosines in erasure.values())
show.histogram(
    {**erasure, "random directions": score_of(a, b.T)},
    title="What a neuron reads and what it writes",
    note=f"Of {d_mlp} neurons in each layer {below} lie more than five random spreads below 0 (under −{limit:.2f}), and "
    f"{beyond} as far above.",
    x_name="cosine of the two directions (−1: erases, +1: strengthens)",
    y_name="share of the neurons",
)

# %% key="erasers" tags=["demo"]
every = torch.stack(list(erasure.values()))  # [layer d_mlp]
rows = []
for i in every.flatten().argsort()[:6]:
    where, which = divmod(int(i), d_mlp)
    loud = (spoken[:, where, which] > 0.5).float().mean()
    rows.append(
        [f"{where}.{which}", every[where, which].round(decimals=2), f"{loud:.1%}", words_of(where, which, sign=-1)]
    )
show.table(
    rows,
    ["layer.neuron", "cosine", "fires at", "what it writes lowers most"],
    title="The six neurons that erase most",
    note="Fires at: the share of the tokens in the texts of section 8 at which its activation is above 0.5.",
)

# %% [markdown] key="erasure-at-work-text" covers="N16"
# A cosine is about weights. Does the neuron erase anything in a text? Take the first of the table. Call $r$ the
# direction along which it reads, with length 1. For each token: how much of $r$ is in the stream before this MLP, and
# how much of $r$ does the neuron add? Erasing means that the second is negative where the first is large.

# %% key="erasure-at-work" tags=["demo"]
where, which = divmod(int(every.argmin()), d_mlp)
r = as_the_stream_sees_it(where)[:, which]
r = r / r.norm()  # [d_model]
strength = model.blocks[where].mlp.W_out[which] @ r  # how much of r one unit of activation adds
before, adds = [], []
for text in texts[:8]:
    _, c = model.run_with_cache(text)
    before.append(c[f"blocks.{where}.ln2.hook_in"][0, 1:] @ r)  # [pos-1], BOS left out
    adds.append(c[f"blocks.{where}.mlp.hook_post"][0, 1:, which] * strength)
before, adds = torch.cat(before), torch.cat(adds)  # [place]
loud = adds < adds.quantile(0.1)  # the tenth of the tokens where it takes away most
share = -adds[loud].mean() / before[loud].mean()

# %% key="erasure-at-work-figure" tags=["demo"]
picked = torch.randperm(len(before), generator=rng)[:400]
show.points(
    torch.stack([before, adds], dim=-1)[picked],
    title=f"Neuron {which} of layer {where} at work (cosine {written(every[where, which])})",
    note=f"Each point is a token. At the tenth of the tokens where it takes away most, that is {share:.0%} of what is "
    "there.",
    x_name="r in the stream before the MLP",
    y_name="r that this neuron adds",
)

# %% key="erasure-verdict" tags=["demo"]
lowest = every.min()
print(f"The lowest cosine of this model is {written(lowest)}.", end=" ")
print("That neuron is nearly a pure eraser." if lowest < -0.7 else "No neuron of this model is a pure eraser.")

# %% [markdown] key="erasure-text" covers="N16"
# Where a model has no pure erasers, two explanations are left: it has room enough in its stream and need not clean up,
# or it cleans up with several neurons and heads together, which no cosine of one neuron can show. One
# would expect a model with more layers, which all share one stream, to have more to clean up. Try GPT-2, if you have
# it.

# %% [markdown] key="counting" covers="N15" terms="parameter"
# ## 10 · Where the numbers are
#
# A **parameter** is a number that was learned in training, and stays as it is whatever text is read. You will read that
# "two thirds of a transformer's parameters are in its MLPs". Two thirds of *what*? Count the matrices of one block, with
# $d$ for d_model:
#
# - attention: $W_Q, W_K, W_V$ and $W_O$, $d \times d$ each when all heads are put side by side: $4 d^2$;
# - MLP: $W_\text{in}$ and $W_\text{out}$, $d \times 4d$ and $4d \times d$: $8 d^2$.
#
# So $8 / 12$, two thirds **of the blocks' matrices**. Biases and LayerNorms are lines of $d$ numbers and change the
# share by little. But a model is more than its blocks.

# %% [markdown] key="predict-share" tags=["predict"]
# **Predict.** GPT-2 small has 124 million parameters: 12 blocks with $d = 768$, and an embedding for each of 50,257
# tokens. What share of *all* its parameters is in its MLPs: about a quarter, a little under a half, or two thirds?

# %% key="guess-share" tags=["predict"]
my_guess = "?"  # a quarter, under a half, or two thirds

# %% [markdown] key="count-parameters"
# ### Exercise 06.8 · Count the parameters
#
# *difficulty 2 · 15 minutes · stuck?* `hint("06.8")`
#
# From the sizes in `cfg` alone, a dict with these keys. Every tensor counts, biases too.
#
# | key | what |
# |---|---|
# | `embed` | $W_E$ [d_vocab d_model]. The unembedding is the same table, so it counts once; GPT-2 has no bias there |
# | `pos` | $W_\text{pos}$ [n_ctx d_model] |
# | `attn` | of all layers: $W_Q, W_K, W_V$ [n_heads d_model d_head], $b_Q, b_K, b_V$ [n_heads d_head], $W_O$ [n_heads d_head d_model], $b_O$ [d_model] |
# | `mlp` | of all layers: $W_\text{in}$ [d_model d_mlp], $b_\text{in}$ [d_mlp], $W_\text{out}$ [d_mlp d_model], $b_\text{out}$ [d_model] |
# | `ln` | every LayerNorm has a gain and a bias [d_model]; two in each layer and the final one |
# | `total` | all of these |
#
# `cfg` has `d_model`, `n_layers`, `n_heads`, `d_head`, `d_mlp`, `d_vocab` and `n_ctx`. Take nothing for granted:
# d_mlp need not be four times d_model, nor n_heads · d_head be d_model.


# %% key="count-parameters-answer" exercise="06.8" covers="N15"
def count_parameters(cfg) -> dict[str, int]:
    """How many numbers each kind of part holds, in a model of these sizes.

    >>> sizes = dict(d_model=2, n_layers=1, n_heads=1, d_head=2, d_mlp=8, d_vocab=10, n_ctx=4)
    >>> count_parameters(SimpleNamespace(**sizes))
    {'embed': 20, 'pos': 8, 'attn': 24, 'mlp': 42, 'ln': 12, 'total': 106}
    """
    # SOLUTION
    heads = cfg.n_heads * cfg.d_head  # the width of all heads side by side
    counts = {
        "embed": cfg.d_vocab * cfg.d_model,
        "pos": cfg.n_ctx * cfg.d_model,
        "attn": cfg.n_layers * (3 * (cfg.d_model * heads + heads) + heads * cfg.d_model + cfg.d_model),
        "mlp": cfg.n_layers * (cfg.d_model * cfg.d_mlp + cfg.d_mlp + cfg.d_mlp * cfg.d_model + cfg.d_model),
        "ln": (2 * cfg.n_layers + 1) * 2 * cfg.d_model,
    }
    return counts | {"total": sum(counts.values())}
    # END


# %% key="count-parameters-grade"
grade(count_parameters)

# %% [markdown] key="count-parameters-why" solution="06.8"
# #### Why it works
#
# A tensor has as many numbers as the product of its axes. Written in the order of the table, each term is one tensor.
#
# **What the classic mistake looks like.** Counting the unembedding. GPT-2 small is then 163 million, a number that
# one does find in print: some programs store the tied table twice.

# %% key="count-parameters-second" solution="06.8"
# A second way: ask the model's own tensors. Only the unembedding must not count twice.
own_mlp = sum(
    w.numel() for block in model.blocks for w in (block.mlp.W_in, block.mlp.b_in, block.mlp.W_out, block.mlp.b_out)
)
print("the same as by sizes:", own_mlp == count_parameters(model.cfg)["mlp"])

# %% key="examples-run" solution="06.8"
import doctest

doctest.testmod()  # the examples in the docstrings of all eight exercises, run

# %% [markdown] key="counts-text" covers="N15"
# **Use it** on this model and on the four sizes in which GPT-2 was published.

# %% key="counts" tags=["demo"]
count = use(count_parameters)
GPT2 = {"small": (12, 768, 12), "medium": (24, 1024, 16), "large": (36, 1280, 20), "XL": (48, 1600, 25)}


def sizes_of(n_layers, d_model, n_heads):
    return SimpleNamespace(
        n_layers=n_layers, d_model=d_model, n_heads=n_heads, d_head=64, d_mlp=4 * d_model, d_vocab=50257, n_ctx=1024
    )


counted = {"this model": count(model.cfg)} | {f"GPT-2 {name}": count(sizes_of(*s)) for name, s in GPT2.items()}
columns = ["embed", "pos", "attn", "mlp", "ln", "total"]
show.table(
    [[name, *(f"{parts[column]:,}" for column in columns)] for name, parts in counted.items()],
    ["model", *columns],
    title="Parameters by part",
    note="The unembedding is the embedding's table again, and is counted once.",
)

# %% key="shares" tags=["demo"]
shares = {}
for name, parts in counted.items():
    shares[name] = [parts["mlp"] / (parts["attn"] + parts["mlp"]), parts["mlp"] / parts["total"]]
small = shares["GPT-2 small"]
show.bars(
    shares,
    series=["of attention and MLPs", "of all parameters"],
    title="The share of the parameters that is in MLPs",
    note=f"GPT-2 small: {small[0]:.1%} of attention and MLPs together, {small[1]:.1%} of all parameters.",
    x_name="model",
    y_name="share in MLPs",
    baseline=2 / 3,
    baseline_name="two thirds",
)

# %% [markdown] key="two-thirds" covers="N15"
# Said precisely: **MLPs hold two thirds of what is in the blocks**, of attention and MLPs together. That holds for
# every GPT-2 with $d_\text{mlp} = 4\, d_\text{model}$, large or small. Of *all* parameters the share depends on the size,
# because the embedding grows with $d$ and the blocks with $n_\text{layers}\, d^2$: a little under a half in GPT-2 small,
# nearer to two thirds in the largest. In a small model with a large vocabulary most is embedding: see the table above.

# %% [markdown] key="answer" covers="N16" terms="ablation"
# ## 11 · Back to the question: taking a fact out
#
# Where was Paris? If a fact is kept in neurons, silencing the right ones must make the model forget it, and it alone.
# Switching off parts of a model to see what they are good for is called **ablation**.
#
# Which neurons? First an estimate. Let the *lead* of "Paris" be its logit minus the mean logit of all capitals, so
# that whatever speaks for capitals in general cancels. The gradient of the lead says how much it changes when an
# activation moves a little. A neuron that says the same of every country cannot hold a fact about one. So multiply:
# *what is special* about a neuron's activation here, compared with its mean over all countries, times the gradient.
# That estimates how much of the lead $\ell$ neuron $i$ carries:
#
# $$\text{carries}_i \approx \big(\text{post}_i - \overline{\text{post}}_i\big)\,
# \frac{\partial\, \ell}{\partial\, \text{post}_i}$$
#
# $\overline{\text{post}}_i$ is the neuron's mean activation at the same position over the questions about all
# countries.


# %% key="carried" tags=["demo"]
def posts_and_lead(texts, right_ids, hooks=()):
    """All activations [text layer pos d_mlp] and their gradients, for the lead of each text's right answer."""
    posts = []

    def keep(post, hook):
        if not post.requires_grad:
            post = post.detach().requires_grad_()  # the model's weights are frozen: begin here
        post.retain_grad()
        posts.append(post)
        return post

    keeping = [(f"blocks.{i}.mlp.hook_post", keep) for i in range(n_layers)]
    logits = last_logits(texts, [*hooks, *keeping])  # [text d_vocab]
    lead = logits[torch.arange(len(texts)), right_ids] - logits[:, city_ids].mean(-1)  # [text]
    lead.sum().backward()  # no text depends on another, so each gets its own gradient
    return torch.stack([post.detach() for post in posts], 1), torch.stack([post.grad for post in posts], 1)


posts, gradients = posts_and_lead(questions, city_ids)
usual = posts.mean(0)  # [layer pos d_mlp], the mean over all countries
carries = (posts - usual) * gradients  # [country layer pos d_mlp]

# %% key="carried-figure" tags=["demo"]
france = countries.index("France")
question_tokens = model.to_str_tokens(questions[france])
by_place = carries[france].sum(-1)  # [layer pos], all neurons of a place together
top_layer, top_place = divmod(int(by_place.argmax()), by_place.shape[1])
show.matrix(
    by_place.round(decimals=1) + 0.0,
    rows=layer_names,
    columns=question_tokens,
    title=f"Where the MLPs carry {cities[france]!r}",
    note=f"All neurons of a place together. Most is carried in layer {top_layer} at {question_tokens[top_place]!r}.",
    row_name="layer",
    column_name="token",
    value_name="lead carried",
    numbers_in_cells=True,
)

# %% [markdown] key="where-carried" covers="N16"
# Before the name of the country all questions are the same, so nothing special can be carried there: zeros. At the
# name the fact can be looked up at once; at the last token, after attention has carried something over. The figure
# shows how this model divides the work.
#
# Now single neurons. The strongest are silenced first, that is, their activation is set to 0 at every position. But
# when some are gone, the others may matter more. So silence four, estimate again, silence the next four, and so on.


# %% key="ranked" tags=["demo"]
def silent(neurons):
    """Hooks that silence these neurons, numbered through all layers, at every position."""
    hooks = []
    for i in range(n_layers):
        mine = neurons[neurons // d_mlp == i] % d_mlp

        def off(post, hook, mine=mine):
            return post.index_fill(-1, mine, 0.0)

        hooks.append((f"blocks.{i}.mlp.hook_post", off))
    return hooks


question, answer = [questions[france]], city_ids[[france]]
ranked = torch.zeros(0, dtype=torch.long)  # the strongest first, numbered through all layers
while len(ranked) < 96:
    now, gradient = posts_and_lead(question, answer, silent(ranked))  # [1 layer pos d_mlp]
    estimate = ((now - usual) * gradient).sum((0, 2)).flatten()  # [layer·d_mlp]
    estimate[ranked] = -torch.inf  # they are silent already
    ranked = torch.cat([ranked, estimate.topk(4).indices])

# %% [markdown] key="predict-fact" tags=["predict"]
# **Predict.** The neurons are silenced in this order. How many of the model's thousands must go before it no longer
# says "Paris": one, a dozen, some dozens, or half of them? And how many of the other capitals will have gone with it
# by then?

# %% key="guess-fact" tags=["predict"]
my_guess = "?"  # neurons for Paris; other capitals lost


# %% key="silenced" tags=["demo"]
def chance_of_paris(neurons):
    return last_logits(question, silent(neurons)).softmax(-1)[0, answer.item()]


steps = [0, 1, 2, 4, 8, 16, 24, 32, 40, 48, 64, 96]
others = torch.arange(len(countries)) != france
first_estimate = carries[france].sum(1).flatten().argsort(descending=True)
at_random = torch.randperm(n_layers * d_mlp, generator=rng)
curves = {
    "Paris": [chance_of_paris(ranked[:k]) for k in steps],
    "Paris, estimated only once": [chance_of_paris(first_estimate[:k]) for k in steps],
    "Paris, neurons at random": [chance_of_paris(at_random[:k]) for k in steps],
    "the other capitals, mean": [answers(silent(ranked[:k]))[1][others].mean() for k in steps],
}
show.lines(
    [str(k) for k in steps],
    curves,
    title="The probability of the right capital when neurons fall silent",
    note=f"With {steps[-1]} of {n_layers * d_mlp:,} neurons silent Paris has {curves['Paris'][-1]:.2f}, "
    f"the other capitals {curves['the other capitals, mean'][-1]:.2f} on average.",
    x_name="neurons silenced",
    y_name="probability of the right answer",
)


# %% key="how-few" tags=["demo"]
def says_paris(k):
    return last_logits(question, silent(ranked[:k])).argmax(-1).item() == answer.item()


few = next((k for k in range(4, len(ranked), 4) if not says_paris(k)), len(ranked))
taken_out = silent(ranked[:few])
said_before, chance_before = answers()
said_now, chance_now = answers(taken_out)
lost = [i for i in range(len(countries)) if said_before[i] == city_ids[i] and said_now[i] != city_ids[i]]
print(f"{few} neurons silent, {few / (n_layers * d_mlp):.1%} of all")
print(f"the capital of France is now {model.to_string(said_now[france])!r}")
print(f"of the {len(countries) - 1} other capitals {len(lost) - (france in lost)} are lost as well")

# %% [markdown] key="what-else-text" covers="N16"
# ### What else breaks?
#
# Three questions. First: is the *fact* gone, or only the answer to this one question? The model's world tells every
# fact in many forms. Ask for Paris in all of them.

# %% key="other-forms" tags=["demo"]
capital = facts.RELATION["capital"]
forms = [
    facts.fact_sentence(frame, way, capital, "France", "Paris", "Anna", "Tom").split(" Paris")[0]
    for frame, way in facts.FORMS
]
before, now = (last_logits(forms, hooks).argmax(-1) for hooks in ((), taken_out))  # [form]
show.table(
    [[form, model.to_string(a), model.to_string(b)] for form, a, b in zip(forms, before, now, strict=True)],
    ["the question", "before", "now"],
    verdicts=(now == answer).tolist(),
    verdict_name="still Paris",
    title=f"The same fact in {len(forms)} forms, with {few} neurons silent",
    note=f"The neurons were chosen on one form. Of all forms {(before == answer).sum()} gave Paris before, "
    f"{(now == answer).sum()} still do.",
)

# %% [markdown] key="what-else-capitals-text" covers="N16"
# Second: what of the other capitals?

# %% key="what-else-capitals" tags=["demo"]
change = chance_now - chance_before  # [country]
most_hit = change.argsort()[:8].tolist()
next_hit = next(i for i in most_hit if i != france)
show.bars(
    {countries[i]: [chance_before[i], chance_now[i]] for i in most_hit},
    series=["before", "now"],
    title=f"The right capital's probability, with {few} neurons silent",
    note=f"The eight countries that lose most. Next to France it is {countries[next_hit]}: from "
    f"{chance_before[next_hit]:.3f} to {chance_now[next_hit]:.3f}.",
    x_name="country",
    y_name="probability of the right capital",
)

# %% [markdown] key="what-else-relations-text" covers="N16"
# Third: what of everything else? All other facts of the model's world, before and after, and in the last line the
# surprise on the four texts of section 3, which are about anything.


# %% key="what-else" tags=["demo"]
def share_known(relation, hooks=()):
    """The share of a relation's facts that the model completes."""
    tell = relation.tells[0]
    asked = [f"Everyone knows that {tell.format(x=x, y=y)}".removesuffix(f" {y}") for x, y in relation.pairs]
    first = [model.to_tokens(f" {y}", prepend_bos=False)[0, 0] for _, y in relation.pairs]
    return (last_logits(asked, hooks).argmax(-1) == torch.stack(first)).float().mean().item()


rows = []
for relation in facts.RELATIONS:
    was, is_now = share_known(relation), share_known(relation, taken_out)
    moved = "none" if is_now == was else f"{is_now - was:+.1%}".replace("-", "−")
    rows.append([relation.name, str(len(relation.pairs)), f"{was:.1%}", f"{is_now:.1%}", moved])
was, is_now = -as_it_is.mean().item(), surprise(taken_out)
rows.append(["surprise, nats a token", "", f"{was:.3f}", f"{is_now:.3f}", f"{is_now - was:+.3f}".replace("-", "−")])
show.table(
    rows,
    ["facts", "how many", "right before", "right now", "change"],
    title=f"Everything else, with {few} neurons silent",
    note="A knife that cut out one fact alone would cost the first line one fact, and leave all others as they were.",
)

# %% [markdown] key="who-they-are" covers="N16"
# And the neurons themselves? For each: where in the question it carries most, for how many countries it carries
# something, for which of them most, and which tokens it promotes.

# %% key="who-they-are-shown" tags=["demo"]
per_neuron = carries.sum(2).flatten(1)  # [country layer·d_mlp]
rows, served = [], []
for i in ranked[:few]:
    where, which = divmod(int(i), d_mlp)
    place = question_tokens[int(carries[france, where, :, which].argmax())]
    best = per_neuron[:, i].topk(4).indices
    served.append(int((per_neuron[:, i] > 0.05).sum()))
    names = ", ".join(countries[j] for j in best if per_neuron[j, i] > 0.05)
    rows.append([f"{where}.{which}", visible(place), str(served[-1]), names, words_of(where, which, 4)])
alone = sum(count <= 1 for count in served)
show.table(
    rows[:12],
    ["layer.neuron", "carries at", "countries", "most of all", "promotes"],
    title=f"The first twelve of the {few} neurons that carried Paris",
    note=f"Countries: for how many of {len(countries)} it carries more than 0.05 of the lead. Of the {few} neurons "
    f"{alone} carry so much for one country at most; the others serve {max(served)} or fewer.",
)

# %% [markdown] key="answer-text" covers="N16"
# So where was Paris? In no neuron of its own. Many neurons carry it together, at the places that the first figure of
# this section shows. As many neurons picked at random do it no harm.
#
# Most of these neurons carry something for other countries as well. If the others keep their capitals all the same, it
# is because each of them loses only a few of its own carriers: what is spread out survives a few holes. The same holds
# for Paris itself. Where another form of the question still finds it, other neurons bring it there.
#
# Compare with the two neurons of section 2, which held one fact each. The trained model has the same parts, keys that
# recognize and values that are written, and uses them otherwise:
#
# **a fact is a pattern over many neurons, and a neuron is a part of many facts.**
#
# Two cautions. The order was an estimate from gradients, so a smaller set may exist. And silencing an answer is not the
# same as forgetting a fact: the table of forms says how far it reached. Methods that change a fact on purpose go
# further; see the end of the chapter.

# %% [markdown] key="summary"
# ## Summary
#
# Say it in your own words first, then compare.
#
# - An MLP reads ($xW_\text{in} + b_\text{in}$), decides (GELU) and writes ($W_\text{out}$, $b_\text{out}$). Its one hidden
#   layer has $4\, d_\text{model}$ neurons.
# - Without the curve the two matrices would be one, and no neuron could say "this *and* that". GPT-2's curve is GELU by
#   its tanh formula; the look-alikes give other numbers.
# - An MLP treats each position alone: shuffle what it reads, and what it writes is shuffled likewise.
# - Its output is a sum over neurons, key against stream, value written: a memory of the training as attention is one
#   of the text.
# - A neuron's written vector, unembedded, names the tokens it promotes. A cosine near −1 between what it reads and what
#   it writes is the mark of a neuron that erases.
# - MLPs hold two thirds of the parameters *of the blocks*; of the whole of GPT-2 small a little under half.
# - A fact is spread over several neurons, and these neurons serve other facts as well.

# %% [markdown] key="self-test"
# ## Test yourself
#
# **1.** You change one word at position 3. In layer 0, can the MLP's output at position 7 change? Position 7 is
# treated alone, after all.
#
# <details><summary>Answer</summary>
#
# Yes. The MLP looks at position 7's stream alone, but that stream has been through the attention of layer 0 before
# the MLP reads it, and attention may have fetched something from position 3. "Alone" is about what the MLP does, not
# about what it is given.
#
# </details>
#
# **2.** A neuron reads along a direction $u$ of length 1 and writes $-u$; its bias is 0, and there is no LayerNorm. The
# stream holds $3u$. What is left of it after this neuron? And of $-3u$?
#
# <details><summary>Answer</summary>
#
# Of $3u$ next to nothing: pre is 3, GELU(3) is 2.996, and $3u - 2.996u = 0.004u$. Of $-3u$ nearly all: pre is −3,
# GELU(−3) is −0.004, so $-0.004$ times $-u$ is added and $-2.996u$ is left. It erases one side only.
#
# </details>
#
# **3.** In another model $d_\text{mlp} = 2\, d_\text{model}$, and all else is as in GPT-2. What share of its blocks do the
# MLPs hold, biases and norms aside?
#
# <details><summary>Answer</summary>
#
# Half: $2 \cdot d \cdot 2d = 4d^2$ for the MLP beside $4d^2$ for attention. "Two thirds" is not a law of transformers,
# it is the factor 4.
#
# </details>

# %% [markdown] key="glossary" covers="N21"
# ## Words met
#
# | term | meaning |
# |---|---|
# | MLP | multi-layer perceptron: two linear maps with an activation function between them |
# | hidden layer | the numbers between the two maps, d_mlp of them |
# | neuron | one number of the hidden layer, with the vector it reads along and the vector it writes |
# | pre, post | what goes into the activation function, and what comes out: the neuron's activation |
# | activation function | the curve between the two maps; without it they would be one linear map |
# | ReLU, GELU | negative numbers become 0; the same with a rounded corner, x · Φ(x) |
# | key–value memory | an MLP seen as a dictionary: what a neuron reads is the key, what it writes the value |
# | promoted tokens | those whose logits a neuron raises most: its written vector, unembedded |
# | polysemantic | of a neuron that fires on several unrelated things |
# | erasing neuron | one that writes against what it reads |
# | ablation | switching off a part of a model to see what it is good for |
# | parameter | a learned number; an activation is a number computed from a text |

# %% [markdown] key="read-on"
# ## Where to read on
#
# - Hendrycks and Gimpel, *Gaussian Error Linear Units (GELUs)* (2016): the curve, and both of its formulas.
# - Geva, Schuster, Berant and Levy, *Transformer Feed-Forward Layers Are Key-Value Memories* (2021): neurons as keys
#   and values, with the texts on which they fire.
# - Geva, Caciularu, Wang and Goldberg, *Transformer Feed-Forward Layers Build Predictions by Promoting Concepts in the
#   Vocabulary Space* (2022): promoted tokens.
# - Dai et al., *Knowledge Neurons in Pretrained Transformers* (2022): facts traced to neurons by gradients.
# - Meng, Bau, Andonian and Belinkov, *Locating and Editing Factual Associations in GPT* (2022): where GPT looks a fact
#   up, and how to change one.
# - Elhage et al., *Toy Models of Superposition* (2022): why one neuron has to stand for several things.
#
# Next, [chapter 07](07_transformer.ipynb): all the parts put together.
