# Chapter 00, start here: the one source of its notebooks in chapters/ and solutions/ (`book build 00`).
# The first thing a newcomer meets, so it stays short. Whatever is said about the model is computed where it is shown.

# %% [markdown] key="title"
# # Start here: ten minutes to your first green result
#
# In this book you write GPT-2, one function at a time, and each function is compared with a real model's own numbers.
# This chapter shows how that works. You need some Python and nothing else: no knowledge of language models, no graphics
# card, no network.
#
# A notebook is made of cells. Click on a cell and press **Shift + Enter**: it runs, and the next one is selected. Go
# down the page in this way and run every cell, in order.

# %% [markdown] key="what-you-will-do"
# ## What you will be able to do
#
# - **Work** with the book: write an answer, grade it, ask for a hint, see your progress, repair what is broken.
# - **Name** every axis of a tensor, and say what shape a line of code will give before you run it.
# - **Spot** three lines that run without an error and are wrong.
# - **Write** the six small moves that all of GPT-2 is made of.
#
# **Builds on** nothing. **Time**: about an hour; the first green result comes in section 2.
#
# | exercise | you write | difficulty (1–5) | minutes |
# |---|---|---|---|
# | 00.1 | `center_rows`: each row minus its own mean | 1 | 5 |
# | 00.2 | `split_heads`: cut one axis in two | 2 | 10 |
# | 00.3 | `merge_heads`: join two axes | 2 | 5 |
# | 00.4 | `pairwise_dots`: every row with every row | 2 | 10 |
# | 00.5 | `pick`: one number from each row | 3 | 10 |
# | 00.6 | `causal_grid`: a triangle of True and False | 1 | 5 |

# %% key="setup"
import torch
from einops import einsum, rearrange
from jaxtyping import Bool, Float, Int
from torch import Tensor, tensor

from utils import device, grade, hint, progress, reference, show, use

# %% [markdown] key="setup-failed"
# <details><summary>That cell gave an error: No module named 'utils' (or 'torch', or 'einops')</summary>
#
# Then this notebook runs with a Python that is not the book's. Two cures:
#
# - The menu **Kernel → Change Kernel…**, and there *Python 3 (ipykernel)*. Run the cell again.
# - If that does not help, JupyterLab itself was started from elsewhere. Close it, open a terminal in the folder of the
#   book (the one that holds `Makefile`), and type `make lab`. With conda: `conda activate gpt2-exercise-book`, then
#   `book lab`.
#
# </details>

# %% [markdown] key="question"
# ## 1 · A program that is wrong and does not say so
#
# Three students, three exams. The question: how far is each mark from *that student's own* average? Subtract from
# each row its mean. `mean(-1)` takes the mean over the last axis, which gives one number a row. So:

# %% key="question-shown" tags=["demo"]
students, exams = ["Ana", "Ben", "Cem"], ["exam 1", "exam 2", "exam 3"]
marks = tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]])  # [student exam]

wrong = marks - marks.mean(-1)  # [student exam], no error

show.table(
    [[who, *row, row.mean()] for who, row in zip(students, wrong, strict=True)],
    ["student", *exams, "mean of the row"],
    title="Each mark minus the student's average?",
    note="Every row should now have the mean 0. Two of the three have not.",
)

# %% [markdown] key="question-asked"
# No error, no warning, the right shape, and wrong numbers. Nearly all mistakes in this field look like this. That is
# the question of the chapter: **how can a line that runs be wrong, and how do you find out?**

# %% [markdown] key="broadcasting" terms="tensor, axis, shape, broadcasting"
# ### What happened
#
# A **tensor** is a block of numbers with some number of **axes**; its **shape** lists how long each axis is. `marks`
# has two axes, student and exam, and the shape [3, 3]. Its three means have the shape [3].
#
# To subtract [3] from [3, 3] torch **broadcasts**: it lines the two shapes up *from the right*, gives the shorter one
# new axes of length 1 on its left, and repeats along each axis of length 1 until the lengths agree.
#
# | | student | exam |
# |---|---|---|
# | `marks` | 3 | 3 |
# | `marks.mean(-1)`, lined up from the right | 1 | 3 |
#
# The means belong to students and landed on *exams*. Torch knows lengths only: it cannot know what an axis means. On
# a table of 3 students and 4 exams it would have stopped, since 3 and 4 do not fit. The square table hid the mistake.

