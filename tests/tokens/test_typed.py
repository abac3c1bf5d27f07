"""The box to type into draws each text anew, takes whatever is typed, and is a figure where there are no widgets."""

import sys

import pytest

from utils import show
from utils.errors import BookError
from utils.tokens import typed
from utils.tokens.typed import MOST_CHARACTERS, VIEW


def letters(text):
    return show.tokens(list(text), title=f"{len(text)} letters", note="n")


def test_a_new_text_is_drawn_below_the_box():
    box, page = typed(letters, "ab").widget().children
    assert "2 letters" in page.value
    box.value = "<b>"
    assert "3 letters" in page.value
    assert "<b>" not in page.value


def test_beside_the_widget_stand_the_first_texts_figure_and_its_text():
    bundle = typed(letters, "ab")._repr_mimebundle_()
    assert bundle.keys() == {"text/html", "text/plain", VIEW}
    assert "2 letters" in bundle["text/html"]
    assert bundle["text/plain"] == repr(typed(letters, "ab")) == str(letters("ab"))


def test_without_ipywidgets_the_figure_stands_alone(monkeypatch):
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    assert typed(letters, "ab")._repr_mimebundle_().keys() == {"text/html", "text/plain"}


@pytest.mark.parametrize("text", ["", "\ud83d", "x" * (MOST_CHARACTERS + 1), "refused"])
def test_whatever_is_typed_something_is_said(text):
    def picky(text):
        if text == "refused":
            raise BookError("Not this: type another.")
        return letters(text)

    said = {"": "Type something", "x": "600 at most", "r": "Not this"}.get(text[:1], "1 letters")
    box, page = typed(picky, "ab").widget().children
    box.set_trait("value", text)
    assert said in page.value
