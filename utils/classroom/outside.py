"""The outer end of the wall: hands arguments in, and takes results and what happened to the arguments back.

While an answer runs the inside asks for things: a method of an object that it was handed, a function of an earlier
chapter. What may be asked is decided here from the object's own public methods, never by the asking side.
"""

import builtins
import resource
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from utils.classroom.handed import is_simple, looks, methods, namespace
from utils.classroom.hurry import Late, until
from utils.classroom.modules import apply_state, stamp, state_of
from utils.classroom.peer import ByValue, Exchange, Peer
from utils.classroom.raised import error_like, raised_at
from utils.classroom.wire import Channel, Gone, Reader, WireError, Writer
from utils.grading import dice, watch
from utils.grading.plain import Refused
from utils.grading.raised import TimeUp
from utils.grading.trees import leaves

MOST_GIVEN = 2**23  # numbers of a result: no exercise asks for a third of it
MOST_ASKED = 2**21  # numbers that the inside may hand to a function of the book's
MOST_RAISED = 10_000  # errors of the book's functions in one exercise
ROOM = 2 * 2**30  # bytes that such a function may take
WAIT, LEAST = 4, 6.0  # seconds on the clock for one of processor time, and at least, before a process is given up


class Ended(BaseException):
    """The submission's process is gone: it was killed when its time was up, or it crashed."""


