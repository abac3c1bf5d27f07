"""Chapter 05, attention: from projections to circuits, in the order in which one head is built.

Shapes follow TransformerLens. The equations are Vaswani et al. 2017, section 3.2; the circuits (05.11, 05.12) are
Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits", without biases and LayerNorm.
"""

from math import sqrt

import torch
from einops import einsum, rearrange
from jaxtyping import Float, Int
from torch import Tensor

from utils.exercises.declare import Exercise
from utils.exercises.gradients import gradient_fault

WEIGHTS = ("W_Q", "b_Q", "W_K", "b_K", "W_V", "b_V", "W_O", "b_O")


def _piece(exercise, key):
    """A wrong answer's program, to be used where a later exercise has the same mistake in it."""
    return next(w.answer for w in exercise.wrongs if w.key == key)


def _message(exercise, key):
    return next(w.message for w in exercise.wrongs if w.key == key)


# 05.1 ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

projection = Exercise("05.1", difficulty=2, minutes=10)


@projection.oracle
def project_heads(
    x: Float[Tensor, "batch pos d_model"],
    W: Float[Tensor, "n_heads d_model d_head"],
    b: Float[Tensor, "n_heads d_head"],
) -> Float[Tensor, "batch pos n_heads d_head"]:
    """Each head's own linear map of the stream, plus its bias."""
    mapped = einsum(x, W, "batch pos d_model, n_heads d_model d_head -> batch pos n_heads d_head")
    return mapped + b


def _projection_from(letter):
    def from_hooks(cache, layer):
        attn = f"blocks.{layer}.attn"
        args = (
            cache[f"blocks.{layer}.ln1.hook_out"],
            cache.weight(f"{attn}.W_{letter}"),
            cache.weight(f"{attn}.b_{letter}"),
        )
        return args, cache[f"{attn}.hook_{letter.lower()}"]

    return from_hooks


for _letter in "QKV":
    projection.on_reference(_projection_from(_letter))


@projection.fresh
def _(draw):
    return (
        draw.normal("batch pos d_model"),
        draw.weight("n_heads d_model d_head", "d_model"),
        draw.normal("n_heads d_head"),
    )


projection.hints(
    "Each head has its own matrix. Which axis does x share with a head's matrix, and what happens to it?",
    (
        "In einsum, an axis that is left out on the right is summed: leave out d_model, keep batch, pos, n_heads and "
        "d_head."
    ),
    "b has the shape [n_heads, d_head], the last two axes of the result, so that + b lines up by itself.",
    '`einsum(x, W, "batch pos d_model, n_heads d_model d_head -> …") + …`',
)


@projection.wrong("bias_forgotten", "The bias b is not added: each head's projection is x·W + b.")
def _(x, W, b):
    return project_heads(x, W, torch.zeros_like(b))


@projection.wrong("bias_twice", "The bias b is added twice: each head's projection is x·W + b.")
def _(x, W, b):
    return project_heads(x, W, 2 * b)


@projection.wrong("bias_subtracted", "The bias b is subtracted: each head's projection is x·W + b.")
def _(x, W, b):
    return project_heads(x, W, -b)


