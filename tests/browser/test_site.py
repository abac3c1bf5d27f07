"""The book's site in a real browser: nothing asked of the network, nothing blank, nothing cut off, usable by everyone.

The site is made once. Each page is opened at two widths, side by side so that both cores work, and asked by axe-core
about the rules of WCAG 2.1 A and AA.
"""

import re
import threading
from dataclasses import dataclass, field
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest

from utils.book.shelf import the_book

pytestmark = [pytest.mark.browser, pytest.mark.slow]

GUIDES = [name for name in ("teachers", "contributing") if (the_book().root / "docs" / f"{name}.md").is_file()]
CHAPTERS = the_book().chapters()
PAGES = ["index", *CHAPTERS, "glossary", "exercises", *GUIDES, "search"]
WIDTHS = {"desktop": (1280, 900), "phone": (390, 844)}
WALK = Path(__file__).with_name("walk.js").read_text(encoding="utf-8")
MOST_BYTES = 40_000_000
WCAG = {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]}
# Code has thousands of colored words a page, in the same few colors everywhere, and axe looks at each: it is judged
# once (test_code_can_be_read) and left out elsewhere.
CODE = "div.highlight"
# Drawings are hidden from screen readers, which have them as text, and so from axe: their words are judged here.
# Numbers within a heatmap's cells are not: plotly writes them black or white, whichever its cell needs.
FAINT_WORDS = """() => {
    const light = (color) => {
        const parts = color.match(/[\\d.]+/g).slice(0, 3).map((part) => part / 255);
        const linear = parts.map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2] + 0.05;
    };
    const page = light(getComputedStyle(document.body).backgroundColor);
    const words = document.querySelectorAll(".book-plotly :is(.xtick, .ytick, .g-xtitle, .g-ytitle, .legend) text");
    return [...words].filter((word) => {
        const ink = light(getComputedStyle(word).fill);
        return Math.max(ink, page) / Math.min(ink, page) < 4.5;
    }).map((word) => `too faint: ${word.textContent}`);
}"""

FADED = """() => {
    const fading = document.getAnimations().filter((one) => one.effect.getComputedTiming().endTime !== Infinity);
    return Promise.all(fading.map((one) => one.finished.catch(() => null)));  // one that is broken off has ended too
}"""


class Quiet(SimpleHTTPRequestHandler):
    """Serves files and says nothing."""

    def log_message(self, *_) -> None:
        pass


