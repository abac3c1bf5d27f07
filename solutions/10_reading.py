# Chapter 10, reading the model: the one source of its notebooks in chapters/ and solutions/ (`book build 10`).
# Whatever is said about a particular head, layer or word is computed in the cell that shows it, verdicts included, so
# that the text stays true on another reference. Numbers in the prose are only those that hold for every model.

# %% [markdown] key="title"
# # Reading the model
#
# *When Anna and Tom went to the store, Tom gave a book to …* You say "Anna". Swap one word, so that Anna gives, and
# you say "Tom". No table of word pairs can do that: both names have been said, and both are names.
#
# The model does it as well. You have built every part of it, and still you cannot say **how** it knows. Which of its
# parts do the work? What would count as evidence? In this chapter you build the five tools that answer such questions,
# and use them one after the other on this one sentence. Each tool shows something that the one before could not, and
# each can mislead in a way of its own.

# %% [markdown] key="what-you-will-do"
# ## What you will be able to do
#
# - **Take apart** a prediction into what each layer and each head has added to it.
# - **Remove** a head, in two ways, and say what the difference between them means.
# - **Move** activations from one run into another, and draw a map of where a fact is held.
# - **Find** the heads of a kind in any model, by a measurement and not by eye.
# - **Cut** single attention edges, and test an explanation on sentences that it was not made from.
#
# **Builds on** 03 (the stream as a sum, the logit lens), 04 (LayerNorm's scale), 05 (patterns, heads, induction).
# **Time**: two sittings. Exercises 10.1 to 10.3 are the first, 10.4 and 10.5 the second.
#
# | exercise | you write | difficulty (1–5) | minutes |
# |---|---|---|---|
# | 10.1 | `logit_attribution`: what each component adds to a prediction | 3 | 15 |
# | 10.2 | `ablate_head`: the model without one head | 3 | 15 |
# | 10.3 | `patch`: one run with a piece of another | 3 | 20 |
# | 10.4 | `find_heads`: all heads of a kind | 4 | 25 |
# | 10.5 | `knock_out`: one position may not look at another | 4 | 25 |
#
# Write an answer where you find `raise NotImplementedError`, run that cell, then run the cell below it: it grades
# your function. `hint("10.1")` gives a hint, and a stronger one each time you ask. You may skip an exercise: later
# cells use the book's version where yours is missing, and say so.

# %% key="setup"
import torch
from einops import einsum
from jaxtyping import Float, Int
from torch import Tensor, tensor

from utils import grade, hint, reference, show, use
from utils.pocket.world import probes

model = reference(device="cpu")  # the pocket model; it needs no accelerator
n_layers, n_heads = model.cfg.n_layers, model.cfg.n_heads
layer_names = [f"layer {i}" for i in range(n_layers)]
head_names = [f"head {i}" for i in range(n_heads)]

# %% [markdown] key="which-model"
# The model is the book's **pocket model**: GPT-2's architecture and tokenizer, with 4 layers of 8 heads, trained on
# short stories and a few patterns of English, among them sentences like the one above. Every tool that you build fits
# GPT-2 small, too, and so do the sentences. *Which* head does what is a fact about one trained model: the cells below
# work it out each time, and the text never knows it in advance.
#
# To read GPT-2 small itself, run `book reference gpt2` once in a terminal, write
# `model = reference("gpt2", device="cpu")` in the cell above, and run the chapter again. It has twelve layers of
# twelve heads, so the maps of sections 4, 5 and 7 then take some minutes.

# %% [markdown] key="question"
# ## 1 · Who gets the book?
#
# The sentences come from the pocket model's world: two names, then one of the two gives something to the other. The
# one who receives is called the *indirect object*. No two of these names met in the pocket model's training, so it
# cannot know the answers by heart. Each sentence has a twin in which the other one gives. **One token differs, and the
# right answer is the other name.**

# %% key="sentences" tags=["demo"]
FORM = "When {A} and {B} went to the {place}, {S} {gave} {thing} to {IO}."
asked = []  # four sentences of this form, no name in two of them
for probe in probes("indirect_object", 10, 400):
    used = {name for earlier in asked for name in earlier.facts["names"]}
    if probe.facts["form"] == FORM and not used & set(probe.facts["names"]) and len(asked) < 4:
        asked.append(probe)


def with_giver(probe, which):
    """The sentence up to "to", with its first (0) or its second (1) name as the one who gives."""
    start, rest = probe.prompt.split(", ")
    return f"{start}, {probe.facts['names'][which]} {rest.split(' ', 1)[1]}"


clean = model.to_tokens([with_giver(probe, 1) for probe in asked])  # the second name gives: [batch pos]
corrupt = model.to_tokens([with_giver(probe, 0) for probe in asked])  # the twins: [batch pos]
first, second = clean[:, 2], clean[:, 4]  # the two names of each sentence: [batch]

# %% key="places" tags=["demo"]
# What stands at each position, in all of them alike.
places = "BOS,When,name 1,and,name 2,went,to,the,place,comma,giver,gave,a,thing,last to".split(",")
NAME_1, NAME_2, GIVER, LAST = 2, 4, 10, 14
show.tokens(
    [model.to_str_tokens(clean[0]), model.to_str_tokens(corrupt[0])],
    rows=["clean", "corrupt"],
    title=f"A sentence and its twin, {len(places)} tokens each",
    note=f"They differ at position {GIVER} alone. The right answers are {' and '.join(asked[0].facts['names'])}, in this "
    "order.",
)

# %% [markdown] key="clean-and-corrupt" terms="clean, corrupt"
# A pair of texts that differ in one thing is the instrument of this whole chapter. The text that we ask about is
# called **clean**, and its twin **corrupt**, though nothing is wrong with it. What does the model say?


# %% key="both-ways" tags=["demo"]
def chances(tokens):
    """The probabilities of the first and the second name after each sentence: [batch 2]."""
    all_chances = model(tokens)[:, -1].softmax(-1)  # [batch d_vocab]
    return all_chances.gather(-1, torch.stack([first, second], dim=-1))


rows = []
for i in range(3):
    for tokens in (clean, corrupt):
        names = [model.to_string(name) for name in (first[i], second[i])]
        said = [f"{name} {chance:.2f}" for name, chance in zip(names, chances(tokens)[i], strict=True)]
        rows.append(["…" + model.to_string(tokens[i, GIVER - 1 :]), *said])
show.table(
    rows,
    ["sentence, from the comma on", "name 1", "name 2"],
    title="What the model says next",
    note="The number is the probability of the name. The rows are pairs of twins: in a pair only the giver changes.",
)

# %% key="simple-rules" tags=["demo"]
both = torch.cat([clean, corrupt])  # all sentences: [2·batch pos]
answer, wrong = torch.cat([first, second]), torch.cat([second, first])  # [2·batch]
said = chances(both[: len(clean)]), chances(both[len(clean) :])
said = torch.cat(said).argmax(-1)  # 0 or 1, the name that the model finds likelier: [2·batch]
rules = {
    "it always says the first name": both[:, NAME_1],
    "it always says the second name": both[:, NAME_2],
    "it says the name that stands nearest": both[:, GIVER],
    "it says the name that was said only once": answer,
}
model_says = torch.where(said == 0, torch.cat([first, first]), torch.cat([second, second]))
show.table(
    [[rule, f"{(name == model_says).sum()} of {len(both)}"] for rule, name in rules.items()],
    ["rule", "agrees with the model"],
    title="Which rule does the model follow?",
    note=f"The model itself is right in {(model_says == answer).sum()} of {len(both)} sentences.",
)

# %% [markdown] key="behavior-is-not-mechanism" terms="mechanism"
# So we know *what* it does. That is behavior. The question of this chapter is the **mechanism**: which parts pass what
# to whom, so that this comes out. The same behavior can be had in many ways. It may look for the name that is said
# once, or find all names and strike out the doubled one, or count. Watching the output alone will never tell.

# %% [markdown] key="measure" terms="logit difference"
# ## 2 · One number to explain
#
# First fix what is to be explained. The probability of the right name is a poor choice: it also depends on all the
# words that are no names. Take the **logit difference**, the logit of the answer minus the logit of the wrong name. It
# has three good sides:
#
# - it is $\log \frac{p(\text{answer})}{p(\text{wrong})}$ exactly, because the sum inside the softmax cancels;
# - whatever raises both names alike ("a name comes now") drops out;
# - it is *linear* in the normalized stream: its dot product with one fixed direction,
#   $w_\text{answer} - w_\text{wrong}$, the difference of two columns of $W_U$. (Plus a
#   constant, from the final norm's bias.)
#
# Chapter 03's logit lens reads the stream before the end. When does the model know?


# %% key="score-of" tags=["demo"]
def score_of(logits):
    """Logit of the answer minus logit of the wrong name at the last position, the mean over `both`."""
    rows = torch.arange(len(both))
    return (logits[rows, -1, answer] - logits[rows, -1, wrong]).mean().item()


full_logits, cache = model.run_with_cache(both)
full = score_of(full_logits)