@projection.wrong(
    "bias_per_d_model",
    (
        "The bias is added to x, over d_model, before the projection; it belongs after it, one vector of d_head for "
        "each head."
    ),
)
def _(x, W, b):
    flat = b.reshape(-1)
    shift = flat.repeat(x.shape[-1] // len(flat) + 1)[: x.shape[-1]]
    return project_heads(x + shift, W, torch.zeros_like(b))


@projection.wrong(
    "strided_heads",
    (
        "The heads are cut out in strides: a flat row of d_model numbers holds head 0's d_head numbers first, then "
        "head 1's."
    ),
)
def _(x, W, b):
    flat = rearrange(project_heads(x, W, b), "batch pos n_heads d_head -> batch pos (n_heads d_head)")
    return rearrange(flat, "batch pos (d_head n_heads) -> batch pos n_heads d_head", n_heads=W.shape[0])


@projection.wrong(
    "heads_before_pos", "The head axis stands before pos: the order wanted is batch, pos, n_heads, d_head."
)
def _(x, W, b):
    return project_heads(x, W, b).transpose(1, 2)


@projection.wrong("one_head_for_all", "Every head uses head 0's matrix: each has a matrix W[h] of its own.")
def _(x, W, b):
    return project_heads(x, W[:1].expand_as(W), b)


@projection.wrong(
    "reshaped_not_moved",
    "W is reshaped to [d_model, n_heads·d_head] although n_heads stands first: reshape only cuts the numbers anew, it "
    "moves no axis. Move n_heads behind d_model first (permute, rearrange or einsum).",
)
def _(x, W, b):
    n_heads, d_model, d_head = W.shape
    return (x @ W.reshape(d_model, n_heads * d_head)).reshape(*x.shape[:2], n_heads, d_head) + b


@projection.right
def with_matmul(x, W, b):
    return (x[:, None] @ W).transpose(1, 2) + b


@projection.right
def with_loops(x, W, b):
    return torch.stack([x @ W[h] + b[h] for h in range(W.shape[0])], dim=2)


@projection.right
def one_big_matrix(x, W, b):
    heads, _, d_head = W.shape
    flat = x @ W.permute(1, 0, 2).reshape(W.shape[1], heads * d_head) + b.reshape(-1)
    return flat.unflatten(-1, (heads, d_head))


# 05.2 ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

scores = Exercise("05.2", difficulty=2, minutes=10)


@scores.oracle
def attention_scores(
    q: Float[Tensor, "batch query_pos n_heads d_head"],
    k: Float[Tensor, "batch key_pos n_heads d_head"],
) -> Float[Tensor, "batch n_heads query_pos key_pos"]:
    """Scaled dot product of every query with every key, head by head (Vaswani et al. 2017, eq. 1)."""
    dots = einsum(
        q, k, "batch query_pos n_heads d_head, batch key_pos n_heads d_head -> batch n_heads query_pos key_pos"
    )
    return dots / sqrt(q.shape[-1])


@scores.on_reference
def _(cache, layer):
    """Masked cells hold the lowest float in the model's cache: only what a query may see is compared."""
    attn = f"blocks.{layer}.attn"
    expected = cache[f"{attn}.hook_attn_scores"]
    visible = torch.ones(expected.shape[-2:], dtype=torch.bool, device=expected.device).tril()
    return (cache[f"{attn}.hook_q"], cache[f"{attn}.hook_k"]), expected, visible


@scores.fresh
def _(draw):
    return draw.normal("batch query_pos n_heads d_head"), draw.normal("batch key_pos n_heads d_head")


scores.hints(
    "Which axis do a query and a key have in common that should disappear? Which axes must both survive?",
    "einsum with query_pos from q and key_pos from k keeps both; d_head is summed because it is left out on the right.",
    "Dot products of d_head numbers grow like √d_head. What keeps their spread at 1?",
    '`einsum(q, k, "batch query_pos n_heads d_head, … -> batch n_heads query_pos key_pos") / …`',
)


@scores.wrong(
    "no_scale",
    (
        "Nothing divides by √d_head. The scores are √d_head times too large, and the softmax will pick one key and "
        "ignore the rest."
    ),
)
def _(q, k):
    return attention_scores(q, k) * sqrt(q.shape[-1])


@scores.wrong(
    "scaled_by_d_head",
    "You divide by d_head. The spread of a dot product of d_head numbers is √d_head, so that is what keeps it at 1.",
)
def _(q, k):
    return attention_scores(q, k) / sqrt(q.shape[-1])


@scores.wrong(
    "scaled_by_d_model",
    "You divide by √d_model. A head's dot product runs over its own d_head numbers, so √d_head keeps its spread at 1.",
)
def _(q, k):
    return attention_scores(q, k) / sqrt(q.shape[-2])


@scores.wrong(
    "scaled_by_n_heads",
    "You divide by the root of n_heads. Each head's dot product runs over d_head numbers, the last axis of q.",
)
def _(q, k):
    return attention_scores(q, k) * sqrt(q.shape[-1] / q.shape[-2])


@scores.wrong(
    "scaled_by_query_pos",
    "You divide by the root of the number of queries. Each head's dot product runs over d_head numbers, q's last axis.",
)
def _(q, k):
    return attention_scores(q, k) * sqrt(q.shape[-1] / q.shape[1])


@scores.wrong(
    "masked_already",
    "The future is masked already: that is the next step, 05.3. Here every query gets a score with every key.",
)
def _(q, k):
    dots = attention_scores(q, k)
    return dots.masked_fill(torch.ones_like(dots[0, 0]).triu(1).bool(), float("-inf"))


@scores.wrong("transposed", "Rows and columns are swapped: in row i, column j belongs the score of query i with key j.")
def _(q, k):
    return attention_scores(k, q)


@scores.wrong(
    "heads_mixed",
    (
        "The heads are mixed: every head gets the sum of all heads' dot products. Each head compares its own queries "
        "with its own keys."
    ),
)
def _(q, k):
    mixed = einsum(q, k, "batch query_pos n_heads d_head, batch key_pos n_heads d_head -> batch query_pos key_pos")
    return mixed[:, None].expand(-1, q.shape[2], -1, -1) / sqrt(q.shape[-1])


@scores.wrong(
    "keys_of_the_whole_batch",
    "Each query meets the keys of every text in the batch: the key's batch axis was summed away.",
)
def _(q, k):
    return attention_scores(q, k.sum(0, keepdim=True).expand_as(k))


@scores.wrong(
    "reshaped_not_moved",
    "q and k are reshaped to [batch n_heads pos d_head]: reshape only cuts the numbers anew, it moves no axis. Move "
    "n_heads before pos with transpose, permute or einsum.",
)
def _(q, k):
    batch, query_pos, n_heads, d_head = q.shape
    queries = q.reshape(batch, n_heads, query_pos, d_head)
    return queries @ k.reshape(batch, n_heads, k.shape[1], d_head).mT / sqrt(d_head)


@scores.wrong(
    "queries_reshaped",
    "q is reshaped to [batch n_heads query_pos d_head]: reshape only cuts the numbers anew, it moves no axis. Move "
    "n_heads before query_pos with transpose, permute or einsum.",
)
def _(q, k):
    batch, query_pos, n_heads, d_head = q.shape
    return q.reshape(batch, n_heads, query_pos, d_head) @ k.permute(0, 2, 3, 1) / sqrt(d_head)


@scores.wrong(
    "keys_reshaped",
    "k is reshaped to bring its axes into order: reshape only cuts the numbers anew, it moves no axis. Move n_heads "
    "before key_pos with transpose, permute or einsum.",
)
def _(q, k):
    batch, key_pos, n_heads, d_head = k.shape
    return q.transpose(1, 2) @ k.reshape(batch, n_heads, key_pos, d_head).mT / sqrt(d_head)


@scores.right
def with_matmul(q, k):
    return q.transpose(1, 2) @ k.permute(0, 2, 3, 1) / q.shape[-1] ** 0.5


@scores.right
def with_loops(q, k):
    out = torch.empty(q.shape[0], q.shape[2], q.shape[1], k.shape[1], dtype=q.dtype, device=q.device)
    for i in range(q.shape[1]):
        for j in range(k.shape[1]):
            out[:, :, i, j] = (q[:, i] * k[:, j]).sum(-1)
    return out / sqrt(q.shape[-1])


@scores.right
def scaled_first(q, k):
    return torch.einsum("bqhd,bkhd->bhqk", q * q.shape[-1] ** -0.25, k * q.shape[-1] ** -0.25)


# 05.3 ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

mask = Exercise("05.3", difficulty=3, minutes=15)


@mask.oracle
def causal_mask(
    scores: Float[Tensor, "batch n_heads query_pos key_pos"],
) -> Float[Tensor, "batch n_heads query_pos key_pos"]:
    """−∞ where the key comes after the query; the queries are the last query_pos of key_pos positions."""
    query_pos, key_pos = scores.shape[-2:]
    query = torch.arange(key_pos - query_pos, key_pos, device=scores.device)[:, None]  # [query_pos 1]
    key = torch.arange(key_pos, device=scores.device)  # [key_pos]
    return scores.masked_fill(key > query, float("-inf"))


@mask.observe_after("softmax")
def _(result, scores):
    """Any fill will do whose pattern is right."""
    return result.softmax(-1)


@mask.on_reference
def _(cache, layer):
    attn = f"blocks.{layer}.attn"
    unmasked = attention_scores(cache[f"{attn}.hook_q"], cache[f"{attn}.hook_k"])
    return (unmasked,), None


@mask.on_reference
def _(cache):
    """A few new queries against all keys, as when a text is continued."""
    attn = "blocks.0.attn"
    return (attention_scores(cache[f"{attn}.hook_q"][:, -3:], cache[f"{attn}.hook_k"]),), None


@mask.fresh
def _(draw):
    query_pos = draw.size("query_pos")
    return (draw.normal(f"batch n_heads query_pos {query_pos}"),)


@mask.fresh
def _(draw):
    """Fewer queries than keys."""
    return (draw.normal(f"batch n_heads query_pos {draw.size('query_pos') + 2}"),)


@mask.special("for a longer text than any before")
def _(draw):
    return (draw.normal("1 2 150 150"),)


@mask.special("for three new tokens after a text of 1,100")
def _(draw):
    return (draw.normal("2 1 3 1103"),)


@mask.special("on large scores of both signs")
def _(draw):
    return (draw.normal("2 3 6 6", scale=300.0),)


@mask.special("on scores that are all far below zero")
def _(draw):
    return (draw.normal("2 3 6 6", mean=-15_000.0),)


@mask.special("on scores some of which are exactly 0")
def _(draw):
    return (_some_zeros(draw),)


def _some_zeros(draw):
    """Scores of 0 with every second key; not with the first, the only one that the first query sees."""
    scores = draw.normal("2 3 5 5")
    scores[..., 1::2] = 0.0
    return scores


@mask.prop("no_weight_on_the_future")
def _(answer, draw):
    scores = draw.normal("2 3 5 8") - 50.0
    pattern = answer(scores).softmax(-1)
    future = torch.ones(5, 8, dtype=torch.bool).triu(4)
    weight = float(pattern[..., future.to(pattern.device)].max())
    return (
        None
        if weight == 0
        else f"Keys that come after the query still get weight, up to {weight:.2g}, when all scores are low."
    )


mask.hints(
    (
        "Draw the 5×5 grid of queries (rows) and keys (columns). Which cells may a query see? What must a cell hold "
        "so that softmax gives it weight 0?"
    ),
    (
        "torch.arange gives positions; compare a column of query positions with a row of key positions to get the "
        "grid of True and False."
    ),
    "With fewer queries than keys, the queries are the last ones: query i stands at position key_pos − query_pos + i.",
    "`scores.masked_fill(key > query, …)`, or torch.triu with diagonal = 1 + key_pos − query_pos.",
)


def _tril(scores, diagonal):
    return torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).tril(diagonal)


@mask.wrong(
    "diagonal_masked",
    (
        "The diagonal is masked: a position must see itself. Here the first query sees nothing, and softmax over "
        "nothing but −∞ is NaN."
    ),
)
def _(scores):
    offset = scores.shape[-1] - scores.shape[-2]
    return scores.masked_fill(~_tril(scores, offset - 1), float("-inf"))


@mask.wrong("zeros", "Masked cells hold 0, which softmax still gives weight: exp(0) = 1. They need −∞.")
def _(scores):
    return scores * _tril(scores, scores.shape[-1] - scores.shape[-2])


@mask.wrong(
    "transposed", "The mask is transposed: it hides the past and shows the future. Rows are queries, columns are keys."
)
def _(scores):
    offset = scores.shape[-1] - scores.shape[-2]
    seen = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).triu(offset)
    return scores.masked_fill(~seen, float("-inf"))


@mask.wrong(
    "fixed_size",
    "The mask has a fixed size: it must be built from the shape of scores, so that a text of any length works.",
)
def _(scores):
    mask = torch.ones(64, 64, dtype=torch.bool, device=scores.device).triu(1)
    query_pos, key_pos = scores.shape[-2:]
    return scores.masked_fill(mask[key_pos - query_pos : key_pos, :key_pos], float("-inf"))


