"""What stands in, inside the sandbox, for objects of the outside: they hold nothing, and ask."""

from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn


class Given:
    """An object of the book's that an answer is handed: its public values and methods, asked for one by one."""

    def __init__(self, agent: Any, number: int, name: str, values: list[str]):
        self.__dict__.update(_agent=agent, _number=number, _name=name, _values=values)

    @staticmethod
    def made(agent: Any, number: int, name: str, methods: list[str], values: list[str]) -> "Given":
        """One with these methods, `__len__` and `__call__` among them where it has them."""
        own = {method: _method(method) for method in methods}
        return type(name, (Given,), own)(agent, number, name, values)

    def __getattr__(self, name: str) -> Any:
        if name not in self._values:
            raise AttributeError(f"{self._name} has no attribute {name}")
        return self._agent.ask("attribute", {}, {"target": self._number, "name": name})

    def __repr__(self) -> str:
        return f"<{self._name}>"


def _method(name: str) -> Any:
    def call(self: Given, *args: Any, **kwargs: Any) -> Any:
        return self._agent.ask(
            "method", {"args": args, "kwargs": tuple(kwargs.items())}, {"target": self._number, "method": name}
        )

    call.__name__ = name
    return call


class ScriptedModel:
    """Makes the model of exercise 10.4 with its hooks here; the patterns come from outside, text by text."""

    @staticmethod
    def made(agent: Any, number: int, n_layers: int, n_heads: int, bos: int) -> Any:
        """A model with TransformerLens's hooks and cache for patterns."""
        from transformer_lens.ActivationCache import ActivationCache
        from transformer_lens.hook_points import HookPoint
        from transformer_lens.HookedRootModule import HookedRootModule

        class Model(HookedRootModule):
            def __init__(self):
                super().__init__()
                self.tokenizer = SimpleNamespace(bos_token_id=bos, eos_token_id=bos)
                self.place = nn.Parameter(torch.zeros(1), requires_grad=False)
                self.blocks = nn.ModuleList(nn.Module() for _ in range(n_layers))
                for block in self.blocks:
                    block.attn = nn.Module()
                    block.attn.hook_pattern = HookPoint()
                self.setup()

            @property
            def cfg(self):
                sizes = dict(n_layers=n_layers, n_heads=n_heads, d_vocab=bos + 1, n_ctx=1024)
                return SimpleNamespace(**sizes, device=self.place.device)

            def forward(self, tokens: Tensor, return_type: str | None = "logits", **kwargs):
                tokens = tokens if tokens.ndim == 2 else tokens[None]
                patterns = agent.ask("patterns", {"tokens": tokens}, {"target": number})
                for pattern, block in zip(patterns, self.blocks, strict=True):
                    block.attn.hook_pattern(pattern)
                return None if return_type is None else self.place.expand(*tokens.shape, bos + 1)

            def run_with_cache(self, *args, return_cache_object: bool = True, remove_batch_dim: bool = False, **kw):
                out, cache = super().run_with_cache(*args, remove_batch_dim=remove_batch_dim, **kw)
                if not return_cache_object:
                    return out, cache
                return out, ActivationCache(cache, self, has_batch_dim=not remove_batch_dim)

        return Model()
