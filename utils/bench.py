"""`book bench`: the figures that the book promises, measured on this machine and printed; nothing here is a test.

Times are medians of several runs, so that one slow moment does not count; imports are timed in new processes. Whole
notebooks are run once: their minutes are long enough.
"""

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Annotated, Any

import typer

from utils.paths import chapters_dir, solutions_dir


def bench(
    what: Annotated[
        str, typer.Argument(help="book: imports, grading and notebooks. class: grading a class, beside nbgrader.")
    ] = "book",
    chapter: Annotated[int | None, typer.Option(help="Only this chapter's exercises and notebooks.")] = None,
    run: Annotated[
        bool, typer.Option("--run/--no-run", help="Run the notebooks too, which takes minutes for the whole book.")
    ] = True,
    students: Annotated[int, typer.Option(min=100, help="How many submissions the class hands in.")] = 1000,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
) -> None:
    """Measure what the book promises about speed and size."""
    if what not in ("book", "class"):
        raise typer.BadParameter(f"There is nothing called {what} to measure: say book or class.")
    if what == "class":
        from utils.classroom.bench import measure

        _print(measure(students), as_json)
        return
    figures = {"imports": imports(), "grading": grading(chapter), "notebooks": notebooks(chapter)}
    if run:
        figures["seconds"] = seconds(chapter, as_json)
    if as_json:
        print(json.dumps(figures))
        return
    for part, values in figures.items():
        if part == "seconds":
            print_seconds(values)
            continue
        print(part)
        for name, value in values.items():
            print(f"  {name:40} {value}")


def _print(figures: dict[str, Any], as_json: bool) -> None:
    print(json.dumps(figures) if as_json else "\n".join(f"{name:32} {value}" for name, value in figures.items()))


def imports(runs: int = 7) -> dict[str, Any]:
    """Seconds that `import torch` and `import utils` cost in a new process, taken in turn."""
    seconds: dict[str, list[float]] = {"torch": [], "utils": []}
    for _ in range(runs):
        for name, taken in seconds.items():
            code = f"import time; start = time.perf_counter(); import {name}; print(time.perf_counter() - start)"
            done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
            taken.append(float(done.stdout))
    torch, utils = statistics.median(seconds["torch"]), statistics.median(seconds["utils"])
    return {"torch_seconds": round(torch, 3), "utils_seconds": round(utils, 3), "ratio": round(utils / torch, 3)}


def grading(chapter: int | None = None, runs: int = 5) -> dict[str, Any]:
    """Milliseconds of grading each solution, and of naming each wrong answer, once the reference is loaded."""
    from utils.exercises import all_exercises
    from utils.grading.checking import check
    from utils.reference import reference

    model, loading = _timed(reference)
    _, again = _timed(reference)
    right, wrong = {}, {}
    for exercise in all_exercises(chapter):
        check(exercise.id, exercise.solution, model)
        right[exercise.id] = 1000 * statistics.median(
            _timed(check, exercise.id, exercise.solution, model)[1] for _ in range(runs)
        )
        for program in exercise.wrongs:
            wrong[f"{exercise.id} {program.key}"] = 1000 * _timed(check, exercise.id, program.answer, model)[1]
    slowest, slowest_wrong = max(right, key=right.get), max(wrong, key=wrong.get)
    return {
        "reference_first_seconds": round(loading, 2),
        "reference_again_seconds": round(again, 4),
        "exercises": len(right),
        "right_median_ms": round(statistics.median(right.values()), 1),
        "right_worst_ms": round(right[slowest], 1),
        "right_worst": slowest,
        "wrong_programs": len(wrong),
        "wrong_median_ms": round(statistics.median(wrong.values()), 1),
        "wrong_worst_ms": round(wrong[slowest_wrong], 1),
        "wrong_worst": slowest_wrong,
    }


def notebooks(chapter: int | None = None) -> dict[str, Any]:
    """Sizes of the notebooks in kilobytes."""
    pattern = "*.ipynb" if chapter is None else f"{chapter:02}_*.ipynb"
    sizes = {}
    for folder in (chapters_dir(), solutions_dir()):
        for path in sorted(folder.glob(pattern)):
            sizes[f"{folder.name}/{path.name}"] = round(path.stat().st_size / 1000, 1)
    return sizes


def seconds(chapter: int | None = None, quiet: bool = False) -> dict[str, Any]:
    """Seconds that each chapter's two notebooks take, and the floor: a kernel that starts and imports torch."""
    from utils.book.seconds import by_chapter
    from utils.book.shelf import the_book

    shelf = the_book()
    return by_chapter(shelf, shelf.choose(None if chapter is None else [str(chapter)]), quiet)


def print_seconds(figures: dict[str, Any]) -> None:
    """The table of seconds by chapter; the last column is both runs less what any two notebooks would take."""
    from rich.console import Console
    from rich.table import Table

    floor = figures["floor"]
    table = Table(title="seconds by chapter", show_footer=True)
    table.add_column("chapter", "all")
    sums = [sum(taken[kind] for taken in figures["chapters"].values()) for kind in ("solution", "as_shipped")]
    above = figures["total"] - 2 * floor * len(figures["chapters"])
    for name, value in zip(("solution", "as shipped", "both, above the floor"), (*sums, above), strict=True):
        table.add_column(name, f"{value:.1f}", justify="right")
    table.add_row("floor: import torch", f"{floor:.1f}", f"{floor:.1f}", "0.0")
    for name, taken in figures["chapters"].items():
        both = taken["solution"] + taken["as_shipped"] - 2 * floor
        table.add_row(name, f"{taken['solution']:.1f}", f"{taken['as_shipped']:.1f}", f"{both:.1f}")
    Console().print(table)
    if figures["failed"]:
        print(f"Failed, so perhaps cut short: {', '.join(figures['failed'])}; `book run` says why.")


def _timed(call: Callable, *args: Any) -> tuple[Any, float]:
    start = time.perf_counter()
    result = call(*args)
    return result, time.perf_counter() - start
