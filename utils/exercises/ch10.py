"""Chapter 10, reading the model: attribution, ablation, patching, finding heads and knocking out attention edges.

The answers work on a model with hooks. Most cases use a small GPT-2 with random weights, one the reference itself; what
is expected is worked out from the weights where it can be. 10.4 uses a model whose attention is scripted, so that a
head's score is the same whichever random tokens the answer draws. Ablation and patching are as in Meng et al. 2022 and
Wang et al. 2022, heads that copy as in Olsson et al. 2022, knocked-out edges as in Geva et al. 2023.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from operator import index

import torch
from einops import einsum
from jaxtyping import Float, Int
from torch import Tensor

from utils.exercises.ch04 import layer_norm
from utils.exercises.ch05 import attention_out, attention_scores, mix_values, project_heads
from utils.exercises.ch06 import mlp
from utils.exercises.declare import Build, Exercise, Unfit
from utils.exercises.scripted import ROLES, scripted_model
from utils.exercises.small import LARGE, Untouched, small_model

# models and how they are left ────────────────────────────────────────────────────────────────────────────────────────

MLP = ("W_in", "b_in", "W_out", "b_out")
EVERY = 97  # where a vocabulary is large, each 97th logit is compared


def forward_by_weights(model, tokens, *, scores=None, z=None):
    """GPT-2's logits from the weights alone, without hooks.

    Args:
        scores: `scores(layer, scores)` gives masked scores [batch n_heads query_pos key_pos] in place of these.
        z: `z(layer, z)` gives mixed values [batch pos n_heads d_head] in place of these.
    """
    eps, pos = float(model.cfg.eps), tokens.shape[1]
    stream = model.W_E[tokens] + model.W_pos[:pos]
    future = torch.ones(pos, pos, dtype=torch.bool, device=tokens.device).triu(1)
    for i in range(model.cfg.n_layers):
        block = model.blocks[i]
        x = layer_norm(stream, block.ln1.w, block.ln1.b, eps)
        q, k, v = (project_heads(x, getattr(block.attn, f"W_{c}"), getattr(block.attn, f"b_{c}")) for c in "QKV")
        raw = attention_scores(q, k).masked_fill(future, float("-inf"))
        mixed = mix_values((scores(i, raw) if scores else raw).softmax(-1), v)
        stream = stream + attention_out(z(i, mixed) if z else mixed, block.attn.W_O, block.attn.b_O)
        x = layer_norm(stream, block.ln2.w, block.ln2.b, eps)
        stream = stream + mlp(x, *(getattr(block.mlp, name) for name in MLP))
    return layer_norm(stream, model.ln_final.w, model.ln_final.b, eps) @ model.W_U + model.b_U


@contextmanager
def _left_alone(model) -> Iterator[None]:
    """Afterwards the model is as it was, whatever the answer did to it.

    Raises:
        Unfit: a hook is left behind, or weights are not what they were.
    """
    before = Untouched(model)
    try:
        yield
    finally:
        left, changed = before.restore()
    if left:
        raise Unfit(
            "A hook is left behind on the model, and acts in every later run: use run_with_hooks, or remove it."
        )
    if changed:
        raise Unfit("The model's weights are not what they were before: whoever uses the model next still needs them.")


def _logits_of(answer, model, tokens, *rest) -> Tensor:
    """The answer's logits, its model left alone; some of them where the vocabulary is large."""
    with _left_alone(model):
        logits = answer(model, tokens, *rest)
    if not isinstance(logits, Tensor):
        raise Unfit(f"Return the logits [batch pos d_vocab], not a {type(logits).__name__}.")
    wanted = (*tokens.shape, model.cfg.d_vocab)
    if logits.shape != wanted:
        raise Unfit(f"The logits have the shape {tuple(logits.shape)}; {wanted} is wanted: batch, pos, d_vocab.")
    return logits[..., ::EVERY] if model.cfg.d_vocab > 1000 else logits


def _tokens(draw, batch=3, pos=7):
    """Rows without a token that another row has in the same place."""
    first = torch.randint(31, (pos,), generator=draw.generator)
    return ((first + 5 * torch.arange(batch)[:, None]) % 31).to(draw.device)


LEAVES_HOOKS = (
    "A hook is left behind, so that every later run of the model is changed too: run_with_hooks removes its own."
)

# 10.1 ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

attributing = Exercise("10.1", difficulty=3, minutes=15, keep=("d_vocab",))


@attributing.oracle
def logit_attribution(
    components: Float[Tensor, "component batch d_model"],
    W_U: Float[Tensor, "d_model d_vocab"],
    answer: Int[Tensor, "batch"],
    wrong: Int[Tensor, "batch"],
    final_scale: Float[Tensor, "batch 1"],
) -> Float[Tensor, "component batch"]:
    """What each component adds to logit(answer) − logit(wrong), the final norm's scale held fixed."""
    direction = W_U[:, answer] - W_U[:, wrong]  # [d_model batch]
    return einsum(components / final_scale, direction, "component batch d_model, d_model batch -> component batch")


@attributing.on_reference
def _(cache):
    """The last position's parts, centered as the norm does; on the text's own tokens, the gain folded into W_U."""
    last = cache.n_layers - 1
    hooks = ["hook_embed", "hook_pos_embed"]
    hooks += [f"blocks.{i}.{name}" for i in range(cache.n_layers) for name in ("hook_attn_out", "hook_mlp_out")]
    parts = [cache[h][:, -1].expand(len(cache.tokens), -1) for h in hooks]
    parts = torch.stack(parts)
    W_U = cache.weight("ln_final.w")[:, None] * cache.weight("unembed.W_U")[:, cache.text_ids]
    stream = cache[f"blocks.{last}.hook_resid_post"][:, -1]
    scale = (stream.var(-1, unbiased=False, keepdim=True) + cache.cfg.eps).sqrt()
    first, second = (torch.tensor(pair, device=stream.device) for pair in ((3, 8), (5, 2)))
    return (parts - parts.mean(-1, keepdim=True), W_U, first, second, scale), None


