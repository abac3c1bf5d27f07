"""A notebook executed for the book: the drawing code once, three outputs a plotly figure, the same twice over."""

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from utils.show.display import PLOTLY

ROOT = Path(__file__).parents[2]
HEADS = "show.heads([[[1, 0], [0.5, 0.5]]], ['a', ' b'], title='Heads {}', note='See.')"
CELLS = [
    "from utils import show",
    HEADS.format(1),
    HEADS.format(2),
    "show.bars({'a': 1, 'b': 2}, title='Bars', note='b is larger.', x_name='label', y_name='value')",
    f"display({HEADS.format(3)}, {HEADS.format(4)})",
]
CARRIED = "DecompressionStream"


@pytest.fixture(scope="module")
def executed():
    """The notebook's outputs by cell, executed twice."""

    def run():
        cells = [nbformat.v4.new_code_cell(code, id=f"cell-{place}") for place, code in enumerate(CELLS)]
        notebook = nbformat.v4.new_notebook(cells=cells)
        client = NotebookClient(notebook, record_timing=False, resources={"metadata": {"path": str(ROOT)}}, timeout=120)
        client.execute()
        return [cell.outputs for cell in notebook.cells]

    return run(), run()


pytestmark = pytest.mark.slow


def test_the_first_attention_figure_carries_the_drawing_code_and_no_other(executed):
    outputs, _ = executed
    assert [[CARRIED in output.data.get("text/html", "") for output in cell] for cell in outputs] == [
        [], [True], [False], [False] * 3, [False] * 2,
    ]  # fmt: skip


def test_a_plotly_figure_is_title_drawing_and_note(executed):
    title, drawing, note = executed[0][3]
    assert (title.data["text/plain"], note.data["text/plain"]) == ("Bars", "b is larger.")
    assert list(drawing.data) == [PLOTLY, "text/plain"] and "██ 2" in drawing.data["text/plain"]
    assert "The figure as text" in note.data["text/html"]


def test_two_runs_are_the_same(executed):
    assert executed[0] == executed[1]


def test_the_notebook_is_small(executed):
    assert len(str(executed[0])) < 550_000
