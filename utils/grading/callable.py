"""The first checks, before an answer runs: is it there, can it be called, does it take the exercise's arguments?"""

import inspect
from typing import Any

from torch import Tensor

from utils.exercises.declare import Exercise
from utils.grading.held import Patches
from utils.grading.plain import describe, is_a
from utils.grading.raised import describe_error


def not_callable(exercise: Exercise, answer: Any, patches: Patches) -> tuple[str, str] | None:
    """The check that fails and a sentence that says how, or None where the answer can be called."""
    name = exercise.name
    if answer is None or answer is Ellipsis:
        return "there", f"There is no answer yet: define {name} and grade it."
    if is_a(answer, Tensor) or not callable(answer):
        kind = "class" if exercise.is_class else "function"
        asked = f"Did you call it, as in grade({name}(…))?"
        return "callable", f"Grade the {kind} itself, {name}, not {describe(answer)}. {asked}"
    if exercise.is_class and not is_a(answer, type):
        return "callable", f"{name} is to be a class; this is {describe(answer)}."
    try:
        signature = patches.call(inspect.signature, answer)
    except (TypeError, ValueError):
        return None  # builtins and some callables do not tell: the call itself will
    except Exception as error:
        return "signature", f"The parameters of the answer cannot be read: {describe_error(error)}."
    return _too_few_or_many(exercise, signature)


def _too_few_or_many(exercise: Exercise, signature: inspect.Signature) -> tuple[str, str] | None:
    wanted = exercise.parameters
    needed = [p for p in wanted if p.default is inspect.Parameter.empty]
    for count in dict.fromkeys((len(wanted), len(needed))):
        try:
            signature.bind(*range(count))
        except TypeError:
            if count < len(wanted):
                defaults = ", ".join(f"{p.name}={p.default!r}" for p in wanted if p not in needed)
                return (
                    "signature",
                    f"{exercise.name} is also called without all its arguments: write {defaults} among its parameters, "
                    f"as the stub has it; yours takes {_taken(signature)}.",
                )
            arguments = f"{len(wanted)} argument{'' if len(wanted) == 1 else 's'}"
            names = ", ".join(p.name for p in wanted)
            return (
                "signature",
                f"{exercise.name} is called with {arguments}, ({names}); yours takes {_taken(signature)}.",
            )
    return None


_STARS = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}


def _taken(signature: inspect.Signature) -> str:
    """The parameters by name; a default is not shown, for its repr is the learner's."""
    names = []
    for p in signature.parameters.values():
        if p.kind is p.KEYWORD_ONLY and not any(name.startswith("*") for name in names):
            names.append("*")
        names.append(f"{_STARS.get(p.kind, '')}{p.name}{'=…' if p.default is not p.empty else ''}")
    return f"({', '.join(names)})" if names else "none"
