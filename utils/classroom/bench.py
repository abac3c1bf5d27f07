"""`book bench class`: submissions a minute beside nbgrader's, in one run, on the same exercises and submissions.

The class is made from chapter 05: right answers, wrong ones and ones not written. nbgrader is installed in an
environment of its own for the time of the run, with a kernel that is the book's; its notebooks are cut down to the
setup, the answers and a cell that grades each, so that it is not charged for the chapter's demonstrations.
"""

import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from utils.classroom.problems import ClassProblem
from utils.paths import chapters_dir, solutions_dir

CHAPTER = "05_attention"
FEW, BASELINE = 100, 4
SHARES = (0.75, 0.15)  # of answers: right, wrong; the rest is not written
SLIPS = (("mean(", "sum("), (" / ", " * "), (" + ", " - "), ("@", "*"), ("-1", "0"))


def measure(students: int = 1000, baseline: int = BASELINE) -> dict[str, Any]:
    """Grade 100 and then `students` submissions, and some with nbgrader; figures by name.

    Raises:
        ClassProblem: nbgrader cannot be installed, or does not grade.
    """
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        few = _ours(place / "few", FEW)
        many = _ours(place / "many", students)
        theirs = _nbgrader(place / "nbgrader", baseline)
    each = many["seconds"] / students
    return {
        "submissions": students,
        "seconds_each": round(each, 4),
        "seconds_each_of_100": round(few["seconds"] / FEW, 4),
        "cost_ratio_1000_to_100": round(each / (few["seconds"] / FEW), 3),
        "submissions_a_minute": round(60 / each, 1),
        "start_seconds": round(many["start"], 1),
        "peak_mib": round(many["peak"]),
        "nbgrader_seconds_each": round(theirs, 2),
        "nbgrader_submissions_a_minute": round(60 / theirs, 1),
        "times_nbgrader": round(theirs / each, 1),
    }


def make_class(folder: Path, students: int) -> None:
    """One folder a student with a notebook of chapter 05; the same for the same number."""
    shipped = json.loads((chapters_dir() / f"{CHAPTER}.ipynb").read_text(encoding="utf-8"))
    right = _answers(json.loads((solutions_dir() / f"{CHAPTER}.ipynb").read_text(encoding="utf-8")))
    for i in range(students):
        draw, notebook = random.Random(i), json.loads(json.dumps(shipped))
        for cell in _answer_cells(notebook):
            cell["source"] = _drawn(draw, right[cell["metadata"]["book"]["exercise"]], "".join(cell["source"]))
        place = folder / f"student-{i:05}"
        place.mkdir(parents=True)
        (place / f"{CHAPTER}.ipynb").write_text(json.dumps(notebook), encoding="utf-8")


def _drawn(draw: random.Random, right: str, stub: str) -> str:
    share = draw.random()
    if share > sum(SHARES):
        return stub
    body = right.rpartition('"""')[2]
    slips = [(a, b) for a, b in SLIPS if a in body]
    if share > SHARES[0] and slips:
        body = body.replace(*draw.choice(slips), 1)
    return right[: len(right) - len(right.rpartition('"""')[2])] + body + f"\n# {draw.random()}"


def _answer_cells(notebook: dict) -> list[dict]:
    return [c for c in notebook["cells"] if c["cell_type"] == "code" and c["metadata"].get("book", {}).get("exercise")]


def _answers(notebook: dict) -> dict[str, str]:
    return {cell["metadata"]["book"]["exercise"]: "".join(cell["source"]) for cell in _answer_cells(notebook)}


def _ours(place: Path, students: int) -> dict[str, float]:
    """Seconds that the command takes for a class once its workers are up, and the memory of all its processes."""
    make_class(place / "class", students)
    start = [sys.executable, "-c", "from utils.cli import main; main()"]
    command = [*start, "grade", str(place / "class"), "--out", str(place / "out"), "--json"]
    started = time.monotonic()
    process = subprocess.Popen([*command, "--formats", "csv"], stdout=subprocess.PIPE, text=True)
    watch = _Memory(process.pid)
    watch.start()
    out, _ = process.communicate()
    total = time.monotonic() - started
    watch.over.set()
    watch.join()
    if process.returncode != 0:
        raise ClassProblem("book grade did not grade the class of the measurement: run it with --json to see why.")
    figures = json.loads(out)
    return {"seconds": total, "start": total - figures["seconds"], "peak": watch.peak}


class _Memory(threading.Thread):
    """Looks every two seconds how much memory a process and all below it hold; what they share counts once (PSS)."""

    def __init__(self, pid: int):
        super().__init__(daemon=True)
        self.pid, self.over, self.peak = pid, threading.Event(), 0.0

    def run(self) -> None:
        while not self.over.wait(2.0):
            self.peak = max(self.peak, sum(map(_mebibytes, {self.pid} | processes_below(self.pid))))


