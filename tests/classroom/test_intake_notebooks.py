"""What is in a notebook: other encodings, old formats, broken JSON, and cells gone, doubled, moved or renamed."""

import json
import random
from itertools import pairwise

import pytest

from utils.classroom.decoding import NoNotebook
from utils.classroom.intake import clean
from utils.classroom.known import chapters, squeezed

CHAPTER = "05_attention"
NAME = f"{CHAPTER}.ipynb"
LINE = "return x @ W + b  # \u00fcber"


@pytest.fixture
def notebook(make_notebook):
    return make_notebook({"05.1": LINE})


def answer_cell(notebook, exercise="05.1"):
    return next(c for c in notebook["cells"] if c["metadata"].get("book", {}).get("exercise") == exercise)


def packed(notebook, **options):
    return json.dumps(notebook, **options).encode()


def answers(cleaned):
    return {cell.exercise: cell.source for cell in cleaned.cells if cell.exercise}


def without_ids(notebook):
    for cell in notebook["cells"]:
        cell.pop("id", None)


def without_metadata(notebook):
    notebook["metadata"].pop("book", None)
    for cell in notebook["cells"]:
        cell["metadata"].pop("book", None)


def test_a_notebook_as_it_should_be(notebook):
    cleaned = clean(packed(notebook), NAME)
    assert cleaned.chapter == CHAPTER and cleaned.notes == ()
    assert list(answers(cleaned)) == list(chapters()[CHAPTER].exercises)
    assert LINE in answers(cleaned)["05.1"]
    known = chapters()[CHAPTER].by_id
    assert all(cell.id in known and cell.kind == "code" for cell in cleaned.cells)


def test_the_digest_is_of_the_code_alone(notebook):
    before = clean(packed(notebook)).digest
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            cell["execution_count"], cell["outputs"] = 7, [{"output_type": "stream", "name": "stdout", "text": "hi"}]
    notebook["cells"][0]["source"] += " more prose"
    assert clean(packed(notebook)).digest == before
    answer_cell(notebook)["source"] += "\n# changed"
    assert clean(packed(notebook)).digest != before


ENCODINGS = [
    ("utf-8", None),
    ("utf-8-sig", None),
    ("utf-16", "UTF-16"),
    ("utf-16-le", "UTF-16"),
    ("utf-16-be", "UTF-16"),
    ("utf-32", "UTF-32"),
    ("latin-1", "Latin-1"),
]


@pytest.mark.parametrize("encoding, said", ENCODINGS)
def test_encodings(encoding, said, notebook):
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            cell["source"] = "text"
    answer = answer_cell(notebook)
    answer["source"] = answer["source"].replace("\u2192", "->")
    text = json.dumps(notebook, ensure_ascii=False).encode("latin-1", "ignore").decode("latin-1")
    cleaned = clean(text.encode(encoding), NAME)
    assert LINE in answers(cleaned)["05.1"]
    assert [said in note for note in cleaned.notes] == ([True] if said else [])


def test_nan_and_numbers_without_end(notebook):
    text = json.dumps(notebook)
    text = text[:-1] + ', "x": [NaN, Infinity, -Infinity, ' + "9" * 100_000 + ", 1e999999]}"
    assert LINE in answers(clean(text.encode(), NAME))["05.1"]


