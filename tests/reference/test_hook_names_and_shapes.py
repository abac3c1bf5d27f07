"""The activations of GPT-2 small have the names and shapes of the classic table, through the code that loads GPT-2."""

import pytest
import torch

from utils.reference import reference

pytestmark = pytest.mark.slow  # half a gigabyte of weights is made, written and read

SENTENCE = (
    "I am an amazing autoregressive, decoder-only, GPT-2 style transformer. "
    "One day I will exceed human level intelligence and take over the world!"
)
TABLE = [
    ("hook_embed", (1, 35, 768)),
    ("hook_pos_embed", (1, 35, 768)),
    ("blocks.0.hook_resid_pre", (1, 35, 768)),
    ("blocks.0.ln1.hook_scale", (1, 35, 1)),
    ("blocks.0.ln1.hook_normalized", (1, 35, 768)),
    ("blocks.0.attn.hook_q", (1, 35, 12, 64)),
    ("blocks.0.attn.hook_k", (1, 35, 12, 64)),
    ("blocks.0.attn.hook_v", (1, 35, 12, 64)),
    ("blocks.0.attn.hook_attn_scores", (1, 12, 35, 35)),
    ("blocks.0.attn.hook_pattern", (1, 12, 35, 35)),
    ("blocks.0.attn.hook_z", (1, 35, 12, 64)),
    ("blocks.0.hook_attn_out", (1, 35, 768)),
    ("blocks.0.hook_resid_mid", (1, 35, 768)),
    ("blocks.0.ln2.hook_scale", (1, 35, 1)),
    ("blocks.0.ln2.hook_normalized", (1, 35, 768)),
    ("blocks.0.mlp.hook_pre", (1, 35, 3072)),
    ("blocks.0.mlp.hook_post", (1, 35, 3072)),
    ("blocks.0.hook_mlp_out", (1, 35, 768)),
    ("blocks.0.hook_resid_post", (1, 35, 768)),
    ("ln_final.hook_scale", (1, 35, 1)),
    ("ln_final.hook_normalized", (1, 35, 768)),
]


@pytest.fixture(scope="module")
def model(gpt2_folder):
    return reference(gpt2_folder, "cpu")


@pytest.fixture(scope="module")
def run(model):
    return model.run_with_cache(model.to_tokens(SENTENCE))


@pytest.mark.parametrize(("hook", "shape"), TABLE, ids=[hook for hook, _ in TABLE])
def test_a_hook_has_its_shape(run, hook, shape):
    _, cache = run
    assert tuple(cache[hook].shape) == shape


def test_every_block_has_the_hooks_of_the_first(run):
    _, cache = run
    for block in range(12):
        for hook, shape in TABLE:
            assert tuple(cache[hook.replace("blocks.0.", f"blocks.{block}.")].shape) == shape
    assert not any(name.startswith("blocks.12.") for name in cache)


def test_the_logits_are_those_of_the_plain_model(run, model, gpt2_folder):
    from transformers import GPT2LMHeadModel

    plain = GPT2LMHeadModel.from_pretrained(gpt2_folder, attn_implementation="eager").eval()
    with torch.no_grad():
        expected = plain(model.to_tokens(SENTENCE)).logits
    torch.testing.assert_close(run[0], expected, rtol=1e-5, atol=1e-5)


def test_gpt2_shaped_is_the_same_model_made_in_memory(run):
    logits, _ = run
    shaped = reference("gpt2-shaped", "cpu")
    assert torch.equal(shaped(shaped.to_tokens(SENTENCE)), logits)


def test_no_gain_is_one_and_no_bias_is_zero(model):
    block = model.blocks[3]
    assert not torch.equal(block.ln1.w, torch.ones_like(block.ln1.w))
    assert block.attn.b_O.abs().min() > 0 and block.mlp.b_in.abs().max() > 0.01
