"""The reference model's own activations on real text: what answers are compared with, run once a kernel."""

import functools
import itertools
from typing import Any

import torch
from torch import Tensor

# Two rows of different text, cut to the same number of tokens; the second has repeats, quotes and a name twice.
TEXTS = (
    (
        "When Mary and John went to the store, John gave a drink to Mary. They were happy and went home. The cat sat "
        "on the mat."
    ),
    (
        'Tom had a red ball. "Where is my ball?" said Tom. The ball was in the box, so Tom ran to the box and got the '
        "ball."
    ),
)
LONGEST = 24


class Activations:
    """Hook values of one model on TEXTS: `cache["blocks.0.attn.hook_q"]`, with the tokens and the weights beside them.

    Attributes:
        model: the TransformerBridge.
        tokens: [batch pos], BOS first, batch of 2.
        cfg: the model's configuration.
    """

    def __init__(self, model: Any):
        self.model, self.cfg = model, model.cfg
        self.number, self.weights = next(_count), _fingerprint(model)
        rows = [model.to_tokens(text)[0] for text in TEXTS]
        length = min(LONGEST, *(len(row) for row in rows))
        self.tokens: Tensor = torch.stack([row[:length] for row in rows])
        with torch.no_grad():
            self.logits, cache = model.run_with_cache(self.tokens)
        self._hooks = {name: value.detach() for name, value in cache.items()}
        self._hooks["logits"] = self.logits.detach()
        self._parts: dict[str, Tensor] = {}

    def __getitem__(self, hook: str) -> Tensor:
        return self._hooks[hook]

    def keys(self) -> list[str]:
        """The names of all hooks kept."""
        return list(self._hooks)

    def part(self, hook: str, index: tuple, what: str) -> Tensor:
        """Some cells of a hook, kept under a name that reports can show: "logits of the text's own tokens"."""
        name = f"{hook} {what}"
        if name not in self._parts:
            self._parts[name] = self._hooks[hook][index]
        return self._parts[name]

    def name_of(self, value: Any) -> str:
        """The hook, or the part of one, that this very tensor is; empty for any other value."""
        known = (*self._hooks.items(), *self._parts.items())
        return next((name for name, tensor in known if tensor is value), "")

    @property
    def n_layers(self) -> int:
        return self.cfg.n_layers

    def block(self, layer: int) -> dict[str, Any]:
        """A block's weights by TransformerLens's names, and "eps"."""
        block = self.model.blocks[layer]
        found = {f"attn.{w}": getattr(block.attn, w) for w in ("W_Q", "b_Q", "W_K", "b_K", "W_V", "b_V", "W_O", "b_O")}
        found |= {f"mlp.{w}": getattr(block.mlp, w) for w in ("W_in", "b_in", "W_out", "b_out")}
        found |= {f"ln{i}.{w}": getattr(getattr(block, f"ln{i}"), w) for i in (1, 2) for w in ("w", "b")}
        return {name: value.detach() for name, value in found.items()} | {"eps": float(self.cfg.eps)}

    @property
    def text_ids(self) -> Tensor:
        """The different token ids of the text, [n]: a small vocabulary where a whole table would be d_vocab²."""
        return torch.unique(self.tokens)

    def weight(self, name: str) -> Tensor:
        """Any weight by TransformerLens's name: "embed.W_E", "blocks.0.attn.W_Q", "ln_final.w", "unembed.W_U"."""
        if name.startswith("blocks."):
            _, layer, rest = name.split(".", 2)
            return self.block(int(layer))[rest]
        short = {"embed.W_E": "W_E", "pos_embed.W_pos": "W_pos", "unembed.W_U": "W_U", "unembed.b_U": "b_U"}
        if name in short:
            return getattr(self.model, short[name]).detach()
        return getattr(self.model.ln_final, name.rpartition(".")[2]).detach()


_kept: dict[int, Activations] = {}
_count = itertools.count(1)
LOOKED_AT = 2**18  # of a parameter's numbers, about


def activations(model: Any) -> Activations:
    """The activations of this model, kept while the kernel lives and computed anew when its weights have changed."""
    kept = _kept.get(id(model))
    if kept is None or kept.model is not model or kept.weights != _fingerprint(model):
        _kept[id(model)] = Activations(model)
    return _kept[id(model)]


def _fingerprint(model: Any) -> list[float]:
    """Changes when a weight does, also one that is set through .data, and stays when all is put back."""
    with torch.no_grad():
        return [_weighed(p.detach()) for p in model.parameters()]


def _weighed(parameter: Tensor) -> float:
    """A sum in which each number counts differently, over every so many rows of a very large table."""
    table = parameter.reshape(len(parameter), -1) if parameter.ndim else parameter.reshape(1, 1)
    table = table[:: -(-table.numel() // LOOKED_AT)]
    rows, columns = (_ramp(n, table.dtype, table.device) for n in table.shape)
    return float(rows @ (table @ columns))


@functools.lru_cache(maxsize=64)
def _ramp(n: int, dtype: torch.dtype, device: torch.device) -> Tensor:
    """n numbers from 1 to 2; the root keeps products of two of them apart."""
    return torch.linspace(1, 2, n, dtype=torch.float64).sqrt().to(dtype=dtype, device=device)