# %% [markdown] key="axis-kept"
# A reduction can leave the axis in place, with length 1. Compare the shapes:

# %% key="axis-kept-shown" tags=["demo"]
print("marks                      ", list(marks.shape))
print("marks.sum(-1)              ", list(marks.sum(-1).shape))
print("marks.sum(-1, keepdim=True)", list(marks.sum(-1, keepdim=True).shape))

# %% [markdown] key="first-exercise"
# ## 2 · Your first exercise
#
# Each exercise has a cell with a function in it and `raise NotImplementedError` where the answer goes. Put your lines
# in the place of that one, run the cell, then run the cell below it: it grades you.
#
# The first line says what goes in and comes out. `Float[Tensor, "batch pos d"]` is a tensor of decimal numbers with
# three axes by these names; `Int` holds whole numbers, `Bool` True and False. A name that comes twice is one length.
# The lines with `>>>` are an example: a call, and what it must give.
#
# 1. Run both cells **as they are**. The report says that there is no answer yet. Nothing can break.
# 2. Be wrong on purpose: write `return x - x.mean()`, run both cells again, and read the report. It names the mistake
#    and shows where the numbers differ.
# 3. Now do it right.

# %% [markdown] key="center-rows"
# ### Exercise 00.1 · Center the rows
#
# *difficulty 1 · 5 minutes · stuck?* `hint("00.1")`
#
# $$y_{ij} = x_{ij} - \frac1d \sum_{j'=1}^{d} x_{ij'}$$
#
# $x_{ij}$ is number $j$ of row $i$, and $d$ is the length of a row. From each row subtract its own mean. A row is what
# the *last* axis holds. The shape `"... d"` says: any axes, or none, and then `d`. Half of LayerNorm, chapter 04.


# %% key="center-rows-answer" exercise="00.1"
def center_rows(x: Float[Tensor, "... d"]) -> Float[Tensor, "... d"]:
    """Each row minus its own mean.

    >>> center_rows(tensor([[1.0, 3.0], [10.0, 30.0]])).tolist()
    [[-1.0, 1.0], [-10.0, 10.0]]
    """
    # SOLUTION
    return x - x.mean(-1, keepdim=True)  # [... d] - [... 1]: one mean for each row, beside its row
    # END


# %% key="center-rows-grade"
grade(center_rows)

# %% [markdown] key="center-rows-why" solution="00.1"
# #### Why it works
#
# The means keep the last axis, with length 1. Lined up from the right, length 1 meets $d$ and is repeated along the
# row: each row meets its own mean. −1 counts from the end, so it is the last axis whatever stands before it.
#
# **What the classic mistakes look like.** Without keepdim the means land on the wrong axis, as in section 1: an error
# where the lengths differ, wrong numbers where they agree. `x.mean()` takes one mean of everything:

# %% key="center-rows-mistake" solution="00.1"
from utils.grading import check


def one_mean_for_all(x):
    return x - torch.mean(x)


check("00.1", one_mean_for_all)

# %% key="center-rows-second" solution="00.1"
# A second way: einops names the axis that stays with length 1.
from einops import reduce

torch.allclose(marks - reduce(marks, "student exam -> student 1", "mean"), center_rows(marks))

# %% [markdown] key="graded"
# **Green?** That is all there is to it. `grade` ran your function on the numbers inside a real language model and on
# some twenty inputs of other shapes, and compared every value. The report shows no numbers when all is well.
#
# Two more helpers. They work in any cell, so there is an empty one for you to type in (Esc, then B, makes another):
#
# - `hint("00.1")` gives a hint. Ask again, and you get a stronger one. The last nearly gives the answer away.
# - `progress()` shows every exercise of the book, and which of them you have passed.

# %% key="scratch"
# Type progress() or hint("00.1") below this line, and run the cell. Try both.

# %% [markdown] key="use-it"
# **Use it.** After an exercise the book puts your function to work. `use(center_rows)` is your function where it has
# passed; where it has not, it is the book's own, and a line says so. So you may skip any exercise and go on.

# %% key="centered" tags=["demo"]
centered = use(center_rows)(marks)  # [student exam]

