"""Chapter 03, embeddings and the residual stream: tokens and positions become vectors, every layer adds to their sum.

The stream as one sum that any layer can be read from is Elhage et al. 2021, "A Mathematical Framework for Transformer
Circuits"; reading it early is nostalgebraist 2020, "interpreting GPT: the logit lens". LayerNorm is written out once
more here, in `_normed`, because its own chapter comes after this one.
"""

from math import sqrt

import torch
from einops import einsum
from jaxtyping import Float, Int
from torch import Tensor

from utils.exercises.declare import Exercise


def _own_tokens(cache):
    """The text in a vocabulary of its own tokens alone, and their rows of W_E: the whole table is 50,257 rows long."""
    return torch.searchsorted(cache.text_ids, cache.tokens), cache.weight("embed.W_E")[cache.text_ids]


def _own_logits(cache, hook="logits"):
    """The model's logits of the text's own tokens: each depends on its own column of W_U alone."""
    return cache.part(hook, (..., cache.text_ids), "of the text's own tokens")


def _own_unembedding(cache):
    return cache.weight("unembed.W_U")[:, cache.text_ids], cache.weight("unembed.b_U")[cache.text_ids]


# 03.1 ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

embedding = Exercise("03.1", difficulty=1, minutes=5)


@embedding.oracle
def embed(
    tokens: Int[Tensor, "batch pos"],
    W_E: Float[Tensor, "d_vocab d_model"],
) -> Float[Tensor, "batch pos d_model"]:
    """Each token's row of the table, which is its one-hot vector times the table."""
    return W_E[tokens]


@embedding.on_reference
def _(cache):
    return _own_tokens(cache), cache["hook_embed"]


@embedding.fresh
def _(draw):
    return draw.ids("batch pos", draw.size("d_vocab")), draw.normal("d_vocab d_model")


@embedding.special("on a text that holds the first and the last token of the vocabulary")
def _(draw):
    return torch.tensor([[0, 6, 3], [6, 0, 0]], device=draw.device), draw.normal("7 4")


embedding.hints(
    "The table has one row for each token of the vocabulary. What does a token id say about that table?",
    "An id is a row's number. Which shape do you get when you index a table with a whole tensor of row numbers?",
    "Indexing with a tensor of shape [batch, pos] puts a row in the place of each id: [batch, pos, d_model].",
    "`W_E[…]`",
)


@embedding.wrong(
    "scaled",
    "The rows are multiplied by √d_model, as in the transformer of 2017. GPT-2 takes them from the table as they are.",
)
def _(tokens, W_E):
    return W_E[tokens] * sqrt(W_E.shape[-1])


@embedding.wrong(
    "first_row_only",
    "Only the first text of the batch is looked up: the result must keep the batch axis, with all texts.",
)
def _(tokens, W_E):
    return W_E[tokens[0]]


@embedding.wrong(
    "first_row_for_all",
    "Every text of the batch gets the first text's vectors: look up each text's own ids.",
)
def _(tokens, W_E):
    return W_E[tokens[:1]].expand(tokens.shape[0], -1, -1)


@embedding.wrong(
    "one_hot_from_one",
    "The one-hot vectors count the tokens from 1: ids start at 0, so that the 1 of token 0 stands in the first place.",
)
def _(tokens, W_E):
    from_one = torch.arange(1, len(W_E) + 1, device=tokens.device)
    return (tokens[..., None] == from_one).to(W_E.dtype) @ W_E


@embedding.wrong(
    "row_before",
    "Each token gets the row before its own: ids start at 0, as rows do. Nothing is subtracted.",
)
def _(tokens, W_E):
    return W_E[tokens - 1]


@embedding.wrong("row_after", "Each token gets the row after its own: ids start at 0, as rows do. Nothing is added.")
def _(tokens, W_E):
    return W_E.roll(-1, 0)[tokens]


@embedding.wrong(
    "table_transposed",
    "The table is transposed before the lookup: W_E has a row for each token already, and d_model numbers in each row.",
)
def _(tokens, W_E):
    return W_E.T[tokens]


@embedding.wrong(
    "column_for_row",
    "Columns of the table are taken: a token's vector is a row, W_E[token], so the ids belong in the first place.",
)
def _(tokens, W_E):
    return W_E[:, tokens]


@embedding.right
def with_functional(tokens, W_E):
    return torch.nn.functional.embedding(tokens, W_E)


@embedding.right
def one_hot_times_table(tokens, W_E):
    one_hot = torch.nn.functional.one_hot(tokens, len(W_E)).to(W_E.dtype)
    return einsum(one_hot, W_E, "batch pos d_vocab, d_vocab d_model -> batch pos d_model")


@embedding.right
def token_by_token(tokens, W_E):
    return torch.stack([torch.stack([W_E[int(token)] for token in row]) for row in tokens])


@embedding.right
def flat_and_back(tokens, W_E):
    return W_E.index_select(0, tokens.reshape(-1)).view(*tokens.shape, -1)


# 03.2 ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

positions = Exercise("03.2", difficulty=2, minutes=10, keep=("n_ctx",))


@positions.oracle
def pos_embed(
    tokens: Int[Tensor, "batch pos"],
    W_pos: Float[Tensor, "n_ctx d_model"],
) -> Float[Tensor, "batch pos d_model"]:
    """Row i of the table at position i, in every text of the batch alike."""
    batch, pos = tokens.shape
    return W_pos[:pos].expand(batch, -1, -1)


