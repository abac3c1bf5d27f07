"""Reads a chapter's source, `solutions/NN_slug.py` in jupytext's percent form, into cells that know their lines.

jupytext does the reading of the format. What is ours is the place of every cell in the file (so that a complaint can
name a line), the header flags, and the marked answers. Prose and code style are judged in `lint`; nothing is run here.
"""

import ast
import io
import re
import tokenize
from dataclasses import dataclass, field
from pathlib import Path

from utils.book.headers import Flags, read_flags
from utils.book.problems import BuildProblem, Problem, SourceProblem, shown
from utils.book.regions import Region, find_regions

HEADER = re.compile(r"# %%(\s|$)")
# All that jupytext itself takes for the start of a cell; what is not a HEADER as well is refused.
LIKE_A_HEADER = re.compile(r"\s*#\s*(%%+(\s.*)?|<codecell>\s*|In\[[0-9 ]*\]:?\s*)$")


@dataclass(frozen=True)
class Cell:
    """One cell. `line` is the file's line of `lines[0]`, counted from 1; regions count from `lines[0]` as 0."""

    kind: str  # "markdown" or "code"
    flags: Flags
    text: str
    line: int
    regions: tuple[Region, ...] = ()

    @property
    def lines(self) -> list[str]:
        return self.text.split("\n")


@dataclass(frozen=True)
class Chapter:
    """A chapter's source: `name` is "05_attention", `raw` the file's lines as they stand."""

    name: str
    path: Path
    raw: tuple[str, ...] = field(repr=False)
    cells: tuple[Cell, ...] = field(repr=False)

    @property
    def number(self) -> str:
        return self.name[:2]


def read_chapter(path: Path) -> Chapter:
    """Parse the file.

    Raises:
        BuildProblem: the file cannot be read.
        SourceProblem: the file is not a chapter; every problem with its line.
    """
    text = _read(path)
    tree = _parse(text, path)
    raw = tuple(text.split("\n"))
    comments = _own_line_comments(text)
    problems: list[Problem] = []

    headers = [number for number, comment in comments.items() if LIKE_A_HEADER.match(raw[number - 1])]
    for number in headers:
        if not HEADER.match(raw[number - 1]):
            problems.append(
                Problem(path, number, "jupytext would begin a cell here: a header stands at the left edge and reads "
                        '`# %% key="…"` or `# %% [markdown] key="…"`; other comments must not look like one.')
            )  # fmt: skip
    problems += _before_the_first(path, raw, headers)
    if problems:
        raise SourceProblem(problems)

    cells = []
    for number, (kind, jupytext_flags, content) in zip(headers, _through_jupytext(path, raw, headers), strict=True):
        flags = read_flags(raw[number - 1], kind, jupytext_flags, path, number, problems)
        cells.append(Cell(kind, flags, content, number + 1))
    problems += _repeated_keys(path, cells)
    regions = find_regions(tree, comments, [(cell.line, cell.lines, cell.kind) for cell in cells], path, problems)
    if problems:
        raise SourceProblem(problems)
    cells = [Cell(cell.kind, cell.flags, cell.text, cell.line, regions.get(cell.line, ())) for cell in cells]
    return Chapter(path.stem, path, raw, tuple(cells))


def _read(path: Path) -> str:
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise BuildProblem(f"{shown(path)} is not there: check the name, or restore it from git.") from None
    except OSError as reason:
        raise BuildProblem(f"{shown(path)} cannot be read ({reason.strerror}): check what is there.") from reason
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as reason:
        line = data.count(b"\n", 0, reason.start) + 1
        raise SourceProblem([Problem(path, line, "this line is not UTF-8: save the file as UTF-8.")]) from reason
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if not text.strip():
        raise SourceProblem([Problem(path, 0, 'the file is empty: begin with `# %% [markdown] key="title"`.')])
    for number, line in enumerate(text.split("\n"), 1):
        if "\0" in line:
            raise SourceProblem([Problem(path, number, "this line holds a NUL character: delete it.")])
        if "\t" in line[: len(line) - len(line.lstrip())]:
            raise SourceProblem([Problem(path, number, "a tab in the indentation: indent with four spaces.")])
    return text


def _parse(text: str, path: Path) -> ast.Module:
    """The file as Python. Magics are comments in the percent form, so a sound chapter always parses."""
    try:
        return compile(text, str(path), "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    except SyntaxError as reason:
        number = reason.lineno or 0
        line = text.split("\n")[number - 1].strip() if number else ""
        advice = (
            f"write a magic as a comment, `# {line}`." if line.startswith(("%", "!", "?"))
            else "mend the code; text of a markdown cell begins with `#` on each line."
        )  # fmt: skip
        raise SourceProblem([Problem(path, number, f"this is not Python ({reason.msg}): {advice}")]) from reason


def _own_line_comments(text: str) -> dict[int, str]:
    """Line → comment, for comments that stand alone on their line; what lies inside a string is not one."""
    comments = {}
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT and not token.line[: token.start[1]].strip():
            comments[token.start[0]] = token.string
    return comments


def _before_the_first(path: Path, raw: tuple[str, ...], headers: list[int]) -> list[Problem]:
    """Lines above the first header are a note to the next author: comments only, and in no notebook."""
    if not headers:
        return [Problem(path, 0, 'no cell was found: a cell begins with a line like `# %% [markdown] key="title"`.')]
    for number, line in enumerate(raw[: headers[0] - 1], 1):
        if line.strip() and not line.startswith("#"):
            return [Problem(path, number, "this line belongs to no cell: put a header with a key above it.")]
    return []


def _through_jupytext(path: Path, raw: tuple[str, ...], headers: list[int]) -> list[tuple[str, dict, str]]:
    """(kind, flags, content) for each of `headers`, proven to be the same cells that jupytext sees."""
    import jupytext

    below = raw[headers[0] - 1 :]
    notebook = jupytext.reads("\n".join(below), fmt="py:percent")
    if len(notebook.cells) != len(headers):
        first, last = headers[0], headers[-1]
        raise SourceProblem([
            Problem(path, first, f"there are {len(headers)} cell headers between lines {first} and {last}, and jupytext "
                    f"sees {len(notebook.cells)} cells: look for a header inside a string or a code fence.")
        ])  # fmt: skip
    return [(cell.cell_type, dict(cell.metadata), cell.source) for cell in notebook.cells]


def _repeated_keys(path: Path, cells: list[Cell]) -> list[Problem]:
    first: dict[str, int] = {}
    problems = []
    for cell in cells:
        key, header = cell.flags.key, cell.line - 1
        if key and first.setdefault(key, header) != header:
            sentence = f'the key "{key}" is taken by line {first[key]}: keys are unique in a chapter.'
            problems.append(Problem(path, header, sentence))
    return problems
