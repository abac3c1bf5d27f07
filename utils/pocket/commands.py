"""`book pocket`: train, evaluate, export and sample, with nothing of its own but options, bars and tables."""

import json
import time
from pathlib import Path

import typer

app = typer.Typer(no_args_is_help=True, help="Train and measure the small model that is shipped with the book.")

DEFAULT_TOKENS = 28_000_000
_SHARED = {"folder": "Where checkpoints are kept (default: the book's cache)."}


@app.command()
def train(
    minutes: float | None = typer.Option(None, help="Stop after so many; the learning rate falls in the last quarter."),
    tokens: int | None = typer.Option(None, help=f"Stop after so many (default {DEFAULT_TOKENS:,})."),
    resume: bool = typer.Option(True, "--resume/--fresh", help="Go on from the last checkpoint, or start anew."),
    out: Path | None = typer.Option(None, help=_SHARED["folder"]),
    seed: int = typer.Option(1, help="Decides the first weights and all that is read."),
) -> None:
    """Train the pocket model on the story world; go on from the last checkpoint if there is one."""
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

    from utils.pocket import train as training

    folder = out or training.training_folder()
    budget = training.Budget(tokens or (None if minutes else DEFAULT_TOKENS), minutes and minutes * 60)
    run = training.open_run(folder, resume, seed, budget)
    columns = (BarColumn(), TaskProgressColumn(), TextColumn("{task.description}"))
    with Progress(*columns) as bar:
        task = bar.add_task("starting", total=1.0)
        speed = training.Speed(run.tokens)

        def report(losses: dict[str, float], done: float) -> None:
            speed.count(run.tokens)
            text = "  ".join(f"{kind} {loss:.3f}" for kind, loss in sorted(losses.items()))
            left = speed.left(done)
            bar.update(task, completed=done, description=f"loss {text}  {speed.rate:,.0f} tokens/s  {left} left")

        training.train(run, budget, folder, report)
    typer.echo(f"{run.tokens:,} tokens in {run.steps:,} steps. The checkpoint is {folder / training.LATEST}.")
    typer.echo("`book pocket export` makes them the shipped weights.")


@app.command()
def evaluate(
    json_: bool = typer.Option(False, "--json", help="Print one JSON object and nothing else."),
    folder: Path | None = typer.Option(None, help="Weights to measure (default: those shipped)."),
) -> None:
    """Measure the shipped weights on held-out text and show each figure beside the one to reach."""
    from utils.pocket.evaluate import BARS, reaches
    from utils.pocket.evaluate import evaluate as measure

    figures = measure(folder)
    if json_:
        typer.echo(json.dumps(figures))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table("figure", "measured", "to reach", "")
    for name, value in figures.items():
        relation, bar = BARS[name]
        shown = f"{value:.4f}" if isinstance(value, float) else f"{value:,}" if type(value) is int else str(value)
        table.add_row(name, shown, f"{relation} {bar}", "yes" if reaches(name, value) else "NO")
    Console().print(table)


@app.command()
def export(
    checkpoint: Path | None = typer.Argument(None, help="A checkpoint (default: the last one)."),
    out: Path | None = typer.Option(None, help="Folder to write (default: the package's own)."),
) -> None:
    """Write a checkpoint as float16 weights in the Hugging Face layout, with its loss curve."""
    from utils.paths import pocket_dir
    from utils.pocket.run import load_run
    from utils.pocket.train import LATEST, training_folder, write_curve
    from utils.pocket.weights import export as write

    run, folder = load_run(checkpoint or training_folder() / LATEST), out or pocket_dir()
    size = write(run.model, run.vocabulary, folder)
    write_curve(run, folder / "training.json")
    typer.echo(f"{size:,} bytes in {folder}, after {run.tokens:,} tokens.")


@app.command()
def sample(
    prompt: str = typer.Argument("Once upon a time", help="What to write on from."),
    n: int = typer.Option(1, min=1, help="How many continuations."),
    length: int = typer.Option(200, min=1, help="At most so many tokens."),
    temperature: float = typer.Option(0.7, min=0.0, help="0 takes the likeliest token each time."),
    seed: int | None = typer.Option(None, help="The same seed writes the same (default: by the clock)."),
) -> None:
    """Let the shipped weights write."""
    from utils.pocket.sampling import continue_texts
    from utils.pocket.weights import load

    model, vocabulary = load()
    seed = time.time_ns() if seed is None else seed
    for text in continue_texts(model, vocabulary, [prompt] * n, length, temperature, seed % 2**62):
        typer.echo(prompt + text + "\n")
