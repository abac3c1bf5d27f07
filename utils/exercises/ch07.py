"""Chapter 07, the whole transformer: the block, the model, its weights, its predictions and their loss.

The model is GPT-2 (Radford et al. 2019, section 2.3): LayerNorm before each sublayer and after the last block, learned
positions, the unembedding tied to the embedding. The pieces are the oracles of the chapters before.
"""

import math
from types import MappingProxyType, SimpleNamespace

import torch
from einops import einsum, rearrange
from jaxtyping import Float, Int
from torch import Tensor, nn

from utils.exercises.ch03 import initial_residual, tied_unembed
from utils.exercises.ch04 import layer_norm
from utils.exercises.ch05 import attention, attention_out, attention_scores, mix_values, project_heads
from utils.exercises.ch06 import gelu_new, mlp, mlp_pre
from utils.exercises.declare import Build, Exercise, Unfit
from utils.exercises.gradients import difference, gradient_fault, weighted_sum

ATTN = ("W_Q", "b_Q", "W_K", "b_K", "W_V", "b_V", "W_O", "b_O")
MLP = ("W_in", "b_in", "W_out", "b_out")

# 07.1 ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

blocks = Exercise("07.1", difficulty=3, minutes=15)


@blocks.oracle
def transformer_block(
    resid: Float[Tensor, "batch pos d_model"],
    block: dict[str, Tensor | float],
) -> Float[Tensor, "batch pos d_model"]:
    """Norm, attention, add; norm, MLP, add (Radford et al. 2019: the norm stands at the start of each sublayer)."""
    normed = layer_norm(resid, block["ln1.w"], block["ln1.b"], block["eps"])
    resid_mid = resid + attention(normed, *(block[f"attn.{name}"] for name in ATTN))
    normed = layer_norm(resid_mid, block["ln2.w"], block["ln2.b"], block["eps"])
    return resid_mid + mlp(normed, *(block[f"mlp.{name}"] for name in MLP))


@blocks.on_reference
def _(cache, layer):
    return (cache[f"blocks.{layer}.hook_resid_pre"], cache.block(layer)), cache[f"blocks.{layer}.hook_resid_post"]


def _random_block(draw):
    """Weights large enough that attention is far from even and the activation far from linear."""
    block: dict = {}
    for norm in ("ln1", "ln2"):
        block |= {f"{norm}.w": draw.gain("d_model"), f"{norm}.b": draw.normal("d_model", scale=0.5)}
    for letter in "QKV":
        scale = 1.5 if letter in "QK" else 1.0
        block[f"attn.W_{letter}"] = draw.weight("n_heads d_model d_head", "d_model") * scale
        block[f"attn.b_{letter}"] = draw.normal("n_heads d_head", scale=0.5)
    block["attn.W_O"] = draw.weight("n_heads d_head d_model", "n_heads d_head")
    block |= {"attn.b_O": draw.normal("d_model"), "mlp.W_in": draw.weight("d_model d_mlp", "d_model")}
    block |= {"mlp.b_in": draw.normal("d_mlp"), "mlp.W_out": draw.weight("d_mlp d_model", "d_mlp")}
    return block | {"mlp.b_out": draw.normal("d_model")}


@blocks.fresh
def _(draw):
    resid = draw.normal("batch pos d_model", mean=0.5)
    return resid, _random_block(draw) | {"eps": draw.eps()}


@blocks.special("on a stream of small numbers")
def _(draw):
    return draw.normal("batch pos d_model", scale=0.05), _random_block(draw) | {"eps": 1e-3}


@blocks.prop("future_never_changes_the_past")
def _(answer, draw):
    resid, block = draw.normal("2 9 d_model"), _random_block(draw) | {"eps": 1e-5}
    changed = resid.clone()
    changed[:, 5:] = draw.normal("2 4 d_model")
    gap = float((answer(resid.clone(), dict(block))[:, :5] - answer(changed, dict(block))[:, :5]).abs().max())
    if gap <= 1e-5:
        return None
    return f"Changing the tokens from position 5 on changes the stream before it, by up to {gap:.2g}."


@blocks.prop("gradients_flow")
def _(answer, draw):
    resid = draw.normal("2 5 d_model")
    return gradient_fault(answer, transformer_block, resid=resid, block=_random_block(draw) | {"eps": 1e-5})


blocks.hints(
    "A block has two sublayers, and each reads the stream, does its work and adds to the stream. What comes before "
    "each?",
    "First resid_mid = resid + attention of the normed resid; then the same with the MLP, which reads resid_mid.",
    "The sum always takes the stream as it was before the norm: resid + …, not normed + …",
    "`normed = layer_norm(resid, block['ln1.w'], block['ln1.b'], block['eps'])`, then `resid_mid = resid + "
    "attention(normed, block['attn.W_Q'], …)`, then the same with ln2, mlp and resid_mid",
)


def _norm(x, block, name):
    return layer_norm(x, block[f"{name}.w"], block[f"{name}.b"], block["eps"])


def _heads(x, block):
    return attention(x, *(block[f"attn.{name}"] for name in ATTN))


def _neurons(x, block):
    return mlp(x, *(block[f"mlp.{name}"] for name in MLP))


@blocks.wrong(
    "post_ln",
    "The norms come after the sums, as in the transformer of 2017: in GPT-2 each sublayer norms what it reads, and "
    "the stream itself is never normed.",
)
def _(resid, block):
    resid_mid = _norm(resid + _heads(resid, block), block, "ln1")
    return _norm(resid_mid + _neurons(resid_mid, block), block, "ln2")


@blocks.wrong(
    "parallel",
    "Attention and MLP both read the stream at the block's start, side by side: in GPT-2 the MLP reads what "
    "attention has left, resid_mid.",
)
def _(resid, block):
    return resid + _heads(_norm(resid, block, "ln1"), block) + _neurons(_norm(resid, block, "ln2"), block)


@blocks.wrong("ln1_twice", "ln1 is used twice: the MLP has a norm of its own, ln2.")
def _(resid, block):
    resid_mid = resid + _heads(_norm(resid, block, "ln1"), block)
    return resid_mid + _neurons(_norm(resid_mid, block, "ln1"), block)


@blocks.wrong("norms_swapped", "The norms are swapped: ln1 comes before attention, ln2 before the MLP.")
def _(resid, block):
    resid_mid = resid + _heads(_norm(resid, block, "ln2"), block)
    return resid_mid + _neurons(_norm(resid_mid, block, "ln1"), block)


@blocks.wrong(
    "residual_from_the_normed_stream",
    "The sublayers' outputs are added to the normed stream: they are added to the stream itself, as it was before "
    "the norm.",
)
def _(resid, block):
    normed = _norm(resid, block, "ln1")
    normed = _norm(normed + _heads(normed, block), block, "ln2")
    return normed + _neurons(normed, block)


@blocks.wrong(
    "attention_added_to_the_normed_stream",
    "Attention's output is added to the normed stream: it is added to the stream as it was before ln1.",
)
def _(resid, block):
    normed = _norm(resid, block, "ln1")
    resid_mid = normed + _heads(normed, block)
    return resid_mid + _neurons(_norm(resid_mid, block, "ln2"), block)


@blocks.wrong(
    "mlp_added_to_the_normed_stream",
    "The MLP's output is added to the normed stream: it is added to resid_mid as it was before ln2.",
)
def _(resid, block):
    normed = _norm(resid + _heads(_norm(resid, block, "ln1"), block), block, "ln2")
    return normed + _neurons(normed, block)


@blocks.wrong(
    "mlp_added_to_resid_pre",
    "The MLP's output is added to the stream at the block's start, so that attention's output is lost: add it to "
    "resid_mid.",
)
def _(resid, block):
    resid_mid = resid + _heads(_norm(resid, block, "ln1"), block)
    return resid + _neurons(_norm(resid_mid, block, "ln2"), block)


@blocks.wrong(
    "residual_left_out",
    "The stream is replaced, not added to: each sublayer adds its output to the stream that it has read.",
)
def _(resid, block):
    attn_out = _heads(_norm(resid, block, "ln1"), block)
    return _neurons(_norm(attn_out, block, "ln2"), block)


@blocks.wrong("first_residual_left_out", "The stream is lost at attention: resid_mid is resid plus attention's output.")
def _(resid, block):
    resid_mid = _heads(_norm(resid, block, "ln1"), block)
    return resid_mid + _neurons(_norm(resid_mid, block, "ln2"), block)


@blocks.wrong(
    "second_residual_left_out",
    "The stream is lost at the MLP: the result is resid_mid plus the MLP's output.",
)
def _(resid, block):
    resid_mid = resid + _heads(_norm(resid, block, "ln1"), block)
    return _neurons(_norm(resid_mid, block, "ln2"), block)


@blocks.wrong(
    "mlp_reads_attention_alone",
    "The MLP reads attention's output alone: it reads the stream with that added.",
)
def _(resid, block):
    attn_out = _heads(_norm(resid, block, "ln1"), block)
    return resid + attn_out + _neurons(_norm(attn_out, block, "ln2"), block)


@blocks.wrong("mlp_first", "The MLP comes before attention: attention is the first of the two.")
def _(resid, block):
    resid_mid = resid + _neurons(_norm(resid, block, "ln2"), block)
    return resid_mid + _heads(_norm(resid_mid, block, "ln1"), block)


@blocks.wrong("no_norms", "Neither norm is there: each sublayer reads the stream through its own LayerNorm.")
def _(resid, block):
    resid_mid = resid + _heads(resid, block)
    return resid_mid + _neurons(resid_mid, block)


@blocks.wrong("ln1_left_out", "ln1 is left out: attention reads the stream through it.")
def _(resid, block):
    resid_mid = resid + _heads(resid, block)
    return resid_mid + _neurons(_norm(resid_mid, block, "ln2"), block)


@blocks.wrong("ln2_left_out", "ln2 is left out: the MLP reads the stream through it.")
def _(resid, block):
    resid_mid = resid + _heads(_norm(resid, block, "ln1"), block)
    return resid_mid + _neurons(resid_mid, block)


@blocks.wrong("no_attention", "Attention is left out: the block has two sublayers, attention and the MLP.")
def _(resid, block):
    return resid + _neurons(_norm(resid, block, "ln2"), block)


@blocks.wrong("no_mlp", "The MLP is left out: what comes back is resid_mid, the stream after attention.")
def _(resid, block):
    return resid + _heads(_norm(resid, block, "ln1"), block)


@blocks.wrong("eps_written_in", "eps is written into the function as 1e-5: use block['eps'].")
def _(resid, block):
    return transformer_block(resid, block | {"eps": 1e-5})


@blocks.wrong("no_mask", "Attention is not masked: every position sees the ones after it.")
def _(resid, block):
    x = _norm(resid, block, "ln1")
    q, k, v = (project_heads(x, block[f"attn.W_{letter}"], block[f"attn.b_{letter}"]) for letter in "QKV")
    z = mix_values(attention_scores(q, k).softmax(-1), v)
    resid_mid = resid + attention_out(z, block["attn.W_O"], block["attn.b_O"])
    return resid_mid + _neurons(_norm(resid_mid, block, "ln2"), block)


