"""`book doctor` finds what is wrong, says it in a sentence, and does not stop at the first."""

import json
import platform
import sys

import pytest
from typer.testing import CliRunner

from utils import doctor, doctor_checks
from utils.cli import make_app


def run(*words):
    return CliRunner().invoke(make_app("doctor"), ["doctor", *words])


def wrong():
    return {finding.check: finding.sentence for finding in doctor.examine() if not finding.ok}


@pytest.fixture(autouse=True)
def some_chapters(own_folders, monkeypatch):
    (own_folders / "chapters").mkdir()
    (own_folders / "chapters" / "05_attention.ipynb").write_text("{}")
    monkeypatch.setattr(doctor_checks, "chapters_dir", lambda: own_folders / "chapters")
    monkeypatch.setattr(doctor_checks, "solutions_dir", lambda: own_folders / "solutions")
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(own_folders / "jupyter"))
    return own_folders / "chapters"


def test_a_whole_installation_is_well():
    result = run()
    assert result.exit_code == 0, result.output
    assert "WRONG" not in result.output


def test_it_prints_one_object():
    report = json.loads(run("--json").output)
    assert report["ok"] is True
    assert [finding["check"] for finding in report["findings"]] == list(doctor.CHECKS)


def test_several_problems_are_all_told(some_chapters, monkeypatch, tmp_path, one_sentence):
    (some_chapters / "05_attention.ipynb").unlink()
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("BOOK_CACHE", str(tmp_path / "file" / "cache"))
    monkeypatch.setenv("BOOK_DEVICE", "tpu")
    monkeypatch.setattr(doctor_checks, "_installed", lambda name: "missing" if name == "plotly" else "1.0")
    found = wrong()
    assert set(found) == {"chapters", "folders", "torch", "packages"}
    assert "set BOOK_CACHE" in one_sentence(found["folders"])
    assert "book build" in one_sentence(found["chapters"])
    assert "plotly missing instead of" in one_sentence(found["packages"]) and "make env" in found["packages"]
    assert run().exit_code == 1


def test_a_kernel_of_another_python_is_found(monkeypatch, tmp_path, one_sentence):
    kernel = tmp_path / "kernels" / "python3"
    kernel.mkdir(parents=True)
    (kernel / "kernel.json").write_text(json.dumps({"argv": ["/usr/bin/other-python"], "display_name": "Other"}))
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path))
    assert "/usr/bin/other-python" in one_sentence(wrong()["kernel"])


def test_a_broken_choice_is_found(own_folders, one_sentence):
    (own_folders / "data").mkdir()
    (own_folders / "data" / "reference.json").write_text("{")
    assert "book reference pocket" in one_sentence(wrong()["reference"])


def notes():
    return {finding.check: finding.sentence for finding in doctor.examine() if finding.note}


WITH_OUTPUT = {
    "cells": [{
        "id": "a", "cell_type": "code", "source": "1", "metadata": {}, "execution_count": 1,
        "outputs": [{"output_type": "stream", "name": "stdout", "text": "1"}],
    }],
    "metadata": {}, "nbformat": 4, "nbformat_minor": 5,
}  # fmt: skip


def test_a_notebook_whose_outputs_are_not_trusted_is_a_note_until_it_is_signed(some_chapters, one_sentence):
    import nbformat
    from nbformat.sign import NotebookNotary

    path = some_chapters / "05_attention.ipynb"
    assert "trust" not in notes()
    path.write_text(json.dumps(WITH_OUTPUT))
    note = one_sentence(notes()["trust"])
    assert "05_attention.ipynb" in note and "jupyter trust" in note
    assert run().exit_code == 0, "a note is no fault"
    assert not (some_chapters.parent / "jupyter").exists(), "looking wrote a secret"
    NotebookNotary().sign(nbformat.read(path, as_version=4))
    assert "trust" not in notes()


def test_a_chapter_that_is_no_notebook_is_named(some_chapters, one_sentence):
    (some_chapters / "05_attention.ipynb").write_text("{")
    assert "05_attention.ipynb" in one_sentence(wrong()["trust"])


@pytest.mark.parametrize(("gigabytes", "found", "state"), [(0.1, wrong, "free some"), (1, notes, "BOOK_CACHE")])
def test_too_little_room_is_told(monkeypatch, one_sentence, gigabytes, found, state):
    monkeypatch.setattr(doctor_checks, "_free", lambda folder: gigabytes * 10**9)
    assert state in one_sentence(found()["disk"])


def test_without_a_sandbox_only_teachers_are_told_what_to_do(monkeypatch, one_sentence):
    monkeypatch.setattr("utils.classroom.sandbox.available", lambda: "The sandbox needs bubblewrap: install it.")
    assert "Only teachers" in notes()["sandbox"] and "install it" in notes()["sandbox"]
    assert run().exit_code == 0


def test_an_old_python_is_wrong(monkeypatch, one_sentence):
    monkeypatch.setattr(doctor_checks, "PYTHON", (99, 0))
    assert "99.0 or newer" in one_sentence(wrong()["python"])


def test_from_pip_the_packages_need_only_be_ones_that_the_book_takes(monkeypatch, one_sentence):
    monkeypatch.setattr(doctor_checks, "is_checkout", lambda: False)
    assert "packages" not in wrong()
    monkeypatch.setattr(doctor_checks, "_installed", lambda name: "missing" if name == "plotly" else "2.0")
    sentence = one_sentence(wrong()["packages"])
    assert "plotly missing where >=6.1 is needed" in sentence and "with pip" in sentence


def test_it_tells_what_a_helper_would_ask_for():
    said = run().output
    assert platform.python_version() in said and sys.executable in said and platform.system() in said
    assert all(name in said for name in ("PyTorch", "The chosen reference", "GB at"))
