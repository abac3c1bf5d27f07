# Chapter 08, training: the one source of its notebooks in chapters/ and solutions/ (`book build 08`).
# Losses and texts of a model that is trained here depend on how a processor rounds: such cells are tagged
# nbval-ignore-output, and a table of rounded verdicts after them is compared. Whatever is said about the pocket model
# is computed from its weights and its stored loss curve.

# %% [markdown] key="title"
# # Training: how noise becomes a model
#
# In chapter 07 you built GPT-2: a few lines of code, and the names and shapes of its parameters. The same code with
# random numbers in them writes noise. Nobody knows how to write the right numbers down. They are *found*, by one loop
# of five lines, run long enough.
#
# In this chapter you write that loop and all that it stands on, and you train a transformer from nothing, here, in
# about a minute. The loop is easy to write. The hard part is to know whether it works: a training that goes wrong
# raises no error. It prints numbers that fall, like any other.

# %% [markdown] key="what-you-will-do"
# ## What you will be able to do
#
# - **Cut** text into batches, and say how many predictions they hold and which token answers which.
# - **Judge** a loss: compute the losses of knowing nothing, of counting tokens, of counting pairs, and the best there is.
# - **Start** a model so that its first loss is what you foresaw.
# - **Build** the step: AdamW, a schedule for the learning rate, clipping; and **train** a model with it.
# - **Read** a loss curve, and recognize the classic mistakes in it.
#
# **Builds on** 07 (the model, its loss), 03 (the stream), 05 (induction heads). **Time**: two sittings; 08.1 to 08.4
# get everything ready, 08.5 to 08.8 train.
#
# | exercise | you write | difficulty (1–5) | minutes |
# |---|---|---|---|
# | 08.1 | `make_batches`: windows of text at random places | 3 | 15 |
# | 08.2 | `unigram_loss`: how far counting tokens goes | 2 | 10 |
# | 08.3 | `bigram_loss`: how far counting pairs goes | 3 | 15 |
# | 08.4 | `init_weights`: where to start | 3 | 15 |
# | 08.5 | `learning_rate`: how large a step, and when | 2 | 10 |
# | 08.6 | `adamw_step`: the optimizer | 4 | 25 |
# | 08.7 | `clip_gradients`: no step too wild | 2 | 10 |
# | 08.8 | `train`: the loop | 4 | 30 |
#
# `hint("08.1")` gives a hint, and a stronger one each time you ask. You may skip an exercise: later cells use the
# book's version where yours is missing, and say so.

# %% key="setup"
import json
import math
from itertools import islice
from textwrap import fill
from types import SimpleNamespace

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn, tensor
from torch.nn import functional as F

from utils import device, grade, hint, reference, show, tokenizer, use
from utils.exercises import exercise
from utils.paths import pocket_dir
from utils.pocket.world import documents, stories
from utils.pocket.world.streams import WEIGHTS

where = device()  # a CUDA GPU if there is one, else the CPU: what is trained in this chapter is trained there
torch.use_deterministic_algorithms(where.type == "cpu")  # sums in one order: two runs on one machine train alike
pocket = reference(device="cpu")  # the pocket model, trained already
GPT2 = exercise("07.2").solution  # chapter 07's class, as the book writes it
gpt2_tokens = tokenizer()
rng = torch.Generator().manual_seed(8)  # random numbers of this chapter come from here, or from a seed that is shown

# %% [markdown] key="which-model"
# `GPT2` is the class that you wrote as exercise 07.2. Here it is the book's, so that this notebook needs no other; to
# train your own, paste its cells below the one above. The small models that you train have the same code as GPT-2
# small. They differ in sizes, in what they read, and in how long.

# %% [markdown] key="question"
# ## 1 · The same code, twice
#
# Two models go on with the same story. They are the same class and the same shapes, number for number. One is the
# pocket model. In the other each number was drawn at random.


# %% key="write-on" tags=["demo"]
def write_on(model, start, n, generator, n_ctx=64):
    """Draw n tokens after the ids `start` [pos], each from what the model expects after all before it."""
    place, ids = next(model.parameters()).device, start
    for _ in range(n):
        with torch.no_grad():
            logits = model(ids[None, -n_ctx:].to(place))  # [1 pos d_vocab]
        chances = (logits[0, -1] / 0.7).softmax(-1).cpu()  # [d_vocab]; 0.7 favors likely tokens (chapter 09)
        ids = torch.cat([ids, torch.multinomial(chances, 1, generator=generator)])  # [pos + 1]
    return ids[len(start) :]


opening = "Once there lived a brave girl named Anna. She"
opening_ids = tensor([gpt2_tokens.eos_token_id, *gpt2_tokens(opening)["input_ids"]])

noise = GPT2(pocket.cfg)  # the pocket model's shapes
exercise("08.4").solution(noise, rng)  # random weights: this is what you write in section 4

# %% key="two-texts" tags=["demo", "nbval-ignore-output"]
# Drawn from probabilities that another processor may round another way: the texts are not compared with those stored.
drawn = {name: write_on(model, opening_ids, 24, rng) for name, model in (("random", noise), ("trained", pocket))}
show.table(
    [[name, gpt2_tokens.decode(ids)] for name, ids in drawn.items()],
    ["weights", f"how it goes on after '{opening}'"],
    title="One class, two sets of numbers",
    note="Only the numbers in the parameters differ. The pocket model's were found by training.",
)

# %% [markdown] key="question-asked"
# That is the question of this chapter: **how do you get from the first line to the second, and how do you know on the
# way that you are getting there?** Suppose someone tells you that their loss is down to 2. Is that good? And if
# someone else has 0.2 after a few seconds? You will meet both, and one of them is a disaster.

# %% [markdown] key="text" terms="held-out"
# ## 2 · Text, cut into batches
#
# The text is a small world of stories, told by a program: characters, plots and sentences are drawn at random, and
# the program knows the probability of every choice that it makes. That will be worth a lot. Six thousand stories are
# for training. Eighty others, told with another seed, are **held out**: the model never learns from them, they only
# measure. (A loss on text that was trained on also falls when a model learns the text by heart.)


# %% key="read" tags=["demo"]
def read(seed, n):
    """n stories, and all their token ids in one line, with <|endoftext|> before each and after the last."""
    told = list(islice(stories(seed), n))
    end, encoded = gpt2_tokens.eos_token_id, gpt2_tokens([story.text for story in told])["input_ids"]
    return told, tensor([*(token for ids in encoded for token in [end, *ids]), end])


train_stories, train_line = read(1, 6000)
test_stories, test_line = read(2, 80)
known_tokens, renamed = torch.unique(torch.cat([train_line, test_line]), return_inverse=True)
train_ids, test_ids = renamed.split([len(train_line), len(test_line)])  # from here on: 0 … d_vocab − 1
d_vocab = len(known_tokens)


def spell(ids):
    """The text of renamed ids."""
    return gpt2_tokens.decode(known_tokens[ids])


# %% key="text-shown" tags=["demo"]
told_before = {story.text for story in train_stories}
twice = sum(story.text in told_before for story in test_stories)
print(fill(test_stories[0].text, 90), end="\n\n")
print(f"{len(train_ids):,} tokens for training, {len(test_ids):,} held out; {d_vocab:,} different ones")
print(f"held-out stories that also stand in the training text: {twice}")

# %% [markdown] key="own-vocabulary"
# These stories use a small part of GPT-2's 50,257 tokens. A table with a row for each of the others would be most of
# our model and most of its work, for nothing. So `torch.unique` gave the tokens that do occur new numbers, from 0 on.
# Everything else is as in GPT-2.

# %% [markdown] key="windows" covers="N2" terms="window, target, batch"
# A model is trained to predict the next token. Take a **window**, a stretch of neighboring tokens. Each of its tokens
# is an input, and the token after it is the **target**, the right answer. So a window of $n + 1$ tokens holds $n$
# predictions, one after each of the first $n$ tokens, and the causal mask sees to it that none of them can look at
# its answer. What the model says about the whole window is their product:
#
# $$p(x_1, \dots, x_n \mid x_0) = p(x_1 \mid x_0) \cdot p(x_2 \mid x_0, x_1) \cdots p(x_n \mid x_0, \dots, x_{n-1})$$
#
# and its loss is the mean of $-\log p$ over the $n$ factors. Inputs and targets are the same window, shifted by one:

# %% key="window-shown" tags=["demo"] covers="N2"
window = train_ids[:9]  # [n + 1]
inputs, targets = window[:-1], window[1:]  # [n] each
show.table(
    [[i, f"{spell(inputs[i])!r}", f"{spell(targets[i])!r}"] for i in range(len(inputs))],
    ["position", "input: the last token that it sees", "target: what it should expect"],
    title=f"A window of {len(window)} tokens holds {len(inputs)} predictions",
    note="Read the right column downwards: it is the middle one, moved up by a line. Position i speaks about i + 1.",
)

# %% [markdown] key="batch-text"
# One window would be a bad judge of the whole text. A **batch** is several, from random places: their mean loss is
# noisy, but right on average, and a GPU works on all of them at once. The order of windows must not depend on luck
# that cannot be repeated. All randomness comes from one generator, so the same seed gives the same run.

# %% [markdown] key="make-batches"
# ### Exercise 08.1 · Make batches
#
# *difficulty 3 · 15 minutes · stuck?* `hint("08.1")`
#
# Row $r$ of a batch is $(\text{ids}_{s_r}, \dots, \text{ids}_{s_r + n_\text{ctx}})$, a window of $n_\text{ctx} + 1$
# neighboring ids that starts at $s_r$. Every start from $0$ to $n - n_\text{ctx} - 1$ must be possible and about
# equally likely, where $n$ is the number of ids. Give anything that batches can be taken from in turn: a generator
# function that never ends (`while True:` and `yield`) is the simplest. Draw from `generator` only.


