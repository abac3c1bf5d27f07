"""Where values differ: the first bad index by axis name, and a small map of the error over two axes.

Of plain values, as a dict of numbers, it is the first that differs and how many do.
"""

from typing import Any

import torch
from torch import Tensor

from utils.exercises.declare import Exercise, named_axes
from utils.grading import compare
from utils.grading.trial import Trial
from utils.grading.verdict import Mismatch

MAP_SIZE = 12


def mismatch_of(exercise: Exercise, trial: Trial) -> Mismatch | None:
    """The picture of a failed comparison; None where there is nothing to point at."""
    failure = trial.failure
    if failure.stage not in ("value", "finite"):
        return None
    if failure.bad is None or not isinstance(failure.want, Tensor):
        return _of_plain_values(exercise, trial)
    bad, visible = failure.bad, trial.case.visible
    shown = torch.ones_like(bad) if visible is None or failure.path else visible.expand(bad.shape)
    axes = named_axes(exercise.returns, bad.ndim) if not failure.path else tuple(f"axis {i}" for i in range(bad.ndim))
    at = tuple(int(i) for i in bad.nonzero()[0]) if bad.ndim else ()
    table, kept, start, cut = _map(_error(failure.got, failure.want, bad), bad, shown, at)
    names = tuple(axes[i] for i in kept)
    return Mismatch(
        index=tuple(zip(axes, at, strict=True)),
        got=_item(failure.got, at),
        want=_item(failure.want, at),
        bad=int(bad.sum()),
        total=int(shown.sum()),
        worst=failure.worst,
        tolerance=failure.tolerance,
        map=table,
        map_axes=("",) * (2 - len(names)) + names,
        map_first=(0,) * (2 - len(kept)) + tuple(at[i] for i in kept),
        map_start=start,
        map_cut=cut,
        after=exercise.compared_after,
    )


def _of_plain_values(exercise: Exercise, trial: Trial) -> Mismatch | None:
    """Numbers, texts and yes or no, alone or in tuples, lists and dicts. Facts that a judge weighs are no values."""
    if exercise.judge_fn is not None or trial.wanted is None or isinstance(trial.wanted, BaseException):
        return None
    pairs = compare.plain_pairs(trial.observed, trial.wanted)
    bad = [(path, got, want) for path, got, want in pairs if compare.plain_differs(got, want)]
    if not bad:
        return None
    path, got, want = bad[0]
    return Mismatch(got=_number(got), want=_number(want), bad=len(bad), total=len(pairs), path=_in_words(path))


def _number(value: Any) -> Any:
    return value.item() if isinstance(value, Tensor) and value.numel() == 1 else value


def _in_words(path: str) -> str:
    """The place of a value: total for a dict's ['total'], entry 0 for the first of a list."""
    inner = path[1:-1] if path.count("[") == 1 else ""
    if inner.isdigit():
        return f"entry {inner}"
    return inner[1:-1] if inner[:1] == "'" else path


def _item(tensor: Tensor, at: tuple[int, ...]) -> Any:
    return tensor[at].item() if tensor.ndim else tensor.item()


def _error(got: Tensor, want: Tensor, bad: Tensor) -> Tensor:
    """Error as a share of the largest one: 0 where right, 1 where worst or not finite."""
    if not want.is_floating_point():
        return bad.double()
    gap = torch.where(bad, (got.double() - want.double()).abs(), 0.0)
    gap = torch.where(torch.isfinite(gap), gap, torch.inf)
    finite = gap[torch.isfinite(gap)]
    top = float(finite.max()) if finite.numel() and float(finite.max()) > 0 else 1.0
    return torch.where(torch.isfinite(gap), gap / top, 1.0)


def _map(error: Tensor, bad: Tensor, shown: Tensor, at: tuple[int, ...]) -> tuple[tuple, tuple, tuple[int, int], bool]:
    """The two axes along which right and wrong vary most, else the last two: the largest error over the others.

    At most 12 × 12 cells, cut so that the first bad one is among them; gives also where the cut starts.
    """
    kept = _axes_that_tell(bad, shown)
    if not kept:
        return (), (), (0, 0), False
    others = [i for i in range(error.ndim) if i not in kept]
    grid = torch.where(shown, error, -1.0)
    grid = grid.amax(others) if others else grid
    first = [at[i] for i in kept]
    if grid.ndim == 1:
        grid, first = grid[None], [0, *first]
    start = tuple(
        0 if i < MAP_SIZE else min(i - MAP_SIZE // 2, n - MAP_SIZE) for i, n in zip(first, grid.shape, strict=True)
    )
    cut = max(grid.shape) > MAP_SIZE
    grid = grid[start[0] : start[0] + MAP_SIZE, start[1] : start[1] + MAP_SIZE]
    return tuple(tuple(_rounded(v) for v in row) for row in grid.tolist()), kept, start, cut


def _axes_that_tell(bad: Tensor, shown: Tensor) -> tuple[int, ...]:
    """At most two axes, in order: those along which the share of wrong cells varies most; later ones if none does."""
    scores = []
    for i in range(bad.ndim):
        rest = [d for d in range(bad.ndim) if d != i]
        wrong, there = (x.double().sum(rest) if rest else x.double() for x in (bad, shown))
        share = wrong / there.clamp(min=1)
        scores.append(float(share.std(correction=0)) + 1e-6 * i)
    return tuple(sorted(sorted(range(bad.ndim), key=lambda i: -scores[i])[:2]))


def _rounded(share: float) -> float:
    """Two decimals; a small error is never rounded to none."""
    return round(share, 2) if share <= 0 else max(0.01, round(share, 2))
