"""Where marks are kept: the tables, how a database is opened, and the right to be the only one that writes to it.

SQLite in a file or PostgreSQL by URL; whatever the database says against it becomes one sentence, without passwords.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import sqlalchemy as sql
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, SQLAlchemyError

from utils.classroom.problems import ClassProblem

LOCK = 0x47505432  # "GPT2": PostgreSQL's advisory lock
LOCK_PATIENCE = 5000  # milliseconds
LOCK_NOT_AVAILABLE = "55P03"

tables = sql.MetaData()
settings = sql.Table(
    "book_settings",
    tables,
    sql.Column("name", sql.Text, primary_key=True),
    sql.Column("value", sql.Text, nullable=False),
)
submissions = sql.Table(
    "book_submissions",
    tables,
    sql.Column("id", sql.Integer, primary_key=True),
    sql.Column("student", sql.Text, nullable=False, index=True),
    sql.Column("path", sql.Text, nullable=False),
    sql.Column("chapter", sql.Text, nullable=False),  # "" where no notebook could be read
    sql.Column("digest", sql.Text, nullable=False),
    sql.Column("attempt", sql.Integer),
    sql.Column("received", sql.Text),
    sql.Column("late", sql.Boolean, nullable=False),
    sql.Column("counts", sql.Boolean, nullable=False),
    sql.Column("problems", sql.Text, nullable=False),  # JSON
    sql.Column("run", sql.Integer, nullable=False),  # in which it was last seen
    sql.UniqueConstraint("student", "path", "chapter", "digest"),
)
notebooks = sql.Table(
    "book_notebooks",
    tables,
    sql.Column("digest", sql.Text, primary_key=True),
    sql.Column("chapter", sql.Text, nullable=False),
    sql.Column("cells", sql.LargeBinary, nullable=False),  # JSON, through zlib
)
graded = sql.Table(
    "book_graded",
    tables,
    sql.Column("id", sql.Integer, primary_key=True),
    sql.Column("student", sql.Text, nullable=False),
    sql.Column("chapter", sql.Text, nullable=False),
    sql.Column("digest", sql.Text, nullable=False),
    sql.Column("book", sql.Text, nullable=False),
    sql.Column("seed", sql.BigInteger, nullable=False),
    sql.Column("seconds", sql.Float, nullable=False),
    sql.Column("notes", sql.Text, nullable=False),  # JSON
    sql.UniqueConstraint("student", "chapter", "digest", "book", "seed"),
)
marks = sql.Table(
    "book_marks",
    tables,
    sql.Column("graded", sql.ForeignKey(graded.c.id, ondelete="CASCADE"), primary_key=True),
    sql.Column("exercise", sql.Text, primary_key=True),
    sql.Column("status", sql.Text, nullable=False),
    sql.Column("diagnosis", sql.Text),
    sql.Column("verdict", sql.Text),  # JSON
    sql.Column("seconds", sql.Float, nullable=False),
    sql.Column("source", sql.Text, nullable=False),
    sql.Column("fingerprint", sql.Text, index=True),
)


def sqlite_url(folder: Path) -> str:
    """The database of a folder of grades."""
    return f"sqlite:///{(folder / 'grades.sqlite').absolute()}"


def open_engine(url: str) -> sql.Engine:
    """SQLAlchemy's engine for a URL; nothing is connected yet."""
    made = sql.engine.make_url(url)
    if made.drivername in ("postgresql", "postgres"):
        made = made.set(drivername="postgresql+psycopg")
    if not made.drivername.startswith("sqlite"):
        return sql.create_engine(made, pool_pre_ping=True)
    engine = sql.create_engine(made)

    @sql.event.listens_for(engine, "connect")
    def _(connection, _record) -> None:
        connection.isolation_level = None  # transactions are begun below, as writers
        for pragma in ("journal_mode = WAL", "synchronous = FULL", "busy_timeout = 10000", "foreign_keys = ON"):
            connection.execute(f"PRAGMA {pragma}")

    @sql.event.listens_for(engine, "begin")
    def _(connection) -> None:
        connection.exec_driver_sql("BEGIN")

    return engine


class _FileLock:
    """The right to write to a SQLite file: the system lets go of it when the process ends, however it ends."""

    def __init__(self, path: str):
        self._file = open(f"{path}.lock", "ab")
        try:
            import fcntl
        except ImportError:  # Windows: SQLite's own locks are all there is
            return
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as why:
            self._file.close()
            raise ClassProblem(f"Another grader is writing to {path}: wait for it, or stop it.") from why

    def close(self) -> None:
        self._file.close()


class _ServerLock:
    """The right to write to a database of a server. Of a grader that was killed, PostgreSQL hears a moment later."""

    def __init__(self, engine: sql.Engine):
        self._connection = engine.connect()
        self._held = engine.dialect.name == "postgresql"
        try:
            if self._held:
                self._connection.exec_driver_sql(f"SET lock_timeout = '{LOCK_PATIENCE}ms'")
                self._connection.execute(sql.select(sql.func.pg_advisory_lock(LOCK)))
                self._connection.commit()
        except DBAPIError as why:
            self._connection.close()
            if getattr(why.orig, "sqlstate", "") != LOCK_NOT_AVAILABLE:
                raise
            where = without_password(str(engine.url))
            raise ClassProblem(f"Another grader is writing to {where}: wait for it, or stop it.") from why

    def close(self) -> None:
        if self._held and not self._connection.closed:
            with suppress(DBAPIError):  # the server is gone, and the lock with it
                self._connection.execute(sql.select(sql.func.pg_advisory_unlock(LOCK)))
                self._connection.commit()
        self._connection.close()


def take_lock(engine: sql.Engine):
    """The right to be the only writer, until its `close`.

    Raises:
        ClassProblem: another grader has it.
    """
    if engine.dialect.name == "sqlite":
        path = Path(engine.url.database or ":memory:")
        path.parent.mkdir(parents=True, exist_ok=True)
        return _FileLock(str(path))
    return _ServerLock(engine)


@contextmanager
def as_sentence(url: str) -> Iterator[None]:
    """Whatever the database says against it, as one sentence."""
    try:
        yield
    except (ArgumentError, NoSuchModuleError) as why:
        raise ClassProblem(
            f"{without_password(url)} is not the URL of a database: write it like postgresql://user@host/marks."
        ) from why
    except ModuleNotFoundError as why:
        raise ClassProblem(
            f"The driver for {without_password(url)} is missing: pip install 'psycopg[binary]'."
        ) from why
    except (DBAPIError, SQLAlchemyError, OSError) as why:
        reason = str(getattr(why, "orig", None) or getattr(why, "strerror", None) or why).split("\n")[0].rstrip(".")
        raise ClassProblem(
            f"The database {without_password(url)} cannot be used ({reason}): mend that and run again."
        ) from why


def without_password(url: str) -> str:
    """A URL without its password."""
    try:
        return sql.engine.make_url(url).render_as_string(hide_password=True)
    except ArgumentError:
        return url


def clean_text(value: str | None) -> str | None:
    """Text that a database takes: no NUL, no halves of characters."""
    return value.replace("\0", "\ufffd").encode("utf-8", "replace").decode("utf-8") if value is not None else None