@mask.wrong(
    "size_of_the_context",
    "The mask is cut out of one of the size of GPT-2's context, 1024: it must be built from the shape of scores, so "
    "that a text of any length works.",
)
def _(scores):
    mask = torch.ones(1024, 1024, dtype=torch.bool, device=scores.device).triu(1)
    query_pos, key_pos = scores.shape[-2:]
    return scores.masked_fill(mask[key_pos - query_pos : key_pos, :key_pos], float("-inf"))


@mask.wrong(
    "key_length_alone",
    (
        "With fewer queries than keys the queries are the last ones: query 0 stands at position key_pos − query_pos, "
        "not at 0."
    ),
)
def _(scores):
    return scores.masked_fill(~_tril(scores, 0), float("-inf"))


@mask.wrong(
    "zero_times_infinity",
    "Multiplying by −∞ makes NaN of every 0: 0·∞ is not a number. masked_fill or torch.where puts −∞ where it belongs.",
)
def _(scores):
    hidden = ~_tril(scores, scores.shape[-1] - scores.shape[-2])
    return scores + hidden * float("-inf")


@mask.wrong(
    "true_where_seen",
    "The mask is the wrong way round: what a query may see is hidden, and the future is left. masked_fill hides where "
    "its mask is True.",
)
def _(scores):
    return scores.masked_fill(_tril(scores, scores.shape[-1] - scores.shape[-2]), float("-inf"))


def _filled(number):
    def answer(scores):
        return scores.masked_fill(~_tril(scores, scores.shape[-1] - scores.shape[-2]), number)

    return answer


for _number in (-1, -10, -100, -1000, -10_000):
    mask.wrong(
        f"fill_of_minus_{-_number}",
        "Masked cells hold a number that is not low enough: where the other scores are lower still, the future gets "
        "weight. Use −∞.",
    )(_filled(float(_number)))


@mask.wrong(
    "zero_scores_masked",
    "Every score that is 0 is masked: a key that a query may see can have the score 0 as well. Choose what to mask by "
    "position, not by value.",
)
def _(scores):
    seen = scores.tril(scores.shape[-1] - scores.shape[-2])
    return seen.masked_fill(seen == 0, float("-inf"))


@mask.wrong("first_row_only", "Only the first query is masked: each row has its own set of keys that it may see.")
def _(scores):
    out = scores.clone()
    out[..., 0, scores.shape[-1] - scores.shape[-2] + 1 :] = float("-inf")
    return out


@mask.right
def with_triu(scores):
    query_pos, key_pos = scores.shape[-2:]
    hidden = torch.ones(query_pos, key_pos, dtype=torch.bool, device=scores.device).triu(1 + key_pos - query_pos)
    return torch.where(hidden, torch.tensor(float("-inf"), dtype=scores.dtype, device=scores.device), scores)


@mask.right
def with_lowest_number(scores):
    hidden = ~_tril(scores, scores.shape[-1] - scores.shape[-2])
    return scores.masked_fill(hidden, torch.finfo(scores.dtype).min)


@mask.right
def with_loops(scores):
    out = scores.clone()
    past = scores.shape[-1] - scores.shape[-2]
    for i in range(scores.shape[-2]):
        out[..., i, past + i + 1 :] = -torch.inf
    return out


@mask.right
def added_bias(scores):
    query_pos, key_pos = scores.shape[-2:]
    bias = torch.full((query_pos, key_pos), -torch.inf, dtype=scores.dtype, device=scores.device).triu(
        1 + key_pos - query_pos
    )
    return scores + bias


# 05.4 ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

pattern_of = Exercise("05.4", difficulty=2, minutes=10)


@pattern_of.oracle
def attention_pattern(
    scores: Float[Tensor, "batch n_heads query_pos key_pos"],
) -> Float[Tensor, "batch n_heads query_pos key_pos"]:
    """Mask the future, then a distribution over keys for each query."""
    return causal_mask(scores).softmax(dim=-1)


@pattern_of.on_reference
def _(cache, layer):
    attn = f"blocks.{layer}.attn"
    return (attention_scores(cache[f"{attn}.hook_q"], cache[f"{attn}.hook_k"]),), cache[f"{attn}.hook_pattern"]


@pattern_of.fresh
def _(draw):
    query_pos = draw.size("query_pos")
    return (draw.normal(f"batch n_heads query_pos {query_pos}", scale=2.0),)


@pattern_of.fresh
def _(draw):
    return (draw.normal(f"batch n_heads query_pos {draw.size('query_pos') + 2}", scale=2.0),)


@pattern_of.special("on large scores of both signs")
def _(draw):
    return (draw.normal("2 3 6 6", scale=100.0),)


@pattern_of.special("where one text's scores are far below another's")
def _(draw):
    return (draw.normal("2 3 6 6") + torch.tensor([300.0, -300.0], device=draw.device)[:, None, None, None],)


@pattern_of.special("on scores that are all far below zero")
def _(draw):
    return (draw.normal("2 3 6 6", mean=-15_000.0),)


@pattern_of.special("on scores some of which are exactly 0")
def _(draw):
    return (_some_zeros(draw),)


@pattern_of.prop("rows_sum_to_1")
def _(answer, draw):
    total = answer(draw.normal("2 3 5 5", scale=3.0)).sum(-1)
    return (
        None
        if bool(((total - 1).abs() < 1e-5).all())
        else (
            "Each query's weights must sum to 1; a row here sums to "
            f"{float(total.flatten()[(total - 1).abs().argmax()]):.4g}."
        )
    )


pattern_of.hints(
    "Each query spreads a weight of 1 over the keys that it may see. Over which axis, then, does softmax run?",
    "Mask first: after softmax it is too late, the hidden keys have already had their share.",
    "The scores' last axis is key_pos, so the softmax runs over dim=-1.",
    "`causal_mask(scores).softmax(dim=…)`",
)


@pattern_of.wrong(
    "over_query_pos",
    "The softmax runs over query_pos: it must run over key_pos, so that each query's weights sum to 1.",
)
def _(scores):
    return causal_mask(scores).softmax(dim=-2)


@pattern_of.wrong(
    "over_heads",
    "The softmax runs over the heads: heads act apart, and each query's weights over key_pos sum to 1 in every head.",
)
def _(scores):
    return causal_mask(scores).softmax(dim=1)


@pattern_of.wrong(
    "over_all", "The softmax runs over queries and keys together, so that the whole grid sums to 1: each row must."
)
def _(scores):
    return causal_mask(scores).flatten(-2).softmax(-1).unflatten(-1, tuple(scores.shape[-2:]))


@pattern_of.wrong(
    "mask_after_softmax",
    (
        "The mask comes after the softmax: the hidden keys have taken their share already, and the rows sum to less "
        "than 1."
    ),
)
def _(scores):
    return scores.softmax(-1) * _tril(scores, scores.shape[-1] - scores.shape[-2])


@pattern_of.wrong("key_length_alone", _message(mask, "key_length_alone"))
def _(scores):
    return _piece(mask, "key_length_alone")(scores).softmax(-1)


@pattern_of.wrong("zero_scores_masked", _message(mask, "zero_scores_masked"))
def _(scores):
    return _piece(mask, "zero_scores_masked")(scores).softmax(-1)


@pattern_of.wrong("not_masked", "Nothing is masked: every query still looks at keys that come after it.")
def _(scores):
    return scores.softmax(-1)


@pattern_of.wrong(
    "overflow",
    "exp of a large score overflows to ∞, and ∞/∞ is NaN: subtract each row's largest score first, which leaves the "
    "result as it is.",
)
def _(scores):
    weights = causal_mask(scores).exp()
    return weights / weights.sum(-1, keepdim=True)


@pattern_of.wrong(
    "largest_of_all",
    (
        "The largest score of the whole tensor is subtracted: rows far below it round to 0/0. Take the largest of "
        "each row."
    ),
)
def _(scores):
    masked = causal_mask(scores)
    weights = (masked - masked.max()).exp()
    return weights / weights.sum(-1, keepdim=True)