BROKEN = [
    (b"", "is empty"),
    (b" \n\0\0", "is empty"),
    (b"PK\x03\x04 a zip", "is not a notebook"),
    (b"<!DOCTYPE html><html></html>", "is a web page and not a notebook: it has to be downloaded as .ipynb"),
    (b'{"cells": [', "breaks off in the middle: it has to be saved and handed in again"),
    (b'{"cells": ["abc', "breaks off in the middle: it has to be saved and handed in again"),
    (b'{"cells": [],\n\n oops}', "is broken as JSON at line 3"),
    (b'{"cells": ' + b"[" * 200_000, "is nested too deeply to be a notebook"),
    (b"[1, 2]", "is not a notebook"),
    (b'{"a": 1}', "has no cells, so it is no notebook"),
    (b'{"cells": 3}', "has no cells, so it is no notebook"),
    (b'{"cells": [], "nbformat": 4}', "is a notebook, but of no chapter of this book"),
    (b'{"cells": [{}, 1, null, {"source": 3}], "nbformat": 4}', "is a notebook, but of no chapter of this book"),
    (b'{\n<<<<<<< HEAD\n"cells": []}', "holds git's marks of a merge conflict: the conflict has to be resolved"),
    (b'{"worksheets": [{"cells": []}, 3], "nbformat": 3}', "is a notebook, but of no chapter of this book"),
]


@pytest.mark.parametrize("data, why", BROKEN)
def test_what_is_no_notebook_is_said(data, why, hand_in, take_in):
    with pytest.raises(NoNotebook) as problem:
        clean(data)
    assert str(problem.value) == why
    hand_in("eve/hw.ipynb", data)
    found, _ = take_in(hand_in("ann/hw.ipynb"))
    assert [r.submission.student for r in found if r.counts] == ["ann"]
    said = [sentence for r in found if r.submission.student == "eve" for sentence in r.submission.problems]
    assert said[0] == f"eve/hw.ipynb {why}."


def test_bytes_by_chance_never_stop_the_intake(notebook):
    draw = random.Random(0)
    sound = packed(notebook)
    for _ in range(150):
        data = bytearray(sound)
        for _ in range(draw.choice((1, 20))):
            at = draw.randrange(len(data))
            data[at : at + draw.randrange(40)] = draw.randbytes(draw.randrange(10))
        try:
            assert clean(bytes(data), NAME).chapter == CHAPTER
        except NoNotebook as problem:
            assert str(problem)


def test_lines_of_a_source_may_be_a_list(notebook):
    cell = answer_cell(notebook)
    cell["source"] = cell["source"].splitlines(keepends=True)
    assert LINE in answers(clean(packed(notebook), NAME))["05.1"]


def test_other_line_ends(notebook):
    for cell in notebook["cells"]:
        cell["source"] = cell["source"].replace("\n", "\r\n")
    cleaned = clean(packed(notebook), NAME)
    assert "\r" not in answers(cleaned)["05.1"] and cleaned.notes == ()


def test_halves_of_characters_are_replaced(notebook):
    answer_cell(notebook)["source"] += "\n# \ud800"
    cleaned = clean(packed(notebook), NAME)
    assert answers(cleaned)["05.1"].endswith("# \ufffd")
    assert cleaned.notes == ("It holds halves of characters, which are replaced.",)


def test_format_4_without_ids(notebook):
    without_ids(notebook)
    notebook["nbformat_minor"] = 2
    cleaned = clean(packed(notebook), NAME)
    assert LINE in answers(cleaned)["05.1"] and cleaned.notes == ()
    assert all(cell.id in chapters()[CHAPTER].by_id for cell in cleaned.cells)


def test_format_3(notebook):
    cells = [
        {"cell_type": c["cell_type"], "metadata": {}, "language": "python",
         ("input" if c["cell_type"] == "code" else "source"): c["source"]}
        for c in notebook["cells"]
    ]  # fmt: skip
    old = {"nbformat": 3, "nbformat_minor": 0, "metadata": {"name": ""}, "worksheets": [{"cells": cells}]}
    cleaned = clean(packed(old), "x.ipynb")
    assert cleaned.chapter == CHAPTER
    assert LINE in answers(cleaned)["05.1"] and len(answers(cleaned)) == 12
    assert "The notebook is in the old format 3." in cleaned.notes


