"""How long each chapter takes, beside the floor that every notebook pays: a kernel that starts and imports torch."""

import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import nbformat

from utils.book.execute import execute
from utils.book.progress import progress
from utils.book.run import Ran, run_shipped, run_solution
from utils.book.shelf import Shelf

TIMEOUT = 600.0  # seconds that a cell may take


def floor(runs: int = 3) -> float:
    """Seconds for a notebook with the one cell `import torch`, the median of some runs."""
    taken = []
    for _ in range(runs):
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("import torch")])
        began = time.perf_counter()
        with tempfile.TemporaryDirectory(prefix="book-") as folder:
            execute(notebook, Path(folder), TIMEOUT)
        taken.append(time.perf_counter() - began)
    return statistics.median(taken)


def runs(shelf: Shelf, names: Sequence[str], timeout: float, quiet: bool) -> Iterator[tuple[str, str, Ran]]:
    """(chapter, "solution" or "as shipped", what its run gave) as each one ends, with a line of progress meanwhile."""
    with progress(quiet) as begin:
        for name in names:
            yield name, "solution", run_solution(shelf.solution(name), timeout, begin(f"{name} solution"))
            yield name, "as shipped", run_shipped(shelf.chapter(name), timeout, begin(f"{name} as shipped"))


def by_chapter(shelf: Shelf, names: Sequence[str], quiet: bool = False) -> dict:
    """The figures for `book bench`: {"floor": …, "chapters": {name: {"solution": …, "as_shipped": …}}, "total": …}.

    `failed` names the runs that `book run` would find fault with: their seconds may be those of a part.
    """
    lowest, chapters, failed, total = floor(), {}, [], 0.0
    for name, kind, ran in runs(shelf, names, TIMEOUT, quiet):
        chapters.setdefault(name, {})[kind.replace(" ", "_")] = round(ran.seconds, 1)
        total += ran.seconds
        failed += [f"{name} {kind}"] if ran.problems else []
    return {"floor": round(lowest, 1), "chapters": chapters, "total": round(total, 1), "failed": failed}
