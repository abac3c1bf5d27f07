"""`book grade`: what it writes and prints, and one sentence for whatever is asked wrongly."""

import contextlib
import json

import pytest
from typer.testing import CliRunner

from utils import cli
from utils.classroom.problems import ClassProblem
from utils.classroom.sandbox import available

FAKE = "tests.classroom.fake_grader:Grader"


@pytest.fixture(scope="module")
def client():
    from utils.classroom.run import workers

    with workers(None, 1) as made:
        yield made


@pytest.fixture
def grade(tmp_path, monkeypatch, client):
    """`grade(submissions, …)` runs the command with the fake grader and gives Typer's result."""
    monkeypatch.setattr("utils.classroom.run.GRADER", FAKE)
    monkeypatch.setattr("utils.classroom.run.workers", lambda *_: contextlib.nullcontext(client))

    def go(*words, out=None):
        words = ["grade", *map(str, words), "--out", str(out or tmp_path / "out"), "--no-sandbox"]
        return CliRunner().invoke(cli.make_app("grade"), words)

    return go


def test_everything_is_written(grade, hand_in, make_notebook, tmp_path):
    hand_in("ann/05_attention.ipynb", make_notebook(all_others="return 1  # fake: passed"))
    hand_in("ben/05_attention.ipynb", b"{")
    result = grade(hand_in.folder)
    assert result.exit_code == 0, result.output
    assert "2 students, 2 notebooks: 1 graded now" in result.stdout
    assert "ben/05_attention.ipynb breaks off in the middle" in result.stdout
    found = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"report.html", "feedback", "marks.csv", "gradescope", "junit.xml", "grades.sqlite"} <= found
    assert len(list((tmp_path / "out" / "feedback").iterdir())) == 2


def test_json_is_one_object_and_nothing_else(grade, hand_in, make_notebook):
    hand_in("ann/05_attention.ipynb", make_notebook())
    result = grade(hand_in.folder, "--json")
    figures = json.loads(result.stdout)
    assert (figures["students"], figures["notebooks"], figures["graded"], figures["failed"]) == (1, 1, 1, [])
    assert grade(hand_in.folder, "--json").exit_code == 0


def test_no_sandbox_says_what_it_gives_up(grade, hand_in):
    result = grade(hand_in("ann/05_attention.ipynb"))
    assert "runs as you: it can read and change your files" in result.stderr


def test_only_the_formats_asked_for(grade, hand_in, tmp_path):
    assert grade(hand_in("ann/05_attention.ipynb"), "--formats", "csv").exit_code == 0
    found = {path.name for path in (tmp_path / "out").iterdir()}
    assert "marks.csv" in found and not {"gradescope", "junit.xml"} & found


def test_a_canvas_gradebook_is_filled(grade, hand_in, make_notebook, tmp_path):
    hand_in("leeann_11_5_05_attention.ipynb", make_notebook(all_others="return 1"))
    (tmp_path / "g.csv").write_text('Student,ID,Attention (3)\n    Points Possible,,10\n"Lee, Ann",11,\n')
    assert grade(hand_in.folder, "--canvas", tmp_path / "g.csv").exit_code == 0
    assert (tmp_path / "out" / "canvas.csv").read_text().splitlines()[-1] == '"Lee, Ann",11,10'


def test_a_moodle_worksheet_is_filled(grade, hand_in, make_notebook, tmp_path):
    hand_in("Ann Lee_4711_assignsubmission_file_/05_attention.ipynb", make_notebook(all_others="return 1"))
    (tmp_path / "g.csv").write_text("Identifier,Full name,Grade,Maximum Grade\nParticipant 4711,Ann Lee,,10.00\n")
    result = grade(hand_in.folder, "--moodle", tmp_path / "g.csv")
    assert result.exit_code == 0 and "moodle.csv has 1 mark of this class." in result.stdout
    assert (tmp_path / "out" / "moodle.csv").read_text().splitlines()[-1] == "Participant 4711,Ann Lee,10,10.00"


