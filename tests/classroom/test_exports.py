"""Marks for other programs: what they read back is what was kept, and nothing a student wrote runs in them."""

import csv
import io
import json
from xml.etree import ElementTree

import pytest

from utils.classroom import canvas, exports, moodle
from utils.classroom.known import chapters
from utils.classroom.marks import Cell, ExerciseMark, Graded, Notebook, Submission, verdict_as_json
from utils.classroom.points import Points
from utils.classroom.problems import ClassProblem
from utils.classroom.store import Store, sqlite_url
from utils.grading.verdict import Verdict

CHAPTER = "04_layernorm"  # 04.1 to 04.5, worth 2, 2, 2, 4, 3
EVIL = "=cmd|' /C calc'!A0"


def verdict(exercise, passed, message):
    return verdict_as_json(Verdict(exercise, "a title", passed, "passed" if passed else "runs", message))


@pytest.fixture
def store(tmp_path):
    with Store(sqlite_url(tmp_path), "0123456789ab", 1) as opened:
        yield opened


@pytest.fixture
def keep(store):
    """`keep(student, "+-x!?…")` keeps a notebook whose exercises went like that, one sign each."""
    kinds = {"+": "passed", "-": "failed", ".": "not_written", "0": "missing", "t": "timeout", "!": "crashed",
             "?": "not_run"}  # fmt: skip

    def put(student, signs, chapter=CHAPTER, message="It raises <b>&\x00]]>\ud83d.", **given):
        marks = []
        for exercise, sign in zip(sorted(chapters()[chapter].exercises, key=len), signs, strict=False):
            said = verdict(exercise, sign == "+", message) if sign in "+-" else None
            marks.append(ExerciseMark(exercise, kinds[sign], said, 0.25, "def f(): ..."))
        notebook = Notebook(chapter, (Cell(student, "code", signs, "04.1"),))
        sent = Submission(student, f"{student}/x.ipynb", **given)
        store.keep(sent, notebook, True, Graded(student, chapter, notebook.digest, tuple(marks), ("A note.",), 2.0))

    return put


def read_csv(path):
    return list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8-sig"), newline="")))


def test_csv(store, keep, tmp_path):
    keep("ann", "++-.0", late=True, attempt=2, received="2031-01-31T10:00:00+00:00")
    keep("ben", "+++++")
    keep("ben", "+", chapter="06_mlp")
    exports.write_csv(store, Points(), tmp_path / "marks.csv")
    ann, ben, ben6 = read_csv(tmp_path / "marks.csv")
    assert [ann[f"04.{i}"] for i in range(1, 6)] == ["2", "2", "0", "0", "0"]
    assert (ann["total"], ann["out of"], ann["late"], ann["attempt"]) == ("4", "13", "late", "2")
    assert (ben["total"], ben["late"], ben["06.1"]) == ("13", "", "")
    assert (ben6["chapter"], ben6["06.1"], ben6["04.1"], ben6["06.2"]) == ("06_mlp", "2", "", "")


@pytest.mark.parametrize("name", [EVIL, "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", " =1\n=2"])
def test_a_name_is_no_formula(name, store, keep, tmp_path):
    keep(name, "+")
    exports.write_csv(store, Points(), tmp_path / "marks.csv")
    (row,) = read_csv(tmp_path / "marks.csv")
    for cell in row.values():
        assert not cell.startswith(("=", "+", "-", "@", "\t", "\r"))
    text = (tmp_path / "marks.csv").read_text(encoding="utf-8-sig")
    for line in csv.reader(io.StringIO(text)):
        assert not any(cell[:1] in "=+-@\t\r" for cell in line if cell)


