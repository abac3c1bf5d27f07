"""A learner's answer as the grader meets it when it runs in the sandbox: called like any other, and never touched.

`Outside` is this end of the wall. It hands arguments in, takes results and what happened to the arguments back, and
answers what the inside asks: a method of an object that it was handed, a function of an earlier chapter. What may be
asked is decided by `_asked` from the object's own public methods, never by the asking side.
"""

import builtins
import functools
import inspect
import linecache
import resource
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FunctionType, SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn

from utils.classroom.modules import Mirror, apply_state, stamp, state_of
from utils.classroom.peer import ByValue, Exchange, Peer
from utils.classroom.wire import Channel, Gone, Reader, WireError, Writer
from utils.grading import watch
from utils.grading.plain import Refused
from utils.grading.raised import TimeUp
from utils.grading.trees import leaves

MOST_GIVEN = 2**23  # numbers of a result: no exercise asks for a third of it
MOST_ASKED = 2**21  # numbers that the inside may hand to a function of the book's
ROOM = 2 * 2**30  # bytes that such a function may take
WAIT, LEAST = 4, 6.0  # seconds on the clock for one of processor time, and at least, before a process is given up
_SPECIAL = ("__call__", "__len__", "__getitem__")


class Ended(BaseException):
    """The submission's process is gone: it was killed when its time was up, or it crashed."""


