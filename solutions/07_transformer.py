# Chapter 07, the whole transformer: the one source of its notebooks in chapters/ and solutions/ (`book build 07`).
# Whatever is said about the model's numbers is computed in the cell that shows it, so that the text stays true on
# another reference. Tables that say whose piece computed a row depend on the notebooks that lie beside this one.

# %% [markdown] key="title"
# # The whole transformer: from token ids to a loss
#
# You have all the parts. Embeddings, LayerNorm, attention, MLP: each of them gave GPT-2's own numbers. What is left is
# to put them together, a few lines of code. This chapter is about those lines, and about a question that comes with
# every model that anybody puts together: **is it right?**
#
# At the end stands a class, `GPT2`, that is yours from the token ids to the logits. The same class, unchanged, holds
# the pocket model and the 124 million numbers of GPT-2 small.

# %% [markdown] key="what-you-will-do"
# ## What you will be able to do
#
# - **Build** a transformer block, and a whole GPT-2 of any size, with parameters under the names that others use.
# - **Load** weights so strictly that nothing which does not fit goes unnoticed.
# - **Name** every activation of GPT-2 with its shape, and **find** a wrong line by comparing them one by one.
# - **Read** logits: which position predicts which token, with what probability, and how surprised the model was.
# - **Compute** the one number that a language model is trained on, and say what it means.
#
# **Builds on** 03 (embeddings and the stream), 04 (LayerNorm), 05 (attention), 06 (MLPs). **Time**: two and a half
# hours, best in two sittings.
#
# | exercise | you write | difficulty (1–5) | minutes |
# |---|---|---|---|
# | 07.1 | `transformer_block`: attention, then MLP | 3 | 15 |
# | 07.2 | `GPT2`: the whole model as a class | 4 | 30 |
# | 07.3 | `load_weights`: all or nothing | 3 | 15 |
# | 07.4 | `next_token_probs`: what comes after the text | 1 | 5 |
# | 07.5 | `token_log_probs`: what each token was given | 3 | 15 |
# | 07.6 | `lm_loss`: the number that is trained on | 2 | 10 |
# | 07.7 | `hook_shapes`: every activation's shape | 2 | 15 |
#
# They are solved in the order in which they come: 07.7 has its place after 07.3. `hint("07.1")` gives a hint, and a
# stronger one each time you ask. You may skip an exercise: later cells use the book's version where yours is missing.

# %% key="setup"
import contextlib
import json
import math
import re
from itertools import islice
from pathlib import Path
from types import SimpleNamespace

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn, tensor

from utils import grade, hint, reference, show, use
from utils.pocket.world import lexicon, stories

model = reference(device="cpu")  # the pocket model; it needs no accelerator
rng = torch.Generator().manual_seed(7)  # every random number of this chapter comes from here
n_layers, eps = model.cfg.n_layers, model.cfg.eps

# %% [markdown] key="which-model"
# The model is the book's **pocket model**, with 4 blocks and a stream of 256 numbers. All that you build fits GPT-2
# small as well, and section 9 shows it. What the model predicts, and how well, is a fact about one trained model:
# it is computed wherever it is said. To see GPT-2's own predictions, run `book reference gpt2` once in a terminal,
# write `model = reference("gpt2", device="cpu")` in the cell above, and run the chapter again.

# %% [markdown] key="question"
# ## 1 · Four models
#
# Four people have put the model together, each with the same weights. One of them made no mistake. The other three
# have one wrong line each. (The lines stand in the next cell. It is more fun not to read it yet.)


# %% key="four-models" tags=["demo"]
def slip_a(scores, hook):
    return scores * model.cfg.d_head**0.5


def slip_c(out, hook):
    return (out - model.ln_final.b) / model.ln_final.w


def slip_d(places, hook):
    return places.roll(1, dims=1)  # [batch pos d_model], and pos is axis 1


FOUR = {
    "A": [(f"blocks.{i}.attn.hook_attn_scores", slip_a) for i in range(n_layers)],
    "B": [],
    "C": [("ln_final.hook_out", slip_c)],
    "D": [("hook_pos_embed", slip_d)],
}

# %% key="four-answers" tags=["demo"]
story = 'Anna had a white kitten. One morning it climbed a tall tree and was stuck. "Come down!" called Anna, but the'


def likeliest(logits, k=3):
    """The k likeliest tokens after the text, each with its probability."""
    best = logits[0, -1].softmax(-1).topk(k)  # [k]
    return [f"{model.to_string(i)!r} {p:.2f}" for i, p in zip(best.indices, best.values, strict=True)]


logits_of = {name: model.run_with_hooks(story, fwd_hooks=hooks) for name, hooks in FOUR.items()}
show.table(
    [[name, str(tuple(logits.shape)), *likeliest(logits)] for name, logits in logits_of.items()],
    ["model", "shape of the logits", "likeliest next token", "second", "third"],
    title="What comes next after '… but the'?",
    note="All four run without an error, and all shapes are right. One of them is the model.",
)

# %% [markdown] key="predict-which" tags=["predict"]
# **Predict.** Which of the four is right? Write down your guess, and how sure you are of it, in percent. Section 10
# has the answer.

# %% key="guess-which" tags=["predict"]
which_is_right = "?"  # A, B, C or D

# %% [markdown] key="question-asked"
# A shape that fits proves nothing, and a sentence that sounds right proves little. That is the question of this
# chapter: **how do you know that a model is right, and if it is not, how do you find the line?** Reading the output
# will not do. You will need two things: a number that says how good a model's predictions are, and a way to look
# inside, value by value.

# %% [markdown] key="plan" covers="N12" terms="block, sublayer"
# ## 2 · The plan
#
# Here is all of GPT-2. The stream starts as embedding plus position, then come $k$ **blocks**. Each block is attention
# and then an MLP, its two **sublayers**: a model of $k$ blocks has $2k$ of them, and each reads the stream through a
# LayerNorm of its own and adds to the stream. At the end one more LayerNorm, and the unembedding.
#
# $$
# x^0_i = W_E[t_i] + W_\text{pos}[i]
# \qquad
# m^b = x^b + \text{attn}_b\big(\text{ln1}_b(x^b)\big)
# \qquad
# x^{b+1} = m^b + \text{mlp}_b\big(\text{ln2}_b(m^b)\big)
# $$
#
# $$\text{logits}_i = \text{ln}_\text{final}(x^k_i)\, W_E^\top$$
#
# | symbol | in words | name in the model |
# |---|---|---|
# | $t_i$ | the token id at position $i$ | |
# | $W_E$, $W_\text{pos}$ | the tables of tokens and of positions | `embed.W_E`, `pos_embed.W_pos` |
# | $x^b$, $x^{b+1}$ | the stream before and after block $b$ | `hook_resid_pre`, `hook_resid_post` |
# | $m^b$ | the stream between its two sublayers | `hook_resid_mid` |
# | ln1, ln2, ln_final | LayerNorms, each with its own gain and bias | `ln1`, `ln2`, `ln_final` |
# | $W_E^\top$ | the table of tokens again, transposed: the unembedding is tied to it | |

# %% key="plan-drawn" tags=["demo"]
shown = min(n_layers, 4)
sublayers = [
    (f"block {i}: {name}", f"reads the stream through {norm}, adds to it")
    for i in range(shown)
    for name, norm in (("attention", "ln1"), ("MLP", "ln2"))
]
more = "" if shown == n_layers else f", of which the first {shown} are drawn"

show.stream(
    sublayers,
    start=("token ids → embedding + position", "d_model numbers at each position"),
    end=("ln_final → unembedding", "d_vocab logits at each position"),
    title="The whole model",
    note=f"{n_layers} blocks{more}, so 2 · {n_layers} = {2 * n_layers} sublayers. GPT-2 small has 12 blocks: 24.",
)

# %% [markdown] key="pieces-text"
# ### Your pieces
#
# You wrote most of this in chapters 03 to 06. The next cells look for the notebooks of those chapters beside this one,
# as you last saved them, and take from each what you have written. Every piece is graded again. Where yours is
# missing, or not right yet, the book's stands in.

# %% key="pieces-found" tags=["demo"]
PIECES = {
    "03": {"embed": "03.1", "pos_embed": "03.2", "initial_residual": "03.3", "tied_unembed": "03.7"},
    "04": {"ln_scale": "04.1", "ln_normalize": "04.2", "layer_norm": "04.3"},
    "05": {"project_heads": "05.1", "attention_scores": "05.2", "attention_pattern": "05.4", "mix_values": "05.5"}
    | {"attention_out": "05.6", "attention": "05.7"},
    "06": {"gelu_new": "06.1", "mlp_pre": "06.2", "mlp": "06.3"},
}
IMPORT = re.compile(r"^(?:import|from) .+$", re.MULTILINE)
DEFINED = re.compile(r"^(?:def|class) (\w+)", re.MULTILINE)


def written_in(chapter):
    """What the exercise cells of your notebook of `chapter` define: {name: function}."""
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


# %% key="pieces" tags=["demo", "nbval-ignore-output"]
pieces, owner = SimpleNamespace(), {}  # owner: "you" where the piece is yours
for chapter, ids_of in PIECES.items():
    yours = written_in(chapter)
    for name, exercise_id in ids_of.items():
        passed = name in yours and grade(yours[name], exercise_id).passed
        owner[name] = "you" if passed else "the book"
        with contextlib.redirect_stdout(None):  # the table says whose it is
            setattr(pieces, name, use(yours.get(name), exercise_id))

# What is there differs from reader to reader, so this table is never compared with the stored one.
show.table(
    [[name, exercise_id, owner[name]] for ids_of in PIECES.values() for name, exercise_id in ids_of.items()],
    ["piece", "exercise", "written by"],
    verdicts=[True if by == "you" else None for by in owner.values()],
    verdict_name="yours",
    title="The pieces of the model",
    note="Save a chapter's notebook and run this cell again to bring in what is new.",
)

