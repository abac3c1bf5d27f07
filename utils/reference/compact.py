"""The shipped format: a GPT-2 folder whose token table holds only the rows that training used.

A small model that has read a few thousand different tokens would carry fifty thousand rows of table, nearly all alike.
On disk `transformer.wte.weight` has one row for each id in `wte.token_ids`, in that order, and a last row that all the
other ids share; here it becomes the full table again. Everything else is float16 in the Hugging Face layout.
"""

import json
from pathlib import Path

from jaxtyping import Float, Int
from torch import Tensor

from utils.paths import pocket_dir
from utils.reference.bridge import gpt2_from
from utils.reference.problems import ReferenceProblem
from utils.reference.weights import check_weights, read_weights

WEIGHTS, CONFIG, CHECKSUMS = "model.safetensors", "config.json", "checksums.json"
_TABLE, _IDS = "transformer.wte.weight", "wte.token_ids"


def is_compact(folder: Path) -> bool:
    """Whether `folder` is in this format: only such folders come with checksums."""
    return (folder / CHECKSUMS).is_file()


def check_compact(folder: Path) -> None:
    """Raise what `compact_model` would for a file that is missing, cut short or changed, without reading tensors."""
    _read_json(folder / CONFIG)
    check_weights(folder / WEIGHTS, _remedy(folder), _read_json(folder / CHECKSUMS).get(WEIGHTS, ""))


def compact_model(folder: Path):
    """The Hugging Face GPT-2 in `folder`, in float32.

    Raises:
        ReferenceProblem: a file is missing, cut short, changed, or does not fit the others.
    """
    from transformers import GPT2Config

    check_compact(folder)
    state = read_weights(folder / WEIGHTS, _remedy(folder))
    config = GPT2Config(**_read_json(folder / CONFIG))
    state = {name: tensor.float() if tensor.is_floating_point() else tensor for name, tensor in state.items()}
    try:
        state[_TABLE] = expand(state[_TABLE], state.pop(_IDS), config.vocab_size)
        return gpt2_from(config, state)
    except (KeyError, IndexError, ValueError) as reason:
        raise ReferenceProblem(f"{folder / WEIGHTS} does not fit together ({reason}): {_remedy(folder)}.") from reason


def expand(
    rows: Float[Tensor, "used_and_one d_model"], token_ids: Int[Tensor, " used"], d_vocab: int
) -> Float[Tensor, "d_vocab d_model"]:
    """The full token table: `rows[i]` at `token_ids[i]`, the last row everywhere else.

    >>> expand(torch.tensor([[1.], [2.], [9.]]), torch.tensor([3, 0]), 4).flatten().tolist()
    [2.0, 9.0, 9.0, 1.0]

    Raises:
        ValueError: there is not exactly one more row than ids.
    """
    if len(rows) != len(token_ids) + 1:
        raise ValueError(f"{len(rows)} rows for {len(token_ids)} token ids and one shared row")
    table = rows[-1].expand(d_vocab, -1).clone()  # [d_vocab d_model]
    table[token_ids.long()] = rows[:-1]
    return table


def _read_json(file: Path) -> dict:
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError as reason:
        raise ReferenceProblem(f"There is no {file.name} in {file.parent}: {_remedy(file.parent)}.") from reason
    except (OSError, ValueError) as reason:
        raise ReferenceProblem(f"{file} cannot be read ({reason}): {_remedy(file.parent)}.") from reason


def _remedy(folder: Path) -> str:
    if folder == pocket_dir():
        return "restore utils/reference/pocket from the repository, or install the book anew"
    return f"put a whole copy of the model in {folder}"
