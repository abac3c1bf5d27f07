"""Chapter 07's oracles agree with the transformers library's GPT-2; its probes see what they must."""

import pytest
import torch
from torch import nn

from utils.exercises import ch07
from utils.grading import check


def close(a, b):
    torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-4)


@pytest.fixture
def model(small_gpt2):
    made = ch07.GPT2(small_gpt2.cfg)
    ch07.load_weights(made, small_gpt2.weights)
    return made


@pytest.mark.parametrize("layer", range(3))
def test_the_block_is_gpt2s(small_gpt2, layer):
    start = f"blocks.{layer}."
    block = {name.removeprefix(start): w for name, w in small_gpt2.weights.items() if name.startswith(start)}
    close(ch07.transformer_block(small_gpt2.streams[layer], block | {"eps": 1e-5}), small_gpt2.streams[layer + 1])


def test_the_model_is_gpt2(small_gpt2, model):
    close(model(small_gpt2.tokens), small_gpt2.logits)
    assert {name for name, _ in model.named_parameters()} == {*small_gpt2.weights}


def test_the_loss_is_gpt2s(small_gpt2):
    theirs = small_gpt2.model(small_gpt2.tokens, labels=small_gpt2.tokens).loss
    close(ch07.lm_loss(small_gpt2.logits, small_gpt2.tokens), theirs.detach())


def test_the_gradients_are_gpt2s(small_gpt2, model):
    ch07.lm_loss(model(small_gpt2.tokens), small_gpt2.tokens).backward()
    theirs = small_gpt2.model
    theirs.zero_grad()
    theirs(small_gpt2.tokens, labels=small_gpt2.tokens).loss.backward()
    close(model.embed.W_E.grad, theirs.transformer.wte.weight.grad)
    close(model.blocks[1].mlp.W_in.grad, theirs.transformer.h[1].mlp.c_fc.weight.grad)
    theirs.zero_grad()


@pytest.mark.parametrize(
    "change",
    [
        lambda w: w.pop("blocks.2.mlp.b_out"),
        lambda w: w.update({"unembed.W_U": w["embed.W_E"].T}),
        lambda w: w.update({"ln_final.w": w["ln_final.w"][:1]}),
    ],
    ids=["a name is missing", "a name too many", "a shape that would broadcast"],
)
def test_weights_that_do_not_fit_leave_the_model_alone(small_gpt2, change):
    made, weights = ch07.GPT2(small_gpt2.cfg), dict(small_gpt2.weights)
    before = {name: p.detach().clone() for name, p in made.named_parameters()}
    change(weights)
    with pytest.raises(ValueError, match="blocks.2.mlp.b_out|unembed.W_U|ln_final.w"):
        ch07.load_weights(made, weights)
    assert all(torch.equal(p, before[name]) for name, p in made.named_parameters())


class Renamed(ch07.GPT2):
    def __init__(self, cfg):
        super().__init__(cfg)
        self.wte = self.embed
        del self.embed


class TwoTables(ch07.GPT2):
    def __init__(self, cfg):
        super().__init__(cfg)
        self.scale = nn.Parameter(torch.ones(1))


class Turned(ch07.GPT2):
    def __init__(self, cfg):
        super().__init__(cfg)
        self.embed.W_E = nn.Parameter(torch.zeros(cfg.d_model, cfg.d_vocab))


class NoModule:
    def __init__(self, cfg):
        pass


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (Renamed, "no parameter called embed.W_E"),
        (TwoTables, "a parameter too many: scale"),
        (Turned, "embed.W_E has the shape"),
        (NoModule, "nn.Module"),
    ],
)
def test_a_model_that_does_not_fit_is_told_how(answer, words):
    verdict = check("07.2", answer)
    assert verdict.stage == "type" and words in verdict.message, verdict


def by_library(logits, tokens):
    from transformer_lens.utilities.lm_utils import lm_cross_entropy_loss

    return lm_cross_entropy_loss(logits, tokens)


def by_module(logits, tokens):
    return nn.CrossEntropyLoss()(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())


def by_half(logits, tokens):
    return nn.functional.nll_loss(logits[:, :-1].log_softmax(-1).transpose(1, 2), tokens[:, 1:])


@pytest.mark.parametrize("answer", [by_library, by_module, by_half])
def test_a_loss_in_one_call_is_not_the_exercise(answer):
    assert check("07.6", answer).stage == "allowed"


@pytest.mark.parametrize("switch", [True, False])
def test_a_notebook_without_gradients_does_not_fail_a_right_answer(switch):
    torch.set_grad_enabled(switch)
    try:
        assert check("07.6", ch07.lm_loss).passed
    finally:
        torch.set_grad_enabled(True)


def test_grading_leaves_the_random_state_alone():
    torch.manual_seed(1)
    before = torch.get_rng_state()
    assert check("07.3", ch07.load_weights).passed
    assert torch.equal(torch.get_rng_state(), before)


def heads_first_in_q_alone(cfg, batch, pos):
    table = ch07.hook_shapes(cfg, batch, pos)
    swapped = {f"blocks.{i}.attn.hook_q": (batch, cfg.n_heads, pos, cfg.d_head) for i in range(cfg.n_layers)}
    return table | swapped


def another_second_table(model, weights):
    ch07.load_weights(model, weights)
    model.lm_head = nn.Linear(*reversed(weights["embed.W_E"].shape), bias=False)


class AnotherUnembedding(ch07.GPT2):
    def __init__(self, cfg):
        super().__init__(cfg)
        self.lm_head = nn.Linear(cfg.d_model, cfg.d_vocab, bias=False)

    def forward(self, tokens):
        return self.lm_head(super().forward(tokens) @ self.embed.W_E)


@pytest.mark.parametrize(
    ("exercise", "answer", "key"),
    [
        ("07.7", heads_first_in_q_alone, "heads_before_pos"),
        ("07.3", another_second_table, "second_table"),
        ("07.2", AnotherUnembedding, "own_unembedding"),
    ],
)
def test_a_mistake_is_known_in_another_programs_clothes(exercise, answer, key):
    assert check(exercise, answer).diagnosis == key