# %% [markdown] key="block-text" terms="pre-norm"
# ## 3 · A block
#
# From here on `layer_norm`, `attention`, `mlp`, `initial_residual` and `tied_unembed` are at hand, whoever wrote them.
# A block is three of them, one of these twice, and two additions. First with numbers that you can follow: one
# position, a stream of two numbers, (1, 2). Suppose that attention writes (10, 0) and the MLP writes (0, 5), whatever
# they read.

# %% key="block-by-hand" tags=["demo"]
initial_residual, tied_unembed = pieces.initial_residual, pieces.tied_unembed
layer_norm, attention, mlp = pieces.layer_norm, pieces.attention, pieces.mlp

resid_pre = tensor([1.0, 2.0])  # [d_model]
attn_out = tensor([10.0, 0.0])  # whatever attention made of layer_norm(resid_pre)
resid_mid = resid_pre + attn_out
mlp_out = tensor([0.0, 5.0])  # whatever the MLP made of layer_norm(resid_mid)
steps = {
    "resid_pre": resid_pre,
    "attention reads ln1(resid_pre)": layer_norm(resid_pre, torch.ones(2), torch.zeros(2), eps),
    "attention writes": attn_out,
    "resid_mid": resid_mid,
    "the MLP reads ln2(resid_mid)": layer_norm(resid_mid, torch.ones(2), torch.zeros(2), eps),
    "the MLP writes": mlp_out,
    "resid_post": resid_mid + mlp_out,
}
show.table(
    [[name, *row.round(decimals=2)] for name, row in steps.items()],
    ["step", "first number", "second number"],
    title="One position through a block",
    note="What is read is normalized; what is added to is not. The MLP sees what attention has done.",
)

# %% [markdown] key="block-order"
# Three things are easy to get wrong, and each gives a tensor of the right shape:
#
# - The norm stands on the way *to* a sublayer; the stream itself is never normalized. This is called **pre-norm**. The
#   transformer of 2017 had it the other way round, with the norm after the sum.
# - The MLP reads the stream *after* attention has written. (In some later models both read the same stream, side by
#   side. GPT-2 is not one of them.)
# - ln1 and ln2 are two norms, with gains and biases of their own.
#
# A block's weights come as a dict by TransformerLens's names, `"ln1.w"` to `"mlp.b_out"`, with the number `"eps"`.


# %% key="block-parts" tags=["demo"]
def block_parts(cfg):
    """The parameters of one block: {part: {name: shape}}."""
    m, h, d, hidden = cfg.d_model, cfg.n_heads, cfg.d_head, cfg.d_mlp
    reads = {f"W_{letter}": (h, m, d) for letter in "QKV"} | {f"b_{letter}": (h, d) for letter in "QKV"}
    return {
        "ln1": {"w": (m,), "b": (m,)},
        "attn": reads | {"W_O": (h, d, m), "b_O": (m,)},
        "ln2": {"w": (m,), "b": (m,)},
        "mlp": {"W_in": (m, hidden), "b_in": (hidden,), "W_out": (hidden, m), "b_out": (m,)},
    }


shapes_in = {f"{part}.{name}": shape for part, names in block_parts(model.cfg).items() for name, shape in names.items()}
show.table(
    [[name, str(shape), f"{math.prod(shape):,}"] for name, shape in shapes_in.items()],
    ["name in a block", "shape", "numbers"],
    title="The parameters of one block",
    note=f"{len(shapes_in)} tensors, {sum(map(math.prod, shapes_in.values())):,} numbers in each block of this model.",
)

# %% [markdown] key="transformer-block" covers="N12"
# ### Exercise 07.1 · A transformer block
#
# *difficulty 3 · 15 minutes · stuck?* `hint("07.1")`
#
# $$m = x + \text{attn}\big(\text{ln1}(x)\big) \qquad y = m + \text{mlp}\big(\text{ln2}(m)\big)$$
#
# $x$ is the stream before the block, $m$ in its middle, $y$ after it. The functions take their weights one by one:
# `layer_norm(x, w, b, eps)`, `attention(x, W_Q, b_Q, W_K, b_K, W_V, b_V, W_O, b_O)`, `mlp(x, W_in, b_in, W_out,
# b_out)`. Make new tensors; the stream that came in stays as it is.


# %% key="transformer-block-answer" exercise="07.1" covers="N12"
def transformer_block(
    resid: Float[Tensor, "batch pos d_model"],
    block: dict[str, Tensor | float],
) -> Float[Tensor, "batch pos d_model"]:
    """The stream after a block: attention and then the MLP, each reads a normed copy and adds its output.

    >>> cfg = SimpleNamespace(d_model=2, n_heads=1, d_head=2, d_mlp=8)
    >>> shapes = {f"{part}.{name}": s for part, names in block_parts(cfg).items() for name, s in names.items()}
    >>> block = {name: torch.zeros(shape) for name, shape in shapes.items()} | {"eps": 1e-5}
    >>> block |= {"attn.b_O": tensor([10.0, 0.0]), "mlp.b_out": tensor([0.0, 5.0])}  # all that they write
    >>> transformer_block(tensor([[[1.0, 2.0]]]), block).tolist()
    [[[11.0, 7.0]]]
    """
    # SOLUTION
    normed = layer_norm(resid, block["ln1.w"], block["ln1.b"], block["eps"])
    attn_weights = [block[f"attn.{letter}_{name}"] for name in "QKVO" for letter in "Wb"]
    resid_mid = resid + attention(normed, *attn_weights)  # + and not +=: the caller keeps its stream
    normed = layer_norm(resid_mid, block["ln2.w"], block["ln2.b"], block["eps"])
    return resid_mid + mlp(normed, *(block[f"mlp.{name}"] for name in ("W_in", "b_in", "W_out", "b_out")))
    # END


# %% key="transformer-block-grade"
grade(transformer_block)

# %% [markdown] key="transformer-block-why" solution="07.1"
# #### Why it works
#
# Each sublayer is one line of the same form: stream = stream + sublayer(norm(stream)). The sum takes the stream as it
# was before the norm, so an embedding written at the bottom arrives at the top unscaled, with everything else added.
#
# **A second way** is a function for that form, used twice (next cell).
#
# **What the classic mistakes look like.** `normed + attention(normed)` loses the stream's length: every block starts
# again with numbers of size 1, and what earlier blocks have written counts for less than it should. The MLP reading
# `resid` is the parallel block of later models: it runs, all shapes are right, and only a comparison shows it. With
# `resid += …` the result is right and the caller's tensor is ruined; in training, autograd may stop with an error
# about a tensor that was changed in place.


# %% key="transformer-block-second" solution="07.1"
from utils.grading import check


def with_sublayers(resid, block):
    """The same, with the form of a sublayer written once."""
    heads = [block[f"attn.{kind}_{letter}"] for letter in "QKVO" for kind in "Wb"]
    neurons = [block[f"mlp.{name}"] for name in block_parts(model.cfg)["mlp"]]
    for norm, work, weights in (("ln1", attention, heads), ("ln2", mlp, neurons)):
        normed = layer_norm(resid, block[f"{norm}.w"], block[f"{norm}.b"], block["eps"])
        resid = resid + work(normed, *weights)
    return resid


check("07.1", with_sublayers)


# %% key="transformer-block-mistake" solution="07.1"
def side_by_side(resid, block):
    """The classic mistake: the MLP reads the stream from before attention."""
    heads = [block[f"attn.{kind}_{letter}"] for letter in "QKVO" for kind in "Wb"]
    neurons = [block[f"mlp.{name}"] for name in block_parts(model.cfg)["mlp"]]
    attn_out = attention(layer_norm(resid, block["ln1.w"], block["ln1.b"], block["eps"]), *heads)
    mlp_out = mlp(layer_norm(resid, block["ln2.w"], block["ln2.b"], block["eps"]), *neurons)
    return resid + attn_out + mlp_out


check("07.1", side_by_side)

# %% [markdown] key="block-use-text"
# **Use it** on the model's own stream: each block of the model in turn, with what your function makes of it.


# %% key="weights-by-name" tags=["demo"]
def weights_of(model):
    """All of a reference model's weights by TransformerLens's names."""
    found = {"embed.W_E": model.W_E, "pos_embed.W_pos": model.W_pos}
    for i, block in enumerate(model.blocks):
        for part, names in block_parts(model.cfg).items():
            found |= {f"blocks.{i}.{part}.{name}": getattr(getattr(block, part), name) for name in names}
    found |= {"ln_final.w": model.ln_final.w, "ln_final.b": model.ln_final.b}
    return {name: value.detach() for name, value in found.items()}


def block_of(weights, i, eps):
    """The weights of block i, as transformer_block takes them."""
    start = f"blocks.{i}."
    mine = {name.removeprefix(start): value for name, value in weights.items() if name.startswith(start)}
    return mine | {"eps": eps}


weights = weights_of(model)
numbers = sum(value.numel() for value in weights.values())
print(f"{len(weights)} tensors with {numbers:,} numbers; the last names: {', '.join(list(weights)[-3:])}")

# %% key="block-used" tags=["demo"]
SAME = 1e-4  # of the largest number: far above rounding in float32, far below any mistake
ids = model.to_tokens(story)  # [batch pos]
_, cache = model.run_with_cache(ids)
the_block = use(transformer_block)


def difference(name, found, wanted):
    """The largest difference as a share of the largest number; cells behind the mask are left out."""
    if name.endswith("attn_scores"):
        found, wanted = found.tril(), wanted.tril()
    return ((found - wanted).abs().max() / wanted.abs().max()).item()