def _mebibytes(pid: int) -> float:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0  # it has ended
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024


def processes_below(pid: int) -> set[int]:
    """All processes that a process started and those started in turn, by the kernel's own list."""
    parents = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue  # it has ended meanwhile
    found: set[int] = set()
    new = {pid}
    while new:
        new = {child for child, parent in parents.items() if parent in new} - found
        found |= new
    return found


def _nbgrader(place: Path, students: int) -> float:
    """Seconds that `nbgrader autograde` takes for each submission."""
    make_class(place / "class", students)
    run = _installed(place)
    course = place / "course"
    for folder in sorted((place / "class").iterdir()):
        notebook = json.loads((folder / f"{CHAPTER}.ipynb").read_text(encoding="utf-8"))
        target = course / "submitted" / folder.name / "attention"
        target.mkdir(parents=True)
        (target / f"{CHAPTER}.ipynb").write_text(json.dumps(_for_nbgrader(notebook)), encoding="utf-8")
    source = course / "source" / "attention"
    source.mkdir(parents=True)
    shipped = json.loads((chapters_dir() / f"{CHAPTER}.ipynb").read_text(encoding="utf-8"))
    (source / f"{CHAPTER}.ipynb").write_text(json.dumps(_for_nbgrader(shipped)), encoding="utf-8")
    run(course, "generate_assignment", "attention", "--create")
    started = time.monotonic()
    run(course, "autograde", "attention", "--create")
    seconds = time.monotonic() - started
    graded = list((course / "autograded").glob(f"*/attention/{CHAPTER}.ipynb"))
    if len(graded) != students:
        raise ClassProblem(f"nbgrader graded {len(graded)} of {students} submissions, so that there is no comparison.")
    return seconds / students


def _installed(place: Path):
    """nbgrader in an environment of its own, whose kernel is the book's: a function that runs one of its commands."""
    made = subprocess.run([sys.executable, "-m", "venv", str(place / "env")], check=False, capture_output=True)
    pip = [str(place / "env/bin/python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "nbgrader"]
    if made.returncode or subprocess.run(pip, check=False, capture_output=True).returncode:
        raise ClassProblem("nbgrader cannot be installed, with which the book is compared: is there a package index?")
    kernel = place / "env/share/jupyter/kernels/python3"
    kernel.mkdir(parents=True, exist_ok=True)
    argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    (kernel / "kernel.json").write_text(json.dumps({"argv": argv, "display_name": "book", "language": "python"}))
    surroundings = {**os.environ, "PATH": f"{place / 'env/bin'}{os.pathsep}{os.environ['PATH']}"}

    def run(course: Path, *words: str) -> None:
        command = [
            str(place / "env/bin/nbgrader"),
            *words,
            f"--CourseDirectory.root={course}",
            "--ExecutePreprocessor.timeout=300",
        ]
        done = subprocess.run(command, cwd=course, env=surroundings, capture_output=True, text=True, check=False)
        if done.returncode:
            raise ClassProblem(f"nbgrader {words[0]} failed: {done.stderr.strip().splitlines()[-1][:200]}.")

    return run


def _for_nbgrader(notebook: dict) -> dict:
    """The setup, each answer, and after it a cell of nbgrader's own that grades it with the book's `grade`."""
    cells = []
    for cell in notebook["cells"]:
        said = cell["metadata"].get("book", {})
        if cell["cell_type"] != "code" or not (said.get("key") == "setup" or said.get("exercise")):
            continue
        exercise = said.get("exercise")
        mark = {"grade": False, "solution": bool(exercise), "locked": not exercise, "schema_version": 3}
        mark |= {"grade_id": said["key"], "cell_type": "code", "task": False}
        cells.append(_cell(cell["id"], "".join(cell["source"]), mark))
        if exercise:
            name = _name(exercise)
            mark = {
                **mark,
                "grade": True,
                "solution": False,
                "locked": True,
                "points": 1,
                "grade_id": f"test-{said['key']}",
            }
            cells.append(_cell(f"t{cell['id']}"[:60], f"assert grade({name}).passed", mark))
    return {**notebook, "cells": cells}


def _name(exercise_id: str) -> str:
    from utils.exercises import exercise

    return exercise(exercise_id).name


def _cell(key: str, source: str, mark: dict) -> dict:
    about = {"cell_type": "code", "id": key, "source": source, "outputs": [], "execution_count": None}
    return {**about, "metadata": {"nbgrader": mark}}
