"""`book reference`: show, choose and, for GPT-2 small, fetch the model that answers are compared with.

A choice is stored only after its weights were found to be there and whole, so it cannot be a promise that the next
notebook breaks.
"""

import json

import typer

from utils.reference.choice import KINDS, choose, chosen, known
from utils.reference.problems import ReferenceProblem


def reference(
    kind: str = typer.Argument(None, help=f"{', '.join(KINDS)}, or the folder of a model. Left out: show the choice."),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object and nothing else."),
) -> None:
    """Show or choose the model that answers are compared with. `gpt2` is fetched once if it is not here yet."""
    if kind is not None:
        _make_ready(known(kind))
        choose(kind)
    now = chosen()
    if as_json:
        typer.echo(json.dumps({"reference": now, "kinds": list(KINDS), "changed": kind is not None}))
    else:
        typer.echo(f"The reference is {now}: {KINDS.get(now, 'the model in that folder')}.")


def _make_ready(kind: str) -> None:
    """Fetch or prepare what `kind` needs, and check it.

    Raises:
        ReferenceProblem: its weights are missing or broken, or cannot be fetched.
    """
    from utils.reference.folders import cached_gpt2, fetch_gpt2
    from utils.reference.loading import check
    from utils.reference.modern import smollm2_folder

    if kind == "gpt2":
        found = cached_gpt2()
        if found is None or _is_broken(kind):
            fetch_gpt2(again=found is not None)
    if kind == "smollm2":
        smollm2_folder()
    check(kind)


def _is_broken(kind: str) -> bool:
    from utils.reference.loading import check

    try:
        check(kind)
    except ReferenceProblem:
        return True
    return False