def _with_heads(edit):
    """The block with other weights of attention: `edit` gives those that change, by name."""

    def answer(resid, block):
        changed = edit({name: block[f"attn.{name}"] for name in ATTN})
        return transformer_block(resid, block | {f"attn.{name}": value for name, value in changed.items()})

    return answer


def _root(heads):
    return heads["W_Q"].shape[-1] ** 0.5


blocks.wrong(
    "no_scale", "Attention's scores are not scaled: divide q·k by √d_head before the softmax, or use your attention."
)(_with_heads(lambda heads: {"W_Q": heads["W_Q"] * _root(heads), "b_Q": heads["b_Q"] * _root(heads)}))
blocks.wrong("scaled_by_d_head", "Attention's scores are divided by d_head: divide by its root, √d_head.")(
    _with_heads(lambda heads: {"W_Q": heads["W_Q"] / _root(heads), "b_Q": heads["b_Q"] / _root(heads)})
)
for _name in ("b_Q", "b_V", "b_O"):
    blocks.wrong(f"no_{_name}", f"Attention's bias {_name} is left out: each of its four products has a bias.")(
        _with_heads(lambda heads, _name=_name: {_name: torch.zeros_like(heads[_name])})
    )
for _name, _what in {"b_in": "first", "b_out": "second"}.items():
    blocks.wrong(f"no_{_name}", f"The MLP's bias {_name} is left out: it is added to the {_what} product.")(
        lambda resid, block, _name=_name: transformer_block(
            resid, block | {f"mlp.{_name}": torch.zeros_like(block[f"mlp.{_name}"])}
        )
    )
for _name, _before in {"ln1": "attention", "ln2": "the MLP"}.items():
    blocks.wrong(f"no_{_name}_bias", f"The bias of {_name}, before {_before}, is left out: a norm ends with ·w + b.")(
        lambda resid, block, _name=_name: transformer_block(
            resid, block | {f"{_name}.b": torch.zeros_like(block[f"{_name}.b"])}
        )
    )
# b_K alone is not seen: it adds the same number to all scores of a query, which softmax takes away again.


@blocks.wrong("erf_gelu", "The activation is GELU with erf: GPT-2 uses the tanh form, gelu_new.")
def _(resid, block):
    resid_mid = resid + _heads(_norm(resid, block, "ln1"), block)
    pre = mlp_pre(_norm(resid_mid, block, "ln2"), block["mlp.W_in"], block["mlp.b_in"])
    return resid_mid + nn.functional.gelu(pre) @ block["mlp.W_out"] + block["mlp.b_out"]


@blocks.wrong(
    "changes_input", "The stream is changed in place, by +=: whoever holds it still needs it. Make a new tensor with +."
)
def _(resid, block):
    resid += _heads(_norm(resid, block, "ln1"), block)
    resid += _neurons(_norm(resid, block, "ln2"), block)
    return resid


@blocks.wrong("no_gradient", "No gradient flows back through the result: a detach, .data or no_grad cuts it off.")
def _(resid, block):
    return transformer_block(resid, block).detach()


@blocks.right
def with_torchs_functions(resid, block):
    """What earlier chapters built may be torch's own here."""
    F, shape = nn.functional, resid.shape[-1:]
    x = F.layer_norm(resid, shape, block["ln1.w"], block["ln1.b"], block["eps"])
    q, k, v = (
        torch.einsum("bpm,hmd->bhpd", x, block[f"attn.W_{letter}"]) + block[f"attn.b_{letter}"][:, None]
        for letter in "QKV"
    )
    z = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    resid = resid + torch.einsum("bhpd,hdm->bpm", z, block["attn.W_O"]) + block["attn.b_O"]
    x = F.layer_norm(resid, shape, block["ln2.w"], block["ln2.b"], block["eps"])
    post = F.gelu(x @ block["mlp.W_in"] + block["mlp.b_in"], approximate="tanh")
    return resid + post @ block["mlp.W_out"] + block["mlp.b_out"]


@blocks.right
def in_float64(resid, block):
    wide = {name: w.double() if isinstance(w, Tensor) else w for name, w in block.items()}
    stream = resid.double()
    stream = stream + _heads(_norm(stream, wide, "ln1"), wide)
    return (stream + _neurons(_norm(stream, wide, "ln2"), wide)).to(resid.dtype)


@blocks.right
def by_hand_head_after_head(resid, block):
    def normed(x, name):
        x = x - x.mean(-1, keepdim=True)
        return x / (x.pow(2).mean(-1, keepdim=True) + block["eps"]).sqrt() * block[f"{name}.w"] + block[f"{name}.b"]

    x, pos = normed(resid, "ln1"), resid.shape[1]
    future = torch.ones(pos, pos, dtype=torch.bool, device=resid.device).triu(1)
    total = resid + block["attn.b_O"]
    for h in range(block["attn.W_Q"].shape[0]):
        q, k, v = (x @ block[f"attn.W_{letter}"][h] + block[f"attn.b_{letter}"][h] for letter in "QKV")
        scores = (q @ k.mT / math.sqrt(q.shape[-1])).masked_fill(future, -torch.inf)
        total = total + scores.softmax(-1) @ v @ block["attn.W_O"][h]
    pre = normed(total, "ln2") @ block["mlp.W_in"] + block["mlp.b_in"]
    return total + gelu_new(pre) @ block["mlp.W_out"] + block["mlp.b_out"]


class _Block(nn.Module):
    """A module stands for a function; one text after another."""

    def forward(self, resid, block):
        return torch.cat([self.one(row[None], block) for row in resid])

    def one(self, row, block):
        row = row + _heads(_norm(row, block, "ln1"), block)
        return row + torch.stack([_neurons(_norm(at[:, None], block, "ln2"), block)[:, 0] for at in row.unbind(1)], 1)


blocks.right(_Block())

# 07.2 ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

models = Exercise(
    "07.2", title="GPT-2", difficulty=4, minutes=30, keep=("d_model", "d_head", "d_mlp", "d_vocab", "n_ctx")
)


class Weights(nn.Module):
    """Parameters under given names: gains (w) start at 1, biases (b…) at 0, weights at N(0, 0.02)."""

    def __init__(self, **shapes: tuple[int, ...]):
        super().__init__()
        for name, shape in shapes.items():
            start = torch.ones(shape) if name == "w" else torch.zeros(shape) if name[0] == "b" else None
            self.register_parameter(name, nn.Parameter(torch.randn(shape) * 0.02 if start is None else start))


class Block(nn.Module):
    """One block's weights, and what they do to the stream."""

    def __init__(self, cfg: SimpleNamespace):
        super().__init__()
        model, heads, head, hidden = cfg.d_model, cfg.n_heads, cfg.d_head, cfg.d_mlp
        reads = {f"W_{letter}": (heads, model, head) for letter in "QKV"}
        biases = {f"b_{letter}": (heads, head) for letter in "QKV"}
        self.eps = cfg.eps
        self.ln1, self.ln2 = Weights(w=(model,), b=(model,)), Weights(w=(model,), b=(model,))
        self.attn = Weights(**reads, **biases, W_O=(heads, head, model), b_O=(model,))
        self.mlp = Weights(W_in=(model, hidden), b_in=(hidden,), W_out=(hidden, model), b_out=(model,))

    def forward(self, resid: Float[Tensor, "batch pos d_model"]) -> Float[Tensor, "batch pos d_model"]:
        return transformer_block(resid, {**dict(self.named_parameters()), "eps": self.eps})


@models.oracle
class GPT2(nn.Module):
    """Embed, n_layers blocks, the final norm, unembed with the same table (Radford et al. 2019, section 2.3)."""

    def __init__(self, cfg: SimpleNamespace):
        super().__init__()
        self.cfg = cfg
        self.embed = Weights(W_E=(cfg.d_vocab, cfg.d_model))
        self.pos_embed = Weights(W_pos=(cfg.n_ctx, cfg.d_model))
        self.blocks = nn.ModuleList([Block(cfg) for _ in range(cfg.n_layers)])
        self.ln_final = Weights(w=(cfg.d_model,), b=(cfg.d_model,))

    def forward(self, tokens: Int[Tensor, "batch pos"]) -> Float[Tensor, "batch pos d_vocab"]:
        resid = initial_residual(tokens, self.embed.W_E, self.pos_embed.W_pos)
        for block in self.blocks:
            resid = block(resid)
        resid = layer_norm(resid, self.ln_final.w, self.ln_final.b, self.cfg.eps)
        return tied_unembed(resid, self.embed.W_E)


@models.probe
def _(answer, cfg, weights, tokens) -> Float[Tensor, "batch pos d_vocab"]:
    """The learner's model, with the case's weights put into its parameters, run on tokens."""
    model = _made(answer, cfg, weights)
    given = tokens.clone()
    with torch.no_grad():
        logits = model(given)
    if not torch.equal(given, tokens):
        raise Unfit("The model changes the tokens that it is given: leave inputs as they are.")
    return logits


def _made(answer, cfg, weights):
    """A model of this class with these weights, in their dtype and on their device, as it is used (eval)."""
    model = answer(cfg)
    if not isinstance(model, nn.Module):
        raise Unfit("GPT2 must be a torch.nn.Module: class GPT2(nn.Module), with super().__init__() first.")
    parameters = dict(model.named_parameters(remove_duplicate=False))
    _check_parameters(parameters, weights)
    like = weights["embed.W_E"]
    model.to(device=like.device, dtype=like.dtype)
    with torch.no_grad():
        parameters = dict(model.named_parameters(remove_duplicate=False))  # .to() may have made new ones
        for name, value in weights.items():
            parameters[name].copy_(value)
    return model.eval()


def _check_parameters(parameters, weights):
    """Raise Unfit where names, shapes or the number of a model's parameters are not those wanted.

    A second name for W_E is no second parameter: an unembedding layer may hold the same one.
    """
    missing = [name for name in weights if name not in parameters]
    wanted_ones = {id(parameters[name]) for name in weights if name in parameters}
    extra = [name for name, p in parameters.items() if name not in weights and id(p) not in wanted_ones]
    if missing:
        instead = f" It has others, like {extra[0]}." if extra else ""
        raise Unfit(
            f"The model has no parameter called {_listed(missing, 'nor')}.{instead} Each needs the name given in the "
            "text.",
            kind=f"missing {_part(missing, weights)}",
        )
    if extra:
        raise Unfit(
            f"The model has a parameter too many: {_listed(extra, 'and')}. The unembedding is W_E, transposed, and "
            "has none of its own; constants such as a mask are no parameters.",
            kind="extra unembedding" if any("unembed" in name or "lm_head" in name for name in extra) else "extra",
        )
    for name, wanted in weights.items():
        if parameters[name].shape != wanted.shape:
            raise Unfit(f"{name} has the shape {tuple(parameters[name].shape)}; it should be {tuple(wanted.shape)}.")
    owner: dict[int, str] = {}
    for name in weights:
        if owner.setdefault(id(parameters[name]), name) != name:
            raise Unfit(
                f"{owner[id(parameters[name])]} and {name} are one and the same parameter: every block has its own.",
                kind="shared",
            )


