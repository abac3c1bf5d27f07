"""The `book grade` command: a class's notebooks in, marks, pages and a report out."""

import json
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from utils.classroom.problems import ClassProblem

FORMATS = ("csv", "gradescope", "junit")
NO_SANDBOX = (
    "Without a sandbox, whatever is in these notebooks runs as you: it can read and change your files, use the network "
    "and write its own marks. Do this only with notebooks that you would run yourself."
)


def grade(
    submissions: Annotated[
        Path,
        typer.Argument(
            help="A folder or an archive with a folder for each student, a download from Canvas or Moodle, nbgrader's "
            "tree, or one notebook."
        ),
    ],
    out: Annotated[Path, typer.Option(help="The folder for marks, pages and the report; it may hold earlier ones.")],
    chapter: Annotated[str | None, typer.Option(help="Only this chapter, as 05.")] = None,
    store: Annotated[
        str | None,
        typer.Option(help="Where marks are kept: the URL of a database. A SQLite file in --out where left out."),
    ] = None,
    scheduler: Annotated[
        str | None, typer.Option(help="The address of a Dask scheduler, as tcp://host:8786. This machine if left out.")
    ] = None,
    workers: Annotated[int | None, typer.Option(min=1, help="Processes on this machine; one for each core.")] = None,
    seed: Annotated[
        int | None,
        typer.Option(min=0, max=2**40, help="Decides the hidden inputs. Drawn once and kept where left out."),
    ] = None,
    points: Annotated[
        Path | None, typer.Option(help="A TOML file of points; an exercise is worth its difficulty otherwise.")
    ] = None,
    canvas: Annotated[
        Path | None, typer.Option(help="A gradebook exported from Canvas; a filled copy is put into --out.")
    ] = None,
    moodle: Annotated[
        Path | None, typer.Option(help="A grading worksheet from Moodle; a filled copy is put into --out.")
    ] = None,
    formats: Annotated[str, typer.Option(help="Which files of marks to write.")] = ",".join(FORMATS),
    no_sandbox: Annotated[
        bool, typer.Option("--no-sandbox", help="Run the notebooks as yourself, with all that you may do.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
) -> None:
    """Grade a class: every notebook in a sandbox, marks in a database, a page for each student and one for you.

    A run that was stopped goes on where it was when it is started again. What has its marks is not graded twice.
    """
    wanted = _formats(formats)
    _sandbox_or_none(no_sandbox)
    from utils.classroom import known
    from utils.classroom.points import Points

    slug = known.choose(chapter) if chapter else None
    worth = Points.from_file(points) if points else Points()
    gradebooks = _Gradebooks(canvas, moodle)
    gradebooks.look()
    _folder(out)
    try:
        figures = _graded(submissions, out, slug, store, scheduler, workers, seed, not no_sandbox, worth, gradebooks,
                          wanted, as_json)  # fmt: skip
    except KeyboardInterrupt:
        typer.echo("Stopped. What is graded is kept: run the same command again, and it goes on.", err=True)
        raise typer.Exit(130) from None
    if as_json:
        print(json.dumps(figures, ensure_ascii=False))
    else:
        _print(figures, out)
    if figures["failed"]:
        raise typer.Exit(1)


@dataclass(frozen=True)
class _Gradebooks:
    """Files of learning platforms that are to be filled."""

    canvas: Path | None
    moodle: Path | None

    def look(self) -> None:
        """Read them once before a long run, so that a wrong path is told at once."""
        from utils.classroom.gradebook import Gradebook

        for path, what in ((self.canvas, "the gradebook from Canvas"), (self.moodle, "the worksheet from Moodle")):
            if path:
                Gradebook(path, what)


def _graded(
    submissions: Path, out: Path, slug: str | None, url: str | None, scheduler: str | None, count: int | None,
    seed: int | None, sandbox: bool, points, gradebooks: _Gradebooks, formats: tuple[str, ...], quiet: bool,
) -> dict:  # fmt: skip
    from utils.classroom import known
    from utils.classroom.intake import Intake
    from utils.classroom.progress import progress
    from utils.classroom.run import GRADER, Setup, grade_class, workers
    from utils.classroom.store import Store, sqlite_url

    began = time.monotonic()
    with Intake(submissions, slug) as intake, Store(url or sqlite_url(out), known.book_version(), seed) as store:
        setup = Setup(store.seed, sandbox, GRADER)
        with progress(intake.total, quiet) as done:
            summary = grade_class(iter(intake), store, lambda: workers(scheduler, count, sandbox), setup, done)
        seconds = time.monotonic() - began
        try:
            written, notes = _write(store, out, points, gradebooks, slug, formats, intake.problems)
        except OSError as why:
            raise ClassProblem(
                f"{why.filename or out} cannot be written ({why.strerror}): "
                "mend that and run again; the marks are kept."
            ) from why
        problems = [*intake.problems, *(sentence for _, sentence in store.problems())]
        return {
            "students": len(intake.students),
            "notebooks": intake.total,
            "graded": summary.graded,
            "kept": summary.kept,
            "crashed": summary.crashed,
            "failed": summary.failed,
            "seconds": round(seconds, 3),
            "problems": problems,
            "notes": notes,
            "written": written,
        }


def _write(
    store, out: Path, points, gradebooks: _Gradebooks, chapter: str | None, formats, problems
) -> tuple[list[str], list[str]]:
    """Everything that people read; gives the paths, and what a teacher should know about them."""
    from utils.classroom import canvas, exports, moodle
    from utils.classroom.feedback import write_feedback
    from utils.classroom.report import teachers_page

    written, notes = [], []
    write_feedback(store, points, out / "feedback")
    (out / "report.html").write_text(teachers_page(store, points, problems), encoding="utf-8")
    written += [str(out / "report.html"), str(out / "feedback")]
    if "csv" in formats:
        exports.write_csv(store, points, out / "marks.csv")
        written.append(str(out / "marks.csv"))
    if "gradescope" in formats:
        exports.write_gradescope(store, points, out / "gradescope")
        written.append(str(out / "gradescope"))
    if "junit" in formats:
        exports.write_junit(store, out / "junit.xml")
        written.append(str(out / "junit.xml"))
    if gradebooks.canvas:
        notes += _told(canvas.fill(store, points, gradebooks.canvas, out / "canvas.csv"), out / "canvas.csv")
        written.append(str(out / "canvas.csv"))
    if gradebooks.moodle:
        notes += _told(moodle.fill(store, points, gradebooks.moodle, out / "moodle.csv", chapter), out / "moodle.csv")
        written.append(str(out / "moodle.csv"))
    return written, notes


def _told(filled, path: Path) -> list[str]:
    """What a teacher should know of a filled gradebook, how much of it was filled first."""
    from utils.grading.text import counted

    return [f"{path} has {counted(filled.rows, 'mark')} of this class.", *filled.notes]


def _formats(text: str) -> tuple[str, ...]:
    wanted = tuple(word.strip() for word in text.split(",") if word.strip())
    for word in wanted:
        if word not in FORMATS:
            raise ClassProblem(f"{word!r} is no format of marks: use {', '.join(FORMATS)}, joined by commas.")
    return wanted


def _sandbox_or_none(no_sandbox: bool) -> None:
    """Refuse where there is no sandbox, unless that was asked for; without one, Linux is still needed."""
    from utils.classroom.sandbox import NEEDS_LINUX, available

    if sys.platform != "linux":
        raise ClassProblem(NEEDS_LINUX)
    if no_sandbox:
        typer.echo(NO_SANDBOX, err=True)
        return

    if why_not := available():
        raise ClassProblem(why_not)


def _folder(out: Path) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as why:
        raise ClassProblem(f"{out} cannot be made ({why.strerror}): give another --out.") from why


def _print(figures: dict, out: Path) -> None:
    from utils.grading.text import one_line

    print(
        f"{figures['students']} students, {figures['notebooks']} notebooks: {figures['graded']} graded now in "
        f"{figures['seconds']:.0f} s, {figures['kept']} kept from before."
    )
    for sentence in [*figures["problems"], *figures["notes"], *figures["failed"]]:
        print(f"  {one_line(sentence)}")
    print(f"The report is {out / 'report.html'}.")
