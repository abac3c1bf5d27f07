"""A line that moves while a class is graded: how many of how many, how fast, how long still.

On standard error, so that standard output stays for results; where that is no terminal, a line now and then instead.
"""

import contextlib
import time
from collections.abc import Callable, Iterator

EVERY = 100  # submissions for each line where there is no terminal


@contextlib.contextmanager
def progress(total: int, quiet: bool = False) -> Iterator[Callable[[bool], None]]:
    """Gives `done(graded)`, to be called for each notebook; `graded` is False for one that had its marks already."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (
        TextColumn("grading"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(compact=True),
        TextColumn("left"),
    )
    began, new, all_done = time.monotonic(), 0, 0
    moving = console.is_terminal and not quiet
    with Progress(*columns, console=console, transient=True, disable=not moving) as bar:
        task = bar.add_task("", total=total, rate="")

        def done(graded: bool) -> None:
            nonlocal new, all_done
            new, all_done = new + graded, all_done + 1
            rate = per_minute(new, time.monotonic() - began)
            bar.update(task, completed=all_done, rate=rate)
            if not quiet and not moving and (all_done % EVERY == 0 or all_done == total):
                console.print(f"{all_done} of {total} {rate}".rstrip(), highlight=False)

        yield done


def per_minute(count: int, seconds: float) -> str:
    """ "231 a minute"; nothing before there is anything to tell."""
    return f"{60 * count / seconds:.0f} a minute" if count and seconds > 0 else ""
