"""A learner's answer as the grader meets it when it runs in the sandbox: called like any other, and never touched."""

import inspect
from collections.abc import Callable
from typing import Any

from utils.classroom.modules import Mirror, stamp
from utils.classroom.outside import Outside


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
