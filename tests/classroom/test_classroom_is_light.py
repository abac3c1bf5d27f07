"""Nothing heavy is loaded before it is used: not by the package, not by the help, not by the intake.

The process that hands notebooks out and writes pages lives as long as the class and never computes: torch stays out.
"""

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


@pytest.mark.parametrize("module", ["run", "store", "exports", "feedback", "report", "canvas", "moodle", "sandbox"])
def test_torch_is_not_loaded_where_nothing_is_computed(module):
    report = f"import utils.classroom.{module}, sys; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", report], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_the_names_of_known_errors_are_those_of_the_kinds():
    from utils.classroom.raised import known_errors, known_names

    assert known_names() == set(known_errors())


def test_what_workers_compute_with_is_loaded_once_and_not_by_their_master():
    code = """
import sys
from utils.classroom.run import workers

if __name__ == "__main__":
    with workers(None, 1) as client:
        print([name for name in ("torch", "pandas") if name in sys.modules])
        print(client.submit(eval, "'utils.classroom.preloaded' in __import__('sys').modules").result())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\nTrue\n"