# %% key="make-batches-answer" exercise="08.1" covers="N2"
def make_batches(ids: Int[Tensor, "n"], n_ctx: int, batch: int, generator: torch.Generator):
    """Batches [batch n_ctx+1] of windows from random places of ids.

    >>> batches = make_batches(tensor([5, 6, 7]), 2, 2, torch.Generator().manual_seed(0))
    >>> next(iter(batches)).tolist()  # only one window fits
    [[5, 6, 7], [5, 6, 7]]
    >>> batches = make_batches(torch.arange(100), 8, 4, torch.Generator().manual_seed(0))
    >>> next(iter(batches)).shape
    torch.Size([4, 9])
    """
    # SOLUTION
    while True:
        # randint stays below its first argument: the last start is n − n_ctx − 1.
        starts = torch.randint(len(ids) - n_ctx, (batch,), generator=generator)  # [batch]
        yield torch.stack([ids[s : s + n_ctx + 1] for s in starts.tolist()])  # [batch n_ctx+1]
    # END


# %% key="make-batches-grade"
grade(make_batches)

# %% [markdown] key="make-batches-why" solution="08.1"
# #### Why it works
#
# A window that starts at $s$ ends with id $s + n_\text{ctx}$, which must be at most $n - 1$. So there are
# $n - n_\text{ctx}$ starts, and `randint` draws below its first argument.
#
# **What the classic mistakes look like.** With `randint(len(ids))` a window near the end comes out short, and
# `torch.stack` refuses it, but only when such a start is drawn: perhaps after hundreds of batches. With
# `ids[s : s + n_ctx]` there is one id too few, the last input has no target, and the model is trained on
# $n_\text{ctx} - 1$ positions. Nothing fails; one position of the table of positions is never trained.


# %% key="make-batches-second" solution="08.1"
def by_arithmetic(ids, n_ctx, batch, generator):
    """A second way, without a loop: all places of all windows by adding a column and a row."""
    while True:
        first = torch.randint(len(ids) - n_ctx, (batch, 1), generator=generator)  # [batch 1]
        yield ids[first + torch.arange(n_ctx + 1)]  # [batch n_ctx+1]


one, other = (f(train_ids, 64, 4, torch.Generator().manual_seed(1)) for f in (make_batches, by_arithmetic))
torch.equal(next(one), next(other))

# %% [markdown] key="batch-used-text"
# **Use it.** The size of what follows: windows of $64 + 1$ ids, 16 in a batch. Each batch is a little examination.

# %% key="batch-used" tags=["demo"]
n_ctx, batch_size = 64, 16
batches_from = use(make_batches)
batch = next(iter(batches_from(train_ids, n_ctx, batch_size, rng)))  # [batch n_ctx+1]
print(f"a batch: {list(batch.shape)}, which is {batch[:, 1:].numel():,} predictions")
for row in batch[:3]:
    print(f"  … {spell(row[:14])} …")

# %% [markdown] key="baselines" terms="baseline"
# ## 3 · What is a good loss?
#
# A loss of 2 says nothing by itself. It needs something to be compared with, a **baseline**: what would a model
# score that knows *this much*? Four of them can be had without training anything.
#
# The simplest knows only how many tokens there are, and gives each the same probability $1 / d_\text{vocab}$. Its
# surprise is the same at every token, $-\log(1 / d_\text{vocab}) = \log d_\text{vocab}$.

# %% key="uniform" tags=["demo"]
uniform = math.log(d_vocab)
print(f"d_vocab = {d_vocab:,}, so knowing nothing costs log {d_vocab:,} = {uniform:.2f} nats a token")

# %% [markdown] key="unigram-text" terms="unigram"
# The next one has counted the training text. It knows that " the" is common and " turtle" rare, and it says the same
# at every position, whatever came before: a **unigram** model. A token that it never met would get probability 0, and
# a single one in the held-out text would make the loss infinite. So one is added to each count, as if everything had
# been seen once more than it was.
#
# For both counting models the held-out text stands in rows, so that they are asked exactly what the transformer is
# asked. The last id of a row is also the first of the next: every token is predicted once, and position 0 is given.


# %% key="rows" tags=["demo"]
def in_rows(ids, n_ctx):
    """A line of ids as rows [doc pos] of n_ctx + 1; the last id of a row is the first of the next."""
    return ids.unfold(0, n_ctx + 1, n_ctx)  # [doc pos]


train_rows, test_rows = in_rows(train_ids, n_ctx), in_rows(test_ids, n_ctx)
print(f"training text in rows: {list(train_rows.shape)}; held-out: {list(test_rows.shape)}")

# %% [markdown] key="unigram-loss"
# ### Exercise 08.2 · Unigram loss
#
# *difficulty 2 · 10 minutes · stuck?* `hint("08.2")`
#
# $$
# p(b) = \frac{c(b) + 1}{N + d_\text{vocab}}
# \qquad
# L = \operatorname*{mean}_{b \text{ in test}} \big( {-\log p(b)} \big)
# $$
#
# $c(b)$ is how often token $b$ occurs in `train`, $N$ the sum of all counts. Each row is a text of its own whose
# position 0 is given: it is neither counted nor predicted. The result is one number, in nats (natural logarithm).


# %% key="unigram-loss-answer" exercise="08.2"
def unigram_loss(train: Int[Tensor, "doc pos"], test: Int[Tensor, "doc pos"], d_vocab: int) -> float:
    """Mean −log p over test's positions 1…, with p from train's counts.

    >>> train, test = tensor([[0, 1, 1, 2]]), tensor([[0, 1, 2]])
    >>> round(float(unigram_loss(train, test, 3)), 3)  # p(1) = 3/6 and p(2) = 2/6
    0.896
    """
    # SOLUTION
    counts = torch.bincount(train[:, 1:].flatten(), minlength=d_vocab) + 1  # [d_vocab]
    log_p = (counts / counts.sum()).log()  # [d_vocab]; the sum has grown by d_vocab as well
    return -log_p[test[:, 1:]].mean().item()  # looked up: [doc pos−1]
    # END


# %% key="unigram-loss-grade"
grade(unigram_loss)

# %% [markdown] key="unigram-loss-why" solution="08.2"
# #### Why it works
#
# `bincount` counts every id, `minlength` makes room for those that never occur, and indexing with a tensor of ids
# looks each of them up. Adding one to each of the $d_\text{vocab}$ counts adds $d_\text{vocab}$ to their sum.
#
# **What the classic mistake looks like.** Without the added one the loss is `inf` as soon as the held-out text has
# one token that training did not: a single $-\log 0$ is more than all others together. Seen the other way, the loss
# punishes a model without limit for calling something impossible that then happens.


# %% key="unigram-loss-second" solution="08.2"
def by_cross_entropy(train, test, d_vocab):
    """A second way: the logarithms of the counts are logits, the same at every position."""
    logits = (torch.bincount(train[:, 1:].flatten(), minlength=d_vocab) + 1.0).log()  # [d_vocab]
    answers = test[:, 1:].flatten()  # [n]
    return F.cross_entropy(logits.expand(len(answers), -1), answers).item()


print(f"{by_cross_entropy(train_rows, test_rows, d_vocab):.3f} {unigram_loss(train_rows, test_rows, d_vocab):.3f}")

# %% [markdown] key="bigram-text" terms="bigram"
# The third looks one token back. After " Once" it expects " upon" or " there", because it has a table of how often
# each token followed each: a **bigram** model. For decades tables like this one, over two tokens or a few, were the
# best language models there were.

# %% [markdown] key="predict-bigram" tags=["predict"]
# **Predict.** You know what knowing nothing costs. Counting tokens saves something; counting pairs saves more. One
# more thing can be said before any training: the program that told the stories could give the probability of each
# token itself. What will *its* loss be on its own stories?
#
# - **a**: 0, since it knows what it is going to say;
# - **b**: more than 0, but far below the table of pairs;
# - **c**: about that of the table of pairs.

# %% key="guess-bigram" tags=["predict"]
my_guess = "?"  # a, b or c

# %% [markdown] key="bigram-loss"
# ### Exercise 08.3 · Bigram loss
#
# *difficulty 3 · 15 minutes · stuck?* `hint("08.3")`
#
# $$p(b \mid a) = \frac{c(a, b) + 1}{c(a, \cdot) + d_\text{vocab}}$$
#
# $c(a, b)$ is how often $b$ comes right after $a$ in `train`, within a row; $c(a, \cdot) = \sum_b c(a, b)$ is the
# number of pairs that start with $a$. The loss is the mean of $-\log p(b \mid a)$ over all pairs of neighbors $(a, b)$
# within the rows of `test`, in nats. No pair reaches from one row into the next.


# %% key="bigram-loss-answer" exercise="08.3"
def bigram_loss(train: Int[Tensor, "doc pos"], test: Int[Tensor, "doc pos"], d_vocab: int) -> float:
    """Mean −log p(next | this) over test's pairs, with p from train's pairs.

    >>> train, test = tensor([[0, 1, 1, 2]]), tensor([[0, 1, 2]])
    >>> round(float(bigram_loss(train, test, 3)), 3)  # p(1|0) = 2/4 and p(2|1) = 2/5
    0.805
    """
    # SOLUTION
    # A pair is one number, a·d_vocab + b; counted like tokens, then laid out as a table: row a, column b.
    pairs = train[:, :-1] * d_vocab + train[:, 1:]  # [doc pos−1]
    table = torch.bincount(pairs.flatten(), minlength=d_vocab**2).view(d_vocab, d_vocab) + 1
    log_p = (table / table.sum(1, keepdim=True)).log()  # [d_vocab d_vocab], each row sums to 1 before the log
    return -log_p[test[:, :-1], test[:, 1:]].mean().item()  # looked up: [doc pos−1]
    # END


