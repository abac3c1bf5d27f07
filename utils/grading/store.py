"""What a learner has tried and which hints they have seen, in one SQLite file in their data folder.

Each attempt is one transaction, and a kernel that waits for another one's gives up after seconds, so any number of
kernels may grade at once and a kill in the middle of a write loses nothing but that write. Nothing that happens to
the file ever stops grading: it is said once, in a sentence, and a file that cannot be read is kept aside, never
deleted. The standard library's sqlite3 is enough here and loads in milliseconds; SQLAlchemy would not.
"""

import contextlib
import os
import sqlite3
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from utils.errors import BookError
from utils.grading.verdict import Verdict
from utils.paths import data_dir

FILE = "progress.sqlite3"
APPLICATION_ID = 0x47505432  # "GPT2": tells our file from any other of this name
WAIT = 3.0  # seconds for another kernel's transaction
# One script a version of the file; a file of version n still needs those from n on.
MIGRATIONS = (
    """
    CREATE TABLE attempts (
        id INTEGER PRIMARY KEY,
        exercise TEXT NOT NULL,
        at TEXT NOT NULL,  -- UTC, ISO 8601
        passed INTEGER NOT NULL CHECK (passed IN (0, 1)),
        stage TEXT NOT NULL,
        diagnosis TEXT
    );
    CREATE INDEX attempts_of_an_exercise ON attempts (exercise);
    CREATE TABLE hints (exercise TEXT PRIMARY KEY, taken INTEGER NOT NULL);
    """,
)


class StoreProblem(BookError):
    """The progress file cannot be read or written; the message says what to do."""


@dataclass(frozen=True)
class Attempt:
    """One graded answer. `at` is UTC, "2031-01-31T12:34:56+00:00"."""

    exercise: str
    at: str
    passed: bool
    stage: str
    diagnosis: str | None


class _Broken(Exception):
    """Not a file of ours, or a damaged one."""


_open: dict[str, tuple[sqlite3.Connection, tuple]] = {}
_lock = threading.RLock()
_notices: list[str] = []
_told: set[str] = set()
_taken_here: dict[str, int] = {}


def record(verdict: Verdict) -> str | None:
    """Keep one attempt. Gives a sentence where something is wrong with the file, once; never raises."""
    at = datetime.now(UTC).isoformat(timespec="seconds")
    row = (verdict.exercise, at, int(verdict.passed), verdict.stage, verdict.diagnosis)
    try:
        with _writing() as connection:
            connection.execute(
                "INSERT INTO attempts (exercise, at, passed, stage, diagnosis) VALUES (?, ?, ?, ?, ?)", row
            )
    except StoreProblem as problem:
        _notices.append(str(problem))
    return notice()


def take_hint(exercise: str) -> int:
    """How many hints of this exercise have now been asked for; counted in this kernel alone where the file fails."""
    _taken_here[exercise] = _taken_here.get(exercise, 0) + 1
    try:
        with _writing() as connection:
            found = connection.execute("SELECT taken FROM hints WHERE exercise = ?", (exercise,)).fetchone()
            taken = found[0] + 1 if found else 1
            connection.execute("INSERT OR REPLACE INTO hints (exercise, taken) VALUES (?, ?)", (exercise, taken))
            return taken
    except StoreProblem as problem:
        _notices.append(str(problem))
        return _taken_here[exercise]


def attempts() -> list[Attempt]:
    """Every attempt, the oldest first.

    Raises:
        StoreProblem: the file is there and cannot be read.
    """
    rows = _read("SELECT exercise, at, passed, stage, diagnosis FROM attempts ORDER BY id")
    return [Attempt(exercise, at, bool(passed), stage, diagnosis) for exercise, at, passed, stage, diagnosis in rows]


def hints_taken() -> dict[str, int]:
    """How many hints have been asked for, by exercise.

    Raises:
        StoreProblem: the file is there and cannot be read.
    """
    return dict(_read("SELECT exercise, taken FROM hints ORDER BY exercise"))


def store_path() -> Path:
    """The progress file, whether it is there or not."""
    return data_dir() / FILE