def _part(missing, weights):
    """Which whole part of the model the missing names make up; the names themselves where they are only some of it."""
    later = {name for name in weights if name.startswith("blocks.") and not name.startswith("blocks.0.")}
    parts = {
        part: {name for name in weights if name.startswith(part)} for part in ("ln_final.", "pos_embed.", "blocks.")
    }
    parts["blocks after the first"] = later
    return next((part for part, names in parts.items() if names == {*missing}), ", ".join(missing))


def _listed(names, word):
    return names[0] + (f" ({word} {len(names) - 1} more)" if len(names) > 1 else "")


def _config(n_layers, eps=1e-5, **sizes):
    """`cfg` with TransformerLens's fields."""
    fields = dict(n_layers=n_layers, eps=eps, act_fn="gelu_new", initializer_range=0.02, **sizes)
    return Build(lambda: SimpleNamespace(**fields))


SIZES = ("d_model", "n_heads", "d_head", "d_mlp", "d_vocab", "n_ctx")


def _random_model(draw, n_layers=3, eps=1e-5):
    """A configuration, random weights by name, tokens."""
    tokens = draw.ids("batch pos", draw.size("d_vocab", at_least=2))
    draw.size("n_ctx", at_least=draw.size("pos") + 2)
    weights = {"embed.W_E": draw.normal("d_vocab d_model"), "pos_embed.W_pos": draw.normal("n_ctx d_model")}
    for i in range(n_layers):
        weights |= {f"blocks.{i}.{name}": value for name, value in _random_block(draw).items()}
    weights |= {"ln_final.w": draw.gain("d_model"), "ln_final.b": draw.normal("d_model")}
    return _config(n_layers, eps, **{name: draw.size(name) for name in SIZES}), weights, tokens


def _reference_weights(cache, n_layers):
    """The reference's first blocks between its embedding and its final norm, in a vocabulary of the text's tokens."""
    weights = {"embed.W_E": cache.weight("embed.W_E")[cache.text_ids]}
    weights["pos_embed.W_pos"] = cache.weight("pos_embed.W_pos")
    for i in range(n_layers):
        weights |= {f"blocks.{i}.{name}": w for name, w in cache.block(i).items() if name != "eps"}
    return weights | {f"ln_final.{name}": cache.weight(f"ln_final.{name}") for name in ("w", "b")}


def _reference_model(cache, n_layers):
    """Configuration, weights, tokens and what the model's own stream gives after so many blocks."""
    weights, cfg = _reference_weights(cache, n_layers), cache.cfg
    sizes = dict(d_model=cfg.d_model, n_heads=cfg.n_heads, d_head=cfg.d_head, d_mlp=cfg.d_mlp)
    sizes |= dict(d_vocab=len(cache.text_ids), n_ctx=len(weights["pos_embed.W_pos"]))
    stream = cache[f"blocks.{n_layers - 1}.hook_resid_post"]
    if n_layers == cache.n_layers:
        logits = cache.part("logits", (..., cache.text_ids), "of the text's own tokens")
    else:
        normed = layer_norm(stream, weights["ln_final.w"], weights["ln_final.b"], float(cfg.eps))
        logits = tied_unembed(normed, weights["embed.W_E"])
    return _config(n_layers, float(cfg.eps), **sizes), weights, torch.searchsorted(cache.text_ids, cache.tokens), logits


# A deep model is compared at this depth: each block costs the time of making, filling and running it.
DEPTH = 4


@models.on_reference
def _(cache):
    """The stream after the first block, then after the last one (of a deep model, after the fourth).

    The weights are held in a read-only view, not in a dict: nothing copies them but into the learner's parameters.
    """
    for n_layers in dict.fromkeys((1, min(DEPTH, cache.n_layers))):
        cfg, weights, tokens, logits = _reference_model(cache, n_layers)
        yield (cfg, MappingProxyType(weights), tokens), logits


@models.fresh
def _(draw):
    return _random_model(draw)


@models.special("after its first block")
def _(draw):
    return _random_model(draw, n_layers=1)


@models.special("after its second block")
def _(draw):
    return _random_model(draw, n_layers=2)


@models.special("on a text as long as the model's context")
def _(draw):
    draw.fix(pos=6, n_ctx=6)
    return _random_model(draw)


@models.special("with an eps of 0.1 in cfg")
def _(draw):
    return _random_model(draw, n_layers=2, eps=0.1)


@models.prop("gradients_flow")
def _(answer, draw):
    cfg, weights, tokens = _random_model(draw, n_layers=2)
    found = []
    for cls in (answer, GPT2):
        with torch.enable_grad():
            model = _made(cls, cfg.make(), weights)
            weighted_sum(model(tokens.clone())).backward()
        found.append({name: p.grad for name, p in model.named_parameters(remove_duplicate=False)})
    return difference(*found)


models.hints(
    "Follow a token id to its logits: which function of the earlier chapters does each step, and which weights does "
    "it need?",
    "A module's parameters are named by the way to them: self.embed.W_E comes from a submodule embed with a "
    "parameter W_E. nn.ModuleList numbers the blocks.",
    "forward: initial_residual, then the blocks one after another, then layer_norm with ln_final, then tied_unembed.",
    "`for block in self.blocks: resid = …`, then `return tied_unembed(layer_norm(resid, …, …, …), self.embed.W_E)`",
)


class _Parts(GPT2):
    """The model with single steps that a wrong answer can replace."""

    def start(self, tokens):
        return initial_residual(tokens, self.embed.W_E, self.pos_embed.W_pos)

    def order(self):
        return list(self.blocks)

    def end(self, resid):
        return layer_norm(resid, self.ln_final.w, self.ln_final.b, self.cfg.eps)

    def forward(self, tokens):
        resid = self.start(tokens)
        for block in self.order():
            resid = block(resid)
        return self.end(resid) @ self.embed.W_E.T


@models.wrong(
    "final_norm_missing", "The final LayerNorm is left out: the stream goes through ln_final before it is unembedded."
)
class _(_Parts):
    def end(self, resid):
        return resid


@models.wrong(
    "final_norm_not_made",
    "There is no final LayerNorm: the stream goes through one more norm, ln_final, before it is unembedded.",
)
class _(_Parts):
    def __init__(self, cfg):
        super().__init__(cfg)
        del self.ln_final

    def end(self, resid):
        return resid


@models.wrong("final_norm_without_gain", "The final norm's gain and bias, ln_final.w and ln_final.b, are not used.")
class _(_Parts):
    def end(self, resid):
        return nn.functional.layer_norm(resid, resid.shape[-1:], eps=self.cfg.eps)


@models.wrong(
    "one_block_shared",
    "All blocks are one and the same object, as [Block(cfg)] * n_layers makes them: every block needs weights of its "
    "own, [Block(cfg) for _ in range(n_layers)].",
)
class _(GPT2):
    def __init__(self, cfg):
        super().__init__(cfg)
        self.blocks = nn.ModuleList([Block(cfg)] * cfg.n_layers)


@models.wrong(
    "one_block_made",
    "Only one block is made: there must be n_layers of them, each with weights of its own, and each run once.",
)
class _(_Parts):
    def __init__(self, cfg):
        super().__init__(cfg)
        self.blocks = self.blocks[:1]

    def order(self):
        return [self.blocks[0]] * self.cfg.n_layers


@models.wrong(
    "blocks_in_a_list",
    "PyTorch does not know the blocks: it finds modules in an nn.ModuleList or nn.ModuleDict, not in a plain list or "
    "dict.",
)
class _(_Parts):
    def __init__(self, cfg):
        super().__init__(cfg)
        blocks = list(self.blocks)
        del self.blocks
        self.blocks = blocks


@models.wrong("first_block_every_time", "The first block is run n_layers times: run each block once, in order.")
class _(_Parts):
    def order(self):
        return [self.blocks[0]] * len(self.blocks)


@models.wrong("blocks_reversed", "The blocks run from the last to the first: block 0 comes first.")
class _(_Parts):
    def order(self):
        return reversed(self.blocks)


@models.wrong("last_block_left_out", "The last block is left out: all n_layers of them run.")
class _(_Parts):
    def order(self):
        return self.blocks[:-1]


@models.wrong("first_block_left_out", "Block 0 is left out: all n_layers blocks run, from 0 on.")
class _(_Parts):
    def order(self):
        return self.blocks[1:]


@models.wrong("positions_left_out", "The positions are left out: the stream starts as token embedding plus position.")
class _(_Parts):
    def start(self, tokens):
        return self.embed.W_E[tokens]


@models.wrong(
    "positions_not_made", "There is no table of positions: the stream starts as token embedding plus position, W_pos."
)
class _(_Parts):
    def __init__(self, cfg):
        super().__init__(cfg)
        del self.pos_embed

    def start(self, tokens):
        return self.embed.W_E[tokens]


@models.wrong("positions_from_1", "The positions start at 1: the first token stands at position 0, row 0 of W_pos.")
class _(_Parts):
    def start(self, tokens):
        return self.embed.W_E[tokens] + self.pos_embed.W_pos[1 : tokens.shape[1] + 1]


@models.wrong(
    "positions_by_token",
    "The rows of W_pos are looked up by token id: they go by place, 0, 1, 2, …, whatever stands there.",
)
class _(_Parts):
    def start(self, tokens):
        return self.embed.W_E[tokens] + self.pos_embed.W_pos[tokens]


@models.wrong("embedding_scaled", "The token embedding is multiplied by √d_model: GPT-2 takes its rows as they are.")
class _(_Parts):
    def start(self, tokens):
        return self.embed.W_E[tokens] * math.sqrt(self.cfg.d_model) + self.pos_embed.W_pos[: tokens.shape[1]]


@models.wrong(
    "norm_at_the_start",
    "The stream is normed before the first block: each block has its own norms, and ln_final is for the end.",
)
class _(_Parts):
    def start(self, tokens):
        return self.end(super().start(tokens))


@models.wrong(
    "stream_added_twice",
    "The stream is added to what a block gives: transformer_block adds its parts to the stream itself, so "
    "resid = transformer_block(resid, …).",
)
class _(_Parts):
    def forward(self, tokens):
        resid = self.start(tokens)
        for block in self.blocks:
            resid = resid + block(resid)
        return self.end(resid) @ self.embed.W_E.T


EPS_BY_HEART = "eps is 1e-5 {where}, whatever the configuration says: take cfg.eps."