show.matrices(
    torch.stack([marks, wrong, centered]),  # [panel student exam]
    ["marks", "wrong: marks − mean(-1)", "center_rows(marks)"],
    rows=students,
    columns=exams,
    title="The same marks, centered wrongly and rightly",
    note="On the right all three rows are alike: each student has one mark below, one at, one above their mean.",
    row_name="student",
    column_name="exam",
    value_name="mark",
)

# %% [markdown] key="model-and-device" terms="device"
# ## 3 · The model and the device
#
# The model that you are compared with is the book's **pocket model**: GPT-2's architecture and tokenizer, only
# smaller, trained on little stories. It is part of the book, so nothing is downloaded. `device()` is where large
# computations run: `cuda` is an NVIDIA card, `cpu` the processor. The book needs no card, and your functions must
# work on both: a tensor that you make yourself belongs where the input is (`torch.arange(n, device=x.device)`).

# %% key="model-and-device-shown" tags=["demo", "nbval-ignore-output"]
print("device:", device())  # differs from machine to machine

# %% key="model-loaded" tags=["demo"]
model = reference(device="cpu")  # small enough for the processor
text = "Anna had a white kitten. One morning it climbed a tall tree and was stuck."
logits, cache = model.run_with_cache(text)  # cache holds every number on the way
tokens = model.to_str_tokens(text)

show.tokens(
    tokens,
    title="A text as the model reads it",
    note=f"{len(tokens)} tokens. The first is always a mark that says: a text begins here.",
)

# %% [markdown] key="three-traps"
# ## 4 · Two more lines that run and are wrong
#
# You have met the first trap, the lost axis. Here is the second.

# %% [markdown] key="predict-shape" tags=["predict"]
# **Predict.** A model guesses four numbers and all four are exactly right. The guesses have the shape [4, 1], the
# truth has the shape [4]. What is the shape of `guess - truth`?
#
# - **a**: [4] · **b**: [4, 1] · **c**: [4, 4] · **d**: none, it is an error
#
# Write your guess down first. A guess that turns out wrong is remembered better than a truth that was only read.

# %% key="guess-shape" tags=["predict"]
my_guess = "?"  # a, b, c or d

# %% key="shape-shown" tags=["demo"]
truth = tensor([1.0, 2.0, 3.0, 4.0])  # [example]
guess = truth[:, None]  # [example 1]: None makes a new axis of length 1
error = guess - truth

show.matrix(
    error,
    rows=[f"guess {n}" for n in range(1, 5)],
    columns=[f"truth {n}" for n in range(1, 5)],
    title=f"guess − truth: the shape is {list(error.shape)}",
    note=f"All guesses are right, and the mean squared error is {error.square().mean():.1f}.",
    row_name="guess",
    column_name="truth",
    value_name="guess − truth",
)

# %% [markdown] key="shape-why"
# <details><summary>What you see, and why</summary>
#
# It is **c**. Lined up from the right, [4, 1] meets [1, 4], and both are repeated: every guess is compared with every
# truth. Only the diagonal was meant. A training run with this line works without an error and learns to guess the mean.
#
# </details>
#
# A new axis made on purpose is useful: it is how every row meets every row. Made by accident, it is a trap. The habit
# that helps: **write the shape behind each line that changes it**, by name, as in `# [example 1]`.

# %% [markdown] key="rearrange" terms="einops, head"
# ## 5 · Cut an axis in two, and join two
#
# The third trap is `reshape`. It never moves a number: it reads them in order and cuts them anew. That is right only
# when you mean just that. **einops** says what is meant, with names. Parentheses hold an axis made of two; the left
# one of the two changes slowest:

# %% key="rearrange-shown" tags=["demo"]
days = torch.arange(1, 15)  # [14], the days of two weeks
weeks = rearrange(days, "(week day) -> week day", day=7)  # [week day]
print(weeks)
print(rearrange(weeks, "week day -> (week day)").tolist())

# %% [markdown] key="heads"
# In GPT-2 each position of a text has a row of d_model numbers, and this row is the work of several **heads**, laid
# side by side: head 0's numbers first, then head 1's. Here is a text of two positions, with 3 heads of 2 numbers:

# %% key="heads-shown" tags=["demo"]
row_of_heads = torch.arange(12.0).reshape(2, 6)  # [pos d_model]
places = [f"head {head}, number {number}" for head in range(3) for number in range(2)]

