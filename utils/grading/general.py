"""Mistakes that any exercise can show, told from the values alone: a factor, an offset, swapped axes, a shift.

Each finder looks at the learner's tensor and the expected one and gives a key and a sentence with evidence, or None.
"""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor

from utils.grading.compare import agree, short
from utils.grading.tolerance import allowed, kind_of


@dataclass(frozen=True)
class Scene:
    """What a finder sees: both tensors, the axes' names of the expected one, and the lengths of all named axes."""

    got: Tensor
    want: Tensor
    axes: tuple[str, ...] = ()
    sizes: dict[str, int] = field(default_factory=dict)
    visible: Tensor | None = None
    constants: dict[str, float] = field(default_factory=dict)


Finding = tuple[str, str]
# Entries of an axis that are looked at one by one; a whole vocabulary is not.
LONGEST_AXIS = 512


def find(scene: Scene) -> list[Finding]:
    """All general mistakes that explain this result completely, the plainest first."""
    found = [finding for finder in FINDERS if (finding := finder(scene)) is not None]
    return found[:2]


def factor(scene: Scene) -> Finding | None:
    """The expected values times one number."""
    got, want = _cells(scene)
    if got is None or float(want.norm()) == 0:
        return None
    ratio = float((got * want).sum() / (want * want).sum())
    if not math.isfinite(ratio) or abs(ratio) < 1e-6 or _figure(ratio) == "1" or not _near(got, want * ratio, scene):
        return None
    if abs(ratio + 1) < 1e-4:
        return "sign", f"{'The' if got.numel() == 1 else 'Every'} value has the opposite sign of the expected one."
    if got.numel() == 1:  # any number is another one times something: only a factor with a name says more
        known = _known_number(ratio, scene.sizes, near=1e-5, texts=True)
        return ("factor", f"Your value is the expected one times {_figure(ratio)}: that is {known}.") if known else None
    known = _known_number(ratio, scene.sizes)
    what = f": that is {known}" if known else ""
    return "factor", f"Your values are the expected ones times {_figure(ratio)}, the same factor everywhere{what}."


def offset(scene: Scene) -> Finding | None:
    """The expected values plus one number, or plus one row (a bias)."""
    got, want = _cells(scene)
    if got is None or got.numel() < 2:
        return None
    gap = got - want
    step = float(gap.mean())
    if abs(step) > 0 and _near(got, want + step, scene) and float(gap.std()) < 1e-3 * abs(step):
        known = next(
            (
                f": that is {name}"
                for name, value in scene.constants.items()
                if abs(abs(step) - abs(value)) < 1e-3 * abs(value)
            ),
            "",
        )
        return (
            "offset",
            (
                f"Your values are the expected ones {'plus' if step > 0 else 'minus'} {_figure(abs(step))}, the same "
                f"everywhere{known}."
            ),
        )
    if scene.got.shape == scene.want.shape and scene.want.ndim >= 2 and scene.visible is None:
        full = scene.got.double() - scene.want.double()
        row = full.reshape(-1, full.shape[-1])
        spread = (row - row.mean(0)).abs().max()
        if (
            len(row) > 2
            and bool(torch.isfinite(row).all())
            and float(row.abs().max()) > 0
            and float(spread) < 1e-3 * float(row.abs().max())
        ):
            last = scene.axes[-1] if scene.axes else "the last axis"
            return (
                "bias",
                (
                    f"Your values differ from the expected ones by the same vector over {last} everywhere, as when a "
                    "bias is missing or added twice."
                ),
            )
    return None


