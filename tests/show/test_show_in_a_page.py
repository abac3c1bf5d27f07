"""Figures on a page without a network, as nbconvert writes one: drawn in any order, or left as text."""

from importlib.resources import files

import pytest

from utils import show
from utils.show import bundle

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.fixture
def page(browser):
    """An empty page that has no network; any error on it, or any request, fails the test."""
    context = browser.new_context(offline=True, viewport={"width": 900, "height": 900})
    page = context.new_page()
    problems = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    page.on("request", lambda request: problems.append(request.url) if request.url.startswith("http") else None)
    yield page
    context.close()
    assert problems == []


@pytest.fixture
def two(causal_pattern):
    """Two attention figures as HTML, of three heads and of two."""
    tokens = list("abcdefghij")
    return [show.heads(causal_pattern(n), tokens, title=f"{n} heads", note="See.").html for n in (3, 2)]


def drawn(page):
    """How many patterns each attention figure shows: each head's small one, and the large one."""
    return page.evaluate(
        "[...document.querySelectorAll('.book-heads-box')].map(b => b.querySelectorAll('canvas').length)"
    )


def put(page, *outputs):
    page.set_content("<!doctype html><body>" + "".join(f"<div>{output}</div>" for output in outputs))


@pytest.mark.parametrize("place", [0, 1, 2])
def test_figures_find_the_drawing_code_wherever_it_stands(page, two, place):
    outputs = [*two[:place], bundle.script(), *two[place:]]
    put(page, *outputs)
    page.wait_for_function("document.querySelectorAll('canvas').length == 7")
    assert drawn(page) == [4, 3]
    assert page.locator("details[open]").count() == 0  # the text form is folded away


def test_the_same_figure_twice_and_the_code_twice(page, two):
    put(page, bundle.script(), two[0], bundle.script(), two[0])
    page.wait_for_function("document.querySelectorAll('canvas').length == 8")
    assert drawn(page) == [4, 4]
    ids = page.evaluate("[...document.querySelectorAll('.book-heads-box')].map(b => b.id)")
    assert len(set(ids)) == 2


def test_a_figure_shown_later_is_drawn_at_once(page, two):
    put(page, bundle.script(), two[0])
    page.wait_for_function("document.querySelectorAll('canvas').length == 4")
    page.evaluate(
        """html => { const box = document.createElement("div"); box.innerHTML = html;
        for (const old of box.querySelectorAll("script")) {
          const script = document.createElement("script");
          script.textContent = old.textContent;
          old.replaceWith(script); }
        document.body.append(box); }""",
        two[1],
    )
    page.wait_for_function("document.querySelectorAll('canvas').length == 7")


def test_without_the_code_the_text_is_there_to_read(page, two):
    put(page, *two)
    assert drawn(page) == [0, 0]
    assert page.locator("details[open] pre").first.is_visible()
    assert "Head 0: " in page.locator("details[open] pre").first.inner_text()


def test_pointing_at_a_head_enlarges_it(page, two):
    put(page, bundle.script(), two[0])
    page.wait_for_function("document.querySelectorAll('canvas').length == 4")
    assert page.get_by_text("Head 0 Zoomed").is_visible()
    page.locator("canvas").nth(1).hover()
    assert page.get_by_text("Head 1 Zoomed").is_visible()


def test_plotly_draws_every_kind_with_its_axis_names_and_no_cloud_button(page, makers):
    put(page, "<div id='figure'></div>")
    page.add_script_tag(path=str(files("plotly") / "package_data" / "plotly.min.js"))
    for kind, make in makers.items():
        figure = make()
        if not isinstance(figure, show.Figure):
            continue
        page.evaluate("spec => Plotly.newPlot('figure', spec.data, spec.layout, spec.config)", figure.spec)
        words = "".join(page.locator("#figure .main-svg").all_text_contents())
        axes = [axis for name, axis in figure.layout.items() if name[1:5] == "axis"]
        assert all(axis["title"]["text"] in words for axis in axes), kind
        buttons = page.evaluate("[...document.querySelectorAll('.modebar-btn')].map(b => b.dataset.title)")
        assert buttons and not [title for title in buttons if "hare" in title or "loud" in title], kind


def test_no_band_is_left_free_above_a_legend_or_a_color_bar(page, makers):
    put(page, "<div id='figure'></div>")
    page.add_script_tag(path=str(files("plotly") / "package_data" / "plotly.min.js"))
    seen = 0
    for kind, make in makers.items():
        figure = make()
        if not isinstance(figure, show.Figure):
            continue
        page.evaluate("spec => Plotly.newPlot('figure', spec.data, spec.layout, spec.config)", figure.spec)
        above = page.evaluate(
            """() => {
              const top = e => e.getBoundingClientRect().top, figure = top(document.getElementById('figure'));
              return [...document.querySelectorAll('.legend .traces, .cbfills rect')].map(e => top(e) - figure);
            }"""
        )
        seen += bool(above)
        assert not above or 0 <= min(above) < 20, (kind, above)
    assert seen > 5
