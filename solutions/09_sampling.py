# Chapter 09, sampling: the one source of its notebooks in chapters/ and solutions/ (`book build 09`).
# Whatever is drawn may rightly differ between processors and between two right ways of drawing, so cells that show
# drawn text are tagged nbval-ignore-output; so are measured seconds. What a text says is never told in prose.

# %% [markdown] key="title"
# # Sampling: from logits to text
#
# In all the chapters before, GPT-2 never wrote a word. It reads a text and gives every token of its vocabulary a
# number. Whoever writes has to choose one, put it at the end and ask again, and *how* that choice is made is no part
# of the model: it is a few lines of code, and they are yours. The same model can sound like a bore, like a story
# teller or like a madman, and the difference is in those lines.
#
# In this chapter you write them all: the choice, the filters before it, the loop around it, a search that looks ahead,
# and the cache without which no chat would be fast enough.

# %% [markdown] key="what-you-will-do"
# ## What you will be able to do
#
# - **Turn** logits into a token: the likeliest, or one that is drawn, and **say** what each does to a text.
# - **Reshape** a distribution with temperature, top-k, top-p, min-p and penalties, and **predict** what each leaves.
# - **Write** the loop for many texts at once, with a model that sees only so many tokens, and texts that end.
# - **Search** for a likely text with beams, and **prove** on a small model when the search finds the best one.
# - **Build** a cache of keys and values, **show** that it changes no number, and **measure** and explain what it saves.
#
# **Builds on** 01 (softmax), 05 (attention), 07 (logits and surprise). **Time**: two sittings; the second begins at
# section 9.
#
# | exercise | you write | difficulty (1–5) | minutes |
# |---|---|---|---|
# | 09.1 | `greedy`: the likeliest token | 1 | 5 |
# | 09.2 | `apply_temperature`: flatter or sharper | 1 | 5 |
# | 09.3 | `sample`: draw one | 3 | 15 |
# | 09.7 | `generate`: the loop | 4 | 20 |
# | 09.4 | `top_k_filter`: the k likeliest | 2 | 10 |
# | 09.5 | `top_p_filter`: the nucleus | 3 | 15 |
# | 09.11 | `min_p_filter`: compared with the likeliest | 2 | 10 |
# | 09.6 | `frequency_penalty`: not again | 2 | 10 |
# | 09.8 | `beam_search`: look ahead | 5 | 40 |
# | 09.9 | `KVCache`: remember keys and values | 3 | 15 |
# | 09.10 | `attention_with_cache`: only what is new | 4 | 25 |
#
# They are solved in this order: the loop comes early, so that you can hear what each filter does. `hint("09.1")` gives
# a hint, and a stronger one each time you ask. You may skip an exercise: later cells use the book's version where yours
# is missing, and say so.

# %% key="setup"
import math
from itertools import islice, product
from time import process_time
from types import SimpleNamespace

import torch
from jaxtyping import Float, Int
from torch import Tensor, tensor
from torch.nn import functional as F

from utils import grade, hint, reference, show, use
from utils.exercises import exercise
from utils.pocket.world import check_story, documents, stories

model = reference(device="cpu")  # the pocket model; it needs no accelerator
rng = torch.Generator().manual_seed(9)  # every random number of this chapter comes from here
eos = model.tokenizer.eos_token_id  # the token that ends a text; GPT-2's BOS is the same one

# %% [markdown] key="which-model"
# The model is the book's **pocket model**, which has read the stories of a small world and nothing else. For this
# chapter that is a gift: the world's own stories are known, so a written story can be compared with them. Which words
# the model writes is computed in the cells; no sentence of the text knows it in advance. To hear GPT-2 itself, run
# `book reference gpt2` once in a terminal and write `model = reference("gpt2", device="cpu")` in the cell above; only
# the judge of stories in section 11 has nothing to say there.
#
# One thing before we begin. For the next token only the logits of the *last* position are needed, and in this small
# model the unembedding to 50,257 logits is four fifths of the work. So the chapter asks for the last position alone:


# %% key="only-the-last" tags=["demo"]
class LastOnly:
    """The model, unembedding only the last position: the only one that is about the next token."""

    def __init__(self, model):
        self.model, self.cfg = model, model.cfg

    def __call__(self, tokens):
        last = self.model(tokens, logits_to_keep=1)  # [batch 1 d_vocab]
        return last.expand(-1, tokens.shape[1], -1)  # the last position's, wherever one looks


quick = LastOnly(model)  # [batch pos] → [batch pos d_vocab]

# %% [markdown] key="question" covers="N1" terms="greedy decoding, sampling"
# ## 1 · One model, three voices
#
# Three openings, and three ways to choose. The first always takes the likeliest token. The second draws one, each with
# the probability that the model gives it. The third draws as well, after making the distribution much flatter. The
# functions are the book's here; you will write each of them.

# %% key="openings" tags=["demo"]
HEROES = ["kind girl named Anna", "brave boy named Tom", "lazy girl named Lucy", "smart boy named Ben"]
HEROES += ["gentle girl named Mia", "polite boy named Max", "wise girl named Emma", "proud boy named Jack"]
OPENINGS = [f"Once upon a time there was a {hero}." for hero in HEROES]
starts = torch.cat([model.to_tokens(opening) for opening in OPENINGS])  # [batch pos]
start = starts.shape[1]  # all openings have the same length


def new_ids(row, start):
    """The ids that a row got after its first `start`, up to its end."""
    ids = row[start:].tolist()
    return ids[: ids.index(eos)] if eos in ids else ids


def text_of(ids):
    """The text of a list of ids, on one line."""
    return " ".join(model.tokenizer.decode(ids).split())


# %% key="three-voices" tags=["demo", "nbval-ignore-output"]
the_loop, flatten, draw = (exercise(name).solution for name in ("09.7", "09.2", "09.3"))
VOICES = {
    "the likeliest": exercise("09.1").solution,
    "drawn": lambda logits: draw(logits, rng),
    "drawn, flatter": lambda logits: draw(flatten(logits, 2.0), rng),
}
rows = []
for name, pick in VOICES.items():
    written = the_loop(quick, starts[:3], 24, pick, eos)  # [batch pos+24]
    rows += [[name, text_of(row[start - 3 :].tolist())] for row in written]

show.table(
    rows,
    ["how the token is chosen", "how the story goes on"],
    title="The same model and the same openings, three ways to choose",
    note="Read down each group of three: what do its stories have in common? (Drawn text differs between machines.)",
)

# %% [markdown] key="question-text"
# Compare the groups. The likeliest token gives stories that are in order and hardly differ: another hero, the same
# tale. Drawing gives three different stories. Flatter still, and words turn up that belong to no story at all.
#
# That is the question of this chapter: **if the model knows how probable each token is, why is it wrong to take the
# likeliest one each time, and why is it not simply right to draw?** At the end you will measure both.

# %% [markdown] key="distribution" covers="N7" terms="logit, softmax, distribution"
# ## 2 · One distribution
#
# Everything until section 8 happens to *one* distribution, so that you can see each step change it. Here is a text, and
# the logits of its last position: one number for each token of the vocabulary. The softmax turns them into
# probabilities.

# %% key="one-distribution" tags=["demo"] covers="N7"
prompt = f"{OPENINGS[0]} She liked cheese and berries. She had two white ducks. Anna"
ids = model.to_tokens(prompt)  # [batch pos]
logits = quick(ids)[:, -1]  # [batch d_vocab], of the last position
probs = logits.softmax(-1)  # [batch d_vocab]
shown = logits[0].topk(12).indices  # the twelve likeliest ids: [12]
names = [model.to_string(i) for i in shown]
rest = 1 - probs[0, shown].sum()

show.bars(
    {**dict(zip(names, probs[0, shown], strict=True)), "others": rest},
    title='What comes after "… She had two white ducks. Anna"?',
    note=f"The twelve likeliest tokens, and all the others together ({rest:.3f}).",
    x_name="token",
    y_name="probability",
)

# %% [markdown] key="distribution-text" covers="N7"
# The model does not "want to say" one of these words. At this place several stories can begin, and it says how often
# each of them does. The simplest choice is to take the first: **greedy** decoding.

# %% [markdown] key="greedy" covers="N7"
# ### Exercise 09.1 · Greedy
#
# *difficulty 1 · 5 minutes · stuck?* `hint("09.1")`
#
# $$\text{token} = \operatorname{argmax}_v\, \ell_v$$
#
# $\ell_v$ is the logit of token $v$, and the result is its *id*, not its logit. The softmax keeps the order, so there
# is no need to take it. `...` stands for any leading axes: one row, a batch of rows, or a batch of texts with all their
# positions.


# %% key="greedy-answer" exercise="09.1" covers="N7"
def greedy(logits: Float[Tensor, "... d_vocab"]) -> Int[Tensor, "..."]:
    """The id of the likeliest token, for each row.

    >>> greedy(tensor([[0.5, 3.0, 1.0], [2.0, -1.0, 0.0]])).tolist()
    [1, 0]
    """
    # SOLUTION
    return logits.argmax(dim=-1)  # the vocabulary is the last axis
    # END


# %% key="greedy-grade"
grade(greedy)

# %% [markdown] key="greedy-why" solution="09.1"
# #### Why it works
#
# `argmax` gives the *place* of the largest number, and the place is the id. Over the last axis, because that is the
# vocabulary; all axes before it stay.
#
# **What the classic mistake looks like.** `logits.argmax()` without an axis runs over everything, flattened: for a
# batch it gives one number, often larger than the vocabulary, and the model refuses it as an id.

# %% key="greedy-second" solution="09.1"
torch.equal(logits.max(dim=-1).indices, greedy(logits))  # a second way: the largest value knows its place

# %% [markdown] key="temperature" terms="temperature"
# ## 3 · Temperature
#
# Before anything is drawn, the distribution can be made sharper or flatter. Divide all logits by a number $T$, the
# **temperature**, and take the softmax then:
#
# $$p_v(T) = \frac{e^{\ell_v / T}}{\sum_{v'} e^{\ell_{v'} / T}}$$
#
# The name is physics: the same formula says how atoms are spread over energies. Near 0 everything lies in the lowest
# state, and the hotter it is, the more even the spread.

# %% [markdown] key="predict-temperature" tags=["predict"]
# **Predict.** Two tokens have the probabilities 0.8 and 0.2. What are they at temperature 2?
#
# - **a**: 0.5 and 0.5;
# - **b**: 0.67 and 0.33;
# - **c**: 0.4 and 0.1, and the rest goes to other tokens.

# %% key="guess-temperature" tags=["predict"]
my_guess = "?"  # a, b or c

# %% key="two-tokens" tags=["demo"]
two = tensor([0.8, 0.2]).log()  # logits whose softmax is 0.8 and 0.2
rows = []
for t in (0.25, 0.5, 1.0, 2.0, 4.0, 100.0):
    p, q = (two / t).softmax(-1)
    rows.append([f"{t:g}", f"{p:.3f}", f"{q:.3f}", f"{p / q:.3g} : 1"])

show.table(
    rows,
    ["temperature", "first", "second", "ratio"],
    title="Two tokens under temperature",
    note="Follow the ratio down the column: it is 4 at temperature 1.",
)

# %% [markdown] key="temperature-answer"
# <details><summary>What you see, and why</summary>
#
# It is **b**. The logits differ by $\log 4$. Halved, they differ by $\tfrac12 \log 4 = \log 2$: the ratio 4 : 1 becomes
# 2 : 1. In general the ratio of any two tokens is raised to the power $1/T$. (And **c** cannot be: the probabilities
# of all tokens sum to 1 at every temperature.)
#
# </details>
#
# So a temperature never changes the *order* of the tokens. Towards $T = 0$ the likeliest takes all, which is greedy;
# towards $T = \infty$ all tokens come near to the same probability, sensible or not. At exactly 0 the formula divides
# by zero: a function that is honest says so.

# %% [markdown] key="apply-temperature"
# ### Exercise 09.2 · Temperature
#
# *difficulty 1 · 5 minutes · stuck?* `hint("09.2")`
#
# $$\ell'_v = \ell_v / T$$
#
# $\ell_v$ are the logits, $T$ is `temperature`. The result is logits again, not probabilities, so that other filters
# can follow. A temperature of 0 or less is a `ValueError`. A token that was ruled out before (logit −∞) stays out.


# %% key="apply-temperature-answer" exercise="09.2"
def apply_temperature(logits: Float[Tensor, "... d_vocab"], temperature: float) -> Float[Tensor, "... d_vocab"]:
    """The logits at a temperature: below 1 sharper, above 1 flatter.

    >>> apply_temperature(tensor([4.0, 1.0, -2.0]), 2.0).tolist()
    [2.0, 0.5, -1.0]
    """
    # SOLUTION
    if temperature <= 0:
        raise ValueError(f"the temperature must be above 0, not {temperature}")
    return logits / temperature  # −∞ divided by a positive number is −∞
    # END


