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

from utils.book.headers import FLAGS, Flags, read_flags
from utils.book.problems import BuildProblem, Problem, SourceProblem
from utils.book.regions import Comment, Region, find_regions

HEADER = re.compile(r"# %%(\s|$)")
KEY_FLAG = re.compile(r"""\skey\s*=\s*["']([^"']*)["']""")
# All that jupytext itself takes for the start of a cell; what is not a HEADER as well is refused.
LIKE_A_HEADER = re.compile(r"\s*#\s*(%%+(\s.*)?|<codecell>\s*|In\[[0-9 ]*\]:?\s*)$")


OTHER_LINE_ENDS = re.compile("[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")


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
    comments = _comments(text)
    problems: list[Problem] = []

    headers = [number for number, comment in comments.items() if comment.alone and LIKE_A_HEADER.match(raw[number - 1])]
    for number in headers:
        if not HEADER.match(raw[number - 1]):
            problems.append(
                Problem(path, number, "jupytext would begin a cell here: a header stands at the left edge and reads "
                        '`# %% key="…"` or `# %% [markdown] key="…"`; other comments must not look like one.')
            )  # fmt: skip
        elif re.search(r"\stags\s*=\s*[^\s\[]", raw[number - 1]):  # jupytext itself stops at these, without a place
            problems.append(Problem(path, number, f"tags is not a list: write it like {FLAGS['tags']}."))
    problems += _before_the_first(path, raw, headers)
    if problems:
        raise SourceProblem(problems)

    cells = []
    for number, (kind, jupytext_flags, content) in zip(headers, _through_jupytext(path, raw, headers), strict=True):
        flags = read_flags(raw[number - 1], kind, jupytext_flags, path, number, problems)
        cells.append(Cell(kind, flags, content, number + 1))
    problems += _repeated_keys(path, cells)
    problems += [
        Problem(path, cell.line - 1, "this cell is empty: delete it.") for cell in cells if not cell.text.strip()
    ]
    regions = find_regions(tree, comments, [(cell.line, cell.lines, cell.kind) for cell in cells], path, problems)
    if problems:
        raise SourceProblem(problems)
    cells = [Cell(cell.kind, cell.flags, cell.text, cell.line, regions.get(cell.line, ())) for cell in cells]
    return Chapter(path.stem, path, raw, tuple(cells))


def _read(path: Path) -> str:
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise BuildProblem("there is no such file: check the name, or restore it from git.", path) from None
    except OSError as reason:
        raise BuildProblem(f"it cannot be read ({reason.strerror}): check what is there.", path) from reason
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
        if OTHER_LINE_ENDS.search(line):
            sentence = "a character that ends a line for some programs: delete it or write it as an escape."
            raise SourceProblem([Problem(path, number, sentence)])
        if "\t" in line[: len(line) - len(line.lstrip())]:
            raise SourceProblem([Problem(path, number, "a tab in the indentation: indent with four spaces.")])
    return text


def _parse(text: str, path: Path) -> ast.Module:
    """The file as Python. Magics are comments in the percent form, so a sound chapter always parses."""
    await_outside = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    try:
        tree = compile(text, str(path), "exec", ast.PyCF_ONLY_AST | await_outside, dont_inherit=True)
        compile(tree, str(path), "exec", await_outside, dont_inherit=True)
        return tree
    except SyntaxError as reason:
        number = reason.lineno or 0
        line = text.split("\n")[number - 1].strip() if number else ""
        advice = (
            f"write a magic as a comment, `# {line}`." if line.startswith(("%", "!", "?"))
            else "mend the code; text of a markdown cell begins with `#` on each line."
        )  # fmt: skip
        raise SourceProblem([Problem(path, number, f"this is not Python ({reason.msg}): {advice}")]) from reason


def _comments(text: str) -> dict[int, Comment]:
    """Line → comment, as Python's tokenizer sees them: what lies inside a string is none."""
    return {
        token.start[0]: Comment(token.string, not token.line[: token.start[1]].strip())
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type == tokenize.COMMENT
    }


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
    from nbformat import ValidationError

    try:
        cells = jupytext.reads("\n".join(raw[headers[0] - 1 :]), fmt="py:percent").cells
    except ValidationError as reason:
        sentence = f"a header's flag is not what a notebook allows ({reason.message}): correct it."
        raise SourceProblem([Problem(path, 0, sentence)]) from reason
    keys = [match[1] if (match := KEY_FLAG.search(raw[number - 1])) else None for number in headers]
    seen = [cell.metadata.get("key") for cell in cells]
    for number, key, jupytext_key in zip(headers, keys, [*seen, *[""] * len(keys)], strict=False):
        if key != jupytext_key and len(keys) != len(seen):
            sentence = (
                "jupytext sees no cell begin here: word the line differently, or close the fence or string above."
            )
            raise SourceProblem([Problem(path, number, sentence)])
    if len(keys) != len(seen):
        sentence = f"jupytext sees {len(seen)} cells after {len(keys)} headers: look for a string that is not closed."
        raise SourceProblem([Problem(path, headers[0], sentence)])
    return [(cell.cell_type, dict(cell.metadata), cell.source) for cell in cells]


def _repeated_keys(path: Path, cells: list[Cell]) -> list[Problem]:
    first: dict[str, int] = {}
    problems = []
    for cell in cells:
        key, header = cell.flags.key, cell.line - 1
        if key and first.setdefault(key, header) != header:
            sentence = f'the key "{key}" is taken by line {first[key]}: keys are unique in a chapter.'
            problems.append(Problem(path, header, sentence))
    return problems
