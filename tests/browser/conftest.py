"""A real JupyterLab for one module of tests, and Debian's Chromium to meet it with.

The server is the one that `book lab` starts, on a port of its own, with every folder that it writes to in a temporary
place and copies of the chapters in it: neither the checkout nor a person's settings are touched.
"""

import os
import secrets
import shutil
import socket
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

CHROMIUM = "/usr/bin/chromium"
FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
).split()
PATIENCE = 240_000  # milliseconds that a condition may take to come true, on however busy a machine


@dataclass(frozen=True)
class Lab:
    """A running JupyterLab: `folder` is what it serves."""

    folder: Path
    port: int
    token: str

    def address(self, notebook: str) -> str:
        """Where the browser finds a notebook of the served folder, in a workspace without earlier tabs."""
        return f"http://127.0.0.1:{self.port}/lab/tree/{notebook}?token={self.token}&reset"


@pytest.fixture(scope="module")
def lab(tmp_path_factory) -> Iterator[Lab]:
    """JupyterLab on copies of the chapters, ended after the module."""
    from utils.lab import lab_command
    from utils.paths import chapters_dir

    home = tmp_path_factory.mktemp("lab")
    served = home / "chapters"
    shutil.copytree(chapters_dir(), served, ignore=shutil.ignore_patterns(".*"))
    port, token = _free_port(), secrets.token_hex(8)
    options = ["--no-browser", f"--port={port}", "--ServerApp.port_retries=0", f"--IdentityProvider.token={token}"]
    command = [_served_from(part, served) for part in lab_command(options)]
    log = home / "lab.log"
    with log.open("wb") as sink:
        server = subprocess.Popen(command, env=_surroundings(home), stdout=sink, stderr=subprocess.STDOUT)
        try:
            _wait_for(server, port, log)
            yield Lab(served, port, token)
        finally:
            server.terminate()
            server.wait()


@pytest.fixture(scope="module")
def browser():
    """Chromium without a window; the tests are skipped, with the reason, where there is none."""
    if not Path(CHROMIUM).exists():
        pytest.skip(f"{CHROMIUM} is not there: install Debian's package chromium to run the browser tests")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture
def page(browser):
    """A page of a profile of its own. A request that leaves this machine fails the test."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    outside = []
    page.on("request", lambda request: _note_outside(request.url, outside))
    yield page
    context.close()
    assert not outside, f"the page asked the network for {outside[:3]}"


@pytest.fixture
def keep(request, page):
    """`keep("name")` stores a numbered screenshot in artifacts/browser/, which git ignores."""
    folder = request.config.rootpath / "artifacts" / "browser"
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob(f"{request.node.name}-*.png"):
        old.unlink()
    taken = []

    def take(name: str) -> None:
        taken.append(name)
        page.screenshot(path=folder / f"{request.node.name}-{len(taken):02}-{name}.png")

    return take


def _served_from(part: str, folder: Path) -> str:
    return f"--ServerApp.root_dir={folder}" if part.startswith("--ServerApp.root_dir=") else part


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def _surroundings(home: Path) -> dict[str, str]:
    """The environment, with each folder that Jupyter, IPython and the book write to below `home`."""
    places = {
        "JUPYTER_RUNTIME_DIR": "runtime",
        "JUPYTER_DATA_DIR": "data",
        "JUPYTER_CONFIG_DIR": "config",
        "JUPYTERLAB_SETTINGS_DIR": "settings",
        "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
        "IPYTHONDIR": "ipython",
        "BOOK_DATA": "book",
    }
    root = str(Path(__file__).resolve().parents[2])
    path = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH", "")]))
    return {**os.environ, **{name: str(home / place) for name, place in places.items()}, "PYTHONPATH": path}


def _wait_for(server: subprocess.Popen, port: int, log: Path) -> None:
    """Return as soon as the server listens; fail as soon as it has ended."""
    while server.poll() is None:
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=1):
                return
        except OSError:
            try:
                server.wait(0.1)
            except subprocess.TimeoutExpired:
                continue
    pytest.fail(f"JupyterLab ended before it listened:\n{log.read_text(errors='replace')[-2000:]}")


def _note_outside(url: str, outside: list[str]) -> None:
    if not url.startswith(("http://127.0.0.1:", "ws://127.0.0.1:", "data:", "blob:")):
        outside.append(url)
