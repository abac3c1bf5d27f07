"""Through the wall of the sandbox an answer is judged as in the notebook: the same mark, the same misconception."""

import gc
import json
import os
import socket
import sys
import time

import pytest
import torch

from utils.classroom.marks import Cell, Notebook
from utils.classroom.outside import Outside
from utils.classroom.plan import plan
from utils.classroom.remote import answer_of
from utils.classroom.sandbox import available
from utils.classroom.session import Grader
from utils.classroom.wire import Channel
from utils.exercises import all_exercises
from utils.exercises.small import small_model
from utils.grading import watch
from utils.grading.activations import activations
from utils.grading.checking import check
from utils.grading.trial import Memory, remembering
from utils.paths import chapters_dir, solutions_dir

SEED = 3
REFUSED = available()
EXERCISES = {exercise.id: exercise for exercise in all_exercises()}
CHAPTERS = sorted(path.stem for path in chapters_dir().glob("[0-9]*.ipynb"))


@pytest.fixture(scope="module")
def grade_through_the_wall(pocket):
    """Judge a Python function that stands in a process of its own, at the other end of a wall."""
    small, cache = small_model(torch.device("cpu")), activations(pocket)

    def judge(exercise, answer):
        ours, theirs = socket.socketpair()
        pid = os.fork()
        if pid == 0:
            try:
                ours.close()
                gc.disable()  # neither threads nor what waits for them live on in a fork
                torch.set_num_threads(1)
                from utils.classroom.inside import book
                from utils.classroom.inside.agent import Agent

                book._bridges.update(pocket=pocket, small=small)
                agent = Agent(theirs)
                agent.names[exercise.name] = answer
                sys.stdout = sys.stderr = open(os.devnull, "w")
                agent.serve()
            finally:
                os._exit(0)
        theirs.close()
        outside = Outside(Channel(ours), 30, time.monotonic() + 300, lambda name: None)
        outside.bridges = {id(pocket): "pocket", id(small): "small"}
        try:
            with watch.elsewhere():
                return check(exercise.id, answer_of(outside, exercise.name), cache, "cpu", seed=SEED)
        finally:
            ours.close()
            os.waitpid(pid, 0)

    with remembering(Memory()):
        yield judge


def judged_alike(judge, cache, exercise, answers):
    for answer in answers:
        here, there = check(exercise.id, answer, cache, "cpu", seed=SEED), judge(exercise, answer)
        assert (there.passed, there.diagnosis) == (here.passed, here.diagnosis), (answer, there.message, here.message)


@pytest.mark.slow
@pytest.mark.parametrize("exercise_id", EXERCISES)
def test_the_same_verdict_on_both_sides(grade_through_the_wall, pocket, exercise_id):
    """The solution and a wrong answer."""
    exercise = EXERCISES[exercise_id]
    answers = [exercise.solution, exercise.wrongs[0].answer]
    judged_alike(grade_through_the_wall, activations(pocket), exercise, answers)


@pytest.mark.parametrize("exercise_id", ["02.8", "01.2", "07.3", "08.4", "08.6", "09.7"])
def test_what_is_hard_to_carry(grade_through_the_wall, pocket, exercise_id):
    """Errors with bytes, functions that are handed in, models changed in place, states, inputs resized."""
    exercise = EXERCISES[exercise_id]
    wrongs = [wrong.answer for wrong in exercise.wrongs[-6:]]
    judged_alike(grade_through_the_wall, activations(pocket), exercise, wrongs)


@pytest.fixture(scope="module")
def grader():
    if REFUSED is not None:
        pytest.skip(REFUSED)
    with Grader(SEED) as one:
        yield one


def solution_of(chapter, folder):
    cells = json.loads((folder / f"{chapter}.ipynb").read_text())["cells"]
    said = [(cell["id"], cell["metadata"].get("book", {}).get("exercise"), "".join(cell["source"])) for cell in cells]
    return Notebook(chapter, tuple(Cell(key, "code", source, exercise) for key, exercise, source in said if exercise))


@pytest.mark.slow
@pytest.mark.parametrize("chapter", CHAPTERS)
def test_every_solution_passes_in_the_sandbox(grader, chapter):
    graded = grader.grade(solution_of(chapter, solutions_dir()), "alice")
    assert {mark.exercise: mark.status for mark in graded.marks if not mark.passed} == {}
    assert graded.notes == ()


def test_a_shipped_chapter_is_not_written(grader):
    graded = grader.grade(solution_of("05_attention", chapters_dir()), "alice")
    assert {mark.status for mark in graded.marks} == {"not_written"}


