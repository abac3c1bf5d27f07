"""How an exercise is declared: one object that holds all there is to know about it.

The oracle's annotations are the only place where shapes stand; the checks, the stub in the notebook and the messages
read them from there. Nothing here runs an answer: that is `utils.grading`.
"""

import functools
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

ALL_VARIATIONS = ("fresh", "again", "strided", "ones", "square", "float64", "bfloat16")


@dataclass(frozen=True)
class Wrong:
    """A wrong answer as a program: `key` names the misconception, `message` says it to the learner."""

    key: str
    message: str
    answer: Callable


@dataclass(frozen=True)
class Property:
    """What must hold for any right answer: `holds(answer, draw)` gives None, or the sentence that says how not."""

    key: str
    holds: Callable


@dataclass(frozen=True)
class Build:
    """An argument made anew for each run (a model, a cache, a generator), so that no run sees another's traces."""

    make: Callable[[], Any]


@dataclass(frozen=True)
class Known:
    """Arguments of a special case whose right result another program gave (GPT-2's tokenizer), not the oracle."""

    args: tuple
    expected: Any


@dataclass(frozen=True)
class Special:
    """One more case: `inputs(draw)` gives the arguments, or `Known`; `where` says what is special about them."""

    where: str
    inputs: Callable
    dtype: str = "float32"


class Unfit(Exception):
    """Raised by a probe: what the answer gave cannot be used. Its sentence goes to the learner as it stands.

    Two answers show the same mistake when their `kind` is the same; left out, when their sentences are.
    """

    def __init__(self, sentence: str, kind: str = ""):
        super().__init__(sentence)
        self.kind = kind or sentence


class DeclarationError(Exception):
    """An exercise is declared wrongly: a fault of the book's, found when the book is tested."""


class Exercise:
    """One exercise of the book, filled in by its decorators and looked up by id or by the answer's name.

    Args:
        id: chapter and number, "05.2".
        difficulty: 1 (a line) to 5 (an hour's thought).
        minutes: what a learner should plan for.
        title: a few words; the oracle's name with spaces where it is left out.
        vary: which of ALL_VARIATIONS of the fresh inputs apply.
        in_place: names of parameters that a right answer changes.
        exact: whether the oracle may be run in float64 to learn what error is honest.
        keep: axes that are never shortened to length 1.
    """

    def __init__(
        self,
        id: str,
        *,
        difficulty: int,
        minutes: int,
        title: str | None = None,
        vary: tuple[str, ...] = ALL_VARIATIONS,
        in_place: tuple[str, ...] = (),
        exact: bool = True,
        keep: tuple[str, ...] = (),
    ):
        self.id, self.difficulty, self.minutes, self._title = id, difficulty, minutes, title
        self.vary, self.in_place, self.exact, self.keep = vary, in_place, exact, keep
        self.chapter = int(id.split(".")[0])
        self.solution: Callable | None = None
        self.reference_cases: list[Callable] = []
        self.fresh_cases: list[Callable] = []
        self.special_cases: list[Special] = []
        self.properties: list[Property] = []
        self.wrongs: list[Wrong] = []
        self.rights: list[Callable] = []
        self.hint_ladder: tuple[str, ...] = ()
        self.forbidden: tuple[str, ...] = ()
        self.forbidden_because = ""
        self._probe: Callable | None = None
        self._observe: Callable | None = None
        self.compared_after = ""
        self.judge_fn: Callable | None = None
        from utils.exercises import register

        register(self)

    # what the exercise is

    def oracle(self, fn: Callable) -> Callable:
        """The book's own answer: its name is the learner's name, its annotations are the shapes."""
        if self.solution is not None:
            raise DeclarationError(f"{self.id} has two oracles: {self.name} and {fn.__name__}.")
        self.solution = fn
        return fn

    def on_reference(self, fn: Callable) -> Callable:
        """`fn(cache)` or `fn(cache, layer)` gives (arguments, expected hook or None[, cells to compare]).

        It may also yield several of them, as when every layer is to be compared.
        """
        self.reference_cases.append(fn)
        return fn

    def fresh(self, fn: Callable) -> Callable:
        """`fn(draw)` gives the arguments from random numbers; it is called once for each variation that applies."""
        self.fresh_cases.append(fn)
        return fn

    def special(self, where: str, dtype: str = "float32") -> Callable:
        """One more case, described by `where` ("rows of very small numbers")."""
        return lambda fn: (self.special_cases.append(Special(where, fn, dtype)), fn)[1]

    def prop(self, key: str) -> Callable:
        """A property of every right answer, checked last."""
        return lambda fn: (self.properties.append(Property(key, fn)), fn)[1]

    def probe(self, fn: Callable) -> Callable:
        """How an answer is used: `fn(answer, *arguments)` gives what is compared. Left out: `answer(*arguments)`."""
        self._probe = fn
        return fn

    def observe(self, fn: Callable) -> Callable:
        """What of a result is compared by value: `fn(result, *arguments)`. Type, shape and dtype are of the result."""
        self._observe = fn
        return fn

    def observe_after(self, words: str) -> Callable:
        """The same, with what is done to the result in words ("softmax"): reports say that values differ after it."""
        self.compared_after = words
        return self.observe

    def judge(self, fn: Callable) -> Callable:
        """`fn(result, *arguments)` replaces the comparison of values: None, or the sentence that says what fails."""
        self.judge_fn = fn
        return fn

    def wrong(self, key: str, message: str) -> Callable:
        """A wrong answer that must be rejected and named."""
        if any(w.key == key for w in self.wrongs):
            raise DeclarationError(f"{self.id} names {key} twice.")
        return lambda fn: (self.wrongs.append(Wrong(key, message, fn)), fn)[1]

    def right(self, fn: Callable) -> Callable:
        """Another right answer, in another style; it must pass."""
        self.rights.append(fn)
        return fn

    def hints(self, *rungs: str) -> None:
        """From what to think about to the line with a hole in it; at least three."""
        self.hint_ladder = rungs

    def forbid(self, *calls: str, because: str) -> None:
        """Calls that would do the exercise for the learner, by dotted name; `because` says why it is not the point."""
        self.forbidden, self.forbidden_because = calls, because

    # what others read

    @property
    def name(self) -> str:
        return self.solution.__name__

    @property
    def title(self) -> str:
        return self._title or self.name.replace("_", " ")

    @property
    def is_class(self) -> bool:
        return inspect.isclass(self.solution)

    @property
    def parameters(self) -> list[inspect.Parameter]:
        return list(_parameters(self.solution))

    @property
    def returns(self) -> Any:
        """The annotation of the value that is compared: that of what is observed, or the probe's, where it has axes."""
        seen = getattr(self._observe, "__annotations__", {}).get("return")
        if axis_names(seen) is not None:
            return seen
        source = self._probe if self._probe is not None and "return" in self._probe.__annotations__ else self.solution
        return getattr(source, "__annotations__", {}).get("return", inspect.Signature.empty)

    @property
    def signature_text(self) -> str:
        """`attention_scores(q, k)`, as messages show it."""
        return f"{self.name}({', '.join(str(p).split(':')[0].strip() for p in self.parameters)})"

    def call(self, answer: Callable, args: tuple) -> Any:
        """Use an answer on arguments, through the probe where there is one."""
        return answer(*args) if self._probe is None else self._probe(answer, *args)

    def observed(self, result: Any, args: tuple) -> Any:
        """What of the result is compared by value."""
        return result if self._observe is None else self._observe(result, *args)

    def __repr__(self) -> str:
        return f"<Exercise {self.id} {self.name if self.solution else '?'}>"


