"""The README is true: its table has every chapter as declared, and its commands, links and pictures are there."""

import re
import struct

from utils.cli import COMMANDS
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


def test_every_command_it_names_is_one():
    named = set(re.findall(r"(?:^|`|&& )book ([a-z]+)", README, re.MULTILINE))
    assert {"start", "lab", "doctor", "grade", "site"} <= named <= set(COMMANDS)
    targets = set(re.findall(r"^make ([a-z]+)", README, re.MULTILINE))
    makefile = (chapters_dir().parent / "Makefile").read_text(encoding="utf-8")
    assert targets == {"lab", "test"} and all(re.search(rf"^{name}:", makefile, re.MULTILINE) for name in targets)


def test_its_pictures_are_there_small_and_described():
    pictures = re.findall(r'<img src="([^"]+)" width="\d+%" alt="([^"]+)">', README)
    assert len(pictures) == README.count("<img") == 2
    for name, words in pictures:
        data = (chapters_dir().parent / name).read_bytes()
        assert data.startswith(b"\x89PNG") and len(data) <= 150_000, name
        width, height = struct.unpack(">II", data[16:24])
        assert width >= 600 and height >= 300 and len(words.split()) >= 10, name


def test_a_newcomer_sees_start_before_the_first_scroll():
    assert README.index("## Start") < 1800 and README.index("make lab") < README.index("## The chapters")
