"""The frame in which the grader speaks in a notebook: a verdict, a hint, the overview of progress.

It takes JupyterLab's colors where there are some (page.css), and everything in it is one element, so that a page of
the book's site looks the same. In a notebook that is not trusted yet, styles and drawings are taken out; what is left
still reads. All text that comes here is escaped here.
"""

import functools
import re
from dataclasses import dataclass
from html import escape
from importlib.resources import files

from utils.grading.text import harmless

# What stands between backticks is set as code, and so is a call of hint.
_CODE = re.compile(r"`([^`]+)`|(hint\(&quot;[\d.]+&quot;\))")


def page(kind: str, sign: str, headline: str, body: str) -> str:
    """One framed element. `kind` is its class, `sign` the mark before the headline, `body` is HTML already."""
    sign = f'<span class="sign" aria-hidden="true">{escape(sign)}</span>'
    head = f'<p class="verdict">{sign} <strong>{words(headline)}</strong></p>'
    frame = f'<div class="book-report {kind}" role="group" aria-label="{escape(headline)}">{head}{body}</div>'
    return f"<style>{_styles()}</style>{harmless(frame)}"


def paragraph(text: str, small: bool = False) -> str:
    """Text as a paragraph; nothing where there is no text."""
    return f"<p{' class=small' if small else ''}>{words(text)}</p>" if text else ""


def words(text: str) -> str:
    """Text, escaped, with code set as code."""
    return _CODE.sub(lambda found: f"<code>{found[1] or found[2]}</code>", escape(text))


@functools.cache
def _styles() -> str:
    """page.css on one line."""
    return " ".join(files("utils.grading").joinpath("page.css").read_text(encoding="utf-8").split())


@dataclass(frozen=True)
class Note:
    """A sentence in the grader's frame, where there is nothing to grade or to hint at."""

    headline: str
    text: str

    def _repr_html_(self) -> str:
        return page("unwritten", "!", self.headline, paragraph(self.text))

    def _repr_pretty_(self, printer, cycle: bool) -> None:
        printer.text(str(self))

    def __str__(self) -> str:
        return harmless(f"{self.headline}\n{self.text}")