@pytest.mark.parametrize("option", ["--canvas", "--moodle"])
def test_a_gradebook_that_is_not_there_is_told_before_grading(option, grade, hand_in, tmp_path, one_sentence):
    problem = grade(hand_in("ann/05_attention.ipynb"), option, tmp_path / "none.csv").exception
    assert "none.csv cannot be read" in one_sentence(problem)
    assert not (tmp_path / "out").exists()


def test_a_fault_of_the_books_ends_with_1(grade, hand_in, make_notebook):
    hand_in("ann/05_attention.ipynb", make_notebook({"05.1": "return 1  # fake: breaks"}))
    result = grade(hand_in.folder)
    assert result.exit_code == 1
    assert "ann, chapter 05_attention: RuntimeError: a fault of the book's" in result.stdout


@pytest.mark.parametrize(
    "words, sentence",
    [
        (["nowhere"], "There is nothing at nowhere"),
        ([".", "--formats", "csv,pdf"], "'pdf' is no format of marks: use csv, gradescope, junit"),
        ([".", "--chapter", "77"], "There is no chapter '77'"),
        ([".", "--points", "none.toml"], "none.toml cannot be read as TOML"),
        ([".", "--store", "nonsense"], "nonsense is not the URL of a database"),
    ],
)
def test_what_is_asked_wrongly_is_one_sentence(words, sentence, grade, one_sentence, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    problem = grade(*words).exception
    assert isinstance(problem, ClassProblem)
    assert one_sentence(problem).startswith(sentence)


def test_an_out_that_is_a_file(grade, hand_in, tmp_path, one_sentence):
    (tmp_path / "file").write_text("")
    problem = grade(hand_in("ann/05_attention.ipynb"), out=tmp_path / "file").exception
    assert "cannot be made" in one_sentence(problem)


def test_a_page_that_cannot_be_written_is_one_sentence(grade, hand_in, tmp_path, one_sentence):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "feedback").write_text("in the way")
    problem = grade(hand_in("ann/05_attention.ipynb")).exception
    assert isinstance(problem, ClassProblem)
    assert "feedback cannot be written" in one_sentence(problem) and "the marks are kept." in str(problem)


def test_without_a_sandbox_it_refuses(hand_in, tmp_path, monkeypatch):
    monkeypatch.setattr("utils.classroom.sandbox.available", lambda: "The sandbox needs Linux: grade there.")
    words = ["grade", str(hand_in("ann/05_attention.ipynb")), "--out", str(tmp_path / "out")]
    problem = CliRunner().invoke(cli.make_app("grade"), words).exception
    assert isinstance(problem, ClassProblem) and str(problem) == "The sandbox needs Linux: grade there."
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("words", [(), ("--no-sandbox",)])
def test_on_another_system_it_says_where_to_grade(words, hand_in, tmp_path, monkeypatch):
    monkeypatch.setattr("sys.platform", "darwin")
    words = ["grade", str(hand_in("ann/05_attention.ipynb")), "--out", str(tmp_path / "out"), *words]
    problem = CliRunner().invoke(cli.make_app("grade"), words).exception
    assert isinstance(problem, ClassProblem) and str(problem).startswith("A class is graded on Linux: ")
    assert not (tmp_path / "out").exists()


def test_stopped_by_hand_it_says_what_is_kept(grade, hand_in, monkeypatch):
    def stopped(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("utils.classroom.run.grade_class", stopped)
    result = grade(hand_in("ann/05_attention.ipynb"))
    assert result.exit_code == 130 and "run the same command again" in result.output


def test_packages_where_a_submission_has_its_own_files_are_said(monkeypatch):
    """What a library loads at its first use would not be there, and right answers would be wrong."""
    monkeypatch.setattr("utils.classroom.container._packages", lambda: ["/tmp/book/.venv/lib"])
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    assert available() == (
        "Each submission has a /tmp of its own, and Python's packages lie there (/tmp/book/.venv/lib): make the book's "
        "environment in another folder, or add --no-sandbox."
    )
