"""Each measure gives what it must for a model whose figure is known by construction."""

from types import SimpleNamespace

import pytest
import torch

from utils.pocket import evaluate
from utils.pocket.model import Pocket, Shape, init_weights
from utils.pocket.vocabulary import END_OF_TEXT, Vocabulary, encode, world_vocabulary


class Copier:
    """Attends as told and says the token that its first head attends to most."""

    def __init__(self, n_used: int, offsets: tuple[int, ...]):
        self.shape = SimpleNamespace(n_layers=1, n_heads=len(offsets), n_ctx=256)
        self.n_used, self.offsets = n_used, offsets

    def residuals(self, rows):
        pos = torch.arange(rows.shape[1])
        pattern = torch.zeros(len(rows), len(self.offsets), len(pos), len(pos))
        for head, offset in enumerate(self.offsets):
            pattern[:, head, pos, (pos - offset).clamp(min=0)] = 1
        said = torch.nn.functional.one_hot(rows, self.n_used + 1).float()
        return [said, pattern[:, 0] @ said], [pattern]

    def unembed(self, x):
        return x


def test_a_perfect_copier_has_perfect_induction():
    vocabulary = Vocabulary(torch.arange(50).numpy())
    copier = Copier(50, (evaluate.PERIOD - 1, 1))
    accuracy, induction, previous = evaluate.induction(copier, vocabulary, 40)
    assert accuracy == pytest.approx(1) and induction == pytest.approx(1) and previous == pytest.approx(1)


def test_a_head_off_by_one_has_no_induction():
    vocabulary = Vocabulary(torch.arange(50).numpy())
    copier = Copier(50, (evaluate.PERIOD, 2))  # the same token before, and the last but one
    accuracy, induction, previous = evaluate.induction(copier, vocabulary, 40)
    assert accuracy < 0.1 and induction == 0 and previous == 0


def test_random_sequences_repeat_once_after_the_end_of_text():
    vocabulary = Vocabulary(torch.arange(50).numpy())
    tokens = evaluate.repeated(vocabulary, 5)
    assert tokens.shape == (5, 81) and torch.equal(tokens[:, 1:41], tokens[:, 41:])
    assert (tokens[:, 0] == vocabulary.end).all() and (tokens[:, 1:] < vocabulary.end).all()


@pytest.fixture(scope="module")
def untrained():
    vocabulary = world_vocabulary(400)
    model = Pocket(Shape(vocabulary.n_used, n_ctx=256, d_model=32, n_heads=2, n_layers=2))
    init_weights(model, torch.Generator().manual_seed(0))
    return model, vocabulary


def test_an_untrained_model_knows_nothing(untrained):
    ratio, lens = evaluate.held_out_losses(*untrained, n_documents=30)
    assert ratio > 8 and len(lens) == 3
    assert evaluate.facts(*untrained, n=30) == 0
    assert 0.2 < evaluate.indirect_object(*untrained, n=60) < 0.8
    assert not any(all(verdict.values()) for _, verdict in evaluate.told_stories(*untrained, n=3, n_new=20))


def test_held_out_loss_of_a_uniform_model(untrained):
    """All logits equal: every token costs log 50257, whatever the layer."""
    model, vocabulary = untrained
    uniform = Pocket(model.shape)
    for parameter in uniform.parameters():
        parameter.data.zero_()
    from itertools import islice

    from utils.pocket.world import documents

    texts = list(islice(documents(evaluate.HELD_OUT_SEED, "held_out"), 20))
    n_tokens = sum(len(ids) + 1 for ids in encode([text.text for text in texts]))
    expected = n_tokens * torch.log(torch.tensor(50257.0)) / sum(text.nats for text in texts)
    ratio, lens = evaluate.held_out_losses(uniform, vocabulary, 20)
    assert ratio == pytest.approx(float(expected), rel=1e-5)
    assert lens == pytest.approx([10.825] * 3, abs=1e-3)


def test_an_answer_ends_where_a_word_ends():
    assert evaluate._begins(" ten.", " ten") and evaluate._begins(" ten", " ten")
    assert not evaluate._begins(" tenth", " ten") and not evaluate._begins(" nine", " ten")


def test_rows_of_ids_and_of_unused_ones():
    vocabulary = Vocabulary(torch.tensor([3, 7, END_OF_TEXT]).numpy())
    assert vocabulary.rows([7, 3, 5, END_OF_TEXT, 0, 50255]).tolist() == [1, 0, 3, 2, 3, 3]
    assert vocabulary.end == 2


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("loss_ratio", 1.06, 1.07),
        ("facts", 0.95, 0.94),
        ("lens_falls", True, False),
        ("bytes", 12 * 2**20, 12 * 2**20 + 1),
    ],
)
def test_bars_are_read_in_the_right_direction(name, good, bad):
    assert evaluate.reaches(name, good) and not evaluate.reaches(name, bad)
