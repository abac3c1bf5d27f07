"""Marks are kept whole or not at all, in SQLite and in PostgreSQL; the seed stays; one grader writes at a time."""

import hashlib
import json
import multiprocessing
import os
import signal
import sqlite3

import pytest
import sqlalchemy as sql

from tests.classroom.postgres import NoServer, server
from utils.classroom import store as stores
from utils.classroom.marks import Cell, ExerciseMark, Graded, Notebook, Submission
from utils.classroom.problems import ClassProblem
from utils.classroom.store import Store

BOOK = "0123456789ab"


@pytest.fixture(scope="module")
def postgres():
    try:
        running = server()
        url = running.__enter__()
    except NoServer as why:
        pytest.skip(f"PostgreSQL cannot be started here: {why}.")
    yield url
    running.__exit__(None, None, None)


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request, tmp_path):
    """An empty database of each kind."""
    if request.param == "sqlite":
        yield stores.sqlite_url(tmp_path)
        return
    found = request.getfixturevalue("postgres")
    engine = sql.create_engine(found, isolation_level="AUTOCOMMIT")
    name = f"t{hashlib.sha256(request.node.name.encode()).hexdigest()[:16]}"
    with engine.connect() as connection:
        connection.exec_driver_sql(f"CREATE DATABASE {name}")
    yield found.replace("/postgres?", f"/{name}?").replace("postgresql+psycopg", "postgresql")
    engine.dispose()


def notebook(line="x = 1", chapter="05_attention"):
    return Notebook(chapter, (Cell("a", "code", line, "05.1"),))


def graded(student, of, status="passed", **given):
    verdict = {"diagnosis": "no_scale", "message": "No.", "stage": "fresh"} if status == "failed" else None
    marks = (ExerciseMark("05.10", "missing"), ExerciseMark("05.2", status, verdict, 0.5, "def f(): ..."))
    return Graded(student, of.chapter, of.digest, marks, ("A note.",), 1.5, **given)


def sent(student, path="a.ipynb", **given):
    return Submission(student, path, **given)


def keep(store, student="ann", of=None, counts=True, path="a.ipynb", **given):
    of = of or notebook()
    store.keep(sent(student, path), of, counts, graded(student, of, **given), {"05.2": "abcd"})


def test_what_was_kept_comes_back(url):
    of = notebook("x = '\u20ac \\u0000'")
    submission = Submission("Zo\u00eb", "z/05.ipynb", 2, "2031-01-31T10:00:00+00:00", {of.chapter: of.digest}, (), True)
    with Store(url, BOOK) as store:
        store.keep(submission, of, True, graded("Zo\u00eb", of, "failed"))
    with Store(url, BOOK) as store:
        (standing,) = store.standings()
        assert standing.submission == submission
        want = graded("Zo\u00eb", of, "failed")
        assert standing.graded == Graded(**{**want.__dict__, "marks": want.marks[::-1]}), "in the order of exercises"
        assert store.notebook(of.digest) == of
        assert store.is_graded("Zo\u00eb", of)


@pytest.mark.parametrize("text", ["nul \0 in it", "half \ud83d", "quote '; DROP TABLE book_marks; --", "\u202e\u0007"])
def test_any_text_can_be_kept(text, url):
    of = Notebook("05_attention", (Cell(text, "code", text, "05.1"),), (text,))
    mark = ExerciseMark("05.1", "failed", {"message": text, "diagnosis": text, "stage": "runs"}, 0.0, text)
    with Store(url, BOOK) as store:
        store.keep(sent(text, text, problems=(text,)), of, True, Graded(text, of.chapter, of.digest, (mark,), (text,)))
        assert store.is_graded(text, of)
        (standing,) = store.standings()
        assert standing.graded.marks[0].verdict["message"] == text
        assert store.notebook(of.digest).cells == of.cells


def test_graded_again_only_for_other_bytes_books_seeds_and_students(url):
    with Store(url, BOOK) as store:
        keep(store)
        seed = store.seed
        assert store.is_graded("ann", notebook())
        assert not store.is_graded("ben", notebook())
        assert not store.is_graded("ann", notebook("x = 2"))
    with Store(url, "another book") as store:
        assert not store.is_graded("ann", notebook())
        assert [s.graded for s in store.standings()] == [None]
    with Store(url, BOOK, seed + 1) as store:
        assert not store.is_graded("ann", notebook())
    with Store(url, BOOK, seed) as store:
        assert store.is_graded("ann", notebook())


def test_the_seed_is_drawn_once_and_stays(url, tmp_path):
    with Store(url, BOOK) as store:
        first = store.seed
    with Store(url, BOOK) as store:
        assert store.seed == first
    with Store(stores.sqlite_url(tmp_path / "other"), BOOK) as store:
        assert store.seed != first
    with Store(url, BOOK, 7) as store:
        assert store.seed == 7
    with Store(url, BOOK) as store:
        assert store.seed == 7


