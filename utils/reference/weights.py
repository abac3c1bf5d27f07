"""Read a safetensors file and say plainly what is wrong with one that cannot be read.

The format states its own length, so a file cut short by a broken download is told apart from one that was changed.
"""

import hashlib
import json
import struct
from pathlib import Path

from torch import Tensor

from utils.reference.problems import ReferenceProblem


def read_weights(file: Path, remedy: str) -> dict[str, Tensor]:
    """The tensors in `file`, by name, on the CPU. `remedy` ends the sentence when the file cannot be used.

    Raises:
        ReferenceProblem: what the file holds is not what its header says.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        return load_file(file)
    except SafetensorError as reason:
        raise ReferenceProblem(f"{file} is not a weights file that can be read ({reason}): {remedy}.") from reason


def check_weights(file: Path, remedy: str, sha256: str | None = None) -> None:
    """Look at `file` from outside, without reading its tensors.

    Raises:
        ReferenceProblem: missing, cut short, not safetensors, or its SHA-256 is not `sha256`.
    """
    if not file.is_file():
        raise ReferenceProblem(f"There are no weights at {file}: {remedy}.")
    promised, there = _promised_size(file), file.stat().st_size
    if promised is None:
        raise ReferenceProblem(f"{file} is not a weights file in the safetensors format: {remedy}.")
    if there < promised:
        raise ReferenceProblem(f"{file} is cut short ({there:,} of {promised:,} bytes): {remedy}.")
    if sha256 is not None:
        found = hashlib.sha256(file.read_bytes()).hexdigest()
        if found != sha256:
            raise ReferenceProblem(
                f"{file} is not the file it should be (its SHA-256 starts {found[:8]}, not {sha256[:8]}): {remedy}."
            )


def _promised_size(file: Path) -> int | None:
    """The length that the file's own header states, or None where there is no such header."""
    with file.open("rb") as stream:
        prefix = stream.read(8)
        if len(prefix) < 8:
            return 8  # even the length of the header is cut off
        (header_size,) = struct.unpack("<Q", prefix)
        header = stream.read(min(header_size, 100_000_000))
    if not header.startswith(b"{"):
        return None
    if len(header) < header_size:
        return 8 + header_size
    try:
        entries = json.loads(header)
        ends = [entry["data_offsets"][1] for name, entry in entries.items() if name != "__metadata__"]
    except (ValueError, KeyError, TypeError, IndexError):
        return None
    return 8 + header_size + max(ends, default=0)
