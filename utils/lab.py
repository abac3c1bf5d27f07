"""`book lab`: JupyterLab on the chapters, with the Python that runs this.

Everything after `--` goes to JupyterLab as it is: `book lab -- --no-browser --port 8899`. In a folder that
`book start` has made, its chapters are opened, else those of the checkout.
"""

import os
import sys
from pathlib import Path

import typer

from utils.errors import BookError
from utils.paths import chapters_dir, is_checkout
from utils.start import REMEMBERED

# Defaults that a person can still change in JupyterLab: no question about news, no look for updates on the network.
_DEFAULTS = Path(__file__).resolve().parent / "lab_settings"


class NoChapters(BookError):
    """There is nothing to open."""


def lab(arguments: list[str] = typer.Argument(None, help="Options for JupyterLab, after `--`.")) -> None:
    """Open the chapters in JupyterLab. Stop it with Ctrl-C.

    In a folder made by `book start` it opens the chapters there. Options for JupyterLab follow after two dashes:
    book lab -- --no-browser --port 8899
    """
    os.execv(sys.executable, lab_command(arguments or []))


def lab_command(arguments: list[str]) -> list[str]:
    """The command that `book lab` becomes.

    Raises:
        NoChapters: there are none to open: neither here, nor in a checkout of the book.
    """
    here = Path.cwd()
    folder = here if (here / REMEMBERED).is_file() else chapters_dir()
    if folder != here and not is_checkout():
        raise NoChapters("There are no chapters here: run `book start FOLDER` once, and `book lab` in that folder.")
    if not folder.is_dir():
        raise NoChapters(f"There is no folder {folder}: run `book build`, or restore it from git.")
    # JupyterLab will not start for root unless told to; in a container there is often nobody else.
    as_root = ["--allow-root"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    places = [f"--ServerApp.root_dir={folder}", f"--LabApp.app_settings_dir={_DEFAULTS}"]
    return [sys.executable, "-m", "jupyterlab", *places, *as_root, *arguments]
