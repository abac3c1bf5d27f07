"""What an answer raised, as one sentence for the learner: what happened, in which of their lines, what to do.

An exception may be anything, one whose text cannot be had too, so nothing of it is trusted.
"""

import sysconfig
import traceback

from utils.grading.text import one_line

MOST, LONGEST_LINE = 300, 120
_NOT_THEIRS = ("/utils/", "/site-packages/", sysconfig.get_paths()["stdlib"])


class TimeUp(BaseException):
    """The answer ran longer than the caller of `check` allows."""


STOPPED = "You interrupted the answer while it was running. Does a loop never end? Change it and grade it again."


def error_sentence(error: BaseException) -> str:
    """The sentence for anything that an answer raised."""
    kind = type(error)
    if issubclass(kind, TimeUp):
        return "The answer was still running when its time was up. Does a loop never end?"
    if issubclass(kind, KeyboardInterrupt):
        return STOPPED
    if issubclass(kind, NotImplementedError) and "not implemented for" not in text_of(error):  # torch's own words
        return f"Not everything is written yet: {describe_error(error)}."
    if issubclass(kind, SystemExit):
        return "The answer tried to leave Python (sys.exit or quit). Return a value instead."
    if issubclass(kind, RecursionError):
        return "The answer calls itself without end (RecursionError). What should stop it?"
    if issubclass(kind, MemoryError) or "allocate memory" in text_of(error):
        return f"The answer asks for more memory than there is ({describe_error(error)}). How large is what it makes?"
    return f"The answer raised {describe_error(error)}.{_remedy(text_of(error))}"


# What torch's errors say, and what helps, where their own words do not.
REMEDIES = (
    (
        ("not implemented for",),
        "Inputs come in float32, float64 and bfloat16: this operation does not know them all. Use another one, or "
        "compute in float32 and give the result the input's dtype.",
    ),
    (  # two dtypes meet, or a number is too large for one
        ("same dtype", "expected scalar type", "scalar type", "without overflow"),
        "Inputs come in float32, float64 and bfloat16: give what you make the input's dtype (dtype=x.dtype), and use "
        "-torch.inf or torch.finfo(x.dtype).min for a very low number.",
    ),
    (
        ("requires grad is being used in an in-place operation", "requires grad that is being used in an in-place"),
        "Parameters are changed in place only where no gradient is recorded: put `with torch.no_grad():` around it.",
    ),
    (
        ("Can't call numpy() on Tensor that requires grad",),
        "Stay in torch, or take the values out first with x.detach().",
    ),
)


def _remedy(said: str) -> str:
    return next((f" {help}" for words, help in REMEDIES if any(word in said for word in words)), "")


def describe_error(error: BaseException) -> str:
    """The error's name and text in one line, with the line of the learner's code that raised it."""
    first = _first_line(error)
    found = BaseException.__traceback__.__get__(error)
    frames = [frame for frame in traceback.extract_tb(found) if _theirs(frame.filename)]
    line = one_line(frames[-1].line or "") if frames else ""
    line = line if len(line) <= LONGEST_LINE else line[: LONGEST_LINE - 1] + "…"
    return f"{type_name(error)}{': ' + first if first else ''}{f', in the line `{line}`' if line else ''}"


def type_name(value: object) -> str:
    """The name of a value's class, whatever its metaclass says."""
    return type.__dict__["__name__"].__get__(type(value))


def text_of(error: BaseException) -> str:
    """What an error says; it may be one whose __str__ raises."""
    try:
        return str.__str__(str(error))
    except BaseException:  # noqa: BLE001  (the error's own __str__ may raise anything)
        return "its text cannot be had"


def _first_line(error: BaseException) -> str:
    lines = text_of(error).strip().splitlines()
    return one_line(lines[0][:MOST]).rstrip(".: ") if lines else ""


def _theirs(filename: str) -> bool:
    """Whether a file is the learner's: not the book's, not a library's, not Python's own."""
    return not any(part in filename for part in _NOT_THEIRS) and not filename.startswith("<frozen")