show.matrix(
    row_of_heads,
    rows=["position 0", "position 1"],
    columns=places,
    title="Two positions, three heads side by side",
    note="Head 0 holds 0 and 1 at position 0, and 6 and 7 at position 1.",
    row_name="position",
    column_name="place in the row",
    value_name="number",
    diverging=False,
)

# %% [markdown] key="predict-reshape" tags=["predict"]
# **Predict.** Someone wants the heads on the first axis, [n_heads, pos, d_head] = [3, 2, 2], and writes
# `row_of_heads.reshape(3, 2, 2)`. It runs, and the shape is right. What does head 0 hold?
#
# - **a**: 0 1 and 6 7, as it should · **b**: 0 1 and 2 3 · **c**: 0 3 and 6 9

# %% key="guess-reshape" tags=["predict"]
my_guess = "?"  # a, b or c


# %% key="reshape-shown" tags=["demo"]
def in_words(heads):
    """The numbers of each head, position 0 / position 1: [n_heads pos d_head]."""
    return [" / ".join(" ".join(f"{n:.0f}" for n in row) for row in head) for head in heads]


meant = [row_of_heads[:, 2 * head : 2 * head + 2] for head in range(3)]
show.table(
    [["meant", *in_words(meant)], ["reshape(3, 2, 2)", *in_words(row_of_heads.reshape(3, 2, 2))]],
    ["", "head 0", "head 1", "head 2"],
    title="What each head holds: position 0 / position 1",
    note="reshape filled head 0 with the first four numbers it met. They all belong to position 0.",
)

# %% [markdown] key="reshape-why"
# <details><summary>What you see, and why</summary>
#
# It is **b**. Read in order, head 0's numbers are 0, 1, 6, 7: to bring the heads to the front, 6 and 7 have to overtake
# 2, 3, 4 and 5. `reshape` never changes the order. So the result has the right shape and mixes positions with heads.
# Nothing crashes; the model only gets worse.
#
# </details>

# %% [markdown] key="split-heads"
# ### Exercise 00.2 · Split the heads
#
# *difficulty 2 · 10 minutes · stuck?* `hint("00.2")`
#
# $$y_{b,p,h,i} = x_{b,\;p,\;h \cdot d_\text{head} + i} \qquad d_\text{head} = d_\text{model} / n_\text{heads}$$
#
# $b$ is the text in the batch, $p$ the position, $h$ the head, $i$ the number within the head. Cut each row into
# n_heads pieces of equal length. The new axis n_heads stands *after* pos.


# %% key="split-heads-answer" exercise="00.2"
def split_heads(x: Float[Tensor, "batch pos d_model"], n_heads: int) -> Float[Tensor, "batch pos n_heads d_head"]:
    """Each row cut into n_heads pieces, head 0's numbers first.

    >>> split_heads(tensor([[[1.0, 2.0, 3.0, 4.0]]]), 2).tolist()
    [[[[1.0, 2.0], [3.0, 4.0]]]]
    """
    # SOLUTION
    # The left name in the parentheses is the slow one: all of head 0, then all of head 1.
    return rearrange(x, "batch pos (n_heads d_head) -> batch pos n_heads d_head", n_heads=n_heads)
    # END


# %% key="split-heads-grade"
grade(split_heads)

# %% [markdown] key="split-heads-why" solution="00.2"
# #### Why it works
#
# Cutting the last axis where it stands moves no number, so here `reshape` is right as well (the next cell). The trap
# was to cut *and* move in one step.
#
# **What the classic mistake looks like.** With the two names in the parentheses the other way round the heads are cut
# out in strides: head 0 gets every n_heads-th number. The shape is right, and the report says so by name.

# %% key="split-heads-second" solution="00.2"
batch_of_rows = row_of_heads[None]  # [1 pos d_model]
torch.equal(batch_of_rows.reshape(1, 2, 3, -1), split_heads(batch_of_rows, 3))

# %% [markdown] key="merge-heads"
# ### Exercise 00.3 · Merge the heads
#
# *difficulty 2 · 5 minutes · stuck?* `hint("00.3")`
#
# $$y_{b,\;p,\;h \cdot d_\text{head} + i} = x_{b,p,h,i}$$
#
# The way back, with the same letters: lay the heads of each position side by side again.


