"""The model that the book is about: `reference()` gives it, `tokenizer()` its tokenizer, `device()` where to compute.

The name of this package is also the name of its one function, so the package itself can be called: whichever of
`from utils import reference` and `import utils.reference` came first in a kernel, `reference()` works. As in `utils`,
a name loads its module when it is first used, so that looking up the choice does not wait for PyTorch.
"""

import sys
import types
from importlib import import_module

_HOMES = {
    "KINDS": "choice",
    "ReferenceProblem": "problems",
    "choose": "choice",
    "chosen": "choice",
    "device": "devices",
    "reference": "loading",
    "tokenizer": "vocabulary",
    "tokenizer_folder": "vocabulary",
}

__all__ = list(_HOMES)


def __getattr__(name: str):
    if name not in _HOMES:
        raise AttributeError(f"module 'utils.reference' has no attribute '{name}'; it has {', '.join(_HOMES)}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


class _CallablePackage(types.ModuleType):
    def __call__(self, kind=None, device=None):
        """The reference model, loaded once a kernel: see `utils.reference.loading.reference`."""
        return self.reference(kind, device)


sys.modules[__name__].__class__ = _CallablePackage
