"""What goes through the wall of the sandbox: frames of a JSON index and tensors in safetensors, never pickle.

The same code reads and writes on both sides. Whoever reads trusts nothing: lengths are limited before memory is
taken, tensors arrive dense, and an object that is no tree of plain values has no way in.
"""

import base64
import json
import socket
import struct
import time
from collections.abc import Callable
from types import MappingProxyType, SimpleNamespace
from typing import Any

import torch
from safetensors import TensorSpec, serialize
from safetensors.torch import load
from torch import Tensor

from utils.grading.plain import Refused, odd_tensor

HEAD = struct.Struct("<II")
MOST_JSON, MOST_BYTES = 16 * 2**20, 192 * 2**20
DEEPEST = 64
MOST_NODES = 100_000  # of a reply
_DTYPES = {str(value).removeprefix("torch."): value for value in vars(torch).values() if type(value) is torch.dtype}
_COMPLEX = {torch.complex64: torch.float32, torch.complex128: torch.float64, torch.complex32: torch.float16}


class WireError(Exception):
    """The other side sent what cannot be read; its sentence says what."""


class Gone(WireError):
    """The other side has ended, or its time is up."""


class Channel:
    """Frames over a socket. `deadline` is a moment of time.monotonic() after which reading and writing give up."""

    def __init__(self, sock: socket.socket):
        self.sock, self.deadline = sock, None
        self.read = self.written = 0

    def send(self, message: Any, tensors: list[Tensor]) -> None:
        """One frame.

        Raises:
            Gone: the other side has ended or does not read.
        """
        text = json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
        blob = _packed(tensors) if tensors else b""
        self.written += len(text) + len(blob)
        self._try(lambda: self.sock.sendall(b"".join((HEAD.pack(len(text), len(blob)), text, blob))))

    def receive(self) -> tuple[Any, dict[str, Tensor]]:
        """The next frame: its index and its tensors by name.

        Raises:
            Gone: there is none.
            WireError: it is too large or not what it says it is.
        """
        n_text, n_blob = HEAD.unpack(self._exactly(HEAD.size))
        if n_text > MOST_JSON or n_blob > MOST_BYTES:
            raise WireError(f"a result of {n_text + n_blob:,} bytes is more than an answer may give")
        text, blob = self._exactly(n_text), self._exactly(n_blob)
        self.read += n_text + n_blob
        try:
            return json.loads(str(text, "utf-8", "surrogatepass")), load(bytes(blob)) if n_blob else {}
        except (ValueError, RecursionError, OverflowError) as error:
            raise WireError(f"a result that is not JSON: {error}") from None
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # noqa: BLE001  (safetensors raises errors of its own, and panics)
            raise WireError(f"tensors that are not safetensors: {error}") from None

    def _exactly(self, n: int) -> bytearray:
        got, view = 0, memoryview(bytearray(n))
        while got < n:
            read = self._try(lambda rest=view[got:]: self.sock.recv_into(rest))
            if read == 0:
                raise Gone("the process has ended")
            got += read
        return view.obj

    def _try(self, act: Callable[[], Any]) -> Any:
        if self.deadline is not None:
            left = self.deadline - time.monotonic()
            if left <= 0:
                raise Gone("time is up")
            self.sock.settimeout(left)
        try:
            return act()
        except TimeoutError:
            raise Gone("time is up") from None
        except OSError:
            raise Gone("the process has ended") from None


class Writer:
    """Turns a tree into JSON and a list of tensors. `foreign` writes what is no plain value, or gives None."""

    def __init__(self, foreign: Callable[["Writer", Any], Any] | None = None, strides: bool = True):
        self.tensors: list[Tensor] = []
        self.foreign, self.strides = foreign, strides

    def write(self, value: Any, depth: int = 0) -> Any:
        """The node that stands for a value."""
        kind = type(value)
        if value is None or kind in (bool, str):
            return value
        if kind is int:
            return value if abs(value) < 2**53 else ["int", hex(value)]
        if kind is float:
            return value if value - value == 0 else ["float", repr(value)]
        if depth > DEEPEST:
            return self.write(Refused("something nested too deep"))
        given = self.foreign(self, value) if self.foreign else None
        return self.plain(value, depth) if given is None else given

    def plain(self, value: Any, depth: int = 0) -> Any:
        """The node of a tensor, a container or another plain value."""
        kind = type(value)
        if kind in (tuple, list, dict):
            return self._container(kind, value, depth)
        if isinstance(value, Tensor):
            return self.tensor(value)
        simple = _SIMPLE.get(kind)
        if simple is not None:
            return [simple[0], self.write(simple[1](value), depth + 1)]
        if kind is Refused:
            return ["refused", value.what, value.advice, value.is_tensor]
        raise WireError(f"a {kind.__name__} cannot be sent")

    def _container(self, kind: type, value: Any, depth: int) -> Any:
        if kind is dict:
            if all(type(k) is str for k in value) and _all_simple(value.values()):
                return ["strdict", value]
            return ["dict", [[self.write(k, depth + 1), self.write(v, depth + 1)] for k, v in value.items()]]
        if _all_simple(value):
            return [f"plain{kind.__name__}", list(value)]
        return [kind.__name__, [self.write(item, depth + 1) for item in value]]

    def tensor(self, value: Tensor) -> Any:
        """The node of a dense tensor; strides go along, for an answer has to meet them."""
        odd = odd_tensor(value)
        if odd:
            return ["refused", odd, "", True]
        value = value.detach()
        if value.dtype in _COMPLEX:
            return ["complex", self.tensor(torch.view_as_real(value.resolve_conj()).contiguous())]
        self.tensors.append(value.resolve_neg().contiguous())
        place = len(self.tensors) - 1
        if value.is_contiguous() or not self.strides or 0 in value.stride():  # one place for many cannot be filled
            return ["T", place]
        return ["S", place, list(value.stride())]


