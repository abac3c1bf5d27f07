"""Chapter 02, tokens: byte-level byte-pair encoding as GPT-2 has it, from single bytes to the ids that a model reads.

The method is Sennrich et al. 2016 (section 3.2) on bytes, as in Radford et al. 2019 (section 2.2). GPT-2's own
tokenizer gives what is right. Its 50,000 merges are never handed to an answer whole: each case gets those merges and
tokens whose bytes occur in its text. No other merge could ever apply there, so the result is the same, and a private
copy costs nothing.
"""

import functools
import itertools
import json
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator

import regex
import torch
from jaxtyping import Float, Int
from torch import Tensor

from utils.exercises.declare import Exercise, Known

Pair = tuple[bytes, bytes]

# Where GPT-2 cuts a text before any merge: a contraction; letters, digits or signs with at most one space before them;
# spaces, the last of which is left to the word that follows.
PRE_TOKEN = regex.compile(r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+")
END_OF_TEXT = "<|endoftext|>"
LIBRARY = "The chapter is about what such a library does inside: build it from bytes, counts and merges."

HARD_TEXTS = {
    "on plain English": "The cat sat on the mat, and the dog barked at it.",
    "on contractions": "I'll say we've won; it's done, they don't. I'd go, you're in, I'm out.",
    "on contractions in capitals": "IT'S what WE'VE said. HE'LL go.",
    "on apostrophes that are no contractions": "rock 'n' roll, 'tis O'Shea's",
    "on runs of spaces": " a  b   c    d     ",
    "on newlines and tabs": "one\n\n  two \n three\t\tfour\r\nfive\n",
    "on numbers": "In 1969, 12345678 people; 3.14159 and x² + ½",
    "on accents": "Zoë's café, a naïve façade in Łódź",
    "on accents that stand apart from their letter": "cafe\u0301 a\u0308",
    "on emoji": "👍🏽 ok 😀😀 👨\u200d👩\u200d👧",
    "on Arabic": "مرحبا بالعالم، كيف ٣٤",
    "on Chinese and Japanese": "你好，世界。日本語",
    "on code": "def f(x): return x_1[0] != {'a': -2}  # why?",
    "on curly quotation marks": "“Don’t” — she said…",
    "on <|endoftext|> in the text": "The end.<|endoftext|>Once <|endoftext|> <|endoftext|>\nmore",
    "on <|endoftext|> at both ends": "<|endoftext|>a<|endoftext|>",
    "on <|endoftext|> twice in a row": "a<|endoftext|><|endoftext|>b",
    "on what only looks like <|endoftext|>": "<|endoftext| endoftext|> <|end|>",
    "on long words": " antidisestablishmentarianism Supercalifragilistic",
    "on one letter over and over": "aaaaaaaaaaa hahahaha ------- ....",
    "on three spaces": "   ",
}


def pre_tokens(text: str) -> list[bytes]:
    """The text cut as GPT-2 cuts it; no merge goes across a cut."""
    return [piece.encode("utf-8") for piece in PRE_TOKEN.findall(text)]


# What GPT-2 has learned ──────────────────────────────────────────────────────────────────────────────────────────────


@functools.lru_cache(maxsize=1)
def _gpt2() -> tuple[dict[bytes, int], dict[bytes, tuple[Pair, int]]]:
    """Every token's id, and for every token that a merge makes the merge and its rank."""
    from utils.reference.vocabulary import check_vocabulary

    folder = check_vocabulary()
    byte_of = {symbol: byte for byte, symbol in byte_symbols().items()}

    def as_bytes(symbols: str) -> bytes:
        return bytes([byte_of[symbol] for symbol in symbols])

    ids = json.loads((folder / "encoder.json").read_text(encoding="utf-8"))
    vocab = {as_bytes(symbols): number for symbols, number in ids.items() if symbols != END_OF_TEXT}
    vocab[END_OF_TEXT.encode()] = ids[END_OF_TEXT]
    lines = (folder / "vocab.bpe").read_text(encoding="utf-8").split("\n")[1:]  # the first line is a version
    merges: dict[bytes, tuple[Pair, int]] = {}
    for rank, line in enumerate(filter(None, lines)):
        left, right = map(as_bytes, line.split(" "))
        merges[left + right] = (left, right), rank
    return vocab, merges


@functools.lru_cache(maxsize=256)
def _tables(text: str) -> tuple[dict[Pair, int], dict[bytes, int]]:
    """GPT-2's merges and tokens whose bytes occur in this text (or in its other spellings), and all single bytes."""
    vocab, merges = _gpt2()
    found = {bytes([byte]) for byte in range(256)} | {END_OF_TEXT.encode()}
    for spelling in {text, text.lower(), unicodedata.normalize("NFC", text), " " + text}:
        raw = spelling.encode("utf-8")
        spans = (raw[i:j] for i in range(len(raw)) for j in range(i + 2, min(i + 32, len(raw)) + 1))
        found.update(span for span in spans if span in vocab)
    ranks = dict(merges[token] for token in found if token in merges)
    return dict(sorted(ranks.items(), key=lambda item: item[1])), {token: vocab[token] for token in sorted(found)}


@functools.lru_cache(maxsize=256)
def _gpt2_ids(text: str) -> tuple[int, ...]:
    from utils.reference import tokenizer

    return tuple(tokenizer()(text)["input_ids"])


@functools.lru_cache(maxsize=256)
def _gpt2_text(ids: tuple[int, ...]) -> str:
    from utils.reference import tokenizer

    return tokenizer().decode(list(ids))


# Random texts ────────────────────────────────────────────────────────────────────────────────────────────────────────


def _one_of(draw, things):
    return things[draw.integer(0, len(things))]


def _word(draw, letters: str, longest: int) -> str:
    return "".join(_one_of(draw, letters) for _ in range(draw.integer(1, longest + 1)))


def _prose(draw, letters: str = "abcdeh", words: int = 40) -> str:
    """A few coined words over and over, so that pairs come often and ties come up."""
    coined = [_word(draw, letters, 6) for _ in range(9)]
    return "".join(_one_of(draw, (" ", " ", " ", ", ", "\n", "  ")) + _one_of(draw, coined) for _ in range(words))


# 02.1 ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

symbols = Exercise("02.1", difficulty=3, minutes=15)
symbols.forbid("tokenizer libraries", because=LIBRARY)


@symbols.oracle
def byte_symbols() -> dict[int, str]:
    """Printable bytes stand for themselves; the others get the characters from 256 on, in the order of the bytes."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    found = {byte: chr(byte) for byte in printable}
    for byte in range(256):
        if byte not in found:
            found[byte] = chr(256 + len(found) - len(printable))
    return found


@symbols.fresh
def _(draw):
    return ()


@symbols.prop("spells_tokens_as_gpt2_does")
def _(answer, draw):
    from utils.reference import tokenizer

    table = answer()
    for text in HARD_TEXTS.values():
        if END_OF_TEXT in text:
            continue
        theirs, ours = "".join(tokenizer().tokenize(text)), "".join(table[byte] for byte in text.encode())
        if theirs != ours:
            return f"GPT-2's vocabulary spells {text!r} as {theirs!r}; your symbols give {ours!r}."
    return None


symbols.hints(
    "A vocabulary file holds text, and text cannot show every byte. Which bytes are fine as they are, and which would "
    "be invisible?",
    "Bytes 33–126, 161–172 and 174–255 are visible characters and stand for themselves. The other 68 are control "
    "characters, spaces and byte 173, a hyphen that is not shown.",
    "Go through the bytes 0 to 255 in order and give each of the 68 the next character from 256 on: chr(256), "
    "chr(257), … So byte 0 is 'Ā', and the space, byte 32, is the 33rd: chr(256 + 32) = 'Ġ'.",
    "`symbols[byte] = chr(byte) if … else chr(256 + count)`, and `count += 1` after each of the others",
)


@symbols.wrong(
    "plain_chr",
    "Every byte gets the character of its own number, the invisible ones too: spaces and control characters need a "
    "stand-in that can be seen.",
)
def _():
    return {byte: chr(byte) for byte in range(256)}


@symbols.wrong(
    "keeps_173",
    "Byte 173 stands for itself: it is the soft hyphen, which is not shown, so it gets a stand-in like the others.",
)
def _():
    return _shifting([*range(33, 127), *range(161, 256)], range(256))


@symbols.wrong(
    "shifted_by_256",
    "Each hidden byte gets chr(256 + byte): the stand-ins are numbered without gaps instead, the first hidden byte "
    "256, the second 257, and so on.",
)
def _():
    return {byte: symbol if symbol == chr(byte) else chr(256 + byte) for byte, symbol in byte_symbols().items()}


@symbols.wrong(
    "shifts_in_the_wrong_order",
    "The stand-ins are handed out in another order: go through the bytes from 0 up to 255, so that byte 0 gets "
    "chr(256).",
)
def _():
    return _shifting(None, range(255, -1, -1))


@symbols.wrong(
    "latin_bytes_first",
    "The stand-ins are handed out from byte 127 on first: go through the bytes from 0 up to 255, so that byte 0 gets "
    "chr(256).",
)
def _():
    return _shifting(None, [*range(127, 256), *range(127)])


@symbols.wrong(
    "keeps_the_space",
    "The space stands for itself: a space inside a token could not be told from one between tokens, so byte 32 gets a "
    "stand-in, 'Ġ'.",
)
def _():
    return _shifting([*range(32, 127), *range(161, 173), *range(174, 256)], range(256))


@symbols.wrong(
    "keeps_127",
    "Byte 127 stands for itself: it is the control character DEL, which is not shown. The visible ones end at 126.",
)
def _():
    return _shifting([*range(33, 128), *range(161, 173), *range(174, 256)], range(256))


@symbols.wrong(
    "only_ascii_kept",
    "Only ASCII stands for itself: the characters 161 to 172 and 174 to 255 can be seen as well, and keep their place.",
)
def _():
    return _shifting([*range(33, 127)], range(256))


@symbols.wrong(
    "ranges_end_too_early",
    "The last byte of each range is missing, 126, 172 and 255: range(33, 126) ends at 125, so the second number has to "
    "be one more.",
)
def _():
    return _shifting([*range(33, 126), *range(161, 172), *range(174, 255)], range(256))


@symbols.wrong(
    "starts_at_257",
    "The stand-ins start one too late: the first hidden byte, 0, gets chr(256).",
)
def _():
    return {b: s if s == chr(b) else chr(ord(s) + 1) for b, s in byte_symbols().items()}


@symbols.wrong(
    "other_direction",
    "The table goes from symbol to byte: wanted is the other way, byte (a number) to symbol.",
)
def _():
    return {symbol: byte for byte, symbol in byte_symbols().items()}


@symbols.wrong(
    "numbers_for_symbols",
    "The table holds the symbols' numbers: wanted are the characters themselves, chr(number).",
)
def _():
    return {byte: ord(symbol) for byte, symbol in byte_symbols().items()}


def _shifting(kept: list[int] | None, order: Iterable[int]) -> dict[int, str]:
    kept = [byte for byte, symbol in byte_symbols().items() if symbol == chr(byte)] if kept is None else kept
    hidden = [byte for byte in order if byte not in kept]
    return {byte: chr(byte) for byte in kept} | {byte: chr(256 + n) for n, byte in enumerate(hidden)}


@symbols.right
def by_what_can_be_printed():
    found, n = {}, 256
    for byte in range(256):
        if chr(byte).isprintable() and not chr(byte).isspace():
            found[byte] = chr(byte)
        else:
            found[byte], n = chr(n), n + 1
    return found


@symbols.right
def two_lists():
    kept = [ord(first) + i for first, n in (("!", 94), ("¡", 12), ("®", 82)) for i in range(n)]
    places, n = kept[:], 0
    for byte in range(2**8):
        if byte not in kept:
            kept.append(byte)
            places.append(2**8 + n)
            n += 1
    return dict(zip(kept, [chr(place) for place in places], strict=True))


@symbols.right
def by_category():
    hidden = [b for b in range(256) if unicodedata.category(chr(b)) in ("Cc", "Cf", "Zs")]
    return {b: chr(256 + hidden.index(b)) if b in hidden else chr(b) for b in range(256)}


# 02.2 ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

BORDERS = 0x80, 0x800, 0x10000  # from each on, a character takes one byte more in UTF-8

as_numbers = Exercise("02.2", difficulty=1, minutes=5, title="text to bytes")
as_numbers.forbid("tokenizer libraries", because=LIBRARY)


@as_numbers.oracle
def to_bytes(text: str) -> list[int]:
    """The bytes of the text in UTF-8, as numbers from 0 to 255."""
    return list(text.encode("utf-8"))


@as_numbers.fresh
def _(draw):
    return (_word(draw, "abc xyz é ß 中 😀 ع \n ‰", 12),)


for _where, _text in (
    ("on an accent", "é"),
    ("on plain English", "Hi there!"),
    ("on an emoji", "a😀"),
    ("on Arabic", "مرحبا"),
    ("on an accent that stands apart from its letter", "e\u0301"),
    ("on a newline and a zero byte", "a\n\u0000b"),
    ("on white space at both ends", " a\n"),
    ("at the borders between one, two, three and four bytes", "\x7f\x80\u07ff\u0800\uffff\U00010000"),
    ("on an empty text", ""),
):
    as_numbers.special(_where)(lambda draw, text=_text: (text,))


as_numbers.hints(
    "A character outside ASCII takes more than one byte. How many does é take, and how many an emoji?",
    "Python's strings hold characters, its bytes objects hold bytes: str.encode goes from one to the other.",
    "UTF-8 is the encoding. list(…) of a bytes object gives its numbers.",
    "`list(text.encode(…))`",
)


@as_numbers.wrong(
    "code_points",
    "These are the characters' own numbers (code points), one a character: a byte is at most 255, and in UTF-8 a "
    "character beyond ASCII takes two to four bytes.",
)
def _(text):
    return [ord(character) for character in text]


@as_numbers.wrong(
    "latin_1",
    "The text is encoded in Latin-1, which has one byte for each of 256 characters and no others: UTF-8 has all, é "
    "takes two bytes.",
)
def _(text):
    return list(text.encode("latin-1"))


@as_numbers.wrong(
    "latin_1_with_question_marks",
    "The text is encoded in Latin-1, and what that lacks became a question mark: UTF-8 has all characters.",
)
def _(text):
    return list(text.encode("latin-1", errors="replace"))


@as_numbers.wrong(
    "drops_what_is_not_ascii",
    "Characters beyond ASCII are dropped: in UTF-8 each of them is two to four bytes.",
)
def _(text):
    return list(text.encode("ascii", errors="ignore"))


@as_numbers.wrong(
    "question_marks",
    "Characters beyond ASCII became question marks: in UTF-8 each of them is two to four bytes.",
)
def _(text):
    return list(text.encode("ascii", errors="replace"))


@as_numbers.wrong(
    "fails_beyond_ascii",
    "Characters beyond ASCII stop the answer with an error: encode in UTF-8, which has all.",
)
def _(text):
    return list(text.encode("ascii"))


@as_numbers.wrong(
    "cut_to_one_byte",
    "Each character's number is cut down to one byte: in UTF-8 a character beyond ASCII takes two to four bytes.",
)
def _(text):
    return [ord(character) % 256 for character in text]


@as_numbers.wrong("utf_16", "That is UTF-16, two or four bytes a character: GPT-2 reads UTF-8.")
def _(text):
    return list(text.encode("utf-16-le"))


@as_numbers.wrong("one_list_a_character", "Each character has a list of its own: one flat list of numbers is wanted.")
def _(text):
    return [list(character.encode()) for character in text]


@as_numbers.wrong(
    "normalized",
    "Accents were joined with their letters first (Unicode normalization): the text's bytes are wanted as they are.",
)
def _(text):
    return list(unicodedata.normalize("NFC", text).encode())


@as_numbers.wrong("stripped", "White space at the ends is taken off: it belongs to the text.")
def _(text):
    return to_bytes(text.strip())


for _end, _shift in itertools.product(range(3), (1, -1)):
    as_numbers.wrong(
        f"border_{_end + 1}_{'late' if _shift > 0 else 'early'}",
        f"The border at U+{BORDERS[_end]:04X} is off by one: one byte is for numbers below 0x80, two bytes are for "
        "those below 0x800, three for those below 0x10000, four for the rest.",
    )(lambda text, n=_end, by=_shift: by_the_rules_of_utf_8(text, [b + by * (i == n) for i, b in enumerate(BORDERS)]))


@as_numbers.wrong("a_bytes_object", "That is a bytes object: the list of its numbers is wanted, list(…).")
def _(text):
    return text.encode("utf-8")


@as_numbers.right
def with_bytes(text):
    return [*bytes(text, "utf8")]


@as_numbers.right
def character_by_character(text):
    return [byte for character in text for byte in character.encode()]


@as_numbers.right
def by_the_rules_of_utf_8(text, borders=BORDERS):
    out = []
    for n in map(ord, text):
        tail = sum(n >= border for border in borders)
        if not tail:
            out.append(n)
            continue
        out.append((0xC0, 0xE0, 0xF0)[tail - 1] | n >> 6 * tail)
        out += [0x80 | n >> 6 * i & 0x3F for i in reversed(range(tail))]
    return out


# 02.3 ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

pair_counts = Exercise("02.3", difficulty=2, minutes=10)
pair_counts.forbid("tokenizer libraries", because=LIBRARY)


@pair_counts.oracle
def count_pairs(words: dict[tuple, int]) -> dict[tuple, int]:
    """How often two symbols stand side by side inside a word, each word as often as it occurs."""
    counts: dict[tuple, int] = {}
    for word, times in words.items():
        for pair in zip(word, word[1:], strict=False):
            counts[pair] = counts.get(pair, 0) + times
    return counts


@pair_counts.fresh
def _(draw):
    words = {}
    while len(words) < 6:
        words[tuple(draw.ids(str(draw.integer(2, 6)), 4).tolist())] = draw.integer(2, 9)
    return ({(0, 1, 2, 0, 1): 3, (1, 0): 2, **words},)


@pair_counts.special("on a word of one symbol over and over")
def _(draw):
    return ({(7, 7, 7): 2, (7, 7, 7, 7, 7): 1},)


@pair_counts.special("on words of bytes")
def _(draw):
    return ({(b"l", b"ow"): 5, (b"l", b"ow", b"e", b"r"): 2, (b" ", b"n", b"ew"): 4},)


@pair_counts.special("where a pair comes only once")
def _(draw):
    return ({(1, 2): 1, (2, 1): 3},)


@pair_counts.special("on words of a single symbol")
def _(draw):
    return ({(3,): 4, (5,): 1},)


@pair_counts.special("on no words at all")
def _(draw):
    return ({},)


pair_counts.hints(
    "The word (1, 2, 3) holds the pairs (1, 2) and (2, 3). If that word occurs five times, how often does each pair?",
    "Go through words.items(): each is a word and how often it occurs. zip(word, word[1:]) gives its neighbors.",
    "Add the word's number of occurrences, not 1. Every place counts: (7, 7, 7) holds (7, 7) twice.",
    "`for pair in zip(word, word[1:]): counts[pair] = counts.get(pair, 0) + …`",
)


@pair_counts.wrong(
    "word_counts_ignored",
    "Each word counts once, however often it occurs: add the word's number of occurrences, not 1.",
)
def _(words):
    return count_pairs(dict.fromkeys(words, 1))


@pair_counts.wrong(
    "across_words",
    "Pairs are counted from the end of one word to the start of the next: a pair lies inside one word.",
)
def _(words):
    flat = tuple(symbol for word, times in words.items() for _ in range(times) for symbol in word)
    return count_pairs({flat: 1})


@pair_counts.wrong(
    "across_neighboring_words",
    "The words are laid end to end, so that pairs reach from one word into the next, and every word counts once: a "
    "pair lies inside one word and counts as often as the word.",
)
def _(words):
    return count_pairs({tuple(symbol for word in words for symbol in word): 1})


@pair_counts.wrong("counted_twice", "Each pair is counted twice: once from its left and once from its right symbol?")
def _(words):
    return {pair: 2 * count for pair, count in count_pairs(words).items()}


@pair_counts.wrong(
    "counted_in_both_orders",
    "Each pair is counted the other way round as well: (a, b) and (b, a) are different pairs, only the first is there.",
)
def _(words):
    counts = Counter(count_pairs(words))
    for (a, b), count in count_pairs(words).items():
        counts[b, a] += count
    return dict(counts)


@pair_counts.wrong(
    "order_forgotten",
    "(a, b) and (b, a) are counted as one: they are different pairs.",
)
def _(words):
    counts: Counter = Counter()
    for pair, count in count_pairs(words).items():
        counts[tuple(sorted(pair))] += count
    return dict(counts)


@pair_counts.wrong(
    "once_a_word",
    "A pair that comes twice in a word counts once there: every place counts.",
)
def _(words):
    counts: Counter = Counter()
    for word, times in words.items():
        for pair in set(zip(word, word[1:], strict=False)):
            counts[pair] += times
    return dict(counts)


@pair_counts.wrong(
    "overlaps_skipped",
    "Overlapping pairs are skipped: (7, 7, 7) holds the pair (7, 7) twice, at its first and at its second place.",
)
def _without_overlaps(words):
    counts: Counter = Counter()
    for word, times in words.items():
        i = 0
        while i < len(word) - 1:
            counts[word[i], word[i + 1]] += times
            i += 2 if word[i : i + 3] == (word[i],) * 3 else 1
    return dict(counts)


@pair_counts.wrong(
    "every_second_pair",
    "Only every second pair is counted, as if the word fell into pairs: each symbol has a neighbor on both sides.",
)
def _(words):
    counts: Counter = Counter()
    for word, times in words.items():
        for pair in zip(word[::2], word[1::2], strict=False):
            counts[pair] += times
    return dict(counts)


@pair_counts.wrong(
    "from_the_end_to_the_start",
    "The word's last and first symbol are counted as a pair: word[i - 1] at i = 0 is the last symbol. Start at 1.",
)
def _(words):
    counts: Counter = Counter()
    for word, times in words.items():
        for i in range(len(word)):
            counts[word[i - 1], word[i]] += times
    return dict(counts)


@pair_counts.wrong("last_pair_missed", "The last pair of each word is missed: the loop ends one too early.")
def _(words):
    return count_pairs({word[:-1]: times for word, times in words.items()} if len(words) > 1 else {})


@pair_counts.wrong("symbols_counted", "Single symbols are counted: two neighbors together are wanted.")
def _(words):
    counts: Counter = Counter()
    for word, times in words.items():
        for symbol in word:
            counts[symbol] += times
    return dict(counts)


@pair_counts.wrong(
    "rare_pairs_left_out",
    "A pair that comes only once is left out: once counts too, only pairs that never occur are left out.",
)
def _(words):
    return {pair: count for pair, count in count_pairs(words).items() if count > 1}


@pair_counts.wrong(
    "overwritten",
    "A pair that was met before gets a new count in place of a larger one: add to what is there already.",
)
def _(words):
    return {pair: times for word, times in words.items() for pair in zip(word, word[1:], strict=False)}


@pair_counts.wrong(
    "reads_past_the_end",
    "At a word's last symbol the answer looks for a next one, which is not there: stop one earlier.",
)
def _(words):
    counts: Counter = Counter()
    for word, times in words.items():
        for i in range(len(word)):
            counts[word[i], word[i + 1]] += times
    return dict(counts)


@pair_counts.right
def with_counter(words):
    counts = Counter()
    for word, times in words.items():
        for i in range(1, len(word)):
            counts[word[i - 1], word[i]] += times
    return counts


@pair_counts.right
def pair_by_pair(words):
    everything = [(pair, times) for word, times in words.items() for pair in zip(word[:-1], word[1:], strict=True)]
    return {pair: sum(times for other, times in everything if other == pair) for pair, _ in everything}


@pair_counts.right
def word_by_word(words):
    """As often as the word occurs, one at a time."""
    counts = {}
    for word in words:
        for _ in range(words[word]):
            left = None
            for i, right in enumerate(word):
                if i:
                    counts.setdefault((left, right), 0)
                    counts[(left, right)] += 1
                left = right
    return counts


# 02.4 ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

merging = Exercise("02.4", difficulty=2, minutes=10)
merging.forbid("tokenizer libraries", because=LIBRARY)


@merging.oracle
def merge(ids: list[int], pair: tuple[int, int], new: int) -> list[int]:
    """Each occurrence of the pair replaced by `new`, from left to right, none overlapping another."""
    out, i = [], 0
    while i < len(ids):
        if i + 1 < len(ids) and (ids[i], ids[i + 1]) == tuple(pair):
            out.append(new)
            i += 2
        else:
            out.append(ids[i])
            i += 1
    return out


@merging.fresh
def _(draw):
    """A pair of two different ids that comes three times at least, once at the end."""
    ids = [1, 2, *draw.ids("9", 4).tolist(), 1, 2, 2, 1, *draw.ids("5", 4).tolist(), 3, 1, 2]
    return ids, (1, 2), 40


@merging.special("on aaa")
def _(draw):
    return [97, 97, 97], (97, 97), 256


@merging.special("on aaaa")
def _(draw):
    return [97, 97, 97, 97], (97, 97), 256


@merging.special("on aaaaa between other letters")
def _(draw):
    return [98, 97, 97, 97, 97, 97, 99, 97, 97], (97, 97), 300


@merging.special("where the pair's first id stands at the end")
def _(draw):
    return [5, 6, 7, 5], (5, 6), 9


@merging.special("where the pair is not there")
def _(draw):
    return [2, 1, 3, 2, 2, 1], (1, 2), 9


@merging.special("where other ids have the pair's digits")
def _(draw):
    return [11, 2, 1, 22], (1, 2), 9


@merging.special("on a list of one id")
def _(draw):
    return [4], (4, 4), 9


@merging.special("on an empty list")
def _(draw):
    return [], (1, 2), 9


@merging.prop("gives_a_new_list")
def _(answer, draw):
    ids = [2, 1, 3]
    same = answer(ids, (1, 2), 9) is ids
    return "Where [2, 1, 3] holds nothing to merge, the result is that very list: make a new one." if same else None


merging.hints(
    "Walk along the list with your finger. At each place: is this id and the next one the pair? What do you write, and "
    "how far do you move on?",
    "If it is the pair: write new and move on by two. If not: write the id and move on by one. That needs a while "
    "loop.",
    "Before you look at ids[i + 1], make sure that there is one.",
    "`if i + 1 < len(ids) and (ids[i], ids[i + 1]) == pair: out.append(new); i += …`",
)


@merging.wrong(
    "overlapping",
    "Merges overlap: an id that has gone into one merge is used again in the next. After a merge move on by two.",
)
def _(ids, pair, new):
    out, i = [], 0
    while i < len(ids):
        if tuple(ids[i : i + 2]) == pair:
            out.append(new)
        elif i == 0 or tuple(ids[i - 1 : i + 1]) != pair:
            out.append(ids[i])
        i += 1
    return out


@merging.wrong(
    "right_id_kept",
    "The pair's second id stays behind the new one: a merge takes both, so move on by two after it.",
)
def _(ids, pair, new):
    return [new if tuple(ids[i : i + 2]) == pair else ids[i] for i in range(len(ids))]


@merging.wrong(
    "right_to_left",
    "The list is merged from right to left: in aaa the first two are merged, not the last two.",
)
def _(ids, pair, new):
    return merge(ids[::-1], pair[::-1], new)[::-1]


@merging.wrong("only_the_first", "Only the first occurrence is merged: all of them are wanted.")
def _(ids, pair, new):
    for i in range(len(ids) - 1):
        if (ids[i], ids[i + 1]) == pair:
            return [*ids[:i], new, *ids[i + 2 :]]
    return list(ids)


@merging.wrong(
    "either_order",
    "The pair is merged in the other order as well: (2, 1) is not (1, 2).",
)
def _(ids, pair, new):
    out, i = [], 0
    while i < len(ids):
        if i + 1 < len(ids) and (ids[i], ids[i + 1]) in (pair, pair[::-1]):
            out.append(new)
            i += 2
        else:
            out.append(ids[i])
            i += 1
    return out


@merging.wrong("last_id_lost", "The last id is lost when it is not part of a merge: the loop has to reach it, too.")
def _(ids, pair, new):
    out, i = [], 0
    while i < len(ids) - 1:
        found = (ids[i], ids[i + 1]) == pair
        out.append(new if found else ids[i])
        i += 2 if found else 1
    return out


@merging.wrong(
    "reads_past_the_end",
    "At the last id the answer looks for a next one, which is not there: test i + 1 < len(ids) first.",
)
def _(ids, pair, new):
    out, i = [], 0
    while i < len(ids):
        found = ids[i] == pair[0] and ids[i + 1] == pair[1]
        out.append(new if found else ids[i])
        i += 2 if found else 1
    return out


@merging.wrong(
    "digits_replaced",
    "The ids are joined to a text and the pair is looked for in its digits, so that 1 2 is also found in 11 2: compare "
    "the ids themselves.",
)
def _(ids, pair, new):
    return [int(n) for n in " ".join(map(str, ids)).replace("{} {}".format(*pair), str(new)).split()]


@merging.wrong(
    "the_list_itself",
    "Where nothing is merged, ids itself is given back: give a new list, list(ids), or a change to one changes both.",
)
def _(ids, pair, new):
    return merge(ids, pair, new) if pair in zip(ids, ids[1:], strict=False) else ids


@merging.wrong("pair_dropped", "The pair is taken out, but nothing is put in its place: write new there.")
def _(ids, pair, new):
    marker = object()
    return [symbol for symbol in merge(ids, pair, marker) if symbol is not marker]


@merging.wrong("new_after_the_pair", "The pair is still there: new takes its place.")
def _(ids, pair, new):
    marker = object()
    return [s for symbol in merge(ids, pair, marker) for s in ([*pair, new] if symbol is marker else [symbol])]


@merging.wrong(
    "single_ids_replaced",
    "Ids are replaced that only look like half of the pair: both have to stand side by side.",
)
def _(ids, pair, new):
    return [new if symbol == pair[0] else symbol for symbol in merge(ids, pair, new)]


@merging.right
def looking_back(ids, pair, new):
    out, fresh = [], False
    for symbol in ids:
        if out and not fresh and (out[-1], symbol) == pair:
            out[-1], fresh = new, True
        else:
            out.append(symbol)
            fresh = False
    return out


@merging.right
def cutting_out(ids, pair, new):
    out, i = list(ids), 0
    while i < len(out) - 1:
        if out[i] == pair[0] and out[i + 1] == pair[1]:
            out[i : i + 2] = [new]
        i += 1
    return out


@merging.right
def one_and_the_rest(ids, pair, new):
    """By recursion; a tuple stands for a list."""
    if not ids:
        return ()
    if tuple(ids[:2]) == pair:
        return (new, *one_and_the_rest(ids[2:], pair, new))
    return (ids[0], *one_and_the_rest(ids[1:], pair, new))


@merging.right
def with_an_iterator(ids, pair, new):
    out, rest = [], iter(ids)
    symbol = next(rest, None)
    while symbol is not None:
        following = next(rest, None)
        if (symbol, following) == pair:
            out.append(new)
            following = next(rest, None)
        else:
            out.append(symbol)
        symbol = following
    return out


# 02.5 ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

training = Exercise("02.5", difficulty=4, minutes=25, title="train byte-pair encoding")
training.forbid("tokenizer libraries", because=LIBRARY)


@training.oracle
def train_bpe(text: str, n_merges: int) -> list[tuple[bytes, bytes]]:
    """The merges in the order learned; of pairs equally frequent the one that compares greatest as bytes goes first."""
    return _train(pre_tokens(text), n_merges, lambda pair, counts: (counts[pair], pair))


def _train(
    pieces: Iterable[bytes],
    n_merges: int,
    order: Callable,
    least: int = 1,
    count: Callable = count_pairs,
    join: Callable = merge,
) -> list[Pair]:
    """Merge the pair that is greatest in `order`, until n_merges are made or no pair is left.

    `least`, `count` and `join` are what some wrong answers do in another way.
    """
    words = {tuple(bytes([byte]) for byte in piece): times for piece, times in Counter(pieces).items()}
    merges: list[Pair] = []
    while len(merges) < n_merges:
        counts = count(words)
        if not counts:
            break
        best = max(counts, key=lambda pair: order(pair, counts))
        if counts[best] < least:
            break
        merges.append(best)
        words = {tuple(join(word, best, best[0] + best[1])): times for word, times in words.items()}
    return merges


@training.fresh
def _(draw):
    return _prose(draw), 12


@training.special("on a text with contractions and spaces")
def _(draw):
    return "it's its  it's don't dont\n\ndo it: it's 1919, 191 times 19!", 14


@training.special("on capitals")
def _(draw):
    return "THE The the THEN THEN Then", 8


@training.special("on accents and emoji")
def _(draw):
    return "é è é naïve naïve 😀😀 😀", 10


@training.special("on one letter over and over")
def _(draw):
    return "aaaa aaa aaaaaaa", 4


@training.special("where overlapping pairs decide")
def _(draw):
    return "aaa aaa bc bc bc", 3


@training.special("where a space and a letter are equally frequent")
def _(draw):
    return " th th xe xe", 3


@training.special("where no pair is left before all merges are made")
def _(draw):
    return "abc ab", 50


@training.special("on single letters, where there is no pair at all")
def _(draw):
    return "a", 3


@training.special("for no merges")
def _(draw):
    return "abab", 0


@training.prop("pairs_are_tuples")
def _(answer, draw):
    pair = answer("abab", 1)[0]
    sentence = f"The merge that 'abab' teaches first is {pair!r}, which is no tuple: write (a, b)."
    return None if isinstance(pair, tuple) else sentence


training.hints(
    "It is a loop: count all pairs, take the most frequent, merge it everywhere, note it down. Which of your "
    "functions do which part?",
    "Cut the text first (GPT-2's pattern; each piece keeps the space before it), so that no pair reaches across a cut. "
    "Keep each different piece once, as a tuple of single bytes, with how often it occurs.",
    "Several pairs may be equally frequent: max(counts, key=lambda pair: (counts[pair], pair)) takes the one that "
    "compares greatest. Bytes objects compare byte by byte.",
    "If there is no pair left, stop: the list is then shorter than n_merges.",
    "`best = max(counts, key=…)`, `merges.append(best)`, then every word becomes `tuple(merge(word, best, …))`",
)


def _by_count_then_pair(pair, counts):
    return counts[pair], pair


@training.wrong(
    "across_pre_tokens",
    "Pairs are counted across the cuts, from one word into the next: cut the text with GPT-2's pattern first, and "
    "count inside the pieces.",
)
def _(text, n_merges):
    return _train([text.encode()], n_merges, _by_count_then_pair)


@training.wrong(
    "ties_by_first_seen",
    "Of pairs that are equally frequent the first one seen is taken: it is to be the one that compares greatest as "
    "bytes, so that the result does not depend on the order of the text.",
)
def _(text, n_merges):
    return _train(pre_tokens(text), n_merges, lambda pair, counts: counts[pair])


@training.wrong(
    "ties_smallest",
    "Of pairs that are equally frequent the smallest is taken: it is to be the one that compares greatest as bytes.",
)
def _(text, n_merges):
    def smallest_first(pair, counts):
        return (counts[pair], [[-byte for byte in part] + [1] for part in pair])

    return _train(pre_tokens(text), n_merges, smallest_first)


@training.wrong(
    "ties_on_symbols",
    "Of pairs that are equally frequent the greatest by stand-in symbols is taken, where the space ('Ġ') comes after "
    "all letters: compare the bytes themselves, where it comes before them.",
)
def _(text, n_merges):
    table = byte_symbols()

    def by_symbols(pair, counts):
        return counts[pair], tuple("".join(table[byte] for byte in part) for part in pair)

    return _train(pre_tokens(text), n_merges, by_symbols)


@training.wrong(
    "ties_on_ids",
    "Of pairs that are equally frequent the one with the greatest ids is taken, where whatever was merged last comes "
    "last: compare the bytes that the ids stand for.",
)
def _(text, n_merges):
    number: dict[bytes, int] = {}

    def by_ids(pair, counts):
        return counts[pair], tuple(byte[0] if len(byte) == 1 else 256 + number[byte] for byte in pair)

    words = {tuple(bytes([byte]) for byte in piece): times for piece, times in Counter(pre_tokens(text)).items()}
    merges: list[Pair] = []
    while len(merges) < n_merges and (counts := count_pairs(words)):
        best = max(counts, key=lambda pair: by_ids(pair, counts))
        number.setdefault(best[0] + best[1], len(merges))
        merges.append(best)
        words = {tuple(merge(word, best, best[0] + best[1])): times for word, times in words.items()}
    return merges


@training.wrong(
    "ties_on_joined_bytes",
    "Of pairs that are equally frequent the one whose joined bytes are greatest is taken: compare the pairs, first "
    "part with first part.",
)
def _(text, n_merges):
    return _train(pre_tokens(text), n_merges, lambda pair, counts: (counts[pair], pair[0] + pair[1], -len(pair[0])))


@training.wrong(
    "leading_space_dropped",
    "The space before a word is dropped: in GPT-2 it is part of the word, so that ' the' and 'the' are different "
    "tokens.",
)
def _(text, n_merges):
    return _train([piece.lstrip(b" ") for piece in pre_tokens(text)], n_merges, _by_count_then_pair)


@training.wrong(
    "split_on_spaces",
    "The text is split at white space: the spaces are lost, and words keep their punctuation. GPT-2's pattern cuts "
    "differently and leaves each space with the word that follows.",
)
def _(text, n_merges):
    return _train([word.encode() for word in text.split()], n_merges, _by_count_then_pair)


@training.wrong(
    "spaces_at_the_end",
    "The space after a word was left with it: in GPT-2 a space belongs to the word that follows.",
)
def _(text, n_merges):
    return _train(_with_trailing_spaces(text), n_merges, _by_count_then_pair)


def _with_trailing_spaces(text: str) -> list[bytes]:
    pattern = r"'s|'t|'re|'ve|'m|'ll|'d|\p{L}+ ?|\p{N}+ ?|[^\s\p{L}\p{N}]+ ?|\s+"
    return [piece.encode() for piece in regex.findall(pattern, text)]


@training.wrong(
    "error_when_no_pair_is_left",
    "When no pair is left, the answer stops with an error (the largest of nothing): end the loop there and return the "
    "merges made so far.",
)
def _(text, n_merges):
    merges = train_bpe(text, n_merges)
    if len(merges) < n_merges:
        raise ValueError("max() arg is an empty sequence")
    return merges


@training.wrong(
    "word_counts_ignored",
    "Every different word counts once: a pair counts as often as its word occurs in the text.",
)
def _(text, n_merges):
    return _train(list(dict.fromkeys(pre_tokens(text))), n_merges, _by_count_then_pair)


@training.wrong(
    "stops_at_pairs_that_come_once",
    "The answer stops when the best pair comes only once: it goes on until n_merges are made or no pair is left at "
    "all.",
)
def _(text, n_merges):
    return _train(pre_tokens(text), n_merges, _by_count_then_pair, least=2)


@training.wrong("lower_case", "The text is put in lower case: 'The' and 'the' are different bytes, and stay so.")
def _(text, n_merges):
    return train_bpe(text.lower(), n_merges)


@training.wrong(
    "overlaps_not_counted",
    "Overlapping pairs are not counted: aaa holds the pair (a, a) twice, as in 02.3.",
)
def _(text, n_merges):
    return _train(pre_tokens(text), n_merges, _by_count_then_pair, count=_without_overlaps)


@training.wrong(
    "once_a_word",
    "A pair that comes twice in a word counts once there: every place counts, as in 02.3.",
)
def _(text, n_merges):
    def once(words):
        counts: Counter = Counter()
        for word, times in words.items():
            counts.update(dict.fromkeys(zip(word, word[1:], strict=False), times))
        return counts

    return _train(pre_tokens(text), n_merges, _by_count_then_pair, count=once)


@training.wrong(
    "only_the_first_merged",
    "In each word only the first occurrence of the pair is merged: a merge replaces all of them, as in 02.4.",
)
def _(text, n_merges):
    def first_only(word, pair, new):
        i = next((i for i in range(len(word) - 1) if word[i : i + 2] == pair), None)
        return word if i is None else (*word[:i], new, *word[i + 2 :])

    return _train(pre_tokens(text), n_merges, _by_count_then_pair, join=first_only)


@training.wrong(
    "merged_from_the_right",
    "Words are merged from right to left: in aaa the first two are merged, not the last two, as in 02.4.",
)
def _(text, n_merges):
    def from_the_right(word, pair, new):
        return merge(word[::-1], pair[::-1], new)[::-1]

    return _train(pre_tokens(text), n_merges, _by_count_then_pair, join=from_the_right)


@training.wrong(
    "rarest_first",
    "The rarest pair is merged first: it is the most frequent one.",
)
def _(text, n_merges):
    return _train(pre_tokens(text), n_merges, lambda pair, counts: (-counts[pair], pair))


@training.wrong(
    "counted_once",
    "The pairs are counted once, at the start, and taken in that order: every merge makes new pairs and takes others "
    "away, so count again after each.",
)
def _(text, n_merges):
    words = {tuple(bytes([byte]) for byte in piece): times for piece, times in Counter(pre_tokens(text)).items()}
    counts = count_pairs(words)
    return sorted(counts, key=lambda pair: (counts[pair], pair), reverse=True)[:n_merges]


@training.wrong("joined", "The merged tokens are returned: each merge is wanted as its pair, (left, right).")
def _(text, n_merges):
    return [left + right for left, right in train_bpe(text, n_merges)]


@training.wrong(
    "lists",
    "The pairs are lists: a list cannot be a key of ranks, so make each pair a tuple, (left, right).",
)
def _(text, n_merges):
    return [list(pair) for pair in train_bpe(text, n_merges)]


@training.wrong("strings", "The pairs are strings: bytes are wanted, b'th' and not 'th'.")
def _(text, n_merges):
    return [tuple(part.decode("latin-1") for part in pair) for pair in train_bpe(text, n_merges)]


@training.wrong("numbers", "The pairs are numbers: bytes are wanted, b'th' and not 116 or 256.")
def _(text, n_merges):
    ids = {bytes([byte]): byte for byte in range(256)}
    merges = train_bpe(text, n_merges)
    for left, right in merges:
        ids.setdefault(left + right, len(ids))
    return [(ids[left], ids[right]) for left, right in merges]


@training.right
def on_numbers(text, n_merges):
    """Words of ids; only ties look at the bytes that the ids stand for."""
    meaning = [bytes([byte]) for byte in range(256)]
    words, merges = [list(piece) for piece in pre_tokens(text)], []
    for _ in range(n_merges):
        counts = {}
        for word in words:
            for pair in zip(word, word[1:], strict=False):
                counts[pair] = counts.get(pair, 0) + 1
        if not counts:
            break
        best = max(counts, key=lambda pair: (counts[pair], meaning[pair[0]], meaning[pair[1]]))
        merges.append((meaning[best[0]], meaning[best[1]]))
        meaning.append(meaning[best[0]] + meaning[best[1]])
        words = [merge(word, best, len(meaning) - 1) for word in words]
    return merges


@training.right
def by_sorting(text, n_merges):
    words = Counter(tuple(bytes([byte]) for byte in piece.encode()) for piece in _cut_by_hand(text))
    merges = []
    while len(merges) < n_merges:
        ranking = sorted((count, pair) for pair, count in count_pairs(words).items())
        if not ranking:
            return merges
        left, right = ranking[-1][1]
        merges.append((left, right))
        words = Counter({tuple(one_and_the_rest(word, (left, right), left + right)): n for word, n in words.items()})
    return merges


@training.right
def with_counts_kept_up(text, n_merges):
    """Only words that hold the pair are counted anew."""
    words = [[[bytes([b]) for b in piece], times] for piece, times in Counter(pre_tokens(text)).items()]
    counts, merges = Counter(), []
    for word, times in words:
        counts.update({pair: times * n for pair, n in Counter(zip(word, word[1:], strict=False)).items()})
    while len(merges) < n_merges:
        alive = [(n, pair) for pair, n in counts.items() if n > 0]
        if not alive:
            break
        best = max(alive)[1]
        merges.append(best)
        for entry in words:
            word, times = entry
            if best in zip(word, word[1:], strict=False):
                counts.subtract({p: times * n for p, n in Counter(zip(word, word[1:], strict=False)).items()})
                entry[0] = word = merge(word, best, b"".join(best))
                counts.update({p: times * n for p, n in Counter(zip(word, word[1:], strict=False)).items()})
    return merges


def _cut_by_hand(text: str) -> Iterator[str]:
    """GPT-2's cuts without a pattern, character by character."""

    def kind(character: str) -> str:
        return "space" if character.isspace() else {"L": "L", "N": "N"}.get(unicodedata.category(character)[0], "other")

    i = 0
    while i < len(text):
        short = next((s for s in ("'s", "'t", "'re", "'ve", "'m", "'ll", "'d") if text.startswith(s, i)), None)
        if short:
            yield short
            i += len(short)
            continue
        start = i + 1 if text[i] == " " and i + 1 < len(text) and kind(text[i + 1]) != "space" else i
        end = start
        while end < len(text) and kind(text[end]) == kind(text[start]):
            end += 1
        if kind(text[start]) == "space" and end < len(text) and end - i > 1:
            end -= 1  # the last space goes with the word after it
        yield text[i:end]
        i = end


# 02.6 ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

encoding = Exercise("02.6", difficulty=3, minutes=15, title="encode a word")
encoding.forbid("tokenizer libraries", because=LIBRARY)


@encoding.oracle
def bpe_encode(word: bytes, ranks: dict[tuple[bytes, bytes], int]) -> list[bytes]:
    """Single bytes, merged pair by pair: always the pair of the lowest rank, until no pair has one."""
    parts = [bytes([byte]) for byte in word]
    while len(parts) > 1:
        best = min(zip(parts, parts[1:], strict=False), key=lambda pair: ranks.get(pair, len(ranks) + 10**9))
        if best not in ranks:
            break
        parts = merge(parts, best, best[0] + best[1])
    return parts


@encoding.fresh
def _(draw):
    return _trained_word(draw, "abcd")


@encoding.fresh
def _(draw):
    return _trained_word(draw, "abé😀")


def _trained_word(draw, letters: str) -> tuple[bytes, dict[Pair, int]]:
    """A word of a text and the merges that were learned from it."""
    text = _prose(draw, letters, 60)
    ranks = {pair: rank for rank, pair in enumerate(train_bpe(text, 30))}
    return max(pre_tokens(text), key=len) + _word(draw, letters, 9).encode(), ranks


TH_FIRST = {(b"t", b"he"): 2, (b"h", b"e"): 1, (b"t", b"h"): 0}


@encoding.special("on ababc, where the pair that comes twice has the higher rank")
def _(draw):
    return b"cababc", {(b"b", b"c"): 0, (b"a", b"b"): 1, (b"ab", b"ab"): 2, (b"a", b"bc"): 3}


@encoding.special("on aaa")
def _(draw):
    return b"aaa", {(b"a", b"a"): 0}


@encoding.special("on the word the, where t + h has the lowest rank and th + e has none")
def _(draw):
    return b"the", TH_FIRST


@encoding.special("on the word the once more, with other ranks")
def _(draw):
    return b"the", {(b"h", b"e"): 0, (b"t", b"he"): 1, (b"t", b"h"): 2}


@encoding.special("on a single byte")
def _(draw):
    return b"x", {(b"x", b"x"): 0}


@encoding.special("on a word to which no merge applies")
def _(draw):
    return b"xyz", {(b"a", b"b"): 0, (b"z", b"y"): 1}


for _text in (
    " unbelievable",
    "antidisestablishmentarianism",
    " Mississippi",
    " preposterously",
    "hahahahaha",
    " naïve",
    "👍🏽",
    " 日本語",
    "........",
):
    encoding.special(f"on {_text!r} with GPT-2's merges")(lambda draw, text=_text: _known_word(text))


def _known_word(text: str) -> Known:
    token_of = {number: token for token, number in _tables(text)[1].items()}
    return Known((text.encode(), _tables(text)[0]), [token_of[number] for number in _gpt2_ids(text)])


encoding.hints(
    "Start with single bytes. Of all neighboring pairs that may be merged, which one goes first: the one on the left, "
    "the longest, or the one that was learned first?",
    "The rank is the merge's number in the order of learning: the lowest goes first. After it, look at the new pairs.",
    "min(pairs, key=lambda pair: ranks.get(pair, float('inf'))) finds the pair of the lowest rank; stop when even "
    "that one is not in ranks. merge from 02.4 does the rest.",
    "A word of one part has no pairs: stop there, too.",
    "`while len(parts) > 1:` … `parts = merge(parts, best, …)`",
)


@encoding.wrong(
    "longest_match_first",
    "The longest token that fits is cut off, again and again: GPT-2 merges pairs in the order in which they were "
    "learned, which can end elsewhere.",
)
def _(word, ranks):
    tokens, out, i = {left + right for left, right in ranks}, [], 0
    while i < len(word):
        end = next((j for j in range(len(word), i + 1, -1) if word[i:j] in tokens), i + 1)
        out.append(word[i:end])
        i = end
    return out


@encoding.wrong(
    "left_to_right",
    "The first pair from the left that may be merged is merged: of all pairs the one of the lowest rank goes first.",
)
def _(word, ranks):
    return _merging_by(word, ranks, lambda pairs: next((pair for pair in pairs if pair in ranks), None))


@encoding.wrong(
    "by_frequency",
    "The pair that comes most often in the word goes first: counts were for training. Here the rank decides, the "
    "lowest first.",
)
def _(word, ranks):
    def most_frequent(pairs):
        known = [pair for pair in pairs if pair in ranks]
        return max(known, key=lambda pair: (known.count(pair), -ranks[pair])) if known else None

    return _merging_by(word, ranks, most_frequent)


@encoding.wrong(
    "highest_rank_first",
    "The pair of the highest rank goes first: it is the lowest, the merge learned earliest.",
)
def _(word, ranks):
    return _merging_by(word, ranks, lambda pairs: max((p for p in pairs if p in ranks), key=ranks.get, default=None))


@encoding.wrong(
    "longest_pair_first",
    "The pair that makes the longest token goes first: it is the pair of the lowest rank, the merge learned earliest.",
)
def _(word, ranks):
    def longest(pairs):
        known = [pair for pair in pairs if pair in ranks]
        return max(known, key=lambda pair: (len(pair[0] + pair[1]), -ranks[pair])) if known else None

    return _merging_by(word, ranks, longest)


@encoding.wrong(
    "joined_bytes_looked_up",
    "The joined bytes are looked up, not the pair: th + e and t + he both give the, but each pair has a rank of its "
    "own, or none. Look up (left, right) in ranks.",
)
def _(word, ranks):
    rank_of = {left + right: rank for (left, right), rank in ranks.items()}

    def joined(pairs):
        known = [pair for pair in pairs if b"".join(pair) in rank_of]
        return min(known, key=lambda pair: rank_of[b"".join(pair)], default=None)

    return _merging_by(word, ranks, joined)


@encoding.wrong(
    "order_of_the_dict",
    "The merges are made in the order in which ranks lists them: it is the number, the rank, that says which goes "
    "first.",
)
def _(word, ranks):
    return merge_by_merge(word, {pair: place for place, pair in enumerate(ranks)})


@encoding.wrong(
    "word_remembered",
    "A word that came before gets its old parts, though the ranks are others now: they depend on both, so remember "
    "nothing from one call to the next, or keep the ranks with the word.",
)
def _(word, ranks):
    return bpe_encode(word, TH_FIRST if word == b"the" else ranks)


def _merging_by(word: bytes, ranks: dict[Pair, int], choose: Callable) -> list[bytes]:
    parts = [bytes([byte]) for byte in word]
    while (best := choose(list(zip(parts, parts[1:], strict=False)))) is not None:
        parts = merge(parts, best, best[0] + best[1])
    return parts


@encoding.wrong(
    "one_round",
    "The answer stops after one merge: go on, with the new parts, until no pair of neighbors has a rank.",
)
def _(word, ranks):
    parts = [bytes([byte]) for byte in word]
    best = min(zip(parts, parts[1:], strict=False), key=lambda pair: ranks.get(pair, 10**9), default=None)
    return merge(parts, best, best[0] + best[1]) if best in ranks else parts


@encoding.wrong(
    "one_pass",
    "The answer goes through the word once and stops: a merged part can be merged again, until no pair has a rank.",
)
def _(word, ranks):
    parts, out, i = [bytes([byte]) for byte in word], [], 0
    while i < len(parts):
        if i + 1 < len(parts) and (parts[i], parts[i + 1]) in ranks:
            out.append(parts[i] + parts[i + 1])
            i += 2
        else:
            out.append(parts[i])
            i += 1
    return out


@encoding.wrong(
    "merged_from_the_right",
    "Where a pair comes several times, it is merged from the right: in aaa the first two are merged, not the last two.",
)
def _(word, ranks):
    parts = [bytes([byte]) for byte in word]
    while len(parts) > 1:
        best = min(zip(parts, parts[1:], strict=False), key=lambda pair: ranks.get(pair, 10**9))
        if best not in ranks:
            break
        parts = merge(parts[::-1], best[::-1], best[0] + best[1])[::-1]
    return parts


@encoding.wrong(
    "error_at_the_end",
    "When only one part is left, or no pair has a rank, the answer stops with an error: return the parts there.",
)
def _(word, ranks):
    parts = [bytes([byte]) for byte in word]
    while True:
        best = min((pair for pair in zip(parts, parts[1:], strict=False) if pair in ranks), key=ranks.get)
        parts = merge(parts, best, best[0] + best[1])


@encoding.wrong(
    "error_on_a_single_part",
    "When only one part is left, there are no pairs, and the smallest of nothing is an error: return the parts there.",
)
def _(word, ranks):
    parts = [bytes([byte]) for byte in word]
    while True:
        best = min(zip(parts, parts[1:], strict=False), key=lambda pair: ranks.get(pair, 10**9))
        if best not in ranks:
            return parts
        parts = merge(parts, best, best[0] + best[1])


@encoding.wrong(
    "pairs_without_a_rank_too",
    "Pairs that have no rank are merged as well, until one part is left: stop when no pair of neighbors is in ranks.",
)
def _(word, ranks):
    parts = [bytes([byte]) for byte in word]
    while len(parts) > 1:
        best = min(zip(parts, parts[1:], strict=False), key=lambda pair: ranks.get(pair, float("inf")))
        parts = merge(parts, best, best[0] + best[1])
    return parts


@encoding.wrong(
    "starts_with_numbers",
    "The parts are numbers, because list(word) takes a bytes object apart into numbers, and no pair of numbers has a "
    "rank: start with bytes([number]) for each.",
)
def _(word, ranks):
    return list(word)


@encoding.wrong("nothing_merged", "Nothing is merged: these are the word's single bytes.")
def _(word, ranks):
    return [bytes([byte]) for byte in word]


@encoding.wrong("numbers", "The parts are numbers: pieces of the word are wanted, as bytes.")
def _(word, ranks):
    return [int.from_bytes(part, "big") for part in bpe_encode(word, ranks)]


@encoding.wrong("strings", "The parts are strings: pieces of the word are wanted, as bytes.")
def _(word, ranks):
    return [part.decode("latin-1") for part in bpe_encode(word, ranks)]


@encoding.right
def merge_by_merge(word, ranks):
    """All merges in the order learned, each wherever it applies."""
    parts = [bytes([byte]) for byte in word]
    for pair in sorted(ranks, key=ranks.get):
        parts = merge(parts, pair, pair[0] + pair[1])
    return parts


@encoding.right
def one_place_at_a_time(word, ranks):
    parts = [word[i : i + 1] for i in range(len(word))]
    while True:
        pairs = enumerate(zip(parts, parts[1:], strict=False))
        places = [(ranks[pair], i) for i, pair in pairs if pair in ranks]
        if not places:
            return parts
        i = min(places)[1]
        parts[i : i + 2] = [parts[i] + parts[i + 1]]


@encoding.right
def by_cuts(word, ranks):
    """The places between parts; a merge takes a cut away. A tuple stands for a list."""
    cuts = list(range(len(word) + 1))

    def rank(k):
        return ranks.get((word[cuts[k - 1] : cuts[k]], word[cuts[k] : cuts[k + 1]]), float("inf"))

    while len(cuts) > 2:
        k = min(range(1, len(cuts) - 1), key=rank)
        if rank(k) == float("inf"):
            break
        del cuts[k]
    return tuple(word[a:b] for a, b in zip(cuts, cuts[1:], strict=False))


@encoding.right
def by_recursion(word, ranks):
    def go(parts):
        pairs = [pair for pair in zip(parts, parts[1:], strict=False) if pair in ranks]
        if not pairs:
            return parts
        best = sorted(pairs, key=lambda pair: ranks[pair])[0]
        return go(cutting_out(parts, best, b"".join(best)))

    return go([bytes((byte,)) for byte in word])


# 02.7 ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

texts = Exercise("02.7", difficulty=3, minutes=15, title="encode a text")
texts.forbid("tokenizer libraries", because=LIBRARY)


@texts.oracle
def encode(text: str, ranks: dict[tuple[bytes, bytes], int], vocab: dict[bytes, int]) -> list[int]:
    """Special tokens first, each whole; then GPT-2's cuts, and in each piece the merges."""
    return _encode(text, ranks, vocab, pre_tokens)


def _encode(text: str, ranks: dict, vocab: dict, cut: Callable, word: Callable = bpe_encode) -> list[int]:
    """As `encode`, with other cuts or another way to take a word apart."""
    out: list[int] = []
    for part in re.split(f"({re.escape(END_OF_TEXT)})", text):
        if part == END_OF_TEXT and part.encode() in vocab:
            out.append(vocab[part.encode()])
        else:
            out += [vocab[token] for piece in cut(part) for token in word(piece, ranks)]
    return out


@texts.fresh
def _(draw):
    """A vocabulary of its own, whose ids follow no rule."""
    text = _prose(draw, "abcé", 50)
    ranks = {pair: rank for rank, pair in enumerate(train_bpe(text, 25))}
    tokens = [bytes([byte]) for byte in range(256)] + [left + right for left, right in ranks]
    ids = draw.distinct(len(tokens), 2 * len(tokens)).tolist()
    return text[-60:], ranks, dict(zip(tokens, ids, strict=True))


for _where, _text in HARD_TEXTS.items():
    texts.special(_where)(lambda draw, text=_text: Known((text, *_tables(text)), list(_gpt2_ids(text))))


@texts.special("on <|endoftext|> in the text, where vocab has no such token")
def _(draw):
    ranks, vocab = _tables(text := f"a{END_OF_TEXT}b")
    return text, ranks, {token: number for token, number in vocab.items() if token != END_OF_TEXT.encode()}


@texts.special("on an empty text")
def _(draw):
    return "", *_tables("")


texts.hints(
    "Three steps: cut the text into pieces, take each piece apart into tokens, look each token up. Which of them have "
    "you written already?",
    "GPT-2's pattern cuts so that a space goes with the word after it: 'the cat' gives 'the' and ' cat'. findall "
    "gives all pieces, and joined again they are the text.",
    "<|endoftext|> is one token if it stands in the text: split the text there first, and leave it whole.",
    "`for piece in PATTERN.findall(part): out += [vocab[token] for token in bpe_encode(piece.encode(), …)]`",
)


@texts.wrong(
    "space_lost",
    "The spaces before words are lost: a space is part of the token that follows, ' cat' is not 'cat'.",
)
def _(text, ranks, vocab):
    return _encode(text, ranks, vocab, lambda part: [piece.strip(b" ") for piece in pre_tokens(part)])


@texts.wrong(
    "space_at_the_end",
    "The spaces are left with the word before them: in GPT-2 a space goes with the word that follows, ' cat'.",
)
def _(text, ranks, vocab):
    return _encode(text, ranks, vocab, _with_trailing_spaces)


@texts.wrong(
    "split_at_white_space",
    "split() loses how much white space there was, newlines included, and leaves punctuation with its word: GPT-2's "
    "pattern keeps every character and cuts punctuation off.",
)
def _(text, ranks, vocab):
    return _encode(text, ranks, vocab, lambda part: _words_with_spaces(part.split()))


def _words_with_spaces(words: list[str]) -> list[bytes]:
    return [(" " * (i > 0) + word).encode() for i, word in enumerate(words)]


@texts.wrong(
    "split_without_spaces",
    "split() loses all white space: a space is part of the token that follows it, ' cat' is not 'cat'.",
)
def _(text, ranks, vocab):
    return _encode(text, ranks, vocab, lambda part: [word.encode() for word in part.split()])


@texts.wrong(
    "not_cut",
    "The text is not cut before the merges, or at spaces only, so that a merge reaches from a word into its "
    "punctuation: cut it with GPT-2's pattern first.",
)
def _(text, ranks, vocab):
    return _encode(text, ranks, vocab, lambda part: [part.encode()])


@texts.wrong(
    "special_token_split",
    "<|endoftext|> in the text is taken apart like a word: it is one token, so split the text there first.",
)
def _(text, ranks, vocab):
    return [vocab[token] for piece in pre_tokens(text) for token in bpe_encode(piece, ranks)]


@texts.wrong(
    "special_token_dropped",
    "<|endoftext|> in the text is left out: it is a token of its own, and has an id.",
)
def _(text, ranks, vocab):
    return [number for part in text.split(END_OF_TEXT) for number in encode(part, ranks, vocab)]


@texts.wrong(
    "special_token_after_every_part",
    "<|endoftext|> is put after every part, the last one too: it belongs between two parts, where the text had it.",
)
def _(text, ranks, vocab):
    out = []
    for part in text.split(END_OF_TEXT):
        out += [vocab[token] for piece in pre_tokens(part) for token in bpe_encode(piece, ranks)]
        out.append(vocab[END_OF_TEXT.encode()])
    return out


@texts.wrong(
    "empty_parts_dropped",
    "<|endoftext|> is lost at the ends of the text, and where two stand together: the part before or after it is empty "
    "there. Keep the empty parts; they give no ids.",
)
def _(text, ranks, vocab):
    return encode(END_OF_TEXT.join(filter(None, text.split(END_OF_TEXT))), ranks, vocab)


@texts.wrong(
    "special_token_not_in_vocab",
    "<|endoftext|> is looked up in vocab without asking whether it is there: where it is not, it is encoded like any "
    "other text.",
)
def _(text, ranks, vocab):
    out = []
    for n, part in enumerate(text.split(END_OF_TEXT)):
        out += [vocab[END_OF_TEXT.encode()]] if n else []
        out += [vocab[token] for piece in pre_tokens(part) for token in bpe_encode(piece, ranks)]
    return out


@texts.wrong("lower_case", "The text is put in lower case: GPT-2 tells 'The' from 'the'.")
def _(text, ranks, vocab):
    return encode(text.lower(), ranks, vocab)


@texts.wrong(
    "space_in_front",
    "A space is put in front of the text: it is encoded as it stands, so that 'The' and ' The' stay different.",
)
def _(text, ranks, vocab):
    return encode(" " + text, ranks, vocab)


@texts.wrong(
    "end_of_text_in_front",
    "<|endoftext|> is put in front: that is done later, by prepend_bos. Here only what stands in the text counts.",
)
def _(text, ranks, vocab):
    return [vocab.get(END_OF_TEXT.encode(), 50256), *encode(text, ranks, vocab)]


def _by_pattern(pattern: str) -> Callable:
    compiled = regex.compile(pattern)
    return lambda part: [piece.encode() for piece in compiled.findall(part)]


@texts.wrong(
    "all_spaces_together",
    "In a run of spaces the last one goes with the word that follows, and the others make a piece of their own: that "
    "is "
    r"what \s+(?!\S) in the pattern is for.",
)
def _(text, ranks, vocab):
    cut = _by_pattern(r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+")
    return _encode(text, ranks, vocab, cut)


@texts.wrong(
    "contractions_not_cut",
    "Contractions are not cut off: 's, 't, 're, 've, 'm, 'll and 'd are pieces of their own.",
)
def _(text, ranks, vocab):
    cut = _by_pattern(r" ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+")
    return _encode(text, ranks, vocab, cut)


@texts.wrong(
    "contractions_in_capitals",
    "Contractions are cut off in capitals, too: GPT-2 does that in lower case only, IT'S is IT, ' and S.",
)
def _(text, ranks, vocab):
    cut = _by_pattern(r"(?i:'s|'t|'re|'ve|'m|'ll|'d)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+")
    return _encode(text, ranks, vocab, cut)


@texts.wrong(
    "letters_of_english_only",
    "Only a–z and 0–9 count as letters and digits, so that é or 中 is cut like a sign: \\p{L} and \\p{N} stand for the "
    "letters and digits of all scripts.",
)
def _(text, ranks, vocab):
    cut = _by_pattern(r"'s|'t|'re|'ve|'m|'ll|'d| ?[A-Za-z]+| ?[0-9]+| ?[^\sA-Za-z0-9]+|\s+(?!\S)|\s+")
    return _encode(text, ranks, vocab, cut)


@texts.wrong(
    "numbers_in_threes",
    "Numbers are cut into groups of three digits, as later models do: GPT-2 keeps a run of digits in one piece.",
)
def _(text, ranks, vocab):
    cut = _by_pattern(r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}{1,3}| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+")
    return _encode(text, ranks, vocab, cut)


@texts.wrong(
    "words_and_the_rest",
    r"The text is cut at \w+: that puts digits and the underscore with the letters, and loses which space belongs to "
    "which word.",
)
def _(text, ranks, vocab):
    return _encode(text, ranks, vocab, _by_pattern(r"\w+|\W+"))


@texts.wrong(
    "longest_match",
    "The longest token that fits is cut off each piece: GPT-2 merges pairs in the order in which they were learned, "
    "which can end elsewhere.",
)
def _(text, ranks, vocab):
    def longest(piece, _):
        i = 0
        while i < len(piece):
            end = next((j for j in range(len(piece), i + 1, -1) if piece[i:j] in vocab), i + 1)
            yield piece[i:end]
            i = end

    return _encode(text, ranks, vocab, pre_tokens, longest)


@texts.wrong(
    "bytes_are_their_own_ids",
    "A single byte's value is taken for its id: the vocabulary numbers them in another order, 'A' is byte 65 and "
    "token 32. Look every token up in vocab.",
)
def _(text, ranks, vocab):
    own = {token: token[0] if len(token) == 1 else number for token, number in vocab.items()}
    return encode(text, ranks, own)


@texts.wrong(
    "ids_from_ranks",
    "256 + rank is taken for a token's id: in GPT-2 that comes out right, but it is the vocabulary that gives the ids.",
)
def _(text, ranks, vocab):
    counted = {left + right: 256 + rank for (left, right), rank in ranks.items()}
    return encode(text, ranks, vocab | counted)


@texts.wrong(
    "gpt2s_own_tables",
    "GPT-2's own merges and ids are used, whatever ranks and vocab hold: use the arguments.",
)
def _(text, ranks, vocab):
    return encode(text, _all_ranks(), _gpt2()[0])


@functools.lru_cache(maxsize=1)
def _all_ranks() -> dict[Pair, int]:
    return dict(_gpt2()[1].values())


@texts.wrong("one_list_a_piece", "Each piece has a list of its own: one flat list of ids is wanted.")
def _(text, ranks, vocab):
    return [[vocab[token] for token in bpe_encode(piece, ranks)] for piece in pre_tokens(text)]


@texts.wrong("tokens_for_ids", "These are the tokens themselves: look each up in vocab, for its id.")
def _(text, ranks, vocab):
    token_of = {number: token for token, number in vocab.items()}
    return [token_of[number] for number in encode(text, ranks, vocab)]


@texts.wrong("bytes_only", "Nothing is merged: every byte is a token of its own.")
def _(text, ranks, vocab):
    return _encode(text, ranks, vocab, pre_tokens, lambda piece, _: [bytes([byte]) for byte in piece])


@texts.wrong(
    "normalized",
    "Accents were joined with their letters first (Unicode normalization): GPT-2 reads the text's bytes as they are.",
)
def _(text, ranks, vocab):
    return encode(unicodedata.normalize("NFC", text), ranks, vocab)


@texts.wrong(
    "character_by_character",
    "The text is taken apart character by character, so that no merge reaches beyond one: a piece is a whole word, "
    "with the space before it.",
)
def _(text, ranks, vocab):
    return _encode(text, ranks, vocab, lambda part: [character.encode() for character in part])


@texts.right
def cut_by_hand(text, ranks, vocab):
    out = []
    while text:
        here = text.find(END_OF_TEXT) if END_OF_TEXT.encode() in vocab else -1
        part, text, found = (text, "", False) if here < 0 else (text[:here], text[here + len(END_OF_TEXT) :], True)
        for piece in _cut_by_hand(part):
            out.extend(map(vocab.__getitem__, merge_by_merge(piece.encode("utf8"), ranks)))
        if found:
            out.append(vocab[END_OF_TEXT.encode()])
    return out


@texts.right
def with_stand_in_symbols(text, ranks, vocab):
    """As GPT-2's first tokenizer did it, on strings of printable symbols."""
    table = byte_symbols()

    def spelled(token):
        return "".join(table[byte] for byte in token)

    ranks = {(spelled(a), spelled(b)): rank for (a, b), rank in ranks.items()}
    vocab = {spelled(token): number for token, number in vocab.items()}
    out = []
    for n, part in enumerate(text.split(END_OF_TEXT) if END_OF_TEXT in vocab else [text]):
        out += [vocab[spelled(END_OF_TEXT.encode())]] if n else []
        for match in PRE_TOKEN.finditer(part):
            word = list(spelled(match.group().encode()))
            while len(word) > 1:
                best = min(zip(word, word[1:], strict=False), key=lambda pair: ranks.get(pair, 1e9))
                if best not in ranks:
                    break
                word = merge(word, best, "".join(best))
            out += [vocab[token] for token in word]
    return out


class _Encoder:
    """A callable object that remembers words it has seen, with their merges."""

    def __init__(self):
        self.seen = {}

    def __call__(self, text, ranks, vocab):
        out = []
        for part in regex.split(f"({regex.escape(END_OF_TEXT)})", text):
            if part == END_OF_TEXT and part.encode() in vocab:
                out.append(vocab[part.encode()])
                continue
            for piece in pre_tokens(part):
                key = piece, frozenset(ranks.items())
                if key not in self.seen:
                    self.seen[key] = one_place_at_a_time(piece, ranks)
                out += (vocab[token] for token in self.seen[key])
        return tuple(out)


texts.right(_Encoder())

# 02.8 ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

decoding = Exercise("02.8", difficulty=2, minutes=10, title="decode ids")
decoding.forbid("tokenizer libraries", because=LIBRARY)


@decoding.oracle
def decode(ids: list[int], vocab: dict[bytes, int]) -> str:
    """All tokens' bytes joined, then read as UTF-8; what is no UTF-8 becomes U+FFFD."""
    token_of = {number: token for token, number in vocab.items()}
    return b"".join(token_of[number] for number in ids).decode("utf-8", errors="replace")


@decoding.fresh
def _(draw):
    """A vocabulary of its own, cut without regard to characters."""
    raw = _prose(draw, "abé中😀", 12).encode()
    tokens, i = [], 0
    while i < len(raw):
        n = draw.integer(1, 5)
        tokens.append(raw[i : i + n])
        i += n
    words = sorted({*tokens, *(bytes([byte]) for byte in range(256))})
    vocab = dict(zip(words, draw.distinct(len(words), 2 * len(words)).tolist(), strict=True))
    return [vocab[token] for token in tokens], vocab


for _where, _text in HARD_TEXTS.items():
    decoding.special(_where)(lambda draw, text=_text: _known_text(text))
for _where, _text, _cut in (
    ("on an emoji whose last byte is missing", "ok 😀👍🏽", 1),
    ("on an emoji of which only the first bytes are there", " 日本語", 2),
    ("on an Arabic letter whose second byte is missing", "كيف", 1),
):
    decoding.special(_where)(lambda draw, text=_text, cut=_cut: _known_text(text, cut))


def _known_text(text: str, cut: int = 0) -> Known:
    """Ids without the last `cut` of them."""
    ids = _gpt2_ids(text)
    ids = ids[: len(ids) - cut]
    return Known((list(ids), _tables(text)[1]), _gpt2_text(ids))


@decoding.special("on half a character with text behind it")
def _(draw):
    return [1, 2], {b"\xc3": 1, b" ok": 2}


@decoding.special("on the id 0")
def _(draw):
    return [1, 0], {b"a": 0, b"b": 1}


@decoding.special("on no ids")
def _(draw):
    return [], _tables("")[1]


decoding.hints(
    "vocab goes from token to id. Which way do you need it?",
    "A token is a piece of bytes, not of text: an emoji may be spread over several tokens. When can bytes be turned "
    "into text, token by token or at the end?",
    "Join all bytes first. Where the ids stop in the middle of a character, strict decoding raises an error: "
    "errors='replace' writes U+FFFD (�) instead.",
    "`b''.join(…).decode('utf-8', errors=…)`",
)


def _joined(ids: list[int], vocab: dict[bytes, int]) -> bytes:
    token_of = {number: token for token, number in vocab.items()}
    return b"".join(token_of[number] for number in ids)


@decoding.wrong(
    "strict",
    "Where the ids stop in the middle of a character, the answer fails with an error: what is no UTF-8 is to become "
    "U+FFFD, errors='replace'.",
)
def _(ids, vocab):
    return _joined(ids, vocab).decode("utf-8")


@decoding.wrong(
    "token_by_token",
    "Each token is turned into text by itself: a character whose bytes are spread over two tokens is lost that way. "
    "Join all bytes first.",
)
def _(ids, vocab):
    return "".join(_joined([number], vocab).decode("utf-8", errors="replace") for number in ids)


@decoding.wrong(
    "token_by_token_and_strict",
    "Each token is turned into text by itself, and a token that is half a character fails: join all bytes first, and "
    "decode with errors='replace'.",
)
def _(ids, vocab):
    return "".join(_joined([number], vocab).decode("utf-8") for number in ids)


@decoding.wrong(
    "token_by_token_and_ignored",
    "Each token is turned into text by itself, and half characters are left out: join all bytes first.",
)
def _(ids, vocab):
    return "".join(_joined([number], vocab).decode("utf-8", errors="ignore") for number in ids)


@decoding.wrong(
    "special_dropped",
    "<|endoftext|> is left out: it is a token like the others, and its text belongs there.",
)
def _(ids, vocab):
    return decode([number for number in ids if number != vocab.get(END_OF_TEXT.encode())], vocab)


@decoding.wrong(
    "broken_bytes_left_out",
    "Bytes that are no UTF-8 are left out (errors='ignore'): they are to become U+FFFD, errors='replace'.",
)
def _(ids, vocab):
    return _joined(ids, vocab).decode("utf-8", errors="ignore")


@decoding.wrong(
    "ends_at_broken_bytes",
    "The text ends at the first byte that is no UTF-8: what comes after it belongs to the text, errors='replace'.",
)
def _(ids, vocab):
    text, mark, _ = decode(ids, vocab).partition("\ufffd")
    return text + mark


@decoding.wrong(
    "zero_taken_for_none",
    "The token with the id 0 is left out: 0 is an id like any other, so do not ask `if number`.",
)
def _(ids, vocab):
    return decode([number for number in ids if number], vocab)


@decoding.wrong(
    "broken_bytes_as_escapes",
    "Bytes that are no UTF-8 are written as \\x…: they are to become U+FFFD, errors='replace'.",
)
def _(ids, vocab):
    return _joined(ids, vocab).decode("utf-8", errors="backslashreplace")


@decoding.wrong("latin_1", "The bytes are read as Latin-1, one character a byte: they are UTF-8, where é takes two.")
def _(ids, vocab):
    return _joined(ids, vocab).decode("latin-1")


@decoding.wrong("ascii", "The bytes are read as ASCII, so that every other character is lost: they are UTF-8.")
def _(ids, vocab):
    return _joined(ids, vocab).decode("ascii", errors="replace")


@decoding.wrong(
    "spaces_between",
    "Spaces are put between the tokens: a token carries its own space, ' cat'. Join them with nothing between.",
)
def _(ids, vocab):
    return b" ".join(_joined([number], vocab) for number in ids).decode("utf-8", errors="replace")


@decoding.wrong("stripped", "White space at the ends is taken off: it belongs to the text.")
def _(ids, vocab):
    return decode(ids, vocab).strip()


@decoding.wrong(
    "stand_in_symbols",
    "The text is spelled in stand-in symbols, 'Ġ' for a space: here the bytes themselves are wanted, read as UTF-8.",
)
def _(ids, vocab):
    table = byte_symbols()
    return "".join(table[byte] for byte in _joined(ids, vocab))


@decoding.wrong(
    "looked_up_the_wrong_way",
    "The ids are looked up in vocab, which goes from token to id: turn it around first.",
)
def _(ids, vocab):
    return b"".join(vocab[number] for number in ids).decode("utf-8", errors="replace")


@decoding.wrong("place_for_id", "An id is taken for a place in the list of tokens: vocab says which id a token has.")
def _(ids, vocab):
    tokens = list(vocab)
    return b"".join(tokens[number % len(tokens)] for number in ids).decode("utf-8", errors="replace")


@decoding.wrong("bytes_for_text", "The bytes are returned: a string is wanted, so decode them as UTF-8.")
def _(ids, vocab):
    return _joined(ids, vocab)


@decoding.right
def into_one_bytearray(ids, vocab):
    tokens, out = dict(zip(vocab.values(), vocab.keys(), strict=True)), bytearray()
    for number in ids:
        out += tokens[number]
    return str(out, "utf-8", "replace")


@decoding.right
def bit_by_bit(ids, vocab):
    """Token by token, but a decoder keeps what is not yet a whole character."""
    import codecs

    reader = codecs.getincrementaldecoder("utf-8")(errors="replace")
    tokens = {number: token for token, number in vocab.items()}
    return "".join(reader.decode(tokens[number]) for number in ids) + reader.decode(b"", final=True)


@decoding.right
def searching_each_token(ids, vocab):
    pieces = [next(token for token, its_id in vocab.items() if its_id == number) for number in ids]
    return bytes(byte for piece in pieces for byte in piece).decode(errors="replace")


# 02.9 ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

beginning = Exercise("02.9", difficulty=1, minutes=5)


@beginning.oracle
def prepend_bos(tokens: Int[Tensor, "batch pos"], bos: int) -> Int[Tensor, "batch pos+1"]:
    """Every row with the token `bos` in front of it."""
    return torch.nn.functional.pad(tokens, (1, 0), value=bos)


@beginning.on_reference
def _(cache):
    """What the model's own to_tokens makes of a text, without and with a beginning."""
    model, n = cache.model, cache.tokens.shape[1] - 1
    texts = [model.tokenizer.decode(row[1:].tolist()) for row in cache.tokens]
    without = [model.to_tokens(text, prepend_bos=False)[:, :n] for text in texts]
    expected = [model.to_tokens(text, prepend_bos=True)[:, : n + 1] for text in texts]
    return (torch.cat(without), int(cache.tokens[0, 0])), torch.cat(expected)


@beginning.fresh
def _(draw):
    return draw.ids("batch pos", 50), 50 + draw.integer(0, 9)


@beginning.special("where the text has a bos in front already")
def _(draw):
    return torch.tensor([[9, 4, 5], [9, 9, 1]], device=draw.device), 9


@beginning.special("where bos is 0")
def _(draw):
    return torch.tensor([[3, 4, 5], [6, 7, 8]], device=draw.device), 0


@beginning.special("on texts without any token")
def _(draw):
    return torch.zeros(2, 0, dtype=torch.int64, device=draw.device), 7


beginning.hints(
    "The result is one longer than the input along which axis?",
    "Make a column of bos, one for each row of the batch, and set it in front of tokens.",
    "torch.cat joins tensors along an axis. The column has the shape [batch, 1], and the dtype and device of tokens.",
    "`torch.cat([tokens.new_full((len(tokens), 1), …), tokens], dim=…)`",
)


def _column(tokens: Tensor, bos: int) -> Tensor:
    return tokens.new_full((len(tokens), 1), bos)


@beginning.wrong("at_the_end", "bos stands at the end: it marks the beginning, so it comes first.")
def _(tokens, bos):
    return torch.cat([tokens, _column(tokens, bos)], 1)


@beginning.wrong("twice", "bos is there twice: once is enough.")
def _(tokens, bos):
    return torch.cat([_column(tokens, bos), _column(tokens, bos), tokens], 1)


@beginning.wrong("at_both_ends", "bos stands at both ends: only the beginning is marked.")
def _(tokens, bos):
    return torch.cat([_column(tokens, bos), tokens, _column(tokens, bos)], 1)


@beginning.wrong(
    "first_token_overwritten",
    "The first token is overwritten: every token stays, and the rows grow by one.",
)
def _(tokens, bos):
    out = tokens.clone()
    out[:, :1] = bos
    return out


@beginning.wrong("last_token_lost", "The last token is lost: every token stays, and the rows grow by one.")
def _(tokens, bos):
    return prepend_bos(tokens, bos)[:, :-1]


@beginning.wrong("only_the_first_row", "Only the first row gets bos: every row has a beginning.")
def _(tokens, bos):
    out = torch.nn.functional.pad(tokens, (1, 0))
    out[0, 0] = bos
    return out


@beginning.wrong("one_row_only", "Only one row is returned: every row of the batch is wanted, each with bos in front.")
def _(tokens, bos):
    return prepend_bos(tokens[:1], bos)


@beginning.wrong(
    "a_row_of_bos",
    "A row of bos is put above the texts: it is a column that is wanted, one bos before each text.",
)
def _(tokens, bos):
    return torch.cat([torch.full_like(tokens[:1], bos), tokens], 0)


@beginning.wrong(
    "not_where_there_is_one",
    "A text that begins with bos already gets none: put one in front always, whoever calls has decided that.",
)
def _(tokens, bos):
    return tokens if tokens.numel() and bool((tokens[:, 0] == bos).all()) else prepend_bos(tokens, bos)


@beginning.wrong("gpt2s_number", "50256 is put in front whatever bos is: use the argument.")
def _(tokens, bos):
    return prepend_bos(tokens, 50256)


@beginning.wrong(
    "zero_taken_for_none",
    "With bos = 0 nothing is put in front: 0 is a token like any other, so do not ask `if bos`.",
)
def _(tokens, bos):
    return prepend_bos(tokens, bos) if bos else tokens


@beginning.wrong(
    "column_shaped_after_the_first",
    "The column is made after the first column of tokens, and a text without any token has none: give its shape as "
    "numbers, (len(tokens), 1).",
)
def _(tokens, bos):
    return torch.cat([torch.full_like(tokens[:, :1], bos), tokens], 1)


@beginning.wrong(
    "one_bos_without_rows",
    "bos is a tensor of one axis, tensor([bos]): cat joins tensors with equally many axes, so make it a column of the "
    "shape [batch, 1].",
)
def _(tokens, bos):
    return torch.cat([torch.tensor([bos], device=tokens.device), tokens], 1)


@beginning.wrong(
    "one_row_for_all",
    "There is one bos for all rows, a tensor of the shape [1, 1]: cat repeats nothing, so the column needs one for "
    "each row of the batch.",
)
def _(tokens, bos):
    return torch.cat([torch.tensor([[bos]], device=tokens.device), tokens], 1)


@beginning.wrong(
    "floats",
    "The result is made of floats: ids are whole numbers, so make the column with tokens' dtype.",
)
def _(tokens, bos):
    return torch.cat([torch.ones(len(tokens), 1, device=tokens.device) * bos, tokens], 1)


@beginning.right
def with_cat(tokens, bos):
    return torch.cat([torch.full_like(tokens[:, :1], bos) if tokens.shape[1] else _column(tokens, bos), tokens], dim=1)


@beginning.right
def into_a_larger_tensor(tokens, bos):
    batch, pos = tokens.shape
    out = torch.empty(batch, pos + 1, dtype=torch.int64, device=tokens.device)
    out[:, 0] = bos
    out[:, 1:] = tokens
    return out


@beginning.right
def from_lists(tokens, bos):
    return torch.tensor([[bos, *row] for row in tokens.tolist()], device=tokens.device)


@beginning.right
def row_by_row(tokens, bos):
    return torch.stack([torch.hstack([torch.tensor([bos]).to(row), row]) for row in tokens])


# 02.10 ───────────────────────────────────────────────────────────────────────────────────────────────────────────────

hot = Exercise("02.10", difficulty=2, minutes=10, keep=("d_vocab",))


@hot.oracle
def one_hot(tokens: Int[Tensor, "batch pos"], d_vocab: int) -> Float[Tensor, "batch pos d_vocab"]:
    """A row of zeros with a 1 at the token's own place."""
    return (tokens[..., None] == torch.arange(d_vocab, device=tokens.device)).float()


@hot.on_reference
def _(cache):
    """The text's first tokens, in the whole vocabulary."""
    return (cache.tokens[:, :2], int(cache.cfg.d_vocab)), None


@hot.fresh
def _(draw):
    """The vocabulary's last token does not occur."""
    d_vocab = draw.size("d_vocab", at_least=4)
    return draw.ids("batch pos", d_vocab - 1), d_vocab


@hot.special("where the first and the last token of the vocabulary occur")
def _(draw):
    return torch.tensor([[0, 4, 2], [4, 0, 1]], device=draw.device), 5


@hot.prop("times_W_E_is_a_lookup")
def _(answer, draw):
    tokens, W_E = draw.ids("2 5", 7), draw.normal("7 3")
    gap = float((answer(tokens, 7) @ W_E - W_E[tokens]).abs().max())
    return None if gap < 1e-5 else f"one_hot(tokens, d_vocab) @ W_E differs from W_E[tokens] by {gap:.2g}."


hot.forbid(
    "eye or diag",
    because="The whole identity matrix has d_vocab × d_vocab numbers, 10 GB for GPT-2's 50,257 tokens. Make only the "
    "rows that the text needs: compare tokens[..., None] with the numbers 0 … d_vocab − 1.",
)

hot.hints(
    "For d_vocab = 4, which row stands for token 2? Where does the new axis go?",
    "A table whose row i is the one-hot row of token i has a well-known name. What is W_E[tokens] for that table?",
    "torch.eye(d_vocab) is that table, but for 50,257 tokens it takes 10 GB. Instead, compare tokens[..., None] with "
    "the numbers 0 … d_vocab − 1, and make floats of True and False.",
    "`(tokens[..., None] == torch.arange(…)).float()`",
)


@hot.wrong("one_place_too_far", "The 1 stands one place too far right: token 0 has it in place 0.")
def _(tokens, d_vocab):
    return one_hot((tokens + 1) % d_vocab, d_vocab)


@hot.wrong(
    "one_place_too_early",
    "The 1 stands one place too far left: token 0 has it in place 0, counting starts there.",
)
def _(tokens, d_vocab):
    return one_hot((tokens - 1) % d_vocab, d_vocab)


@hot.wrong(
    "whole_numbers",
    "The rows are made of whole numbers: floats are wanted, so that they can be multiplied with W_E.",
)
def _(tokens, d_vocab):
    return torch.nn.functional.one_hot(tokens, d_vocab)


@hot.wrong(
    "true_and_false",
    "The rows are made of True and False: floats are wanted, so that they can be multiplied with W_E.",
)
def _(tokens, d_vocab):
    return one_hot(tokens, d_vocab).bool()


for _dtype in (torch.float64, torch.float16, torch.bfloat16):
    hot.wrong(
        str(_dtype).removeprefix("torch."),
        "The floats are not float32, and torch multiplies only tensors of one dtype: W_E is in float32, so end with "
        ".float().",
    )(lambda tokens, d_vocab, dtype=_dtype: one_hot(tokens, d_vocab).to(dtype))


@hot.wrong("vocabulary_before_pos", "The vocabulary's axis stands before pos: it is the last one, batch, pos, d_vocab.")
def _(tokens, d_vocab):
    return one_hot(tokens, d_vocab).transpose(1, 2)


@hot.wrong("vocabulary_in_front", "The vocabulary's axis stands in front: it is the last one, batch, pos, d_vocab.")
def _(tokens, d_vocab):
    return one_hot(tokens, d_vocab).movedim(-1, 0)


@hot.wrong(
    "length_from_the_tokens",
    "The rows are only as long as the largest id that occurs: they have d_vocab places, whichever tokens the text has.",
)
def _(tokens, d_vocab):
    return one_hot(tokens, int(tokens.max()) + 1)


@hot.wrong(
    "positions_added_up",
    "Positions are added up, which gives a count of tokens a text: one row a position is wanted.",
)
def _(tokens, d_vocab):
    return one_hot(tokens, d_vocab).sum(1)


@hot.wrong("first_row_for_all", "Every text gets the first text's rows: each has tokens of its own.")
def _(tokens, d_vocab):
    return one_hot(tokens[:1], d_vocab).expand(len(tokens), -1, -1)


@hot.wrong("everything_before_too", "Every place up to the token is 1: only the token's own place is.")
def _(tokens, d_vocab):
    return (tokens[..., None] >= torch.arange(d_vocab, device=tokens.device)).float()


@hot.wrong("the_id_itself", "The token's place holds its id: it holds 1.")
def _(tokens, d_vocab):
    return one_hot(tokens, d_vocab) * tokens[..., None]


@hot.wrong("opposite", "0 and 1 are swapped: 1 stands at the token's place, 0 everywhere else.")
def _(tokens, d_vocab):
    return 1 - one_hot(tokens, d_vocab)


@hot.wrong(
    "every_token_in_every_row",
    "Each row has a 1 for every token of all texts: in out[:, :, tokens] batch and position do not go along with the "
    "token. Each row has a single 1.",
)
def _(tokens, d_vocab):
    out = torch.zeros(*tokens.shape, d_vocab, device=tokens.device)
    out[:, :, tokens] = 1.0
    return out


@hot.wrong(
    "tokens_on_the_first_axis",
    "out[tokens] looks for the tokens on the first axis, the batch: they stand on the last one.",
)
def _(tokens, d_vocab):
    out = torch.zeros(*tokens.shape, d_vocab, device=tokens.device)
    out[tokens] = 1.0
    return out


@hot.right
def with_scatter(tokens, d_vocab):
    return torch.zeros(*tokens.shape, d_vocab, device=tokens.device).scatter_(-1, tokens[..., None], 1.0)


@hot.right
def with_torchs_own(tokens, d_vocab):
    return torch.nn.functional.one_hot(tokens, num_classes=d_vocab).float()


@hot.right
def with_loops(tokens, d_vocab):
    out = torch.zeros(tokens.shape[0], tokens.shape[1], d_vocab, device=tokens.device)
    for b, row in enumerate(tokens.tolist()):
        for p, token in enumerate(row):
            out[b, p, token] = 1.0
    return out
