"""`book build --check` finds every way in which what is committed is not what the source gives."""

import json

import pytest

from utils.book.build import build_chapter
from utils.book.check import check_chapter, strays


def sentences(shelf) -> list[str]:
    return [str(problem) for problem in check_chapter(shelf, "05_tiny")]


def edit(path, change) -> None:
    notebook = json.loads(path.read_text())
    change(notebook)
    path.write_text(json.dumps(notebook))


def cell(notebook, key):
    return next(cell for cell in notebook["cells"] if cell["metadata"]["book"]["key"] == key)


def test_what_was_just_built_is_sound(built):
    assert sentences(built) == []
    assert strays(built) == []


def set_source(key, text):
    return lambda notebook: cell(notebook, key).update(source=text)


CHANGES = {
    "code edited": ("chapter", set_source("measure", "1 + 1"), "(see measure-"),
    "prose edited": ("chapter", set_source("spread", "## Other"), "(see spread-"),
    "prose edited in the solution": ("solution", set_source("halve-why", "No."), "(see halve-why-"),
    "a cell added": ("chapter", lambda nb: nb["cells"].append({**nb["cells"][0], "id": "new"}), "(see new)"),
    "a cell taken away": ("chapter", lambda nb: nb["cells"].pop(3), "(see measure-"),
    "cells swapped": ("chapter", lambda nb: nb["cells"].reverse(), "cell order"),
    "metadata": ("chapter", lambda nb: nb["metadata"].update(x=1), "metadata"),
    "a tag": ("solution", lambda nb: cell(nb, "setup")["metadata"].update(tags=["nbval-skip"]), "(see setup-"),
    "an answer left": (
        "chapter",
        set_source("halve-answer", "def halve(x):\n    return [number * 0.5 for number in x]"),
        'a line of an answer (05_tiny.py:49) stands in the cell "halve-answer"',
    ),
    "an output in a chapter": (
        "chapter",
        lambda nb: cell(nb, "measure").update(outputs=[{"output_type": "stream", "name": "stdout", "text": "x"}]),
        'outputs are stored in the cell "measure"',
    ),
    "an error stored": (
        "solution",
        lambda nb: cell(nb, "setup").update(
            outputs=[{"output_type": "error", "ename": "NameError", "evalue": "x", "traceback": []}]
        ),
        'the stored output of the cell "setup": an error is stored in its outputs (NameError)',
    ),
    "a path stored": (
        "solution",
        lambda nb: cell(nb, "measure")["outputs"][0].update(text="/home/someone/book"),
        "a path of this machine ('/home/someone",
    ),
    "outputs of other code": (
        "solution",
        lambda nb: nb["metadata"]["book"].update(outputs_of="0" * 64),
        "its outputs belong to other code or another model",
    ),
    "never executed": ("solution", lambda nb: nb["metadata"]["book"].pop("outputs_of"), "it has not been executed"),
    "a chapter too large": ("chapter", set_source("title", "x" * 160_000), "its chapter notebook has 16"),
    "a solution too large": ("solution", set_source("title", "x" * 3_100_000), "its solution notebook has 3,1"),
}


@pytest.mark.parametrize("kind, change, sentence", CHANGES.values(), ids=CHANGES)
def test_each_kind_of_drift_is_found(own_copy, kind, change, sentence):
    edit(getattr(own_copy, kind)("05_tiny"), change)
    assert any(sentence in found for found in sentences(own_copy)), sentences(own_copy)


def test_a_source_that_was_edited_is_found_in_both_notebooks(own_copy, tiny_text):
    own_copy.source("05_tiny").write_text(tiny_text.replace("0.12345", "0.54321"))
    found = sentences(own_copy)
    assert [sum(kind in one for one in found) for kind in ("chapters/05_tiny", "solutions/05_tiny.ipynb")] == [1, 2]


def test_a_fault_of_the_source_is_told_and_nothing_else(own_copy, tiny_text):
    own_copy.source("05_tiny").write_text(
        tiny_text.replace('# END\n\n\n# %% key="halve-grade', '\n# %% key="halve-grade')
    )
    (found,) = sentences(own_copy)
    assert "05_tiny.py:47: this `# SOLUTION` has no `# END`" in found


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"cells": 3, "nbformat": 4, "nbformat_minor": 5, "metadata": {}}'])
def test_a_notebook_that_is_none_is_one_sentence(own_copy, damage):
    own_copy.chapter("05_tiny").write_text(damage)
    (found,) = sentences(own_copy)
    assert found.endswith("05_tiny.ipynb: it is not a notebook: delete it and run `book build`.")


def test_a_notebook_that_is_missing_or_has_no_source_is_found(own_copy):
    own_copy.chapter("05_tiny").rename(own_copy.root / "chapters" / "06_old.ipynb")
    assert [found.rpartition(": ")[2] for found in sentences(own_copy)] == ["run `book build`."]
    (stray,) = strays(own_copy)
    assert stray.path.name == "06_old.ipynb"


def test_outputs_of_another_model_are_found(built, tmp_path, monkeypatch):
    from utils.book import notebooks

    (tmp_path / "checksums.json").write_text('{"model.safetensors": "0"}')
    monkeypatch.setattr(notebooks, "pocket_dir", lambda: tmp_path)
    assert [one.partition(" or another model")[1] for one in sentences(built)] == [" or another model"]


def test_a_check_changes_nothing(own_copy):
    edit(own_copy.chapter("05_tiny"), set_source("measure", "1 + 1"))
    before = {path: path.read_bytes() for path in own_copy.root.rglob("*") if path.is_file()}
    sentences(own_copy)
    assert before == {path: path.read_bytes() for path in own_copy.root.rglob("*") if path.is_file()}


def test_a_build_mends_what_a_check_finds(own_copy):
    edit(own_copy.chapter("05_tiny"), set_source("measure", "1 + 1"))
    build_chapter(own_copy, "05_tiny", run=False)
    assert sentences(own_copy) == []
