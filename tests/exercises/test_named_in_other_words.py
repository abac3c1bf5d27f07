"""Mistakes written as a learner might write them, not as they are declared, get their names."""

import random

import pytest
import torch

from utils.exercises import exercise
from utils.grading import check


def min_for_the_start(ids, n_ctx, batch, generator):
    while True:
        starts = [
            min(int(torch.randint(len(ids), (), generator=generator)), len(ids) - n_ctx - 1) for _ in range(batch)
        ]
        yield torch.stack([ids[s : s + n_ctx + 1] for s in starts])


def pythons_dice(ids, n_ctx, batch, generator):
    while True:
        starts = [random.randrange(len(ids) - n_ctx) for _ in range(batch)]
        yield torch.stack([ids[s : s + n_ctx + 1] for s in starts])


def padding_ignored(logits, tokens):
    return torch.nn.functional.nll_loss(
        logits[:, :-1].log_softmax(-1).flatten(0, 1), tokens[:, 1:].flatten(), ignore_index=50256
    )


def by_hand(logits, tokens):
    counted = tokens[:, 1:] != 0
    return -(logits[:, :-1].log_softmax(-1).gather(-1, tokens[:, 1:, None])[..., 0])[counted].mean()


def greedy(model, tokens, n_new, beams, eos=None, length_penalty=0.0):
    for _ in range(n_new):
        new = model(tokens[:, -model.cfg.n_ctx :])[:, -1].argmax(-1)
        if eos is not None and tokens.shape[1] > 2:
            new = torch.where((tokens[:, 2:] == eos).any(1), eos, new)
        tokens = torch.cat([tokens, new[:, None]], 1)
    return tokens


def column(model, tokens, src, dst, layer=None):
    def hook_fn(scores, hook):
        scores[..., src] = -torch.inf
        return scores

    layers = range(model.cfg.n_layers) if layer is None else [layer]
    return model.run_with_hooks(tokens, fwd_hooks=[(f"blocks.{i}.attn.hook_attn_scores", hook_fn) for i in layers])


def patched(where):
    def patch(model, clean, corrupt, hook, pos):
        _, cache = model.run_with_cache(clean)
        kept = cache[hook]

        def hook_fn(act, hook):
            act[:, where(pos)] = kept[:, where(pos)]
            return act

        return model.run_with_hooks(corrupt, fwd_hooks=[(hook, hook_fn)])

    return patch


def one_mean(model, tokens, layer, head, how="zero"):
    def hook_fn(z, hook):
        z[:, :, head] = z[:, :, head].mean() if how == "mean" else 0.0
        return z

    return model.run_with_hooks(tokens, fwd_hooks=[(f"blocks.{layer}.attn.hook_z", hook_fn)])


def block_with(scale=True, without=""):
    F = torch.nn.functional

    def transformer_block(resid, block):
        def bias(name):
            return block[f"attn.{name}"] * (name != without)

        x = F.layer_norm(resid, resid.shape[-1:], block["ln1.w"], block["ln1.b"], block["eps"])
        q, k, v = (torch.einsum("bpm,hmd->bhpd", x, block[f"attn.W_{c}"]) + bias(f"b_{c}")[:, None] for c in "QKV")
        scores = q @ k.mT / (q.shape[-1] ** 0.5 if scale else 1)
        scores = scores.masked_fill(torch.ones_like(scores, dtype=torch.bool).triu(1), -torch.inf)
        resid = resid + torch.einsum("bhpd,hdm->bpm", scores.softmax(-1) @ v, block["attn.W_O"]) + bias("b_O")
        x = F.layer_norm(resid, resid.shape[-1:], block["ln2.w"], block["ln2.b"], block["eps"])
        post = F.gelu(x @ block["mlp.W_in"] + block["mlp.b_in"], approximate="tanh")
        return resid + post @ block["mlp.W_out"] + block["mlp.b_out"]

    return transformer_block


def last_trial(f, n_in, trials=8):
    for _ in range(trials):
        x, y = torch.randn(2, n_in, dtype=torch.float64)
        result = torch.allclose(f(x + y), f(x) + f(y)) and torch.allclose(f(2 * x), 2 * f(x))
    return result


def any_trial(f, n_in, trials=8):
    pairs = [torch.randn(2, n_in, dtype=torch.float64) for _ in range(trials)]
    return any(torch.allclose(f(x + y), f(x) + f(y)) for x, y in pairs)