after = [the_block(cache["resid_pre", i], block_of(weights, i, eps)) for i in range(n_layers)]
gaps = [difference("resid_post", after[i], cache["resid_post", i]) for i in range(n_layers)]
show.table(
    [[f"block {i}", str(tuple(after[i].shape))] for i in range(n_layers)],
    ["from hook_resid_pre to hook_resid_post", "shape"],
    verdicts=[gap < SAME for gap in gaps],
    title="Your block in the place of each of the model's",
    note=f"{sum(gap < SAME for gap in gaps)} of {n_layers} agree with the model's own stream after the block.",
)

# %% [markdown] key="sublayers-text"
# How much does each of the $2k$ sublayers write? Here is the length of its output beside the length of the stream that
# it is added to, averaged over the story's tokens (BOS left out, because it is special, as chapter 05 showed).


# %% key="sublayers-write" tags=["demo"]
def share(out, before):
    """The mean over positions of the length of `out` ÷ the length of the stream before it."""
    return (cache[out][0, 1:].norm(dim=-1) / cache[before][0, 1:].norm(dim=-1)).mean().item()


written = {
    f"block {i}": [
        share(f"blocks.{i}.hook_attn_out", f"blocks.{i}.hook_resid_pre"),
        share(f"blocks.{i}.hook_mlp_out", f"blocks.{i}.hook_resid_mid"),
    ]
    for i in range(n_layers)
}
largest = max(written, key=lambda name: max(written[name]))
show.bars(
    written,
    series=["attention", "MLP"],
    title="How much each sublayer writes, compared with the stream",
    note=f"The largest share is in {largest}. The first block writes onto bare embeddings.",
    x_name="block",
    y_name="length of output ÷ length of stream",
)

# %% [markdown] key="model-text" terms="parameter, module"
# ## 4 · The model
#
# Now all of it in one class. Its **parameters**, the numbers that training changes, carry TransformerLens's names, so
# that anybody's weights can be loaded. (Activations, on the other hand, are made anew for every text.) In PyTorch the
# name of a parameter is the way to it: `self.embed.W_E` is called `embed.W_E` if `self.embed` is a **module** with a
# parameter `W_E`. An `nn.ModuleList` numbers what it holds, an `nn.ModuleDict` names it. Here is a module that holds
# parameters and does nothing else:


# %% key="box" tags=["demo"]
class Box(nn.Module):
    """Parameters under given names: gains (w) start at 1, biases (b…) at 0, all else at random with spread 0.02."""

    def __init__(self, **shapes):
        super().__init__()
        for name, shape in shapes.items():
            start = torch.ones(shape) if name == "w" else torch.zeros(shape)
            if not name.startswith(("w", "b")):
                start = 0.02 * torch.randn(shape, generator=rng)
            self.register_parameter(name, nn.Parameter(start))


house = nn.Module()
house.kitchen = nn.ModuleDict({"shelf": Box(w=(4,), b=(4,)), "table": Box(W_top=(2, 3))})
house.rooms = nn.ModuleList([Box(b=(5,)), Box(b=(5,))])
show.table(
    [[name, str(tuple(parameter.shape))] for name, parameter in house.named_parameters()],
    ["name", "shape"],
    title="A house of boxes",
    note="The name is the way: from module to module, and at last the parameter.",
)

# %% [markdown] key="gpt2" covers="N2, N6, N12"
# ### Exercise 07.2 · GPT-2
#
# *difficulty 4 · 30 minutes · stuck?* `hint("07.2")`
#
# $$
# x^0 = W_E[t] + W_\text{pos} \qquad x^{b+1} = \text{block}_b(x^b) \qquad
# \text{logits} = \text{ln}_\text{final}(x^k)\,W_E^\top
# $$
#
# In: ids $t$ [batch pos]. Out: logits [batch pos d_vocab]; those at position $i$ are the prediction of the token at
# $i + 1$, so a text of $n$ tokens gives $n$ predictions. The parameters:
#
# | name | shape |
# |---|---|
# | `embed.W_E` | [d_vocab d_model] |
# | `pos_embed.W_pos` | [n_ctx d_model] |
# | `blocks.0.ln1.w` … `blocks.{n_layers-1}.mlp.b_out` | as `block_parts(cfg)` says |
# | `ln_final.w`, `ln_final.b` | [d_model] each |
#
# The unembedding is $W_E^\top$ and has none of its own. `cfg` has the fields `d_model`, `n_layers`, `n_heads`,
# `d_head`, `d_mlp`, `d_vocab`, `n_ctx`, `eps`. At hand: `Box`, `block_parts`, `initial_residual(tokens, W_E, W_pos)`,
# your block (`use(transformer_block)` where you skipped it), `layer_norm`, `tied_unembed(resid, W_E)`. A module's
# own parameters by name: `dict(module.named_parameters())`.


# %% key="gpt2-answer" exercise="07.2" covers="N2, N6, N12"
class GPT2(nn.Module):
    """Embed, k blocks, the final norm, unembed.

    >>> sizes = dict(d_model=4, n_layers=2, n_heads=2, d_head=2, d_mlp=16, d_vocab=10, n_ctx=8)
    >>> tiny = GPT2(SimpleNamespace(**sizes, eps=1e-5))
    >>> len(list(tiny.parameters())), tiny.blocks[1].mlp.W_in.shape
    (36, torch.Size([4, 16]))
    >>> tiny(tensor([[1, 2, 3]])).shape  # one text of three tokens: three predictions
    torch.Size([1, 3, 10])
    """

    def __init__(self, cfg):
        super().__init__()
        self.cfg = cfg
        # SOLUTION
        self.embed = Box(W_E=(cfg.d_vocab, cfg.d_model))
        self.pos_embed = Box(W_pos=(cfg.n_ctx, cfg.d_model))
        # Inside the loop: every block gets boxes of its own.
        self.blocks = nn.ModuleList(
            nn.ModuleDict({part: Box(**shapes) for part, shapes in block_parts(cfg).items()})
            for _ in range(cfg.n_layers)
        )
        self.ln_final = Box(w=(cfg.d_model,), b=(cfg.d_model,))
        # END

    def forward(self, tokens: Int[Tensor, "batch pos"]) -> Float[Tensor, "batch pos d_vocab"]:
        # SOLUTION
        resid = initial_residual(tokens, self.embed.W_E, self.pos_embed.W_pos)  # [batch pos d_model]
        for block in self.blocks:
            resid = transformer_block(resid, {**dict(block.named_parameters()), "eps": self.cfg.eps})
        resid = layer_norm(resid, self.ln_final.w, self.ln_final.b, self.cfg.eps)
        return tied_unembed(resid, self.embed.W_E)  # [batch pos d_vocab]
        # END


# %% key="gpt2-grade"
grade(GPT2)

# %% [markdown] key="gpt2-why" solution="07.2"
# #### Why it works
#
# `__init__` says what there is, `forward` says what is done. The loop in `forward` is the whole depth of the model:
# the stream goes in, comes out with two outputs added, and goes into the next.
#
# **A second way** gives each part a `forward` of its own (a `Block(nn.Module)` with `forward(resid)`), as most libraries
# have it. Then `forward` of the model reads `resid = block(resid)`. The names of the parameters are the same, and
# nobody who loads weights can tell the two apart.
#
# **What the classic mistakes look like.** `[block] * n_layers` makes one block that is in the list n_layers times: all
# have the same weights, and the number of parameters is far too small (next cell). Without `ln_final` the logits are
# as long as the stream happens to be: the order of the tokens is often right, and the model is wildly too sure.
# A second table for the unembedding doubles the largest matrix of the model and then has to be trained by itself.

# %% key="gpt2-mistake" solution="07.2"
one_block = nn.ModuleDict({part: Box(**shapes) for part, shapes in block_parts(model.cfg).items()})
shared = nn.ModuleList([one_block] * n_layers)
apart = nn.ModuleList(
    [nn.ModuleDict({part: Box(**shapes) for part, shapes in block_parts(model.cfg).items()}) for _ in range(n_layers)]
)
for name, blocks in (("the same one, again and again", shared), ("one for each place", apart)):
    print(f"{name}: {len(blocks)} blocks, {sum(p.numel() for p in blocks.parameters()):,} numbers")

# %% [markdown] key="gpt2-fresh-text"
# **Use it.** A model of the pocket model's size, with random weights. It runs, and it knows nothing.

# %% key="gpt2-fresh" tags=["demo"]
Model = use(GPT2)
mine = Model(model.cfg)


def logits_from(model, ids):
    """A model's logits [batch pos d_vocab], without the notes that PyTorch makes for training."""
    with torch.no_grad():
        return model(ids)


fresh_logits = logits_from(mine, ids)

show.table(
    [["yours, random weights", *likeliest(fresh_logits)], ["the trained model", *likeliest(model(ids))]],
    ["model", "likeliest next token", "second", "third"],
    title="What comes next after '… but the'?",
    note=f"Your model's largest probability is {fresh_logits[0, -1].softmax(-1).max():.5f}; "
    f"spread evenly each of the {model.cfg.d_vocab:,} tokens would get {1 / model.cfg.d_vocab:.5f}.",
)

# %% [markdown] key="load-text" terms="checkpoint"
# ## 5 · Loading weights, strictly
#
# Weights are stored as a dict from names to tensors, a **checkpoint**. To load one is to copy each tensor into the
# parameter of its name. What could go wrong? PyTorch's own `load_state_dict` has a switch, `strict=False`, that passes
# over whatever does not fit. Watch what it does. In the next cell one name among all is misspelled, as happens
# when a checkpoint comes from another library: `attn.W_V` of block 1 is called `attn.W_v`.