@attributing.fresh
def _(draw):
    d_vocab = draw.size("d_vocab", at_least=5)
    components = draw.normal("component batch d_model")
    batch = components.shape[1]
    right = torch.randint(d_vocab, (batch,), generator=draw.generator)
    other = (right + torch.randint(1, d_vocab, (batch,), generator=draw.generator)) % d_vocab
    scale = draw.uniform("batch 1", 1.5, 4.0)
    return components, draw.weight("d_model d_vocab", "d_model"), draw.place(right), draw.place(other), scale


@attributing.prop("sums_to_the_logit_difference")
def _(answer, draw):
    parts, W_U, right, other, scale = (
        draw.normal("6 2 5"),
        draw.normal("5 9"),
        torch.tensor([1, 7], device=draw.device),
        torch.tensor([4, 0], device=draw.device),
        draw.uniform("2 1", 1.5, 4.0),
    )
    logits = parts.sum(0) / scale @ W_U
    rows = torch.arange(2, device=draw.device)
    gap = float(
        (answer(parts, W_U, right, other, scale).sum(0) - logits[rows, right] + logits[rows, other]).abs().max()
    )
    return None if gap < 1e-4 else f"Summed over the components it differs from the logit difference by {gap:.2g}."


attributing.hints(
    "The stream is a sum of components, and the unembedding is linear. What does one of them alone do to two logits?",
    "A logit is a dot product with a column of W_U; a difference of logits is one with the difference of two columns.",
    "The final norm divides the whole stream by one number for each row, final_scale: divide each component by it too.",
    "`direction = W_U[:, answer] - W_U[:, wrong]`, then "
    '`einsum(components / …, direction, "component batch d_model, d_model batch -> component batch")`',
)


@attributing.wrong(
    "no_final_scale", "The final norm's scale is left out: the stream is divided by it before the unembedding."
)
def _(components, W_U, answer, wrong, final_scale):
    return logit_attribution(components, W_U, answer, wrong, torch.ones_like(final_scale))


@attributing.wrong(
    "multiplied_by_the_scale", "The components are multiplied by the final scale: the norm divides by it."
)
def _(components, W_U, answer, wrong, final_scale):
    return logit_attribution(components, W_U, answer, wrong, 1 / final_scale)


@attributing.wrong(
    "wrong_token_only",
    "Only the wrong token's logit is worked out: wanted is the answer's logit minus the wrong one's.",
)
def _(components, W_U, answer, wrong, final_scale):
    return torch.einsum("cbm,mb->cb", components / final_scale, W_U[:, wrong])


@attributing.wrong(
    "answer_only",
    "Only the answer's logit is worked out: subtract the wrong token's, or what favors both alike counts as well.",
)
def _(components, W_U, answer, wrong, final_scale):
    return torch.einsum("cbm,mb->cb", components / final_scale, W_U[:, answer])


@attributing.wrong("reversed", "The difference is the wrong way round: the answer's column minus the wrong token's.")
def _(components, W_U, answer, wrong, final_scale):
    return logit_attribution(components, W_U, wrong, answer, final_scale)


@attributing.wrong("summed_already", "The components are summed already: keep them apart, each with its own number.")
def _(components, W_U, answer, wrong, final_scale):
    return logit_attribution(components, W_U, answer, wrong, final_scale).sum(0)


@attributing.wrong(
    "tokens_of_row_0", "All rows are given the first row's tokens: each row has its own answer and wrong."
)
def _(components, W_U, answer, wrong, final_scale):
    one = torch.zeros_like(answer)
    return logit_attribution(components, W_U, answer[one], wrong[one], final_scale)


@attributing.wrong(
    "scale_on_the_wrong_axis",
    "final_scale, [batch 1], divides a result [component batch], so that its batch meets the components: divide the "
    "components [component batch d_model] by it, or drop its last axis first.",
)
def _(components, W_U, answer, wrong, final_scale):
    return torch.einsum("cbm,mb->cb", components, W_U[:, answer] - W_U[:, wrong]) / final_scale


OWN_SCALE = (
    "Each component is divided by a scale of its own: all are divided by one, final_scale, which the whole stream has, "
    "or their parts no longer sum to the logit difference."
)


def _by_its_own(scale):
    """Each component [component batch d_model] over `scale` of itself, final_scale left out."""

    def answer(components, W_U, right, wrong, final_scale):
        one = torch.ones_like(final_scale)
        return logit_attribution(components / scale(components), W_U, right, wrong, one)

    return answer


attributing.wrong("own_standard_deviation", OWN_SCALE)(_by_its_own(lambda x: x.std(-1, unbiased=False, keepdim=True)))
attributing.wrong("own_standard_deviation_with_eps", OWN_SCALE)(
    _by_its_own(lambda x: (x.var(-1, unbiased=False, keepdim=True) + 1e-5).sqrt())
)
attributing.wrong("own_unbiased_deviation", OWN_SCALE)(_by_its_own(lambda x: x.std(-1, keepdim=True)))
attributing.wrong("own_root_mean_square", OWN_SCALE)(_by_its_own(lambda x: x.square().mean(-1, keepdim=True).sqrt()))
attributing.wrong("own_length", OWN_SCALE)(_by_its_own(lambda x: x.norm(dim=-1, keepdim=True)))


@attributing.wrong(
    "own_layer_norm",
    "Each component goes through a LayerNorm of its own: the norm acts once, on the whole stream, and what it divides "
    "by there is final_scale.",
)
def _(components, W_U, answer, wrong, final_scale):
    normed = torch.nn.functional.layer_norm(components, components.shape[-1:])
    return logit_attribution(normed, W_U, answer, wrong, torch.ones_like(final_scale))


@attributing.wrong(
    "own_scale_and_the_final_one",
    "Each component is divided by a scale of its own and by final_scale: final_scale alone is wanted.",
)
def _(components, W_U, answer, wrong, final_scale):
    own = components.std(-1, unbiased=False, keepdim=True)
    return logit_attribution(components / own, W_U, answer, wrong, final_scale)


@attributing.right
def scaled_at_the_end(components, W_U, answer, wrong, final_scale):
    direction = (W_U[:, answer] - W_U[:, wrong]).T
    return (components * direction).sum(-1) / final_scale.squeeze(-1)


@attributing.right
def difference_of_logits_in_float64(components, W_U, answer, wrong, final_scale):
    logits = components.double() / final_scale.double() @ W_U.double()  # [component batch d_vocab]
    ids = torch.stack([answer, wrong], -1).expand(len(components), -1, -1)
    picked = logits.gather(-1, ids)
    return (picked[..., 0] - picked[..., 1]).to(components.dtype)


