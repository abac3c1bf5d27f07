"""The model that the book is about: `reference()` gives it, `tokenizer()` its tokenizer, `device()` where to compute.

The name of this package is also the name of its one function, so the package itself can be called: whichever of
`from utils import reference` and `import utils.reference` came first in a kernel, `reference()` works.
"""

import sys
import types

from utils.reference.choice import KINDS, choose, chosen
from utils.reference.devices import device
from utils.reference.loading import reference
from utils.reference.problems import ReferenceProblem
from utils.reference.vocabulary import tokenizer, tokenizer_folder

__all__ = ["KINDS", "ReferenceProblem", "choose", "chosen", "device", "reference", "tokenizer", "tokenizer_folder"]


class _CallablePackage(types.ModuleType):
    def __call__(self, kind=None, device=None):
        return reference(kind, device)

    __call__.__doc__ = reference.__doc__


sys.modules[__name__].__class__ = _CallablePackage