def notice() -> str | None:
    """What a person should know about the file, each sentence once."""
    new = [sentence for sentence in dict.fromkeys(_notices) if sentence not in _told]
    _notices.clear()
    _told.update(new)
    return " ".join(new) or None


def _read(query: str) -> list[tuple]:
    if not store_path().exists():
        return []
    with _guarded() as connection:
        return connection.execute(query).fetchall()


@contextlib.contextmanager
def _writing() -> Iterator[sqlite3.Connection]:
    """One transaction, begun as a writer so that it never has to give way half-way."""
    with _guarded() as connection:
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield connection
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise


@contextlib.contextmanager
def _guarded() -> Iterator[sqlite3.Connection]:
    """The open file; every failure of SQLite's becomes a StoreProblem, and a damaged file is put aside."""
    path = store_path()
    with _lock:
        try:
            yield _connection(path)
        except (sqlite3.Error, OSError) as error:
            _forget(path)
            if _is_damage(error):
                _put_aside(path)
            raise StoreProblem(_sentence(path, error)) from error


def _connection(path: Path) -> sqlite3.Connection:
    """The connection of this process to this file, opened anew where the file is another than before."""
    kept = _open.get(str(path))
    if kept and kept[1] == _identity(path):
        return kept[0]
    _forget(path)
    try:
        connection = _opened(path)
    except (_Broken, sqlite3.DatabaseError) as error:
        if not isinstance(error, _Broken) and not _is_damage(error):
            raise
        _put_aside(path)
        connection = _opened(path)
    _open[str(path)] = connection, _identity(path)
    return connection


def _identity(path: Path) -> tuple:
    """Of the process and the file: a forked process or a file put in another's place needs a new connection."""
    try:
        found = os.stat(path)
    except OSError:
        return (os.getpid(),)
    return os.getpid(), found.st_dev, found.st_ino


def _opened(path: Path) -> sqlite3.Connection:
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(path, timeout=WAIT, isolation_level=None, check_same_thread=False)
    try:
        if connection.execute("PRAGMA quick_check(1)").fetchone()[0] != "ok":
            raise _Broken
        _migrate(connection, path)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")  # a killed process loses nothing; a power cut the last writes
        return connection
    except BaseException:
        connection.close()
        raise


def _migrate(connection: sqlite3.Connection, path: Path) -> None:
    connection.execute("BEGIN IMMEDIATE")
    try:
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        empty = not connection.execute("SELECT 1 FROM sqlite_master").fetchone()
        if not empty and connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
            raise _Broken
        if version > len(MIGRATIONS):
            raise StoreProblem(
                f"{path} was written by a newer version of the book, so progress is not kept: update this one."
            )
        for script in MIGRATIONS[version:]:
            for statement in filter(str.strip, script.split(";")):
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


def _forget(path: Path) -> None:
    kept = _open.pop(str(path), None)
    if kept and kept[1][0] == os.getpid():  # a forked process leaves its parent's connection alone
        with contextlib.suppress(sqlite3.Error):  # it failed already; that is why it is closed
            kept[0].close()


def _is_damage(error: Exception) -> bool:
    return getattr(error, "sqlite_errorcode", None) in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def _put_aside(path: Path) -> None:
    """Rename the file and what SQLite keeps beside it."""
    aside = next(p for n in range(1, 10_000) if not (p := path.with_name(f"progress.broken-{n}.sqlite3")).exists())
    for ending in ("", "-wal", "-shm"):
        with contextlib.suppress(FileNotFoundError):  # another kernel was faster, or there is no such file
            os.rename(f"{path}{ending}", f"{aside}{ending}")
    _notices.append(f"Your progress file could not be read: it is kept as {aside}, and a new one was begun.")


def _sentence(path: Path, error: Any) -> str:
    reason = getattr(error, "strerror", None) or str(error)
    if "locked" in reason:
        return f"Another program is writing to {path} without end, so this attempt is not kept: close other kernels."
    return (
        f"Your progress is not kept, because {path} cannot be written ({reason}): "
        "set BOOK_DATA to a folder that you may write to."
    )
