"""`book lab`: JupyterLab on the chapters, with the Python that runs this.

Everything after `--` goes to JupyterLab as it is: `book lab -- --no-browser --port 8899`.
"""

import os
import sys

import typer

from utils.errors import BookError
from utils.paths import chapters_dir

# JupyterLab asks its makers for news and updates, and a newcomer whether it may. The book needs neither.
_OFFLINE = ["--LabApp.news_url=None", "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate"]


class NoChapters(BookError):
    """There is nothing to open."""


def lab(arguments: list[str] = typer.Argument(None, help="Options for JupyterLab, after `--`.")) -> None:
    """Open the chapters in JupyterLab. Stop it with Ctrl-C."""
    os.execv(sys.executable, lab_command(arguments or []))


def lab_command(arguments: list[str]) -> list[str]:
    """The command that `book lab` becomes.

    Raises:
        NoChapters: the folder of chapters is not there, because this is not a checkout of the book.
    """
    folder = chapters_dir()
    if not folder.is_dir():
        raise NoChapters(f"There is no folder {folder}: install the book from a checkout with `make env`.")
    # JupyterLab will not start for root unless told to; in a container there is often nobody else.
    as_root = ["--allow-root"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    return [sys.executable, "-m", "jupyterlab", f"--ServerApp.root_dir={folder}", *_OFFLINE, *as_root, *arguments]