def _packed(tensors: list[Tensor]) -> bytes:
    """Dense tensors as safetensors, named by their places; read from their memory, which several may share."""
    dense = [tensor.cpu() for tensor in tensors]
    return serialize(
        {
            str(i): TensorSpec(
                dtype=str(tensor.dtype).removeprefix("torch."),
                shape=tensor.shape,
                data_ptr=tensor.data_ptr(),
                data_len=tensor.nbytes,
            )
            for i, tensor in enumerate(dense)
        }
    )


_FAST = frozenset({str, int, bool, type(None)})


def _all_simple(values: Any) -> bool:
    """Whether JSON keeps all of these as they are, so that a vocabulary is written at once."""
    kinds = set(map(type, values))
    return kinds <= _FAST and (int not in kinds or max(abs(v) for v in values if type(v) is int) < 2**53)


_SIMPLE: dict[type, tuple[str, Callable]] = {
    bytes: ("bytes", lambda v: base64.b64encode(v).decode()),
    complex: ("number", lambda v: (v.real, v.imag)),
    torch.dtype: ("dtype", lambda v: str(v).removeprefix("torch.")),
    torch.device: ("device", str),
    torch.Size: ("size", tuple),
    range: ("range", lambda v: (v.start, v.stop, v.step)),
    slice: ("slice", lambda v: (v.start, v.stop, v.step)),
    type(...): ("dots", lambda v: None),
    SimpleNamespace: ("namespace", lambda v: dict(vars(v))),
    MappingProxyType: ("view", dict),
    type(iter([])): ("iterator", list),
    type(iter(())): ("iterator", list),
}
_BUILD: dict[str, Callable] = {
    "int": lambda v: int(v, 16),
    "float": float,
    "bytes": lambda v: base64.b64decode(v, validate=True),
    "number": lambda v: complex(*v),
    "dtype": lambda v: _DTYPES[v],
    "device": torch.device,
    "size": torch.Size,
    "range": lambda v: range(*v),
    "slice": lambda v: slice(*v),
    "dots": lambda v: ...,
    "namespace": lambda v: SimpleNamespace(**v),
    "view": MappingProxyType,
    "iterator": iter,
}


class Reader:
    """Turns a frame back into a tree. `foreign` reads the nodes that `Writer.foreign` wrote.

    Args:
        strides: whether a tensor may ask for strides of its own; only the sandbox lets the outside ask for them.
    """

    def __init__(self, tensors: dict[str, Tensor], foreign: Callable | None = None, strides: bool = False):
        self.tensors, self.foreign, self.strides = dict(tensors), foreign, strides
        self.nodes = 0

    def read(self, node: Any, depth: int = 0) -> Any:
        """The value that a node stands for.

        Raises:
            WireError: the node stands for nothing.
        """
        if type(node) is not list:
            if type(node) is dict:
                raise WireError("a JSON object where none belongs")
            return node
        try:
            return self._tagged(node, depth)
        except WireError:
            raise
        except Exception as error:  # whatever a hostile node sets off while it is read
            raise WireError(f"an unreadable value ({type(error).__name__})") from None

    def _tagged(self, node: list, depth: int) -> Any:
        self.nodes += 1
        if depth > DEEPEST + 2 or self.nodes > MOST_NODES and not self.strides:
            raise WireError("values nested too deep, or too many")
        tag = node[0]
        if tag in ("tuple", "list"):
            items = [self.read(item, depth + 1) for item in node[1]]
            return tuple(items) if tag == "tuple" else items
        if tag in ("plaintuple", "plainlist"):
            if not set(map(type, node[1])) <= _FAST:
                raise WireError("a list that is not plain")
            return tuple(node[1]) if tag == "plaintuple" else node[1]
        if tag == "strdict":
            if not set(map(type, node[1].values())) <= _FAST:
                raise WireError("a dict that is not plain")
            return node[1]
        if tag == "dict":
            return {self.read(k, depth + 1): self.read(v, depth + 1) for k, v in node[1]}
        if tag in ("T", "S"):
            return self._tensor(*node)
        if tag == "complex":
            return torch.view_as_complex(self._tensor(*node[1]))
        if tag == "refused":
            return Refused(str(node[1]), str(node[2]), bool(node[3]))
        if tag in _BUILD:
            return _BUILD[tag](self.read(node[1], depth + 1) if type(node[1]) is list else node[1])
        if self.foreign is not None:
            return self.foreign(self, node)
        raise WireError(f"a node {str(tag)[:20]!r}")

    def _tensor(self, tag: str, place: int, stride: list | None = None) -> Tensor:
        dense = self.tensors.pop(str(place))  # each stands for one value: a copy of it costs memory once
        if tag == "T":
            return dense
        if not self.strides:
            raise WireError("a tensor with strides of its own")
        made = torch.empty_strided(dense.shape, [int(n) for n in stride], dtype=dense.dtype)
        return made.copy_(dense)