# %% key="bigram-loss-grade"
grade(bigram_loss)

# %% [markdown] key="bigram-loss-why" solution="08.3"
# #### Why it works
#
# The table has a row for each token $a$ and in it a count for each $b$. A row's sum, with the added ones, is
# $c(a, \cdot) + d_\text{vocab}$: exactly what the formula divides by, so each row is a distribution.
#
# **What the classic mistake looks like.** Flattening the rows first makes pairs of each row's last token and the next
# row's first. There is one such pair a row, so the loss moves by about a hundredth and nobody notices. Dividing by how
# often $a$ *occurs* counts the last token of each row, after which nothing came: rows then sum to less than 1.


# %% key="bigram-loss-second" solution="08.3"
def by_index_put(train, test, d_vocab):
    """A second way: add a 1 at each pair's place of the table, and let places add up."""
    places = (train[:, :-1].flatten(), train[:, 1:].flatten())
    counted = torch.ones(d_vocab, d_vocab).index_put_(places, torch.ones(len(places[0])), accumulate=True)
    surprise = -(counted / counted.sum(1, keepdim=True)).log()
    return surprise[test[:, :-1], test[:, 1:]].mean().item()


print(f"{by_index_put(train_rows, test_rows, d_vocab):.3f} {bigram_loss(train_rows, test_rows, d_vocab):.3f}")

# %% [markdown] key="world-text" terms="entropy"
# The last baseline is a floor. The program that tells the stories draws each choice with a probability that it knows,
# so it can say $-\log p$ of a whole story. The mean of that, a token, is the **entropy** of this world: what remains
# of surprise for someone who knows all its rules. No model whatever can be better on average, because the choices
# themselves are random. A loss below the floor means a mistake in the measurement.

# %% key="baselines-made" tags=["demo"]
# A story's `nats` hold the surprise that it is a story and no other text. Ours are all stories: take it off.
is_a_story = -math.log(WEIGHTS[0] / sum(WEIGHTS))
world_nats = sum(story.nats - is_a_story for story in test_stories)
BASELINES = {
    "knowing nothing": uniform,
    "unigram": float(use(unigram_loss)(train_rows, test_rows, d_vocab)),
    "bigram": float(use(bigram_loss)(train_rows, test_rows, d_vocab)),
    "the world's own": world_nats / (len(test_ids) - 1),
}
floor = BASELINES["the world's own"]
# The same table after reading the text thirty times: the counts are thirty times as large, and the added one is not.
well_fed = exercise("08.3").solution(train_rows.repeat(30, 1), test_rows, d_vocab)

# %% key="baselines-figure" tags=["demo"]
*tables, world = BASELINES.items()
show.bars(
    [*tables, ("bigram, a thirtieth added", well_fed), world],
    title="Losses that need no training",
    note=f"Were the added one thirty times smaller, the table of pairs would reach {well_fed:.1f}. From there to the floor "
    f"it is {well_fed - floor:.1f} nats: what can only be known by looking further back.",
    x_name="what is known",
    y_name="loss on held-out text, nats a token",
)

# %% [markdown] key="baselines-read"
# <details><summary>What you see, and why</summary>
#
# It is **b**. Even the program is surprised by its own dice: which name, which animal, which of several sentences. It
# is surprised rarely, because most tokens are not chosen at all; they finish a sentence that has been chosen. The
# table of pairs sees only one token back, so to it every name and animal of the story comes anew.
#
# </details>
#
# Now a loss means something. Between the first bar and the second lies *which tokens are common*; up to the third,
# *what goes with what*; from there to the floor nearly everything that attention is for: who the story is about, what
# she owns, what was promised in the second sentence. ("Nearly", because the added one is not free. Many tokens stand
# in the text only a few dozen times, and a row of $d_\text{vocab}$ ones weighs more than what was counted. The
# fourth bar is the same table with a thirtieth added.) Keep these numbers in sight.

# %% [markdown] key="initialization" terms="initialization"
# ## 4 · Where to start
#
# Training changes weights a little at a time, so it matters where they start: the **initialization**. Zeros will not
# do. If all weights are 0, every neuron of a layer computes the same and is changed in the same way, for ever. So
# they are drawn at random. How large?

# %% [markdown] key="predict-first" tags=["predict"]
# **Predict.** A model with random weights, small ones, has learned nothing. What is its loss on these stories?
#
# - **a**: that of the unigram table;
# - **b**: about the logarithm of the vocabulary's size;
# - **c**: much larger: it is not just ignorant, it is wrong.

# %% key="guess-first" tags=["predict"]
my_first_loss = "?"  # a, b or c


# %% [markdown] key="init-weights"
# ### Exercise 08.4 · Initial weights
#
# *difficulty 3 · 15 minutes · stuck?* `hint("08.4")`
#
# What a parameter is can be told from the last part of its name:
#
# | last part of the name | starts as |
# |---|---|
# | `w` (a LayerNorm's gain) | 1 |
# | begins with `b` (a bias) | 0 |
# | `W_O`, `W_out` (they write into the stream) | normal, mean 0, standard deviation $0.02 / \sqrt{2 \cdot n_\text{layers}}$ |
# | all others | normal, mean 0, standard deviation 0.02 |
#
# Go through `model.named_parameters()` and change each **in place** (an optimizer may hold these very objects), with
# all randomness from `generator`. The number of layers is `model.cfg.n_layers`. Nothing is returned. The line
# `@torch.no_grad()` above the function is given: PyTorch lets a parameter be changed in place only where it does not
# record what is computed.


# %% key="init-weights-answer" exercise="08.4"
@torch.no_grad()
def init_weights(model, generator: torch.Generator) -> None:
    """GPT-2's initialization.

    >>> sizes = dict(d_model=8, n_layers=2, n_heads=2, d_head=4, d_mlp=32, d_vocab=500, n_ctx=16)
    >>> tiny = GPT2(SimpleNamespace(**sizes, eps=1e-5))
    >>> init_weights(tiny, torch.Generator().manual_seed(0))
    >>> tiny.blocks[1].ln1.w.tolist() == [1.0] * 8, round(tiny.embed.W_E.std().item(), 2)
    (True, 0.02)
    """
    # SOLUTION
    spread = 0.02
    into_stream = spread / math.sqrt(2 * model.cfg.n_layers)  # 2·n_layers sublayers add to the stream
    for name, parameter in model.named_parameters():
        last = name.split(".")[-1]
        if last == "w":
            parameter.fill_(1.0)
        elif last.startswith("b"):
            parameter.fill_(0.0)
        else:
            std = into_stream if last in ("W_O", "W_out") else spread
            parameter.normal_(0.0, std, generator=generator)
    # END


# %% key="init-weights-grade"
grade(init_weights)

# %% [markdown] key="init-weights-why" solution="08.4"
# #### Why it works
#
# LayerNorm starts as what it is without gain and bias. Biases may start at 0, since the random weights already make
# neurons different from one another. `normal_`, `fill_` and the like change a tensor in place, so the parameters stay
# the same objects.
#
# **A second way** gives each module its own rule (`model.apply(rule)`), or uses `nn.init.normal_(p, std=…)`.
#
# **What the classic mistake looks like.** Taking 0.02 for the *variance* makes weights seven times too large
# ($\sqrt{0.02} \approx 0.14$). Nothing crashes. The next figure shows what it costs.

# %% [markdown] key="first-loss-text"
# **Use it.** Our model has two blocks, 4 heads and a stream of 128 numbers. First its loss before any training, then
# the same weights made smaller and larger.


# %% key="fresh-model" tags=["demo"]
SIZES = dict(d_model=128, n_layers=2, n_heads=4, d_head=32, d_mlp=512, n_ctx=n_ctx, d_vocab=d_vocab, eps=1e-5)
init = use(init_weights)


def fresh_model(seed=0, **changes):
    """A new model; the same seed gives the same weights."""
    model = GPT2(SimpleNamespace(**SIZES | changes))
    init(model, torch.Generator().manual_seed(seed))
    return model.to(where)


def loss_on(model, rows):
    """A model's mean −log p at positions 1… of rows [doc pos], in nats."""
    rows = rows.to(where)
    with torch.no_grad():
        log_p = model(rows[:, :-1]).log_softmax(-1)  # [doc pos−1 d_vocab]
    return -log_p.gather(-1, rows[:, 1:, None]).mean().item()


# %% key="first-loss" tags=["demo"]
model = fresh_model()
n_parameters = sum(p.numel() for p in model.parameters())
first = loss_on(model, test_rows[:32])
print(f"{n_parameters:,} parameters, none trained")
print(f"first loss {first:.2f}, log {d_vocab} = {uniform:.2f}; within 0.1: {abs(first - uniform) < 0.1}")

# %% [markdown] key="first-loss-why"
# <details><summary>What you see, and why</summary>
#
# It is **b**. The last LayerNorm makes a vector of length $\sqrt{d_\text{model}}$, and a row of $W_E$ has entries of
# spread 0.02, so the logits are about $0.02 \cdot \sqrt{128} \approx 0.2$ in size. Logits that are nearly alike give
# probabilities that are nearly alike, $1 / d_\text{vocab}$ each, and $-\log$ of that is $\log d_\text{vocab}$. The
# model does not even know which tokens are common, so **a** is out of its reach.
#
# </details>
#
# This is a check that costs a second and finds many mistakes: **before you train, the loss must be about
# $\log d_\text{vocab}$.** How small is "small", though? Say the weights have spread $s$. Then the logits of a random
# model are like draws from a normal distribution with spread $\sigma = s \sqrt{d_\text{model}}$. The mean of $e^z$ over
# such draws is $e^{\sigma^2 / 2}$, so the sum in the softmax is about $d_\text{vocab}\, e^{\sigma^2 / 2}$, while the
# right token's logit is 0 on average:
#
# $$L \approx \log d_\text{vocab} + \tfrac12 \sigma^2 = \log d_\text{vocab} + \tfrac12\, d_\text{model}\, s^2$$