# %% [markdown] key="predict-strict" tags=["predict"]
# **Predict.** The model is loaded with `strict=False`. What will you notice?
#
# - **a**: an error;
# - **b**: no error, and nonsense in the output;
# - **c**: no error, and an output that may well look sensible.

# %% key="guess-strict" tags=["predict"]
my_guess = "?"  # a, b or c

# %% key="strict-false" tags=["demo"]
misspelled = {name.replace("blocks.1.attn.W_V", "blocks.1.attn.W_v"): value for name, value in weights.items()}
loose = Model(model.cfg)
passed_over = loose.load_state_dict(misspelled, strict=False)  # no error

show.table(
    [["all its weights", *likeliest(model(ids))], ["one passed over", *likeliest(logits_from(loose, ids))]],
    ["the model with", "likeliest next token", "second", "third"],
    title="One matrix of the model is still random",
    note=f"Nothing was printed. Missing: {passed_over.missing_keys}, left over: {passed_over.unexpected_keys}.",
)

# %% [markdown] key="strict-why"
# <details><summary>What you see, and why</summary>
#
# There is no error, so it is **b** or **c**: compare the two rows. Which of the two it is hangs on the model, on the
# tensor and on the text: what this layer moves may be needed here or not, and the stream carries the rest past it.
# The smaller the damage, the longer nobody notices. PyTorch did say what it passed over, in the value that
# `load_state_dict` returns. Hardly anybody looks at it.
#
# </details>
#
# So: a name that is missing, a name too many, a shape that does not fit is an error. And an error must leave the model
# as it was, not half loaded.

# %% [markdown] key="load-weights"
# ### Exercise 07.3 · Load weights
#
# *difficulty 3 · 15 minutes · stuck?* `hint("07.3")`
#
# Copy the values of `weights` into the model's own parameters, in place. Raise an error (a `ValueError` is a good
# choice) whose text holds the name of the weight concerned
#
# - where a parameter of the model has no weight of that name,
# - where a weight has no parameter of that name,
# - where the shapes differ, even if one could be broadcast to the other.
#
# After an error no parameter may have changed. Copy values; do not keep the caller's tensors. The parameters stay
# trainable. Useful: `dict(model.named_parameters())`, `parameter.copy_(values)` inside `with torch.no_grad():`.


# %% key="load-weights-answer" exercise="07.3"
def load_weights(model: nn.Module, weights: dict[str, Tensor]) -> None:
    """Copy each weight into the parameter of its name; an error names what does not fit, and then nothing is copied.

    >>> box = Box(w=(2,), b=(2,))
    >>> load_weights(box, {"w": tensor([3.0, 4.0]), "b": tensor([5.0, 6.0])})
    >>> box.w.tolist()
    [3.0, 4.0]
    >>> try:
    ...     load_weights(box, {"w": tensor([7.0, 8.0]), "c": tensor([0.0, 0.0])})
    ... except ValueError as error:
    ...     print("b" in str(error) or "c" in str(error), box.w.tolist())
    True [3.0, 4.0]
    """
    # SOLUTION
    parameters = dict(model.named_parameters())
    if odd := sorted(parameters.keys() ^ weights.keys()):  # in one of the two, not in both
        raise ValueError(f"These names are missing or left over: {', '.join(odd)}")
    for name, parameter in parameters.items():
        if weights[name].shape != parameter.shape:
            wanted, found = tuple(parameter.shape), tuple(weights[name].shape)
            raise ValueError(f"{name} has the shape {found}, the model needs {wanted}")
    for name, parameter in parameters.items():  # all is known to fit: only now is anything changed
        parameter.detach().copy_(weights[name])  # detached: the same memory, and autograd does not follow
    # END


# %% key="load-weights-grade"
grade(load_weights)

# %% [markdown] key="load-weights-why" solution="07.3"
# #### Why it works
#
# Two passes: the first only looks, the second only copies. Whatever can go wrong goes wrong in the first. `^` on two
# sets of names gives what is in one of them and not in both. The shapes are compared because `copy_` broadcasts: it
# would fill a gain of d_model numbers from a single one without a word.
#
# **A second way**: check, and then `model.load_state_dict(weights)`, which is strict unless told otherwise. By itself
# it is not enough here: it copies what fits before it raises, and leaves the model half loaded. (Copying inside
# `with torch.no_grad():` is as good as `detach`. Without either PyTorch refuses to change a parameter in place.)
#
# **What the classic mistake looks like.** `parameter.data = weights[name]` makes model and checkpoint share one
# memory. Nothing is wrong until somebody trains the model and the checkpoint changes with it, or loads two models from
# one dict and trains both.


# %% key="load-weights-mistake" solution="07.3"
def keeps_tensors(model, weights):
    load_weights(model, weights)
    for name, parameter in model.named_parameters():
        parameter.data = weights[name]


check("07.3", keeps_tensors)

# %% key="load-used" tags=["demo"]
load = use(load_weights)
load(mine, weights)
my_logits, logits = logits_from(mine, ids), logits_from(model, ids)  # [batch pos d_vocab]
agrees = difference("logits", my_logits, logits) < SAME
try:
    load(mine, misspelled)
    said = "nothing"
except Exception as error:
    said = str(error)

show.table(
    [["yours, all weights", *likeliest(my_logits)], ["the model", *likeliest(logits)]],
    ["model", "likeliest next token", "second", "third"],
    title="Your model with the trained weights",
    note=f"{'All' if agrees else 'Not all'} of the {my_logits.numel():,} logits agree. "
    f"Given the misspelled checkpoint, it says: {said}",
)

# %% [markdown] key="hooks-text" covers="N20" terms="activation, hook"
# ## 6 · Every activation by name
#
# The logits agree. Had they not, what then? More than a million of them would differ, and none would say why. So
# look inside. TransformerLens gives every intermediate tensor, every **activation**, a name: a **hook**, a place where
# one can look or interfere. Learn the list once; it is the map of the model.
#
# There are only five kinds of shape:
#
# | what | hooks | why this shape |
# |---|---|---|
# | the stream, and all that is added to it | `hook_embed`, `hook_pos_embed`, `hook_resid_pre`, `hook_resid_mid`, `hook_resid_post`, `hook_attn_out`, `hook_mlp_out`, `hook_normalized` of each norm | d_model numbers at each position |
# | inside the heads | `hook_q`, `hook_k`, `hook_v`, `hook_z` | d_head numbers for each head at each position |
# | between positions | `hook_attn_scores`, `hook_pattern` | a number for each query and key, for each head |
# | inside the MLP | `hook_pre`, `hook_post` | d_mlp numbers at each position |
# | what a norm divides by | `hook_scale` of each norm | one number at each position, its axis kept |
#
# In full the names are `blocks.0.attn.hook_q` and so on: the way to the module, as with parameters. `hook_embed`,
# `hook_pos_embed` and the final norm's `ln_final.hook_scale` and `ln_final.hook_normalized` are there once; all others
# once in each block.

# %% [markdown] key="hook-shapes" covers="N20"
# ### Exercise 07.7 · The shapes of all activations
#
# *difficulty 2 · 15 minutes · stuck?* `hint("07.7")`
#
# For a model of the configuration `cfg` and a batch of `batch` texts of `pos` tokens: the shape of every hook, by its
# full name. For each block $i$, after `blocks.{i}.`:
#
# `hook_resid_pre`, `ln1.hook_scale`, `ln1.hook_normalized`, `attn.hook_q`, `attn.hook_k`, `attn.hook_v`,
# `attn.hook_attn_scores`, `attn.hook_pattern`, `attn.hook_z`, `hook_attn_out`, `hook_resid_mid`, `ln2.hook_scale`,
# `ln2.hook_normalized`, `mlp.hook_pre`, `mlp.hook_post`, `hook_mlp_out`, `hook_resid_post`
#
# and besides the four that are there once. `cfg` has `n_layers`, `d_model`, `n_heads`, `d_head`, `d_mlp`.


# %% key="hook-shapes-answer" exercise="07.7" covers="N20"
def hook_shapes(cfg, batch: int, pos: int) -> dict[str, tuple[int, ...]]:
    """The shape of every activation by its hook's name.

    >>> cfg = SimpleNamespace(n_layers=2, d_model=6, n_heads=3, d_head=2, d_mlp=24, d_vocab=50, n_ctx=9)
    >>> shapes = hook_shapes(cfg, 1, 5)
    >>> len(shapes), shapes["blocks.1.attn.hook_q"]
    (38, (1, 5, 3, 2))
    """
    # SOLUTION
    stream, scale, hidden = (batch, pos, cfg.d_model), (batch, pos, 1), (batch, pos, cfg.d_mlp)
    head, grid = (batch, pos, cfg.n_heads, cfg.d_head), (batch, cfg.n_heads, pos, pos)
    shapes = {"hook_embed": stream, "hook_pos_embed": stream}
    for i in range(cfg.n_layers):
        block = dict.fromkeys(["hook_resid_pre", "hook_attn_out", "hook_resid_mid"], stream)
        block |= dict.fromkeys(["hook_mlp_out", "hook_resid_post"], stream)
        for norm in ("ln1", "ln2"):
            block |= {f"{norm}.hook_scale": scale, f"{norm}.hook_normalized": stream}
        block |= {f"attn.hook_{letter}": head for letter in "qkvz"}
        block |= {"attn.hook_attn_scores": grid, "attn.hook_pattern": grid}
        block |= {"mlp.hook_pre": hidden, "mlp.hook_post": hidden}
        shapes |= {f"blocks.{i}.{name}": shape for name, shape in block.items()}
    return shapes | {"ln_final.hook_scale": scale, "ln_final.hook_normalized": stream}
    # END


# %% key="hook-shapes-grade"
grade(hook_shapes)