def test_gradescope(store, keep, tmp_path):
    keep("ann", "+-.t!")
    (path,) = exports.write_gradescope(store, Points(), tmp_path / "gradescope")
    assert path.name == "results.json" and path.parent.name == CHAPTER
    found = json.loads(path.read_text())
    assert set(found) == {
        "score", "execution_time", "output", "output_format", "visibility", "stdout_visibility", "tests",
    }  # fmt: skip
    assert (found["score"], found["execution_time"], found["output"]) == (2.0, 2.0, "A note.")
    assert [t["score"] for t in found["tests"]] == [2.0, 0.0, 0.0, 0.0, 0.0]
    assert [t["max_score"] for t in found["tests"]] == [2.0, 2.0, 2.0, 4.0, 3.0]
    assert [t["status"] for t in found["tests"]] == ["passed", *["failed"] * 4]
    assert found["tests"][0]["name"] == "04.1 ln_scale" and found["tests"][0]["number"] == "04.1"
    assert {t["output_format"] for t in found["tests"]} == {"text"}, "what a student wrote is never HTML there"
    assert {t["visibility"] for t in found["tests"]} == {"visible"}
    assert "It raises <b>&" in found["tests"][1]["output"]
    assert found["tests"][3]["output"] == "04.4: took too long."


def test_junit(store, keep, tmp_path):
    keep(f"{EVIL} <&\"'>\x01", "+-.t!")
    keep("ben", "+0?")
    exports.write_junit(store, tmp_path / "junit.xml")
    root = ElementTree.parse(tmp_path / "junit.xml").getroot()
    assert root.tag == "testsuites" and len(root) == 2
    evil, ben = root
    assert evil.get("name") == f"{EVIL} <&\"'>"
    assert [evil.get(k) for k in ("tests", "failures", "errors", "skipped")] == ["5", "1", "2", "1"]
    assert [[inner.tag for inner in case] for case in evil] == [[], ["failure"], ["skipped"], ["error"], ["error"]]
    assert [[inner.tag for inner in case] for case in ben] == [[], ["skipped"], ["error"]]
    assert "It raises <b>&" in evil[1][0].text
    assert (evil[0].get("classname"), evil[0].get("name")) == (CHAPTER, "04.1 ln_scale")


def test_points_from_a_file(store, keep, tmp_path):
    (tmp_path / "p.toml").write_text('[points]\n"04" = 1\n"04.4" = 2.5\n"04.5" = 0\n')
    keep("ann", "+--++")
    exports.write_csv(store, Points.from_file(tmp_path / "p.toml"), tmp_path / "marks.csv")
    (row,) = read_csv(tmp_path / "marks.csv")
    assert (row["04.1"], row["04.4"], row["04.5"], row["total"], row["out of"]) == ("1", "2.5", "0", "3.5", "5.5")


@pytest.mark.parametrize(
    "text, why",
    [
        ("points = 3", r"has no table \[points\]"),
        ("[points", "cannot be read as TOML"),
        ('[points]\n"77.1" = 3', "gives points for '77.1', which is no exercise"),
        ('[points]\n"04.1" = -3', "gives -3 points for 04.1: write a number from 0 on"),
        ('[points]\n"04.1" = "3"', "gives '3' points for 04.1"),
        ('[points]\n"04.1" = true', "gives True points for 04.1"),
        ('[points]\n"04.1" = nan', "gives nan points for 04.1"),
        ('[points]\n"04.1" = inf', "gives inf points for 04.1"),
    ],
)
def test_points_that_are_none(text, why, tmp_path, one_sentence):
    (tmp_path / "p.toml").write_text(text)
    with pytest.raises(ClassProblem, match=why) as problem:
        Points.from_file(tmp_path / "p.toml")
    one_sentence(problem.value)


def test_a_file_of_points_that_is_not_there(tmp_path, one_sentence):
    with pytest.raises(ClassProblem, match="cannot be read as TOML") as problem:
        Points.from_file(tmp_path / "none.toml")
    one_sentence(problem.value)


GRADEBOOK = (
    "Student,ID,SIS User ID,SIS Login ID,Section,LayerNorm (901),Essay (902),Final Score\n"
    "    Points Possible,,,,,26,10,(read only)\n"
    '"Lee, Ann",11,u11,ann@x.org,A,,7,70\n'
    '"Müller, Ben",12,u12,ben,A,1,8,80\n'
    '"=Eve, ""E""",13,u13,eve,A,3,,\n'
    '"Lee, Ann",14,u14,ann2,B,,,\n'
    '"Student, Test",99,,test,A,,,\n'
)


