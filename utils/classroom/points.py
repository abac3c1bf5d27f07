"""How many points an exercise is worth: its difficulty, unless a file says otherwise."""

import functools
import tomllib
from pathlib import Path

from utils.classroom.known import chapters
from utils.classroom.marks import ExerciseMark
from utils.classroom.problems import ClassProblem


class Points:
    """Points by exercise. Where no file gives them, an exercise is worth its difficulty, 1 to 5."""

    def __init__(self, given: dict[str, float] | None = None):
        self._given = given or {}

    @functools.cached_property
    def _worth(self) -> dict[str, float]:
        from utils.exercises import all_exercises

        return {e.id: float(e.difficulty) for e in all_exercises()} | self._given

    def worth(self, exercise: str) -> float:
        return self._worth[exercise]

    def earned(self, mark: ExerciseMark) -> float:
        """All points of an exercise that has passed, none of another."""
        return self.worth(mark.exercise) if mark.passed else 0.0

    @classmethod
    def from_file(cls, path: Path) -> "Points":
        """Points from a TOML file with a table `points`: `"05.2" = 3`, or `"05" = 1` for all of a chapter.

        Raises:
            ClassProblem: the file cannot be read, or names what is no exercise, or gives no number.
        """
        try:
            content = tomllib.loads(path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as why:
            reason = getattr(why, "strerror", None) or str(why)
            raise ClassProblem(f"{path} cannot be read as TOML ({reason}): mend it and try again.") from why
        table = content.get("points")
        if not isinstance(table, dict):
            raise ClassProblem(f'{path} has no table [points]: begin it with that line, then write "05.2" = 3.')
        return cls(_expanded(path, table))


def _expanded(path: Path, table: dict) -> dict[str, float]:
    known = [exercise for chapter in chapters().values() for exercise in chapter.exercises]
    given: dict[str, float] = {}
    for name in sorted(table, key=len):  # chapters first, so that an exercise of its own wins
        value = table[name]
        meant = [e for e in known if name in (e, e.split(".")[0])]
        if not meant:
            raise ClassProblem(f'{path} gives points for {name!r}, which is no exercise: write it like "05.2" or "05".')
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < 1e6:
            raise ClassProblem(f"{path} gives {value!r} points for {name}: write a number from 0 on.")
        given |= dict.fromkeys(meant, float(value))
    return given


def number(value: float) -> str:
    """Points without a needless ".0".

    >>> number(3.0), number(2.5), number(1 / 3)
    ('3', '2.5', '0.33')
    """
    return f"{value:.2f}".rstrip("0").rstrip(".")