def read_early(stream):
    """The logits, had the last layer been the one that left this stream: [batch pos d_vocab]."""
    return model.unembed(model.ln_final(stream))


streams = ["blocks.0.hook_resid_pre", *(f"blocks.{i}.hook_resid_post" for i in range(n_layers))]
by_layer = [score_of(read_early(cache[name])) for name in streams]

# %% key="score-by-layer" tags=["demo"]
steps = [later - earlier for earlier, later in zip(by_layer, by_layer[1:], strict=False)]
show.lines(
    ["embedding", *layer_names],
    {"logit difference": by_layer},
    title="When does the last position know who receives?",
    note=f"It ends at {by_layer[-1]:.1f}. The largest step comes in {layer_names[steps.index(max(steps))]}.",
    x_name="stream after",
    y_name="logit of the answer − of the wrong name",
    levels={"cannot tell": 0.0},
)

# %% [markdown] key="attribution" terms="component, direct logit attribution"
# ## 3 · Who wrote it? Attribution
#
# The stream at the end is a sum: the token's embedding, the position's, and what each attention layer and each MLP has
# added. Call each of these a **component**. The unembedding is linear. So the logit difference is a sum as well, with
# one term for each component. To compute these terms is called **direct logit attribution**.
#
# By hand, with d_model = 2 and two tokens. Three components have written into the stream:

# %% key="by-hand" tags=["demo"]
wrote = {"embedding": tensor([1.0, 1.0]), "attention": tensor([3.0, 0.0]), "MLP": tensor([0.0, 2.0])}
w_answer, w_wrong = tensor([1.0, 0.0]), tensor([0.0, 1.0])  # two columns of the unembedding
toward = w_answer - w_wrong  # [d_model]

stream = sum(wrote.values())  # [d_model]
show.table(
    [
        *([name, str(v.tolist()), v @ toward] for name, v in wrote.items()),
        ["sum", str(stream.tolist()), stream @ toward],
    ],
    ["component", "wrote", "· (w_answer − w_wrong)"],
    title="A logit difference taken apart",
    note=f"Directly: {stream @ w_answer:.0f} − {stream @ w_wrong:.0f} = {stream @ toward:.0f}, the sum of the column.",
)

# %% [markdown] key="frozen-scale" terms="final scale"
# One thing is in the way: the final LayerNorm stands between the stream and $W_U$ (chapter 04). It does four things,
# and three of them are linear:
#
# - it subtracts the mean: linear, so *center* each component on its own, $\bar x_c = x_c - \text{mean}(x_c)$;
# - it multiplies by the gain: linear, so multiply it into $W_U$ once and for all;
# - it adds the bias: a constant, which belongs to no component;
# - it **divides by the spread** $\sigma$ of the whole stream. That is not linear: it depends on all components at once.
#
# The way out is to take $\sigma$, the **final scale**, as it was in this run, one number for each text, and hold it
# fixed. Then the terms add up exactly. The price: a term says what a component contributed *in this run*, not what
# would happen without it.

# %% key="components" tags=["demo"]
hooks = ["hook_embed", "hook_pos_embed"]
component_names = ["token", "position"]
for i in range(n_layers):
    hooks += [f"blocks.{i}.hook_attn_out", f"blocks.{i}.hook_mlp_out"]
    component_names += [f"attention {i}", f"MLP {i}"]


def two(number):
    """Two decimals, and no minus before a zero."""
    return round(float(number), 2) + 0.0


def centered(x):
    """Each vector less its mean, as LayerNorm does it."""
    return x - x.mean(-1, keepdim=True)


wrote = [cache[hook][:, -1].expand(len(both), -1) for hook in hooks]  # each [batch d_model]
components = centered(torch.stack(wrote))  # [component batch d_model]
final_scale = cache["ln_final.hook_scale"][:, -1]  # [batch 1]
W_U = model.ln_final.w[:, None] * model.W_U  # the gain multiplied in: [d_model d_vocab]

# %% [markdown] key="logit-attribution"
# ### Exercise 10.1 · Direct logit attribution
#
# *difficulty 3 · 15 minutes · stuck?* `hint("10.1")`
#
# $$\Delta_c = \frac{\bar x_c}{\sigma} \cdot \big( w_\text{answer} - w_\text{wrong} \big)$$
#
# $\bar x_c$ is what component $c$ wrote, d_model numbers, centered already; $\sigma$ is `final_scale`, one number for
# each text; $w_\text{answer}$ and $w_\text{wrong}$ are the columns of $W_U$ (gain included) for this text's two tokens.
# Each text of the batch has its own answer, its own wrong token and its own scale. One number for each component and
# text.


# %% key="logit-attribution-answer" exercise="10.1"
def logit_attribution(
    components: Float[Tensor, "component batch d_model"],
    W_U: Float[Tensor, "d_model d_vocab"],
    answer: Int[Tensor, "batch"],
    wrong: Int[Tensor, "batch"],
    final_scale: Float[Tensor, "batch 1"],
) -> Float[Tensor, "component batch"]:
    """What each component adds to logit(answer) − logit(wrong).

    >>> components = tensor([[[2.0, 0.0]], [[0.0, 4.0]]])  # two components, one text, d_model = 2
    >>> logit_attribution(components, torch.eye(2), tensor([0]), tensor([1]), tensor([[2.0]])).tolist()
    [[1.0], [-2.0]]
    """
    # SOLUTION
    direction = W_U[:, answer] - W_U[:, wrong]  # one direction for each text: [d_model batch]
    axes = "component batch d_model, d_model batch -> component batch"
    return einsum(components / final_scale, direction, axes)  # [batch 1] meets [batch d_model]
    # END


# %% key="logit-attribution-grade"
grade(logit_attribution)

# %% [markdown] key="logit-attribution-why" solution="10.1"
# #### Why it works
#
# Indexing $W_U$ with `answer` picks one column for each text, so `direction` has a batch axis. `einsum` pairs each
# text's components with that text's direction, and sums d_model: a dot product. The scale is [batch 1], so it lines up
# with the last two axes of the components.
#
# **What the classic mistakes look like.** Without the scale all bars keep their order and their signs, and the picture
# looks perfect; only their sum is not the logit difference. Always compare that sum. With the answer's column alone the
# largest bar is often a component that raises *every* name: right, and no answer to the question.

# %% key="logit-attribution-second" solution="10.1"
from utils.grading import check


def by_all_logits(components, W_U, answer, wrong, final_scale):
    """A second way: all logits of each component, then the two that count. Slow, and right."""
    logits = components / final_scale @ W_U  # [component batch d_vocab]
    rows = torch.arange(len(answer))
    return logits[:, rows, answer] - logits[:, rows, wrong]


check("10.1", by_all_logits)

# %% [markdown] key="predict-component" tags=["predict"]
# **Predict.** The last token is "to", in all sentences. Which kind of component adds most to the logit difference
# there?
#
# - **a**: the token and position embeddings: after "to" comes a name;
# - **b**: the attention layers;
# - **c**: the MLPs: they hold two thirds of the blocks' parameters.

# %% key="guess-component" tags=["predict"]
my_guess = "?"  # a, b or c


# %% key="attributed" tags=["demo"]
def written(number):
    """Two decimals as text, with a minus sign and not a hyphen."""
    return f"{two(number):.2f}".replace("-", "−")


attribute = use(logit_attribution)
direct = attribute(components, W_U, answer, wrong, final_scale).mean(-1)  # the mean over texts: [component]
kinds = {"embeddings": direct[:2], "attention": direct[2::2], "MLPs": direct[3::2]}
sums = {kind: part.sum().item() for kind, part in kinds.items()}

show.bars(
    dict(zip(component_names, direct, strict=True)),
    title="Who writes the name of the one who receives?",
    note="Together: "
    + ", ".join(f"{kind} {written(total)}" for kind, total in sums.items())
    + f". Most comes from the {max(sums, key=sums.get)}.",
    x_name="component",
    y_name="added to the logit difference at the last position",
)

# %% key="attributed-sum" tags=["demo"]
toward_answer = model.W_U[:, answer] - model.W_U[:, wrong]  # [d_model batch]
constant = (model.ln_final.b @ toward_answer + model.b_U[answer] - model.b_U[wrong]).mean()
adds_up = abs(direct.sum() + constant - full) < 1e-3
print(
    f"components {direct.sum():.2f}, constant {written(constant)}; the model's own: {full:.2f}. "
    f"The sum agrees: {bool(adds_up)}"
)

# %% [markdown] key="why-attention"
# <details><summary>Why the embeddings cannot</summary>
#
# A sentence and its twin have the same last token at the same position, and opposite answers. What the embeddings add
# for one of the two they take from the other, so over both they come to almost nothing. (Not to exactly nothing: the
# final scale differs a little between twins.) That is what the twins are for. An MLP at the last position works on what
# is in the stream there. Alone it has no way to learn who gave. It can only sharpen what attention has brought.
#
# </details>
#
# **The sum was checked** in the cell above, and it should be each time: an attribution that does not add up to the
# thing it explains is a picture of something else. Now take the attention layers apart as well. A layer's output is the
# sum of what its heads write (chapter 05), so each head has a term of its own.

