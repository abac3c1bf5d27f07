"""A short training lowers the loss, and an interrupted one goes on exactly as if nothing had happened."""

from dataclasses import replace

import pytest
import torch

from utils.pocket.data import echo_piece, repeat_piece
from utils.pocket.run import PocketProblem, Run, Settings, load_run, save_checkpoint
from utils.pocket.train import LATEST, STABLE, Budget, open_run, train, write_curve
from utils.pocket.vocabulary import world_vocabulary

TINY = Settings(
    n_ctx=64,
    d_model=32,
    n_heads=2,
    n_layers=2,
    matrix_lr=0.01,
    other_lr=0.01,
    warmup_steps=4,
    shard_documents=80,
    pieces_a_step=2,
    echo_tokens=0,
    pattern_tokens=0,
)


@pytest.fixture(scope="module")
def vocabulary():
    return world_vocabulary(400)


def losses(run, steps):
    return [run.step(0.0) for _ in range(steps)]


def test_loss_falls(vocabulary):
    run = Run(TINY, vocabulary)
    text = [step["text"] for step in losses(run, 20) if "text" in step]
    run.close()
    assert sum(text[-4:]) < 0.85 * sum(text[:4])


def test_resumed_losses_are_the_uninterrupted_ones(vocabulary, tmp_path):
    whole = Run(TINY, vocabulary)
    expected = losses(whole, 12)  # over the end of the first shard
    assert whole.shard >= 1, "the test should cross shards"
    first = Run(TINY, vocabulary)
    losses(first, 5)
    save_checkpoint(first, tmp_path / LATEST)
    second = load_run(tmp_path / LATEST)
    assert losses(second, 7) == expected[5:]
    for run in (whole, first, second):
        run.close()
    assert second.curve == whole.curve
    for ours, theirs in zip(second.model.parameters(), whole.model.parameters(), strict=True):
        assert torch.equal(ours, theirs)


def test_the_number_of_workers_does_not_change_the_losses(vocabulary):
    one, two = Run(TINY, vocabulary, workers=1), Run(TINY, vocabulary, workers=2)
    assert losses(one, 4) == losses(two, 4)
    one.close()
    two.close()


def test_another_seed_reads_other_text(vocabulary):
    one, two = Run(TINY, vocabulary), Run(replace(TINY, seed=2), vocabulary)
    assert losses(one, 1) != losses(two, 1)
    one.close()
    two.close()


def test_a_longer_run_goes_on_from_before_the_rate_fell(vocabulary, tmp_path):
    run = Run(TINY, vocabulary)
    train(run, Budget(tokens=30_000), tmp_path, lambda losses, done: None)
    assert run.fell and run.curve[-1]["rate"] < 0.2
    same = open_run(tmp_path, True, TINY.seed, Budget(tokens=30_000))
    longer = open_run(tmp_path, True, TINY.seed, Budget(tokens=300_000))
    assert same.tokens == run.tokens
    assert longer.tokens < run.tokens and longer.curve[-1]["rate"] == 1 and (tmp_path / STABLE).exists()
    same.close()
    longer.close()


def test_the_curve_is_written_small_and_whole(vocabulary, tmp_path):
    import json

    run = Run(TINY, vocabulary)
    losses(run, 6)
    run.close()
    write_curve(run, tmp_path / "training.json")
    content = json.loads((tmp_path / "training.json").read_text())
    assert [point["step"] for point in content["curve"]] == [1, 2, 3, 4, 5, 6]
    assert content["tokens"] == run.tokens == content["curve"][-1]["tokens"]
    run.curve = run.curve * 2000
    write_curve(run, tmp_path / "training.json")
    assert (tmp_path / "training.json").stat().st_size < 200_000


def test_a_broken_checkpoint_is_one_sentence(tmp_path):
    (tmp_path / LATEST).write_bytes(b"not a checkpoint")
    with pytest.raises(PocketProblem, match="--fresh"):
        load_run(tmp_path / LATEST)
    with pytest.raises(PocketProblem, match="book pocket train"):
        load_run(tmp_path / "nothing.pt")


def test_only_the_repeated_part_of_random_tokens_counts(vocabulary):
    for easy in (True, False):
        piece = repeat_piece(vocabulary, easy, 256, (0, 1))
        for tokens, weight in zip(piece.tokens, piece.weight, strict=True):
            first = int(weight.nonzero()[0])  # the target at `first` is tokens[first + 1]
            period = first - 1
            counted = torch.arange(first, len(weight))
            assert torch.equal(tokens[counted + 1], tokens[counted + 1 - period])
            assert weight[:first].sum() == 0 and weight[first:].min() == 1


def test_positions_without_weight_give_no_gradient(vocabulary):
    run = Run(TINY, vocabulary)
    piece = repeat_piece(vocabulary, True, TINY.n_ctx, (0, 2))
    gradients, loss = run.stepper._gradients(replace(piece, weight=torch.zeros_like(piece.weight)), 1.0)
    run.close()
    assert loss == 0 and all(float(gradient.abs().max()) == 0 for gradient in gradients)


def test_echoes_say_the_token_before_last(vocabulary):
    piece = echo_piece(vocabulary, 256, (0, 3))
    row, place = piece.weight.nonzero(as_tuple=True)
    assert torch.equal(piece.tokens[row, place + 1], piece.tokens[row, place - 1])
    assert 0.3 < float(piece.weight.mean()) < 0.5
    assert (piece.tokens[:, 0] == vocabulary.end).all() and (piece.tokens[:, 1:] < vocabulary.end).all()
