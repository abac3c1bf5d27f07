"""What is known of a class, in one database: SQLite in a file, or PostgreSQL by URL.

Each submission is one transaction, so that whatever stops the grader loses at most the one in hand. Only the process
that runs the class writes. A notebook that has been graded with this book and this seed is not graded again; the seed
is drawn once, from the system's own randomness, and stays in the database.
"""

import json
import secrets
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import sqlalchemy as sql

from utils.classroom.database import (
    as_sentence,
    clean_text,
    graded,
    marks,
    notebooks,
    open_engine,
    settings,
    sqlite_url,
    submissions,
    tables,
    take_lock,
    without_password,
)
from utils.classroom.marks import Cell, ExerciseMark, Graded, Notebook, Submission
from utils.classroom.problems import ClassProblem

__all__ = ["Standing", "Store", "graded", "marks", "notebooks", "settings", "sqlite_url", "submissions"]

VERSION = 1
PIECE = 50  # submissions whose marks are read at once
LARGEST_SEED = 2**40  # what inputs are drawn from multiplies it by a million, and has 63 bits


@dataclass(frozen=True)
class Standing:
    """One student's chapter as it counts: what was handed in, and its marks if it has been graded."""

    submission: Submission
    chapter: str
    graded: Graded | None


class Store:
    """The database at `url`. Use it as a context; `book` is the version of the book that marks belong to.

    Raises:
        ClassProblem: it cannot be opened, belongs to another program or version, or another grader is writing to it.
    """

    def __init__(self, url: str, book: str, seed: int | None = None):
        self.url, self.book = url, book
        with as_sentence(url):
            self._engine = open_engine(url)
            try:
                self._lock = take_lock(self._engine)
            except BaseException:
                self._engine.dispose()
                raise
            try:
                tables.create_all(self._engine)
                self.seed = self._settle(seed)
            except BaseException:
                self.close()
                raise

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the database and of the right to write to it."""
        self._lock.close()
        self._engine.dispose()

    def _settle(self, seed: int | None) -> int:
        """The seed of this database: as asked for, as kept, or newly drawn."""
        with self._engine.begin() as connection:
            kept = dict(connection.execute(sql.select(settings.c.name, settings.c.value)).all())
            if kept.setdefault("version", str(VERSION)) != str(VERSION):
                raise ClassProblem(
                    f"{without_password(self.url)} was made by another version of the book: give another --out."
                )
            chosen = seed if seed is not None else int(kept.get("seed", secrets.randbelow(LARGEST_SEED)))
            self.run = int(kept.get("run", 0)) + 1
            connection.execute(sql.delete(settings))
            values = {"version": str(VERSION), "seed": str(chosen), "run": str(self.run)}
            connection.execute(sql.insert(settings), [{"name": n, "value": v} for n, v in values.items()])
        return chosen

    def is_graded(self, student: str, notebook: Notebook) -> bool:
        """Whether these very bytes of this student have their marks already, by this book and seed."""
        query = sql.select(graded.c.id).where(*self._same(student, notebook.chapter, notebook.digest))
        with as_sentence(self.url), self._engine.connect() as connection:
            return connection.execute(query).first() is not None

    def keep(
        self,
        submission: Submission,
        notebook: Notebook | None,
        counts: bool,
        result: Graded | None = None,
        fingerprints: dict[str, str | None] | None = None,
    ) -> None:
        """Write one submission with all that is known of it, or nothing of it."""
        with as_sentence(self.url), self._engine.begin() as connection:
            _keep_submission(connection, submission, notebook, counts, self.run)
            if result is not None:
                self._keep_marks(connection, result, fingerprints or {})

    def _keep_marks(self, connection: sql.Connection, result: Graded, fingerprints: dict[str, str | None]) -> None:
        connection.execute(sql.delete(marks).where(marks.c.graded.in_(
            sql.select(graded.c.id).where(*self._same(result.student, result.chapter, result.digest)))
        ))  # fmt: skip
        connection.execute(sql.delete(graded).where(*self._same(result.student, result.chapter, result.digest)))
        row = dict(
            student=clean_text(result.student), chapter=result.chapter, digest=result.digest, book=self.book,
            seed=self.seed, seconds=result.seconds, notes=_dumped(result.notes),
        )  # fmt: skip
        number = connection.execute(sql.insert(graded).values(row)).inserted_primary_key[0]
        rows = [
            dict(
                graded=number, exercise=mark.exercise, status=mark.status,
                diagnosis=clean_text(mark.verdict.get("diagnosis")) if mark.verdict else None,
                verdict=_dumped(mark.verdict) if mark.verdict else None,
                seconds=mark.seconds, source=clean_text(mark.source), fingerprint=fingerprints.get(mark.exercise),
            )
            for mark in result.marks
        ]  # fmt: skip
        if rows:
            connection.execute(sql.insert(marks), rows)

    def standings(self) -> Iterator[Standing]:
        """What counts, student by student and chapter by chapter; only some are held at a time."""
        rows = self._rows(submissions.c.counts)
        while piece := list(islice(rows, PIECE)):
            graded_by = self._graded(piece)
            for row in piece:
                yield Standing(_submission(row), row.chapter, graded_by.get((row.student, row.chapter, row.digest)))

    def everything(self) -> Iterator[tuple[Submission, str, bool]]:
        """Every submission that was ever kept, with its chapter and whether it counts."""
        for row in self._rows(sql.true()):
            yield _submission(row), row.chapter, row.counts

    def problems(self) -> Iterator[tuple[str, str]]:
        """(student, sentence) for all that this run could not read or recognize."""
        for row in self._rows(submissions.c.run == self.run):
            for sentence in json.loads(row.problems):
                yield row.student, sentence

    def _rows(self, condition) -> Iterator[Any]:
        """In the order of students, in pieces, so that a large class does not have to fit into memory."""
        order = submissions.c.student, submissions.c.chapter, submissions.c.id
        query = sql.select(submissions).where(condition).order_by(*order)
        with as_sentence(self.url), self._engine.connect() as connection:
            yield from connection.execution_options(yield_per=200).execute(query)

    def _graded(self, rows: list) -> dict[tuple[str, str, str], Graded]:
        """What became of the notebooks of some submissions, by student, chapter and digest, as far as it is known."""
        by = graded.c.book == self.book, graded.c.seed == self.seed
        wanted = {(row.student, row.chapter, row.digest) for row in rows}
        with self._engine.connect() as connection:
            query = sql.select(graded).where(graded.c.student.in_({student for student, _, _ in wanted}), *by)
            found = {
                row.id: row for row in connection.execute(query) if (row.student, row.chapter, row.digest) in wanted
            }
            made: dict[int, list[ExerciseMark]] = {number: [] for number in found}
            for m in connection.execute(sql.select(marks).where(marks.c.graded.in_(found))):
                verdict = json.loads(m.verdict) if m.verdict else None
                made[m.graded].append(ExerciseMark(m.exercise, m.status, verdict, m.seconds, m.source))
        for of_one in made.values():
            of_one.sort(key=lambda mark: [int(part) for part in mark.exercise.split(".")])
        return {
            (row.student, row.chapter, row.digest): Graded(
                row.student, row.chapter, row.digest, tuple(made[number]), tuple(json.loads(row.notes)), row.seconds
            )
            for number, row in found.items()
        }

    def counted(self, *columns) -> Iterator[Any]:
        """Rows of (student, …) over all marks that count; columns are of `marks`, `graded` and `submissions`."""
        joined = submissions.join(
            graded,
            sql.and_(
                *(submissions.c[name] == graded.c[name] for name in ("student", "chapter", "digest")),
                graded.c.book == self.book,
                graded.c.seed == self.seed,
            ),
        ).join(marks, marks.c.graded == graded.c.id)
        query = sql.select(submissions.c.student, *columns).select_from(joined).where(submissions.c.counts)
        with as_sentence(self.url), self._engine.connect() as connection:
            yield from connection.execution_options(yield_per=1000).execute(
                query.order_by(submissions.c.student, marks.c.exercise)
            )

    def notebook(self, digest: str) -> Notebook | None:
        """A notebook as it was handed in, by its digest."""
        with as_sentence(self.url), self._engine.connect() as connection:
            row = connection.execute(sql.select(notebooks).where(notebooks.c.digest == digest)).first()
        if row is None:
            return None
        return Notebook(row.chapter, tuple(Cell(**cell) for cell in json.loads(zlib.decompress(row.cells))))

    def _same(self, student: str, chapter: str, digest: str) -> tuple:
        return (
            graded.c.student == clean_text(student), graded.c.chapter == chapter, graded.c.digest == digest,
            graded.c.book == self.book, graded.c.seed == self.seed,
        )  # fmt: skip


def _keep_submission(
    connection: sql.Connection, submission: Submission, notebook: Notebook | None, counts: bool, run: int
) -> None:
    student, chapter = clean_text(submission.student), notebook.chapter if notebook else ""
    key = dict(
        student=student, path=clean_text(submission.path), chapter=chapter, digest=notebook.digest if notebook else ""
    )
    mine = sql.and_(*(submissions.c[name] == value for name, value in key.items()))
    if counts:
        others = submissions.c.student == student, submissions.c.chapter == chapter
        connection.execute(sql.update(submissions).where(*others).values(counts=False))
    connection.execute(sql.delete(submissions).where(mine))
    values = dict(
        attempt=submission.attempt, received=submission.received, late=submission.late, counts=counts,
        problems=_dumped(submission.problems), run=run,
    )  # fmt: skip
    connection.execute(sql.insert(submissions).values(key | values))
    if (
        notebook
        and not connection.execute(sql.select(notebooks.c.digest).where(notebooks.c.digest == notebook.digest)).first()
    ):
        cells = zlib.compress(_dumped([cell.__dict__ for cell in notebook.cells]).encode(), 1)  # speed before size
        connection.execute(sql.insert(notebooks).values(digest=notebook.digest, chapter=chapter, cells=cells))


def _submission(row) -> Submission:
    held = {row.chapter: row.digest} if row.chapter else {}
    problems = tuple(json.loads(row.problems))
    return Submission(row.student, row.path, row.attempt, row.received, held, problems, row.late)


def _dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=True)
