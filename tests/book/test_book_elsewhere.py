"""Each chapter's setup cell begins with the line that helps where the book is not installed; it fetches nothing."""

import nbformat
import pytest

from utils.book.elsewhere import SETUP_KEY, first_line
from utils.book.notebooks import chapter_notebook, solution_notebook
from utils.book.shelf import the_book
from utils.book.source import read_chapter

SHELF = the_book()


@pytest.mark.parametrize("name", SHELF.chapters())
@pytest.mark.parametrize("made", [chapter_notebook, solution_notebook])
def test_the_first_code_of_a_chapter_begins_with_it(name, made):
    first = next(cell for cell in made(read_chapter(SHELF.source(name))).cells if cell.cell_type == "code")
    assert first.metadata.book.key == SETUP_KEY
    assert first.source.startswith(first_line() + "\n")


def test_no_other_cell_has_it():
    cells = nbformat.reads(SHELF.chapter("00_start_here").read_text(encoding="utf-8"), as_version=4).cells
    assert sum(first_line() in cell.source for cell in cells) == 1


def test_it_is_one_line_and_a_comment():
    assert first_line().startswith("# ") and "\n" not in first_line() and len(first_line()) <= 120
    assert "%pip install git+" in first_line()