# %% key="spreads" tags=["demo"]
def made_larger(factor):
    """The fresh model with all its matrices times `factor`."""
    model = fresh_model()
    with torch.no_grad():
        for name, p in model.named_parameters():
            if ".W_" in name:
                p *= factor
    return model


spreads = [0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.14, 0.2]
found = [loss_on(made_larger(spread / 0.02), test_rows[:32]) for spread in spreads]

# %% key="spreads-figure" tags=["demo"]
show.lines(
    spreads,
    {"measured": found, "log d_vocab + ½ d_model s²": [uniform + 64 * spread**2 for spread in spreads]},
    title="The first loss, by the size of the random weights",
    note=f"GPT-2's 0.02 costs {found[3] - uniform:.2f} more than knowing nothing, a spread of 0.2 costs "
    f"{found[-1] - uniform:.1f} more.",
    x_name="s, standard deviation of the weights (log scale)",
    y_name="loss before training, nats",
    log_x=True,
    levels={"log d_vocab": uniform, "unigram": BASELINES["unigram"]},
)

# %% [markdown] key="spreads-why"
# A loss above $\log d_\text{vocab}$ is worse than knowing nothing. Such a model has opinions, strong ones, and they are
# about nothing. Its first hundred steps go into unlearning them. With a stream of 768 numbers, as in GPT-2 small, the
# price of a given $s$ is six times higher.

# %% [markdown] key="depth-text"
# And why are `W_O` and `W_out` smaller? Each of the $2 \cdot n_\text{layers}$ sublayers *adds* to the stream. Random
# vectors that are added grow like the root of their number: variances add. Divided by
# $\sqrt{2 \cdot n_\text{layers}}$, all of them together write as much as one would. Measured in a model of 12 layers:


# %% key="depth" tags=["demo"]
def stream_sizes(model, rows):
    """The stream's root mean square before the first block and after each."""
    resid = model.embed.W_E[rows] + model.pos_embed.W_pos[: rows.shape[1]]  # [doc pos d_model]
    sizes = [resid]
    with torch.no_grad():
        for block in model.blocks:
            sizes.append(block(sizes[-1]))
    return [x.square().mean().sqrt().item() for x in sizes]


deep = fresh_model(n_layers=12)
some_rows = test_rows[:4, :-1].to(where)
as_it_is = stream_sizes(deep, some_rows)
with torch.no_grad():
    for block in deep.blocks:  # and now as if nobody had divided
        block.attn.W_O *= math.sqrt(2 * 12)
        block.mlp.W_out *= math.sqrt(2 * 12)
undivided = stream_sizes(deep, some_rows)

# %% key="depth-figure" tags=["demo"]
show.lines(
    list(range(13)),
    {"divided by √(2 · n_layers)": as_it_is, "not divided": undivided},
    title="How the stream grows from block to block, before training",
    note=f"After 12 blocks it is {undivided[-1] / as_it_is[-1]:.1f} times larger where the two matrices are not divided.",
    x_name="blocks passed",
    y_name="root mean square of the stream",
)

# %% [markdown] key="descent" terms="gradient, gradient descent, learning rate"
# ## 5 · One step downhill
#
# Each parameter has a **gradient**: how much the loss would rise if the parameter rose a little. PyTorch computes all
# of them in one go backwards through the model (`loss.backward()`). To make the loss smaller, move every parameter a
# little against its gradient:
#
# $$\theta \leftarrow \theta - \eta\, \frac{\partial L}{\partial \theta}$$
#
# $\theta$ is any parameter, $L$ the loss, and $\eta$ ("eta") the **learning rate**, the size of the step. This is
# **gradient descent**. Try it where it can be followed by hand, on a loss with two parameters,
# $L(a, b) = \tfrac12 (a^2 + 25\, b^2)$: a valley that is gentle along $a$ and steep along $b$. Its gradient is
# $(a, 25\,b)$, and the bottom lies at (0, 0).

# %% key="one-step" tags=["demo"]
steep = tensor([1.0, 25.0])


def valley(spot):
    return 0.5 * (steep * spot**2).sum()


def downhill(eta, steps):
    """The losses on the way from (4, 1)."""
    spot, losses = tensor([4.0, 1.0]), []
    for _ in range(steps):
        losses.append(valley(spot).item())
        spot = spot - eta * steep * spot  # the gradient is steep · spot
    return losses


start = tensor([4.0, 1.0])
after = start - 0.01 * steep * start
show.table(
    [["a", 4.0, 4.0, 0.04, after[0]], ["b", 1.0, 25.0, 0.25, after[1]]],
    ["parameter", "is", "gradient", "step: 0.01 · gradient", "becomes"],
    title="One step with η = 0.01",
    note=f"The loss falls from {valley(start):.1f} to {valley(after):.1f}. Nearly all of it comes from b.",
)

# %% [markdown] key="predict-eta" tags=["predict"]
# **Predict.** That was slow: $a$ has hardly moved. So take steps ten times as large, $\eta = 0.1$. Where is the loss
# after 20 steps?
#
# - **a**: at the bottom, or nearly;
# - **b**: about where it was;
# - **c**: millions of times larger than at the start.
#
# Work out what the first step does to $b$ before you answer.

# %% key="guess-eta" tags=["predict"]
my_eta = "?"  # a, b or c

# %% key="three-rates" tags=["demo"]
rates = {f"η = {eta}": downhill(eta, 21) for eta in (0.01, 0.07, 0.1)}
after_20 = [f"{losses[-1]:,.{0 if losses[-1] > 100 else 2}f} with {name}" for name, losses in rates.items()]
show.lines(
    list(range(21)),
    rates,
    title="Three learning rates in the same valley",
    note=f"After 20 steps: {', '.join(after_20)}.",
    x_name="step",
    y_name="loss (log scale)",
    log_y=True,
)

# %% [markdown] key="eta-why"
# <details><summary>What you see, and why</summary>
#
# It is **c**. One step takes $b$ to $b - 0.1 \cdot 25\, b = -1.5\, b$: it jumps across the valley and lands higher up on
# the other side. From there the gradient is larger, and so is the next jump. Along the steep direction every
# $\eta > 2 / 25 = 0.08$ diverges, while along the gentle one it would still be too small. **The steepest direction
# limits the rate, and the gentlest sets the time.**
#
# </details>

# %% [markdown] key="schedule-text" terms="schedule, warm-up, step"
# So the learning rate is the number that matters most. And the best one is not the same at the beginning and at the
# end of a run:
#
# - **At first** it must be small. Gradients are large and all point the same way (every common token is expected too
#   little), and the optimizer, which you write next, has no experience yet. The rate climbs from nearly nothing to
#   its peak during the **warm-up**.
# - **In the middle** it is as large as it may be.
# - **Towards the end** it must fall. Each batch pulls another way, and a large rate lets the weights be thrown about
#   around the bottom. A small one averages that out.
#
# A **step** is one batch and one change of all parameters. Which rate belongs to which step is the **schedule**.

# %% [markdown] key="learning-rate"
# ### Exercise 08.5 · Learning rate
#
# *difficulty 2 · 10 minutes · stuck?* `hint("08.5")`
#
# $$
# \eta(t) = \begin{cases}
# \eta_\text{peak} \cdot \dfrac{t + 1}{w} & t < w \quad \text{(warm-up)} \\[2ex]
# \eta_\text{floor} + (\eta_\text{peak} - \eta_\text{floor}) \cdot \dfrac12
# \left( 1 + \cos \pi \dfrac{t - w}{T - w} \right) & w \le t < T \\[2ex]
# \eta_\text{floor} & t \ge T
# \end{cases}
# $$
#
# $t$ is the step, counted from 0; $w$ is `warmup`, the number of warm-up steps, which may be 0; $T$ is `total`.


# %% key="learning-rate-answer" exercise="08.5"
def learning_rate(step: int, warmup: int, total: int, peak: float, floor: float) -> float:
    """Up in a line, down in half a cosine, then flat.

    >>> [round(float(learning_rate(step, 2, 6, 1.0, 0.1)), 3) for step in range(8)]
    [0.5, 1.0, 1.0, 0.868, 0.55, 0.232, 0.1, 0.1]
    """
    # SOLUTION
    if step < warmup:
        return peak * (step + 1) / warmup  # step 0 learns already
    if step >= total:
        return floor  # the cosine would go up again
    way = (step - warmup) / (total - warmup)  # 0 at the peak, 1 at the end
    return floor + (peak - floor) * (1 + math.cos(math.pi * way)) / 2
    # END


# %% key="learning-rate-grade"
grade(learning_rate)

# %% [markdown] key="learning-rate-why" solution="08.5"
# #### Why it works
#
# $\cos$ runs from 1 to −1 over half a turn, so $\tfrac12 (1 + \cos)$ runs from 1 to 0, flat at both ends. With
# `warmup = 0` the first case never holds and nothing is divided by 0.
#
# **A second way**: $\tfrac12 (1 + \cos \pi x) = \cos^2 (\pi x / 2)$.
#
# **What the classic mistake looks like.** Without the case for $t \ge T$ a run that goes on a little longer climbs
# back up the cosine: the loss falls, falls, and then rises for no reason to be seen in the data.