@dataclass(frozen=True)
class Served:
    """The site: `folder` on disk, `address` for the browser, and what Sphinx warned of."""

    folder: Path
    address: str
    warnings: tuple[str, ...]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The whole book's site, made from the solutions and served on a port of its own."""
    from utils.book.site.build import build_site

    made = build_site(the_book(), tmp_path_factory.mktemp("site") / "book")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(made.folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield Served(made.folder, f"http://127.0.0.1:{server.server_port}", made.warnings)
    server.shutdown()
    server.server_close()


@dataclass
class Visit:
    """One page at one width: `problems` fills up with what the browser reports."""

    page: object
    problems: list[str] = field(default_factory=list)


@pytest.fixture
def visit(browser, site):
    """`visit(page, width, scheme)` opens a page of the site without waiting for it."""
    contexts = []

    def open_page(name: str, width: str = "desktop", scheme: str = "light") -> Visit:
        across, down = WIDTHS[width]
        context = browser.new_context(viewport={"width": across, "height": down}, color_scheme=scheme)
        contexts.append(context)
        context.add_init_script(WALK)
        made = Visit(context.new_page())
        made.page.on("console", lambda said: said.type == "error" and made.problems.append(f"{width}: {said.text}"))
        made.page.on("pageerror", lambda error: made.problems.append(f"{width}: {error}"))
        made.page.on("request", lambda request: _outside(request.url, site, made.problems))
        made.page.goto(f"{site.address}/{name}", wait_until="commit")
        return made

    yield open_page
    for context in contexts:
        context.close()


def test_the_site_is_made_without_warnings_and_small(site):
    assert site.warnings == ()
    assert {path.stem for path in site.folder.glob("*.html")} == set(PAGES)
    assert sum(path.stat().st_size for path in site.folder.rglob("*") if path.is_file()) <= MOST_BYTES


def test_every_link_leads_somewhere_and_nothing_is_asked_of_the_network(site):
    pages = {path.name: _Links(path.read_text(encoding="utf-8")) for path in site.folder.glob("*.html")}
    lost = [
        f"{name}: {link}"
        for name, page in pages.items()
        for link in page.links
        if not _leads_somewhere(link, name, pages, site.folder)
    ]
    assert lost == []
    assert [(name, source) for name, page in pages.items() for source in page.sources if "//" in source] == []
    styles = "".join(path.read_text(encoding="utf-8") for path in site.folder.rglob("*.css"))
    assert re.findall(r"(?:url\(|@import\s)[\"']?(?:https?:)?//[^)]*", styles) == []


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_whole_at_both_widths_and_everyone_can_use_it(visit, name):
    phone, desktop = visit(f"{name}.html", "phone"), visit(f"{name}.html", "desktop")
    for width, made in (("phone", phone), ("desktop", desktop)):
        made.problems += [f"{width}: {sentence}" for sentence in made.page.evaluate("window.bookWalk")]
        assert made.page.title()
    assert phone.problems + desktop.problems == []
    assert desktop.page.evaluate(FAINT_WORDS) == []
    assert _violations(desktop.page, {"exclude": [[CODE]]}) == []


@pytest.mark.parametrize("name", ["index", "glossary", "exercises", "00_start_here"])
def test_a_dark_page_can_be_read(visit, name):
    dark = visit(f"{name}.html", scheme="dark")
    dark.problems += dark.page.evaluate("window.bookWalk")
    assert dark.problems == []
    assert dark.page.evaluate("document.documentElement.dataset.theme") == "dark"
    assert dark.page.evaluate(FAINT_WORDS) == []
    assert _violations(dark.page, {"exclude": [[CODE]]}) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_code_can_be_read(visit, scheme):
    made = visit("00_start_here.html", scheme=scheme)
    made.page.evaluate("window.bookWalk")
    assert made.page.locator(CODE).count() > 20
    assert _violations(made.page, {"include": [[CODE]]}) == []


def test_search_finds_a_word(visit):
    found = visit("search.html?q=induction")
    found.page.locator("#search-results li a").first.wait_for()
    assert found.problems == []
    assert any("05_attention" in link for link in _addresses(found.page, "#search-results li a"))


def test_a_word_leads_to_the_glossary_and_back(visit):
    made = visit("05_attention.html")
    made.page.locator("article a", has_text=re.compile("^query$")).first.click()
    made.page.wait_for_url("**/glossary.html#word-query")
    assert any("05_attention.html#cell-by-hand" in link for link in _addresses(made.page, "section#word-query a"))


def _addresses(page, links: str) -> list[str]:
    return page.locator(links).evaluate_all("links => links.map(link => link.getAttribute('href'))")


def _outside(url: str, site: Served, problems: list[str]) -> None:
    if not url.startswith((f"{site.address}/", "data:", "blob:")):
        problems.append(f"it asks for {url}")


def _violations(page, context: dict) -> list[str]:
    """What axe-core objects to: the rule, the element, and why. Colors that are fading into others arrive first."""
    from axe_playwright_python.sync_playwright import Axe

    page.evaluate(FADED)
    options = {"runOnly": WCAG, "resultTypes": ["violations"], "iframes": False}
    found = Axe().run(page, context=context, options=options).response["violations"]
    return [
        f"{rule['id']}: {node['html'][:120]} ({node.get('failureSummary', '')[:200]})"
        for rule in found
        for node in rule["nodes"]
    ]


class _Links(HTMLParser):
    """A page's links, the files that it asks for, and the names that links may lead to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.sources: list[str] = []
        self.names: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.names |= {given[name] for name in ("id", "name") if given.get(name)}
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
        elif tag == "link" and given.get("href"):
            self.sources.append(given["href"])
        if given.get("src"):
            self.sources.append(given["src"])


def _leads_somewhere(link: str, page: str, pages: dict[str, _Links], folder: Path) -> bool:
    if link.startswith(("https://", "http://", "mailto:")):
        return True
    path, fragment = urldefrag(link)
    path = unquote(path.partition("?")[0]) or page
    if path in pages:
        return not fragment or unquote(fragment) in pages[path].names
    return (folder / path).is_file()