# %% key="apply-temperature-grade"
grade(apply_temperature)

# %% [markdown] key="apply-temperature-why" solution="09.2"
# #### Why it works
#
# Softmax sees differences of logits only, and the division shrinks or stretches them all alike. Logits come out and
# not probabilities, so a filter can come before or after.
#
# **What the classic mistake looks like.** Dividing *probabilities* by $T$ multiplies all of them by the same number;
# once they are made to sum to 1 again, nothing has happened, whatever $T$ is. A temperature quietly raised from 0 to
# some small number is worse than an error: the caller believes that the text is reproducible, and it nearly is.

# %% key="apply-temperature-second" solution="09.2"
# A second way, on probabilities: raise them to the power 1/T, then make them sum to 1.
powers = probs ** (1 / 1.5)
torch.allclose(powers / powers.sum(-1, keepdim=True), apply_temperature(logits, 1.5).softmax(-1), atol=1e-6)

# %% [markdown] key="temperature-slider-text"
# **Use it** on the distribution of section 2. Move the slider down to 0.2 and up to 3, and watch two bars: the
# likeliest token's, and the one of all the others.


# %% key="reshaped" tags=["demo"]
def reshaped(changed, title, note, labels=tuple(names)):
    """The twelve likeliest tokens and all the others, before and after `changed` [batch d_vocab]."""
    before, after = (row[0].softmax(-1) for row in (logits, changed))  # [d_vocab]
    bars = {label: [before[i], after[i]] for label, i in zip(labels, shown, strict=True)}
    others = [p.index_fill(0, shown, 0.0).sum() for p in (before, after)]
    return show.bars(
        {**bars, "others": others},
        series=["before", "after"],
        title=title,
        note=note,
        x_name="token",
        y_name="probability",
    )


# %% key="temperature-slider" tags=["demo"]
temper = use(apply_temperature)


def at_temperature(t):
    hot = temper(logits, t)
    first, others = hot.softmax(-1).max(), 1 - hot.softmax(-1)[0, shown].sum().clamp(max=1)
    note = f"The likeliest token has {first:.2f}, all but the twelve together {others:.2f}."
    return reshaped(hot, f"The distribution at temperature {t:g}", note)


show.slider(at_temperature, [0.2, 0.35, 0.5, 0.7, 0.85, 1.0, 1.2, 1.5, 2.0, 2.5, 3.0], name="temperature", start=1.5)

# %% [markdown] key="temperature-curves-text"
# The same for all temperatures at once. The scale is logarithmic, so that small probabilities can be seen too.

# %% key="temperature-curves" tags=["demo"]
temperatures = [0.4 + 0.1 * step for step in range(27)]
order = logits[0].argsort(descending=True)  # ids, the likeliest first
hot = torch.stack([temper(logits, t)[0].softmax(-1)[order] for t in temperatures])  # [temperature d_vocab]
tail = hot[:, 100:].sum(-1)
half = next((f"{t:.1f}" for t, share in zip(temperatures, tail, strict=True) if share > 0.5), None)

show.lines(
    temperatures,
    {"the likeliest": hot[:, 0], "number 5": hot[:, 4], "number 10": hot[:, 9], "all after number 100": tail},
    title="Probability under temperature",
    note="The tail, fifty thousand tokens, weighs next to nothing at 1. "
    + (f"From temperature {half} on it has more than half of all." if half else "Here it stays below one half."),
    x_name="temperature",
    y_name="probability",
    log_y=True,
    marks={"as the model says": 1.0},
)

# %% [markdown] key="tail-text" terms="tail"
# Look at the last curve. The **tail** of a vocabulary is made of tens of thousands of tokens that are all wrong, each a
# little. At temperature 1 they share a few thousandths or less. At a high temperature the good tokens lose, and there
# are so many in the tail that together they win. That is where the words of the third voice came from.

# %% [markdown] key="sampling" covers="N7" terms="sampling, generator, seed"
# ## 4 · Drawing a token
#
# How does a machine draw a token with given probabilities? Lay them end to end on a line of length 1, choose a point of
# the line at random, all points alike, and look whose piece it hit.

# %% key="draw-by-hand" tags=["demo", "nbval-ignore-output"]
few = logits[0, shown[:4]].softmax(-1)  # four tokens only, so that you can check it: [4]
ends = few.cumsum(-1)
points = torch.rand(3, generator=rng)  # other processors may round the pieces' ends differently
hits = [[f"{u:.3f}" for u in points if end - p <= u < end] for p, end in zip(few, ends, strict=True)]

show.table(
    [
        [name, f"{p:.3f}", f"{end - p:.3f} to {end:.3f}", ", ".join(hit)]
        for name, p, end, hit in zip(names, few, ends, hits, strict=False)
    ],
    ["token", "probability", "its piece of the line", "points that hit it"],
    title="Three draws from four tokens",
    note=f"The points were {', '.join(f'{u:.3f}' for u in points)}. A wide piece is hit often.",
)

# %% [markdown] key="generator-text" covers="N7"
# A computer's random numbers come from a **generator**: a state and a rule that makes the next number out of it.
# Started from the same **seed**, it gives the same numbers, and so the same story. Whoever draws must use the generator
# that is handed in: a hidden source of randomness is a result that nobody can repeat.

# %% [markdown] key="sample"
# ### Exercise 09.3 · Sample
#
# *difficulty 3 · 15 minutes · stuck?* `hint("09.3")`
#
# $$P(\text{token} = v) = \frac{e^{\ell_v}}{\sum_{v'} e^{\ell_{v'}}}$$
#
# $\ell$ is one row of logits; every row gets a draw of its own, independent of the others. A token whose logit is −∞ is
# never drawn. All randomness comes from `generator`. Any method is right: the line above, torch's own drawing, others.
# There may be no leading axis (one row), one, two or three.
#
# The grader draws twenty thousand times and compares frequencies. A right answer fails by bad luck with a probability
# below one in a thousand million.


# %% key="sample-answer" exercise="09.3" covers="N7"
def sample(logits: Float[Tensor, "... d_vocab"], generator: torch.Generator) -> Int[Tensor, "..."]:
    """A token for each row, drawn from softmax(logits).

    >>> sure = tensor([[0.0, -torch.inf], [-torch.inf, 0.0]])  # nothing is left to chance
    >>> sample(sure, torch.Generator().manual_seed(0)).tolist()
    [0, 1]
    """
    # SOLUTION
    # multinomial takes at most two axes: all leading ones become one, and come back afterwards.
    weights = logits.softmax(-1).reshape(-1, logits.shape[-1])  # [rows d_vocab]
    drawn = torch.multinomial(weights, num_samples=1, generator=generator)  # [rows 1]
    return drawn.reshape(logits.shape[:-1])
    # END


# %% key="sample-grade"
grade(sample)

# %% [markdown] key="sample-why" solution="09.3"
# #### Why it works
#
# `multinomial` draws from each row of a matrix of weights. Reshaping to rows and back leaves the order of the rows as
# it was. A logit of −∞ has become a weight of exactly 0, which is never drawn.
#
# **A second way** is the line of the text (next cell): add up, choose a point for each row, look which piece it hit.
# **A third**: add to each logit a random number $-\log(-\log u)$, $u$ even between 0 and 1, and take the argmax. That
# is the *Gumbel trick*, and its argmax follows softmax exactly.
#
# **What the classic mistake looks like.** One random number for the whole batch: each row by itself looks right, even
# in a million draws. Only side by side they give themselves away: rows that are alike always say the same word.

# %% key="sample-second" solution="09.3"
from utils.grading import check


def by_points(logits, generator):
    """A point on the line for each row; the pieces that end at or before it are passed over."""
    shape, kind = (*logits.shape[:-1], 1), torch.float64
    points = torch.rand(shape, generator=generator, dtype=kind, device=logits.device)
    ends = logits.double().softmax(-1).cumsum(-1)
    return torch.searchsorted(ends, points * ends[..., -1:], right=True)[..., 0]


check("09.3", by_points)

# %% [markdown] key="sample-text"
# **Use it**: two thousand draws from the twelve likeliest tokens, beside their probabilities. With $n$ draws a
# frequency is off by about $\sqrt{p(1-p)/n}$.

# %% key="frequencies" tags=["demo", "nbval-ignore-output"]
drawing = use(sample)
many = logits[:, shown].expand(2000, -1)  # [draw 12]: the same row again and again
counts = torch.bincount(drawing(many, rng), minlength=len(shown))  # [12]
among = logits[0, shown].softmax(-1)  # [12]
off = (counts / len(many) - among).abs().max()

show.bars(
    {name: [p, n / len(many)] for name, p, n in zip(names, among, counts, strict=True)},
    series=["probability", "share of 2,000 draws"],
    title="Drawing follows the probabilities",
    note=f"The largest difference is {off:.3f}; for p = 0.25 about 0.010 is to be expected.",
    x_name="token",
    y_name="probability or share",
)

# %% [markdown] key="loop" covers="N1" terms="autoregressive generation"
# ## 5 · The loop
#
# Now the whole machine that writes. It is a loop of four steps:
#
# 1. show the model all tokens so far;
# 2. take the distribution at the last position;
# 3. choose one token from it;
# 4. put it at the end, and begin again.
#
# A model that writes in this way, feeding on its own words, is **autoregressive**. What it has written once it cannot
# take back; for the next step it is a text like any other. Three things make the loop a little longer than that:
#
# - **The window.** GPT-2 has position embeddings for `n_ctx` tokens and refuses more. So it is shown the last `n_ctx`
#   of them, while the text itself keeps all.
# - **The end.** When the model chooses EOS, the text has ended. In a batch the other texts go on, so an ended row is
#   filled with EOS.
# - **The beginning.** In GPT-2 the token that begins a text, BOS, *is* the EOS token (chapter 02). Only an EOS that has
#   been *chosen* ends a text.

# %% key="steps-by-hand" tags=["demo"] covers="N1"
text, rows = ids, []
for step in range(6):
    best = quick(text)[0, -1].softmax(-1).topk(2)  # of the last position: values and indices, [2]
    (p, q), (first, second) = best.values, best.indices
    rows.append(
        [
            step,
            "… " + text_of(text[0, -4:].tolist()),
            *(f"{model.to_string(first)!r} {p:.2f}", f"{model.to_string(second)!r} {q:.2f}"),
        ]
    )
    text = torch.cat([text, first.reshape(1, 1)], dim=1)  # [batch pos+1]

show.table(
    rows,
    ["step", "the text ends in", "likeliest, put at the end", "second"],
    title="Six times around the loop",
    note="Each row's choice is the last word of the next row's text.",
)

# %% [markdown] key="generate" covers="N1"
# ### Exercise 09.7 · Generate
#
# *difficulty 4 · 20 minutes · stuck?* `hint("09.7")`
#
# $$
# \ell = \operatorname{model}(t_{\max(0,\, n - n_\text{ctx})}, \dots, t_{n-1})_\text{last} \qquad
# t_n = \operatorname{pick}(\ell) \qquad n \leftarrow n + 1
# $$
#
# $t$ are the tokens of a row so far and $n$ is their number.
#
# - `model(tokens)` gives logits [batch pos d_vocab]. It refuses more than `model.cfg.n_ctx` tokens.
# - `pick(logits)` takes the logits [batch d_vocab] of the last position and gives [batch] ids. Call it once a step.
# - `n_new` tokens are added to each row. The result has [batch pos+n_new], prompt included, never cropped, whatever
#   the model saw. With `n_new = 0` it is a copy.
# - `eos` is the id of the token that ends a text, or `None` for none. After its first *new* EOS a row is filled with
#   EOS. One in the prompt does not count, and the id may be 0.


# %% key="generate-answer" exercise="09.7" covers="N1"
def generate(
    model, tokens: Int[Tensor, "batch pos"], n_new: int, pick, eos: int | None = None
) -> Int[Tensor, "batch pos+n_new"]:
    """The tokens, continued by `n_new`: look, pick, append.

    >>> class AddOne:  # a "model" that sees two tokens; its likeliest is always the last one plus 1
    ...     cfg = SimpleNamespace(n_ctx=2)
    ...     def __call__(self, tokens):
    ...         return F.one_hot((tokens + 1) % 5, 5).float()
    >>> generate(AddOne(), tensor([[0], [2]]), 3, greedy, eos=3).tolist()
    [[0, 1, 2, 3], [2, 3, 3, 3]]
    """
    # SOLUTION
    text = tokens.clone()
    ended = torch.zeros_like(tokens[:, 0], dtype=torch.bool)  # [batch]: nobody has, whatever the prompt holds
    for _ in range(n_new):
        window = text[:, -model.cfg.n_ctx :]  # what the model sees; the text itself keeps all
        new = pick(model(window)[:, -1])  # [batch]
        if eos is not None:  # not `if eos:`, for 0 is an id too
            new = new.masked_fill(ended, eos)
            ended = ended | (new == eos)
        text = torch.cat([text, new[:, None]], dim=1)
    return text
    # END


