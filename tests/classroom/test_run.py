"""Many notebooks at once: what dies takes nothing with it, what is done is not done twice, and what stops goes on."""

import contextlib
import functools
import json
import os
import signal
import subprocess
import sys

import pytest

from utils.classroom.intake import Intake
from utils.classroom.problems import ClassProblem
from utils.classroom.run import Setup, grade_class, workers
from utils.classroom.store import Store, sqlite_url
from utils.paths import book_root

FAKE = "tests.classroom.fake_grader:Grader"
BOOK = "0123456789ab"


@pytest.fixture
def flag(tmp_path, monkeypatch):
    monkeypatch.setenv("FAKE_GRADER_FLAG", str(tmp_path / "flag"))
    return tmp_path / "flag"


@pytest.fixture(scope="module")
def shared():
    """Two workers for all tests that leave them alive."""
    with workers(None, 2) as client:
        yield lambda: contextlib.nullcontext(client)


@pytest.fixture
def run(hand_in, tmp_path, flag, shared):
    """`run()` grades what was handed in, and gives (summary, student → exercise 05.1's status, notebooks told)."""

    def go(folder=None, **options):
        told = []
        with Intake(folder or hand_in.folder) as intake, Store(sqlite_url(tmp_path), BOOK, 1) as store:
            cluster = options.get("cluster", shared)
            summary = grade_class(iter(intake), store, cluster, Setup(store.seed, False, FAKE), told.append)
            statuses = {
                s.submission.student: s.graded and next(m.status for m in s.graded.marks if m.exercise == "05.1")
                for s in store.standings()
            }
        return summary, statuses, told

    return go


@pytest.fixture
def student(hand_in, make_notebook):
    """`student(name, what)` hands in a notebook whose 05.1 does that."""

    def put(name, what="passed"):
        hand_in(f"{name}/05_attention.ipynb", make_notebook({"05.1": f"return 1  # fake: {what}"}))

    return put


processes = functools.partial(workers, None, 2)


def no_workers():
    raise AssertionError("workers were started, and there was nothing to grade")


def test_a_class_is_graded_and_not_again(run, student):
    for i in range(9):
        student(f"s{i}", ("passed", "failed no_scale", "timeout")[i % 3])
    summary, statuses, told = run()
    assert (summary.graded, summary.kept, summary.crashed, summary.failed) == (9, 0, 0, [])
    assert statuses == {f"s{i}": ("passed", "failed", "timeout")[i % 3] for i in range(9)}
    assert told == [True] * 9
    summary, again, told = run(cluster=no_workers)
    assert (summary.graded, summary.kept, again, told) == (0, 9, statuses, [False] * 9)


def test_a_new_submission_alone_is_graded(run, student):
    student("ann")
    student("ben")
    run()
    student("ben", "failed")
    student("eve")
    summary, statuses, _ = run()
    assert (summary.graded, summary.kept) == (2, 1)
    assert statuses == {"ann": "passed", "ben": "failed", "eve": "passed"}


@pytest.mark.slow
def test_a_notebook_that_kills_its_worker_is_marked_and_the_others_are_right(run, student):
    student("eve", "kills")
    student("mal", "kills")
    for i in range(8):
        student(f"s{i}")
    summary, statuses, told = run(cluster=processes)
    assert statuses == {"eve": "crashed", "mal": "crashed"} | {f"s{i}": "passed" for i in range(8)}
    assert (summary.graded, summary.crashed, len(told)) == (10, 2, 10)


@pytest.mark.slow
def test_a_worker_that_dies_once_costs_nothing(run, student, flag):
    student("eve", "killsonce")
    for i in range(4):
        student(f"s{i}")
    summary, statuses, _ = run(cluster=processes)
    assert flag.exists(), "a worker has died"
    assert set(statuses.values()) == {"passed"} and summary.crashed == 0


def test_a_fault_of_the_books_is_told_and_tried_again_next_time(run, student):
    student("eve", "breaks")
    student("ann")
    summary, statuses, _ = run()
    assert summary.failed == ["eve, chapter 05_attention: RuntimeError: a fault of the book's"]
    assert statuses == {"ann": "passed", "eve": None}
    student("eve", "passed")
    assert run()[1] == {"ann": "passed", "eve": "passed"}


def test_what_cannot_be_read_is_kept_without_marks(run, student, hand_in):
    hand_in("eve/05_attention.ipynb", b"{")
    student("ann")
    summary, statuses, told = run()
    assert statuses == {"ann": "passed"} and summary.graded == 1


