"""An answer that raises is named after a mistake that raises in the same way, not after any error of the same kind."""

import pytest
import torch

from utils.exercises import exercise
from utils.grading import check


def another_reason(*args):
    raise RuntimeError("the kettle is empty")


def keyed(*args):
    return {}["kettle"]


def valued(*args):
    return int("kettle")


@pytest.mark.parametrize(
    "number, answer",
    [
        ("00.5", another_reason),  # along_pos and three more raise a RuntimeError here too
        ("01.4", another_reason),
        ("03.5", lambda resid, W_U, b_U: W_U @ resid),  # transposed raises about other shapes
        ("02.7", keyed),
        ("02.6", valued),
    ],
)
def test_an_error_of_the_same_kind_alone_is_no_mistake_with_a_name(number, answer):
    verdict = check(number, answer)
    assert verdict.stage == "runs" and verdict.diagnosis is None, verdict.message


def test_the_same_error_in_other_words_is_named_where_all_else_is_right():
    """Nothing but this fails, and it fails where the wrong answer does."""

    def top_k_filter(logits, k):
        if k > logits.shape[-1]:
            raise RuntimeError("not so many")
        return exercise("09.4").solution(logits, k)

    assert check("09.4", top_k_filter).diagnosis == "crash_on_large_k"


def test_a_mask_of_another_fixed_size_is_the_same_mistake():
    """The declared one has 64 places; the error names this one's 40."""

    def causal_mask(scores):
        future = torch.ones(40, 40, dtype=torch.bool).triu(1)
        queries, keys = scores.shape[-2:]
        return scores.masked_fill(future[keys - queries : keys, :keys], -torch.inf)

    assert check("05.3", causal_mask).diagnosis == "fixed_size"


def test_figures_that_chance_decides_do_not_matter():
    """Where a stack of windows breaks depends on what was drawn before."""

    def make_batches(ids, n_ctx, batch, generator):
        while True:
            torch.randint(9, (3,), generator=generator)
            starts = torch.randint(len(ids), (batch,), generator=generator)
            yield torch.stack([ids[s : s + n_ctx + 1] for s in starts.tolist()])

    assert check("08.1", make_batches).diagnosis == "runs_over_the_end"


def test_shapes_in_an_error_tell_mistakes_apart():
    """Both are products of matrices that do not fit."""
    assert check("01.5", lambda A, B: B.T @ A).diagnosis == "A_not_transposed"
    assert check("01.5", lambda A, B: B @ A.T).diagnosis == "B_not_transposed"


def test_what_torch_has_not_implemented_is_not_called_unwritten():
    def project_heads(x, W, b):
        torch.cdist(x, x)  # not for bfloat16
        return exercise("05.1").solution(x, W, b)

    verdict = check("05.1", project_heads)
    assert "The answer raised NotImplementedError" in verdict.message
    assert verdict.message.endswith("give the result the input's dtype.") and "not written" not in verdict.message


def test_a_default_that_is_missing_is_named():
    def softmax(x, dim):
        return exercise("01.9").solution(x, dim)

    verdict = check("01.9", softmax)
    assert verdict.stage == "signature" and "write dim=-1 among its parameters" in verdict.message


def test_a_number_that_python_does_not_print_is_told_by_its_length():
    verdict = check("08.2", lambda *args: 1 << 200_000)
    assert verdict.stage == "type" and "a whole number of 200,001 binary digits" in verdict.message
