"""From whatever a notebook holds to plain numbers that go into a figure.

Tensors may be bfloat16, on an accelerator, or require grad; lists may hold tensors. Each figure names the axes that
it wants, and anything else is a `ShowProblem` in one sentence. Numbers are rounded here, in one place, so that a
stored figure is small and two builds of it are the same. Nothing here knows how a figure looks.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from utils.show.problem import ShowProblem

HUGE = 1e30  # a float32 or bfloat16 mask fill (the lowest float) is a missing cell, not a number to color
HALF_FLOOR = -65504.0  # the same in a float16 tensor


def numbers(values: Any, axes: str, what: str = "values") -> np.ndarray:
    """`values` as float64 with one axis for each name in `axes`; masked cells (−inf, lowest float, NaN) become NaN.

    >>> numbers([[1, 2, 3]], "row column").shape
    (1, 3)

    Raises ShowProblem: not numbers, a ragged list, another number of axes, or an empty axis.
    """
    wanted = axes.split()
    shape_wanted = f"[{', '.join(wanted)}]"
    try:
        raw = np.asarray(_plain(values))
        if raw.dtype.kind not in "biufO":
            raise TypeError(f"{raw.dtype} is not a real number")
        array = raw.astype(np.float64)
    except (TypeError, ValueError, RuntimeError) as problem:
        raise ShowProblem(
            f"{what} should be numbers with the axes {shape_wanted}, but got {_came(values)}."
        ) from problem
    if array.ndim != len(wanted):
        raise ShowProblem(f"{what} should have the axes {shape_wanted}, but got the shape {array.shape}.")
    if array.size == 0:
        raise ShowProblem(f"{what} with the axes {shape_wanted} should not be empty, but got the shape {array.shape}.")
    missing = ~np.isfinite(array) | (np.abs(array) >= HUGE)
    if str(getattr(values, "dtype", "")) in ("torch.float16", "float16"):
        missing |= array == HALF_FLOOR
    return np.where(missing, np.nan, array)


def _plain(values: Any) -> Any:
    """Tensors, and lists of tensors, as numpy; duck-typed, so that showing a list does not load torch."""
    if hasattr(values, "detach"):
        if getattr(values, "is_complex", bool)():
            raise TypeError("complex numbers cannot be shown")
        return values.detach().cpu().double().numpy()
    if isinstance(values, (list, tuple, range)):
        return [_plain(value) for value in values]
    return values


def _came(values: Any) -> str:
    if isinstance(values, (list, tuple)):
        return f"{describe(values)} whose entries do not form a grid of numbers"
    return describe(values)


def describe(values: Any) -> str:
    """A few words that say what came: `a list of 3`, `a str`, `None`."""
    if values is None:
        return "None"
    name = type(values).__name__
    article = "an" if name[:1].lower() in "aeio" else "a"
    return f"{article} {name} of {len(values)}" if isinstance(values, (list, tuple, dict)) else f"{article} {name}"


def tidy(value: float, digits: int = 4) -> float | int | None:
    """One number to so many significant digits; whole numbers as int, missing ones as None.

    >>> tidy(0.123456), tidy(3.0), tidy(float("nan"))
    (0.1235, 3, None)
    """
    if value != value or math.isinf(value):
        return None
    rounded = float(f"{value:.{digits}g}")
    return int(rounded) if rounded == int(rounded) and abs(rounded) < 1e15 else rounded


def tidy_list(array: np.ndarray, digits: int = 4) -> list:
    """`tidy` for an array of any depth, at once.

    >>> tidy_list(np.array([[1.0, 0.33333]]))
    [[1, 0.3333]]
    """
    finite = np.where(np.isfinite(array), array, 0.0)
    size = np.floor(np.log10(np.abs(finite), out=np.zeros(finite.shape), where=finite != 0))
    up, down = 10.0 ** np.clip(digits - 1 - size, 0, 300), 10.0 ** np.clip(size - digits + 1, 0, 300)
    rounded = np.round(finite * up / down) * down / up  # one of the two is 1, so that each step is exact
    return _as_json(np.where(np.isfinite(array), rounded, np.nan).tolist())


def _as_json(values: Any) -> Any:
    if isinstance(values, list):
        return [_as_json(value) for value in values]
    if values != values:
        return None
    return int(values) if values.is_integer() and abs(values) < 1e15 else values


def to_decimals(array: np.ndarray) -> np.ndarray:
    """Three decimals where all lies in [−1, 1] (patterns, probabilities), else to 4 digits of the largest value."""
    largest = float(np.nanmax(np.abs(array))) if np.isfinite(array).any() else 0.0
    return np.round(array, 3 if largest <= 1 else max(0, 3 - math.floor(math.log10(largest))))


def short(value: float | int | str | bool | None) -> str:
    """How a number is written in a text form, a table or a box.

    >>> short(0.123456), short(12), short(1234567.0), short(-0.0), short(None)
    ('0.123', '12', '1.23e+06', '0', '–')
    """
    if value is None or value != value:
        return "–"
    if isinstance(value, (bool, np.bool_, str)):
        return str(value)
    if isinstance(value, (int, np.integer)):
        return str(int(value)).replace("-", "−")
    text = f"{float(value) + 0.0:.3g}"  # no −0
    mantissa, _, exponent = text.partition("e")
    if exponent and -5 < int(exponent) < 6:  # 3920, not 3.92e+03
        text = str(int(float(text)))
        return text.replace("-", "−")
    return mantissa.replace("-", "−") + (f"e{exponent}" if exponent else "")