# %% [markdown] key="hook-shapes-why" solution="07.7"
# #### Why it works
#
# Five shapes, given names once, and a list of who has which. Of the two orders of axes inside a head the one to
# remember is this: what belongs to *one* position has the position first (q, k, v, z: batch pos n_heads d_head); what
# stands *between* two positions is a grid, and the heads come before it (scores, pattern: batch n_heads query_pos
# key_pos).
#
# **A second way** asks a model: run it once and write down `{name: tuple(value.shape)}` of its cache. It is a good
# check, and no understanding.
#
# **What the classic mistake looks like.** `hook_attn_out` with d_head in the end: what a head holds is d_head wide,
# but what attention writes has been through W_O, and all that is added to the stream is d_model wide.

# %% [markdown] key="table-text" covers="N20"
# **Use it** for GPT-2 small, as large as it is: 12 blocks, 12 heads of 64, a stream of 768 numbers. The text is a
# sentence that many tutorials on GPT-2 have used to list these shapes. It has 34 tokens, and 35 with BOS.

# %% key="twenty-rows" tags=["demo"] covers="N20"
small = SimpleNamespace(d_model=768, n_layers=12, n_heads=12, d_head=64, d_mlp=3072, d_vocab=50257, n_ctx=1024)
amazing = (
    "I am an amazing autoregressive, decoder-only, GPT-2 style transformer. "
    "One day I will exceed human level intelligence and take over the world!"
)
n_amazing = model.to_tokens(amazing).shape[1]
shapes_of = use(hook_shapes)
all_shapes = shapes_of(small, 1, n_amazing)
order = [name for name in cache if name in all_shapes and not re.match(r"blocks\.[1-9]", name)]
order.remove("ln_final.hook_scale")  # like ln1's: the list that goes round leaves it out

show.table(
    [[name, str(all_shapes[name]), f"{math.prod(all_shapes[name]):,}"] for name in order],
    ["hook", "shape", "numbers"],
    title=f"The activations of GPT-2 small on {n_amazing} tokens: {len(order)} rows",
    note=f"Blocks 1 to 11 have the same 17 rows as block 0: {len(all_shapes)} activations in all, "
    f"{sum(map(math.prod, all_shapes.values())):,} numbers.",
)

# %% [markdown] key="predict-length" tags=["predict"]
# **Predict.** With 35 tokens the scores of a block are a small thing: 12 · 35 · 35 numbers, against 35 · 3072 in the
# MLP. GPT-2 reads up to 1,024 tokens. From about which length on do the scores of a block hold more numbers than
# `mlp.hook_pre`: 100, 256, 1,000 or never?

# %% key="guess-length" tags=["predict"]
my_guess = "?"  # 100, 256, 1000 or never

# %% key="length" tags=["demo"]
lengths = [8, 16, 32, 64, 128, 256, 512, 1024]
HOOKS = {
    "scores": "attn.hook_attn_scores",
    "inside the MLP (hook_pre)": "mlp.hook_pre",
    "stream": "hook_resid_pre",
    "a norm's scale": "ln1.hook_scale",
}
tables = [shapes_of(small, 1, n) for n in lengths]
size = {name: [math.prod(table[f"blocks.0.{hook}"]) for table in tables] for name, hook in HOOKS.items()}
meet = next(n for n in lengths if 12 * n * n >= 3072 * n)
show.lines(
    lengths,
    size,
    title="How large one block's activations are in GPT-2 small",
    note=f"The scores grow with the square of the length and meet the MLP at {meet} tokens.",
    x_name="tokens in the text (logarithmic)",
    y_name="numbers (logarithmic)",
    log_x=True,
    log_y=True,
)

# %% [markdown] key="length-why"
# <details><summary>What you see, and why</summary>
#
# Everything else has a fixed number of values for each position, so it grows in step with the text: a straight line of
# slope 1. Scores and pattern have one for each *pair* of positions: slope 2. Twelve heads times $n$ keys equal 3072
# at $n = 256$. That is why long contexts are expensive, and why so much work has gone into never storing this grid.
#
# </details>

# %% [markdown] key="trace-text"
# ### One table for all of them
#
# Now compare. The next two cells run the model step by step out of your pieces and write down every activation under
# its hook's name. It is the same computation as your `GPT2`, only more talkative.


# %% key="trace-block" tags=["demo"]
def trace_block(resid, w, p):
    """Every activation of a block with weights `w`, computed with the pieces `p`."""
    found = {"hook_resid_pre": resid}

    def normed(x, norm):
        found[f"{norm}.hook_scale"] = p.ln_scale(x, w["eps"])
        found[f"{norm}.hook_normalized"] = p.ln_normalize(x, w["eps"])
        return p.layer_norm(x, w[f"{norm}.w"], w[f"{norm}.b"], w["eps"])

    x = normed(resid, "ln1")
    for letter in "QKV":
        found[f"attn.hook_{letter.lower()}"] = p.project_heads(x, w[f"attn.W_{letter}"], w[f"attn.b_{letter}"])
    scores = p.attention_scores(found["attn.hook_q"], found["attn.hook_k"])
    found |= {"attn.hook_attn_scores": scores, "attn.hook_pattern": p.attention_pattern(scores)}
    found["attn.hook_z"] = p.mix_values(found["attn.hook_pattern"], found["attn.hook_v"])
    found["hook_attn_out"] = p.attention_out(found["attn.hook_z"], w["attn.W_O"], w["attn.b_O"])
    middle = found["hook_resid_mid"] = resid + found["hook_attn_out"]
    found["mlp.hook_pre"] = p.mlp_pre(normed(middle, "ln2"), w["mlp.W_in"], w["mlp.b_in"])
    found["mlp.hook_post"] = p.gelu_new(found["mlp.hook_pre"])
    found["hook_mlp_out"] = found["mlp.hook_post"] @ w["mlp.W_out"] + w["mlp.b_out"]
    return found | {"hook_resid_post": middle + found["hook_mlp_out"]}


# %% key="trace" tags=["demo"]
def trace(ids, weights, cfg, p):
    """Every activation of the model by name, and the logits."""
    W_E, W_pos = weights["embed.W_E"], weights["pos_embed.W_pos"]
    found = {"hook_embed": p.embed(ids, W_E), "hook_pos_embed": p.pos_embed(ids, W_pos)}
    resid = found["hook_embed"] + found["hook_pos_embed"]  # [batch pos d_model]
    for i in range(cfg.n_layers):
        rows = trace_block(resid, block_of(weights, i, cfg.eps), p)
        found |= {f"blocks.{i}.{name}": value for name, value in rows.items()}
        resid = rows["hook_resid_post"]
    found["ln_final.hook_scale"] = p.ln_scale(resid, cfg.eps)
    found["ln_final.hook_normalized"] = p.ln_normalize(resid, cfg.eps)
    last = p.layer_norm(resid, weights["ln_final.w"], weights["ln_final.b"], cfg.eps)
    return found | {"logits": p.tied_unembed(last, W_E)}  # [batch pos d_vocab]


def own(model, ids):
    """A reference model's own activations, under the same names."""
    logits, cache = model.run_with_cache(ids)
    return {**cache, "logits": logits}


# %% [markdown] key="hook-table-text"
# And the table: a row for each hook, the blocks of the model together. A row is green and has a ✓ when your piece
# computed it and every block agrees. A row that agrees but was computed by the book's piece has a dot: it turns green
# when you have written that piece. A row that does not agree has a ✗.

# %% key="hook-table-made" tags=["demo"]
BY = {"embed": "embed", "pos_embed": "pos_embed", "scale": "ln_scale", "normalized": "ln_normalize"}
BY |= dict.fromkeys(["q", "k", "v"], "project_heads") | {"attn_scores": "attention_scores"}
BY |= {"pattern": "attention_pattern", "z": "mix_values", "attn_out": "attention_out"}
BY |= {"pre": "mlp_pre", "post": "gelu_new", "mlp_out": "mlp", "logits": "GPT2"}
BY |= dict.fromkeys(["resid_pre", "resid_mid", "resid_post"], "transformer_block")


def hook_table(found, wanted, title):
    """Compare every activation by name; the blocks' rows of the same hook stand together."""
    hooks, rows, verdicts = {}, [], []
    for name in found:
        hooks.setdefault(re.sub(r"^blocks\.\d+\.", "blocks.i.", name), []).append(name)
    for hook, names in hooks.items():
        off = [name for name in names if not difference(name, found[name], wanted[name]) < SAME]
        by = owner[BY[hook.rpartition("hook_")[2]]]
        count = f"{len(names) - len(off)} of {len(names)}"
        first = off[0].replace("blocks.", "block ").partition(".")[0] if off else ""
        rows.append([hook, str(tuple(wanted[names[0]].shape)), count, first, by])
        verdicts.append(False if off else True if by == "you" else None)
    right = sum(difference(name, found[name], wanted[name]) < SAME for name in found)
    columns = ["hook", "shape", "agree", "first that differs", "computed by"]
    note = f"{right} of {len(found)} activations agree with the model's own, in {len(rows)} rows."
    return show.table(rows, columns, title=title, note=note, verdicts=verdicts)


# %% key="hook-table" tags=["demo", "nbval-ignore-output"] covers="N20"
owner["transformer_block"] = "you" if the_block is transformer_block else "the book"
owner["GPT2"] = "you" if Model is GPT2 else "the book"
wanted = own(model, ids)
found = trace(ids, weights, model.cfg, pieces)
found["logits"] = my_logits  # the last row is your class's own

hook_table(found, wanted, "Every activation of your model, compared by name")

