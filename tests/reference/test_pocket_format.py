"""A compact folder becomes the model it stands for, once, without disturbing anything around it."""

import logging
import os
import warnings

import pytest
import torch
from safetensors.torch import load_file
from transformers import GPT2Config, GPT2LMHeadModel

from utils.paths import pocket_dir
from utils.reference import reference
from utils.reference.compact import expand
from utils.reference.loading import check


@pytest.fixture
def model(compact_folder):
    return reference(compact_folder, "cpu")


def test_the_logits_are_those_of_the_plain_model(model, compact_folder):
    state = {name: tensor.float() for name, tensor in load_file(compact_folder / "model.safetensors").items()}
    rows, ids = state["transformer.wte.weight"], state.pop("wte.token_ids").long().tolist()
    table = torch.stack([rows[ids.index(i)] if i in ids else rows[-1] for i in range(50257)])
    plain = GPT2LMHeadModel(GPT2Config(**_config(compact_folder))).eval()
    plain.load_state_dict(state | {"transformer.wte.weight": table, "lm_head.weight": table})
    tokens = torch.tensor([[50256, 464, 3797, 11, 262], [50256, 1, 2, 464, 464]])
    with torch.no_grad():
        expected = plain(tokens).logits
    torch.testing.assert_close(model(tokens), expected, rtol=1e-4, atol=1e-5)


def test_ids_that_were_never_used_share_a_row(model):
    table = model.W_E
    assert torch.equal(table[0], table[1]) and torch.equal(table[0], table[50000])
    assert not torch.equal(table[0], table[262]) and not torch.equal(table[464], table[262])


def test_expand_puts_each_row_at_its_id():
    rows = torch.tensor([[1.0], [2.0], [9.0]])
    assert expand(rows, torch.tensor([3, 0]), 5).flatten().tolist() == [2.0, 9.0, 9.0, 1.0, 9.0]


def test_it_is_loaded_once_a_kernel(model, compact_folder):
    assert reference(compact_folder, "cpu") is model
    assert reference(str(compact_folder), torch.device("cpu")) is model


def test_it_keeps_no_gradients_and_is_not_training(model):
    assert not model(torch.tensor([[50256, 464]])).requires_grad
    assert not any(module.training for module in model.modules())


def test_the_learners_random_numbers_are_untouched(compact_folder):
    torch.manual_seed(7)
    before = torch.get_rng_state()
    reference(compact_folder, "cpu")
    assert torch.equal(torch.get_rng_state(), before)


def test_loading_says_nothing_and_leaves_no_trace(compact_folder, capfd):
    logger = logging.getLogger("transformers")
    level, offline = logger.level, os.environ.get("HF_HUB_OFFLINE")
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        reference(compact_folder, "cpu")
    printed = capfd.readouterr()
    assert (printed.out, printed.err, [str(warning.message) for warning in said]) == ("", "", [])
    assert (logger.level, os.environ.get("HF_HUB_OFFLINE")) == (level, offline)


def test_the_shipped_model_is_whole_and_has_its_promised_shape(pocket):
    check("pocket")
    cfg = pocket.cfg
    assert (cfg.n_layers, cfg.n_heads, cfg.d_model, cfg.n_ctx, cfg.d_vocab) == (4, 8, 256, 256, 50257)
    assert (pocket_dir() / "model.safetensors").stat().st_size < 12_000_000


def _config(folder):
    import json

    return json.loads((folder / "config.json").read_text())