@positions.on_reference
def _(cache):
    return (cache.tokens, cache.weight("pos_embed.W_pos")), cache["hook_pos_embed"]


@positions.fresh
def _(draw):
    """The table is long enough that every listed mistake stays inside it."""
    batch, pos = draw.shape("batch pos")
    n_ctx = draw.size("n_ctx", at_least=batch * pos + 1)
    return draw.ids("batch pos", n_ctx), draw.normal("n_ctx d_model")


@positions.special("on a text as long as the table")
def _(draw):
    return draw.ids("2 6", 6), draw.normal("6 5")


positions.hints(
    "Does a position's vector depend on which token stands there?",
    "Only the length of the text counts: position 0 gets row 0 of W_pos, position 1 gets row 1, and so on.",
    "W_pos[:pos] has the shape [pos, d_model]. Every text of the batch needs it: expand or repeat adds that axis.",
    "`W_pos[:tokens.shape[1]].expand(…, -1, -1)`",
)


@positions.wrong(
    "starts_at_1",
    "The positions start at 1: the first token stands at position 0, and gets row 0 of W_pos.",
)
def _(tokens, W_pos):
    batch, pos = tokens.shape
    return W_pos[1 : pos + 1].expand(batch, -1, -1)


@positions.wrong(
    "indexed_by_token",
    "W_pos is indexed with the token ids: its rows are positions. The row depends on where a token stands, not on "
    "which token it is.",
)
def _(tokens, W_pos):
    return W_pos[tokens]


@positions.wrong(
    "no_batch_axis",
    "The batch axis is missing: the rows are right, but each text of the batch needs them, as a tensor [batch, pos, "
    "d_model].",
)
def _(tokens, W_pos):
    return W_pos[: tokens.shape[1]]


@positions.wrong(
    "batch_of_1",
    "The batch axis has length 1: it would broadcast in a sum, but the result must have a row for each text of the "
    "batch.",
)
def _(tokens, W_pos):
    return W_pos[None, : tokens.shape[1]]


@positions.wrong(
    "numbering_runs_on",
    "The numbering runs on from one text of the batch to the next: each text starts at position 0 again.",
)
def _(tokens, W_pos):
    return W_pos[torch.arange(tokens.numel(), device=tokens.device).view_as(tokens)]


@positions.wrong("reversed", "The positions count backwards: position 0 is the first token of the text.")
def _(tokens, W_pos):
    return W_pos[: tokens.shape[1]].flip(0).expand(tokens.shape[0], -1, -1)


@positions.wrong(
    "last_rows", "The last rows of W_pos are taken: a text shorter than the table uses its first rows, from 0 on."
)
def _(tokens, W_pos):
    return W_pos[-tokens.shape[1] :].expand(tokens.shape[0], -1, -1)


@positions.wrong(
    "numbers_the_texts",
    "The texts of the batch are numbered, not the tokens: positions run along the second axis of tokens.",
)
def _(tokens, W_pos):
    number = torch.arange(tokens.shape[0], device=tokens.device)[:, None]
    return W_pos[number.expand_as(tokens)]


@positions.wrong(
    "whole_table",
    "All n_ctx rows of the table are given: a text uses only as many rows as it has tokens, the first ones.",
)
def _(tokens, W_pos):
    return W_pos.expand(tokens.shape[0], -1, -1)


@positions.right
def repeated(tokens, W_pos):
    return W_pos[: tokens.shape[1]].unsqueeze(0).repeat(tokens.shape[0], 1, 1)


@positions.right
def looked_up(tokens, W_pos):
    number = torch.arange(tokens.shape[1], device=tokens.device).expand_as(tokens)
    return torch.nn.functional.embedding(number, W_pos)


@positions.right
def counted_up(tokens, W_pos):
    number = torch.ones_like(tokens).cumsum(-1) - 1
    return W_pos[number]


@positions.right
def text_by_text(tokens, W_pos):
    return torch.stack([torch.stack([W_pos[i] for i, _ in enumerate(row)]) for row in tokens])


# 03.3 ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

start = Exercise("03.3", difficulty=1, minutes=5, keep=("n_ctx",))


@start.oracle
def initial_residual(
    tokens: Int[Tensor, "batch pos"],
    W_E: Float[Tensor, "d_vocab d_model"],
    W_pos: Float[Tensor, "n_ctx d_model"],
) -> Float[Tensor, "batch pos d_model"]:
    """What the first block reads: each token's vector plus its position's vector."""
    return embed(tokens, W_E) + pos_embed(tokens, W_pos)


@start.on_reference
def _(cache):
    return (*_own_tokens(cache), cache.weight("pos_embed.W_pos")), cache["blocks.0.hook_resid_pre"]


@start.fresh
def _(draw):
    tokens = draw.ids("batch pos", draw.size("d_vocab"))
    draw.size("n_ctx", at_least=draw.size("pos") + 1)
    return tokens, draw.normal("d_vocab d_model"), draw.normal("n_ctx d_model")


@start.special("on a text as long as the table of positions")
def _(draw):
    return draw.ids("2 6", 9), draw.normal("9 5"), draw.normal("6 5")


start.hints(
    "You have both parts already. How do a token's vector and its position's vector become one vector of d_model "
    "numbers?",
    "They are added, number by number: the stream is a sum from the very start.",
    "Both have the shape [batch, pos, d_model], so a plain + does it.",
    "`embed(tokens, W_E) + …`",
)