def test_a_tool_that_drops_ids_and_metadata(notebook):
    without_ids(notebook)
    without_metadata(notebook)
    cleaned = clean(packed(notebook), "homework (2).ipynb")
    assert cleaned.chapter == CHAPTER
    assert list(answers(cleaned)) == list(chapters()[CHAPTER].exercises)
    assert cleaned.notes == ("The file is called homework (2).ipynb; by its cells it is chapter 05_attention.",)
    unknown = [cell for cell in cleaned.cells if cell.id is None]
    assert len(unknown) == 1, "all but the changed cell are known by their text"


def test_a_renamed_notebook_is_known_by_its_ids(notebook):
    without_metadata(notebook)
    assert clean(packed(notebook), "06_mlp.ipynb").chapter == CHAPTER


def test_a_removed_answer_is_told_and_the_rest_is_there(notebook):
    notebook["cells"].remove(answer_cell(notebook, "05.3"))
    cleaned = clean(packed(notebook), NAME)
    assert sorted(set(chapters()[CHAPTER].exercises) - set(answers(cleaned))) == ["05.3"]
    assert cleaned.notes == ("There is no cell for exercise 05.3 (causal_mask).",)


def test_of_a_doubled_answer_the_last_counts(notebook):
    first = answer_cell(notebook)
    second = {**first, "source": first["source"].replace(LINE, "return 2"), "id": "pasted"}
    notebook["cells"].insert(notebook["cells"].index(first) + 1, second)
    cleaned = clean(packed(notebook), NAME)
    assert "return 2" in answers(cleaned)["05.1"]
    assert cleaned.notes == ("Exercise 05.1 (project_heads) is answered 2 times; the last one counts.",)
    kept = [cell for cell in cleaned.cells if LINE in cell.source]
    assert [(cell.id, cell.exercise) for cell in kept] == [(None, None)], "the first one runs as a helper"


def test_an_answer_in_a_cell_of_ones_own(notebook):
    stub = answer_cell(notebook, "05.2")
    own = {"cell_type": "code", "id": "mine", "metadata": {}, "source": "def attention_scores(q, k):\n    return 1"}
    for place in (0, len(notebook["cells"])):
        moved = {**notebook, "cells": [*notebook["cells"][:place], own, *notebook["cells"][place:]]}
        cleaned = clean(packed(moved), NAME)
        assert answers(cleaned)["05.2"] == own["source"]
        stubs = [cell for cell in cleaned.cells if squeezed(cell.source) == squeezed(stub["source"])]
        assert len(stubs) == (place > 0), "a stub behind the answer is gone, one before it runs first"


def test_an_answer_that_is_not_python_is_still_found(notebook):
    without_ids(notebook)
    without_metadata(notebook)
    answer_cell_source = "def attention_scores(q, k):\n    return q @@ k"
    cells = notebook["cells"]
    at = next(i for i, c in enumerate(cells) if "def attention_scores" in c["source"] and c["cell_type"] == "code")
    cells[at]["source"] = "%%time\n" + answer_cell_source
    assert answers(clean(packed(notebook), NAME))["05.2"] == "%%time\n" + answer_cell_source


def test_two_answers_in_one_cell(notebook):
    first, second = answer_cell(notebook, "05.1"), answer_cell(notebook, "05.2")
    first["source"] += "\n\n\ndef attention_scores(q, k):\n    return 1"
    notebook["cells"].remove(second)
    found = answers(clean(packed(notebook), NAME))
    assert found["05.1"] == found["05.2"] == first["source"]


def test_an_answer_without_its_function_is_given_as_it_stands(notebook):
    answer_cell(notebook, "05.2")["source"] = "scores = 1"
    assert answers(clean(packed(notebook), NAME))["05.2"] == "scores = 1"


def test_an_answer_turned_into_text(notebook):
    answer_cell(notebook)["cell_type"] = "markdown"
    cleaned = clean(packed(notebook), NAME)
    assert LINE in answers(cleaned)["05.1"]
    assert cleaned.notes == ("The answer to exercise 05.1 (project_heads) was turned into text; it is read as code.",)