# %% key="merge-heads-answer" exercise="00.3"
def merge_heads(x: Float[Tensor, "batch pos n_heads d_head"]) -> Float[Tensor, "batch pos d_model"]:
    """The heads of each position side by side, head 0's numbers first.

    >>> merge_heads(tensor([[[[1.0, 2.0], [3.0, 4.0]]]])).tolist()
    [[[1.0, 2.0, 3.0, 4.0]]]
    """
    # SOLUTION
    return rearrange(x, "batch pos n_heads d_head -> batch pos (n_heads d_head)")
    # END


# %% key="merge-heads-grade"
grade(merge_heads)

# %% [markdown] key="merge-heads-why" solution="00.3"
# #### Why it works
#
# n_heads and d_head stand side by side and in the right order, so joining them moves nothing. `x.flatten(-2)` is the
# same.
#
# **What the classic mistake looks like.** After a `transpose` that brought the heads in front of pos, flattening the
# last axes joins pos with the numbers. A round trip through 00.2 shows it: it must give back exactly what went in.

# %% key="merge-heads-second" solution="00.3"
torch.equal(split_heads(batch_of_rows, 3).flatten(-2), merge_heads(split_heads(batch_of_rows, 3)))

# %% [markdown] key="round-trip-text"
# **Use it** on the model's own numbers: what its first layer calls queries (chapter 01), there and back.

# %% key="round-trip" tags=["demo"]
n_heads, d_head = model.cfg.n_heads, model.cfg.d_head
split, merge = use(split_heads), use(merge_heads)

flat_q = cache["blocks.0.attn.hook_q"].flatten(-2)  # [batch pos d_model]
q = split(flat_q, n_heads)  # [batch pos n_heads d_head]
print(list(flat_q.shape), "→", list(q.shape), "→", list(merge(q).shape))
print("back unchanged:", torch.equal(merge(q), flat_q))

# %% [markdown] key="einsum" terms="einsum"
# ## 6 · einsum: products by name
#
# Two rules, and you can read any product in this book:
#
# 1. Axes with the **same name** go together: number $i$ of the one meets number $i$ of the other.
# 2. An axis that is **missing on the right** of the arrow is added up.

# %% key="einsum-shown" tags=["demo"]
price = tensor([2.0, 1.0, 5.0])  # [item]
bought = tensor([[1.0, 4.0, 0.0], [0.0, 2.0, 1.0]])  # [person item]

print("what each pays for each item:", einsum(bought, price, "person item, item -> person item").tolist())
print("what each pays:              ", einsum(bought, price, "person item, item -> person").tolist())
print("what all pay for each item:  ", einsum(bought, price, "person item, item -> item").tolist())

# %% [markdown] key="pairwise-dots" terms="dot product"
# ### Exercise 00.4 · Every row with every row
#
# *difficulty 2 · 10 minutes · stuck?* `hint("00.4")`
#
# $$y_{b,i,j} = \sum_{c=1}^{d} q_{b,i,c}\; k_{b,j,c}$$
#
# The **dot product** of two rows: multiply number by number, add up. It is large where two rows point the same way.
# Take it of row $i$ of q with row $j$ of k, for all $i$ and $j$, in each text $b$ by itself; $c$ counts along a row.


# %% key="pairwise-dots-answer" exercise="00.4"
def pairwise_dots(
    q: Float[Tensor, "batch query_pos d"], k: Float[Tensor, "batch key_pos d"]
) -> Float[Tensor, "batch query_pos key_pos"]:
    """The dot product of every row of q with every row of k of the same text.

    >>> q = tensor([[[1.0, 0.0], [0.0, 1.0]]])  # one text, two rows
    >>> k = tensor([[[2.0, 3.0], [4.0, 5.0], [6.0, 7.0]]])  # three rows
    >>> pairwise_dots(q, k).tolist()
    [[[2.0, 4.0, 6.0], [3.0, 5.0, 7.0]]]
    """
    # SOLUTION
    # Two names for the two position axes: all pairs. d is missing on the right: added up.
    return einsum(q, k, "batch query_pos d, batch key_pos d -> batch query_pos key_pos")
    # END


# %% key="pairwise-dots-grade"
grade(pairwise_dots)

# %% [markdown] key="pairwise-dots-why" solution="00.4"
# #### Why it works
#
# batch has the same name on both sides, so texts are never mixed. The position axes have different names, so every
# pair is there. **A second way** is a matrix product with the last two axes of k swapped (the next cell).
#
# **What the classic mistake looks like.** With one name for both position axes, only pairs $i = j$ are left: the
# diagonal of what was wanted.

