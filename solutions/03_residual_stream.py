# Chapter 03, the residual stream: the one source of its notebooks in chapters/ and solutions/ (`book build 03`).
# Whatever is said about a particular layer or word is computed in the cell that shows it, so that the text stays true
# on another reference. Numbers in the prose are only those that hold for every model of this shape.

# %% [markdown] key="title"
# # Embeddings and the residual stream
#
# In the pocket model's world lives a man named Gordon Reed. "Gordon" is always followed by "Reed", and "Reed" never
# by "Gordon". The model knows that. Yet a token reaches it as one vector and leaves it by being compared with one
# vector, and GPT-2 has *the same* table of vectors at both ends. The product of two vectors knows no order.
#
# So how does the model know the order? To answer that you build everything that is in a transformer *but* its layers:
# how a token becomes a vector, what layers read and where they write, and how a vector becomes a prediction again.

# %% [markdown] key="what-you-will-do"
# ## What you will be able to do
#
# - **Build** the two ends of GPT-2: token and position embedding, and the unembedding.
# - **Take apart** the residual stream at any layer into what each part has added, and put it together exactly.
# - **Read** the stream early with the logit lens, and say what a layer would have predicted.
# - **Explain** why embeddings are added, and what tying the two tables saves and costs.
# - **Measure** which part of the model turns "Gordon" into "Reed".
#
# **Builds on** 00 (named axes), 01 (linear maps, dot products, softmax), 02 (tokens). LayerNorm is used here and
# explained in 04; what attention and MLPs do inside is for 05 and 06.
# **Time**: about two hours; the exercises take 70 minutes of it.
#
# | exercise | you write | difficulty (1–5) | minutes |
# |---|---|---|---|
# | 03.1 | `embed`: from ids to vectors | 1 | 5 |
# | 03.2 | `pos_embed`: a vector for each place | 2 | 10 |
# | 03.3 | `initial_residual`: what the first layer reads | 1 | 5 |
# | 03.4 | `residual_after`: the stream as a sum | 2 | 10 |
# | 03.5 | `unembed`: from vectors to logits | 1 | 5 |
# | 03.6 | `logit_lens`: read the stream early | 3 | 15 |
# | 03.7 | `tied_unembed`: one table for both ends | 1 | 5 |
# | 03.8 | `bigram_logits`: the path past every layer | 2 | 10 |
# | 03.9 | `norm_by_layer`: how long the stream is | 2 | 5 |
#
# Write an answer where you find `raise NotImplementedError`, run that cell, then run the cell below it: it grades
# your function. `hint("03.1")` gives a hint, and a stronger one each time you ask. You may skip an exercise: later
# cells use the book's version where yours is missing, and say so.

# %% key="setup"
import torch
from einops import einsum
from jaxtyping import Float, Int
from torch import Tensor, tensor

from utils import grade, hint, reference, show, use

model = reference(device="cpu")  # the pocket model; it needs no accelerator
rng = torch.Generator().manual_seed(3)  # every random number of this chapter comes from here
n_layers, d_model = model.cfg.n_layers, model.cfg.d_model

# %% [markdown] key="which-model"
# The model is the book's **pocket model**: GPT-2's architecture and tokenizer, 4 layers, d_model = 256, trained on
# short stories. GPT-2 small has 12 layers and d_model = 768. All that you build fits both, number for number. What
# the tables and layers *hold* is a fact about one trained model, so this chapter looks it up in a cell each time. The
# world of full names is the pocket model's own; on GPT-2, take a pair such as Barack and Obama.
#
# To see GPT-2's numbers, run `book reference gpt2` once in a terminal, write
# `model = reference("gpt2", device="cpu")` in the cell above, and run the chapter again.

# %% [markdown] key="question"
# ## 1 · A name has an order
#
# Two texts. One ends with the first name, one with the last name. What does the model say comes next?

# %% key="name-both-ways" tags=["demo"]
opening, first, last = "Everyone at the river knows", " Gordon", " Reed"
pair = tensor([model.to_single_token(first), model.to_single_token(last)])  # two ids


def after(text):
    """The likeliest next token, then the probabilities of the last and of the first name."""
    chances = model(text)[0, -1].softmax(-1)  # [d_vocab]
    best = chances.argmax()
    last_name, first_name = chances[pair[1]].item(), chances[pair[0]].item()
    return [model.to_string(best), f"{last_name:.4f}", f"{first_name:.4f}"]


show.table(
    [[f"… knows{name}", *after(opening + name)] for name in (first, last)],
    ["the text ends with", "likeliest next", f"P({last.strip()})", f"P({first.strip()})"],
    title="What comes after one half of a name?",
    note="Read across: after the first name comes the last; after the last name comes something else.",
)

# %% [markdown] key="question-tables" covers="N10" terms="embedding, unembedding"
# Now look at the two tables. The **embedding** $W_E$ turns a token into a vector: each token has a row. The
# **unembedding** $W_U$ turns a vector into a score for each token: each token has a column, and its score is the dot
# product with that column. If nothing stood between the two, this is what the names would say about each other:

# %% key="question-scores" tags=["demo"]
gordon_reed = (model.W_E[pair[0]] @ model.W_U[:, pair[1]]).item()
reed_gordon = (model.W_E[pair[1]] @ model.W_U[:, pair[0]]).item()
show.table(
    [[first, last, f"{gordon_reed:.4f}"], [last, first, f"{reed_gordon:.4f}"]],
    ["token read", "token scored", "row of W_E · column of W_U"],
    title="The same question, put to the two tables alone",
    note=f"Both orders have {'the same score' if abs(gordon_reed - reed_gordon) < 1e-5 else 'scores of their own'}.",
)

# %% [markdown] key="question-text"
# The two tables alone must fail: whatever score they give to *Gordon, Reed*, they give to *Reed, Gordon*. This
# chapter's question is **where the order comes from**. First, how does a token become a vector at all?

# %% [markdown] key="integers" covers="N5" terms="one-hot vector"
# ## 2 · From a token to a vector
#
# The model is given integers, and an integer is only a name: token 3 is not "three times" token 1. So each token gets
# a vector of its own, a row in a table with d_vocab rows. Taking it is a **lookup**.
#
# It is a linear map as well. Write token $t$ as a **one-hot vector**: d_vocab numbers, all 0 but a 1 in place $t$.
# Its product with the table picks row $t$, because every other row is multiplied by 0. Here with a vocabulary of
# four:

# %% key="lookup-by-hand" tags=["demo"]
small_table = tensor([[1.0, 0.0, 2.0], [0.0, 3.0, 1.0], [4.0, 4.0, 0.0], [5.0, 0.0, 5.0]])  # [4 3]
small_text = tensor([2, 0, 2])  # [pos]
one_hot = (small_text[:, None] == torch.arange(4)).float()  # [pos 4]
picked = one_hot @ small_table  # [pos 4] @ [4 3] → [pos 3]

show.table(
    list(zip(small_text, one_hot.int().tolist(), picked.int().tolist(), strict=True)),
    ["token", "one-hot vector", "one-hot vector · table"],
    title="Three tokens, looked up by a matrix product",
    note="The 1 stands in place 2, 0, 2, so rows 2, 0 and 2 of the table come out.",
)

# %% [markdown] key="embed" covers="N5, N10"
# ### Exercise 03.1 · Embed
#
# *difficulty 1 · 5 minutes · stuck?* `hint("03.1")`
#
# $$e_i = \text{onehot}(t_i)\, W_E = \text{row } t_i \text{ of } W_E$$
#
# $t_i$ is the token id at position $i$, $W_E$ the embedding [d_vocab d_model], $e_i$ the token's vector. For every
# text of the batch. Both ways are right; the lookup does not multiply fifty thousand zeros.


# %% key="embed-answer" exercise="03.1" covers="N5, N10"
def embed(
    tokens: Int[Tensor, "batch pos"],
    W_E: Float[Tensor, "d_vocab d_model"],
) -> Float[Tensor, "batch pos d_model"]:
    """Each token's row of the table.

    >>> W_E = tensor([[1.0, 0.0], [0.0, 3.0], [4.0, 4.0]])  # three tokens, d_model = 2
    >>> embed(tensor([[2, 0]]), W_E).tolist()  # one text of two tokens
    [[[4.0, 4.0], [1.0, 0.0]]]
    """
    # SOLUTION
    # Indexing with a [batch, pos] tensor puts a whole row in the place of each id.
    return W_E[tokens]  # [batch pos d_model]
    # END


# %% key="embed-grade"
grade(embed)

# %% [markdown] key="embed-why" solution="03.1"
# #### Why it works
#
# An index tensor of any shape gives a result of that shape, with a whole row for each index: a last axis, d_model,
# comes to the two of `tokens`.
#
# **A second way** is the product with one-hot vectors (the next cell). It shows that embedding is linear, and it is
# how gradients reach the table: row $t$ gets a gradient only where token $t$ occurs.
#
# **What the classic mistake looks like.** The transformer of 2017 multiplied embeddings by $\sqrt{d_\text{model}}$.
# GPT-2 does not. Scaled, every vector points the right way and is 16 times too long here; the positions that are
# added next would drown.

