"""GPT-2 small comes from the Hugging Face cache; only `book reference gpt2` ever asks the hub."""

import shutil

import huggingface_hub
import pytest
from huggingface_hub import constants
from typer.testing import CliRunner

from utils.cli import make_app
from utils.reference import ReferenceProblem, choose, chosen, reference


@pytest.fixture
def empty_hub_cache(tmp_path, monkeypatch):
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    return tmp_path / "hub"


def put_in_cache(hub_cache, folder, repository):
    """The layout that huggingface_hub leaves after a download."""
    store = hub_cache / f"models--{repository.replace('/', '--')}"
    (store / "refs").mkdir(parents=True)
    (store / "refs" / "main").write_text("607a30d783dfa663caf39e06633721c8d4cfcd7e")
    snapshot = store / "snapshots" / "607a30d783dfa663caf39e06633721c8d4cfcd7e"
    snapshot.mkdir(parents=True)
    for name in ("config.json", "model.safetensors"):
        (snapshot / name).symlink_to(folder / name)


@pytest.mark.slow
@pytest.mark.parametrize("repository", ["openai-community/gpt2", "gpt2"])
def test_it_is_loaded_from_the_hugging_face_cache(empty_hub_cache, gpt2_folder, repository):
    put_in_cache(empty_hub_cache, gpt2_folder, repository)
    _forget_loaded_models()
    model = reference("gpt2", "cpu")
    assert (model.cfg.n_layers, model.cfg.n_heads, model.cfg.d_model, model.cfg.n_ctx) == (12, 12, 768, 1024)
    assert model.to_tokens("Hello world").tolist() == [[50256, 15496, 995]]


def test_without_it_one_sentence_says_what_to_run(empty_hub_cache, one_sentence):
    _forget_loaded_models()
    with pytest.raises(ReferenceProblem) as caught:
        reference("gpt2")
    assert "book reference gpt2" in one_sentence(caught.value)


@pytest.fixture
def hub(empty_hub_cache, compact_folder, monkeypatch):
    """What the hub was asked for; it answers with a small model's files."""
    asked = []

    def download(repository, allow_patterns, force_download):
        asked.append((repository, allow_patterns, force_download))
        shutil.rmtree(empty_hub_cache, ignore_errors=True)
        put_in_cache(empty_hub_cache, compact_folder, repository)
        return str(next(empty_hub_cache.glob("*/snapshots/*")))

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    return asked


def choose_gpt2():
    result = CliRunner().invoke(make_app("reference"), ["reference", "gpt2"])
    assert result.exit_code == 0, result.output
    assert chosen() == "gpt2"


FILES = ["config.json", "model.safetensors"]


def test_choosing_it_fetches_it_once(hub, own_folders):
    choose_gpt2()
    choose_gpt2()
    assert hub == [("openai-community/gpt2", FILES, False)]


def test_choosing_it_again_replaces_a_broken_file(hub, own_folders, empty_hub_cache):
    choose_gpt2()
    weights = next(empty_hub_cache.rglob("model.safetensors"))
    weights.unlink()
    weights.write_bytes(b"short")
    choose_gpt2()
    assert hub == [("openai-community/gpt2", FILES, False), ("openai-community/gpt2", FILES, True)]


def test_a_failed_fetch_leaves_the_choice_alone(empty_hub_cache, own_folders, monkeypatch, one_sentence):
    choose("gpt2-shaped")

    def no_network(*_, **__):
        raise OSError("Network is unreachable")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", no_network)
    result = CliRunner().invoke(make_app("reference"), ["reference", "gpt2"])
    assert isinstance(result.exception, ReferenceProblem)
    assert "check the network" in one_sentence(result.exception)
    assert chosen() == "gpt2-shaped"


def _forget_loaded_models():
    from utils.reference import loading

    loading._load.cache_clear()