def permuted(scene: Scene) -> Finding | None:
    """The expected tensor with its axes in another order."""
    got, want = scene.got, scene.want
    if got.ndim != want.ndim or not 2 <= want.ndim <= 5:
        return None
    for order in itertools.permutations(range(want.ndim)):
        if order == tuple(range(want.ndim)) or tuple(want.shape[i] for i in order) != tuple(got.shape):
            continue
        if agree(got, want.permute(order).contiguous()):
            names = ", ".join(scene.axes[i] for i in order) if len(scene.axes) == want.ndim else str(order)
            wanted = ", ".join(scene.axes) if len(scene.axes) == want.ndim else ""
            moved = [i for i, j in enumerate(order) if i != j]
            if names == wanted:  # two axes of one name
                places = " and ".join(map(str, moved))
                return "transposed", f"Your values are right, but axes {places} have changed places: transpose them."
            return (
                "transposed" if len(moved) == 2 else "permuted",
                (
                    f"Your values are right, but the axes stand in another order: yours are ({names}), wanted are "
                    f"({wanted})."
                ),
            )
    return None


def missing_axis(scene: Scene) -> Finding | None:
    """One index of an axis alone, or an axis summed or averaged away, or an extra axis of length 1."""
    got, want = scene.got, scene.want
    if got.ndim == want.ndim + 1 and 1 in got.shape:
        for i, n in enumerate(got.shape):
            if n == 1 and agree(got.squeeze(i), want):
                return (
                    "extra_axis",
                    (
                        f"Your values are right, but there is an extra axis of length 1 at place {i}: squeeze({i}) or "
                        "sum without keepdim."
                    ),
                )
    if got.ndim == want.ndim + 1 and want.is_floating_point():
        for i in range(got.ndim):
            for word, reduced in (("summed", got.sum(i)), ("averaged", got.mean(i))):
                if reduced.shape == want.shape and agree(reduced, want):
                    return "axis_kept", f"The axis at place {i}, of length {got.shape[i]}, was to be {word} away."
    if got.ndim in (want.ndim - 1, want.ndim):
        for i, name in enumerate(scene.axes[: want.ndim]):
            flat = got.squeeze(i) if got.ndim == want.ndim and got.shape[i] == 1 else got
            if flat.ndim != want.ndim - 1 or want.shape[i] < 2 or flat.shape != want.select(i, 0).shape:
                continue
            if agree(flat, want.select(i, 0).contiguous()):
                return (
                    "first_only",
                    f"Only the first entry of {_axis(name)} is there: the result must keep all {want.shape[i]}.",
                )
            if want.is_floating_point():
                for word, reduced in (("summed", want.sum(i)), ("averaged", want.mean(i))):
                    if agree(flat, reduced):
                        return (
                            f"{word}_away",
                            f"The values are {word} over {_axis(name)}: the result keeps all {want.shape[i]} entries.",
                        )
    return None


def flat_in_other_order(scene: Scene) -> Finding | None:
    """The right numbers in the right order, in another shape."""
    got, want = scene.got, scene.want
    if (
        got.shape != want.shape
        and got.numel() == want.numel()
        and want.numel() > 1
        and agree(got.reshape(-1), want.reshape(-1))
    ):
        return (
            "shape_only",
            f"The numbers are right and in order, but their shape is not: reshape to {tuple(want.shape)}.",
        )
    return None


def shifted(scene: Scene) -> Finding | None:
    """Off by one along an axis, or reversed."""
    got, want = scene.got, scene.want
    if got.shape != want.shape:
        return None
    for i in range(want.ndim):
        n = want.shape[i]
        name = scene.axes[i] if i < len(scene.axes) else f"axis {i}"
        if n < 2:
            continue
        if n > 2 and not agree(want.narrow(i, 1, n - 1), want.narrow(i, 0, n - 1)):
            if agree(got.narrow(i, 1, n - 1), want.narrow(i, 0, n - 1)):
                return (
                    "shifted",
                    f"Along {name} your values come one place too late: yours at i+1 is the expected one at i.",
                )
            if agree(got.narrow(i, 0, n - 1), want.narrow(i, 1, n - 1)):
                return (
                    "shifted",
                    f"Along {name} your values come one place too early: yours at i is the expected one at i+1.",
                )
        if agree(got, want.flip(i)):
            return "reversed", f"Along {name} your values are in reverse order."
    return None