# %% [markdown] key="predict-bias" tags=["predict"]
# **Predict.** Somebody's checkpoint has a mistake: in every head of every block `b_K`, the bias of the keys, is too
# large by 1. The model is run from the first row to the last with these weights. Which rows get a ✗?
#
# - **a**: `hook_k` and every row that is computed after it;
# - **b**: `hook_k` and `hook_attn_scores`, and no other;
# - **c**: `hook_k` alone.

# %% key="guess-bias" tags=["predict"]
my_guess = "?"  # a, b or c

# %% key="bias-table" tags=["demo", "nbval-ignore-output"]
too_large = {name: value + 1 if name.endswith("attn.b_K") else value for name, value in weights.items()}
with_bias = trace(ids, too_large, model.cfg, pieces)

hook_table(with_bias, wanted, "The same, with keys whose bias is too large by 1")

# %% [markdown] key="bias-why"
# <details><summary>What you see, and why</summary>
#
# It is **b**. The score of query $i$ with key $j$ becomes $q_i \cdot (k_j + 1)$, which adds the sum of $q_i$'s numbers
# (over $\sqrt{d_\text{head}}$) to *every* score of row $i$. The softmax does not see what is added to a whole row. So
# the pattern is right again, and all that follows.
#
# </details>
#
# This is how one looks for a mistake: **the first row that differs names the line**, and a row that agrees clears
# everything before it. Two models whose logits agree may still differ inside; the table shows that too.

# %% [markdown] key="predictions-text" covers="N2, N6" terms="logit"
# ## 7 · n tokens, n predictions
#
# Now to what comes out. Ids of shape (batch, seq) go in, logits of shape (batch, seq, d_vocab) come out. `logits[i, j]`
# is a row of scores, one for each token of the vocabulary: the model's opinion about token $j + 1$ of text $i$, from
# the tokens up to $j$. A text of $n$ tokens gives $n$ predictions at once:
#
# $$p(t_1 \mid t_0), \quad p(t_2 \mid t_0, t_1), \quad \dots, \quad p(t_n \mid t_0, \dots, t_{n-1})$$
#
# The last of them is about a token that nobody has seen. For all the others the text itself holds the answer.

# %% key="predictions" tags=["demo"] covers="N2, N6"
words = model.to_str_tokens(story)
best = my_logits[0].softmax(-1).max(-1)  # values and indices: [pos]
guesses = [model.to_string(i) for i in best.indices]
right = [guess == word for guess, word in zip(guesses, words[1:], strict=False)]  # the last has no answer
came = [*map(repr, words[1:]), "not known yet"]
shown = [*range(6), *range(len(words) - 8, len(words))]  # the first six, and the last eight

show.table(
    [[i, repr(words[i]), repr(guesses[i]), f"{best.values[i]:.2f}", came[i]] for i in shown],
    ["position", "has just read", "thinks is next", "probability", "what came"],
    verdicts=[[*right, None][i] for i in shown],
    verdict_name="right",
    title=f"{len(words)} tokens, {len(words)} predictions: the first six, and the last eight",
    note=f"The likeliest token was right at {sum(right)} of all {len(right)} positions. A good guess can be wrong.",
)

# %% [markdown] key="next-text" covers="N7"
# To go on with a text only the last row matters. The softmax turns its logits into probabilities, and from these a
# token is chosen: the likeliest one (*argmax*), or one drawn at random with these probabilities.

# %% [markdown] key="next-token-probs" covers="N7"
# ### Exercise 07.4 · The next token
#
# *difficulty 1 · 5 minutes · stuck?* `hint("07.4")`
#
# $$p_v = \frac{e^{\ell_v}}{\sum_{v'} e^{\ell_{v'}}}$$
#
# $\ell$ are the logits at each text's *last* position, and $v$ and $v'$ run over the vocabulary. Any softmax may be used.


# %% key="next-token-probs-answer" exercise="07.4" covers="N7"
def next_token_probs(logits: Float[Tensor, "batch pos d_vocab"]) -> Float[Tensor, "batch d_vocab"]:
    """The distribution over the token that follows each whole text.

    >>> next_token_probs(tensor([[[9.0, 0.0], [0.0, 0.0]]])).tolist()  # one text, two positions, two tokens
    [[0.5, 0.5]]
    """
    # SOLUTION
    return logits[:, -1].softmax(dim=-1)  # [batch d_vocab]
    # END


# %% key="next-token-probs-grade"
grade(next_token_probs)

# %% [markdown] key="next-token-probs-why" solution="07.4"
# #### Why it works
#
# The last position has read everything, so its logits are about the token after the text. Cutting first and taking the
# softmax of what is left gives the same as the other order, at a fraction of the work: every position's softmax is its
# own.
#
# **A second way** is `logits.softmax(-1)[:, -1]`.
#
# **What the classic mistake looks like.** `softmax(dim=1)` runs over the positions. The numbers lie between 0 and 1
# and look like probabilities; summed over the vocabulary they give thousands.

# %% key="draws" tags=["demo"] covers="N7"
asked = "There was once a gentle girl named Anna, who lived with her father. Her favorite food was"
probs = use(next_token_probs)(logits_from(mine, model.to_tokens(asked)))[0]  # [d_vocab]
draws = torch.multinomial(probs, 1000, replacement=True, generator=rng)  # [draw]
top = probs.topk(8).indices  # [8]
shares = {model.to_string(i): [probs[i].item(), (draws == i).float().mean().item()] for i in top}

show.bars(
    shares,
    series=["probability", "share of 1,000 draws"],
    title="What comes after '… Her favorite food was': the eight likeliest tokens",
    note=f"argmax always says {model.to_string(top[0])!r}. Drawing says it in {(draws == top[0]).float().mean():.0%} "
    f"of all cases, and one of {len(draws.unique())} different tokens altogether.",
    x_name="token",
    y_name="probability or share",
)

# %% [markdown] key="surprise-text" covers="N2" terms="log-probability, nat"
# ## 8 · How good are the predictions?
#
# A model is judged by the probability that it gave to the token *that came*. Not by its first choice: of a fair coin
# nobody can know the outcome, and "one half each" is the best that can be said.
#
# The measure is $-\log p$, the **surprise**: 0 where the model was sure and right, larger the less it expected what
# came. The logarithm is the natural one, from here on written $\log$ ($\ln$ in the chapters before), and its unit is
# the **nat**; 1 nat is about 1.44 bits.
#
# Why the logarithm? The probability of a whole text is a product (the chain rule of probability):
#
# $$p(t_1, \dots, t_n \mid t_0) = \prod_i p(t_{i+1} \mid t_0, \dots, t_i)$$
#
# A product of a thousand probabilities is too small for a float. Its logarithm is a sum, and each token's part can be
# looked at by itself.

# %% key="surprise-by-hand" tags=["demo"]
show.table(
    [["1" if n == 1 else f"1/{n:,}", f"{math.log(n):.2f}", f"{math.log2(n):.2f}"] for n in (1, 2, 4, 50, 50257)],
    ["p, the probability that the model gave", "−log p (nats)", "−log₂ p (bits)"],
    title="How surprised is a model?",
    note="Halving the probability adds 0.69 nats, wherever one starts. The last row: guessing evenly.",
)

# %% [markdown] key="token-log-probs" covers="N2, N6"
# ### Exercise 07.5 · What each token was given
#
# *difficulty 3 · 15 minutes · stuck?* `hint("07.5")`
#
# $$\text{out}_i = \log p(t_{i+1} \mid t_0, \dots, t_i)$$
#
# $t_i$ are the ids of a text, and $p(\cdot \mid t_0, \dots, t_i)$ is the softmax of the logits at position $i$. So position $i$
# meets the token at $i + 1$; the first token is predicted by nobody, and the last prediction has no answer yet. Of
# `pos` tokens `pos − 1` numbers come out. Take the logarithm and the softmax in one step: very unlikely tokens exist.


# %% key="token-log-probs-answer" exercise="07.5" covers="N2, N6"
def token_log_probs(
    logits: Float[Tensor, "batch pos d_vocab"],
    tokens: Int[Tensor, "batch pos"],
) -> Float[Tensor, "batch pos-1"]:
    """The log-probability that each token after the first was given.

    >>> logits = tensor([[[0.0, 0.0], [0.0, 99.0], [5.0, 5.0]]])  # three positions, two tokens
    >>> token_log_probs(logits, tensor([[0, 1, 1]])).tolist()  # log ½ and log 1
    [[-0.6931471824645996, 0.0]]
    """
    # SOLUTION
    log_probs = logits[:, :-1].log_softmax(-1)  # [batch pos-1 d_vocab]: the last prediction has no answer
    answers = tokens[:, 1:, None]  # [batch pos-1 1]: the first token was predicted by nobody
    return log_probs.gather(-1, answers).squeeze(-1)  # [batch pos-1]
    # END


# %% key="token-log-probs-grade"
grade(token_log_probs)

# %% [markdown] key="token-log-probs-why" solution="07.5"
# #### Why it works
#
# Two cuts make the shift: logits lose their last position, tokens their first, and what is left lines up. `gather`
# picks one number from each row of d_vocab; its index needs as many axes as the values, hence the `None`, and
# `squeeze(-1)` takes that axis away again.
#
# **A second way** uses indices: `log_probs[rows, positions, tokens[:, 1:]]` (next cell).
#
# **What the classic mistake looks like.** Without the shift every position is asked about the token that it has just
# read. The numbers look like a bad model's, not like an error. And `softmax(-1).log()` works on most texts, until a
# probability rounds to 0 and the loss of the whole batch becomes infinite.


# %% key="token-log-probs-second" solution="07.5"
def with_indices(logits, tokens):
    batch, pos = tokens.shape
    rows = torch.arange(batch, device=tokens.device)[:, None]  # [batch 1]
    positions = torch.arange(pos - 1, device=tokens.device)  # [pos-1]
    return logits.log_softmax(-1)[rows, positions, tokens[:, 1:]]  # [batch pos-1]


