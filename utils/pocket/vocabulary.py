"""Which of GPT-2's tokens the story world uses, and the rows of the compact table that they have.

The world is small and closed, so a large sample of its text meets every token that it can produce. Rows are in the
order of token ids; the row after the last belongs to all the ids that the world never uses.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, islice

import numpy as np

END_OF_TEXT = 50256
SAMPLE_SEED, SAMPLE_DOCUMENTS = 20_260, 20_000


@dataclass(frozen=True)
class Vocabulary:
    """`ids[row]` is the token id of a row, in increasing order; the last id is <|endoftext|>."""

    ids: np.ndarray

    @property
    def n_used(self) -> int:
        return len(self.ids)

    @property
    def end(self) -> int:
        """The row of <|endoftext|>, which begins and ends every document."""
        return self.n_used - 1

    def rows(self, ids: Sequence[int] | np.ndarray) -> np.ndarray:
        """Token ids → rows; an id that the world never uses → the shared row, `n_used`."""
        ids = np.asarray(ids)
        place = np.searchsorted(self.ids, ids)
        place[self.ids[np.minimum(place, self.n_used - 1)] != ids] = self.n_used
        return place


def encode(texts: Sequence[str]) -> list[list[int]]:
    """Texts → token ids, without <|endoftext|>."""
    from utils.reference import tokenizer

    return tokenizer()(list(texts), add_special_tokens=False)["input_ids"] if texts else []


def world_vocabulary(n_documents: int = SAMPLE_DOCUMENTS) -> Vocabulary:
    """The tokens of a sample of both splits, and <|endoftext|>."""
    from utils.pocket.world import documents

    held_out = islice(documents(SAMPLE_SEED, "held_out"), n_documents // 4)
    texts = [document.text for document in chain(islice(documents(SAMPLE_SEED), n_documents), held_out)]
    used = set(chain.from_iterable(encode(texts))) | {END_OF_TEXT}
    return Vocabulary(np.array(sorted(used)))