@start.wrong(
    "concatenated",
    "The two are put side by side: the stream has d_model numbers, the sum of the two vectors.",
)
def _(tokens, W_E, W_pos):
    return torch.cat([embed(tokens, W_E), pos_embed(tokens, W_pos)], -1)


@start.wrong("multiplied", "The two are multiplied: they are added.")
def _(tokens, W_E, W_pos):
    return embed(tokens, W_E) * pos_embed(tokens, W_pos)


@start.wrong("averaged", "The two are averaged: they are added, and nothing is halved.")
def _(tokens, W_E, W_pos):
    return (embed(tokens, W_E) + pos_embed(tokens, W_pos)) / 2


@start.wrong("no_positions", "The positions are left out: without them the model could not tell near from far.")
def _(tokens, W_E, W_pos):
    return embed(tokens, W_E)


@start.wrong("no_tokens", "The tokens are left out: only the positions' vectors are there.")
def _(tokens, W_E, W_pos):
    return pos_embed(tokens, W_pos)


@start.wrong("positions_from_1", "The positions start at 1: the first token stands at position 0, row 0 of W_pos.")
def _(tokens, W_E, W_pos):
    return embed(tokens, W_E) + W_pos[1 : tokens.shape[1] + 1]


@start.wrong("tokens_scaled", "The tokens' vectors are multiplied by √d_model: GPT-2 takes them as they are.")
def _(tokens, W_E, W_pos):
    return embed(tokens, W_E) * sqrt(W_E.shape[-1]) + pos_embed(tokens, W_pos)


@start.wrong(
    "positions_by_token", "W_pos is indexed with the token ids: its rows are positions, counted from 0 in every text."
)
def _(tokens, W_E, W_pos):
    return W_E[tokens] + W_pos[tokens % len(W_pos)]


@start.right
def by_broadcasting(tokens, W_E, W_pos):
    return W_E[tokens] + W_pos[: tokens.shape[1]]


@start.right
def one_long_table(tokens, W_E, W_pos):
    both = torch.cat([W_E, W_pos])
    number = torch.arange(tokens.shape[1], device=tokens.device) + len(W_E)
    return both[torch.stack([tokens, number.expand_as(tokens)])].sum(0)


@start.right
def position_by_position(tokens, W_E, W_pos):
    out = torch.empty(*tokens.shape, W_E.shape[1], dtype=W_E.dtype, device=W_E.device)
    for i in range(tokens.shape[1]):
        out[:, i] = W_E[tokens[:, i]]
        out[:, i] += W_pos[i]
    return out


# 03.4 ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

after = Exercise("03.4", difficulty=2, minutes=10, keep=("layer",))


@after.oracle
def residual_after(
    layer: int,
    embed: Float[Tensor, "batch pos d_model"],
    pos_embed: Float[Tensor, "batch pos d_model"],
    attn_outs: Float[Tensor, "layer batch pos d_model"],
    mlp_outs: Float[Tensor, "layer batch pos d_model"],
) -> Float[Tensor, "batch pos d_model"]:
    """The stream after this layer, counted from 0: everything that has been added to it so far (Elhage et al. 2021)."""
    return embed + pos_embed + attn_outs[: layer + 1].sum(0) + mlp_outs[: layer + 1].sum(0)


@after.on_reference
def _(cache):
    outs = [
        torch.stack([cache[f"blocks.{i}.hook_{part}_out"] for i in range(cache.n_layers)]) for part in ("attn", "mlp")
    ]
    for layer in range(cache.n_layers):
        args = (layer, cache["hook_embed"], cache["hook_pos_embed"], *outs)
        yield args, cache[f"blocks.{layer}.hook_resid_post"]


def _parts(draw, layers="layer"):
    single = "batch pos d_model"
    return (
        draw.normal(single),
        draw.normal(single),
        draw.normal(f"{layers} {single}"),
        draw.normal(f"{layers} {single}"),
    )


@after.fresh
def _(draw):
    return draw.size("layer", at_least=2) - 1, *_parts(draw)


@after.fresh
def _(draw):
    """A layer with more layers behind it."""
    return draw.size("layer", at_least=3) - 2, *_parts(draw)


@after.special("after layer 0")
def _(draw):
    return 0, *_parts(draw, "4")


@after.special("in a model of a single layer")
def _(draw):
    return 0, *_parts(draw, "1")


after.hints(
    "Nothing in the stream is ever overwritten. What, then, is in it after a layer?",
    "The two embeddings, and what attention and MLP of every layer up to this one have written: all of it added.",
    "After layer 2 the layers 0, 1 and 2 have written: a slice that ends with layer + 1. sum(0) adds along the layer "
    "axis.",
    "`embed + pos_embed + attn_outs[: …].sum(0) + …`",
)


@after.wrong(
    "one_layer_short",
    "One layer is missing: after layer i the layers 0 to i have written, and a slice [:i] stops before i.",
)
def _(layer, embed, pos_embed, attn_outs, mlp_outs):
    return embed + pos_embed + attn_outs[:layer].sum(0) + mlp_outs[:layer].sum(0)


@after.wrong(
    "last_mlp_left_out",
    "The MLP of the layer itself is left out: that is the stream between its attention and its MLP (resid_mid).",
)
def _(layer, embed, pos_embed, attn_outs, mlp_outs):
    return embed + pos_embed + attn_outs[: layer + 1].sum(0) + mlp_outs[:layer].sum(0)


