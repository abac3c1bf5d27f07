"""What is global in Python and torch, remembered and put back.

An answer may set flags, leave a mode on, change folder or take modules away; a cell before it may have done so. The
grader works under `standard` settings, whatever the notebook's are, and `Settings` undoes what an answer leaves behind.
Functions that are needed for that are held from before. What a process cannot take back (memory that was overwritten,
a closed file descriptor, os._exit) is for the class sandbox.
"""

import gc
import os
import random
import signal
import sys
import threading
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from operator import is_
from typing import Any

import numpy
import torch
from torch import overrides
from torch._tensor_str import PRINT_OPTS
from torch.nn.modules import module as modules
from torch.utils import _device as devices
from torch.utils import _python_dispatch as dispatch

_cuda = torch.backends.cuda
_modules, _environ = sys.modules, os.environ
_chdir, _getcwd, _getsignal, _setsignal = os.chdir, os.getcwd, signal.getsignal, signal.signal
_main_thread, _current_thread = threading.main_thread, threading.current_thread
_is_inference, _inference_mode = torch.is_inference_mode_enabled, torch.inference_mode
_set_recursion_limit, _get_recursion_limit = sys.setrecursionlimit, sys.getrecursionlimit
_all_modules: dict[str, Any] = {}  # as they were when the last grading began: copying thousands at each call takes long
_SMALLEST, _ONE = 5e-324, 1.0
_get_timer, _set_timer = signal.getitimer, signal.setitimer
# Hooks that torch calls for every module there is, by registry.
_MODULE_HOOKS = [
    value for name, value in vars(modules).items() if name.startswith("_global_") and type(value) is OrderedDict
]
_kept_on: list[Any] = []  # inference modes that an answer left on are answered with one of ours, which then stays


def _flag(module: object, name: str) -> tuple[Callable, Callable]:
    return (lambda: getattr(module, name, None)), (lambda value: setattr(module, name, value))


def _autocast(device: str) -> tuple[Callable, Callable]:
    get, put = torch.is_autocast_enabled, torch.set_autocast_enabled
    return (lambda: get(device)), (lambda value: put(device, value))


def _default_device() -> tuple:
    """The default device is a mode at the bottom of the stack, and these two names."""
    return getattr(torch._GLOBAL_DEVICE_CONTEXT, "device_context", None), devices.CURRENT_DEVICE


def _put_default_device(value: tuple) -> None:
    torch._GLOBAL_DEVICE_CONTEXT.device_context, devices.CURRENT_DEVICE = value


def _flushes() -> bool:
    """Whether numbers too small for full precision become 0, which torch can set but not tell."""
    return _SMALLEST * _ONE == 0.0


def put_profile(before: Any) -> None:
    """sys.setprofile takes functions only; cProfile's object, which sys.getprofile gives, is switched on again."""
    if before is None or callable(before):
        sys.setprofile(before)
    else:
        before.enable()


# (get, put) of each; the first ones have a standard value, under which grading works.
_NORMAL: list[tuple[Callable, Callable, Any]] = [
    (torch.get_default_dtype, torch.set_default_dtype, torch.float32),
    (_default_device, _put_default_device, (None, None)),
    (torch.is_grad_enabled, torch.set_grad_enabled, True),
    (*_autocast("cpu"), False),
    (*_autocast("cuda"), False),
    (torch.are_deterministic_algorithms_enabled, torch.use_deterministic_algorithms, False),
    (torch.is_anomaly_enabled, torch.set_anomaly_enabled, False),
]
_FREE: list[tuple[Callable, Callable]] = [
    (torch.get_num_threads, torch.set_num_threads),
    (torch.get_float32_matmul_precision, torch.set_float32_matmul_precision),
    (sys.gettrace, sys.settrace),
    (sys.getprofile, put_profile),
    (sys.getswitchinterval, sys.setswitchinterval),
    (gc.isenabled, lambda on, enable=gc.enable, disable=gc.disable: enable() if on else disable()),
    _flag(sys, "stdin"),
    _flag(sys, "stdout"),
    _flag(sys, "stderr"),
    _flag(sys, "displayhook"),
    _flag(sys, "excepthook"),
    _flag(sys, "breakpointhook"),
    _flag(warnings, "showwarning"),
    _flag(_cuda.matmul, "allow_tf32"),
    *(_flag(torch.backends.cudnn, name) for name in ("allow_tf32", "enabled", "benchmark", "deterministic")),
    _flag(torch.backends.mkldnn, "enabled"),
    (_cuda.flash_sdp_enabled, _cuda.enable_flash_sdp),  # these three count on a CPU too
    (_cuda.mem_efficient_sdp_enabled, _cuda.enable_mem_efficient_sdp),
    (_cuda.math_sdp_enabled, _cuda.enable_math_sdp),
    (sys.get_int_max_str_digits, sys.set_int_max_str_digits),
    (_flushes, torch.set_flush_denormal),
    (numpy.geterr, lambda value, put=numpy.seterr: put(**value)),
    (vars(PRINT_OPTS).copy, vars(PRINT_OPTS).update),
    _flag(modules, "_global_is_full_backward_hook"),
]
TORCH = [(get, put) for get, put, _ in _NORMAL] + _FREE


