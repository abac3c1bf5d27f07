"""One end of the wall: asks the other end, answers what it asks, and lets gradients through.

Arguments and results go by value. What cannot (a module, a function, an object) stays where it is and is stood in for;
what an answer does to its arguments in place is carried back, so that the check "inputs untouched" and answers that
work in place hold through the wall. Both ends are this class; what each allows to be asked is in `ops`.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from utils.classroom.modules import Mirror, apply_state, state_of
from utils.classroom.wire import Channel, Reader, WireError, Writer

MOST_HELD = 2**25  # numbers in results whose gradients may still be asked for


class ByValue:
    """Wraps what is sent as a plain value even where arguments are sent by number."""

    def __init__(self, value: Any):
        self.value = value


class Exchange:
    """What one request or reply carries beside its values: tensors through which gradients flow, in order."""

    def __init__(self):
        self.differentiated: list[Tensor] = []


class Peer:
    """Requests and replies over a channel. `foreign_out` and `foreign_in` are the ends' own kinds of values."""

    strides = False  # whether tensors may arrive with strides of their own
    handing = False  # whether values that are written now are arguments, known by number afterwards

    def __init__(self, channel: Channel):
        self.channel = channel
        self.ops: dict[str, Callable[[dict], Any]] = {"vjp": self._vjp, "module": self._module}
        self.mine: dict[int, Any] = {}
        self.number_of: dict[int, int] = {}
        self.mirrors: dict[int, Mirror] = {}
        self.stamps: dict[int, dict[str, tuple]] = {}
        self.graphs: dict[int, tuple[list[Tensor], list[Tensor]]] = {}
        self.count = 0
        self.random: Tensor | None = None  # torch's random state as both ends know it

    # what each end adds

    def foreign_out(self, writer: Writer, value: Any, exchange: Exchange) -> Any:
        """The node of a value that is not plain, or None."""
        return None

    def foreign_in(self, reader: Reader, node: list, exchange: Exchange) -> Any:
        """The value of a node that `foreign_out` of the other end wrote."""
        raise WireError(f"a node {str(node[0])[:20]!r}")

    def failed(self, reply: dict) -> None:
        """Raise what the other end's code raised."""
        raise WireError(str(reply.get("error"))[:200])

    def error(self, error: BaseException) -> dict:
        """What is told of an error that a request ended in."""
        return {"kind": type(error).__name__, "text": str(error)}

    # asking

    def ask(self, op: str, fields: dict[str, Any], plain: dict[str, Any] | None = None, by: Sequence = ()) -> Any:
        """Send a request, answer what is asked meanwhile, and give the value of the reply.

        Args:
            fields: values that go by value or by stand-in.
            plain: JSON that goes as it is.
            by: tensors beside the arguments that the result is differentiated by.
        """
        out = Exchange()
        out.differentiated.extend(by)
        writer = Writer(lambda w, value: self._out(w, value, out), strides=not self.strides)
        body = {name: writer.write(value) for name, value in fields.items()}
        said = (plain or {}) | {"grad": torch.is_grad_enabled(), "random": self._random_out(writer)}
        self.channel.send(["ask", op, body, said], writer.tensors)
        while True:
            message, tensors = self.channel.receive()
            if type(message) is not list or len(message) < 2:
                raise WireError("a message that is none")
            if message[0] == "ask":
                self._answer(message, tensors)
            else:
                return self._reply(message[1], tensors, out.differentiated)

    def _reply(self, reply: dict, tensors: dict, inputs: list[Tensor]) -> Any:
        if type(reply) is not dict:
            raise WireError("a reply that is none")
        got = Exchange()
        reader = Reader(tensors, lambda r, node: self._in(r, node, got), self.strides)
        self._random_in(reader, reply.get("random"))
        self.after(reply, reader)
        if "error" in reply:
            self.failed(reply)
        value = reader.read(reply.get("value"))
        if got.differentiated and inputs and torch.is_grad_enabled():
            graph = int(reply["graph"])
            linked = _Link.apply(self, graph, tuple(got.differentiated), *inputs)
            value = _swap(value, {id(a): b for a, b in zip(got.differentiated, linked, strict=True)})
        return value

    def after(self, reply: dict, reader: Reader) -> None:
        """Take over what a call did to its arguments, what it printed and the like."""

    # answering

    def answer_next(self) -> None:
        """Answer one request."""
        message, tensors = self.channel.receive()
        if type(message) is not list or len(message) != 4 or message[0] != "ask":
            raise WireError("a message that is no request")
        self._answer(message, tensors)

    def _answer(self, message: list, tensors: dict) -> None:
        got, out = Exchange(), Exchange()
        writer = Writer(lambda w, value: self._out(w, value, out), strides=not self.strides)
        reply: dict[str, Any] = {}
        try:
            _, op, body, plain = message
            reader = Reader(tensors, lambda r, node: self._in(r, node, got), self.strides)
            self._random_in(reader, plain.get("random"))
            fields = {str(name): reader.read(node) for name, node in body.items()}
            fields |= {"plain": plain, "exchange": got}
            with torch.set_grad_enabled(bool(plain.get("grad"))):
                value = self.ops[op](fields)
                reply["value"] = writer.write(value)
        except BaseException as error:  # noqa: BLE001  (the asked code may raise anything)
            if self.fatal(error):
                raise
            writer.tensors.clear()
            reply = {"error": self.error(error)}
            out.differentiated.clear()
        if out.differentiated:
            reply["graph"] = self._kept_graph(out.differentiated, got.differentiated)
        self.before_reply(reply, writer)
        reply.setdefault("random", self._random_out(writer))
        self.channel.send(["give", reply], writer.tensors)

    def _random_out(self, writer: Writer) -> Any:
        """The node of torch's random state where it is not what the other end knows: both ends draw as one would."""
        now = torch.get_rng_state()
        if self.random is not None and torch.equal(now, self.random):
            return None
        self.random = now
        return writer.tensor(now)

    def _random_in(self, reader: Reader, node: Any) -> None:
        if node is not None:
            self.random = reader.read(node)
            try:
                torch.set_rng_state(self.random)
            except (RuntimeError, TypeError) as error:
                raise WireError(f"a random state that is none: {error}") from None

    def fatal(self, error: BaseException) -> bool:
        """Whether an error is this end's own and no reply."""
        return isinstance(error, WireError)

    def _kept_graph(self, outputs: list[Tensor], leaves: list[Tensor]) -> int:
        """The number of a graph that gradients may be asked of; the oldest give way when many are large."""
        self.count += 1
        self.graphs[self.count] = outputs, leaves
        while len(self.graphs) > 1 and sum(t.numel() for pair in self.graphs.values() for t in pair[0]) > MOST_HELD:
            del self.graphs[next(iter(self.graphs))]
        return self.count

    def before_reply(self, reply: dict, writer: Writer) -> None:
        """Add to a reply what happened beside the result."""

    # values that both ends know

    def _out(self, writer: Writer, value: Any, exchange: Exchange) -> Any:
        if type(value) is ByValue:
            before, self.handing = self.handing, False
            node = writer.write(value.value)
            self.handing = before
            return node
        if isinstance(value, Mirror):
            return ["yours", value._number]
        given = self.foreign_out(writer, value, exchange)
        if given is None and isinstance(value, Tensor) and value.requires_grad:
            node = writer.tensor(value)
            if node[0] == "refused" or not value.is_floating_point():
                return node
            exchange.differentiated.append(value)
            return ["grad", node]
        return given

    def _in(self, reader: Reader, node: list, exchange: Exchange) -> Any:
        if node[0] == "grad":
            value = reader.read(node[1]).requires_grad_()
            exchange.differentiated.append(value)
            return value
        if node[0] == "yours":
            return self.mine[int(node[1])]
        return self.foreign_in(reader, node, exchange)

    def number(self, value: Any) -> int:
        """The number under which the other end knows an object of this one."""
        found = self.number_of.get(id(value))
        if found is None:
            found = self.number_of[id(value)] = len(self.mine)
            self.mine[found] = value
        return found

    # gradients and modules

    def vjp(self, graph: int, grads: tuple) -> list:
        """What the other end's graph makes of gradients of its outputs: one for each of its inputs, or None."""
        with torch.no_grad():
            return self.ask("vjp", {"grads": ByValue(list(grads))}, {"graph": graph})

    def _vjp(self, fields: dict) -> list:
        outputs, leaves = self.graphs[int(fields["plain"]["graph"])]
        pairs = [(o, g) for o, g in zip(outputs, fields["grads"], strict=True) if g is not None]
        with torch.enable_grad():
            found = torch.autograd.grad(
                [o for o, _ in pairs], leaves, [g for _, g in pairs], retain_graph=True, allow_unused=True
            )
        return [None if g is None else g.detach() for g in found]

    def run_mirror(self, mirror: Mirror, args: tuple, kwargs: dict) -> Any:
        """Call the module that a mirror stands for, with the mirror's parameters as they are now."""
        state = state_of(mirror, self.known_of(mirror))
        by = {name: p for name, p in mirror.named_parameters() if p.requires_grad and torch.is_grad_enabled()}
        fields = {"state": ByValue(state), "args": args, "kwargs": tuple(kwargs.items())}
        return self.call("module", fields, {"target": mirror._number, "by": list(by)}, tuple(by.values()))

    def known_of(self, mirror: Mirror) -> dict[str, tuple]:
        """What the other end is known to hold of a mirror; nothing where this one is a copy of the last."""
        if self.mirrors.get(mirror._number) is not mirror:
            self.mirrors[mirror._number], self.stamps[mirror._number] = mirror, {}
        return self.stamps[mirror._number]

    def call(self, op: str, fields: dict[str, Any], plain: dict[str, Any], by: Sequence = ()) -> Any:
        """Ask for something to be called."""
        return self.ask(op, fields, plain, by)

    def _module(self, fields: dict) -> Any:
        module = self.mine[int(fields["plain"]["target"])]
        apply_state(module, fields["state"])
        parameters = dict(module.named_parameters())
        fields["exchange"].differentiated[:0] = [parameters[str(name)] for name in fields["plain"]["by"]]
        return module(*fields["args"], **dict(fields["kwargs"]))


class _Link(torch.autograd.Function):
    """Joins the outputs of a call beyond the wall to the inputs on this side."""

    @staticmethod
    def forward(ctx, peer, graph, outputs, *inputs):
        ctx.peer, ctx.graph = peer, graph
        ctx.set_materialize_grads(False)
        return tuple(output.detach() for output in outputs)

    @staticmethod
    def backward(ctx, *grads):
        found = ctx.peer.vjp(ctx.graph, grads)
        return (None, None, None, *found)


def _swap(tree: Any, by: dict[int, Any]) -> Any:
    if type(tree) in (tuple, list):
        return type(tree)(_swap(item, by) for item in tree)
    if type(tree) is dict:
        return {key: _swap(item, by) for key, item in tree.items()}
    return by.get(id(tree), tree)