@pytest.fixture
def fill(store, tmp_path):
    def go(text=GRADEBOOK, encoding="utf-8"):
        (tmp_path / "gradebook.csv").write_bytes(text.encode(encoding))
        done = canvas.fill(store, Points(), tmp_path / "gradebook.csv", tmp_path / "canvas.csv")
        return done, (tmp_path / "canvas.csv").read_bytes().decode(encoding)

    return go


def test_canvas_keeps_everything_but_the_column(keep, fill):
    keep("leeann (14)", "+++++")
    keep("ben", "++---")
    done, text = fill()
    assert done.columns == {CHAPTER: "LayerNorm (901)"} and done.rows == 2 and done.notes == []
    before, after = (list(csv.reader(io.StringIO(t))) for t in (GRADEBOOK, text))
    changed = {(i, j) for i, row in enumerate(before) for j, cell in enumerate(row) if after[i][j] != cell}
    assert changed == {(3, 5), (5, 5)}
    assert after[5][5] == "26", "all of 13 points are all of Canvas's 26"
    assert after[3][5] == "8"


@pytest.mark.parametrize(
    "student, row",
    [("leeann (11)", 2), ("Ben Müller", 3), ("müllerben", 3), ("u12", 3), ("ann@x.org", 2), ("leeann (777)", None),
     ("Ann Lee", None), ("nobody", None), ("Test Student", 6)],
)  # fmt: skip
def test_canvas_finds_a_student_or_says_so(student, row, keep, fill):
    keep(student, "+++++")
    done, text = fill()
    filled = [i for i, cells in enumerate(csv.reader(io.StringIO(text))) if cells[5] == "26" and i > 1]
    assert filled == ([row] if row else [])
    assert done.notes == ([] if row else [f"{student} is in no row of gradebook.csv, or in several."])


@pytest.mark.parametrize("column", ["04_layernorm (1)", "Chapter 4 (1)", "04 (1)", "layernorm", "Notebook 04 (22)"])
def test_canvas_columns_that_are_the_chapters(column, keep, fill):
    keep("ben", "+++++")
    done, _ = fill(GRADEBOOK.replace("LayerNorm (901)", column))
    assert done.columns == {CHAPTER: column}


@pytest.mark.parametrize(
    "change, why",
    [
        (("LayerNorm (901)", "Quiz (901)"), "No column of .* is named after chapter 04_layernorm"),
        (("Essay (902)", "Chapter 04 (902)"), "More than one column of .* is named after chapter 04_layernorm"),
        (("Student,ID", "Name,Number"), "has no columns Student and ID"),
    ],
)
def test_a_gradebook_that_does_not_fit(change, why, keep, fill, one_sentence):
    keep("ben", "+++++")
    with pytest.raises(ClassProblem, match=why) as problem:
        fill(GRADEBOOK.replace(*change))
    one_sentence(problem.value)


@pytest.mark.parametrize(
    "change", [lambda t: "\ufeff" + t, lambda t: t.replace("\n", "\r\n"), lambda t: t.replace(",", ";")]
)
def test_a_gradebook_keeps_its_way_of_writing(change, keep, fill):
    keep("ben", "+++++")
    given = change(GRADEBOOK.replace('"Müller, Ben"', "Ben Müller").replace('"Lee, Ann"', "Ann Lee"))
    given = given.replace('"Student, Test"', "x").replace('"=Eve, ""E"""', "e").replace('"Student; Test"', "x")
    given = given.replace('"=Eve; ""E"""', "e")
    done, text = fill(given)
    assert done.rows == 1
    mark = ";" if ";" in given else ","
    assert text == given.replace(mark.join(("ben", "A", "1")), mark.join(("ben", "A", "26")))


