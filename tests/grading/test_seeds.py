"""No verdict is by chance: `book audit --seeds` finds one that is."""

import json

import pytest
import torch
import typer

from utils.exercises import exercise
from utils.exercises.declare import Wrong
from utils.grading import check
from utils.grading.commands import audit
from utils.grading.seeds import summary, tallies

embed = exercise("03.1")


@pytest.fixture
def with_luck(monkeypatch):
    """03.1 with a right and a wrong answer that are so with every second seed only."""

    def lucky(tokens, W_E):
        return embed.solution(tokens, W_E) + (torch.initial_seed() % 2)

    monkeypatch.setattr(embed, "rights", [embed.rights[0], lucky])
    monkeypatch.setattr(embed, "wrongs", [embed.wrongs[0], Wrong("lucky_too", "By luck.", lucky)])


def test_answers_that_hang_on_the_seed_are_found(with_luck):
    found = {(one.kind, one.program): one for one in tallies(embed, range(3, 7))}
    assert found["right", "lucky"].against == (3, 5) and found["right", "lucky"].by_chance
    assert found["wrong", "lucky_too"].against == (4, 6) and found["wrong", "lucky_too"].by_chance
    assert "passes with 2 of 4 seeds (4, 6)" in str(found["wrong", "lucky_too"])
    assert [one.ok for one in found.values()] == [True, True, False, True, False]
    figures = summary(list(found.values()), range(3, 7))
    assert (figures["right_accepted"], figures["right_total"]) == (2, 3)
    assert (figures["wrong_rejected"], figures["wrong_total"], figures["by_chance"]) == (1, 2, 2)


def test_the_command_prints_one_object_and_fails(with_luck, capsys):
    with pytest.raises(typer.Exit):
        audit(exercise=["03.1"], seeds=2, as_json=True)
    figures = json.loads(capsys.readouterr().out)
    assert figures["seeds"] == 2 and [one["program"] for one in figures["failures"]] == ["lucky", "lucky_too"]


def test_one_exercise_is_one_exercise(capsys):
    audit(exercise=["00.6"])
    assert capsys.readouterr().out.startswith("1 exercise · ")
    audit(exercise=["00.6"], seeds=1)
    assert "1 exercise, 1 seed · " in capsys.readouterr().out


def test_without_names_the_verdict_is_the_same_and_nothing_is_named():
    for wrong in exercise("05.2").wrongs[:3]:
        named, plain = (check("05.2", wrong.answer, named=how) for how in (True, False))
        assert named.diagnosis == wrong.key and plain.diagnosis is None
        assert (plain.passed, plain.stage, plain.mismatch) == (named.passed, named.stage, named.mismatch)


def test_yes_or_no_cannot_be_answered_by_counting():
    from utils.grading.cases import fresh_cases

    def asked(seed):
        cases = [case.where for case in fresh_cases(exercise("01.6"), seed, torch.device("cpu"))]
        return [where for where in cases if where in {special.where for special in exercise("01.6").special_cases}]

    assert asked(0) == [special.where for special in exercise("01.6").special_cases]
    assert len({tuple(asked(seed)) for seed in range(5)}) == 5
    assert {frozenset(asked(seed)) for seed in range(5)} == {frozenset(asked(0))}


def test_the_texts_of_a_search_are_not_known_by_heart():
    from utils.grading.cases import fresh_cases

    def texts(seed):
        cases = list(fresh_cases(exercise("09.8"), seed, torch.device("cpu")))
        return [exercise("09.8").solution(case.args[0].make(), *case.args[1:]).tolist() for case in cases[:8]]

    assert len({str(texts(seed)) for seed in range(4)}) == 4