# %% key="embed-second" solution="03.1"
some = tensor([[2, 0, 2]])
as_product = torch.nn.functional.one_hot(some, 4).float() @ small_table  # [batch pos 4] → [batch pos 3]
torch.equal(as_product, embed(some, small_table))

# %% [markdown] key="embedded-text"
# **Use it** to see what training has put into the table. Nobody told the model that *kitten* and *goat* have
# something in common. Below, the cosine between the rows of each two of 16 words: 1 is the same direction, 0 a right
# angle.

# %% key="embedded-words" tags=["demo"]
KINDS = {
    "name": "Anna Mary Tom Ben".split(),
    "animal": "kitten goat lamb mouse".split(),
    "color": "red blue green white".split(),
    "number": "two three four five".split(),
}
words = [word for kind in KINDS.values() for word in kind]
kind_of = [kind for kind, members in KINDS.items() for _ in members]
word_ids = tensor([[model.to_single_token(f" {word}") for word in words]])  # [batch pos]
vectors = use(embed)(word_ids, model.W_E)[0]  # [word d_model]
unit = vectors / vectors.norm(dim=-1, keepdim=True)
cosine = unit @ unit.T  # [word word]

# %% key="embedded-words-figure" tags=["demo"]
same = tensor([[a == b for a in kind_of] for b in kind_of])
others = same & ~torch.eye(len(words), dtype=torch.bool)  # another word of the same kind
alike, unlike = (f"{cosine[pairs].mean():.2f}".replace("-", "−") for pairs in (others, ~same))
show.matrix(
    cosine,
    rows=words,
    columns=words,
    title="Which rows of the embedding are alike?",
    note=f"Four names, animals, colors, numbers. One kind: mean cosine {alike}; different kinds: {unlike}.",
    row_name="word",
    column_name="word",
    value_name="cosine",
)

# %% [markdown] key="positions" covers="N19" terms="position embedding"
# ## 3 · A vector for each place
#
# A row of $W_E$ says which token stands somewhere, and nothing about where. Does that matter? Attention, the part
# that carries things between positions, takes a weighted average of what stands before. An average does not ask in
# which order its parts were listed.

# %% [markdown] key="predict-swap" tags=["predict"]
# **Predict.** Two texts of the same tokens, in another order: *One day Tom gave a ball to Anna. Then* and *One day
# Anna gave a ball to Tom. Then*. The first attention layer reads the token vectors alone, *without* positions. How
# much does its output at the last token, "Then", differ between the two texts?
#
# - **a**: a lot, because the sentences mean different things;
# - **b**: a little;
# - **c**: not at all.

# %% key="guess-swap" tags=["predict"]
my_guess = "?"  # a, b or c

# %% key="swap" tags=["demo"]
tom_gave = model.to_tokens("One day Tom gave a ball to Anna. Then")  # [batch pos]
anna_gave = model.to_tokens("One day Anna gave a ball to Tom. Then")
places = model.W_pos[: tom_gave.shape[1]]  # [pos d_model]


def first_attention(stream):
    """What the first attention layer writes at the last position: [batch pos d_model] → [d_model]."""
    block = model.blocks[0]
    return block.attn(block.ln1(stream))[0][0, -1]


def difference(one, other):
    """How far apart two vectors are, relative to the length of the first."""
    return ((one - other).norm() / one.norm()).item()


tom_rows, anna_rows = model.W_E[tom_gave], model.W_E[anna_gave]
without = difference(first_attention(tom_rows), first_attention(anna_rows))
with_places = difference(first_attention(tom_rows + places), first_attention(anna_rows + places))
print(f"without positions the outputs differ by {without:.2%}")
print(f"with positions the outputs differ by    {with_places:.2%}")

# %% [markdown] key="why-swap" covers="N19"
# <details><summary>What you see, and why</summary>
#
# It is **c**: without positions the two texts are the same bag of tokens to this layer. The last position finds the
# same things to average, with the same weights. (Deeper layers get a little more: each position sees only what stands
# before it, and that leaves a trace of order. Near and far still look alike.)
#
# </details>
#
# So the model needs to be told where each token stands. GPT-2's way is the simplest: a second table, $W_\text{pos}$,
# with a learned row for each of its n_ctx places. The first token gets row 0, the second row 1, in every text.

# %% [markdown] key="pos-embed" covers="N19"
# ### Exercise 03.2 · Positions
#
# *difficulty 2 · 10 minutes · stuck?* `hint("03.2")`
#
# $$p_i = \text{row } i \text{ of } W_\text{pos}$$
#
# $i$ counts the places of a text from 0; $W_\text{pos}$ is [n_ctx d_model]. A text may be shorter than the table. The
# ids in `tokens` do not matter, only the shape. Give every text of the batch its own copy of the rows: the result has
# all three axes.


# %% key="pos-embed-answer" exercise="03.2" covers="N19"
def pos_embed(
    tokens: Int[Tensor, "batch pos"],
    W_pos: Float[Tensor, "n_ctx d_model"],
) -> Float[Tensor, "batch pos d_model"]:
    """The vector of each place, for each text of the batch.

    >>> W_pos = tensor([[1.0, 0.0], [2.0, 0.0], [3.0, 0.0]])  # room for three places
    >>> pos_embed(tensor([[7, 7], [9, 4]]), W_pos).tolist()  # two texts of two tokens
    [[[1.0, 0.0], [2.0, 0.0]], [[1.0, 0.0], [2.0, 0.0]]]
    """
    # SOLUTION
    batch, pos = tokens.shape
    rows = W_pos[:pos]  # [pos d_model]
    return rows.expand(batch, -1, -1)  # [batch pos d_model]; expand copies nothing
    # END


# %% key="pos-embed-grade"
grade(pos_embed)

# %% [markdown] key="pos-embed-why" solution="03.2"
# #### Why it works
#
# Which token stands at a place has no say in the place's vector, so the rows are the same for each text. `expand`
# shows the same memory batch times; `repeat` would copy it.
#
# **A second way** numbers the places and looks them up, as one would for tokens (the next cell).
#
# **What the classic mistake looks like.** `W_pos[tokens]` even runs, where ids are small enough, and gives each token
# a vector that depends on its id. The report says that the table is indexed by token. Without the batch axis the sum
# with the tokens would still come out right by broadcasting; the grader wants the axis, because the hook has it.

# %% key="pos-embed-second" solution="03.2"
number = torch.arange(tom_gave.shape[1]).expand_as(tom_gave)  # [batch pos]
torch.equal(model.W_pos[number], pos_embed(tom_gave, model.W_pos))

# %% [markdown] key="places-text"
# **Use it.** Nothing says that row 7 must be like row 8: the table starts at random and training moves it. Below, the
# cosine between the vectors of each two of the first 48 places.

