"""An answer that is right on the reference model's own values alone is told what it has by heart, if anything."""

import pytest
import torch

from utils.exercises import exercise
from utils.grading import check
from utils.grading.activations import activations


def test_a_variable_of_the_notebook_in_place_of_an_argument(pocket):
    """The positions' table is the same at every layer, so a global one is right on all of the model's own values."""
    table = activations(pocket).weight("pos_embed.W_pos").clone()
    verdict = check("03.2", lambda tokens, W_pos: exercise("03.2").solution(tokens, table), pocket)
    assert verdict.diagnosis == "by_heart" and "does not depend on W_pos" in verdict.message


def test_a_size_of_the_model_by_heart(pocket):
    n_heads, d_head = pocket.cfg.n_heads, pocket.cfg.d_head

    def merge_heads(x):
        return x.reshape(*x.shape[:2], n_heads * d_head)

    verdict = check("00.3", merge_heads, pocket)
    assert verdict.diagnosis == "by_heart" and "a size of the model" in verdict.message


def test_a_number_by_heart(pocket):
    """The model's cases all have a penalty of 0.5."""
    verdict = check("09.6", lambda logits, tokens, penalty: exercise("09.6").solution(logits, tokens, 0.5), pocket)
    assert verdict.diagnosis == "by_heart" and "does not depend on penalty" in verdict.message


def test_what_holds_for_the_model_only_is_not_called_a_value_by_heart(pocket):
    """The model's patterns are nowhere far below 1 in their first row, where other patterns may be."""

    def mix_values(pattern, v):
        pattern = torch.cat([torch.eye(1, pattern.shape[-1]).expand_as(pattern[..., :1, :]), pattern[..., 1:, :]], -2)
        return exercise("05.5").solution(pattern, v)

    verdict = check("05.5", mix_values, pocket)
    assert verdict.diagnosis == "special_to_the_model", verdict.message
    assert "holds only there" in verdict.message


@pytest.mark.parametrize("ignored", [0, 2])
def test_a_token_by_heart_is_not_called_a_size(pocket, ignored):
    """On the model's own text this id does not come, on others it does."""

    def lm_loss(logits, tokens):
        counted = tokens[:, 1:] != ignored
        picked = logits[:, :-1].log_softmax(-1).gather(-1, tokens[:, 1:, None])[..., 0]
        return -picked[counted].mean()

    assert not (activations(pocket).tokens == ignored).any()
    verdict = check("07.6", lm_loss, pocket)
    if ignored == 0:
        assert verdict.diagnosis == "token_0_ignored", verdict.message
    else:
        assert verdict.diagnosis == "by_heart" and "is one id written into" in verdict.message


def test_a_number_out_of_place_is_not_called_a_size(pocket):
    """The model's eps is so small that its square does not count."""
    verdict = check("04.3", lambda x, w, b, eps: exercise("04.3").solution(x, w, b, eps + eps**2), pocket)
    assert verdict.diagnosis == "another_number" and verdict.message.startswith("Right with the eps of the reference")


@pytest.mark.parametrize("change", [lambda W: W.mul_(2), lambda W: W.data.mul_(2)], ids=["in place", "by .data"])
def test_weights_of_the_reference_that_an_answer_edits_leave_no_stale_values(pocket, change):
    """The hooks are computed anew: what is compared is what the model says now."""

    def edits(x, W, b):
        with torch.no_grad():
            change(next(p for p in pocket.parameters() if p.ndim == 2 and p.shape[0] != pocket.cfg.d_vocab))
        return torch.einsum("bpm,hmd->bphd", x, W) + b

    kept = {name: p.detach().clone() for name, p in pocket.named_parameters()}
    try:
        check("05.1", edits, pocket)
        for right in ("05.1", "05.7", "07.4"):
            assert check(right, exercise(right).solution, pocket).passed, right
    finally:
        with torch.no_grad():
            for name, p in pocket.named_parameters():
                p.data.copy_(kept[name])
    assert check("05.1", exercise("05.1").solution, pocket).passed
