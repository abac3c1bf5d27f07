"""A gradebook as a learning platform exports it: a CSV that goes back to the platform, changed in a few cells alone."""

import csv
import io
import re
from dataclasses import dataclass, field
from pathlib import Path

from utils.classroom.points import number
from utils.classroom.problems import ClassProblem

LONGEST_CELL = 2**24  # Moodle puts whole texts of students into cells
# A student as `names` tells one whose platform numbers people: the name, and that number.
ACCOUNT = re.compile(r"(?P<name>.*) \((?P<account>\d+)\)")


@dataclass
class Filled:
    """What was done: columns by chapter, rows filled, and a sentence for each thing that a teacher should know."""

    columns: dict[str, str] = field(default_factory=dict)
    rows: int = 0
    notes: list[str] = field(default_factory=list)


class Gradebook:
    """The rows of the file at `path`; `what` says what it is and whence, for a teacher whose file cannot be read.

    Raises:
        ClassProblem: it cannot be read, or is not UTF-8.
    """

    def __init__(self, path: Path, what: str):
        try:
            text = path.read_bytes().decode("utf-8")
        except OSError as why:
            raise ClassProblem(f"{path} cannot be read ({why.strerror}): check the path.") from why
        except UnicodeDecodeError as why:
            raise ClassProblem(f"{path} is not UTF-8: export {what} again, and do not edit it.") from why
        self._mark = "\ufeff" if text.startswith("\ufeff") else ""
        text = text.removeprefix("\ufeff")
        first = text.split("\n", 1)[0]
        self._line_end = "\r\n" if first.endswith("\r") else "\n"
        self._delimiter = max(",;\t", key=first.count)
        before = csv.field_size_limit(LONGEST_CELL)
        try:
            self.rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=self._delimiter))
        except csv.Error as why:
            raise ClassProblem(f"{path} is no table ({why}): export {what} again.") from why
        finally:
            csv.field_size_limit(before)

    @staticmethod
    def put(row: list[str], at: int, value: str) -> None:
        """Write into one cell; a short row becomes longer."""
        row += [""] * (at + 1 - len(row))
        row[at] = value

    def write(self, target: Path) -> None:
        """Write the rows in the way in which they came."""
        held = io.StringIO(newline="")
        csv.writer(held, delimiter=self._delimiter, lineterminator=self._line_end).writerows(self.rows)
        target.write_bytes((self._mark + held.getvalue()).encode("utf-8"))


def scaled(earned: float, possible: float, most: float | None) -> str:
    """Points as a share of the most that the platform gives; as they are where it does not say.

    >>> scaled(13, 26, 100), scaled(13, 26, None)
    ('50', '13')
    """
    return number(earned / possible * (most or possible) if possible else 0.0)
