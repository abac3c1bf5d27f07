"""Chapter 06's oracles agree with the transformers library's GPT-2 and its configuration."""

from types import SimpleNamespace

import pytest
import torch

from utils.exercises import ch06
from utils.grading import check


def test_the_activation_is_gpt2s():
    from transformers.activations import ACT2FN

    x = torch.linspace(-12, 12, 501, dtype=torch.float64)
    torch.testing.assert_close(ch06.gelu_new(x), ACT2FN["gelu_new"](x))
    torch.testing.assert_close(ch06.gelu_new(x), torch.nn.functional.gelu(x, approximate="tanh"))


@pytest.mark.parametrize("layer", range(3))
def test_the_layer_is_gpt2s(small_gpt2, layer):
    x = torch.randn(2, 5, 12, generator=torch.Generator().manual_seed(layer))
    weights = [small_gpt2.weights[f"blocks.{layer}.mlp.{name}"] for name in ("W_in", "b_in", "W_out", "b_out")]
    want = small_gpt2.model.transformer.h[layer].mlp(x).detach()
    torch.testing.assert_close(ch06.mlp(x, *weights), want, rtol=1e-4, atol=1e-4)
    post = ch06.gelu_new(ch06.mlp_pre(x, *weights[:2]))
    torch.testing.assert_close(ch06.neuron_outputs(post, weights[2]).sum(2) + weights[3], want, rtol=1e-4, atol=1e-4)


def test_the_loudest_neurons_are_found_by_brute_force():
    post, W_out = torch.randn(2, 3, 10), torch.randn(10, 4)
    ids = ch06.top_neurons(post, W_out, 4)
    for b in range(2):
        for p in range(3):
            sizes = [float((post[b, p, i] * W_out[i]).norm()) for i in range(10)]
            assert ids[b, p].tolist() == sorted(range(10), key=lambda i: -sizes[i])[:4]


def test_a_ranking_may_swap_ties_but_nothing_else():
    sizes = torch.tensor([[1.0, 3.0, 3.0, 2.0]])
    fault = lambda *ids: ch06.ranking_fault(sizes, torch.tensor([ids]), 1e-6, "size")  # noqa: E731
    assert fault(1, 2) is None and fault(2, 1) is None
    assert "Place" in fault(1, 3).title() and "twice" in fault(1, 1) and "below" in fault(1, 4)


def test_the_cosine_is_torchs():
    W_in, W_out = torch.randn(5, 9), torch.randn(9, 5)
    want = torch.nn.functional.cosine_similarity(W_in.T, W_out, dim=-1)
    torch.testing.assert_close(ch06.erasure_score(W_in, W_out), want)


SIZES = [
    dict(n_embd=768, n_layer=12, n_head=12, vocab_size=50257, n_positions=1024),
    dict(n_embd=1024, n_layer=24, n_head=16, vocab_size=50257, n_positions=1024),
    dict(n_embd=24, n_layer=2, n_head=3, vocab_size=77, n_positions=10),
]


@pytest.mark.parametrize("sizes", SIZES, ids=lambda sizes: f"d_model {sizes['n_embd']}")
def test_the_parameters_are_as_many_as_transformers_makes(sizes):
    from transformers import GPT2Config, GPT2LMHeadModel

    with torch.device("meta"):
        model = GPT2LMHeadModel(GPT2Config(**sizes, bos_token_id=0, eos_token_id=0))
    d_model, heads = sizes["n_embd"], sizes["n_head"]
    cfg = SimpleNamespace(d_model=d_model, n_layers=sizes["n_layer"], n_heads=heads, d_head=d_model // heads)
    cfg.d_mlp, cfg.d_vocab, cfg.n_ctx = 4 * d_model, sizes["vocab_size"], sizes["n_positions"]
    counts = ch06.count_parameters(cfg)
    kinds = {"embed": "wte", "pos": "wpe", "attn": ".attn.", "mlp": ".mlp.", "ln": "ln_"}
    for kind, mark in kinds.items():
        assert counts[kind] == sum(p.numel() for name, p in model.named_parameters() if mark in name), kind
    assert counts["total"] == sum(p.numel() for p in model.parameters())


def from_transformers(x):
    from transformers.activations import NewGELUActivation

    return NewGELUActivation()(x)


def from_transformer_lens(x):
    from transformer_lens.utilities.activation_functions import gelu_new

    return gelu_new(x)


@pytest.mark.parametrize(
    "answer",
    [
        from_transformers,
        from_transformer_lens,
        torch.nn.GELU("tanh"),
        lambda x: torch.nn.functional.gelu(x, approximate="tanh"),
    ],
    ids=["transformers", "transformer_lens", "a module", "a function"],
)
def test_the_activation_in_one_call_is_not_the_exercise(answer):
    assert check("06.1", answer).stage == "allowed"
