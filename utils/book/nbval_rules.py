"""What nbval compares when the book is run: a pytest plugin, loaded by `run` in pytest's own process.

Text is compared: what cells print, and the plain-text form of every result and figure, which each figure of the book
carries. Pictures (plotly's JSON, HTML, SVG, PNG) are not: they hold thousands of floats, and another processor rounds
a few of them differently. For the same reason printed decimals may differ by one unit in their last place; whole
numbers, words and order must be equal. A cell whose result may rightly vary has the tag `nbval-ignore-output`.
"""

import copy
import json
import re
import sys
import time
from queue import Empty

PICTURES = (
    "application/vnd.plotly.v1+json",
    "application/javascript",
    "image/svg+xml",
    "text/html",
)
DECIMAL = re.compile(r"[-+]?(?:\d+\.\d*|\.\d+|\d+(?=e[-+]?\d))(?:e[-+]?\d+)?", re.IGNORECASE)


def near(text: str, reference: str) -> bool:
    """Equal apart from spaces and from one unit in the last place of each decimal.

    >>> near("loss 0.431", "loss 0.432"), near("loss 0.431", "loss 0.439"), near("3 heads", "4 heads")
    (True, False, False)
    """
    if _words(text) != _words(reference):
        return False
    pairs = zip(DECIMAL.findall(text), DECIMAL.findall(reference), strict=True)
    return all(abs(float(a) - float(b)) <= 1.001 * max(_unit(a), _unit(b)) for a, b in pairs)


def forgive(outputs: list, reference: list) -> list:
    """`outputs`, with every text that is near the one stored at its place replaced by it."""
    forgiven = copy.deepcopy(outputs)
    for mine, theirs in zip(forgiven, reference, strict=False):
        if mine.get("output_type") != theirs.get("output_type") or mine.get("name") != theirs.get("name"):
            continue
        _take(mine, theirs, "text")
        _take(mine.get("data", {}), theirs.get("data", {}), "text/plain")
    return forgiven


def pytest_collectstart(collector) -> None:
    """nbval's own place for adding to what is not compared."""
    if hasattr(collector, "skip_compare"):
        collector.skip_compare += PICTURES


def pytest_itemcollected(item) -> None:
    """Compare with the rules above in place of equality."""
    if hasattr(item, "cell_num"):
        strict = item.compare_outputs
        item.compare_outputs = lambda test, ref, skip_compare=None: strict(forgive(test, ref), ref, skip_compare)


def pytest_runtest_setup(item) -> None:
    """Notice a kernel that has ended; nbval alone would wait for its answer until the cell's time is up."""
    kernel = getattr(item.parent, "kernel", None)
    if kernel is not None and not hasattr(kernel, "patient"):
        kernel.patient = kernel.await_reply
        kernel.await_reply = lambda msg_id, timeout=None: _await(kernel, msg_id, timeout)


def pytest_runtest_logreport(report) -> None:
    """Tell `run`, on standard error, what became of each cell: one JSON object a line."""
    if report.when == "call" or report.outcome == "failed":
        text = str(report.longrepr) if report.failed else ""
        number = int(report.nodeid.rsplit(" ", 1)[-1])
        print(json.dumps({"cell": number, "outcome": report.outcome, "text": text}), file=sys.__stderr__, flush=True)


def _await(kernel, msg_id: str, timeout: float | None) -> None:
    """The reply to `msg_id`, asked for a second at a time."""
    until = time.monotonic() + timeout if timeout else float("inf")
    while True:
        try:
            return kernel.patient(msg_id, timeout=max(0.0, min(1.0, until - time.monotonic())))
        except Empty:
            if not kernel.is_alive():
                raise RuntimeError("it ended the kernel.") from None
            if time.monotonic() >= until:
                raise


def _take(mine: dict, theirs: dict, name: str) -> None:
    if isinstance(mine.get(name), str) and isinstance(theirs.get(name), str) and near(mine[name], theirs[name]):
        mine[name] = theirs[name]


def _words(text: str) -> str:
    return "".join(DECIMAL.sub("0.0", text).split())


def _unit(number: str) -> float:
    """One unit in the last printed place: "0.431" → 0.001, "2.5e3" → 100."""
    mantissa, _, exponent = number.lower().partition("e")
    return 10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2]))
