"""The words of the book: what each one means (`glossary.toml`), and which cells introduce it.

A cell says in its header which words it introduces, `terms="logit, softmax"`. From these marks and the definitions
`pages` makes the glossary, with links to the cells; `links` makes the links that lead back. A fragment is written as
JupyterLab makes it from a heading, and the site is told to do the same.
"""

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from urllib.parse import quote

from utils.book.problems import Problem
from utils.book.source import Cell, Chapter

PAGE = "glossary.md"


@dataclass(frozen=True)
class Term:
    """One word: `means` is Markdown, one or two sentences; `also` are other forms under which a text may write it."""

    name: str
    means: str
    also: tuple[str, ...] = ()

    @property
    def address(self) -> str:
        """Where a notebook's link leads."""
        return f"{PAGE}#{quote(slug(self.name))}"


@cache
def terms() -> dict[str, Term]:
    """All words by name, in the order of the alphabet."""
    table = tomllib.loads(Path(__file__).with_name("glossary.toml").read_text(encoding="utf-8"))
    return {name: Term(name, entry["means"], tuple(entry.get("also", ()))) for name, entry in table.items()}


def slug(heading: str) -> str:
    """The fragment that JupyterLab gives to a heading.

    >>> slug("KV cache")
    'KV-cache'
    """
    return heading.replace(" ", "-")


def introduced(chapters: Iterable[Chapter]) -> dict[str, list[tuple[Chapter, Cell]]]:
    """Each marked word with the cells that introduce it, in the order of the book."""
    found: dict[str, list[tuple[Chapter, Cell]]] = {}
    for chapter in chapters:
        for cell in chapter.cells:
            for name in cell.flags.terms:
                found.setdefault(name, []).append((chapter, cell))
    return found


def problems(chapters: Iterable[Chapter]) -> list[Problem]:
    """Words that are marked and not defined, with their line, and words that are defined and never marked."""
    marked = introduced(chapters)
    listed = Path(__file__).with_name("glossary.toml")
    found = [
        Problem(chapter.path, cell.line - 1, undefined(name))
        for name, places in marked.items()
        for chapter, cell in places
        if name not in terms()
    ]
    found += [
        Problem(listed, 0, f'no cell introduces "{name}": mark the one that does with terms="{name}", or delete it.')
        for name in terms()
        if name not in marked
    ]
    return found


def undefined(name: str) -> str:
    """The sentence about a marked word that is not in the list."""
    return f'terms names "{name}", which glossary.toml does not explain: add it there, or correct the word.'
