"""Compares what an answer gave with what is expected: structure first (type, shape, dtype, device), then values.

Nothing is ever broadcast into agreement. Results are trees: a tensor, a number, or tuples, lists and dicts of them.
"""

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from utils.grading.plain import Refused, describe
from utils.grading.text import counted
from utils.grading.tolerance import TABLE, allowed, kind_of
from utils.grading.trees import leaves


@dataclass(frozen=True)
class Difference:
    """Where a result first fails: `stage` is the check, `path` the place in the tree, `got` and `want` its leaves."""

    stage: str
    path: str
    got: Any
    want: Any
    message: str
    worst: float = 0.0
    tolerance: float = 0.0
    bad: Tensor | None = None


def structure(got: Any, want: Any, path: str = "", *, dtypes: bool = True) -> Difference | None:
    """Whether `got` has the type, shape, dtype and device of `want`; the first difference in this order."""
    for check in (_types, _shapes, _dtypes, _devices) if dtypes else (_types, _shapes):
        found = check(got, want, path)
        if found:
            return found
    return None


def _pairs(got: Any, want: Any):
    """Leaves side by side; a dict has no order of its own, so `got`'s keys are taken in the order of `want`'s."""
    return zip(leaves(_in_order_of(got, want)), leaves(want), strict=True)


def _in_order_of(got: Any, want: Any) -> Any:
    if isinstance(got, (tuple, list)) and isinstance(want, (tuple, list)):
        return type(got)(_in_order_of(g, w) for g, w in zip(got, want, strict=True))
    if isinstance(got, dict) and isinstance(want, dict):
        return {key: _in_order_of(got[key], want[key]) for key in want}
    return got


