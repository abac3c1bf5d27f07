"""All that a notebook imports: `from utils import grade, hint, progress, reference, device, show, use`.

Each name loads its module when it is first used, so that `import utils` itself costs nothing and a chapter that only
needs tensors never waits for TransformerLens or plotly. `_HOMES` is the whole public surface.
"""

from importlib import import_module

__version__ = "0.1.0"

_HOMES = {
    "device": "utils.reference",
    "grade": "utils.grading",
    "hint": "utils.grading",
    "progress": "utils.grading",
    "reference": "utils.reference",
    "tokenizer": "utils.reference",
    "show": "utils.show",
    "use": "utils.grading",
}
_MODULES = {"reference", "show"}  # the name is the package itself; `utils.reference` can be called

__all__ = ["device", "grade", "hint", "progress", "reference", "show", "tokenizer", "use"]


def __getattr__(name: str):
    if name not in _HOMES:
        raise AttributeError(f"module 'utils' has no attribute '{name}'; it has {', '.join(__all__)}")
    module = import_module(_HOMES[name])
    return module if name in _MODULES else getattr(module, name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