# %% key="places-figure" tags=["demo"]
shown = 48
rows = use(pos_embed)(torch.zeros(1, shown, dtype=torch.int64), model.W_pos)[0]  # [pos d_model]
unit = rows / rows.norm(dim=-1, keepdim=True)
near = (unit @ unit.T).fill_diagonal_(torch.nan)  # [pos pos]; a place with itself would be 1
close, far = near.diagonal(1).mean(), near.diagonal(shown // 2).mean()

show.matrix(
    near,
    rows=range(shown),
    columns=range(shown),
    title="Which places have vectors that are alike?",
    note=f"Neighbors: mean cosine {close:.2f}. {shown // 2} places apart: {far:.2f}. Empty: a place with itself.",
    row_name="position",
    column_name="position",
    value_name="cosine",
)

# %% [markdown] key="adding" covers="N19"
# ## 4 · Added, not concatenated
#
# Now each position has two vectors, $e_i$ for the token and $p_i$ for the place. One could put them side by side.
# GPT-2 **adds** them. At first sight that loses something: from a sum alone one cannot tell the parts. Why does it
# work, and why is it better?
#
# **It loses nothing that the model wants to keep.** Adding contains concatenation as a special case: let $W_E$ use
# only the first 200 of 256 numbers and $W_\text{pos}$ only the last 56, and the sum *is* the two side by side. The
# border is not drawn by the designer but found in training, direction by direction. And in hundreds of dimensions
# there is room: two random directions are almost at right angles.
#
# **Features can meet.** Suppose that some layer needs to know "a sentence starts next". A period says so, and so does
# place 0, where a text begins. With vectors side by side that fact would live in two different spots, and every
# reader would need weights for both. In a sum both may write *the same direction*:

# %% key="meet-by-hand" tags=["demo"]
starts, is_word, later = torch.eye(3)  # three directions of a tiny stream, d_model = 3
period, ball = 1.0 * starts, 1.0 * is_word  # two rows of W_E: [d_model]
place_0, place_5 = 1.0 * starts, 1.0 * later  # two rows of W_pos: [d_model]
reader = starts  # one vector of weights, of some later layer: [d_model]

cases = {
    "ball at place 5": ball + place_5,
    "period at place 5": period + place_5,
    "ball at place 0": ball + place_0,
}
show.table(
    [[name, x.tolist(), x @ reader] for name, x in cases.items()],
    ["what stands there", "token + place", "reader's dot product"],
    title="One reader finds a feature, whoever wrote it",
    note="The second comes from the token, the third from the place: the reader need not know.",
)

# %% [markdown] key="adding-cost"
# The price is that the two *can* get into each other's way. Whether they do is the model's choice, and can be
# measured: do the rows of $W_\text{pos}$ fill the same directions as the rows of $W_E$? Below, the directions are
# sorted by how much they say about the place, and the curves add up how much of each table lies in them.

# %% key="shared-room" tags=["demo"]
unused_row = model.W_E[model.to_single_token(" quantum")]  # in the pocket model: of all tokens that it never met
met = (model.W_E != unused_row).any(-1)  # [d_vocab]
_, _, along = torch.linalg.svd(model.W_pos - model.W_pos.mean(0))  # rows: directions, the main one first


def share_along(table):
    """How much of a table's variation lies in the first 1, 2, … of these directions: [row d_model] → [d_model]."""
    energy = ((table - table.mean(0)) @ along.T).square().sum(0)  # [d_model]
    return energy.cumsum(0) / energy.sum()


of_places, of_tokens = share_along(model.W_pos), share_along(model.W_E[met])
shown = torch.arange(0, d_model, max(1, d_model // 32))  # every eighth direction in the pocket model
enough = int((of_places < 0.9).sum()) + 1  # the number of directions with 90% of the places' variation

# %% key="shared-room-figure" tags=["demo"]
show.lines(
    shown + 1,
    {"places": of_places[shown], "tokens": of_tokens[shown], "no preference": (shown + 1) / d_model},
    title="Where in the stream do places and tokens live?",
    note=f"The {enough} directions with 90% of what differs between places hold {of_tokens[enough - 1]:.0%} of what "
    f"differs between tokens. Without preference it would be {enough / d_model:.0%}.",
    x_name="number of directions, those that say most about the place first",
    y_name="share of the table's variation",
)

# %% [markdown] key="shared-room-text" covers="N19"
# Where the tokens' curve stays under "no preference", training has set aside room for the places, of the size that it
# found useful. That is the concatenation one could have designed, only that nobody had to choose its width.

# %% [markdown] key="initial-residual" covers="N19"
# ### Exercise 03.3 · What the first layer reads
#
# *difficulty 1 · 5 minutes · stuck?* `hint("03.3")`
#
# $$x_i = e_i + p_i$$
#
# $e_i$ is the token's vector, $p_i$ the place's, $x_i$ what the first layer reads at position $i$. Use what you
# wrote; if you skipped one, `use(embed)` is the book's.


# %% key="initial-residual-answer" exercise="03.3" covers="N19"
def initial_residual(
    tokens: Int[Tensor, "batch pos"],
    W_E: Float[Tensor, "d_vocab d_model"],
    W_pos: Float[Tensor, "n_ctx d_model"],
) -> Float[Tensor, "batch pos d_model"]:
    """Each token's vector plus the vector of its place.

    >>> W_E, W_pos = tensor([[10.0, 0.0], [0.0, 20.0]]), tensor([[1.0, 1.0], [2.0, 2.0]])
    >>> initial_residual(tensor([[1, 0]]), W_E, W_pos).tolist()
    [[[1.0, 21.0], [12.0, 2.0]]]
    """
    # SOLUTION
    # Same shape on both sides: number is added to number.
    return embed(tokens, W_E) + pos_embed(tokens, W_pos)  # [batch pos d_model]
    # END


# %% key="initial-residual-grade"
grade(initial_residual)

# %% [markdown] key="initial-residual-why" solution="03.3"
# #### Why it works
#
# Both parts are [batch pos d_model]. Their sum is all that the model ever learns about the text directly; everything
# else in the stream is computed from it.
#
# **A second way** shows that adding two lookups is *one* linear map: stack the tables, give each position a vector
# with two ones in it, one for the token and one for the place, and multiply (the next cell). Side by side, then one
# matrix: concatenation was there all along.
#
# **What the classic mistake looks like.** Averaging instead of adding halves everything. The first thing a layer does
# is to normalize, so the model would hardly notice at first, but every later sum would have another mixture.

# %% key="initial-residual-second" solution="03.3"
d_vocab, n_ctx = len(model.W_E), len(model.W_pos)
both_tables = torch.cat([model.W_E, model.W_pos])  # [d_vocab+n_ctx d_model]
two_hot = torch.zeros(tom_gave.shape[1], d_vocab + n_ctx)  # [pos d_vocab+n_ctx]
for i, token in enumerate(tom_gave[0]):
    two_hot[i, token] = two_hot[i, d_vocab + i] = 1
torch.allclose(two_hot @ both_tables, initial_residual(tom_gave, model.W_E, model.W_pos)[0], atol=1e-5)

# %% [markdown] key="three-grids-text"
# **Use it** on a text in which words come twice. Left, only the tokens: the two *cat* are the same vector. Middle,
# only the places. Right, the sum: it is like both.

# %% key="three-grids" tags=["demo"]
cats = model.to_tokens("The cat saw the dog and the cat saw the bird", prepend_bos=False)
parts = [
    use(embed)(cats, model.W_E),
    use(pos_embed)(cats, model.W_pos),
    use(initial_residual)(cats, model.W_E, model.W_pos),
]
grids = torch.cat([torch.nn.functional.normalize(x, dim=-1) for x in parts])  # [panel pos d_model]
grids = grids @ grids.mT  # [panel pos pos], cosines

show.matrices(
    grids,
    ["tokens", "places", "tokens + places"],
    rows=model.to_str_tokens(cats[0], prepend_bos=False),
    columns=model.to_str_tokens(cats[0], prepend_bos=False),
    title="Which positions look alike, before any layer",
    note=f"The two cats: {grids[0, 1, 7]:.2f} by token alone, {grids[2, 1, 7]:.2f} in the sum.",
    row_name="position",
    column_name="position",
    value_name="cosine",
)

# %% [markdown] key="stream" covers="N11" terms="residual stream, residual connection"
# ## 5 · The residual stream
#
# From here on the model has one rule. A layer *reads* the vector $x$ at each position and *adds* what it has
# computed:
#
# $$x \leftarrow x + \text{attention}(\text{norm}(x)) \qquad x \leftarrow x + \text{MLP}(\text{norm}(x))$$
#
# Reading and adding on, instead of replacing, is called a **residual connection**. The vector that is carried along,
# one of d_model numbers at each position, is the **residual stream**. It starts as token + place, and every layer
# finds in it the sum of all that was written before:

# %% key="stream-plan" tags=["demo"]
plan = []
for i in range(n_layers):
    plan.append((f"attention {i}", "reads the stream, looks back, adds"))
    plan.append((f"MLP {i}", "reads the stream, adds"))
show.stream(
    plan,
    start=("embeddings", "token + place: x₀"),
    end=("unembedding", "reads the whole sum"),
    title=f"The residual stream through {n_layers} layers",
    note="Every part reads from the one line, and all that it can do to the line is to add.",
)

# %% [markdown] key="stream-names" covers="N11"
# Each point on the line has a name in the model. Its shape is always [batch pos d_model].
#
# | in papers | in the model | what is in it |
# |---|---|---|
# | $x_0$ | `blocks.0.hook_resid_pre` | token + place |
# | | `blocks.0.hook_resid_mid` | … + attention 0 |
# | $x_1$ | `blocks.0.hook_resid_post` = `blocks.1.hook_resid_pre` | … + attention 0 + MLP 0 |
# | $x_{\ell+1}$ | `blocks.ℓ.hook_resid_post` | everything up to and with layer ℓ |
#
# What the parts add is kept as well: `hook_embed`, `hook_pos_embed`, `blocks.ℓ.hook_attn_out`,
# `blocks.ℓ.hook_mlp_out`.

# %% [markdown] key="residual-after" covers="N11"
# ### Exercise 03.4 · The stream as a sum
#
# *difficulty 2 · 10 minutes · stuck?* `hint("03.4")`
#
# $$x_{\ell+1} = e + p + \sum_{k=0}^{\ell} \left( a_k + m_k \right)$$
#
# $e$ and $p$ are the token and position vectors; $a_k$ and $m_k$ are what attention and MLP of layer $k$ have added;
# $\ell$ is `layer`, counted from 0. `attn_outs` and `mlp_outs` hold all layers of the model, also those after
# $\ell$, whose turn has not come.


# %% key="residual-after-answer" exercise="03.4" covers="N11"
def residual_after(
    layer: int,
    embed: Float[Tensor, "batch pos d_model"],
    pos_embed: Float[Tensor, "batch pos d_model"],
    attn_outs: Float[Tensor, "layer batch pos d_model"],
    mlp_outs: Float[Tensor, "layer batch pos d_model"],
) -> Float[Tensor, "batch pos d_model"]:
    """The stream after this layer: all that has been added to it so far.

    >>> one = torch.ones(1, 1, 1)  # one text, one position, d_model = 1
    >>> attn_outs = torch.stack([10 * one, 20 * one])  # of layers 0 and 1
    >>> mlp_outs = torch.stack([100 * one, 200 * one])
    >>> residual_after(0, one, 2 * one, attn_outs, mlp_outs).item()
    113.0
    """
    # SOLUTION
    so_far = slice(layer + 1)  # layers 0 … layer, this one included
    written = attn_outs[so_far].sum(0) + mlp_outs[so_far].sum(0)  # [batch pos d_model]
    return embed + pos_embed + written
    # END


# %% key="residual-after-grade"
grade(residual_after)

# %% [markdown] key="residual-after-why" solution="03.4"
# #### Why it works
#
# There is nothing else in the stream. No factor, no norm on the line itself: LayerNorm stands on the way *into* each
# part and not on the stream. So the sum is exact, up to rounding.
#
# **A second way** is to go through it as the model does, adding on (the next cell).
#
# **What the classic mistake looks like.** `attn_outs[:layer]` stops one layer short: the result is the stream
# *before* this layer, `hook_resid_pre`, and for layer 0 it is the bare embeddings.


# %% key="residual-after-second" solution="03.4"
def as_the_model_goes(layer, embed, pos_embed, attn_outs, mlp_outs):
    stream = embed + pos_embed
    for k in range(layer + 1):
        stream = stream + attn_outs[k]
        stream = stream + mlp_outs[k]
    return stream


from utils.grading import check

check("03.4", as_the_model_goes)

# %% [markdown] key="summed-back-text"
# **Use it** on a text with the name in it, at each layer.

# %% key="summed-back" tags=["demo"]
text = "Everyone at the river knows Gordon Reed."
tokens = model.to_str_tokens(text)
_, cache = model.run_with_cache(text)
attn_outs = torch.stack([cache[f"blocks.{i}.hook_attn_out"] for i in range(n_layers)])
mlp_outs = torch.stack([cache[f"blocks.{i}.hook_mlp_out"] for i in range(n_layers)])  # [layer batch pos d_model]

rows = []
for i in range(n_layers):
    mine = use(residual_after)(i, cache["hook_embed"], cache["hook_pos_embed"], attn_outs, mlp_outs)
    models = cache[f"blocks.{i}.hook_resid_post"]
    rows.append([f"layer {i}", 2 + 2 * (i + 1), f"{difference(models, mine) < 1e-6}"])
show.table(
    rows,
    ["after", "vectors added", "equals hook_resid_post"],
    title="The stream, added up from its parts",
    note="Equal means: to less than a millionth of its length, which is rounding.",
)

# %% [markdown] key="memory-and-bus" covers="N11"
# ## 6 · Memory and bus
#
# Two pictures help to think about the stream.
#
# It is a **memory**. What layer 0 writes stays there until the end, unless a later layer writes the exact opposite.
# (Some do: in chapter 06 you will meet neurons that erase.) The memory is small: d_model numbers at each position.
#
# It is a **bus**, the one line in a machine that every device is connected to. Layers have no wires between them.
# Whoever writes puts something on the line, and whoever reads sees all that was put there. What makes two layers a
# pair is only that the one reads the directions which the other has written.

# %% [markdown] key="predict-bus" tags=["predict"]
# **Predict.** For each reading part, one writer's vector is subtracted from what the reader reads, and from nothing
# else. How much does the reader's output change? Which writer will be missed most by the readers of all later layers
# together: the token's embedding, the place's, an attention layer or an MLP? (Which one, early or late?)

# %% key="guess-bus" tags=["predict"]
my_guess = "?"  # token, place, attention 0, MLP 0, attention 1, …

# %% key="bus" tags=["demo"]
writers = ["token", "place"] + [f"{part} {i}" for i in range(n_layers) for part in ("attention", "MLP")]


def written(cache):
    """What each part has added, in the order of `writers`: [writer pos d_model]."""
    parts = [cache["hook_embed"], cache["hook_pos_embed"]]
    for i in range(n_layers):
        parts += [cache[f"blocks.{i}.hook_attn_out"], cache[f"blocks.{i}.hook_mlp_out"]]
    return torch.cat(parts)


def output(reader, stream):
    """What part number `reader` of the layers makes of a stream [batch pos d_model]."""
    block = model.blocks[reader // 2]
    if reader % 2:
        return block.mlp(block.ln2(stream))
    return block.attn(block.ln1(stream))[0]


# %% key="bus-measured" tags=["demo"]
parts = written(cache)  # [writer pos d_model]
missed = torch.full((len(writers), 2 * n_layers), torch.nan)  # [writer reader]
for reader in range(2 * n_layers):
    earlier = parts[: reader + 2]  # what has been written when this part reads
    stream = earlier.sum(0)  # [pos d_model]
    whole = output(reader, stream[None])  # [1 pos d_model]
    less = output(reader, stream - earlier)  # without one writer each: [writer pos d_model]
    change = (less - whole).norm(dim=-1) / whole.norm(dim=-1)  # [writer pos]
    missed[: reader + 2, reader] = change[:, 1:].mean(-1)  # BOS aside

most = writers[missed.nansum(1).argmax()]  # the changes in all its readers together

# %% key="bus-figure" tags=["demo"]
show.matrix(
    missed.round(decimals=2),
    rows=writers,
    columns=writers[2:],
    title="Who reads what on the bus?",
    note=f"How much a reader's output changes when it does not see one writer. Missed most: {most}. Empty: the "
    "writer comes later.",
    row_name="writer",
    column_name="reader",
    value_name="relative change",
    diverging=False,
    numbers_in_cells=True,
)

# %% [markdown] key="bus-text" covers="N11"
# Read along a row: how long a note stays in use. Each part reads only what was written earlier, so half of the grid
# is empty. Where a row stays strong to its end, a late layer reads what an early one left there, with no wire between
# them. Where a row fades, its content is not gone: it may be drowned by longer vectors, or copied into a new note.

# %% [markdown] key="unembedding" covers="N10" terms="logit"
# ## 7 · From a vector to a prediction
#
# After the last layer the stream is normalized once more (the *final* LayerNorm) and multiplied by the unembedding
# $W_U$. Out comes one number for each token of the vocabulary, its **logit**: a score, of any size and sign. A
# softmax makes probabilities of them, as in chapter 01.

# %% [markdown] key="unembed" covers="N10"
# ### Exercise 03.5 · Unembed
#
# *difficulty 1 · 5 minutes · stuck?* `hint("03.5")`
#
# $$\text{logit}_{i,t} = x_i \cdot \left(\text{column } t \text{ of } W_U\right) + b_{U,t}$$
#
# $x_i$ is the normalized stream at position $i$; $W_U$ is [d_model d_vocab]; $b_U$ has a number for each token (GPT-2
# has none: there it is 0). No softmax: what comes out are logits.


# %% key="unembed-answer" exercise="03.5" covers="N10"
def unembed(
    resid: Float[Tensor, "batch pos d_model"],
    W_U: Float[Tensor, "d_model d_vocab"],
    b_U: Float[Tensor, "d_vocab"],
) -> Float[Tensor, "batch pos d_vocab"]:
    """A logit for each token of the vocabulary, at each position.

    >>> W_U = tensor([[1.0, 0.0, 2.0], [0.0, 1.0, 2.0]])  # d_model = 2, three tokens
    >>> unembed(tensor([[[3.0, 4.0]]]), W_U, tensor([0.0, 0.5, 0.0])).tolist()
    [[[3.0, 4.5, 14.0]]]
    """
    # SOLUTION
    # The last axis of resid meets the first of W_U, and is summed.
    return resid @ W_U + b_U  # [batch pos d_vocab]
    # END


# %% key="unembed-grade"
grade(unembed)

# %% [markdown] key="unembed-why" solution="03.5"
# #### Why it works
#
# A matrix product compares the vector with every column at once: d_vocab dot products. A token's logit is large where
# the stream points along its column *and* is long.
#
# **A second way** names the axes: `einsum(resid, W_U, "batch pos d_model, d_model d_vocab -> batch pos d_vocab")`.
#
# **What the classic mistake looks like.** With a softmax inside, every number lies between 0 and 1 and the rows sum
# to 1; the likeliest token is still the same, so a check of the top token alone would not notice. The loss of chapter
# 07 would take the softmax a second time.

# %% key="unembed-second" solution="03.5"
axes = "batch pos d_model, d_model d_vocab -> batch pos d_vocab"
normalized = cache["ln_final.hook_out"]  # [batch pos d_model]
by_name = einsum(normalized, model.W_U, axes) + model.b_U
torch.allclose(by_name, unembed(normalized, model.W_U, model.b_U), atol=1e-3)

# %% [markdown] key="unembedded-text"
# **Use it**: after each token of the text, what does your unembedding say comes next?

# %% key="unembedded" tags=["demo"]
logits = use(unembed)(cache["ln_final.hook_out"], model.W_U, model.b_U)  # [batch pos d_vocab]
chances = logits[0].softmax(-1)  # [pos d_vocab]
best = chances.max(-1)
rows = [
    [token, model.to_string(guess), f"{chance:.2f}"]
    for token, guess, chance in zip(tokens, best.indices, best.values, strict=True)
]
show.table(
    rows,
    ["after", "likeliest next", "probability"],
    title="One prediction at every position",
    note="The number is high where the text so far leaves little choice.",
)

# %% [markdown] key="lens" covers="N11" terms="logit lens"
# ## 8 · Read the stream early
#
# The unembedding expects the stream of the last layer. But the stream has the same shape everywhere, and each layer
# only *adds* to it. So nothing forbids to read it after layer 1 as if that were the last: final norm, unembedding,
# done. This is the **logit lens** (nostalgebraist 2020). It shows what the model would say if it had to stop thinking
# there.

# %% [markdown] key="logit-lens" covers="N11"
# ### Exercise 03.6 · Logit lens
#
# *difficulty 3 · 15 minutes · stuck?* `hint("03.6")`
#
# $$
# \text{lens}(x) = \left( \frac{x - \operatorname{mean}(x)}{\sqrt{\operatorname{var}(x) + \varepsilon}}\, w + b
# \right) W_U + b_U
# $$
#
# $x$ is the stream at one position, after any layer; mean and variance run over its d_model numbers (the variance
# divides by d_model); $w$ and $b$ are the final norm's gain and bias, `ln_w` and `ln_b`, multiplied and added number
# by number; $\varepsilon$ is `eps`. Chapter 04 explains the norm. `torch.nn.functional.layer_norm` may do it here.
# If you skipped 03.5, `use(unembed)` is the book's.


# %% key="logit-lens-answer" exercise="03.6" covers="N11"
def logit_lens(
    resid: Float[Tensor, "batch pos d_model"],
    ln_w: Float[Tensor, "d_model"],
    ln_b: Float[Tensor, "d_model"],
    eps: float,
    W_U: Float[Tensor, "d_model d_vocab"],
    b_U: Float[Tensor, "d_vocab"],
) -> Float[Tensor, "batch pos d_vocab"]:
    """The logits that this stream would give if it were the last layer's.

    >>> resid = tensor([[[3.0, 1.0]]])  # mean 2, variance 1: normalized it is (1, -1)
    >>> ln_w, ln_b = tensor([2.0, 2.0]), tensor([0.0, 1.0])  # so (2, -1) after gain and bias
    >>> logit_lens(resid, ln_w, ln_b, 0.0, torch.eye(2), torch.zeros(2)).tolist()
    [[[2.0, -1.0]]]
    """
    # SOLUTION
    # The shape names the axes to normalize over: the last one, d_model.
    normed = torch.nn.functional.layer_norm(resid, ln_w.shape, ln_w, ln_b, eps)
    return unembed(normed, W_U, b_U)  # [batch pos d_vocab]
    # END


# %% key="logit-lens-grade"
grade(logit_lens)

# %% [markdown] key="logit-lens-why" solution="03.6"
# #### Why it works
#
# The last layer's stream goes exactly this way, so the lens on the last layer is the model's output. On an earlier
# layer it is a question that the model was never trained to answer; that the answer makes sense is a finding.
#
# **A second way** writes the norm out (the next cell).
#
# **What the classic mistake looks like.** Without the norm the logits have the size of the raw stream. Early layers,
# whose stream is short, look unsure, and late ones look far too sure. With the norm all layers are read at the same
# scale.


# %% key="logit-lens-second" solution="03.6"
def written_out(resid, ln_w, ln_b, eps, W_U, b_U):
    x = resid - resid.mean(-1, keepdim=True)
    x = x / (x.square().mean(-1, keepdim=True) + eps).sqrt()  # the mean square divides by d_model
    return (x * ln_w + ln_b) @ W_U + b_U


check("03.6", written_out)

# %% [markdown] key="predict-lens" tags=["predict"]
# **Predict.** After "knows Gordon" the model is to say "Reed". How far must the stream have come, until the lens
# finds "Reed" the likeliest token: is it there at the embeddings already, after the first layer, or only after the
# last?

# %% key="guess-lens" tags=["predict"]
my_guess = "?"  # embeddings, layer 0, layer 1, …

# %% key="lens-read" tags=["demo"]
read_early = use(logit_lens)
final = model.ln_final.w, model.ln_final.b, model.cfg.eps
stages = ["embeddings"] + [f"layer {i}" for i in range(n_layers)]


def through_lens(cache):
    """The probability of each next token at each stage: [stage pos d_vocab]."""
    streams = [cache["blocks.0.hook_resid_pre"]]
    streams += [cache[f"blocks.{i}.hook_resid_post"] for i in range(n_layers)]
    logits = read_early(torch.cat(streams), *final, model.W_U, model.b_U)
    return logits.masked_fill(~met, -torch.inf).softmax(-1)  # only tokens that the model has met


seen = through_lens(cache)  # [stage pos d_vocab]
top = seen.topk(5)
top_tokens = [[[model.to_string(t) for t in cell] for cell in stage] for stage in top.indices]

# %% key="lens-figure" tags=["demo"]
name_at = tokens.index(first)  # the position of the first name
right = top.indices[:, name_at, 0] == pair[1]  # [stage]
found = [stage for stage, hit in zip(stages, right, strict=True) if hit]
show.lens(
    top_tokens,
    top.values.round(decimals=3),
    tokens=tokens,
    layers=stages,
    title="What the stream would predict, layer by layer",
    note=f"After {first.strip()} the lens reads {last.strip()} at: {', '.join(found) or 'no stage'}. "
    "Point at a cell for the five likeliest.",
)

# %% [markdown] key="lens-text" covers="N11"
# Read a column from the bottom up. At the bottom stand the embeddings, and where they say anything they say *the
# token itself*: its own vector is most like itself. This is the first hint at what is wrong with the direct path.
# Further up come words that could follow, first rough, then fit for this text; the top row is what the model says.
#
# Does this hold beyond one sentence? The next cell reads five texts of the model's world and asks how probable the
# true next token is, at each stage. The loss is $-\ln$ of its probability: 0 would be always right.

# %% key="lens-loss" tags=["demo"]
TEXTS = [
    "Once there was a brave boy named Tom. He had a red ball.",
    "Anna had a white kitten. One morning it climbed a tall tree and was stuck.",
    "Today Winston Shaw came to the river. The forest belongs to Edgar Wells.",
    "Tom and Anna went to the market. Tom gave a ball to Anna.",
    '"Come down!" called Lily, but the kitten was too afraid to move.',
]
losses, agrees = [], []
for one in TEXTS:
    ids, (_, one_cache) = model.to_tokens(one), model.run_with_cache(one)
    guessed = through_lens(one_cache)[:, :-1]  # [stage pos-1 d_vocab]
    truth, at = ids[0, 1:], torch.arange(ids.shape[1] - 1)  # [pos-1]
    of_truth = guessed[:, at, truth][:, met[truth]]  # [stage pos-1], tokens that the model has met
    losses.append(-of_truth.clamp(min=1e-30).log())
    agrees.append((guessed.argmax(-1) == guessed[-1].argmax(-1)).float())
loss, agree = torch.cat(losses, 1).mean(1), torch.cat(agrees, 1).mean(1)  # [stage]

# %% key="lens-loss-figure" tags=["demo"]
falls = (loss.diff() < 0).sum()
show.lines(
    stages,
    {"mean loss": loss},
    title="How wrong is the stream, read early?",
    note=f"The loss falls at {falls} of {n_layers} layers. At the embeddings the likeliest token is the final one at "
    f"{agree[0]:.0%} of the positions, after layer 0 at {agree[1]:.0%}, a layer before the end at {agree[-2]:.0%}.",
    x_name="read after",
    y_name="mean loss, nats a token",
    log_y=True,
)

# %% [markdown] key="lens-limits" covers="N11"
# So the stream, read early, already predicts sensibly, and later layers improve the draft. Do not take a bad early
# reading for ignorance, though. A layer may hold what it knows in directions that later layers read and $W_U$ does
# not: the lens sees only what is ready to be said. On some models it sees little; Belrose et al. (2023) therefore
# train a small map for each layer first, and call it the tuned lens.

# %% [markdown] key="tied" covers="N17" terms="tied embeddings"
# ## 9 · One table for both ends
#
# $W_E$ has a vector for each token, and $W_U$ has one too. GPT-2 uses the same: $W_U = W_E^\top$. Tables shared in
# this way are called **tied embeddings** (Press and Wolf 2017; Inan, Khosravi and Socher 2017). Column $t$ of $W_U$
# is row $t$ of $W_E$, and a logit says how well the stream matches the token's own vector.

# %% [markdown] key="tied-unembed" covers="N17"
# ### Exercise 03.7 · Unembed with the embedding
#
# *difficulty 1 · 5 minutes · stuck?* `hint("03.7")`
#
# $$\text{logit}_{i,t} = x_i \cdot \left(\text{row } t \text{ of } W_E\right)$$
#
# $x_i$ is the stream after the final norm; $W_E$ is [d_vocab d_model]. There is no bias. Compared with the model's
# own logits.


# %% key="tied-unembed-answer" exercise="03.7" covers="N17"
def tied_unembed(
    resid: Float[Tensor, "batch pos d_model"],
    W_E: Float[Tensor, "d_vocab d_model"],
) -> Float[Tensor, "batch pos d_vocab"]:
    """Logits from the table that embeds.

    >>> W_E = tensor([[1.0, 0.0], [0.0, 1.0], [2.0, 2.0]])  # three tokens, d_model = 2
    >>> tied_unembed(tensor([[[3.0, 4.0]]]), W_E).tolist()
    [[[3.0, 4.0, 14.0]]]
    """
    # SOLUTION
    # d_model must meet d_model, so the table is turned: [d_model d_vocab].
    return resid @ W_E.T  # [batch pos d_vocab]
    # END


# %% key="tied-unembed-grade"
grade(tied_unembed)

# %% [markdown] key="tied-unembed-why" solution="03.7"
# #### Why it works
#
# Row $t$ of $W_E$ is column $t$ of its transpose, so each logit is the dot product with the token's own vector.
#
# **A second way** is `torch.nn.functional.linear(resid, W_E)`: torch keeps the weight of a linear layer as
# [out in], which for an unembedding is exactly the shape of an embedding. GPT-2's own code ties them in this way.
#
# **What the classic mistake looks like.** Unembedding is not the *inverse* of embedding. With the pseudo-inverse the
# embeddings alone would give back the token exactly, which is the last thing a language model should predict.

# %% key="tied-unembed-second" solution="03.7"
as_linear = torch.nn.functional.linear(normalized, model.W_E)
torch.allclose(as_linear, tied_unembed(normalized, model.W_E), atol=1e-3)

# %% [markdown] key="saved-text" covers="N17"
# **What it saves.** Each of the two tables has d_vocab · d_model numbers, and GPT-2's vocabulary has 50,257 tokens. A
# block has about $12\,d_\text{model}^2$. In a model as small as this one a single table weighs more than all layers.

# %% key="saved" tags=["demo"]
SHAPES = {  # layers, d_model, n_ctx
    "this model": (n_layers, d_model, model.cfg.n_ctx),
    "GPT-2 small": (12, 768, 1024),
    "GPT-2 medium": (24, 1024, 1024),
    "GPT-2 large": (36, 1280, 1024),
    "GPT-2 XL": (48, 1600, 1024),
}


def counts(layers, width, places):
    """Millions of parameters: of one token table, of all with tied tables, of all with two tables."""
    table = model.cfg.d_vocab * width
    block = 12 * width**2 + 13 * width  # attention, MLP and two norms, with biases
    tied = table + places * width + layers * block + 2 * width  # the last: the final norm
    return table / 1e6, tied / 1e6, (tied + table) / 1e6


rows = [[name, *(f"{n:.1f}" for n in counts(*shape))] for name, shape in SHAPES.items()]
show.table(
    [[*row, f"{float(row[1]) / float(row[3]):.0%}"] for row in rows],
    ["model", "one table", "all, tied", "all, two tables", "saved"],
    title="Millions of parameters",
    note="The smaller the model, the more tying saves.",
)

# %% [markdown] key="direct-path" covers="N17" terms="direct path, bigram"
# ## 10 · The path past every layer
#
# **What it costs.** The stream is a sum, and one of its terms is the bare token vector. It runs past all layers into
# the unembedding: the **direct path** (Elhage et al. 2021). What it adds to the logits depends on the present token
# alone. So it can hold **bigrams**, statements of the form "after *Gordon* comes *Reed*", and nothing else:
# a table with a row for the token that is read and a column for the token that follows.

# %% [markdown] key="bigram-logits" covers="N17"
# ### Exercise 03.8 · Bigram logits
#
# *difficulty 2 · 10 minutes · stuck?* `hint("03.8")`
#
# $$B_{ab} = \left(W_E\, W_U\right)_{ab} = \left(\text{row } a \text{ of } W_E\right) \cdot \left(\text{column } b
# \text{ of } W_U\right)$$
#
# Row $a$: the token that is read. Column $b$: the token whose logit it is. Only for the tokens in `ids`, in their
# order: the whole table would have d_vocab² cells. Norm and biases are left out. The two tables need not be tied.


# %% key="bigram-logits-answer" exercise="03.8" covers="N17"
def bigram_logits(
    W_E: Float[Tensor, "d_vocab d_model"],
    W_U: Float[Tensor, "d_model d_vocab"],
    ids: Int[Tensor, "ids"],
) -> Float[Tensor, "ids ids"]:
    """What the direct path says about token b (column) after token a (row).

    >>> W_E = tensor([[1.0, 0.0], [0.0, 1.0], [9.0, 9.0]])
    >>> W_U = tensor([[0.0, 5.0, 9.0], [2.0, 0.0, 9.0]])  # not tied
    >>> bigram_logits(W_E, W_U, tensor([0, 1])).tolist()  # token 1 follows 0 rather than 0 follows 1
    [[0.0, 5.0], [2.0, 0.0]]
    """
    # SOLUTION
    # Choose first, multiply afterwards: [ids d_model] @ [d_model ids] → [ids ids]
    return W_E[ids] @ W_U[:, ids]
    # END


# %% key="bigram-logits-grade"
grade(bigram_logits)

# %% [markdown] key="bigram-logits-why" solution="03.8"
# #### Why it works
#
# Row $a$ of a product depends on row $a$ of the left factor only, column $b$ on column $b$ of the right one. So rows
# and columns can be chosen before the product, and two and a half billion cells are never made.
#
# **A second way** is to multiply everything and choose afterwards, which is the same table and needs ten gigabytes.
#
# **What the classic mistake looks like.** `W_E[ids] @ W_E[ids].T` is right for GPT-2 and wrong in general: it is
# symmetric for every model. Another: transposed. On a tied model that cannot even be seen, which is the point of this
# section.

# %% key="bigram-logits-second" solution="03.8"
ids = pair
slices = [[model.W_E[a] @ model.W_U[:, b] for b in ids] for a in ids]  # cell by cell
torch.allclose(tensor(slices), bigram_logits(model.W_E, model.W_U, ids), atol=1e-4)

# %% [markdown] key="predict-direct" tags=["predict"]
# **Predict.** The table below has a row for each half of four full names. The two tables of the model are tied. Which
# column will be the largest in the row of "Gordon": Reed, another last name, another first name, or Gordon?

# %% key="guess-direct" tags=["predict"]
my_guess = "?"  # Reed, another last name, another first name, Gordon

# %% key="direct" tags=["demo"]
NAMES = ["Gordon Reed", "Winston Shaw", "Edgar Wells", "Virginia Knight"]
halves = [name.split()[side] for side in (0, 1) for name in NAMES]  # four first names, four last
half_ids = tensor([model.to_single_token(f" {half}") for half in halves])  # [ids]
direct = use(bigram_logits)(model.W_E, model.W_U, half_ids)  # [ids ids]

unequal = (direct - direct.T).abs().max().item()
itself = (direct.argmax(-1) == torch.arange(len(halves))).sum()
show.matrix(
    direct.round(decimals=2),
    rows=halves,
    columns=halves,
    title="The direct path: what the tables alone say about four full names",
    note=f"Largest in its row is the token itself in {itself} of {len(halves)} rows. "
    f"The table is {'' if unequal < 1e-4 else 'not '}symmetric.",
    row_name="token read",
    column_name="token scored",
    value_name="logit",
)

# %% [markdown] key="why-direct" covers="N17"
# <details><summary>What you see, and why</summary>
#
# Gordon; the note counts in how many rows it is so. A tied direct path is $B = W_E W_E^\top$, and that has two
# consequences, whatever training does.
#
# - **It is symmetric.** $B_{ab} = e_a \cdot e_b = B_{ba}$. To raise *Reed after Gordon* is to raise *Gordon after
#   Reed*.
# - **It likes to repeat.** $|e_a - e_b|^2 \ge 0$ means $B_{aa} + B_{bb} \ge 2 B_{ab}$: of two tokens at least one
#   scores itself at least as high as the other one. But words hardly ever come twice in a row.
#
# </details>
#
# Language is not symmetric. Obama follows Barack and not the reverse. A direct path with *two* tables could say so;
# with one table it cannot, at any width. How bad is that? Take a world that consists of these eight tokens: after a
# first name comes its last name, after a last name any first name. Train three models on it that have no layers, or
# next to none.

# %% key="small-world" tags=["demo"]
n_halves = len(halves)
truth = torch.zeros(n_halves, n_halves)  # [read next], probabilities
for i in range(4):
    truth[i, 4 + i] = 1.0  # a first name: its last name
    truth[4 + i, :4] = 0.25  # a last name: any of the first names
least = -(truth * truth.clamp(min=1e-9).log()).sum(-1).mean().item()  # what no model can go below


def train(logits_of, weights, steps=150):
    """The loss at each step, and the probabilities learned: [read next]."""
    optimizer = torch.optim.Adam([w.requires_grad_() for w in weights], lr=0.05)
    losses = []
    for _ in range(steps):
        loss = -(truth * logits_of(*weights).log_softmax(-1)).sum(-1).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, logits_of(*weights).softmax(-1).detach()


# %% key="small-world-trained" tags=["demo"]
def new_table():
    return 0.3 * torch.randn(n_halves, 16, generator=rng)  # [d_vocab d_model]


trained = {
    "tied": train(lambda E: E @ E.T, [new_table()]),
    "two tables": train(lambda E, U: E @ U.T, [new_table(), new_table()]),
    "tied, one layer M between": train(lambda E, M: E @ M @ E.T, [new_table(), torch.eye(16)]),
}
tied_chances, two = trained["tied"][1], trained["two tables"][1]
show.lines(
    torch.arange(1, 151, 5),
    {name: losses[::5] for name, (losses, _) in trained.items()},
    title="Three models of a world of eight tokens",
    note=f"Tied, P(Reed | Gordon) = {tied_chances[0, 4]:.2f} and P(Gordon | Reed) = {tied_chances[4, 0]:.2f}. "
    f"With two tables {two[0, 4]:.2f} and {two[4, 0]:.2f}.",
    x_name="training step",
    y_name="loss, nats a token",
    levels={"least possible": least},
)

# %% [markdown] key="small-world-text" covers="N17"
# The tied model is stuck. The logit of *Reed after Gordon* is the logit of *Gordon after Reed*, and each token's
# logit after itself comes along with them. Two tables repair that, at the price of a second table. But so does **one
# matrix between** the two uses of the same table: where $M$ is not symmetric, $E M E^\top$ need not be. That is the way
# out. A token need not be answered by its own vector. It is enough that some layer *reads* the Gordon direction and
# *writes* the Reed direction.
#
# GPT-2 is tied. Many later models, Pythia and the first Llamas among them, have two tables; many small ones of today
# are tied, because in a small model the table weighs so much.

# %% [markdown] key="norms" covers="N11" terms="L2 norm"
# ## 11 · How long is the stream?
#
# Every part adds. So the stream should grow, and late parts write onto something that is long already. The length of
# a vector is its **L2 norm**, the root of the sum of its squares. In high dimensions vectors mostly stand at right
# angles to one another, and then lengths add like the sides of a right triangle: $\sqrt{3^2 + 4^2} = 5$, not 7.

# %% [markdown] key="norm-by-layer" covers="N11"
# ### Exercise 03.9 · Norm by layer
#
# *difficulty 2 · 5 minutes · stuck?* `hint("03.9")`
#
# $$\text{norm}_\ell = \operatorname{mean}_{\text{batch},\, i} \sqrt{\sum_c x_{\ell,i,c}^2}$$
#
# $x_{\ell,i,c}$ is number $c$ of the stream after layer $\ell$ at position $i$. First the length of each vector, then
# the mean over texts and positions. One number for each layer.


# %% key="norm-by-layer-answer" exercise="03.9" covers="N11"
def norm_by_layer(
    cache_resid: Float[Tensor, "layer batch pos d_model"],
) -> Float[Tensor, "layer"]:
    """The mean length of the stream's vectors, layer by layer.

    >>> stream = tensor([[[[3.0, 4.0], [0.0, -1.0]]]])  # one layer, one text, two positions
    >>> norm_by_layer(stream).tolist()  # lengths 5 and 1
    [3.0]
    """
    # SOLUTION
    lengths = cache_resid.norm(dim=-1)  # [layer batch pos]
    return lengths.mean((1, 2))  # [layer]
    # END


# %% key="norm-by-layer-grade"
grade(norm_by_layer)

# %% [markdown] key="norm-by-layer-why" solution="03.9"
# #### Why it works
#
# `norm(dim=-1)` runs over d_model and leaves one length for each layer, text and position. `mean` takes both other
# axes at once.
#
# **A second way** spells out the square root of the sum of squares.
#
# **What the classic mistake looks like.** The norm of the *mean* vector. Vectors that point different ways cancel in
# the mean, so the number comes out too small, and the more the positions differ the smaller it is. With squares left
# un-rooted the curve has the right shape and the wrong unit.

# %% key="norm-by-layer-second" solution="03.9"
stack = torch.stack([cache[f"blocks.{i}.hook_resid_post"] for i in range(n_layers)])
torch.allclose(stack.square().sum(-1).sqrt().mean((1, 2)), norm_by_layer(stack))

# %% key="examples-run" solution="03.9"
import doctest

doctest.testmod()  # the examples in the docstrings of all nine exercises, run

# %% [markdown] key="predict-norm" tags=["predict"]
# **Predict.** From the embeddings to the last layer: does the stream stay about as long as it was, grow evenly by the
# same amount at each layer, or grow in some other way? And is BOS, the first position, longer or shorter than others?

# %% key="guess-norm" tags=["predict"]
my_guess = "?"  # stays, grows evenly, other; BOS longer or shorter


# %% key="norms-measured" tags=["demo"]
def length(x):
    """A length for people to read."""
    return f"{x:,.0f}" if x >= 100 else f"{x:.3g}"


after_layers = [cache[f"blocks.{i}.hook_resid_post"] for i in range(n_layers)]
streams = torch.stack([cache["blocks.0.hook_resid_pre"], *after_layers])  # [stage batch pos d_model]
norm_of = use(norm_by_layer)
lengths, of_bos = norm_of(streams[:, :, 1:]), norm_of(streams[:, :, :1])  # [stage]

# As long as it would be if all that was written stood at right angles:
squares = written(cache)[:, 1:].square().sum(-1).cumsum(0)  # [writer pos]
right_angles = squares[1::2].sqrt().mean(-1)  # [stage]

# %% key="norms-figure" tags=["demo"]
show.lines(
    stages,
    {"all but BOS": lengths, "BOS": of_bos, "if all at right angles": right_angles},
    title="The length of the stream",
    note=f"From {length(lengths[0])} to {length(lengths[-1])}, {lengths[-1] / right_angles[-1]:.1f} times what right "
    f"angles would give. BOS ends at {length(of_bos[-1])}.",
    x_name="after",
    y_name="mean L2 norm",
    log_y=True,
)

# %% [markdown] key="norms-text"
# Mind the axis: equal steps up are equal *factors*. How much the stream grows differs from model to model. In GPT-2
# XL it grows by about the same factor at every layer (Heimersheim and Turner 2023). So a late layer must write more
# to be heard. What is read stays of one size all the same, because each part reads through a LayerNorm, which takes
# the length out again: chapter 04.
#
# The plan of section 5 once more, with the lengths measured:

# %% key="stream-measured" tags=["demo"]
sizes = written(cache)[:, 1:].norm(dim=-1).mean(-1)  # [writer], BOS aside
plan = []
running = written(cache)[:, 1:].cumsum(0).norm(dim=-1).mean(-1)  # [writer], the stream after each
for name, size, total in zip(writers[2:], sizes[2:], running[2:], strict=True):
    plan.append((name, f"adds {length(size)}, then the stream is {length(total)}"))
loudest = writers[sizes.argmax()]
show.stream(
    plan,
    start=("embeddings", f"token {length(sizes[0])}, place {length(sizes[1])}, sum {length(running[1])}"),
    end=("unembedding", "reads the whole sum, normalized"),
    title="What each part adds to the stream: mean lengths",
    note=f"The longest vector comes from {loudest}. The token's own is {sizes[0] / running[-1]:.1%} of the whole.",
)

# %% [markdown] key="answer" covers="N17"
# ## 12 · Back to the question
#
# The direct path gives *Gordon, Reed* and *Reed, Gordon* the same score. The model does not. The stream is a sum and
# the unembedding is linear, so the logit of "Reed" after "Gordon" can be taken apart exactly: each part's own dot
# product with the Reed column. (The final norm divides by one number at each position. Held at its measured value it
# is linear too; chapter 04 says what that hides. The norm's own bias adds a little as well, which no part wrote.)
#
# For the four names, in both orders: what did each part contribute?


# %% key="shares" tags=["demo"]
def shares(read, scored):
    """What each part adds to the logit of `scored` after `opening` and `read`: [writer]."""
    _, cache = model.run_with_cache(opening + read)
    parts = written(cache)[:, -1]  # [writer d_model], at the last position
    parts = parts - parts.mean(-1, keepdim=True)  # the final norm, with its scale as measured
    parts = parts / cache["ln_final.hook_scale"][0, -1] * model.ln_final.w
    return parts @ model.W_U[:, model.to_single_token(scored)]


both_ways = [[f" {half}" for half in name.split()] for name in NAMES]
forward = torch.stack([shares(a, b) for a, b in both_ways]).mean(0)  # [writer]
backward = torch.stack([shares(b, a) for a, b in both_ways]).mean(0)
gap = forward - backward
maker = writers[gap.argmax()]

# %% key="shares-figure" tags=["demo"]
show.bars(
    [(name, [f, b]) for name, f, b in zip(writers, forward, backward, strict=True)],
    series=["last name after first", "first name after last"],
    title="Who says that Reed follows Gordon, and not the reverse?",
    note=f"Token: {forward[0]:.2f} both ways or nearly ({backward[0]:.2f}). The largest difference is {maker}'s, "
    f"{gap.max():.1f} of {gap.sum():.1f}.",
    x_name="part of the model",
    y_name="share of the logit",
)

# %% [markdown] key="answer-ablate" covers="N17"
# The token's own share is the same in both orders, but for the final norm's scale and centering, which differ a
# little from text to text. All other parts are free to differ. And what happens without them? In each row below some
# parts write nothing (their output is replaced by zeros), and the rest works as before.


# %% key="without-parts" tags=["demo"]
def nothing(out, hook):
    """What a part writes, replaced by zeros."""
    return torch.zeros_like(out)


def silent(*parts):
    """Hooks that silence positions ("pos"), all attention ("attn") or all MLPs ("mlp")."""
    names = {"pos": ["hook_pos_embed"]}
    for part in ("attn", "mlp"):
        names[part] = [f"blocks.{i}.hook_{part}_out" for i in range(n_layers)]
    return [(name, nothing) for part in parts for name in names[part]]


def mean_chance(hooks, forward):
    """P(last name | first) over the four names, or P(first name | last)."""
    chances = []
    for a, b in both_ways:
        read, scored = (a, b) if forward else (b, a)
        logits = model.run_with_hooks(opening + read, fwd_hooks=hooks)
        chances.append(logits[0, -1].softmax(-1)[model.to_single_token(scored)].item())
    return sum(chances) / len(chances)


# %% key="without-parts-table" tags=["demo"]
WITHOUT = {
    "nothing missing": (),
    "no places": ("pos",),
    "no attention": ("attn",),
    "no MLPs": ("mlp",),
    "the direct path alone": ("pos", "attn", "mlp"),
}
chance = {name: [mean_chance(silent(*parts), way) for way in (True, False)] for name, parts in WITHOUT.items()}
worst = min(list(WITHOUT)[1:4], key=lambda name: chance[name][0])  # of the three kinds of part
show.table(
    [[name, *(f"{c:.4f}" for c in both)] for name, both in chance.items()],
    ["the model", "P(last name | first)", "P(first name | last)"],
    title="How much is left of the names?",
    note=f"The whole model: {chance['nothing missing'][0]:.0%} one way, {chance['nothing missing'][1]:.0%} the other. "
    f"Least is left with {worst}.",
)

# %% [markdown] key="answer-text" covers="N17"
# So **where does the order come from?** Not from the tables: they are tied, and know none. It comes from the parts
# between them, which read one direction and write another.
#
# - An **MLP** needs nothing but the token: it can read *Gordon* and write *Reed*, as the matrix $M$ of section 10
#   does, and when it reads *Reed*, write something else.
# - **Attention** can see what stands before: whether the name has just begun or is complete, and what kind of
#   sentence asks for a name.
# - The **place** is added to the token that is read and not to the one that is scored. So even the first sum is no
#   row of the table any more, and layers can use where they are.
# - And the direct path can be **drowned**. The final norm divides by the length of the whole, so a token vector that
#   is short beside what layers write counts for little. The plan above says how short it is here.
#
# Which of them does the most in this model, the bars and the table have told you.
#
# Ablation says what is needed, not what would be enough: a model without a part of itself is one that was never
# trained. Chapter 10 returns to that.

# %% [markdown] key="summary"
# ## Summary
#
# Say it in your own words first, then compare.
#
# - A token is an **id**; its vector is a row of $W_E$. The lookup is a one-hot vector times the table.
# - $W_\text{pos}$ has a row for each place. It is **added**: no border is fixed in advance, and several writers can
#   use one direction.
# - The **residual stream** is the sum of all that was written so far and the input of each layer: a memory that keeps
#   what nobody cancels, and a bus that any later layer reads.
# - $W_U$ makes a **logit** for each token. Read early, through the **logit lens**, the stream predicts already.
# - **Tied** tables save d_vocab · d_model parameters and make the **direct path** symmetric, with a liking for
#   repeats. The layers between must bring the order, and they do.

# %% [markdown] key="self-test"
# ## Test yourself
#
# **1.** A tied model without layers is to learn the circle *red, green, blue, red, …*: after each word the next one
# must have the highest logit. Can it?
#
# <details><summary>Answer</summary>
#
# No. Write $r, g, b$ for the words. After red: $B_{rg} > B_{rb}$. After blue: $B_{br} > B_{bg}$. After green: $B_{gb}
# > B_{gr}$. With $B$ symmetric, $B_{rg} > B_{rb} = B_{br} > B_{bg} = B_{gb} > B_{gr} = B_{rg}$: a number larger than
# itself. No width and no amount of training helps.
#
# </details>
#
# **2.** You add the vector $-m_0$ to the stream after layer 2, where $m_0$ is what MLP 0 wrote. Who notices?
#
# <details><summary>Answer</summary>
#
# Layer 3 and all after it, and the unembedding: they read a sum without $m_0$. Layers 1 and 2 have read it already,
# and what they made of it is still in the stream. So this does not undo MLP 0; it only erases the note.
#
# </details>
#
# **3.** The same vector $c$ is added to every row of $W_\text{pos}$ and subtracted from every row of $W_E$. What
# changes in what the first layer reads? And in the logits, if the tables are tied?
#
# <details><summary>Answer</summary>
#
# Nothing in what the first layer reads: each sum $e_i + p_i$ is what it was. The logits of a position with final
# vector $x$ all change by the same number, $-x \cdot c$, because each row of $W_E$ is also a column of $W_U$. The
# softmax does not see what all logits have in common, so no probability changes.
#
# </details>

# %% [markdown] key="glossary" covers="N21"
# ## Words met
#
# | term | meaning |
# |---|---|
# | embedding, $W_E$ | a row of d_model numbers for each token; takes ids into the stream |
# | unembedding, $W_U$ | a column for each token; takes the stream to logits |
# | one-hot vector | all 0 but a single 1; times a table it picks one row |
# | position embedding, $W_\text{pos}$ | a learned vector for each place, added to the token's |
# | residual connection | a layer's output is added to its input instead of replacing it |
# | residual stream | the running sum at each position, [batch pos d_model] |
# | logit | a score for one token, before the softmax |
# | logit lens | the stream of an early layer, read as if it were the last |
# | tied embeddings | one table at both ends: $W_U = W_E^\top$ |
# | direct path | embedding straight to unembedding, past every layer |
# | bigram | two tokens in a row; a statement about the next token from the present one alone |
# | L2 norm | a vector's length: the root of the sum of its squares |

# %% [markdown] key="read-on"
# ## Where to read on
#
# - Radford et al., *Language Models are Unsupervised Multitask Learners* (2019): GPT-2.
# - Press and Wolf, *Using the Output Embedding to Improve Language Models* (2017), and Inan, Khosravi and Socher,
#   *Tying Word Vectors and Word Classifiers* (2017): tied embeddings.
# - He, Zhang, Ren and Sun, *Deep Residual Learning for Image Recognition* (2016): where residual connections come
#   from.
# - Elhage et al., *A Mathematical Framework for Transformer Circuits* (2021): the stream as a bus, and the direct
#   path as a table of bigrams.
# - Heimersheim and Turner, *Residual stream norms grow exponentially over the forward pass* (2023).
# - nostalgebraist, *interpreting GPT: the logit lens* (2020), and Belrose et al., *Eliciting Latent Predictions from
#   Transformers with the Tuned Lens* (2023).
#
# Next, [chapter 04](04_layernorm.ipynb): LayerNorm, the one thing that stands between the stream and whoever reads it.