# %% key="attributed-heads" tags=["demo"]
wrote_by = []
for i in range(n_layers):
    z, W_O = cache[f"blocks.{i}.attn.hook_z"][:, -1], model.blocks[i].attn.W_O
    wrote_by.append(einsum(z, W_O, "batch head d_head, head d_head d_model -> head batch d_model"))
heads_wrote = centered(torch.cat(wrote_by))  # [layer·head batch d_model]
of_heads = attribute(heads_wrote, W_U, answer, wrong, final_scale).mean(-1)  # [layer·head]
by_head = of_heads.unflatten(0, (n_layers, n_heads))  # [layer n_heads]


def best_of(grid):
    """The (layer, head) with the largest number of a grid [layer n_heads]."""
    return divmod(grid.argmax().item(), n_heads)


def tidy(grid):
    """Two decimals, and no minus before a zero."""
    return grid.round(decimals=2) + 0.0


# %% key="attributed-heads-figure" tags=["demo"]
top_layer, top_head = best_of(by_head)
show.matrix(
    tidy(by_head),
    rows=layer_names,
    columns=head_names,
    title="What each head adds to the logit difference, directly",
    note=f"Most comes from layer {top_layer}, head {top_head}: {by_head.max():.2f} of {full:.2f} in all.",
    row_name="layer",
    column_name="head",
    value_name="logits",
)

# %% [markdown] key="what-it-looks-at"
# A head that writes the right name must have got it from somewhere. So see what the three heads with the largest terms
# look at from the last position.

# %% key="top-heads-look" tags=["demo"]
texts = torch.arange(len(both))
answer_at = torch.where(both[:, NAME_1] == answer, NAME_1, NAME_2)  # where the answer was said: [batch]
wrong_at = NAME_1 + NAME_2 - answer_at  # where the giver was said first
rows = []
for place in of_heads.topk(3).indices.tolist():
    layer, head = divmod(place, n_heads)
    look = cache["pattern", layer][:, head, -1]  # the last position's row: [batch key_pos]
    seen = [look[texts, answer_at], look[texts, wrong_at], look[:, GIVER], look[:, 0]]
    rows.append([f"layer {layer}, head {head}", written(of_heads[place]), *(f"{x.mean():.0%}" for x in seen)])
show.table(
    rows,
    ["head", "adds", "answer", "giver, first time", "giver, again", "BOS"],
    title='What these heads look at from the last "to"',
    note=f"Mean weights. The first head gives {rows[0][2]} of its weight to the answer's place, and {rows[0][4]} to the "
    "giver's, where it is said again.",
)

# %% [markdown] key="copy-or-strike" terms="name mover"
# A head that looks at the answer fetches the very name and writes it down. Wang et al. (2022), who took this behavior
# of GPT-2 small apart, call such heads **name movers**. And a head that looks at the giver? A difference grows in two
# ways: the answer's logit goes up, or the wrong name's goes down. So compare each of the two names with *bystanders*,
# names that are not in the sentence at all. Your function does it, with a bystander as the wrong token.


# %% key="against-bystanders" tags=["demo"]
def above_bystanders(parts, name):
    """How much each part raises a name's logit above the names of the other sentences: [component]."""
    shifts = range(1, len(asked))
    others = [answer[(texts + shift) % len(both)] for shift in shifts]
    return sum(attribute(parts, W_U, name, other, final_scale).mean(-1) for other in others) / len(others)


named = {"answer": answer, "giver": wrong}
heads_above = {who: above_bystanders(heads_wrote, name) for who, name in named.items()}  # each [layer·head]
all_above = {who: above_bystanders(components, name) for who, name in named.items()}  # each [component]

chosen = of_heads.topk(6).indices.tolist()
pairs = {f"head {i // n_heads}.{i % n_heads}": [above[i].item() for above in heads_above.values()] for i in chosen}
pairs |= {component_names[i]: [above[i].item() for above in all_above.values()] for i in range(2, len(hooks))}
effects = tensor(list(pairs.values())[: len(chosen)])  # [head 2], on the answer and on the giver
strikes = (-effects[:, 1] > effects[:, 0]).sum()

# %% key="copy-or-strike-figure" tags=["demo"]
show.bars(
    pairs,
    series=["the answer", "the giver"],
    title="Say the answer, or strike out the giver?",
    note=f"Of these {len(chosen)} heads {strikes} lower the giver more than they raise the answer.",
    x_name="head (layer.head) or sublayer",
    y_name="logits, above names that are not in the sentence",
)

# %% [markdown] key="copy-or-strike-read"
# Three things can be told apart here. A part whose two bars are *equally long* says "one of these two". A part with the
# first bar alone says the answer. A part whose second bar points to the left strikes out the giver. A logit difference
# that is built from the first and the third kind is another mechanism than one that finds the answer by itself, though
# what comes out is the same.

# %% [markdown] key="attribution-limits"
# But attribution sees only the **last step**. A head that told the others *where to look* wrote nothing in the
# direction of a name, and its bar is zero. And a large bar is no proof that the part is needed: another may be ready to
# do the same. To find out, one has to interfere.

# %% [markdown] key="ablation" terms="hook, ablation"
# ## 4 · Does it matter? Ablation
#
# To **ablate** a part is to run the model without it and to see what gets worse. The means is a **hook**: a function
# that is called in the middle of a run with an activation, and may return another one to be used in its place. You have
# seen hooks work in chapter 05. Here is all that there is to them:


# %% key="hook-demo" tags=["demo"]
def look_only(mlp_out, hook):
    """Returns nothing, so the run goes on with what was there."""
    print(f"What the MLP of block 0 adds has the shape {tuple(mlp_out.shape)}: batch, pos, d_model")


def nothing(mlp_out, hook):
    """Returns something else: the run goes on with that."""
    return torch.zeros_like(mlp_out)


for hook_fn in (look_only, nothing):
    logits = model.run_with_hooks(both, fwd_hooks=[("blocks.0.hook_mlp_out", hook_fn)])
    print(f"  with {hook_fn.__name__}: logit difference {written(score_of(logits))}")
print(f"  without any hook: {score_of(model(both)):.2f}; run_with_hooks takes its hooks away afterwards")

# %% [markdown] key="zero-or-mean" terms="zero ablation, mean ablation"
# **What to put in its place?** Zero looks natural, but a head's output is rarely near zero. Much of what it writes is
# the same in every text, and later layers count on it. Remove that, and the model breaks for a dull reason: it has
# never seen such a stream. **Mean ablation** puts the head's average over many texts and positions there. That keeps
# what is always the same and removes what depends on *this* text. **Zero ablation** removes both.

# %% [markdown] key="ablate-head"
# ### Exercise 10.2 · Ablate a head
#
# *difficulty 3 · 15 minutes · stuck?* `hint("10.2")`
#
# $$z^h_{b,i} \leftarrow 0 \qquad \text{or} \qquad z^h_{b,i} \leftarrow \operatorname{mean}_{b', i'} z^h_{b', i'}$$
#
# $z^h_{b,i}$ is what head $h$ of the given layer has gathered for text $b$ at position $i$, d_head numbers; it stands
# in the hook `blocks.{layer}.attn.hook_z` with the axes [batch pos n_heads d_head]. With `how="zero"` put zeros there
# at every position of every text, with `how="mean"` the mean over batch and positions, one vector of d_head numbers.
# The other heads stay. Return the logits, and leave no hook behind.


# %% key="ablate-head-answer" exercise="10.2"
def ablate_head(
    model,
    tokens: Int[Tensor, "batch pos"],
    layer: int,
    head: int,
    how: str = "zero",
) -> Float[Tensor, "batch pos d_vocab"]:
    """The logits with one head's z replaced: by zeros, or by its mean over batch and positions.

    >>> ablate_head(model, clean[:2], 0, 1).shape
    torch.Size([2, 15, 50257])
    """

    # SOLUTION
    def replace(z, hook):
        z = z.clone()  # [batch pos n_heads d_head]
        z[:, :, head] = 0.0 if how == "zero" else z[:, :, head].mean((0, 1))  # [d_head], for all alike
        return z

    return model.run_with_hooks(tokens, fwd_hooks=[(f"blocks.{layer}.attn.hook_z", replace)])
    # END


# %% key="ablate-head-grade"
grade(ablate_head)

# %% [markdown] key="ablate-head-why" solution="10.2"
# #### Why it works
#
# `run_with_hooks` adds the hook, runs, and takes it away, even if the run fails. `z[:, :, head]` is [batch pos d_head];
# the mean over its first two axes is one vector, which broadcasts back over texts and positions.
#
# **A second way** is to subtract the head's result, $z^h W_O^h$, from what the layer adds to the stream: zero ablation
# at another place, because everything between the two is linear.
#
# **What the classic mistakes look like.** `model.add_hook` without a removal gives the right numbers here, and then
# every later cell is about a broken model. A mean over d_head gives each of the head's dimensions the same number: the
# model gets worse, but not because the head is missing.