@attributing.right
def row_by_row(components, W_U, answer, wrong, final_scale):
    rows = [
        (part / scale) @ (W_U[:, a] - W_U[:, w])
        for part, a, w, scale in zip(components.unbind(1), answer.tolist(), wrong.tolist(), final_scale, strict=True)
    ]
    return torch.stack(rows, 1)


# 10.2 ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

ablating = Exercise("10.2", difficulty=3, minutes=15, vary=(), exact=False)


@ablating.oracle
def ablate_head(
    model,
    tokens: Int[Tensor, "batch pos"],
    layer: int,
    head: int,
    how: str = "zero",
) -> Float[Tensor, "batch pos d_vocab"]:
    """The logits with one head's z set to 0, or to its mean over batch and positions."""
    return _ablated(_by)(model, tokens, layer, head, how)


def _by(z, how):
    """Zeros, or the mean over batch and positions, in the shape of z."""
    return torch.zeros_like(z) if how == "zero" else z.mean((0, 1)).expand_as(z)


def _ablated(instead, heads=lambda head: head, layers=lambda i, layer: i == layer):
    """By weights: in the given layer the head's z [batch pos d_head] is replaced by `instead(z, how)`."""

    def answer(model, tokens, layer, head, how="zero"):
        def edit(i, z):
            if not layers(i, layer):
                return z
            z, at = z.clone(), heads(head)
            z[:, :, at] = instead(z[:, :, at], how)
            return z

        return forward_by_weights(model, tokens, z=edit)

    return answer


@ablating.probe
def _(answer, model, tokens, layer, head, how="zero") -> Float[Tensor, "batch pos d_vocab"]:
    return _logits_of(answer, model, tokens, layer, head, how)


@ablating.on_reference
def _(cache):
    return (cache.model, cache.tokens[:, :8], 0, 1, "zero"), None


@ablating.special("for a head of the first layer, set to zero")
def _(draw):
    return small_model(draw.device), _tokens(draw), 0, 2, "zero"


@ablating.special("for a head of the last layer, set to zero")
def _(draw):
    return small_model(draw.device), _tokens(draw), 2, 0, "zero"


@ablating.special("for a head of the middle layer, set to its mean")
def _(draw):
    return small_model(draw.device), _tokens(draw), 1, 1, "mean"


ablating.hints(
    "What a head has gathered stands in attn.hook_z, [batch pos n_heads d_head]. What must become of one head's part?",
    "A hook is a function hook_fn(z, hook) that returns what is used in z's place. run_with_hooks adds it for one run.",
    'The hook\'s name is f"blocks.{layer}.attn.hook_z"; z[:, :, head] is this head at every position of every row. '
    "The mean of it goes over the first two axes.",
    "`model.run_with_hooks(tokens, fwd_hooks=[(name, hook_fn)])`, with `z[:, :, head] = …` in hook_fn",
)


ablating.wrong("all_heads", "All heads of the layer are removed: only z[:, :, head] is replaced.")(
    _ablated(_by, heads=lambda head: slice(None))
)


def _last_only(z, how):
    new = z.clone()
    new[:, -1] = _by(z, how)[:, -1]
    return new


def _first_row_only(z, how):
    new = z.clone()
    new[0] = _by(z, how)[0]
    return new


ablating.wrong("one_position", "Only one position of the head is replaced: it is to be gone at every position.")(
    _ablated(_last_only)
)
ablating.wrong("one_row", "Only one row of the batch is changed: the first axis of z is the batch.")(
    _ablated(_first_row_only)
)


def _hooked(edit, name="attn.hook_z"):
    """`edit(act, head, how)` gives what is used in place of the layer's activation of this name."""

    def answer(model, tokens, layer, head, how="zero"):
        return model.run_with_hooks(
            tokens, fwd_hooks=[(f"blocks.{layer}.{name}", lambda act, hook: edit(act.clone(), head, how))]
        )

    return answer


def _along(axis):
    """An edit that takes `head` for a place on this axis of z [batch pos n_heads d_head]."""

    def edit(z, head, how):
        part = z.select(axis, head)
        part.copy_(torch.zeros_like(part) if how == "zero" else part.mean((0, 1)).expand_as(part))
        return z

    return edit


ablating.wrong("head_taken_for_a_position", "head stands on the pos axis, as in z[:, head]: heads are axis 2 of z.")(
    _hooked(_along(1))
)
ablating.wrong("head_taken_for_a_text", "head stands on the batch axis, as in z[head]: heads are axis 2 of z.")(
    _hooked(_along(0))
)
ablating.wrong(
    "head_taken_for_a_dimension",
    "head stands on the d_head axis, as in z[..., head], and all heads are touched: heads are axis 2 of z.",
)(_hooked(_along(3)))
ablating.wrong(
    "whole_attention",
    "The layer's whole attention is replaced, at hook_attn_out, b_O and all: one head's part stands in attn.hook_z.",
)(_hooked(lambda act, head, how: _by(act, how), name="hook_attn_out"))
ablating.wrong(
    "mean_over_features",
    "The mean runs over d_head: it goes over batch and positions, so that each of the head's dimensions keeps its own.",
)(_ablated(lambda z, how: _by(z, how) if how == "zero" else z.mean(-1, keepdim=True).expand_as(z)))
ablating.wrong("mean_over_positions", "The mean runs over positions only: it goes over the batch as well.")(
    _ablated(lambda z, how: _by(z, how) if how == "zero" else z.mean(1, keepdim=True).expand_as(z))
)
ablating.wrong("mean_over_the_batch", "The mean runs over the batch only: it goes over positions as well.")(
    _ablated(lambda z, how: _by(z, how) if how == "zero" else z.mean(0, keepdim=True).expand_as(z))
)
ablating.wrong(
    "one_mean_for_everything",
    "One mean is taken over everything, d_head as well: it goes over batch and positions, so that each of the head's "
    "dimensions keeps its own.",
)(_ablated(lambda z, how: _by(z, how) if how == "zero" else z.mean().expand_as(z)))
ablating.wrong("how_ignored", "The head is set to zero whatever how says: with 'mean' it gets its mean.")(
    _ablated(lambda z, how: torch.zeros_like(z))
)
ablating.wrong("always_the_mean", "The head gets its mean whatever how says: with 'zero' it is set to zero.")(
    _ablated(lambda z, how: z.mean((0, 1)).expand_as(z))
)
ablating.wrong("every_layer", "The head of this number is removed in every layer: only in the layer given.")(
    _ablated(_by, layers=lambda i, layer: True)
)
ablating.wrong(
    "nothing_happens",
    "The logits are those of the unchanged model: does the hook return its new z, and is its name the right one?",
)(lambda model, tokens, layer, head, how="zero": forward_by_weights(model, tokens))


