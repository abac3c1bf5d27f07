"""The guide's ten steps to add an exercise work: they are done here in a copy of the book, with its own blocks."""

import json
import os
import re
import shutil
import subprocess
import sys

import pytest

from utils.paths import book_root

GUIDE = (book_root() / "docs" / "contributing.md").read_text(encoding="utf-8")
STEPS = dict(
    re.findall(
        r"^\*\*(\d+)\.\*\* (.*?)(?=^\*\*\d+\.\*\*|^## )",
        GUIDE.partition("## To add an exercise")[2],
        re.DOTALL | re.MULTILINE,
    )
)
CHAPTER = "00_start_here"


def code(*steps):
    """The Python blocks of these steps, under each other."""
    blocks = [re.findall(r"```python\n(.*?)```", STEPS[str(step)], re.DOTALL) for step in steps]
    assert all(len(found) == 1 for found in blocks), "each of these steps has one block"
    return "".join(f"\n\n{block}" for (block,) in blocks)


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """What a contributor edits, in a checkout of its own: the package, one chapter, and the README."""
    folder = tmp_path_factory.mktemp("book")
    shutil.copytree(book_root() / "utils", folder / "utils", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", f"solutions/{CHAPTER}.py"):
        (folder / name).parent.mkdir(exist_ok=True)
        shutil.copyfile(book_root() / name, folder / name)
    return folder


@pytest.fixture(scope="module")
def declared(copy):
    """Steps 2 to 6: the declaration at the end of the chapter's module."""
    with (copy / "utils" / "exercises" / "ch00.py").open("a", encoding="utf-8") as module:
        module.write(code(2, 3, 4, 5, 6))
    return copy


@pytest.fixture(scope="module")
def written(declared):
    """Steps 8 and 9: the cells after the last exercise's, and a row in the chapter's table."""
    source = declared / "solutions" / f"{CHAPTER}.py"
    text = source.read_text(encoding="utf-8")
    place = text.index('# %% [markdown] key="together"')
    text = f"{text[:place]}{code(8).lstrip()}\n{text[place:]}"
    row = re.search(r"^# \| 00\.6 \|.*\n", text, re.MULTILINE)
    text = f"{text[: row.end()]}# | 00.7 | `row_lengths`: how long each row is | 1 | 5 |\n{text[row.end() :]}"
    source.write_text(text, encoding="utf-8")
    return declared


def book(folder, *words):
    """`book` with these words, in the copy."""
    surroundings = {**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-c", "from utils.cli import main; main()", *words]
    return subprocess.run(command, cwd=folder, env=surroundings, capture_output=True, text=True)


def test_there_are_ten_steps():
    assert list(STEPS) == [str(number) for number in range(1, 11)]


@pytest.mark.slow
def test_the_audit_of_step_7_is_content(declared):
    command = re.search(r"`book (audit --exercise 00\.7)`", STEPS["7"])[1]
    done = book(declared, *command.split(), "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    figures = json.loads(done.stdout)
    counts = {
        name: figures[name] for name in ("exercises", "right_total", "wrong_total", "wrong_named", "stubs_polite")
    }
    assert counts == {"exercises": 1, "right_total": 4, "wrong_total": 3, "wrong_named": 3, "stubs_polite": 1}
    assert figures["failures"] == []


@pytest.mark.slow
def test_the_build_of_step_9_makes_the_stub_and_the_entry(written):
    assert "`book build 00`" in STEPS["9"]
    done = book(written, "build", "00", "--no-execute")  # running the whole chapter is `book run`'s affair
    assert done.returncode == 0, done.stderr
    notebook = json.loads((written / "chapters" / f"{CHAPTER}.ipynb").read_text(encoding="utf-8"))
    (cell,) = [cell for cell in notebook["cells"] if cell["metadata"]["book"].get("exercise") == "00.7"]
    text = "".join(cell["source"])
    assert "def row_lengths" in text and "raise NotImplementedError" in text and "sqrt" not in text
    assert "| 00.7 |" in (written / "chapters" / "exercises.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_an_audit_of_an_exercise_without_its_mistakes_named_fails(declared, tmp_path):
    """The audit that step 7 runs can fail: a wrong answer that is right is found."""
    broken = tmp_path / "book"
    shutil.copytree(declared, broken)
    module = broken / "utils" / "exercises" / "ch00.py"
    module.write_text(module.read_text(encoding="utf-8").replace("return x.abs().sum(-1)", "return x.norm(dim=-1)"))
    assert book(broken, "audit", "--exercise", "00.7", "--json").returncode == 1
