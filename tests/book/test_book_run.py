"""`book run` fails where a solution does not give its stored outputs again or a chapter as shipped raises."""

import json

import pytest

from utils.book import run
from utils.book.build import build_chapter
from utils.book.nbval_rules import forgive, near
from utils.book.run import run_shipped, run_solution


def edit(path, key, **changes) -> None:
    notebook = json.loads(path.read_text())
    next(cell for cell in notebook["cells"] if cell["metadata"]["book"]["key"] == key).update(changes)
    path.write_text(json.dumps(notebook))


def sentences(ran) -> list[str]:
    return [problem.sentence for problem in ran.problems]


def test_the_solution_and_the_chapter_as_shipped_pass(built):
    seen = []
    solution = run_solution(built.solution("05_tiny"), 60, lambda done, total: seen.append((done, total)))
    assert (sentences(solution), solution.cells) == ([], 9)
    assert seen[-1] == (9, 9)
    shipped = run_shipped(built.chapter("05_tiny"), 60)
    assert (sentences(shipped), shipped.cells) == ([], 8)


def test_outputs_of_other_code_are_not_run(own_copy):
    edit(own_copy.solution("05_tiny"), "value", source="0.54321")
    assert sentences(run_solution(own_copy.solution("05_tiny"), 60)) == [
        "its outputs belong to other code or another model: run `book build`."
    ]


FIGURE = """# %% key="{key}"
import random
data = {{"text/plain": "{key}", "text/html": f"<p>{{random.random()}}</p>"}}
data |= {{"application/vnd.plotly.v1+json": {{"data": [{{"y": [random.random()]}}]}}}}
display(data, raw=True)

"""
DIFFER = (
    FIGURE.format(key="figure")
    + FIGURE.format(key="other")
    + """
# %% key="counts"
print("3 heads")

# %% key="decimals"
print("loss 0.431")

# %% key="raises"
zero = 0

# %% key="dies"
zero = 0
"""
)


def test_each_cell_that_differs_raises_or_ends_the_kernel_is_named(titled, monkeypatch):
    shelf = titled(DIFFER)
    build_chapter(shelf, "05_tiny")
    path = shelf.solution("05_tiny")
    notebook = json.loads(path.read_text())
    outputs = {cell["metadata"]["book"]["key"]: cell.get("outputs") for cell in notebook["cells"]}
    outputs["other"][0]["data"]["text/plain"] = ["another figure"]
    outputs["counts"][0]["text"] = ["4 heads\n"]
    outputs["decimals"][0]["text"] = ["loss 0.432\n"]
    path.write_text(json.dumps(notebook))
    edit(path, "raises", source="1 / 0")
    edit(path, "dies", source="import os; os._exit(1)")
    monkeypatch.setattr(run, "outputs_depend_on", lambda notebook: notebook.metadata.book.outputs_of)
    other, counts, raises, dies = sentences(run_solution(path, 60))
    assert other.startswith('the cell "other": ') and "text/plain" in other
    assert counts.startswith('the cell "counts": ') and "4 heads" in counts
    assert raises.startswith('the cell "raises": ') and "ZeroDivisionError" in raises
    assert dies.startswith('the cell "dies": ')


ENDS = {
    "raises": ("1 / 0", "raised ZeroDivisionError"),
    "kills the kernel": ("import os; os._exit(1)", "ended the kernel"),
    "never ends": ("while True: pass", "did not end within 3 seconds"),
}


@pytest.mark.parametrize("code, words", ENDS.values(), ids=ENDS)
def test_a_chapter_that_does_not_reach_its_end_names_the_cell(own_copy, code, words):
    edit(own_copy.chapter("05_tiny"), "measure", source=code)
    (sentence,) = sentences(run_shipped(own_copy.chapter("05_tiny"), 3))
    assert sentence.startswith(f'the cell "measure" {words}')


def test_a_solution_that_never_ends_names_the_cell(own_copy, monkeypatch):
    monkeypatch.setattr(run, "outputs_depend_on", lambda notebook: notebook.metadata.book.outputs_of)
    edit(own_copy.solution("05_tiny"), "measure", source="while True: pass")
    assert sentences(run_solution(own_copy.solution("05_tiny"), 3))[0].startswith('the cell "measure": ')


def test_a_grade_that_says_nothing_of_a_missing_answer_is_a_problem(own_copy):
    edit(own_copy.chapter("05_tiny"), "halve-grade", source="None")
    (sentence,) = sentences(run_shipped(own_copy.chapter("05_tiny"), 60))
    assert sentence.startswith('the cell "halve-grade" says nothing')


def test_a_notebook_that_was_not_built_is_one_sentence(book):
    shelf = book("")
    for ran in (run_solution(shelf.solution("05_tiny"), 60), run_shipped(shelf.chapter("05_tiny"), 60)):
        assert sentences(ran) == ["it has not been built: run `book build`."]


@pytest.mark.parametrize(
    "text, reference, same",
    [
        ("loss 0.431", "loss 0.432", True),
        ("loss 0.431", "loss 0.433", False),
        ("loss 0.431", "gain 0.431", False),
        ("3 heads", "4 heads", False),
        ("-0.0000", "0.0000", True),
        ("[-0.1000, 2.0000]", "[-0.1001,  2.0001]", True),
        ("[-0.1000, 2.0000]", "[2.0000, -0.1000]", False),
        ("1.25e-05", "1.26e-05", True),
        ("1.25e-05", "1.25e-04", False),
        ("1.0 2.0", "1.0", False),
        ("nan", "1.0", False),
        ("12.", "13.", False),
        ("head 1.5", "head 1.6", False),
        ("exercise 05.2", "exercise 05.3", False),
        ("0.32", "0.319", True),
        ("0.3", "0.31", True),
        ("0.3", "0.312", False),
        ("1", "0.999", True),
        ("1", "2", False),
        ("tensor([1., 2.])", "tensor([1.0000, 2.0000])", True),
        ("2.5e6", "2.6e6", False),
        ("|▒░ █| 0.25", "|▒░▓█| 0.25", True),
        ("|▒░ █| 0.25", "|▒░ █| 0.35", False),
        ("------\n0.3", "-----\n0.31", True),
        ("7 tokens", "8 tokens", False),
        ("0.9995", "1.0004", False),
    ],
)
def test_decimals_may_differ_by_one_in_their_last_place(text, reference, same):
    assert near(text, reference) is same
    assert near(reference, text) is same


def test_only_outputs_of_the_same_kind_are_forgiven():
    def stream(name, text):
        return {"output_type": "stream", "name": name, "text": text}

    assert forgive([stream("stdout", "0.01")], [stream("stdout", "0.02")]) == [stream("stdout", "0.02")]
    assert forgive([stream("stdout", "0.01")], [stream("stderr", "0.02")]) == [stream("stdout", "0.01")]
    assert forgive([stream("stdout", "0.01")], []) == [stream("stdout", "0.01")]
