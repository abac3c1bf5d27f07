# Chapter 02, tokens: the one source of its notebooks in chapters/ and solutions/ (`book build 02`).
# What is said about the pocket model is computed in the cell that shows it, so that the text stays true on another
# reference. GPT-2's merges never change, so the prose may name what they do; every count is computed all the same.

# %% [markdown] key="title"
# # Tokens: what the model reads
#
# GPT-2 has never seen a letter. It has never seen a word either. Before it reads a text, another program cuts the text
# into pieces, the **tokens**, and gives the model one whole number for each. What that program cannot say, the model
# cannot hear.
#
# Most of the time nobody notices. Then somebody ends a prompt with a space, and a model that was sure of the next word
# goes to pieces. In this chapter you see that happen, you build GPT-2's tokenizer from single bytes until it agrees
# with the original on 10,000 nasty lines, and then you explain the space.

# %% [markdown] key="what-you-will-do"
# ## What you will be able to do
#
# - **Turn** any text into bytes and say how many there will be.
# - **Train** byte-pair encoding by hand and in code, on a text of your choice.
# - **Encode and decode** as GPT-2 does, id for id, and **prove** it on text made to be hard.
# - **Estimate** what white space, numbers, capitals, emoji, other scripts and code cost, before you count.
# - **Explain** what BOS is for, and what it means that one token begins a text, ends it and fills gaps.
#
# **Builds on** 00 (tensors and named axes). Nothing of 01 is needed but matrix products.
# **Time**: two sittings. 02.1 to 02.5 make a tokenizer, 02.6 to 02.8 make it GPT-2's, 02.9 and 02.10 feed the model.
#
# | exercise | you write | difficulty (1–5) | minutes |
# |---|---|---|---|
# | 02.1 | `byte_symbols`: a visible sign for each byte | 3 | 15 |
# | 02.2 | `to_bytes`: from text to bytes | 1 | 5 |
# | 02.3 | `count_pairs`: which neighbors are common? | 2 | 10 |
# | 02.4 | `merge`: two symbols become one | 2 | 10 |
# | 02.5 | `train_bpe`: learn the merges from a text | 4 | 25 |
# | 02.6 | `bpe_encode`: merge a new word | 3 | 15 |
# | 02.7 | `encode`: from text to ids | 3 | 15 |
# | 02.8 | `decode`: from ids to text | 2 | 10 |
# | 02.9 | `prepend_bos`: where a text begins | 1 | 5 |
# | 02.10 | `one_hot`: an id as a vector | 2 | 10 |
#
# Write an answer where you find `raise NotImplementedError`, run that cell, then run the cell below it: it grades
# your function. `hint("02.1")` gives a hint, and a stronger one each time you ask. You may skip an exercise: later
# cells use the book's version where yours is missing, and say so.

# %% key="setup"
import json
import re
from collections import Counter
from itertools import islice, pairwise

import regex
import torch
from jaxtyping import Float, Int
from torch import Tensor, tensor

from utils import grade, hint, reference, show, tokenizer, use
from utils.pocket.world import documents

model = reference(device="cpu")  # the pocket model; it needs no accelerator

# %% [markdown] key="which-model"
# The model is the book's **pocket model**: GPT-2's architecture and GPT-2's own tokenizer, trained on short stories of
# a small made-up world. Every token and id of this chapter is GPT-2's. What the *model* makes of them is the pocket
# model's; for GPT-2's own answers run `book reference gpt2` once in a terminal, write
# `model = reference("gpt2", device="cpu")` in the cell above, and run the chapter again.

# %% [markdown] key="question" terms="token"
# ## 1 · One space too many
#
# A story breaks off in the middle of a sentence. The model says which token comes next.

# %% key="the-story" tags=["demo"]
story = 'Anna had a white kitten. One morning it climbed a tall tree and was stuck. "Come down!" called Anna, but the'


def next_tokens(text):
    """The three likeliest next tokens of `text`, each with its probability."""
    best = model(text)[0, -1].softmax(-1).topk(3)  # [3], of the last position
    found = zip(best.indices, best.values, strict=True)
    return [f"{model.to_string(token)!r} {probability:.2f}" for token, probability in found]


columns = ["the text ends in", "likeliest", "second", "third"]
show.table(
    [[repr(story[-8:]), *next_tokens(story)]],
    columns,
    title="What comes next?",
    note="The number after each token is its probability. Look at the quotes: the space is inside.",
)

# %% [markdown] key="predict-space" tags=["predict"]
# **Predict.** Now one space is typed after "the". A person would not see it. What will the model say?
#
# - **a**: the same word, just as sure;
# - **b**: the same word, a little less sure;
# - **c**: something else.
#
# Write your guess down first. A guess that turns out wrong is remembered better than a truth that was only read.

# %% key="guess-space" tags=["predict"]
my_guess = "?"  # a, b or c

# %% key="the-space" tags=["demo"]
show.table(
    [[repr(text[-8:]), *next_tokens(text)] for text in (story, story + " ")],
    columns,
    title="What comes next, after one more space?",
    note="The two rows differ in one space at the end of the text. Compare them with your guess.",
)

# %% [markdown] key="why-space"
# <details><summary>What you see</summary>
#
# Look at the first column of guesses. If the second row names another token than the first, it is **c**: nothing in
# the story has changed, and the model has lost the thread. Larger models bear such a space better, and
# often do worse with it all the same.
#
# </details>
#
# That is the question of this chapter: **what can one space do to a text that has not changed?** To answer it you have
# to see what the model sees.

# %% [markdown] key="lines-that-run" covers="N9, N5" terms="id, vocabulary, logit"
# ## 2 · What the model is given
#
# Three lines run a model, here and in every chapter after this one:
#
# 1. `model.to_tokens(text)` cuts the text and gives the tokens' numbers, their **ids**, on the model's device.
# 2. `model.run_with_cache(tokens)` runs the model and keeps every activation on the way.
# 3. `logits.softmax(-1)` turns the scores (**logits**) of each position into probabilities.
#
# An id is a place in a fixed list of tokens, the **vocabulary**; its length is `d_vocab`. The ids are all that goes
# in: whole numbers, not vectors, and not one letter.

# %% key="three-lines" tags=["demo"]
tokens = model.to_tokens(story)  # [batch pos]
logits, cache = model.run_with_cache(tokens)  # [batch pos d_vocab]
probabilities = logits.softmax(-1)  # [batch pos d_vocab]

sums = probabilities.sum(-1)  # [batch pos]
show.table(
    [
        ["tokens", "batch pos", str(tuple(tokens.shape)), str(tokens.dtype), "the ids"],
        ["logits", "batch pos d_vocab", str(tuple(logits.shape)), str(logits.dtype), "a score for each token"],
        ["probabilities", "batch pos d_vocab", str(tuple(probabilities.shape)), str(logits.dtype), "rows sum to 1"],
    ],
    ["name", "axes", "shape", "dtype", "what it is"],
    title="What goes in and what comes out",
    note=f"One text of {tokens.shape[1]} tokens; {tokens.shape[1]} × {logits.shape[-1]:,} scores come out. "
    f"All sums are 1: {bool(torch.allclose(sums, torch.ones_like(sums), atol=1e-4))}.",
)

# %% [markdown] key="predict-shape" covers="N6" tags=["predict"]
# A score for every token of the vocabulary, and that at *every* position: `logits[i, j]` is the model's opinion at
# position `j` of text `i`.
#
# **Predict.** Which token is `logits[0, 6]` about: the one at position 5, at 6, or at 7?

# %% key="guess-shape" tags=["predict"]
my_guess = "?"  # 5, 6 or 7

# %% key="one-further" covers="N6" tags=["demo"]
strings = model.to_str_tokens(story)
best = probabilities[0].max(-1)  # values and indices: [pos]
agree = best.indices[:-1] == tokens[0, 1:]  # [pos-1]
rows = [
    [j, repr(strings[j]), repr(model.to_string(best.indices[j])), f"{best.values[j]:.2f}",
     repr(strings[j + 1]), "yes" if agree[j] else ""]
    for j in range(14)
]  # fmt: skip
show.table(
    rows,
    ["position j", "token j", "likeliest by logits[0, j]", "probability", "token j + 1", "the same"],
    title="What each row of the logits is about",
    note=f"Over the whole story the likeliest token is the next one at {agree.float().mean():.0%} of the positions.",
)

# %% [markdown] key="one-further-text" covers="N6"
# <details><summary>Compare with your guess</summary>
#
# **7.** `logits[i, j]` is about token $j + 1$ of text $i$: the model has read token $j$ already, and says what comes
# after it. The last row is about a token that is not there yet. That is the one you draw from when a model writes.
#
# </details>
#
# So everything hangs on how a text becomes ids. The tokens above have spaces inside, some are words and some are not.
# Who decided that?

# %% [markdown] key="bytes" covers="N22" terms="byte, UTF-8"
# ## 3 · Bytes: an alphabet of 256
#
# A vocabulary of words is never complete: there is always another name, a typing error, a line of code. A vocabulary
# of characters is complete only if it holds all of Unicode, more than 150,000 of them. GPT-2 starts lower down. A
# computer stores every text as **bytes**, numbers from 0 to 255, and so 256 tokens are enough to write anything at all.
# (Bytes, not characters: the first 256 characters of Unicode do not even hold Greek.)
#
# If you ask GPT-2's tokenizer for its tokens, it answers in a strange spelling:

# %% key="strange-spelling" tags=["demo"]
print(tokenizer().tokenize("the cat sat\nand naïve"))

