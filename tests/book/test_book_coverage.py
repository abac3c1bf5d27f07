"""The table of what the book teaches is whole, and a row without its cell or its exercise is missed."""

from dataclasses import replace

import pytest

from utils.book.coverage import gaps, places, rows
from utils.book.notebooks import read_notebook
from utils.book.shelf import the_book
from utils.book.source import read_chapter

EXERCISE = '# %% key="a" exercise="05.1" covers="N8, N13"\ndef f(x):\n    # SOLUTION\n    return x\n    # END\n'


@pytest.fixture
def chapter(titled):
    def read(text):
        return read_chapter(titled(text).source("05_tiny"))

    return read


def test_the_table_has_every_row_once_and_only_chapters_of_the_book():
    assert list(rows()) == [f"N{i}" for i in range(1, 23)] + [f"M{i}" for i in range(1, 13)]
    assert {number for row in rows().values() for number in row.chapters} <= {f"{i:02}" for i in range(12)}
    assert all(row.idea.endswith(".") and row.chapters for row in rows().values())


def test_cells_are_found_by_row_and_an_exercise_is_one_or_stands_before_one(chapter):
    read = chapter(
        '# %% [markdown] key="m" covers="N14"\n# x\n\n# %% [markdown] key="n" covers="M12"\n# x\n\n' + EXERCISE
    )
    found = places([read])
    assert [(place.key, place.exercise) for place in found["N14"]] == [("m", False)]
    assert [(place.key, place.exercise) for place in found["M12"]] == [("n", True)]
    assert [(place.key, place.exercise) for place in found["N8"]] == [("a", True)]
    assert found["N1"] == []


def test_a_row_without_a_cell_in_a_wanted_chapter_is_missed(chapter):
    missed = gaps([chapter(EXERCISE)], ["05"])
    assert [one.split()[0] for one in missed] == ["N4", "N14", "N21", "M8", "M11", "M12"]
    assert missed[0].startswith('N4 has no cell in chapter 05: mark one with covers="N4"')


def test_a_row_without_its_exercise_is_missed_once_all_its_chapters_are_wanted(chapter):
    read = chapter('# %% [markdown] key="m" covers="N8, M8"\n# x\n')
    missed = [one for one in gaps([read], ["05"]) if "no exercise" in one]
    assert [one.split()[0] for one in missed] == ["N8", "N13"]


def test_the_whole_book_is_judged_when_no_chapters_are_named(chapter):
    missed = gaps([chapter(EXERCISE)])
    assert {one.split()[0] for one in missed} == set(rows()) - {"N8", "N13"}


@pytest.fixture(scope="module")
def whole_book():
    return [read_chapter(the_book().source(name)) for name in the_book().chapters()]


def test_the_book_teaches_every_row(whole_book):
    assert gaps(whole_book) == []


def test_every_row_is_taught_in_what_a_learner_opens():
    taught = set()
    for name in the_book().chapters():
        for cell in read_notebook(the_book().chapter(name)).cells:
            taught |= {(name[:2], row) for row in cell.metadata.book.get("covers", ())}
    assert {(number, row.id) for row in rows().values() for number in row.chapters} - taught == set()


@pytest.mark.parametrize("id", rows())
def test_a_row_whose_marks_are_taken_away_is_missed(whole_book, id):
    for number in rows()[id].chapters:
        without = [_unmarked(chapter, id) if chapter.number == number else chapter for chapter in whole_book]
        assert gaps(without)[0].startswith(f"{id} has no cell in chapter {number}: ")


def _unmarked(chapter, id):
    cells = [
        replace(cell, flags=replace(cell.flags, covers=tuple(row for row in cell.flags.covers if row != id)))
        for cell in chapter.cells
    ]
    return replace(chapter, cells=tuple(cells))