# %% key="pairwise-dots-second" solution="00.4"
torch.allclose(q[:, :, 0] @ q[:, :, 0].mT, pairwise_dots(q[:, :, 0], q[:, :, 0]), atol=1e-4)

# %% [markdown] key="alike-text"
# **Use it.** Inside the model each word is a row of d_model numbers, its embedding (chapter 03). Which words does the
# model take to be alike? Here each row is centered and brought to length 1, so that 1 is the same direction.

# %% key="alike" tags=["demo"]
words = ["cat", "kitten", "dog", "puppy", "cup", "jar", "tree"]
ids = tensor([model.to_single_token(f" {word}") for word in words])  # [word]
rows = use(center_rows)(model.W_E[ids])  # [word d_model]
rows = (rows / rows.norm(dim=-1, keepdim=True))[None]  # [1 word d_model]
alike = use(pairwise_dots)(rows, rows)[0]  # [word word]

i, j = divmod((alike - 2 * torch.eye(len(words))).argmax().item(), len(words))
show.matrix(
    alike.round(decimals=2) + 0.0,  # no −0
    rows=words,
    columns=words,
    title="Which words are alike to the model?",
    note=f'Most alike of two different words: "{words[i]}" and "{words[j]}", {alike[i, j]:.2f}.',
    row_name="word",
    column_name="word",
    value_name="dot product",
)

# %% [markdown] key="picking" terms="logit"
# ## 7 · Pick one number from each row
#
# For every token the model gives a score, a **logit**, to each of the 50,257 tokens that might come next. To see how
# well it did, pick from each row the number of the token that really came. Where to pick is itself a tensor of ids.

# %% [markdown] key="pick"
# ### Exercise 00.5 · Pick by index
#
# *difficulty 3 · 10 minutes · stuck?* `hint("00.5")`
#
# $$y_{b,p} = x_{b,\;p,\;n} \quad\text{with}\quad n = \text{index}_{b,p}$$
#
# $b$ is the text, $p$ the position; $x$ stands for `values`. `torch.gather` does it, once its index has as many axes
# as the values; two index grids do it too.


# %% key="pick-answer" exercise="00.5"
def pick(values: Float[Tensor, "batch pos d_vocab"], index: Int[Tensor, "batch pos"]) -> Float[Tensor, "batch pos"]:
    """values[b, p, index[b, p]] for every text b and position p.

    >>> values = tensor([[[10.0, 11.0, 12.0], [20.0, 21.0, 22.0]]])  # one text, two positions
    >>> pick(values, tensor([[2, 0]])).tolist()
    [[12.0, 20.0]]
    """
    # SOLUTION
    column = index[..., None]  # [batch pos 1]: one column asked for in each row
    return values.gather(-1, column).squeeze(-1)  # [batch pos 1] → [batch pos]
    # END


# %% key="pick-grade"
grade(pick)

# %% [markdown] key="pick-why" solution="00.5"
# #### Why it works
#
# `gather(-1, …)` looks up along the last axis and walks along all others together with the index. Hence the index
# needs three axes, and the answer has a last axis of length 1, which `squeeze(-1)` takes away.
#
# **What the classic mistake looks like.** `squeeze()` without a number takes away *every* axis of length 1. It works
# on all batches but the batch of one text, where the batch axis goes too: a bug that waits.


# %% key="pick-second" solution="00.5"
def with_grids(values, index):
    """A second way: three index tensors that broadcast to [batch pos]."""
    batch, pos = (torch.arange(length) for length in index.shape)
    return values[batch[:, None], pos, index]


check("00.5", with_grids)

# %% [markdown] key="guessed-text"
# **Use it.** How likely did the model find each token, before it saw it? A `softmax` turns each row of logits into
# probabilities (chapter 01). Position $p$ speaks about token $p + 1$, so rows and tokens are shifted by one.

# %% key="guessed" tags=["demo"]
shares = logits[:, :-1].softmax(-1)  # [batch pos-1 d_vocab], each row sums to 1
came = model.to_tokens(text)[:, 1:]  # [batch pos-1]
chance = use(pick)(shares, came)[0]  # [pos-1]
best, worst = chance.argmax().item() + 1, chance.argmin().item() + 1

