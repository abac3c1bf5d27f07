"""Serves one submission: runs its cells, calls its answers on what the outside sends, sends back what they give.

It judges nothing. An answer can do to this process what it likes: whatever comes out is read by the outside as values.
"""

import builtins
import contextlib
import functools
import random
import socket
import sys
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy
import torch
from torch import Tensor, nn

from utils.classroom.inside import book
from utils.classroom.inside.cells import alarm, run_cell, told_of
from utils.classroom.inside.changes import fill, snapshot, unchanged
from utils.classroom.inside.standins import Given, ScriptedModel
from utils.classroom.modules import Mirror, apply_state, state_of
from utils.classroom.peer import Exchange, Peer
from utils.classroom.wire import Channel, Gone, Reader, Writer
from utils.grading.plain import Refused, plain
from utils.grading.run import Capped, settings_now, settings_restored
from utils.grading.watch import watching


def preload(settings: dict) -> None:
    """Everything that takes long to load, before there is a learner's line."""
    import einops  # noqa: F401
    import jaxtyping  # noqa: F401

    torch.set_num_threads(1)
    numpy.random.seed(0)  # noqa: NPY002  (the legacy state is the one that answers draw from)
    book.install(settings["models"])
    with settings_restored(), watching(("softmax",)):  # torch makes much of this at its first use
        torch.einsum("i,i->", torch.ones(2).softmax(0), torch.ones(2, requires_grad=True)).backward()