# %% [markdown] key="stand-ins" covers="N22" terms="stand-in symbol"
# `Ġ` is a space, `Ċ` a new line, and `Ã¯` the two bytes of ï. GPT-2 keeps its vocabulary in a text file, and in a text
# file you cannot see a space, a control character or half a letter. So each of the 256 bytes has a **stand-in
# symbol**: one character that can be seen. To read GPT-2's files you need that table.

# %% [markdown] key="byte-symbols"
# ### Exercise 02.1 · A symbol for each byte
#
# *difficulty 3 · 15 minutes · stuck?* `hint("02.1")`
#
# $$
# s(b) = \begin{cases} \text{the character with number } b & \text{if } b \in V \\
# \text{the character with number } 256 + n(b) & \text{otherwise} \end{cases}
# $$
#
# $b$ is a byte; $V$ are the bytes whose own character can be seen: 33–126, 161–172 and 174–255; $n(b)$ says how many
# bytes smaller than $b$ are *not* in $V$. So the 68 others get the characters 256, 257, 258, … in the order of the
# bytes. `chr(65)` is the character with number 65, `'A'`.


# %% key="byte-symbols-answer" exercise="02.1" covers="N22"
def byte_symbols() -> dict[int, str]:
    """GPT-2's visible stand-in for each of the 256 bytes.

    >>> symbols = byte_symbols()
    >>> symbols[65], symbols[0], symbols[32], len(symbols)
    ('A', 'Ā', 'Ġ', 256)
    """
    # SOLUTION
    seen = {*range(33, 127), *range(161, 173), *range(174, 256)}
    symbols, hidden = {}, 0
    for byte in range(256):  # in this order: the first hidden byte, 0, gets character 256
        symbols[byte] = chr(byte) if byte in seen else chr(256 + hidden)
        hidden += byte not in seen
    return symbols
    # END


# %% key="byte-symbols-grade"
grade(byte_symbols)

# %% [markdown] key="byte-symbols-why" solution="02.1"
# #### Why it works
#
# Every byte gets a symbol and no two get the same: own characters lie below 256, stand-ins from 256 on. That is all
# the table is for: it can be turned around without loss.
#
# **What the classic mistake looks like.** Stand-ins counted in another order, or a byte too many kept as itself. 173
# is the trap: it is a *soft hyphen*, a character that is not shown. Keep it, and all is well until a text holds that
# byte: then every stand-in after it is off by one.

# %% key="byte-symbols-second" solution="02.1"
# A second way: ask Unicode which of the first 256 characters are controls, format marks or spaces.
import unicodedata

unseen = [b for b in range(256) if unicodedata.category(chr(b)) in ("Cc", "Cf", "Zs")]
by_category = {b: chr(256 + unseen.index(b)) if b in unseen else chr(b) for b in range(256)}
by_category == byte_symbols(), len(unseen)

# %% [markdown] key="utf-8" covers="N22" terms="code point, UTF-8"
# Which bytes make up a text? Unicode gives each character a number, its **code point**. **UTF-8** writes the number
# in one to four bytes:
#
# | code points | bytes | for example |
# |---|---|---|
# | 0 – 127 | 1 | English letters, digits, space |
# | 128 – 2,047 | 2 | é, ß, Greek, Cyrillic, Hebrew, Arabic |
# | 2,048 – 65,535 | 3 | Hindi, Thai, Chinese, Japanese, Korean, “ ” and … |
# | 65,536 and up | 4 | most emoji, rare Chinese characters |

# %% [markdown] key="to-bytes"
# ### Exercise 02.2 · Text to bytes
#
# *difficulty 1 · 5 minutes · stuck?* `hint("02.2")`
#
# Give the bytes of a text in UTF-8, as numbers from 0 to 255. An `é` is two of them.


# %% key="to-bytes-answer" exercise="02.2" covers="N22"
def to_bytes(text: str) -> list[int]:
    """The bytes of `text` in UTF-8.

    >>> to_bytes("Hi"), to_bytes("é")
    ([72, 105], [195, 169])
    """
    # SOLUTION
    return list(text.encode("utf-8"))  # a bytes object is a sequence of numbers already
    # END


# %% key="to-bytes-grade"
grade(to_bytes)

# %% [markdown] key="to-bytes-why" solution="02.2"
# #### Why it works
#
# A `str` holds code points, a `bytes` object holds bytes, and `encode` goes from the one to the other. Going through a
# `bytes` object gives numbers.
#
# **What the classic mistake looks like.** `[ord(c) for c in text]` gives code points. For plain English they are the
# same numbers, so it seems right, until an emoji comes as 128512, which is no byte.

# %% key="to-bytes-second" solution="02.2"
# A second way, and what the mistake looks like.
word = "é😀"
print([*bytes(word, "utf-8")])
print([ord(character) for character in word])

# %% [markdown] key="spelled-text"
# **Use it.** Both functions together spell any text as GPT-2's files do:

# %% key="spelled" tags=["demo"]
symbol, as_numbers = use(byte_symbols)(), use(to_bytes)
show.table(
    [[text, " ".join(f"{b:02x}" for b in as_numbers(text)), "".join(symbol[b] for b in as_numbers(text))]
     for text in ("cat", "a cat", "naïve", "ten €", "猫", "😀")],
    ["text", "bytes (hexadecimal)", "in GPT-2's files"],
    title="Texts as bytes, and in stand-in symbols",
    note="Letters of English stand for themselves. A space is Ġ. The emoji is four bytes, so four symbols.",
)  # fmt: skip

# %% key="same-sentence" tags=["demo"]
SAME = {  # one sentence: the kitten is sleeping on the chair
    "English": "The kitten is sleeping on the chair.",
    "Spanish": "El gatito duerme en la silla.",
    "German": "Das Kätzchen schläft auf dem Stuhl.",
    "Russian": "Котёнок спит на стуле.",
    "Greek": "Το γατάκι κοιμάται στην καρέκλα.",
    "Arabic": "القطة الصغيرة نائمة على الكرسي.",
    "Hindi": "बिल्ली का बच्चा कुर्सी पर सो रहा है।",
    "Chinese": "小猫在椅子上睡觉。",
    "Japanese": "子猫が椅子の上で寝ています。",
    "Korean": "새끼 고양이가 의자 위에서 자고 있다.",
}
show.bars(
    [(language, [len(text), len(as_numbers(text))]) for language, text in SAME.items()],
    series=["characters", "bytes"],
    title="One sentence in ten languages",
    note="Where the two bars differ, a character takes more than one byte. Spaces and unaccented Latin letters take one.",
    x_name="language",
    y_name="how many",
)

# %% [markdown] key="why-merge" covers="N22" terms="byte-pair encoding, merge, pair"
# ## 4 · Merging the commonest pair
#
# Bytes alone would do, but texts would be long. A model pays for each position, and attention compares every position
# with every earlier one: twice as many tokens are four times as many comparisons. So the vocabulary should also hold
# what comes often: "th", "the", " kitten".
#
# **Byte-pair encoding** finds out by counting. It was a way to compress files (Gage 1994) before Sennrich, Haddow and
# Birch (2016) used it for rare words in translation; GPT-2 runs it on bytes.
#
# 1. Start with single bytes.
# 2. Find the **pair** of neighbors that occurs most often, and **merge** it: from now on it is one symbol.
# 3. Go back to 2, until there are as many symbols as you want.
#
# Do it once by hand. Say that a text has these three words; each keeps the space before it, and `·` shows it:
#
# | word | how often |
# |---|---|
# | `·the` | 5 |
# | `·hen` | 3 |
# | `·ten` | 1 |
#
# The pair (h, e) stands in the first two words, so it occurs 5 + 3 = 8 times. What about (·, t)? And (e, n)?

# %% [markdown] key="count-pairs"
# ### Exercise 02.3 · Count pairs
#
# *difficulty 2 · 10 minutes · stuck?* `hint("02.3")`
#
# $$c(a, b) = \sum_w n_w \cdot \big|\{\, i : w_i = a \text{ and } w_{i+1} = b \,\}\big|$$
#
# $w$ is a word, a tuple of symbols $w_0, w_1, \dots$; $n_w$ says how often it occurs; the bars count the places $i$
# where $a$ stands and $b$ follows. Symbols may be numbers or bytes objects: anything that can be compared. Pairs that
# never occur are left out.


# %% key="count-pairs-answer" exercise="02.3" covers="N22"
def count_pairs(words: dict[tuple, int]) -> dict[tuple, int]:
    """How often each pair of neighbors occurs; `words` says of each word how often it occurs.

    >>> count_pairs({(1, 2, 1, 2): 3, (2, 1): 1})
    {(1, 2): 6, (2, 1): 4}
    """
    # SOLUTION
    counts = {}
    for word, times in words.items():
        for pair in pairwise(word):  # (w0, w1), (w1, w2), …; none for a word of one symbol
            counts[pair] = counts.get(pair, 0) + times
    return counts
    # END


# %% key="count-pairs-grade"
grade(count_pairs)

# %% [markdown] key="count-pairs-why" solution="02.3"
# #### Why it works
#
# Every place inside a word is looked at once, and counts as often as its word occurs. Each *different* word is walked
# through once, however often it occurs: that is what makes training on a long text bearable.
#
# **What the classic mistake looks like.** `counts[pair] + 1` in place of `+ times`. On a list of words that each occur
# once it is right; on a real text a rare word then weighs as much as "the".