def rounded(scene: Scene) -> Finding | None:
    """Right to float32's precision, where float64 is wanted."""
    got, want = scene.got, scene.want
    if got.shape != want.shape or got.dtype != torch.float64 or want.dtype != torch.float64:
        return None
    if scene.visible is not None or not agree(got.float(), want.float()):
        return None
    return (
        "float32_inside",
        (
            "The values are right to float32's precision only: something on the way is rounded, as by .float(), by a "
            "new tensor without dtype=, or by a constant with few digits."
        ),
    )


def part_right(scene: Scene) -> Finding | None:
    """Right except at one index of an axis, or right at one index only."""
    got, want = scene.got, scene.want
    if got.shape != want.shape or want.ndim == 0:
        return None
    for i in range(want.ndim):
        n = want.shape[i]
        name = scene.axes[i] if i < len(scene.axes) else f"axis {i}"
        key = name.replace(" ", "_")
        if not 2 <= n <= LONGEST_AXIS:
            continue
        right = [agree(got.select(i, j).contiguous(), want.select(i, j).contiguous()) for j in range(n)]
        # Under a causal mask the first query, which sees one key, is right however wrong the rest is; and the first
        # of several ranks says nothing of the others.
        if right[0] and not any(right[1:]) and name not in ("query_pos", "pos", "new", "ids", "k") and _far(scene, i):
            return (
                f"first_{key}_only",
                (
                    f"Only {_at(name, 0)} is right; {_at(name, 1)}{f' to {n - 1}' if n > 2 else ''} "
                    f"{'are' if n > 2 else 'is'} "
                    "wrong. Does something use the first entry for all?"
                ),
            )
        if n > 2 and all(right[:-1]) and not right[-1]:
            return (
                f"last_{key}_wrong",
                f"Only the last entry along {name} ({_at(name, n - 1)}) is wrong; all before it are right.",
            )
        if n > 2 and all(right[1:]) and not right[0]:
            return (
                f"first_{key}_wrong",
                f"Only the first entry along {name} ({_at(name, 0)}) is wrong; all after it are right.",
            )
    return None


def not_a_number(scene: Scene) -> Finding | None:
    """Where NaN stands, and why it may."""
    if not scene.got.is_floating_point() or not bool(torch.isnan(scene.got).any()):
        return None
    rows = (
        torch.isnan(scene.got).reshape(-1, scene.got.shape[-1])
        if scene.got.ndim
        else torch.isnan(scene.got).reshape(1, 1)
    )
    whole = int(rows.all(-1).sum())
    if whole and not bool((rows.any(-1) & ~rows.all(-1)).any()):
        return (
            "nan_rows",
            (
                f"{whole} whole row{'s are' if whole > 1 else ' is'} NaN. A softmax over nothing but −∞, 0/0 or ∞−∞ "
                "gives that: is any row masked entirely?"
            ),
        )
    return "nan", "There are NaNs: 0·∞, 0/0, ∞/∞, ∞−∞ and the root or log of a negative number give them."


def not_infinite(scene: Scene) -> Finding | None:
    """Right everywhere but where −∞ is wanted."""
    got, want = scene.got, scene.want
    if got.shape != want.shape or not (got.is_floating_point() and want.is_floating_point()):
        return None
    got, want = got.double(), want.double()  # torch asks no float8 whether it is infinite
    wanted = torch.isneginf(want)
    off = wanted & ~torch.isneginf(got)
    if not bool(off.any()) or not agree(got.masked_fill(wanted, 0), want.masked_fill(wanted, 0)):
        return None
    held = _figure(float(got[off][0])).replace("-", "−").replace("nan", "NaN")
    return "not_infinite", f"Where −∞ is wanted your result holds {held}; all else is right."


FINDERS: tuple[Callable[[Scene], Finding | None], ...] = (
    not_a_number,
    not_infinite,
    rounded,
    permuted,
    factor,
    offset,
    missing_axis,
    flat_in_other_order,
    shifted,
    part_right,
)