# %% key="generate-grade"
grade(generate)

# %% [markdown] key="generate-why" solution="09.7"
# #### Why it works
#
# `text` is never cut; only `window`, what the model is shown, is. A slice that asks for more than there is gives all
# there is, so a short text needs no case of its own. `ended` starts False for every row, so the BOS of the prompt
# does not count, although it is the same id.
#
# **A second way** is a buffer of the final length, filled with EOS from the start, into which only rows that go on
# write. It saves the copy that `torch.cat` makes at each step.
#
# **What the classic mistakes look like.** `model(text)[:, 0]` takes the first position: a story in which every word is
# the one that likes to begin a text. `if eos:` never ends a text whose EOS has the id 0, and works for GPT-2's 50256,
# so nobody notices for years. And `ended = (tokens == eos).any(1)` ends every text before its first word, because the
# prompt begins with BOS.


# %% key="generate-second" solution="09.7"
def with_a_buffer(model, tokens, n_new, pick, eos=None):
    batch, pos = tokens.shape
    filler = tokens.new_full((batch, n_new), 0 if eos is None else eos)
    text = torch.cat([tokens, filler], dim=1)  # [batch pos+n_new], and never longer
    going = torch.ones(batch, dtype=torch.bool, device=tokens.device)
    for end in range(pos, pos + n_new):
        new = pick(model(text[:, :end][:, -model.cfg.n_ctx :])[:, -1])
        text[going, end] = new[going]
        if eos is not None:
            going = going & (new != eos)
    return text


check("09.7", with_a_buffer)

# %% [markdown] key="ruts-text" terms="degeneration"
# ### Greedy's ruts
#
# **Use it.** First the question of section 1 with all eight heroes: how different are their stories, told greedily and
# drawn? The measure is simple. Cut each story into runs of four tokens, and divide the number of *different* runs, over
# all eight stories, by the number of all. 1 means that nothing is said twice.

# %% key="variety" tags=["demo"]
write, likeliest = use(generate), use(greedy)


def drawn_at(t):
    """A pick: drawn at temperature t."""
    return lambda logits: drawing(temper(logits, t), rng)


def variety(texts, run=4):
    """Different runs of four tokens divided by all runs, over a list of lists of ids."""
    runs = [tuple(ids[i : i + run]) for ids in texts for i in range(len(ids) - run + 1)]
    return len(set(runs)) / len(runs)


# %% key="eight-stories" tags=["demo", "nbval-ignore-output"]
eight = {"greedy": write(quick, starts, 40, likeliest, eos)}  # [batch pos+40]
eight["drawn"] = write(quick, starts, 40, drawn_at(1.0), eos)
of_world = [model.to_tokens(story.text)[0, start : start + 40].tolist() for story in islice(stories(9, "held_out"), 8)]
spread = {name: variety([new_ids(row, start) for row in rows]) for name, rows in eight.items()}
show.bars(
    spread | {"the world": variety(of_world)},
    title="How different are eight stories?",
    note=f"Of greedy's runs of four tokens {1 - spread['greedy']:.0%} repeat an earlier one, of the drawn ones "
    f"{1 - spread['drawn']:.0%}. The last bar: eight stories that the world itself tells.",
    x_name="how they were told",
    y_name="different runs ÷ all runs",
)

# %% [markdown] key="long-rut-text"
# A second rut runs from one text to the next. Let greedy go on past the end of a text: no EOS stops it now, it only
# begins another. How much of what it writes has it written before?

# %% key="long-rut" tags=["demo", "nbval-ignore-output"]
begin = tensor([[eos], [eos]])  # BOS alone, twice: [2 1]


def one_each(logits):
    """The first row takes the likeliest token, the second draws."""
    return torch.cat([likeliest(logits[:1]), drawing(logits[1:], rng)])


written = write(quick, begin, 120, one_each)  # [2 121]
tales = dict(zip(["greedy", "drawn"], written.tolist(), strict=True))
bos = model.tokenizer.bos_token
joined = "".join(bos + document.text for document in islice(documents(9, "held_out"), 12))
tales["the world"] = model.to_tokens(joined, prepend_bos=False)[0, :121].tolist()

lengths = list(range(20, 121, 10))
show.lines(
    lengths,
    {name: [1 - variety([tale[:n]]) for n in lengths] for name, tale in tales.items()},
    title="How much has been said before?",
    note=f"After 120 tokens {1 - variety([tales['greedy']]):.0%} of greedy's runs of four tokens are repetitions; "
    f"drawn {1 - variety([tales['drawn']]):.0%}, the world's own texts {1 - variety([tales['the world']]):.0%}.",
    x_name="tokens written",
    y_name="share of repeated runs",
)

# %% key="long-rut-words" tags=["demo"]
pieces = [part.strip() for part in model.tokenizer.decode(tales["greedy"]).split(bos) if part.strip()]
show.table(
    [[number, piece] for number, piece in enumerate(pieces[:8], 1)],
    ["text", "what it says"],
    title="What greedy writes when nothing stops it",
    note=f"{len(pieces)} texts in 120 tokens, the last one cut off; {len(set(pieces))} of them different.",
)

# %% [markdown] key="typical-text" terms="surprise"
# Greedy is a fixed rule: the same text always goes on in the same way. And once it has said something twice, there is a
# reason to say it again: a model that has learned to copy (the induction heads of chapter 05) takes a repetition for a
# sign of more. GPT-2, left to write greedily, often ends in a loop of one sentence (Holtzman et al. 2020).
#
# So greedy's text is dull. Is it at least *likely*? The measure is the **surprise** of chapter 07: $-\log p$ of each
# token that came. First, where in a story is there anything to choose? Here is one of the world's own, with the model's
# surprise under each token.


# %% key="surprises" tags=["demo"]
def surprise(ids):
    """−log p of every token but the first, in nats: a list of ids [pos] → [pos-1]."""
    ids = tensor(ids)
    log_probs = model(ids[None])[0, :-1].log_softmax(-1)  # [pos-1 d_vocab]
    return -log_probs.gather(-1, ids[1:, None])[:, 0]


world = [model.to_tokens(story.text)[0].tolist()[: start + 40] for story in islice(stories(9, "held_out"), 8)]
nats = surprise(world[0])  # [pos-1]
likeliest_share = model(tensor([world[0]]))[0, :-1].softmax(-1).amax(-1)  # [pos-1]
show.tokens(
    [model.to_string(i) for i in world[0][1:]],
    (nats + 0.0).round(decimals=1),  # + 0.0, for −log 1 is −0
    title="Where is a story surprising?",
    note=f"{(nats < 0.1).sum()} of {len(nats)} tokens surprise the model by less than 0.1 nat: there it knew what had "
    f"to come. {(nats > 1).sum()} surprise it by more than 1. There even its likeliest token had a probability of only "
    f"{likeliest_share[nats > 1].mean():.2f}, on average.",
    value_name="surprise (nats)",
)

# %% [markdown] key="predict-surprise" tags=["predict"]
# **Predict.** Greedy takes the least surprising token at each place. How large is the mean surprise of its stories,
# beside that of drawn stories and of the world's own?
#
# - **a**: hardly smaller;
# - **b**: about half as large;
# - **c**: near 0.

# %% key="guess-surprise" tags=["predict"]
my_guess = "?"  # a, b or c

# %% key="mean-surprises" tags=["demo", "nbval-ignore-output"]
told = {name: [starts[i].tolist() + new_ids(row, start) for i, row in enumerate(rows)] for name, rows in eight.items()}
told["the world"] = world
means = {name: torch.cat([surprise(ids)[start - 1 :] for ids in texts]).mean() for name, texts in told.items()}
saved = 1 - means["greedy"] / means["drawn"]

show.bars(
    means,
    title="Mean surprise of eight stories each",
    note=f"Greedy's stories are {abs(saved):.0%} {'less' if saved > 0 else 'more'} surprising than the drawn ones. "
    + ("That is c." if saved > 0.8 else "That is nearest to b." if saved > 0.25 else "That is a: hardly a difference."),
    x_name="how they were told",
    y_name="surprise, −log p (nats a token)",
)

# %% [markdown] key="typical-answer"
# <details><summary>Why that can be</summary>
#
# In the pocket model's world a choice is mostly one among words that are about equally likely: which food, which color,
# which toy. At such a place the likeliest word has a small share itself, as the note under the story above says. Greedy
# gains next to nothing by taking it, and it takes the *same* one every time. So all is lost in variety and hardly
# anything won in probability.
#
# In GPT-2, which has read the web, the choices are less even, and greedy does win: its text is far more probable than
# what people write, and just as dull (Holtzman et al. 2020).
#
# </details>

# %% [markdown] key="typical" terms="entropy, typical"
# Either way, **the likeliest text is not a typical text**. Throw a die that shows a six with probability 0.3 and each
# other number with 0.14, a hundred times. The likeliest single result is a hundred sixes. But you will never see it:
# what you see has about thirty sixes, because there are so many more results like that. Real texts make surprising
# choices, none of them likely, and *some* such choice nearly certain. Drawing from the model makes them as often as the
# model expects them: its mean surprise is the distribution's **entropy**, $-\sum_v p_v \log p_v$. Section 9 looks for
# likelier texts in earnest.
#
# So why not simply draw, and be done?

# %% [markdown] key="tail-problem"
# ## 6 · Cut off the tail
#
# Because of the tail. A token that never fits should have probability 0, and softmax cannot say 0. Every wrong token
# keeps a crumb, there are fifty thousand of them, and a text has many places. If a wrong one is drawn with probability
# 0.005 at each place, a text of 150 tokens stays clean with $0.995^{150} \approx 0.47$ only. And the model believes
# what it reads: after a wrong word the next is in danger too. How heavy is this model's own tail?

# %% key="tail-weight" tags=["demo"]
places = torch.cat([model(tensor([ids]))[0, start - 1 : -1] for ids in world[:5]])  # [place d_vocab]
in_order = places.sort(-1, descending=True).values
rows = []
for t in (0.7, 1.0, 1.3, 1.6, 2.0):
    weight = temper(in_order, t).softmax(-1)[:, 200:].sum(-1).mean()  # all after number 200
    rows.append([f"{t:g}", f"{weight:.4%}", f"{(1 - weight) ** 150:.2f}"])

show.table(
    rows,
    ["temperature", "mean probability after number 200", "150 tokens stay out of it"],
    title=f"The tail at {len(places)} places of the world's own stories",
    note=f"At none of these places has the model more than {(places.softmax(-1) > 1e-4).sum(-1).max()} tokens that it "
    "gives 1 in 10,000 or more. The last column is a text's chance to stay clean.",
)

# %% [markdown] key="truncation-text" terms="truncation"
# A well-trained model has a light tail at temperature 1, and a model that knows little of what it reads a heavy one.
# Either way it grows fast with the temperature.
#
# Hence **truncation**: set the logits of some tokens to −∞ before drawing. They differ only in *which* tokens. The rest
# shares the whole probability among itself, in the old proportions; the softmax does that without being asked.
#
# The simplest rule: keep the $k$ likeliest (Fan, Lewis and Dauphin 2018). The samples published with GPT-2 used
# $k = 40$.

# %% [markdown] key="top-k-filter" terms="top-k"
# ### Exercise 09.4 · Top-k
#
# *difficulty 2 · 10 minutes · stuck?* `hint("09.4")`
#
# $$
# \ell'_v = \begin{cases} \ell_v & \text{if } v \text{ is one of the } k \text{ likeliest tokens of its row} \\
# -\infty & \text{otherwise} \end{cases}
# $$
#
# Exactly $\min(k, d_\text{vocab})$ tokens stay in each row, also where logits are equal (which of the equal ones is
# free). Kept logits are not changed. $k < 1$ is a `ValueError`.


# %% key="top-k-filter-answer" exercise="09.4"
def top_k_filter(logits: Float[Tensor, "... d_vocab"], k: int) -> Float[Tensor, "... d_vocab"]:
    """The logits, with −∞ everywhere but at the k largest of each row.

    >>> top_k_filter(tensor([[1.0, 3.0, 2.0], [5.0, 5.5, 4.0]]), 2).tolist()
    [[-inf, 3.0, 2.0], [5.0, 5.5, -inf]]
    """
    # SOLUTION
    if k < 1:
        raise ValueError(f"k must be at least 1, not {k}")
    best = logits.topk(min(k, logits.shape[-1]), dim=-1)  # values and indices: [... k]
    # Start with everything ruled out, and put the kept logits back where they were.
    return torch.full_like(logits, -torch.inf).scatter(-1, best.indices, best.values)
    # END


