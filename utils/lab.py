"""`book lab`: JupyterLab on the chapters, with the Python that runs this.

Everything after `--` goes to JupyterLab as it is: `book lab -- --no-browser --port 8899`.
"""

import os
import sys
from pathlib import Path

import typer

from utils.errors import BookError
from utils.paths import chapters_dir

# Defaults that a person can still change in JupyterLab: no question about news, no look for updates on the network.
_DEFAULTS = Path(__file__).resolve().parent / "lab_settings"


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
    places = [f"--ServerApp.root_dir={folder}", f"--LabApp.app_settings_dir={_DEFAULTS}"]
    return [sys.executable, "-m", "jupyterlab", *places, *as_root, *arguments]