def own_gpt2(eps=lambda cfg: cfg.eps, places=lambda tokens, cfg: torch.arange(tokens.shape[1])):
    class Model(exercise("07.2").solution):
        def forward(self, tokens):
            resid = self.embed.W_E[tokens] + self.pos_embed.W_pos[places(tokens, self.cfg)]
            for block in self.blocks:
                resid = block_with()(resid, {**dict(block.named_parameters()), "eps": eps(self.cfg)})
            w, b = self.ln_final.w, self.ln_final.b
            return torch.nn.functional.layer_norm(resid, w.shape, w, b, eps(self.cfg)) @ self.embed.W_E.T

    return Model


def own_loop(x, y, batch_of=next, start=iter):
    """A training loop that feeds batch[x], asks for batch[y] and takes its batch at each step as `batch_of` says."""

    def train(model, batches, steps, lr):
        model.train()
        optimizer, losses, source = torch.optim.Adam(model.parameters(), lr=lr), [], start(batches)
        while len(losses) < steps:
            batch = batch_of(source)
            logits = model(batch[:, x])
            logp = logits.log_softmax(-1).gather(-1, batch[:, y][:, : logits.shape[1], None])
            optimizer.zero_grad()
            (-logp.mean()).backward()
            optimizer.step()
            losses.append(-logp.mean().item())
        return losses

    return train


ALL, CUT, LATER = slice(None), slice(None, -1), slice(1, None)

MISTAKES = {
    "07.2 eps": ("07.2", own_gpt2(lambda cfg: 1e-5), "eps_by_heart"),
    "07.2 place by token": ("07.2", own_gpt2(places=lambda tokens, cfg: tokens % cfg.n_ctx), "positions_by_token"),
    "08.8 no shift": ("08.8", own_loop(CUT, CUT), "no_shift"),
    "08.8 all of it twice": ("08.8", own_loop(ALL, ALL), "whole_batch_twice"),
    "08.8 two ahead": ("08.8", own_loop(slice(None, -2), slice(2, None)), "two_tokens_ahead"),
    "08.8 backwards": ("08.8", own_loop(LATER, CUT), "shifted_backwards"),
    "08.8 one batch": (
        "08.8",
        own_loop(CUT, LATER, start=lambda b: next(iter(b)), batch_of=lambda b: b),
        "one_batch_again_and_again",
    ),
    "08.8 begun anew": (
        "08.8",
        own_loop(CUT, LATER, start=lambda b: b, batch_of=lambda b: next(iter(b))),
        "batches_begun_anew",
    ),
    "08.1 min": ("08.1", min_for_the_start, "starts_clamped_to_the_last"),
    "08.1 Python's dice": ("08.1", pythons_dice, "generator_not_used"),
    "07.6 id 0 left out": ("07.6", by_hand, "token_0_ignored"),
    "09.8 greedy": ("09.8", greedy, "always_one_beam"),
    "10.5 a whole column": ("10.5", column, "all_queries_and_itself"),
    "10.3 up to pos": ("10.3", patched(lambda pos: slice(None, pos + 1)), "up_to_pos"),
    "10.3 before pos": ("10.3", patched(lambda pos: slice(None, pos)), "before_pos"),
    "10.2 one mean": ("10.2", one_mean, "one_mean_for_everything"),
    "07.1 no scale": ("07.1", block_with(scale=False), "no_scale"),
    "07.1 no b_Q": ("07.1", block_with(without="b_Q"), "no_b_Q"),
    "07.1 no b_V": ("07.1", block_with(without="b_V"), "no_b_V"),
    "07.1 no b_O": ("07.1", block_with(without="b_O"), "no_b_O"),
    "01.3 the last trial": ("01.3", last_trial, "judged_by_the_last_trial"),
    "01.3 any trial": ("01.3", any_trial, "true_as_soon_as_one_trial_fits"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_named(name, pocket):
    number, answer, key = MISTAKES[name]
    verdict = check(number, answer, pocket)
    assert verdict.diagnosis == key, (verdict.diagnosis, verdict.also, verdict.message)


def test_the_written_block_is_right_where_nothing_is_left_out(pocket):
    assert check("07.1", block_with(), pocket).passed
    assert check("07.1", block_with(without="b_K"), pocket).passed, "softmax takes b_K away again"


def test_the_written_model_and_loop_are_right_where_nothing_is_changed(pocket):
    assert check("07.2", own_gpt2(), pocket).passed
    assert check("08.8", own_loop(CUT, LATER), pocket).passed


def test_an_ignored_end_of_text_is_rejected_though_the_models_text_has_none(pocket, monkeypatch):
    """nll_loss itself is not allowed; what it is given here would be a wrong answer too."""
    monkeypatch.setattr(exercise("07.6"), "forbidden", ())
    assert check("07.6", padding_ignored, pocket).diagnosis == "end_of_text_ignored"
