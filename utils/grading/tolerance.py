"""How far a right answer may be from the expected value: derived from what honest arithmetic does, not guessed.

The oracle is run in float64 and in the inputs' own dtype; their difference is an honest error. An answer passes within
`multiple` times that error, and never less than `multiple · floor · eps · size`, where eps is the dtype's spacing at 1
and size the largest magnitude in the tensor. One table, this one, for all exercises.
"""

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Allowance:
    """How much a dtype's arithmetic may be off.

    Attributes:
        eps: its spacing at 1.
        floor: units of eps·size that any arithmetic may be off.
        multiple: of the honest error.
        ceiling: of size, whatever the honest error was.
        least: its spacing at 0, below which it holds nothing.
    """

    eps: float
    floor: float
    multiple: float
    ceiling: float
    least: float = 0.0


TABLE: dict[str, Allowance] = {
    #                     eps         floor  multiple  ceiling  least
    "float64": Allowance(2.0**-52, 16.0, 16.0, 1e-9, 2.0**-1074),
    "float32": Allowance(2.0**-23, 4.0, 16.0, 1e-3, 2.0**-149),
    "tf32": Allowance(2.0**-10, 1.0, 6.0, 5e-2, 2.0**-149),
    "float16": Allowance(2.0**-10, 1.0, 6.0, 5e-2, 2.0**-24),
    "bfloat16": Allowance(2.0**-7, 1.0, 6.0, 1.5e-1, 2.0**-133),
    # a plain Python number: the learner may have reached it through float32
    "number": Allowance(2.0**-23, 8.0, 16.0, 1e-4),
}


def kind_of(tensor: Tensor) -> str:
    """The row of the table for this tensor: its dtype, or "tf32" where its device rounds float32 products so."""
    name = str(tensor.dtype).removeprefix("torch.")
    if name == "float32" and tensor.is_cuda and torch.backends.cuda.matmul.allow_tf32:
        return "tf32"
    return name


def allowed(expected: Tensor, honest_error: float = 0.0, kind: str | None = None) -> float:
    """The largest absolute difference with which an answer passes.

    Args:
        expected: finite cells that are compared, in any dtype.
        honest_error: largest difference between the oracle in this dtype and in float64.
        kind: a row of TABLE; by the tensor's dtype and device where left out.
    """
    row = TABLE[kind or kind_of(expected)]
    size = float(expected.double().abs().max()) if expected.numel() else 0.0
    honest = max(honest_error, row.floor * max(row.eps * size, row.least))
    if not size:
        return row.multiple * honest + row.eps * row.eps
    return min(row.multiple * honest, max(row.ceiling * size, row.multiple * row.least))