# %% key="ablate-head-second" solution="10.2"
z, W_O = model.run_with_cache(clean)[1]["z", 0], model.blocks[0].attn.W_O
result = z[:, :, 1] @ W_O[1]  # what head 1 of layer 0 writes: [batch pos d_model]
taken_away = [("blocks.0.hook_attn_out", lambda attn_out, hook: attn_out - result)]
subtracted = model.run_with_hooks(clean, fwd_hooks=taken_away)
torch.allclose(subtracted, ablate_head(model, clean, 0, 1), atol=1e-3)

# %% [markdown] key="predict-ablation" tags=["predict"]
# **Predict.** Take the head with the largest term in section 3. The logit difference of the whole model is the sum of
# all terms. Now mean-ablate that head. By how much does the logit difference fall?
#
# - **a**: by exactly what the head had written;
# - **b**: by less;
# - **c**: by more.

# %% key="guess-ablation" tags=["predict"]
my_guess = "?"  # a, b or c

# %% key="ablated" tags=["demo"]
ablate = use(ablate_head)


def drops(how):
    """How far the logit difference falls without each head: [layer n_heads]."""
    left = [[score_of(ablate(model, both, i, h, how)) for h in range(n_heads)] for i in range(n_layers)]
    return full - tensor(left)


by_zero, by_mean = drops("zero"), drops("mean")
wrote_it, fell_by = by_head[top_layer, top_head], by_mean[top_layer, top_head]
close = abs(fell_by - wrote_it) < 0.1 * wrote_it
verdict = "as much as it wrote" if close else ("less than it wrote" if fell_by < wrote_it else "more than it wrote")
print(
    f"Layer {top_layer}, head {top_head} wrote {wrote_it:.2f}. Without it the logit difference falls by {written(fell_by)}:"
)
print(f"{verdict} (within a tenth counts as the same).")

# %% [markdown] key="why-ablation" terms="self-repair"
# <details><summary>Why it need not be the same</summary>
#
# The term of section 3 counts one path only, from the head straight to the logits. Take the head away and *everything
# after it* reads another stream.
#
# - *Less*: later parts make up for it. Another head finds the name in its place, or an MLP that had damped it now damps
#   less. This is called **self-repair**; in GPT-2 small there are heads that take over only when the name movers are
#   gone.
# - *More*: later parts had built on it. An MLP that sharpens what the head brought has nothing to sharpen.
# - *The same*: to be expected only from a head of the last layer, and even there the MLP and the final scale come
#   after.
#
# </details>

# %% key="ablated-figure" tags=["demo"]
needed_layer, needed_head = best_of(by_mean)
show.matrix(
    tidy(by_mean),
    rows=layer_names,
    columns=head_names,
    title="How far the logit difference falls without one head (mean ablation)",
    note=f"With all heads it is {full:.2f}. Most is lost without layer {needed_layer}, head {needed_head}.",
    row_name="layer",
    column_name="head",
    value_name="logits lost",
)

# %% [markdown] key="direct-and-needed"
# Put the two measures side by side, for the heads that are needed most. A head with a long second bar and no first one
# is needed by *others*: it acts through them.

# %% key="direct-and-needed-figure" tags=["demo"]
most_needed = by_mean.flatten().topk(8).indices.tolist()
beside = {
    f"layer {place // n_heads} head {place % n_heads}": [grid.flatten()[place].item() for grid in (by_head, by_mean)]
    for place in most_needed
}
hidden = [name for name, (wrote_it, lost) in beside.items() if lost > 0.05 * full and wrote_it < 0.25 * lost]
show.bars(
    beside,
    series=["writes directly", "lost without it"],
    title="What a head writes, and what is lost without it",
    note="Needed (over 5% of the whole), though it writes less than a quarter of that itself: "
    + (", ".join(hidden) or "none of these")
    + ".",
    x_name="head",
    y_name="logits",
)

# %% key="zero-and-mean" tags=["demo"]
gap = (by_zero - by_mean).abs()  # [layer n_heads]
gap_layer, gap_head = best_of(gap)
lost_there = f"{written(by_zero[gap_layer, gap_head])} by zero, {written(by_mean[gap_layer, gap_head])} by mean"
resting = cache["pattern", gap_layer][:, gap_head, 1:, 0].mean()  # the queries after BOS
needed = torch.maximum(by_zero, by_mean).flatten().argsort(descending=True).tolist()
apart_most = gap_layer * n_heads + gap_head
ten = [*(place for place in needed if place != apart_most)][:9] + [apart_most]  # it is drawn, needed or not
show.bars(
    {f"layer {i // n_heads} head {i % n_heads}": [by_zero.flatten()[i], by_mean.flatten()[i]] for i in ten},
    series=["zero ablation", "mean ablation"],
    title="Zero or mean?",
    note="The nine heads that are needed most, and the one where the two ablations differ most, "
    f"layer {gap_layer}, head {gap_head}: {lost_there}. In these sentences it has {resting:.0%} of its weight on BOS.",
    x_name="head",
    y_name="logits lost",
)

# %% [markdown] key="ablation-limits"
# So a head can matter by zero and hardly matter by mean: then it is the constant part that counts, which has nothing to
# do with who gave what to whom. **Report which ablation you used.** And ablation has a blind spot of its own: where two
# heads do the same work, removing either changes little, and both look idle.
#
# You know now *who* matters. You do not know *what* they pass on, or where.

# %% [markdown] key="patching" terms="activation patching, restored"
# ## 5 · Where is it? Patching
#
# Ablation destroys. **Activation patching** exchanges: run the corrupt sentence, but at one place put in what the
# *clean* run had there. Twins differ only in who gives. So if the answer turns over to the clean one, then exactly this
# place held, at this depth, *who gives*.
#
# The measure is the share that is **restored**. Let $d$ be the logit of the first name minus that of the second. It is
# positive in the clean run (the second name gives) and negative in the corrupt one. Then
#
# $$\text{restored} = \frac{d_\text{patched} - d_\text{corrupt}}{d_\text{clean} - d_\text{corrupt}}$$
#
# is 0 where the patch changes nothing and 1 where it gives the clean answer back in full.

# %% [markdown] key="patch"
# ### Exercise 10.3 · Activation patching
#
# *difficulty 3 · 20 minutes · stuck?* `hint("10.3")`
#
# $$a^\text{corrupt}_{b,i} \leftarrow a^\text{clean}_{b,i} \quad \text{at } i = \text{pos only}$$
#
# $a_{b,i}$ is the activation with the name `hook` for text $b$ at position $i$; its axes are [batch pos …], whatever
# comes after pos. Run the clean texts and keep it, then run the corrupt texts with it put in at the one position. Each
# text has its own clean partner, in the same row. Return the logits of the second run, and leave no hook behind.


# %% key="patch-answer" exercise="10.3"
def patch(
    model,
    clean: Int[Tensor, "batch pos"],
    corrupt: Int[Tensor, "batch pos"],
    hook: str,
    pos: int,
) -> Float[Tensor, "batch pos d_vocab"]:
    """The corrupt run's logits, with the clean run's activation at this hook and position put in.

    >>> same = patch(model, clean, clean, "blocks.0.hook_resid_pre", 3)  # its own activation: nothing changes
    >>> torch.allclose(same, model(clean), atol=1e-3)
    True
    """
    # SOLUTION
    _, cache = model.run_with_cache(clean)
    kept = cache[hook]  # [batch pos …]; looked up here: inside, `hook` is another thing

    def put_in(activation, hook):
        activation = activation.clone()  # [batch pos …]
        activation[:, pos] = kept[:, pos]
        return activation

    return model.run_with_hooks(corrupt, fwd_hooks=[(hook, put_in)])
    # END


# %% key="patch-grade"
grade(patch)

# %% [markdown] key="patch-why" solution="10.3"
# #### Why it works
#
# Two runs. The first keeps its activations, the second is the corrupt one with a hook. The hook's second parameter has
# the same name as the argument `hook`, so the wanted activation is looked up before. Position is the second axis of
# what stands in the stream, of queries, keys, values and $z$, so `[:, pos]` fits them all.
#
# **A second way** has no cache: a hook in the first run puts the activation aside, a hook in the second takes it.
#
# **What the classic mistakes look like.** With the runs swapped the map is not empty but upside down: it shows what
# *breaks* the clean answer. That is a good question too (called *noising*), and a different one. With all positions
# patched each row of the map is the same number, 1: nothing is localized. With the cache from the corrupt run all is 0.


# %% key="patch-second" solution="10.3"
def by_two_hooks(model, clean, corrupt, hook, pos):
    kept = {}

    def keep(activation, hook):
        kept["clean"] = activation[:, pos].clone()

    def swap(activation, hook):
        before, after = activation[:, :pos], activation[:, pos + 1 :]
        return torch.cat([before, kept["clean"][:, None], after], dim=1)

    model.run_with_hooks(clean, fwd_hooks=[(hook, keep)])
    return model.run_with_hooks(corrupt, fwd_hooks=[(hook, swap)])


