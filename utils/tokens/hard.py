"""Lines of text on which tokenizers disagree, drawn from a seed: chapter 02 compares a whole encoder on them.

Each line is a few fragments side by side, with whatever white space falls between them, and its own line ending. Most
fragments are of kinds that are known to be hard; some are characters drawn from all of Unicode. Characters that
Unicode 14 does not know are left out: libraries with newer tables and with older ones class them differently, and
then two tokenizers differ though both are right.
"""

import random
import unicodedata
from collections.abc import Callable

END_OF_TEXT = "<|endoftext|>"

_WORDS = {
    "English": "The the THE cat Kitten unbelievable antidisestablishmentarianism a I NASA iPhone eBay McDonald",
    "accents": "naïve café Zoë Łódź façade cafe\u0301 a\u0308 İstanbul straße ﬁne Ａｂｃ",
    "Greek and Cyrillic": "γατάκι κοιμάται κόσμος котёнок спит Привет ЁЛКА",
    "Hebrew and Arabic": "שלום עולם مرحبا بالعالم العربيّة ـــ",
    "India and Thailand": "नमस्ते दुनिया বিড়াল பூனை ภาษาไทย",
    "East Asia": "你好 世界 日本語 ねこ ネコ 고양이 안녕하세요 。 、",
}
_CONTRACTED = ("'s", "'t", "'re", "'ve", "'m", "'ll", "'d", "'S", "'LL", "’s", "’t", "'x", "''", "'sd", "'tis", "o'er")
_NUMBERS = ("0", "7", "42", "1969", "2026", "65536", "3.14159", "1,000,000", "x²", "½", "٣٤", "१२", "Ⅷ", "1e-5", "50%")
_EMOJI = ("😀", "👍🏽", "👨\u200d👩\u200d👧", "🇫🇷", "❤️", "☕", "🏴\u200d☠️", "1️⃣", "😀😀", "\ufe0f", "\u200d")
_CODE = (
    "def f(x): return x_1[0]", "a != b && c == d", "if (!ok) { i++; }", "https://example.org/a?b=1&c=%20",
    "<p class='x'>&amp;</p>", "\\n\\t", "SELECT * FROM t;", "#!/bin/sh", "foo.bar_baz()", "__init__", "λ x → x",
    "$x^2$", "{'a': -2}", "0xFF", "C:\\dir",
)  # fmt: skip
_LOOKALIKES = ("<|endoftext|", "endoftext|>", "<|end|>", "<| endoftext |>", "<|ENDOFTEXT|>", "<<|endoftext|>>")
_BLANKS = (*4 * [" "], "", "", "  ", "   ", "     ", "\t", "\t\t", " \t", "\u00a0", "\u3000", "\u2009", "\u200b")
_ENDINGS = ("\n", "\n", "\n", "\r\n", "\n\n", " \n", "", "  ", "\n ", "\u2028", "\x0b", "\x0c", "\x85")
_SIGNS = "!?.,;:-—–…“”‘’«»()[]{}*&^%$#@~`|\\/_+=<>"


def hard_lines(n_lines: int, seed: int = 0) -> list[str]:
    """`n_lines` lines, the same for the same seed; with their line endings, whichever they are.

    >>> hard_lines(2) == hard_lines(2), len(hard_lines(3)), hard_lines(2) == hard_lines(2, seed=1)
    (True, 3, False)
    """
    rng = random.Random(f"hard lines {seed}")
    return [_line(rng) for _ in range(n_lines)]


def _line(rng: random.Random) -> str:
    parts = [rng.choice(_BLANKS)]
    for _ in range(rng.randint(1, 4)):
        parts += [rng.choice(_FRAGMENTS)(rng), rng.choice(_BLANKS)]
    return "".join(parts) + rng.choice(_ENDINGS)


def _word(rng: random.Random) -> str:
    return rng.choice(rng.choice(list(_WORDS.values())).split())


def _contraction(rng: random.Random) -> str:
    return _word(rng) + rng.choice(_CONTRACTED) + rng.choice(("", "", "s", " x"))


def _run(rng: random.Random) -> str:
    return rng.choice(_SIGNS + "aA0é中 ") * rng.choice((2, 3, 4, 5, 8, 17, 33))


def _signs(rng: random.Random) -> str:
    return "".join(rng.choice(_SIGNS) for _ in range(rng.randint(1, 5)))


def _digits(rng: random.Random) -> str:
    return str(rng.randrange(10 ** rng.randint(1, 12)))


def _letters(rng: random.Random) -> str:
    return "".join(rng.choice("aeioutnrsETAhé") for _ in range(rng.randint(1, 14)))


def _anything(rng: random.Random) -> str:
    """One to four characters from all of Unicode, half of them from its first three thousand."""
    return "".join(_character(rng) for _ in range(rng.randint(1, 4)))


def _character(rng: random.Random) -> str:
    while True:
        character = chr(rng.randrange(0xC00 if rng.random() < 0.5 else 0x110000))
        if unicodedata.category(character) not in ("Cn", "Cs"):  # unassigned, half of a surrogate pair
            return character


def _of(fragments: tuple[str, ...]) -> Callable[[random.Random], str]:
    return lambda rng: rng.choice(fragments)


_FRAGMENTS = (
    _word, _word, _word, _contraction, _run, _signs, _digits, _letters, _anything,
    _of(_NUMBERS), _of(_EMOJI), _of(_CODE), _of(_LOOKALIKES), _of((END_OF_TEXT,)),
)  # fmt: skip
