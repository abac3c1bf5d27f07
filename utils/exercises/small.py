"""A small model with every hook, on which chapter 10's answers are tried beside the reference; and how it is left."""

import functools

import torch


@functools.lru_cache(maxsize=2)
def small_model(device: torch.device):
    """A TransformerBridge of three layers whose random weights are large enough that every part matters."""
    from transformers import GPT2Config, GPT2LMHeadModel

    from utils.reference.bridge import bridge_of
    from utils.reference.vocabulary import tokenizer_folder

    sizes = dict(vocab_size=31, n_positions=16, n_embd=12, n_layer=3, n_head=3, bos_token_id=0, eos_token_id=0)
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(10)
        model = GPT2LMHeadModel(GPT2Config(**sizes, attn_implementation="eager")).eval()
        for name, parameter in model.named_parameters():
            gain = 1.0 if name.endswith("weight") and "ln_" in name else 0.0
            parameter.normal_(gain, 0.4)
        return bridge_of(model, tokenizer_folder(), torch.device(device))


LARGE = 1_000_000  # numbers; the token table is larger and is not looked at


class Untouched:
    """A model's hooks, weights and mode as they are now; `restore` makes them so again."""

    def __init__(self, model):
        self.model, self.training = model, model.training
        parts = [m for m in model.modules() if hasattr(m, "fwd_hooks") or m._forward_hooks or m._forward_pre_hooks]
        self.hooks = {id(m): {*m._forward_hooks, *m._forward_pre_hooks} for m in parts}
        self.weights = [(p, p.detach().clone()) for p in model.parameters() if p.numel() <= LARGE]

    def restore(self) -> tuple[bool, bool]:
        """Whether a hook was left behind, and whether weights were changed; neither is so afterwards."""
        left = any([_remove_hooks(m, self.hooks.get(id(m), set())) for m in self.model.modules()])
        changed = any(not torch.equal(p, was) for p, was in self.weights)
        with torch.no_grad():
            for p, was in self.weights:
                p.copy_(was)
        if self.model.training is not self.training:
            self.model.train(self.training)
        return left, changed


def _remove_hooks(module, before: set) -> bool:
    """Remove what an answer has hooked to this module; whether there was anything.

    The two libraries add hooks of their own at their first run, which stay.
    """
    if hasattr(module, "fwd_hooks"):
        left = bool(module.fwd_hooks or module.bwd_hooks)
        if left:
            module.remove_hooks("both", including_permanent=True)
        return left
    theirs = [
        (held, key)
        for held in (module._forward_hooks, module._forward_pre_hooks)
        for key, fn in held.items()
        if key not in before
        and not str(getattr(fn, "__module__", "")).startswith(("transformer_lens", "transformers."))
    ]
    for held, key in theirs:
        del held[key]
    return bool(theirs)
