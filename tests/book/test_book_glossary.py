"""Every word that a chapter marks is explained, every explained word is marked, and the links lead both ways."""

import re

import pytest

from utils.book.glossary import introduced, problems, terms
from utils.book.links import linked
from utils.book.lint import lint
from utils.book.notebooks import chapter_notebook
from utils.book.shelf import the_book
from utils.book.site.mathml import mathml
from utils.book.source import read_chapter


@pytest.fixture(scope="module")
def chapters():
    return [read_chapter(the_book().source(name)) for name in the_book().chapters()]


@pytest.fixture
def cell(titled):
    """`cell(text, terms, key)` gives the chapter and its last cell, a markdown one."""

    def make(text, marked="query", key="a"):
        body = "\n".join(f"# {line}".rstrip() for line in text.split("\n"))
        chapter = read_chapter(titled(f'# %% [markdown] key="{key}" terms="{marked}"\n{body}\n').source("05_tiny"))
        return chapter, chapter.cells[-1]

    return make


def test_marks_and_explanations_agree(chapters):
    assert [str(problem) for problem in problems(chapters)] == []


def test_a_mark_without_an_explanation_is_named_with_its_line(cell):
    chapter, _ = cell("x", "query, quarry")
    sentence = 'terms names "quarry", which glossary.toml does not explain: add it there, or correct the word.'
    assert [(problem.line, problem.sentence) for problem in lint(chapter)] == [(4, sentence)]
    assert sentence in [problem.sentence for problem in problems([chapter])]


def test_an_explanation_without_a_mark_is_named(cell):
    chapter, _ = cell("x")
    named = {problem.sentence for problem in problems([chapter])}
    assert len(named) == len(terms()) - 1
    assert 'no cell introduces "key": mark the one that does with terms="key", or delete it.' in named


@pytest.mark.parametrize("term", terms().values(), ids=list(terms()))
def test_an_explanation_is_one_to_three_sentences_whose_formulas_can_be_drawn(term):
    assert term.means[0].isupper() or term.means[0] in "$−0123456789"
    assert term.means.endswith(".") and "\n" not in term.means
    assert 1 <= len(re.findall(r"[.?!:;](?=\s|$)", term.means)) <= 6 and len(term.means) < 420
    assert term.means.count("$") % 2 == 0
    for formula in re.findall(r"\$([^$]+)\$", term.means):
        assert mathml(formula).startswith("<math")


def test_the_list_is_in_the_order_of_the_alphabet():
    assert list(terms()) == sorted(terms(), key=str.casefold)


def test_every_word_leads_to_the_glossary_from_each_chapter_that_introduces_it(chapters):
    without = []
    for chapter in chapters:
        text = "\n".join(cell.source for cell in chapter_notebook(chapter).cells)
        here = [name for name, places in introduced([chapter]).items() if places]
        without += [(chapter.number, name) for name in here if f"]({terms()[name].address})" not in text]
    assert without == []


LINK = "[{}](glossary.md#query)"
LINKED = {
    "bold": ("The query, the **query**.", f"The query, the {LINK.format('**query**')}."),
    "several": ("Two **queries** and **querys**.", f"Two **queries** and {LINK.format('**querys**')}."),
    "within bold": ("A **first query** here.", f"A {LINK.format('**first query**')} here."),
    "plain": ("The query asks.", f"The {LINK.format('query')} asks."),
    "at the start": ("Query first.", f"{LINK.format('Query')} first."),
    "once": ("**query** and **query**", f"{LINK.format('**query**')} and **query**"),
    "bold in a row": (
        "| a | b |\n|---|---|\n| **query** | x |",
        f"| a | b |\n|---|---|\n| {LINK.format('**query**')} | x |",
    ),
}
NOT_LINKED = {
    "code": "`query` and\n\n```\nquery\n```",
    "a formula": "$query$ and $$\nquery\n$$",
    "a heading": "## A query",
    "a link": "[query](x.md)",
    "a shape": "[batch query d]",
    "a plain row": "| query | x |",
    "part of a word": "query_pos, subquery, query-like",
    "a tag": '<img alt="query">',
    "a folded title": "<summary>query</summary>",
}


@pytest.mark.parametrize("text, wanted", LINKED.values(), ids=LINKED)
def test_a_marked_word_is_linked_where_it_is_best_seen(cell, text, wanted):
    chapter, marked = cell(text)
    assert linked(chapter, marked, marked.text) == wanted


@pytest.mark.parametrize("text", NOT_LINKED.values(), ids=NOT_LINKED)
def test_a_word_that_cannot_bear_a_link_gets_a_line_of_its_own(cell, text):
    chapter, marked = cell(text)
    assert linked(chapter, marked, marked.text) == f"{text}\n\n*In the glossary: {LINK.format('query')}.*"


def test_the_table_of_words_links_its_first_column(cell):
    table = (
        "| term | meaning |\n|---|---|\n| query, keys | the query |\n| byte-pair encoding (BPE) | x |\n| nothing | y |"
    )
    chapter, marked = cell(table, key="glossary")
    rows = linked(chapter, marked, marked.text).split("\n")[2:]
    assert rows[0] == "| [query](glossary.md#query), [keys](glossary.md#key) | the query |"
    assert rows[1] == "| [byte-pair encoding (BPE)](glossary.md#byte-pair-encoding) | x |"
    assert rows[2] == "| nothing | y |"