where = ("blocks.1.hook_resid_pre", GIVER)
torch.allclose(by_two_hooks(model, clean, corrupt, *where), patch(model, clean, corrupt, *where), atol=1e-3)

# %% [markdown] key="predict-patch" tags=["predict"]
# **Predict.** Now the map: the stream before each block and after the last one, at each position from the place on.
# (Further left there is nothing to see, for the same reason as at the place: it has not seen who gives.) Two rows of
# the map can be known without running anything, in any model. In which column does all of the answer come back, in the
# first row (before block 0)? And in the last row (after the last block)?

# %% key="guess-patch" tags=["predict"]
my_guess = ("?", "?")  # names from `places`, for the first and the last row

# %% key="patch-map" tags=["demo"]
patched = use(patch)


def toward_first(logits):
    """Logit of the first name minus that of the second at the last position, the mean over the sentences."""
    rows = torch.arange(len(clean))
    return (logits[rows, -1, first] - logits[rows, -1, second]).mean().item()


d_clean, d_corrupt = toward_first(model(clean)), toward_first(model(corrupt))


def restored(hook, pos):
    """The share of the clean answer that one patch gives back."""
    return (toward_first(patched(model, clean, corrupt, hook, pos)) - d_corrupt) / (d_clean - d_corrupt)


shown = list(range(GIVER - 2, len(places)))  # the positions of the map
stream_map = tensor([[restored(hook, pos) for pos in shown] for hook in streams])  # [depth pos]

# %% key="patch-map-figure" tags=["demo"]
depths = [*(f"before block {i}" for i in range(n_layers)), "after the last"]
peaks = [places[shown[row.argmax()]] for row in stream_map]
show.matrix(
    tidy(stream_map),
    rows=depths,
    columns=places[shown[0] :],
    title='Where "who gives" is held, layer by layer',
    note="The share of the clean answer that one patch restores. The best place, from the first row to the last: "
    + ", ".join(peaks)
    + ".",
    row_name="stream",
    column_name="position",
    value_name="restored",
)

# %% [markdown] key="why-patch"
# <details><summary>The two rows that can be known</summary>
#
# *First row: the giver.* Before block 0 the two runs differ at this token alone. Put the clean one in, and the run *is*
# the clean run: restored is exactly 1 there and exactly 0 everywhere else.
#
# *Last row: the last position.* Nothing comes after the last block but the final norm and the unembedding, and they
# work on each position alone. So only the last position counts.
#
# </details>
#
# So the fact travels: it starts at the giver's place and ends at the last one. **Between two rows is one block**, and
# only attention can carry anything sideways. The row in which a column fades and another lights up is the block that
# did the carrying. Columns to the left of the giver stay at 0 in every row: no position before it has seen who gives.

# %% key="patch-check" tags=["demo"]
at_giver, at_last = stream_map[:, shown.index(GIVER)], stream_map[:, -1]  # [depth]
exact = abs(at_giver[0] - 1) < 1e-3 and abs(at_last[-1] - 1) < 1e-3
before = stream_map[:, : shown.index(GIVER)].abs().max()
moved_in = (at_last[1:] - at_last[:-1]).argmax().item()
print(f"the two certain cells are 1: {bool(exact)}; largest number left of the giver: {before:.3f}")
print(f"the last position gains most in block {moved_in}: from {at_last[moved_in]:.2f} to {at_last[moved_in + 1]:.2f}")

# %% [markdown] key="patch-parts-text"
# The stream holds *all* that was written so far. To see who writes, patch the outputs: what attention adds in each
# layer, and what the MLPs add. Only the positions from the giver on are shown; before it there is nothing to restore.

# %% key="patch-parts" tags=["demo"]
later = list(range(GIVER, len(places)))


def part_map(kind):
    """Restored by patching what the attention layers or the MLPs add: [layer pos]."""
    return tensor([[restored(f"blocks.{i}.hook_{kind}_out", pos) for pos in later] for i in range(n_layers)])


part_maps = torch.stack([part_map("attn"), part_map("mlp")])  # [panel layer pos]
at_layer = part_maps[0, :, -1].argmax().item()
best_part = places[later[part_maps[0].amax(0).argmax()]]
show.matrices(
    tidy(part_maps),
    ["attention", "MLP"],
    rows=layer_names,
    columns=[places[pos] for pos in later],
    title="Whose output carries the answer?",
    note=f"At the last position (right column) attention restores most in layer {at_layer}: "
    f"{part_maps[0, at_layer, -1]:.2f}. The MLPs' best there: {part_maps[1, :, -1].max():.2f}. The place where one "
    f"attention layer restores most: {best_part}.",
    row_name="layer",
    column_name="position",
    value_name="restored",
)

# %% [markdown] key="patching-limits"
# **What a patch says depends on the twin.** These twins differ in who gives, and in nothing else. So the map shows
# where *that* is held. Where the two names are held it cannot show: they are the same in both runs. Another question
# needs another corruption. And shares need not add up to 1: two places may each be enough, or only both together.

# %% [markdown] key="find" terms="previous-token head, duplicate-token head, induction head"
# ## 6 · What kind of head is it? A search
#
# The maps name layers and heads. To understand a head one wants to know what it does on *any* text. Some kinds are so
# common that one looks for them first. Take $p$ random tokens and then the same once more. From the second time on,
# query $i$ has its own earlier copy at $i - p$, and three keys are telling:
#
# | kind | looks at | key |
# |---|---|---|
# | **previous-token head** | the token just before | $i - 1$ |
# | **duplicate-token head** | the earlier copy of the same token | $i - p$ |
# | **induction head** | the token *after* the earlier copy | $i - p + 1$ |
#
# Why random tokens? In a real text a head may look at the right key for another reason: it likes names, or commas. In
# a random sequence nothing but the position and the repetition can guide it.
#
# Draw them among the tokens that the model knows. In the pocket model all tokens that its training never met share one
# vector, and to tell such tokens apart is impossible:

# %% key="known" tags=["demo"]
# Four of a vector's numbers are enough to tell whether two tokens have the same one.
_, which, times = model.W_E[:, :4].unique(dim=0, return_inverse=True, return_counts=True)
known_ids = (times[which] == 1).nonzero()[:, 0].cpu()  # ids with a vector of their own: [known]
print(f"{len(known_ids):,} of {model.cfg.d_vocab:,} tokens have a vector of their own")

# %% [markdown] key="find-heads"
# ### Exercise 10.4 · Find heads of a kind
#
# *difficulty 4 · 25 minutes · stuck?* `hint("10.4")`
#
# $$
# \text{score}^h = \operatorname{mean}_{b,\; i \ge p} A^h_{i,\, i - \delta}
# \qquad
# \delta = 1,\;\; p,\;\; p - 1 \;\text{ for previous, duplicate, induction}
# $$
#
# $A^h_{ij}$ is the weight that query $i$ gives to key $j$ in head $h$, on text $b$ of a batch of random tokens that
# come twice; $p$ is how many they are. Use a few rows and $p$ of 25 or more, drawn from `known_ids`. Return a list of
# all pairs `(layer, head)` whose score is at least `threshold`, sorted by layer, then by head. `kind` is `"previous"`,
# `"duplicate"` or `"induction"`. (If you put BOS in front, mind that everything moves by one.)
#
# The grader also tries it on models made by hand, each head with one habit. They have `cfg` and `run_with_cache`, but
# no weights: take the tokens from `known_ids` and leave `model.W_E` alone.


# %% key="find-heads-answer" exercise="10.4"
def find_heads(model, kind: str, threshold: float) -> list:
    """The (layer, head) whose mean weight on the keys of this kind is at least `threshold`.

    >>> find_heads(model, "previous", 1.01)  # no weight is larger than 1
    []
    """
    # SOLUTION
    p, generator = 40, torch.Generator().manual_seed(0)
    once = known_ids[torch.randint(len(known_ids), (4, p), generator=generator)]  # [batch p]
    bos = torch.full((4, 1), model.tokenizer.bos_token_id)
    tokens = torch.cat([bos, once, once], dim=1).to(model.cfg.device)  # [batch 1+2p]
    _, cache = model.run_with_cache(tokens)

    query = torch.arange(p + 1, 2 * p + 1)  # the second time
    key = query - {"previous": 1, "duplicate": p, "induction": p - 1}[kind]
    found = []
    for layer in range(model.cfg.n_layers):
        pattern = cache[f"blocks.{layer}.attn.hook_pattern"]  # [batch n_heads query_pos key_pos]
        scores = pattern[:, :, query, key].mean((0, 2))  # [n_heads]
        found += [(layer, head) for head, score in enumerate(scores.tolist()) if score >= threshold]
    return found
    # END


# %% key="find-heads-grade"
grade(find_heads)

