"""The `book audit` and `book progress` commands."""

import json
from typing import Annotated

import typer

from utils.grading.text import counted


def audit(
    chapter: Annotated[int | None, typer.Option(help="Only this chapter's exercises.")] = None,
    exercise: Annotated[list[str] | None, typer.Option(help="Only these exercises, as 05.2.")] = None,
    seed: Annotated[int, typer.Option(help="Decides the fresh inputs that are drawn.")] = 0,
    seeds: Annotated[
        int, typer.Option(min=0, help="Grade each program with so many seeds, from --seed on: no verdict may change.")
    ] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
) -> None:
    """Prove the grader: right programs pass, wrong ones are rejected and named."""
    from utils.exercises import UnknownExercise, all_exercises
    from utils.exercises import exercise as find

    ids = tuple(find(id).id for id in exercise or ())
    if not [one for one in all_exercises(chapter) if not ids or one.id in ids]:
        raise UnknownExercise(f"There is nothing to audit in chapter {chapter}: `book progress` lists every exercise.")
    if seeds:
        _with_seeds(range(seed, seed + seeds), chapter, ids, as_json)
        return
    from utils.grading.audit import audit as run_audit
    from utils.grading.audit import summary

    lines = []
    for line in run_audit(chapter, ids=ids, seed=seed):
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
            f"{counted(figures['exercises'], 'exercise')} · right answers accepted "
            f"{figures['right_accepted']}/{figures['right_total']} · "
            f"wrong answers rejected {figures['wrong_rejected']}/{figures['wrong_total']}, named "
            f"{figures['wrong_named']}/{figures['wrong_total']} · "
            f"stubs polite {figures['stubs_polite']}/{figures['exercises']}"
        )
        for program, others in figures["confused"].items():
            print(f"  {program} gives the same values as {', '.join(others)}")
    if figures["failures"]:
        raise typer.Exit(1)


def _with_seeds(seeds: range, chapter: int | None, ids: tuple[str, ...], as_json: bool) -> None:
    from utils.grading.seeds import over_seeds, summary

    tallies = []
    for found in over_seeds(seeds, chapter, ids):
        tallies += found
        if not as_json:
            odd = [one for one in found if not one.ok]
            print(f"{found[0].exercise}: {counted(len(found), 'answer')}, {len(odd)} not always as wanted", flush=True)
            for one in odd:
                print(f"  {one}", flush=True)
    figures = summary(tallies, seeds)
    if as_json:
        print(json.dumps(figures))
    else:
        print(
            f"{counted(figures['exercises'], 'exercise')}, {counted(len(seeds), 'seed')} · right answers always "
            f"accepted {figures['right_accepted']}/{figures['right_total']} · wrong answers always rejected "
            f"{figures['wrong_rejected']}/{figures['wrong_total']} · "
            f"{counted(figures['by_chance'], 'verdict')} by chance"
        )
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
