"""`book doctor`: what an installation needs, checked one by one, each answered in a sentence.

It looks, it never mends: every sentence about something wrong says what to run. Checks are independent, so that one
missing package does not hide the next problem. What it prints is what a person who is asked for help would ask for.
The checks themselves are in `doctor_checks`.
"""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass

import typer

from utils.doctor_checks import CHECKS, Note, repair
from utils.errors import BookError


@dataclass(frozen=True)
class Finding:
    """One answer: which check, whether all is well, and the sentence to show. A `note` is not well and no fault."""

    check: str
    ok: bool
    sentence: str
    note: bool = False


def doctor(as_json: bool = typer.Option(False, "--json", help="Print one JSON object and nothing else.")) -> None:
    """Check the installation and say what is wrong. Exits with 1 when something is.

    Send what it prints to whoever helps you.
    """
    findings = examine()
    if as_json:
        well = all(finding.ok for finding in findings)
        typer.echo(json.dumps({"ok": well, "findings": [asdict(finding) for finding in findings]}))
    else:
        width = max(len(finding.check) for finding in findings)
        for finding in findings:
            state = "note " if finding.note else "well " if finding.ok else "WRONG"
            typer.echo(f"{state}  {finding.check.ljust(width)}  {finding.sentence}")
    if not all(finding.ok for finding in findings):
        raise typer.Exit(1)


def examine() -> list[Finding]:
    """Run every check, in order."""
    return [_examined(name, check) for name, check in CHECKS.items()]


def _examined(name: str, check: Callable[[], str]) -> Finding:
    try:
        return Finding(name, True, check())
    except Note as note:
        return Finding(name, True, str(note), note=True)
    except BookError as problem:
        return Finding(name, False, str(problem))
    except (ImportError, OSError) as problem:  # a package that is missing, or whose libraries are
        return Finding(name, False, f"{problem}. {repair()}")