def _hook_fn(head, how):
    def hook_fn(z, hook):
        z = z.clone()
        z[:, :, head] = 0.0 if how == "zero" else z[:, :, head].mean((0, 1))
        return z

    return hook_fn


@ablating.wrong("hook_left_behind", LEAVES_HOOKS)
def _(model, tokens, layer, head, how="zero"):
    model.add_hook(f"blocks.{layer}.attn.hook_z", _hook_fn(head, how))
    return model(tokens)


@ablating.wrong(
    "weights_left_changed",
    "The head's rows of W_O are set to zero and stay so: the model is changed for all that comes after. Use a hook.",
)
def _(model, tokens, layer, head, how="zero"):
    for parameter in model.parameters():
        if parameter.numel() <= LARGE:
            parameter.mul_(0.5)
    return model(tokens)


@ablating.right
def with_run_with_hooks(model, tokens, layer, head, how="zero"):
    return model.run_with_hooks(tokens, fwd_hooks=[(f"blocks.{layer}.attn.hook_z", _hook_fn(head, how))])


@ablating.right
def in_place_within_a_context(model, tokens, layer, head, how="zero"):
    def hook_fn(z, hook):
        new = torch.zeros_like(z[:, :, head]) if how == "zero" else z[:, :, head].mean(dim=[0, 1])
        z[:, :, head] = new
        return z

    with model.hooks(fwd_hooks=[(f"blocks.{layer}.attn.hook_z", hook_fn)]):
        return model(tokens)


@ablating.right
def added_and_reset(model, tokens, layer, head, how="zero"):
    mean = 0.0
    if how == "mean":
        _, cache = model.run_with_cache(tokens, names_filter=f"blocks.{layer}.attn.hook_z")
        mean = cache[f"blocks.{layer}.attn.hook_z"][:, :, head].mean(0).mean(0)

    def hook_fn(z, hook):
        kept = torch.arange(z.shape[2], device=z.device) != head
        return torch.where(kept[:, None], z, mean)

    model.add_hook(f"blocks.{layer}.attn.hook_z", hook_fn)
    try:
        return model(tokens)
    finally:
        model.reset_hooks()


# 10.3 ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

patching = Exercise("10.3", difficulty=3, minutes=20, vary=(), exact=False)


@patching.oracle
def patch(
    model,
    clean: Int[Tensor, "batch pos"],
    corrupt: Int[Tensor, "batch pos"],
    hook: str,
    pos: int,
) -> Float[Tensor, "batch pos d_vocab"]:
    """The corrupt run's logits, with the clean run's activation at this hook and position put in."""
    return _patched()(model, clean, corrupt, hook, pos)


def _patched(source=lambda clean, corrupt: clean, target=lambda clean, corrupt: corrupt, put=None):
    """`put(act, kept, pos)` gives the activation used in place of `act`."""

    def replaced(act, kept, pos):
        return act.index_copy(1, torch.tensor([pos], device=act.device), kept[:, pos : pos + 1])

    def answer(model, clean, corrupt, hook, pos):
        _, cache = model.run_with_cache(source(clean, corrupt), names_filter=lambda name: name == hook)
        kept = cache[hook]
        return model.run_with_hooks(
            target(clean, corrupt), fwd_hooks=[(hook, lambda act, hook: (put or replaced)(act, kept, pos))]
        )

    return answer


@patching.probe
def _(answer, model, clean, corrupt, hook, pos) -> Float[Tensor, "batch pos d_vocab"]:
    return _logits_of(answer, model, clean, corrupt, hook, pos)


@patching.on_reference
def _(cache):
    clean = cache.tokens[:, :8]
    return (cache.model, clean, clean.flip(0), f"blocks.{cache.n_layers - 1}.hook_resid_pre", 5), None


def _pair(draw):
    return small_model(draw.device), _tokens(draw), _tokens(draw)


@patching.special("at the stream before block 1")
def _(draw):
    return *_pair(draw), "blocks.1.hook_resid_pre", 2


@patching.special("at the heads' z of block 0, position 0")
def _(draw):
    return *_pair(draw), "blocks.0.attn.hook_z", 0


@patching.special("at the output of the last MLP, last position")
def _(draw):
    return *_pair(draw), "blocks.2.hook_mlp_out", 6


patching.hints(
    "Two runs: from the first you keep an activation, in the second you put it in. Which is which?",
    "run_with_cache(clean) gives the cache; its entry under the hook's name is [batch pos …], whatever follows pos.",
    "In the second run, on corrupt, a hook replaces act[:, pos] and leaves all other positions as they are.",
    "`def hook_fn(act, hook): act[:, pos] = …; return act`, then "
    "`model.run_with_hooks(corrupt, fwd_hooks=[(name, hook_fn)])`; mind that your parameter is called hook as well",
)


patching.wrong(
    "direction_reversed",
    "The runs are swapped: this is the clean run with the corrupt activation. Wanted is the corrupt run with the clean "
    "one's.",
)(_patched(lambda clean, corrupt: corrupt, lambda clean, corrupt: clean))
patching.wrong(
    "all_positions", "All positions are replaced: only act[:, pos] comes from the clean run, the others stay corrupt."
)(_patched(put=lambda act, kept, pos: kept))
patching.wrong(
    "caches_the_wrong_run",
    "Nothing changes in the corrupt run: its own activation is put back in, or the hook does nothing. The cache must "
    "come from the clean run.",
)(_patched(source=lambda clean, corrupt: corrupt))
patching.wrong("clean_into_clean", "That is the clean run as it is: the run that is patched must be the corrupt one.")(
    _patched(target=lambda clean, corrupt: clean)
)
patching.wrong("adds", "The clean activation is added to the corrupt one: it must take its place.")(
    _patched(
        put=lambda act, kept, pos: act.index_add(1, torch.tensor([pos], device=act.device), kept[:, pos : pos + 1])
    )
)


