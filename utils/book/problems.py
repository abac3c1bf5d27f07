"""What the builder can find wrong, as facts with a place: a file, a line where there is one, and one sentence.

An author mends a chapter faster from a list than from the first complaint alone, so a `SourceProblem` carries all that
was found. The form `file:line: sentence` is the one that editors turn into a link.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from utils.errors import BookError


@dataclass(frozen=True, order=True)
class Problem:
    """One thing to mend. `line` counts from 1; 0 means the file as a whole."""

    path: Path
    line: int
    sentence: str

    def __str__(self) -> str:
        place = shown(self.path)
        return f"{place}:{self.line}: {self.sentence}" if self.line else f"{place}: {self.sentence}"


class SourceProblem(BookError):
    """A chapter that cannot be built as it stands; `problems` holds each thing to mend, in the order of the file."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = sorted(set(problems))
        super().__init__("\n".join(str(problem) for problem in self.problems))


class BuildProblem(BookError):
    """The book cannot be found, read, run or written: `sentence` says what to do, about the file at `path` if any."""

    def __init__(self, sentence: str, path: Path | None = None) -> None:
        self.sentence = sentence
        super().__init__(f"{shown(path)}: {sentence}" if path else sentence)


def shown(path: Path) -> str:
    """`path` as a person in the checkout would type it: relative to where they stand, when it lies below."""
    try:
        return str(path.resolve().relative_to(Path.cwd().resolve()))
    except ValueError:
        return str(path)
