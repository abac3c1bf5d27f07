"""Chapter 03's oracles agree with the transformers library's GPT-2, hook by hook."""

import pytest
import torch

from utils.exercises import ch03


def close(a, b):
    torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-4)


def test_the_stream_starts_as_token_plus_position(small_gpt2):
    w = small_gpt2.weights
    close(ch03.initial_residual(small_gpt2.tokens, w["embed.W_E"], w["pos_embed.W_pos"]), small_gpt2.streams[0])


@pytest.mark.parametrize("layer", range(3))
def test_the_stream_after_a_layer_is_the_sum_of_what_was_written(small_gpt2, layer):
    w, tokens, outs = small_gpt2.weights, small_gpt2.tokens, {"attn": [], "mlp": []}
    hooks = [
        getattr(block, part).register_forward_hook(
            lambda module, args, out, part=part: outs[part].append((out[0] if isinstance(out, tuple) else out).detach())
        )
        for block in small_gpt2.model.transformer.h
        for part in ("attn", "mlp")
    ]
    small_gpt2.model(tokens)
    for hook in hooks:
        hook.remove()
    parts = ch03.embed(tokens, w["embed.W_E"]), ch03.pos_embed(tokens, w["pos_embed.W_pos"])
    stream = ch03.residual_after(layer, *parts, torch.stack(outs["attn"]), torch.stack(outs["mlp"]))
    close(stream, small_gpt2.streams[layer + 1])


def test_the_lens_of_the_last_stream_gives_the_logits(small_gpt2):
    w = small_gpt2.weights
    tables = w["embed.W_E"].T, torch.zeros(31)
    close(ch03.logit_lens(small_gpt2.streams[-1], w["ln_final.w"], w["ln_final.b"], 1e-5, *tables), small_gpt2.logits)


def test_both_unembeddings_are_the_models(small_gpt2):
    final, W_E = small_gpt2.model.transformer.ln_f(small_gpt2.streams[-1]).detach(), small_gpt2.weights["embed.W_E"]
    close(ch03.tied_unembed(final, W_E), small_gpt2.logits)
    close(ch03.unembed(final, W_E.T, torch.full((31,), 2.0)), small_gpt2.logits + 2)


def test_the_direct_path_is_the_whole_table_cut():
    W_E, W_U, ids = torch.randn(9, 4), torch.randn(4, 9), torch.tensor([7, 0, 2])
    table = ch03.bigram_logits(W_E, W_U, ids)
    assert all(
        torch.isclose(table[i, j], (W_E[a] * W_U[:, b]).sum(), atol=1e-5)
        for i, a in enumerate(ids)
        for j, b in enumerate(ids)
    )


def test_the_norm_is_the_length_of_the_vectors():
    three_four = torch.tensor([3.0, 4.0]).expand(2, 3, 5, 2).clone()
    three_four[1] *= 2
    assert ch03.norm_by_layer(three_four).tolist() == pytest.approx([5, 10])