# %% [markdown] key="find-heads-why" solution="10.4"
# #### Why it works
#
# `pattern[:, :, query, key]` takes the cells (query, key) pair by pair, so the last axis runs over the queries of the
# second time. Their mean, with the batch's, is one number for each head. Layers are walked through in order, and heads
# within a layer, so the list is sorted.
#
# **A second way** is the diagonal: the cells $(i, i - \delta)$ lie on the diagonal $-\delta$ of the pattern.
#
# **What the classic mistakes look like.** Off by one, the search for induction heads finds duplicate-token heads: an
# honest list with the wrong title. On a text that does not repeat all scores of the last two kinds are low, and one
# might conclude that the model has no such heads. With the whole vocabulary and the pocket model the same happens,
# because most of the tokens drawn look alike to it.


# %% key="find-heads-second" solution="10.4"
def by_diagonals(model, kind, threshold):
    once = known_ids[torch.randperm(len(known_ids), generator=torch.Generator().manual_seed(1))[:30]]
    tokens = torch.cat([once, once])[None].to(model.cfg.device)  # no BOS: [1 2p]
    _, cache = model.run_with_cache(tokens)
    back = {"previous": 1, "duplicate": 30, "induction": 29}[kind]
    scores = [
        cache["pattern", i].diagonal(-back, dim1=-2, dim2=-1)[..., -30:].mean((0, 2)) for i in range(model.cfg.n_layers)
    ]
    return [tuple(pair) for pair in (torch.stack(scores) >= threshold).nonzero().tolist()]


[by_diagonals(model, kind, 0.5) == find_heads(model, kind, 0.5) for kind in ("previous", "duplicate", "induction")]

# %% [markdown] key="found-text"
# **Use it**, with the bar at one half: a head that gives more than half of its weight to one key does little else
# there.

# %% key="found" tags=["demo"]
search = use(find_heads)
KINDS = ("previous", "duplicate", "induction")
found = {kind: search(model, kind, 0.5) for kind in KINDS}
close_by = {kind: search(model, kind, 0.25) for kind in KINDS}


def spoken(heads):
    """[(0, 3), (1, 2)] → '0.3, 1.2', a layer and a head."""
    return ", ".join(f"{layer}.{head}" for layer, head in heads) or "none"


show.table(
    [[kind, spoken(found[kind]), spoken([h for h in close_by[kind] if h not in found[kind]])] for kind in KINDS],
    ["kind", "score ≥ 0.5", "0.25 to 0.5"],
    title="Heads by kind (layer.head)",
    note="Of the "
    f"{n_layers * n_heads} heads {len({h for kind in KINDS for h in found[kind]})} are of one of the three kinds.",
)

# %% key="found-patterns" tags=["demo"]
WORDS = "ball hat cup fish bread lamp dog coat apple".split()
period = len(WORDS)
word_ids = tensor([model.to_single_token(f" {word}") for word in WORDS])  # [period]
rng = torch.Generator().manual_seed(10)  # every random number of this chapter's cells comes from here
orders = torch.stack([word_ids[torch.randperm(period, generator=rng)] for _ in range(8)])  # [batch period]
bos = torch.full((8, 1), model.tokenizer.bos_token_id)
twice = torch.cat([bos, orders, orders], dim=1)  # [batch 1+2·period]
_, twice_cache = model.run_with_cache(twice)

examples = [(kind, *found[kind][0]) for kind in KINDS if found[kind]] or [("no kind", 0, 0)]
lines = {
    "previous": "Previous: one column to its left, from top to bottom.",
    "duplicate": f"Duplicate: {period} columns to its left, in the lower half.",
    "induction": f"Induction: {period - 1} columns to its left, in the lower half.",
}
show.heads(
    torch.stack([twice_cache["pattern", layer][0, head] for _, layer, head in examples]),
    [model.to_string(token) for token in twice[0]],
    labels=[f"{kind}: layer {layer}, head {head}" for kind, layer, head in examples],
    title=f"One head of each kind found, on {period} words that come twice",
    note="Each kind is a line beside the diagonal. "
    + " ".join(lines[kind] for kind, _, _ in examples if kind in lines),
)

# %% [markdown] key="found-causal"
# **A pattern is not yet a use.** A head may look at the right place and write nothing that anyone reads. So test it:
# the model's guess of the repeated word, without one head at a time, and then without all heads of a kind together.
# Beside them stand a few other heads, drawn at random, for comparison.


# %% key="found-ablated" tags=["demo"]
def right_word(logits):
    """The mean probability of the word that comes, from the second word of the second time on."""
    chance = logits[:, period + 1 : -1].softmax(-1)  # [batch pos d_vocab]
    return chance.gather(-1, twice[:, period + 2 :, None]).mean().item()


def taken_away(heads):
    """Hooks that subtract from the stream what these heads write on `twice`."""
    hooks = []
    for layer, head in heads:
        written = twice_cache["z", layer][:, :, head] @ model.blocks[layer].attn.W_O[head]  # [batch pos d_model]
        hooks.append((f"blocks.{layer}.hook_attn_out", lambda out, hook, written=written: out - written))
    return hooks


others = [(i, h) for i in range(n_layers) for h in range(n_heads) if all((i, h) not in found[kind] for kind in KINDS)]
drawn = torch.randperm(len(others), generator=rng)[:3].tolist()
groups = {kind: found[kind] for kind in KINDS} | {"other": sorted(others[i] for i in drawn)}
guessed = {"no head removed": right_word(model(twice))}
for kind, heads in groups.items():
    for layer, head in heads[:3]:
        guessed[f"{kind} {layer}.{head}"] = right_word(ablate(model, twice, layer, head, "mean"))

# %% key="found-together" tags=["demo"]
for kind, heads in groups.items():
    if len(heads) > 1:
        logits = model.run_with_hooks(twice, fwd_hooks=taken_away(heads))
        guessed[f"all {len(heads)}: {kind}"] = right_word(logits)
worst = min(guessed, key=guessed.get)
show.bars(
    guessed,
    title="Guessing words that come a second time, without some heads",
    note=f"Most is lost without {worst}: {guessed['no head removed']:.2f} falls to {guessed[worst]:.2f}.",
    x_name="without (layer.head)",
    y_name="mean probability of the right word",
    marked=[name for name in guessed if name.startswith("all ")],
    marked_name="several heads at once",
)

# %% [markdown] key="redundancy" terms="redundancy"
# Where a single head is hardly missed and all of its kind are, the work is shared: one head's part is done by the
# others. This **redundancy** is common, and ablating heads one by one is blind to it. (The bars called "all …"
# subtract what each head wrote in the undisturbed run: for heads of one layer that is exactly zero ablation.)

# %% [markdown] key="composition" terms="composition"
# **Two heads in two layers.** In chapter 05 the claim was that an induction head needs a previous-token head of an
# earlier layer, which writes "A stands before me" at *B*. Now you can test it. Take away what early heads write and
# measure the *later* head's score again. When one head works on what another has written, that is called
# **composition**.

# %% key="composition-measured" tags=["demo"]
later_head = found["induction"][0] if found["induction"] else (n_layers - 1, 0)
seen = torch.arange(period + 1, 2 * period + 1)  # the queries of the second time


def later_score(heads=()):
    """The induction score of `later_head`, without what these earlier heads write."""
    with model.hooks(fwd_hooks=taken_away(heads)):
        pattern = model.run_with_cache(twice)[1]["pattern", later_head[0]][:, later_head[1]]
    return pattern[:, seen, seen - period + 1].mean().item()


earlier = [(i, h) for i in range(later_head[0]) for h in range(n_heads)]
after = {}
for pair in earlier:
    after[spoken([pair]) + (" (previous)" if pair in found["previous"] else "")] = later_score([pair])
after = dict(sorted(after.items(), key=lambda item: item[1])[:9])
before_it = [pair for pair in found["previous"] if pair[0] < later_head[0]]
together = {f"all {len(before_it)} previous": later_score(before_it)} if len(before_it) > 1 else {}
whole = later_score()

# %% key="composition-figure" tags=["demo"]
lowest = min(after | together, key=(after | together).get)
show.bars(
    {"none": whole} | after | together,
    title=f"Induction score of layer {later_head[0]}, head {later_head[1]}, without earlier heads",
    note=f"Most is lost without {lowest}: the score falls from {whole:.2f} to {(after | together)[lowest]:.2f}.",
    x_name="head taken away (layer.head)",
    y_name="induction score",
)

# %% [markdown] key="kinds-and-names"
# And the sentences about names? The giver's name comes a second time there. So heads that notice repetition may well be
# at work. Look the needed heads of section 4 up in the list:


# %% key="kinds-and-names-table" tags=["demo"]
def kinds_of(head):
    """The kinds that a head is found under, at half its weight or at a quarter."""
    strong = [kind for kind in KINDS if head in found[kind]]
    weak = [f"{kind} (weakly)" for kind in KINDS if head in close_by[kind] and head not in found[kind]]
    return ", ".join(strong + weak) or "none of the three"


rows = []
for place in most_needed:
    layer, head = divmod(place, n_heads)
    look = cache["pattern", layer][:, head]  # [batch query_pos key_pos]
    at_last, at_giver = look[:, LAST].mean(0).argmax(), look[: len(clean), GIVER].mean(0).argmax()
    numbers = [two(grid[layer, head]) for grid in (by_mean, by_head)]
    rows.append([f"{layer}.{head}", *numbers, kinds_of((layer, head)), places[at_last], places[at_giver]])