class Outside(Peer):
    """The outer end of the wall, for one submission's process."""

    def __init__(
        self, channel: Channel, call_seconds: float, until: float, functions: Callable[[str, bool], Callable | None]
    ):
        super().__init__(channel)
        self.call_seconds, self.until, self.functions = call_seconds, until, functions
        self.ops |= {"method": self._method, "attribute": self._attribute, "patterns": self._patterns, "use": self._use}
        self.sent: dict[int, Any] = {}
        self.looked: dict[int, Any] = {}
        self.changeable: dict[int, Any] = {}  # what the call at hand was given and may change
        self.lent: dict[str, Any] = {}  # models that the call at hand was given by name
        self.raised: list[BaseException] = []
        self.handed: set[int] = set()  # modules that were handed in to be called
        self.lasting: dict[int, Any] = {}  # functions of earlier chapters
        self.bridges: dict[int, str] = {}
        self.ended: str | None = None
        self.op = ""
        self.late = False  # whether an answer to the exercise at hand was stopped because it took too long
        self.threads = False  # whether an answer left threads behind, which take time from the next ones

    def forget(self) -> None:
        """Everything handed in so far is out of reach: the next exercise begins."""
        self.mine = {number: self.lasting.get(number) for number in self.mine}
        self.number_of = {id(value): number for number, value in self.lasting.items()}
        self.sent.clear()
        self.handed.clear()
        self.looked.clear()
        self.raised.clear()
        self.graphs.clear()
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
        self.op = op
        if self.channel.deadline is None:
            self.changeable, self.lent = {}, {}
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
        except Late:
            self.ended = "time"
            raise TimeUp from None
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
        plain |= {"dice": dice.now()}
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
        """What an iterator of the inside gives, one by one, and not more in all than a result may hold."""
        taken = 0
        while True:
            generators = tuple(value for value in self.sent.values() if isinstance(value, torch.Generator))
            fields = {"args": generators, "kwargs": ()}  # it may draw from them as it goes
            found = self.call("method", fields, {"target": number, "method": "__next__"})
            if found is None:
                return
            taken += _numbers(found)
            if taken > MOST_GIVEN:
                self.ended = "nonsense: more than a result may hold"
                raise Ended(self.ended)
            yield found[0]

    def after(self, reply: dict, reader: Reader) -> None:
        try:
            self._after(reply, reader)
        except (KeyError, ValueError, TypeError, IndexError, AttributeError, RuntimeError) as error:
            raise WireError(f"an unreadable account of a call ({type(error).__name__})") from None

    def _after(self, reply: dict, reader: Reader) -> None:
        for number, node in reply.get("changed") or ():
            value = self.changeable.pop(int(number))  # once, and nothing that was not given
            self._take_over(value, node, reader)
            if int(number) in self.looked:
                self.looked[int(number)] = looks(value)
        for name in _names(reply.get("calls")):
            watch.note_seen(name)
        for kind in ("left", "rewritten"):
            for name in reply.get(kind) or ():
                self._disturb(str(name), kind)
        self.threads = bool(reply.get("threads"))
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
        model = self.lent.get(name)
        if model is None:
            raise WireError("an account of a model that was not handed in")
        if kind == "left":
            model.register_forward_hook(lambda *_: None)
        else:
            with torch.no_grad():
                next(p for p in model.parameters() if p.numel() <= 100_000).add_(1.0)

    def failed(self, reply: dict) -> None:
        said = reply["error"]
        if self.op in ("look", "run"):  # these raise nothing, unless somebody has changed the inner end
            raise WireError("an error where none can be")
        number = said.get("number") if type(said) is dict else None
        if type(number) is int and 0 <= number < len(self.raised):  # the book's own, which the answer let through
            raise raised_at(self.raised[number], str(said.get("line", ""))[:600])
        error = error_like(said)
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
            self.lent[self.bridges[id(value)]] = value
            return ["bridge", self.bridges[id(value)]]
        if isinstance(value, nn.Module):
            return self._scripted(value) or self._handed_module(writer, value)
        if callable(value) or kind.__module__.startswith("utils.exercises"):
            return self._object(writer, value)
        return None

    def _given(self, writer: Writer, value: Any, exchange: Exchange) -> Any:
        number = self.number(value)
        self.changeable[number] = value
        leaf = None
        if isinstance(value, Tensor) and value.requires_grad:
            by = value.is_floating_point() and torch.is_grad_enabled()
            if by:
                exchange.differentiated.append(value)
            grad = None if value.grad is None else writer.tensor(value.grad)
            leaf = [True, isinstance(value, nn.Parameter), grad, by]
        look = looks(value)
        if self.sent.get(number) is value and self.looked.get(number) == look:
            # A list may be the same while a tensor in it is not.
            return ["given", number, writer.plain(value) if isinstance(value, list) else None, leaf, True]
        self.sent[number], self.looked[number] = value, look
        if isinstance(value, torch.Generator):
            return ["given", number, ["generator", writer.tensor(value.get_state())], leaf, False]
        return ["given", number, writer.plain(value), leaf, False]

    def _handed_module(self, writer: Writer, module: nn.Module) -> Any:
        number = self.number(module)
        first = number not in self.sent
        self.sent[number] = self.changeable[number] = module
        self.handed.add(number)
        state = writer.write(ByValue(state_of(module, self.stamps.setdefault(number, {}))))
        attributes = {
            name: namespace(value) if type(value).__module__.startswith("utils.exercises") else value
            for name, value in vars(module).items()
            if not name.startswith("_") and name != "training" and is_simple(value)
        }
        return ["module", number, state, writer.write(ByValue(attributes)) if first else None]

    def _scripted(self, module: nn.Module) -> Any:
        if not hasattr(module, "heads"):
            return None
        number = self.number(module)
        self.sent[number] = module
        return ["scripted", number, len(module.heads), len(module.heads[0]), module.tokenizer.bos_token_id]

    def _object(self, writer: Writer, value: Any) -> Any:
        if not callable(value) and is_simple(value):
            return writer.write(ByValue(namespace(value)))
        number = self.number(value)
        self.sent[number] = value
        values = [name for name in getattr(value, "__dict__", {}) if not name.startswith("_")]
        return ["object", number, type(value).__name__, methods(value), values]

    # answering

    def _answer(self, message: list, tensors: dict) -> None:
        before, self.handing = self.handing, False
        try:
            if sum(tensor.numel() for tensor in tensors.values()) > MOST_ASKED:
                raise WireError("more numbers than a function of the book takes")
            with _room(), until(self.channel.deadline):
                super()._answer(message, tensors)
        finally:
            self.handing = before

    def fatal(self, error: BaseException) -> bool:
        return not isinstance(error, Exception) or isinstance(error, WireError)

    def error(self, error: BaseException) -> dict:
        # Without its traceback, whose frames hold arguments; the last ones are enough for an answer to let through.
        self.raised.append(error.with_traceback(None))
        error.__context__ = error.__cause__ = None
        if len(self.raised) > MOST_RAISED:
            raise WireError("more errors than an answer needs")
        bases = [base.__name__ for base in type(error).__mro__ if getattr(builtins, base.__name__, None) is base]
        return {"bases": bases, "text": str(error)[:600], "number": len(self.raised) - 1}

    def _target(self, fields: dict) -> Any:
        value = self.mine.get(int(fields["plain"]["target"]))
        if value is None:
            raise ValueError("this object belongs to a call that has ended")
        return value

    def _method(self, fields: dict) -> Any:
        target, name = self._target(fields), str(fields["plain"]["method"])
        if name not in methods(target):
            raise AttributeError(f"there is no method {name}")
        return getattr(target, name)(*fields["args"], **dict(fields["kwargs"]))

    def _attribute(self, fields: dict) -> Any:
        name, held = str(fields["plain"]["name"]), vars(self._target(fields))
        if name.startswith("_") or name not in held or not (isinstance(held[name], Tensor) or is_simple(held[name])):
            raise AttributeError("this attribute cannot be had here")
        return held[name]

    def _module(self, fields: dict) -> Any:
        module = self._target(fields)
        if int(fields["plain"]["target"]) not in self.handed:
            raise TypeError("this is no model that may be called here")
        result = super()._module(fields)
        self.stamps[self.number(module)] = stamp(module)
        return result

    def _patterns(self, fields: dict) -> list:
        from utils.exercises.scripted import patterns

        tokens = fields["tokens"]
        return [torch.stack([patterns(tokens, *head) for head in layer], 1) for layer in self._target(fields).heads]

    def _use(self, fields: dict) -> int | None:
        function = self.functions(str(fields["plain"]["name"]), bool(fields["plain"]["own"]))
        if function is None:
            return None
        number = self.number(function)
        self.lasting[number] = function
        return number


def _at_most(value: Any) -> Any:
    """A result that is not too large to be kept while it is compared; else a word for what it was."""
    numbers = _numbers(value)
    return value if numbers <= MOST_GIVEN else Refused(f"a result of {numbers:,} numbers", is_tensor=True)


def _numbers(value: Any) -> int:
    return sum(leaf.numel() for _, leaf in leaves(value) if isinstance(leaf, Tensor))


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


def _names(told: Any) -> list[str]:
    """Names of calls not allowed, as the inside told them."""
    return [str(name)[:60] for name in told][:10] if type(told) is list else []
