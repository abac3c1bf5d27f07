"""A small model with every hook, on which chapter 10's answers are tried beside the reference."""

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