@pattern_of.wrong(
    "not_divided_by_the_sum",
    "These are the powers of e alone: each row is still to be divided by its sum, so that its weights sum to 1.",
)
def _(scores):
    return causal_mask(scores).exp()


@pattern_of.right
def by_hand(scores):
    hidden = ~_tril(scores, scores.shape[-1] - scores.shape[-2])
    weights = (scores - scores.amax(-1, keepdim=True)).masked_fill(hidden, -torch.inf)
    weights = (weights - weights.amax(-1, keepdim=True)).exp()
    return weights / weights.sum(-1, keepdim=True)


@pattern_of.right
def renormalized_after(scores):
    seen = _tril(scores, scores.shape[-1] - scores.shape[-2])
    visible = scores.masked_fill(~seen, torch.finfo(scores.dtype).min)
    weights = visible.double().softmax(-1) * seen
    return (weights / weights.sum(-1, keepdim=True)).to(scores.dtype)


@pattern_of.right
def row_by_row(scores):
    out = torch.zeros_like(scores)
    past = scores.shape[-1] - scores.shape[-2]
    for i in range(scores.shape[-2]):
        out[..., i, : past + i + 1] = torch.softmax(scores[..., i, : past + i + 1], -1)
    return out


# 05.5 ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

mixing = Exercise("05.5", difficulty=2, minutes=10)


@mixing.oracle
def mix_values(
    pattern: Float[Tensor, "batch n_heads query_pos key_pos"],
    v: Float[Tensor, "batch key_pos n_heads d_head"],
) -> Float[Tensor, "batch query_pos n_heads d_head"]:
    """For each query, the average of the values, weighted by the pattern."""
    return einsum(
        pattern, v, "batch n_heads query_pos key_pos, batch key_pos n_heads d_head -> batch query_pos n_heads d_head"
    )


@mixing.on_reference
def _(cache, layer):
    attn = f"blocks.{layer}.attn"
    return (cache[f"{attn}.hook_pattern"], cache[f"{attn}.hook_v"]), cache[f"{attn}.hook_z"]


@mixing.fresh
def _(draw):
    return draw.distribution("batch n_heads query_pos key_pos"), draw.normal("batch key_pos n_heads d_head")


mixing.hints(
    (
        "For one query in one head: a row of weights over key_pos, and a vector for each key. What is their weighted "
        "average?"
    ),
    "key_pos is in both and must disappear; query_pos comes from the pattern, d_head from the values.",
    "In einsum, leave key_pos out on the right.",
    '`einsum(pattern, v, "batch n_heads query_pos key_pos, … -> batch query_pos n_heads d_head")`',
)


@mixing.wrong(
    "values_of_the_query",
    (
        "Each position gets its own value, scaled by its weights' sum: the values must come from the keys, one for "
        "each weight."
    ),
)
def _(pattern, v):
    return einsum(pattern, v, "b h q k, b q h d -> b q h d")


@mixing.wrong(
    "pattern_transposed",
    "The pattern is transposed: row i holds query i's weights over the keys, so the sum runs along the row.",
)
def _(pattern, v):
    return einsum(pattern, v, "b h k q, b k h d -> b q h d")


@mixing.wrong(
    "masked_again",
    "The pattern is masked once more: it is masked already where it has to be, and any pattern must work, also one "
    "that looks ahead. Use it as it is.",
)
def _(pattern, v):
    return mix_values(pattern * _tril(pattern, pattern.shape[-1] - pattern.shape[-2]), v)


@mixing.wrong("masked_from_the_corner", _message(mixing, "masked_again"))
def _(pattern, v):
    return mix_values(pattern.tril(), v)


@mixing.wrong(
    "heads_averaged", "The heads' patterns are averaged before use: each head moves its own values by its own pattern."
)
def _(pattern, v):
    return mix_values(pattern.mean(1, keepdim=True).expand_as(pattern), v)


@mixing.wrong(
    "values_of_the_whole_batch", "The values of all texts in the batch are summed: each text must use its own."
)
def _(pattern, v):
    return mix_values(pattern, v.sum(0, keepdim=True).expand_as(v))


@mixing.wrong(
    "reshaped_not_moved",
    "The result [batch n_heads query_pos d_head] is reshaped to the wanted shape: reshape only cuts the numbers anew, "
    "it "
    "moves no axis. Move n_heads behind query_pos with transpose.",
)
def _(pattern, v):
    batch, n_heads, query_pos, _ = pattern.shape
    return (pattern @ v.transpose(1, 2)).reshape(batch, query_pos, n_heads, v.shape[-1])


@mixing.right
def with_matmul(pattern, v):
    return (pattern @ v.transpose(1, 2)).transpose(1, 2)


@mixing.right
def with_loop_over_keys(pattern, v):
    out = 0
    for j in range(v.shape[1]):
        out = out + pattern[..., j].transpose(1, 2)[..., None] * v[:, j, None]
    return out


@mixing.right
def with_bmm(pattern, v):
    batch, heads, query_pos, key_pos = pattern.shape
    flat = torch.bmm(pattern.reshape(-1, query_pos, key_pos), v.permute(0, 2, 1, 3).reshape(batch * heads, key_pos, -1))
    return flat.view(batch, heads, query_pos, -1).permute(0, 2, 1, 3)


# 05.6 ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

output = Exercise("05.6", difficulty=2, minutes=10)


@output.oracle
def attention_out(
    z: Float[Tensor, "batch pos n_heads d_head"],
    W_O: Float[Tensor, "n_heads d_head d_model"],
    b_O: Float[Tensor, "d_model"],
) -> Float[Tensor, "batch pos d_model"]:
    """Each head's result back into the stream's space; the heads add."""
    return einsum(z, W_O, "batch pos n_heads d_head, n_heads d_head d_model -> batch pos d_model") + b_O


@output.on_reference
def _(cache, layer):
    attn = f"blocks.{layer}.attn"
    args = (cache[f"{attn}.hook_z"], cache.weight(f"{attn}.W_O"), cache.weight(f"{attn}.b_O"))
    return args, cache[f"blocks.{layer}.hook_attn_out"]


@output.fresh
def _(draw):
    return (
        draw.normal("batch pos n_heads d_head"),
        draw.weight("n_heads d_head d_model", "n_heads d_head"),
        draw.normal("d_model"),
    )


output.hints(
    "Every head writes into the same stream. How do several writers share it?",
    "The heads' outputs add: both n_heads and d_head disappear, d_model appears.",
    "b_O is added once, after the sum over the heads.",
    '`einsum(z, W_O, "batch pos n_heads d_head, n_heads d_head d_model -> …") + …`',
)


@output.wrong(
    "bias_once_per_head",
    "b_O is added once for each head: it belongs to the layer, and is added once, after the sum over heads.",
)
def _(z, W_O, b_O):
    return attention_out(z, W_O, b_O * W_O.shape[0])


@output.wrong("bias_subtracted", "The bias b_O is subtracted: it is added, once, after the sum over heads.")
def _(z, W_O, b_O):
    return attention_out(z, W_O, -b_O)


@output.wrong("heads_averaged", "The heads are averaged: their outputs add.")
def _(z, W_O, b_O):
    return attention_out(z, W_O, torch.zeros_like(b_O)) / W_O.shape[0] + b_O


@output.wrong(
    "heads_merged_in_wrong_order",
    "z is merged with d_head before n_heads: W_O's rows run through head 0's d_head numbers first, then head 1's.",
)
def _(z, W_O, b_O):
    flat = rearrange(z, "batch pos n_heads d_head -> batch pos (d_head n_heads)")
    return flat @ rearrange(W_O, "n_heads d_head d_model -> (n_heads d_head) d_model") + b_O


@output.wrong("bias_forgotten", "The bias b_O is not added.")
def _(z, W_O, b_O):
    return attention_out(z, W_O, torch.zeros_like(b_O))


@output.wrong(
    "reshaped_not_moved",
    "z is reshaped with its axes out of order, [batch n_heads pos d_head]: reshape only cuts the numbers anew. Keep "
    "pos "
    "before n_heads when you flatten the last two axes.",
)
def _(z, W_O, b_O):
    batch, pos = z.shape[:2]
    return z.transpose(1, 2).reshape(batch, pos, -1) @ W_O.flatten(0, 1) + b_O