@after.wrong("no_positions", "The positions are left out: the stream starts as embed + pos_embed.")
def _(layer, embed, pos_embed, attn_outs, mlp_outs):
    return embed + attn_outs[: layer + 1].sum(0) + mlp_outs[: layer + 1].sum(0)


@after.wrong(
    "no_embeddings",
    "Both embeddings are left out: the layers add to embed + pos_embed, they do not replace it.",
)
def _(layer, embed, pos_embed, attn_outs, mlp_outs):
    return attn_outs[: layer + 1].sum(0) + mlp_outs[: layer + 1].sum(0)


@after.wrong("mean_over_layers", "The layers' outputs are averaged: they add up.")
def _(layer, embed, pos_embed, attn_outs, mlp_outs):
    return embed + pos_embed + attn_outs[: layer + 1].mean(0) + mlp_outs[: layer + 1].mean(0)


@after.wrong(
    "this_layer_alone",
    "Only this layer's own outputs are added: those of all the layers before it are in the stream too.",
)
def _(layer, embed, pos_embed, attn_outs, mlp_outs):
    return embed + pos_embed + attn_outs[layer] + mlp_outs[layer]


@after.wrong("every_layer", "The outputs of all layers are added, whichever layer is asked for: stop after that layer.")
def _(layer, embed, pos_embed, attn_outs, mlp_outs):
    return embed + pos_embed + attn_outs.sum(0) + mlp_outs.sum(0)


@after.wrong(
    "one_layer_too_many",
    "One layer too many is added: the layers are counted from 0, and layer i itself is the last one.",
)
def _(layer, embed, pos_embed, attn_outs, mlp_outs):
    return embed + pos_embed + attn_outs[: layer + 2].sum(0) + mlp_outs[: layer + 2].sum(0)


@after.wrong("no_mlps", "The MLPs' outputs are left out: they write into the stream as attention does.")
def _(layer, embed, pos_embed, attn_outs, mlp_outs):
    return embed + pos_embed + attn_outs[: layer + 1].sum(0)


@after.wrong("no_attention", "The attention layers' outputs are left out: they write into the stream as the MLPs do.")
def _(layer, embed, pos_embed, attn_outs, mlp_outs):
    return embed + pos_embed + mlp_outs[: layer + 1].sum(0)


@after.right
def as_the_model_runs(layer, embed, pos_embed, attn_outs, mlp_outs):
    stream = embed + pos_embed
    for attn_out, mlp_out in zip(attn_outs[: layer + 1], mlp_outs[: layer + 1], strict=True):
        stream = stream + attn_out
        stream = stream + mlp_out
    return stream


@after.right
def one_long_stack(layer, embed, pos_embed, attn_outs, mlp_outs):
    so_far = slice(0, layer + 1)
    return torch.cat([embed[None], pos_embed[None], attn_outs[so_far], mlp_outs[so_far]]).sum(0)


@after.right
def cumulative(layer, embed, pos_embed, attn_outs, mlp_outs):
    return (attn_outs.double() + mlp_outs).cumsum(0)[layer].add(embed).add(pos_embed).to(embed.dtype)


@after.right
def weighted_by_zero_and_one(layer, embed, pos_embed, attn_outs, mlp_outs):
    there = (torch.arange(len(attn_outs), device=embed.device) <= layer).to(embed.dtype)
    return embed + pos_embed + torch.einsum("l,lbpm->bpm", there, attn_outs + mlp_outs)


# 03.5 ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

unembedding = Exercise("03.5", difficulty=1, minutes=5)


@unembedding.oracle
def unembed(
    resid: Float[Tensor, "batch pos d_model"],
    W_U: Float[Tensor, "d_model d_vocab"],
    b_U: Float[Tensor, "d_vocab"],
) -> Float[Tensor, "batch pos d_vocab"]:
    """One logit for each token of the vocabulary, at each position."""
    return resid @ W_U + b_U


@unembedding.on_reference
def _(cache):
    """With the columns of the text's own tokens: the whole of W_U has 50,257."""
    return (cache["ln_final.hook_out"], *_own_unembedding(cache)), _own_logits(cache, "hook_unembed")


@unembedding.fresh
def _(draw):
    return draw.normal("batch pos d_model"), draw.weight("d_model d_vocab", "d_model"), draw.normal("d_vocab")


unembedding.hints(
    "From d_model numbers to one number for each token of the vocabulary: which axis must disappear, which appears?",
    "It is a linear map: a product with W_U, and a bias at the end.",
    "The last axis of resid and the first of W_U are both d_model: that is how a matrix product lines them up.",
    "`resid @ … + …`",
)


@unembedding.wrong(
    "transposed",
    "W_U is transposed: it has the shape [d_model, d_vocab] already, so that resid @ W_U ends in d_vocab.",
)
def _(resid, W_U, b_U):
    return resid @ W_U.T + b_U


@unembedding.wrong("bias_forgotten", "The bias b_U is not added.")
def _(resid, W_U, b_U):
    return resid @ W_U


@unembedding.wrong(
    "softmaxed",
    "A softmax is applied: logits are the scores before it. They may be negative, and need not sum to 1.",
)
def _(resid, W_U, b_U):
    return (resid @ W_U + b_U).softmax(-1)


@unembedding.wrong("log_softmaxed", "A log_softmax is applied: logits are the scores before it.")
def _(resid, W_U, b_U):
    return (resid @ W_U + b_U).log_softmax(-1)