# %% key="schedule-figure" tags=["demo"]
rate_at = use(learning_rate)
shown_steps = list(range(0, 331, 2))
show.lines(
    shown_steps,
    {"learning rate": [float(rate_at(t, 30, 300, 0.004, 0.0004)) for t in shown_steps]},
    title="Your schedule: 30 steps of warm-up, 300 in all",
    note="Up in a straight line, down in half a cosine to a tenth of the peak, and flat from there on.",
    x_name="step",
    y_name="learning rate",
    marks={"peak": 30, "end": 300},
)

# %% [markdown] key="adam-text" terms="optimizer, AdamW, weight decay"
# ## 6 · AdamW: a step size for each parameter
#
# The valley had two directions, one 25 times as steep as the other. A transformer has hundreds of thousands, and
# their gradients differ by factors of thousands: the row of " the" is needed in every batch, the row of " turtle" in
# few. One learning rate cannot suit all of them. The program that turns gradients into steps is the **optimizer**,
# and nearly all transformers are trained with Adam or one of its children, mostly **AdamW**. It keeps two running
# means for each single number:
#
# - $m$, of its **gradient**: which way has it been pulled lately? Pulls that change sign cancel.
# - $v$, of its gradient's **square**: how strongly, either way?
#
# and moves it by $m / \sqrt v$. The size of the gradient cancels. What counts is how steadily it points one way.

# %% [markdown] key="adamw-step"
# ### Exercise 08.6 · One step of AdamW
#
# *difficulty 4 · 25 minutes · stuck?* `hint("08.6")`
#
# For each parameter $\theta$ with gradient $g$, at the $t$-th call ($t = 1$ at the first; in $\beta^t$ it is an exponent):
#
# $$m \leftarrow \beta_1 m + (1 - \beta_1)\, g \qquad v \leftarrow \beta_2 v + (1 - \beta_2)\, g^2$$
#
# $$\hat m = \frac{m}{1 - \beta_1^t} \qquad \hat v = \frac{v}{1 - \beta_2^t}$$
#
# $$\theta \leftarrow \theta - \eta \lambda\, \theta - \eta\, \frac{\hat m}{\sqrt{\hat v} + \varepsilon}$$
#
# | symbol | in words | argument |
# |---|---|---|
# | $\eta$ | learning rate | `lr` |
# | $\beta_1$, $\beta_2$ | how slowly $m$ and $v$ forget, 0.9 and 0.95 say | `betas` |
# | $\varepsilon$ | keeps from dividing by 0 | `eps` |
# | $\lambda$ | **weight decay**: pulls each parameter a little towards 0 | `weight_decay` |
#
# $m$ and $v$ start at 0 for each parameter. `params` and `grads` are lists of tensors in the same order. Change the
# parameters in place, leave the gradients as they are, return nothing. `state` is a dict, empty at the first call and
# yours to fill: whatever must be remembered until the next call stands there, and nowhere else.


# %% key="adamw-step-answer" exercise="08.6"
@torch.no_grad()
def adamw_step(params, grads, state: dict, lr: float, betas: tuple, eps: float, weight_decay: float) -> None:
    """One step of AdamW, in place.

    >>> p, state = tensor([1.0]), {}
    >>> adamw_step([p], [tensor([4.0])], state, 0.1, (0.9, 0.95), 1e-8, 0.0)
    >>> round(p.item(), 4)  # the first step is lr, whatever the gradient's size
    0.9
    >>> q = tensor([1.0])
    >>> adamw_step([q], [tensor([4.0])], {}, 0.1, (0.9, 0.95), 1e-8, 0.5)
    >>> round(q.item(), 4)  # and the decay takes lr · weight_decay of what was there
    0.85
    """
    # SOLUTION
    beta1, beta2 = betas
    state["t"] = t = state.get("t", 0) + 1  # once a call, for all parameters
    for i, (p, g) in enumerate(zip(params, grads, strict=True)):
        m, v = state.get(i, (torch.zeros_like(p), torch.zeros_like(p)))
        m = beta1 * m + (1 - beta1) * g
        v = beta2 * v + (1 - beta2) * g**2
        state[i] = m, v  # without the correction: that is made anew each time
        step = (m / (1 - beta1**t)) / ((v / (1 - beta2**t)).sqrt() + eps)
        p -= lr * weight_decay * p + lr * step  # the right side is computed first, from the old p
    # END


# %% key="adamw-step-grade"
grade(adamw_step)

# %% [markdown] key="adamw-step-why" solution="08.6"
# #### Why it works
#
# **The correction.** $m$ starts at 0. After the first call it is $0.1\, g$, ten times too small, not because the
# gradient is small but because nine tenths of the mean are still the zeros of the start. After $t$ calls the share of
# real gradients in $m$ is $1 - \beta_1^t$; dividing by it makes $\hat m$ a mean of gradients only. At $t = 1$ that gives
# $\hat m = g$ and $\hat v = g^2$, so the first step is $\eta \cdot g / |g| = \pm \eta$ for *every* parameter.
#
# **The W in AdamW.** If the decay is added to the gradient instead ($g + \lambda \theta$, as Adam with L2 does), it is
# divided by $\sqrt{\hat v}$ like everything else: parameters with large gradients hardly decay. Loshchilov and Hutter
# took it out of the gradient and found that models generalize better for it.
#
# **What the classic mistakes look like.** Counting $t$ inside the loop makes it grow by one for each parameter, so
# that from the second parameter on the correction is too weak: training works, a little slower, and nobody finds out.
# Writing `p = p - …` in place of `p -= …` changes only the name inside the function, and the loss stays where it is.


# %% key="adamw-step-second" solution="08.6"
@torch.no_grad()
def with_in_place_means(params, grads, state, lr, betas, eps, weight_decay):
    """A second way, as libraries have it: no new tensors for m and v, decay as a factor."""
    state["step"] = state.get("step", 0) + 1
    for i, (p, g) in enumerate(zip(params, grads, strict=True)):
        mean = state.setdefault(("mean", i), torch.zeros_like(p)).lerp_(g, 1 - betas[0])
        square = state.setdefault(("square", i), torch.zeros_like(p)).lerp_(g.square(), 1 - betas[1])
        root = (square / (1 - betas[1] ** state["step"])).sqrt_().add_(eps)
        p.mul_(1 - lr * weight_decay).addcdiv_(mean, root, value=-lr / (1 - betas[0] ** state["step"]))


from utils.grading import check

check("08.6", with_in_place_means)

# %% [markdown] key="adam-valley-text"
# **Use it** in the valley, for one step from (4, 1). There $b$'s gradient is more than six times $a$'s, and gradient
# descent moves $b$ more than six times as far. Your AdamW moves both by the same.

# %% key="adam-first-step" tags=["demo"]
step_adamw = use(adamw_step)
spot, memory = tensor([4.0, 1.0]), {}
step_adamw([spot], [steep * spot], memory, 0.1, (0.9, 0.95), 1e-8, 0.0)
moved = tensor([4.0, 1.0]) - spot
show.table(
    [
        ["a", 4.0, 0.01 * 4.0, moved[0]],
        ["b", 25.0, 0.01 * 25.0, moved[1]],
    ],
    ["parameter", "gradient", "gradient descent moves it by (η = 0.01)", "AdamW moves it by (η = 0.1)"],
    title="The first step, twice",
    note="The first step of AdamW is η for every parameter, whatever its gradient. Hence the warm-up.",
)

# %% [markdown] key="adam-torch-text"
# And is it the AdamW that everybody uses? Take ten steps with our transformer. The gradients go to your function and
# to `torch.optim.AdamW`, each with its own copy of the weights, and the rate follows the schedule.

# %% key="adam-torch" tags=["demo"]
theirs, copies = fresh_model(), [p.detach().clone() for p in fresh_model().parameters()]
torchs = torch.optim.AdamW(theirs.parameters(), betas=(0.9, 0.95), eps=1e-8, weight_decay=0.1)
some_batches = batches_from(train_ids, n_ctx, 8, torch.Generator().manual_seed(1))
memory, apart = {}, []
for t, batch in zip(range(10), some_batches, strict=False):
    batch = batch.to(where)
    guesses = theirs(batch[:, :-1]).flatten(0, 1)  # [batch·pos d_vocab]
    gradients = torch.autograd.grad(F.cross_entropy(guesses, batch[:, 1:].flatten()), list(theirs.parameters()))
    eta = float(rate_at(t, 3, 10, 0.003, 0.0003))
    with torch.no_grad():
        step_adamw(copies, gradients, memory, eta, (0.9, 0.95), 1e-8, 0.1)
    for p, g in zip(theirs.parameters(), gradients, strict=True):
        p.grad = g
    torchs.param_groups[0]["lr"] = eta
    torchs.step()
    apart.append(max((p - mine).abs().max().item() for p, mine in zip(theirs.parameters(), copies, strict=True)))
print(f"{n_parameters:,} numbers after each of {len(apart)} steps; equal to 1e-6: {max(apart) < 1e-6}")

# %% [markdown] key="clip-text" terms="clipping, gradient norm"
# ## 7 · Clipping: no step too wild
#
# Now and then a batch comes that the model is badly wrong about, and its gradient is ten times as long as usual. A
# few such steps can undo an hour. **Clipping** sets a limit: put all gradients of the model into one long vector; if
# its length, the **gradient norm**, is more than the limit, multiply all of them by the same number so that it is just
# the limit. Two gradients, (3) and (4), have together the length 5; with a limit of 1 they become (0.6) and (0.8). The
# step is shorter, and it points where it did.

