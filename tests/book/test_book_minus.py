"""A negative number stands with a minus sign, not with a hyphen, in every title, note and table that is stored.

What a chapter writes into a sentence itself, `f"{gap:.2f}"`, has a hyphen; nobody sees it until the model in question
has a negative gap. So this looks at what the solutions show, and not at their sources.
"""

import re

import pytest

from utils.book.notebooks import read_notebook
from utils.book.shelf import the_book

HYPHEN = re.compile(r"(?:^|(?<=[\s|]))-\.?\d\S*", re.MULTILINE)


def shown(name):
    """(key, text) of each output of `show` and of each line that is printed."""
    for cell in read_notebook(the_book().solution(name)).cells:
        for output in cell.get("outputs", []):
            text = output.get("text") or output.get("data", {}).get("text/plain", "")
            yield cell.metadata["book"]["key"], text


@pytest.mark.parametrize("name", the_book().chapters())
def test_negative_numbers_have_a_minus_sign(name):
    found = [(key, hit) for key, text in shown(name) for hit in HYPHEN.findall(text)]
    assert found == []