@models.wrong("eps_by_heart", EPS_BY_HEART.format(where="in every norm"))
class _(GPT2):
    def __init__(self, cfg):
        super().__init__(SimpleNamespace(**{**vars(cfg), "eps": 1e-5}))


@models.wrong("eps_by_heart_in_the_blocks", EPS_BY_HEART.format(where="in the blocks' norms"))
class _(GPT2):
    def __init__(self, cfg):
        super().__init__(cfg)
        for block in self.blocks:
            block.eps = 1e-5


@models.wrong("eps_by_heart_at_the_end", EPS_BY_HEART.format(where="in the final norm"))
class _(_Parts):
    def end(self, resid):
        return layer_norm(resid, self.ln_final.w, self.ln_final.b, 1e-5)


@models.wrong("norm_after_each_block", "ln_final is used after every block: it stands once, after the last.")
class _(_Parts):
    def forward(self, tokens):
        resid = self.start(tokens)
        for block in self.blocks:
            resid = self.end(block(resid))
        return resid @ self.embed.W_E.T


@models.wrong(
    "own_unembedding",
    "The unembedding has a table of its own: it is W_E, transposed, the same tensor used again, and no further "
    "parameter.",
)
class _(GPT2):
    def __init__(self, cfg):
        super().__init__(cfg)
        self.unembed = Weights(W_U=(cfg.d_model, cfg.d_vocab))

    def forward(self, tokens):
        resid = initial_residual(tokens, self.embed.W_E, self.pos_embed.W_pos)
        for block in self.blocks:
            resid = block(resid)
        return layer_norm(resid, self.ln_final.w, self.ln_final.b, self.cfg.eps) @ self.unembed.W_U


@models.wrong("softmaxed", "A softmax is applied: the model gives logits, the scores before it.")
class _(GPT2):
    def forward(self, tokens):
        return super().forward(tokens).softmax(-1)


@models.wrong("last_position_only", "Only the last position's logits come back: n tokens give n predictions.")
class _(GPT2):
    def forward(self, tokens):
        return super().forward(tokens)[:, -1]


@models.wrong("stream_for_logits", "The normed stream comes back: it must be unembedded, with W_E transposed.")
class _(_Parts):
    def forward(self, tokens):
        resid = self.start(tokens)
        for block in self.blocks:
            resid = block(resid)
        return self.end(resid)


@models.wrong("no_gradient", "No gradient flows back through the model: a detach, .data or no_grad cuts it off.")
class _(GPT2):
    def forward(self, tokens):
        return super().forward(tokens).detach()


@models.right
class ModulesAllTheWay(nn.Module):
    """A module for each part, each with a forward of its own."""

    class Norm(nn.Module):
        def __init__(self, cfg):
            super().__init__()
            self.w, self.b = nn.Parameter(torch.ones(cfg.d_model)), nn.Parameter(torch.zeros(cfg.d_model))
            self.eps = cfg.eps

        def forward(self, x):
            return nn.functional.layer_norm(x, x.shape[-1:], self.w, self.b, self.eps)

    class Attention(nn.Module):
        def __init__(self, cfg):
            super().__init__()
            for letter in "QKV":
                setattr(self, f"W_{letter}", nn.Parameter(torch.empty(cfg.n_heads, cfg.d_model, cfg.d_head)))
                setattr(self, f"b_{letter}", nn.Parameter(torch.empty(cfg.n_heads, cfg.d_head)))
            self.W_O, self.b_O = (
                nn.Parameter(torch.empty(cfg.n_heads, cfg.d_head, cfg.d_model)),
                nn.Parameter(torch.empty(cfg.d_model)),
            )
            self.register_buffer("seen", torch.ones(cfg.n_ctx, cfg.n_ctx, dtype=torch.bool).tril())

        def forward(self, x):
            q = einsum(x, self.W_Q, "b p m, h m d -> b p h d") + self.b_Q
            k = einsum(x, self.W_K, "b p m, h m d -> b p h d") + self.b_K
            v = einsum(x, self.W_V, "b p m, h m d -> b p h d") + self.b_V
            scores = einsum(q, k, "b q h d, b k h d -> b h q k") / self.W_Q.shape[-1] ** 0.5
            scores = scores.masked_fill(~self.seen[: x.shape[1], : x.shape[1]], torch.finfo(x.dtype).min)
            z = einsum(scores.softmax(-1), v, "b h q k, b k h d -> b q h d")
            return einsum(z, self.W_O, "b q h d, h d m -> b q m") + self.b_O

    class Mlp(nn.Module):
        def __init__(self, cfg):
            super().__init__()
            self.W_in, self.b_in = (
                nn.Parameter(torch.empty(cfg.d_model, cfg.d_mlp)),
                nn.Parameter(torch.empty(cfg.d_mlp)),
            )
            self.W_out, self.b_out = (
                nn.Parameter(torch.empty(cfg.d_mlp, cfg.d_model)),
                nn.Parameter(torch.empty(cfg.d_model)),
            )

        def forward(self, x):
            return nn.functional.gelu(x @ self.W_in + self.b_in, approximate="tanh") @ self.W_out + self.b_out

    class Layer(nn.Module):
        def __init__(self, cfg):
            super().__init__()
            self.ln1, self.ln2 = ModulesAllTheWay.Norm(cfg), ModulesAllTheWay.Norm(cfg)
            self.attn, self.mlp = ModulesAllTheWay.Attention(cfg), ModulesAllTheWay.Mlp(cfg)

        def forward(self, x):
            x = x + self.attn(self.ln1(x))
            return x + self.mlp(self.ln2(x))

    class Table(nn.Module):
        def __init__(self, name, rows, columns):
            super().__init__()
            self.register_parameter(name, nn.Parameter(torch.empty(rows, columns)))

    def __init__(self, cfg):
        super().__init__()
        self.embed, self.pos_embed = (
            self.Table("W_E", cfg.d_vocab, cfg.d_model),
            self.Table("W_pos", cfg.n_ctx, cfg.d_model),
        )
        self.blocks = nn.Sequential(*(self.Layer(cfg) for _ in range(cfg.n_layers)))
        self.ln_final = self.Norm(cfg)

    def forward(self, tokens):
        x = nn.functional.embedding(tokens, self.embed.W_E) + self.pos_embed.W_pos[None, : tokens.shape[1]]
        return nn.functional.linear(self.ln_final(self.blocks(x)), self.embed.W_E)


@models.right
class WithATiedLayer(GPT2):
    """The unembedding as a linear layer that holds the very same parameter, as transformers has it."""

    def __init__(self, cfg):
        super().__init__(cfg)
        self.unembed = nn.Linear(cfg.d_model, cfg.d_vocab, bias=False)
        self.unembed.weight = self.embed.W_E

    def forward(self, tokens):
        resid = self.embed.W_E[tokens] + self.pos_embed.W_pos[torch.arange(tokens.shape[1], device=tokens.device)]
        for i in range(self.cfg.n_layers):
            resid = self.blocks[i](resid)
        return self.unembed(layer_norm(resid, self.ln_final.w, self.ln_final.b, self.cfg.eps))


@models.right
class OneLongForward(nn.Module):
    """Containers that only hold parameters, and one function that reads them all by name; with dropout, off in use."""

    def __init__(self, cfg):
        super().__init__()
        self.n_layers, self.eps, self.dropout = cfg.n_layers, cfg.eps, nn.Dropout(0.1)
        m, n, h, d = cfg.d_model, cfg.n_heads, cfg.d_head, cfg.d_mlp
        self.hold("embed.W_E", cfg.d_vocab, m)
        self.hold("pos_embed.W_pos", cfg.n_ctx, m)
        for i in range(cfg.n_layers):
            for norm in ("ln1", "ln2"):
                self.hold(f"blocks.{i}.{norm}.w", m), self.hold(f"blocks.{i}.{norm}.b", m)
            for letter in "QKV":
                self.hold(f"blocks.{i}.attn.W_{letter}", n, m, h), self.hold(f"blocks.{i}.attn.b_{letter}", n, h)
            self.hold(f"blocks.{i}.attn.W_O", n, h, m), self.hold(f"blocks.{i}.attn.b_O", m)
            self.hold(f"blocks.{i}.mlp.W_in", m, d), self.hold(f"blocks.{i}.mlp.b_in", d)
            self.hold(f"blocks.{i}.mlp.W_out", d, m), self.hold(f"blocks.{i}.mlp.b_out", m)
        self.hold("ln_final.w", m), self.hold("ln_final.b", m)

    def hold(self, name, *shape):
        *way, last = name.split(".")
        place = self
        for step in way:
            if not hasattr(place, step):
                place.add_module(step, nn.Module())
            place = getattr(place, step)
        place.register_parameter(last, nn.Parameter(torch.zeros(shape)))

    def forward(self, tokens):
        p = dict(self.named_parameters())
        F, m = nn.functional, p["embed.W_E"].shape[1]
        x = self.dropout(p["embed.W_E"][tokens] + p["pos_embed.W_pos"][: tokens.shape[1]])
        for i in range(self.n_layers):
            b = {name.removeprefix(f"blocks.{i}."): w for name, w in p.items() if name.startswith(f"blocks.{i}.")}
            y = F.layer_norm(x, (m,), b["ln1.w"], b["ln1.b"], self.eps)
            q, k, v = ((y[:, None] @ b[f"attn.W_{c}"]) + b[f"attn.b_{c}"][:, None] for c in "QKV")
            z = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.dropout((z @ b["attn.W_O"]).sum(1) + b["attn.b_O"])
            y = F.layer_norm(x, (m,), b["ln2.w"], b["ln2.b"], self.eps)
            x = x + self.dropout(gelu_new(y @ b["mlp.W_in"] + b["mlp.b_in"]) @ b["mlp.W_out"] + b["mlp.b_out"])
        return F.layer_norm(x, (m,), p["ln_final.w"], p["ln_final.b"], self.eps) @ p["embed.W_E"].T


@models.right
class ByRecursionInFloat64(nn.Module):
    """Blocks in a dict of modules; the stream in float64; each text of the batch alone."""

    def __init__(self, cfg):
        super().__init__()
        self.eps = cfg.eps
        self.embed = nn.ParameterDict({"W_E": torch.randn(cfg.d_vocab, cfg.d_model)})
        self.pos_embed = nn.ParameterDict({"W_pos": torch.randn(cfg.n_ctx, cfg.d_model)})
        self.blocks = nn.ModuleDict({str(i): Block(cfg) for i in range(cfg.n_layers)})
        self.ln_final = nn.ParameterDict({"w": torch.ones(cfg.d_model), "b": torch.zeros(cfg.d_model)})

    def after(self, i, start):
        if i < 0:
            return start
        block = {name: w.double() for name, w in self.blocks[str(i)].named_parameters()}
        return transformer_block(self.after(i - 1, start), {**block, "eps": self.eps})

    def forward(self, tokens):
        texts = []
        for row in tokens:
            start = (self.embed["W_E"][row] + self.pos_embed["W_pos"][: len(row)]).double()
            stream = self.after(len(self.blocks) - 1, start[None])
            normed = layer_norm(stream, self.ln_final["w"].double(), self.ln_final["b"].double(), self.eps)
            texts.append(normed @ self.embed["W_E"].double().T)
        return torch.cat(texts).to(self.embed["W_E"].dtype)


