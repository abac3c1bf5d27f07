"""Finds the answers between `# SOLUTION` and `# END` and proves that each can be replaced by one statement.

A region has to be whole statements of one block inside a function, with both markers at the block's indentation: then
the stub that takes its place is valid Python and raises when the learner's function is called, not when its cell runs.
Markers are comments of their own line as Python's tokenizer sees them; the same words inside a string are text.
"""

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from utils.book.problems import Problem

BEGIN, END = "# SOLUTION", "# END"
NEARLY = re.compile(r"#+\s*(begin\s+|end\s+)?(solutions?|end)\s*[:.]?", re.IGNORECASE)


@dataclass(frozen=True)
class Comment:
    """A comment of the file; `alone` when nothing else is on its line."""

    text: str
    alone: bool


@dataclass(frozen=True)
class Region:
    """An answer: the cell's lines from marker to marker (both counted, from 0), and the name that the stub gives."""

    first: int
    last: int
    indent: int
    name: str


@dataclass(frozen=True)
class _Statement:
    first: int
    last: int
    column: int
    block: int  # the identity of the list of statements it stands in
    scopes: tuple[ast.AST, ...]
    outer: "_Statement | None"  # the compound statement around it
    compound: bool


def find_regions(
    tree: ast.Module,
    comments: dict[int, Comment],
    cells: Sequence[tuple[int, list[str], str]],
    path: Path,
    problems: list[Problem],
) -> dict[int, tuple[Region, ...]]:
    """Regions by the line of their cell's first line; whatever is wrong is added to `problems`.

    Args:
        comments: line → comment, for all comments of the file.
        cells: (first line in the file, lines, kind) of each cell.
    """
    statements = list(_statements(tree.body, scopes=()))
    found: dict[int, tuple[Region, ...]] = {}
    for first_line, lines, kind in cells:
        if kind != "code":
            continue
        regions = []
        for begin, end in _pairs(range(first_line, first_line + len(lines)), comments, path, problems):
            region = _region(begin, end, lines, first_line, statements, path, problems)
            if region:
                regions.append(region)
        found[first_line] = tuple(regions)
    return found


def _pairs(
    numbers: range, comments: dict[int, Comment], path: Path, problems: list[Problem]
) -> Iterator[tuple[int, int]]:
    begin = None
    for number in numbers:
        if number not in comments:
            continue
        comment = comments[number].text.strip()
        if comment in (BEGIN, END) and not comments[number].alone:
            problems.append(Problem(path, number, f"`{comment}` stands on a line of its own: move it."))
        elif comment == BEGIN:
            if begin is not None:
                problems.append(
                    Problem(path, begin, f"this `{BEGIN}` has no `{END}` before the next `{BEGIN}`: add it.")
                )
            begin = number
        elif comment == END:
            if begin is None:
                problems.append(Problem(path, number, f"this `{END}` has no `{BEGIN}` before it in its cell: add it."))
            else:
                yield begin, number
            begin = None
        elif NEARLY.fullmatch(comment):
            sentence = f"`{comment}` is nearly a marker: write `{BEGIN}` or `{END}`, or word the comment differently."
            problems.append(Problem(path, number, sentence))
    if begin is not None:
        problems.append(Problem(path, begin, f"this `{BEGIN}` has no `{END}` in its cell: add it."))


def _region(begin, end, lines, first_line, statements, path, problems) -> Region | None:
    inside = [s for s in statements if begin < s.first and s.last < end]
    top = [s for s in inside if s.outer not in inside]

    def wrong(sentence: str) -> None:
        problems.append(Problem(path, begin, sentence))

    if any(begin < s.first < end < s.last or (s.first < begin < s.last and not s.compound) for s in statements):
        return wrong(f"a statement runs across `{BEGIN}` or `{END}`: a region holds whole statements.")
    if not top:
        return wrong("this region holds no statement: put the answer between the markers.")
    if len({s.block for s in top}) > 1:
        return wrong("this region spans more than one block: put the markers around statements of one indentation.")
    scopes = top[0].scopes
    if not scopes or isinstance(scopes[-1], ast.ClassDef):
        return wrong("this region is not inside a function, so its stub would raise as soon as the cell runs: "
                     "keep the signature and put the markers inside the body.")  # fmt: skip
    indents = {len(line) - len(line.lstrip()) for line in (lines[begin - first_line], lines[end - first_line])}
    if indents != {top[0].column}:
        return wrong(f"`{BEGIN}` and `{END}` stand at the indentation of the code between them: move them.")
    return Region(begin - first_line, end - first_line, top[0].column, ".".join(scope.name for scope in scopes))


def _statements(
    block: list[ast.stmt], scopes: tuple[ast.AST, ...], outer: _Statement | None = None
) -> Iterator[_Statement]:
    for node in block:
        first = min([node.lineno, *(decorator.lineno for decorator in getattr(node, "decorator_list", []))])
        deeper = list(_blocks(node))
        statement = _Statement(first, node.end_lineno, node.col_offset, id(block), scopes, outer, bool(deeper))
        yield statement
        is_scope = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        for inner in deeper:
            yield from _statements(inner, (*scopes, node) if is_scope else scopes, statement)


def _blocks(node: ast.stmt) -> Iterator[list[ast.stmt]]:
    for part in (node, *getattr(node, "handlers", []), *getattr(node, "cases", [])):
        for name in ("body", "orelse", "finalbody"):
            block = getattr(part, name, None)
            if isinstance(block, list) and block:
                yield block
