"""A saved notebook opened afresh in JupyterLab, offline: drawn where it is trusted, text where it is not."""

import os
import socket
import subprocess
import sys
import time

import nbformat
import pytest

from utils import show
from utils.show import bundle
from utils.show.display import PLOTLY

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def _output(data):
    return nbformat.v4.new_output("display_data", data=data)


PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII="  # one pixel
PATIENCE = 240_000  # milliseconds that a page may take, on however busy a machine


@pytest.fixture(scope="module")
def notebook():
    """Two attention figures, the one with the drawing code last, and a plotly figure."""
    first = show.heads([[[1, 0], [0.5, 0.5]]], ["a", " b"], title="First", note="See.")
    second = show.heads([[[1, 0], [0.25, 0.75]]], ["a", " b"], title="Second", note="See.")
    bars = show.bars({"a": 1, "b": 2}, title="Bars", note="b is larger.", x_name="label", y_name="value")
    title, drawing, note = bars.bundles()
    outputs = [
        [{"text/html": first.html, "text/plain": first.text}],
        [{PLOTLY: bars.spec, "text/plain": bars.text}],
        [{"text/html": bundle.script() + second.html, "text/plain": second.text}],
        [title, {**drawing, "image/png": PICTURE}, note],  # as JupyterLab saves a figure that it has drawn
    ]
    cells = [
        nbformat.v4.new_code_cell("", id=f"cell-{place}", execution_count=1, outputs=[*map(_output, data)])
        for place, data in enumerate(outputs)
    ]
    return nbformat.v4.new_notebook(cells=cells)


@pytest.fixture(scope="module")
def lab(notebook, tmp_path_factory):
    """The address of a JupyterLab that has the notebook twice: trusted.ipynb and strange.ipynb."""
    folder = tmp_path_factory.mktemp("lab")
    names = ("DATA", "RUNTIME", "CONFIG")
    ours = {f"JUPYTER_{name}_DIR": str(folder / f".{name}") for name in names}
    ours |= {"JUPYTERLAB_WORKSPACES_DIR": str(folder / ".spaces"), "JUPYTERLAB_SETTINGS_DIR": str(folder / ".settings")}
    environment = {**os.environ, **ours}
    for name in ("trusted", "strange"):
        notebook.metadata["which"] = name  # trust is by content: two equal notebooks would both have it
        nbformat.write(notebook, folder / f"{name}.ipynb")
    jupyter = [sys.executable, "-m", "jupyter"]
    subprocess.run([*jupyter, "trust", str(folder / "trusted.ipynb")], env=environment, check=True, capture_output=True)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    options = ["--no-browser", "--allow-root", f"--port={port}", "--IdentityProvider.token=t"]
    with open(folder / "log", "w") as log:
        server = subprocess.Popen(
            [*jupyter, "lab", *options, f"--ServerApp.root_dir={folder}"], env=environment, stdout=log, stderr=log
        )
        try:
            yield f"http://127.0.0.1:{port}/lab/tree/{{}}.ipynb?token=t&reset"  # without what was open before
        finally:
            server.kill()
            server.wait()


@pytest.fixture
def opened(browser, lab):
    """Open one of the notebooks; any request to another machine fails the test."""
    page = browser.new_page(viewport={"width": 1000, "height": 1800})
    page.set_default_timeout(PATIENCE)
    page.set_default_navigation_timeout(PATIENCE)
    elsewhere = []
    page.on(
        "request",
        lambda r: None if r.url.startswith(("http://127.0.0.1", "data:", "blob:")) else elsewhere.append(r.url),
    )

    def open_(name):
        until = time.monotonic() + PATIENCE / 1000
        while True:
            try:
                page.goto(lab.format(name))
                break
            except Exception as problem:  # the server is not there yet
                if "ERR_CONNECTION_REFUSED" not in str(problem) or time.monotonic() > until:
                    raise
                page.wait_for_timeout(300)
        page.wait_for_selector(".jp-Notebook .jp-CodeCell", timeout=PATIENCE)
        return page

    yield open_
    page.close()
    assert elsewhere == []


def test_a_trusted_notebook_is_drawn_whatever_the_order(opened):
    page = opened("trusted")
    page.wait_for_function("document.querySelectorAll('.book-heads-box canvas').length == 4", timeout=PATIENCE)
    page.wait_for_selector(".jp-RenderedPlotly .main-svg", timeout=PATIENCE)
    assert page.locator(".jp-RenderedPlotly .xtitle").text_content() == "label"


def test_the_picture_of_a_saved_figure_is_turned_round_on_a_dark_page(opened):
    """Until the pointer comes near, JupyterLab shows the picture that it saved, which was made for a light page."""
    page = opened("trusted")
    picture = page.locator(".plot-img[src]").last
    picture.wait_for(timeout=PATIENCE)
    for light, filters in (("true", "none"), ("false", "invert(1) hue-rotate(180deg)")):
        page.evaluate("light => { document.body.dataset.jpThemeLight = light; }", light)
        assert picture.evaluate("picture => getComputedStyle(picture).filter") == filters


def test_a_screen_reader_is_told_what_an_attention_figure_is(opened):
    page = opened("trusted")
    page.wait_for_function("document.querySelectorAll('.book-heads-box canvas').length == 4", timeout=PATIENCE)
    for name in ("First. See.", "Second. See."):
        assert page.get_by_role("img", name=name, exact=True).count() == 1


def test_a_notebook_from_elsewhere_shows_plotly_and_the_text_of_the_rest(opened):
    page = opened("strange")
    page.wait_for_selector(".jp-RenderedPlotly .main-svg", timeout=PATIENCE)
    texts = page.locator(".book-figure details[open] pre")
    texts.nth(1).wait_for(timeout=PATIENCE)
    assert "Head 0: 1 ·b ← 0 a 0.5" in texts.first.inner_text()
    assert page.locator(".book-figure script").count() == 0
    assert not page.evaluate("'bookFigures' in window")