def test_the_latest_counts_and_all_are_kept(url):
    with Store(url, BOOK) as store:
        keep(store, of=notebook("x = 1"), path="old.ipynb")
        keep(store, of=notebook("x = 2"), path="new.ipynb")
        store.keep(sent("ann", "older.ipynb"), notebook("x = 0"), False)
        assert [s.submission.path for s in store.standings()] == ["new.ipynb"]
        assert {s.path: counts for s, _, counts in store.everything()} == {
            "old.ipynb": False, "new.ipynb": True, "older.ipynb": False,
        }  # fmt: skip


def test_keeping_the_same_again_changes_nothing(url):
    with Store(url, BOOK) as store:
        for _ in range(2):
            keep(store)
        assert len(list(store.everything())) == 1
        assert len(list(store.counted(stores.marks.c.exercise))) == 2


def test_problems_are_those_of_this_run(url):
    with Store(url, BOOK) as store:
        store.keep(sent("ann", problems=("It is broken.",)), None, False)
        assert list(store.problems()) == [("ann", "It is broken.")]
    with Store(url, BOOK) as store:
        keep(store)
        assert list(store.problems()) == []


def test_fingerprints_are_counted_where_they_count(url):
    with Store(url, BOOK) as store:
        keep(store, "ann", of=notebook("x = 1"), path="1")
        keep(store, "ann", of=notebook("x = 2"), path="2")
        keep(store, "ben", of=notebook("x = 2"))
        rows = [
            (r.student, r.exercise, r.fingerprint) for r in store.counted(*stores.marks.c["exercise", "fingerprint"])
        ]
    assert rows == [
        ("ann", "05.10", None), ("ann", "05.2", "abcd"), ("ben", "05.10", None), ("ben", "05.2", "abcd"),
    ]  # fmt: skip


def test_students_come_in_pieces_while_others_are_written(url):
    with Store(url, BOOK) as store:
        for i in range(450):
            keep(store, f"s{i:03}")
        seen = 0
        for _ in store.standings():
            seen += 1
            if seen == 200:
                keep(store, "zz")
        assert seen >= 450


def die_in_the_middle(url, statement):
    """Keep one submission, and be killed in the transaction of the next one."""
    store = Store(url, BOOK)
    keep(store, "ann")

    @sql.event.listens_for(store._engine, "after_cursor_execute")
    def _(connection, cursor, text, *_):
        if text.startswith(statement):
            os.kill(os.getpid(), signal.SIGKILL)

    keep(store, "ben")


@pytest.mark.parametrize("statement", ["INSERT INTO book_submissions", "INSERT INTO book_graded", "INSERT INTO book_m"])
def test_a_kill_in_the_middle_loses_the_one_in_hand(statement, url):
    process = multiprocessing.get_context("spawn").Process(target=die_in_the_middle, args=(url, statement))
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    with Store(url, BOOK) as store:
        assert [s.submission.student for s in store.standings()] == ["ann"]
        assert store.is_graded("ann", notebook()) and not store.is_graded("ben", notebook())
        assert len(list(store.everything())) == 1
        keep(store, "ben")
        assert store.is_graded("ben", notebook())


def test_two_graders_cannot_write_at_once(url, one_sentence, monkeypatch):
    monkeypatch.setattr("utils.classroom.database.LOCK_PATIENCE", 50)
    with Store(url, BOOK):
        with pytest.raises(ClassProblem, match="Another grader is writing to") as problem:
            Store(url, BOOK)
        one_sentence(problem.value)
    with Store(url, BOOK) as store:
        keep(store)


def test_a_database_of_another_version_is_refused(url):
    with Store(url, BOOK) as store, store._engine.begin() as connection:
        connection.execute(sql.update(stores.settings).where(stores.settings.c.name == "version").values(value="99"))
    with pytest.raises(ClassProblem, match="made by another version of the book"):
        Store(url, BOOK)


@pytest.mark.parametrize(
    "bad, sentence",
    [
        ("not a url", "is not the URL of a database"),
        ("nosuch://x/y", "is not the URL of a database"),
        ("sqlite:////proc/none/marks.sqlite", "cannot be used"),
        ("postgresql://u:secret@127.0.0.1:1/x", "cannot be used"),
    ],
)
def test_a_database_that_cannot_be_opened_is_one_sentence(bad, sentence, one_sentence):
    with pytest.raises(ClassProblem, match=sentence) as problem:
        Store(bad, BOOK)
    assert "secret" not in one_sentence(problem.value)


def test_a_file_that_is_no_database(tmp_path, one_sentence):
    (tmp_path / "grades.sqlite").write_bytes(b"hello, world" * 100)
    with pytest.raises(ClassProblem, match="cannot be used .file is not a database.") as problem:
        Store(stores.sqlite_url(tmp_path), BOOK)
    one_sentence(problem.value)


def test_sqlite_is_durable(tmp_path):
    with Store(stores.sqlite_url(tmp_path), BOOK) as store, store._engine.connect() as connection:
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2, "a power cut loses no commit"
    assert sqlite3.connect(tmp_path / "grades.sqlite").execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_no_password_is_in_what_is_kept(url):
    with Store(url, BOOK) as store:
        keep(store)
        with store._engine.connect() as connection:
            assert set(dict(connection.execute(sql.select(stores.settings)).all())) == {
                "version",
                "seed",
                "run",
            }
            assert json.loads(connection.execute(sql.select(stores.graded.c.notes)).scalar()) == ["A note."]