@unembedding.wrong(
    "normed_first", "resid is normalized once more: what comes in has been through the final norm already."
)
def _(resid, W_U, b_U):
    return _normed(resid, 1e-5) @ W_U + b_U


@unembedding.wrong("last_position_only", "Only the last position is there: every position predicts a next token.")
def _(resid, W_U, b_U):
    return resid[:, -1] @ W_U + b_U


@unembedding.right
def with_einsum(resid, W_U, b_U):
    return einsum(resid, W_U, "batch pos d_model, d_model d_vocab -> batch pos d_vocab") + b_U


@unembedding.right
def with_linear(resid, W_U, b_U):
    return torch.nn.functional.linear(resid, W_U.T, b_U)


@unembedding.right
def token_by_token_of_the_vocabulary(resid, W_U, b_U):
    return torch.stack([(resid * W_U[:, t]).sum(-1) + b_U[t] for t in range(W_U.shape[1])], -1)


@unembedding.right
def flat_with_addmm(resid, W_U, b_U):
    return torch.addmm(b_U, resid.flatten(0, 1), W_U).view(*resid.shape[:2], -1)


# 03.6 ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

lens = Exercise("03.6", difficulty=3, minutes=15)


def _normed(x: Tensor, eps: float, *, axes=-1, unbiased=False) -> Tensor:
    """Mean 0 and variance 1 in each row; chapter 04 is about this."""
    centered = x - x.mean(axes, keepdim=True)
    return centered / (x.var(axes, unbiased=unbiased, keepdim=True) + eps).sqrt()


@lens.oracle
def logit_lens(
    resid: Float[Tensor, "batch pos d_model"],
    ln_w: Float[Tensor, "d_model"],
    ln_b: Float[Tensor, "d_model"],
    eps: float,
    W_U: Float[Tensor, "d_model d_vocab"],
    b_U: Float[Tensor, "d_vocab"],
) -> Float[Tensor, "batch pos d_vocab"]:
    """Any layer's stream, treated as if it were the last one: final norm, then unembedding (nostalgebraist 2020)."""
    return unembed(_normed(resid, eps) * ln_w + ln_b, W_U, b_U)


@lens.on_reference
def _(cache):
    """The last layer's lens is the model's output itself."""
    norm = cache.weight("ln_final.w"), cache.weight("ln_final.b"), float(cache.cfg.eps)
    last = cache.n_layers - 1
    for layer in range(cache.n_layers):
        args = (cache[f"blocks.{layer}.hook_resid_post"], *norm, *_own_unembedding(cache))
        yield args, _own_logits(cache) if layer == last else None


def _lens_inputs(draw, scale=2.0):
    resid = draw.normal("batch pos d_model", scale=scale, mean=scale / 3)
    norm = draw.gain("d_model"), draw.normal("d_model"), draw.eps()
    return resid, *norm, draw.weight("d_model d_vocab", "d_model"), draw.normal("d_vocab")


@lens.fresh
def _(draw):
    return _lens_inputs(draw)


@lens.special("on a stream of small numbers")
def _(draw):
    return _lens_inputs(draw, scale=0.1)


@lens.special("on a stream of very small numbers, with eps = 0")
def _(draw):
    resid, ln_w, ln_b, _, *rest = _lens_inputs(draw, scale=0.01)
    return resid, ln_w, ln_b, 0.0, *rest


@lens.special("with negative gains")
def _(draw):
    resid, ln_w, *rest = _lens_inputs(draw)
    return resid, -ln_w, *rest


lens.hints(
    "What does the model do with the stream of its last layer before it is unembedded? Do the same with any layer's.",
    "The final LayerNorm comes first. F.layer_norm(x, shape, weight, bias, eps) normalizes over the last axis when "
    "shape is (d_model,); chapter 04 builds it.",
    "By hand: subtract the row's mean, divide by √(variance + eps) with var(-1, unbiased=False, keepdim=True), then "
    "times ln_w, plus ln_b.",
    "`unembed(F.layer_norm(resid, …, ln_w, ln_b, eps), …, …)`",
)


@lens.wrong(
    "no_final_norm",
    "The final norm is left out: the unembedding expects normalized vectors, so the stream goes through the norm "
    "first.",
)
def _(resid, ln_w, ln_b, eps, W_U, b_U):
    return resid @ W_U + b_U


@lens.wrong("gain_left_out", "The norm's gain ln_w is left out: the normalized vector is multiplied by it.")
def _(resid, ln_w, ln_b, eps, W_U, b_U):
    return (_normed(resid, eps) + ln_b) @ W_U + b_U


@lens.wrong("norm_bias_left_out", "The norm's bias ln_b is left out: it is added after the gain.")
def _(resid, ln_w, ln_b, eps, W_U, b_U):
    return (_normed(resid, eps) * ln_w) @ W_U + b_U


@lens.wrong("gain_and_bias_left_out", "The norm's gain ln_w and its bias ln_b are both left out.")
def _(resid, ln_w, ln_b, eps, W_U, b_U):
    return _normed(resid, eps) @ W_U + b_U


@lens.wrong(
    "statistics_over_positions",
    "Mean and variance are taken over the positions: they belong over d_model, one pair for each position.",
)
def _(resid, ln_w, ln_b, eps, W_U, b_U):
    return (_normed(resid, eps, axes=1) * ln_w + ln_b) @ W_U + b_U


