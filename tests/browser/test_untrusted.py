"""A worked chapter that came by mail: JupyterLab does not trust it, drops its scripts, styles and drawings, and still
no figure and no report is blank: each is drawn, or its text stands there with a word of why and what to do.
"""

import json
import os
import re
import shutil
import subprocess
import sys

import pytest

from utils.grading.report import UNDRAWN
from utils.paths import solutions_dir
from utils.show.attention import _WAITING

pytestmark = [pytest.mark.browser, pytest.mark.slow]

NAME = "05_attention.ipynb"
SOLUTION = solutions_dir() / NAME
HTML, PLOTLY = "text/html", "application/vnd.plotly.v1+json"


def shown_cells():
    """The code cells that store a figure or a report: place in the notebook, key, and what their outputs hold."""
    for place, cell in enumerate(json.loads(SOLUTION.read_text(encoding="utf-8"))["cells"]):
        kept = [output["data"] for output in cell.get("outputs", []) if "data" in output]
        if any(HTML in data or PLOTLY in data for data in kept):
            yield place, cell["metadata"]["book"]["key"], kept


def goto(page, place):
    """The cell at this place; JupyterLab makes cells only when they come near the window."""
    cell = page.locator(f'.jp-Cell[data-windowed-list-index="{place}"]')
    page.wait_for_function(
        """place => {
          const there = document.querySelector(`.jp-Cell[data-windowed-list-index="${place}"]`);
          if (there && there.querySelector('.jp-OutputArea-output')) {
            there.scrollIntoView({block: 'center'});
            return true;
          }
          const made = [...document.querySelectorAll('.jp-Cell[data-windowed-list-index]')];
          const last = Math.max(...made.map(cell => +cell.dataset.windowedListIndex));
          const panel = document.querySelector('.jp-WindowedPanel-outer');
          panel.scrollBy(0, last < place ? 600 : -600);
          return false;
        }""",
        arg=place,
        polling=100,
    )
    return cell.first


def words_of(text):
    return " ".join(text.split())


def open_it(lab, page, trusted=False):
    copy = lab.folder / f"worked_{NAME}"
    shutil.copyfile(SOLUTION, copy)
    if trusted:  # as `jupyter trust` and JupyterLab's own command do it
        surroundings = {**os.environ, "JUPYTER_DATA_DIR": str(lab.folder.parent / "data")}
        subprocess.run([sys.executable, "-m", "nbformat.sign", str(copy)], env=surroundings, check=True)
    page.goto(lab.address(f"worked_{NAME}"))
    page.locator(".jp-Notebook .jp-MarkdownCell h1").first.wait_for()


def test_nothing_is_blank_without_a_word(lab, page, keep):
    open_it(lab, page)
    cells = list(shown_cells())
    assert len(cells) > 40, "the worked chapter has figures and reports"
    heads = maps = drawn = 0
    for place, key, kept in cells:
        area = goto(page, place).locator(".jp-Cell-outputArea")
        if any(PLOTLY in data for data in kept):
            area.locator(".js-plotly-plot .main-svg").first.wait_for()
            drawn += 1
        said = words_of(area.inner_text())
        for data in kept:
            first = words_of("".join(data["text/plain"]).split("\n")[0])
            assert HTML not in data or first[:30] in said, f"{key}: {first!r} is not shown"
            html = "".join(data.get(HTML, ""))
            if "book-heads-box" in html:
                assert words_of(_WAITING) in said and "strongest links" in said, key
                heads += 1
            if "<svg" in html and "book-report" in html:
                assert words_of(UNDRAWN) in said and re.search(r"\w →.*[░▒▓█]", said), key
                assert not re.search(r"\b0 1 2 3 4 5\b.*\b0 1 2 3 4 5\b", said), (
                    f"{key}: the drawing's numbers are left"
                )
                maps += 1
    assert min(heads, maps, drawn) >= 2, (heads, maps, drawn)
    keep("last")


def test_once_trusted_the_figures_are_drawn_and_the_words_of_why_are_gone(lab, page, keep):
    open_it(lab, page, trusted=True)
    key_of = {key: place for place, key, _ in shown_cells()}
    report = goto(page, key_of["attention-scores-mistake"]).locator(".jp-Cell-outputArea")
    report.locator("svg[role=img]").wait_for()
    assert words_of(UNDRAWN) not in words_of(report.inner_text())
    keep("report")
    first = goto(page, key_of["scores-on-it"]).locator(".jp-Cell-outputArea")
    first.locator(".book-heads-box canvas").first.wait_for()
    assert words_of(_WAITING) not in words_of(first.inner_text())
    keep("heads")