def _from_pos_on(act, kept, pos):
    return torch.cat([act[:, :pos], kept[:, pos:]], 1)


def _every_other_position(act, kept, pos):
    return torch.cat([kept[:, :pos], act[:, pos : pos + 1], kept[:, pos + 1 :]], 1)


def _up_to_pos(act, kept, pos):
    return torch.cat([kept[:, : pos + 1], act[:, pos + 1 :]], 1)


def _before_pos(act, kept, pos):
    return torch.cat([kept[:, :pos], act[:, pos:]], 1)


def _row_0(act, kept, pos):
    new = act.clone()
    new[:, pos] = kept[0, pos]
    return new


patching.wrong("every_other_position", "All positions but this one are replaced: it is the other way round.")(
    _patched(put=_every_other_position)
)
patching.wrong("from_pos_on", "Everything from this position on is replaced: only this one position is.")(
    _patched(put=_from_pos_on)
)
patching.wrong("up_to_pos", "Everything up to this position is replaced: only this one position is.")(
    _patched(put=_up_to_pos)
)
patching.wrong(
    "before_pos", "All positions before this one are replaced, and this one is not: act[:, :pos] ends before pos."
)(_patched(put=_before_pos))
patching.wrong("row_0_for_all", "All rows get the first row's activation: each row has its own clean run.")(
    _patched(put=_row_0)
)


@patching.wrong("hook_left_behind", LEAVES_HOOKS)
def _(model, clean, corrupt, hook, pos):
    _, cache = model.run_with_cache(clean)
    kept = cache[hook]

    def hook_fn(act, hook):
        act[:, pos] = kept[:, pos]
        return act

    model.add_hook(hook, hook_fn)
    return model(corrupt)


@patching.right
def in_place(model, clean, corrupt, hook, pos):
    _, cache = model.run_with_cache(clean)
    kept = cache[hook].clone()

    def hook_fn(act, hook):
        act[:, pos] = kept[:, pos]
        return act

    return model.run_with_hooks(corrupt, fwd_hooks=[(hook, hook_fn)])


@patching.right
def kept_by_a_hook(model, clean, corrupt, hook, pos):
    store = {}

    def keep(act, hook):
        store["act"] = act.detach().clone()

    def put(act, hook):
        here = (torch.arange(act.shape[1], device=act.device) == pos).view(1, -1, *[1] * (act.ndim - 2))
        return torch.where(here, store["act"], act)

    model.run_with_hooks(clean, fwd_hooks=[(hook, keep)])
    return model.run_with_hooks(corrupt, fwd_hooks=[(hook, put)])


@patching.right
def within_a_context(model, clean, corrupt, hook, pos):
    kept = model.run_with_cache(clean)[1][hook]

    def put(act, hook):
        return torch.cat([act[:, :pos], kept[:, pos : pos + 1], act[:, pos + 1 :]], dim=1)

    with model.hooks(fwd_hooks=[(hook, put)]):
        return model(corrupt)


# 10.4 ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

finding = Exercise("10.4", difficulty=4, minutes=25, vary=(), exact=False)

LENGTH = 40  # of the random text that is repeated
OFFSETS = {
    "previous": lambda pattern: pattern.diagonal(-1, dim1=-2, dim2=-1),
    "duplicate": lambda pattern: pattern.diagonal(-LENGTH, dim1=-2, dim2=-1),
    "induction": lambda pattern: pattern.diagonal(1 - LENGTH, dim1=-2, dim2=-1)[..., 1:],
}


def _twice(model, batch=4):
    """Random tokens, and the same again: [batch 2·LENGTH]."""
    known = _known(model)
    once = known[torch.randint(len(known), (batch, LENGTH))].to(_device_of(model))
    return torch.cat([once, once], 1)


def _known(model):
    """Ids with an embedding of their own: a small model takes all that it has never met for one and the same token.

    Four numbers of each embedding are compared. A scripted model has none, and to it every token is another.
    """
    table = getattr(model, "W_E", None)
    if table is None:
        return torch.arange(model.cfg.d_vocab)
    _, which, times = table[:, :4].unique(dim=0, return_inverse=True, return_counts=True)
    return (times[which] == 1).nonzero()[:, 0].cpu()


def _device_of(model):
    return next(model.parameters()).device


@finding.oracle
def find_heads(model, kind: str, threshold: float) -> list:
    """The (layer, head) whose mean weight on the keys of this kind is at least the threshold (Olsson et al. 2022)."""
    return _found(OFFSETS[kind])(model, kind, threshold)


def _found(
    measured=None,
    tokens=_twice,
    keep=lambda score, threshold: score >= threshold,
    cells=None,
    over=lambda weights: weights.mean((0, -1)),
):
    """`measured(pattern)` gives the cells [batch n_heads query] whose mean is the score; `over`, another score."""

    def answer(model, kind, threshold):
        _, cache = model.run_with_cache(tokens(model))
        heads = []
        for layer in range(model.cfg.n_layers):
            pattern = cache[f"blocks.{layer}.attn.hook_pattern"]  # [batch n_heads query_pos key_pos]
            scores = over(measured(pattern) if cells is None else cells(pattern, kind))
            heads += [(layer, h) for h, score in enumerate(scores.tolist()) if keep(score, threshold)]
        return heads

    return answer


@finding.probe
def _(answer, model, kinds, thresholds) -> dict:
    """The heads found, one kind and threshold after the other."""
    found = {}
    for kind, threshold in zip(kinds, thresholds, strict=True):
        with _left_alone(model):
            heads = answer(model, kind, threshold)
        found[f"{kind}, {threshold}"] = ", ".join(map(str, _pairs(heads))) or "none"
    return found


def _pairs(heads) -> list[tuple[int, int]]:
    """The pairs as plain whole numbers, in the order given."""
    try:
        if not isinstance(heads, (list, tuple)):
            raise TypeError
        return [(index(layer), index(head)) for layer, head in heads]
    except (TypeError, ValueError):
        raise Unfit("Return a list of pairs (layer, head) of whole numbers, as [(0, 3), (2, 1)].") from None