def _types(got: Any, want: Any, path: str) -> Difference | None:
    def wrong(message: str) -> Difference:
        return Difference("type", path, got, want, message)

    place = f" at {path}" if path else ""
    if type(want) in (tuple, list):
        if not isinstance(got, (tuple, list)):
            return wrong(f"Give a {type(want).__name__} of {_entries(want)}{place}, not {describe(got)}.")
        if len(got) != len(want):
            return wrong(f"Give {_entries(want)}{place}; there are {len(got)}.{_first_other(got, want)}")
        return next(
            (d for i, (g, w) in enumerate(zip(got, want, strict=True)) if (d := _types(g, w, f"{path}[{i}]"))), None
        )
    if type(want) is dict:
        if not isinstance(got, dict):
            return wrong(f"Give a dict{place}, not {describe(got)}.")
        missing, extra = [k for k in want if k not in got], [k for k in got if k not in want]
        if missing or extra:
            what = [f"{names(missing)} missing"] * bool(missing) + [f"{names(extra)} not wanted"] * bool(extra)
            return wrong(f"The dict's keys{place} are not the wanted ones: {' and '.join(what)}.")
        return next((d for k in want if (d := _types(got[k], want[k], f"{path}[{k!r}]"))), None)
    if isinstance(want, Tensor):
        if isinstance(got, Refused) and got.is_tensor:
            return wrong(f"Return a plain dense torch.Tensor{place}; this is {got.what}.")
        if not isinstance(got, Tensor):
            return wrong(f"Return a torch.Tensor{place}, not {describe(got)}.{_advice(got, want)}")
        return None
    if isinstance(want, bool):
        ok = isinstance(got, bool) or _is_one_value(got) and got.dtype == torch.bool
        return None if ok else wrong(f"Return True or False{place}, not {describe(got)}.")
    if isinstance(want, (int, float)):
        ok = _is_number(got) and (isinstance(want, float) or _number(got) == _number(got) // 1)
        kind = "a number" if isinstance(want, float) else "a whole number"
        return None if ok else wrong(f"Return {kind}{place}, not {describe(got)}.")
    if want is None:
        return None if got is None else wrong(f"Expected None{place}, not {describe(got)}.")
    if not isinstance(got, type(want)):
        kind = {str: "a string", bytes: "a bytes object"}.get(type(want), f"a {type(want).__name__}")
        return wrong(f"Expected {kind}{place}, not {describe(got)}.")
    return None


# What the entries of a list are called, by their common type.
_ENTRIES = (
    (bool, "value"),
    (int, "whole number"),
    (float, "number"),
    (str, "string"),
    (bytes, "bytes object"),
    (Tensor, "tensor"),
    (tuple, "tuple"),
    (list, "list"),
    (dict, "dict"),
)


def _entries(want: tuple | list) -> str:
    """How many entries of which kind: "12 whole numbers", "1 tensor", "3 values" where they are of several kinds."""
    kinds = (noun for kind, noun in _ENTRIES if want and all(isinstance(entry, kind) for entry in want))
    return counted(len(want), next(kinds, "value"))


def _first_other(got: tuple | list, want: tuple | list) -> str:
    """Where two lists of plain things part, as a sentence."""
    for i, (g, w) in enumerate(zip(got, want, strict=False)):
        if type(g) is not type(w) or type(w) not in (int, str, bytes):
            return ""
        if g != w:
            return f" They part at [{i}]: {g!r}, where {w!r} is right."
    return ""


def _is_number(value: Any) -> bool:
    if isinstance(value, (int, float)):
        return not isinstance(value, bool)
    return _is_one_value(value) and not value.is_complex()


def _is_one_value(value: Any) -> bool:
    return isinstance(value, Tensor) and value.numel() == 1


def _number(value: Any) -> int | float:
    """As a plain number; a whole one keeps all its digits."""
    value = value.detach().item() if isinstance(value, Tensor) else value
    return value if isinstance(value, int) else float(value)


def _float(number: int | float) -> float:
    try:
        return float(number)
    except OverflowError:  # a whole number larger than any float
        return math.inf if number > 0 else -math.inf


def _shapes(got: Any, want: Any, path: str) -> Difference | None:
    for (where, g), (_, w) in _pairs(got, want):
        if isinstance(w, Tensor) and g.shape != w.shape:
            return Difference("shape", path + where, g, w, "")
    return None


def _dtypes(got: Any, want: Any, path: str) -> Difference | None:
    for (where, g), (_, w) in _pairs(got, want):
        if isinstance(w, Tensor) and g.dtype != w.dtype:
            return Difference(
                "dtype", path + where, g, w, f"The result has dtype {short(g.dtype)}; it should be {short(w.dtype)}."
            )
    return None


def _devices(got: Any, want: Any, path: str) -> Difference | None:
    for (where, g), (_, w) in _pairs(got, want):
        if isinstance(w, Tensor) and g.device != w.device:
            message = f"The result is on {g.device}; its inputs are on {w.device}, and so must the result be."
            return Difference("device", path + where, g, w, message)
    return None


def values(got: Any, want: Any, exact: Any = None, visible: Tensor | None = None) -> Difference | None:
    """The first leaf whose values differ by more than an honest answer's would; structure must agree already.

    Args:
        exact: the same result from float64 arithmetic, None where there is none.
        visible: for a single tensor, the cells that are compared (broadcast over leading axes).
    """
    exact_leaves = [leaf for _, leaf in leaves(exact)] if exact is not None else None
    for i, ((path, g), (_, w)) in enumerate(_pairs(got, want)):
        e = exact_leaves[i] if exact_leaves is not None and i < len(exact_leaves) else None
        found = _tensor_values(path, g, w, e, visible) if isinstance(w, Tensor) else _plain_values(path, g, w)
        if found:
            return found
    return None


def plain_pairs(got: Any, want: Any) -> list[tuple[str, Any, Any]]:
    """The leaves that are no tensors, with their place; empty where the two are not built alike."""
    if structure(got, want, dtypes=False) is not None:
        return []
    return [(path, g, w) for (path, g), (_, w) in _pairs(got, want) if not isinstance(w, Tensor)]


def plain_differs(got: Any, want: Any) -> bool:
    """Whether two plain leaves differ by more than a right answer's would."""
    return _plain_values("", got, want) is not None


def _plain_values(path: str, got: Any, want: Any) -> Difference | None:
    if isinstance(want, (int, float)) and not isinstance(want, bool):
        g = _number(got)
        if isinstance(want, int):
            same, worst, tolerance = g == want, _float(abs(g - want)), 0.0
        elif not math.isfinite(want):
            same, worst, tolerance = g == want or (g != g and want != want), math.inf, 0.0
        else:
            row = TABLE["number"]
            tolerance = row.multiple * row.floor * row.eps * max(abs(want), 1e-3)
            worst = abs(_float(g) - want)
            same = worst <= tolerance
            if not math.isfinite(_float(g)):
                return Difference("finite", path, g, want, f"The result is {g}, where a finite number is right.")
        return None if same else Difference("value", path, g, want, "", worst, tolerance)
    if isinstance(want, bool):
        return None if bool(got) == want else Difference("value", path, bool(got), want, "")
    return None if got == want else Difference("value", path, got, want, "")


def _tensor_values(path: str, got: Tensor, want: Tensor, exact: Any, visible: Tensor | None) -> Difference | None:
    if not want.is_floating_point():
        bad = got != want
        return Difference("value", path, got, want, "", bad=bad) if bool(bad.any()) else None
    if got.dtype == want.dtype and torch.equal(got, want):
        return None
    g, w = got.double(), want.double()
    exact = exact.double() if isinstance(exact, Tensor) and exact.shape == w.shape else None
    if visible is None:
        gap = (g - w).abs()
        worst, honest = float(gap.max()), 0.0 if exact is None else float((w - exact).abs().max())
        if math.isfinite(worst) and math.isfinite(honest):  # so are all values, as nearly always
            tolerance = allowed(w, honest, kind_of(want))
            if worst <= tolerance:
                return None
            return Difference("value", path, got, want, "", worst, tolerance, gap > tolerance)
    shown = torch.ones_like(w, dtype=torch.bool) if visible is None else visible.expand(w.shape)
    same_odd = ~torch.isfinite(w) & ((g == w) | (torch.isnan(g) & torch.isnan(w)))
    odd = shown & ~torch.isfinite(g) & ~same_odd
    if bool(odd.any()):
        what = "NaN" if bool(torch.isnan(g[odd]).any()) else "infinite"
        message = f"{int(odd.sum())} of {odd.numel()} values are {what}, where finite ones are right."
        return Difference("finite", path, got, want, message, bad=odd)
    finite = shown & torch.isfinite(w)
    honest = 0.0
    if exact is not None:
        error = (w - exact).abs()[finite]
        error = error[torch.isfinite(error)]
        honest = float(error.max()) if error.numel() else 0.0
    tolerance = allowed(w[finite], honest, kind_of(want))
    gap = torch.where(finite, (g - w).abs(), torch.where(shown & ~same_odd & ~torch.isfinite(w), torch.inf, 0.0))
    bad = gap > tolerance
    if not bool(bad.any()):
        return None
    return Difference("value", path, got, want, "", float(gap.max()), tolerance, bad)


def agree(got: Any, other: Any, slack: float = 4.0) -> bool:
    """Whether two results are the same answer: structure and values, within `slack` times the floor of the table.

    Used to tell which wrong program gave this result, so structure that is off in the same way agrees.
    """
    if structure(got, other) is not None:
        return False
    for (_, g), (_, w) in _pairs(got, other):
        if isinstance(w, Tensor):
            if not _tensors_agree(g, w, slack):
                return False
        elif _plain_values("", g, w) is not None:
            return False
    return True


def _tensors_agree(g: Tensor, w: Tensor, slack: float) -> bool:
    if not w.is_floating_point() or w.is_complex():
        return bool((g == w).all())
    if g.dtype == w.dtype and torch.equal(g, w):
        return True
    a, b = g.double(), w.double()
    if math.isfinite(worst := float((a - b).abs().max())):  # so are all values, as nearly always
        return worst <= slack * allowed(b, 0.0, kind_of(w))
    both = torch.isfinite(a) & torch.isfinite(b)
    if bool((~both & ~((a == b) | (torch.isnan(a) & torch.isnan(b)))).any()):
        return False
    return not both.any() or float((a - b).abs()[both].max()) <= slack * allowed(b[both], 0.0, kind_of(w))


def _advice(got: Any, want: Tensor) -> str:
    if got is None:
        return " Is the last line missing its return?"
    if isinstance(got, Refused):
        return got.advice
    if isinstance(got, (tuple, list)):
        parts = [part for part in got if isinstance(part, Tensor)]
        if any(part.shape == want.shape for part in parts):
            return " Return the tensor alone."
        if parts and len(parts) == len(got):
            return " torch.stack or torch.cat joins tensors into one."
    return ""


def names(keys: list) -> str:
    """Up to five keys as text."""
    return ", ".join(map(repr, keys[:5])) + (", …" if len(keys) > 5 else "")


def short(dtype: torch.dtype) -> str:
    """ "float32" for torch.float32."""
    return str(dtype).removeprefix("torch.")