def _far(scene: Scene, axis: int) -> bool:
    """Whether most values are far off in each entry but the first, as where they are another entry's own."""
    got, want = scene.got.movedim(axis, 0)[1:].flatten(1), scene.want.movedim(axis, 0)[1:].flatten(1)
    if got.dtype == torch.bool or not want.numel():
        return True
    gap, size = (got.double() - want.double()).abs(), want.double().nan_to_num(posinf=0, neginf=0).abs().amax()
    return bool(((gap <= 1e-3 * size) if want.is_floating_point() else (gap == 0)).double().mean(1).max() <= 0.5)


def _axis(name: str) -> str:
    """An axis in words: "the pos axis", or "axis 1" where it has no name."""
    return name if " " in name else f"the {name} axis"


def _at(name: str, i: int) -> str:
    """One place on an axis: "pos 3", or "3 on axis 1" where the axis has no name."""
    return f"{i} on {name}" if " " in name else f"{name} {i}"


def _cells(scene: Scene) -> tuple[Tensor, Tensor] | tuple[None, None]:
    """The finite cells that count, flat and in float64; None where the two cannot be put side by side."""
    if scene.got.shape != scene.want.shape or not scene.want.is_floating_point() or not scene.got.is_floating_point():
        return None, None
    got, want = scene.got.double(), scene.want.double()
    use = torch.isfinite(want) & (
        torch.ones_like(want, dtype=torch.bool) if scene.visible is None else scene.visible.expand(want.shape)
    )
    if not bool(use.any()) or not bool(torch.isfinite(got[use]).all()):
        return None, None
    return got[use], want[use]


def _near(got: Tensor, other: Tensor, scene: Scene) -> bool:
    return float((got - other).abs().max()) <= 8 * allowed(other, 0.0, kind_of(scene.want))


def _known_number(ratio: float, sizes: dict[str, int], near: float = 1e-3, texts: bool = False) -> str:
    """√d, 1/√d, d, 1/d for a named axis, or a constant with a name of its own; `texts`: the batch may be the axis."""
    forms = []
    for name, n in sorted(sizes.items(), key=lambda item: item[0] not in ("d_head", "d", "d_model")):
        # only a single number, an average over texts, is ever scaled by how many there are
        if n > 1 and (texts or name not in ("batch", "doc")):
            forms += [(f"√{name}", math.sqrt(n)), (name, n), (f"1/√{name}", 1 / math.sqrt(n)), (f"1/{name}", 1 / n)]
    forms += [
        ("ln 2", math.log(2)),
        ("1/ln 2", 1 / math.log(2)),
        ("√(2/π)", math.sqrt(2 / math.pi)),
    ]
    return " or ".join(name for name, value in forms if abs(abs(ratio) - value) < near * value)


def _figure(x: float) -> str:
    return f"{x:.4g}"


def _dtype_remedy(got: Tensor, want: Tensor) -> str:
    """What to do where an input's dtype got lost on the way; a dtype of its own, as bool, has its own answer."""
    if not (got.is_floating_point() and want.is_floating_point()):
        return ""
    return (
        " Give what you make (a mask, zeros, a table) the input's dtype, as in torch.zeros(…, dtype=x.dtype), or end "
        "with .to(x.dtype)."
    )


def dtype_note(got: Tensor, want: Tensor) -> Finding | None:
    """Right in value but of another dtype."""
    if got.shape != want.shape or got.dtype == want.dtype or got.is_complex():
        return None
    if got.is_floating_point() and got.itemsize == 1:
        return None  # a float8 holds too little of the value to tell
    coarser = (
        got.is_floating_point()
        and want.is_floating_point()
        and torch.finfo(got.dtype).eps > torch.finfo(want.dtype).eps
    )
    left, right = (got, want.to(got.dtype)) if coarser else (got.to(want.dtype), want)
    if not agree(left, right, slack=16.0):
        return None
    return (
        "dtype",
        f"The values are right; only the dtype is not: {short(got.dtype)} where {short(want.dtype)} is wanted."
        f"{_dtype_remedy(got, want)}",
    )