# 07.3 ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

loading = Exercise(
    "07.3",
    difficulty=3,
    minutes=15,
    vary=("fresh", "again", "strided", "float64", "bfloat16"),
    in_place=("model",),
)


@loading.oracle
def load_weights(model: nn.Module, weights: dict[str, Tensor]) -> None:
    """Copy each tensor into the parameter of its name; check all names and shapes before the first copy.

    Raises:
        ValueError: a name is missing or extra, or a shape is wrong; nothing has been copied then.
    """
    parameters = dict(model.named_parameters())
    missing, extra = parameters.keys() - weights.keys(), weights.keys() - parameters.keys()
    if missing:
        raise ValueError(f"The weights lack {', '.join(sorted(missing))}.")
    if extra:
        raise ValueError(f"The model has no {', '.join(sorted(extra))}.")
    for name, parameter in parameters.items():
        if weights[name].shape != parameter.shape:
            wanted, found = tuple(parameter.shape), tuple(weights[name].shape)
            raise ValueError(f"{name} has the shape {found}; the model needs {wanted}.")
    with torch.no_grad():
        for name, parameter in parameters.items():
            parameter.copy_(weights[name])


@loading.probe
def _(answer, model, weights, tokens) -> Float[Tensor, "batch pos d_vocab"]:
    """The model's logits afterwards. Where the weights do not fit, an error is wanted, and the model as it was."""
    parameters = dict(model.named_parameters())
    odd = {*parameters} ^ {*weights} | {
        n for n in {*parameters} & {*weights} if parameters[n].shape != weights[n].shape
    }
    before = {name: parameter.detach().clone() for name, parameter in parameters.items()}
    tensors = {*model.state_dict()}
    try:
        answer(model, weights)
    except Exception as error:
        if not odd or isinstance(error, NotImplementedError):
            raise
        _right_error(error, *odd, model, before)
    else:
        if odd:
            raise Unfit(f"The weights do not fit the model (look at {min(odd)}), but no error is raised.")
    more = {*model.state_dict()} - tensors
    if more:
        raise Unfit(
            f"The model has a tensor that it had not before, {min(more)}. The unembedding is W_E, the same tensor.",
            kind="a second table",
        )
    _right_parameters(model, weights)
    with torch.no_grad():
        return model(tokens)


def _right_error(error, name, model, before):
    if name not in str(error):
        raise Unfit(f"The error, {type(error).__name__}, does not say what is wrong: its text must name {name}.")
    if any(not torch.equal(now, before[n]) for n, now in model.named_parameters()):
        raise Unfit(
            "An error is raised, but by then some tensors have been copied already, so that the model is half one and "
            "half the other. Check all names and shapes first, then copy."
        )


def _right_parameters(model, weights):
    memory = {w.untyped_storage().data_ptr() for w in weights.values()}
    for name, parameter in model.named_parameters():
        if parameter.untyped_storage().data_ptr() in memory:
            raise Unfit(
                f"{name} now shares its memory with the tensor in weights: when one changes, so does the other. Copy "
                "the values.",
                kind="shared memory",
            )
        if not parameter.requires_grad:
            raise Unfit(f"{name} no longer requires a gradient, so that the model could not be trained any further.")


def _blank(cfg, dtype, device):
    """The book's own model with other weights, the same each time, whatever the notebook's random state is."""

    def make():
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(7)
            return GPT2(cfg.make()).to(dtype=dtype, device=device)

    return Build(make)


@loading.on_reference
def _(cache):
    """The reference's first block, between its embedding and its final norm."""
    cfg, weights, tokens, logits = _reference_model(cache, 1)
    return (_blank(cfg, weights["embed.W_E"].dtype, tokens.device), weights, tokens), logits


def _weights_to_load(draw, change=lambda weights: weights):
    cfg, weights, tokens = _random_model(draw, n_layers=2)
    return _blank(cfg, draw.dtype, draw.device), change(weights), tokens


@loading.fresh
def _(draw):
    return _weights_to_load(draw)


@loading.special("with the weights in another order")
def _(draw):
    return _weights_to_load(draw, lambda weights: dict(sorted(weights.items(), reverse=True)))


def _without(*names):
    return lambda weights: {name: w for name, w in weights.items() if name not in names}


@loading.special("where a weight is missing")
def _(draw):
    return _weights_to_load(draw, _without("ln_final.b"))


@loading.special("where a weight in the middle is missing")
def _(draw):
    return _weights_to_load(draw, _without("blocks.1.attn.b_K"))


@loading.special("where there is a weight too many")
def _(draw):
    return _weights_to_load(draw, lambda weights: weights | {"unembed.b_U": draw.normal("d_vocab")})


@loading.special("where a weight has the wrong shape")
def _(draw):
    """In the layout that other libraries use: the heads merged."""
    return _weights_to_load(
        draw, lambda weights: weights | {"blocks.1.attn.W_O": weights["blocks.1.attn.W_O"].flatten(0, 1)}
    )


@loading.special("where a weight has the wrong shape, but would broadcast")
def _(draw):
    return _weights_to_load(draw, lambda weights: weights | {"ln_final.w": weights["ln_final.w"][:1]})


loading.hints(
    "Which three things can be wrong with a dict of weights? When must you know of them, if nothing may be half done?",
    "Check first, copy afterwards: names that only one side has, then shapes, then the copying.",
    "dict(model.named_parameters()) gives the parameters by name. copy_ copies values into a parameter, inside "
    "torch.no_grad(); but it broadcasts, so that it does not see every wrong shape.",
    "`raise ValueError(f'The weights lack {name}.')`, …, then `with torch.no_grad(): parameter.copy_(…)` for each name",
)


@loading.wrong(
    "not_strict",
    "Names that do not fit are passed over, as with strict=False: a missing or an extra name must be an error, or a "
    "model that is half random goes unnoticed.",
)
def _(model, weights):
    model.load_state_dict(weights, strict=False)


@loading.wrong("missing_passed_over", "A missing weight is passed over: it must be an error that names it.")
def _(model, weights):
    load_weights(model, dict(model.named_parameters()) | weights)


@loading.wrong(
    "extra_passed_over",
    "A weight that the model does not have is passed over: it must be an error that names it.",
)
def _(model, weights):
    load_weights(model, {name: w for name, w in weights.items() if name in dict(model.named_parameters())})


@loading.wrong(
    "half_copied",
    "The copying has begun when the error is raised, as load_state_dict does it too: check all names and shapes "
    "first, so that nothing has been copied then.",
)
def _(model, weights):
    model.load_state_dict(weights)


@loading.wrong(
    "keeps_the_callers_tensors",
    "The tensors themselves are put into the model, not copies: a change of the caller's dict would change the model.",
)
def _(model, weights):
    load_weights(model, weights)
    for name, parameter in model.named_parameters():
        parameter.data = weights[name]


@loading.wrong(
    "second_table",
    "The unembedding gets a second table: it is W_E, transposed, one tensor in both places, and needs no copy.",
)
def _(model, weights):
    load_weights(model, weights)
    model.unembed = Weights(W_U=tuple(weights["embed.W_E"].T.shape))


@loading.wrong(
    "by_order",
    "The weights are copied in the order of the dict: each belongs to the parameter of its name, in any order.",
)
def _(model, weights):
    names, values = [name for name, _ in model.named_parameters()], list(weights.values())
    if {*names} != {*weights}:
        raise ValueError(", ".join({*names} ^ {*weights}))
    load_weights(model, dict(zip(names, values, strict=True)))


@loading.wrong(
    "shapes_not_checked",
    "The shapes are not checked: copy_ broadcasts, so that a tensor of length 1 fills a whole gain without an error.",
)
def _(model, weights):
    parameters = dict(model.named_parameters())
    if parameters.keys() != weights.keys():
        raise ValueError(", ".join(parameters.keys() ^ weights.keys()))
    for name, parameter in parameters.items():
        try:
            weights[name].expand_as(parameter)
        except RuntimeError as error:
            raise ValueError(name) from error
    with torch.no_grad():
        for name, parameter in parameters.items():
            parameter.copy_(weights[name])


@loading.wrong(
    "reshapes",
    "A weight of another shape is reshaped until it fits: a wrong shape is a sign that something else is wrong, so "
    "it must be an error that names it.",
)
def _(model, weights):
    parameters = dict(model.named_parameters())
    fit = {
        n: w.reshape(parameters[n].shape) if n in parameters and w.numel() == parameters[n].numel() else w
        for n, w in weights.items()
    }
    load_weights(model, fit)


@loading.wrong("error_without_a_name", "The error does not say which weight is wrong: its text must name it.")
def _(model, weights):
    try:
        load_weights(model, weights)
    except ValueError:
        raise ValueError("These weights do not fit.") from None


@loading.wrong(
    "model_unchanged",
    "The model that was given has not changed: the values must be copied into its own parameters, in place. A new "
    "model, or new entries in a dict of parameters, do not reach it.",
)
def _(model, weights):
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    load_weights(model, weights)
    load_weights(model, before)


@loading.wrong(
    "no_longer_trainable",
    "The parameters no longer require a gradient: copy under torch.no_grad(), but do not switch requires_grad off.",
)
def _(model, weights):
    load_weights(model, weights)
    model.requires_grad_(False)


@loading.right
def checked_then_load_state_dict(model, weights):
    mine = model.state_dict()
    for name in [*mine, *weights]:
        if name not in mine or name not in weights or mine[name].shape != weights[name].shape:
            raise RuntimeError(f"{name} is missing, extra or of the wrong shape")
    model.load_state_dict(weights, strict=True)


@loading.right
def with_data(model, weights):
    for name, _ in model.named_parameters():
        if name not in weights:
            raise KeyError(name)
    for name, value in weights.items():
        try:
            parameter = model.get_parameter(name)
        except AttributeError as error:
            raise KeyError(name) from error
        assert parameter.shape == value.shape, f"{name}: {parameter.shape} is not {value.shape}"
    for name, value in weights.items():
        model.get_parameter(name).data[...] = value


@loading.right
def undone_after_an_error(model, weights):
    """Copies as it goes, and puts everything back where something fails."""
    before = {name: value.clone() for name, value in model.state_dict().items()}
    try:
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                if weights[name].shape != parameter.shape:
                    raise ValueError(f"wrong shape of {name}")
                parameter.set_(weights[name].clone(memory_format=torch.contiguous_format))
        extra = [name for name in weights if name not in before]
        if extra:
            raise ValueError(f"too many: {extra}")
    except (KeyError, ValueError):
        model.load_state_dict(before)
        raise


