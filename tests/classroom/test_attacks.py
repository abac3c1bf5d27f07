"""What hostile answers do: no mark is forged, nothing outside is touched, nothing goes on, others' marks are right."""

import json
import os
import resource
import time

import pytest

from tests.classroom import attacks
from utils.classroom.bench import processes_below
from utils.classroom.known import chapters
from utils.classroom.marks import Cell, Notebook
from utils.classroom.outside import Outside
from utils.classroom.sandbox import Limits, available
from utils.classroom.session import Grader, seed_of
from utils.paths import book_root, solutions_dir

CHAPTER = "00_start_here"
REFUSED = available()
pytestmark = [pytest.mark.slow, pytest.mark.skipif(REFUSED is not None, reason=REFUSED or "")]


@pytest.fixture(scope="module")
def grader(tmp_path_factory):
    os.environ["A_TEACHERS_SECRET"] = "secret"
    limits = Limits(call_seconds=0.5, cell_seconds=0.5, total_seconds=60, memory=2**29)
    with Grader(11, limits=limits) as one:
        yield one
    del os.environ["A_TEACHERS_SECRET"]


@pytest.fixture(scope="module")
def answers():
    """The solutions of chapter 00 by exercise."""
    return solved(CHAPTER)


def solved(chapter):
    notebook = json.loads((solutions_dir() / f"{chapter}.ipynb").read_text())
    said = [(cell["metadata"].get("book", {}).get("exercise"), "".join(cell["source"])) for cell in notebook["cells"]]
    return {exercise: source for exercise, source in said if exercise}


def notebook_of(answers, chapter=CHAPTER):
    return Notebook(chapter, tuple(Cell(None, "code", source, exercise) for exercise, source in answers.items()))


def survives(grader, answers, source):
    """Grade a notebook with an attack in it, then an honest one. Gives the attacked notebook's marks."""
    attacked = grader.grade(notebook_of(answers | {"00.1": source}), "mallory")
    honest = grader.grade(notebook_of({"00.1": answers["00.1"], "00.5": answers["00.5"]}), "alice")
    assert [mark.status for mark in honest.marks if mark.exercise in ("00.1", "00.5")] == ["passed", "passed"]
    return {mark.exercise: mark for mark in attacked.marks}


ALL = (
    attacks.FORGERIES
    | attacks.ESCAPES
    | attacks.REPLIES
    | {n: attacks.frame(*m) for n, m in attacks.BROKEN_FRAMES.items()}
)


def test_there_are_enough_of_them():
    assert len(ALL) + len(attacks.BOMBS) >= 40


def test_an_honest_notebook_passes(grader, answers):
    marks = grader.grade(notebook_of(answers), "alice").marks
    assert {mark.exercise: mark.status for mark in marks} == dict.fromkeys(answers, "passed")


def test_an_attack_that_worked_would_be_seen(grader, answers):
    """The table's own form gives full marks where nothing stands in its way."""
    marks = survives(grader, answers, attacks._tries("assert True"))
    assert marks["00.1"].passed


@pytest.mark.parametrize("name", ALL)
def test_no_mark_is_forged(grader, answers, tmp_path, name):
    store = tmp_path / "grades.sqlite"
    store.write_text("as it was")
    (tmp_path / "bob").mkdir()
    places = {"{root}": str(book_root()), "{store}": str(store), "{submissions}": str(tmp_path)}
    source = ALL[name]
    for word, place in places.items():
        source = source.replace(word, place)
    marks = survives(grader, answers, source)
    assert not marks["00.1"].passed, marks["00.1"]
    assert store.read_text() == "as it was"


