"""The pages of class grading in a real browser: nothing that a student has written runs or is fetched."""

import pytest

from tests.classroom.hostile import HOSTILE
from tests.classroom.test_hostile_text import hostile_class
from utils.classroom.feedback import write_feedback
from utils.classroom.points import Points
from utils.classroom.report import teachers_page
from utils.classroom.store import Store, sqlite_url

pytestmark = [pytest.mark.browser, pytest.mark.slow]

# Everything that could run or fetch: scripts and what asks for an address, and attributes that hold code.
ALIVE = """() => [...document.querySelectorAll("*")].filter((e) =>
    /^(script|iframe|img|link|base|form|object|embed|audio|video|image|use|animate|set)$/i.test(e.localName)
    || [...e.attributes].some((a) => /^on/i.test(a.name) || /^\\s*(javascript|data|https?|\\/\\/)/i.test(a.value))
    && e.localName !== "meta").map((e) => e.outerHTML.slice(0, 200))"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The pages of a class in which each student has put another hostile text everywhere."""
    out = tmp_path_factory.mktemp("out")
    with Store(sqlite_url(out), "0123456789ab", 1) as store:
        hostile_class(store)
        write_feedback(store, Points(), out / "feedback")
        page = teachers_page(store, Points(), list(HOSTILE.values()))
        (out / "report.html").write_text(page, encoding="utf-8")
    return out


def test_nothing_runs_and_nothing_is_fetched(folder, browser):
    context = browser.new_context()
    page = context.new_page()
    asked, wrong = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("dialog", lambda dialog: wrong.append(dialog.message) or dialog.dismiss())
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda message: wrong.append(message.text))
    pages = [folder / "report.html", *sorted((folder / "feedback").iterdir())]
    for path in pages:
        page.goto(path.as_uri())
        title = page.title()
        page.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true })")
        for element in page.locator("h1, h3, summary, strong").all()[:6]:
            element.hover(force=True)
        assert page.evaluate(ALIVE) == []
        assert page.title() == title and title.startswith(("Feedback for", "Report on the class"))
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path.name
    context.close()
    assert asked == [path.as_uri() for path in pages] and wrong == []
