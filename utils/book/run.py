"""Runs the whole book the way its readers meet it: every solution under nbval, every chapter as it is shipped.

A solution must give its stored outputs again (what that means is in `nbval_rules`). A chapter must run from the first
cell to the last with every stub in place: an unwritten answer is answered politely, and nothing raises.
"""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from nbformat import NotebookNode

from utils.book.execute import RunProblem, execute, surroundings
from utils.book.nbval_rules import SAID
from utils.book.notebooks import outputs_depend_on, read_notebook
from utils.book.outputs import COLORS
from utils.book.problems import BuildProblem, Problem

OnCell = Callable[[int, int], None]
DEAD = "Kernel dead on test start"  # what nbval says of every cell after the one that ended the kernel
SANITIZE = Path(__file__).with_name("sanitize.txt")


@dataclass(frozen=True)
class Ran:
    """One notebook's run: code cells that were run, wall-clock seconds, and what went wrong."""

    path: Path
    cells: int
    seconds: float
    problems: tuple[Problem, ...]


def run_solution(path: Path, timeout: float, on_cell: OnCell | None = None) -> Ran:
    """The notebook under nbval, in a pytest of its own."""
    return _timed(path, lambda notebook: _nbval(path, notebook, timeout, on_cell))


def run_shipped(path: Path, timeout: float, on_cell: OnCell | None = None) -> Ran:
    """The chapter from top to bottom with its stubs."""
    return _timed(path, lambda notebook: _as_shipped(path, notebook, timeout, on_cell))


def _timed(path: Path, run: Callable[[NotebookNode], tuple[int, list[str]]]) -> Ran:
    began = time.perf_counter()
    try:
        notebook = read_notebook(path)
        if notebook is None:
            raise BuildProblem("it has not been built: run `book build`.", path)
        cells, sentences = run(notebook)
    except BuildProblem as found:
        cells, sentences = 0, [found.sentence]
    return Ran(path, cells, time.perf_counter() - began, tuple(Problem(path, 0, text) for text in sentences))


def _as_shipped(path: Path, notebook: NotebookNode, timeout: float, on_cell: OnCell | None) -> tuple[int, list[str]]:
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    try:
        execute(notebook, path.parent, timeout, on_cell)
    except RunProblem as stopped:
        return sum(cell.execution_count is not None for cell in code), [str(stopped)]
    silent = [
        f"{_called(following)} says nothing about the answer that was not written: let it show its grade."
        for cell, following in zip(code, code[1:], strict=False)
        if cell.metadata.get("book", {}).get("exercise") and not following.outputs
    ]
    return len(code), silent


def _nbval(path: Path, notebook: NotebookNode, timeout: float, on_cell: OnCell | None) -> tuple[int, list[str]]:
    if notebook.metadata.get("book", {}).get("outputs_of") != outputs_depend_on(notebook):
        return 0, ["its outputs belong to other code or another model: run `book build`."]
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    options = [
        "--nbval", "--nbval-current-env", f"--nbval-sanitize-with={SANITIZE}", f"--nbval-cell-timeout={timeout}",
        "-c", os.devnull, f"--rootdir={path.parent}", "--noconftest", "-q", "--color=no", "--tb=short",
        "-p", "nbval.plugin", "-p", "utils.book.nbval_rules", "-p", "no:cacheprovider",
    ]  # fmt: skip
    with surroundings() as (environment, _):
        environment = {name: value for name, value in environment.items() if not name.startswith("PYTEST_")}
        environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
        command = [sys.executable, "-m", "pytest", *options, str(path)]
        return _watch(command, environment, path.parent, code, on_cell)


def _watch(
    command: list[str], environment: dict[str, str], folder: Path, code: list[NotebookNode], on_cell: OnCell | None
) -> tuple[int, list[str]]:
    """Follow the cells as pytest reports them; what it prints besides explains an end before the last cell."""
    outcomes: dict[int, str] = {}
    texts: dict[int, str] = {}
    said: list[str] = []
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "encoding": "utf-8"}
    with subprocess.Popen(command, env=environment, cwd=folder, **pipes) as pytest:
        listener = threading.Thread(target=lambda: said.extend(pytest.stdout), daemon=True)
        listener.start()
        try:
            for line in pytest.stderr:
                if not line.startswith('{"cell"'):
                    said.append(line)
                    continue
                event = json.loads(line)
                number = event["cell"]
                if outcomes.get(number) != "failed":
                    outcomes[number], texts[number] = event["outcome"], event["text"]
                if on_cell:
                    on_cell(len(outcomes), len(code))
            listener.join()
        except BaseException:
            pytest.terminate()
            raise
    failed = sorted(number for number, outcome in outcomes.items() if outcome == "failed" and DEAD not in texts[number])
    problems = [f"{_called(code[number])}: {_why(texts[number])}" for number in failed]
    if len(outcomes) < len(code) and not problems:
        last = ([line.strip() for line in said if line.strip()] or ["it said nothing"])[-1]
        problems.append(f"nbval ran {len(outcomes)} of {len(code)} cells and stopped ({last}).")
    return len(outcomes), problems


def _why(text: str) -> str:
    """nbval's report as one sentence: what our rules said of a difference, or the last line of what was raised."""
    lines = [line.strip() for line in COLORS.sub("", text).split("\n") if line.strip()]
    for line in lines:
        if line.startswith(SAID):
            return line.removeprefix(SAID)
    if "Traceback:" in lines:
        return f"{lines[-1]}."
    return lines[min(1, len(lines) - 1)].partition(": ")[2] or lines[0]


def _called(cell: NotebookNode) -> str:
    return f'the cell "{cell.metadata.get("book", {}).get("key", cell.get("id", ""))}"'
