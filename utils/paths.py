"""Where the book keeps things: what can be made again in the cache, what a person would miss in the data folder.

Both follow the system's habits through platformdirs, and both can be moved with an environment variable (tests and
class graders do). Nothing is created here except by `writable`, which is also the one place that turns a folder that
cannot be written into a sentence.
"""

import os
import tempfile
from pathlib import Path

from utils.errors import BookError

APP_NAME = "gpt2-exercise-book"


class FolderProblem(BookError):
    """A folder that the book needs is not there or cannot be written."""


def cache_dir() -> Path:
    """What can be made again: the built tokenizer, converted weights. Moved with BOOK_CACHE."""
    return _folder("BOOK_CACHE", "user_cache_path")


def data_dir() -> Path:
    """What a person would miss: the choice of reference model, their progress. Moved with BOOK_DATA."""
    return _folder("BOOK_DATA", "user_data_path")


def is_checkout() -> bool:
    """Whether this package lies in a checkout of the book, and not where `pip install` has put it."""
    folder = package_dir().parent
    return (folder / "pyproject.toml").is_file() and (folder / "solutions").is_dir()


def package_dir() -> Path:
    """The folder of this package, `utils`."""
    return Path(__file__).resolve().parent


def book_root() -> Path:
    """What holds `chapters/`: the checkout, or the copy that setup.py puts into an installed package.

    That copy has `chapters/` and the lock and nothing else: building and proving the book needs a checkout.
    """
    return package_dir().parent if is_checkout() else package_dir() / "shipped"


def chapters_dir() -> Path:
    """The notebooks that a learner opens."""
    return book_root() / "chapters"


def solutions_dir() -> Path:
    """The source of each chapter and its executed solution."""
    return book_root() / "solutions"


def pocket_dir() -> Path:
    """The weights of the small model that is shipped in the package."""
    return package_dir() / "reference" / "pocket"


def writable(folder: Path) -> Path:
    """Make `folder` if need be and prove that a file can be made in it.

    Raises:
        FolderProblem: it cannot be made or written; the message names the variable that moves it.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError as reason:
        variable = "BOOK_DATA" if _within(folder, data_dir()) else "BOOK_CACHE"
        raise FolderProblem(
            f"{folder} cannot be written to ({reason.strerror or reason}): "
            f"set {variable} to a folder that you may write to and try again."
        ) from reason


def _folder(variable: str, platform_name: str) -> Path:
    if given := os.environ.get(variable):
        return Path(given).expanduser().absolute()
    import platformdirs

    return getattr(platformdirs, platform_name)(APP_NAME, appauthor=False)


def _within(folder: Path, parent: Path) -> bool:
    return folder == parent or parent in folder.parents
