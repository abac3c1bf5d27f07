"""What the pocket model reads, cut into pieces for training; a function of a seed and a shard's number alone.

A shard is some thousand documents of the story world. Most are read one by one, each from position 0, in pieces of
documents of like length, so that hardly a position is padding; the others are packed into rows of the full context,
so that every position is trained and a document may follow another. Before and between them come pieces of random
tokens in a pattern, on which only what can be foreseen counts. Nothing but (seed, shard, place in the shard) decides
what comes, so a run that was interrupted goes on with exactly the pieces it would have had.
"""

from collections.abc import Iterator, Sequence
from itertools import islice

import numpy as np
import torch

from utils.pocket.optimize import Piece
from utils.pocket.vocabulary import Vocabulary, encode

SHARD_DOCUMENTS = 8_000
PIECE_TOKENS = 1024
PACKED_SHARE = 0.15


def shard_documents(seed: int, shard: int, n_documents: int = SHARD_DOCUMENTS) -> list[list[int]]:
    """The token ids of a shard's documents, without <|endoftext|>."""
    from utils.pocket.world import documents

    return encode([document.text for document in islice(documents(seed * 1_000_003 + shard), n_documents)])


def text_pieces(
    documents: Sequence[Sequence[int]], vocabulary: Vocabulary, n_ctx: int, seed: tuple[int, ...]
) -> list[Piece]:
    """Every document once, in pieces of about PIECE_TOKENS tokens, in random order."""
    rng = np.random.default_rng(seed)
    rows = document_rows(documents, vocabulary)
    order = rng.permutation(len(rows))
    n_packed = int(PACKED_SHARE * len(rows))
    pieces = list(_packed([rows[i] for i in order[:n_packed]], n_ctx))
    pieces += pieces_alike([rows[i] for i in order[n_packed:]], n_ctx)
    return [pieces[i] for i in rng.permutation(len(pieces))]


def document_rows(documents: Sequence[Sequence[int]], vocabulary: Vocabulary) -> list[np.ndarray]:
    """Token ids → rows of the compact table, with <|endoftext|> before and after."""
    return [np.concatenate([[vocabulary.end], vocabulary.rows(ids), [vocabulary.end]]) for ids in documents]


def pieces_alike(documents: Sequence[np.ndarray], n_ctx: int) -> Iterator[Piece]:
    """Documents of like length side by side, padded to the longest; padding has no weight."""
    documents = sorted((document[: n_ctx + 1] for document in documents), key=len)
    while documents:
        count = max(1, PIECE_TOKENS // (len(documents[-1]) - 1))
        part, documents = documents[-count:], documents[:-count]
        tokens = np.zeros((len(part), len(part[-1])), np.int64)
        weight = np.zeros((len(part), len(part[-1]) - 1), np.float32)
        for row, document in enumerate(part):
            tokens[row, : len(document)] = document
            weight[row, : len(document) - 1] = 1
        yield Piece(torch.from_numpy(tokens), torch.from_numpy(weight), "text")


def _packed(documents: list[np.ndarray], n_ctx: int) -> Iterator[Piece]:
    """Documents one after the other, a row starting with a document's beginning and ending wherever it is full."""
    lines, line = [], []
    for document in documents:
        line.extend(document[bool(line) :])  # one <|endoftext|> ends a document and begins the next
        if len(line) > n_ctx:
            lines.append(line[: n_ctx + 1])
            line = []
    count = max(1, PIECE_TOKENS // n_ctx)
    for start in range(0, len(lines) - count + 1, count):
        tokens = torch.tensor(np.array(lines[start : start + count]))
        yield Piece(tokens, torch.ones(count, n_ctx), "text")


def repeat_piece(vocabulary: Vocabulary, easy: bool, n_ctx: int, seed: tuple[int, ...]) -> Piece:
    """Random tokens that repeat after a period, different in every row.

    Easy pieces have 64 positions and periods of 3 to 28, so that a token comes back soon and often; the others have
    longer periods and often repeat but once. Periods vary, lest a head learn a distance by heart where it should look
    for the token. The first of the repeated tokens cannot be foreseen and has no weight.
    """
    rng = np.random.default_rng(seed)
    if easy:
        length, low, high = 64, 3, 28
    else:
        length, low, high = ((96, 10, 47), (128, 20, 63), (82, 24, 40), (n_ctx, 40, 127))[rng.integers(4)]
    length, high = min(length, n_ctx), min(high, (min(length, n_ctx) - 1) // 2)
    low = min(low, high)
    count = PIECE_TOKENS // length
    tokens = np.full((count, length + 1), vocabulary.end)
    weight = np.zeros((count, length), np.float32)
    for row in range(count):
        period = int(rng.integers(low, high + 1))
        tokens[row, 1:] = np.resize(rng.integers(0, vocabulary.end, period), length)
        weight[row, period + 1 :] = 1
    return Piece(torch.from_numpy(tokens), torch.from_numpy(weight), "repeat")


def echo_piece(vocabulary: Vocabulary, n_ctx: int, seed: tuple[int, ...]) -> Piece:
    """Random tokens, of which two in five are an echo, the token before last said again; only echoes have weight.

    Copying from one place back is what a previous-token head does, and nothing else foresees an echo. Where the echoes
    come is left to chance, so that the head has to look back everywhere.
    """
    rng = np.random.default_rng(seed)
    length = min(n_ctx, 96)
    count = PIECE_TOKENS // length
    tokens = np.full((count, length + 1), vocabulary.end)
    tokens[:, 1:] = rng.integers(0, vocabulary.end, (count, length))
    weight = (rng.random((count, length)) < 0.4).astype(np.float32)
    weight[:, :2] = 0  # the token before last must be a random one
    for place in range(3, length + 1):
        said_again = weight[:, place - 1] > 0
        tokens[said_again, place] = tokens[said_again, place - 2]
    return Piece(torch.from_numpy(tokens), torch.from_numpy(weight), "echo")
