"""Lays out what Sphinx is given: a page for each chapter, the front page, glossary, exercises, guides, and files.

Everything comes from the shelf and from installed packages; nothing is fetched.
"""

import importlib.util
import re
import shutil
from pathlib import Path

from utils.book.execute import CHECKOUT
from utils.book.glossary import PAGE
from utils.book.notebooks import as_text, read_notebook
from utils.book.pages import EXERCISES, page_texts, title_of
from utils.book.problems import BuildProblem
from utils.book.shelf import Shelf
from utils.book.site.cells import links_to_cells, page_notebook, page_text, with_labels
from utils.book.source import read_chapter

SETTINGS = CHECKOUT / "docs" / "site"
GUIDES = {"teachers.md": "For teachers", "contributing.md": "For contributors"}
# Files of installed packages that a page asks for: module, path inside it, name on the site.
FROM_PACKAGES = (
    ("plotly", "package_data/plotly.min.js", "plotly.min.js"),
    ("ziamath", "fonts/STIXTwoMath-Regular.ttf", "STIXTwoMath-Regular.ttf"),
)
_LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?:|#)([^)#]+)(#[^)]*)?\)")


def lay_out(shelf: Shelf, folder: Path, learners: bool) -> None:
    """Write all of Sphinx's input into `folder`: executed solutions, or with `learners` the chapters.

    Raises:
        BuildProblem: a notebook or a file of a package is missing.
    """
    from utils.show.bundle import script

    code, texts = script(), page_texts(shelf)
    wanted = set().union(*map(links_to_cells, texts.values()))
    names = shelf.chapters()
    for name in names:
        path = shelf.chapter(name) if learners else shelf.solution(name)
        notebook = read_notebook(path)
        if notebook is None:
            raise BuildProblem("it has not been built: run `book build`.", path)
        (folder / f"{name}.ipynb").write_text(as_text(page_notebook(notebook, code, wanted)), encoding="utf-8")
    (folder / PAGE).write_text(with_labels(page_text(texts[PAGE])), encoding="utf-8")
    (folder / EXERCISES).write_text(page_text(texts[EXERCISES]), encoding="utf-8")
    docs = shelf.root / "docs"
    guides = [name for name in GUIDES if (docs / name).is_file()]
    for name in guides:
        text = _guide((docs / name).read_text(encoding="utf-8"), [*guides, PAGE, EXERCISES])
        (folder / name).write_text(text, encoding="utf-8")
    front = (SETTINGS / "index.md").read_text(encoding="utf-8")
    titles = {name: title_of(read_chapter(shelf.source(name))) for name in names}
    (folder / "index.md").write_text(front + _contents(titles, guides), encoding="utf-8")
    _files(folder, code)
    if (docs / "images").is_dir():
        shutil.copytree(docs / "images", folder / "images")


def _contents(titles: dict[str, str], guides: list[str]) -> str:
    """The chapters as a table, and the contents that stand beside every page."""
    from utils.exercises import all_exercises

    lines = ["", "| chapter | exercises | minutes for them |", "|---|---|---|"]
    for name, title in titles.items():
        declared = all_exercises(int(name[:2]))
        facts = f"{len(declared)} | {sum(exercise.minutes for exercise in declared)}"
        lines.append(f"| [{name[:2]} · {title}]({name}.ipynb) | {facts} |")
    parts = {
        "Chapters": [f"{name[:2]} · {title} <{name}>" for name, title in titles.items()],
        "Look up": [f"Glossary <{PAGE.removesuffix('.md')}>", f"Exercises <{EXERCISES.removesuffix('.md')}>"],
        "Guides": [f"{GUIDES[name]} <{name.removesuffix('.md')}>" for name in guides],
    }
    for caption, entries in parts.items():
        if entries:
            lines += ["", "```{toctree}", ":hidden:", f":caption: {caption}", ":maxdepth: 1", "", *entries, "```"]
    return "\n".join(lines) + "\n"


def _guide(text: str, pages: list[str]) -> str:
    """A guide whose links to files of the repository, which the site does not have, are only their words."""

    def link(found: re.Match) -> str:
        picture, words, target, fragment = found[1], found[2], Path(found[3]).name, found[4] or ""
        if picture:
            return f"![{words}](images/{target})"
        return f"[{words}]({target}{fragment})" if target in pages else words

    return _LINK.sub(link, text)


def _files(folder: Path, code: str) -> None:
    static = folder / "_static"
    static.mkdir()
    for name in ("conf.py", "favicon.svg"):
        shutil.copy(SETTINGS / name, folder)
    for name in ("book.css", "book.js"):
        shutil.copy(SETTINGS / name, static)
    for module, path, name in FROM_PACKAGES:
        spec = importlib.util.find_spec(module)
        file = Path(spec.origin).parent / path if spec and spec.origin else None
        if file is None or not file.is_file():
            raise BuildProblem(f"The site needs {path} of the package {module}: run `make env` again.")
        shutil.copy(file, static / name)
    (static / "circuitsvis.js").write_text(code.removeprefix("<script>").removesuffix("</script>"), encoding="utf-8")