@functools.cache
def _parameters(solution: Callable) -> tuple[inspect.Parameter, ...]:
    return tuple(inspect.signature(solution).parameters.values())


def axis_names(annotation: Any) -> tuple[str, ...] | None:
    """The named axes of a jaxtyping annotation, ("batch", "pos"); None for any other annotation."""
    text = getattr(annotation, "dim_str", None)
    return None if text is None else tuple(text.split())


def named_axes(annotation: Any, ndim: int) -> tuple[str, ...]:
    """Axis names for a tensor of `ndim` axes: `...` is filled up; axes of no name, or a number for one, are numbered.

    >>> import jaxtyping, torch
    >>> named_axes(jaxtyping.Float[torch.Tensor, "... pos 1"], 4)
    ('axis 0', 'axis 1', 'pos', 'axis 3')
    """
    names = axis_names(annotation) or ()
    if "..." in names:
        at = names.index("...")
        names = names[:at] + ("0",) * (ndim - len(names) + 1) + names[at + 1 :]
    if len(names) != ndim:
        names = ("0",) * ndim
    return tuple(f"axis {i}" if name.isdigit() else name for i, name in enumerate(names))


def bound_sizes(exercise: Exercise, args: tuple) -> dict[str, int]:
    """Length of each named axis of the arguments: {"batch": 2, "n_heads": 8, …}."""
    sizes: dict[str, int] = {}
    for parameter, value in zip(exercise.parameters, args, strict=False):
        names = axis_names(parameter.annotation)
        shape = getattr(value, "shape", None)
        if names and shape is not None:
            pairs: Iterator = zip(named_axes(parameter.annotation, len(shape)), shape, strict=False)
            sizes.update({name: int(n) for name, n in pairs if name.isidentifier()})
    return sizes
