"""Measures the pocket model on text it has never read, and says what each figure means.

Every measure takes the model and its vocabulary; `evaluate` runs them all on the shipped weights. Quality is measured
on the compact model, which agrees with the full one; time and size are those of `reference("pocket")`, which is what a
chapter waits for. The bars are in `BARS`. Left out: comparisons with other models.
"""

import subprocess
import sys
import time
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from statistics import median

import torch
from torch import Tensor
from torch.nn import functional as F

from utils.paths import pocket_dir
from utils.pocket.data import document_rows, pieces_alike
from utils.pocket.model import Pocket
from utils.pocket.sampling import continue_texts
from utils.pocket.vocabulary import Vocabulary, encode
from utils.pocket.weights import WEIGHTS, load

HELD_OUT_SEED = 31_337
PERIOD = 40
# The figure to reach: at most for ratios and seconds and bytes, at least for all else.
BARS = {
    "loss_ratio": ("<=", 1.06),
    "induction_accuracy": (">=", 0.90),
    "induction_score": (">=", 0.5),
    "previous_token_score": (">=", 0.6),
    "facts": (">=", 0.95),
    "indirect_object": (">=", 0.95),
    "stories": (">=", 0.90),
    "lens_falls": (">=", True),
    "forward_seconds": ("<=", 0.15),
    "load_seconds": ("<=", 1.5),
    "bytes": ("<=", 12 * 2**20),
}


@torch.no_grad()
def held_out_losses(
    model: Pocket, vocabulary: Vocabulary, n_documents: int = 2000, seed: int = HELD_OUT_SEED
) -> tuple[float, list[float]]:
    """Loss against the world's own, and the mean loss of the logit lens from the embedding to the last layer.

    Each held-out document is read alone after <|endoftext|>, and its end counts as a token. The first figure is the
    model's -log p of all of them over the world's -log p of the same texts. The lens puts the residual stream before
    the first block and after each through the final LayerNorm and the unembedding, and is in nats a token.
    """
    from utils.pocket.world import documents

    texts = list(islice(documents(seed, "held_out"), n_documents))
    rows = document_rows(encode([document.text for document in texts]), vocabulary)
    totals, count = torch.zeros(model.shape.n_layers + 1, dtype=torch.float64), 0.0
    for piece in pieces_alike(rows, model.shape.n_ctx):
        stream, _ = model.residuals(piece.tokens[:, :-1])
        targets = piece.tokens[:, 1:].flatten()
        for layer, x in enumerate(stream):
            losses = F.cross_entropy(model.unembed(x).flatten(0, 1), targets, reduction="none")
            losses = losses + model.log_multiplicity[targets]  # an unused token is one of all those of its row
            totals[layer] += (losses * piece.weight.flatten()).sum().double()
        count += float(piece.weight.sum())
    return float(totals[-1]) / sum(document.nats for document in texts), (totals / count).tolist()


def repeated(vocabulary: Vocabulary, n: int, seed: int = HELD_OUT_SEED) -> Tensor:
    """<|endoftext|>, PERIOD random tokens of the world's vocabulary, and the same tokens once more."""
    generator = torch.Generator().manual_seed(seed)
    half = torch.randint(0, vocabulary.end, (n, PERIOD), generator=generator)
    return torch.cat([torch.full((n, 1), vocabulary.end), half, half], 1)


@torch.no_grad()
def induction(model: Pocket, vocabulary: Vocabulary, n: int = 200) -> tuple[float, float, float]:
    """Accuracy on the second half of a random sequence repeated once, the best induction and previous-token scores.

    Accuracy is over all PERIOD tokens of the second half, the first of them too, which nothing announces. The induction
    score of a head is its mean attention from a token of the second half to the token after its first occurrence; the
    previous-token score, its mean attention to the token just before, over both halves.
    """
    right, heads = 0.0, torch.zeros(2, model.shape.n_layers, model.shape.n_heads)
    query = torch.arange(PERIOD + 1, 2 * PERIOD + 1)
    later = torch.arange(2, 2 * PERIOD + 1)
    parts = repeated(vocabulary, n).split(20)
    for tokens in parts:
        stream, patterns = model.residuals(tokens)
        guesses = model.unembed(stream[-1])[:, PERIOD:-1].argmax(-1)
        right += float((guesses == tokens[:, PERIOD + 1 :]).float().mean()) / len(parts)
        for layer, pattern in enumerate(patterns):  # [batch n_heads query_pos key_pos]
            heads[0, layer] += pattern[:, :, query, query - PERIOD + 1].mean((0, 2)) / len(parts)
            heads[1, layer] += pattern[:, :, later, later - 1].mean((0, 2)) / len(parts)
    return right, float(heads[0].max()), float(heads[1].max())


