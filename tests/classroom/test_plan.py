"""The last definition of an answer is the one that is run and shown, as in a kernel after "restart and run all"."""

import json
import random

import pytest

from utils.classroom.intake import clean
from utils.classroom.known import chapters
from utils.classroom.marks import Cell, Notebook
from utils.classroom.plan import MOST_ORDERED, MOST_TEXT, book_cells, names, plan

CHAPTER = "05_attention"
EXERCISES = dict(chapters()[CHAPTER].names)


def cleaned(*sources):
    cells = [{"cell_type": "code", "metadata": {}, "source": source} for source in sources]
    return clean(json.dumps({"nbformat": 4, "metadata": {"book": {"chapter": CHAPTER}}, "cells": cells}).encode())


def ran(notebook):
    """The names after the student's cells of a plan have run, and the answers that are shown."""
    steps = [step for step in plan(notebook) if step.own or step.exercise]
    space = {}
    for step in steps:
        exec(step.source, space)
    return space, {step.exercise: step.source for step in steps if step.exercise}


def define(name, value):
    return f"def {name}():\n    return {value}"


def test_an_answer_at_the_end_counts_before_the_one_in_its_own_cell(make_notebook):
    notebook = make_notebook(all_others="return 0")
    home = next(c for c in notebook["cells"] if c["metadata"].get("book", {}).get("exercise") == "05.1")
    mine = {"cell_type": "code", "id": "mine", "metadata": {}, "source": define("project_heads", 2)}
    home["source"] = define("project_heads", 1)
    notebook["cells"].append(mine)
    steps = plan(clean(json.dumps(notebook).encode(), f"{CHAPTER}.ipynb"))
    defining = [step for step in steps if "def project_heads" in step.source]
    assert [(s.source, s.exercise) for s in defining] == [(home["source"], None), (mine["source"], "05.1")]
    assert sum(step.exercise is not None for step in steps) == len(EXERCISES)


def test_a_right_answer_that_a_later_cell_undoes_does_not_count():
    first, then = define("causal_mask", "scores"), define("causal_mask", 1) + "\n\n\n" + define("causal_mask", None)
    found, shown = ran(cleaned(define("attention_scores", 0), first, define("attention_pattern", 0), then))
    assert found["causal_mask"]() is None and shown["05.3"] == then


def test_what_is_said_of_the_order_is_so():
    sources = [define(name, 0) for name in reversed(EXERCISES)]
    notebook = cleaned(*sources)
    assert any("they are run in the order of the notebook" in note for note in notebook.notes)
    assert [step.source for step in plan(notebook) if step.exercise] == sources


def test_helpers_of_an_answer_that_was_passed_over_are_there():
    old = "SIZE = 3\ndef helper():\n    return SIZE\n" + define("project_heads", 1)
    found, _ = ran(cleaned(old, define("attention_scores", "helper()"), define("project_heads", "helper() + 1")))
    assert found["project_heads"]() == 4 and found["attention_scores"]() == 3


def test_an_earlier_answer_can_be_built_on():
    cells = define("project_heads", 1), "before = project_heads", define("project_heads", "before() + 1")
    assert ran(cleaned(*cells))[0]["project_heads"]() == 2


@pytest.mark.parametrize("several_last", [True, False])
def test_several_answers_in_one_cell(several_last):
    several, single = (
        "\n".join((define("project_heads", 1), define("attention_pattern", 1))),
        define("project_heads", 2),
    )
    found, shown = ran(cleaned(single, several) if several_last else cleaned(several, single))
    assert found["attention_pattern"]() == 1 and shown["05.4"] == several
    assert found["project_heads"]() == (1 if several_last else 2)
    assert shown["05.1"] == (several if several_last else single)


@pytest.mark.parametrize("first", ["class Mine(Base):\n    pass\n", "@decorated\n", "x = 1\n"])
def test_an_answer_before_what_it_needs_waits_for_it(first):
    needy = f"{first}def attention(project=project_heads):\n    return project()"
    later = "class Base:\n    pass", "def decorated(f):\n    return f", define("project_heads", 5)
    found, shown = ran(cleaned(needy, *later))
    assert found["attention"]() == 5 and shown["05.7"] == needy


def test_a_cell_that_waits_is_not_run_after_a_later_answer_of_the_same_name():
    waits = "x = [missing for _ in range(2)]\n" + define("project_heads", 1)
    for last in (define("project_heads", 2), "%%time\n" + define("project_heads", 2)):
        steps = [s for s in plan(cleaned(waits, last, "missing = 1")) if s.own or s.exercise]
        assert [s.source for s in steps if "project_heads" in s.source] == [waits, last]
        assert steps[-1].exercise == "05.1"


