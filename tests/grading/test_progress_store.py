"""Progress is never lost: not to other kernels, not to a kill in the middle of a write, not to a broken file."""

import json
import multiprocessing
import os
import signal
import sqlite3
import stat
import subprocess
import sys

import pytest

from utils.exercises import exercise
from utils.grading import store
from utils.grading.checking import not_written
from utils.grading.notebook import hint, progress
from utils.grading.verdict import Verdict

RIGHT = Verdict("05.2", "attention scores", True, "passed", "right")
WRONG = Verdict("05.2", "attention scores", False, "reference", "wrong", diagnosis="no_scale")
fork = multiprocessing.get_context("fork")


@pytest.fixture(autouse=True)
def new_kernel(own_folders):
    """A data folder of this test's own, and nothing that an earlier kernel said."""
    store._told.clear()
    store._notices.clear()
    store._taken_here.clear()
    yield
    for path in list(store._open):
        store._forget(type(store.store_path())(path))


def test_an_attempt_is_kept_with_all_that_is_known_of_it():
    assert store.record(WRONG) is None and store.record(RIGHT) is None
    first, second = store.attempts()
    assert (first.exercise, first.passed, first.stage, first.diagnosis) == ("05.2", False, "reference", "no_scale")
    assert (second.passed, second.stage, second.diagnosis) == (True, "passed", None)
    assert first.at.endswith("+00:00") and first.at <= second.at


def test_nothing_is_written_by_looking():
    assert store.attempts() == [] and store.hints_taken() == {}
    assert not store.store_path().exists()


def _write(n: int, started, go) -> None:
    started.release()
    go.wait()
    for _ in range(n):
        assert store.record(WRONG) is None
        store.take_hint("05.3")


def test_two_kernels_that_write_at_once_lose_nothing():
    started, go = fork.Semaphore(0), fork.Event()
    writers = [fork.Process(target=_write, args=(100, started, go)) for _ in range(2)]
    for writer in writers:
        writer.start()
    for _ in writers:
        started.acquire()
    go.set()
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] == [0, 0]
    assert len(store.attempts()) == 200 and store.hints_taken() == {"05.3": 200}


def test_a_kernel_that_was_open_before_a_fork_goes_on():
    store.record(WRONG)
    started, go = fork.Semaphore(0), fork.Event()
    go.set()
    child = fork.Process(target=_write, args=(3, started, go))
    child.start()
    child.join()
    store.record(RIGHT)
    assert child.exitcode == 0 and len(store.attempts()) == 5


KILLED = """
import sys, os
from utils.grading import store
from utils.grading.verdict import Verdict
wrong = Verdict("05.2", "t", False, "reference", "m")
store.record(wrong)
with store._writing() as connection:
    for _ in range(20_000):  # more than fits into memory: some of it is on the disk before the end
        connection.execute("INSERT INTO attempts (exercise, at, passed, stage) VALUES ('05.9', 'now', 0, 'never')")
    print("in the middle", flush=True)
    sys.stdin.read()
"""


