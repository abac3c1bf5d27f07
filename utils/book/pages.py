"""Two pages that belong to the book as a whole, as Markdown beside the chapters: the glossary and the exercises.

Both are made from what the sources and the declarations say, and lie in chapters/ and in solutions/, so that one
relative link serves both notebooks of a chapter. JupyterLab shows them as pages; `cell-id=` in a link is its way to a
cell.
"""

from collections.abc import Iterable
from itertools import groupby

from utils.book.glossary import PAGE, introduced, terms
from utils.book.notebooks import cell_id, write_whole
from utils.book.problems import Problem, SourceProblem
from utils.book.shelf import Shelf
from utils.book.source import Cell, Chapter, read_chapter

EXERCISES = "exercises.md"
FOLDERS = ("chapters", "solutions")
ABOUT_WORDS = (
    "What each word means in this book. The links under a word lead to the places that introduce it; in the chapters"
    " the word leads back here. The exercises have [a list](exercises.md) of their own."
)
ABOUT_EXERCISES = (
    "Everything that the book asks you to write. The difficulty goes from 1, a line, to 5, an hour's thought; the"
    " minutes are what to plan for. `book progress` shows what you have solved. The words of the book have"
    " [a list](glossary.md) of their own."
)


def glossary_page(chapters: Iterable[Chapter]) -> str:
    """All words that these chapters introduce, in the order of the alphabet."""
    marked = introduced(chapters)
    lines = ["# The words of the book", "", ABOUT_WORDS, ""]
    kept = [term for term in terms().values() if term.name in marked]
    for letter, group in groupby(kept, key=lambda term: term.name[0].upper()):
        lines += [f"## {letter}", ""]
        for term in group:
            places = [_place(chapter, cell, _section(chapter, cell)) for chapter, cell in marked[term.name]]
            lines += [f"### {term.name}", "", term.means, "", "→ " + ", ".join(dict.fromkeys(places)), ""]
    return "\n".join(lines).rstrip("\n") + "\n"


def exercises_page(chapters: Iterable[Chapter]) -> str:
    """All exercises that stand in these chapters, with difficulty and minutes as they are declared."""
    from utils.exercises import exercise

    lines, number, minutes = [], 0, 0
    for chapter in chapters:
        rows = []
        for cell in (cell for cell in chapter.cells if cell.flags.exercise):
            declared, heading = exercise(cell.flags.exercise), _heading(chapter, cell)
            link = _place(chapter, heading, heading.lines[0].rpartition(" · ")[2], number=False)
            facts = f"`{declared.name}` | {declared.difficulty} | {declared.minutes}"
            rows.append(f"| {declared.id} | {link} | {facts} |")
            number, minutes = number + 1, minutes + declared.minutes
        if rows:
            lines += ["", f"## {chapter.number} · {title_of(chapter)}", ""]
            lines += ["| exercise | what it is | you write | difficulty | minutes |", "|---|---|---|---|---|", *rows]
    total = f"{number} exercises, about {round(minutes / 60)} hours."
    return "\n".join(["# The exercises", "", ABOUT_EXERCISES, "", total, *lines]) + "\n"


def page_texts(shelf: Shelf) -> dict[str, str]:
    """The text of each page, by its file's name.

    Raises:
        SourceProblem: a chapter's source cannot be read; every chapter has a part in these pages.
    """
    chapters = [read_chapter(shelf.source(name)) for name in shelf.chapters()]
    return {PAGE: glossary_page(chapters), EXERCISES: exercises_page(chapters)}


def write_pages(shelf: Shelf) -> list[str]:
    """Write both pages into both folders; gives the names of those that have changed."""
    texts = page_texts(shelf)
    return [
        f"{folder}/{name}"
        for folder in FOLDERS
        for name, text in texts.items()
        if write_whole(shelf.root / folder / name, text)
    ]


def check_pages(shelf: Shelf) -> list[Problem]:
    """A problem for each page that is not what the sources give; none where `check` says a source cannot be read."""
    try:
        texts = page_texts(shelf)
    except SourceProblem:
        return []
    sentence = "it is not what the sources give: run `book build`."
    return [
        Problem(path, 0, sentence)
        for folder in FOLDERS
        for name, text in texts.items()
        if not (path := shelf.root / folder / name).is_file() or path.read_text(encoding="utf-8") != text
    ]


def _place(chapter: Chapter, cell: Cell, text: str, number: bool = True) -> str:
    address = f"{chapter.name}.ipynb#cell-id={cell_id(chapter.name, cell.flags.key)}"
    return f"[{chapter.number + ' · ' if number else ''}{text}]({address})"


def title_of(chapter: Chapter) -> str:
    """The chapter's `#` heading."""
    lines = [line for cell in chapter.cells if cell.kind == "markdown" for line in cell.lines]
    return next((line[2:] for line in lines if line.startswith("# ")), chapter.name)


def _heading(chapter: Chapter, exercise: Cell) -> Cell:
    """The cell with the exercise's text: the last one above its code that begins with a heading."""
    above = chapter.cells[: chapter.cells.index(exercise)]
    return next((cell for cell in reversed(above) if cell.kind == "markdown" and cell.text.startswith("#")), exercise)


def _section(chapter: Chapter, wanted: Cell) -> str:
    """The heading under which a cell stands, without its number: `Softmax: from scores to shares`."""
    heading = chapter.name
    for cell in chapter.cells:
        headings = [line for line in cell.lines if line.startswith("#")] if cell.kind == "markdown" else []
        heading = headings[-1].lstrip("#").strip() if headings else heading
        if cell is wanted:
            break
    return heading.partition(" · ")[2] or heading