# %% key="count-pairs-second" solution="02.3"
def with_counter(words):
    """A second way: a Counter starts at 0 by itself."""
    counts = Counter()
    for word, times in words.items():
        for i in range(len(word) - 1):
            counts[word[i], word[i + 1]] += times
    return counts


print(
    "the same as the first way:",
    with_counter({(1, 2, 1, 2): 3, (2, 1): 1}) == count_pairs({(1, 2, 1, 2): 3, (2, 1): 1}),
)

# %% [markdown] key="counted-text"
# **Use it** on the three words, and compare with what you counted by hand.


# %% key="counted" tags=["demo"]
def split_bytes(words):
    """{"word": times} with each word as a tuple of single bytes."""
    return {tuple(bytes([b]) for b in word.encode()): times for word, times in words.items()}


def plain(token):
    """Bytes as text, a space as ·; bytes that are no whole character are spelled out."""
    return token.decode("utf-8", errors="backslashreplace").replace(" ", "·")


hand = split_bytes({" the": 5, " hen": 3, " ten": 1})
counts = use(count_pairs)(hand)
in_order = sorted(counts, key=lambda pair: (-counts[pair], pair))
show.table(
    [[plain(a), plain(b), counts[a, b]] for a, b in in_order],
    ["left", "right", "how often"],
    title="The pairs of three words",
    note=f"The first merge joins {plain(in_order[0][0])} and {plain(in_order[0][1])}.",
)

# %% [markdown] key="merge-text"
# Now the merge itself. Each time the two symbols stand side by side, one new symbol takes their place. Go from left to
# right, and do not use a symbol twice: in `aaa`, only the first two become one.

# %% [markdown] key="merge"
# ### Exercise 02.4 · Merge a pair
#
# *difficulty 2 · 10 minutes · stuck?* `hint("02.4")`
#
# $$\dots\; a\; b\; \dots \quad\longrightarrow\quad \dots\; n\; \dots$$
#
# Wherever $a$ and $b$, the two ids of `pair`, stand side by side, write $n$, the id `new`, in place of both. Give back
# a new list and leave `ids` as it is.


# %% key="merge-answer" exercise="02.4" covers="N22"
def merge(ids: list[int], pair: tuple[int, int], new: int) -> list[int]:
    """Every occurrence of `pair` replaced by `new`, from left to right.

    >>> merge([1, 2, 3, 1, 2], (1, 2), 9), merge([7, 7, 7], (7, 7), 9)
    ([9, 3, 9], [9, 7])
    """
    # SOLUTION
    merged, i = [], 0
    while i < len(ids):
        if i + 1 < len(ids) and (ids[i], ids[i + 1]) == pair:
            merged.append(new)
            i += 2  # both are used up
        else:
            merged.append(ids[i])
            i += 1
    return merged
    # END


# %% key="merge-grade"
grade(merge)

# %% [markdown] key="merge-why" solution="02.4"
# #### Why it works
#
# `i` always stands on the first symbol that has not been written yet. After a merge it moves on by two, so no symbol
# goes into two merges. A `for` loop over the positions cannot do that.
#
# **What the classic mistake looks like.** With a `for` loop the right symbol of each pair stays behind, or `aaa`
# becomes two new symbols that share the middle one. Decoding then gives a text with letters too many.


# %% key="merge-second" solution="02.4"
def looking_back(ids, pair, new):
    """A second way: write every id, and mend the end of the list as soon as it shows the pair."""
    merged, last = [], None  # `last` is what may still be merged: not something new
    for one in ids:
        if (last, one) == pair and merged:
            merged[-1], last = new, None
        else:
            merged.append(one)
            last = one
    return merged


print("the same as the first way:", looking_back([7, 7, 7, 7, 7], (7, 7), 9) == merge([7, 7, 7, 7, 7], (7, 7), 9))

# %% [markdown] key="by-hand-text"
# **Use it.** Count, merge, count again: the table above by hand, four times. Nothing in `merge` asks for numbers, so
# it takes bytes as well, and the new symbol is simply the two joined.

# %% key="by-hand" tags=["demo"]
count, join = use(count_pairs), use(merge)
words, steps, labels = hand, [], ["bytes"]
for step in range(1, 6):
    steps.append([plain(symbol) for word in words for symbol in word])
    counts = count(words)
    best = max(counts, key=lambda pair: (counts[pair], pair))
    labels.append(f"{step}: {plain(best[0])} + {plain(best[1])}, {counts[best]} times")
    words = {tuple(join(list(word), best, best[0] + best[1])): n for word, n in words.items()}

show.tokens(
    steps,
    rows=labels[:5],
    title="Four merges by hand: ·the, ·hen and ·ten",
    note="Each row merges the commonest pair of the row above. The frequent word is one symbol first.",
)

# %% [markdown] key="ties" covers="N22"
# In the last step two pairs were equally frequent: (·, he) and (he, n), 3 times each. Any rule will do, as long as it
# is always the same. In this book the pair that compares *greatest as bytes* goes first: left part with left part,
# then right part with right part, byte by byte. A space is byte 32 and loses against any letter.

# %% [markdown] key="cuts" covers="N22" terms="pre-token"
# ## 5 · First cut, then merge
#
# If pairs could be merged across a whole text, "kitten.", "kitten!" and "kitten," would all become tokens of their own,
# and so would common phrases. GPT-2 forbids that. It first cuts the text into **pre-tokens**, and no merge goes across a cut.
# One pattern does all the cutting. At each place of the text the first part that fits is taken:
#
# - `'s|'t|'re|'ve|'m|'ll|'d` cuts English contractions off: lower case only, and only with the straight apostrophe;
# - ` ?\p{L}+` is a run of letters of any script, with one space before it if there is one;
# - ` ?\p{N}+` is a run of digits and other numbers, likewise;
# - ` ?[^\s\p{L}\p{N}]+` is a run of anything else that is not white space, likewise;
# - `\s+(?!\S)` is a run of white space, but leaves its last character to what follows, if anything does;
# - `\s+` takes the white space that is still left, such as a single tab before a word.