def _scripted_case(draw, n_layers, n_heads, thresholds):
    """Heads with one main habit each, strong, middling or weak, so that no score is within 0.09 of a threshold."""
    slots = [(role, size) for role in ROLES for size in (0.93, 0.72, 0.33)]
    while len(slots) < n_layers * n_heads:
        slots.append(("self", 0.9))
    order = torch.randperm(len(slots), generator=draw.generator).tolist()
    heads = [slots[i] for i in order]
    rows = [heads[i * n_heads : (i + 1) * n_heads] for i in range(n_layers)]
    kinds = [kind for kind in OFFSETS for _ in thresholds]
    return Build(lambda: scripted_model(rows).to(draw.device)), kinds, list(thresholds) * len(OFFSETS)


@finding.special("on a model of 3 layers of 7 heads")
def _(draw):
    return _scripted_case(draw, 3, 7, (0.55, 0.83))


@finding.special("on a model of 5 layers of 4 heads")
def _(draw):
    return _scripted_case(draw, 5, 4, (0.18, 0.55))


class Uneven:
    """A weight that changes from query to query, in turn: the scripted model takes it as it takes a number.

    It is as long as what it is added to, because the answer decides how many queries there are.
    """

    def __init__(self, *turn: float):
        self.turn = torch.tensor(turn)

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        weights = args[0]
        return func(*(one.along(weights) if isinstance(one, cls) else one for one in args), **(kwargs or {}))

    def along(self, weights: Tensor) -> Tensor:
        return self.turn.to(weights)[torch.arange(len(weights), device=weights.device) % len(self.turn)]


@finding.special("on a model whose heads have their habit at some of the queries and hardly at the others")
def _(draw):
    """However many queries there are, 25 or more, no head's mean is within 0.09 of a threshold.

    Each query is on the other side of a threshold than the mean in some of the heads, so that no single one will do.
    """
    high, low = 0.98, 0.16
    turns = (high, low, low), (low, high, low), (low, low, high), (low, high, high)
    heads = [(kind, Uneven(*turn)) for kind in OFFSETS for turn in turns] + [("two_back", 0.9), ("self", 0.9)]
    heads = [heads[i] for i in torch.randperm(len(heads), generator=draw.generator).tolist()]
    kinds = [kind for kind in OFFSETS for _ in range(2)]
    return Build(lambda: scripted_model([heads[:7], heads[7:]]).to(draw.device)), kinds, [0.25, 0.55] * len(OFFSETS)


finding.hints(
    "Random tokens repeated twice: what does a head of each kind look at from a token of the second half?",
    "With a period of p: a previous-token head at i − 1, a duplicate-token head at i − p (the same token), an "
    "induction head at i − p + 1 (what came next last time).",
    'run_with_cache gives each layer\'s f"blocks.{layer}.attn.hook_pattern", [batch n_heads query_pos key_pos]. The '
    "cells lie on a diagonal: average over batch and queries.",
    "`scores = pattern.diagonal(…, dim1=-2, dim2=-1).mean((0, -1))`, for induction only queries i ≥ p; then collect "
    "(layer, head) where the score reaches the threshold",
)


def _cells(offset_of):
    return lambda pattern, kind: pattern.diagonal(offset_of[kind], dim1=-2, dim2=-1)


finding.wrong(
    "off_by_one_ahead",
    "Each key is one place too early: previous is i − 1, duplicate i − p, induction i − p + 1, for a period of p.",
)(_found(cells=_cells({"previous": -2, "duplicate": -LENGTH - 1, "induction": -LENGTH})))
finding.wrong(
    "off_by_one_late",
    "Each key is one place too late: previous is i − 1, duplicate i − p, induction i − p + 1, for a period of p.",
)(_found(cells=_cells({"previous": 0, "duplicate": 1 - LENGTH, "induction": 2 - LENGTH})))
finding.wrong(
    "induction_is_duplicate",
    "Induction is measured at i − p, the same token earlier: an induction head looks at the token after it, i − p + 1.",
)(_found(cells=_cells({"previous": -1, "duplicate": -LENGTH, "induction": -LENGTH})))
finding.wrong(
    "induction_before_duplicate",
    "Induction is measured at i − p − 1, the token before the one that comes again: an induction head looks at the one "
    "after it, i − p + 1.",
)(_found(cells=_cells({"previous": -1, "duplicate": -LENGTH, "induction": -LENGTH - 1})))


def _after_few(period):
    """Measured on `period` random tokens repeated twice."""
    back = {"previous": 1, "duplicate": period, "induction": period - 1}

    def cells(pattern, kind):
        diagonal = pattern.diagonal(-back[kind], dim1=-2, dim2=-1)
        return diagonal[..., 1:] if kind == "induction" else diagonal

    return _found(cells=cells, tokens=lambda model: _twice(model, batch=8)[:, LENGTH - period : LENGTH].repeat(1, 2))


for _period in (2, 3):
    finding.wrong(
        f"only_{_period}_tokens_repeated",
        "The text that is repeated is so short that the kinds meet: two tokens back, say, is i − p + 1 as well. Repeat "
        "25 random tokens or more.",
    )(_after_few(_period))
finding.wrong(
    "duplicate_and_induction_swapped",
    "Duplicate and induction are swapped: the duplicate stands at i − p, what followed it at i − p + 1.",
)(_found(cells=_cells({"previous": -1, "duplicate": 1 - LENGTH, "induction": -LENGTH})))
finding.wrong(
    "kind_ignored", "Every kind is measured in the same way, as induction: previous and duplicate look elsewhere."
)(_found(cells=_cells(dict.fromkeys(OFFSETS, 1 - LENGTH))))


def _text(model):
    """A text in which no token comes again."""
    ids = torch.arange(2 * LENGTH, device=_device_of(model)) * 613 % 50000 + 11
    return ids[None]


finding.wrong(
    "natural_text_only",
    "Measured on text that does not repeat, where nothing can be copied: use random tokens repeated twice.",
)(_found(cells=lambda pattern, kind: OFFSETS[kind](pattern), tokens=_text))
finding.wrong(
    "divides_by_all_queries",
    "The sum is divided by all queries, the first half's too: only queries of the second half can look back a period.",
)(
    _found(
        cells=lambda pattern, kind: (
            OFFSETS[kind](pattern)
            if kind == "previous"
            else torch.nn.functional.pad(
                OFFSETS[kind](pattern), (0, pattern.shape[-1] - OFFSETS[kind](pattern).shape[-1])
            )
        )
    )
)