@loading.right
def with_new_parameters(model, weights):
    """New Parameter objects in the old ones' places."""
    names = {name for name, _ in model.named_parameters()}
    if names ^ weights.keys():
        raise ValueError(f"names that do not fit: {names ^ weights.keys()}")
    wrong = [name for name in names if model.get_parameter(name).shape != weights[name].shape]
    if wrong:
        raise ValueError(f"shapes that do not fit: {wrong}")
    for name in names:
        place, _, last = name.rpartition(".")
        setattr(model.get_submodule(place), last, nn.Parameter(weights[name].detach().clone()))


# 07.4 ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

next_token = Exercise("07.4", difficulty=1, minutes=5)


@next_token.oracle
def next_token_probs(logits: Float[Tensor, "batch pos d_vocab"]) -> Float[Tensor, "batch d_vocab"]:
    """The distribution over the token that follows the whole text: a softmax of the last position's logits."""
    return logits[:, -1].softmax(-1)


@next_token.on_reference
def _(cache):
    return (cache["logits"][:, -3:].contiguous(),), None


@next_token.fresh
def _(draw):
    return (draw.normal("batch pos d_vocab", scale=2.0),)


@next_token.special("on large logits of both signs")
def _(draw):
    return (draw.normal("2 3 7", scale=300.0),)


@next_token.prop("rows_sum_to_1")
def _(answer, draw):
    total = answer(draw.normal("3 4 9", scale=3.0)).sum(-1)
    worst = float(total[(total - 1).abs().argmax()])
    return None if abs(worst - 1) < 1e-5 else f"Each text's probabilities must sum to 1; here they sum to {worst:.4g}."


next_token.hints(
    "Every position has its own logits, about the token after it. Which position tells what follows the whole text?",
    "The last one: logits[:, -1] has the shape [batch, d_vocab].",
    "Scores become a distribution over the vocabulary by a softmax over d_vocab.",
    "`logits[:, …].softmax(dim=…)`",
)


@next_token.wrong(
    "first_position",
    "The first position is taken: what follows the whole text stands at the last, index −1.",
)
def _(logits):
    return logits[:, 0].softmax(-1)


@next_token.wrong("all_positions", "All positions are kept: only the last one tells what follows the whole text.")
def _(logits):
    return logits.softmax(-1)


@next_token.wrong(
    "softmax_over_pos",
    "The softmax runs over the positions: it runs over d_vocab, so that a text's probabilities sum to 1.",
)
def _(logits):
    return logits.softmax(1)[:, -1]


@next_token.wrong(
    "softmax_over_batch",
    "The softmax runs over the batch: it runs over d_vocab, in each text by itself.",
)
def _(logits):
    return logits[:, -1].softmax(0)


@next_token.wrong(
    "softmax_over_everything",
    "One softmax runs over the whole batch: each text's probabilities sum to 1.",
)
def _(logits):
    return logits[:, -1].flatten().softmax(0).view(logits.shape[0], -1)


@next_token.wrong(
    "averaged_over_positions",
    "The positions are averaged: only the last one tells what follows the text.",
)
def _(logits):
    return logits.softmax(-1).mean(1)


@next_token.wrong("logits", "These are logits: a softmax over d_vocab makes probabilities of them.")
def _(logits):
    return logits[:, -1]


@next_token.wrong("log_probabilities", "These are log-probabilities: probabilities are wanted, softmax and no log.")
def _(logits):
    return logits[:, -1].log_softmax(-1)


@next_token.wrong(
    "one_before_the_last",
    "The position before the last is taken: its prediction is about the last token.",
)
def _(logits):
    return logits[:, -2 if logits.shape[1] > 1 else -1].softmax(-1)


@next_token.wrong("first_text_only", "Only the first text of the batch is there: the result keeps the batch axis.")
def _(logits):
    return logits[0, -1].softmax(-1)


@next_token.wrong(
    "overflows",
    "exp overflows for large logits, and ∞/∞ is NaN: torch.softmax takes the largest away first.",
)
def _(logits):
    power = logits[:, -1].exp()
    return power / power.sum(-1, keepdim=True)


@next_token.right
def softmax_then_cut(logits):
    return torch.softmax(logits, dim=2)[:, logits.shape[1] - 1]


@next_token.right
def by_hand(logits):
    last = logits.select(1, -1)
    power = (last - last.amax(-1, keepdim=True)).exp()
    return power / power.sum(-1, keepdim=True)


@next_token.right
def text_by_text_in_float64(logits):
    return torch.stack([torch.log_softmax(text[-1].double(), 0).exp() for text in logits]).to(logits.dtype)


# 07.5 ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

scored = Exercise("07.5", difficulty=3, minutes=15, keep=("pos",))


@scored.oracle
def token_log_probs(
    logits: Float[Tensor, "batch pos d_vocab"],
    tokens: Int[Tensor, "batch pos"],
) -> Float[Tensor, "batch pos-1"]:
    """What the model gave the token that came: position i's distribution, read at token i + 1."""
    return logits[:, :-1].log_softmax(-1).gather(-1, tokens[:, 1:, None]).squeeze(-1)


def _first_positions(cache, n=6):
    """The whole vocabulary, but few positions: 50,257 logits stand at each."""
    return cache["logits"][:, :n].contiguous(), cache.tokens[:, :n]


@scored.on_reference
def _(cache):
    """TransformerLens's own loss of each token, with the other sign."""
    logits, tokens = _first_positions(cache)
    return (logits, tokens), -cache.model.loss_fn(logits, tokens, per_token=True)


def _predictions(draw, scale=2.0):
    """Ids and positions so many that both axes could be mistaken for each other."""
    draw.size("pos", at_least=3)
    return draw.normal("batch pos d_vocab", scale=scale), draw.ids("batch pos", draw.size("d_vocab"))


@scored.fresh
def _(draw):
    return _predictions(draw)


@scored.special("on a text of two tokens")
def _(draw):
    return draw.normal("3 2 5"), draw.ids("3 2", 5)


@scored.special("where the token that comes is all but impossible")
def _(draw):
    logits, tokens = draw.normal("2 4 6"), torch.tensor([[0, 1, 2, 3], [5, 4, 3, 2]], device=draw.device)
    return logits - 300 * nn.functional.one_hot(tokens, 6).to(logits).roll(-1, 1), tokens


scored.hints(
    "Position 0 has read token 0, and predicts. Which token is the truth about its prediction, and which position "
    "has none?",
    "Position i's logits are about token i + 1: cut the last position off the logits, and the first token off the "
    "tokens.",
    "log_softmax over d_vocab gives log-probabilities, safely. gather(-1, index) picks one of them at each position; "
    "the index needs a last axis of length 1.",
    "`logits[:, :-1].log_softmax(-1).gather(-1, tokens[:, …, None]).squeeze(…)`",
)


def _picked(log_probs, tokens):
    return log_probs.gather(-1, tokens[..., None]).squeeze(-1)


@scored.wrong(
    "no_shift",
    "Each position is asked about its own token, which it has read: position i predicts token i + 1.",
)
def _(logits, tokens):
    return _picked(logits[:, :-1].log_softmax(-1), tokens[:, :-1])


@scored.wrong(
    "no_shift_at_all",
    "Each position is asked about its own token, and there is one too many: position i predicts token i + 1, so n "
    "tokens give n − 1 numbers.",
)
def _(logits, tokens):
    return _picked(logits.log_softmax(-1), tokens)


@scored.wrong(
    "own_tokens_from_the_second",
    "The first position is cut off both, so that each position is asked about its own token: cut the logits' last "
    "position and the tokens' first.",
)
def _(logits, tokens):
    return _picked(logits[:, 1:].log_softmax(-1), tokens[:, 1:])


@scored.wrong(
    "shifted_backwards",
    "The shift goes the wrong way: each position is asked about the token before it. Position i predicts token i + 1.",
)
def _(logits, tokens):
    return _picked(logits[:, 1:].log_softmax(-1), tokens[:, :-1])


@scored.wrong(
    "log_of_softmax",
    "The log is taken of a softmax, which is 0 for a very unlikely token, and log 0 is −∞: log_softmax does both "
    "safely.",
)
def _(logits, tokens):
    return _picked(logits[:, :-1].softmax(-1).log(), tokens[:, 1:])


FLOORED = (
    "A small ε is added to the softmax, or it is clamped at ε, before the log: no token can then be less likely than "
    "ε. log_softmax needs no ε."
)
# The ε that are usually written, for the result tells which it was; the last two are finfo's eps and tiny.
EPSILONS = (1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-12, 1e-15, 1e-20, 2.0**-23, 2.0**-126)


def _floored(floor):
    """log-probabilities by the log of a softmax that `floor` has kept from 0."""
    return lambda logits, tokens: _picked(floor(logits[:, :-1].softmax(-1)).log(), tokens[:, 1:])


def _floors(eps):
    return {f"eps_{eps:.1e}_added": lambda p: p + eps, f"clamped_at_{eps:.1e}": lambda p: p.clamp(min=eps)}


for _eps in EPSILONS:
    for _key, _floor in _floors(_eps).items():
        scored.wrong(f"softmax_{_key}", FLOORED)(_floored(_floor))


@scored.wrong(
    "gathered_over_pos",
    "gather picks along the positions: it picks a token's number along d_vocab, the last axis.",
)
def _(logits, tokens):
    return logits[:, :-1].log_softmax(-1).gather(1, tokens[:, 1:, None]).squeeze(-1)


@scored.wrong("probabilities", "These are probabilities: their logs are wanted, log_softmax in place of softmax.")
def _(logits, tokens):
    return _picked(logits[:, :-1].softmax(-1), tokens[:, 1:])


@scored.wrong("raw_logits", "These are the logits: log_softmax over d_vocab makes log-probabilities of them.")
def _(logits, tokens):
    return _picked(logits[:, :-1], tokens[:, 1:])


@scored.wrong("softmax_over_pos", "The softmax runs over the positions: each position's distribution is over d_vocab.")
def _(logits, tokens):
    return _picked(logits[:, :-1].log_softmax(1), tokens[:, 1:])


@scored.wrong(
    "opposite_sign",
    "The sign is turned round: log-probabilities are negative. Their opposites are the losses.",
)
def _(logits, tokens):
    return -token_log_probs(logits, tokens)


@scored.wrong("bits", "These are logs to base 2: natural logs are wanted, as log_softmax gives them.")
def _(logits, tokens):
    return token_log_probs(logits, tokens) / math.log(2)


@scored.wrong("every_token_kept", "Every token's log-probability is kept: pick that of the token that comes.")
def _(logits, tokens):
    return logits[:, :-1].log_softmax(-1)


@scored.wrong("axis_kept", "gather's last axis of length 1 is still there: squeeze(-1) takes it away.")
def _(logits, tokens):
    return token_log_probs(logits, tokens)[..., None]


@scored.wrong("most_likely", "The largest log-probability is taken: the one of the token that really comes is wanted.")
def _(logits, tokens):
    return logits[:, :-1].log_softmax(-1).amax(-1)


