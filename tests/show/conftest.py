"""One figure of every kind, as a chapter would make it, and a browser to look at them."""

import shutil

import pytest
import torch

from utils import show

TOKENS = ["<|endoftext|>", "The", " animal", " was", " too", " tired", ".", "\n", " the", " the"]
WORDS = {"title": "What the figure is", "note": "The one thing to see in it."}


def pattern(n_heads=3, n=10):
    """A causal pattern with every weight different."""
    scores = torch.randn(n_heads, n, n, generator=torch.Generator().manual_seed(0))
    future = torch.ones(n, n, dtype=torch.bool).triu(1)
    return scores.masked_fill(future, -torch.inf).softmax(-1)


def _lens():
    words = [[[f" w{layer}{pos}{k}" for k in range(5)] for pos in range(10)] for layer in range(4)]
    values = torch.linspace(0.9, 0.1, 5).expand(4, 10, 5)
    return show.lens(words, values, tokens=TOKENS, **WORDS)


MAKERS = {
    "heads": lambda: show.heads(pattern(), TOKENS, **WORDS),
    "matrix": lambda: show.matrix(pattern()[0], rows=TOKENS, columns=TOKENS, row_name="query_pos", **WORDS),
    "matrix with numbers": lambda: show.matrix([[1.0, -2.0], [0.5, 4.0]], **WORDS),
    "matrices": lambda: show.matrices(
        pattern(6), [f"head {i}" for i in range(6)], rows=TOKENS, columns=TOKENS, **WORDS
    ),
    "lens": _lens,
    "lines": lambda: show.lines(
        range(1, 101),
        {"loss": torch.rand(100), " other": torch.rand(100)},
        x_name="step",
        y_name="loss (nats)",
        band={"loss": (torch.zeros(100), torch.ones(100))},
        marks={"warm": 10},
        levels={"bigram": 0.5},
        log_x=True,
        **WORDS,
    ),
    "lines over words": lambda: show.lines(
        ["embed", "0", "1"], {"norm": [1, 2, 4]}, x_name="after", y_name="norm", **WORDS
    ),
    "histogram": lambda: show.histogram({"a": torch.randn(50, 4), "b": list(range(9))}, x_name="q·k", **WORDS),
    "bars": lambda: show.bars(
        {" cat": 0.5, " dog": 0.25}, x_name="token", y_name="probability", baseline=0.1, baseline_name="chance", **WORDS
    ),
    "bars marked": lambda: show.bars(
        [(f" w{i}", 0.5**i) for i in range(20)], x_name="token", y_name="probability", marked=[" w0"], **WORDS
    ),
    "bars in series": lambda: show.bars(
        {"a": [1, 2], "b": [3, -4]}, series=["before", "after"], x_name="head", y_name="effect", **WORDS
    ),
    "points": lambda: show.points(
        [[0, 1], [2, 3], [4, 5]], [" a", "b", " a"], groups=[0, 0, 1], x_name="first", y_name="second", **WORDS
    ),
    "equations": lambda: show.equations({"x + y = 2": (1, 1, 2), "x − y = 0": (1, -1, 0), "x = 1": (1, 0, 1)}, **WORDS),
    "grid_map": lambda: show.grid_map([[1, 1], [0, 1]], **WORDS),
    "tokens": lambda: show.tokens(TOKENS, [0.5, -1, 0, 1, 2, 3, float("nan"), 4, 5, 6], ids=range(10), **WORDS),
    "tokens in rows": lambda: show.tokens([["l", "o"], ["lo"]], rows=["bytes", "merged"], **WORDS),
    "stream": lambda: show.stream(
        [("attention", "moves between positions"), ("MLP", "each position alone")],
        start=("embed", "token + position"),
        end=("unembed", "logits"),
        **WORDS,
    ),
    "table": lambda: show.table([["a", 1.23456], ["b", torch.tensor(2)]], ["name", "value"], **WORDS),
    "table of verdicts": lambda: show.table(
        [["a", 1.5], ["b", 2], ["c", 3]], ["name", "value"], verdicts=[True, False, None], **WORDS
    ),
}
PLOTLY_KINDS = [name for name, make in MAKERS.items() if isinstance(make(), show.Figure)]


@pytest.fixture
def makers():
    """What makes a figure of each kind, by its name."""
    return MAKERS


@pytest.fixture
def make():
    """Make the figure of a kind."""
    return lambda kind: MAKERS[kind]()


@pytest.fixture
def causal_pattern():
    """Make a causal pattern [n_heads, query_pos, key_pos]."""
    return pattern


@pytest.fixture(params=list(MAKERS))
def figure(request):
    """One figure after the other."""
    return MAKERS[request.param]()


@pytest.fixture(params=PLOTLY_KINDS)
def plotly_kind(request):
    """The name of one plotly figure after the other."""
    return request.param


@pytest.fixture
def plotly_figure(plotly_kind):
    """One plotly figure after the other."""
    return MAKERS[plotly_kind]()


@pytest.fixture(scope="module")
def browser():
    """Headless Chromium, offline; ended after the module, since Playwright runs once at a time in a process."""
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        pytest.skip("no Chromium here")
    from playwright.sync_api import sync_playwright

    quiet = "quic background-networking component-update sync".split()
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", *(f"--disable-{name}" for name in quiet)]
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=program, args=flags)
        yield chromium
        chromium.close()