def _scored(over):
    return lambda model, kind, threshold: _found(OFFSETS[kind], over=over)(model, kind, threshold)


finding.wrong(
    "largest_weight", "The score is the largest of the weights: one query is enough for it. Average over all of them."
)(_scored(lambda weights: weights.amax((0, -1))))
finding.wrong(
    "smallest_weight",
    "The score is the smallest of the weights: one query without the habit spoils it. Average over all of them.",
)(_scored(lambda weights: weights.amin((0, -1))))
finding.wrong(
    "median_weight", "The score is the median of the weights: it is their mean, to which each query adds its part."
)(_scored(lambda weights: weights.transpose(0, 1).flatten(1).median(-1).values))


def _one_query(long, short):
    """Counted from the end, where a row has more cells than the text has tokens and where it has not."""
    return _scored(lambda weights: weights[..., long if weights.shape[-1] > LENGTH else short].mean(0))


# What a single query shows depends on how many there are: as here for 40 repeated tokens, for 30 and for 50.
for _p, _ends in {40: (-1, -1), 30: (-3, -2), 50: (-2, -3)}.items():
    finding.wrong(
        f"one_query_only_as_of_{_p}",
        "A single query is looked at, the first or the last: a head may have its habit at some queries and not at "
        "others, so average over all that can look back.",
    )(_one_query(*_ends))
finding.wrong("below_the_threshold", "These are the heads below the threshold: wanted are those that reach it.")(
    lambda model, kind, threshold: _found(OFFSETS[kind], keep=lambda score, t: score < t)(model, kind, threshold)
)
finding.wrong(
    "threshold_ignored", "The threshold plays no part: it is an argument, and only heads that reach it are wanted."
)(lambda model, kind, threshold: _found(OFFSETS[kind])(model, kind, 0.4))


@finding.wrong("head_before_layer", "The pairs are the wrong way round: the layer comes first, then the head.")
def _(model, kind, threshold):
    return sorted((head, layer) for layer, head in find_heads(model, kind, threshold))


@finding.wrong("best_head_only", "Only the best head is returned: all that reach the threshold are wanted.")
def _(model, kind, threshold):
    heads = find_heads(model, kind, threshold)
    best = [h for h in heads if h in find_heads(model, kind, 0.83)]
    return best[:1] or heads[:1]


@finding.wrong("not_sorted", "The list is not in order: sort it by layer, then by head.")
def _(model, kind, threshold):
    return find_heads(model, kind, threshold)[::-1]


@finding.right
def with_indices_and_a_bos(model, kind, threshold):
    """With BOS in front, and another length."""
    p = 30
    once = torch.randint(0, model.cfg.d_vocab, (2, p), device=_device_of(model))
    bos = torch.full_like(once[:, :1], model.tokenizer.bos_token_id)
    tokens = torch.cat([bos, once, once], 1)
    queries = torch.arange(p + 1, 2 * p + 1, device=tokens.device)
    back = {"previous": 1, "duplicate": p, "induction": p - 1}[kind]
    _, cache = model.run_with_cache(tokens, return_type=None, names_filter=lambda name: name.endswith("hook_pattern"))
    scores = torch.stack([cache["pattern", i][:, :, queries, queries - back] for i in range(model.cfg.n_layers)])
    kept = scores.mean((1, 3)) > threshold
    return [(int(layer), int(head)) for layer, head in kept.nonzero()]


@finding.right
def with_hooks_and_loops(model, kind, threshold):
    p, found = 25, set()
    half = torch.randperm(model.cfg.d_vocab)[:p].to(_device_of(model))
    tokens = half.repeat(2)[None]

    def measure(pattern, hook):
        for head in range(pattern.shape[1]):
            first = 1 if kind == "previous" else p
            step = {"previous": -1, "duplicate": -p, "induction": 1 - p}[kind]
            cells = [pattern[0, head, i, i + step].item() for i in range(first, 2 * p)]
            if sum(cells) / len(cells) >= threshold:
                found.add((hook.layer(), head))

    model.run_with_hooks(tokens, return_type=None, fwd_hooks=[(lambda name: name.endswith("pattern"), measure)])
    return sorted(found)


@finding.right
def with_a_mask(model, kind, threshold):
    p = 50
    once = torch.randint(1000, (8, p), device=_device_of(model))  # a small range: some tokens occur twice by chance
    cache = model.run_with_cache(once.tile(1, 2))[1]
    gap = torch.arange(2 * p)[:, None] - torch.arange(2 * p)
    mask = (gap == {"previous": 1, "duplicate": p, "induction": p - 1}[kind]) & (torch.arange(2 * p)[:, None] >= p)
    mask = mask.to(once.device)
    scores = [(cache[f"blocks.{i}.attn.hook_pattern"] * mask).sum((0, 2, 3)) / 8 / p for i in range(model.cfg.n_layers)]
    return tuple((i, h) for i, row in enumerate(scores) for h in range(len(row)) if row[h] >= threshold)


# 10.5 ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

knocking = Exercise("10.5", difficulty=4, minutes=25, vary=(), exact=False)


def _knocked(edit=lambda s, src, dst: _hide(s, dst, src), layers=lambda i, layer: layer is None or i == layer):
    """By weights: `edit(scores, src, dst)` gives other scores in these layers."""

    def answer(model, tokens, src, dst, layer=None):
        return forward_by_weights(model, tokens, scores=lambda i, s: edit(s, src, dst) if layers(i, layer) else s)

    return answer


def _hide(scores, query, key, value=float("-inf")):
    scores = scores.clone()
    scores[:, :, query, key] = value
    return scores


@knocking.oracle
def knock_out(
    model,
    tokens: Int[Tensor, "batch pos"],
    src: int,
    dst: int,
    layer: int | None = None,
) -> Float[Tensor, "batch pos d_vocab"]:
    """The logits when position dst cannot attend to src < dst, in one layer or in all (Geva et al. 2023, section 4)."""
    return _knocked()(model, tokens, src, dst, layer)


