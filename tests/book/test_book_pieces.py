"""Chapters 07 and 11 take a learner's pieces from the saved notebooks of earlier chapters: which, and in what state."""

import json
import re
from pathlib import Path

import nbformat
import pytest

from utils.paths import chapters_dir

READERS = {"07_transformer": "pieces-found", "11_modern": "sampler"}

IMPORTS = "from utils import grade, use"
ANSWER = "def initial_residual(tokens, W_E, W_pos):\n    return use(embed)(tokens, W_E) + W_pos[: tokens.shape[1]]"
STUB = 'def embed(tokens, W_E):\n    raise NotImplementedError("Write embed here.")'
DEMO = "seen = embed(1, 2)"


def cell(code, exercise=None):
    return {"cell_type": "code", "source": code, "metadata": {"book": {"exercise": exercise} if exercise else {}}}


@pytest.fixture(params=READERS)
def written_in(request, tmp_path, monkeypatch):
    """The chapter's own function, in a folder that holds one saved notebook."""
    notebook = nbformat.read(chapters_dir() / f"{request.param}.ipynb", as_version=4)
    [found] = [cell for cell in notebook.cells if cell.metadata.get("book", {}).get("key") == READERS[request.param]]
    cells = [cell(IMPORTS), cell(STUB, "03.1"), cell(ANSWER, "03.3"), cell(DEMO)]
    (tmp_path / "03_saved.ipynb").write_text(json.dumps({"cells": cells}), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    names = {"re": re, "json": json, "Path": Path}
    exec(found.source, names)
    return names["written_in"]


def test_an_answer_may_ask_for_the_books_version_of_a_skipped_part(written_in):
    from utils.grading import check

    assert check("03.3", written_in("03")["initial_residual"], device="cpu").passed


def test_a_part_that_is_not_written_is_not_handed_on(written_in):
    assert "embed" not in written_in("03")


def test_only_the_exercises_run(written_in, capsys):
    assert "seen" not in written_in("03")
    assert capsys.readouterr().out == ""
