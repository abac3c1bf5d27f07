"""A site is made whole or not at all, and twice the same; figures, links and formulas are made fit for its pages."""

import json
import re

import nbformat
import pytest
from docutils.utils.math import MathError
from typer.testing import CliRunner

from utils.book.problems import BuildProblem
from utils.book.site import build, command
from utils.book.site.build import build_site
from utils.book.site.cells import ATTENTION, PLOTLY, page_notebook, page_text, with_labels
from utils.book.site.mathml import mathml

SPEC = {"data": [], "layout": {"height": 200, "meta": {"title": "A </b>", "note": "See."}}, "config": {}}


@pytest.fixture
def out(tmp_path):
    return tmp_path / "made" / "site"


@pytest.mark.slow
def test_two_sites_are_the_same_bytes_and_hold_all_pages(built, out, tmp_path):
    first, second = build_site(built, out), build_site(built, tmp_path / "again")
    files = {path.relative_to(out): path.read_bytes() for path in sorted(out.rglob("*")) if path.is_file()}
    again = {path.relative_to(second.folder): path.read_bytes() for path in second.folder.rglob("*") if path.is_file()}
    assert files == again
    pages = {path.name for path in out.glob("*.html")}
    assert pages == {"index.html", "05_tiny.html", "glossary.html", "exercises.html", "search.html"}
    assert (first.pages, first.size) == (len(pages), sum(map(len, files.values())))
    assert "number * 0.5" in re.sub(r"<[^>]+>", "", (out / "05_tiny.html").read_text())


@pytest.mark.slow
def test_the_learners_site_replaces_the_other_and_holds_no_answers(built, out):
    build_site(built, out)
    build_site(built, out, learners=True)
    text = re.sub(r"<[^>]+>", "", (out / "05_tiny.html").read_text())
    assert "Write halve here" in text and "number * 0.5" not in text
    assert "number * 0.5" not in (out / "searchindex.js").read_text()


@pytest.mark.slow
def test_the_command_says_what_it_made(built, out, monkeypatch):
    monkeypatch.setattr("utils.book.shelf.the_book", lambda: built)
    import typer

    app = typer.Typer()
    app.command()(command.site)
    result = CliRunner().invoke(app, ["--out", str(out), "--json"])
    facts = json.loads(result.stdout)
    assert (facts["folder"], facts["pages"]) == (str(out), 5)
    assert facts["bytes"] > 1_000_000 and all("square.svg" in warning for warning in facts["warnings"])


def test_a_folder_with_other_things_in_it_is_left_alone(built, out, one_sentence):
    out.mkdir(parents=True)
    (out / "thesis.txt").write_text("mine")
    with pytest.raises(BuildProblem, match="holds something that is not a site of the book") as raised:
        build_site(built, out)
    one_sentence(raised.value)
    assert [path.name for path in out.iterdir()] == ["thesis.txt"]


def test_a_missing_package_is_one_sentence(built, out, monkeypatch, one_sentence):
    monkeypatch.setattr(build, "NEEDED", ("sphinx", "no_such_theme"))
    with pytest.raises(BuildProblem, match="no_such_theme is missing.*run `make env` again") as raised:
        build_site(built, out)
    one_sentence(raised.value)
    assert not out.exists()


def test_a_notebook_that_was_not_built_stops_it(book, tiny_text, out):
    with pytest.raises(BuildProblem, match="it has not been built: run `book build`"):
        build_site(book(tiny_text), out)
    assert not out.exists()


def notebook(*outputs, text="x"):
    cells = [
        nbformat.v4.new_markdown_cell(text, id="word-1"),
        nbformat.v4.new_code_cell("x", id="code-1", outputs=list(outputs)),
    ]
    made = nbformat.v4.new_notebook(cells=cells)
    made.metadata.kernelspec = {"name": "python3", "display_name": "Python 3"}
    return made


def shown(data):
    return nbformat.v4.new_output("display_data", data)


def test_the_three_outputs_of_a_figure_become_one_that_cannot_end_its_script():
    outputs = shown({"text/html": "<b>T</b>"}), shown({PLOTLY: SPEC}), shown({"text/html": "<p>N</p>"})
    page = page_notebook(notebook(*outputs), "<script>c</script>", set())
    (output,) = page.cells[1].outputs
    html = output.data["text/html"]
    assert html.index("<b>T</b>") < html.index("book-plotly") < html.index("<p>N</p>")
    assert html.count("</script>") == 1 and "\\u003c/b>" in html
    assert 'aria-label="A &lt;/b&gt;. See."' in html and "min-height:200px" in html
    stored = json.loads(re.search(r'json">(.*)</script>', html)[1])
    assert stored == SPEC


def test_the_code_of_attention_figures_becomes_a_file():
    page = page_notebook(notebook(shown({"text/html": "<script>c</script><figure>"})), "<script>c</script>", set())
    assert page.cells[1].outputs[0].data["text/html"] == f"{ATTENTION}<figure>"


@pytest.mark.parametrize(
    "text, wanted, source",
    [
        ("# A", {"word-1"}, "(cell-word-1)=\n# A"),
        ("# A", set(), "# A"),
        ("<details>", {"word-1"}, '(cell-word-1)=\n<div id="cell-word-1"></div>\n\n<details>'),
    ],
)
def test_a_cell_that_links_lead_to_has_a_label(text, wanted, source):
    assert page_notebook(notebook(text=text), "", wanted).cells[0].source == source


def test_links_of_notebooks_become_links_of_pages():
    text = "[a](05_attention.ipynb#cell-id=scores-1f) [**b**](glossary.md#KV-cache) [c](00_start_here.ipynb)"
    assert page_text(text) == "[a](#cell-scores-1f) [**b**](#word-kv-cache) [c](00_start_here.ipynb)"
    assert with_labels("### KV cache\n\nx") == "(word-kv-cache)=\n### KV cache\n\nx"


FORMULAS = {
    r"\tfrac12 x": "<mn>1</mn><mn>2</mn></mfrac>",
    r"\log p": '<mo>&ApplyFunction;</mo><mspace width="0.17em">',
    r"\log(p)": '<mi>log</mi><mo>&ApplyFunction;</mo><mo stretchy="false">(',
    r"\operatorname{gelu\_new}(x)": "gelu_new</mi>",
    r"\operatorname*{arg\,max}_i s": "arg max</mi>",
    r"\hat x_i": "</mover><msub>",
    r"\big( a \big)": 'minsize="1.2',
    r"\min(k, d)": '<mi>min</mi><mo stretchy="false">(',
    r"\|g\|": '<mo stretchy="false">‖</mo>',
    r"t_1, \dots, t_n": "<mi>…</mi>",
}


@pytest.mark.parametrize("tex", FORMULAS)
def test_formulas_are_read_as_tex_reads_them(tex):
    assert FORMULAS[tex] in mathml(tex)


def test_a_formula_that_cannot_be_drawn_is_not_passed_over():
    with pytest.raises(MathError):
        mathml(r"\nosuchcommand x")
