"""What the model card says of the shipped weights, asked again in little: they read stories and know facts."""

import json
import re

import pytest

from utils.paths import pocket_dir
from utils.pocket import evaluate
from utils.pocket.weights import load

CARD = (pocket_dir() / "README.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def shipped():
    return load()


def claimed(figure: str) -> float:
    """The measured figure in the card's table."""
    return float(re.search(rf"^\| `{figure}`[^|]*\| ([\d.,]+) \|", CARD, re.MULTILINE)[1].replace(",", ""))


def test_the_card_states_size_and_parameters(shipped):
    model, vocabulary = shipped
    assert claimed("bytes") == (pocket_dir() / "model.safetensors").stat().st_size <= 12 * 2**20
    assert f"{sum(parameter.numel() for parameter in model.parameters()):,}" in CARD
    assert f"{vocabulary.n_used:,}" in CARD


def test_the_card_and_the_curve_are_of_one_run():
    curve = json.loads((pocket_dir() / "training.json").read_text(encoding="utf-8"))
    assert f"{curve['tokens']:,}" in CARD and f"{curve['steps']:,}" in CARD
    assert (pocket_dir() / "training.json").stat().st_size <= 200_000


def test_held_out_loss_and_the_logit_lens_are_as_claimed(shipped):
    ratio, lens = evaluate.held_out_losses(*shipped, n_documents=150)
    assert ratio == pytest.approx(claimed("loss_ratio"), abs=0.04)
    assert all(later < earlier for earlier, later in zip(lens, lens[1:], strict=False))


def test_facts_and_heads_are_as_claimed(shipped):
    assert evaluate.facts(*shipped, n=120) == pytest.approx(claimed("facts"), abs=0.05)
    accuracy, induction, previous = evaluate.induction(*shipped, n=60)
    assert accuracy == pytest.approx(claimed("induction_accuracy"), abs=0.05)
    assert induction == pytest.approx(claimed("induction_score"), abs=0.05)
    assert previous == pytest.approx(claimed("previous_token_score"), abs=0.05)


def test_the_stories_in_the_card_are_accepted():
    from utils.pocket.world import check_story

    told = [line[2:] for line in CARD.splitlines() if line.startswith("> ")]
    assert len(told) == 5
    for story in told:
        assert all(check_story(story).values()), story
