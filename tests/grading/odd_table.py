"""The table of odd answers, and what its rows share. Each is an answer to 05.2, `attention_scores(q, k)`."""

from dataclasses import dataclass
from typing import Any

import torch

MANY: dict[str, "Odd"] = {}


@dataclass(frozen=True)
class Odd:
    """An odd answer. `passes`: it is right all the same. `says`: words that the sentence holds. `timeout`: seconds."""

    answer: Any
    passes: bool = False
    says: str = ""
    timeout: float | None = None


def right(q, k):
    return torch.einsum("bqhd,bkhd->bhqk", q, k) / q.shape[-1] ** 0.5


def add(name: str, answer: Any, **how: Any) -> None:
    assert name not in MANY, name
    MANY[name] = Odd(answer, **how)


class Method:
    """Right, as an object that can be called and as several kinds of method."""

    def __call__(self, q, k):
        return right(q, k)

    def method(self, q, k):
        return right(q, k)

    @staticmethod
    def static(q, k):
        return right(q, k)

    @classmethod
    def of_class(cls, q, k):
        return right(q, k)


def refuse(*args, **kwargs):
    """For whatever an object may be asked."""
    raise ValueError("I will not say")


class Meta(type):
    """A class that does not tell its name."""

    __name__ = property(refuse)

    def __repr__(cls):
        raise ValueError("no")


def after(change: Any) -> Any:
    """A right answer that first computes and then does something else."""

    def answer(q, k):
        out = right(q, k)
        change(q, k)
        return out

    return answer


def emptied(tensor: torch.Tensor, size: int = 0) -> torch.Tensor:
    """A tensor whose memory is gone."""
    tensor.untyped_storage().resize_(size)
    return tensor


class AlwaysEqual(torch.Tensor):
    """A tensor that agrees with everything."""

    __eq__ = __ge__ = __le__ = lambda self, other: torch.ones(self.shape, dtype=torch.bool)

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if getattr(func, "__name__", "") in ("equal", "allclose", "isclose", "all"):
            return True
        return super().__torch_function__(func, types, args, kwargs or {})
