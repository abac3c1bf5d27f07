"""torch as it was when the grader was loaded.

A learner may write `torch.softmax = my_softmax`, by accident or to see what happens. The grader's own arithmetic must
not change with it: while it works, torch's own functions are put back, and while the answer runs the learner's are.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
import torch.nn.functional

_PLACES = (torch, torch.nn.functional, torch.linalg, torch.Tensor)
_ORIGINALS = [dict(vars(place)) for place in _PLACES]
_MISSING = object()
# Set by torch itself as it works, or by a person for good reasons; none is arithmetic.
_FREE = frozenset({"_dynamo", "_inductor", "grad_fn", "__doc__"})


class Patches:
    """What the notebook has changed in torch; empty nearly always."""

    def __init__(self):
        self.changed: list[tuple[object, str, object, object]] = []
        for place, originals in zip(_PLACES, _ORIGINALS, strict=True):
            now = vars(place)
            for name, value in originals.items():
                if now.get(name, _MISSING) is not value and name not in _FREE:
                    self.changed.append((place, name, value, now.get(name, _MISSING)))
            if place is torch.Tensor and len(now) != len(originals):
                self.changed += [
                    (place, n, _MISSING, v) for n, v in now.items() if n not in originals and n not in _FREE
                ]

    def off(self) -> None:
        """torch as it was."""
        for place, name, original, _ in self.changed:
            _put(place, name, original)

    def on(self) -> None:
        """torch as the notebook left it."""
        for place, name, _, theirs in self.changed:
            _put(place, name, theirs)

    @contextmanager
    def theirs(self) -> Iterator[None]:
        """While the answer runs."""
        self.on()
        try:
            yield
        finally:
            self.off()


def _put(place: object, name: str, value: object) -> None:
    if value is _MISSING:
        if name in vars(place):
            delattr(place, name)
    else:
        setattr(place, name, value)


@contextmanager
def originals() -> Iterator[Patches]:
    """While the grader works: torch's own functions, whatever the notebook has done to them."""
    patches = Patches()
    patches.off()
    try:
        yield patches
    finally:
        patches.on()