@output.wrong(
    "heads_added_before_W_O",
    "The heads' z and their matrices are each added up before the product, so that every z meets every head's matrix: "
    "each head's z goes through its own W_O first, then the results add.",
)
def _(z, W_O, b_O):
    return z.sum(-2) @ W_O.sum(0) + b_O


@output.right
def with_flat_matmul(z, W_O, b_O):
    return z.flatten(-2) @ W_O.flatten(0, 1) + b_O


@output.right
def head_by_head(z, W_O, b_O):
    total = b_O.expand(*z.shape[:2], -1)
    for h in range(W_O.shape[0]):
        total = total + z[:, :, h] @ W_O[h]
    return total


@output.right
def with_linear(z, W_O, b_O):
    return torch.nn.functional.linear(z.reshape(*z.shape[:2], -1), W_O.reshape(-1, W_O.shape[-1]).T, b_O)


# 05.7 ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

whole = Exercise("05.7", difficulty=4, minutes=20)


@whole.oracle
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
    """The whole layer: project, score, mask, normalize, mix, write back."""
    q, k, v = project_heads(x, W_Q, b_Q), project_heads(x, W_K, b_K), project_heads(x, W_V, b_V)
    pattern = attention_pattern(attention_scores(q, k))
    return attention_out(mix_values(pattern, v), W_O, b_O)


@whole.on_reference
def _(cache, layer):
    weights = [cache.weight(f"blocks.{layer}.attn.{name}") for name in WEIGHTS]
    return (cache[f"blocks.{layer}.ln1.hook_out"], *weights), cache[f"blocks.{layer}.hook_attn_out"]


@whole.fresh
def _(draw):
    return random_layer(draw, draw.normal("batch pos d_model"))


def random_layer(draw, x):
    """Random weights large enough that the pattern is far from even."""
    weights = []
    for letter in "QKV":
        scale = 1.5 if letter in "QK" else 1.0
        weights += [draw.weight("n_heads d_model d_head", "d_model") * scale, draw.normal("n_heads d_head")]
    return (x, *weights, draw.weight("n_heads d_head d_model", "n_heads d_head"), draw.normal("d_model"))


@whole.special("where all scores are far below zero", dtype="float64")
def _(draw):
    """Below −20,000, and so in float64: float32 holds too few digits of them."""
    x, W_Q, b_Q, W_K, b_K, *rest = random_layer(draw, draw.normal("batch pos d_model"))
    return x, W_Q, b_Q + 100, W_K, b_K - 100, *rest


@whole.special("where every second position has a key of 0")
def _(draw):
    x, W_Q, b_Q, W_K, b_K, *rest = random_layer(draw, draw.normal("batch pos d_model"))
    x[:, 1::2] = 0.0
    return x, W_Q, b_Q, W_K, torch.zeros_like(b_K), *rest


@whole.prop("future_never_changes_the_past")
def _(answer, draw):
    x, *weights = random_layer(draw, draw.normal("2 9 d_model"))
    changed = x.clone()
    changed[:, 5:] = draw.normal("2 4 d_model")
    before, after = answer(x.clone(), *weights)[:, :5], answer(changed, *weights)[:, :5]
    gap = float((before - after).abs().max())
    return (
        None
        if gap <= 1e-5
        else f"Changing the tokens from position 5 on changes the output before it, by up to {gap:.2g}."
    )


@whole.prop("gradients_flow")
def _(answer, draw):
    args = random_layer(draw, draw.normal("2 5 d_model"))
    arguments = dict(zip(("x", *WEIGHTS), args, strict=True))
    return gradient_fault(answer, attention, unseen=("b_K",), **arguments)  # softmax does not see b_K


whole.forbid(
    "scaled_dot_product_attention",
    "MultiheadAttention",
    "code of transformers",
    "code of transformer_lens",
    because="It would do the whole exercise in one call; the point is to build it from the pieces you wrote.",
)

whole.hints(
    "You have every piece. Write down the shapes from x to the result, one line for each function that you wrote.",
    (
        "q, k and v come from project_heads with their own weights; the scores need q and k; the pattern needs the "
        "scores; the values come in last."
    ),
    "z has the shape [batch pos n_heads d_head]; attention_out takes it back to d_model.",
    "`attention_out(mix_values(attention_pattern(attention_scores(q, k)), v), …, …)`",
)


def _assembled(
    *, scale=attention_scores, pattern=attention_pattern, mix=mix_values, out=attention_out, project=project_heads
):
    """A layer with one of its pieces replaced."""

    def answer(x, W_Q, b_Q, W_K, b_K, W_V, b_V, W_O, b_O):
        q, k, v = project(x, W_Q, b_Q), project(x, W_K, b_K), project(x, W_V, b_V)
        return out(mix(pattern(scale(q, k)), v), W_O, b_O)

    return answer


def _after_mask(wrong_mask):
    return lambda scores: wrong_mask(scores).softmax(-1)


for _exercise, _part, _keys in (
    (projection, "project", {"strided_heads": "strided_heads", "one_head_for_all": "one_head_for_all"}),
    (
        scores,
        "scale",
        {k: k for k in ("no_scale", "scaled_by_d_head", "scaled_by_d_model", "heads_mixed", "keys_of_the_whole_batch")},
    ),
    (
        pattern_of,
        "pattern",
        {k: k for k in ("over_query_pos", "over_heads", "over_all", "mask_after_softmax", "not_masked")},
    ),
    (
        mixing,
        "mix",
        {
            "values_of_the_query": "values_of_the_query",
            "pattern_transposed": "pattern_transposed",
            "heads_averaged": "patterns_averaged",
            "values_of_the_whole_batch": "values_of_the_whole_batch",
        },
    ),
    (
        output,
        "out",
        {
            "bias_once_per_head": "output_bias_once_per_head",
            "heads_averaged": "heads_averaged",
            "heads_merged_in_wrong_order": "heads_merged_in_wrong_order",
            "bias_forgotten": "output_bias_forgotten",
        },
    ),
):
    for _key, _new in _keys.items():
        whole.wrong(_new, _message(_exercise, _key))(_assembled(**{_part: _piece(_exercise, _key)}))

_fills = [f"fill_of_minus_{n}" for n in (1, 10, 10_000)]
for _key in ("diagonal_masked", "zeros", "transposed", "first_row_only", "zero_scores_masked", *_fills):
    _name = {"zeros": "mask_of_zeros", "transposed": "mask_transposed"}.get(_key, _key)
    whole.wrong(_name, _message(mask, _key))(_assembled(pattern=_after_mask(_piece(mask, _key))))


@whole.wrong("query_bias_forgotten", "The query bias b_Q is not added.")
def _(x, W_Q, b_Q, *rest):
    return attention(x, W_Q, torch.zeros_like(b_Q), *rest)


@whole.wrong("value_bias_forgotten", "The value bias b_V is not added.")
def _(x, W_Q, b_Q, W_K, b_K, W_V, b_V, W_O, b_O):
    return attention(x, W_Q, b_Q, W_K, b_K, W_V, torch.zeros_like(b_V), W_O, b_O)


@whole.wrong("biases_forgotten", "None of the biases b_Q, b_K and b_V is added.")
def _(x, W_Q, b_Q, W_K, b_K, W_V, b_V, W_O, b_O):
    return attention(x, W_Q, torch.zeros_like(b_Q), W_K, torch.zeros_like(b_K), W_V, torch.zeros_like(b_V), W_O, b_O)


@whole.wrong(
    "queries_and_keys_swapped",
    (
        "Queries and keys are swapped, or the scores are transposed: W_Q and b_Q make the queries, one for each row; "
        "W_K and b_K the keys, one for each column."
    ),
)
def _(x, W_Q, b_Q, W_K, b_K, *rest):
    return attention(x, W_K, b_K, W_Q, b_Q, *rest)


