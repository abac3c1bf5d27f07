"""Other random numbers for one call of an answer, to see whether its result depends on them."""

import random
from collections.abc import Iterator
from contextlib import contextmanager

import torch

_now: list[int] = []


@contextmanager
def thrown(seed: int) -> Iterator[None]:
    """Torch and Python draw from this seed on, here and where an answer that is called runs in another process."""
    torch.manual_seed(seed)
    random.seed(seed)
    _now.append(seed)
    try:
        yield
    finally:
        _now.pop()


def now() -> int | None:
    """The seed that an answer called now has to draw from; None where it draws on as it did."""
    return _now[-1] if _now else None
