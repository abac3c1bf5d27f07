"""A line that moves while a chapter runs: which chapter, which cell of how many. On standard error, so that standard
output stays for results; still on a terminal only, and silent elsewhere except for one line a chapter.
"""

import contextlib
from collections.abc import Callable, Iterator


@contextlib.contextmanager
def progress(quiet: bool = False) -> Iterator[Callable[[str], Callable[[int, int], None]]]:
    """Gives `begin(name)`, which gives `on_cell(done, total)`."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("cells"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True, disable=quiet or not console.is_terminal) as bar:

        def begin(name: str) -> Callable[[int, int], None]:
            if not quiet and not console.is_terminal:
                console.print(f"{name} …", highlight=False)
            task = bar.add_task(name, total=None)
            return lambda done, total: bar.update(task, completed=done, total=total)

        yield begin
