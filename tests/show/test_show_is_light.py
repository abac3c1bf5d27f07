"""Importing and making figures loads neither plotly nor circuitsvis, which take seconds."""

import subprocess
import sys

HEAVY = {"plotly", "circuitsvis", "pandas", "transformer_lens", "transformers", "IPython", "torch"}


def loaded(code):
    out = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys; print(*{{name.split('.')[0] for name in sys.modules}})"],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    return set(out.stdout.split())


def test_the_import_is_light():
    assert not HEAVY & loaded("from utils import show")


def test_making_a_figure_is_light_too():
    made = "from utils import show; repr(show.lines([1], {'f': [1]}, title='t', note='n', x_name='x', y_name='y'))"
    assert not HEAVY & loaded(made)