def test_cells_in_another_order(notebook):
    notebook["cells"] = notebook["cells"][::-1]
    cleaned = clean(packed(notebook), NAME)
    assert list(answers(cleaned)) == list(chapters()[CHAPTER].exercises)[::-1]
    assert "The answers stand in another order than in the book" in cleaned.notes[0]


def test_cells_that_grade_are_gone(notebook):
    notebook["cells"] = [cell for cell in notebook["cells"] if cell["source"] != "grade(causal_mask)"]
    assert clean(packed(notebook), NAME).notes == ("The cells that grade causal_mask are gone; that changes no mark.",)


def test_helpers_are_kept_in_their_place(notebook):
    at = notebook["cells"].index(answer_cell(notebook, "05.2"))
    helper = {"cell_type": "code", "id": "h1", "metadata": {}, "source": "def root(n):\n    return n ** 0.5"}
    notebook["cells"].insert(at, helper)
    cells = clean(packed(notebook), NAME).cells
    where = next(i for i, cell in enumerate(cells) if cell.id == "h1")
    assert (cells[where].kind, cells[where].exercise, cells[where].source) == ("code", None, helper["source"])
    assert cells[where + 1].exercise == "05.2"


def test_what_is_added_to_a_cell_of_the_book_is_kept(notebook):
    setup = next(c for c in notebook["cells"] if c["metadata"].get("book", {}).get("key") == "setup")
    setup["source"] = "import math\n" + setup["source"] + "\nEPS = 1e-5\nimport torch as t\nmodel = None\n"
    cleaned = clean(packed(notebook), NAME)
    at = next(i for i, cell in enumerate(cleaned.cells) if cell.id == setup["id"])
    added = cleaned.cells[at + 1]
    assert (added.id, added.exercise) == (None, None)
    assert added.source == "import math\n\nEPS = 1e-5\n\nimport torch as t"
    assert any("What was added to the book's cell 'setup' is kept" in note for note in cleaned.notes)


def test_a_guess_is_no_addition(notebook):
    for cell in notebook["cells"]:
        if cell["source"].startswith('my_guess = "?"'):
            cell["source"] = 'my_guess = "c"  # as I think'
    assert clean(packed(notebook), NAME).notes == ()


def test_an_endless_notebook_is_cut(notebook):
    more = [{"cell_type": "code", "metadata": {}, "source": f"x = {i}"} for i in range(6000)]
    huge = {"cell_type": "code", "metadata": {}, "source": "#" * (1 << 21)}
    notebook["cells"] = [huge, *notebook["cells"], *more]
    cleaned = clean(packed(notebook), NAME)
    assert len(answers(cleaned)) == 12
    assert any("of which the first 5,000 are read" in note for note in cleaned.notes)
    assert "Cell 1 is longer than a million characters, and is left out." in cleaned.notes


def test_sentences_are_sentences(notebook, one_sentence):
    without_ids(notebook)
    notebook["cells"] = [c for c in notebook["cells"] if "grade(" not in c["source"]][::-1]
    notebook["cells"].remove(answer_cell(notebook, "05.3"))
    for note in clean(packed(notebook), "x\n<b>.ipynb").notes:
        one_sentence(note)


@pytest.mark.parametrize("slug", chapters())
def test_every_chapter_is_known_as_shipped(slug, make_notebook):
    cleaned = clean(packed(make_notebook(chapter=slug)), f"{slug}.ipynb")
    assert cleaned.chapter == slug and cleaned.notes == ()
    assert [cell.exercise for cell in cleaned.cells if cell.exercise] == list(chapters()[slug].exercises)


def test_the_names_of_answers_are_those_of_the_exercises():
    from utils.exercises import all_exercises

    known = {exercise: name for chapter in chapters().values() for name, exercise in chapter.names.items()}
    assert known == {e.id: e.name for e in all_exercises()}
    assert all(a < b for a, b in pairwise(sorted(chapters())))