check("07.5", with_indices)

# %% [markdown] key="surprise-use-text"
# **Use it**: the surprise of your model at each token of a text, shown on the text. Where would *you* have been
# surprised? (BOS is left out: nobody predicts it.)

# %% key="surprise-shown" tags=["demo"] covers="N2"
log_probs_of = use(token_log_probs)
whole = asked + " cake. One morning Anna went to school. For supper Anna ate cake with seven guitars."
whole_ids = model.to_tokens(whole)  # [batch pos], BOS first
surprise = 0 - log_probs_of(logits_from(mine, whole_ids), whole_ids)[0]  # [pos-1]; 0 − 0 is 0, and −0 is −0
after_bos = model.to_str_tokens(whole)[1:]
most = surprise.argmax()
show.tokens(
    after_bos,
    surprise.round(decimals=1),
    title="How surprised your model is at each token, in nats",
    note=f"Most of all at {after_bos[most]!r} ({surprise[most]:.1f}), and on average {surprise.mean():.2f}.",
    value_name="surprise",
)

# %% [markdown] key="loss-text" covers="N2" terms="loss, cross-entropy, perplexity"
# The mean of all these numbers is **the loss**. It goes by several names: negative log-likelihood, **cross-entropy**.
# $e^\text{loss}$ is the **perplexity**: a model with perplexity 20 is as unsure, on average, as one that hesitates
# between 20 tokens which it finds equally likely.
#
# This is the number that GPT-2 was trained on, and nothing else. Every text is its own exercise sheet with answers:
# one text of $n$ tokens gives $n$ predictions and, the first token being given, $n - 1$ answers to learn from, in one
# pass. Nobody has to label anything.

# %% [markdown] key="lm-loss" covers="N2"
# ### Exercise 07.6 · The loss
#
# *difficulty 2 · 10 minutes · stuck?* `hint("07.6")`
#
# $$\text{loss} = -\frac{1}{B\,(n-1)} \sum_{b=1}^{B} \sum_{i=0}^{n-2} \log p(t^b_{i+1} \mid t^b_0, \dots, t^b_i)$$
#
# $B$ texts of $n$ tokens each; $t^b_i$ is token $i$ of text $b$. One number comes out, a tensor, through which
# gradients flow. torch's `cross_entropy` would do most of it in one call, and is not allowed here. If you skipped
# 07.5, `use(token_log_probs)` is the book's.


# %% key="lm-loss-answer" exercise="07.6" covers="N2"
def lm_loss(logits: Float[Tensor, "batch pos d_vocab"], tokens: Int[Tensor, "batch pos"]) -> Float[Tensor, ""]:
    """The mean surprise at all tokens that were predicted, in nats.

    >>> even = torch.zeros(2, 3, 4)  # two texts of three tokens; four tokens, all equally likely
    >>> round(lm_loss(even, tensor([[0, 1, 2], [3, 3, 3]])).item(), 4), round(math.log(4), 4)
    (1.3863, 1.3863)
    """
    # SOLUTION
    return -token_log_probs(logits, tokens).mean()  # over the batch and all positions: []
    # END


# %% key="lm-loss-grade"
grade(lm_loss)

# %% [markdown] key="lm-loss-why" solution="07.6"
# #### Why it works
#
# `mean()` without arguments averages over every prediction of every text with the same weight. The minus makes it a
# loss: less is better, 0 would be perfect.
#
# **A second way**: the logsumexp of each row minus the logit of the token that came, averaged. It is the same number,
# because log softmax is the logit minus the logsumexp.
#
# **What the classic mistake looks like.** A forgotten shift asks each position about its own token. An untrained model
# then shows a loss a little *below* the usual one, since a tied table favors the token just read, and in training it
# falls to nearly 0 within minutes: the model copies its input (chapter 08). A loss that is too good to be true usually
# is.


# %% key="lm-loss-second" solution="07.6"
def with_logsumexp(logits, tokens):
    answer = logits[:, :-1].gather(-1, tokens[:, 1:, None]).squeeze(-1)  # [batch pos-1]
    return (logits[:, :-1].logsumexp(-1) - answer).mean()


check("07.6", with_logsumexp)

# %% key="examples-run" solution="07.7"
import doctest

doctest.testmod()  # the examples in the docstrings of all seven exercises, run

# %% [markdown] key="losses-text"
# **Use it** to compare. The same text, read by your model as it was before you loaded anything, and by the trained
# one; and its words in random order. The dashed line is what guessing evenly among all tokens costs,
# $\log 50257 \approx 10.82$, whatever the text.

# %% key="losses" tags=["demo"] covers="N2"
loss_of = use(lm_loss)


def loss_on(model, ids):
    return loss_of(logits_from(model, ids), ids).item()


shuffled = 1 + torch.randperm(whole_ids.shape[1] - 1, generator=rng)  # BOS, at 0, stays first
mixed_ids = whole_ids[:, torch.cat([tensor([0]), shuffled])]  # [batch pos]
fresh, mixed, trained = loss_on(Model(model.cfg), whole_ids), loss_on(mine, mixed_ids), loss_on(mine, whole_ids)
show.bars(
    {"random weights": fresh, "trained, words in random order": mixed, "trained": trained},
    title="The loss on one text",
    note=f"Trained, {trained:.2f} nats: a perplexity of {math.exp(trained):.1f}. "
    f"In random order it is about {float(f'{math.exp(mixed):.1g}'):,.0f}.",
    x_name="model and text",
    y_name="loss (nats per token)",
    baseline=math.log(model.cfg.d_vocab),
    baseline_name="guessing evenly",
)

# %% [markdown] key="where-loss-text" covers="N2"
# One text is a small sample. Here are 24 stories that the pocket model has not been trained on. Their tokens stand in
# a row, the most surprising first. How much of the whole loss do the first few make up?

# %% key="where-loss" tags=["demo"] covers="N2"
length = 64
told = [model.to_tokens(told.text)[0] for told in islice(stories(seed=7, split="held_out"), 60)]
texts = torch.stack([row[:length] for row in told if len(row) >= length][:24])  # [batch pos]
surprises = torch.cat([-log_probs_of(logits_from(mine, row[None]), row[None])[0] for row in texts])  # [token]
part = surprises.sort(descending=True).values.cumsum(0) / surprises.sum()  # [token]
places = torch.linspace(1, len(part), 41).long()  # from one token to all of them
half = (part < 0.5).float().mean()

show.lines(
    (100 * places / len(part)).round(decimals=1),
    {"your model": 100 * part[places - 1]},
    title=f"Where the loss comes from, {len(texts)} stories",
    note=f"Loss {surprises.mean():.2f}. The most surprising {half:.0%} of the tokens make up half of it.",
    x_name="tokens, the most surprising first (%)",
    y_name="share of the loss (%)",
    levels={"half": 50},
)

# %% [markdown] key="where-loss-why"
# Most tokens cost next to nothing. Which ones do, and which do not? Put the tokens of these stories into four kinds.


# %% key="what-costs" tags=["demo"] covers="N2"
def kind_of(word, earlier):
    """The kind of a token, given those before it."""
    if word in NAMES:
        return "a name that was said before" if word in earlier else "a name, for the first time"
    return "any other word" if any(map(str.isalpha, word)) else "punctuation"


NAMES = {f" {name}" for name in (*lexicon.BOYS, *lexicon.GIRLS)}
read = [[model.to_string(i) for i in row[1:]] for row in texts]  # without BOS, which nobody predicts
kinds = [kind_of(word, words[:i]) for words in read for i, word in enumerate(words)]  # [token]
costs = {kind: surprises[[i for i, k in enumerate(kinds) if k == kind]] for kind in sorted(set(kinds))}

show.table(
    [[k, f"{len(cost):,}", f"{cost.mean():.2f}", f"{cost.sum() / surprises.sum():.0%}"] for k, cost in costs.items()],
    ["kind of token", "how many", "mean surprise (nats)", "share of the loss"],
    title="What costs how much",
    note="Compare the two rows of names. Names are those of the story world; all other tokens are words or punctuation.",
)

# %% [markdown] key="what-costs-why"
# The loss is made at the few places where the text decides something: who comes in, what they own, what happens. Once
# it is decided, saying it again costs little. The deciding places are also where a better model can still gain.

# %% [markdown] key="small-text"
# ## 9 · The same class, GPT-2's size
#
# You have never written a 4, a 256 or an 8: all sizes come from `cfg`. So your class is GPT-2 small as soon as it gets
# GPT-2 small's `cfg`. The reference `"gpt2-shaped"` has exactly that configuration, with random weights: nothing was
# learned, and everything is as large as in the real one.

# %% [markdown] key="predict-shaped" tags=["predict"]
# **Predict.** 124 million random numbers read the sentence about the amazing transformer. What will the loss be:
# about 0.7, about 5, about 11, or above 50?

# %% key="guess-shaped" tags=["predict"]
my_guess = "?"  # 0.7, 5, 11 or 50


# %% key="same-class" tags=["demo"]
def same_class(theirs):
    """Your class at the size of a reference and with its weights."""
    yours = Model(theirs.cfg)
    load(yours, weights_of(theirs))
    return yours


def report(name, yours, cfg, ids):
    """A row of the table: how large the model is, and its loss on these ids."""
    parameters = sum(parameter.numel() for parameter in yours.parameters())
    logits = logits_from(yours, ids)
    return [name, cfg.n_layers, cfg.d_model, f"{parameters:,}", str(tuple(logits.shape)), f"{loss_of(logits, ids):.2f}"]


