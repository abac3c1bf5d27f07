"""Has a class graded: notebooks go out to workers, marks come back, and only this process writes them down.

Workers are Dask's: processes of this machine, or any cluster by its scheduler's address. Each holds one grader with its
sandbox, ready before the first notebook. Only so many notebooks are under way as keep the workers busy, so memory does
not grow with the class. A notebook whose worker died is tried again at the end, beside none that it could take with it.
"""

import contextlib
import importlib
import json
import logging
import multiprocessing
import os
import re
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from utils.classroom.intake import Received
from utils.classroom.known import chapters
from utils.classroom.lending import Lending
from utils.classroom.marks import ExerciseMark, Graded, Notebook
from utils.classroom.problems import ClassProblem
from utils.classroom.sandbox import LENDER, Limits, Sandbox
from utils.classroom.similar import fingerprint
from utils.classroom.store import Store

TRIES = 3
GRADER = "utils.classroom.session:Grader"
WAIT_FOR_SCHEDULER, WAIT_FOR_WORKERS = 10.0, 60.0  # seconds
_ADDRESS = re.compile(r"((tcp|tls|ws|wss|ucx)://)?(\[[0-9a-fA-F:.]+\]|[\w.-]+):(\d{1,5})/?")


@dataclass(frozen=True)
class Setup:
    """What a worker needs to make its grader: `grader` is "module:class", called with the seed and the sandbox."""

    seed: int
    sandbox: bool = True
    grader: str = GRADER


@dataclass
class Summary:
    """What a run did.

    `kept` is what counts and had its marks before. `failed` says what could not be graded for a fault of the book's;
    it is tried again next time.
    """

    graded: int = 0
    kept: int = 0
    crashed: int = 0
    failed: list[str] = field(default_factory=list)


def grade_class(
    received: Iterator[Received],
    store: Store,
    cluster: Callable[[], contextlib.AbstractContextManager],
    setup: Setup,
    done: Callable[[bool], None] = lambda graded: None,
) -> Summary:
    """Grade what counts and has no marks yet; keep everything else as it came.

    Args:
        cluster: gives a context with a `distributed.Client`, as `workers` does; opened only if there is work.
        done: called once for each notebook, with whether it was graded now.

    Raises:
        ClassProblem: the workers are lost; what is done is kept.
    """
    summary = Summary()
    again: deque[tuple[Received, int]] = deque()

    def to_grade() -> Iterator[tuple[Received, int]]:
        for piece in received:
            if not piece.counts or store.is_graded(piece.submission.student, piece.notebook):
                store.keep(piece.submission, piece.notebook, piece.counts)
                summary.kept += piece.counts
                if piece.notebook is not None:
                    done(False)
            else:
                yield piece, 1

    def second_chances() -> Iterator[tuple[Received, int]]:
        for _ in range(len(again)):
            yield again.popleft()

    new = to_grade()
    first = next(new, None)
    if first is None:
        return summary
    with cluster() as client:
        tasks = _Tasks(client, setup)
        rounds = [(chain([first], new), 2 * tasks.width), *((second_chances(), 1) for _ in range(TRIES - 1))]
        for source, most in rounds:
            for piece, tries, outcome in tasks.through(source, most):
                if outcome.died and tries < TRIES:
                    again.append((piece, tries + 1))
                    continue
                _settle(store, piece, outcome, summary)
                done(True)
    return summary


@contextlib.contextmanager
def workers(scheduler: str | None = None, count: int | None = None, sandbox: bool = False) -> Iterator[Any]:
    """A client of the cluster at `scheduler`, or of `count` processes of this machine (all cores where None).

    The processes of this machine are forked from one that holds what graders need, and with `sandbox` share one
    container, so that memory grows little with their number.

    Raises:
        ClassProblem: the scheduler cannot be reached, or has no workers.
    """
    import dask
    from distributed import Client, LocalCluster

    quiet = {"distributed.worker.multiprocessing-method": "forkserver",
             "distributed.admin.log-length": 10, "distributed.admin.low-level-log-length": 10,
             "distributed.scheduler.http.routes": [], "distributed.worker.http.routes": [],
             "distributed.scheduler.allowed-failures": 0,
             "distributed.worker.memory.terminate": False, "distributed.worker.memory.pause": False,
             "distributed.worker.daemon": False}  # fmt: skip
    with dask.config.set(quiet), contextlib.ExitStack() as stack:
        for name in ("distributed", "distributed.nanny", "distributed.scheduler", "distributed.worker"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
        if scheduler is None:
            _preload()
            surroundings = dict(os.environ)
            if sandbox:
                surroundings[LENDER] = stack.enter_context(Lending(Sandbox(Limits()))).address
            cluster = stack.enter_context(
                LocalCluster(
                    n_workers=count or os.cpu_count(), threads_per_worker=1, processes=True, host="127.0.0.1",
                    dashboard_address="127.0.0.1:0", worker_dashboard_address="127.0.0.1:0",
                    memory_limit=0, silence_logs=logging.CRITICAL, env=surroundings,
                )
            )  # fmt: skip
            client = stack.enter_context(Client(cluster))
        else:
            client = stack.enter_context(_connected(scheduler))
        yield client


def _preload() -> None:
    """Have the process that workers are forked from load, before the first of them, what their graders need.

    Dask would do the same with a list of its own, for which it first loads pandas and more into this process.
    """
    import distributed.utils

    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["distributed", "utils.classroom.preloaded"])
    distributed.utils._forkserver_preload_set = True