show.tokens(
    tokens[1:],
    chance.round(decimals=2),
    title="How likely the model found each token",
    note=f"Surest of {tokens[best]!r} (token {best}), most surprised by {tokens[worst]!r} (token {worst}).",
    value_name="probability",
)

# %% [markdown] key="grid"
# ## 8 · Who may look at whom
#
# A model that guesses the next word must not see it. So position $i$ may look at positions 0 to $i$ and no further.

# %% [markdown] key="causal-grid"
# ### Exercise 00.6 · The causal grid
#
# *difficulty 1 · 5 minutes · stuck?* `hint("00.6")`
#
# $$g_{ij} = \text{True if } j \le i, \text{ else False}$$
#
# Row $i$ is the position that looks, column $j$ the one that is looked at; both run from 0 to $n - 1$. True and False,
# so the dtype is `torch.bool`.


# %% key="causal-grid-answer" exercise="00.6"
def causal_grid(n: int) -> Bool[Tensor, "n n"]:
    """Row i is True in columns 0 to i.

    >>> causal_grid(2).tolist()
    [[True, False], [True, True]]
    """
    # SOLUTION
    position = torch.arange(n)  # [n]
    return position[:, None] >= position  # [n 1] against [n]: every row number meets every column number
    # END


# %% key="causal-grid-grade"
grade(causal_grid)

# %% [markdown] key="causal-grid-why" solution="00.6"
# #### Why it works
#
# It is the second trap, used on purpose: a column of numbers against a row of numbers gives the whole grid.
#
# **What the classic mistake looks like.** `>` instead of `>=` loses the diagonal: position 0 may look at nothing, and
# a softmax over nothing is not a number. In chapter 05 that NaN would spread through the whole model.

# %% key="causal-grid-second" solution="00.6"
torch.equal(torch.ones(5, 5).tril().bool(), causal_grid(5))

# %% [markdown] key="together"
# ## 9 · Put together: a head of GPT-2
#
# Three of your functions and a softmax are the heart of attention, the part of GPT-2 that looks back. The next cell
# computes where each head of the first layer looks, and compares with what the model itself computed. You need not
# understand it yet; chapter 05 is about nothing else.

# %% key="together-computed" tags=["demo"]
dots, grid = use(pairwise_dots), use(causal_grid)
k = split(cache["blocks.0.attn.hook_k"].flatten(-2), n_heads)  # [batch pos n_heads d_head]
scores = torch.stack([dots(q[:, :, h], k[:, :, h]) for h in range(n_heads)], dim=1) / d_head**0.5
scores = scores.masked_fill(~grid(len(tokens)), float("-inf"))  # [batch n_heads query_pos key_pos]
pattern = scores.softmax(-1)
same = torch.allclose(pattern, cache["blocks.0.attn.hook_pattern"], atol=1e-4)

show.heads(
    pattern[0],
    tokens,
    title="Where each head of the first layer looks, by your functions",
    note=f"Row: the token that looks. Equal to the model's own numbers: {same}. Above the diagonal all is 0.",
)

# %% [markdown] key="answer"
# ## 10 · Back to the question
#
# How can a line that runs be wrong? Because torch checks lengths and you mean names. And how do you find out? Three
# habits. The first: **try sizes that are all different.** The line of section 1 again, on 2 students and 3 exams:

# %% key="answer-shown" tags=["demo"]
two_students = tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])  # [student exam]
try:
    two_students - two_students.mean(-1)
except RuntimeError as problem:
    print("now it says so:", problem)

# %% [markdown] key="habits"
# The second: **work one small case by hand**, as the examples in the docstrings do. The third: **compare with someone
# else's numbers.** `grade` does all three each time.