def test_a_misconception_is_named(grader):
    source = "def attention_scores(q, k):\n    return torch.einsum('bqhd,bkhd->bhqk', q, k)\n"
    marks = {
        m.exercise: m for m in grader.grade(Notebook("05_attention", (Cell(None, "code", source, "05.2"),)), "a").marks
    }
    assert marks["05.2"].status == "failed" and marks["05.2"].verdict["diagnosis"] == "no_scale"
    assert marks["05.1"].status == "missing"


def test_a_students_own_cells_are_run(grader):
    helper = Cell(None, "code", "import math\ndef root(n):\n    return math.sqrt(n)\n")
    source = "def attention_scores(q, k):\n    return torch.einsum('bqhd,bkhd->bhqk', q, k) / root(q.shape[-1])\n"
    graded = grader.grade(Notebook("05_attention", (helper, Cell(None, "code", source, "05.2"))), "alice")
    assert {m.exercise: m.status for m in graded.marks}["05.2"] == "passed"


def test_calls_not_allowed_are_seen_in_the_sandbox(grader):
    source = "def gelu_new(x):\n    return getattr(torch.nn.functional, 'ge' + 'lu')(x, approximate='tanh')\n"
    graded = grader.grade(Notebook("06_mlp", (Cell(None, "code", source, "06.1"),)), "alice")
    mark = {m.exercise: m for m in graded.marks}["06.1"]
    assert (mark.status, mark.verdict["stage"]) == ("failed", "allowed")


def test_a_cell_that_raises_says_so(grader):
    graded = grader.grade(Notebook("05_attention", (Cell(None, "code", "def attention_scores(q, k:\n", "05.2"),)), "a")
    mark = {m.exercise: m for m in graded.marks}["05.2"]
    assert mark.status == "failed" and "SyntaxError" in mark.verdict["message"]


def test_the_same_bytes_give_the_same_marks(grader):
    notebook = solution_of("05_attention", solutions_dir())
    first, second = (grader.grade(notebook, "alice").marks for _ in range(2))
    assert [(m.exercise, m.status, m.verdict) for m in first] == [(m.exercise, m.status, m.verdict) for m in second]


def test_without_a_sandbox_the_marks_are_the_same():
    with Grader(SEED, sandbox=False) as one:
        graded = one.grade(solution_of("05_attention", solutions_dir()), "alice")
    assert {mark.status for mark in graded.marks} == {"passed"}


def test_an_endless_answer_is_a_time_out(grader):
    source = "def attention_scores(q, k):\n    while True:\n        pass\n"
    marks = {
        m.exercise: m for m in grader.grade(Notebook("05_attention", (Cell(None, "code", source, "05.2"),)), "a").marks
    }
    assert marks["05.2"].status == "timeout"


def test_an_endless_cell_of_the_students_costs_its_own_time_only(grader):
    own = Cell(None, "code", "while True:\n    pass\n")
    source = "def attention_scores(q, k):\n    return torch.einsum('bqhd,bkhd->bhqk', q, k) / q.shape[-1] ** 0.5\n"
    graded = grader.grade(Notebook("05_attention", (own, Cell(None, "code", source, "05.2"))), "alice")
    assert {m.exercise: m.status for m in graded.marks}["05.2"] == "passed"
    assert graded.notes == ("A cell of the student's own took too long and was stopped.",)


def test_a_very_large_result_is_not_kept(grader):
    source = "def attention_scores(q, k):\n    return torch.zeros(4096, 4096)\n"
    graded = grader.grade(Notebook("05_attention", (Cell(None, "code", source, "05.2"),)), "alice")
    mark = {m.exercise: m for m in graded.marks}["05.2"]
    assert mark.status == "failed" and "16,777,216 numbers" in mark.verdict["message"]


def test_the_books_own_cells_are_not_run_from_the_submission():
    shipped = json.loads((chapters_dir() / "05_attention.ipynb").read_text())["cells"]
    said = [
        (c["id"], "".join(c["source"]), c["metadata"].get("book", {}).get("exercise"))
        for c in shipped
        if c["cell_type"] == "code"
    ]
    cells = tuple(Cell(key, "code", source, exercise) for key, source, exercise in said)
    steps = plan(Notebook("05_attention", (*cells, Cell("mine", "code", "own = 1"))))
    assert [step.source for step in steps if step.own] == ["own = 1"]
    assert [step.key for step in steps if step.exercise is None and not step.own] == ["setup-a000ec7cd24d"]