@whole.wrong("values_are_the_stream", "The values are the keys: v has its own weights W_V and b_V.")
def _(x, W_Q, b_Q, W_K, b_K, W_V, b_V, W_O, b_O):
    return attention(x, W_Q, b_Q, W_K, b_K, W_K, b_K, W_O, b_O)


@whole.wrong(
    "stream_added",
    "The stream x is added to the result: the layer gives only what it writes; the block adds it to the stream.",
)
def _(x, *weights):
    return x + attention(x, *weights)


@whole.wrong("no_gradient", "No gradient flows back through the result: a detach, .data or no_grad cuts it off.")
def _(x, *weights):
    return attention(x, *weights).detach()


@whole.right
def with_matmuls(x, W_Q, b_Q, W_K, b_K, W_V, b_V, W_O, b_O):
    q, k, v = (
        (x[:, None] @ W) + b[:, None] for W, b in ((W_Q, b_Q), (W_K, b_K), (W_V, b_V))
    )  # [batch n_heads pos d_head]
    raw = q @ k.mT / q.shape[-1] ** 0.5
    seen = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).tril()
    z = raw.masked_fill(~seen, -1e9 if x.dtype != torch.float16 else -6e4).softmax(-1) @ v
    return (z @ W_O).sum(1) + b_O


@whole.right
def head_after_head(x, W_Q, b_Q, W_K, b_K, W_V, b_V, W_O, b_O):
    total = b_O + torch.zeros_like(x)
    future = torch.full((x.shape[1],) * 2, -torch.inf, dtype=x.dtype, device=x.device).triu(1)
    for h in range(W_Q.shape[0]):
        q, k, v = x @ W_Q[h] + b_Q[h], x @ W_K[h] + b_K[h], x @ W_V[h] + b_V[h]
        total = total + (q @ k.transpose(-1, -2) / sqrt(q.shape[-1]) + future).softmax(-1) @ v @ W_O[h]
    return total


@whole.right
def without_the_key_bias(x, W_Q, b_Q, W_K, b_K, W_V, b_V, W_O, b_O):
    """It moves all scores of a query alike, which softmax does not see."""
    q, k, v = project_heads(x, W_Q, b_Q), x[:, None] @ W_K, project_heads(x, W_V, b_V)
    return attention_out(mix_values(attention_pattern(attention_scores(q, k.transpose(1, 2))), v), W_O, b_O)


@whole.right
def in_float64(*args):
    return attention(*(a.double() for a in args)).to(args[0].dtype)


class _Module(torch.nn.Module):
    """A module stands for a function."""

    def forward(self, x, W_Q, b_Q, W_K, b_K, W_V, b_V, W_O, b_O):
        q, k, v = (torch.einsum("bpm,hmd->bhpd", x, W) + b[:, None] for W, b in ((W_Q, b_Q), (W_K, b_K), (W_V, b_V)))
        seen = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).tril()
        raw = torch.einsum("bhqd,bhkd->bhqk", q, k) * q.shape[-1] ** -0.5
        pattern = torch.where(seen, raw, torch.tensor(-torch.inf, dtype=x.dtype, device=x.device)).softmax(-1)
        return torch.einsum("bhqk,bhkd,hdm->bqm", pattern, v, W_O) + b_O


whole.right(_Module())

# 05.8 ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

results = Exercise("05.8", difficulty=2, minutes=5)


@results.oracle
def head_results(
    z: Float[Tensor, "batch pos n_heads d_head"],
    W_O: Float[Tensor, "n_heads d_head d_model"],
) -> Float[Tensor, "batch pos n_heads d_model"]:
    """What each head alone writes into the stream."""
    return einsum(z, W_O, "batch pos n_heads d_head, n_heads d_head d_model -> batch pos n_heads d_model")


@results.on_reference
def _(cache, layer):
    attn = f"blocks.{layer}.attn"
    return (cache[f"{attn}.hook_z"], cache.weight(f"{attn}.W_O")), None


@results.fresh
def _(draw):
    return draw.normal("batch pos n_heads d_head"), draw.weight("n_heads d_head d_model", "d_head")


@results.prop("sum_of_heads_is_the_layer")
def _(answer, draw):
    z, W_O, b_O = draw.normal("2 4 3 5"), draw.normal("3 5 7"), draw.normal("7")
    gap = float((answer(z, W_O).sum(2) - (attention_out(z, W_O, b_O) - b_O)).abs().max())
    return (
        None
        if gap < 1e-4
        else f"Summed over the heads, the results differ from the layer's output without b_O by {gap:.2g}."
    )


results.hints(
    "This is attention_out before the heads are added. Which axis stays this time?",
    "Leave only d_head out on the right.",
    "No bias: it belongs to no head.",
    '`einsum(z, W_O, "batch pos n_heads d_head, n_heads d_head d_model -> …")`',
)


@results.wrong("summed_already", "The heads are summed already: keep the n_heads axis.")
def _(z, W_O):
    return head_results(z, W_O).sum(2)


@results.wrong("heads_in_wrong_order", "The heads meet the wrong matrices: head h's z goes with W_O[h].")
def _(z, W_O):
    return head_results(z, W_O.flip(0))


@results.wrong("merged_into_one_axis", "Heads and d_model are merged into one axis: keep n_heads and d_model apart.")
def _(z, W_O):
    return head_results(z, W_O).flatten(-2)


@results.wrong("heads_before_pos", "The head axis stands before pos: the order wanted is batch, pos, n_heads, d_model.")
def _(z, W_O):
    return head_results(z, W_O).transpose(1, 2)


@results.right
def with_matmul(z, W_O):
    return (z[..., None, :] @ W_O).squeeze(-2)


@results.right
def stacked(z, W_O):
    return torch.stack([z[:, :, h] @ W_O[h] for h in range(len(W_O))], 2)


@results.right
def multiplied_and_summed(z, W_O):
    return (z[..., None] * W_O).sum(-2)


# 05.9 ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

previous = Exercise("05.9", difficulty=2, minutes=10, keep=("pos",))


@previous.oracle
def previous_token_score(pattern: Float[Tensor, "batch n_heads pos pos"]) -> Float[Tensor, "n_heads"]:
    """Mean weight from each query i ≥ 1 to key i − 1, over queries and batch."""
    return pattern.diagonal(-1, dim1=-2, dim2=-1).mean((0, -1))


@previous.on_reference
def _(cache, layer):
    return (cache[f"blocks.{layer}.attn.hook_pattern"],), None


@previous.fresh
def _(draw):
    return (_causal(draw, "batch n_heads pos pos"),)


def _causal(draw, axes):
    """Random patterns: rows over this and earlier keys that sum to 1."""
    return attention_pattern(draw.normal(axes, scale=2.0))


previous.hints(
    "In the grid of queries and keys, where do the cells lie that look at the token before?",
    (
        "They lie on the diagonal one below the main one: query 1 with key 0, query 2 with key 1, and so on. Query 0 "
        "has no token before it."
    ),
    "torch.diagonal(pattern, offset, dim1, dim2) cuts out a diagonal; a negative offset goes below the main one.",
    "`pattern.diagonal(…, dim1=-2, dim2=-1).mean(…)`: over the batch and over the queries.",
)


@previous.wrong(
    "counts_the_diagonal",
    "That is the main diagonal: how much each token looks at itself. The token before lies one below it.",
)
def _(pattern):
    return pattern.diagonal(0, dim1=-2, dim2=-1).mean((0, -1))


@previous.wrong("two_back", "The offset is wrong: this looks two tokens back.")
def _(pattern):
    return pattern.diagonal(-2, dim1=-2, dim2=-1).mean((0, -1))


@previous.wrong(
    "looks_ahead",
    "The diagonal above the main one holds keys that come after the query: their weight is 0. Use offset −1.",
)
def _(pattern):
    return pattern.diagonal(1, dim1=-2, dim2=-1).mean((0, -1))


@previous.wrong(
    "averages_over_all_cells", "The mean runs over all cells: only the cells of query i with key i − 1 count."
)
def _(pattern):
    return pattern.mean((0, -2, -1))