class Outside(Peer):
    """The outer end of the wall, for one submission's process."""

    def __init__(self, channel: Channel, call_seconds: float, until: float, functions: Callable[[str], Callable]):
        super().__init__(channel)
        self.call_seconds, self.until, self.functions = call_seconds, until, functions
        self.ops |= {"method": self._method, "attribute": self._attribute, "patterns": self._patterns, "use": self._use}
        self.sent: dict[int, Any] = {}
        self.looked: dict[int, Any] = {}
        self.raised: list[BaseException] = []
        self.lasting: dict[int, Any] = {}  # functions of earlier chapters
        self.bridges: dict[int, str] = {}
        self.ended: str | None = None
        self.late = False  # whether an answer to the exercise at hand was stopped because it took too long

    def forget(self) -> None:
        """Everything handed in so far is out of reach: the next exercise begins."""
        self.mine = {number: self.lasting.get(number) for number in self.mine}
        self.number_of = {id(value): number for number, value in self.lasting.items()}
        self.sent.clear()
        self.looked.clear()
        self.raised.clear()
        self.late = False

    # asking

    def ask(self, op: str, fields: dict[str, Any], plain: dict[str, Any] | None = None, by: Any = ()) -> Any:
        """As `Peer.ask`, within the time that the submission has left.

        Raises:
            TimeUp: the answer did not come back in time; its process is given up.
            Ended: the process is gone.
        """
        if self.ended is not None:
            raise TimeUp if self.ended == "time" else Ended(self.ended)
        started = time.monotonic()
        before, self.handing = self.handing, True
        if self.channel.deadline is None:
            seconds = (plain or {}).get("seconds") or self.call_seconds
            self.channel.deadline = min(self.until, started + max(LEAST, WAIT * seconds))
            mine = True
        else:
            mine = False
        try:
            return super().ask(op, fields, plain, by)
        except Gone as gone:
            self.ended = "time" if "time" in str(gone) else "crash"
            if self.ended == "time":
                raise TimeUp from None
            raise Ended(str(gone)) from None
        except WireError as error:
            self.ended = f"nonsense: {error}"
            raise Ended(str(error)) from None
        finally:
            self.handing = before
            if mine:
                self.channel.deadline = None

    def call(self, op: str, fields: dict[str, Any], plain: dict[str, Any], by: Any = ()) -> Any:
        """Call an answer, a method or a module of the inside, watched as the grader watches now."""
        plain |= {"seconds": self.call_seconds, "forbid": list(watch.forbidden_now())}
        result = self.ask(op, fields, plain, by)
        if type(result) is dict and len(result) == 1:
            if "value" in result:
                return _at_most(result["value"])
            if "itself" in result:
                return self.mine[int(result["itself"])]
            if "iterator" in result:
                return self._items(int(result["iterator"]))
        return result

    def _items(self, number: int) -> Iterator[Any]:
        """What an iterator of the inside gives, one by one."""
        while True:
            generators = tuple(value for value in self.sent.values() if isinstance(value, torch.Generator))
            fields = {"args": generators, "kwargs": ()}  # it may draw from them as it goes
            found = self.call("method", fields, {"target": number, "method": "__next__"})
            if found is None:
                return
            yield found[0]

    def after(self, reply: dict, reader: Reader) -> None:
        try:
            self._after(reply, reader)
        except (KeyError, ValueError, TypeError, IndexError, AttributeError, RuntimeError) as error:
            raise WireError(f"an unreadable account of a call ({type(error).__name__})") from None

    def _after(self, reply: dict, reader: Reader) -> None:
        for number, node in reply.get("changed") or ():
            value = self.sent[int(number)]
            self._take_over(value, node, reader)
            if int(number) in self.looked:
                self.looked[int(number)] = _looks(value)
        for name in watch_names(reply.get("calls")):
            watch.note_seen(name)
        for kind in ("left", "rewritten"):
            for name in reply.get(kind) or ():
                self._disturb(str(name), kind)
        if reply.get("printed"):
            print(str(reply["printed"])[:4000], end="")

    def _take_over(self, value: Any, node: Any, reader: Reader) -> None:
        """What an answer did to an argument in place is done to the one on this side."""
        if isinstance(value, Tensor):
            new, grad = (reader.read(part) for part in node)
            if not isinstance(new, Tensor):
                new = torch.empty(0)
            with torch.no_grad():
                if new.shape == value.shape and new.dtype == value.dtype:
                    value.data.copy_(new)
                else:
                    value.data = new
            value.grad = grad if isinstance(grad, Tensor) and value.requires_grad and grad.shape == new.shape else None
            return
        new = reader.read(node)
        if isinstance(value, nn.Module):
            tensors = {number: held for number, held in self.sent.items() if isinstance(held, Tensor)}
            apply_state(value, new, tensors)
            self.stamps[self.number(value)] = stamp(value)
        elif isinstance(value, torch.Generator):
            value.set_state(new)
        elif isinstance(value, list):
            value[:] = [self.sent[int(item)] if how == "yours" else item for how, item in new]
        elif isinstance(value, dict):
            value.clear()
            value.update(new)

    def _disturb(self, name: str, kind: str) -> None:
        """Do to the model on this side what an answer left on its own: the check that looks for it finds it."""
        for model in [m for m in self.sent.values() if self.bridges.get(id(m)) == name]:
            if kind == "left":
                model.register_forward_hook(lambda *_: None)
            else:
                with torch.no_grad():
                    next(p for p in model.parameters() if p.numel() <= 100_000).add_(1.0)

    def failed(self, reply: dict) -> None:
        said = reply["error"]
        number = said.get("number") if type(said) is dict else None
        if type(number) is int and 0 <= number < len(self.raised):  # the book's own, which the answer let through
            raise _raised_at(self.raised[number], str(said.get("line", ""))[:600])
        error = _error(said)
        self.late = self.late or isinstance(error, TimeUp)
        raise error

    # handing in

    def foreign_out(self, writer: Writer, value: Any, exchange: Exchange) -> Any:
        if not self.handing:
            return None
        kind = type(value)
        if kind in (list, dict) or isinstance(value, (Tensor, torch.Generator)):
            return self._given(writer, value, exchange)
        if id(value) in self.bridges:
            self.sent[self.number(value)] = value
            return ["bridge", self.bridges[id(value)]]
        if isinstance(value, nn.Module):
            return self._scripted(value) or self._handed_module(writer, value)
        if callable(value) or kind.__module__.startswith("utils.exercises"):
            return self._object(writer, value)
        return None

    def _given(self, writer: Writer, value: Any, exchange: Exchange) -> Any:
        number = self.number(value)
        leaf = None
        if isinstance(value, Tensor) and value.requires_grad:
            by = value.is_floating_point() and torch.is_grad_enabled()
            if by:
                exchange.differentiated.append(value)
            grad = None if value.grad is None else writer.tensor(value.grad)
            leaf = [True, isinstance(value, nn.Parameter), grad, by]
        looks = _looks(value)
        if self.sent.get(number) is value and self.looked.get(number) == looks:
            # A list may be the same while a tensor in it is not.
            return ["given", number, writer.plain(value) if isinstance(value, list) else None, leaf, True]
        self.sent[number], self.looked[number] = value, looks
        if isinstance(value, torch.Generator):
            return ["given", number, ["generator", writer.tensor(value.get_state())], leaf, False]
        return ["given", number, writer.plain(value), leaf, False]

    def _handed_module(self, writer: Writer, module: nn.Module) -> Any:
        number = self.number(module)
        first = number not in self.sent
        self.sent[number] = module
        state = writer.write(ByValue(state_of(module, self.stamps.setdefault(number, {}))))
        attributes = {
            name: _namespace(value) if type(value).__module__.startswith("utils.exercises") else value
            for name, value in vars(module).items()
            if not name.startswith("_") and name != "training" and _is_simple(value)
        }
        return ["module", number, state, writer.write(ByValue(attributes)) if first else None]

    def _scripted(self, module: nn.Module) -> Any:
        if not hasattr(module, "heads"):
            return None
        number = self.number(module)
        self.sent[number] = module
        return ["scripted", number, len(module.heads), len(module.heads[0]), module.tokenizer.bos_token_id]

    def _object(self, writer: Writer, value: Any) -> Any:
        if not callable(value) and _is_simple(value):
            return writer.write(ByValue(_namespace(value)))
        number = self.number(value)
        self.sent[number] = value
        values = [name for name in getattr(value, "__dict__", {}) if not name.startswith("_")]
        return ["object", number, type(value).__name__, _methods(value), values]

    # answering

    def _answer(self, message: list, tensors: dict) -> None:
        before, self.handing = self.handing, False
        try:
            if sum(tensor.numel() for tensor in tensors.values()) > MOST_ASKED:
                raise WireError("more numbers than a function of the book takes")
            with _room():
                super()._answer(message, tensors)
        finally:
            self.handing = before

    def fatal(self, error: BaseException) -> bool:
        return not isinstance(error, Exception) or isinstance(error, WireError)

    def error(self, error: BaseException) -> dict:
        self.raised.append(error)
        bases = [base.__name__ for base in type(error).__mro__ if getattr(builtins, base.__name__, None) is base]
        return {"bases": bases, "text": str(error)[:600], "number": len(self.raised) - 1}

    def _target(self, fields: dict) -> Any:
        value = self.mine.get(int(fields["plain"]["target"]))
        if value is None:
            raise ValueError("this object belongs to a call that has ended")
        return value

    def _method(self, fields: dict) -> Any:
        target, name = self._target(fields), str(fields["plain"]["method"])
        if name not in _methods(target):
            raise AttributeError(f"there is no method {name}")
        return getattr(target, name)(*fields["args"], **dict(fields["kwargs"]))

    def _attribute(self, fields: dict) -> Any:
        name, held = str(fields["plain"]["name"]), vars(self._target(fields))
        if name.startswith("_") or name not in held or not (isinstance(held[name], Tensor) or _is_simple(held[name])):
            raise AttributeError("this attribute cannot be had here")
        return held[name]

    def _module(self, fields: dict) -> Any:
        module = self._target(fields)
        if not isinstance(module, nn.Module) or id(module) in self.bridges:
            raise TypeError("this is no model that may be called here")
        result = super()._module(fields)
        self.stamps[self.number(module)] = stamp(module)
        return result

    def _patterns(self, fields: dict) -> list:
        from utils.exercises.scripted import patterns

        tokens = fields["tokens"]
        return [torch.stack([patterns(tokens, *head) for head in layer], 1) for layer in self._target(fields).heads]

    def _use(self, fields: dict) -> int:
        function = self.functions(str(fields["plain"]["name"]))
        number = self.number(function)
        self.lasting[number] = function
        return number


