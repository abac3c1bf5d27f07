"""Whatever a student chooses to be called, to hand in, to write or to raise: no program that reads marks runs it."""

import csv
import io
import json
import re
from xml.etree import ElementTree

import pytest

from tests.classroom.hostile import HOSTILE
from tests.classroom.test_pages import is_harmless
from utils.classroom import canvas, exports, moodle
from utils.classroom.feedback import write_feedback
from utils.classroom.known import chapters
from utils.classroom.marks import Cell, ExerciseMark, Graded, Notebook, Submission, verdict_as_json
from utils.classroom.points import Points
from utils.classroom.report import teachers_page
from utils.classroom.store import Store, sqlite_url
from utils.grading.verdict import Mismatch, Verdict

CHAPTER = "04_layernorm"
FORMULA = re.compile(r"\s*[=+\-@＝＋－＠\t\r]")


def hostile_class(store):
    """A student for each text, who has put it everywhere."""
    for i, text in enumerate(HOSTILE.values()):
        made = []
        for exercise, stage in zip(chapters()[CHAPTER].exercises, ("runs", "type", "reference", "fresh"), strict=False):
            found = Mismatch((("pos", 0),), text, text, 1, 2, path=text) if stage in ("reference", "fresh") else None
            verdict = Verdict(
                exercise, "a title", False, stage, f"The answer raised ValueError: {text}", text, evidence=text,
                where=text, advice=text, printed=text, readings=(text, text) if stage == "type" else (), mismatch=found,
            )  # fmt: skip
            made.append(ExerciseMark(exercise, "failed", verdict_as_json(verdict), 0.1, text))
        notebook = Notebook(CHAPTER, (Cell("a", "code", f"{i}{text}", "04.1"),), (text,))
        sent = Submission(text, text, received="2031-01-31T10:00:00+00:00", problems=(text,))
        done = Graded(text, CHAPTER, notebook.digest, tuple(made), (text, *(f"note {n} {text}" for n in range(5))), 1.0)
        store.keep(sent, notebook, True, done, {"04.1": "same"})
    return store


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Everything that `book grade` writes, for the hostile class."""
    out = tmp_path_factory.mktemp("out")
    sheets = {
        "canvas": 'Student,ID,LayerNorm (901)\n    Points Possible,,10\n"=Eve, ""E""",13,\n',
        "moodle": "Identifier,Full name,Grade\nParticipant 4711,=Eve,\n",
    }
    for name, text in sheets.items():
        (out / f"{name}_in.csv").write_text(text)
    with Store(sqlite_url(out), "0123456789ab", 1) as store:
        hostile_class(store)
        write_feedback(store, Points(), out / "feedback")
        page = teachers_page(store, Points(), list(HOSTILE.values()))
        (out / "report.html").write_text(page, encoding="utf-8")
        exports.write_csv(store, Points(), out / "marks.csv")
        exports.write_gradescope(store, Points(), out / "gradescope")
        exports.write_junit(store, out / "junit.xml")
        canvas.fill(store, Points(), out / "canvas_in.csv", out / "canvas.csv")
        moodle.fill(store, Points(), out / "moodle_in.csv", out / "moodle.csv", CHAPTER)
    return out


def test_pages_hold_it_as_text(folder):
    pages = [folder / "report.html", *(folder / "feedback").iterdir()]
    assert len(pages) > len(HOSTILE) - 3  # a database has no NUL and no half a character, so that some are alike
    for path in pages:
        is_harmless(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_a_spreadsheet_runs_none_of_it_in_any_country(delimiter, folder):
    text = (folder / "marks.csv").read_text(encoding="utf-8-sig")
    for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter):
        for cell in row:
            assert not FORMULA.match(cell), cell
            assert not any(FORMULA.match(line) for line in cell.splitlines()), cell


def test_marks_csv_has_its_columns_for_each(folder):
    rows = list(csv.DictReader(io.StringIO((folder / "marks.csv").read_text(encoding="utf-8-sig"), newline="")))
    assert len(rows) > len(HOSTILE) - 3
    assert {(row["chapter"], row["total"], row["out of"], len(row)) for row in rows} == {(CHAPTER, "0", "13", 13)}


def test_gradescope_reads_it_and_nothing_lies_elsewhere(folder):
    found = [path for path in (folder / "gradescope").rglob("*") if path.is_file()]
    assert {path.name for path in found} == {"results.json"} and len(found) > len(HOSTILE) - 3
    assert all(re.fullmatch(r"[a-z0-9-]{8,70}", path.parts[-3]) for path in found)
    assert len({path.parts[-3].lower() for path in found}) == len(found)
    for path in found:
        data = path.read_bytes()
        data.decode("ascii")
        json.dumps(json.loads(data), ensure_ascii=False).encode()  # no half of a character is in it
        assert {test["output_format"] for test in json.loads(data)["tests"]} == {"text"}


def test_junit_is_xml(folder):
    root = ElementTree.parse(folder / "junit.xml").getroot()
    assert len(root) > len(HOSTILE) - 3 and {inner.tag for inner in root.iter()} == {
        "testsuites", "testsuite", "testcase", "failure",
    }  # fmt: skip


def test_gradebooks_are_as_they_were_where_nobody_fits(folder):
    for name in ("canvas", "moodle"):
        assert (folder / f"{name}.csv").read_bytes() == (folder / f"{name}_in.csv").read_bytes()


def test_nothing_is_written_beside_the_folder(folder):
    assert {path.name for path in folder.iterdir()} == {
        "feedback", "report.html", "marks.csv", "gradescope", "junit.xml", "grades.sqlite", "grades.sqlite.lock",
        "canvas.csv", "canvas_in.csv", "moodle.csv", "moodle_in.csv",
    }  # fmt: skip
    assert all(re.fullmatch(r"[a-z0-9-]{8,70}\.html", path.name) for path in (folder / "feedback").iterdir())