def facts(model: Pocket, vocabulary: Vocabulary, n: int = 600) -> float:
    """Share of facts, each asked in a form kept from training, whose whole answer the model writes greedily."""
    from utils.pocket.world import probes

    asked = probes("fact", HELD_OUT_SEED, n)
    longest = max(map(len, encode([probe.answer for probe in asked])))
    written = continue_texts(model, vocabulary, [probe.prompt for probe in asked], longest + 1, temperature=0)
    return sum(_begins(text, probe.answer) for text, probe in zip(written, asked, strict=True)) / n


def _begins(text: str, answer: str) -> bool:
    """Whether `text` begins with `answer` and a word ends there: ' ten' is not ' tenth'."""
    return text.startswith(answer) and not text[len(answer) : len(answer) + 1].isalpha()


@torch.no_grad()
def indirect_object(model: Pocket, vocabulary: Vocabulary, n: int = 500) -> float:
    """Share of sentences in which the right name is likelier than the wrong one; the pairs never met in training."""
    from utils.pocket.world import probes

    right = 0
    for probe in probes("indirect_object", HELD_OUT_SEED, n):
        prompt, *answers = encode([probe.prompt, probe.answer, *probe.wrong])
        scores = [_log_prob(model, vocabulary, prompt, answer) for answer in answers]
        right += scores[0] > max(scores[1:])
    return right / n


def _log_prob(model: Pocket, vocabulary: Vocabulary, prompt: Sequence[int], answer: Sequence[int]) -> float:
    """log p(answer | <|endoftext|> prompt), over all the answer's tokens."""
    rows = torch.tensor([[vocabulary.end, *vocabulary.rows([*prompt, *answer]).tolist()]])
    log_probs = torch.log_softmax(model(rows[:, :-1]), -1)[0, -len(answer) :]
    return float(log_probs.gather(1, rows[0, -len(answer) :, None]).sum())


def told_stories(model: Pocket, vocabulary: Vocabulary, n: int = 200, n_new: int = 200, seed: int = 0) -> list[tuple]:
    """Stories told on from the opening of held-out ones at temperature 0.7: (text, the judge's answers) of each."""
    from utils.pocket.world import check_story, probes

    asked = probes("story", HELD_OUT_SEED, n)
    written = continue_texts(model, vocabulary, [probe.prompt for probe in asked], n_new, 0.7, seed)
    texts = [probe.prompt + text for probe, text in zip(asked, written, strict=True)]
    return [(text, check_story(text, probe.facts)) for text, probe in zip(texts, asked, strict=True)]


def load_seconds() -> float:
    """Time of the first `reference("pocket")` in a process of its own in which transformer_lens is imported already."""
    program = (
        "import time, transformer_lens, transformer_lens.model_bridge\n"
        "from utils.reference import reference\n"
        "start = time.perf_counter()\n"
        "reference('pocket')\n"
        "print('seconds', time.perf_counter() - start)"
    )
    root = str(pocket_dir().parents[2])
    done = subprocess.run([sys.executable, "-c", program], cwd=root, capture_output=True, text=True, check=True)
    return float(done.stdout.rsplit("seconds", 1)[1])


@torch.no_grad()
def forward_seconds(times: int = 9) -> float:
    """Median time of a forward of (8, 128) through `reference("pocket")` on the CPU, with two threads at most."""
    from utils.reference import reference

    model = reference("pocket", "cpu")
    tokens = torch.randint(0, 50257, (8, 128), generator=torch.Generator().manual_seed(0))
    threads = torch.get_num_threads()
    torch.set_num_threads(min(2, threads))
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        model(tokens)
        taken.append(time.perf_counter() - start)
    torch.set_num_threads(threads)
    return median(taken)


def quality(model: Pocket, vocabulary: Vocabulary) -> dict[str, float | bool]:
    """The figures that weights alone decide."""
    ratio, lens = held_out_losses(model, vocabulary)
    accuracy, induction_score, previous_token_score = induction(model, vocabulary)
    judged = [all(verdict.values()) for _, verdict in told_stories(model, vocabulary)]
    return {
        "loss_ratio": ratio,
        "induction_accuracy": accuracy,
        "induction_score": induction_score,
        "previous_token_score": previous_token_score,
        "facts": facts(model, vocabulary),
        "indirect_object": indirect_object(model, vocabulary),
        "stories": sum(judged) / len(judged),
        "lens_falls": all(later < earlier for earlier, later in zip(lens, lens[1:], strict=False)),
    }


def evaluate(folder: Path | None = None) -> dict[str, float | bool | int]:
    """All figures of the weights in `folder` (those shipped, if None); the times are those of the shipped ones.

    Raises:
        ReferenceProblem: the weights are missing or broken.
    """
    figures = quality(*load(folder))
    figures["forward_seconds"] = forward_seconds()
    figures["load_seconds"] = load_seconds()
    figures["bytes"] = ((folder or pocket_dir()) / WEIGHTS).stat().st_size
    return figures


def reaches(name: str, value: float | bool | int) -> bool:
    """Whether a figure is as good as its bar asks."""
    relation, bar = BARS[name]
    return value <= bar if relation == "<=" else value >= bar
