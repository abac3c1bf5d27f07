"""Writes a chapter's two notebooks from its source, or nothing at all.

The text is read, judged and stripped before anything runs; the solution is executed and its outputs judged before
anything is written. Outputs are kept from the last build only by request (`execute=False`) and only while the code and
the shipped model are the same; the hash `outputs_of` in the notebook's metadata says which ones the outputs belong to.
Seconds that a cell measures differ from build to build: those that are stored stay while their code does.
"""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from nbformat import NotebookNode

from utils.book.execute import RunProblem, execute
from utils.book.lint import lint
from utils.book.notebooks import (
    as_text,
    chapter_notebook,
    outputs_depend_on,
    read_notebook,
    solution_notebook,
    write_whole,
)
from utils.book.outputs import normalize, output_problems
from utils.book.problems import Problem, SourceProblem
from utils.book.shelf import Shelf
from utils.book.source import Chapter, read_chapter

MOST_BYTES = {"chapter": 150 * 1000, "solution": 3 * 1000 * 1000}
CELL_SECONDS = 600.0


@dataclass(frozen=True)
class Built:
    """What one build did. `executed` is False where outputs were kept or left out; sizes in bytes."""

    chapter: str
    changed: tuple[str, ...]
    executed: bool
    chapter_bytes: int
    solution_bytes: int


def build_chapter(
    shelf: Shelf,
    name: str,
    run: bool = True,
    timeout: float = CELL_SECONDS,
    on_cell: Callable[[int, int], None] | None = None,
) -> Built:
    """Build one chapter. Without `run`, outputs of unchanged code are kept, others are left out.

    Raises:
        SourceProblem: the text or an output is not fit to be kept; nothing has been written.
        BuildProblem: a file cannot be read or written.
    """
    source = sound_source(shelf, name)
    learner, solution = chapter_notebook(source), solution_notebook(source)
    if run:
        folder = shelf.solution(name).parent
        try:
            execute(solution, folder, timeout, on_cell)
        except RunProblem as stopped:
            raise SourceProblem([Problem(source.path, line_of(source, stopped.key), str(stopped))]) from stopped
        normalize(solution)
        solution.metadata["book"]["outputs_of"] = outputs_depend_on(solution)
        keep_measured(solution, read_notebook(shelf.solution(name)))
        _refuse(source, [(key, f'the cell "{key}": {text}') for key, text in output_problems(solution)])
    else:
        keep_outputs(solution, read_notebook(shelf.solution(name)))
    texts = {"chapter": as_text(learner), "solution": as_text(solution)}
    _refuse(source, [("", sentence) for sentence in size_problems(texts)])
    targets = {"chapter": shelf.chapter(name), "solution": shelf.solution(name)}
    changed = tuple(kind for kind, path in targets.items() if write_whole(path, texts[kind]))
    return Built(name, changed, run, *(len(texts[kind].encode()) for kind in ("chapter", "solution")))


def sound_source(shelf: Shelf, name: str) -> Chapter:
    """The chapter's source, read and judged.

    Raises:
        SourceProblem: it does not parse or does not pass `lint`.
    """
    source = read_chapter(shelf.source(name))
    problems = lint(source)
    if problems:
        raise SourceProblem(problems)
    return source


def keep_outputs(solution: NotebookNode, stored: NotebookNode | None) -> None:
    """Copy the stored outputs into `solution` if they belong to exactly its code and the shipped model."""
    if stored is None or stored.metadata.get("book", {}).get("outputs_of") != outputs_depend_on(solution):
        return
    kept = {cell.id: cell for cell in stored.cells if cell.cell_type == "code"}
    for cell in solution.cells:
        if cell.cell_type == "code" and cell.id in kept:
            cell.outputs, cell.execution_count = kept[cell.id].outputs, kept[cell.id].execution_count
    solution.metadata["book"]["outputs_of"] = outputs_depend_on(solution)


def keep_measured(solution: NotebookNode, stored: NotebookNode | None) -> None:
    """Put back what cells tagged `measured` gave at the last build, if the same code gives the same but for figures.

    All of them or none, for one may show what another has measured.
    """
    if stored is None or stored.metadata.get("book", {}).get("outputs_of") != solution.metadata["book"]["outputs_of"]:
        return
    kept = {cell.id: cell for cell in stored.cells}
    measured = [cell for cell in solution.cells if "measured" in cell.metadata.get("tags", [])]
    if all(_without_figures(cell.outputs) == _without_figures(kept[cell.id].outputs) for cell in measured):
        for cell in measured:
            cell.outputs = kept[cell.id].outputs


def _without_figures(outputs: Sequence) -> str:
    """Outputs as text without numbers, however many of them, and the spaces that line them up."""
    text = json.dumps(outputs, sort_keys=True, ensure_ascii=False)
    return re.sub(r'[\d.,]*\d(?:e[+-]?\d+)?|[⁻⁰¹²³⁴⁵⁶⁷⁸⁹",\s]+', "", text)


def size_problems(texts: dict[str, str]) -> list[str]:
    """A sentence for each notebook ("chapter", "solution" → its text) that is larger than a reader should load."""
    found = []
    for kind, text in texts.items():
        size, most = len(text.encode()), MOST_BYTES[kind]
        if size > most:
            figures = f"{size / 1000:,.0f} KB, and {most / 1000:,.0f} is the most"
            found.append(f"its {kind} notebook has {figures}: make text or outputs smaller.")
    return found


def line_of(source: Chapter, key: str) -> int:
    """The line of the header of the cell with this key; 0 when there is none."""
    return next((cell.line - 1 for cell in source.cells if cell.flags.key == key), 0)


def _refuse(source: Chapter, found: Sequence[tuple[str, str]]) -> None:
    if found:
        raise SourceProblem([Problem(source.path, line_of(source, key), text) for key, text in found])