repeats = sum("duplicate" in row[3] or "induction" in row[3] for row in rows)
show.table(
    rows,
    ["head", "lost without it", "writes directly", "kind", "last position looks at", "giver looks at"],
    title="The heads that the sentences need most",
    note=f"Of these {len(rows)} heads, {repeats} notice repetition. The giver's looks are those of the clean texts, "
    "where its first mention is name 2.",
)

# %% [markdown] key="knock" terms="attention edge, knockout"
# ## 7 · Over which edge? Knocking out attention
#
# Patching showed *that* something moves, and between which layers. Along which path? All that moves goes over attention
# **edges**: from a source (the key's position) to a destination (the query's). To **knock out** an edge is to forbid
# the destination to look at the source, and nothing else.
#
# How? Look at one row of a pattern, three keys, the middle one forbidden. Two ways to forbid it:

# %% key="two-ways-to-forbid" tags=["demo"]
row_scores = tensor([1.0, 2.0, 0.0])
open_row = row_scores.softmax(-1)
forbidden = row_scores.masked_fill(tensor([False, True, False]), -torch.inf).softmax(-1)
blanked = open_row * tensor([1.0, 0.0, 1.0])
rows = {"nothing forbidden": open_row, "before the softmax": forbidden, "after the softmax": blanked}
show.table(
    [[name, *(f"{weight:.3f}" for weight in (*row, row.sum()))] for name, row in rows.items()],
    ["middle key forbidden", "key 0", "key 1", "key 2", "sum"],
    title="Forbidding a key, before the softmax or after it",
    note="Before it, the weight goes to the other keys. After it, the weight is lost, and the head writes less.",
)

# %% [markdown] key="knock-text"
# Only the first is a model that does not *see* the source. The second also shortens what the head writes, and then you
# measure two changes at once.

# %% [markdown] key="knock-out"
# ### Exercise 10.5 · Knock out an edge
#
# *difficulty 4 · 25 minutes · stuck?* `hint("10.5")`
#
# $$A^h_{ij} = \operatorname{softmax}_j\big(\tilde s^h_{ij}\big) \quad \text{with} \quad
# \tilde s^h_{\text{dst},\text{src}} = -\infty$$
#
# $\tilde s^h_{ij}$ is the masked score of query $i$ with key $j$ in head $h$. Remove the edge from `src` to `dst` (with
# src < dst) in all heads and all texts: position dst may not look at position src, and its weights on the other keys
# still sum to 1. All other rows stay. In one layer, or with `layer=None` in all of them. Return the logits, and leave
# no hook behind.


# %% key="knock-out-answer" exercise="10.5"
def knock_out(
    model,
    tokens: Int[Tensor, "batch pos"],
    src: int,
    dst: int,
    layer: int | None = None,
) -> Float[Tensor, "batch pos d_vocab"]:
    """The logits when position dst cannot look at position src, in one layer or in all.

    >>> moved = (knock_out(model, clean, 2, 5) - model(clean)).abs().amax((0, 2))  # for each position
    >>> (moved[:5] < 1e-3).all().item(), (moved[5] > 1e-3).item()
    (True, True)
    """

    # SOLUTION
    def cut(scores, hook):
        scores = scores.clone()  # [batch n_heads query_pos key_pos]
        scores[:, :, dst, src] = -torch.inf  # the row asks, the column is asked
        return scores

    layers = range(model.cfg.n_layers) if layer is None else [layer]  # layer 0 is a layer
    return model.run_with_hooks(tokens, fwd_hooks=[(f"blocks.{i}.attn.hook_attn_scores", cut) for i in layers])
    # END


# %% key="knock-out-grade"
grade(knock_out)

# %% [markdown] key="knock-out-why" solution="10.5"
# #### Why it works
#
# Information flows from source to destination, and the pattern is written the other way: its *row* is the one that
# looks. So the cell is (dst, src). Before the softmax, −∞ gives weight 0, and the softmax shares the rest by itself.
#
# **A second way**, right as well: set the pattern's cell to 0 and divide the row by its sum.
#
# **What the classic mistakes look like.** (src, dst) lies in the future, which the mask hides anyway: nothing changes,
# and one concludes that the edge does not matter. `if layer:` takes layer 0 for "all layers". And a pattern that is
# zeroed without dividing again shows an effect even for edges over which nothing flows.


# %% key="knock-out-second" solution="10.5"
def renormalized(model, tokens, src, dst, layer=None):
    def cut(pattern, hook):
        keep = torch.ones_like(pattern)
        keep[:, :, dst, src] = 0
        return pattern * keep / (pattern * keep).sum(-1, keepdim=True)

    names = [f"blocks.{i}.attn.hook_pattern" for i in range(model.cfg.n_layers) if layer in (None, i)]
    return model.run_with_hooks(tokens, fwd_hooks=[(name, cut) for name in names])


torch.allclose(renormalized(model, clean, 2, LAST), knock_out(model, clean, 2, LAST), atol=1e-3)


# %% key="examples-run" solution="10.5"
import doctest

doctest.testmod()  # the examples in the docstrings of all five exercises, run

# %% [markdown] key="predict-knock" tags=["predict"]
# **Predict.** In the clean sentences the answer is name 1; name 2 gives. Now the last position is forbidden to look at
# *one* earlier position, in all layers. Which one hurts the logit difference most: name 1 (the answer itself), name 2,
# or the giver (name 2, said again)?

# %% key="guess-knock" tags=["predict"]
my_guess = "?"  # name 1, name 2 or giver

# %% key="knocked" tags=["demo"]
knock = use(knock_out)
ways = [*range(n_layers), None]  # each layer alone, then all of them
way_names = [*layer_names, "all layers"]


def lost(src, dst, layer=None):
    """The share of the clean sentences' logit difference that is lost without this edge."""
    return 1 - toward_first(knock(model, clean, src, dst, layer)) / d_clean


from_last = tensor([[lost(src, LAST, layer) for src in range(LAST)] for layer in ways])  # [way pos]
show.matrix(
    tidy(from_last),
    rows=way_names,
    columns=places[:LAST],
    numbers_in_cells=True,
    title="The last position may not look at one other position",
    note=f"The share of the logit difference that is lost; more than 1 turns the answer over. In all layers the "
    f"costliest is {places[from_last[-1].argmax()]}: {from_last[-1].max():.2f}.",
    row_name="knocked out in",
    column_name="position that it may not look at",
    value_name="share lost",
)

# %% [markdown] key="why-knock"
# <details><summary>How to read it</summary>
#
# A high share under *name 1* says that the last position fetches the answer's name there. Under *giver* it says that it
# needs something that the giver's place has found out. A share that is higher in "all layers" than in any single layer
# says that the look can be made in more than one layer. A negative share says that the edge works *against* the answer:
# without it the model is surer.
#
# </details>
#
# And what has the giver's place found out? It stands where a name is said again. So forbid *it* to look back:

# %% key="knocked-giver" tags=["demo"]
from_giver = tensor([[lost(src, GIVER, layer) for src in range(GIVER)] for layer in ways])  # [way pos]
show.matrix(
    tidy(from_giver),
    rows=way_names,
    columns=places[:GIVER],
    numbers_in_cells=True,
    title="The giver's place may not look at one other position",
    note=f"The same share. In all layers the costliest is {places[from_giver[-1].argmax()]}: "
    f"{from_giver[-1].max():.2f}. Without name 2, its own first mention, the share lost is "
    f"{written(from_giver[-1, NAME_2])}.",
    row_name="knocked out in",
    column_name="position that it may not look at",
    value_name="share lost",
)

# %% [markdown] key="why-giver"
# <details><summary>Two ways to be surprised</summary>
#
# *The costliest place may be a word that says nothing about names*, a comma say. Then the look does not fetch *who*. It
# fetches *where I am*: "I stand after the comma, so I am the one who does something". Later heads find the giver by
# that mark.
#
# *The edge to its first mention may cost nothing*, though the giver surely has to notice that its name came before. One
# edge is not the only path. Another position may have met the first mention and passed it on, or another head may look
# one token further. A knockout shows that an edge is *needed*, never that it is not used.
#
# </details>

# %% [markdown] key="other-forms-text"
# ## 8 · Does it hold elsewhere?
#
# All so far was measured on four sentences of one form and their twins. An explanation made from a few sentences may
# fit them by chance. So test it on others: all the forms that the pocket model's world has for this, new names, new
# places. The positions differ from form to form, so the edges are looked up in each sentence.

# %% key="other-forms" tags=["demo"]
fresh = probes("indirect_object", 11, 16)
EDGES = {"none": None, "the answer": "answer", "the giver, first time": "first", "the giver, second time": "again"}