# %% [markdown] key="clip-gradients"
# ### Exercise 08.7 · Clip gradients
#
# *difficulty 2 · 10 minutes · stuck?* `hint("08.7")`
#
# $$
# \|g\| = \sqrt{\textstyle\sum_p \sum_i g_{p,i}^2}
# \qquad
# g_p \leftarrow g_p \cdot \min\!\left( 1, \frac{c}{\|g\|} \right)
# $$
#
# The first sum runs over the parameters $p$, the second over the numbers of its gradient; $c$ is `max_norm`. Change
# `p.grad` and return the norm as it was *before*: it is worth watching. `params` may be anything that can be gone
# through, perhaps only once, like `model.parameters()`. Where `p.grad` is `None` it stays so.


# %% key="clip-gradients-answer" exercise="08.7"
def clip_gradients(params, max_norm: float) -> float:
    """Shorten all gradients together to max_norm, if they are longer; give the norm before.

    >>> p, q = nn.Parameter(tensor([0.0])), nn.Parameter(tensor([0.0]))
    >>> p.grad, q.grad = tensor([3.0]), tensor([4.0])
    >>> round(float(clip_gradients([p, q], 1.0)), 4)
    5.0
    >>> round(p.grad.item(), 4), round(q.grad.item(), 4)
    (0.6, 0.8)
    """
    # SOLUTION
    gradients = [p.grad for p in params if p.grad is not None]  # a list, so that it can be gone through twice
    norm = math.sqrt(sum(g.square().sum().item() for g in gradients))
    if norm > max_norm:  # so a norm of 0 is never divided by
        for g in gradients:
            g *= max_norm / norm
    return norm
    # END


# %% key="clip-gradients-grade"
grade(clip_gradients)

# %% [markdown] key="clip-gradients-why" solution="08.7"
# #### Why it works
#
# One number for all: the long vector gets shorter and keeps its direction. Small gradients stay as they are; scaling
# them *up* to the limit would turn every quiet step into a loud one.
#
# **A second way**: `torch.linalg.vector_norm` of the stacked norms of the parts, since the square of a norm is the sum
# of the squares of its parts' norms.
#
# **What the classic mistake looks like.** Clipping each parameter by its own norm, or each number by itself, runs and
# even trains. But the step then points elsewhere: parts with large gradients are cut and the others are not.

# %% key="clip-used" tags=["demo"]
clip = use(clip_gradients)
model = fresh_model()
F.cross_entropy(model(batch[:, :-1]).flatten(0, 1), batch[:, 1:].flatten()).backward()
parts = {"embed.W_E": model.embed.W_E, "blocks.0.attn.W_Q": model.blocks[0].attn.W_Q}
parts |= {"blocks.1.mlp.W_out": model.blocks[1].mlp.W_out, "ln_final.w": model.ln_final.w}
before = {name: p.grad.norm().item() for name, p in parts.items()}
norm = float(clip(model.parameters(), 0.5))
show.table(
    [[name, f"{before[name]:.4f}", f"{p.grad.norm():.4f}"] for name, p in parts.items()],
    ["part of the model", "norm before", "norm after"],
    title="A fresh model's gradients, clipped to 0.5",
    note=f"All gradients together had the norm {norm:.1f}. Every part has lost the same share.",
)

# %% [markdown] key="loop-text" covers="N2" terms="epoch, training mode"
# ## 8 · The loop
#
# Everything is there. A step of training is five things, in this order:
#
# 1. the **forward** pass: the model's logits for the inputs of a batch;
# 2. the **loss**: the mean surprise at the targets, one for each input;
# 3. the old gradients are set to **zero**, because PyTorch *adds* to what it finds in `.grad`;
# 4. the **backward** pass: a gradient for every parameter;
# 5. the **step**: the optimizer changes the parameters.
#
# Two words more. A pass through the whole training text is an **epoch**; here less than one is enough. And a module has a
# **training mode**, `model.train()`, and its opposite, `model.eval()`. Some parts behave differently in the two:
# *dropout*, for one, puts random activations to 0 while training, so that a model relies on none of them. Our models
# have none, but the loop does not know that.

# %% [markdown] key="train"
# ### Exercise 08.8 · The training loop
#
# *difficulty 4 · 30 minutes · stuck?* `hint("08.8")`
#
# $$
# L = -\frac{1}{B\, n} \sum_{r=1}^{B} \sum_{i=0}^{n-1} \log p_\theta\big( x_{r,i+1} \mid x_{r,0}, \dots, x_{r,i} \big)
# $$
#
# $x_r$ is row $r$ of a batch [batch n_ctx+1] of $B$ rows, $n$ is n_ctx, $p_\theta$ the model with parameters $\theta$.
# The model sees `batch[:, :-1]` and gives logits [batch n_ctx d_vocab]. Take `steps` steps, each with the next batch,
# and return the list of losses: entry $i$ is the loss on batch $i$ *before* update $i$, as a number.
#
# Any optimizer and any loss function will do: your `adamw_step`, or `torch.optim`, with learning rate `lr` or with a
# schedule that peaks there; clipping or not. Put the model into training mode. `batches` may be endless: take no more
# than you need.


