"""Pages for students and for the teacher: all that should be there, nothing about others, nothing that runs."""

import re
from html.parser import HTMLParser

import pytest

from utils.classroom.feedback import write_feedback
from utils.classroom.known import chapters
from utils.classroom.marks import Cell, ExerciseMark, Graded, Notebook, Submission, verdict_as_json
from utils.classroom.pages import file_name
from utils.classroom.points import Points
from utils.classroom.report import teachers_page
from utils.classroom.store import Store, sqlite_url
from utils.grading.verdict import Mismatch, Verdict

CHAPTER = "05_attention"
EVIL = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'{{ 7*7 }}</pre></style>javascript:"
SAFE_TAGS = set(
    "html head meta title style body section h1 h2 h3 p ul li ol strong b i bdi code pre details summary span div a "
    "nav table thead tbody tr th td figure figcaption svg desc rect path circle text br".split()
)


class Page(HTMLParser):
    """What is in a page: tags, attributes and text."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.attributes, self.words = set(), [], []
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        self.attributes += attributes

    def handle_data(self, data):
        self.words.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())


def is_harmless(html):
    page = Page(html)
    assert page.tags <= SAFE_TAGS, page.tags - SAFE_TAGS
    for name, value in page.attributes:
        assert not name.startswith("on"), name
        assert not re.match(r"\s*(javascript|data|https?|//)", value or "", re.IGNORECASE) or name == "content"
    styles = "".join(re.findall(r"<style>(.*?)</style>", html, re.DOTALL))
    assert styles and "url(" not in styles and "@import" not in styles
    assert "49" not in page.text.replace(EVIL, ""), "a template inside a name was not run"
    return page


@pytest.fixture
def store(tmp_path):
    with Store(sqlite_url(tmp_path), "0123456789ab", 1) as opened:
        yield opened


@pytest.fixture
def keep(store):
    """`keep(student, {exercise: (status, diagnosis, source, fingerprint)})`."""

    def put(student, marks, notes=(), problems=(), path="x.ipynb", **given):
        made, prints = [], {}
        for exercise in sorted(chapters()[CHAPTER].exercises, key=lambda e: int(e[3:])):
            status, key, source, prints[exercise] = (*marks.get(exercise, ("passed",)), None, "", None)[:4]
            said = None
            if status in ("passed", "failed"):
                said = verdict_as_json(
                    Verdict(exercise, "a title", status == "passed", "fresh", f"It is {key}.", diagnosis=key,
                            evidence="Look. It was called with x = 31.25.", printed="SECRET 31.25",
                            mismatch=Mismatch((("pos", 1),), 31.25, 31.25, 1, 2))
                )  # fmt: skip
            made.append(ExerciseMark(exercise, status, said, 0.1, source or ""))
        notebook = Notebook(CHAPTER, (Cell(student, "code", student, "05.1"),))
        sent = Submission(student, path, problems=problems, **given)
        store.keep(sent, notebook, True, Graded(student, CHAPTER, notebook.digest, tuple(made), notes, 1.0), prints)

    return put


@pytest.fixture
def pages(store, tmp_path):
    """`pages()` writes the feedback and gives the HTML by student's file."""

    def write():
        write_feedback(store, Points(), tmp_path / "feedback")
        return {path.stem: path.read_text(encoding="utf-8") for path in (tmp_path / "feedback").iterdir()}

    return write


def test_a_page_holds_the_students_own(keep, pages):
    keep("ann", {"05.2": ("failed", "no_scale", "def mine(): pass"), "05.3": ("timeout",), "05.4": ("missing",)},
         notes=("It was renamed.",), late=True)  # fmt: skip
    page = is_harmless(pages()[file_name("ann")])
    for words in ("Feedback for ann", "9 of 12 exercises are right: 25 of 32 points.", "It was renamed.", ", late.",
                  "It is no_scale.", "def mine(): pass", "took too long and was stopped",
                  "There is no answer to this exercise in the notebook."):  # fmt: skip
        assert words in page.text, words


def test_a_page_says_where_to_begin(keep, pages):
    calls = "def attention(x):\n    return attention_scores(q, k)"
    keep("ann", {"05.2": ("failed", "no_scale"), "05.7": ("failed", None, calls), "05.8": ("passed", None, calls)})
    page = is_harmless(pages()[file_name("ann")])
    assert page.text.count("It calls attention_scores , and that answer is not right yet either ( 05.2 )") == 1


def test_a_page_does_not_speak_of_cells_above(store, pages):
    from utils.exercises import exercise
    from utils.grading.checking import not_written

    said = verdict_as_json(not_written(exercise("05.1")))
    notebook = Notebook(CHAPTER, (Cell("a", "code", "x", "05.1"),))
    mark = ExerciseMark("05.1", "not_written", said)
    store.keep(Submission("ann", "x"), notebook, True, Graded("ann", CHAPTER, notebook.digest, (mark,)))
    (page,) = map(is_harmless, pages().values())
    assert "project_heads is not written yet." in page.text and "above" not in page.text


def test_a_page_holds_nothing_about_others(keep, pages):
    keep("ann", {"05.2": ("failed", "no_scale", "x = 'of ann'")})
    keep("ben", {"05.2": ("failed", "strict", "x = 'of ben'")}, notes=("About ben.",))
    found = pages()
    assert len(found) == 2
    for own, other in (("ann", "ben"), ("ben", "ann")):
        assert own in found[file_name(own)] and other not in found[file_name(own)]


