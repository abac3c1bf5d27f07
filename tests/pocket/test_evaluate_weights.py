"""What is exported is what is loaded, as the compact model, as the full reference, and as sampled text."""

import json

import pytest
import torch

from utils.pocket.model import Pocket, Shape, init_weights
from utils.pocket.sampling import continue_texts
from utils.pocket.vocabulary import encode, world_vocabulary
from utils.pocket.weights import export, load
from utils.reference import ReferenceProblem


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    vocabulary = world_vocabulary(400)
    model = Pocket(Shape(vocabulary.n_used, n_ctx=64, d_model=32, n_heads=2, n_layers=2))
    generator = torch.Generator().manual_seed(0)
    init_weights(model, generator)
    for parameter in model.parameters():  # nothing zero, no gain one, all exact in float16
        parameter.data = (parameter + 0.2 * torch.randn(parameter.shape, generator=generator)).half().float().detach()
    folder = tmp_path_factory.mktemp("pocket")
    size = export(model, vocabulary, folder)
    return model, vocabulary, folder, size


def test_round_trip(exported):
    model, vocabulary, folder, size = exported
    again, words = load(folder)
    assert (words.ids == vocabulary.ids).all() and again.shape == model.shape
    assert size == (folder / "model.safetensors").stat().st_size
    for name, tensor in model.state_dict().items():
        assert torch.equal(tensor, again.state_dict()[name]), name


def test_two_exports_are_the_same_bytes(exported, tmp_path):
    model, vocabulary, folder, _ = exported
    export(model, vocabulary, tmp_path)
    for file in folder.iterdir():
        assert file.read_bytes() == (tmp_path / file.name).read_bytes()


def test_a_changed_file_is_refused(exported, tmp_path):
    model, vocabulary, *_ = exported
    export(model, vocabulary, tmp_path)
    checksums = tmp_path / "checksums.json"
    checksums.write_text(json.dumps({"model.safetensors": "0" * 64}))
    with pytest.raises(ReferenceProblem):
        load(tmp_path)


def test_the_full_reference_agrees(exported):
    """Logits of the used tokens are the same; the others all have the shared row's, less its log-multiplicity."""
    from utils.reference import reference

    model, vocabulary, folder, _ = exported
    ids = torch.tensor(encode(["Once upon a time there was a brave girl."]))
    with torch.no_grad():
        full = reference(str(folder), "cpu")(ids)  # [1 pos d_vocab]
        ours = model(torch.from_numpy(vocabulary.rows(ids.numpy())))
    used = torch.from_numpy(vocabulary.ids)
    unused = torch.tensor(sorted(set(range(50257)) - set(vocabulary.ids.tolist())))
    torch.testing.assert_close(full[..., used], ours[..., :-1], rtol=1e-4, atol=1e-4)
    shared = (ours[..., -1:] - model.log_multiplicity[-1]).expand(-1, -1, len(unused))
    torch.testing.assert_close(full[..., unused], shared, rtol=1e-4, atol=1e-4)


def test_kept_keys_and_values_write_what_a_whole_forward_writes(exported):
    model, vocabulary, *_ = exported
    prompts = ["Once upon a time", "The capital of France is"]
    written = continue_texts(model, vocabulary, prompts, 8, temperature=0)
    for prompt, text in zip(prompts, written, strict=True):
        rows = [vocabulary.end, *vocabulary.rows(encode([prompt])[0]).tolist()]
        start = len(rows)
        for _ in range(8):
            with torch.no_grad():
                rows.append(int(model(torch.tensor([rows]))[0, -1, :-1].argmax()))
        new = rows[start:]
        new = new[: new.index(vocabulary.end)] if vocabulary.end in new else new
        from utils.reference import tokenizer

        assert text == tokenizer().decode(vocabulary.ids[new])


def test_the_same_seed_writes_the_same(exported):
    model, vocabulary, *_ = exported
    one, two, other = (continue_texts(model, vocabulary, ["Once"], 12, 1.0, seed) for seed in (1, 1, 2))
    assert one == two != other
