"""`book doctor` finds what is wrong, says it in a sentence, and does not stop at the first."""

import json

import pytest
from typer.testing import CliRunner

from utils import doctor
from utils.cli import make_app


def run(*words):
    return CliRunner().invoke(make_app("doctor"), ["doctor", *words])


def wrong():
    return {finding.check: finding.sentence for finding in doctor.examine() if not finding.ok}


@pytest.fixture(autouse=True)
def some_chapters(own_folders, monkeypatch):
    (own_folders / "chapters").mkdir()
    (own_folders / "chapters" / "05_attention.ipynb").write_text("{}")
    monkeypatch.setattr(doctor, "chapters_dir", lambda: own_folders / "chapters")
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
    monkeypatch.setattr(doctor, "_installed", lambda name: "missing" if name == "plotly" else "1.0")
    found = wrong()
    assert set(found) == {"chapters", "folders", "torch", "packages"}
    assert "set BOOK_CACHE" in one_sentence(found["folders"])
    assert "book build" in one_sentence(found["chapters"])
    assert "plotly missing instead of" in found["packages"] and "make env" in found["packages"]
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
