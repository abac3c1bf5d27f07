"""`book build` and `book run` as Typer functions; `utils.cli` mounts them.

Only what a person meets is here: arguments, progress, the table at the end, exit codes. With `--json` one JSON object
goes to standard output and everything else to standard error.
"""

import json
from typing import Annotated

import typer

Chapters = Annotated[
    list[str] | None, typer.Argument(help="Which chapters: 5, 05, 05_attention or a file. All of them when left out.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output, nothing else.")]
Timeout = Annotated[float, typer.Option(help="Seconds that one cell may take.")]


def build(
    chapters: Chapters = None,
    check: Annotated[
        bool, typer.Option("--check", help="Change nothing; list what is not as the source says and exit with 1.")
    ] = False,
    execute: Annotated[
        bool, typer.Option("--execute/--no-execute", help="Run the solutions, or keep outputs of unchanged code.")
    ] = True,
    timeout: Timeout = 600.0,
    as_json: AsJson = False,
) -> None:
    """Make the notebooks of chapters/ and solutions/ from their source, solutions/NN_slug.py.

    The glossary and the list of exercises, which lie beside them, are made anew each time.
    """
    from utils.book.check import check_chapter, strays
    from utils.book.pages import check_pages, write_pages
    from utils.book.progress import progress
    from utils.book.shelf import the_book

    shelf = the_book()
    names = shelf.choose(chapters)
    if check:
        problems = [problem for name in names for problem in check_chapter(shelf, name)]
        problems += [] if chapters else strays(shelf) + check_pages(shelf)
        _tell(problems, {"chapters": names}, as_json, sound="As the source says: " + ", ".join(names))
        return

    from utils.book.build import build_chapter
    from utils.book.problems import SourceProblem

    built, problems = [], []
    with progress(as_json) as begin:
        for name in names:
            try:
                built.append(build_chapter(shelf, name, execute, timeout, begin(name)))
            except SourceProblem as found:
                problems += found.problems
    for one in built:
        what = "changed " + " and ".join(one.changed) if one.changed else "unchanged"
        sizes = f"chapter {one.chapter_bytes / 1000:.0f} KB, solution {one.solution_bytes / 1000:.0f} KB"
        typer.echo(f"{one.chapter}: {what}; {sizes}{'' if one.executed else '; not executed'}", err=as_json)
    pages = []
    try:
        pages = write_pages(shelf)
    except SourceProblem:  # said above, or by the build of the chapter that it is about
        typer.echo("The glossary and the list of exercises wait until every chapter's source can be read.", err=True)
    for page in pages:
        typer.echo(f"{page}: changed", err=as_json)
    _tell(problems, {"built": [vars(one) for one in built], "pages": pages}, as_json)


def run(chapters: Chapters = None, timeout: Timeout = 600.0, as_json: AsJson = False) -> None:
    """Run every solution under nbval and every chapter as it is shipped."""
    from utils.book.seconds import runs
    from utils.book.shelf import the_book

    shelf = the_book()
    ran = []
    for name, kind, one in runs(shelf, shelf.choose(chapters), timeout, as_json):
        ran.append((name, kind, one))
        typer.echo(f"{name} {kind}: {one.cells} cells, {one.seconds:.1f} s, {_result(one)}", err=as_json)
    seconds = sum(one.seconds for _, _, one in ran)
    if not as_json:
        _table(ran, seconds)
    facts: dict[str, dict] = {}
    for name, kind, one in ran:
        facts.setdefault(name, {"chapter": name})[kind.replace(" ", "_")] = _facts(one)
    problems = [problem for _, _, one in ran for problem in one.problems]
    _tell(problems, {"chapters": list(facts.values()), "seconds": round(seconds, 2)}, as_json)


def _facts(one) -> dict:
    return {"cells": one.cells, "seconds": round(one.seconds, 2), "passed": not one.problems}


def _result(one) -> str:
    return f"failed in {len(one.problems)}" if one.problems else "passed"


def _table(ran: list, seconds: float) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table("chapter", "notebook", show_footer=True)
    table.columns[0].footer = "all"
    table.add_column("cells", str(sum(one.cells for _, _, one in ran)), justify="right")
    table.add_column("seconds", f"{seconds:.1f}", justify="right")
    table.add_column("result")
    for name, kind, one in ran:
        table.add_row(name, kind, str(one.cells), f"{one.seconds:.1f}", _result(one))
    Console().print(table)


def _tell(problems: list, facts: dict, as_json: bool, sound: str = "") -> None:
    for problem in problems:
        typer.echo(str(problem), err=True)
    if as_json:
        listed = [{"file": str(p.path.name), "line": p.line, "sentence": p.sentence} for p in problems]
        typer.echo(json.dumps({**facts, "problems": listed}))
    elif sound and not problems:
        typer.echo(sound)
    if problems:
        raise typer.Exit(1)
