"""The trained model as it is shipped: the Hugging Face layout in float16, with a compact token table, and back.

`export` writes what `utils.reference` loads; `load` gives the same weights as a `Pocket`, which is smaller and faster
than the full table and agrees with it (there is a test). Left out: the optimizer, which stays in the checkpoints.
"""

import hashlib
import json
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from utils.paths import pocket_dir, writable
from utils.pocket.model import Pocket, Shape
from utils.pocket.vocabulary import END_OF_TEXT, Vocabulary

WEIGHTS = "model.safetensors"
# Ours → Hugging Face's, for what has the same shape in both.
_TOP = {"W_pos": "wpe.weight", "ln_final.weight": "ln_f.weight", "ln_final.bias": "ln_f.bias"}
_BLOCK = {
    "ln1.weight": "ln_1.weight",
    "ln1.bias": "ln_1.bias",
    "ln2.weight": "ln_2.weight",
    "ln2.bias": "ln_2.bias",
    "attn.W_O": "attn.c_proj.weight",
    "attn.b_O": "attn.c_proj.bias",
    "mlp.W_in": "mlp.c_fc.weight",
    "mlp.b_in": "mlp.c_fc.bias",
    "mlp.W_out": "mlp.c_proj.weight",
    "mlp.b_out": "mlp.c_proj.bias",
}


def to_hugging_face(model: Pocket, vocabulary: Vocabulary) -> dict[str, Tensor]:
    """The parameters by their Hugging Face names, float16; the token table stays compact."""
    ours = model.state_dict()
    named = {theirs: ours[name] for name, theirs in _TOP.items()}
    for layer in range(model.shape.n_layers):
        block, prefix = f"blocks.{layer}.", f"h.{layer}."
        named |= {prefix + theirs: ours[block + name] for name, theirs in _BLOCK.items()}
        for kind, word, axis in (("W", "weight", 1), ("b", "bias", 0)):
            parts = [ours[f"{block}attn.{kind}_{name}"] for name in "QKV"]
            named[f"{prefix}attn.c_attn.{word}"] = torch.cat(parts, axis)
    named["wte.weight"] = ours["W_E"]
    state = {f"transformer.{name}": tensor.detach().cpu().half().contiguous() for name, tensor in named.items()}
    state["wte.token_ids"] = torch.from_numpy(vocabulary.ids.astype(np.int32))
    return state


def config(shape: Shape) -> dict:
    """Hugging Face's GPT2Config of this shape."""
    return {
        "model_type": "gpt2",
        "architectures": ["GPT2LMHeadModel"],
        "vocab_size": shape.d_vocab,
        "n_positions": shape.n_ctx,
        "n_embd": shape.d_model,
        "n_layer": shape.n_layers,
        "n_head": shape.n_heads,
        "activation_function": "gelu_new",
        "tie_word_embeddings": True,
        "bos_token_id": END_OF_TEXT,
        "eos_token_id": END_OF_TEXT,
    }


def export(model: Pocket, vocabulary: Vocabulary, folder: Path) -> int:
    """Write weights, configuration and checksum into `folder`; the size of the weights in bytes."""
    from safetensors.torch import save

    writable(folder)
    data = save(to_hugging_face(model, vocabulary))
    (folder / WEIGHTS).write_bytes(data)
    _write_json(folder / "config.json", config(model.shape))
    _write_json(folder / "checksums.json", {WEIGHTS: hashlib.sha256(data).hexdigest()})
    return len(data)


def load(folder: Path | None = None) -> tuple[Pocket, Vocabulary]:
    """The weights in `folder` (those shipped, if None) as a `Pocket` in float32.

    Raises:
        ReferenceProblem: a file is missing, cut short or changed.
    """
    from safetensors.torch import load_file

    from utils.reference.compact import check_compact

    folder = folder or pocket_dir()
    check_compact(folder)
    sizes = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    state = load_file(folder / WEIGHTS)
    vocabulary = Vocabulary(state["wte.token_ids"].numpy().astype(np.int64))
    shape = Shape(
        vocabulary.n_used, sizes["n_positions"], sizes["n_embd"], sizes["n_head"], sizes["n_layer"], sizes["vocab_size"]
    )
    model = Pocket(shape)
    model.load_state_dict(_from_hugging_face(state, shape))
    return model, vocabulary


def _from_hugging_face(state: dict[str, Tensor], shape: Shape) -> dict[str, Tensor]:
    named = {name.removeprefix("transformer."): tensor.float() for name, tensor in state.items()}
    ours = {"W_E": named["wte.weight"]} | {name: named[theirs] for name, theirs in _TOP.items()}
    for layer in range(shape.n_layers):
        block, prefix = f"blocks.{layer}.", f"h.{layer}."
        ours |= {block + name: named[prefix + theirs] for name, theirs in _BLOCK.items()}
        for kind, word, axis in (("W", "weight", 1), ("b", "bias", 0)):
            parts = named[f"{prefix}attn.c_attn.{word}"].chunk(3, axis)
            ours |= {f"{block}attn.{kind}_{name}": part for name, part in zip("QKV", parts, strict=True)}
    return ours


def _write_json(file: Path, content: dict) -> None:
    file.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