class Agent(Peer):
    """The inner end of the wall."""

    strides = True

    def __init__(self, sock: socket.socket):
        super().__init__(Channel(sock))
        self.ops |= {"run": self.run, "look": self.look, "call": self.call_answer, "method": self.call_method}
        self.module = types.ModuleType("__main__")
        self.names = self.module.__dict__
        sys.modules["__main__"] = self.module
        self.given: dict[int, Any] = {}
        self.number_given: dict[int, int] = {}
        self.before: list[tuple[int, Any, Any]] = []
        self.kept: list[Any] = []
        self.raised: list[tuple[BaseException, int]] = []
        self.extra: dict[str, Any] = {}
        self.settings: tuple | None = None  # as the cells left them: calls put them back
        book.book_functions = self._book_function

    def serve(self) -> None:
        """Until the outside hangs up."""
        with contextlib.suppress(Gone):
            while True:
                self.answer_next()

    # the notebook

    def run(self, fields: dict) -> list:
        """Run cells, each (id, source, seconds), one after the other; for each the error that ended it, or None."""
        ends = [run_cell(self.names, str(key), str(source), seconds) for key, source, seconds in fields["cells"]]
        self.settings = settings_now()
        return ends

    def look(self, fields: dict) -> Any:
        """What a name of the notebook holds: its kind and its parameters."""
        import inspect

        found = self.names.get(str(fields["plain"]["name"]))
        if found is None:
            return None
        kind = "class" if isinstance(found, type) else "function" if callable(found) else "other"
        told: dict[str, Any] = {"kind": kind, "is": plain(found) if kind == "other" else None}
        with contextlib.suppress(Exception):  # whatever an object's own __signature__ raises, it has none then
            parameters = inspect.signature(found).parameters.values()
            told["parameters"] = [(p.name, int(p.kind), p.default is not p.empty) for p in parameters]
        return told

    # calls

    def call_answer(self, fields: dict) -> Any:
        """Call an answer of the notebook, or make an object of its class, which stays here."""
        said = fields["plain"]
        answer = self.names[str(said["name"])]
        result = self._guarded(fields, lambda: answer(*fields["args"], **dict(fields["kwargs"])))
        if not said["keep"]:
            return result
        if not isinstance(plain(result), Refused) or isinstance(result, Tensor):
            return self._result(result)
        self.kept.append(result)
        if isinstance(result, nn.Module):
            number = self.number(result)
            return {"module": number, "state": state_of(result, self.stamps.setdefault(number, {}))}
        return {"object": self.number(result), "type": type(result).__name__}

    def call_method(self, fields: dict) -> Any:
        """Call a method of an object that stayed here."""
        target = self.mine[int(fields["plain"]["target"])]
        name = str(fields["plain"]["method"])
        special = {"__len__": lambda: len(target), "__next__": lambda: _next(target)}
        return self._guarded(fields, special.get(name, lambda: getattr(target, name)(*fields["args"])))

    def _module(self, fields: dict) -> Any:
        return self._guarded(fields, lambda: Peer._module(self, fields))

    def _guarded(self, fields: dict, run: Callable[[], Any]) -> Any:
        """Run an answer under its time limit, watched for calls not allowed; note what it did to its arguments."""
        said = fields["plain"]
        out = Capped()
        before, self.settings = self.settings, None  # a call within this one puts back what it finds
        with watching(tuple(said.get("forbid", ()))) as watch:
            try:
                with settings_restored(before), contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
                    try:
                        if said.get("dice") is not None:
                            random.seed(said["dice"])
                        with alarm(said.get("seconds")):
                            value = run()
                        return value if said.get("keep") else self._result(value)
                    finally:
                        drawn = torch.get_rng_state()
            finally:
                self.settings = before
                torch.set_rng_state(drawn)  # how far an answer has drawn is the outside's to know and to undo
                self.extra = {"printed": out.text(), "calls": list(watch.seen)}

    def _result(self, value: Any) -> dict[str, Any]:
        """A result: an argument itself, a tensor with its gradient's way back, or a plain copy."""
        number = self.number_given.get(id(value))
        if number is not None and all(unchanged(one, was) for known, one, was in self.before if known == number):
            return {"itself": number}
        if type(value) in (Tensor, nn.Parameter) and value.requires_grad and torch.is_grad_enabled():
            if value.layout == torch.strided and value.is_floating_point():
                return {"value": value}
        if isinstance(value, Iterator) or _is_loader(value):
            self.kept.append(items := iter(value))
            return {"iterator": self.number(items)}
        return {"value": plain(value)}

    def before_reply(self, reply: dict, writer: Writer) -> None:
        reply |= self.extra | book.disturbed()
        changed = []
        for number, value, was in self.before:
            if not unchanged(value, was):
                changed.append([number, self._content(writer, number, value)])
        reply["changed"] = changed
        reply["threads"] = len(sys._current_frames()) > 1
        self.extra, self.before = {}, []

    def error(self, error: BaseException) -> dict:
        """As `told_of`, and which one it is of the errors that functions of the book raised here."""
        told = told_of(error)
        return told | {"number": next((n for raised, n in self.raised if raised is error), None)}

    def failed(self, reply: dict) -> None:
        """Raise in the learner's code what a function of the book raised."""
        said = reply["error"]
        kind = getattr(builtins, (said["bases"] or ["RuntimeError"])[0])
        error = kind(said["text"])
        self.raised.append((error, said["number"]))
        raise error

    # values that are not plain

    def foreign_in(self, reader: Reader, node: list, exchange: Exchange) -> Any:
        tag, number, *rest = node
        if tag == "generator":
            return torch.Generator().set_state(reader.read(number))
        if tag == "given":
            return self._receive(reader, number, exchange, *rest)
        if tag == "module":
            state = reader.read(rest[0])
            if number not in self.given:
                mirror = Mirror(self, number, state, reader.read(rest[1]))
                self._keep(number, mirror)
            else:
                apply_state(self.given[number], state)
            self.before.append((number, self.given[number], None))
            return self.given[number]
        if tag == "object":
            if number not in self.given:
                self._keep(number, Given.made(self, number, *rest))
            return self.given[number]
        if tag == "bridge":
            return book.bridge(number)
        if tag == "scripted":
            if number not in self.given:
                self._keep(number, ScriptedModel.made(self, number, *rest))
            return self.given[number]
        return super().foreign_in(reader, node, exchange)

    def _receive(self, reader: Reader, number: int, exchange: Exchange, content: Any, leaf: Any, same: bool) -> Any:
        """A tensor, list, dict or generator that can be changed in place: the same object for the same number."""
        value, sent = self.given.get(number), None
        if content is not None:
            sent = reader.read(content)
            new = sent.clone(memory_format=torch.preserve_format) if isinstance(sent, Tensor) else sent
            if value is None:
                value = new
                if leaf:
                    value = nn.Parameter(new, requires_grad=leaf[0]) if leaf[1] else new.requires_grad_(leaf[0])
                self._keep(number, value)
            elif not same:
                fill(value, new)
            else:
                sent = None
            if leaf:
                value.grad = reader.read(leaf[2])
        if leaf and leaf[0] and leaf[3]:
            exchange.differentiated.append(value)
        self.before.append((number, value, snapshot(value, sent)))
        return value

    def known_of(self, mirror: Mirror) -> dict[str, tuple]:
        return {}

    def _keep(self, number: int, value: Any) -> None:
        self.given[number], self.number_given[id(value)] = value, number

    def foreign_out(self, writer: Writer, value: Any, exchange: Exchange) -> Any:
        number = self.number_given.get(id(value))
        if number is not None and not isinstance(value, Tensor):
            return ["yours", number]
        return None

    def _content(self, writer: Writer, number: int, value: Any) -> Any:
        if isinstance(value, Mirror):
            shared = {t.data_ptr(): n for n, t in self.given.items() if isinstance(t, Tensor)}
            return writer.write(state_of(value, {}, shared))
        if isinstance(value, torch.Generator):
            return writer.write(value.get_state())
        if isinstance(value, Tensor):
            return [writer.write(plain(value)), writer.write(plain(value.grad))]
        own = {id(v): n for n, v in self.given.items()}
        if isinstance(value, list):
            return writer.write([("yours", own[id(v)]) if id(v) in own else ("new", plain(v)) for v in value])
        return writer.write([(plain(k), plain(v)) for k, v in value.items()])

    def _book_function(self, name: str, own: Callable | None) -> Callable:
        """The learner's own, or the book's, which runs outside. Which one is asked anew at each call of a function."""

        def found() -> Callable:
            number = self.ask("use", {}, {"name": str(name), "own": own is not None})
            return own if number is None else functools.partial(self._outside, number)

        if own is None or isinstance(own, type):
            return found()
        return functools.wraps(own)(lambda *args, **kwargs: found()(*args, **kwargs))

    def _outside(self, number: int, *args: Any, **kwargs: Any) -> Any:
        """Call a function of the book's.

        Raises:
            TypeError: an argument is nothing that can go to where it runs.
        """
        for value in (*args, *kwargs.values()):
            found = plain(value)
            if isinstance(found, Refused) and not isinstance(value, Mirror) and id(value) not in self.number_given:
                raise TypeError(f"the book's function cannot be given {found.what} here: write your own")
        fields = {"args": args, "kwargs": tuple(kwargs.items())}
        return self.ask("method", fields, {"target": number, "method": "__call__"})


def _next(items: Iterator) -> tuple | None:
    """The next item in a tuple, or None after the last."""
    for item in items:
        return (item,)
    return None


def _is_loader(value: Any) -> bool:
    """Whether something is no value but gives many, as a DataLoader does."""
    return isinstance(value, Iterable) and isinstance(plain(value), Refused) and not hasattr(value, "shape")
