"""`book pocket evaluate` prints what was measured: a table for a person, one JSON object for a program."""

import json

import pytest
from typer.testing import CliRunner

from utils.pocket import evaluate
from utils.pocket.commands import app

KEYS = (
    "loss_ratio induction_accuracy induction_score previous_token_score facts indirect_object stories lens_falls "
    "forward_seconds load_seconds bytes"
).split()


@pytest.fixture
def measured(monkeypatch):
    figures = dict(zip(KEYS, [1.05, 0.97, 0.8, 0.9, 0.99, 0.5, 0.95, True, 0.1, 1.2, 8_000_000], strict=True))
    monkeypatch.setattr(evaluate, "evaluate", lambda folder: figures)
    return figures


def test_json_is_one_object_and_nothing_else(measured):
    result = CliRunner().invoke(app, ["evaluate", "--json"])
    assert result.exit_code == 0 and json.loads(result.stdout) == measured


def test_the_table_says_which_figure_falls_short(measured):
    shown = CliRunner().invoke(app, ["evaluate"], env={"COLUMNS": "120"}).stdout
    rows = {line.split()[1]: line for line in shown.splitlines() if any(key in line for key in KEYS)}
    assert set(rows) == set(KEYS)
    assert "NO" in rows["indirect_object"] and "yes" in rows["facts"] and "8,000,000" in rows["bytes"]


def test_every_figure_has_a_bar_and_every_bar_a_figure(monkeypatch):
    monkeypatch.setattr(evaluate, "load", lambda folder: (None, None))
    monkeypatch.setattr(evaluate, "quality", lambda model, vocabulary: dict.fromkeys(KEYS[:8], 0.0))
    monkeypatch.setattr(evaluate, "forward_seconds", lambda: 0.1)
    monkeypatch.setattr(evaluate, "load_seconds", lambda: 1.0)
    assert list(evaluate.evaluate()) == KEYS == list(evaluate.BARS)
