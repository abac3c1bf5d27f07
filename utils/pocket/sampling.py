"""Writes on from prompts with the pocket model, many at once; keys and values are kept, so a step costs one token.

Left out: every way of choosing but temperature; chapter 09 is about the others.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from utils.pocket.model import Pocket
from utils.pocket.vocabulary import Vocabulary, encode


@torch.no_grad()
def continue_texts(
    model: Pocket,
    vocabulary: Vocabulary,
    prompts: Sequence[str],
    n_new: int,
    temperature: float = 0.7,
    seed: int = 0,
) -> list[str]:
    """What the model writes after each prompt, at most `n_new` tokens or up to its <|endoftext|>.

    Temperature 0 takes the likeliest token. The shared row of unused tokens is never drawn.
    """
    from utils.reference import tokenizer

    given = [[vocabulary.end, *vocabulary.rows(ids).tolist()] for ids in encode(prompts)]
    length = min(model.shape.n_ctx, max(map(len, given)) + n_new)
    generator = torch.Generator().manual_seed(seed)
    rows = torch.full((len(given), length), vocabulary.end)
    for row, tokens in enumerate(given):
        rows[row, : len(tokens)] = torch.tensor(tokens)
    starts = torch.tensor([len(tokens) for tokens in given])
    ended = torch.zeros(len(given), dtype=torch.bool)
    cache = [None] * model.shape.n_layers
    for pos in range(length - 1):
        logits = _next_logits(model, rows[:, pos], pos, cache)
        logits[:, vocabulary.n_used] = -torch.inf
        if temperature > 0:
            drawn = torch.multinomial(torch.softmax(logits / temperature, -1), 1, generator=generator)[:, 0]
        else:
            drawn = logits.argmax(-1)
        writes = (pos + 1 >= starts) & (pos + 1 < starts + n_new)
        ended |= (pos + 1 >= starts) & (drawn == vocabulary.end)
        rows[:, pos + 1] = torch.where(writes & ~ended, drawn, torch.where(writes, vocabulary.end, rows[:, pos + 1]))
        if bool(ended.all()):
            break
    texts = []
    for row, start in zip(rows, starts, strict=True):
        new = row[int(start) : int(start) + n_new].tolist()
        new = new[: new.index(vocabulary.end)] if vocabulary.end in new else new
        texts.append(tokenizer().decode(vocabulary.ids[new]) if new else "")
    return texts


def _next_logits(
    model: Pocket, rows: Int[Tensor, " batch"], pos: int, cache: list[tuple[Tensor, Tensor] | None]
) -> Float[Tensor, "batch row"]:
    """Logits after one more token; `cache` holds each layer's keys and values and grows by one position."""
    x = F.embedding(rows, model.W_E) + model.W_pos[pos]  # [batch d_model]
    for layer, block in enumerate(model.blocks):
        attn, n_heads = block.attn, model.shape.n_heads
        normal = block.ln1(x)
        q, k, v = (
            (normal @ getattr(attn, f"W_{name}") + getattr(attn, f"b_{name}")).view(len(x), n_heads, 1, -1)
            for name in "QKV"
        )  # [batch n_heads 1 d_head]
        if cache[layer] is not None:
            k, v = (torch.cat(pair, 2) for pair in zip(cache[layer], (k, v), strict=True))
        cache[layer] = (k, v)
        pattern = torch.softmax(q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5, -1)
        x = x + (pattern @ v).reshape(x.shape) @ attn.W_O + attn.b_O
        x = x + block.mlp(block.ln2(x))
    return model.unembed(x)