@previous.wrong(
    "divides_by_all_queries",
    "The sum is divided by the number of positions: the first query has no token before it, so there is one fewer.",
)
def _(pattern):
    return pattern.diagonal(-1, dim1=-2, dim2=-1).sum(-1).mean(0) / pattern.shape[-1]


@previous.wrong(
    "summed_over_queries",
    "The weights of all queries are added up: their mean is wanted, so divide by how many there are.",
)
def _(pattern):
    return pattern.diagonal(-1, dim1=-2, dim2=-1).sum(-1).mean(0)


@previous.wrong("summed_over_the_batch", "The texts of the batch are added up: the mean over them is wanted.")
def _(pattern):
    return pattern.diagonal(-1, dim1=-2, dim2=-1).mean(-1).sum(0)


@previous.wrong("summed", "Everything is added up: the mean over queries and batch is wanted.")
def _(pattern):
    return pattern.diagonal(-1, dim1=-2, dim2=-1).sum((0, -1))


@previous.wrong("averages_over_everything", "Everything is averaged into one number: keep one score for each head.")
def _(pattern):
    return pattern.diagonal(-1, dim1=-2, dim2=-1).mean()


@previous.wrong(
    "first_two_axes",
    "diagonal takes the first two axes unless told otherwise, batch and n_heads here: queries and keys are the last "
    "two, dim1=-2 and dim2=-1.",
)
def _(pattern):
    return pattern.diagonal(-1).mean((0, -1))


@previous.wrong("batch_kept", "There is a score for each text: take the mean over the batch as well.")
def _(pattern):
    return pattern.diagonal(-1, dim1=-2, dim2=-1).mean(-1)


@previous.right
def with_indices(pattern):
    i = torch.arange(1, pattern.shape[-1], device=pattern.device)
    return pattern[:, :, i, i - 1].mean((0, 2))


@previous.right
def with_loops(pattern):
    total = sum(pattern[:, :, i, i - 1] for i in range(1, pattern.shape[-1]))
    return (total / (pattern.shape[-1] - 1)).mean(0)


@previous.right
def with_mask(pattern):
    n = pattern.shape[-1]
    band = torch.ones(n, n, dtype=pattern.dtype, device=pattern.device)
    band = band.tril(-1) * band.triu(-1)
    return (pattern * band).sum((-1, -2)).mean(0) / (n - 1)


# 05.10 ───────────────────────────────────────────────────────────────────────────────────────────────────────────────

induction = Exercise("05.10", difficulty=3, minutes=15, keep=("period",))


@induction.oracle
def induction_score(pattern: Float[Tensor, "batch n_heads pos pos"], period: int) -> Float[Tensor, "n_heads"]:
    """Mean weight from query i to key i − period + 1, over i ≥ period and the batch (Olsson et al. 2022)."""
    return pattern.diagonal(1 - period, dim1=-2, dim2=-1)[..., 1:].mean((0, -1))


@induction.on_reference
def _(cache, layer):
    return (cache[f"blocks.{layer}.attn.hook_pattern"], 7), None


@induction.fresh
def _(draw):
    period = draw.size("period", at_least=3)
    return _causal(draw, f"batch n_heads {2 * period} {2 * period}"), period


@induction.fresh
def _(draw):
    """With one more token in front, as when BOS stands there."""
    period = draw.size("period", at_least=3)
    return _causal(draw, f"batch n_heads {2 * period + 1} {2 * period + 1}"), period


induction.hints(
    "The sequence reads A B C A B C. At the second A, which earlier token tells what comes next?",
    "The token after the first A, which stands period − 1 places back.",
    (
        "The cells of query i and key i − (period − 1) lie on one diagonal. It also holds a cell of a query in the "
        "first half, i = period − 1: that one does not count."
    ),
    "`pattern.diagonal(1 - period, dim1=-2, dim2=-1)[…, 1:].mean(…)`",
)


@induction.wrong(
    "offset_period",
    (
        "That is the key period places back: the same token, earlier. An induction head looks at the token after it, "
        "period − 1 back."
    ),
)
def _(pattern, period):
    return pattern.diagonal(-period, dim1=-2, dim2=-1).mean((0, -1))


@induction.wrong(
    "counts_the_first_half",
    "A query of the first half is counted: there nothing has been repeated yet. Only queries i ≥ period count.",
)
def _(pattern, period):
    return pattern.diagonal(1 - period, dim1=-2, dim2=-1).mean((0, -1))


@induction.wrong(
    "one_too_far",
    "The offset goes the wrong way: this looks period + 1 back. The token after the earlier copy is period − 1 back.",
)
def _(pattern, period):
    return pattern.diagonal(-period - 1, dim1=-2, dim2=-1).mean((0, -1))


@induction.wrong(
    "summed_over_queries",
    "The weights of all queries are added up: their mean is wanted, so divide by how many there are.",
)
def _(pattern, period):
    return pattern.diagonal(1 - period, dim1=-2, dim2=-1)[..., 1:].sum(-1).mean(0)


@induction.wrong("summed_over_the_batch", "The texts of the batch are added up: the mean over them is wanted.")
def _(pattern, period):
    return pattern.diagonal(1 - period, dim1=-2, dim2=-1)[..., 1:].mean(-1).sum(0)


@induction.wrong("summed", "Everything is added up: the mean over queries and batch is wanted.")
def _(pattern, period):
    return pattern.diagonal(1 - period, dim1=-2, dim2=-1)[..., 1:].sum((0, -1))


@induction.right
def with_indices(pattern, period):
    i = torch.arange(period, pattern.shape[-1], device=pattern.device)
    return pattern[:, :, i, i - period + 1].mean((0, 2))


@induction.right
def with_loops(pattern, period):
    cells = [pattern[:, :, i, i - period + 1] for i in range(period, pattern.shape[-1])]
    return torch.stack(cells, -1).mean(-1).mean(0)


@induction.right
def cut_then_diagonal(pattern, period):
    return pattern[..., period:, 1:].diagonal(dim1=-2, dim2=-1).mean(-1).mean(0)


# 05.11 ───────────────────────────────────────────────────────────────────────────────────────────────────────────────

TWICE, SINGLE = "for head 0, with the same token twice", "with a single token"
ov = Exercise("05.11", difficulty=4, minutes=15, keep=("n_heads", "d_vocab"))


@ov.oracle
def ov_circuit(
    W_E: Float[Tensor, "d_vocab d_model"],
    W_V: Float[Tensor, "n_heads d_model d_head"],
    W_O: Float[Tensor, "n_heads d_head d_model"],
    W_U: Float[Tensor, "d_model d_vocab"],
    head: int,
    ids: Int[Tensor, "ids"],
) -> Float[Tensor, "ids ids"]:
    """Row: the token that a head reads; column: what reading it adds to each token's logit."""
    return W_E[ids] @ W_V[head] @ W_O[head] @ W_U[:, ids]


@ov.on_reference
def _(cache, layer):
    """On the text's own tokens: the whole table would be d_vocab × d_vocab."""
    w, few = cache.weight, cache.text_ids
    attn = f"blocks.{layer}.attn"
    ids = torch.arange(1, 9, device=few.device)
    return (w("embed.W_E")[few], w(f"{attn}.W_V"), w(f"{attn}.W_O"), w("unembed.W_U")[:, few], 1, ids), None


@ov.fresh
def _(draw):
    d_vocab = draw.size("d_vocab", at_least=9)
    ids = draw.distinct(5, d_vocab)
    args = (
        draw.normal("d_vocab d_model"),
        draw.weight("n_heads d_model d_head", "d_model"),
        draw.weight("n_heads d_head d_model", "d_head"),
    )
    return (*args, draw.weight("d_model d_vocab", "d_model"), draw.size("n_heads") - 1, ids)


def _few_ov_weights(draw):
    return draw.normal("9 4"), draw.weight("3 4 2", "4"), draw.weight("3 2 4", "2"), draw.weight("4 9", "4")


@ov.special(TWICE)
def _(draw):
    return *_few_ov_weights(draw), 0, torch.tensor([3, 0, 3, 7], device=draw.device)


@ov.special(SINGLE)
def _(draw):
    return *_few_ov_weights(draw), 1, torch.tensor([3], device=draw.device)