@lens.wrong(
    "statistics_over_the_text",
    "One mean and one variance are taken for a whole text: each position has its own, over d_model.",
)
def _(resid, ln_w, ln_b, eps, W_U, b_U):
    return (_normed(resid, eps, axes=(1, 2)) * ln_w + ln_b) @ W_U + b_U


@lens.wrong(
    "unbiased_variance",
    "The variance divides by d_model − 1, as var does by default: LayerNorm divides by d_model (unbiased=False).",
)
def _(resid, ln_w, ln_b, eps, W_U, b_U):
    return (_normed(resid, eps, unbiased=True) * ln_w + ln_b) @ W_U + b_U


@lens.wrong("not_centered", "The mean is not subtracted: the norm centers each vector before it divides.")
def _(resid, ln_w, ln_b, eps, W_U, b_U):
    return (resid * (resid.square().mean(-1, keepdim=True) + eps).rsqrt() * ln_w + ln_b) @ W_U + b_U


@lens.wrong("eps_ignored", "The eps given is not used, as when F.layer_norm keeps its own 1e-5: pass it on.")
def _(resid, ln_w, ln_b, eps, W_U, b_U):
    return (_normed(resid, 1e-5) * ln_w + ln_b) @ W_U + b_U


@lens.wrong("eps_outside_the_root", "eps is added after the root: it belongs to the variance, under the root.")
def _(resid, ln_w, ln_b, eps, W_U, b_U):
    spread = resid.std(-1, unbiased=False, keepdim=True)
    return ((resid - resid.mean(-1, keepdim=True)) / (spread + eps) * ln_w + ln_b) @ W_U + b_U


@lens.wrong(
    "eps_raised",
    "eps is raised where it is very small, as by max(eps, 1e-5): use the one that is given, even where it is 0.",
)
def _(resid, ln_w, ln_b, eps, W_U, b_U):
    return logit_lens(resid, ln_w, ln_b, max(eps, 1e-5), W_U, b_U)


@lens.wrong(
    "gain_sign_lost",
    "The sign of the gain is lost: a gain may be negative, and then turns the sign of its number. Use ln_w as it is.",
)
def _(resid, ln_w, ln_b, eps, W_U, b_U):
    return logit_lens(resid, ln_w.abs(), ln_b, eps, W_U, b_U)


@lens.wrong("unembed_bias_left_out", "The unembedding's bias b_U is not added.")
def _(resid, ln_w, ln_b, eps, W_U, b_U):
    return (_normed(resid, eps) * ln_w + ln_b) @ W_U


@lens.wrong("softmaxed", "A softmax is applied: the lens gives logits, the scores before it.")
def _(resid, ln_w, ln_b, eps, W_U, b_U):
    return logit_lens(resid, ln_w, ln_b, eps, W_U, b_U).softmax(-1)


@lens.right
def with_functional(resid, ln_w, ln_b, eps, W_U, b_U):
    return torch.nn.functional.layer_norm(resid, resid.shape[-1:], ln_w, ln_b, eps) @ W_U + b_U


@lens.right
def in_float64(resid, ln_w, ln_b, eps, W_U, b_U):
    x = resid.double() - resid.double().mean(-1, keepdim=True)
    x = x * (x.pow(2).mean(-1, keepdim=True) + eps) ** -0.5
    logits = einsum(x * ln_w + ln_b, W_U.double(), "batch pos d_model, d_model d_vocab -> batch pos d_vocab")
    return (logits + b_U).to(resid.dtype)


@lens.right
def position_by_position(resid, ln_w, ln_b, eps, W_U, b_U):
    rows = []
    for i in range(resid.shape[1]):
        row = resid[:, i] - resid[:, i].mean(-1, keepdim=True)
        row = row / torch.sqrt((row * row).mean(-1, keepdim=True) + eps)
        rows.append(torch.addmm(b_U, row * ln_w + ln_b, W_U))
    return torch.stack(rows, 1)


class _Lens(torch.nn.Module):
    """A module of modules stands for a function."""

    def forward(self, resid, ln_w, ln_b, eps, W_U, b_U):
        norm = torch.nn.LayerNorm(resid.shape[-1], eps=eps, dtype=resid.dtype, device=resid.device)
        norm.weight.data, norm.bias.data = ln_w, ln_b
        return torch.nn.functional.linear(norm(resid), W_U.T, b_U)


lens.right(_Lens())

# 03.7 ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

tied = Exercise("03.7", difficulty=1, minutes=5)


@tied.oracle
def tied_unembed(
    resid: Float[Tensor, "batch pos d_model"],
    W_E: Float[Tensor, "d_vocab d_model"],
) -> Float[Tensor, "batch pos d_vocab"]:
    """Logits from the embedding's own table (Press and Wolf 2017): the dot product with each token's row."""
    return resid @ W_E.T


@tied.on_reference
def _(cache):
    """GPT-2's unembedding has no bias, so these are the model's logits."""
    return (cache["ln_final.hook_out"], _own_tokens(cache)[1]), _own_logits(cache)


@tied.fresh
def _(draw):
    return draw.normal("batch pos d_model"), draw.weight("d_vocab d_model", "d_model")


tied.hints(
    "W_E has a row of d_model numbers for each token. How well does a vector of the stream match such a row?",
    "A token's logit is the dot product of the stream's vector with the token's row.",
    "All dot products at once are a matrix product, with the table turned so that d_model meets d_model.",
    "`resid @ …`",
)


@tied.wrong(
    "not_transposed",
    "The table is used as it stands, [d_vocab, d_model]: to end in d_vocab it must be transposed.",
)
def _(resid, W_E):
    return resid @ W_E


