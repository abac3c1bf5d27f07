"""Turns one notebook of the book into one that myst-nb can show as a page, figures included.

A plotly figure is stored as JSON that only a notebook can draw, so it becomes an element that book.js draws, in one
piece with the title and the note that stand around it. CircuitsVis's code, which the first attention figure of a
notebook carries, becomes a file of the site. Links to other notebooks' cells become links to the places on their pages.
"""

import json
import re
from html import escape
from urllib.parse import unquote

from nbformat import NotebookNode

from utils.book.glossary import PAGE, slug, terms

PLOTLY = "application/vnd.plotly.v1+json"
ATTENTION = '<script src="_static/circuitsvis.js" defer></script>'
_CELL = re.compile(r"\]\((\d\d_\w+)\.ipynb#cell-id=([\w-]+)\)")
_NOTEBOOK = re.compile(r"\]\((\d\d_\w+)\.ipynb\)")
_WORD = re.compile(rf"\]\({re.escape(PAGE)}#([^)]+)\)")


def page_notebook(notebook: NotebookNode, script: str, wanted: set[str]) -> NotebookNode:
    """A copy for the site.

    Args:
        script: CircuitsVis's code as figures carry it, `utils.show.bundle.script()`.
        wanted: ids of the cells that links lead to.
    """
    page = NotebookNode(notebook)
    page.metadata = NotebookNode({"kernelspec": notebook.metadata.kernelspec, "language_info": {"name": "python"}})
    page.cells = [_cell(cell, script, cell.id in wanted) for cell in notebook.cells]
    return page


def page_text(markdown: str) -> str:
    """Markdown with the links that only a notebook understands rewritten for a page."""
    text = _CELL.sub(lambda found: f"](#cell-{found[2]})", markdown)
    text = _NOTEBOOK.sub(lambda found: f"]({found[1]}.ipynb)", text)
    return _WORD.sub(lambda found: f"](#{word_label(unquote(found[1]))})", text)


def word_label(fragment: str) -> str:
    """The label of a word's entry on the site; two words never share one.

    >>> word_label("KV-cache"), word_label("key")
    ('word-kv-cache', 'word-key')
    """
    return "word-" + re.sub(r"[^a-z0-9]+", "-", fragment.casefold()).strip("-")


def with_labels(glossary: str) -> str:
    """The glossary with a label before each entry, which links on other pages lead to."""
    known = {f"### {name}": word_label(slug(name)) for name in terms()}
    return "\n".join(f"({known[line]})=\n{line}" if line in known else line for line in glossary.split("\n"))


def links_to_cells(markdown: str) -> set[str]:
    """The ids of the cells that its links lead to."""
    return {found[2] for found in _CELL.finditer(markdown)}


def _cell(cell: NotebookNode, script: str, wanted: bool) -> NotebookNode:
    made = NotebookNode(cell_type=cell.cell_type, id=cell.id, metadata=NotebookNode(cell.metadata), source=cell.source)
    if cell.cell_type == "markdown":
        made.source = _label(cell) + page_text(cell.source) if wanted else page_text(cell.source)
        return made
    made.execution_count = cell.execution_count
    made.outputs = _outputs(cell.outputs, script)
    return made


def _label(cell: NotebookNode) -> str:
    """What makes a link to this cell possible; HTML, which Sphinx passes on as it is, needs an element for the name."""
    bearer = f'<div id="cell-{cell.id}"></div>\n\n' if cell.source.startswith("<") else ""
    return f"(cell-{cell.id})=\n{bearer}"


def _outputs(outputs: list[NotebookNode], script: str) -> list[NotebookNode]:
    """Title, drawing and note of a plotly figure as one output; every other one by itself, as HTML where it is."""
    made, place = [], 0
    while place < len(outputs):
        if place + 2 < len(outputs) and PLOTLY in outputs[place + 1].get("data", {}):
            title, drawing, note = (output.data for output in outputs[place : place + 3])
            made.append(_html(_figure(title["text/html"], drawing[PLOTLY], note["text/html"])))
            place += 3
            continue
        output = outputs[place]
        html = output.get("data", {}).get("text/html")
        made.append(_html(html.replace(script, ATTENTION)) if html else output)
        place += 1
    return made


def _html(html: str) -> NotebookNode:
    return NotebookNode(output_type="display_data", metadata=NotebookNode(), data=NotebookNode({"text/html": html}))


def _figure(title: str, spec: dict, note: str) -> str:
    """`jp-` classes are JupyterLab's: the stylesheet that comes with each note speaks of them."""
    meta, height = spec["layout"]["meta"], int(spec["layout"]["height"])
    data = json.dumps(spec, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    name = escape(f"{meta['title']}. {meta['note']}")
    return (
        f'<div class="jp-OutputArea book-shown">{title}<div class="jp-RenderedPlotly">'
        f'<div class="book-plotly" role="group" aria-label="{name}" style="min-height:{height}px"></div>'
        f'<script type="application/json">{data}</script></div>{note}</div>'
    )