def difference_without(probe, edge):
    """The logit difference of one sentence when its last position may not look at one place."""
    ids = model.to_tokens(probe.prompt)  # [1 pos]
    right_id, giver_id = model.to_single_token(probe.answer), model.to_single_token(probe.wrong[0])
    givers = (ids[0] == giver_id).nonzero()[:, 0].tolist()
    at = {"answer": (ids[0] == right_id).nonzero()[0, 0].item(), "first": givers[0], "again": givers[-1]}
    logits = model(ids) if edge is None else knock(model, ids, at[edge], ids.shape[1] - 1)
    return (logits[0, -1, right_id] - logits[0, -1, giver_id]).item()


measured = {name: tensor([difference_without(probe, edge) for probe in fresh]) for name, edge in EDGES.items()}

# %% key="other-forms-figure" tags=["demo"]
forms = len({probe.facts["form"] for probe in fresh})
fresh_full = measured["none"].mean()
costliest = min(list(measured)[1:], key=lambda name: measured[name].mean().item())
show.table(
    [[name, two(d.mean()), f"{(d > 0).sum()} of {len(fresh)}"] for name, d in measured.items()],
    ["the last position may not look at", "logit difference", "right"],
    title=f"{len(fresh)} fresh sentences of {forms} forms",
    note=f"The costliest place here is {costliest}. On the first form it was {places[from_last[-1].argmax()]} (the "
    "answer is name 1).",
)

# %% [markdown] key="answer"
# ## 9 · Back to the question
#
# How does the model know who gets the book? Put the pieces together as claims, each with the number that speaks for it
# and a bar that was fixed before: a share of 0.25. A claim below its bar does not hold *for this model*. That is a
# result, too.

# %% key="claims" tags=["demo"]
shares = {kind: total / full for kind, total in sums.items()}
struck = (-effects[:, 1].sum() / (effects[:, 0] - effects[:, 1]).sum()).item()
kept = {name: 1 - (d.mean() / fresh_full).item() for name, d in measured.items()}
claims = [
    ("attention writes it directly", "attribution", shares["attention"]),
    ("MLPs write it directly", "attribution", shares["MLPs"]),
    ("one head alone writes much of it", "attribution", by_head.max().item() / full),
    ("the top heads strike out the giver", "attribution", struck),
    ("one head alone is needed for it", "ablation (mean)", by_mean.max().item() / full),
    ("attention brings it to the last position", "patching", part_maps[0, :, -1].max().item()),
    (f"the giver looks at: {places[from_giver[-1].argmax()]}", "knockout", from_giver[-1].max().item()),
    ("the giver looks at its first mention", "knockout", from_giver[-1, NAME_2].item()),
    ("the last position looks at the answer", "knockout", from_last[-1, NAME_1].item()),
    ("the last position looks at the giver", "knockout", from_last[-1, GIVER].item()),
    ("other forms: it looks at the answer", "knockout", kept["the answer"]),
    ("other forms: it looks at the giver", "knockout", kept["the giver, second time"]),
]

# %% key="claims-table" tags=["demo"]
holds = [share >= 0.25 for _, _, share in claims]
show.table(
    [[claim, tool, two(share)] for claim, tool, share in claims],
    ["claim", "tool", "share"],
    verdicts=holds,
    verdict_name="holds",
    title="How the model knows who receives",
    note=f"{sum(holds)} of {len(holds)} claims hold, with at least a quarter of the whole effect.",
)

# %% [markdown] key="answer-text" terms="circuit"
# Read the rows with a ✓ and you have the mechanism, as far as these tools see it: what the giver's place finds out,
# what the last position looks at, what is written, and whether the answer is *said* or the giver *struck out*. **A set
# of parts that together explain a behavior is called a circuit.** That of GPT-2 small for these sentences has 26 heads
# in seven groups (Wang et al. 2022): some notice the doubled name, others tell the last position what *not* to look at,
# and name movers copy what is left. The pocket model has fewer heads and a simpler world, and may do it in its own way:
# the table says so. (A share above 1 turned the answer over. For the striking out it is the giver's share of what the
# six heads of section 3 do; for all others it is a share of the whole logit difference.)

# %% [markdown] key="answer-tools"
# And what did *you* do? You asked one question with five tools. Keep their limits in mind:
#
# | tool | says | does not say |
# |---|---|---|
# | attribution | who writes the answer, in the last step | who told them; whether they are needed |
# | ablation | without whom it fails | what they pass on; blind where others step in |
# | patching | where the *differing* fact is held, layer by layer | anything that the twins have in common |
# | finding heads | what a head looks at on a test text | whether anyone uses it |
# | knockout | over which edge it flows | what flows there |

# %% [markdown] key="summary"
# ## Summary
#
# Say it in your own words first, then compare.
#
# - Begin with a **pair of texts** that differ in one thing and **one number** to explain: the logit difference.
# - The stream is a sum and the unembedding is linear, so with the final scale held fixed the logit difference is a sum
#   over components. **Check that it adds up.**
# - **Ablate** with the mean to remove what a head says about this text; with zero you also remove what it always says.
# - A head's direct term and what is lost without it differ, because everything after the head reacts.
# - **Patch** clean into corrupt to see where the differing fact is: it starts at the token that differs and ends at the
#   last position. Between the two, attention has carried it.
# - **Find** heads on random tokens that come twice, then test that the head is used.
# - **Knock out** an edge before the softmax, so that the row still sums to 1.
# - Test the explanation on texts that it was not made from.

# %% [markdown] key="self-test"
# ## Test yourself
#
# **1.** A head's direct logit attribution is zero, and the model fails without it. How can both be true?
#
# <details><summary>Answer</summary>
#
# It writes something that *other* heads read: where to look, or what stands before. At the last position, in the
# direction of the two names, there is nothing of it. Attribution counts the straight path only, ablation counts all
# paths.
#
# </details>
#
# **2.** You patch the stream before block 2 at the last position and restore 1.0. Does that mean that blocks 0 and 1 do
# all the work?
#
# <details><summary>Answer</summary>
#
# No. It means that after block 1 the last position holds all that *differs* between the twins. What is common to both,
# say the two names that were said, is in the corrupt run anyway, at other positions too, and later blocks may still
# fetch it.
#
# </details>
#
# **3.** Someone knocks out an edge by zeroing the pattern after the softmax and finds that every edge matters a little,
# even that from BOS. What do you suspect?
#
# <details><summary>Answer</summary>
#
# The row no longer sums to 1, so the head writes less, whatever the edge carried. The effect grows with the *weight* of
# the edge, not with what flows over it. Forbid the key before the softmax, or divide by the sum that is left.
#
# </details>

# %% [markdown] key="glossary" covers="N21"
# ## Words met
#
# | term | meaning |
# |---|---|
# | mechanism, circuit | how a behavior comes about; the set of parts that together explain it |
# | clean, corrupt | a text and its twin that differs in one thing |
# | logit difference | logit of the answer minus logit of a wrong token; the log of the ratio of their probabilities |
# | component | one term of the sum that is the stream: an embedding, a layer's or a head's output |
# | direct logit attribution | what each component adds to a logit difference by itself, final scale held fixed |
# | final scale | the spread by which the final LayerNorm divides |
# | hook | a named place in the model; also the function put there, which may replace an activation |
# | ablation: zero, mean | running without a part; with zeros, or with its average, in its place |
# | self-repair | later parts make up for one that was removed |
# | activation patching | one run with an activation of another put in |
# | restored | the share of the clean answer that a patch gives back |
# | previous-token, duplicate-token, induction head | looks at the token before; at an earlier copy; at what followed |
# | name mover | a head that looks at a name and raises that name's logit |
# | redundancy | several parts do the same work, so that each alone is hardly missed |
# | composition | a head works on what an earlier head has written |
# | attention edge, knockout | one position's look at another, in a layer; forbidding it |

# %% [markdown] key="read-on"
# ## Where to read on
#
# - Wang, Variengien, Conmy, Shlegeris and Steinhardt, *Interpretability in the Wild: a Circuit for Indirect Object
#   Identification in GPT-2 small* (2022): these sentences, on the real model, to the end.
# - Meng, Bau, Andonian and Belinkov, *Locating and Editing Factual Associations in GPT* (2022): patching, there called
#   causal tracing, used to find where a fact is held.
# - Geva, Bastings, Filippova and Globerson, *Dissecting Recall of Factual Associations in Auto-Regressive Language
#   Models* (2023): attention knockout.
# - Olsson et al., *In-context Learning and Induction Heads* (2022), and Elhage et al., *A Mathematical Framework for
#   Transformer Circuits* (2021): the kinds of heads, and composition.
# - McGrath, Rahtz, Kramár, Mikulik and Legg, *The Hydra Effect: Emergent Self-repair in Language Model Computations*
#   (2023): what happens after an ablation.
# - Zhang and Nanda, *Towards Best Practices of Activation Patching in Language Models: Metrics and Methods* (2023): how
#   the choice of corruption and measure changes what a patch says.
#
# Next, [chapter 11](11_modern.ipynb): the models of today. Four parts of GPT-2 are exchanged there, and all the
# tools of this chapter still work.