def test_a_cell_of_ones_own_waits_for_what_its_functions_need():
    tries = "tried = attention()"
    cells = define("attention", "project_heads()"), tries, define("project_heads", "root"), "root = 4"
    assert ran(cleaned(*cells))[0]["tried"] == 4


def test_what_needs_nothing_later_runs_as_it_stands():
    sources = [
        "x = 1",
        define("attention_pattern", "x"),
        "x = attention_pattern() + 1",
        define("project_heads", "x"),
        "y = x\nx = 7",
    ]
    assert [step.source for step in plan(cleaned(*sources)) if step.own or step.exercise] == sources


def test_a_name_given_another_value_counts_as_in_a_kernel_and_is_told():
    told = "After the answer to exercise 05.1, project_heads is given another value, which counts."
    notebook = cleaned("project_heads = 1", define("project_heads", 2), "project_heads = 3")
    assert ran(notebook)[0]["project_heads"] == 3 and told in notebook.notes
    notebook = cleaned("project_heads = 1", define("project_heads", 2), "project_heads == 3")
    assert ran(notebook)[0]["project_heads"]() == 2 and told not in notebook.notes


def test_a_lambda_is_an_answer():
    found, shown = ran(cleaned(define("attention_pattern", 1), "attention_pattern = lambda: 2"))
    assert found["attention_pattern"]() == 2 and shown["05.4"] == "attention_pattern = lambda: 2"


def test_text_counts_only_where_there_is_no_code(make_notebook):
    notebook = make_notebook({"05.1": "return 1"})
    home = next(c for c in notebook["cells"] if c["metadata"].get("book", {}).get("exercise") == "05.1")
    home["cell_type"] = "markdown"
    mine = {"cell_type": "code", "id": "mine", "metadata": {}, "source": define("project_heads", 2)}
    notebook["cells"].insert(0, mine)
    found = clean(json.dumps(notebook).encode(), f"{CHAPTER}.ipynb")
    assert [cell.source for cell in found.cells if cell.exercise == "05.1"] == [mine["source"]]
    assert not any("05.1 (project_heads)" in note for note in found.notes)


def test_whatever_the_order_the_last_definition_is_the_last_to_run():
    draw = random.Random(0)
    pieces = [
        *(define(name, 0) for name in list(EXERCISES)[:4] * 3),
        *(f"def {name}(default={other}, {other}_too=x): pass" for name in list(EXERCISES)[:3] for other in ("x", "a")),
        "x = a", "a = project_heads", "y = attention_pattern()", "project_heads = x", "x = 2", "def a(): return x",
    ]  # fmt: skip
    for _ in range(300):
        sources = [f"{piece}\n# {i}" for i, piece in enumerate(draw.sample(pieces, draw.randrange(2, len(pieces))))]
        steps = [step for step in plan(cleaned(*sources)) if step.own or step.exercise]
        assert sorted(step.source for step in steps) == sorted(sources)
        for name in (*EXERCISES, "x", "a", "y"):
            makes = [s for s in sources if s.startswith((f"def {name}(", f"{name} ="))]
            assert [s.source for s in steps if s.source in makes] == makes, (name, sources)


def test_demonstrations_that_are_needed_come_before_what_reads_them():
    story = next(key for key, source, _, _ in book_cells(CHAPTER) if source.startswith("story ="))
    answers = [Cell(None, "code", define(name, "story"), exercise) for name, exercise in EXERCISES.items()]
    own = Cell("mine", "code", "long = story * 2")
    for cells in ((own, *answers), (own, *answers[::-1]), (Cell(story, "code", "x"), own, *answers)):
        steps = plan(Notebook(CHAPTER, cells))
        keys = [step.key for step in steps]
        assert keys[0].startswith("setup") and keys.index(story) < next(i for i, s in enumerate(steps) if s.own)


def test_demonstrations_that_are_needed_come_after_the_answers_that_they_call():
    demonstrations = {key: names(source) for key, source, exercise, _ in book_cells(CHAPTER) if not exercise}
    key = next(key for key, said in demonstrations.items() if said.makes and said.at_once & EXERCISES.keys())
    made = min(demonstrations[key].makes)
    answers = [Cell(None, "code", define(name, made), exercise) for name, exercise in EXERCISES.items()]
    for cells in (answers, answers[::-1]):
        steps = plan(Notebook(CHAPTER, tuple(cells)))
        before = {step.exercise for step in steps[: [step.key for step in steps].index(key)]}
        assert {EXERCISES[name] for name in demonstrations[key].at_once & EXERCISES.keys()} <= before


def test_a_notebook_without_measure_runs_as_it_stands():
    for more in (["z = 1"] * MOST_ORDERED, ["#" * (MOST_TEXT // 3)] * 4):
        sources = ["y = x", *(f"{source}  # {i}" for i, source in enumerate(more)), "x = 1"]
        assert [step.source for step in plan(cleaned(*sources)) if step.own] == sources
