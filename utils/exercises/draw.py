"""Random inputs for exercises, from a seed: the same seed gives the same numbers, shapes and strides everywhere.

A `Draw` hands out lengths for named axes as they are first asked for. Which lengths, which dtype and which strides
depends on the variation: no two axes alike, all alike, one of length 1, and so on.
"""

import math
from dataclasses import dataclass, replace

import torch
from torch import Tensor

# Small, no two alike; products and sums of the first few do not occur among them.
LENGTHS = (3, 5, 4, 7, 6, 11, 9, 13, 8, 17, 10, 19)
SQUARE = 4


@dataclass(frozen=True)
class Variation:
    """One way to vary fresh inputs. `ones` is the axis that has length 1."""

    key: str
    where: str
    dtype: torch.dtype = torch.float32
    turn: int = 0
    values: int = 0
    strided: bool = False
    square: bool = False
    ones: str | None = None


VARIATIONS = {
    "fresh": Variation("fresh", "on fresh random inputs, no two axes of the same length"),
    "again": Variation("again", "on fresh inputs of the same shapes but other values", values=1),
    "strided": Variation("strided", "on non-contiguous inputs", turn=2, values=2, strided=True),
    "ones": Variation("ones", "with an axis of length 1", turn=1, values=3),
    "square": Variation("square", "on inputs whose axes all have the same length", values=4, square=True),
    "float64": Variation("float64", "in float64", dtype=torch.float64, turn=1, values=5),
    "bfloat16": Variation("bfloat16", "in bfloat16", dtype=torch.bfloat16, turn=3, values=6),
}


def variation(key: str, ones: str | None = None) -> Variation:
    """The variation of this key; "ones" for the axis given."""
    found = VARIATIONS[key]
    return found if ones is None else replace(found, where=f"with {ones} of length 1", ones=ones)


class Draw:
    """Sizes, tensors and numbers for one case."""

    def __init__(self, seed: int, how: Variation, device: torch.device | str = "cpu"):
        self.how, self.device = how, torch.device(device)
        self.dtype = how.dtype
        self.generator = torch.Generator().manual_seed(1_000_003 * (seed + 1) + 101 * how.values + 7)
        self.sizes: dict[str, int] = {}
        self.derived: set[str] = set()
        self.made_floats = False

    def fix(self, **sizes: int) -> None:
        """Say an axis's length outright, as for d_model = n_heads · d_head."""
        self.sizes.update(sizes)
        self.derived.update(sizes)

    def size(self, name: str, *, at_least: int = 1) -> int:
        """The length of a named axis, the same at each call."""
        if name not in self.sizes:
            if self.how.ones == name:
                length = 1
            elif self.how.square:
                length = SQUARE
            else:
                free = [n for n in LENGTHS[self.how.turn :] + LENGTHS[: self.how.turn] if n not in self.sizes.values()]
                length = next((n for n in free if n >= at_least), at_least + len(self.sizes))
            self.sizes[name] = max(length, at_least)
        return self.sizes[name]

    def shape(self, axes: str) -> tuple[int, ...]:
        """Lengths for "batch pos d_model"; a whole number stands for itself."""
        return tuple(int(a) if a.isdigit() else self.size(a) for a in axes.split())

    def normal(self, axes: str, scale: float = 1.0, mean: float = 0.0) -> Tensor:
        """Normal numbers in the case's dtype, with the case's strides, on its device."""
        self.made_floats = True
        values = torch.randn(self.shape(axes), generator=self.generator, dtype=torch.float64) * scale + mean
        return self.place(values.to(self.dtype))

    def uniform(self, axes: str, low: float = 0.0, high: float = 1.0) -> Tensor:
        """Uniform numbers in [low, high)."""
        self.made_floats = True
        values = torch.rand(self.shape(axes), generator=self.generator, dtype=torch.float64) * (high - low) + low
        return self.place(values.to(self.dtype))

    def weight(self, axes: str, fan_in: str) -> Tensor:
        """Normal weights scaled by 1/√(length of fan_in axes), so that outputs keep the inputs' size."""
        return self.normal(axes, scale=1 / math.sqrt(math.prod(self.shape(fan_in))))

    def gain(self, axes: str) -> Tensor:
        """Multipliers that are not 1."""
        return self.normal(axes, scale=0.4, mean=1.3)

    def distribution(self, axes: str) -> Tensor:
        """Positive rows that sum to 1 over the last axis."""
        self.made_floats = True
        values = torch.randn(self.shape(axes), generator=self.generator, dtype=torch.float64).mul(1.5).softmax(-1)
        return self.place(values.to(self.dtype))

    def ids(self, axes: str, below: int) -> Tensor:
        """Whole numbers in [0, below), int64."""
        return self.place(torch.randint(below, self.shape(axes), generator=self.generator))

    def distinct(self, n: int, below: int) -> Tensor:
        """n different whole numbers in [0, below), in random order."""
        return torch.randperm(below, generator=self.generator)[:n].to(self.device)

    def integer(self, low: int, high: int) -> int:
        """One whole number in [low, high)."""
        return int(torch.randint(low, high, (), generator=self.generator))

    def number(self, low: float, high: float) -> float:
        """One number in [low, high)."""
        return low + (high - low) * float(torch.rand((), generator=self.generator, dtype=torch.float64))

    def eps(self) -> float:
        """GPT-2's 1e-5 or a large 0.1, in turn: a large one shows where it stands in a formula."""
        return 1e-5 if self.how.values % 2 else 0.1

    def place(self, tensor: Tensor) -> Tensor:
        """Onto the device, and into odd strides where the variation asks for them."""
        tensor = tensor.to(self.device)
        if not self.how.strided or tensor.ndim == 0:
            return tensor
        if tensor.ndim == 1:
            padded = torch.zeros(2 * len(tensor), dtype=tensor.dtype, device=tensor.device)[::2]
            return padded.copy_(tensor)
        return tensor.transpose(0, -1).contiguous().transpose(0, -1)