@pytest.mark.parametrize("data, why", [(b"{", "breaks off in the middle"), (b"", "is empty")])
@pytest.mark.parametrize("path", ["leeann_1_2_05_attention.ipynb", "ann/05_attention.ipynb", "05_attention_ann.ipynb"])
def test_why_a_file_cannot_be_read_is_kept_wherever_it_lies(path, data, why, hand_in, tmp_path):
    hand_in(path, data)
    with Intake(hand_in.folder) as intake, Store(sqlite_url(tmp_path), BOOK, 1) as store:
        (student,) = intake.students
        for _ in range(2):
            grade_class(iter(intake), store, no_workers, Setup(1))
            said = [sentence for _, sentence in store.problems()]
            assert len(said) == 2 and said[0].startswith(f"{path} {why}")
            assert said[1] == f"{student} handed in no notebook that can be graded."


def test_only_what_was_graded_before_is_kept_from_before(run, hand_in, make_notebook):
    for n, line in (("", "return 1"), ("-1", "return 2"), ("-2", "return 2")):
        hand_in(f"leeann_1_2_05_attention{n}.ipynb", make_notebook({"05.1": line}))
    summary, _, told = run()
    assert (summary.graded, summary.kept, len(told)) == (1, 0, 3)
    summary, _, told = run()
    assert (summary.graded, summary.kept, len(told)) == (0, 1, 3)


GRADE = """
import os
import sys
os.environ["FAKE_GRADER_COMMAND"] = str(os.getpid())
import utils.classroom.run as run
from utils.classroom import known
known.book_version = lambda: "0123456789ab"
run.GRADER = "tests.classroom.fake_grader:Grader"
if __name__ == "__main__":
    from utils.cli import main
    main()
"""


@pytest.fixture
def command(tmp_path, hand_in):
    """`command(*words)` runs `book grade` with the fake grader in a process of its own."""
    script = tmp_path / "grade.py"
    script.write_text(GRADE)

    def call(*words):
        where = {**os.environ, "PYTHONPATH": str(book_root())}
        words = ["grade", str(hand_in.folder), "--out", str(tmp_path / "out"), "--no-sandbox", *words]
        return subprocess.run([sys.executable, str(script), *words], capture_output=True, text=True, env=where)

    return call


@pytest.mark.slow
def test_a_grader_that_is_killed_goes_on_where_it_was(command, student, tmp_path, flag):
    for i in range(20):
        student(f"s{i:02}", "killsgrader" if i == 12 else "passed")
    killed = command("--workers", "2", "--seed", "1")
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    with Store(sqlite_url(tmp_path / "out"), BOOK, 1) as store:
        before = {s.submission.student for s in store.standings() if s.graded}
    assert 5 <= len(before) < 20, "some were kept, and not all"
    done = command("--workers", "2", "--seed", "1", "--json")
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout)
    assert (figures["graded"], figures["kept"]) == (20 - len(before), len(before))
    with Store(sqlite_url(tmp_path / "out"), BOOK, 1) as store:
        assert [s.graded.marks[0].status for s in store.standings()] == ["passed"] * 20


@pytest.mark.slow
def test_a_scheduler_elsewhere(run, student):
    from distributed import LocalCluster

    for i in range(4):
        student(f"s{i}")
    with LocalCluster(n_workers=1, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0") as cluster:
        _, statuses, _ = run(cluster=functools.partial(workers, cluster.scheduler_address))
    assert set(statuses.values()) == {"passed"} and len(statuses) == 4


@pytest.mark.parametrize(
    "address, sentence",
    [
        ("tcp://127.0.0.1:9", "No Dask scheduler answers at"),
        ("nonsense", "'nonsense' is not the address of a scheduler"),
        ("tcp://127.0.0.1:99999999", "is not the address of a scheduler"),
        ("file:///etc/passwd", "is not the address of a scheduler"),
    ],
)
def test_no_scheduler_is_one_sentence(address, sentence, one_sentence, monkeypatch):
    monkeypatch.setattr("utils.classroom.run.WAIT_FOR_SCHEDULER", 0.2)
    with pytest.raises(ClassProblem, match=sentence) as problem:
        with workers(address):
            pass
    one_sentence(problem.value)


def test_nothing_listens_but_on_this_machine(shared):
    import psutil

    with shared() as client:
        processes = [psutil.Process(), *psutil.Process().children(recursive=True)]
        listening = [c for p in processes for c in p.net_connections("inet") if c.status == psutil.CONN_LISTEN]
        assert len(listening) >= 1 + len(client.nthreads())
    assert {c.laddr.ip for c in listening} == {"127.0.0.1"}


def test_a_scheduler_without_workers_is_one_sentence(one_sentence, monkeypatch):
    from distributed import LocalCluster

    monkeypatch.setattr("utils.classroom.run.WAIT_FOR_WORKERS", 0.2)
    with LocalCluster(n_workers=0, host="127.0.0.1", dashboard_address="127.0.0.1:0") as cluster:
        with pytest.raises(ClassProblem, match="has no workers: start some") as problem:
            with workers(cluster.scheduler_address):
                pass
    one_sentence(problem.value)