# %% key="top-k-filter-grade"
grade(top_k_filter)

# %% [markdown] key="top-k-filter-why" solution="09.4"
# #### Why it works
#
# `topk` gives exactly k places a row. `scatter` writes the values to these places along the last axis, each row by
# itself. A place is named once, so equal logits make no difference.
#
# **A second way** ranks the tokens: `argsort` twice gives each token its rank, and ranks from k on go.
#
# **What the classic mistake looks like.** A threshold, `logits < logits.topk(k).values[..., -1:]`, keeps every token
# that is *equal* to the k-th. In float32 that hardly ever shows. In a model whose unused tokens share one logit, as the
# pocket model's do, a large k can keep tens of thousands too many:


# %% key="top-k-filter-mistake" solution="09.4"
def by_threshold(logits, k):
    """The classic mistake."""
    if k < 1:
        raise ValueError("k")
    return logits.masked_fill(logits < logits.topk(min(k, logits.shape[-1])).values[..., -1:], -torch.inf)


kept = (by_threshold(logits, 5000) > -torch.inf).sum().item()
print(f"k = 5,000 by a threshold keeps {kept:,} tokens.")
check("09.4", by_threshold)


# %% key="top-k-filter-second" solution="09.4"
def by_rank(logits, k):
    """A second way: sorted twice, each token knows its rank."""
    if k < 1:
        raise ValueError("k must be at least 1")
    rank = logits.argsort(-1, descending=True).argsort(-1)  # [... d_vocab]
    return logits.masked_fill(rank >= k, -torch.inf)


check("09.4", by_rank)

# %% [markdown] key="top-k-slider-text"
# **Use it.** The slider is $k$. Watch the bars that stay grow as others go.

# %% key="top-k-slider" tags=["demo"]
keep_k = use(top_k_filter)


def at_k(k):
    left = keep_k(logits, k)
    lost = probs[left == -torch.inf].sum()
    note = f"{k} tokens stay. Those that went had {lost:.3f} of the probability."
    return reshaped(left, f"The distribution after top-k, k = {k}", note)


show.slider(at_k, [1, 2, 3, 4, 5, 6, 8, 10, 12, 50], name="k", start=5)

# %% [markdown] key="top-k-trouble" terms="top-p, nucleus"
# The trouble with $k$: it is the same number everywhere. After "Once upon" one token fits, and $k = 40$ lets in
# thirty-nine that do not. After "her favorite color was" there may be fifteen good ones, and $k = 5$ throws ten of them
# away. How many tokens are good depends on the place, so let the *probability* decide.
#
# **Top-p**, or nucleus sampling (Holtzman et al. 2020): go down from the likeliest and add up, until the sum has
# reached $p$. The tokens met on the way are the **nucleus**; all others go.

# %% key="nucleus-by-hand" tags=["demo"]
ordered = probs[0, order[:8]]  # the eight likeliest: [8]
running = ordered.cumsum(-1)
show.table(
    [
        [model.to_string(i), f"{p:.3f}", f"{total - p:.3f}", f"{total:.3f}"]
        for i, p, total in zip(order, ordered, running, strict=False)
    ],
    ["token", "probability", "sum before it", "sum with it"],
    verdicts=[bool(total - p < 0.7) for p, total in zip(ordered, running, strict=True)],
    verdict_name="stays",
    title="The nucleus for p = 0.7",
    note="The token that takes the sum over 0.7 still belongs to it: without it the set would not reach p.",
)

# %% [markdown] key="top-p-filter"
# ### Exercise 09.5 · Top-p
#
# *difficulty 3 · 15 minutes · stuck?* `hint("09.5")`
#
# $$
# \text{keep the } m \text{ likeliest tokens, with the smallest } m \text{ such that} \quad
# p_{(1)} + p_{(2)} + \dots + p_{(m)} \ge p
# $$
#
# $p_{(1)} \ge p_{(2)} \ge \dots$ are the row's probabilities in descending order, $p$ is the argument. At least
# $\min(\texttt{min\_tokens}, d_\text{vocab})$ tokens stay. For $p = 1$ all stay. $p \le 0$ or $p > 1$ is a
# `ValueError`. Kept logits are not changed and stand where they stood; the others are −∞.


# %% key="top-p-filter-answer" exercise="09.5"
def top_p_filter(logits: Float[Tensor, "... d_vocab"], p: float, min_tokens: int = 1) -> Float[Tensor, "... d_vocab"]:
    """The logits, with −∞ outside the nucleus of each row.

    >>> row = tensor([0.15, 0.5, 0.05, 0.3]).log()
    >>> (top_p_filter(row, 0.7) > -torch.inf).tolist()  # 0.5 + 0.3 reaches 0.7
    [False, True, False, True]
    """
    # SOLUTION
    if not 0 < p <= 1:
        raise ValueError(f"p must be above 0 and at most 1, not {p}")
    if p == 1:
        return logits.clone()  # rounding must not cost a token
    ordered, order = logits.sort(dim=-1, descending=True)
    shares = ordered.softmax(-1)
    stays = shares.cumsum(-1) - shares < p  # the sum *before* this token has not reached p
    stays[..., :min_tokens] = True
    kept = ordered.masked_fill(~stays, -torch.inf)  # still in sorted order
    return torch.empty_like(logits).scatter(-1, order, kept)  # back to the tokens' own places
    # END


# %% key="top-p-filter-grade"
grade(top_p_filter)

# %% [markdown] key="top-p-filter-why" solution="09.5"
# #### Why it works
#
# A token belongs to the nucleus exactly when the sum of those *before* it is still below $p$. That rule keeps the
# likeliest by itself (the sum before it is 0), so even a tiny $p$ leaves something to draw. `order` says for each
# sorted place which token it was, so `scatter` with it undoes the sorting.
#
# **A second way** keeps the mask and undoes the sorting with the inverse order, `order.argsort(-1)` (next cell).
#
# **What the classic mistakes look like.** `cumsum <= p` drops the token that crosses $p$: at $p = 0.5$ in front of a
# token with 0.9 nothing stays, the softmax of a row of −∞ is NaN, and the drawing fails. A mask that is used in sorted
# order on unsorted logits keeps tokens 0, 1, 2, …: in GPT-2 these are "!", '"' and "#".


# %% key="top-p-filter-second" solution="09.5"
def by_inverse_order(logits, p, min_tokens=1):
    if not 0 < p <= 1:
        raise ValueError("p lies above 0 and is at most 1")
    order = logits.argsort(-1, descending=True)
    sorted_shares = logits.softmax(-1).gather(-1, order)
    goes = sorted_shares.cumsum(-1) - sorted_shares >= p
    goes[..., :min_tokens] = False
    goes = goes & (p < 1)
    return logits.masked_fill(goes.gather(-1, order.argsort(-1)), -torch.inf)


check("09.5", by_inverse_order)

# %% [markdown] key="top-p-slider-text"
# **Use it.** The slider is $p$.

# %% key="top-p-slider" tags=["demo"]
keep_p = use(top_p_filter)


def at_p(p):
    left = keep_p(logits, p)
    stay = (left > -torch.inf).sum()
    note = f"{stay} of {logits.shape[-1]:,} tokens stay. They had {probs[left > -torch.inf].sum():.3f}."
    return reshaped(left, f"The distribution after top-p, p = {p}", note)


show.slider(at_p, [0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99, 0.999, 1.0], name="p", start=0.7)

# %% [markdown] key="min-p-text" terms="min-p"
# Top-p has a weakness of its own: a *sum* of many small crumbs counts like one good token. Where the distribution is
# flat, at a high temperature above all, it takes a long part of the tail to reach 0.9. **Min-p** (Nguyen et al. 2024)
# asks each token by itself: are you at least $p$ times as likely as the likeliest?

# %% [markdown] key="min-p-filter"
# ### Exercise 09.11 · Min-p
#
# *difficulty 2 · 10 minutes · stuck?* `hint("09.11")`
#
# $$\text{keep } v \quad\text{if}\quad p_v \ge p \cdot \max_{v'} p_{v'}$$
#
# $p_v$ are the probabilities of one row, $p$ is the argument, and each row has its own maximum. $p \le 0$ or $p > 1$ is
# a `ValueError`. Kept logits are not changed, the others are −∞.


# %% key="min-p-filter-answer" exercise="09.11"
def min_p_filter(logits: Float[Tensor, "... d_vocab"], p: float) -> Float[Tensor, "... d_vocab"]:
    """The logits, with −∞ where a token is less than p times as likely as the row's likeliest.

    >>> row = tensor([0.6, 0.25, 0.1, 0.05]).log()
    >>> (min_p_filter(row, 0.3) > -torch.inf).tolist()  # the border is 0.3 · 0.6 = 0.18
    [True, True, False, False]
    """
    # SOLUTION
    if not 0 < p <= 1:
        raise ValueError(f"p must be above 0 and at most 1, not {p}")
    shares = logits.softmax(-1)
    border = p * shares.amax(-1, keepdim=True)  # [... 1], one for each row
    return logits.masked_fill(shares < border, -torch.inf)
    # END


# %% key="min-p-filter-grade"
grade(min_p_filter)

# %% [markdown] key="min-p-filter-why" solution="09.11"
# #### Why it works
#
# The border moves with the row: strict where the model is sure, generous where it is not. The likeliest itself always
# stays, because $p \le 1$.
#
# **A second way** needs no softmax. A ratio of probabilities is a difference of logits, so
# $p_v \ge p \cdot p_\text{max}$ says $\ell_v \ge \ell_\text{max} + \log p$.
#
# **What the classic mistake looks like.** Comparing with $p$ itself: with $p = 0.1$ and fifty tokens of 0.02 each,
# nothing stays.


# %% key="min-p-filter-second" solution="09.11"
def by_logits(logits, p):
    if not 0 < p <= 1:
        raise ValueError("p lies above 0 and is at most 1")
    return logits.masked_fill(logits < logits.amax(-1, keepdim=True) + math.log(p), -torch.inf)


check("09.11", by_logits)

# %% key="min-p-slider" tags=["demo"]
keep_min_p = use(min_p_filter)


def at_min_p(p):
    left = keep_min_p(logits, p)
    stay = (left > -torch.inf).sum()
    note = f"{stay} tokens stay: those with at least {p} · {probs.max():.3f} = {p * probs.max():.4f}."
    return reshaped(left, f"The distribution after min-p, p = {p}", note)


show.slider(at_min_p, [0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0], name="p", start=0.3)

# %% [markdown] key="along-text"
# ### Three rules along a story
#
# How many tokens does each rule leave, from word to word? Here is one of the world's own stories, seen by the model.

# %% key="along-story" tags=["demo"]
told_by_world = model.to_tokens(next(iter(stories(9, "held_out"))).text)  # [batch pos]
along = model(told_by_world)[0, :-1]  # [pos-1 d_vocab]; row i is about token i + 1
RULES = {
    "top-k, k = 10": keep_k(along, 10),
    "top-p, p = 0.9": keep_p(along, 0.9),
    "min-p, p = 0.1": keep_min_p(along, 0.1),
}
left = {name: (kept > -torch.inf).sum(-1) for name, kept in RULES.items()}  # [pos-1] each
some = 60
nucleus = left["top-p, p = 0.9"][:some]

show.lines(
    list(range(1, some + 1)),
    {name: counts[:some] for name, counts in left.items()},
    title="How many tokens stay, at each place of a story?",
    note=f"Top-k is a flat line. The nucleus has from {nucleus.min()} to {nucleus.max()} tokens, "
    f"and a single one at {(nucleus == 1).float().mean():.0%} of these {some} places.",
    x_name="position of the token that comes next",
    y_name="tokens that stay",
    log_y=True,
)

# %% [markdown] key="price-text"
# A filter has a price as well: now and then it throws away the very token that came. Count both, for stricter and
# looser rules, on five stories of the world: how many tokens stay on average, and how often the story's next word was
# lost.

# %% key="price" tags=["demo"]
came = torch.cat([tensor(ids[start:]) for ids in world[:5]])  # the token that came: [place]
settings = [("top-k", keep_k, k) for k in (1, 5, 40)]
settings += [("top-p", keep_p, p) for p in (0.5, 0.9, 0.99)]
settings += [("min-p", keep_min_p, p) for p in (0.5, 0.1, 0.01)]
rows = []
for name, rule, value in settings:
    stays = rule(places, value) > -torch.inf  # [place d_vocab]
    lost = ~stays.gather(-1, came[:, None])
    rows.append([name, f"{value:g}", f"{stays.sum(-1).float().mean():.1f}", f"{lost.float().mean():.1%}"])

