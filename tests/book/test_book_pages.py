"""The glossary and the list of exercises say what sources and declarations say, and a build keeps them so."""

import re

import pytest

from utils.book.notebooks import read_notebook
from utils.book.pages import FOLDERS, check_pages, exercises_page, glossary_page, page_texts, write_pages
from utils.book.shelf import the_book
from utils.book.source import read_chapter
from utils.exercises import all_exercises

TARGET = re.compile(r"\]\((\d\d_\w+)\.ipynb#cell-id=([\w-]+)\)")


@pytest.fixture(scope="module")
def texts():
    return page_texts(the_book())


def test_every_exercise_is_listed_once_with_what_is_declared(texts):
    row = re.compile(r"^\| ([\d.]+) \| \[.+\]\(.+\) \| `(\w+)` \| (\d) \| (\d+) \|$", re.MULTILINE)
    listed = row.findall(texts["exercises.md"])
    declared = [(e.id, e.name, str(e.difficulty), str(e.minutes)) for e in all_exercises()]
    assert sorted(listed) == sorted(declared)
    assert f"\n{len(declared)} exercises, about " in texts["exercises.md"]


@pytest.mark.parametrize("page", ["glossary.md", "exercises.md"])
def test_every_link_leads_to_a_cell_of_the_learners_notebook(texts, page):
    ids = {name: {cell.id for cell in read_notebook(the_book().chapter(name)).cells} for name in the_book().chapters()}
    targets = TARGET.findall(texts[page])
    assert len(targets) >= 98
    assert [(name, id) for name, id in targets if id not in ids[name]] == []


def test_an_exercise_links_to_the_heading_above_it_and_a_word_to_its_section(built):
    chapter = read_chapter(built.source("05_tiny"))
    exercises, glossary = exercises_page([chapter]), glossary_page([chapter])
    assert re.search(r"\| 05.1 \| \[halve\]\(05_tiny\.ipynb#cell-id=halve-text-\w+\) \| `project_heads` \|", exercises)
    assert "[a class](05_tiny.ipynb#cell-id=keeper-text-" in exercises
    assert "## L\n\n### logit\n\n" in glossary and "## S\n\n### softmax\n\n" in glossary
    assert glossary.count("→ [05 · The spread of a dot product](05_tiny.ipynb#cell-id=spread-") == 2


def test_pages_are_written_beside_both_notebooks_and_drift_is_found(own_copy):
    assert write_pages(own_copy) == [f"{folder}/{name}" for folder in FOLDERS for name in page_texts(own_copy)]
    assert write_pages(own_copy) == [] == check_pages(own_copy)
    page = own_copy.root / "chapters" / "glossary.md"
    page.write_text(page.read_text() + "\nmore\n")
    (own_copy.root / "solutions" / "exercises.md").unlink()
    assert [str(problem).rpartition("/")[2] for problem in check_pages(own_copy)] == [
        "glossary.md: it is not what the sources give: run `book build`.",
        "exercises.md: it is not what the sources give: run `book build`.",
    ]


def test_a_source_that_cannot_be_read_is_the_checks_to_name(own_copy):
    own_copy.source("05_tiny").write_text("1 +")
    assert check_pages(own_copy) == []


def test_the_committed_pages_are_what_the_sources_give():
    assert [str(problem) for problem in check_pages(the_book())] == []