def logits_agree(yours, theirs, ids):
    return difference("logits", logits_from(yours, ids), logits_from(theirs, ids)) < SAME


COLUMNS = ["weights of", "blocks", "d_model", "parameters", "shape of the logits", "loss (nats)"]
amazing_ids = model.to_tokens(amazing)  # [batch pos]

# %% key="shaped" tags=["demo"]
shaped = reference("gpt2-shaped", device="cpu")
large = same_class(shaped)
show.table(
    [
        report("this chapter's model", mine, model.cfg, amazing_ids),
        report("gpt2-shaped", large, shaped.cfg, amazing_ids),
    ],
    COLUMNS,
    verdicts=[logits_agree(mine, model, amazing_ids), logits_agree(large, shaped, amazing_ids)],
    verdict_name="logits agree",
    title="One class, two sizes",
    note=f"{shaped.W_E.numel():,} of GPT-2 small's parameters are its table of tokens.",
)

# %% [markdown] key="shaped-why"
# <details><summary>What you see, and why</summary>
#
# The loss of random weights is close to $\log 50257 \approx 10.8$, and the size of the model does not matter: with small
# random weights all logits are small, so all tokens get nearly the same probability. It is the number to know by heart.
# A model whose loss starts there has no bias towards anything; one that *stays* there has not learned, or has not been
# loaded. Far above it stands a model that is sure and wrong.
#
# (The pocket model's own loss on this sentence may be larger. It was trained on little stories and has never met most
# of these words.)
#
# </details>
#
# And every activation, by name, through twelve blocks. These are the twenty rows from above, now with values in them:

# %% key="shaped-table" tags=["demo", "nbval-ignore-output"] covers="N20"
shaped_found = trace(amazing_ids, weights_of(shaped), shaped.cfg, pieces)
shaped_found["logits"] = logits_from(large, amazing_ids)  # your class's own

hook_table(shaped_found, own(shaped, amazing_ids), f"GPT-2 small's size, {n_amazing} tokens, 12 blocks")

# %% [markdown] key="gpt2-real-text"
# The names and shapes are those of the table that you wrote in 07.7; here is the proof. And then GPT-2 itself: if its
# weights are on this machine, the same class runs with them. If not, one sentence says how to get them. (Nothing is
# fetched now. `book reference gpt2`, in a terminal, fetches them once.)

# %% key="shapes-proved" tags=["demo"]
shaped_shapes = {name: tuple(value.shape) for name, value in shaped_found.items() if name != "logits"}
said = shapes_of(shaped.cfg, *amazing_ids.shape)
same = sum(shaped_shapes[name] == tuple(shape) for name, shape in said.items())
print(f"{same} of the {len(said)} shapes that your function gives are those of the model")
del large, shaped_found  # half a gigabyte

# %% key="gpt2-itself" tags=["demo", "nbval-ignore-output"]
from utils.reference import ReferenceProblem

# What this cell shows depends on whether the weights are there, so it is never compared with the stored output.


def with_gpt2(ids):
    """The same table for GPT-2 itself, or the sentence that says how to get it."""
    try:
        real = reference("gpt2", device="cpu")
    except ReferenceProblem as missing:
        return print(missing)
    yours = same_class(real)
    return show.table(
        [[*report("gpt2", yours, real.cfg, ids), *likeliest(logits_from(yours, ids), 1)]],
        [*COLUMNS, "likeliest next token"],
        verdicts=[logits_agree(yours, real, ids)],
        verdict_name="logits agree",
        title="Your class is GPT-2",
        note="The same lines of code, with the weights that OpenAI trained in 2019.",
    )


with_gpt2(amazing_ids)

# %% [markdown] key="answer"
# ## 10 · Back to the four models
#
# Now you have both tools. The loss says *that* something is wrong and how much it costs. The activations, compared by
# name, say *where*. Here are A, B, C and D again, on four of the stories above: each one's loss, and the first hook, in
# the order of the computation, at which it leaves the model.

# %% key="four-found" tags=["demo"]
four_stories = texts[:4]  # [batch pos]
true = own(model, four_stories)
names = [*trace(four_stories[:, :2], weights, model.cfg, pieces)]  # in the order of the computation
rows, verdicts = [], []
for letter, hooks in FOUR.items():
    with model.hooks(fwd_hooks=hooks):
        values = own(model, four_stories)
    off = [name for name in names if not difference(name, values[name], true[name]) < SAME]
    rows.append([letter, f"{loss_of(values['logits'], four_stories).item():.2f}", off[0] if off else "none", len(off)])
    verdicts.append(not off)

best_letter = min(rows, key=lambda row: float(row[1]))[0]
show.table(
    rows,
    ["model", "loss (nats)", "first activation that differs", f"that differ, of {len(names)}"],
    verdicts=verdicts,
    verdict_name="right",
    title="Which model is right, and where the others go wrong",
    note=f"The lowest loss on these stories is {best_letter}'s. Your guess was: {which_is_right}",
)

# %% [markdown] key="answer-text"
# Read the rows. **A** is right up to the scores of block 0: its scores were not divided by $\sqrt{d_\text{head}}$.
# **D** is wrong at `hook_pos_embed`, before anything has been computed: its positions are shifted by one. **C** is
# right in every block and in the normalized stream, and wrong in the logits: between those two stand only the gain and
# bias of the final norm and the unembedding. It had left the gain and bias out. **B** is the model.
#
# A loss alone can mislead: on a single text a broken model may well come out lower by luck, and a lower loss on many
# would still not say which line it is. The table does, and it needs no trained eye. This is how people port a model
# from one library to another: same weights, same text, compare every activation, and mend the first that differs. So
# that is the answer: **a model is right when every value is, and the first value that is not names the line.**

# %% [markdown] key="summary"
# ## Summary
#
# Say it in your own words first, then compare.
#
# - A model of $k$ **blocks** has $2k$ **sublayers**, attention and MLP in turn. Each reads the stream through its own
#   LayerNorm and adds its output to the stream; the stream itself is never normalized.
# - Ids → embedding + position → blocks → final LayerNorm → the transposed embedding table → **logits**. That is all.
# - Weights are loaded **all or nothing**: a name or a shape that does not fit is an error, and then nothing is changed.
# - Every activation has a name and a shape. What belongs to one position has pos first; what stands between positions
#   is a grid for each head, and grows with the square of the length.
# - $n$ tokens give $n$ predictions; position $i$ speaks about token $i + 1$.
# - The **loss** is the mean surprise $-\log p$ at the tokens that came. Guessing evenly costs $\log 50257 \approx 10.8$.
# - A loss says that something is wrong; the first activation that differs says where.

# %% [markdown] key="self-test"
# ## Test yourself
#
# **1.** A batch of 4 texts of 20 tokens each goes through GPT-2. What is the shape of the logits? How many of their
# rows enter the loss?
#
# <details><summary>Answer</summary>
#
# [4, 20, 50257]: 80 rows. The last row of each text has no answer yet, so 4 · 19 = 76 rows enter the loss.
#
# </details>
#
# **2.** A model gave the two tokens that came the probabilities 1/2 and 1/8. What are its loss and its perplexity?
#
# <details><summary>Answer</summary>
#
# $(\log 2 + \log 8) / 2 = \log 4 \approx 1.39$ nats, and a perplexity of 4: the geometric mean of 2 and 8. (Averaging
# the probabilities first would give something else, and too good a number.)
#
# </details>
#
# **3.** You compare every activation of your model with GPT-2's. All rows of block 0 agree up to `hook_resid_mid`,
# `ln2.hook_normalized` agrees, `mlp.hook_pre` does not. Which lines of your code can be wrong?
#
# <details><summary>Answer</summary>
#
# Only what stands between the two: the gain and bias of ln2, and the MLP's first linear map with its bias (or the
# weights that were loaded into them). Attention is cleared, since what it wrote is in `hook_resid_mid`.
#
# </details>

# %% [markdown] key="glossary" covers="N21"
# ## Words met
#
# | term | meaning |
# |---|---|
# | block | attention and then an MLP, with a LayerNorm before each |
# | sublayer | one of the two; a model of k blocks has 2k |
# | pre-norm | the norm stands before a sublayer, not after the sum |
# | parameter | a number that training changes; the same for every text |
# | activation | a number that the model computes on its way; another for every text |
# | module | a PyTorch object that holds parameters and other modules; the way to a parameter is its name |
# | checkpoint | stored weights: tensors by name |
# | hook | a named place in the model where one can look at an activation or change it |
# | logit | the score of a token before the softmax |
# | log-probability | the logarithm of the probability that a token was given; its negative is the surprise |
# | nat | the unit of surprise with natural logarithms; about 1.44 bits |
# | loss, cross-entropy | the mean surprise at the tokens that came; what training makes small |
# | perplexity | e to the power of the loss: between how many equally likely tokens the model hesitates |

# %% [markdown] key="read-on"
# ## Where to read on
#
# - Radford, Wu, Child, Luan, Amodei and Sutskever, *Language Models are Unsupervised Multitask Learners* (2019): the
#   GPT-2 paper. Section 2.3 says in a few lines what you have built.
# - Xiong et al., *On Layer Normalization in the Transformer Architecture* (2020): why a norm before the sublayer makes
#   training easier than one after the sum.
# - Press and Wolf, *Using the Output Embedding to Improve Language Models* (2017): the tied table.
# - Karpathy's nanoGPT, the file `model.py`: GPT-2 in about three hundred lines of PyTorch. You can read all of it now.
# - Jurafsky and Martin, *Speech and Language Processing*, the chapter on n-gram language models: perplexity, explained
#   on models that are simpler than this one.
#
# Next, [chapter 08](08_training.ipynb): the loss is a number that can be made smaller. You train a
# transformer from random weights.