show.table(
    rows,
    ["rule", "k or p", "tokens that stay, mean", "the word that came was lost"],
    title=f"What a filter costs, at {len(came)} places",
    note="The first row is greedy: it loses every word that was not the likeliest.",
)

# %% [markdown] key="order-text"
# ## 7 · In which order?
#
# Temperature gives logits, and so does each filter, so they can follow one another in any order. Does it matter?

# %% [markdown] key="predict-order" tags=["predict"]
# **Predict.** Temperature 2, and a filter, in both orders. For which filters does the order change *which* tokens
# stay?
#
# - **a**: for none: a filter looks at who is likelier than whom, and temperature does not change that;
# - **b**: for top-p and min-p, not for top-k;
# - **c**: for all three.

# %% key="guess-order" tags=["predict"]
my_guess = "?"  # a, b or c

# %% key="both-orders" tags=["demo"]
rows = []
for name, rule, value in (("top-k", keep_k, 5), ("top-p", keep_p, 0.9), ("min-p", keep_min_p, 0.3)):
    hot_first = rule(temper(logits, 2.0), value)
    rule_first = temper(rule(logits, value), 2.0)
    stay = [(x > -torch.inf).sum().item() for x in (hot_first, rule_first)]
    same = torch.equal(hot_first > -torch.inf, rule_first > -torch.inf)
    rows.append([f"{name}, {value:g}", *(f"{n:,}" for n in stay), "the same" if same else "others"])

show.table(
    rows,
    ["filter", "temperature, then filter", "filter, then temperature", "tokens that stay"],
    title="Tokens that stay at temperature 2, in both orders",
    note="Compare the second and the third column with your guess.",
)

# %% [markdown] key="order-answer"
# <details><summary>What you see, and why</summary>
#
# It is **b**. Top-k asks only for the order of the tokens, and temperature keeps it. Top-p adds probabilities up and
# min-p compares them, and temperature changes those. A high temperature *first* makes the tail heavy, and top-p, asked
# for 90% of it, lets the tail in.
#
# </details>
#
# So a setting means nothing without its order. Hugging Face's transformers applies the temperature first; llama.cpp, by
# default, last. The same two numbers give different texts there.

# %% [markdown] key="penalties" terms="frequency penalty, presence penalty"
# ## 8 · Not again: penalties
#
# Truncation works on the tail. Against ruts there is another remedy, at the head: lower the logits of tokens that the
# text already holds. The **frequency penalty** subtracts a fixed amount for each time. (A *presence* penalty subtracts
# it once, however often the token came. The *repetition* penalty of Keskar et al. 2019 divides logits; today's programs
# divide the positive ones and multiply the negative, because dividing a negative logit makes its token likelier.)

# %% [markdown] key="frequency-penalty"
# ### Exercise 09.6 · Frequency penalty
#
# *difficulty 2 · 10 minutes · stuck?* `hint("09.6")`
#
# $$\ell'_{bv} = \ell_{bv} - \lambda\, c_{bv}$$
#
# $\ell_{bv}$ is the logit of token $v$ in row $b$, $c_{bv}$ the number of times that $v$ stands in row $b$ of `tokens`,
# and $\lambda$ is `penalty`. All given tokens count, BOS as well. A penalty below 0 rewards repetition.


# %% key="frequency-penalty-answer" exercise="09.6"
def frequency_penalty(
    logits: Float[Tensor, "batch d_vocab"], tokens: Int[Tensor, "batch pos"], penalty: float
) -> Float[Tensor, "batch d_vocab"]:
    """The logits, less `penalty` for each time a token stands in its row's text.

    >>> frequency_penalty(tensor([[1.0, 1.0, 1.0]]), tensor([[2, 0, 2]]), 0.5).tolist()
    [[0.5, 1.0, 0.0]]
    """
    # SOLUTION
    one_each = torch.ones_like(tokens, dtype=logits.dtype)
    counts = torch.zeros_like(logits).scatter_add(-1, tokens, one_each)  # [batch d_vocab]
    return logits - penalty * counts
    # END


# %% key="frequency-penalty-grade"
grade(frequency_penalty)

# %% [markdown] key="frequency-penalty-why" solution="09.6"
# #### Why it works
#
# `scatter_add` adds a 1 at each token's place, and places that are named twice get 2. (`scatter` would write 1 twice
# into the same place and leave 1: that is a presence penalty.) The counts have the shape of the logits, row by row.
#
# **What the classic mistake looks like.** `logits[:, tokens] -= penalty` changes the input, uses every row's tokens for
# all rows, and subtracts once where a token stands twice. Three mistakes, no error.


# %% key="frequency-penalty-second" solution="09.6"
def by_bincount(logits, tokens, penalty):
    """A second way: count each row by itself."""
    counts = [torch.bincount(row, minlength=logits.shape[-1]) for row in tokens]
    return logits - penalty * torch.stack(counts).to(logits.dtype)


check("09.6", by_bincount)

# %% [markdown] key="penalty-slider-text"
# **Use it** on the one distribution. Some of its tokens stand in the prompt already; ×2 after a token says
# that it does so twice.

# %% key="penalty-slider" tags=["demo"]
lower = use(frequency_penalty)
in_prompt = (ids[0] == shown[:, None]).sum(-1)  # [12]
counted = [f"{name} ×{n}" if n else name for name, n in zip(names, in_prompt, strict=True)]


def at_penalty(penalty):
    fined = lower(logits, ids, penalty)
    hit = [name for name, n in zip(names, in_prompt, strict=True) if n]
    note = f"Of the twelve, {', '.join(map(repr, hit)) or 'none'} stood in the prompt; the others gain."
    return reshaped(fined, f"The distribution after a frequency penalty of {penalty:g}", note, counted)


show.slider(at_penalty, [-0.5, 0.0, 0.25, 0.5, 1.0, 2.0, 4.0], name="penalty", start=1.0)

# %% [markdown] key="penalized-text"
# Does it help greedy out of its rut? `pick` gets logits only, so here is a pick with a memory: it knows the prompt and
# notes what it has chosen.


# %% key="penalized" tags=["demo"]
def with_memory(tokens, penalties):
    """A greedy pick that lowers the logits of all tokens so far; each row has a penalty of its own."""
    so_far = [tokens]

    def pick(logits):
        text = torch.cat(so_far, dim=1)  # [batch pos]
        rows = zip(logits.split(1), text.split(1), penalties, strict=True)
        new = likeliest(torch.cat([lower(*row) for row in rows]))  # [batch]
        so_far.append(new[:, None])
        return new

    return pick


# %% key="penalized-table" tags=["demo"]
penalties = (0.0, 0.3, 3.0)
three = begin[:1].expand(3, -1)  # BOS, once for each penalty: [3 1]
strictly = write(quick, three, 110, with_memory(three, penalties))[:, 1:].tolist()
show.table(
    [
        [f"{penalty:g}", f"{1 - variety([new]):.0%}", text_of(new).count("."), text_of(new) + " …"]
        for penalty, new in zip(penalties, strictly, strict=True)
    ],
    ["penalty", "repeated runs", "full stops", "what greedy writes"],
    title="Greedy under a frequency penalty",
    note="Read the text of the largest penalty to its end: what goes, along with the repetitions?",
)

# %% [markdown] key="penalty-limits"
# A penalty does not know a rut from a story. The tokens that a text must repeat most are its full stops, *the*, and the
# name of its hero, and the longer the text the higher their fine. So the larger the penalty, the sooner the sentences
# lose their ends and the hero the name. A small penalty against ruts, and truncation for the rest, is what people use.

# %% [markdown] key="beams" terms="beam search"
# ## 9 · Looking ahead: beams
#
# All that was about one token at a time. Suppose we really want the likeliest *text*, in a translation, say, where one
# answer is right. Its probability is a product over its tokens, and greedy maximizes each factor as it comes. Does that
# maximize the product?

# %% [markdown] key="predict-beams" tags=["predict"]
# **Predict.** A first token A or B, with 0.6 and 0.4. After A come x, y and z, with 0.4, 0.35 and 0.25. After B comes x
# with 0.9 (and y with 0.1). Which text of two tokens does greedy find, and which is the likeliest?
#
# - **a**: greedy finds A x, and that is the likeliest;
# - **b**: greedy finds A x, but B x is likelier;
# - **c**: greedy finds B x.

# %% key="guess-beams" tags=["predict"]
my_guess = "?"  # a, b or c

# %% key="small-tree" tags=["demo"]
tree = {"A": (0.6, {"x": 0.4, "y": 0.35, "z": 0.25}), "B": (0.4, {"x": 0.9, "y": 0.1})}
leaves = {f"{a} {b}": p * q for a, (p, after) in tree.items() for b, q in after.items()}

show.bars(
    leaves,
    title="All texts of two tokens",
    note=f"Greedy takes A, then x: {leaves['A x']:.2f}. The likeliest is {max(leaves, key=leaves.get)}.",
    x_name="text",
    y_name="probability",
    marked=["A x"],
    marked_name="what greedy finds",
)

# %% [markdown] key="beams-answer"
# <details><summary>What you see, and why</summary>
#
# It is **b**. A looked better at the first step, but its probability is then divided among three. Greedy has no way
# back.
#
# </details>
#
# The only certain remedy is to try all texts, and there are $d_\text{vocab}^{\,n}$ of them. **Beam search** is the
# affordable one: keep not one text but the best few, the *beams*. At each step extend every beam by every token, put
# all these together, and keep the best again.
#
# Two details. A beam that has ended in EOS is not extended: it stays as it is and competes. And that competition is
# unfair: a sum of log-probabilities falls with every token, so short texts win. Exact search for the likeliest
# translation often finds the *empty* one (Stahlberg and Byrne 2019). So the sum is divided by a power of the length.

# %% key="length-penalty" tags=["demo"]
candidates = {"2 tokens, sum −2.0": (2, -2.0), "4 tokens, sum −2.8": (4, -2.8), "8 tokens, sum −4.8": (8, -4.8)}
powers = [0.1 * step for step in range(16)]
ranked = {a: max(candidates, key=lambda name, a=a: candidates[name][1] / candidates[name][0] ** a) for a in (0, 0.6, 1)}

show.lines(
    powers,
    {name: [total / length**a for a in powers] for name, (length, total) in candidates.items()},
    title="The same three texts under a growing length penalty",
    note=f"Best at 0: the one with {ranked[0]}; at 0.6: {ranked[0.6]}; at 1: {ranked[1]}.",
    x_name="length_penalty",
    y_name="score (higher is better)",
)

# %% [markdown] key="beam-search" terms="length penalty"
# ### Exercise 09.8 · Beam search
#
# *difficulty 5 · 40 minutes · stuck?* `hint("09.8")`
#
# $$
# \text{score}(t_1, \dots, t_m) =
# \frac{1}{m^{\alpha}} \sum_{i=1}^{m} \log p(t_i \mid \text{prompt}, t_1, \dots, t_{i-1})
# $$
#
# $t_1, \dots, t_m$ are the *new* tokens, EOS counted and the prompt not; $\alpha$ is `length_penalty`, and at 0 the
# score is the plain sum.
#
# - Each row of `tokens` is searched by itself, and its best beam is its result: [batch pos+n_new], filled with EOS
#   after its end.
# - One step: the candidates are all beams that have ended, unchanged, and all extensions of the others by one token.
#   Keep the `beams` best by score. After `n_new` steps the best one is returned.
# - The model is shown at most its last `n_ctx` tokens, as in 09.7. Add up log-probabilities in float64.
#
# With one beam this is greedy. With at least $d_\text{vocab}^{\,n-1}$ beams for $n$ new tokens nothing is ever dropped
# that could win: it is exhaustive search. The grader checks both ends.