ov.hints(
    (
        "Follow one token through the head: it is embedded, the head reads it as a value, writes the result back, and "
        "the unembedding turns that into logits."
    ),
    (
        "Four matrices in this order: W_E, W_V of the head, W_O of the head, W_U. With rows as vectors the product "
        "reads from left to right."
    ),
    "Keep only the tokens asked for: rows ids of W_E, columns ids of W_U. It also saves a great deal of work.",
    "`W_E[ids] @ W_V[head] @ … @ W_U[…]`",
)


@ov.wrong(
    "order_reversed",
    "The product runs in the other order, W_O before W_V: the head first reads with W_V, then writes with W_O.",
)
def _(W_E, W_V, W_O, W_U, head, ids):
    return W_E[ids] @ W_O[head].T @ W_V[head].T @ W_U[:, ids]


@ov.wrong(
    "transposed",
    "Rows and columns are swapped: the row is the token that is read, the column the token whose logit changes.",
)
def _(W_E, W_V, W_O, W_U, head, ids):
    return ov_circuit(W_E, W_V, W_O, W_U, head, ids).T


@ov.wrong(
    "unembedded_by_W_E",
    "W_E's rows stand in place of W_U's columns: in GPT-2 the two tables are one, elsewhere not. Use W_U[:, ids].",
)
def _(W_E, W_V, W_O, W_U, head, ids):
    return ov_circuit(W_E, W_V, W_O, W_E.T, head, ids)


@ov.wrong("all_heads_summed", "All heads are summed: take only W_V[head] and W_O[head].")
def _(W_E, W_V, W_O, W_U, head, ids):
    return sum(ov_circuit(W_E, W_V, W_O, W_U, h, ids) for h in range(W_V.shape[0]))


@ov.wrong("every_output_kept", "Every token's logit is kept: only the columns ids of W_U are wanted.")
def _(W_E, W_V, W_O, W_U, head, ids):
    return W_E[ids] @ W_V[head] @ W_O[head] @ W_U


@ov.wrong(
    "always_head_0", "The head asked for is not used: this is head 0, whichever is wanted. Take W_V[head], W_O[head]."
)
def _(W_E, W_V, W_O, W_U, head, ids):
    return W_E[ids] @ W_V[0] @ W_O[0] @ W_U[:, ids]


@ov.right
def right_to_left(W_E, W_V, W_O, W_U, head, ids):
    return W_E[ids] @ (W_V[head] @ (W_O[head] @ W_U.index_select(1, ids)))


@ov.right
def with_einsum(W_E, W_V, W_O, W_U, head, ids):
    return torch.einsum("im,md,dn,nj->ij", W_E[ids], W_V[head], W_O[head], W_U[:, ids])


@ov.right
def token_by_token(W_E, W_V, W_O, W_U, head, ids):
    return torch.stack([W_U[:, ids].T @ (W_O[head].T @ (W_V[head].T @ W_E[i])) for i in ids])


# 05.12 ───────────────────────────────────────────────────────────────────────────────────────────────────────────────

qk = Exercise("05.12", difficulty=4, minutes=10, keep=("n_heads", "d_vocab"))


@qk.oracle
def qk_circuit(
    W_E: Float[Tensor, "d_vocab d_model"],
    W_Q: Float[Tensor, "n_heads d_model d_head"],
    W_K: Float[Tensor, "n_heads d_model d_head"],
    head: int,
    ids: Int[Tensor, "ids"],
) -> Float[Tensor, "ids ids"]:
    """Row: the token that asks; column: the token asked about. Unscaled, without positions and biases."""
    return W_E[ids] @ W_Q[head] @ W_K[head].T @ W_E[ids].T


@qk.on_reference
def _(cache, layer):
    attn = f"blocks.{layer}.attn"
    few = cache.weight("embed.W_E")[cache.text_ids]
    return (
        few,
        cache.weight(f"{attn}.W_Q"),
        cache.weight(f"{attn}.W_K"),
        1,
        torch.arange(1, 9, device=few.device),
    ), None


@qk.fresh
def _(draw):
    ids = draw.distinct(5, draw.size("d_vocab", at_least=9))
    weights = (draw.weight("n_heads d_model d_head", "d_model"), draw.weight("n_heads d_model d_head", "d_model"))
    return (draw.normal("d_vocab d_model"), *weights, draw.size("n_heads") - 1, ids)


def _few_qk_weights(draw):
    return draw.normal("9 4"), draw.weight("3 4 2", "4"), draw.weight("3 4 2", "4")


@qk.special(TWICE)
def _(draw):
    return *_few_qk_weights(draw), 0, torch.tensor([3, 0, 3, 7], device=draw.device)


@qk.special(SINGLE)
def _(draw):
    return *_few_qk_weights(draw), 1, torch.tensor([3], device=draw.device)


qk.hints(
    "Each token's embedding makes a query and a key. The table holds every query's dot product with every key.",
    "The queries are W_E[ids] @ W_Q[head], the keys W_E[ids] @ W_K[head].",
    "Query times key, for all pairs: queries @ keys.T. No scale and no softmax this time.",
    "`(W_E[ids] @ W_Q[head]) @ (…).T`",
)


@qk.wrong("transposed", "Rows and columns are swapped: the row is the query's token, the column the key's.")
def _(W_E, W_Q, W_K, head, ids):
    return qk_circuit(W_E, W_Q, W_K, head, ids).T


@qk.wrong("keys_by_W_Q", "The keys are made with W_Q: they have their own matrix, W_K.")
def _(W_E, W_Q, W_K, head, ids):
    return qk_circuit(W_E, W_Q, W_Q, head, ids)


@qk.wrong("softmaxed", "A softmax is applied: the circuit is the table of raw scores.")
def _(W_E, W_Q, W_K, head, ids):
    return qk_circuit(W_E, W_Q, W_K, head, ids).softmax(-1)


@qk.wrong("scaled", "The table is divided by √d_head: here it is wanted unscaled.")
def _(W_E, W_Q, W_K, head, ids):
    return qk_circuit(W_E, W_Q, W_K, head, ids) / sqrt(W_Q.shape[-1])


@qk.wrong("whole_vocabulary", "The table is of the whole vocabulary: only rows and columns of ids are wanted.")
def _(W_E, W_Q, W_K, head, ids):
    return W_E @ W_Q[head] @ W_K[head].T @ W_E.T


for _exercise in (ov, qk):

    @_exercise.wrong(
        "head_0_passed_over",
        "Head 0 is passed over: 0 is a head like any other, so do not write `if head` or `head or 1`.",
    )
    def _(*args, circuit=_exercise.solution):
        return circuit(*args[:-2], args[-2] or 1, args[-1])

    @_exercise.wrong("ids_sorted", "The ids are sorted first: rows and columns stand in the order of ids.")
    def _(*args, circuit=_exercise.solution):
        return circuit(*args[:-1], args[-1].sort().values)

    @_exercise.wrong(
        "ids_once", "An id that comes again is dropped: each entry of ids has a row and a column of its own."
    )
    def _(*args, circuit=_exercise.solution):
        return circuit(*args[:-1], torch.tensor(list(dict.fromkeys(args[-1].tolist())), device=args[-1].device))

    @_exercise.wrong(
        "squeezed",
        "Axes of length 1 are dropped, as by squeeze(): with a single id the result is still a table, of one row and "
        "one column.",
    )
    def _(*args, circuit=_exercise.solution):
        return circuit(*args).squeeze()


@qk.right
def queries_and_keys(W_E, W_Q, W_K, head, ids):
    queries, keys = W_E[ids] @ W_Q[head], W_E[ids] @ W_K[head]
    return einsum(queries, keys, "query d, key d -> query key")


@qk.right
def merged_first(W_E, W_Q, W_K, head, ids):
    return W_E[ids] @ (W_Q[head] @ W_K[head].mT) @ W_E[ids].mT


@qk.right
def pair_by_pair(W_E, W_Q, W_K, head, ids):
    rows = [[(W_E[i] @ W_Q[head] * (W_E[j] @ W_K[head])).sum() for j in ids] for i in ids]
    return torch.stack([torch.stack(row) for row in rows])
