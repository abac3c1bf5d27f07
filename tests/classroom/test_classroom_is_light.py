"""Nothing heavy is loaded before it is used: not by the package, not by the help, not by the intake."""

import subprocess
import sys

import pytest

HEAVY = ["torch", "transformer_lens", "sqlalchemy", "distributed", "dask", "jinja2", "rich.progress"]


@pytest.mark.parametrize(
    "code",
    [
        "import utils.classroom",
        "import utils.classroom.commands",
        "import utils.classroom.intake; from utils.classroom.known import chapters; chapters()",
        "import utils.classroom.similar, utils.classroom.archives, utils.classroom.marks, utils.classroom.names",
    ],
)
def test_nothing_heavy_is_loaded(code):
    report = f"{code}\nimport sys\nprint([name for name in {HEAVY} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", report], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