# %% key="train-answer" exercise="08.8" covers="N2"
def train(model, batches, steps: int, lr: float) -> list:
    """Train a model, and give the loss at each step.

    >>> table = nn.Embedding(3, 3)  # the simplest model: a row of logits for each token
    >>> losses = train(table, [tensor([[0, 1, 2, 0, 1, 2]])] * 200, 200, 0.1)
    >>> len(losses), float(losses[-1]) < 0.1
    (200, True)
    """
    # SOLUTION
    model.train()
    params, state, losses = list(model.parameters()), {}, []
    # range first: when it has ended, zip asks for no further batch.
    for step, batch in zip(range(steps), batches, strict=False):
        logits = model(batch[:, :-1])  # [batch n_ctx d_vocab]
        # [batch·n_ctx d_vocab] and [batch·n_ctx]
        loss = F.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten())
        model.zero_grad()
        loss.backward()
        clip_gradients(params, 1.0)
        rate = learning_rate(step, steps // 10, steps, lr, lr / 10)
        adamw_step(params, [p.grad for p in params], state, rate, (0.9, 0.95), 1e-8, 0.1)
        losses.append(loss.item())
    return losses
    # END


# %% key="train-grade"
grade(train)

# %% [markdown] key="train-why" solution="08.8"
# #### Why it works
#
# Inputs and targets are the same window, cut at either end, so position $i$ of one is answered by position $i$ of the
# other. `cross_entropy` wants a list of questions and a list of answers: batch and position are flattened into one
# axis, in both in the same order.
#
# **What the classic mistakes look like.** You will see three of them as curves in section 10. A fourth, shifting twice
# (`logits[:, :-1]` against `batch[:, 2:]`), trains a model that leaves out every next word and predicts the one after
# it: the loss falls to something sensible, a little too high, and the text it writes skips.


# %% key="train-second" solution="08.8"
def with_torch_optim(model, batches, steps, lr):
    """A second way, as you will find it in most code."""
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
    losses = []
    for batch in islice(batches, steps):
        loss = F.cross_entropy(model(batch[:, :-1]).transpose(1, 2), batch[:, 1:])  # [batch d_vocab pos], [batch pos]
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


check("08.8", with_torch_optim)

# %% key="examples-run" solution="08.8"
import doctest

doctest.testmod()  # the examples in the docstrings of all eight exercises, run

# %% [markdown] key="live-text"
# ## 9 · Train a transformer
#
# **Use it.** Your loop, your batches, your initialization; the model of section 4, with nothing in it. The next cell
# says how to watch: `watched` hands out batches and looks on, every so often, how far the model is on text that it
# never trains on, and what it writes. It does not help.
#
# `PEAK` is the learning rate that your loop is given. `STEPS` is the one number to turn up. With the number given here
# two processor cores need less than a minute, and a GPU less again.

# %% key="watch" tags=["demo"]
STEPS, PEAK = 320, 0.002
LOOKS = sorted({0, *(round(STEPS * share) for share in (0.05, 0.15, 0.3, 0.5, 0.75, 1))})
begin = test_ids[:10]  # the first words of a story: [pos]


def look(model, step, seen):
    """Note the held-out loss and how a story goes on, and say which baselines are beaten."""
    loss = loss_on(model, test_rows)
    text = spell(write_on(model, begin, 40, torch.Generator().manual_seed(step)))
    beaten = [name for name, other in BASELINES.items() if loss < other]
    seen[step] = loss, text, beaten[-1] if beaten else "none yet"
    print(f"\rstep {step:4} of {STEPS}: held-out loss {loss:.2f}, beaten: {seen[step][2]}{' ' * 30}")


def watched(model, batches, seen):
    """Hand out batches with a progress bar, and look from time to time."""
    for step, batch in enumerate(batches):
        if step in LOOKS:
            look(model, step, seen)
        done = 30 * step // STEPS
        print(f"\r{'█' * done}{'░' * (30 - done)} {step} of {STEPS}", end="", flush=True)
        yield batch.to(where)


# %% key="live" tags=["demo", "nbval-ignore-output"]
# What a training gives depends a little on how a processor rounds: these outputs are not compared with those stored.
model, seen = fresh_model(), {}
source = batches_from(train_ids, n_ctx, batch_size, torch.Generator().manual_seed(2))
losses = [float(loss) for loss in use(train)(model, watched(model, source, seen), STEPS, PEAK)]
look(model, STEPS, seen)

# %% key="live-figure" tags=["demo", "nbval-ignore-output"]
show.lines(
    list(range(STEPS)),
    {"loss on each batch": losses},
    title="The loss falls through the baselines",
    note=f"After {STEPS} steps the loss on held-out text is {seen[STEPS][0]:.2f} nats a token.",
    x_name="step",
    y_name="loss, nats a token",
    levels=BASELINES | {"bigram, a thirtieth added": well_fed},
)

# %% [markdown] key="live-read"
# Read it against the lines. The fall to the unigram line is over in a few dozen steps: *which tokens are common* is
# quickly learned. Then the curve bends, and what goes with what is learned. Below the line of the table with hardly
# anything added nothing more can be had from the last token alone: there attention is at work. The same in words:

# %% key="live-texts" tags=["demo", "nbval-ignore-output"]
show.table(
    [[step, f"{loss:.2f}", beaten, text] for step, (loss, text, beaten) in seen.items()],
    ["step", "held-out loss", "beaten", f"how it goes on after '{spell(begin[1:])}'"],
    title="What the model writes, as it learns",
    note="First all tokens are alike, then common ones come, then pairs that fit, then sentences. Beaten: the best of the "
    "baselines that the held-out loss is below.",
)

# %% key="live-verdicts" tags=["demo"]
held_out, last_batches = seen[STEPS][0], sum(losses[-20:]) / 20
signs = {
    "the first loss was about log d_vocab": abs(losses[0] - uniform) < 0.1,
    "the unigram table is beaten": held_out < BASELINES["unigram"],
    "the table of pairs is beaten": held_out < BASELINES["bigram"],
    "the loss is not below the world's own": held_out > floor,
    "training and held-out loss are close: nothing was learned by heart": abs(held_out - last_batches) < 0.3,
}
show.table(
    [[sign] for sign in signs],
    ["what a sound run shows"],
    verdicts=list(signs.values()),
    verdict_name="here",
    title="Is this run sound?",
    note="Five questions that you can put to any training, without reading a word of what the model writes.",
)

# %% [markdown] key="live-unsound"
# A ✗ at the tables is no wrong answer: a loop without warm-up or clipping may be thrown off its way by a single batch,
# even at this rate, and the curve then shows a jump. Give your loop `learning_rate` and `clip_gradients` and train
# again, or read on: section 10 shows such a run.

# %% [markdown] key="mistakes-text"
# ## 10 · What a mistake looks like
#
# None of the following raises an error. All of them have cost people days:
#
# - **no shift**: the targets are `batch[:, :-1]`, the inputs themselves;
# - **no zero_grad**: each step also takes all the gradients of the steps before;
# - **no warm-up**: the first step is made with the full learning rate.
#
# `trial` is a loop built from your parts in which each of them can be committed. All four runs start with the same
# weights, get the same batches, and last the same time.


# %% key="trial" tags=["demo"]
def trial(steps=50, shift=1, zero_grad=True, warmup=12, peak=0.004):
    """A short run, right unless told otherwise: the model, its losses, its gradient norms before clipping."""
    model = fresh_model()
    params, memory, losses, norms = list(model.parameters()), {}, [], []
    source = batches_from(train_ids, n_ctx, batch_size, torch.Generator().manual_seed(3))
    for t, batch in zip(range(steps), source, strict=False):
        batch = batch.to(where)
        guesses, answers = model(batch[:, :-1]), batch[:, shift : shift + n_ctx]
        loss = F.cross_entropy(guesses.transpose(1, 2), answers)  # [batch d_vocab pos] and [batch pos]
        fresh = torch.autograd.grad(loss, params)
        total = fresh if zero_grad or t == 0 else [old + new for old, new in zip(total, fresh, strict=True)]
        for p, g in zip(params, total, strict=True):
            p.grad = g.clone()  # which clipping changes
        norms.append(float(clip(params, 1.0)))
        eta = float(rate_at(t, warmup, steps, peak, peak / 10))
        with torch.no_grad():
            step_adamw(params, [p.grad for p in params], memory, eta, (0.9, 0.95), 1e-8, 0.1)
        losses.append(loss.detach())
    return model, torch.stack(losses).tolist(), norms


# %% [markdown] key="predict-mistakes" tags=["predict"]
# **Predict.** Four runs: right, no shift, no zero_grad, no warm-up. Which has the lowest loss at the end, and which
# writes the best text?

# %% key="guess-mistakes" tags=["predict"]
lowest_loss, best_text = "?", "?"

# %% key="trials" tags=["demo", "nbval-ignore-output"]
# Trained losses differ with the processor's rounding; the verdicts further down are compared.
CHANGES = {"right": {}, "no shift": {"shift": 0}, "no zero_grad": {"zero_grad": False}, "no warm-up": {"warmup": 0}}
runs = {}
for name, change in CHANGES.items():
    runs[name] = trial(**change)
    print(f"{name:13} {runs[name][1][0]:5.2f} → {sum(runs[name][1][-10:]) / 10:5.2f}")

# %% key="trials-figure" tags=["demo", "nbval-ignore-output"]
show.lines(
    list(range(50)),
    {name: run_losses for name, (_, run_losses, _) in runs.items()},
    title="Four runs that differ in one line",
    note="The lowest curve belongs to the worst model.",
    x_name="step",
    y_name="loss that the run reports, nats a token",
    levels={name: BASELINES[name] for name in ("unigram", "bigram", "the world's own")},
)

# %% key="trials-texts" tags=["demo", "nbval-ignore-output"]
reported = {name: sum(run_losses[-10:]) / 10 for name, (_, run_losses, _) in runs.items()}
measured = {name: loss_on(run_model, test_rows) for name, (run_model, _, _) in runs.items()}
texts = {name: spell(write_on(run[0], begin, 25, torch.Generator().manual_seed(5))) for name, run in runs.items()}
show.table(
    [[name, f"{reported[name]:.2f}", f"{measured[name]:.2f}", text] for name, text in texts.items()],
    ["run", "loss it reports", "loss at predicting", f"how it goes on after '{spell(begin[1:])}'"],
    title="What the four runs are worth",
    note="The second column is what each run printed; the third is measured properly, on held-out text.",
)

# %% [markdown] key="mistakes-read"
# <details><summary>What you see, and why</summary>
#
# **No shift** has by far the lowest loss, and its text is the last word again and again. It was asked for the token
# that it had just been shown, and it has learned to say it. Two signs give it away before you read any text: the loss
# falls below the world's own, where no honest model can be; and even its *first* loss is too low. An untrained model
# slightly expects every token twice, because the tied table's best fit to a stream of " cat" is the row of " cat".
#
# **No zero_grad** learns at first, when all gradients point the same way. Then their sum goes on pointing where it
# pointed long ago, until the new gradients have outweighed the old ones: the weights swing past the bottom and back,
# like a ship that turns too late.
#
# **No warm-up** takes its first step with η for every parameter at once (section 6). Its curve may even fall faster at
# first. But such steps throw the weights far out of where they were drawn, and a few steps later the loss jumps. It
# recovers, or half recovers, behind the right run and for no visible reason.
#
# </details>

# %% key="trials-verdicts" tags=["demo"]
signs = {
    "no shift begins with a loss that is too low": runs["no shift"][1][0] < uniform - 0.5,
    "no shift reports a loss below the world's own": reported["no shift"] < floor,
    "measured properly, it is worse than knowing nothing": measured["no shift"] > uniform,
    "no zero_grad ends far above the right run": reported["no zero_grad"] > reported["right"] + 0.5,
    "no warm-up ends above the right run": reported["no warm-up"] > reported["right"],
    "the right run is the best at predicting": measured["right"] == min(measured.values()),
}
show.table(
    [[sign] for sign in signs],
    ["what the four runs show"],
    verdicts=list(signs.values()),
    verdict_name="here",
    title="Four runs, judged",
    note="A curve is read against its baselines: too good is as bad a sign as too slow.",
)

# %% [markdown] key="norms-text"
# One more curve tells these runs apart, and it costs nothing, because clipping needs it anyway: the gradient norm.

# %% key="norms-figure" tags=["demo", "nbval-ignore-output"]
late = {name: sum(norms[-20:]) / 20 for name, (_, _, norms) in runs.items()}  # the mean of the last 20 steps
show.lines(
    list(range(50)),
    {name: norms for name, (_, _, norms) in runs.items()},
    title="The gradient norm in the four runs",
    note=f"Where gradients are never set to zero the norm stays {late['no zero_grad'] / late['right']:.0f} times as large "
    "as in the right run. Where the loss is too good, the norm dies away.",
    x_name="step",
    y_name="norm of all gradients (log scale)",
    log_y=True,
)

# %% [markdown] key="pocket-curve-text"
# ## 11 · The day a circuit appears
#
# A loss is one number for many skills, and some of them come suddenly. The pocket model's own training is stored with
# its weights. It read three kinds of text, and the loss of each was kept apart:
#
# - **echoes**: random tokens, some of them said again after one other. To foresee them takes a head that looks one
#   token back (05.9);
# - **repeats**: random tokens that come back in the same order. To foresee them takes **induction** (05.10): find
#   the earlier copy of this token, and say what came after it;
# - **text**: the stories and all other texts of the world.
#
# In echoes and repeats only the tokens that can be foreseen count. Who cannot foresee them can only guess among all
# tokens of the world. Each kind has its time: a curve begins where that kind was first read.


# %% key="pocket-curve" tags=["demo"]
curve = json.loads((pocket_dir() / "training.json").read_text(encoding="utf-8"))["curve"]
millions = [point["tokens"] / 1e6 for point in curve]
KINDS = {"echo": "echoes", "repeat": "repeats", "text": "text"}
loss_of = {name: [math.nan if point.get(key) is None else point[key] for point in curve] for key, name in KINDS.items()}

never_met = pocket.W_E[pocket.to_single_token(" quantum")]
n_known = (pocket.W_E != never_met).any(-1).sum().item()  # tokens with an embedding of their own
guessing = math.log(n_known)

some = list(islice(documents(3), 400))
n_tokens = sum(len(ids) + 1 for ids in gpt2_tokens([text.text for text in some])["input_ids"])
whole_world = sum(text.nats for text in some) / n_tokens


# %% key="induction-moment" tags=["demo"]
def fall(losses):
    """Where losses have done 10, 50 and 90 percent of the fall from guessing; None if they stay above a fifth."""
    known = [(x, y) for x, y in zip(millions, losses, strict=True) if not math.isnan(y)]
    low = min(y for _, y in known)
    if low > guessing / 5:
        return None
    marks = [guessing - share * (guessing - low) for share in (0.1, 0.5, 0.9)]
    return [next(x for x, y in known if y < mark) for mark in marks]


moment = fall(loss_of["repeats"])
if moment is None:
    verdict = "The loss on repeats stays near guessing: these weights have not learned induction."
else:
    verdict = f"Induction appears at {moment[1]:.2f} million tokens; nearly all of the fall lies between "
    verdict += f"{moment[0]:.2f} and {moment[2]:.2f}."
print(verdict)

# %% key="pocket-curve-figure" tags=["demo"]
text_begins = next(x for x, y in zip(millions, loss_of["text"], strict=True) if not math.isnan(y))
shown = [i for i, x in enumerate(millions) if x < 4]  # the rest is long, and quiet

show.lines(
    [millions[i] for i in shown],
    {name: [column[i] for i in shown] for name, column in loss_of.items()},
    title="The first 4 million tokens of the pocket model's own training",
    note=verdict,
    x_name="tokens read, millions",
    y_name="loss, nats a token",
    marks={"text begins": text_begins} | ({"induction": moment[1]} if moment else {}),
    levels={"guessing": guessing, "the world's own": whole_world},
)

# %% [markdown] key="pocket-curve-read" terms="phase change"
# A skill that needs two heads to work together cannot come bit by bit. The induction head is of no use before some
# head one layer below has written into each position which token stood before it, and that head gets no reward for
# it before somebody reads what it writes. So for a long time hardly anything happens. Once both are there in outline,
# each improvement of one makes the other worth improving, and the loss falls off a cliff. Such a sudden change is
# called a **phase change**. In large models that read nothing but text it is seen as a bump in the loss curve, at a
# few billion tokens (Olsson et al., 2022). The pocket model was given echoes and repeats so that it comes early.
#
# The finished model, asked: 40 random tokens, then the same 40 again.

# %% key="repeat-asked" tags=["demo"]
usable = (pocket.W_E != never_met).any(-1).nonzero().flatten()  # [n_known]
half = usable[torch.randint(len(usable), (12, 40), generator=rng)]  # [batch 40]
begin_of_text = torch.full((12, 1), gpt2_tokens.eos_token_id)
repeated = torch.cat([begin_of_text, half, half], 1)  # [batch 81]
with torch.no_grad():
    log_p = pocket(repeated)[:, :-1].log_softmax(-1)  # [batch 80 d_vocab]
surprise = -log_p.gather(-1, repeated[:, 1:, None]).mean((0, 2))  # [80]

# %% key="repeat-figure" tags=["demo"]
once, again_mean = surprise[:40].mean().item(), surprise[41:].mean().item()
show.lines(
    list(range(1, 81)),
    {"surprise": surprise},
    title="The pocket model reads 40 random tokens twice",
    note=f"Mean surprise: {once:.1f} nats the first time, {again_mean:.2f} the second.",
    x_name="position",
    y_name="surprise, nats",
    marks={"the same again": 41},
    levels={"guessing": guessing},
)

# %% [markdown] key="repeat-read"
# Nothing in the weights can know these tokens: they were drawn a moment ago. The first half may well be worse than
# guessing, because the model expects sentences, and is sure of them. What is low in the second half is low because the
# model *reads*. (Were both halves equally high, you would be looking at weights without induction, and the
# curve above would have said so.) Training has not taught it an answer here but a procedure.

# %% [markdown] key="answer" covers="N2"
# ## 12 · Back to the question
#
# How do you get from noise to stories? By a loop of five lines, run often enough. Each window of $n + 1$ tokens asks
# $n$ questions about the next token; the loss is the mean surprise at the answers; its gradient says of each
# parameter which way is down; and the optimizer takes a step of a size that suits each.
#
# And how do you know on the way that you are getting there? Not by the loss alone. By what it is compared with:

# %% key="answer-table" tags=["demo", "nbval-ignore-output"]
against = "below" if held_out < BASELINES["bigram"] else "not yet below"
show.table(
    [
        ["before training", f"{losses[0]:.2f}", f"log d_vocab = {uniform:.2f}: it knows nothing, and knows that"],
        ["the run of section 9", f"{held_out:.2f}", f"{against} the table of pairs, {BASELINES['bigram']:.2f}"],
        ["no shift", f"{reported['no shift']:.2f}", f"below the floor, {floor:.2f}: it cannot be true"],
    ],
    ["run", "loss, nats", "what to compare it with"],
    title="Three losses",
    note="The lowest of the three belongs to the one model that has learned nothing about language.",
)

# %% [markdown] key="summary"
# ## Summary
#
# Say it in your own words first, then compare.
#
# - A window of $n + 1$ tokens holds $n$ predictions: inputs are all but the last token, targets all but the first. A
#   batch is several windows from random places.
# - A loss means something beside its **baselines**: the logarithm of the vocabulary's size, unigram, bigram, and the
#   entropy of the text as a floor. Measure on held-out text.
# - A model with small random weights starts at about $\log d_\text{vocab}$. Far above means that it is sure of
#   something wrong. What writes into the stream starts smaller, by $\sqrt{2 \cdot n_\text{layers}}$.
# - Gradient descent moves against the gradient; the **learning rate** is limited by the steepest direction. It warms
#   up, stays high, and falls.
# - **AdamW** divides the mean gradient by the root of the mean square: each parameter gets a step of its own, about as
#   large as the learning rate. Weight decay stands apart from it. **Clipping** shortens a wild step and keeps its
#   direction.
# - A mistake in the loop raises no error. It shows in the curve: a loss below the floor, a norm that stays too large, a
#   jump and a slow start.
# - Some skills come suddenly, when two parts begin to fit.

# %% [markdown] key="self-test"
# ## Test yourself
#
# **1.** Your model has a vocabulary of 50,257. Its loss before training is 10.8. Somebody else's is 14. What do you tell
# them? And what if theirs were 4?
#
# <details><summary>Answer</summary>
#
# $\log 50257 \approx 10.8$: yours starts where it should. At 14 the model is confidently wrong: weights that start too
# large, a norm that is missing before the unembedding, or a mistake in the loss. At 4 nobody is that lucky *before
# training*: either the weights are not random after all, or the targets are not the next tokens (no shift begins too
# low), or the sum is divided by more than the number of predictions.
#
# </details>
#
# **2.** A batch has the shape [32, 65]. How many predictions does it hold? Why not $32 \cdot 65$?
#
# <details><summary>Answer</summary>
#
# $32 \cdot 64 = 2048$. The last token of each row has no successor in the batch: it is a target and never an input.
# The first is an input and never a target.
#
# </details>
#
# **3.** A run with AdamW at learning rate 0.001 goes well. You multiply the loss by 1000 by mistake. What happens? And
# with plain gradient descent?
#
# <details><summary>Answer</summary>
#
# With AdamW hardly anything: $m$ is 1000 times larger and so is $\sqrt v$, and their ratio is the same (ε matters a
# little less). Clipping before it does not change that either. Gradient descent takes steps 1000 times as long and
# diverges at once.
#
# </details>

# %% [markdown] key="glossary" covers="N21"
# ## Words met
#
# | term | meaning |
# |---|---|
# | window | a stretch of neighboring tokens: n inputs and one more |
# | target | the right answer to an input: the token after it |
# | batch | several windows that go through the model together |
# | held-out | text that is measured on and never trained on |
# | baseline | the loss of something simple, to compare with |
# | unigram, bigram | models that count tokens; that count pairs of neighbors |
# | entropy | the mean surprise of someone who knows all the rules; the floor of every loss |
# | initialization | the weights before the first step |
# | gradient | how much the loss rises with each parameter |
# | gradient descent | to move each parameter a little against its gradient |
# | learning rate | the size of a step |
# | step | one batch, one change of all parameters |
# | schedule, warm-up | which learning rate at which step; the climb at the beginning |
# | optimizer, AdamW | what makes steps of gradients; the one that divides by the root of the mean square |
# | weight decay | each parameter loses a small share of itself at each step |
# | gradient norm, clipping | the length of all gradients as one vector; a limit to it |
# | epoch | once through the whole training text |
# | training mode | how a module behaves while it is trained: dropout works |
# | phase change | a skill that appears suddenly in training |

# %% [markdown] key="read-on"
# ## Where to read on
#
# - Shannon, *Prediction and Entropy of Printed English* (1951): how predictable English is, measured with people.
# - Kingma and Ba, *Adam: A Method for Stochastic Optimization* (2014), and Loshchilov and Hutter, *Decoupled Weight Decay
#   Regularization* (2019): the two halves of exercise 08.6.
# - Pascanu, Mikolov and Bengio, *On the Difficulty of Training Recurrent Neural Networks* (2013): why gradients explode,
#   and clipping by the norm.
# - Brown et al., *Language Models are Few-Shot Learners* (2020), appendix B: how GPT-3 was trained. β of 0.9 and 0.95,
#   clipping at 1.0, weight decay 0.1, warm-up, a cosine down to a tenth: you have written all of it.
# - Olsson et al., *In-context Learning and Induction Heads* (2022): the phase change, in many models.
# - Karpathy, *A Recipe for Training Neural Networks* (2019), a blog post: how to distrust a run, step by step.
#
# Next, [chapter 09](09_sampling.ipynb): the model gives probabilities. How to choose from them, one token after
# the other.
