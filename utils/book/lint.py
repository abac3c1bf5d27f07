"""Judges a chapter that parses: headings, pictures, magics, the length of a cell, and a grade after each exercise.

These are the promises a reader or a screen reader relies on and that notebooks break silently (a magic that does not
exist passes nbval, for one). Whether the prose teaches is for people.
"""

import ast
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from itertools import pairwise

from utils.book.coverage import rows
from utils.book.glossary import terms, undefined
from utils.book.magics import magic_problems
from utils.book.problems import Problem
from utils.book.source import Cell, Chapter
from utils.book.strip import chapter_text, leaks

MOST_LINES = 25


def lint(chapter: Chapter) -> list[Problem]:
    """Everything wrong with the chapter's text, in the order of the file."""
    problems = [Problem(chapter.path, line, sentence) for line, sentence in _all(chapter)]
    return sorted(set(problems))


def _all(chapter: Chapter) -> Iterator[tuple[int, str]]:
    prose = {cell.flags.key: list(_prose(cell)) for cell in chapter.cells if cell.kind == "markdown"}
    learner_cells = [cell for cell in chapter.cells if not cell.flags.solution]
    yield from _headings(chapter.cells, prose)
    yield from _headings(learner_cells, prose)
    for cell in chapter.cells:
        for row in cell.flags.covers:
            if row not in rows():
                yield cell.line - 1, f"covers names {row}, which is no row of coverage.toml: correct it."
        for name in cell.flags.terms:
            if name not in terms():
                yield cell.line - 1, undefined(name)
        if cell.kind == "code":
            yield from magic_problems(chapter, cell)
            yield from _too_long(cell)
        else:
            yield from _commented(chapter, cell)
            yield from ((line, text) for line, what, text in prose[cell.flags.key] if what == "problem")
    yield from _exercises(chapter, learner_cells)
    texts = {cell.flags.key: chapter_text(cell) or "" for cell in learner_cells}
    for leak in leaks(chapter, texts):
        where = f'in the cell "{leak.cell_key}", where the learner reads it'
        yield leak.answer_line, f"this line of an answer also stands {where}: reword one of them."


def _headings(cells: list[Cell] | tuple[Cell, ...], prose: dict) -> Iterator[tuple[int, str]]:
    """One `#`, first; then never a step down by more than one. Judged as each notebook's reader meets them."""
    level, title_line, any_heading = 0, 0, False
    for cell in cells:
        for line, what, heading in prose.get(cell.flags.key, ()):
            if what != "heading":
                continue
            any_heading = True
            if heading == 1 and title_line:
                yield line, f"a second `#` heading (the title is on line {title_line}): a chapter has one; use `##`."
            elif heading > level + 1:
                before = f"after a level {level}" if level else "as the first heading"
                yield line, f"a level {heading} heading {before}: use level {level + 1}, so that no level is skipped."
            if heading == 1:
                title_line = title_line or line
            level = heading
    if not any_heading:
        yield cells[0].line - 1, "there is no title: begin with a markdown cell that has one `#`."


class _Html(HTMLParser):
    """Pictures and headings written as HTML."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, object]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "img" and not (dict(attrs).get("alt") or "").strip():
            self.found.append(("problem", 'a picture without alt text: give it an alt="…" that says what it shows.'))
        elif re.fullmatch("h[1-6]", tag):
            self.found.append(("heading", int(tag[1])))


def _prose(cell: Cell) -> Iterator[tuple[int, str, object]]:
    """(line in the file, "heading" or "problem", its level or sentence) for one markdown cell."""
    from markdown_it import MarkdownIt

    for token in MarkdownIt("commonmark").enable("table").parse(cell.text):
        line = cell.line + (token.map[0] if token.map else 0)
        if token.type == "heading_open":
            yield line, "heading", int(token.tag[1])
        html = token.content if token.type == "html_block" else ""
        for child in token.children or ():
            if child.type == "image" and not child.content.strip():
                yield line, "problem", "a picture without alt text: write ![what it shows](file)."
            elif child.type == "html_inline":
                html += child.content
        parser = _Html()
        parser.feed(html)
        for what, value in parser.found:
            yield line, what, value


def _commented(chapter: Chapter, cell: Cell) -> Iterator[tuple[int, str]]:
    start = cell.line - 1
    for index, raw in enumerate(chapter.raw[start : start + len(cell.lines)]):
        if raw.strip() and not raw.startswith("#"):
            yield cell.line + index, "text of a markdown cell begins with `# ` on each line: add it."
            return


def _too_long(cell: Cell) -> Iterator[tuple[int, str]]:
    """Counted as the learner sees the cell: an exercise's answer may be longer than its stub."""
    length = len((chapter_text(cell) or cell.text).split("\n"))
    if length > MOST_LINES:
        yield cell.line - 1, f"a code cell of {length} lines: split it, {MOST_LINES} is the most a reader takes in."


def _exercises(chapter: Chapter, learner_cells: list[Cell]) -> Iterator[tuple[int, str]]:
    declared: dict[str, int] = {}
    for cell in chapter.cells:
        header = cell.line - 1
        exercise = cell.flags.exercise
        if cell.regions and not exercise:
            yield cell.line + cell.regions[0].first, 'an answer in a cell without exercise="…": add it to the header.'
        if exercise and cell.kind == "code" and not cell.regions:
            yield header, "an exercise without an answer: put it between `# SOLUTION` and `# END` in the body."
        if exercise and declared.setdefault(exercise, header) != header:
            yield header, f"exercise {exercise} is already on line {declared[exercise]}: correct the number."
    for cell in chapter.cells:
        if cell.flags.solution and cell.flags.solution not in declared:
            yield cell.line - 1, f"solution {cell.flags.solution} has no exercise cell of that number: correct it."
    code = [cell for cell in learner_cells if cell.kind == "code"]
    for cell, following in pairwise([*code, None]):
        if cell.flags.exercise and cell.regions:
            names = {region.name.split(".")[0] for region in cell.regions}
            graded = _graded(following) if following else set()
            for name in sorted(names - graded):
                yield cell.line - 1, f"the stub says that the next cell grades {name}: let it call grade({name})."


def _graded(cell: Cell) -> set[str]:
    """The names that a cell hands to grade(…)."""
    try:
        tree = ast.parse(cell.text)
    except SyntaxError:  # a magic, which `magics` judges
        return set()
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and node.args]
    return {
        call.args[0].id
        for call in calls
        if isinstance(call.func, ast.Name) and call.func.id == "grade" and isinstance(call.args[0], ast.Name)
    }