def test_no_hidden_input_is_on_any_page(store, keep, pages):
    keep("ann", {"05.2": ("failed", "no_scale")})
    for html in (*pages().values(), teachers_page(store, Points(), [])):
        assert "31.25" not in html and "SECRET" not in html


def test_whatever_a_student_writes_is_text(store, keep, pages):
    keep(EVIL, {e: ("failed", EVIL, EVIL) for e in chapters()[CHAPTER].exercises}, (EVIL,), (EVIL,), path=EVIL)
    (html,) = pages().values()
    assert "<script>alert(1)</script>" in is_harmless(html).text
    report = is_harmless(teachers_page(store, Points(), [EVIL]))
    assert report.text.count("<script>alert(1)</script>") > 3


def test_a_student_with_nothing_to_grade_gets_a_page_that_says_why(store, pages):
    store.keep(Submission("eve", "eve/x.ipynb", problems=("eve/x.ipynb is empty.",)), None, False)
    page = is_harmless(pages()[file_name("eve")])
    assert "What could not be graded" in page.text and "eve/x.ipynb is empty." in page.text


def test_names_of_files_are_safe_and_never_the_same():
    names = [
        "ann",
        "Ann",
        "ann ",
        "../../etc/passwd",
        "",
        "\u00c4nn",
        "a" * 300,
        "CON",
        EVIL,
        "ann/1",
        "ann-1",
        "\ud83d",
    ]
    made = [file_name(name) for name in names]
    assert len(set(made)) == len(names)
    assert all(re.fullmatch(r"[a-z0-9-]{8,70}", name) for name in made)


def test_the_teacher_sees_misconceptions_with_counts_and_who(store, keep):
    for name in ("ann", "ben", "cid"):
        keep(name, {"05.2": ("failed", "no_scale")})
    keep("dan", {"05.2": ("failed", "divides_by_d_model"), "05.3": ("failed", None)})
    page = is_harmless(teachers_page(store, Points(), []))
    at = page.text.index("Nothing divides by")
    assert "3 students 05.2 attention_scores" in page.text[:at], "with the book's own sentence"
    assert "ann , ben , cid" in page.text[at:] or "ann, ben, cid" in page.text[at:]
    assert page.text.index("1 student 05.2") > at, "the most frequent first"
    assert "Wrong in another way" in page.text and "1 student 05.3 causal_mask" in page.text
    assert "What they are told, and who It is None. dan" in page.text


def test_a_mistake_that_any_exercise_can_have_is_told_in_each_answers_own_words(store, keep):
    """ "Times 4" is not "times 32", though both are a factor."""
    for name, key in (("ann", "factor a"), ("ben", "factor a"), ("cid", "factor b")):
        keep(name, {"05.2": ("failed", key)})
    page = is_harmless(teachers_page(store, Points(), []))
    assert "2 students 05.2 attention_scores It is factor a." in page.text
    assert "1 student 05.2 attention_scores It is factor b." in page.text


def test_the_teacher_sees_rates_marks_trouble_and_intake(store, keep):
    keep("ann", {"05.1": ("timeout",), "05.2": ("crashed",), "05.3": ("not_written",)}, notes=("Odd.",))
    keep("ben", {"05.3": ("failed", None)}, late=True)
    page = is_harmless(teachers_page(store, Points(), ["class.zip is damaged."]))
    for words in ("2 students", "2 notebooks graded", "1 late", "2 time-outs and crashes", "1 problems of intake",
                  "05.1 project_heads 1 (50 %) 0 1 0", "05.3 causal_mask 0 (0 %) 1 0 1", "ann 05.1 took too long",
                  "ann 05.2 crashed", "class.zip is damaged.", "ann : Odd."):  # fmt: skip
        assert words in page.text, words


def test_the_teacher_sees_pairs_of_the_same_answers(store, keep):
    for i in range(30):
        own = {"05.3": ("passed", None, "", "usual"), "05.7": ("passed", None, "", f"own{i}")}
        keep(f"s{i:02}", own | ({"05.7": ("passed", None, "", "copy"), "05.10": ("passed", None, "", "copy10")} if i in
                                (3, 17) else {}))  # fmt: skip
    page = is_harmless(teachers_page(store, Points(), []))
    assert "s03 and s17 2 05.7, 05.10" in page.text
    assert "Written alike by many: 05.3 (by 30)" in page.text
    assert len(re.findall(r"s\d\d and s\d\d", page.text)) == 1


def test_an_empty_class_has_a_report_too(store):
    page = is_harmless(teachers_page(store, Points(), ["There is no file of a student in x."]))
    assert "There is no file of a student in x." in page.text and "0 students" in page.text


def test_a_class_too_large_for_one_table(store, keep, monkeypatch):
    monkeypatch.setattr("utils.classroom.report.MOST_ROWS", 3)
    for i in range(5):
        keep(f"student {i}", {})
    page = is_harmless(teachers_page(store, Points(), []))
    assert "student 2" in page.text and "student 3" not in page.text
    assert "2 more students are in marks.csv" in page.text


def test_pages_are_the_same_each_time(store, keep, pages):
    keep("ann", {"05.2": ("failed", "no_scale")})
    assert pages() == pages()
    assert teachers_page(store, Points(), []) == teachers_page(store, Points(), [])
