"""Grading: `check` decides, `grade` shows. Everything is loaded when it is first used."""

from typing import Any

_WHERE = {
    "check": "checking",
    "grade": "notebook",
    "hint": "notebook",
    "use": "notebook",
    "progress": "notebook",
    "Verdict": "verdict",
}


def __getattr__(name: str) -> Any:
    import importlib

    if name in _WHERE:
        return getattr(importlib.import_module(f"{__name__}.{_WHERE[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