@scored.right
def with_one_hot(logits, tokens):
    log_probs = logits - logits.logsumexp(-1, keepdim=True)
    truth = nn.functional.one_hot(tokens[:, 1:], logits.shape[-1]).to(logits.dtype)
    return einsum(log_probs[:, :-1], truth, "batch pos d_vocab, batch pos d_vocab -> batch pos")


@scored.right
def with_indices(logits, tokens):
    batch, pos = tokens.shape
    rows, at = torch.arange(batch, device=tokens.device)[:, None], torch.arange(pos - 1, device=tokens.device)
    return logits.log_softmax(-1)[rows, at, tokens[:, 1:]]


@scored.right
def with_cross_entropy(logits, tokens):
    """In this exercise it is allowed; it wants d_vocab second."""
    return -nn.functional.cross_entropy(rearrange(logits[:, :-1], "b p v -> b v p"), tokens[:, 1:], reduction="none")


@scored.right
def token_by_token_in_float64(logits, tokens):
    out = torch.empty(len(tokens), tokens.shape[1] - 1, dtype=logits.dtype, device=logits.device)
    for b, row in enumerate(tokens.tolist()):
        for i, token in enumerate(row[1:]):
            at = logits[b, i].double()
            out[b, i] = at[token] - at.amax() - (at - at.amax()).exp().sum().log()
    return out


# 07.6 ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

loss = Exercise("07.6", difficulty=2, minutes=10, keep=("pos",))


@loss.oracle
def lm_loss(logits: Float[Tensor, "batch pos d_vocab"], tokens: Int[Tensor, "batch pos"]) -> Float[Tensor, ""]:
    """Mean of −log p(token i + 1 | tokens 0…i), in nats, over all texts and positions that have a next token."""
    return -token_log_probs(logits, tokens).mean()


@loss.on_reference
def _(cache):
    """TransformerLens's own loss."""
    logits, tokens = _first_positions(cache)
    return (logits, tokens), cache.model.loss_fn(logits, tokens)


@loss.fresh
def _(draw):
    return _predictions(draw)


@loss.special("on a text of two tokens")
def _(draw):
    return draw.normal("3 2 5"), draw.ids("3 2", 5)


@loss.special("where a token that comes is all but impossible")
def _(draw):
    logits, tokens = draw.normal("2 4 6"), torch.tensor([[0, 1, 2, 3], [5, 4, 3, 2]], device=draw.device)
    logits[1, 2, tokens[1, 3]] -= 300
    return logits, tokens


@loss.special("where GPT-2's last token, end of text, comes in the middle of a text")
def _(draw):
    tokens = torch.tensor([[7, 50256, 3], [50256, 0, 220]], device=draw.device)
    return draw.normal("2 3 50257"), tokens


@loss.prop("even_guessing_costs_log_d_vocab")
def _(answer, draw):
    value = float(answer(torch.full((2, 5, 9), 0.7, device=draw.device), draw.ids("2 5", 9)))
    right = math.log(9)
    return (
        None
        if abs(value - right) < 1e-4
        else f"Guessing evenly among 9 tokens costs log 9 = {right:.4f}; here it is {value:.4f}."
    )


@loss.prop("gradients_flow")
def _(answer, draw):
    logits, tokens = _predictions(draw)
    return gradient_fault(answer, lm_loss, logits=logits, tokens=tokens)


loss.forbid(
    "cross_entropy",
    "nll_loss",
    because="It is most of the exercise in one call; the point is which prediction meets which token, and the average.",
)

loss.hints(
    "You can tell what the model gave each token that came. What number is small when those are high?",
    "The loss of one token is minus its log-probability; the loss of a batch is the mean over all its tokens.",
    "token_log_probs gives [batch, pos − 1] numbers. mean() without arguments averages them all.",
    "`-token_log_probs(logits, tokens).…`",
)


@loss.wrong(
    "mean_of_sums",
    "The losses are added up in each text, and only the texts are averaged: average over all tokens, or long texts "
    "weigh more.",
)
def _(logits, tokens):
    return -token_log_probs(logits, tokens).sum(-1).mean()


@loss.wrong("summed", "The losses are added up: their mean is wanted.")
def _(logits, tokens):
    return -token_log_probs(logits, tokens).sum()


@loss.wrong(
    "counts_the_bos_target",
    "The first token is counted as a target too: rolled round to the end, the last position is asked about it. "
    "Nothing predicts the first token.",
)
def _(logits, tokens):
    return -_picked(logits.log_softmax(-1), tokens.roll(-1, 1)).mean()


@loss.wrong(
    "divided_by_all_positions",
    "The sum is divided by the number of positions: there is one prediction fewer, pos − 1 in each text.",
)
def _(logits, tokens):
    return -token_log_probs(logits, tokens).sum() / tokens.numel()


def _without_targets(ignored):
    """The mean over all targets but one token id."""

    def answer(logits, tokens):
        counted = tokens[:, 1:] != ignored
        return -(token_log_probs(logits, tokens) * counted).sum() / counted.sum().clamp(min=1)

    return answer


loss.wrong(
    "token_0_ignored",
    "Targets with id 0 are left out of the average, as padding would be: in GPT-2 it is a token like any other, '!'.",
)(_without_targets(0))
loss.wrong(
    "end_of_text_ignored",
    "Targets that are the end-of-text token, 50256, are left out of the average: it is predicted like any other token.",
)(_without_targets(50256))


@loss.wrong("opposite_sign", "The sign is lost: a loss is minus the log-probability, and positive.")
def _(logits, tokens):
    return token_log_probs(logits, tokens).mean()


@loss.wrong(
    "no_shift",
    "The shift is missing: each position is asked about its own token, which it has read. It predicts the next.",
)
def _(logits, tokens):
    return -_picked(logits.log_softmax(-1), tokens).mean()


@loss.wrong(
    "no_shift_but_cut",
    "The last position is cut off both logits and tokens: cut the logits' last and the tokens' first, so that "
    "position i meets token i + 1.",
)
def _(logits, tokens):
    return -_picked(logits[:, :-1].log_softmax(-1), tokens[:, :-1]).mean()


@loss.wrong(
    "shifted_backwards", "The shift goes the wrong way: each position is asked about the token before it, not after it."
)
def _(logits, tokens):
    return -_picked(logits[:, 1:].log_softmax(-1), tokens[:, :-1]).mean()


@loss.wrong(
    "log_of_softmax",
    "The log is taken of a softmax, which is 0 for a very unlikely token, so that the loss becomes ∞: log_softmax is "
    "safe.",
)
def _(logits, tokens):
    return -_picked(logits[:, :-1].softmax(-1).log(), tokens[:, 1:]).mean()


for _eps in EPSILONS:
    for _key, _floor in _floors(_eps).items():
        loss.wrong(f"softmax_{_key}", FLOORED)(
            lambda logits, tokens, floor=_floor: -_floored(floor)(logits, tokens).mean()
        )


@loss.wrong(
    "log_of_the_mean", "The probabilities are averaged, then the log is taken: take the log of each, then the mean."
)
def _(logits, tokens):
    return -token_log_probs(logits, tokens).exp().mean().log()


@loss.wrong("probabilities", "This is minus the mean probability: the loss is minus the mean of their logs.")
def _(logits, tokens):
    return -token_log_probs(logits, tokens).exp().mean()


@loss.wrong("raw_logits", "The logits are averaged as they are: log_softmax makes log-probabilities of them first.")
def _(logits, tokens):
    return -_picked(logits[:, :-1], tokens[:, 1:]).mean()


@loss.wrong("bits", "This is the loss in bits, with logs to base 2: nats are wanted, with natural logs.")
def _(logits, tokens):
    return lm_loss(logits, tokens) / math.log(2)


@loss.wrong("perplexity", "This is the perplexity, e to the power of the loss: the loss itself is wanted.")
def _(logits, tokens):
    return lm_loss(logits, tokens).exp()


@loss.wrong("not_averaged", "The tokens' losses are not averaged: one number for the whole batch is wanted.")
def _(logits, tokens):
    return -token_log_probs(logits, tokens)


@loss.wrong("one_loss_a_text", "There is a loss for each text: average over the batch as well, to one number.")
def _(logits, tokens):
    return -token_log_probs(logits, tokens).mean(-1)


@loss.wrong("softmax_over_pos", "The softmax runs over the positions: each position's distribution is over d_vocab.")
def _(logits, tokens):
    return -_picked(logits[:, :-1].log_softmax(1), tokens[:, 1:]).mean()


@loss.wrong(
    "python_number",
    "The loss is a Python number, by .item() or float(): no gradient can flow back from it. Return the tensor.",
)
def _(logits, tokens):
    return lm_loss(logits, tokens).item()


@loss.wrong("no_gradient", "No gradient flows back through the loss: a detach, .data or no_grad cuts it off.")
def _(logits, tokens):
    return lm_loss(logits, tokens).detach()


@loss.right
def with_logsumexp(logits, tokens):
    truth = logits[:, :-1].gather(2, tokens[:, 1:].unsqueeze(2)).squeeze(2)
    return (logits[:, :-1].logsumexp(-1) - truth).mean()


@loss.right
def with_one_hot_in_float64(logits, tokens):
    truth = nn.functional.one_hot(tokens[:, 1:], logits.shape[-1]).double()
    total = -(truth * logits[:, :-1].double().log_softmax(-1)).sum()
    return (total / truth.sum()).to(logits.dtype)


@loss.right
def with_a_distribution(logits, tokens):
    return -torch.distributions.Categorical(logits=logits[:, :-1]).log_prob(tokens[:, 1:]).mean()


@loss.right
def token_by_token(logits, tokens):
    losses = [
        -torch.log_softmax(logits[b, i], 0)[tokens[b, i + 1]]
        for b in range(tokens.shape[0])
        for i in range(tokens.shape[1] - 1)
    ]
    return torch.stack(losses).mean()


# 07.7 ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

shapes = Exercise("07.7", difficulty=2, minutes=15, vary=("fresh", "again"))


@shapes.oracle
def hook_shapes(cfg: SimpleNamespace, batch: int, pos: int) -> dict[str, tuple[int, ...]]:
    """The shape of every activation in the table, by TransformerLens's names."""
    stream, scale = (batch, pos, cfg.d_model), (batch, pos, 1)
    head, pattern = (batch, pos, cfg.n_heads, cfg.d_head), (batch, cfg.n_heads, pos, pos)
    hidden = (batch, pos, cfg.d_mlp)
    table = {"hook_embed": stream, "hook_pos_embed": stream}
    for i in range(cfg.n_layers):
        block = {"hook_resid_pre": stream, "ln1.hook_scale": scale, "ln1.hook_normalized": stream}
        block |= {"attn.hook_q": head, "attn.hook_k": head, "attn.hook_v": head}
        block |= {"attn.hook_attn_scores": pattern, "attn.hook_pattern": pattern, "attn.hook_z": head}
        block |= {"hook_attn_out": stream, "hook_resid_mid": stream}
        block |= {"ln2.hook_scale": scale, "ln2.hook_normalized": stream}
        block |= {"mlp.hook_pre": hidden, "mlp.hook_post": hidden, "hook_mlp_out": stream, "hook_resid_post": stream}
        table |= {f"blocks.{i}.{name}": shape for name, shape in block.items()}
    return table | {"ln_final.hook_scale": scale, "ln_final.hook_normalized": stream}