def _connected(scheduler: str):
    from distributed import Client

    found = _ADDRESS.fullmatch(scheduler)
    if not found or int(found[4]) > 65535:  # Dask would never come back from some of these
        raise ClassProblem(f"{scheduler!r} is not the address of a scheduler: write it like tcp://host:8786.")
    try:
        client = Client(scheduler, timeout=WAIT_FOR_SCHEDULER)
    except (OSError, ValueError, TimeoutError) as why:
        raise ClassProblem(f"No Dask scheduler answers at {scheduler}: check its address, and that it runs.") from why
    try:
        client.wait_for_workers(1, timeout=WAIT_FOR_WORKERS)
    except TimeoutError as why:
        client.close()
        raise ClassProblem(f"The scheduler at {scheduler} has no workers: start some, and run again.") from why
    return client


@dataclass(frozen=True)
class _Outcome:
    """Of one try: marks, or the death of the worker, or an exception that is a fault of the book's."""

    graded: Graded | None = None
    fingerprints: dict[str, str | None] = field(default_factory=dict)
    died: bool = False
    error: str = ""


class _Tasks:
    """Notebooks under way, as Dask's futures."""

    def __init__(self, client: Any, setup: Setup):
        self._client, self._setup = client, setup
        self.width = max(1, sum(client.nthreads().values()))

    def through(self, source: Iterator, most: int) -> Iterator[tuple[Received, int, _Outcome]]:
        """Send what comes from `source`, at most so many at once, and give each outcome as it comes."""
        from distributed import as_completed

        under_way: dict[Any, tuple[Received, int]] = {}
        arriving = as_completed(with_results=False)
        exhausted = False
        while True:
            while not exhausted and len(under_way) < most:
                piece, tries = next(source, (None, 0))
                if piece is None:
                    exhausted = True
                    break
                future = self._send(piece)
                under_way[future] = piece, tries
                arriving.add(future)
            if not under_way:
                if exhausted:
                    return
                continue
            future = next(arriving)
            piece, tries = under_way.pop(future)
            yield piece, tries, _outcome(future)
            future.release()

    def _send(self, piece: Received):
        notebook = json.dumps(piece.notebook.as_json())  # as one text: Dask would look for futures in all its parts
        return self._client.submit(grade_one, notebook, piece.submission.student, self._setup, pure=False)


def _outcome(future: Any) -> _Outcome:
    from distributed import KilledWorker

    if future.status == "cancelled" or future.status == "lost":
        raise ClassProblem("The connection to the workers was lost: run the same command again, and it goes on.")
    if future.status == "error":
        error = future.exception()
        if isinstance(error, KilledWorker):
            return _Outcome(died=True)
        return _Outcome(error=f"{type(error).__name__}: {error}")
    data, fingerprints = future.result()
    return _Outcome(Graded.from_json(data), fingerprints)


def _settle(store: Store, piece: Received, outcome: _Outcome, summary: Summary) -> None:
    """Write down what became of one notebook."""
    student, notebook = piece.submission.student, piece.notebook
    if outcome.error:
        summary.failed.append(f"{student}, chapter {notebook.chapter}: {outcome.error}")
        store.keep(piece.submission, notebook, piece.counts)
        return
    result = outcome.graded
    if outcome.died:
        summary.crashed += 1
        result = _crashed(student, notebook)
    summary.graded += 1
    store.keep(piece.submission, notebook, piece.counts, result, outcome.fingerprints)


def _crashed(student: str, notebook: Notebook) -> Graded:
    """The marks of a notebook that ended its worker each time."""
    sources = {cell.exercise: cell.source for cell in notebook.cells if cell.exercise}
    made = [
        ExerciseMark(e, "crashed" if e in sources else "missing", None, 0.0, sources.get(e, ""))
        for e in sorted(chapters()[notebook.chapter].exercises, key=lambda e: int(e.split(".")[1]))
    ]
    note = f"Grading this notebook ended the worker {TRIES} times: nothing in it could be graded."
    return Graded(student, notebook.chapter, notebook.digest, tuple(made), (*notebook.notes, note))


# What follows runs in a worker.

_graders: dict[Setup, Any] = {}


def grade_one(notebook: str, student: str, setup: Setup) -> tuple[dict, dict[str, str | None]]:
    """Grade one notebook, given as JSON, with this worker's grader, which is made at the first call and stays."""
    received = Notebook.from_json(json.loads(notebook))
    graded = _grader(setup).grade(received, student)
    chapter = chapters()[received.chapter]
    names = {exercise: name for name, exercise in chapter.names.items()}
    prints = {
        mark.exercise: fingerprint(mark.source, names[mark.exercise], chapter.stub(mark.exercise))
        for mark in graded.marks
        if mark.exercise in names
    }
    return graded.as_json(), prints


def _grader(setup: Setup) -> Any:
    if setup not in _graders:
        module, name = setup.grader.split(":")
        stack = contextlib.ExitStack()
        grader = getattr(importlib.import_module(module), name)(seed=setup.seed, sandbox=setup.sandbox)
        _graders[setup] = stack.enter_context(grader)
        _at_the_end(stack.close)
    return _graders[setup]


def _at_the_end(close: Callable[[], None]) -> None:
    """Close the grader when its worker stops, or its process."""
    import atexit

    atexit.register(close)
