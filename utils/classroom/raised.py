"""Errors of answers, made again on this side: the same kind and text, with the learner's own line in the traceback."""

import builtins
import functools
import linecache

from utils.grading.raised import TimeUp


def error_like(said: dict) -> BaseException:
    """An error like the one that the answer raised, with the learner's own line in its traceback."""
    if type(said) is not dict:
        return RuntimeError("an error that is none")
    kind, text, line = (str(said.get(part, ""))[:600] for part in ("kind", "text", "line"))
    if kind == "TimeUp":
        return TimeUp()
    known = [known_errors().get(str(base)) for base in (kind, *_listed(said.get("bases")))]
    base = next(filter(None, known), Exception)
    name = kind if kind.isidentifier() else "Error"
    made = base if base.__name__ == kind else type(name, (base,), {"__str__": _first})
    try:
        error = made(*_arguments(said, text)) if made is base else made(text)
    except (TypeError, ValueError):  # UnicodeDecodeError and the like want more than a text
        error = type(name, (Exception,), {})(text)
    return raised_at(error, line)


def _listed(told: object) -> list:
    return told[:8] if type(told) is list else []


@functools.cache
def known_errors() -> dict[str, type]:
    """Kinds of errors that are the same on both sides: Python's own, torch's and einops'. An interrupt is not one."""
    import einops
    import torch

    others = (einops.EinopsError, torch.linalg.LinAlgError, torch.OutOfMemoryError)
    return _pythons() | {kind.__name__: kind for kind in others}


@functools.cache
def known_names() -> frozenset[str]:
    """The names of `known_errors`, without loading torch."""
    return frozenset(_pythons()) | {"EinopsError", "_LinAlgError", "OutOfMemoryError"}


def _pythons() -> dict[str, type]:
    kinds = {name: kind for name, kind in vars(builtins).items() if isinstance(kind, type)}
    left_out = (KeyboardInterrupt, BaseException)
    return {name: kind for name, kind in kinds.items() if issubclass(kind, BaseException) and kind not in left_out}


def _arguments(said: dict, text: str) -> list:
    """What an error of Python's own was made with; its text where that was no plain value."""
    given, binary = said.get("args"), said.get("bytes")
    if type(given) is not list or type(binary) is not list or any(type(arg) not in (str, int) for arg in given):
        return [text]
    return [bytes.fromhex(arg) if i in binary else arg for i, arg in enumerate(given[:8])]


def _first(error: BaseException) -> str:
    return str(error.args[0]) if error.args else ""


def raised_at(error: BaseException, line: str) -> BaseException:
    if not line:
        return error
    name = "<the answer>"
    linecache.cache[name] = (len(line), None, [line + "\n"], name)
    try:
        exec(compile("raise error", name, "exec"), {"error": error})
    except BaseException as raised:  # noqa: BLE001  (it is the one that was made above)
        return raised
    return error