# %% key="pattern" tags=["demo"]
PATTERN = regex.compile(r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+")
sentence = "Anna's kitten isn't 3 years old!!  It's 4."
show.tokens(
    PATTERN.findall(sentence),
    title="A sentence, cut before any merge",
    note=f"Joined again the pieces are the text: {''.join(PATTERN.findall(sentence)) == sentence}. "
    "Every word but the first has its own space in front.",
)

# %% [markdown] key="predict-cuts" tags=["predict"]
# **Predict.** Two spaces stand between the words of `"the  cat"`. Where will the pattern cut?
#
# - **a**: `the` and `··cat`;
# - **b**: `the·` and `·cat`;
# - **c**: `the`, `·` and `·cat`.

# %% key="guess-cuts" tags=["predict"]
my_guess = "?"  # a, b or c

# %% key="more-cuts" tags=["demo"]
HARD = ["the  cat", "the\n\ncat", "THAT'S it's", "x_1 = 25%", "naïve नमस्ते"]
show.tokens(
    [PATTERN.findall(text) for text in HARD],
    rows=["two spaces", "two new lines", "contractions", "signs", "other letters"],
    title="Where the pattern cuts",
    note="· is a space, ↵ a new line. Compare the first row with your guess.",
)

# %% [markdown] key="more-cuts-text"
# <details><summary>What you see, and why</summary>
#
# **c.** A word takes *one* space with it. The part `\s+(?!\S)` takes the other one, because it stops before the last
# white space in front of a word. So `·cat` is the same token after one space and after ten.
#
# In the last row the Hindi word falls into pieces: its vowel sign, and the sign that joins two consonants, are *marks*
# in Unicode, neither letters nor numbers. So the pattern cuts in the middle of a word, and no merge can mend that.
#
# </details>

# %% [markdown] key="train-bpe"
# ### Exercise 02.5 · Train byte-pair encoding
#
# *difficulty 4 · 25 minutes · stuck?* `hint("02.5")`
#
# $$(a, b)^\star = \operatorname*{arg\,max}_{(a, b)} \; c(a, b)$$
#
# Cut `text` with `PATTERN`, make each piece a tuple of single bytes and note how often it occurs. Then `n_merges`
# times: count all pairs, take the pair $(a, b)^\star$ with the largest count $c$, note it down, and merge it in every
# word. Of pairs with the same count take the one that compares greatest as bytes: Python compares tuples of bytes just
# so. When no pair is left, stop early. If you skipped an exercise, `use(count_pairs)` and `use(merge)` are the book's.


# %% key="train-bpe-answer" exercise="02.5" covers="N22"
def train_bpe(text: str, n_merges: int) -> list[tuple[bytes, bytes]]:
    """The merges that a text teaches, in the order learned.

    >>> train_bpe("low low lower", 3)
    [(b'o', b'w'), (b'l', b'ow'), (b' ', b'low')]
    """
    # SOLUTION
    pieces = Counter(PATTERN.findall(text))
    words = {tuple(bytes([b]) for b in piece.encode()): times for piece, times in pieces.items()}
    merges = []
    while len(merges) < n_merges:
        counts = count_pairs(words)
        if not counts:  # every word is one symbol
            break
        pair = max(counts, key=lambda pair: (counts[pair], pair))
        merges.append(pair)
        words = {tuple(merge(word, pair, b"".join(pair))): times for word, times in words.items()}
    return merges
    # END


# %% key="train-bpe-grade"
grade(train_bpe)

# %% [markdown] key="train-bpe-why" solution="02.5"
# #### Why it works
#
# The loop is the three lines of section 4. A merge changes the counts of its neighbors, so they are counted again each
# time. The key `(counts[pair], pair)` decides by count, and among equals by the pair itself. Two different words can
# never become the same tuple, because their bytes differ, so no count is lost when the dict is made anew.
#
# **What the classic mistake looks like.** Counting the pairs once and taking the best `n_merges` of that list. The
# first merge is right and the second often too. But "the" can never come out: (t, he) is no pair before (h, e) is
# merged.


# %% key="train-bpe-second" solution="02.5"
def on_numbers(text, n_merges):
    """A second way, nearer to GPT-2's code: symbols are numbers, 256 and up for what was merged."""
    meaning = [bytes([b]) for b in range(256)]
    words, merges = Counter(tuple(piece.encode()) for piece in PATTERN.findall(text)), []
    while len(merges) < n_merges and (counts := count_pairs(words)):
        pair = max(counts, key=lambda p: (counts[p], meaning[p[0]], meaning[p[1]]))
        merges.append((meaning[pair[0]], meaning[pair[1]]))
        meaning.append(b"".join(merges[-1]))
        words = {tuple(merge(word, pair, len(meaning) - 1)): n for word, n in words.items()}
    return merges


sample = "low low lower newest " * 3
print("the same as the first way:", on_numbers(sample, 20) == train_bpe(sample, 20))

# %% [markdown] key="predict-first"
# **Use it** on the story world's own text: 150 of the documents that the pocket model learned from. Here are two of
# them.

# %% key="world-text" tags=["demo"]
world = [document.text for document in islice(documents(seed=2), 150)]
world_text = "\n".join(world)
print(f"{len(world_text):,} characters, for example:")
print(*[f"{text[:150]}…" for text in world[:2]], sep="\n")

# %% [markdown] key="predict-first-pair" tags=["predict"]
# **Predict.** Which pair will be merged first: t + h, h + e, or space + t? The commonest word of English is "the".

# %% key="guess-first" tags=["predict"]
my_guess = "?"  # th, he or space t

# %% key="trained" tags=["demo"]
merges = use(train_bpe)(world_text, 300)
first = split_bytes(Counter(PATTERN.findall(world_text)))
starting = count(first)
show.bars(
    [(f"{plain(a)} + {plain(b)}", starting[a, b]) for a, b in sorted(starting, key=starting.get)[:-13:-1]],
    title="The commonest pairs of bytes in 150 documents",
    note=f"First merge: {plain(merges[0][0])} + {plain(merges[0][1])}. Compare with your guess.",
    x_name="pair of bytes",
    y_name="how often",
)

# %% [markdown] key="why-first"
# <details><summary>What you see, and why</summary>
#
# Every " the" holds all three pairs once, so "the" cannot decide between them: other words do. h + e is in "he", "she",
# "her" and "then" as well; space + t begins "to" and "tree"; t + h is in "this" and "with". Stories about boys and girls
# are full of "he" and "she". GPT-2's text was of another kind, and you will see what came first there.
#
# </details>
#
# What are the merges worth on texts that they were not learned from?


# %% key="compression" tags=["demo"]
def bytes_per_token(text, merges):
    """After 0, 1, 2, … merges: how many bytes an average token of the text has."""
    words = split_bytes(Counter(PATTERN.findall(text)))
    length = []
    for pair in [None, *merges]:
        words = {tuple(join(list(w), pair, b"".join(pair))) if pair else w: n for w, n in words.items()}
        length.append(sum(n * len(w) for w, n in words.items()))
    return [len(text.encode()) / n for n in length]


others = " ".join(document.text for document in islice(documents(seed=3, split="held_out"), 20))
gains = {"other stories": bytes_per_token(others, merges)}
for language in ("English", "German", "Greek"):
    gains[f"{language} sentence"] = bytes_per_token(SAME[language], merges)
show.lines(
    list(range(0, 301, 10)),
    {name: values[::10] for name, values in gains.items()},
    title="What 300 merges of the story world are worth",
    note="A merge helps texts that are like the one it was learned from. German gains little, another script nothing.",
    x_name="merges",
    y_name="bytes per token",
)

# %% [markdown] key="compression-text" covers="N22"
# That is the whole idea, and its whole trouble. Frequent text becomes short; everything else stays long. Who chooses
# the text on which the merges are learned chooses whose language is cheap. The curve flattens too: each further merge
# is rarer than the one before.

# %% [markdown] key="gpt2-merges" covers="N22"
# ## 6 · GPT-2's own merges
#
# OpenAI learned GPT-2's merges in the same way, on far more text. It has published the merges, not that text. They are
# stored in two files: `vocab.bpe` has a merge on each line, in the order learned, and `encoder.json` has each token's
# id. Both are spelled in stand-in symbols, so your table from 02.1 opens them.

# %% key="read-files" tags=["demo"]
from utils.reference.vocabulary import check_vocabulary

folder = check_vocabulary()  # GPT-2's own files, which the book ships
byte_of = {symbol: byte for byte, symbol in use(byte_symbols)().items()}
END = "<|endoftext|>"  # spelled as it is, not in stand-ins


def from_symbols(spelled):
    """Stand-in symbols → the bytes that they stand for."""
    return bytes(byte_of[symbol] for symbol in spelled)


lines = (folder / "vocab.bpe").read_text(encoding="utf-8").split("\n")[1:]  # line 0 is a version
gpt2_merges = [tuple(from_symbols(part) for part in line.split(" ")) for line in lines if line]
ranks = {pair: rank for rank, pair in enumerate(gpt2_merges)}  # a pair → when it was learned

ids_of = json.loads((folder / "encoder.json").read_text(encoding="utf-8"))
vocab = {from_symbols(s): number for s, number in ids_of.items() if s != END}  # bytes → id
vocab[END.encode()] = ids_of[END]
bytes_of = {vocab[token]: token for token in vocab}  # id → bytes
print(f"256 bytes + {len(ranks):,} merges + 1 = {len(vocab):,} tokens; {END} has the id {vocab[END.encode()]:,}")

# %% key="merges-compared" tags=["demo"]
both = [[i + 1, *map(plain, merges[i]), *map(plain, gpt2_merges[i])] for i in range(12)]
shared = {b"".join(pair) for pair in merges} & {b"".join(pair) for pair in gpt2_merges[:300]}
show.table(
    both,
    ["merge", "story world: left", "right", "GPT-2: left", "right"],
    title="The first merges, learned on two different texts",
    note=f"English is English: of the 300 tokens made on the story world {len(shared)} are among GPT-2's first 300.",
)

# %% key="token-lengths" tags=["demo"]
spaced = Counter(len(token) for token in vocab if token.startswith(b" "))
others = Counter(len(token) for token in vocab if not token.startswith(b" "))
sizes = list(range(1, 19))  # a few are longer still
show.lines(
    sizes,
    {"begin with a space": [spaced[n] for n in sizes], "the others": [others[n] for n in sizes]},
    title="How long are GPT-2's tokens?",
    note=f"{spaced.total() / len(vocab):.0%} of all tokens begin with a space: mostly words, as they stand inside a "
    f"sentence. The longest has {max(map(len, vocab))} bytes.",
    x_name="bytes in a token, its space included",
    y_name="tokens",
)

# %% [markdown] key="odd-tokens"
# The vocabulary is a fossil of the text that it was learned on. Whatever stood in it often enough has become a token:

# %% key="odd" tags=["demo"]
odd = ["-" * 64, "----", " SolidGoldMagikarp", " Minecraft", " kitten", " goat", " lamb"]
show.table(
    [[plain(text.encode()) if len(text) < 20 else text[:8] + "…", len(text), vocab[text.encode()]] for text in odd],
    ["token", "characters", "id"],
    title="Some of GPT-2's tokens",
    note="Every row is a single token. The smaller the id, the earlier the merge.",
)

# %% [markdown] key="rank" terms="rank"
# ` SolidGoldMagikarp` is the name of a user of Reddit. Where such a token is rare in what the *model* is trained on
# afterwards, its embedding is hardly trained at all, and the model can behave oddly when it meets it. (Land and Bartolo
# 2024 look for such tokens in many models.)
#
# A merge's number in the list is its **rank**. Ranks are all that is needed to take a new word apart.

# %% [markdown] key="bpe-encode"
# ### Exercise 02.6 · Encode a word
#
# *difficulty 3 · 15 minutes · stuck?* `hint("02.6")`
#
# $$(a, b)^\star = \operatorname*{arg\,min}_{(a, b) \text{ side by side}} \; r(a, b)$$
#
# Start with single bytes. $r(a, b)$ is the pair's rank, where `ranks` has one. Of all pairs that stand side by side,
# take the one with the *lowest* rank, the one learned first, and merge it. Then look again: there are new pairs now.
# Stop when no pair has a rank. Not the longest piece, not the leftmost: the merges are done again in the order in which
# they were learned. If you skipped 02.4, `use(merge)` is the book's.


# %% key="bpe-encode-answer" exercise="02.6" covers="N22"
def bpe_encode(word: bytes, ranks: dict[tuple[bytes, bytes], int]) -> list[bytes]:
    """The tokens of one pre-token.

    >>> ranks = {(b"h", b"e"): 0, (b"t", b"he"): 1, (b"t", b"h"): 2}
    >>> bpe_encode(b"the", ranks), bpe_encode(b"teeth", ranks)
    ([b'the'], [b't', b'e', b'e', b'th'])
    """
    # SOLUTION
    parts = [bytes([b]) for b in word]
    while len(parts) > 1:
        first = min(pairwise(parts), key=lambda pair: ranks.get(pair, float("inf")))
        if first not in ranks:  # even the best has no rank
            break
        parts = merge(parts, first, b"".join(first))
    return parts
    # END


# %% key="bpe-encode-grade"
grade(bpe_encode)

# %% [markdown] key="bpe-encode-why" solution="02.6"
# #### Why it works
#
# Training merged the pairs in this order everywhere. Doing the same merges in the same order on a new word gives what
# training would have made of it. A pair without a rank counts as infinitely late.
#
# **What the classic mistake looks like.** Cutting off the longest token that fits. It gives a correct spelling, often
# the same one, and sometimes fewer tokens. But the model was trained on the other spelling, and the next cell looks for
# a word where they differ.


# %% key="bpe-encode-mistake" solution="02.6"
def longest_first(word):
    """The classic mistake: always the longest token that fits."""
    parts = []
    while word:
        n = next(n for n in range(len(word), 0, -1) if word[:n] in vocab)
        parts.append(word[:n])
        word = word[n:]
    return parts


pieces = sorted({piece.encode() for piece in PATTERN.findall(world_text)})
different = [p for p in pieces if longest_first(p) != bpe_encode(p, ranks)]
for word in different[:3] or [b" unbelievable"]:
    print([*map(plain, bpe_encode(word, ranks))], "but longest first", [*map(plain, longest_first(word))])


# %% key="bpe-encode-second" solution="02.6"
# A second way: go through the merges that could apply at all, once, in the order of their ranks.
def rank_by_rank(word, ranks):
    able = [pair for pair in ranks if b"".join(pair) in word]
    parts = [bytes([b]) for b in word]
    for pair in sorted(able, key=ranks.get):
        parts = merge(parts, pair, b"".join(pair))
    return parts


[plain(part) for part in rank_by_rank(b" unbelievable", ranks)]

# %% [markdown] key="steps-text"
# **Use it.** Here is one word, merge by merge, with GPT-2's ranks. Try another: change `word` and run the cell again.

# %% key="steps" tags=["demo"]
word = b" indescribably"
of_word = use(bpe_encode)
able = {pair: rank for pair, rank in ranks.items() if b"".join(pair) in word}
states, labels = [[bytes([b]) for b in word]], ["bytes"]
for (left, right), rank in sorted(able.items(), key=lambda item: item[1]):
    state = of_word(word, {pair: r for pair, r in able.items() if r <= rank})
    if state != states[-1]:
        states.append(state)
        labels.append(f"{plain(left)} + {plain(right)}, rank {rank:,}")

show.tokens(
    [[plain(part) for part in state] for state in states],
    rows=labels,
    title=f"{plain(word)}, merge by merge",
    note=f"From {len(word)} bytes to {len(states[-1])} tokens. Ranks only grow: what was learned first is merged first.",
)

# %% [markdown] key="encode-text" terms="special token"
# ## 7 · From text to ids, and back
#
# All parts are there: cut, merge, look up. One thing is left. `<|endoftext|>` is a **special token**: it was not
# learned, it was added by hand, and no merge leads to it. Where its thirteen characters stand in a text, they become
# that one token.

# %% [markdown] key="encode"
# ### Exercise 02.7 · Encode a text
#
# *difficulty 3 · 15 minutes · stuck?* `hint("02.7")`
#
# $$\text{text} \;\to\; \text{pre-tokens} \;\to\; \text{bytes} \;\to\; \text{tokens} \;\to\; \text{ids}$$
#
# Split the text at `<|endoftext|>` first (`END`, if it is in `vocab`) and keep it whole; cut everything between with
# `PATTERN`; take each piece apart with 02.6, `bpe_encode` (if you skipped it, `use(bpe_encode)` is the book's); look
# each token up in `vocab`. The result is one flat list of ids.


# %% key="encode-answer" exercise="02.7" covers="N22"
def encode(text: str, ranks: dict[tuple[bytes, bytes], int], vocab: dict[bytes, int]) -> list[int]:
    """The ids of a text; `ranks` gives each merge its rank, `vocab` each token its id.

    >>> ranks = {(b"a", b"t"): 0, (b" ", b"at"): 1}
    >>> vocab = {b"a": 0, b"t": 1, b" ": 2, b"at": 3, b" at": 4, b"<|endoftext|>": 5}
    >>> encode("at at<|endoftext|> ta", ranks, vocab)
    [3, 4, 5, 2, 1, 0]
    """
    # SOLUTION
    ids = []
    for part in re.split(f"({re.escape(END)})", text):  # the brackets keep what is split at
        if part == END and END.encode() in vocab:
            ids.append(vocab[END.encode()])
            continue
        for piece in PATTERN.findall(part):
            ids += [vocab[token] for token in bpe_encode(piece.encode(), ranks)]
    return ids
    # END


# %% key="encode-grade"
grade(encode)

# %% [markdown] key="encode-why" solution="02.7"
# #### Why it works
#
# The special token is taken out before the pattern can see it; the pattern decides where no merge may go; the merges
# decide inside; the vocabulary gives numbers. Every byte is in `vocab`, so the look-up cannot fail: there is no unknown
# word.
#
# **What the classic mistake looks like.** `text.split()`. It loses which white space there was, and " cat" becomes
# "cat", another token with another id. The text still *looks* right when decoded with spaces put in, and the model
# reads ids that it has hardly ever met in the middle of a sentence.


# %% key="encode-second" solution="02.7"
def remembering(text, ranks, vocab):
    """A second way, for long texts: the same words come again and again, so take each apart once."""
    known, ids = {}, []
    for part in re.split(f"({re.escape(END)})", text):
        special = part == END and END.encode() in vocab
        for piece in [part] if special else PATTERN.findall(part):
            if piece not in known:
                tokens = [piece.encode()] if special else bpe_encode(piece.encode(), ranks)
                known[piece] = [vocab[token] for token in tokens]
            ids += known[piece]
    return ids


print("the same as the first way:", remembering(world_text, ranks, vocab) == encode(world_text, ranks, vocab))

# %% [markdown] key="decode"
# ### Exercise 02.8 · Decode
#
# *difficulty 2 · 10 minutes · stuck?* `hint("02.8")`
#
# $$\text{text} = \operatorname{UTF-8}^{-1}\big(\, t(i_1)\; t(i_2) \cdots t(i_n) \,\big)$$
#
# $i_1 \dots i_n$ are the ids; $t(i)$ are the bytes of the token with id $i$, which `vocab` holds the other way round.
# Join the bytes, then read them as UTF-8. The ids may stop in the middle of a character: what is no UTF-8 becomes
# U+FFFD, the sign �.


# %% key="decode-answer" exercise="02.8" covers="N22"
def decode(ids: list[int], vocab: dict[bytes, int]) -> str:
    r"""The text that the ids stand for.

    >>> vocab = {b"\xc3": 0, b"\xa9": 1, b" ok": 2}  # the two bytes of é, and a word
    >>> decode([0, 1, 2], vocab), decode([2, 0], vocab)
    ('é ok', ' ok�')
    """
    # SOLUTION
    token_of = {number: token for token, number in vocab.items()}
    joined = b"".join(token_of[number] for number in ids)
    return joined.decode("utf-8", errors="replace")  # only now: a character may span two tokens
    # END


# %% key="decode-grade"
grade(decode)

# %% [markdown] key="decode-why" solution="02.8"
# #### Why it works
#
# The bytes of the tokens, one after the other, *are* the bytes of the text. No spaces have to be put in: they are in
# the tokens.
#
# **What the classic mistake looks like.** Each token decoded by itself and the strings joined. English is fine. An
# emoji of two tokens becomes two signs �, and no later step can bring it back. The next cell shows it.

# %% key="decode-second" solution="02.8"
# A second way: a decoder that keeps half a character until the rest comes, as a chat window needs.
import codecs

reader = codecs.getincrementaldecoder("utf-8")(errors="replace")
emoji = encode(" 😀!", ranks, vocab)
print("step by step:  ", [reader.decode(bytes_of[i]) for i in emoji])
print("token by token:", [decode([i], vocab) for i in emoji])

# %% [markdown] key="round-trip-text" terms="round trip"
# **Use it.** A **round trip** is text → ids → text. It must give every text back, whatever it is, because the bytes
# are only cut, never changed.

# %% key="round-trip" tags=["demo"]
encoder, decoder = use(encode), use(decode)
TRIPS = ["Hello, world", "  two  spaces ", "naïve café", "KITTEN", "3.14159", "你好", "😀", "def f(x):\n\treturn x"]
rows = []
for text in TRIPS:
    ids = encoder(text, ranks, vocab)
    rows.append([repr(text).replace(" ", "·"), " ".join(map(str, ids)), "yes" if decoder(ids, vocab) == text else "NO"])
show.table(
    rows,
    ["text", "ids", "comes back the same"],
    title="Round trips",
    note=f"{sum(row[2] == 'yes' for row in rows)} of {len(rows)} texts come back. · is a space.",
)

# %% [markdown] key="predict-halves" tags=["predict"]
# **Predict.** The tokens are pieces of *bytes*. How many of GPT-2's 50,257 tokens are not text by themselves, because
# they begin or end in the middle of a character: none, a few hundred, or about half?

# %% key="guess-halves" tags=["predict"]
my_guess = "?"  # none, hundreds or half


# %% key="halves" tags=["demo"]
def is_text(token):
    """Can these bytes be read as UTF-8 by themselves?"""
    return "\ufffd" not in token.decode("utf-8", errors="replace")


halves = [token for token in vocab if not is_text(token)]
there = [vocab[b"the"], vocab[b"re"]]
again = encoder(decoder(there, vocab), ranks, vocab)
single_bytes = sum(len(token) == 1 for token in halves)
print(f"{len(halves)} of {len(vocab):,} tokens are no text by themselves; {single_bytes} are a single byte.")
print(f"the ids {there} → {decoder(there, vocab)!r} → the ids {again}")

# %% [markdown] key="halves-text"
# <details><summary>What you see, and why</summary>
#
# A few hundred. The bytes from 128 to 255 are never a character alone, and some frequent beginnings of characters,
# such as the first three bytes of most emoji, were merged. That is why a chat window sometimes shows � for a moment:
# half an emoji has arrived.
#
# The second line is the other direction: ids → text → ids. It need *not* give the same ids. Many lists of ids spell
# "there"; `encode` gives one of them. A model that writes "the" and then "re" has spelled the word in a way that it
# never read in training.
#
# </details>

# %% [markdown] key="costs"
# ## 8 · What a text costs
#
# A token is the unit of everything: the length of the context (1,024 tokens for GPT-2), the time of a run, the price of
# a service. So it matters what a text costs. For each kind below: guess the number of tokens first, then look.


# %% key="cost-figures" tags=["demo"]
def cut(text):
    """A text's tokens as strings; bytes that are no whole character are spelled out."""
    tokens = [bytes_of[i] for i in encoder(text, ranks, vocab)]
    return [token.decode("utf-8", errors="backslashreplace") for token in tokens]


def costs(texts, title, note, named=False):
    """Each text's tokens in a row of boxes, with their number and, if `named`, the text before it."""
    cuts = [cut(text) for text in texts]
    labels = [f"{len(c)} token{'s' if len(c) > 1 else ''}" for c in cuts]
    if named:
        labels = [f"{text} {label}" for text, label in zip(texts, labels, strict=True)]
    return show.tokens(cuts, rows=labels, title=title, note=note)


costs(
    ["a cat", "a  cat", "a     cat", "a\tcat", "a\n\ncat", "    cat", "cat", " cat ", "cat "],
    "White space",
    "One space before a word is free: it is in the word's token. Every further space is a token of its own.",
)

# %% [markdown] key="cost-space-text"
# " cat" and "cat" are different tokens with unrelated ids. And a space at the *end* belongs to no word yet, so it is a
# token alone: keep that in mind for section 1.

# %% key="cost-numbers" tags=["demo"]
costs(
    [" 7", " 42", " 1969", " 1971", " 2027", " 12345", "123456789", " 1,000,000", " 3.14159"],
    "Numbers",
    "Frequent numbers are one token. Others are cut wherever the merges happen to fall, not at the thousands.",
)

# %% key="cost-number-shares" tags=["demo"]
spans = {"1 digit": (0, 10), "2 digits": (10, 100), "3 digits": (100, 1000), "4 digits": (1000, 10_000)}
share = {
    name: sum(f" {n}".encode() in vocab for n in range(low, high)) / (high - low) for name, (low, high) in spans.items()
}
single = [n for n in range(1000, 10_000) if f" {n}".encode() in vocab]
years = sum(1800 <= n <= 2030 for n in single)
show.bars(
    share,
    title="Which numbers are a single token after a space?",
    note=f"Of four digits only {len(single)} numbers are, and {years} of them lie between 1800 and 2030: years.",
    x_name="numbers of",
    y_name="share that is one token",
)

# %% [markdown] key="cost-number-text"
# 1969 is one token and 2027 is two, so the same digit stands now at the beginning of a token and now in its middle.
# Nothing in an id says which digits it holds: each has to be learned by heart. That is one
# reason why arithmetic is hard for these models; later ones cut numbers into single digits or groups of three.

# %% key="cost-capitals" tags=["demo"]
costs(
    [" kitten", "kitten", " Kitten", " KITTEN", " kItTeN", " kittens", " kiten"],
    "Capitals, plurals and typing errors",
    "To you one word, to the model seven lists of ids that share little or nothing.",
)

# %% key="cost-emoji" tags=["demo"]
costs(
    ["☕", "😀", "👍", "👍🏽", "🇫🇷", "👨\u200d👩\u200d👧"],
    "Emoji",
    "What \\x spells out is part of a character. A family of three is three emoji and two invisible joiners.",
    named=True,
)

# %% key="cost-scripts" tags=["demo"]
english = len(encoder(SAME["English"], ranks, vocab))
n_tokens = {language: len(encoder(text, ranks, vocab)) for language, text in SAME.items()}
dearest = max(n_tokens, key=n_tokens.get)
show.bars(
    [(language, [len(SAME[language]), n]) for language, n in n_tokens.items()],
    series=["characters", "tokens"],
    title="The sentence about the kitten: characters and tokens",
    note=f"English has {len(SAME['English']) / english:.1f} characters to a token. {dearest} needs "
    f"{n_tokens[dearest]} tokens for what English says in {english}.",
    x_name="language",
    y_name="how many",
)

# %% key="cost-context" tags=["demo"]
n_ctx = 1024  # GPT-2's context
show.table(
    [[language, n, f"{n / english:.1f}", f"{(n / english) ** 2:.0f}", n_ctx // n] for language, n in n_tokens.items()],
    ["language", "tokens", "times English", "attention, times English", "sentences in the context"],
    title="What that means for the model",
    note="Attention compares each position with each earlier one, so its cost grows with the square of the length.",
)

# %% [markdown] key="cost-script-text"
# Nobody decided that Hindi should cost more. It was rare in the text on which the merges were learned, its characters
# take three bytes each, and the pattern cuts its words at their vowel signs. The price is paid all the same: in money,
# in time, and in how much of a conversation fits. Petrov and others (2023) measured it for many tokenizers.

# %% key="cost-code" tags=["demo"]
program = "def mean(xs):\n    if not xs:\n        return 0\n    return sum(xs) / len(xs)\n"
pieces = cut(program)
blank = sum(piece.isspace() for piece in pieces)
runs = [token for token in vocab if len(token) > 1 and not token.strip(b" ")]  # spaces only
show.tokens(
    pieces,
    title=f"Code: {len(program)} characters, {len(pieces)} tokens",
    note=f"{blank} of the {len(pieces)} tokens are white space only. The last space of an indent goes with the word, "
    f"each other one is a token. Runs of spaces in the vocabulary: {len(runs)}.",
)

# %% [markdown] key="cost-code-text"
# So a deep indent costs as much as a line of prose. Tokenizers of models that are meant for code have tokens for runs
# of spaces.

# %% [markdown] key="explorer-text"
# ## 9 · Look at any text
#
# A small tool to play with, on your own encoder. The first cell does it for a text that you write into the code. The
# second is a box to type into; where a notebook cannot show one, you see the figure of its first text. Try: your name;
# a word in capitals; a space at the end; `<|endoftext|>`; an emoji with a skin color.


# %% key="explorer" tags=["demo"]
def explore(text):
    """The tokens of a text in boxes, with their ids and bytes."""
    ids = encoder(text, ranks, vocab)
    tokens = [bytes_of[i] for i in ids]
    n_bytes = sum(map(len, tokens))
    return show.tokens(
        [token.decode("utf-8", errors="backslashreplace") for token in tokens],
        ids=ids,
        below={"bytes": [token.hex(" ") for token in tokens]},
        title=f"{len(text)} characters, {n_bytes} bytes, {len(tokens)} tokens",
        note=f"{n_bytes / len(tokens):.1f} bytes per token.",
    )


explore("The kitten's naïve 😀 in 1969.")

# %% key="explorer-box" tags=["demo"]
from utils.tokens import typed

typed(explore, "Type here: any text, 你好 KITTEN  <|endoftext|>")

# %% [markdown] key="hard-text"
# ## 10 · Ten thousand hard lines
#
# A few examples prove little. So let a seeded generator write 10,000 lines that are made to be hard: contractions in
# odd places, every kind of white space, runs of one sign, digits of other scripts, accents that stand apart from their
# letters, emoji with joiners, code, things that look like `<|endoftext|>` and are not, and characters drawn from all of
# Unicode. GPT-2's tokenizer, which is written in Rust, gives what is right.

# %% key="hard-lines" tags=["demo"]
from utils.tokens import hard_lines

lines = hard_lines(10_000)
for line in lines[:6]:
    print(repr(line))

# %% key="agreement" tags=["demo"]
from time import process_time

began = process_time()
mine = [encoder(line, ranks, vocab) for line in lines]
spent = {"yours": process_time() - began}

began = process_time()
theirs = tokenizer()(lines)["input_ids"]
spent["the Rust one"] = process_time() - began

different = [place for place in range(len(lines)) if mine[place] != theirs[place]]
print(f"{len(lines) - len(different):,} of {len(lines):,} lines agree, {sum(map(len, theirs)):,} ids in all.")
back = decoder([i for ids in mine for i in ids], vocab)
print("All lines come back from their ids:", back == "".join(lines))
for place in different[:3]:
    print(f"{lines[place]!r}\n  yours  {mine[place]}\n  GPT-2  {theirs[place]}")

# %% [markdown] key="speed-text"
# And the speed? The seconds below are the processor's, so that other programs do not count. They differ from machine to
# machine and from run to run, so the book's own check does not compare them.

# %% key="speed" tags=["demo", "measured", "nbval-ignore-output"]
total = sum(map(len, theirs))
show.table(
    [[name, f"{seconds:.2f}", f"{total / seconds / 1000:,.0f}"] for name, seconds in spent.items()],
    ["tokenizer", "processor seconds", "thousand tokens a second"],
    title="10,000 hard lines",
    note="Look at the ratio of the two rows: it depends less on the machine than the seconds do.",
)

# %% key="speed-long" tags=["demo", "measured", "nbval-ignore-output"]
letters = "".join(filter(str.isalpha, world_text))
rows, spent_on = [], {}
for n in (250, 500, 1000, 2000):
    began = process_time()
    long_mine = encoder(letters[:n], ranks, vocab)
    between = process_time()
    long_theirs = tokenizer()(letters[:n])["input_ids"]
    ended = process_time()
    spent_on[n] = between - began
    rows.append([n, f"{spent_on[n] * 1000:.1f}", f"{(ended - between) * 1000:.1f}"])

show.table(
    rows,
    ["letters without a space", "yours, thousandths of a second", "the Rust one"],
    title="One long word",
    note=f"From 1,000 to 2,000 letters yours takes {spent_on[2000] / spent_on[1000]:.1f} times as long. "
    f"The ids of the last word agree: {long_mine == long_theirs}.",
)

# %% [markdown] key="speed-why"
# On lines with short words a plain loop does well: `regex` and dicts are written in C, and the Rust tokenizer does more
# in its time, for it also notes for each token where in the text it stands. Where a piece is long, the loop is lost. It
# looks at all pairs again after every merge, so a piece of $n$ bytes costs up to $n^2$ steps; the Rust one keeps the
# pairs in a queue, ordered by rank.

# %% [markdown] key="bos" covers="N3, N4" terms="BOS, EOS, padding"
# ## 11 · BOS: where a text begins
#
# Look at the table of section 2 again: token 0 was not in the story. It is `<|endoftext|>`, put there as **BOS**, the
# *beginning of sequence*. Three functions put it there by themselves, unless you say `prepend_bos=False`:

# %% key="with-and-without" covers="N3" tags=["demo"]
short = "Anna had a kitten."
bare = model.to_tokens(short, prepend_bos=False)  # [batch pos]
show.table(
    [
        ["to_str_tokens", " ".join(map(repr, model.to_str_tokens(short))),
         " ".join(map(repr, model.to_str_tokens(short, prepend_bos=False)))],
        ["to_tokens", str(model.to_tokens(short).tolist()), str(bare.tolist())],
        ["forward: the logits' shape", str(tuple(model(short).shape)),
         str(tuple(model(short, prepend_bos=False).shape))],
    ],
    ["", "as it comes", "prepend_bos=False"],
    title="With BOS and without",
    note="The same text, one token longer with BOS. Ids that you pass to the model yourself are left as they are.",
)  # fmt: skip

# %% [markdown] key="prepend-bos" covers="N3"
# ### Exercise 02.9 · Prepend BOS
#
# *difficulty 1 · 5 minutes · stuck?* `hint("02.9")`
#
# $$[\,t_1 \; t_2 \dots t_n\,] \;\to\; [\,\text{bos} \; t_1 \; t_2 \dots t_n\,]$$
#
# $t_1 \dots t_n$ are the ids of one text, a row of `tokens`; `bos` is one id. Every row of the batch gets it, whatever
# it begins with. Ids are whole numbers (int64) and stay so.


# %% key="prepend-bos-answer" exercise="02.9" covers="N3"
def prepend_bos(tokens: Int[Tensor, "batch pos"], bos: int) -> Int[Tensor, "batch pos+1"]:
    """Every row with `bos` in front.

    >>> prepend_bos(tensor([[5, 6], [7, 8]]), 9).tolist()
    [[9, 5, 6], [9, 7, 8]]
    """
    # SOLUTION
    column = tokens.new_full((len(tokens), 1), bos)  # [batch 1], dtype and device of tokens
    return torch.cat([column, tokens], dim=1)  # [batch pos+1]
    # END


# %% key="prepend-bos-grade"
grade(prepend_bos)

# %% [markdown] key="prepend-bos-why" solution="02.9"
# #### Why it works
#
# `new_full` makes a tensor of the same dtype on the same device, and `cat` along dim 1 sets it before each row.
#
# **What the classic mistake looks like.** `torch.ones(batch, 1) * bos` is float32, `cat` then makes floats of all ids,
# and the embedding refuses them. The other one: along dim 0 the BOS become a text of their own.

# %% key="prepend-bos-second" solution="02.9"
# A second way: pad on the left of the last axis.
by_pad = torch.nn.functional.pad(bare, (1, 0), value=model.tokenizer.bos_token_id)
torch.equal(by_pad, prepend_bos(bare, model.tokenizer.bos_token_id))

# %% [markdown] key="bos-for-text" covers="N4"
# What is it for?
#
# - **The first word gets a prediction too.** Position 0 speaks about token 1. With BOS, the $n$ tokens of a text get
#   $n$ predictions; without it the first has none.
# - **It says that nothing came before.** A text may start in the middle of something; after BOS a new one begins.
# - **It is a place to rest.** A head must put its attention somewhere. BOS carries nothing, so nothing is spoiled when
#   a head looks there: chapter 05 measures how much they do.
#
# The pocket model has met a BOS before every text. What does it do without?

# %% key="without-bos" tags=["demo"]
ids = model.to_tokens(story, prepend_bos=False)  # [batch pos]
put_first = use(prepend_bos)(ids, model.tokenizer.bos_token_id)  # [batch pos+1]


def of_the_next(logits, ids):
    """The probability of each token of `ids` but the first, by the position before it: [pos-1]."""
    return logits[0, :-1].softmax(-1).gather(-1, ids[0, 1:, None])[:, 0]


with_bos = of_the_next(model(put_first), put_first)[1:]  # the first word has no rival: [pos-1]
without_bos = of_the_next(model(ids), ids)  # [pos-1]
show.lines(
    list(range(1, ids.shape[1])),
    {"with BOS": with_bos, "without": without_bos},
    title="The probability of the token that comes, with BOS and without",
    note=f"Mean with BOS {with_bos.mean():.2f}, without {without_bos.mean():.2f}; of the first ten "
    f"{with_bos[:10].mean():.2f} and {without_bos[:10].mean():.2f}.",
    x_name="token of the story, counted from 0",
    y_name="probability",
)

# %% [markdown] key="one-token-three-jobs" covers="N4" terms="EOS, padding"
# ### One token, three jobs
#
# In GPT-2 `<|endoftext|>` is BOS, and **EOS** (the end of a text), and by convention also the **padding** that fills
# short rows of a batch. Does the model not mix them up?
#
# - **BOS and EOS.** In training the texts stood one after another with this token between. It ends the one and begins
#   the next, and both times it says the same: what stood before is over.
# - **Padding** stands on the right, after the text. No position of GPT-2 looks to its right, so no real token ever sees
#   it. On the *left* it would be seen, and every token would stand at another position:

# %% key="padding" covers="N4" tags=["demo"]
end = model.tokenizer.eos_token_id
text = model.to_tokens("Anna had a kitten. It was")  # [batch pos]
fill = torch.full((1, 6), end)  # [batch 6]
n = text.shape[1]
alone = model(text)  # [batch pos d_vocab]
on_right = model(torch.cat([text, fill], dim=1))[:, :n]  # [batch pos+6 d_vocab] → [batch pos d_vocab]
on_left = model(torch.cat([fill, text], dim=1))[:, -n:]

print("BOS, EOS and padding are one id:", model.tokenizer.bos_token_id == end == model.tokenizer.pad_token_id)
for side, padded in (("right", on_right), ("left", on_left)):
    print(f"padded on the {side}, the text's logits stay as they were:", bool((padded - alone).abs().max() < 1e-3))

# %% [markdown] key="one-token-price" covers="N4"
# So it is all right, at a price that you should know:
#
# - From the ids alone nobody can tell where a text ends and where the padding begins. Whoever trains on such a batch
#   has to keep the lengths. If *all* these tokens are left out of the loss, the real end is left out as well, and the
#   model never learns to stop.
# - To pad on the left (as when several texts are to be *continued* at once) one has to hide the padding by a mask and
#   shift the positions back.
# - Who types `<|endoftext|>` into a text types a special token. Your `encode` turns it into one, as the original does.
#   A service that passes on what strangers type has to decide whether it wants that.

# %% [markdown] key="one-hot-text" covers="N5" terms="one-hot vector, lookup"
# ## 12 · From ids to vectors
#
# An id is a name, not a quantity: token 1,000 is not ten times token 100. So the first thing the model does is to look
# the id up: row $t$ of a matrix $W_E$ [d_vocab d_model] is the vector of token $t$. That is the subject of chapter 03.
# One fact belongs here: **a lookup is a matrix product**. Write the id as a vector that is 0 everywhere and 1 at the
# place of the token, a **one-hot vector**. Multiplied with $W_E$, it picks one row.

# %% [markdown] key="one-hot" covers="N5"
# ### Exercise 02.10 · One-hot
#
# *difficulty 2 · 10 minutes · stuck?* `hint("02.10")`
#
# $$e(t)_v = \begin{cases} 1 & \text{if } v = t \\ 0 & \text{otherwise} \end{cases}
# \qquad\text{so that}\qquad e(t)\, W_E = \text{row } t \text{ of } W_E$$
#
# $t$ is the id at one position, $v$ runs over the `d_vocab` places of the vocabulary. One such vector for every
# position of every text, in floats, so that it can be multiplied. It has to work for 50,257 tokens: a table of
# d_vocab × d_vocab would take 10 GB then.


# %% key="one-hot-answer" exercise="02.10" covers="N5, N6"
def one_hot(tokens: Int[Tensor, "batch pos"], d_vocab: int) -> Float[Tensor, "batch pos d_vocab"]:
    """A 1 at the place of each token, 0 elsewhere.

    >>> one_hot(tensor([[2, 0]]), 3).tolist()
    [[[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]]
    """
    # SOLUTION
    places = torch.arange(d_vocab, device=tokens.device)  # [d_vocab]
    return (tokens[..., None] == places).float()  # [batch pos 1] == [d_vocab] → [batch pos d_vocab]
    # END


# %% key="one-hot-grade"
grade(one_hot)

# %% [markdown] key="one-hot-why" solution="02.10"
# #### Why it works
#
# `tokens[..., None]` has a last axis of length 1, which is compared with all places at once. True becomes 1.0.
#
# **What the classic mistake looks like.** `torch.nn.functional.one_hot` gives whole numbers, and the product with $W_E$
# stops with an error about dtypes. A table `torch.eye(d_vocab)[tokens]` would be right for a small vocabulary; the
# grader stops it, because GPT-2's table needs 10 GB before the first row is read.

# %% key="one-hot-second" solution="02.10"
# A second way: start with zeros and write the ones.
vectors = torch.zeros(*bare.shape, model.cfg.d_vocab).scatter_(-1, bare[..., None], 1.0)  # [batch pos d_vocab]
torch.equal(vectors, one_hot(bare, model.cfg.d_vocab))

# %% key="examples-run" solution="02.10"
import doctest

doctest.testmod()  # the examples in the docstrings of all ten exercises, run

# %% [markdown] key="lookup-text" covers="N5"
# **Use it.** First a vocabulary of six, where you can see the ones; then the model's own embedding, by lookup and by
# matrix product.

# %% key="one-hot-figure" tags=["demo"]
hot = use(one_hot)
small_vocab = ["Anna", "·had", "·a", "·kitten", "·goat", "."]
small_ids = tensor([[0, 1, 2, 3, 5]])  # [batch pos]
show.matrix(
    hot(small_ids, 6)[0],  # [pos d_vocab]
    rows=[small_vocab[i] for i in small_ids[0]],
    columns=small_vocab,
    title='"Anna had a kitten." as one-hot vectors',
    note="One row a position, a single 1 in each. Nothing in the picture says that a kitten is like a goat.",
    row_name="position",
    column_name="vocabulary",
    value_name="entry",
    diverging=False,
)

# %% key="lookup" covers="N5" tags=["demo"]
W_E = model.W_E.detach()  # [d_vocab d_model]
looked_up = W_E[bare]  # [batch pos] → [batch pos d_model]
multiplied = hot(bare, len(W_E)) @ W_E  # [batch pos d_vocab] @ [d_vocab d_model] → [batch pos d_model]
steps = bare.numel() * W_E.numel()
print("lookup equals one-hot times W_E:", torch.allclose(looked_up, multiplied, atol=1e-6))
print(f"the product makes {steps:,} multiplications; the lookup copies {bare.numel()} rows.")

# %% [markdown] key="lookup-why" covers="N5"
# Nobody multiplies: all but one product of each row is 0 times something. But the product is the better way to *think*.
# It shows that the embedding is a linear map like any other, with $W_E$ as its matrix, and that its gradient reaches
# only the rows of tokens that occurred.

# %% [markdown] key="answer"
# ## 13 · Back to the question
#
# What can one space do? Now look at both texts as the model does.

# %% key="both-texts" tags=["demo"]
show.tokens(
    [cut(text)[-5:] for text in (story, story + " ", story + " kitten")],
    rows=["as it was", "one more space", "what was meant"],
    title="The last five tokens",
    note="A space typed at the end is a token of its own. The space that was meant is inside the next token.",
)

# %% key="never-met" tags=["demo"]
sample = [document.text for document in islice(documents(seed=4), 1000)]
met = Counter(i for text in sample for i in tokenizer()(text)["input_ids"])
space, whole = vocab[b" "], vocab[b" kitten"]
rows = [[repr(model.to_string(i)), i, met[i]] for i in (space, whole, vocab[b" the"])]
show.table(
    rows,
    ["token", "id", "times"],
    title="How often the model meets a token: 1,000 documents of its world",
    note=f"{sum(met.values()):,} tokens in all. A space before a word is never a token by itself.",
)

# %% [markdown] key="answer-text"
# The story did not change; the *ids* did. With the space typed, the next token can no longer be " kitten": its space is
# there already. It would have to be "k" and then "itten", which spells the word in the middle of a sentence as the
# model has never read it. And the lone space before it is a token that it has hardly met, or never.
#
# So the model was not asked the same question twice. It was asked a question in a spelling that it does not know. The
# rule for your own prompts: **do not end them with a space**. The token that comes brings its own.

# %% key="mended" tags=["demo"]
typed_story = story + " "
show.table(
    [[repr(text[-8:]), *next_tokens(text)] for text in (typed_story, typed_story.rstrip())],
    columns,
    title="What comes next, once the space is taken off?",
    note="The second row is the first table's again.",
)

# %% [markdown] key="summary"
# ## Summary
#
# Say it in your own words first, then compare.
#
# - A model reads **ids**, whole numbers. Tokens [batch pos] go in, logits [batch pos d_vocab] come out, and row $j$ is
#   about token $j + 1$.
# - **Byte-pair encoding** starts with 256 bytes and merges the commonest pair, again and again. It never meets an
#   unknown word, and it makes frequent text short.
# - GPT-2 **cuts first** (words with one space before them, numbers, signs, white space) and merges inside the pieces. A
#   new word is taken apart by doing the merges again **in the order learned**.
# - Text → ids → text always comes back. Ids → text → ids need not, and a token need not be text.
# - Costs are unequal: a common English word is one token; capitals, long numbers, indents, emoji and other
#   scripts cost more, up to several tokens a character.
# - **BOS** marks where a text begins and gives the first word its prediction. One token for BOS, EOS and padding is
#   all right as long as padding stands on the right and somebody keeps the lengths.
# - A lookup is a one-hot vector times $W_E$.

# %% [markdown] key="self-test"
# ## Test yourself
#
# **1.** How many letters "r" does "strawberry" have? Why is that a harder question for GPT-2 than for you?
#
# <details><summary>Answer</summary>
#
# Three. GPT-2 is given ids, not letters, and " strawberry" is a single one. To answer, it has to know by heart how each
# token is spelled, and few texts say so outright. It is a question about something that was taken away before the model
# began to read.
#
# </details>
#
# **2.** Someone trains byte-pair encoding without cutting first. What would the new tokens look like, and what would
# be lost?
#
# <details><summary>Answer</summary>
#
# Merges would go across words: "·of·the", or ".·It" with the full stop in front. Such tokens make frequent phrases
# short. But the same word would then hide in many tokens, and the model would have to learn each anew.
#
# </details>
#
# **3.** In a batch of two texts the shorter one is padded with `<|endoftext|>` on the right. Which of its logits are
# worth nothing, and which have changed?
#
# <details><summary>Answer</summary>
#
# None of the text's own logits have changed: no position looks to the right. Worth nothing are the rows *at* the
# padding. They predict what comes after the end of the text, and must not count in a loss. The row at the last real
# token predicts the end itself, if the text is complete, and that one should count.
#
# </details>

# %% [markdown] key="glossary" covers="N21"
# ## Words met
#
# | term | meaning |
# |---|---|
# | token | a piece of text that the model reads as one; a run of bytes |
# | id | a token's place in the vocabulary, a whole number |
# | vocabulary | all tokens; d_vocab of them, 50,257 in GPT-2 |
# | logit | a score for one possible next token, before the softmax |
# | byte | a number from 0 to 255; what texts are stored in |
# | code point | the number of a character in Unicode |
# | UTF-8 | writes a code point in one to four bytes |
# | stand-in symbol | the visible character that GPT-2's files have for a byte: Ġ is the space |
# | byte-pair encoding (BPE) | start with bytes, merge the commonest pair, repeat |
# | pair, merge | two neighbors; making one symbol of them |
# | pre-token | a piece that GPT-2's pattern cuts off; no merge leaves it |
# | rank | a merge's number in the order of learning; the lowest goes first |
# | special token | added by hand, reached by no merge: `<\|endoftext\|>` |
# | round trip | text → ids → text |
# | BOS, EOS | beginning and end of a sequence; in GPT-2 the same token |
# | padding | what fills the short rows of a batch; in GPT-2 that token again |
# | one-hot vector | 0 everywhere, 1 at the token's place |
# | lookup | taking a row by its number; the same as one-hot times matrix |

# %% [markdown] key="read-on"
# ## Where to read on
#
# - Gage, *A New Algorithm for Data Compression* (1994): byte-pair encoding, when it was for files.
# - Sennrich, Haddow and Birch, *Neural Machine Translation of Rare Words with Subword Units* (2016): section 3.2 brings
#   it to translation, and with it to models of language.
# - Radford et al., *Language Models are Unsupervised Multitask Learners* (2019): GPT-2; section 2.2 on bytes and cuts.
# - Petrov, La Malfa, Torr and Bibi, *Language Model Tokenizers Introduce Unfairness Between Languages* (2023).
# - Land and Bartolo, *Fishing for Magikarp: Automatically Detecting Under-trained Tokens in Large Language Models*
#   (2024).
# - Xue et al., *ByT5: Towards a Token-Free Future with Pre-trained Byte-to-Byte Models* (2022): what if one stayed with
#   bytes?
#
# Next, [chapter 03](03_residual_stream.ipynb): what the vector of a token looks like, and the stream that it enters.
