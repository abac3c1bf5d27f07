"""A small GPT-2 of the transformers library, whose arithmetic is not the book's: what oracles are compared with."""

from types import SimpleNamespace

import pytest
import torch


@pytest.fixture(scope="session")
def small_gpt2():
    """Three layers of random weights, biases and gains; `blocks` has them by TransformerLens's names.

    Attributes: model, tokens [batch pos], logits, streams (after the embedding and after each block), cfg, weights.
    """
    from transformers import GPT2Config, GPT2LMHeadModel

    sizes = dict(vocab_size=31, n_positions=12, n_embd=12, n_layer=3, n_head=3, bos_token_id=0, eos_token_id=0)
    generator = torch.Generator().manual_seed(3)
    model = GPT2LMHeadModel(GPT2Config(**sizes, attn_implementation="eager")).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            gain = 1.0 if name.endswith("weight") and "ln_" in name else 0.0
            parameter.copy_(torch.randn(parameter.shape, generator=generator) * 0.4 + gain)
    tokens = torch.randint(31, (2, 9), generator=generator)
    streams: list[torch.Tensor] = []
    for block in model.transformer.h:
        block.register_forward_pre_hook(lambda module, args: streams.append(args[0].detach()))
    model.transformer.ln_f.register_forward_pre_hook(lambda module, args: streams.append(args[0].detach()))
    with torch.no_grad():
        logits = model(tokens).logits
    kept = list(streams)
    cfg = SimpleNamespace(d_model=12, n_layers=3, n_heads=3, d_head=4, d_mlp=48, d_vocab=31, n_ctx=12, eps=1e-5)
    return SimpleNamespace(
        model=model, tokens=tokens, logits=logits, streams=kept, cfg=cfg, weights=by_our_names(model, cfg)
    )


def by_our_names(model, cfg):
    """The weights of a transformers GPT-2 in TransformerLens's layout."""
    trunk, heads = model.transformer, cfg.n_heads
    found = {"embed.W_E": trunk.wte.weight, "pos_embed.W_pos": trunk.wpe.weight}
    for i, block in enumerate(trunk.h):
        qkv = block.attn.c_attn.weight.split(cfg.d_model, dim=1), block.attn.c_attn.bias.split(cfg.d_model)
        part = {}
        for letter, weight, bias in zip("QKV", *qkv, strict=True):
            part[f"attn.W_{letter}"] = weight.unflatten(1, (heads, -1)).transpose(0, 1)
            part[f"attn.b_{letter}"] = bias.unflatten(0, (heads, -1))
        part |= {"attn.W_O": block.attn.c_proj.weight.unflatten(0, (heads, -1)), "attn.b_O": block.attn.c_proj.bias}
        part |= {"mlp.W_in": block.mlp.c_fc.weight, "mlp.b_in": block.mlp.c_fc.bias}
        part |= {"mlp.W_out": block.mlp.c_proj.weight, "mlp.b_out": block.mlp.c_proj.bias}
        for norm, module in (("ln1", block.ln_1), ("ln2", block.ln_2)):
            part |= {f"{norm}.w": module.weight, f"{norm}.b": module.bias}
        found |= {f"blocks.{i}.{name}": value for name, value in part.items()}
    found |= {"ln_final.w": trunk.ln_f.weight, "ln_final.b": trunk.ln_f.bias}
    return {name: value.detach().clone() for name, value in found.items()}