@tied.wrong(
    "own_table",
    "The unembedding has a random table of its own, and W_E is not used: tied means that W_E serves again, transposed.",
)
def _(resid, W_E):
    return resid @ (torch.randn_like(W_E) * 0.02).T


@tied.wrong("softmaxed", "A softmax is applied: logits are the scores before it.")
def _(resid, W_E):
    return (resid @ W_E.T).softmax(-1)


@tied.wrong(
    "inverse",
    "The table's (pseudo-)inverse is used. Unembedding does not undo the embedding: it is the same table, transposed.",
)
def _(resid, W_E):
    return resid @ torch.linalg.pinv(W_E.double()).to(W_E.dtype)


@tied.wrong(
    "rows_normalized",
    "The rows of the table are brought to length 1, which gives cosines: logits are plain dot products.",
)
def _(resid, W_E):
    return resid @ torch.nn.functional.normalize(W_E, dim=-1).T


@tied.wrong("scaled", "The logits are divided by √d_model: GPT-2 does not scale them.")
def _(resid, W_E):
    return resid @ W_E.T / sqrt(W_E.shape[-1])


@tied.wrong(
    "reshaped",
    "The table is reshaped to [d_model, d_vocab]: reshape only cuts the numbers anew, and no axis moves. Transpose it.",
)
def _(resid, W_E):
    return resid @ W_E.reshape(W_E.shape[1], W_E.shape[0])


@tied.right
def with_einsum(resid, W_E):
    return einsum(resid, W_E, "batch pos d_model, d_vocab d_model -> batch pos d_vocab")


@tied.right
def with_linear(resid, W_E):
    return torch.nn.functional.linear(resid, W_E)


@tied.right
def token_by_token(resid, W_E):
    return torch.stack([(resid * row).sum(-1) for row in W_E], dim=-1)


@tied.right
def turned_round(resid, W_E):
    return (W_E @ resid.mT).mT


# 03.8 ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

direct = Exercise("03.8", difficulty=2, minutes=10, keep=("d_vocab",))


@direct.oracle
def bigram_logits(
    W_E: Float[Tensor, "d_vocab d_model"],
    W_U: Float[Tensor, "d_model d_vocab"],
    ids: Int[Tensor, "ids"],
) -> Float[Tensor, "ids ids"]:
    """The path past every layer (Elhage et al. 2021). Row: the token that is read; column: the next token's logit."""
    return W_E[ids] @ W_U[:, ids]


@direct.on_reference
def _(cache):
    """On the text's own tokens: the whole table would be d_vocab × d_vocab."""
    few = cache.text_ids
    ids = torch.arange(1, 13, device=few.device)
    return (cache.weight("embed.W_E")[few], cache.weight("unembed.W_U")[:, few], ids), None


@direct.fresh
def _(draw):
    ids = draw.distinct(5, draw.size("d_vocab", at_least=9))
    return draw.normal("d_vocab d_model"), draw.weight("d_model d_vocab", "d_model"), ids


@direct.special("with the same token twice")
def _(draw):
    return draw.normal("8 4"), draw.normal("4 8"), torch.tensor([3, 0, 3, 7], device=draw.device)


@direct.special("with a single token")
def _(draw):
    return draw.normal("8 4"), draw.normal("4 8"), torch.tensor([3], device=draw.device)


@direct.prop("symmetric_when_tied")
def _(answer, draw):
    W_E = draw.normal("9 4")
    table = answer(W_E.clone(), W_E.T.clone(), draw.distinct(5, 9))
    gap = float((table - table.mT).abs().max())
    return None if gap < 1e-4 else f"With tied tables the result must be symmetric; it is off by {gap:.2g}."


direct.hints(
    "Imagine that no block writes anything. What does the model predict after a token, from that token alone?",
    "The token is embedded, then unembedded: two matrices, one after the other, W_E and then W_U.",
    "Keep only the tokens asked for: rows ids of W_E, columns ids of W_U. It also saves a great deal of work.",
    "`W_E[ids] @ W_U[…]`",
)


@direct.wrong(
    "transposed", "Rows and columns are swapped: the row is the token that is read, the column the token that follows."
)
def _(W_E, W_U, ids):
    return (W_E[ids] @ W_U[:, ids]).T


@direct.wrong("softmaxed", "A softmax is applied: the table holds logits.")
def _(W_E, W_U, ids):
    return bigram_logits(W_E, W_U, ids).softmax(-1)


@direct.wrong("every_column_kept", "Every token's logit is kept: only the columns ids of W_U are wanted.")
def _(W_E, W_U, ids):
    return W_E[ids] @ W_U


@direct.wrong("every_row_kept", "Every token is read: only the rows ids of W_E are wanted.")
def _(W_E, W_U, ids):
    return W_E @ W_U[:, ids]


@direct.wrong(
    "embedding_twice",
    "W_E stands on both sides, as if the tables were always tied: the tokens that follow are the columns of W_U.",
)
def _(W_E, W_U, ids):
    return W_E[ids] @ W_E[ids].T


@direct.wrong(
    "first_tokens",
    "The first tokens of the vocabulary are taken, as many as there are ids: pick the rows and columns ids.",
)
def _(W_E, W_U, ids):
    return W_E[: len(ids)] @ W_U[:, : len(ids)]


@direct.wrong("ids_sorted", "The ids are sorted first: rows and columns stand in the order of ids.")
def _(W_E, W_U, ids):
    return bigram_logits(W_E, W_U, ids.sort().values)