class Answer:
    """A function of the submission's. Calling it calls the one in the sandbox."""

    def __init__(self, outside: Outside, name: str, look: dict):
        self.__name__ = self.__qualname__ = name
        self.outside = outside
        if (signature := _signature(look)) is not None:
            self.__signature__ = signature

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        fields = {"args": args, "kwargs": tuple(kwargs.items())}
        return self.outside.call("call", fields, {"name": self.__name__, "keep": False})


class Held:
    """An object that the submission's class made, which lives in the sandbox."""

    def __init__(self, outside: Outside, number: int):
        self._outside, self._number = outside, number

    def __getattr__(self, name: str) -> Callable:
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda *args: self._ask(name, args)

    def __len__(self) -> int:
        return self._ask("__len__", ())

    def _ask(self, method: str, args: tuple) -> Any:
        return self._outside.call("method", {"args": args, "kwargs": ()}, {"target": self._number, "method": method})


def answer_of(outside: Outside, name: str) -> Any:
    """What the submission defined under this name, as the grader may call it; None where it did not."""
    look = outside.ask("look", {}, {"name": name})
    if type(look) is not dict:
        return None
    if look.get("kind") == "function":
        return Answer(outside, name, look)
    if look.get("kind") == "class":
        return _class_of(outside, name, look)
    return look.get("is")


