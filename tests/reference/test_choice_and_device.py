"""The chosen reference stays chosen, and the device is the one asked for."""

import json

import pytest
import torch

from utils.paths import FolderProblem
from utils.reference import KINDS, ReferenceProblem, choose, chosen, device, reference


def test_without_a_choice_it_is_the_pocket_model(own_folders):
    assert chosen() == "pocket"
    assert list(own_folders.iterdir()) == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_choice_lasts(kind, own_folders):
    choose(kind)
    assert chosen() == kind


def test_a_folder_is_kept_as_an_absolute_path(own_folders, tmp_path, monkeypatch):
    (tmp_path / "model").mkdir()
    monkeypatch.chdir(tmp_path)
    assert choose("./model") == chosen() == str(tmp_path / "model")


def test_reference_follows_the_choice(own_folders, compact_folder):
    choose(str(compact_folder))
    assert reference(device="cpu") is reference(compact_folder, "cpu")


@pytest.mark.parametrize("ask", [choose, reference])
def test_an_unknown_kind_names_the_known_ones(ask, own_folders, one_sentence):
    with pytest.raises(ReferenceProblem) as caught:
        ask("gpt3")
    assert all(kind in one_sentence(caught.value) for kind in KINDS)


def test_a_missing_folder_is_named(own_folders, one_sentence):
    with pytest.raises(ReferenceProblem, match="There is no folder models/mine") as caught:
        reference("models/mine")
    one_sentence(caught.value)


@pytest.mark.parametrize("content", ["", "[]", '{"kind"', "{}"])
def test_a_broken_choice_says_how_to_choose_again(content, own_folders, one_sentence):
    (own_folders / "data").mkdir()
    (own_folders / "data" / "reference.json").write_text(content)
    with pytest.raises(ReferenceProblem, match="book reference pocket") as caught:
        chosen()
    one_sentence(caught.value)
    choose("pocket")
    assert json.loads((own_folders / "data" / "reference.json").read_text()) == {"kind": "pocket"}


def test_a_data_folder_that_cannot_be_written_is_named(tmp_path, monkeypatch, one_sentence):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("BOOK_DATA", str(tmp_path / "file" / "data"))
    with pytest.raises(FolderProblem, match="set BOOK_DATA") as caught:
        choose("pocket")
    one_sentence(caught.value)


def test_the_device_asked_for(monkeypatch):
    assert device("cpu") == torch.device("cpu")
    monkeypatch.setenv("BOOK_DEVICE", "cpu")
    assert device() == torch.device("cpu")
    monkeypatch.delenv("BOOK_DEVICE")
    assert device().type == ("cuda" if torch.cuda.is_available() else "cpu")


@pytest.mark.parametrize("name", ["tpu", "cuda:99", "meta", ""])
def test_a_device_that_is_not_here(name, one_sentence, monkeypatch):
    monkeypatch.setenv("BOOK_DEVICE", name or "gpu")
    with pytest.raises(ReferenceProblem, match="use cuda, mps or cpu|use cpu") as caught:
        device()
    one_sentence(caught.value)