# %% key="beam-search-answer" exercise="09.8"
def beam_search(
    model,
    tokens: Int[Tensor, "batch pos"],
    n_new: int,
    beams: int,
    eos: int | None = None,
    length_penalty: float = 0.0,
) -> Int[Tensor, "batch pos+n_new"]:
    """Each row's best continuation by score, among those that `beams` beams find.

    >>> class Two:  # two tokens; 1 is likelier at every place, and only at 0.6 to 0.4
    ...     cfg = SimpleNamespace(n_ctx=8)
    ...     def __call__(self, tokens):
    ...         return tensor([0.4, 0.6]).log().expand(*tokens.shape, 2)
    >>> beam_search(Two(), tensor([[0]]), 3, 2).tolist()
    [[0, 1, 1, 1]]
    >>> beam_search(Two(), tensor([[0]]), 3, 2, eos=0).tolist()  # 0.4 at once beats 0.6 · 0.6 · 0.6
    [[0, 0, 0, 0]]
    """
    # SOLUTION
    found = []
    for row in tokens:  # each text by itself; its beams are the batch
        texts, ended = row[None], row.new_zeros(1, dtype=torch.bool)  # [beam pos], [beam]
        sums, lengths = (row.new_zeros(1, dtype=torch.float64) for _ in range(2))  # [beam]
        for _ in range(n_new):
            gains = model(texts[:, -model.cfg.n_ctx :])[:, -1].double().log_softmax(-1)  # [beam d_vocab]
            gains[ended] = -torch.inf  # an ended beam has one way on: EOS again, which costs nothing
            if eos is not None:
                gains[ended, eos] = 0.0
            totals = sums[:, None] + gains
            longer = lengths + (~ended)  # an ended beam does not get longer either
            scores = (totals / longer[:, None] ** length_penalty).flatten()  # [beam·d_vocab]
            best = scores.topk(min(beams, len(scores))).indices
            parent, token = best // gains.shape[-1], best % gains.shape[-1]
            texts = torch.cat([texts[parent], token[:, None]], dim=1)  # [beam pos+1]
            sums, lengths = totals.flatten()[best], longer[parent]
            ended = ended[parent] | (token == eos if eos is not None else torch.zeros_like(ended[parent]))
        found.append(texts[(sums / lengths.clamp(min=1) ** length_penalty).argmax()])
    return torch.stack(found)
    # END


# %% key="beam-search-grade"
grade(beam_search)

# %% [markdown] key="beam-search-why" solution="09.8"
# #### Why it works
#
# The beams of one text are the batch of the model, so a step is one call. All candidates lie in one table [beam
# d_vocab]. Flattened, its number divided by d_vocab says which beam a candidate comes from, and the rest which token
# was added. An ended beam takes part through a trick: its row holds −∞ but for EOS, which costs nothing, and its length
# stands still.
#
# **A second way** keeps Python lists of (tokens, sum) and sorts them (next cell). It is slower and easier to get right.
#
# **What the classic mistakes look like.** Sums of raw *logits* compare beams by numbers that were never normalized: the
# winner is where the logits happen to be large. Scores kept in place of sums divide again at every step. And beams
# shared by the rows of a batch give every text the continuation of the easiest one.


# %% key="beam-search-second" solution="09.8"
def with_lists(model, tokens, n_new, beams, eos=None, length_penalty=0.0):
    def score(beam):
        return beam[1] / max(1, len(beam[0])) ** length_penalty

    rows = []
    for row in tokens.tolist():
        kept = [([], 0.0)]
        for _ in range(n_new):
            over = [beam for beam in kept if beam[0] and beam[0][-1] == eos]
            for new, total in (beam for beam in kept if not (beam[0] and beam[0][-1] == eos)):
                text = tensor([row + new], device=tokens.device)[:, -model.cfg.n_ctx :]
                log_probs = model(text)[0, -1].double().log_softmax(-1).tolist()
                over += [([*new, token], total + gain) for token, gain in enumerate(log_probs)]
            kept = sorted(over, key=score, reverse=True)[:beams]
        new = max(kept, key=score)[0]
        rows.append(row + new + [eos] * (n_new - len(new)))
    return tensor(rows, device=tokens.device)


check("09.8", with_lists)

# %% [markdown] key="exhaustive-text" terms="exhaustive search"
# ### Against exhaustive search
#
# **Use it** where the truth can be known. Here is a model of four tokens whose next one depends on the last two, with
# logits thrown at random. Five new tokens make $4^5 = 1024$ texts: try them all. The best of them is what beams should
# find. With how many do they?


# %% key="table-model" tags=["demo"]
class PairTable:
    """A model of four tokens: the logits of the next hang on the last two."""

    def __init__(self, generator):
        self.cfg = SimpleNamespace(n_ctx=16)
        self.table = 1.2 * torch.randn(4, 4, 4, generator=generator)

    def __call__(self, tokens):
        before = torch.cat([tokens[:, :1], tokens[:, :-1]], dim=1)  # [batch pos]
        return self.table[before, tokens]  # [batch pos 4]


def log_prob(model, texts, start):
    """The sum of log p over all tokens from `start` on: [batch pos] → [batch]."""
    log_probs = model(texts)[:, start - 1 : -1].double().log_softmax(-1)
    return log_probs.gather(-1, texts[:, start:, None]).sum((-1, -2))


toy = PairTable(torch.Generator().manual_seed(1))
pairs = tensor(list(product(range(4), repeat=2)))  # all prompts of two tokens: [16 2]
endings = tensor(list(product(range(4), repeat=5)))  # all texts of five: [1024 5]
tried = [log_prob(toy, torch.cat([pair.expand(1024, -1), endings], dim=1), 2) for pair in pairs]
best = torch.stack(tried).max(-1)  # values and indices: [16]

# %% key="exhaustive-figure" tags=["demo"]
search = use(beam_search)
widths = [1, 2, 3, 4, 5, 6, 8, 256]
hits = []
for width in widths:
    texts = search(toy, pairs, 5, width)  # [16 7]
    hits.append((log_prob(toy, texts, 2) > best.values - 1e-6).sum().item())

show.bars(
    {str(width): n for width, n in zip(widths, hits, strict=True)},
    title="In how many of 16 cases does beam search find the best text?",
    note=f"One beam, which is greedy, finds it in {hits[0]} of 16; {widths[-1]} = 4⁴ beams, which is exhaustive, in "
    f"{hits[-1]}.",
    x_name="beams",
    y_name="cases in which the best was found",
    baseline=len(pairs),
    baseline_name="all cases",
)

# %% [markdown] key="exhaustive-why"
# $4^4$ beams are enough for five new tokens: before the last step there are no more than $4^4$ texts, so none has been
# dropped, and the last step looks at all their extensions. Few beams do nearly as well, and that is the whole point.
# But it is a search without a promise: between 1 and $d_\text{vocab}^{\,n-1}$ nothing is certain, and now and then more
# beams even find something worse.

# %% [markdown] key="pocket-beams-text"
# And on the pocket model, with its whole vocabulary? Nobody can try $50257^{12}$ texts. But the texts that are found
# can be compared with each other, and with drawn ones.

# %% key="pocket-beams" tags=["demo"]
totals, rows = [], []
for width in (1, 2, 4):
    text = search(quick, ids, 12, width)  # [1 pos+12]
    totals.append(log_prob(model, text, ids.shape[1]).item())
    words = text_of(text[0, ids.shape[1] - 1 :].tolist())
    rows.append([f"{width} beam{'s' * (width > 1)}", f"−{-totals[-1]:.2f}", words])

show.table(
    rows,
    ["search", "sum of log p", "what Anna does"],
    title="Twelve tokens on, by beam search",
    note="More beams found a likelier text."
    if totals[-1] > totals[0] + 1e-6
    else "Greedy's text is as likely as the one that four beams found.",
)

# %% key="pocket-drawn" tags=["demo", "nbval-ignore-output"]
sampled = write(quick, ids.expand(20, -1), 12, drawn_at(1.0))  # twenty draws: [20 pos+12]
typical = torch.cat([log_prob(model, text[None], ids.shape[1]) for text in sampled])  # [20]
show.lines(
    list(range(1, 21)),
    {"drawn texts": typical.sort(descending=True).values},
    title="How likely is a drawn text?",
    note=f"Each point is one of twenty drawn texts; {(typical < totals[-1]).sum()} of them are less likely than the "
    "one that four beams found.",
    x_name="drawn text, the likeliest first",
    y_name="sum of log p over twelve tokens",
    levels={"found by four beams": totals[-1]},
)

# %% [markdown] key="beams-limits"
# So beam search does its work well: it finds texts that are likelier than nearly all that are drawn. For a translation
# or a transcript, where there is one right answer, that is what one wants. For a story it is the wrong thing to want:
# it looks for a text that is *not* like most texts. Where beam search writes blandly, that is no failure of the search.
# It is its success.

# %% [markdown] key="waste" terms="KV cache"
# ## 10 · Do nothing twice: the KV cache
#
# Look at what the loop makes the model do. At step 100 it reads 100 tokens, at step 101 the same 100 and one more. All
# the old positions are computed again, and to the same numbers: no position sees the future (chapter 05), so nothing
# that comes later can change them.
#
# What does a *new* position need of the old ones? It asks with its own query, and gets an answer from their keys and
# values. Nothing else of them ever reaches it: not their queries, not their MLPs, not their logits. So keep the keys
# and values of every layer, and compute only what is new. That store is the **KV cache**.

# %% [markdown] key="predict-cache" tags=["predict"]
# **Predict.** A prompt of 10 tokens is continued by 90. In one layer, for how many positions are keys computed
# altogether, added up over all steps, without a cache and with one? (The last token is chosen and never read.)
#
# - **a**: about 9,000 and 99;
# - **b**: about 4,900 and 99;
# - **c**: about 4,900 and 90.

# %% key="guess-cache" tags=["predict"]
my_guess = "?"  # a, b or c

# %% key="positions-computed" tags=["demo"]
steps = range(90)
again = [10 + step for step in steps]  # the whole text at each step
once = [10] + [1] * 89  # the prompt at the first step, then one token each
print(f"without a cache: {sum(again):,} positions")
print(f"with a cache:    {sum(once):,} positions")

show.lines(
    list(steps),
    {"without a cache": again, "with a cache": once},
    title="Positions that one step computes",
    note="The area under a curve is the whole work: a triangle that grows with the square, and a thin line.",
    x_name="step",
    y_name="positions computed",
)

# %% [markdown] key="positions-answer"
# <details><summary>What you see, and why</summary>
#
# It is **b**. Without a cache the steps see 10, 11, …, 99 positions: $90 \cdot 54.5 = 4905$. With one, each position is
# computed once, when it is first read: the 10 of the prompt and 89 of the 90 new ones.
#
# </details>

# %% [markdown] key="kv-cache"
# ### Exercise 09.9 · KV cache
#
# *difficulty 3 · 15 minutes · stuck?* `hint("09.9")`
#
# $$K \leftarrow [\,K;\; k\,] \qquad V \leftarrow [\,V;\; v\,]$$
#
# $K$ and $V$ are all keys and values so far, $k$ and $v$ those of the new positions, and $[\,;\,]$ joins along the
# positions, old ones first. Write a class:
#
# - `KVCache()` is empty, and two caches share nothing;
# - `.append(k, v)` adds new positions, [batch new n_heads d_head] each, and gives all of them, $K$ and $V$;
# - `len(cache)` is the number of positions held.


# %% key="kv-cache-answer" exercise="09.9"
class KVCache:
    """The keys and values of one layer, for all positions so far.

    >>> cache = KVCache()
    >>> k = torch.zeros(1, 3, 2, 4)  # one text, three positions, two heads, d_head = 4
    >>> _ = cache.append(k, k + 1)
    >>> keys, values = cache.append(k[:, :1] + 2, k[:, :1] + 3)
    >>> len(cache), tuple(keys.shape), values[0, :, 0, 0].tolist()
    (4, (1, 4, 2, 4), [1.0, 1.0, 1.0, 3.0])
    """

    def __init__(self):
        # SOLUTION
        self.k = self.v = None  # here and not in the class's body, so that each cache has its own
        # END

    def append(
        self, k: Float[Tensor, "batch new n_heads d_head"], v: Float[Tensor, "batch new n_heads d_head"]
    ) -> tuple[Float[Tensor, "batch pos n_heads d_head"], Float[Tensor, "batch pos n_heads d_head"]]:
        # SOLUTION
        if self.k is not None:
            k, v = torch.cat([self.k, k], dim=1), torch.cat([self.v, v], dim=1)  # positions are axis 1
        self.k, self.v = k, v
        return k, v
        # END

    def __len__(self) -> int:
        # SOLUTION
        return 0 if self.k is None else self.k.shape[1]
        # END


# %% key="kv-cache-grade"
grade(KVCache)

# %% [markdown] key="kv-cache-why" solution="09.9"
# #### Why it works
#
# The first append keeps what it is given; each later one joins it to what is there. Old positions stay in front, so
# position $i$ of the cache is position $i$ of the text.
#
# **A second way** is a list of chunks that are joined when they are asked for. **A third**, which fast libraries use,
# is a buffer with room for all positions: `torch.cat` copies the whole cache at every step, a buffer is only written at
# its end.
#
# **What the classic mistake looks like.** `held = []` in the body of the class belongs to the *class*: the second text
# that is written begins with the keys of the first. It looks as if the model were haunted by an earlier conversation.