def _class_of(outside: Outside, name: str, look: dict) -> type:
    def make(cls: type, *args: Any, **kwargs: Any) -> Any:
        made = outside.call("call", {"args": args, "kwargs": tuple(kwargs.items())}, {"name": name, "keep": True})
        if type(made) is not dict or not {"module", "object"} & {*made}:
            return made
        if "module" in made:
            mirror = Mirror(outside, made["module"], made["state"])
            outside.mirrors[mirror._number], outside.stamps[mirror._number] = mirror, stamp(mirror)
            return mirror
        return Held(outside, int(made["object"]))

    own = {"__new__": make}
    if (signature := _signature(look)) is not None:
        own["__signature__"] = signature
    return type(name, (), own)


def _at_most(value: Any) -> Any:
    """A result that is not too large to be kept while it is compared; else a word for what it was."""
    numbers = sum(leaf.numel() for _, leaf in leaves(value) if isinstance(leaf, Tensor))
    return value if numbers <= MOST_GIVEN else Refused(f"a result of {numbers:,} numbers", is_tensor=True)


def _signature(look: dict) -> inspect.Signature | None:
    """The parameters as the inside told them; None where they make no signature."""
    try:
        kinds = list(inspect._ParameterKind)
        parameters = [
            inspect.Parameter(str(name), kinds[int(kind)], default=... if has else inspect.Parameter.empty)
            for name, kind, has in look["parameters"]
        ]
        return inspect.Signature(parameters)
    except (KeyError, ValueError, TypeError, IndexError):
        return None


def _error(said: dict) -> BaseException:
    """An error like the one that the answer raised, with the learner's own line in its traceback."""
    if type(said) is not dict:
        return Ended("an error that is none")
    kind, text, line = (str(said.get(part, ""))[:600] for part in ("kind", "text", "line"))
    if kind == "TimeUp":
        return TimeUp()
    known = [_errors().get(str(base)) for base in (kind, *(said.get("bases") or ())[:8])]
    base = next(filter(None, known), Exception)
    name = kind if kind.isidentifier() else "Error"
    made = base if base.__name__ == kind else type(name, (base,), {"__str__": _first})
    try:
        error = made(*_arguments(said, text)) if made is base else made(text)
    except (TypeError, ValueError):  # UnicodeDecodeError and the like want more than a text
        error = type(name, (Exception,), {})(text)
    return _raised_at(error, line)


