"""Chapter 10: by weights and by hooks come to the same; whatever an answer does to a model is undone and told."""

import pytest
import torch

from utils.exercises import ch10
from utils.exercises.scripted import ROLES, patterns, period, scripted_model
from utils.grading import check
from utils.reference import reference


@pytest.fixture(scope="module")
def model():
    return ch10.small_model(torch.device("cpu"))


TOKENS = torch.randint(31, (2, 6), generator=torch.Generator().manual_seed(1))


def hooks_on(model):
    return [name for name, module in model.named_modules() if getattr(module, "fwd_hooks", ())]


def weights_of(model):
    return [p.clone() for p in model.parameters() if p.numel() <= ch10.LARGE]


@pytest.mark.parametrize("which", ["small", "reference"])
def test_the_forward_by_weights_is_the_models(model, which):
    used = model if which == "small" else reference("pocket", "cpu")
    torch.testing.assert_close(ch10.forward_by_weights(used, TOKENS), used(TOKENS), rtol=1e-4, atol=1e-4)


def test_a_patched_stream_is_the_rest_of_the_model_run_by_weights(model):
    """At the last layer's hook_resid_pre: the rest is worked out from the weights with chapter 07's block."""
    from utils.exercises.ch04 import layer_norm
    from utils.exercises.ch07 import transformer_block
    from utils.grading.activations import Activations

    hook, clean, corrupt = "blocks.2.hook_resid_pre", TOKENS, TOKENS.flip(0)
    streams = [model.run_with_cache(tokens)[1][hook].clone() for tokens in (clean, corrupt)]
    streams[1][:, 3] = streams[0][:, 3]
    view = Activations.__new__(Activations)  # for its names of a block's weights alone
    view.model, view.cfg = model, model.cfg
    after = transformer_block(streams[1], view.block(2))
    by_weights = layer_norm(after, model.ln_final.w, model.ln_final.b, model.cfg.eps) @ model.W_U + model.b_U
    torch.testing.assert_close(ch10.patch(model, clean, corrupt, hook, 3), by_weights, rtol=1e-4, atol=1e-4)


def leaves_a_hook(model, tokens, layer, head, how="zero"):
    model.add_hook(f"blocks.{layer}.attn.hook_z", lambda z, hook: z * 0)
    return model(tokens)


def leaves_a_permanent_hook(model, tokens, layer, head, how="zero"):
    model.blocks[layer].attn.hook_z.add_perma_hook(lambda z, hook: z * 0)
    return model(tokens)


def leaves_torchs_own_hook(model, tokens, layer, head, how="zero"):
    model.blocks[layer].mlp.register_forward_hook(lambda module, args, out: out * 0)
    return model(tokens)


def raises_with_a_hook_set(model, tokens, layer, head, how="zero"):
    model.add_hook(f"blocks.{layer}.attn.hook_z", lambda z, hook: z * 0)
    raise RuntimeError("halfway")


def changes_weights(model, tokens, layer, head, how="zero"):
    for name, parameter in model.named_parameters():
        if "attn" in name:
            parameter.data.zero_()
    return model(tokens)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (leaves_a_hook, "hook is left behind"),
        (leaves_a_permanent_hook, "hook is left behind"),
        (leaves_torchs_own_hook, "hook is left behind"),
        (raises_with_a_hook_set, "halfway"),
        (changes_weights, "weights"),
    ],
)
def test_the_shared_models_are_as_before(model, answer, words):
    pocket = reference("pocket", "cpu")
    before = weights_of(pocket), weights_of(model), pocket(TOKENS), model(TOKENS)
    verdict = check("10.2", answer, pocket, "cpu")
    assert not verdict.passed and words in verdict.message + verdict.evidence, verdict
    assert not hooks_on(pocket) and not hooks_on(model)
    after = weights_of(pocket), weights_of(model), pocket(TOKENS), model(TOKENS)
    for old, new in zip(before, after, strict=True):
        assert all(torch.equal(a, b) for a, b in zip(old, new, strict=True))
    assert check("10.2", ch10.with_run_with_hooks, pocket, "cpu").passed


def test_scripted_heads_have_the_scores_that_are_written_down():
    once = torch.randint(5, (1, 20), generator=torch.Generator().manual_seed(2))  # many tokens occur twice by chance
    tokens = torch.cat([torch.tensor([[9]]), once, once], 1)
    assert period(tokens[0]) == 20 and period(torch.arange(10)) is None
    for role, back in ROLES.items():
        pattern = patterns(tokens, role, 0.7)[0]
        torch.testing.assert_close(pattern.sum(-1), torch.ones(41))
        assert bool((pattern.triu(1) == 0).all())
        cells = pattern.diagonal(-back(20))[-19:]
        torch.testing.assert_close(cells, torch.full_like(cells, 0.7))


def test_a_scripted_model_has_transformer_lens_hooks():
    made = scripted_model([[("previous", 0.5), ("self", 0.9)], [("induction", 0.8), ("duplicate", 0.6)]])
    tokens = torch.arange(6).repeat(2)[None]
    logits, cache = made.run_with_cache(tokens)
    assert logits.shape == (1, 12, made.cfg.d_vocab) and cache["pattern", 1].shape == (1, 2, 12, 12)
    assert made.run_with_hooks(tokens, return_type=None, fwd_hooks=[]) is None


@pytest.mark.parametrize("seed", range(4))
def test_an_honest_draw_of_any_kind_finds_the_heads(seed):
    torch.manual_seed(seed)
    for answer in (ch10.find_heads, ch10.with_indices_and_a_bos, ch10.with_a_mask):
        assert check("10.4", answer, seed=seed).passed
