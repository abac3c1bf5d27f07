"""In JupyterLab a word leads to its entry in the glossary, shown as a page, and the entry leads back to the cell."""

import re

import pytest

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def test_a_word_leads_to_the_glossary_and_back(lab, page, keep):
    page.goto(lab.address("05_attention.ipynb"))
    page.locator(".jp-Notebook .jp-MarkdownCell a", has_text=re.compile("^query$")).first.click()
    _in_view(page, page.locator(".jp-MarkdownViewer h3", has_text=re.compile("^query")))
    keep("glossary")

    links = page.locator(".jp-MarkdownViewer h3:text-matches('^query') ~ p a")
    links.filter(has_text="01 · Retrieval").first.click()
    _in_view(page, page.locator(".jp-Notebook li", has_text="what you look for"))
    keep("back")


def test_the_list_of_exercises_opens_as_a_page_and_leads_to_an_exercise(lab, page, keep):
    page.goto(lab.address("exercises.md"))
    page.locator(".jp-MarkdownViewer a", has_text=re.compile("^Attention scores$")).click()
    _in_view(page, page.locator(".jp-Notebook h3", has_text="Exercise 05.2 · Attention scores"))
    keep("exercise")


def _in_view(page, element) -> None:
    """Wait until the element is where a reader sees it."""
    element.wait_for()
    page.wait_for_function(
        "element => { const box = element.getBoundingClientRect(); return box.top >= 0 && box.top < innerHeight; }",
        arg=element.element_handle(),
    )
