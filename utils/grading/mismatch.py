"""Where values differ: the first bad index by axis name, and a small map of the error over two axes."""

from typing import Any

import torch
from torch import Tensor

from utils.exercises.declare import Exercise, named_axes
from utils.grading.trial import Trial
from utils.grading.verdict import Mismatch

MAP_SIZE = 12


def mismatch_of(exercise: Exercise, trial: Trial) -> Mismatch | None:
    """The picture of a failed comparison of tensors; None where there is nothing to point at."""
    failure = trial.failure
    if failure.stage not in ("value", "finite") or failure.bad is None or not isinstance(failure.want, Tensor):
        return None
    bad = failure.bad
    axes = named_axes(exercise.returns, bad.ndim) if not failure.path else tuple(f"axis {i}" for i in range(bad.ndim))
    at = tuple(int(i) for i in bad.nonzero()[0]) if bad.ndim else ()
    error = _error(failure.got, failure.want, bad)
    table, names, cut = _map(error, axes)
    return Mismatch(
        index=tuple(zip(axes, at, strict=True)),
        got=_item(failure.got, at),
        want=_item(failure.want, at),
        bad=int(bad.sum()),
        total=bad.numel(),
        worst=failure.worst,
        tolerance=failure.tolerance,
        map=table,
        map_axes=names,
        map_cut=cut,
    )


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


def _map(error: Tensor, axes: tuple[str, ...]) -> tuple[tuple, tuple[str, str], bool]:
    """The two axes over which the error varies most, the largest error over the others, at most 12 × 12."""
    if error.ndim == 0:
        return (), ("", ""), False
    if error.ndim == 1:
        grid, names = error[None], ("", axes[0])
    else:
        spread = [
            float(error.amax([d for d in range(error.ndim) if d != i]).std(correction=0)) + 1e-3 * i
            for i in range(error.ndim)
        ]
        keep = sorted(sorted(range(error.ndim), key=lambda i: -spread[i])[:2])
        others = [i for i in range(error.ndim) if i not in keep]
        grid = error.amax(others) if others else error
        names = (axes[keep[0]], axes[keep[1]])
    cut = max(grid.shape) > MAP_SIZE
    rows = grid[:MAP_SIZE, :MAP_SIZE].tolist()
    return tuple(tuple(round(v, 2) for v in row) for row in rows), names, cut
