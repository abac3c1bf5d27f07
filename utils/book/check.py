"""Compares what is committed with what the source would give, without running anything.

Outputs cannot be compared without running; what can is whether they belong to this code and model (the stored hash),
whether they are fit to be kept, and whether an answer or an output has strayed into a chapter. The rest is for `run`.
"""

from nbformat import NotebookNode

from utils.book.build import line_of, size_problems, sound_source
from utils.book.notebooks import as_text, chapter_notebook, outputs_depend_on, read_notebook, solution_notebook
from utils.book.outputs import output_problems
from utils.book.problems import BuildProblem, Problem, SourceProblem
from utils.book.shelf import Shelf
from utils.book.source import Chapter
from utils.book.strip import leaks


def check_chapter(shelf: Shelf, name: str) -> list[Problem]:
    """Everything that `book build` would change or refuse in one chapter; empty when it is sound."""
    try:
        source = sound_source(shelf, name)
    except SourceProblem as found:
        return found.problems
    except BuildProblem as found:
        return [Problem(shelf.source(name), 0, found.sentence)]
    return _chapter(shelf, source) + _solution(shelf, source)


def strays(shelf: Shelf) -> list[Problem]:
    """Notebooks that no source gives."""
    known = set(shelf.chapters())
    found = [path for folder in ("chapters", "solutions") for path in sorted((shelf.root / folder).glob("*.ipynb"))]
    sentence = "no source gives this notebook: delete it, or restore its source in solutions/."
    return [Problem(path, 0, sentence) for path in found if path.stem not in known]


def _chapter(shelf: Shelf, source: Chapter) -> list[Problem]:
    path = shelf.chapter(source.name)
    stored = _stored(path)
    if isinstance(stored, Problem):
        return [stored]
    problems = _drift(stored, chapter_notebook(source), path)
    for cell in stored.cells:
        if cell.get("outputs") or cell.get("execution_count"):
            problems.append(Problem(path, 0, f"outputs are stored in {_called(cell)}: a chapter is shipped without."))
    for leak in leaks(source, {_called(cell): cell.source for cell in stored.cells}):
        sentence = (
            f"a line of an answer ({source.path.name}:{leak.answer_line}) stands in {leak.cell_key}: build again."
        )
        problems.append(Problem(path, 0, sentence))
    return problems + [Problem(path, 0, text) for text in size_problems({"chapter": as_text(stored)})]


def _solution(shelf: Shelf, source: Chapter) -> list[Problem]:
    path = shelf.solution(source.name)
    stored = _stored(path)
    if isinstance(stored, Problem):
        return [stored]
    problems = _drift(stored, solution_notebook(source), path)
    belongs_to = stored.metadata.get("book", {}).get("outputs_of")
    if belongs_to is None:
        problems.append(Problem(path, 0, f"it has not been executed: run `book build {source.number}`."))
    elif belongs_to != outputs_depend_on(solution_notebook(source)):
        sentence = f"its outputs belong to other code or another model: run `book build {source.number}`."
        problems.append(Problem(path, 0, sentence))
    problems += [
        Problem(source.path, line_of(source, key), f'the stored output of the cell "{key}": {text}')
        for key, text in output_problems(stored)
    ]
    return problems + [Problem(path, 0, text) for text in size_problems({"solution": as_text(stored)})]


def _stored(path) -> NotebookNode | Problem:
    try:
        notebook = read_notebook(path)
    except BuildProblem as found:
        return Problem(path, 0, found.sentence)
    return notebook if notebook is not None else Problem(path, 0, "it has not been built: run `book build`.")


def _drift(stored: NotebookNode, wanted: NotebookNode, path) -> list[Problem]:
    """Differences in anything but outputs, counts and the hash of what outputs depend on; the first three by name."""
    have, want = _comparable(stored), _comparable(wanted)
    if have == want:
        return []
    names = [cell["id"] for cell in want["cells"]]
    had = {cell["id"]: cell for cell in have["cells"]}
    differing = [cell["id"] for cell in want["cells"] if had.get(cell["id"]) != cell]
    differing += [cell["id"] for cell in have["cells"] if cell["id"] not in names]
    where = ", ".join(differing[:3]) + (" …" if len(differing) > 3 else "") or "the notebook's metadata or cell order"
    return [Problem(path, 0, f"it is not what the source gives (see {where}): run `book build`, edit only the source.")]


def _comparable(notebook: NotebookNode) -> dict:
    plain = {"metadata": {**notebook.metadata}, "format": (notebook.nbformat, notebook.nbformat_minor)}
    plain["metadata"]["book"] = {k: v for k, v in notebook.metadata.get("book", {}).items() if k != "outputs_of"}
    left_out = ("outputs", "execution_count")
    plain["cells"] = [
        {"id": cell.get("id"), **{name: value for name, value in cell.items() if name not in left_out}}
        for cell in notebook.cells
    ]
    return plain


def _called(cell: NotebookNode) -> str:
    return f'the cell "{cell.metadata.get("book", {}).get("key", cell.get("id", ""))}"'
