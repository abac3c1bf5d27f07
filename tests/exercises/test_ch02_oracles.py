"""Chapter 02's answers, against GPT-2's own tokenizer: on texts chosen to be hard, and on random ones."""

import random

import pytest

from utils.exercises import ch02
from utils.exercises.ch02 import (
    END_OF_TEXT,
    HARD_TEXTS,
    bpe_encode,
    byte_symbols,
    decode,
    encode,
    pre_tokens,
    train_bpe,
)
from utils.grading.checking import check
from utils.reference import tokenizer

LETTERS = "aAbe  \n\t'st0123.,-_éßñ中日ع٣😀👍½²\u0301\u00a0"


@pytest.fixture(scope="module")
def whole():
    """All of GPT-2's merges and tokens."""
    vocab, merges = ch02._gpt2()
    return dict(merges.values()), vocab


@pytest.fixture(scope="module")
def random_texts():
    chance = random.Random(7)
    return ["".join(chance.choices(LETTERS, k=chance.randrange(1, 30))) for _ in range(300)]


def test_the_symbols_are_gpt2s():
    from transformers.convert_slow_tokenizer import bytes_to_unicode

    assert byte_symbols() == bytes_to_unicode()


def test_the_vocabulary_is_whole(whole):
    ranks, vocab = whole
    assert len(ranks) == 50_000 and sorted(ranks.values()) == list(range(50_000))
    assert len(vocab) == 50_257 and sorted(vocab.values()) == list(range(50_257))
    assert all(left + right in vocab for left, right in ranks)


def test_texts_are_cut_as_gpt2_cuts_them(random_texts):
    spelled = byte_symbols()
    for text in [*HARD_TEXTS.values(), *random_texts]:
        theirs = [piece for piece, _ in tokenizer().backend_tokenizer.pre_tokenizer.pre_tokenize_str(text)]
        assert ["".join(spelled[byte] for byte in piece) for piece in pre_tokens(text)] == theirs
        assert [piece.encode() for piece in ch02._cut_by_hand(text)] == pre_tokens(text)


def test_texts_are_encoded_as_gpt2_encodes_them(whole, random_texts):
    for text in [*HARD_TEXTS.values(), *random_texts]:
        assert encode(text, *whole) == tokenizer()(text)["input_ids"], text


def test_the_merges_handed_out_are_all_that_can_apply(whole, random_texts):
    for text in [*HARD_TEXTS.values(), *random_texts[:100]]:
        assert encode(text, *ch02._tables(text)) == encode(text, *whole), text
        for piece in pre_tokens(text):
            assert bpe_encode(piece, ch02._tables(text)[0]) == bpe_encode(piece, whole[0])


def test_ids_are_decoded_as_gpt2_decodes_them(whole, random_texts):
    chance = random.Random(8)
    for text in [*HARD_TEXTS.values(), *random_texts[:20]]:
        ids = tokenizer()(text)["input_ids"]
        assert decode(ids, ch02._tables(text)[1]) == text
        for part in (ids[: chance.randrange(len(ids) + 1)], chance.choices(range(50_257), k=40)):
            assert decode(part, whole[1]) == tokenizer().decode(part)


def test_training_finds_the_same_by_ids_and_by_bytes():
    """Two different tokens with the same bytes would part the two: none comes up."""
    chance = random.Random(9)
    by_ids = next(right for right in ch02.training.rights if right.__name__ == "on_numbers")
    for _ in range(60):
        letters = chance.choice(["ab", "abc", "aab é", "xyz'st "])
        text = "".join(chance.choices(letters + " ", k=60))
        assert by_ids(text, 25) == train_bpe(text, 25)


def test_training_by_hand():
    """low ×5, lower ×2, newest ×6: w+e comes 8 times, l+o 7; of the six that come 6 times we+s is the greatest."""
    text = "low low low low low lower lower newest newest newest newest newest newest"
    assert train_bpe(text, 4) == [(b"w", b"e"), (b"l", b"o"), (b"we", b"s"), (b"wes", b"t")]


def test_learned_merges_put_the_text_together_again():
    text = "the cat that sat on the hat, the cat's hat"
    ranks = {pair: rank for rank, pair in enumerate(train_bpe(text, 40))}
    for piece in pre_tokens(text):
        assert b"".join(bpe_encode(piece, ranks)) == piece
    assert bpe_encode(b" the", ranks) == [b" the"]


def test_a_broken_end_becomes_a_question_mark():
    ids = tokenizer()("ok 😀👍")["input_ids"]
    assert decode(ids[:-1], ch02._gpt2()[0]).endswith("\ufffd")


def test_the_end_of_text_is_one_token_only_where_the_vocabulary_has_it(whole):
    ranks, vocab = whole
    assert encode(END_OF_TEXT, ranks, vocab) == [50256]
    without = {token: number for token, number in vocab.items() if token != END_OF_TEXT.encode()}
    assert len(encode(END_OF_TEXT, ranks, without)) == 7


class Hidden:
    """A tokenizer behind an object and an alias."""

    def __init__(self):
        self.inner = getattr(tokenizer().backend_tokenizer, "en" + "code")

    def __call__(self, text, ranks, vocab):
        return [number for number in map(int, self.inner(text).ids)]


LIBRARY = {
    "call": ("02.7", lambda text, ranks, vocab: tokenizer()(text)["input_ids"]),
    "alias": ("02.7", lambda text, ranks, vocab: Hidden()(text, ranks, vocab)),
    "decode": ("02.8", lambda ids, vocab: tokenizer().decode(ids)),
    "tokenize": ("02.6", lambda word, ranks: [part.encode() for part in tokenizer().tokenize(word.decode())]),
}


@pytest.mark.parametrize("id, answer", LIBRARY.values(), ids=LIBRARY)
def test_a_tokenizer_library_is_seen(id, answer):
    verdict = check(id, answer)
    assert not verdict.passed and verdict.stage == "allowed"


@pytest.mark.parametrize("id, argument", [("02.6", "ranks"), ("02.7", "vocab"), ("02.8", "vocab")])
def test_an_answer_that_changes_its_tables_is_told(id, argument):
    from utils.exercises import exercise

    oracle = exercise(id).solution

    def emptying(*args):
        result = oracle(*args)
        args[[p.name for p in exercise(id).parameters].index(argument)].clear()
        return result

    verdict = check(id, emptying)
    assert verdict.stage == "untouched" and argument in verdict.message
    assert check(id, oracle).passed
