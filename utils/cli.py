"""The `book` command: one table of what there is, and nothing loaded but the command that was asked for.

Each command lives with the job it does. `book --help` lists them from the table, so it never waits for PyTorch. A
`BookError` is printed as its one sentence; any other exception is a fault of the book's and keeps its traceback.
"""

import sys
from importlib import import_module

import typer

import utils
from utils.errors import BookError

COMMANDS = {  # name → module, attribute, summary
    "lab": ("utils.lab", "lab", "Open the chapters in JupyterLab."),
    "start": ("utils.start", "start", "Copy the chapters into a folder of your own."),
    "reference": ("utils.reference.commands", "reference", "Show or choose the model that answers are compared with."),
    "progress": ("utils.grading.commands", "progress", "Show which exercises you have solved."),
    "doctor": ("utils.doctor", "doctor", "Check the installation and say what is wrong."),
    "build": ("utils.book.commands", "build", "Make the notebooks of chapters and solutions from their sources."),
    "run": ("utils.book.commands", "run", "Run every chapter and every solution."),
    "grade": ("utils.classroom.commands", "grade", "Grade a class: marks, pages for the students, a report for you."),
    "site": ("utils.book.site.command", "site", "Make a static site of the book."),
    "audit": ("utils.grading.commands", "audit", "Prove that the grader knows right answers from wrong ones."),
    "bench": ("utils.bench", "bench", "Measure what the book promises about speed and size."),
    "pocket": ("utils.pocket.commands", "app", "Train and measure the small model that is shipped with the book."),
}

# Whom a command is for, as `book --help` groups them.
FOR = {
    "To learn": ("lab", "start", "progress", "reference", "doctor"),
    "To teach": ("grade", "site"),
    "To make the book": ("build", "run", "audit", "bench", "pocket"),
}


def main() -> None:
    """The console script."""
    asked = next((word for word in sys.argv[1:] if not word.startswith("-")), None)
    try:
        make_app(asked)(prog_name="book")
    except BookError as problem:
        typer.echo(str(problem), err=True)
        sys.exit(1)


def make_app(asked: str | None) -> typer.Typer:
    """The whole command line, with the code of the command `asked` for behind its name and none behind the others."""
    app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False)
    app.callback()(_book)
    for panel, name in [(panel, name) for panel, names in FOR.items() for name in names]:
        module, attribute, summary = COMMANDS[name]
        command = getattr(import_module(module), attribute) if name == asked else _listed_only
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=name, help=summary, rich_help_panel=panel)
        else:
            own = None if name == asked else summary
            app.command(name, help=own, short_help=summary, rich_help_panel=panel)(command)
    return app


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(utils.__version__)
        raise typer.Exit()


def _book(
    version: bool = typer.Option(False, "--version", help="Print the version.", is_eager=True, callback=_print_version),
) -> None:
    """An exercise book on GPT-2: read a chapter, write each part, and see at once whether it agrees with the model."""


def _listed_only() -> None:
    raise AssertionError("a command that was not asked for was run")
