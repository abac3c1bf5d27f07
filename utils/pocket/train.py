"""How long the pocket model trains, what is kept on the way, and the loss curve that chapter 08 shows.

The learning rate warms up, stays, and falls over the last quarter (warm-up, stable, decay). The checkpoint from just
before it falls is kept as well, so that a longer run goes on from there, not from the end. Left out: several machines,
and searching for settings.
"""

import ctypes
import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import torch

from utils.paths import cache_dir
from utils.pocket.run import PocketProblem, Run, Settings, load_run, save_checkpoint
from utils.pocket.vocabulary import world_vocabulary

LATEST, STABLE = "latest.pt", "stable.pt"
SECONDS_BETWEEN_CHECKPOINTS = 180
CURVE_POINTS = 600


@dataclass
class Budget:
    """How long to train: so many tokens in all, so many seconds once it begins, or whichever ends first."""

    tokens: int | None = None
    seconds: float | None = None
    start: float = field(default_factory=time.monotonic)

    def done(self, run: Run) -> float:
        """The share of the run that lies behind; 1 or more when it is over."""
        by_tokens = run.tokens / self.tokens if self.tokens else 0.0
        by_time = (time.monotonic() - self.start) / self.seconds if self.seconds else 0.0
        return max(by_tokens, by_time)


class Speed:
    """Tokens a second over the last steps, and the time left."""

    def __init__(self, tokens: int):
        self.start = self.last = time.monotonic()
        self.tokens, self.rate, self.first_done = tokens, 0.0, None

    def count(self, tokens: int) -> None:
        now = time.monotonic()
        latest = (tokens - self.tokens) / max(now - self.last, 1e-9)
        self.rate = 0.95 * self.rate + 0.05 * latest if self.rate else latest
        self.tokens, self.last = tokens, now

    def left(self, done: float) -> str:
        """The time left, as minutes and seconds, from the share done since counting began."""
        if self.first_done is None:
            self.first_done, self.start = done, self.last
        gained = done - self.first_done
        if gained <= 0:
            return "--:--"
        seconds = max(0.0, (1 - done) / gained * (self.last - self.start))
        return f"{int(seconds // 60)}:{int(seconds % 60):02}"


def training_folder() -> Path:
    """Where checkpoints are kept unless another folder is named."""
    return cache_dir() / "training"


def open_run(folder: Path, resume: bool, seed: int, budget: Budget) -> Run:
    """The run to go on with: a new one, the latest checkpoint, or the one from before the learning rate fell.

    Raises:
        PocketProblem: the checkpoint cannot be used, or was made with another seed.
    """
    device = "cuda" if torch.cuda.is_available() else "cpu"
    if not resume or not (folder / LATEST).exists():
        return Run(Settings(seed=seed), world_vocabulary(), device)
    run = load_run(folder / LATEST, device)
    if run.settings.seed != seed:
        raise PocketProblem(
            f"The checkpoint in {folder} was made with seed {run.settings.seed}, not {seed}: "
            "use that seed, `--fresh`, or another folder with `--out`."
        )
    if run.fell and run.factor(budget.done(run)) == 1 and (folder / STABLE).exists():
        run.close()
        run = load_run(folder / STABLE, device)
    return run


def train(run: Run, budget: Budget, folder: Path, report: Callable[[dict[str, float], float], None]) -> None:
    """Train until the budget is spent; `report` gets each step's losses by kind and the share done.

    An interrupt (Ctrl-C) leaves the last finished step in the checkpoint.
    """
    keep_memory()
    budget.start = saved = time.monotonic()
    try:
        while (done := budget.done(run)) < 1:
            if not run.fell and run.steps >= run.settings.warmup_steps and run.factor(done) < 1:
                save_checkpoint(run, folder / STABLE)
            report(run.step(done), done)
            if time.monotonic() - saved > SECONDS_BETWEEN_CHECKPOINTS:
                save_checkpoint(run, folder / LATEST)
                saved = time.monotonic()
    except KeyboardInterrupt:
        raise PocketProblem("Interrupted; `book pocket train` goes on from the last checkpoint.") from None
    finally:
        run.close()
    save_checkpoint(run, folder / LATEST)


def keep_memory() -> None:
    """Ask the C library to keep freed memory: getting it anew from the system costs a tenth of the training time."""
    if sys.platform == "linux":
        mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # not every C library has it
        if mallopt is not None:
            mallopt(-3, 1 << 30)  # M_MMAP_THRESHOLD
            mallopt(-1, 2**31 - 1)  # M_TRIM_THRESHOLD


def write_curve(run: Run, file: Path) -> None:
    """The loss curve and the last settings as JSON: means over equal stretches of steps, at most CURVE_POINTS of them.

    `rate_share` is what the peak learning rates were multiplied with; a loss is null where a stretch had none of it.
    """
    from dataclasses import asdict

    size = -(-len(run.curve) // CURVE_POINTS)
    points = []
    for start in range(0, len(run.curve), size):
        part = run.curve[start : start + size]
        point = {"step": part[-1]["step"], "tokens": part[-1]["tokens"], "rate_share": round(part[-1]["rate"], 5)}
        for kind in ("text", "repeat", "echo"):
            losses = [entry[kind] for entry in part if kind in entry]
            point[kind] = round(sum(losses) / len(losses), 4) if losses else None
        points.append(point)
    content = {
        "last_settings": asdict(run.settings),
        "tokens": run.tokens,
        "steps": run.steps,
        "parameters": sum(parameter.numel() for parameter in run.model.parameters()),
        "curve": points,
    }
    file.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
