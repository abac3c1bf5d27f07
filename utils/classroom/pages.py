"""What the pages for students and teachers share: templates in which everything is escaped, and names of files."""

import functools
import hashlib
import re
import unicodedata
from typing import Any

from markupsafe import Markup

from utils.grading.page import words
from utils.grading.text import harmless


@functools.cache
def _templates():
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader("utils.classroom", "."), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    made.filters["plain"] = lambda text: harmless(str(text))
    made.filters["prose"] = lambda text: Markup(words(harmless(str(text))))  # escaped, with code set as code
    return made


def render(template: str, **values: Any) -> str:
    """A page. Whatever is not Markup already is escaped by Jinja."""
    return _templates().get_template(template).render(**values)


def without_style(html: str) -> Markup:
    """A report of the grader's without its stylesheet, which a page of many reports holds once."""
    return Markup(html.partition("</style>")[2] if html.startswith("<style>") else html)


def report_style() -> Markup:
    """The stylesheet of the grader's reports."""
    from importlib.resources import files

    return Markup(files("utils.grading").joinpath("page.css").read_text(encoding="utf-8"))


def file_name(student: str) -> str:
    """A safe name for a student's files: letters that every system takes, and digits that keep it the only one.

    >>> file_name("Ann Onym (12)")
    'ann-onym-12-3fa673992309216b'
    """
    letters = unicodedata.normalize("NFKD", student).encode("ascii", "ignore").decode().lower()
    letters = re.sub(r"[^a-z0-9]+", "-", letters).strip("-")[:50] or "student"
    return f"{letters}-{hashlib.sha256(student.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"
