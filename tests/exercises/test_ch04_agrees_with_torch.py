"""Chapter 04's oracles agree with torch's own norm, and what is folded or centered leaves the model's logits alone."""

import copy

import pytest
import torch

from utils.exercises import ch04
from utils.grading import check

X = torch.randn(2, 5, 7, generator=torch.Generator().manual_seed(4), dtype=torch.float64) * 2 + 1
W, B = torch.linspace(-1, 2, 7, dtype=torch.float64), torch.linspace(3, -1, 7, dtype=torch.float64)


@pytest.mark.parametrize("eps", [1e-5, 0.1, 2.0])
def test_the_norm_is_torchs(eps):
    torch.testing.assert_close(ch04.layer_norm(X, W, B, eps), torch.nn.functional.layer_norm(X, (7,), W, B, eps))
    torch.testing.assert_close(ch04.ln_normalize(X, eps), torch.nn.functional.layer_norm(X, (7,), eps=eps))


def test_a_linear_layer_folds_to_one_that_reads_normalized_rows():
    linear, b_lin = torch.randn(7, 4, dtype=torch.float64), torch.randn(4, dtype=torch.float64)
    folded, bias = ch04.fold_layer_norm(W, B, linear, b_lin)
    want = torch.nn.functional.layer_norm(X, (7,), W, B) @ linear + b_lin
    torch.testing.assert_close(torch.nn.functional.layer_norm(X, (7,)) @ folded + bias, want)


def test_centering_every_writing_weight_leaves_the_logits_alone(small_gpt2):
    """In a whole GPT-2: attention and MLP of each layer, and the table of positions."""
    model = copy.deepcopy(small_gpt2.model)
    with torch.no_grad():
        for block in model.transformer.h:
            for module in (block.attn.c_proj, block.mlp.c_proj):
                assert float(module.weight.mean(-1).abs().max()) > 0.01
                module.weight.copy_(ch04.center_writing(module.weight))
        model.transformer.wpe.weight.copy_(ch04.center_writing(model.transformer.wpe.weight))
        torch.testing.assert_close(model(small_gpt2.tokens).logits, small_gpt2.logits, rtol=1e-3, atol=1e-3)


def aten(x, w, b, eps):
    return torch.ops.aten.native_layer_norm(x, [x.shape[-1]], w, b, eps)[0]


def groups(x, w, b, eps):
    return torch.nn.functional.group_norm(x.reshape(-1, x.shape[-1]), 1, w, b, eps).view(x.shape)


def module(x, w, b, eps):
    norm = torch.nn.LayerNorm(x.shape[-1], eps=eps, dtype=x.dtype)
    norm.weight.data, norm.bias.data = w, b
    return norm(x)


@pytest.mark.parametrize("answer", [aten, groups, module])
def test_a_norm_in_one_call_is_not_the_exercise(answer):
    assert check("04.3", answer).stage == "allowed"
