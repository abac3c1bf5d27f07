"""A model whose attention is written down in place of learned: what a measure of heads is tried on.

Each head has one habit of a known strength, on any text, so that a right measure gives the same score whichever random
tokens it draws. It has TransformerLens's hooks and cache for patterns; its logits are zeros, for nothing asks for them.
"""

from types import SimpleNamespace

import torch
from torch import Tensor, nn

# The key that a head looks at from query i, where the text repeats after p tokens: how far back it is.
ROLES = {
    "previous": lambda p: 1,
    "two_back": lambda p: 2,
    "duplicate": lambda p: p,
    "before_duplicate": lambda p: p + 1,
    "induction": lambda p: p - 1,
    "after_induction": lambda p: p - 2,
}
BOS = 50256


def scripted_model(heads: list[list[tuple[str, float]]]):
    """A model with `heads[layer][head]` = (role, weight); what is left of a row's weight stays on the query itself.

    A role is one of ROLES, or "self". The type is made here, because importing TransformerLens takes seconds.
    """
    from transformer_lens.ActivationCache import ActivationCache
    from transformer_lens.hook_points import HookPoint
    from transformer_lens.HookedRootModule import HookedRootModule

    class Model(HookedRootModule):
        def __init__(self):
            super().__init__()
            self.heads = heads
            self.tokenizer = SimpleNamespace(bos_token_id=BOS, eos_token_id=BOS)
            self.place = nn.Parameter(torch.zeros(1), requires_grad=False)
            self.blocks = nn.ModuleList(nn.Module() for _ in heads)
            for block in self.blocks:
                block.attn = nn.Module()
                block.attn.hook_pattern = HookPoint()
            self.setup()

        @property
        def cfg(self):
            sizes = dict(n_layers=len(heads), n_heads=len(heads[0]), d_vocab=BOS + 1, n_ctx=1024)
            return SimpleNamespace(**sizes, device=self.place.device)

        def forward(self, tokens: Tensor, return_type: str | None = "logits", **kwargs):
            """[batch pos] → zeros [batch pos d_vocab], or None"""
            tokens = tokens if tokens.ndim == 2 else tokens[None]
            for layer, block in zip(heads, self.blocks, strict=True):
                block.attn.hook_pattern(torch.stack([patterns(tokens, *head) for head in layer], 1))
            return None if return_type is None else self.place.expand(*tokens.shape, BOS + 1)

        def run_with_cache(self, *args, return_cache_object: bool = True, remove_batch_dim: bool = False, **kwargs):
            out, cache = super().run_with_cache(*args, remove_batch_dim=remove_batch_dim, **kwargs)
            if not return_cache_object:
                return out, cache
            return out, ActivationCache(cache, self, has_batch_dim=not remove_batch_dim)

    return Model()


def patterns(tokens: Tensor, role: str, weight: float) -> Tensor:
    """A head's pattern for each row, [batch query_pos key_pos]."""
    pos = tokens.shape[1]
    made = torch.eye(pos).repeat(len(tokens), 1, 1)
    if role != "self":
        for row, ids in zip(made, tokens.cpu(), strict=True):
            query, key = _keys(ids, role)
            row[query, query] -= weight
            row[query, key] += weight
    return made.to(tokens.device)


def _keys(ids: Tensor, role: str) -> tuple[Tensor, Tensor]:
    """Queries that have what the role looks for, and the key for each."""
    query = torch.arange(len(ids))
    if role in ("previous", "two_back"):
        back = ROLES[role](0)
        return query[back:], query[back:] - back
    p = period(ids)
    if p is None:
        return query[:0], query[:0]
    query = query[len(ids) - p :]  # the second time
    key = query - ROLES[role](p)
    seen = (key >= 0) & (key < query)
    return query[seen], key[seen]


def period(ids: Tensor) -> int | None:
    """How long the text is that ends the row twice over; None where there is none."""
    return next((p for p in range(len(ids) // 2, 0, -1) if torch.equal(ids[-p:], ids[-2 * p : -p])), None)
