"""Whatever is wrong with a model's files, one sentence names the file, what is wrong with it and what to do."""

import json

import pytest
import torch
from safetensors.torch import load_file, save_file

from utils.reference import ReferenceProblem, reference
from utils.reference.loading import check


def drop(name):
    return lambda folder: (folder / name).unlink()


def cut(size):
    def short(folder):
        file = folder / "model.safetensors"
        file.write_bytes(file.read_bytes()[:size])

    return short


def overwrite(name, text):
    return lambda folder: (folder / name).write_text(text)


def flip_a_byte(folder):
    file = folder / "model.safetensors"
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)


COMPACT = {
    "no weights": (drop("model.safetensors"), "There are no weights at .*model.safetensors: put a whole copy"),
    "no configuration": (drop("config.json"), "There is no config.json in .*: put a whole copy"),
    "broken configuration": (overwrite("config.json", "{"), "config.json cannot be read .*: put a whole copy"),
    "broken checksums": (overwrite("checksums.json", "no"), "checksums.json cannot be read .*: put a whole copy"),
    "cut in the tensors": (cut(9000), r"is cut short \(9,000 of [\d,]+ bytes\): put a whole copy"),
    "cut in the header": (cut(100), r"is cut short \(100 of [\d,]+ bytes\): put a whole copy"),
    "cut to nothing": (cut(3), r"is cut short \(3 of 8 bytes\): put a whole copy"),
    "another format": (overwrite("model.safetensors", "version 1"), "is not a weights file .*: put a whole copy"),
    "one byte changed": (flip_a_byte, "is not the file it should be .*SHA-256.*: put a whole copy"),
}


@pytest.mark.parametrize("load", [reference, lambda folder: check(str(folder))], ids=["reference", "check"])
@pytest.mark.parametrize(("breaking", "message"), COMPACT.values(), ids=COMPACT)
def test_a_broken_compact_folder(compact_folder, breaking, message, load, one_sentence):
    breaking(compact_folder)
    with pytest.raises(ReferenceProblem, match=message) as caught:
        load(compact_folder)
    one_sentence(caught.value)


def an_id_too_few(state):
    state["wte.token_ids"] = state["wte.token_ids"][:-1].contiguous()


def an_id_out_of_range(state):
    state["wte.token_ids"][0] = 50257


def a_tensor_too_few(state):
    del state["transformer.h.1.ln_1.bias"]


def another_shape(state):
    state["transformer.h.1.ln_1.bias"] = torch.zeros(3)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (an_id_too_few, "5 rows for 3 token ids"),
        (an_id_out_of_range, "50257 is out of"),
        (a_tensor_too_few, "transformer.h.1.ln_1.bias is missing"),
        (another_shape, "transformer.h.1.ln_1.bias is missing or has another shape"),
    ],
)
def test_tensors_that_do_not_fit_together(compact_folder, seal, change, message, one_sentence):
    state = load_file(compact_folder / "model.safetensors")
    change(state)
    save_file(state, compact_folder / "model.safetensors")
    seal(compact_folder)
    with pytest.raises(ReferenceProblem, match=f"does not fit together .*{message}") as caught:
        reference(compact_folder)
    one_sentence(caught.value)


def test_the_shipped_model_is_restored_from_the_repository(tmp_path, monkeypatch):
    monkeypatch.setattr("utils.reference.loading.pocket_dir", lambda: tmp_path)
    monkeypatch.setattr("utils.reference.compact.pocket_dir", lambda: tmp_path)
    with pytest.raises(ReferenceProblem, match="restore utils/reference/pocket from the repository"):
        check("pocket")


@pytest.fixture
def plain_folder(tmp_path):
    """A tiny GPT-2 in the Hugging Face layout."""
    from transformers import GPT2Config, GPT2LMHeadModel

    GPT2LMHeadModel(GPT2Config(n_embd=8, n_layer=1, n_head=2, n_positions=16)).save_pretrained(tmp_path / "plain")
    return tmp_path / "plain"


def lose_a_tensor(folder):
    file = folder / "model.safetensors"
    state = load_file(file)
    del state["transformer.h.0.mlp.c_fc.bias"]
    save_file(state, file, metadata={"format": "pt"})


def another_vocabulary(folder):
    config = json.loads((folder / "config.json").read_text()) | {"vocab_size": 10}
    (folder / "config.json").write_text(json.dumps(config))
    state = load_file(folder / "model.safetensors")
    state["transformer.wte.weight"] = torch.zeros(10, 8)
    save_file(state, folder / "model.safetensors", metadata={"format": "pt"})


PLAIN = {
    "no weights": (drop("model.safetensors"), "There are no weights at"),
    "no configuration": (drop("config.json"), "holds no config.json"),
    "configuration of nothing known": (overwrite("config.json", '{"model_type": "nothing"}'), "does not describe"),
    "cut short": (cut(9000), "is cut short"),
    "a tensor missing": (lose_a_tensor, "lack 1 tensors .*transformer.h.0.mlp.c_fc.bias"),
    "a vocabulary without tokenizer": (another_vocabulary, "vocabulary of 10 is not GPT-2's"),
    "a broken index": (overwrite("model.safetensors.index.json", "{}"), "index.json cannot be read"),
}


@pytest.mark.parametrize(("breaking", "message"), PLAIN.values(), ids=PLAIN)
def test_a_broken_folder(plain_folder, breaking, message, one_sentence):
    breaking(plain_folder)
    with pytest.raises(ReferenceProblem, match=message) as caught:
        reference(plain_folder)
    one_sentence(caught.value)


def test_a_whole_folder_loads(plain_folder):
    assert reference(plain_folder, "cpu").cfg.d_model == 8


@pytest.mark.parametrize(
    ("kind", "remedy"), [("gpt2", "run `book reference gpt2` to fetch it again"), ("smollm2", "it is made again")]
)
def test_what_the_book_fetched_or_made_can_be_had_again(plain_folder, kind, remedy, monkeypatch, one_sentence):
    monkeypatch.setattr("utils.reference.loading.cached_gpt2", lambda: plain_folder)
    monkeypatch.setattr("utils.reference.loading.smollm2_folder", lambda: plain_folder)
    monkeypatch.setattr("utils.reference.loading.is_converted", lambda: True)
    cut(9000)(plain_folder)
    for ask in (reference, check):
        with pytest.raises(ReferenceProblem, match=f"is cut short .*{remedy}") as caught:
            ask(kind)
        one_sentence(caught.value)