WORKSHEET = (
    'Identifier,"Full name","Email address",Status,Grade,"Maximum Grade","Grade can be changed",'
    '"Last modified (submission)","Last modified (grade)","Feedback comments"\n'
    'Participant 4711,"Ann Lee",ann@x.org,"Submitted for grading",,26.00,Yes,"Monday, 3 March 2031, 10:00 AM",-,\n'
    'Participant 4712,"Ann Lee",ann2@x.org,"Submitted for grading",1.00,26.00,Yes,-,-,"Well, ""done"""\n'
    'Participant 4713,"=Eve",eve@x.org,"No submission",3.00,26.00,No,-,-,\n'
    'Participant 47,"Ben",ben@x.org,"No submission",2.00,26.00,Yes,-,-,\n'
)


@pytest.fixture
def fill_moodle(store, tmp_path):
    def go(text=WORKSHEET, chapter=None):
        (tmp_path / "sheet.csv").write_bytes(text.encode())
        done = moodle.fill(store, Points(), tmp_path / "sheet.csv", tmp_path / "moodle.csv", chapter)
        return done, list(csv.reader(io.StringIO((tmp_path / "moodle.csv").read_bytes().decode(), newline="")))

    return go


def test_moodle_keeps_everything_but_the_grades(keep, fill_moodle):
    keep("Ann Lee (4712)", "+++++")
    keep("Eve (4713)", "+++++")
    keep("Ben", "+++++")
    keep("Cid (9)", "+++++")
    done, after = fill_moodle()
    before = list(csv.reader(io.StringIO(WORKSHEET)))
    assert {(i, j) for i, row in enumerate(before) for j, cell in enumerate(row) if after[i][j] != cell} == {(2, 4)}
    assert (after[2][4], done.rows) == ("26", 1), "all of 13 points are all of Moodle's 26"
    assert done.notes == [
        "Ben is in no row of sheet.csv.",
        "Cid (9) is in no row of sheet.csv.",
        "Eve (4713) has a grade that is locked in Moodle, and keeps it.",
    ]


def test_moodle_takes_one_chapter(keep, fill_moodle, one_sentence):
    keep("Ann Lee (4711)", "+++++")
    keep("Ann Lee (4711)", "+", chapter="06_mlp")
    with pytest.raises(ClassProblem, match="04_layernorm, 06_mlp: say which with --chapter") as problem:
        fill_moodle()
    one_sentence(problem.value)
    assert fill_moodle(chapter=CHAPTER)[1][1][4] == "26"
    assert fill_moodle(chapter="06_mlp")[1][1][4] == "2.89"


@pytest.mark.parametrize(
    "change, why",
    [
        (("Identifier", "ID"), "has no columns Identifier and Grade"),
        (("Grade,", "Bewertung,"), "has no columns Identifier and Grade"),
        (('"Maximum Grade"', "Scale"), "grades by a scale of words"),
    ],
)
def test_a_worksheet_that_does_not_fit(change, why, keep, fill_moodle, one_sentence):
    keep("Ann Lee (4711)", "+++++")
    with pytest.raises(ClassProblem, match=why) as problem:
        fill_moodle(WORKSHEET.replace(*change, 1))
    one_sentence(problem.value)


def test_a_worksheet_with_long_texts_is_read(keep, store, tmp_path):
    keep("Ann Lee (4711)", "+++++")
    (tmp_path / "sheet.csv").write_text(WORKSHEET.replace('Well, ""done""', "x" * 200_000))
    assert moodle.fill(store, Points(), tmp_path / "sheet.csv", tmp_path / "moodle.csv").rows == 1
    assert "x" * 200_000 in (tmp_path / "moodle.csv").read_text()


def test_marks_of_another_book_are_not_exported(store, keep, tmp_path):
    keep("ann", "+++++")
    store.book = "newer"
    exports.write_csv(store, Points(), tmp_path / "marks.csv")
    (row,) = read_csv(tmp_path / "marks.csv")
    assert (row["04.1"], row["total"]) == ("", "")
    assert exports.write_gradescope(store, Points(), tmp_path / "g") == []