@direct.wrong("ids_once", "An id that comes again is dropped: each entry of ids has a row and a column of its own.")
def _(W_E, W_U, ids):
    return bigram_logits(W_E, W_U, torch.tensor(list(dict.fromkeys(ids.tolist())), device=ids.device))


@direct.wrong(
    "squeezed",
    "Axes of length 1 are dropped, as by squeeze(): with a single id the result is still a table, of one row and one "
    "column.",
)
def _(W_E, W_U, ids):
    return bigram_logits(W_E, W_U, ids).squeeze()


@direct.wrong(
    "whole_table", "The table holds all tokens: only the rows ids of W_E and the columns ids of W_U are wanted."
)
def _(W_E, W_U, ids):
    return W_E @ W_U


@direct.right
def whole_table_then_cut(W_E, W_U, ids):
    return (W_E @ W_U)[ids][:, ids]


@direct.right
def with_einsum(W_E, W_U, ids):
    return einsum(W_E[ids], W_U.index_select(1, ids), "read d_model, d_model next -> read next")


@direct.right
def pair_by_pair(W_E, W_U, ids):
    return torch.stack([torch.stack([W_E[a] @ W_U[:, b] for b in ids]) for a in ids])


@direct.right
def with_one_hot(W_E, W_U, ids):
    one_hot = torch.nn.functional.one_hot(ids, len(W_E)).to(W_E.dtype)
    return one_hot @ W_E @ W_U @ one_hot.T


# 03.9 ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

norms = Exercise("03.9", difficulty=2, minutes=5)


@norms.oracle
def norm_by_layer(cache_resid: Float[Tensor, "layer batch pos d_model"]) -> Float[Tensor, "layer"]:
    """How long the stream's vectors are: the L2 norm of each, averaged over the batch and the positions."""
    return cache_resid.norm(dim=-1).mean((1, 2))


@norms.on_reference
def _(cache):
    return (torch.stack([cache[f"blocks.{i}.hook_resid_post"] for i in range(cache.n_layers)]),), None


@norms.fresh
def _(draw):
    grows = 1 + torch.arange(draw.size("layer"), device=draw.device, dtype=draw.dtype)
    return (draw.normal("layer batch pos d_model", mean=0.5) * grows[:, None, None, None],)


@norms.special("on positions of very different norms")
def _(draw):
    return (draw.normal("3 2 5 4") * draw.uniform("1 2 5 1", 0.1, 9.0),)


norms.hints(
    "The norm of a vector is one number: √(sum of its squared numbers). Over which axis does it run, and what is left?",
    "There is one norm for each layer, text and position: a tensor [layer, batch, pos].",
    "Average those norms over the batch and the positions: mean takes a tuple of axes.",
    "`cache_resid.norm(dim=…).mean((…, …))`",
)


@norms.wrong(
    "norm_of_the_mean",
    "The vectors are averaged first, and the norm is taken of their mean: vectors that point different ways cancel. "
    "Take each vector's norm, then the mean.",
)
def _(cache_resid):
    return cache_resid.mean((1, 2)).norm(dim=-1)


@norms.wrong("squared", "The norms are squared: the L2 norm is the root of the sum of squares.")
def _(cache_resid):
    return cache_resid.square().sum(-1).mean((1, 2))


@norms.wrong(
    "all_positions_at_once",
    "One norm is taken over all positions at once, as if a layer were one long vector: each position has its own norm.",
)
def _(cache_resid):
    return cache_resid.flatten(1).norm(dim=-1)


@norms.wrong(
    "one_norm_a_text",
    "One norm is taken for each text, over all its positions at once: each position has its own norm.",
)
def _(cache_resid):
    return cache_resid.flatten(2).norm(dim=-1).mean(1)


@norms.wrong(
    "root_mean_square_of_norms",
    "The squared norms are averaged before the root is taken: take each vector's root first, then the mean.",
)
def _(cache_resid):
    return cache_resid.square().sum(-1).mean((1, 2)).sqrt()


@norms.wrong(
    "divided_by_root_d_model",
    "The mean of the squares is taken, not their sum: that is the norm divided by √d_model.",
)
def _(cache_resid):
    return cache_resid.square().mean(-1).sqrt().mean((1, 2))


@norms.wrong("l1", "The sizes of the numbers are added up, which is the L1 norm: L2 is the root of the sum of squares.")
def _(cache_resid):
    return cache_resid.abs().sum(-1).mean((1, 2))


@norms.wrong("summed", "The norms are added up over batch and positions: their mean is wanted.")
def _(cache_resid):
    return cache_resid.norm(dim=-1).sum((1, 2))


@norms.wrong(
    "layers_averaged", "The layers are averaged too: the result keeps one number for each layer, the first axis."
)
def _(cache_resid):
    return cache_resid.norm(dim=-1).mean()


@norms.right
def by_hand(cache_resid):
    return (cache_resid**2).sum(-1).sqrt().flatten(1).mean(1)


@norms.right
def layer_by_layer(cache_resid):
    return torch.stack([torch.linalg.vector_norm(layer.flatten(0, 1), dim=-1).mean() for layer in cache_resid])


@norms.right
def with_einsum_in_float64(cache_resid):
    x = cache_resid.double()
    return torch.einsum("lbpm,lbpm->lbp", x, x).sqrt().mean(dim=(-1, -2)).to(cache_resid.dtype)