@knocking.probe
def _(answer, model, tokens, src, dst, *layer) -> Float[Tensor, "batch pos d_vocab"]:
    return _logits_of(answer, model, tokens, src, dst, *layer)


@knocking.on_reference
def _(cache):
    return (cache.model, cache.tokens[:, :8], 2, 6), None


@knocking.special("in all layers")
def _(draw):
    return small_model(draw.device), _tokens(draw), 1, 4


@knocking.special("in the first layer only")
def _(draw):
    return small_model(draw.device), _tokens(draw), 0, 5, 0


@knocking.special("in the last layer only")
def _(draw):
    return small_model(draw.device), _tokens(draw), 2, 3, 2


@knocking.special("from position 0 to 1, half of all that there is to see")
def _(draw):
    return small_model(draw.device), _tokens(draw), 0, 1, None


knocking.hints(
    "Information flows from src to dst: which of the two asks (the query), and which is asked (the key)?",
    "Before the softmax a score of −∞ removes an edge, and softmax shares its weight among the others by itself.",
    'The hook is f"blocks.{i}.attn.hook_attn_scores", [batch n_heads query_pos key_pos]; dst is the row, src the '
    "column. With layer=None it goes on every layer; layer 0 is a layer, so ask `layer is None`.",
    "`scores[:, :, dst, src] = …` in a hook, and `layers = range(model.cfg.n_layers) if layer is None else [layer]`",
)


def _on_pattern(edit, layers=lambda n, layer: range(n) if layer is None else [layer], name="hook_pattern"):
    def answer(model, tokens, src, dst, layer=None):
        def hook_fn(pattern, hook):
            return edit(pattern.clone(), src, dst)

        where = [f"blocks.{i}.attn.{name}" for i in layers(model.cfg.n_layers, layer)]
        return model.run_with_hooks(tokens, fwd_hooks=[(name, hook_fn) for name in where])

    return answer


knocking.wrong(
    "zeroed_after_softmax",
    "The weight is set to 0 after the softmax and the row sums to less than 1: set the score to −∞ before it, or "
    "divide the row by what is left.",
)(_on_pattern(lambda pattern, src, dst: _hide(pattern, dst, src, 0.0)))
knocking.wrong(
    "reversed_edge",
    "Nothing changes: row src, column dst lies in the future and is masked anyway. The query is dst, the key is src.",
)(_knocked(lambda s, src, dst: _hide(s, src, dst)))
knocking.wrong("score_zeroed", "The score is set to 0, which is a score like any other: it must be −∞.")(
    _knocked(lambda s, src, dst: _hide(s, dst, src, 0.0))
)
knocking.wrong("layer_0_means_all", "Layer 0 is taken for None, as `if layer:` does: ask `layer is None`.")(
    _knocked(layers=lambda i, layer: not layer or i == layer)
)
knocking.wrong("layer_ignored", "The edge is removed in every layer, whatever layer says.")(
    _knocked(layers=lambda i, layer: True)
)
knocking.wrong("first_layer_for_none", "With layer=None only the first layer is changed: it means all of them.")(
    _knocked(layers=lambda i, layer: i == (layer or 0))
)
knocking.wrong("last_layer_for_none", "With layer=None only the last layer is changed: it means all of them.")(
    _knocked(layers=lambda i, layer: i == (2 if layer is None else layer))
)


def _one_head(s, src, dst):
    s = s.clone()
    s[:, 0, dst, src] = float("-inf")
    return s


def _one_row(s, src, dst):
    s = s.clone()
    s[0, :, dst, src] = float("-inf")
    return s


def _whole_column(s, src, dst):
    s = s.clone()
    s[:, :, src + 1 :, src] = float("-inf")
    return s


def _whole_column_and_itself(s, src, dst):
    s = s.clone()
    s[:, :, :, src] = float("-inf")
    return s


def _only_this_edge(s, src, dst):
    s = s.clone()
    kept = s[:, :, dst, src].clone()
    s[:, :, dst] = float("-inf")
    s[:, :, dst, src] = kept
    return s


knocking.wrong("one_head", "The edge is removed in one head only: it goes from all heads.")(_knocked(_one_head))
knocking.wrong("one_row_of_the_batch", "The edge is removed in one row of the batch only: it goes from all rows.")(
    _knocked(_one_row)
)
knocking.wrong("all_queries", "src is hidden from every position after it: only dst must not see it.")(
    _knocked(_whole_column)
)
knocking.wrong(
    "all_queries_and_itself",
    "src is hidden from every query, from itself too (as scores[..., src] = −∞ does): only dst must not see it.",
)(_knocked(_whole_column_and_itself))
knocking.wrong(
    "everything_else", "All other edges of dst are removed and this one is kept: it is the other way round."
)(_knocked(_only_this_edge))


@knocking.wrong("hook_left_behind", LEAVES_HOOKS)
def _(model, tokens, src, dst, layer=None):
    for i in range(model.cfg.n_layers) if layer is None else [layer]:
        model.add_hook(f"blocks.{i}.attn.hook_attn_scores", lambda s, hook: _hide(s, dst, src))
    return model(tokens)


knocking.right(_on_pattern(lambda s, src, dst: _hide(s, dst, src), name="hook_attn_scores"))


@knocking.right
def renormalized_pattern(model, tokens, src, dst, layer=None):
    def hook_fn(pattern, hook):
        pattern[:, :, dst, src] = 0
        return pattern / pattern.sum(-1, keepdim=True)

    def wanted(name):
        return name.endswith("attn.hook_pattern") and (layer is None or name.startswith(f"blocks.{layer}."))

    return model.run_with_hooks(tokens, fwd_hooks=[(wanted, hook_fn)])


@knocking.right
def within_a_context(model, tokens, src, dst, layer=None):
    def hook_fn(scores, hook):
        gone = torch.zeros(scores.shape[-2:], dtype=torch.bool, device=scores.device)
        gone[dst, src] = True
        return scores.masked_fill(gone, torch.finfo(scores.dtype).min)

    names = [f"blocks.{i}.attn.hook_attn_scores" for i in range(model.cfg.n_layers) if layer in (None, i)]
    with model.hooks(fwd_hooks=[(name, hook_fn) for name in names]):
        return model(tokens)
