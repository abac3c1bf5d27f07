"""Right, but leaving something behind: a setting, a mode, a patched function, a thread."""

import asyncio
import builtins
import gc
import inspect
import math
import os
import random
import signal
import sys
import tempfile
import threading
import types
import warnings
from typing import Any

import einops
import einops.einops
import numpy as np
import torch
from odd_table import add, after, refuse, right
from torch import Tensor, nn


class Noise(torch.overrides.TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        return out + 1 if isinstance(out, Tensor) and out.is_floating_point() else out


class DispatchNoise(torch.utils._python_dispatch.TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        raise RuntimeError("left on")


def patching(place: Any, name: str, value: Any) -> Any:
    return after(lambda q, k: setattr(place, name, value))


def stays_on(make: Any) -> Any:
    """Enters a context and never leaves it."""
    kept: list = []

    def change(q, k):
        kept.append(make())
        kept[-1].__enter__()

    return after(change)


def use_other_kernels(q, k):
    torch.backends.mkldnn.enabled = False
    torch.backends.cudnn.enabled = False
    torch.backends.cuda.enable_math_sdp(False)


def in_a_temporary_folder(q, k):
    folder = tempfile.mkdtemp()
    os.chdir(folder)
    os.rmdir(folder)


def thread_that_prints(q, k):
    done = threading.Event()
    threading.Thread(target=lambda: (print("late"), done.set()), daemon=True).start()
    done.wait()


def thread_without_end(q, k):
    threading.Thread(target=threading.Event().wait, daemon=True).start()


def closes_stdout(q, k):
    sys.stdout.close()
    sys.stdout = None
    sys.stderr = None


def sets_an_alarm(q, k):
    signal.signal(signal.SIGALRM, signal.SIG_IGN)
    signal.alarm(3600)


def no_room_for_calls(q, k):
    sys.setrecursionlimit(len(inspect.stack()) + 30)


def drops_modules(*prefixes: str) -> Any:
    def change(q, k):
        for name in list(sys.modules):
            if name.startswith(prefixes):
                del sys.modules[name]

    return after(change)


LEAVES = {
    "dtype float64": after(lambda q, k: torch.set_default_dtype(torch.float64)),
    "dtype float16": after(lambda q, k: torch.set_default_dtype(torch.float16)),
    "device meta": after(lambda q, k: torch.set_default_device("meta")),
    "grad off": after(lambda q, k: torch.set_grad_enabled(False)),
    "inference": stays_on(torch.inference_mode),
    "no grad": stays_on(torch.no_grad),
    "autocast": stays_on(lambda: torch.autocast("cpu", dtype=torch.bfloat16)),
    "function mode": stays_on(Noise),
    "dispatch mode": stays_on(DispatchNoise),
    "device context": stays_on(lambda: torch.device("meta")),
    "deterministic": after(lambda q, k: torch.use_deterministic_algorithms(True)),
    "anomaly": after(lambda q, k: torch.set_anomaly_enabled(True)),
    "threads": after(lambda q, k: torch.set_num_threads(3)),
    "seed": after(lambda q, k: torch.manual_seed(0)),
    "seed of python": after(lambda q, k: random.seed(0)),
    "seed of numpy": after(lambda q, k: np.random.seed(0)),
    "precision": after(lambda q, k: torch.set_float32_matmul_precision("medium")),
    "print options": after(lambda q, k: torch.set_printoptions(precision=1)),
    "no modes": after(
        lambda q, k: [torch.overrides._pop_mode() for _ in range(torch.overrides._len_torch_function_stack())]
    ),
    "numpy errors": after(lambda q, k: np.seterr(all="raise")),
    "warnings as errors": after(lambda q, k: warnings.simplefilter("error")),
    "warning hook": after(lambda q, k: setattr(warnings, "showwarning", refuse)),
    "recursion limit": after(no_room_for_calls),
    "trace": after(lambda q, k: sys.settrace(lambda *a: None)),
    "profile": after(lambda q, k: sys.setprofile(lambda *a: None)),
    "no garbage collection": after(lambda q, k: gc.disable()),
    "stdout": after(closes_stdout),
    "display hook": after(lambda q, k: setattr(sys, "displayhook", refuse)),
    "breakpoint": after(lambda q, k: breakpoint()),
    "folder": after(lambda q, k: os.chdir("/")),
    "deleted folder": after(in_a_temporary_folder),
    "environment": after(lambda q, k: os.environ.clear()),
    "variable": after(lambda q, k: os.environ.update(BOOK_DATA="/nowhere")),
    "environment gone": after(lambda q, k: setattr(os, "environ", {})),
    "no torch": drops_modules("torch"),
    "no grader": drops_modules("utils"),
    "no numpy": drops_modules("numpy", "einops"),
    "no modules": after(lambda q, k: sys.modules.clear()),
    "other modules": after(lambda q, k: setattr(sys, "modules", {})),
    "another torch": after(lambda q, k: sys.modules.update(torch=types.ModuleType("torch"))),
    "no path": after(lambda q, k: sys.path.clear()),
    "no finders": after(lambda q, k: sys.meta_path.clear()),
    "interrupts ignored": after(lambda q, k: signal.signal(signal.SIGINT, signal.SIG_IGN)),
    "late print": after(thread_that_prints),
    "thread": after(thread_without_end),
    "grading": after(lambda q, k: __import__("utils.grading").grading.check("05.2", right)),
    "denormals as zero": after(lambda q, k: torch.set_flush_denormal(True)),
    "other kernels": after(use_other_kernels),
    "longer numbers": after(lambda q, k: sys.set_int_max_str_digits(0)),
    "a hook for every module": after(
        lambda q, k: nn.modules.module.register_module_forward_hook(lambda module, args, out: out * 2)
    ),
    "a timer": after(lambda q, k: signal.setitimer(signal.ITIMER_REAL, 3600)),
    "a timer of its own": after(sets_an_alarm),
    "event loop": after(lambda q, k: asyncio.set_event_loop(None)),
}
for _name, _value in LEAVES.items():
    add(f"leaves {_name}", _value, passes=True)

PATCHES = [
    *(
        (builtins, name)
        for name in (
            "len",
            "isinstance",
            "type",
            "sum",
            "max",
            "min",
            "abs",
            "zip",
            "enumerate",
            "range",
            "list",
            "tuple",
            "dict",
            "map",
            "all",
            "any",
            "getattr",
            "setattr",
            "print",
            "sorted",
            "repr",
            "str",
            "float",
            "int",
            "callable",
            "issubclass",
            "iter",
            "next",
            "vars",
            "id",
            "super",
            "Exception",
        )
    ),
    *(
        (torch, name)
        for name in (
            "einsum",
            "softmax",
            "matmul",
            "equal",
            "isfinite",
            "isnan",
            "where",
            "ones",
            "ones_like",
            "zeros",
            "randn",
            "tensor",
            "empty_strided",
            "stack",
            "no_grad",
            "Generator",
            "finfo",
            "is_tensor",
            "get_rng_state",
        )
    ),
    *(
        (Tensor, name)
        for name in (
            "__add__",
            "__sub__",
            "__mul__",
            "__eq__",
            "__ge__",
            "abs",
            "max",
            "amax",
            "sum",
            "double",
            "detach",
            "clone",
            "copy_",
            "contiguous",
            "expand",
            "isfinite",
            "shape",
            "dtype",
            "__bool__",
            "__float__",
            "is_floating_point",
            "stride",
            "__torch_function__",
            "tolist",
            "masked_fill",
        )
    ),
    *((torch.nn.functional, name) for name in ("softmax", "layer_norm", "linear")),
    *((math, name) for name in ("sqrt", "isfinite", "prod")),
    *((random, name) for name in ("getstate", "setstate")),
    *((np, name) for name in ("sqrt", "array", "ndarray", "generic")),
    *((place, name) for place in (einops, einops.einops) for name in ("einsum", "rearrange", "reduce")),
    (inspect, "signature"),
    (nn.Module, "__call__"),
    (nn, "Module"),
]
for _place, _attribute in PATCHES:
    add(
        f"patches {getattr(_place, '__name__', _place)}.{_attribute}",
        patching(_place, _attribute, lambda *a, **n: torch.zeros(1)),
        passes=True,
    )