# %% [markdown] key="broken" terms="kernel"
# ## 11 · When something is broken
#
# Your code runs in a **kernel**: a Python that remembers everything since it was started, also what you have deleted
# from the page. Most strange things end with a restart.
#
# | what you see | what to do |
# |---|---|
# | strange results, names that should not exist | **Kernel → Restart Kernel**, then run the cells from the top |
# | a cell runs forever, `[*]` beside it | the ■ above the page interrupts it; your work stays |
# | `NameError: name 'model' is not defined` | a cell above was not run: **Run → Run All Above Selected Cell** |
# | you repaired a function, and the old one still runs | run its cell again; then grade again |
# | "Using the book's …" although you passed earlier | a new kernel: run your answer and its grade again |
# | `No module named 'utils'` | the folded text under the first code cell |
# | stored figures of a solution are blank | it is not trusted yet: Ctrl + Shift + C, then *Trust Notebook* |
# | anything else | in a terminal: `book doctor` |
#
# **`book doctor`** checks Python, packages, folders, weights and chapters, one by one, and says what to run. Type it
# in a terminal (**File → New → Terminal**). If the terminal does not know `book`, go to the folder of the book and
# type `.venv/bin/book doctor`.
#
# **Where progress is kept.** Not in the notebook. It lies in a file of its own, so a restart or a fresh chapter does
# not lose it: `~/.local/share/gpt2-exercise-book/` on Linux, `~/Library/Application Support/gpt2-exercise-book/` on
# macOS, `%LOCALAPPDATA%\gpt2-exercise-book\` on Windows. The variable `BOOK_DATA` moves it. Your *answers* are in the
# notebook: save it (Ctrl + S, on macOS ⌘ + S).
#
# **A clean chapter again.** First keep yours: **File → Rename…**, for example to `00_mine.ipynb`. Then, in a terminal
# in the folder of the book: `git checkout -- chapters/00_start_here.ipynb`. Without git, take that file from a fresh
# download.

# %% [markdown] key="summary"
# ## Summary
#
# Say it in your own words first, then compare.
#
# - Write in the place of `raise NotImplementedError`, run the cell, run `grade` below it. `hint` helps, `progress`
#   shows how far you are, `use` lets you skip.
# - Torch lines shapes up from the right and repeats along axes of length 1. It knows lengths, not meanings.
# - `rearrange` cuts, joins and moves axes by name; `einsum` multiplies by name, and adds up what is missing on the
#   right; `gather` picks by index.
# - `reshape` moves no number. `squeeze()` takes away every axis of length 1, the batch too when it holds one text;
#   `squeeze(-1)` only the last.

# %% [markdown] key="self-test"
# ## Test yourself
#
# **1.** x has the shape [2, 5, 8]. What are the shapes of `x.mean(-1)`, `x.mean(-1, keepdim=True)` and
# `x - x.mean(-1, keepdim=True)[..., 0]`?
#
# <details><summary>Answer</summary>
#
# [2, 5]; [2, 5, 1]; none. `[..., 0]` takes the last axis away again, and [2, 5] lined up from the right puts 5 under
# 8 and 2 under 5. That is an error, and a kind one.
#
# </details>
#
# **2.** `einsum(a, b, "batch pos d, batch pos d -> batch pos")`: what does it compute, and how does it differ from
# exercise 00.4?
#
# <details><summary>Answer</summary>
#
# For each position the dot product of a's row with b's row *of the same position*. It is the diagonal of what 00.4
# gives when both are equally long: one name for both position axes pairs equal positions only.
#
# </details>
#
# **3.** You restart the kernel. What is lost: your answers, your progress, the functions you defined, the variable
# `model`?
#
# <details><summary>Answer</summary>
#
# The functions and `model`: they lived in the kernel, and running the cells brings them back. Your answers stand in
# the notebook (if it is saved), and your progress in its own file.
#
# </details>

# %% [markdown] key="glossary" covers="N21"
# ## Words met
#
# | term | meaning |
# |---|---|
# | tensor | a block of numbers with any number of axes |
# | axis, shape | one direction of a tensor; the list of the lengths of all its axes |
# | broadcasting | shapes are lined up from the right; axes of length 1 are repeated to fit |
# | einops, einsum | axes moved, cut and joined by name; products by name, summed over what is missing on the right |
# | dot product | two rows multiplied number by number and added up |
# | head | one of several parts that work side by side in a layer, each with d_head of the d_model numbers |
# | logit | the score that the model gives a possible next token, before softmax |
# | device | where a tensor lives and is computed: `cpu` or `cuda` |
# | kernel | the running Python behind a notebook |

# %% [markdown] key="read-on"
# ## Where to read on
#
# - The manual of einops: <https://einops.rocks>.
# - PyTorch on broadcasting: <https://pytorch.org/docs/stable/notes/broadcasting.html>.
# - Rogozhnikov, *Einops: Clear and Reliable Tensor Manipulations with Einstein-like Notation* (2022).
#
# Next, [chapter 01](01_linear_maps.ipynb): what a matrix does, and how a search by dot products becomes attention.
