"""A training run and its checkpoints: everything that decides the next step, and nothing about how long to go on.

What is read follows from the settings and the place in the data, and the optimizers' state is kept, so a run that was
interrupted has the losses it would have had. `train.py` holds the schedule's length, the loop and what is shown.
"""

import os
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path
from pickle import UnpicklingError

import torch

from utils.errors import BookError
from utils.paths import writable
from utils.pocket.data import SHARD_DOCUMENTS, echo_piece, repeat_piece, shard_documents, text_pieces
from utils.pocket.model import Pocket, Shape, init_weights
from utils.pocket.optimize import Piece, Stepper
from utils.pocket.vocabulary import Vocabulary


class PocketProblem(BookError):
    """Training or measuring the pocket model cannot go on for a reason that a person can mend."""


@dataclass(frozen=True)
class Settings:
    """What decides a run, its length apart.

    The first `echo_tokens` are echoes alone, so that previous-token heads form in the first layer. Up to
    `pattern_tokens` come random tokens that repeat, so that induction heads form behind them. From there on comes
    text, and one piece in `repeats_every` still repeats. In this order each takes some hundred steps; mixed, they undo
    one another.
    """

    seed: int = 1
    n_ctx: int = 256
    d_model: int = 256
    n_heads: int = 8
    n_layers: int = 4
    matrix_lr: float = 0.0025
    query_key_lr: float = 0.003
    other_lr: float = 0.003
    pieces_a_step: int = 4
    echo_tokens: int = 400_000
    pattern_tokens: int = 2_000_000
    repeats_every: int = 6
    warmup_steps: int = 60
    decay_share: float = 0.4
    shard_documents: int = SHARD_DOCUMENTS


def default_workers() -> int:
    """One worker a core that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Run:
    """A model in training: its settings, weights, optimizers and place in the data."""

    def __init__(self, settings: Settings, vocabulary: Vocabulary, device: str = "cpu", workers: int | None = None):
        self.settings, self.vocabulary = settings, vocabulary
        generator = torch.Generator().manual_seed(settings.seed)
        shape = Shape(vocabulary.n_used, settings.n_ctx, settings.d_model, settings.n_heads, settings.n_layers)
        model = Pocket(shape)
        init_weights(model, generator)
        self.model = model.to(device)
        self.workers = workers or (1 if device != "cpu" else default_workers())
        rates = (settings.matrix_lr, settings.query_key_lr, settings.other_lr)
        self.stepper = Stepper(self.model, *rates, self.workers)
        self.steps, self.tokens, self.shard, self.place = 0, 0, 0, 0
        self.curve: list[dict] = []
        self._pieces: list[Piece] | None = None
        self._coming: Future | None = None
        self._maker: ProcessPoolExecutor | None = None

    def factor(self, done: float) -> float:
        """What the peak learning rates are multiplied with when a share `done` of the run lies behind."""
        warm = min(1.0, (self.steps + 1) / self.settings.warmup_steps)
        return warm * min(1.0, max(0.01, (1 - done) / self.settings.decay_share))

    @property
    def fell(self) -> bool:
        """Whether the last step's learning rate was below its peak, and not because it still warms up."""
        return bool(self.curve) and self.steps > self.settings.warmup_steps and self.curve[-1]["rate"] < 1

    def step(self, done: float) -> dict[str, float]:
        """One update; the mean loss of each kind of piece before it."""
        rate = self.factor(done)
        pieces = self._next_pieces()
        sums = self.stepper.step(pieces, rate)
        self.tokens += sum(piece.weight.numel() for piece in pieces)
        self.steps += 1
        losses = {kind: loss / weight for kind, (loss, weight) in sums.items()}
        self.curve.append({"step": self.steps, "tokens": self.tokens, "rate": rate, **losses})
        return losses

    def state(self) -> dict:
        """All that a checkpoint holds."""
        return {
            "settings": asdict(self.settings),
            "ids": torch.from_numpy(self.vocabulary.ids),
            "model": self.model.state_dict(),
            "optimizers": self.stepper.state_dict(),
            "position": (self.steps, self.tokens, self.shard, self.place),
            "curve": self.curve,
        }

    def load(self, state: dict) -> None:
        self.model.load_state_dict(state["model"])
        self.stepper.load_state_dict(state["optimizers"])
        self.steps, self.tokens, self.shard, self.place = state["position"]
        self.curve = list(state["curve"])

    def close(self) -> None:
        """Ends the workers."""
        self.stepper.pool.shutdown()
        if self._maker is not None:
            self._maker.shutdown(cancel_futures=True)

    def _next_pieces(self) -> list[Piece]:
        settings = self.settings
        counts = range(self.steps * settings.pieces_a_step, (self.steps + 1) * settings.pieces_a_step)
        return [self._piece(count, (settings.seed, count)) for count in counts]

    def _piece(self, count: int, seed: tuple[int, ...]) -> Piece:
        settings = self.settings
        if self.tokens < settings.echo_tokens:
            return echo_piece(self.vocabulary, settings.n_ctx, seed)
        if self.tokens < settings.pattern_tokens:
            return repeat_piece(self.vocabulary, count % 4 < 2, settings.n_ctx, seed)
        if count % settings.repeats_every == 0:
            return repeat_piece(self.vocabulary, count // settings.repeats_every % 2 == 0, settings.n_ctx, seed)
        return self._next_text()

    def _next_text(self) -> Piece:
        if self._pieces is None:
            self._pieces = self._shard_pieces()
        if self.place >= len(self._pieces):
            self.shard, self.place = self.shard + 1, 0
            self._pieces = self._shard_pieces()
        self.place += 1
        return self._pieces[self.place - 1]

    def _shard_pieces(self) -> list[Piece]:
        seed = (self.settings.seed, self.shard)
        return text_pieces(self._documents(), self.vocabulary, self.settings.n_ctx, seed)

    def _documents(self) -> list[list[int]]:
        """This shard's documents; the next shard's are made meanwhile by a process of their own."""
        size = self.settings.shard_documents
        if size < 1000:
            return shard_documents(self.settings.seed, self.shard, size)
        if self._maker is None:
            self._maker = ProcessPoolExecutor(1, mp_context=get_context("spawn"))
        coming = self._coming or self._maker.submit(shard_documents, self.settings.seed, self.shard, size)
        self._coming = self._maker.submit(shard_documents, self.settings.seed, self.shard + 1, size)
        return coming.result()


def save_checkpoint(run: Run, file: Path) -> None:
    """Write so that whatever happens either the old or the new checkpoint is whole."""
    writable(file.parent)
    torch.save(run.state(), file.with_suffix(".tmp"))
    os.replace(file.with_suffix(".tmp"), file)


def load_run(file: Path, device: str = "cpu", workers: int | None = None) -> Run:
    """The run that a checkpoint holds, ready for its next step.

    Raises:
        PocketProblem: there is no such file, or it is not a checkpoint of this program.
    """
    try:
        state = torch.load(file, map_location=device, weights_only=True)
        run = Run(Settings(**state["settings"]), Vocabulary(state["ids"].cpu().numpy()), device, workers)
        run.load(state)
    except FileNotFoundError:
        raise PocketProblem(f"There is no checkpoint at {file}: make one with `book pocket train`.") from None
    except (KeyError, TypeError, RuntimeError, EOFError, ValueError, UnpicklingError) as reason:
        raise PocketProblem(
            f"{file} is not a checkpoint that this version can go on from ({reason}): use `--fresh`."
        ) from reason
    return run
