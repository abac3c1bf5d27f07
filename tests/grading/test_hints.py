"""A hint is asked for, one rung at a time, and the place on the ladder is kept from kernel to kernel."""

import pytest

from utils.exercises import exercise
from utils.grading import store
from utils.grading.notebook import grade, hint, progress, use
from utils.grading.verdict import Verdict

RUNGS = exercise("05.2").hint_ladder


@pytest.fixture(autouse=True)
def new_learner(own_folders):
    """Nobody has asked for a hint before."""


def test_each_call_gives_the_next_rung_and_says_which():
    for n, rung in enumerate(RUNGS, 1):
        given = hint("05.2")
        assert (given.number, given.of, given.text) == (n, len(RUNGS), rung)
        assert f"Hint {n} of {len(RUNGS)}" in str(given) and rung in str(given)


def test_the_last_one_says_so_and_then_it_begins_again():
    notes = [hint("05.2").note for _ in range(len(RUNGS) + 2)]
    assert ["last" in note for note in notes] == [n == len(RUNGS) - 1 for n in range(len(notes))]
    assert "first again" in notes[len(RUNGS)]
    assert hint("05.2").number == 3


def test_the_rung_is_kept_for_the_next_kernel():
    hint("05.2")
    store._forget(store.store_path())
    store._taken_here.clear()
    assert hint("05.2").number == 2


def test_exercises_have_ladders_of_their_own():
    hint("05.2")
    assert hint("05.3").number == 1


def attention_scores(q, k):
    return q


@pytest.mark.parametrize("which", ["05.2", "attention_scores", attention_scores])
def test_the_answer_or_its_name_will_do(which):
    assert hint(which).exercise == "05.2"


@pytest.mark.parametrize("which", [None, "05.99", 7, [], lambda x: x, object()])
def test_what_is_no_exercise_gets_a_sentence(which):
    given = hint(which)
    assert given.headline == "No hint"
    assert "\n" not in given.text and given.text[-1] in ".?" and given.text in str(given)


def test_a_hint_is_code_where_it_is_code_and_harmless():
    page = [hint("05.2")._repr_html_() for _ in RUNGS][-1]
    assert "<code>einsum(q, k, &quot;batch query_pos n_heads d_head" in page and "-&gt;" in page


@pytest.mark.parametrize("answer", [None, [1], 5, "05.2", "attention_scores", lambda q, k: q, object(), len])
def test_an_answer_that_no_exercise_is_known_for_gets_a_sentence(answer, one_sentence):
    verdict = grade(answer)
    assert not verdict.passed and verdict.exercise == ""
    assert one_sentence(verdict.message) in " ".join(str(verdict).split())
    assert store.attempts() == [], "no attempt at anything"


def test_the_picture_tells_states_apart_without_color():
    store.record(Verdict("05.2", "t", True, "passed", "m"))
    store.record(Verdict("05.3", "t", False, "reference", "m"))
    found = progress()
    row = next(line for line in str(found).splitlines() if line.strip().startswith("05"))
    assert "○ ✓ ◐ ○" in row
    page = found._repr_html_()
    assert 'aria-label="05.2 attention scores: passed"' in page
    assert 'aria-label="05.3 causal mask: tried, not passed yet"' in page
    assert 'aria-label="05.1 project heads: not tried yet"' in page
    assert "<table" in page and page.count("<tr>") > len(found.standings)


def test_a_later_cell_uses_the_books_own_until_the_learners_passes(capsys):
    assert use(attention_scores) is exercise("05.2").solution
    said = capsys.readouterr().out
    assert "has not passed exercise 05.2" in said and 'grade(attention_scores, "05.2")' in said


def test_a_later_chapter_is_told_which_exercise_the_books_own_is_from(capsys):
    assert use(None, "09.7") is exercise("09.7").solution
    assert capsys.readouterr().out == "Using the book's generate (exercise 09.7).\n"


def test_each_graded_answer_is_an_attempt_and_what_passes_is_used(pocket):
    right = exercise("05.2").rights[0]
    assert not grade(attention_scores, reference=pocket).passed
    assert grade(right, "05.2", reference=pocket).passed
    assert [(a.exercise, a.passed) for a in store.attempts()] == [("05.2", False), ("05.2", True)]
    assert use(right, "05.2") is right
    assert not grade(attention_scores, reference=pocket).passed
    assert use(right, "05.2") is exercise("05.2").solution, "the last grade counts"


def test_grading_goes_on_where_progress_cannot_be_kept_and_says_so_once(pocket, own_folders, monkeypatch, capsys):
    (own_folders / "file").write_text("not a folder")
    monkeypatch.setenv("BOOK_DATA", str(own_folders / "file"))
    for _ in range(2):
        assert grade(exercise("05.2").solution, reference=pocket).passed
    assert capsys.readouterr().out.count("BOOK_DATA") == 1


def test_a_cell_says_once_that_it_uses_the_books_function(monkeypatch, capsys):
    from types import SimpleNamespace

    from utils.grading import notebook

    shell = SimpleNamespace(execution_count=7)
    monkeypatch.setitem(notebook.sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setattr(notebook, "_said", set())
    for count in (7, 7, 8):
        shell.execution_count = count
        notebook.use(None, "05.2")
    assert capsys.readouterr().out.count("attention_scores") == 2