def test_the_reference_model_cannot_be_changed_from_inside(grader):
    """An answer that is handed the model says that it has put zeros into it."""
    source = attacks.REPLIES["one_argument_changed_often"].replace(
        "reply['changed'] = [[0, [None, None]]] * 400_000",
        "reply['changed'] = [[n, ['dict', [['entries', ['list', []]], ['training', False]]]] for n in range(9)]",
    )
    source = source.replace("def center_rows(x)", "def ablate_head(x, *rest)")
    before = [float(parameter.sum()) for parameter in grader.model.parameters()]
    marks = grader.grade(Notebook("10_reading", (Cell(None, "code", source, "10.2"),)), "mallory").marks
    assert {mark.exercise: mark.status for mark in marks}["10.2"] == "crashed"
    assert [float(parameter.sum()) for parameter in grader.model.parameters()] == before


def statuses(grader, chapter, answers):
    graded = grader.grade(notebook_of(answers, chapter), "somebody")
    return {mark.exercise: mark.status for mark in graded.marks if mark.exercise in answers}


def test_what_one_answer_does_to_a_model_is_gone_for_the_next(grader):
    """It asks for the scripted model to be called with a weight that it has not: the oracle would stumble over it."""
    right = {"10.4": solved("10_reading")["10.4"]}
    assert statuses(grader, "10_reading", {"10.4": attacks.WEIGHT_FOR_A_MODEL}) == {"10.4": "failed"}
    assert statuses(grader, "10_reading", right) == {"10.4": "passed"}


def test_a_function_of_the_books_ends_with_the_time_of_who_asked_for_it(grader):
    """It is lent once the student's own is wrong, and asked for a text without end."""
    found = statuses(grader, "09_sampling", attacks.ENDLESS_ON_THE_OUTSIDE)
    assert found["09.8"] == "timeout"


def test_items_without_end_do_not_fill_the_graders_memory(grader):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert statuses(grader, "08_training", {"08.1": attacks.LARGE_ITEMS}) == {"08.1": "crashed"}
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 2**20  # KiB


def test_a_function_that_works_in_place_is_the_students_own(grader):
    """The book's would work on copies, and gets a generator of parameters that cannot be sent."""
    right = solved("08_training")
    lazy = {name: right[name] for name in ("08.5", "08.6", "08.7", "08.8")}
    lazy["08.7"] = "from utils import use\ndef clip_gradients(params, max_norm):\n    return 0.0\n"
    lazy["08.8"] = right["08.8"].replace("clip_gradients(params, 1.0)", "use(clip_gradients)(model.parameters(), 1.0)")
    assert lazy["08.8"] != right["08.8"]
    found = statuses(grader, "08_training", lazy)
    assert (found["08.7"], found["08.8"]) == ("failed", "passed")


def test_the_books_functions_say_what_they_cannot_be_given(grader):
    lent = {
        "01.2": "def matrix_of(f, n_in):\n    return None\n",
        "01.3": "from utils import use\ndef is_linear(f, n_in, *rest):\n"
        "    return use(matrix_of)(lambda v: f(v), n_in) is None\n",
    }
    graded = grader.grade(notebook_of(lent, "01_linear_maps"), "alice")
    assert [mark.status for mark in graded.marks if mark.exercise in lent] == ["failed", "failed"]
    (said,) = [mark.verdict["message"] for mark in graded.marks if mark.exercise == "01.3"]
    assert "the book's function cannot be given a function here" in said


@pytest.mark.parametrize(
    "own", ["center_rows = mine", "if True:\n    def center_rows(x): return mine(x)", "for center_rows in [mine]: pass"]
)
def test_whatever_the_name_holds_at_the_end_is_graded(grader, own):
    stub = next(cell.source for cell in chapters()[CHAPTER].cells if cell.exercise == "00.1")
    cells = Cell(None, "code", stub, "00.1"), Cell("mine", "code", f"mine = {attacks.RIGHT}\n{own}")
    assert grader.grade(Notebook(CHAPTER, cells), "alice").marks[0].status == "passed"


