"""The line that begins each chapter's setup cell: what to run where the book is not installed, as on Colab or Binder.

The builder writes it, so that it is the same in every chapter and no source holds it. Nothing is fetched by it: it is
a comment, and the person decides. The book's address stands once, in pyproject.toml (`Repository` of [project.urls]);
as long as there is none, the line says what to put there: whoever has the chapter knows where it came from.
"""

import functools
import tomllib

from utils.book.source import Cell
from utils.paths import book_root

SETUP_KEY = "setup"
NO_ADDRESS = "URL-WHERE-YOU-FOUND-THE-BOOK"


@functools.cache
def first_line() -> str:
    """The line itself, at most 120 characters where the address has at most 50."""
    project = tomllib.loads((book_root() / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    address = project.get("urls", {}).get("Repository", NO_ADDRESS)
    return f"# No module named 'utils', as on Colab? Run  %pip install git+{address}  and restart the kernel."


def with_first_line(cell: Cell, text: str) -> str:
    """`text`, what a notebook holds of `cell`; the setup cell gets the line."""
    return f"{first_line()}\n{text}" if cell.kind == "code" and cell.flags.key == SETUP_KEY else text