@functools.cache
def _errors() -> dict[str, type]:
    """Kinds of errors that are the same on both sides: Python's own, torch's and einops'. An interrupt is not one."""
    import einops

    own = {name: kind for name, kind in vars(builtins).items() if isinstance(kind, type)}
    own = {name: kind for name, kind in own.items() if issubclass(kind, BaseException)}
    own |= {kind.__name__: kind for kind in (einops.EinopsError, torch.linalg.LinAlgError, torch.OutOfMemoryError)}
    return {name: kind for name, kind in own.items() if kind not in (KeyboardInterrupt, BaseException)}


def _arguments(said: dict, text: str) -> list:
    """What an error of Python's own was made with; its text where that was no plain value."""
    given, binary = said.get("args"), said.get("bytes")
    if type(given) is not list or type(binary) is not list or any(type(arg) not in (str, int) for arg in given):
        return [text]
    return [bytes.fromhex(arg) if i in binary else arg for i, arg in enumerate(given[:8])]


def _first(error: BaseException) -> str:
    return str(error.args[0]) if error.args else ""


def _raised_at(error: BaseException, line: str) -> BaseException:
    if not line:
        return error
    name = "<the answer>"
    linecache.cache[name] = (len(line), None, [line + "\n"], name)
    try:
        exec(compile("raise error", name, "exec"), {"error": error})
    except BaseException as raised:  # noqa: BLE001  (it is the one that was made above)
        return raised
    return error


@contextmanager
def _room() -> Iterator[None]:
    """A function of the book's that the inside calls with odd sizes may not take the grader's memory with it."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    with open("/proc/self/statm") as file:
        held = int(file.read().split()[0]) * resource.getpagesize()
    most = held + ROOM if before[1] == resource.RLIM_INFINITY else min(held + ROOM, before[1])
    resource.setrlimit(resource.RLIMIT_AS, (most, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def _looks(value: Any) -> Any:
    """When this is the same as the last time, so is the value, and it need not be sent again."""
    if isinstance(value, Tensor):
        return value._version, value.data_ptr(), value.dtype, value.shape
    if isinstance(value, torch.Generator):
        return bytes(value.get_state().numpy())
    if isinstance(value, list):
        return [id(item) for item in value]
    return [(id(key), id(item)) for key, item in value.items()]


def _methods(value: Any) -> list[str]:
    """The public methods that the book's own class of an object defines."""
    if isinstance(value, FunctionType):
        return ["__call__"]
    names = {
        name
        for kind in type(value).__mro__
        if kind.__module__.startswith("utils.")
        for name, held in vars(kind).items()
        if isinstance(held, FunctionType) and (not name.startswith("_") or name in _SPECIAL)
    }
    return sorted(names)


def _is_simple(value: Any) -> bool:
    if value is None or isinstance(value, (bool, int, float, str, torch.dtype, torch.device)):
        return True
    if isinstance(value, SimpleNamespace) or type(value).__module__.startswith("utils.exercises"):
        return not callable(value) and all(_is_simple(v) or isinstance(v, Tensor) for v in _public(value).values())
    return False


def _public(value: Any) -> dict[str, Any]:
    return {name: getattr(value, name) for name in dir(value) if not name.startswith("_")}


def _namespace(value: Any) -> SimpleNamespace:
    return SimpleNamespace(**_public(value))


def watch_names(told: Any) -> list[str]:
    """Names of calls not allowed, as the inside told them."""
    return [str(name)[:60] for name in told][:10] if type(told) is list else []