# %% key="kv-cache-second" solution="09.9"
class Chunks:
    """A second way: keep the chunks, join them when asked."""

    def __init__(self):
        self.chunks = []

    def append(self, k, v):
        self.chunks.append((k, v))
        keys, values = zip(*self.chunks, strict=True)
        return torch.cat(keys, dim=1), torch.cat(values, dim=1)

    def __len__(self):
        return sum(keys.shape[1] for keys, _ in self.chunks)


check("09.9", Chunks)

# %% [markdown] key="offset-text"
# Now attention for the new positions. All is as in chapter 05 but for the mask. If the cache holds `past` positions,
# new query number $i$ stands at position past + $i$ of the text, and may see every key up to there:

# %% key="offset-grid" tags=["demo"]
past, new = 4, 3
seen = torch.arange(past + new) <= past + torch.arange(new)[:, None]  # [new past+new]
show.matrix(
    seen.float(),
    rows=[f"new {i}, position {past + i}" for i in range(new)],
    columns=[f"old {j}" for j in range(past)] + [f"new {i}" for i in range(new)],
    title=f"What {new} new queries may see when {past} positions are in the cache",
    note="1 may be seen, 0 may not. The corner of the mask has moved to the right by the number of old positions.",
    row_name="query",
    column_name="key",
    value_name="may be seen",
)

# %% [markdown] key="attention-with-cache"
# ### Exercise 09.10 · Attention with a cache
#
# *difficulty 4 · 25 minutes · stuck?* `hint("09.10")`
#
# $$
# \text{out}_i = b_O + \sum_h \Big( \sum_{j \le \text{past} + i} A^h_{ij}\, v^h_j \Big) W_O^h
# \qquad
# A^h_{ij} = \operatorname{softmax}_{j \le \text{past} + i}\!\left(\frac{q^h_i \cdot k^h_j}{\sqrt{d_\text{head}}}\right)
# $$
#
# $i$ counts the new positions and $j$ all of them, old and new; past is `len(cache)` *before* the new keys and values
# are appended. $q, k, v$ are the projections of `x_new`, as in 05.1. With an empty cache this is 05.7. You may use what
# you wrote in chapter 05, or do it with a few matrix products.


# %% key="attention-with-cache-answer" exercise="09.10"
def attention_with_cache(
    x_new: Float[Tensor, "batch new d_model"],
    cache,
    W_Q: Float[Tensor, "n_heads d_model d_head"],
    b_Q: Float[Tensor, "n_heads d_head"],
    W_K: Float[Tensor, "n_heads d_model d_head"],
    b_K: Float[Tensor, "n_heads d_head"],
    W_V: Float[Tensor, "n_heads d_model d_head"],
    b_V: Float[Tensor, "n_heads d_head"],
    W_O: Float[Tensor, "n_heads d_head d_model"],
    b_O: Float[Tensor, "d_model"],
) -> Float[Tensor, "batch new d_model"]:
    """Attention of the new positions over all that the cache holds and themselves; they are put into the cache.

    >>> one, zero, cache = torch.ones(1, 1, 1), torch.zeros(1, 1), KVCache()
    >>> weights = 0 * one, zero, one, zero, one, zero, one, zero[0]  # W_Q = 0: all scores are equal
    >>> attention_with_cache(tensor([[[1.0], [3.0]]]), cache, *weights).tolist()
    [[[1.0], [2.0]]]
    >>> attention_with_cache(tensor([[[8.0]]]), cache, *weights).tolist()  # (1 + 3 + 8) / 3
    [[[4.0]]]
    """
    # SOLUTION
    past = len(cache)  # before the append: the first new query stands there
    q, k, v = (
        torch.einsum("bpm,hmd->bphd", x_new, W) + b for W, b in ((W_Q, b_Q), (W_K, b_K), (W_V, b_V))
    )  # [batch new n_heads d_head] each
    k, v = cache.append(k, v)  # [batch past+new n_heads d_head]
    scores = torch.einsum("bqhd,bkhd->bhqk", q, k) / q.shape[-1] ** 0.5  # [batch n_heads new past+new]
    key_pos = torch.arange(k.shape[1], device=k.device)
    hidden = key_pos > key_pos[past:, None]  # [new past+new]
    pattern = scores.masked_fill(hidden, -torch.inf).softmax(-1)
    z = torch.einsum("bhqk,bkhd->bqhd", pattern, v)  # [batch new n_heads d_head]
    return torch.einsum("bqhd,hdm->bqm", z, W_O) + b_O  # [batch new d_model]
    # END


# %% key="attention-with-cache-grade"
grade(attention_with_cache)

# %% [markdown] key="attention-with-cache-why" solution="09.10"
# #### Why it works
#
# Queries are made for the new positions only, so the scores have one row for each new position and one column for each
# position of the text. `key_pos[past:]` are the new queries' own positions. With one new token the mask hides nothing
# at all; it matters when a chunk of several comes, as a prompt does.
#
# **A second way** (next cell) puts the new positions in one by one. Then no mask is needed, and it is as slow as it
# looks.
#
# **What the classic mistakes look like.** A mask of shape [new, new] does not fit, and padding it on the wrong side
# hides the old positions: the model forgets its prompt. Asking `len(cache)` *after* the append moves the corner too far
# to the right: inside a chunk the new tokens see each other's future, and writing one token at a time never shows it.


# %% key="attention-with-cache-second" solution="09.10"
def one_by_one(x_new, cache, *weights):
    """A single new position sees all there is, so it needs no mask."""
    W_Q, b_Q, W_K, b_K, W_V, b_V, W_O, b_O = weights
    out = []
    for x in x_new.unbind(1):  # [batch d_model]
        q, k, v = (torch.einsum("bm,hmd->bhd", x, W) + b for W, b in ((W_Q, b_Q), (W_K, b_K), (W_V, b_V)))
        k, v = cache.append(k[:, None], v[:, None])  # [batch past+1 n_heads d_head]
        weight = (torch.einsum("bhd,bkhd->bhk", q, k) / q.shape[-1] ** 0.5).softmax(-1)
        out.append(torch.einsum("bhk,bkhd,hdm->bm", weight, v, W_O) + b_O)
    return torch.stack(out, dim=1)  # [batch new d_model]


check("09.10", one_by_one)

# %% key="examples-run" solution="09.10"
import doctest

doctest.testmod()  # the examples in the docstrings of all eleven exercises, run

# %% [markdown] key="cached-model-text"
# ### The whole model, with a cache
#
# **Use it.** All other parts of a block work on each position alone, so they need no cache and no change: new positions
# go in, new positions come out. Here are the blocks of chapter 07 with your attention in them.

# %% key="cached-blocks" tags=["demo"]
NAMES = ("W_Q", "b_Q", "W_K", "b_K", "W_V", "b_V", "W_O", "b_O")
parts = [[getattr(block.attn, name).detach() for name in NAMES] for block in model.blocks]
mlps = [[getattr(block.mlp, name).detach() for name in ("W_in", "b_in", "W_out", "b_out")] for block in model.blocks]
attend, new_cache = use(attention_with_cache), use(KVCache)


def norm(x, ln):
    return F.layer_norm(x, x.shape[-1:], ln.w, ln.b, model.cfg.eps)


def through_blocks(x, caches):
    """New positions through all blocks; each layer's cache grows by them: [batch new d_model], in and out."""
    for block, attention, (W_in, b_in, W_out, b_out), cache in zip(model.blocks, parts, mlps, caches, strict=True):
        x = x + attend(norm(x, block.ln1), cache, *attention)
        x = x + F.gelu(norm(x, block.ln2) @ W_in + b_in, approximate="tanh") @ W_out + b_out
    return x


def caches():
    """An empty cache for each layer."""
    return [new_cache() for _ in parts]


# %% [markdown] key="cached-model-loop"
# And a model that can be handed to `generate` as it stands. The loop still shows it the whole text each time; the model
# looks how much of it it has seen before, and computes the rest.


# %% key="cached-model" tags=["demo"]
class Cached:
    """The model with a cache: of a text that grows, only the new positions are computed."""

    def __init__(self, model):
        self.model, self.cfg, self.seen = model, model.cfg, torch.empty(0, 0)

    def __call__(self, tokens):
        past = self.seen.shape[1]
        if past == 0 or not torch.equal(tokens[:, :past], self.seen):  # another text, or the window has moved
            past, self.caches = 0, caches()
        new = tokens[:, past:]  # [batch new]
        x = self.model.W_E[new] + self.model.W_pos[past : tokens.shape[1]]  # [batch new d_model]
        last = norm(through_blocks(x, self.caches)[:, -1:], self.model.ln_final)  # [batch 1 d_model]
        self.seen = tokens
        return (last @ self.model.W_U + self.model.b_U).expand(-1, tokens.shape[1], -1)


# %% [markdown] key="same-text"
# First the proof that matters: **a cache changes no number**. In exact arithmetic the logits are equal; in float32 the
# sums are taken in another order, so they agree to rounding.

# %% key="same-numbers" tags=["demo"]
fast, differences = Cached(model), []
longest = model.to_tokens(joined, prepend_bos=False)[:, :200]  # the world's texts from section 5: [1 200]
whole = model(longest)[0]  # the logits of all positions at once: [200 d_vocab]
for end in [30, 31, 32, 50, 51, *range(60, 200, 20)]:  # in chunks of one and of many
    differences.append((fast(longest[:, :end])[0, -1] - whole[end - 1]).abs().max().item())

print(
    f"logits are as large as {whole.abs().max():.0f}; with the cache they differ by less than 0.001:",
    max(differences) < 1e-3,
)
four = starts[:4]
same = torch.equal(write(Cached(model), four, 30, likeliest, eos), write(quick, four, 30, likeliest, eos))
print("four greedy stories, with and without a cache, token by token the same:", same)

# %% [markdown] key="seconds-text"
# ### What it saves
#
# Now the seconds. What does the next token cost when the text has $n$ tokens? The model's own window ends at 256, so
# this measures the blocks alone, on random streams: how long a multiplication takes does not depend on the numbers. The
# seconds are the processor's, on one core, so that other programs count little, and the shortest of a few runs. They
# differ from machine to machine, so the book's check does not compare them.


# %% key="seconds" tags=["demo", "measured", "nbval-ignore-output"]
def seconds(step, times=4):
    """The shortest of some runs, in seconds of the processor, on one core."""
    threads, taken = torch.get_num_threads(), []
    torch.set_num_threads(1)
    for _ in range(times):
        began = process_time()
        step()
        taken.append(process_time() - began)
    torch.set_num_threads(threads)
    return min(taken)


# %% key="seconds-measured" tags=["demo", "nbval-ignore-output"]
sizes = [16, 32, 64, 128, 256, 512, 1024, 2048]
streams = torch.randn(1, sizes[-1], model.cfg.d_model, generator=rng)  # [batch pos d_model]
measured = {"without a cache": [], "with a cache": []}
for n in sizes:
    times = 1 if n > 1000 else 3  # long ones are sure enough, and take long
    measured["without a cache"].append(seconds(lambda n=n: through_blocks(streams[:, :n], caches()), times))
    held = caches()
    through_blocks(streams[:, : n - 1], held)  # the past, not measured
    measured["with a cache"].append(seconds(lambda n=n, held=held: through_blocks(streams[:, n - 1 : n], held), 8))

# %% key="seconds-figure" tags=["demo", "measured", "nbval-ignore-output"]
milliseconds = {name: [1000 * t for t in times] for name, times in measured.items()}
slow, fast_times = milliseconds.values()
show.lines(
    sizes,
    milliseconds,
    title="Time for the next token, measured (the blocks alone)",
    note=f"From 1,024 to 2,048 tokens: {slow[-1] / slow[-2]:.1f} times as long without a cache, "
    f"{fast_times[-1] / fast_times[-2]:.1f} times with one. At 2,048 the step with a cache is "
    f"{slow[-1] / fast_times[-1]:.0f} times faster.",
    x_name="length of the text (tokens)",
    y_name="milliseconds a token",
    log_x=True,
    log_y=True,
)

# %% [markdown] key="asymptotes" terms="asymptote"
# Both axes are logarithmic, so a straight line is a power of $n$, and its slope is the exponent. What slopes should
# there be? Count multiplications. A block has $12\, d^2$ weights ($4 d^2$ in attention, $8 d^2$ in the MLP; $d$ is
# d_model), and each position that is computed meets each of them once. And each pair of a query and a key costs $2d$:
# $d$ for the score, $d$ for the mixing, over all heads.
#
# | the step that reads token number $n$ | weights | pairs (query, key) | in all, per block |
# |---|---|---|---|
# | without a cache: $n$ positions | $12\, d^2 n$ | $2 d\, n^2$ | linear in $n$, then quadratic |
# | with a cache: 1 position | $12\, d^2$ | $2 d\, n$ | constant, then linear in $n$ |
#
# The two parts are equal where $12 d^2 n = 2 d\, n^2$, at $n = 6d$, with and without a cache. (Without one the mask
# throws nearly half of the pairs away, *after* they were computed.) So the ratio of the two is always $n$: **that is
# what a cache saves, a factor of the length of the text.** For a whole text of $N$ tokens add the steps up: $N^2$ and
# then $N^3$ without a cache, $N$ and then $N^2$ with one.


