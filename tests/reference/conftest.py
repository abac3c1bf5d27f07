"""Small models to load: one in the compact format, and GPT-2 small's exact shape in the Hugging Face layout."""

import hashlib
import json
import shutil

import pytest

TINY = dict(vocab_size=50257, n_positions=32, n_embd=16, n_layer=2, n_head=2, bos_token_id=50256, eos_token_id=50256)


@pytest.fixture
def compact_folder(tmp_path):
    """A tiny GPT-2 with random weights in the format that the pocket model is shipped in."""
    import torch
    from safetensors.torch import save_file
    from transformers import GPT2Config

    from utils.reference.shaped import random_state

    state = random_state(GPT2Config(**TINY), torch.Generator().manual_seed(1))
    token_ids = torch.tensor([262, 464, 3797, 50256], dtype=torch.int32)
    table = state["transformer.wte.weight"]
    state["transformer.wte.weight"] = torch.cat([table[token_ids.long()], table[:1]])
    halves = {name: tensor.half().contiguous() for name, tensor in state.items()}
    folder = tmp_path / "compact"
    folder.mkdir()
    save_file(halves | {"wte.token_ids": token_ids}, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(TINY))
    _write_checksum(folder)
    return folder


def _write_checksum(folder):
    digest = hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()
    (folder / "checksums.json").write_text(json.dumps({"model.safetensors": digest}))


@pytest.fixture
def seal():
    """Write the checksum that a changed compact folder would need to be believed."""
    return _write_checksum


@pytest.fixture(scope="session")
def gpt2_folder(tmp_path_factory):
    """A folder like the one the hub gives for GPT-2 small: its exact configuration, seeded weights, no tokenizer."""
    from utils.reference.shaped import shaped_model

    folder = tmp_path_factory.mktemp("gpt2")
    shaped_model().save_pretrained(folder)
    yield folder
    shutil.rmtree(folder)