def test_a_cell_that_is_run_again_tells_nothing_new(grader, answers):
    """The process is new and the clock is not: it could carry what an answer has seen."""
    own = Cell("mine", "code", "import time\nraise ValueError(str(time.time_ns()))")
    killer = Cell(None, "code", "import os\ndef center_rows(x):\n    os._exit(0)\n", "00.1")
    late = "import time\nif time.time_ns() > {}: raise ValueError(str(time.time_ns()))\n"
    second = Cell(None, "code", late.format(time.time_ns() + 10**15) + answers["00.5"], "00.5")
    graded = grader.grade(Notebook(CHAPTER, (own, killer, second)), "mallory")
    assert [m.status for m in graded.marks if m.exercise in ("00.1", "00.5")] == ["crashed", "passed"]
    assert sum("ValueError" in note for note in graded.notes) == 1, graded.notes


def test_each_exercise_has_a_seed_of_its_own():
    seeds = [seed_of(seed, exercise) for seed in (1, 2**40 - 1) for exercise in ("05.1", "05.2", "05.12")]
    assert len(set(seeds)) == 6 and all(0 <= seed < 2**40 for seed in seeds)


@pytest.mark.parametrize("name", attacks.ODD_CELLS)
def test_grading_never_raises(grader, answers, name):
    grader.grade(notebook_of(answers | {"00.1": attacks.ODD_CELLS[name]}), "mallory")


@pytest.mark.parametrize("name", attacks.MAGICS)
def test_magics_cost_nothing(grader, answers, name):
    marks = grader.grade(notebook_of(answers | {"00.1": attacks.MAGICS[name]}), "alice").marks
    assert marks[0].status == "passed", marks[0].verdict


@pytest.mark.parametrize("name", attacks.BOMBS)
def test_nothing_goes_on(grader, answers, name):
    grader.sandbox.settle()
    before = processes_below(grader.sandbox.process.pid)
    marks = survives(grader, answers, attacks.BOMBS[name])
    assert not marks["00.1"].passed, marks["00.1"]
    assert marks["00.5"].passed, marks["00.5"]  # an answer after it, in the same notebook
    grader.sandbox.settle()
    assert processes_below(grader.sandbox.process.pid) == before, "what a submission started is still there"


def test_the_end_of_the_container_is_nobodys_fault(grader, answers, monkeypatch):
    """Whenever it ends, in a cell or while an answer is called: the marks are as they would have been."""
    asked, ask = [], Outside.ask

    def ending(self, *words, **more):
        asked.append(words[0])
        if len(asked) in when:
            grader.sandbox.process.kill()
        return ask(self, *words, **more)

    monkeypatch.setattr(Outside, "ask", ending)
    for when in ((1,), (2,), (10,), (3, 20)):
        asked.clear()
        marks = grader.grade(notebook_of({"00.1": answers["00.1"], "00.5": answers["00.5"]}), "alice").marks
        assert [m.status for m in marks if m.exercise in ("00.1", "00.5")] == ["passed", "passed"], when
        assert len(asked) >= max(when)


@pytest.mark.parametrize(
    "mask, lent",
    [
        ('def causal_mask(scores):\n    raise NotImplementedError("Write causal_mask here, then grade it.")', True),
        ("def causal_mask(scores):\n    return scores", True),
        ("def causal_mask(scores):\n    n = scores.shape[-1]\n    late = torch.arange(n) > torch.arange(n)[:, None]\n"
         "    return scores.masked_fill(late[-scores.shape[-2] :], -torch.inf)", False),
    ],
)  # fmt: skip
def test_the_books_function_stands_in_for_one_that_did_not_pass(grader, mask, lent):
    """As `use` does in a notebook, where a skipped part is lent to those that are built on it."""
    pattern = "def attention_pattern(scores):\n    return use(causal_mask)(scores).softmax(-1)"
    cells = tuple(Cell(None, "code", source, e) for e, source in (("05.3", mask), ("05.4", pattern)))
    marks = {mark.exercise: mark for mark in grader.grade(Notebook("05_attention", cells), "alice").marks}
    assert (marks["05.3"].passed, marks["05.4"].status) == (not lent, "passed"), marks["05.4"].verdict
