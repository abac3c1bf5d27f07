"""Small books in temporary folders: from one line of source to a chapter that is built and executed once a session."""

from pathlib import Path

import pytest

from utils.book.shelf import Shelf

TINY = Path(__file__).with_name("tiny_chapter.txt")
TITLE = '# %% [markdown] key="title"\n# # A title\n\n'


@pytest.fixture(scope="session")
def tiny_text() -> str:
    return TINY.read_text(encoding="utf-8")


@pytest.fixture
def book(tmp_path):
    """`book(text)` makes a book whose solutions/05_tiny.py is `text` (bytes as they are) and gives its shelf."""

    def make(text: str | bytes, name: str = "05_tiny") -> Shelf:
        (tmp_path / "solutions").mkdir(exist_ok=True)
        data = text if isinstance(text, bytes) else text.encode("utf-8")
        (tmp_path / "solutions" / f"{name}.py").write_bytes(data)
        return Shelf(tmp_path)

    return make


@pytest.fixture
def titled(book):
    """The same, with a title cell before `text`: its first line is line 4 of the file."""
    return lambda text, name="05_tiny": book(TITLE + text, name)


@pytest.fixture(scope="session")
def built(tmp_path_factory, tiny_text) -> Shelf:
    """The tiny chapter, built with its solution executed. Shared by the session: do not write into it."""
    from utils.book.build import build_chapter

    root = tmp_path_factory.mktemp("built")
    (root / "solutions").mkdir()
    (root / "solutions" / "05_tiny.py").write_text(tiny_text, encoding="utf-8")
    build_chapter(Shelf(root), "05_tiny")
    return Shelf(root)


@pytest.fixture
def own_copy(built, tmp_path) -> Shelf:
    """The built book once more, for a test that changes it."""
    import shutil

    shutil.copytree(built.root, tmp_path, dirs_exist_ok=True)
    return Shelf(tmp_path)
