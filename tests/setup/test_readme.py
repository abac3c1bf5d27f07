"""The README's table of chapters is true: every chapter is in it, with its exercises and their minutes."""

import re

from utils.exercises import all_exercises
from utils.paths import chapters_dir

README = (chapters_dir().parent / "README.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| (\d\d) \| .* \| (\d+) \| (\d+) \|$", README, re.MULTILINE)


def test_every_chapter_has_a_row():
    assert [number for number, _, _ in ROWS] == sorted(
        path.name[:2] for path in chapters_dir().glob("[0-9][0-9]_*.ipynb")
    )


def test_exercises_and_minutes_are_those_declared():
    for number, exercises, minutes in ROWS:
        declared = list(all_exercises(int(number)))
        assert (len(declared), sum(exercise.minutes for exercise in declared)) == (int(exercises), int(minutes)), number
