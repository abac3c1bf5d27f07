"""The `book audit` and `book progress` commands."""

import json
from typing import Annotated

import typer


def audit(
    chapter: Annotated[int | None, typer.Option(help="Only this chapter's exercises.")] = None,
    exercise: Annotated[list[str] | None, typer.Option(help="Only these exercises, as 05.2.")] = None,
    seed: Annotated[int, typer.Option(help="Of the fresh inputs.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
) -> None:
    """Prove the grader: right programs pass, wrong ones are rejected and named."""
    from utils.grading.audit import audit as run_audit
    from utils.grading.audit import summary

    lines = []
    for line in run_audit(chapter, ids=tuple(exercise or ()), seed=seed):
        lines.append(line)
        if not as_json and not line.ok:
            print(
                (
                    f"{line.exercise} {line.kind} {line.program}: {line.stage}, named "
                    f"{', '.join(line.named) or 'nothing'}. {line.message}"
                ),
                flush=True,
            )
    figures = summary(lines)
    if as_json:
        print(json.dumps(figures))
    else:
        print(
            f"{figures['exercises']} exercises · right answers accepted "
            f"{figures['right_accepted']}/{figures['right_total']} · "
            f"wrong answers rejected {figures['wrong_rejected']}/{figures['wrong_total']}, named "
            f"{figures['wrong_named']}/{figures['wrong_total']} · "
            f"stubs polite {figures['stubs_polite']}/{figures['exercises']}"
        )
        for program, others in figures["confused"].items():
            print(f"  {program} gives the same values as {', '.join(others)}")
    if figures["failures"]:
        raise typer.Exit(1)


def progress(
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object: every exercise and attempt.")] = False,
) -> None:
    """Show which exercises you have solved."""
    from utils.grading.overview import Progress, standings
    from utils.grading.store import attempts, hints_taken, notice, store_path

    tried = attempts()
    found = Progress(standings(tried, hints_taken()), notice() or "")
    if as_json:
        print(json.dumps({"file": str(store_path()), **found.as_json(tried)}, ensure_ascii=False))
    else:
        print(found)


if __name__ == "__main__":
    typer.run(audit)
