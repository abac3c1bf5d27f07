"""The stripping rule: what of a chapter's source the learner gets, and the proof that no answer is left in it.

In the chapter each marked region is one stub at its indentation, and cells that only solutions hold are left out. In
the solutions the answer stays and its marker lines go. The proof is by text, not by trust in the rule: no line of an
answer that says something may stand anywhere in the chapter, in code or in prose.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from utils.book.source import Cell, Chapter

# Fewer characters than this, spaces apart, and a line is too common to give anything away: `return x`, `else:`.
TELLING = 16
COMMON = (
    re.compile(r"(async\s+)?(def|class)\s.*|@.*|(from\s+\S+\s+)?import\s.*"),
    re.compile(r"[\w\s,.*]+=\s*[\w.]+\.(shape|size\(\)|device|dtype)(\[[\w:\s,.-]*\])?"),  # batch, pos, _ = x.shape
    re.compile(r"for\s[\w\s,()]+\sin\srange\([\w.\[\]]+\):"),
    re.compile(r"super\(\)\.__init__\(\)"),
)


@dataclass(frozen=True)
class Leak:
    """A line of an answer found where the learner reads: the source's line of the answer, and of the cell it is in."""

    answer: str
    answer_line: int
    cell_key: str


def stub(name: str) -> str:
    """The one line that stands for an answer.

    >>> stub("attention_scores")
    'raise NotImplementedError("Write attention_scores here, then run the next cell.")'
    """
    return f'raise NotImplementedError("Write {name} here, then run the next cell.")'


def chapter_text(cell: Cell) -> str | None:
    """What the learner's notebook holds of `cell`; None where it holds nothing."""
    if cell.flags.solution:
        return None
    return _without_regions(cell, keep=False)


def solution_text(cell: Cell) -> str:
    """What the solution notebook holds of `cell`."""
    return _without_regions(cell, keep=True)


def leaks(chapter: Chapter, learner_texts: dict[str, str]) -> list[Leak]:
    """Telling lines of any answer that stand in `learner_texts` (key → what the learner reads in that cell)."""
    squeezed = {key: [_squeeze(line) for line in text.split("\n")] for key, text in learner_texts.items()}
    found = []
    for number, answer in _answers(chapter):
        wanted = _squeeze(_without_comment(answer)) or _squeeze(answer)
        for key, lines in squeezed.items():
            if any(wanted in line for line in lines):
                found.append(Leak(answer.strip(), number, key))
    return found


def _answers(chapter: Chapter) -> Iterator[tuple[int, str]]:
    """(line in the source, text) of every telling line that only the solutions may hold."""
    for cell in chapter.cells:
        for region in cell.regions:
            for index in range(region.first + 1, region.last):
                if _tells(cell.lines[index]):
                    yield cell.line + index, cell.lines[index]
        if cell.flags.solution:
            for index, line in enumerate(cell.lines):
                if _tells(line) and not (cell.kind == "markdown" and line.startswith("#")):
                    yield cell.line + index, line


def _tells(line: str) -> bool:
    code = _without_comment(line).strip() or line.strip()
    return len(_squeeze(code)) >= TELLING and not any(pattern.fullmatch(code) for pattern in COMMON)


def _without_comment(line: str) -> str:
    """The code of a line; a `#` within quotes is kept, which errs towards comparing more of the line."""
    return re.sub(r"""\s#[^"']*$""", "", line)


def _squeeze(line: str) -> str:
    return re.sub(r"\s+", "", line).strip("#")


def _without_regions(cell: Cell, keep: bool) -> str:
    lines = cell.lines
    for region in reversed(cell.regions):
        answer = lines[region.first + 1 : region.last]
        lines[region.first : region.last + 1] = answer if keep else [" " * region.indent + stub(region.name)]
    return "\n".join(lines)
