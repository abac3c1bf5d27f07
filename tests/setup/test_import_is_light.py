"""`import utils` and `book --help` load nothing heavy; the names that a notebook imports are all there."""

import subprocess
import sys

import pytest

import utils

HEAVY = ["torch", "transformer_lens", "transformers", "plotly", "circuitsvis", "jupytext", "sqlalchemy", "pandas"]


def loaded_after(code):
    """Which heavy modules a new Python has loaded after `code`."""
    report = f"\nimport sys\nprint([name for name in {HEAVY} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code + report], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()[-1]


@pytest.mark.parametrize(
    "code",
    [
        "import utils",
        "from utils.reference import chosen; chosen()",
        "from utils.cli import make_app\nfrom typer.testing import CliRunner\n"
        "assert CliRunner().invoke(make_app(None), ['--help']).exit_code == 0",
    ],
    ids=["import utils", "the choice of reference", "book --help"],
)
def test_nothing_heavy_is_loaded(code):
    assert loaded_after(code) == "[]"


def test_the_probe_sees_what_is_loaded():
    assert loaded_after("import torch") == "['torch']"


@pytest.mark.parametrize("name", utils.__all__)
def test_every_public_name_is_there(name):
    assert getattr(utils, name) is not None
    assert name in dir(utils)


def test_another_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'grades'; it has device, grade"):
        utils.grades  # noqa: B018


@pytest.mark.parametrize(
    "code",
    [
        "from utils import reference",
        "import utils.reference; from utils import reference",
        "from utils.reference import tokenizer; from utils import reference",
        "from utils.reference import reference",
        "from utils import reference; from utils.reference.loading import check; from utils import reference",
    ],
)
def test_reference_can_be_called_however_it_was_imported(code):
    names = {}
    exec(code, names)
    with pytest.raises(Exception, match="is not a reference model"):
        names["reference"]("gpt3")