class Settings:
    """Everything global as it is now; `put_back` makes it so again."""

    def __init__(self):
        self.recursion_limit = _get_recursion_limit()
        self.modes = _function_modes(), _dispatch_modes()
        self.inference = _is_inference()
        self.values = [get() for get, _ in TORCH]
        self.lists = [(part, part[:]) for part in (sys.path, sys.meta_path, sys.path_hooks, warnings.filters)]
        self.modules, self.environ = len(_modules), _environ._data.copy()
        self.folder = _folder()
        self.signals = _signals()
        self.timer = _get_timer(signal.ITIMER_REAL)[0] > 0
        self.hooks = [registry.copy() for registry in _MODULE_HOOKS]

    def put_back(self) -> None:
        """Undo every change since."""
        _set_recursion_limit(self.recursion_limit)
        if _is_inference() != self.inference:
            _kept_on.append(_inference_mode(self.inference))
            _kept_on[-1].__enter__()
        for (get, put), value in zip(TORCH, self.values, strict=True):
            now = get()
            if now is not value and now != value:
                put(value)
        _put_modes(*self.modes)
        for part, before in self.lists:
            if len(part) != len(before) or not all(map(is_, part, before)):
                part[:] = before
        sys.path, sys.meta_path, sys.path_hooks, warnings.filters = (part for part, _ in self.lists)
        self._put_process_back()

    def _put_process_back(self) -> None:
        if not self.timer and _get_timer(signal.ITIMER_REAL)[0] > 0:
            _set_timer(signal.ITIMER_REAL, 0)
        put_hooks(self.hooks)
        sys.modules, os.environ = _modules, _environ
        if len(_modules) < self.modules:
            _modules.update(_all_modules)
        if _environ._data != self.environ:
            for name in set(_environ._data) - set(self.environ):
                del _environ[_environ.decodekey(name)]
            for name, value in self.environ.items():
                _environ[_environ.decodekey(name)] = _environ.decodevalue(value)
        if self.folder is not None and _folder() != self.folder:
            _chdir(self.folder)
        if self.signals is not None:
            for number, handler in self.signals:
                if _getsignal(number) is not handler and handler is not None:
                    _setsignal(number, handler)


def put_hooks(wanted: list[dict]) -> None:
    """Make the registries of hooks for every module hold exactly these."""
    for registry, hooks in zip(_MODULE_HOOKS, wanted, strict=True):
        if registry != hooks:
            registry.clear()
            registry.update(hooks)


@contextmanager
def standard() -> Iterator[None]:
    """Grading's own settings inside; afterwards the notebook's are as they were."""
    _all_modules.clear()
    _all_modules.update(_modules)
    before, random_states = Settings(), _random_states()
    inference = _inference_mode(False)
    for (_, put, value), now in zip(_NORMAL, before.values, strict=False):
        if now != value:
            put(value)
    _put_modes([], [])
    put_hooks([{} for _ in _MODULE_HOOKS])
    sys.breakpointhook = _no_breakpoint
    inference.__enter__()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        inference.__exit__(None, None, None)
        before.put_back()
        if not all(map(is_, map(_modules.get, _all_modules), _all_modules.values())):
            _modules.update(_all_modules)
        for put, state in random_states:
            put(state)


def _no_breakpoint(*args: Any, **kwargs: Any) -> None:
    """breakpoint() in an answer is passed over while it is graded: nobody would see the prompt."""


def _function_modes() -> list:
    return overrides._get_current_function_mode_stack()


def _dispatch_modes() -> list:
    return dispatch._get_current_dispatch_mode_stack()


def _put_modes(functions: list, dispatches: list) -> None:
    for now, wanted, api in ((_function_modes(), functions, overrides), (_dispatch_modes(), dispatches, dispatch)):
        if len(now) != len(wanted) or not all(map(is_, now, wanted)):
            for _ in now:
                api._pop_mode()
            for mode in wanted:
                api._push_mode(mode)


def _random_states() -> list[tuple[Callable, Any]]:
    """How to put back each source of random numbers, and with what."""
    states = [(torch.set_rng_state, torch.get_rng_state()), (random.setstate, random.getstate())]
    if torch.cuda.is_initialized():
        states.append((torch.cuda.set_rng_state_all, torch.cuda.get_rng_state_all()))
    if (numpy := _modules.get("numpy")) is not None:
        states.append((numpy.random.set_state, numpy.random.get_state()))
    return states


def _folder() -> str | None:
    try:
        return _getcwd()
    except OSError:  # it was deleted
        return None


def _signals() -> list[tuple[int, Any]] | None:
    if _current_thread() is not _main_thread():
        return None  # only the main thread may set handlers
    return [(number, _getsignal(number)) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM)]
