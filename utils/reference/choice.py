"""Which reference a learner has chosen, kept in their data folder.

The choice changes only when someone changes it: not when the network is down, not when a file is missing. Without one
it is the pocket model.
"""

import json
from pathlib import Path

from utils.paths import data_dir, writable
from utils.reference.problems import ReferenceProblem

KINDS = {
    "pocket": "the small model shipped with the book",
    "gpt2": "GPT-2 small, from the Hugging Face cache",
    "gpt2-shaped": "GPT-2 small's exact shape with seeded random weights",
    "smollm2": "a modern language model, SmolLM2-135M",
}
DEFAULT = "pocket"


def chosen() -> str:
    """The stored choice: a kind's name or a folder.

    Raises:
        ReferenceProblem: the stored choice cannot be read.
    """
    file = _file()
    try:
        return str(json.loads(file.read_text(encoding="utf-8"))["kind"])
    except FileNotFoundError:
        return DEFAULT
    except (OSError, ValueError, KeyError, TypeError) as reason:
        raise ReferenceProblem(
            f"The stored choice of reference in {file} cannot be read: run `book reference pocket` to set it again."
        ) from reason


def choose(kind: str) -> str:
    """Store `kind` (or a folder, made absolute) as the choice and return it as stored."""
    stored = known(kind)
    folder = writable(data_dir())
    draft = folder / ".reference.json"
    draft.write_text(json.dumps({"kind": stored}) + "\n", encoding="utf-8")
    draft.replace(_file())
    return stored


def known(kind: str) -> str:
    """`kind` itself, or the absolute path where it names a folder.

    Raises:
        ReferenceProblem: it is neither.
    """
    if kind in KINDS:
        return kind
    folder = Path(kind).expanduser()
    if folder.is_dir():
        return str(folder.resolve())
    if folder.name != kind:
        raise ReferenceProblem(f"There is no folder {folder}: give a folder that holds config.json and weights.")
    raise ReferenceProblem(f"'{kind}' is not a reference model: use {', '.join(KINDS)} or the path of a folder.")


def _file() -> Path:
    return data_dir() / "reference.json"
