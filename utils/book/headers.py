"""The flags in a cell's header line, read and judged: `# %% [markdown] key="…" covers="N13, M8" tags=["demo"]`.

A flag that is misspelled would be lost without a word, so whatever is not known here is a problem.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from utils.book.problems import Problem

# name → what a good value looks like, as it is told to the author
FLAGS = {
    "key": 'key="lower-case-words"',
    "exercise": 'exercise="05.2"',
    "solution": 'solution="05.2"',
    "tags": 'tags=["demo"]',
    "covers": 'covers="N13, M8"',
    "terms": 'terms="logit, softmax"',
}
TAGS = ("demo", "predict", "raises-exception", "nbval-ignore-output", "nbval-skip", "measured")
KEY = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
EXERCISE = re.compile(r"\d\d\.[1-9]\d?")
ROW = re.compile(r"[NM][1-9]\d?")
OF_JUPYTEXT = ("cell_marker", "lines_to_next_cell", "lines_to_end_of_cell_marker")


@dataclass(frozen=True)
class Flags:
    """What a header says. `exercise` marks the cell the learner writes; `solution` a cell only solutions hold."""

    key: str
    exercise: str | None = None
    solution: str | None = None
    tags: tuple[str, ...] = ()
    covers: tuple[str, ...] = ()
    terms: tuple[str, ...] = ()


def read_flags(header: str, kind: str, given: dict, path: Path, line: int, problems: list[Problem]) -> Flags:
    """The flags that jupytext found in `header`; whatever is wrong with them is added to `problems`."""

    def wrong(sentence: str) -> None:
        problems.append(Problem(path, line, sentence))

    given = {name: value for name, value in given.items() if name not in OF_JUPYTEXT}
    if "incorrectly_encoded_metadata" in given:
        wrong(f'the header\'s flags cannot be read: {given["incorrectly_encoded_metadata"]}; write name="value" pairs.')
        return Flags("")
    if kind not in ("code", "markdown"):
        wrong(f"a {kind} cell: a chapter has code cells and [markdown] cells only.")
    for name in FLAGS:
        if len(re.findall(rf"(?:^|\s){name}\s*=", header)) > 1:
            wrong(f"{name} is given twice in this header: keep one.")
    for name in sorted(given.keys() - FLAGS.keys()):
        if name == "region_name":
            wrong(f"[{given[name]}] in a header: write [markdown].")
        elif name == "title":
            wrong(f"a header holds flags only, and {given[name]!r} is none: use {', '.join(FLAGS)}.")
        else:
            wrong(f"the header flag {name!r} means nothing here: use {', '.join(FLAGS)}.")

    def text(name: str, pattern: re.Pattern | None = None) -> str | None:
        if name not in given:
            return None
        value = given[name]
        if not isinstance(value, str) or not value.strip() or (pattern and not pattern.fullmatch(value)):
            wrong(f"{name} is {value!r}: write it like {FLAGS[name]}.")
            return None
        return value

    def listed(name: str, pattern: re.Pattern | None = None) -> tuple[str, ...]:
        words = [word.strip() for word in (text(name) or "").split(",") if word.strip()]
        for word in words:
            if pattern and not pattern.fullmatch(word):
                wrong(f"{name} names {word!r}: write it like {FLAGS[name]}.")
        return tuple(words)

    if "key" not in given:
        wrong('this cell has no key: add key="…", lower-case words joined by hyphens, to its header.')
    flags = Flags(
        key=text("key", KEY) or "",
        exercise=text("exercise", EXERCISE),
        solution=text("solution", EXERCISE),
        tags=_tags(given.get("tags", []), wrong),
        covers=listed("covers", ROW),
        terms=listed("terms"),
    )
    _agree(flags, kind, path, wrong)
    return flags


def _tags(value: object, wrong) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(tag, str) for tag in value):
        wrong(f"tags is {value!r}: write it like {FLAGS['tags']}.")
        return ()
    for tag in value:
        if tag not in TAGS:
            wrong(f"the tag {tag!r} is not known: use {', '.join(TAGS)}.")
    return tuple(value)


def _agree(flags: Flags, kind: str, path: Path, wrong) -> None:
    """Flags that are sound one by one and still contradict each other or the file."""
    if flags.exercise and kind != "code":
        wrong("exercise= marks the code cell that the learner writes: this is a markdown cell.")
    if flags.exercise and flags.solution:
        wrong("a cell is either the exercise or only in the solutions: drop exercise= or solution=.")
    for name in ("exercise", "solution"):
        value = getattr(flags, name)
        if value and value[:2] != path.stem[:2]:
            wrong(f"{name} {value} does not belong to chapter {path.stem[:2]}: correct the number.")