@shapes.probe
def _(answer, cfg, batch, pos) -> dict[str, tuple[int, ...]]:
    """What the answer says of each hook of the table.

    Of the final norm's two rows one is enough: lists of this table that go round have twenty or twenty-one rows.
    """
    said, table = answer(cfg, batch, pos), hook_shapes(cfg, batch, pos)
    if not isinstance(said, dict):
        raise Unfit(f"Return a dict from names to shapes, not {type(said).__name__}.")
    final = {"ln_final.hook_scale", "ln_final.hook_normalized"}
    spared = final if final & {*said} else set()
    for names, what in (
        ([name for name in table if name not in said and name not in spared], "missing"),
        ([name for name in said if name not in table], "not in the table"),
    ):
        if names:
            raise Unfit(f"{names[0]} is {what}{f', and {len(names) - 1} more like it' if len(names) > 1 else ''}.")
    for name, shape in table.items():
        wrong = said.get(name, shape)
        if not isinstance(wrong, (tuple, list)):
            raise Unfit(f"Give a tuple for {name}, not {wrong!r}.")
        if tuple(wrong) != shape:
            raise Unfit(
                f"{name} is said to have the shape {tuple(wrong)}; it has {shape}.",
                kind=f"{name.rpartition('.')[2]}: {_in_words(wrong, cfg, batch, pos)}",
            )
    return table


def _in_words(shape, cfg, batch, pos):
    """A shape as axis names, so that a mistake is known whatever the lengths are: "batch n_heads pos d_head"."""
    names = {pos: "pos", batch: "batch", cfg.n_ctx: "n_ctx", cfg.d_mlp: "d_mlp", cfg.d_model: "d_model"}
    names |= {cfg.d_head: "d_head", cfg.n_heads: "n_heads", 1: "1"}
    return " ".join(names.get(n, str(n)) if isinstance(n, int) else "?" for n in shape)


@shapes.on_reference
def _(cache):
    """The model's own cache, on two texts."""
    batch, pos = cache.tokens.shape
    fields = dict(n_layers=cache.n_layers, **{name: getattr(cache.cfg, name) for name in SIZES})
    table = hook_shapes(SimpleNamespace(**fields), batch, pos)
    return (Build(lambda: SimpleNamespace(**fields)), batch, pos), {name: tuple(cache[name].shape) for name in table}


@shapes.fresh
def _(draw):
    """No two lengths alike, and heads that do not fill d_model."""
    batch, pos = draw.size("batch"), draw.size("pos")
    sizes = {name: draw.size(name) for name in SIZES}
    return Build(lambda: SimpleNamespace(n_layers=3, **sizes)), batch + draw.how.values, pos


@shapes.special("for one text of 35 tokens in GPT-2 small")
def _(draw):
    sizes = dict(d_model=768, n_heads=12, d_head=64, d_mlp=3072, d_vocab=50257, n_ctx=1024)
    return Build(lambda: SimpleNamespace(n_layers=12, **sizes)), 1, 35


shapes.hints(
    "Which four kinds of tensor are there? One has d_model numbers at each position; what have the others?",
    "The stream and all that is added to it: (batch, pos, d_model). Inside a head: (batch, pos, n_heads, d_head). "
    "Scores and pattern: a grid of queries and keys for each head. Inside the MLP: (batch, pos, d_mlp).",
    "A norm's scale is one number for each position, kept as an axis of length 1.",
    "`for i in range(cfg.n_layers): shapes[f'blocks.{i}.attn.hook_q'] = (batch, pos, …, …)`",
)


def _reshaped(change):
    """The right table with the shapes of some hooks changed; `change(name, shape, cfg)` gives the shape, or None."""

    def answer(cfg, batch, pos):
        table = hook_shapes(cfg, batch, pos)
        return {name: new for name, shape in table.items() if (new := change(name, shape, cfg)) is not None}

    return answer


def _ends(name, *hooks):
    return name.rpartition("hook_")[2] in hooks


shapes.wrong(
    "heads_before_pos",
    "In q, k, v and z the heads stand before the positions: the order there is batch, pos, n_heads, d_head.",
)(_reshaped(lambda name, s, cfg: (s[0], s[2], s[1], s[3]) if _ends(name, "q", "k", "v", "z") else s))

shapes.wrong(
    "d_head_for_d_model",
    "What attention writes has d_head numbers here: the heads' results are brought back to d_model before they are "
    "added.",
)(_reshaped(lambda name, s, cfg: (*s[:2], cfg.d_head) if _ends(name, "attn_out") else s))

shapes.wrong(
    "d_model_for_d_head", "Queries, keys, values and z have d_model numbers here: inside a head there are d_head."
)(_reshaped(lambda name, s, cfg: (*s[:3], cfg.d_model) if _ends(name, "q", "k", "v", "z") else s))

shapes.wrong(
    "scores_heads_last",
    "Scores and pattern have their heads last: the order is batch, n_heads, query_pos, key_pos, a grid for each head.",
)(_reshaped(lambda name, s, cfg: (s[0], s[2], s[3], s[1]) if _ends(name, "attn_scores", "pattern") else s))

shapes.wrong(
    "scores_heads_between",
    "Scores and pattern have their heads between the two positions: the order is batch, n_heads, query_pos, key_pos.",
)(_reshaped(lambda name, s, cfg: (s[0], s[2], s[1], s[3]) if _ends(name, "attn_scores", "pattern") else s))

shapes.wrong(
    "scores_of_d_head",
    "Scores and pattern end in d_head: they hold one number for each query and key, so both last axes are positions.",
)(_reshaped(lambda name, s, cfg: (*s[:3], cfg.d_head) if _ends(name, "attn_scores", "pattern") else s))

shapes.wrong("heads_merged", "The heads are merged into one axis: q, k, v and z keep n_heads and d_head apart.")(
    _reshaped(lambda name, s, cfg: (*s[:2], s[2] * s[3]) if _ends(name, "q", "k", "v", "z") else s)
)

shapes.wrong("scale_without_axis", "A norm's scale keeps its last axis, with length 1: (batch, pos, 1).")(
    _reshaped(lambda name, s, cfg: s[:2] if _ends(name, "scale") else s)
)

shapes.wrong(
    "scale_of_d_model", "A norm's scale is one number for each position, not d_model of them: (batch, pos, 1)."
)(_reshaped(lambda name, s, cfg: (*s[:2], cfg.d_model) if _ends(name, "scale") else s))

shapes.wrong("d_model_for_d_mlp", "Inside the MLP there are d_mlp numbers at each position, not d_model.")(
    _reshaped(lambda name, s, cfg: (*s[:2], cfg.d_model) if _ends(name, "pre", "post") else s)
)

shapes.wrong(
    "context_for_pos", "The context's length n_ctx stands where pos belongs: the shapes are those of this text."
)(_reshaped(lambda name, s, cfg: hook_shapes(cfg, s[0], cfg.n_ctx)[name]))

shapes.wrong("no_batch_axis", "The batch axis is missing: every activation has it, as the first.")(
    _reshaped(lambda name, s, cfg: s[1:])
)

shapes.wrong("first_block_only", "Only block 0 is there: every block has these hooks.")(
    _reshaped(lambda name, s, cfg: s if not name.startswith("blocks.") or name.startswith("blocks.0.") else None)
)

shapes.wrong("blocks_from_1", "The blocks are numbered from 1: they are numbered from 0.")(
    lambda cfg, batch, pos: {
        f"blocks.{int(name.split('.')[1]) + 1}.{name.split('.', 2)[2]}" if name.startswith("blocks.") else name: shape
        for name, shape in hook_shapes(cfg, batch, pos).items()
    }
)


@shapes.right
def from_a_text_table(cfg, batch, pos):
    """Axis names as text, turned into numbers."""
    length = {"b": batch, "p": pos, "m": cfg.d_model, "h": cfg.n_heads, "d": cfg.d_head, "f": cfg.d_mlp, "1": 1}
    rows = (
        "hook_resid_pre:bpm ln1.hook_scale:bp1 ln1.hook_normalized:bpm attn.hook_q:bphd attn.hook_k:bphd "
        "attn.hook_v:bphd attn.hook_attn_scores:bhpp attn.hook_pattern:bhpp attn.hook_z:bphd hook_attn_out:bpm "
        "hook_resid_mid:bpm ln2.hook_scale:bp1 ln2.hook_normalized:bpm mlp.hook_pre:bpf mlp.hook_post:bpf "
        "hook_mlp_out:bpm hook_resid_post:bpm"
    ).split()
    every = [f"blocks.{i}.{row}" for i in range(cfg.n_layers) for row in rows]
    every += ["hook_embed:bpm", "hook_pos_embed:bpm", "ln_final.hook_scale:bp1", "ln_final.hook_normalized:bpm"]
    return {name: [length[axis] for axis in axes] for name, axes in (row.split(":") for row in every)}


@shapes.right
def twenty_rows(cfg, batch, pos):
    """Of the final norm the normalized stream alone."""
    table = hook_shapes(cfg, batch, pos)
    del table["ln_final.hook_scale"]
    return table


@shapes.right
def from_tensors(cfg, batch, pos):
    """Made by running the steps on tensors that hold no values."""
    made = {}

    def keep(name, *axes):
        made[name] = torch.empty(axes, device="meta").shape

    for name in ("hook_embed", "hook_pos_embed", "ln_final.hook_normalized"):
        keep(name, batch, pos, cfg.d_model)
    keep("ln_final.hook_scale", batch, pos, 1)
    for block in (f"blocks.{i}" for i in range(cfg.n_layers)):
        for name in ("resid_pre", "attn_out", "resid_mid", "mlp_out", "resid_post"):
            keep(f"{block}.hook_{name}", batch, pos, cfg.d_model)
        for norm in ("ln1", "ln2"):
            keep(f"{block}.{norm}.hook_scale", batch, pos, 1)
            keep(f"{block}.{norm}.hook_normalized", batch, pos, cfg.d_model)
        for letter in "qkvz":
            keep(f"{block}.attn.hook_{letter}", batch, pos, cfg.n_heads, cfg.d_head)
        for name in ("attn_scores", "pattern"):
            keep(f"{block}.attn.hook_{name}", batch, cfg.n_heads, pos, pos)
        for name in ("pre", "post"):
            keep(f"{block}.mlp.hook_{name}", batch, pos, cfg.d_mlp)
    return made