# %% key="counted" tags=["demo"]
def multiplications(n, d, layers, positions):
    """Of one step: `positions` are computed, each against n keys."""
    return layers * positions * (12 * d**2 + 2 * d * n)


d, layers = model.cfg.d_model, model.cfg.n_layers
long_sizes = [16 * 2**step for step in range(11)]
show.lines(
    long_sizes,
    {
        "without a cache": [multiplications(n, d, layers, n) for n in long_sizes],
        "with a cache": [multiplications(n, d, layers, 1) for n in long_sizes],
    },
    title="Multiplications for the next token, counted (the blocks alone)",
    note=f"Below n = 6d = {6 * d:,} the slopes are 1 and 0, far above it 2 and 1.",
    x_name="length of the text (tokens)",
    y_name="multiplications a token",
    log_x=True,
    log_y=True,
    marks={"n = 6 d_model": 6 * d},
)


# %% key="slopes" tags=["demo", "measured", "nbval-ignore-output"]
def slope(values, first, last):
    """The exponent e of values ~ nᵉ between two lengths."""
    return math.log(values[1] / values[0]) / math.log(last / first)


rows = []
for name, computed in (("without a cache", lambda n: n), ("with a cache", lambda n: 1)):
    for ends in ((16, 128), (128, 1024), (1024, 2048)):
        took = [measured[name][sizes.index(n)] for n in ends]
        needed = [multiplications(n, d, layers, computed(n)) for n in ends]
        rows.append([name, f"{ends[0]:,} to {ends[1]:,}", f"{slope(took, *ends):.1f}", f"{slope(needed, *ends):.1f}"])

show.table(
    rows,
    ["", "tokens", "slope, measured", "slope, counted"],
    title="Slopes of the two figures",
    note="Slope 1: twice the length takes twice the time. Slope 2: four times the time.",
)

# %% [markdown] key="measured-against-counted"
# Compare the columns. The measured slopes grow as the counted ones do, and they do not agree to the digit. For short
# texts the cached step cannot take less than the time to call some dozens of functions, whatever they multiply, so its
# curve begins as a floor; and without a cache a few positions are nearly free, because a processor handles them side by
# side. For long texts softmax and mask pass over the scores as well, $n^2$ numbers for each head without a cache, which
# soon no longer fit into the processor's fast memory. And `torch.cat` *copies* the cache at each step, which is linear
# in $n$; a buffer of fixed size would not.
#
# A cache is paid for in memory: two vectors of $d$ numbers for each position, in each layer.

# %% key="memory" tags=["demo"]
rows = []
for name, width, depth, n in (
    ("this model", d, layers, model.cfg.n_ctx),
    ("GPT-2 small", 768, 12, 1024),
    ("GPT-2 XL", 1600, 48, 1024),
):
    megabytes = 2 * depth * n * width * 4 / 1e6
    without, with_one = (
        sum(multiplications(m, width, depth, c) for m, c in zip(range(1, n + 1), counts, strict=True))
        for counts in (range(1, n + 1), [1] * n)
    )
    rows.append([name, f"{n:,}", f"{megabytes:,.0f} MB", f"{without / 1e9:,.0f}", f"{with_one / 1e9:,.0f}"])

show.table(
    rows,
    ["model", "tokens", "cache for one text, float32", "10⁹ multiplications without", "with"],
    title="A full window, written token by token",
    note="The cache of one text, times the texts in a batch: that is what fills the memory of a server.",
)

# %% [markdown] key="cache-limits"
# In today's models the cache has become the bottleneck, and several of the changes in chapter 11 were made to shrink
# it: there, several heads share one key and one value (Shazeer 2019 took that to its end). And one limit is GPT-2's
# own. When the text outgrows `n_ctx`, the window moves: token number 1 becomes number 0, its position embedding
# changes, and with it every key and value. `Cached` sees that the text it knows is no longer the beginning, throws all
# away and starts anew.

# %% [markdown] key="answer" covers="N1, N7"
# ## 11 · Back to the question
#
# If the model knows how probable each token is, why not take the likeliest, and why not just draw? With the cache you
# can afford to measure it. Six ways to choose; each tells eight stories from the same openings. Two numbers for each
# way:
#
# - **variety**, the different runs of four tokens divided by all runs, as in section 5;
# - **quality**: the share of stories that keep their thread. The world's own judge reads them: the same hero and
#   pronoun throughout, one friend, a plot that is set up, and the ending that belongs to it.

# %% key="six-ways" tags=["demo", "nbval-ignore-output"]
WAYS = {
    "greedy": likeliest,
    "T = 0.7": drawn_at(0.7),
    "T = 1": drawn_at(1.0),
    "T = 1.5": drawn_at(1.5),
    "top-p 0.9": lambda logits: drawing(keep_p(logits, 0.9), rng),
    "min-p 0.1, T = 1.5": lambda logits: drawing(temper(keep_min_p(logits, 0.1), 1.5), rng),
}


def judged(texts):
    """(variety, quality) of a list of lists of ids, BOS left out."""
    right = [all(check_story(model.tokenizer.decode(ids)).values()) for ids in texts]
    return variety([ids[start - 1 :] for ids in texts]), sum(right) / len(right)


n_new = min(140, model.cfg.n_ctx - start)  # few stories are longer
told = {name: write(Cached(model), starts, n_new, pick, eos) for name, pick in WAYS.items()}
judgments = {name: judged([new_ids(row, 1) for row in rows]) for name, rows in told.items()}
real = [model.to_tokens(story.text)[0, 1:].tolist() for story in islice(stories(9, "held_out"), len(starts))]
judgments["the world"] = judged(real)

# %% key="quality-and-variety" tags=["demo", "nbval-ignore-output"]
show.bars(
    judgments,
    series=["variety", "quality"],
    title=f"Variety and quality of {len(starts)} stories each",
    note=f"Greedy: variety {judgments['greedy'][0]:.2f}, quality {judgments['greedy'][1]:.2f}; T = 1: "
    f"{judgments['T = 1'][0]:.2f} and {judgments['T = 1'][1]:.2f}; T = 1.5: {judgments['T = 1.5'][0]:.2f} and "
    f"{judgments['T = 1.5'][1]:.2f}. A good way to choose has two long bars, as the world has.",
    x_name="how the token is chosen",
    y_name="different runs ÷ all runs (variety), share that keeps its thread (quality)",
)

# %% key="one-story-each" tags=["demo", "nbval-ignore-output"]
show.table(
    [[name, text_of(new_ids(rows[0], 1))] for name, rows in told.items()],
    ["how the token is chosen", "the story of Anna"],
    title="One story from each",
    note="The same model, the same opening; only your lines differ.",
)

# %% [markdown] key="answer-text"
# Why not take the likeliest? **Because a good story is not made of likeliest words.** Where many words are equally
# good, greedy takes the same one every time: its stories may be in order, and they are all the same one. Why not just
# draw? **Because of the tail**, and a text gives the tail many chances. How much that matters is how heavy the tail is:
# compare the bars of T = 1 and of T = 1.5. So one draws, and cuts the tail off, or cools it a little. How much, no
# formula says: it depends on the model, and on whether you want one right answer or many good stories. (With eight
# stories each, the quality is uncertain by up to 0.18 up and down; run the cells with more of them before you believe
# small differences.)
#
# A better model has a lighter tail, and needs less of all this. **What you change is never what the model knows, only
# which of its words you let it say.**

# %% [markdown] key="summary"
# ## Summary
#
# Say it in your own words first, then compare.
#
# - Writing is a **loop**: show the model the text, take the last position's distribution, choose, append. The model is
#   the same whatever you choose.
# - **Greedy** takes the likeliest token. It is reproducible, and it runs into ruts: where many tokens are equally good
#   it takes the same one each time. It does not even find the likeliest text, and the likeliest text is not a typical
#   one.
# - **Temperature** divides logits: ratios of probabilities are raised to the power $1/T$, and their order stays.
# - **Top-k** keeps a number, **top-p** a share of the probability, **min-p** what comes near to the likeliest. All put
#   −∞ on the tail, where the model is least right. Their order with temperature matters, except for top-k.
# - **Penalties** lower what was said. They also hit what has to be said again.
# - **Beam search** looks for the likeliest text and needs no luck only when it is exhaustive. What it finds is likely,
#   and for stories that is its fault.
# - A **KV cache** keeps what later positions need of earlier ones: keys and values. It changes no number, saves a
#   factor of the text's length, and costs memory.

# %% [markdown] key="self-test"
# ## Test yourself
#
# **1.** Someone sets temperature 0.8, top-k 1, top-p 0.95. Which setting can be left out without any change?
#
# <details><summary>Answer</summary>
#
# Temperature and top-p both: with $k = 1$ a single token stays, and it is drawn with probability 1, whatever its share
# was. This is greedy with more arithmetic. (Whether top-p comes before or after makes no difference: the likeliest
# token is in every nucleus.)
#
# </details>
#
# **2.** After a top-p filter with $p = 0.9$ the probability of the likeliest token is 0.5. What was it before? And how
# much could it have been at most to end there?
#
# <details><summary>Answer</summary>
#
# The tokens that stay had a sum $s \ge 0.9$ and were divided by it, so before it was $0.5 \cdot s$: at least 0.45, and
# at most 0.5, where nothing was cut off. A filter never lowers the probability of a token that stays.
#
# </details>
#
# **3.** A friend caches the *residual stream* of old positions in place of their keys and values. Is that enough to
# write on correctly? What is lost?
#
# <details><summary>Answer</summary>
#
# It is enough: keys and values are functions of the stream that enters the layer (one LayerNorm and one product away),
# and this stream does not change when the text grows. But these products must be taken again for every old position at
# every step: $2 d^2$ multiplications each, so the cost of a step is again $n \cdot d^2$, only with a smaller factor.
# Half the memory, most of the saving lost.
#
# </details>

# %% [markdown] key="glossary" covers="N21"
# ## Words met
#
# | term | meaning |
# |---|---|
# | distribution | a probability for each token of the vocabulary, summing to 1 |
# | greedy decoding | always the likeliest token |
# | sampling | drawing a token, each with its probability |
# | generator, seed | the state that random numbers come from; the number that it starts from |
# | temperature | what logits are divided by: below 1 sharper, above 1 flatter |
# | tail | the many tokens with next to no probability each |
# | truncation | ruling tokens out before drawing: top-k, top-p, min-p |
# | top-k, top-p (nucleus), min-p | keep the k likeliest; the fewest that reach p; all from p times the likeliest up |
# | frequency penalty, presence penalty | lower a token's logit for each time it came; once if it came |
# | autoregressive generation | the loop: each token is chosen from what came before, its own words included |
# | degeneration | a text that runs into repetition |
# | surprise, entropy | −log p of what came; its mean when tokens come as often as the distribution says |
# | beam search | keep the best few texts at each step and extend them all |
# | length penalty | the power of the length that a beam's sum is divided by |
# | exhaustive search | try all texts |
# | KV cache | the keys and values of all positions so far, kept for the next step |
# | asymptote | the simple curve that another comes near to far out |

# %% [markdown] key="read-on"
# ## Where to read on
#
# - Fan, Lewis and Dauphin, *Hierarchical Neural Story Generation* (2018): top-k sampling, for stories.
# - Holtzman, Buys, Du, Forbes and Choi, *The Curious Case of Neural Text Degeneration* (2020): why the likeliest text
#   is bad, and nucleus sampling.
# - Nguyen et al., *Turning Up the Heat: Min-p Sampling for Creative and Coherent LLM Outputs* (2024).
# - Keskar et al., *CTRL: A Conditional Transformer Language Model for Controllable Generation* (2019): the repetition
#   penalty.
# - Wu et al., *Google's Neural Machine Translation System* (2016): beam search with a length penalty, in use.
# - Stahlberg and Byrne, *On NMT Search Errors and Model Errors: Cat Got Your Tongue?* (2019): exact search, and the
#   empty translation.
# - Shazeer, *Fast Transformer Decoding: One Write-Head is All You Need* (2019): the cost of the cache, and sharing it.
#
# Next, [chapter 10](10_reading.ipynb): reading what the model computes before it says anything.
