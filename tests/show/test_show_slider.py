"""A slider where somebody can move it; the figure alone, as text too, wherever a program runs the cell."""

from pathlib import Path

import pytest
from jupyter_client.manager import run_kernel

from utils import show
from utils.show.display import PLOTLY
from utils.show.problem import ShowProblem

ROOT = Path(__file__).parents[2]
WIDGET = "application/vnd.jupyter.widget-view+json"
CODE = """
from utils import show
def turned(angle):
    return show.bars({"a": angle, "b": 1}, title=f"At {angle}", note="n", x_name="x", y_name="y")
show.slider(turned, [0, 30, 60], name="angle", start=30)
"""
MOVE = "from ipywidgets import Widget; [w for w in Widget.widgets.values() if hasattr(w, 'options')][0].value = 60"

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def run():
    """Run code in a kernel, as a program or as a person would, and give the messages with data that came back."""
    with run_kernel(kernel_name="python3", cwd=str(ROOT)) as client:
        yield lambda code, somebody: list(_answers(client, client.execute(code, allow_stdin=somebody)))


def _answers(client, asked):
    while True:
        message = client.get_iopub_msg(timeout=60)
        kind, content = message["msg_type"], message["content"]
        if message["parent_header"].get("msg_id") != asked:
            continue
        assert kind != "error", content
        if kind == "status" and content["execution_state"] == "idle":
            return
        if "data" in content and not kind.startswith("comm"):
            yield kind, content["data"]


def test_a_program_gets_the_figure_and_a_sentence(run):
    shown = run(CODE, somebody=False)
    texts = [data["text/plain"] for _, data in shown]
    assert texts[0] == "At 30" and texts[2] == "n"
    assert texts[3] == "Run this cell in a notebook to get a slider for angle, from 0 to 60. Shown: angle = 30."
    assert not any(WIDGET in data for _, data in shown)


def test_a_person_gets_a_slider_that_redraws(run):
    shown = run(CODE, somebody=True)
    assert WIDGET in shown[0][1] and [data["text/plain"] for _, data in shown[1:]][0] == "At 30"
    redrawn = [data for kind, data in run(MOVE, somebody=True) if kind == "update_display_data"]
    assert redrawn[0]["text/plain"] == "At 60" and len(redrawn) == 4
    drawing = next(place for place, data in enumerate(redrawn) if PLOTLY in data)
    assert PLOTLY not in redrawn[drawing - 1], "JupyterLab would keep the figure that it has"


def test_a_long_name_is_not_cut_off():
    slider = show.slider(lambda t: show.table([[t]], ["t"], title="t", note="n"), range(3), name="temperature")
    assert slider._widget().style.description_width == "initial"


def test_outside_a_notebook_it_is_text():
    text = str(show.slider(lambda n: show.table([[n]], ["n"], title=f"At {n}", note="n"), range(3), name="n"))
    assert text.startswith("At 0\n") and text.endswith("from 0 to 2. Shown: n = 0.")


@pytest.mark.parametrize("places, start", [([], None), ([1, 2], 3)])
def test_a_start_that_is_no_place_is_refused(places, start):
    with pytest.raises(ShowProblem, match="needs places"):
        show.slider(str, places, name="n", start=start)
