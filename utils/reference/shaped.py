"""GPT-2 small's exact configuration with seeded random weights, made in memory.

It shows the real shapes, names, memory and speed where the real weights cannot be had. Biases and gains are not the
zeros and ones of a fresh model, so that forgetting one shows in the numbers. It has learned nothing.
"""

import torch
from torch import Tensor

from utils.reference.bridge import gpt2_from

SEED = 2019
SPREAD = 0.02  # GPT-2's own standard deviation at initialization


def gpt2_small_config():
    """The configuration of GPT-2 small: 12 layers, 12 heads, d_model 768, 1024 positions, 50257 tokens."""
    from transformers import GPT2Config

    return GPT2Config(bos_token_id=50256, eos_token_id=50256)


def shaped_model():
    """The Hugging Face GPT-2 with `random_state` for weights."""
    config = gpt2_small_config()
    return gpt2_from(config, random_state(config, torch.Generator().manual_seed(SEED)))


def random_state(config, generator: torch.Generator) -> dict[str, Tensor]:
    """Normal weights of spread 0.02 under the Hugging Face names; gains are spread around 1.

    The order of drawing is the order of names, so a seed means the same tensors everywhere.
    """
    from transformers import GPT2LMHeadModel

    with torch.device("meta"):
        shapes = {name: parameter.shape for name, parameter in GPT2LMHeadModel(config).named_parameters()}
    state = {}
    for name in sorted(shapes):
        noise = torch.randn(shapes[name], generator=generator).mul_(SPREAD)
        state[name] = noise.add_(1) if _is_gain(name) else noise
    return state


def _is_gain(name: str) -> bool:
    return name.endswith("weight") and name.split(".")[-2].startswith("ln_")