def test_a_kill_in_the_middle_of_a_write_loses_only_that_write():
    writer = subprocess.Popen([sys.executable, "-c", KILLED], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert writer.stdout.readline() == "in the middle\n"
    writer.send_signal(signal.SIGKILL)
    writer.communicate()
    assert store.record(RIGHT) is None
    assert [(a.exercise, a.passed) for a in store.attempts()] == [("05.2", False), ("05.2", True)]


def _damage_header(path):
    path.write_bytes(b"not a database at all " * 300)


def _damage_page(path):
    with open(path, "r+b") as file:
        file.seek(100)
        file.write(b"\xff" * 3000)


def _cut(path):
    os.truncate(path, 5000)


def _of_another_program(path):
    path.unlink()
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE attempts (something TEXT)")
    other.close()


@pytest.mark.parametrize("damage", [_damage_header, _damage_page, _cut, _of_another_program], ids=lambda f: f.__name__)
def test_a_broken_file_is_kept_aside_and_said_once(damage, one_sentence):
    for _ in range(3):
        store.record(WRONG)
    path = store.store_path()
    store._forget(path)
    damage(path)
    broken = path.read_bytes()
    said = store.record(RIGHT)
    assert "progress.broken-1.sqlite3" in one_sentence(said)
    assert path.with_name("progress.broken-1.sqlite3").read_bytes() == broken
    assert store.record(RIGHT) is None, "said twice"
    assert [a.passed for a in store.attempts()] == [True, True]


def test_a_file_that_breaks_while_it_is_open_does_not_stop_grading(one_sentence):
    store.record(WRONG)
    _damage_header(store.store_path())
    said = [store.record(WRONG) for _ in range(3)]
    assert len([one_sentence(sentence) for sentence in said if sentence]) <= 1
    assert store.attempts()


def test_a_second_broken_file_does_not_replace_the_first():
    for n in (1, 2):
        store.record(WRONG)
        store._forget(store.store_path())
        _damage_header(store.store_path())
        store.record(WRONG)
        assert store.store_path().with_name(f"progress.broken-{n}.sqlite3").exists()
        store._forget(store.store_path())


def test_a_folder_that_cannot_be_written_never_stops_grading(own_folders, monkeypatch, one_sentence):
    (own_folders / "file").write_text("not a folder")
    monkeypatch.setenv("BOOK_DATA", str(own_folders / "file" / "data"))
    said = one_sentence(store.record(WRONG))
    assert "BOOK_DATA" in said
    assert store.record(WRONG) is None, "said twice"
    assert [hint("05.2").number, hint("05.2").number] == [1, 2], "rungs go on in this kernel"
    assert progress().standings


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_folder_never_stops_grading(one_sentence):
    folder = store.store_path().parent
    folder.mkdir(parents=True)
    folder.chmod(stat.S_IREAD | stat.S_IEXEC)
    try:
        assert "BOOK_DATA" in one_sentence(store.record(WRONG))
    finally:
        folder.chmod(stat.S_IRWXU)


def test_a_file_of_a_newer_book_is_left_alone(one_sentence):
    store.record(WRONG)
    store._forget(store.store_path())
    with sqlite3.connect(store.store_path()) as newer:
        newer.execute("PRAGMA user_version = 99")
    newer.close()
    assert "newer" in one_sentence(store.record(WRONG))
    with sqlite3.connect(store.store_path()) as newer:
        assert newer.execute("SELECT count(*) FROM attempts").fetchone() == (1,)
    newer.close()


def test_a_kernel_that_never_lets_go_is_said_and_does_not_stop_grading(monkeypatch, one_sentence):
    monkeypatch.setattr(store, "WAIT", 0.0)
    store.record(WRONG)
    other = sqlite3.connect(store.store_path(), isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    store._forget(store.store_path())
    assert "kernels" in one_sentence(store.record(WRONG))
    other.execute("ROLLBACK")
    other.close()
    assert store.record(WRONG) is None and len(store.attempts()) == 2


def test_a_deleted_file_is_begun_again():
    store.record(WRONG)
    store.store_path().unlink()
    store.record(RIGHT)
    assert [a.passed for a in store.attempts()] == [True]


def test_progress_of_an_exercise_once_passed_stays_passed():
    store.record(RIGHT)
    store.record(WRONG)
    found = {s.id: s for s in progress().standings}
    assert (found["05.2"].state, found["05.2"].attempts) == ("passed", 2)
    assert found["05.1"].state == "untouched"


def test_a_stub_that_was_run_is_no_attempt():
    store.record(not_written(exercise("05.1")))
    store.record(not_written(exercise("05.2")))
    store.record(WRONG)
    found = {s.id: s for s in progress().standings}
    assert (found["05.1"].state, found["05.1"].attempts) == ("untouched", 0)
    assert (found["05.2"].state, found["05.2"].attempts) == ("tried", 1)


def test_the_command_exports_every_attempt_as_one_json_object(capsys):
    from utils.grading.commands import progress as command

    store.record(WRONG)
    store.record(RIGHT)
    hint("05.2")
    command(as_json=True)
    out = json.loads(capsys.readouterr().out)
    assert (out["passed"], out["tried"]) == (1, 0) and out["total"] == len(out["exercises"])
    assert [a["diagnosis"] for a in out["attempts"]] == ["no_scale", None]
    mine = next(e for e in out["exercises"] if e["id"] == "05.2")
    assert (mine["attempts"], mine["hints"], mine["state"]) == (2, 1, "passed")


def test_sqlite_alone_is_enough():
    code = (
        "import sys, utils.grading.store; assert not {'sqlalchemy', 'torch'} & set(sys.modules), 'too much is loaded'"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
