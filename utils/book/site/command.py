"""`book site` as a Typer function; `utils.cli` mounts it."""

import json
import time
from pathlib import Path
from typing import Annotated

import typer


def site(
    out: Annotated[Path, typer.Option("--out", help="The folder to make; a site that is there is replaced.")],
    chapters: Annotated[
        bool, typer.Option("--chapters", help="Publish the chapters as learners get them, without answers.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output.")] = False,
) -> None:
    """Make a static site of the solutions, or with --chapters of the chapters: pages that need no network."""
    from utils.book.shelf import the_book
    from utils.book.site.build import build_site

    began = time.perf_counter()
    typer.echo("Making the pages; this takes about half a minute …", err=True)
    made = build_site(the_book(), out, chapters)
    for warning in made.warnings:
        typer.echo(warning, err=True)
    seconds = time.perf_counter() - began
    if as_json:
        facts = {"folder": str(out), "pages": made.pages, "bytes": made.size, "seconds": round(seconds, 1)}
        typer.echo(json.dumps({**facts, "warnings": list(made.warnings)}))
        return
    typer.echo(f"{made.pages} pages, {made.size / 1e6:.1f} MB, in {seconds:.0f} s: open {out / 'index.html'}.")
