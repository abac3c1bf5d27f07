"""What nbval compares when the book is run: a pytest plugin, loaded by `run` in pytest's own process.

Text is compared: what cells print, and the plain-text form of every result and figure, which each figure of the book
carries. Pictures are not (plotly's JSON, HTML, SVG, PNG, and pictures drawn with block characters in plain text): they
hold thousands of floats, and another processor rounds a few of them differently. For the same reason a number printed
with two decimals or more may differ by one in its last place; whole numbers, labels such as 05.2, words and order must
be equal. A cell whose result may rightly vary has the tag `nbval-ignore-output`.
"""

import copy
import json
import re
import sys
import time
from itertools import zip_longest
from queue import Empty

PICTURES = (
    "application/vnd.plotly.v1+json",
    "application/javascript",
    "image/svg+xml",
    "text/html",
)
SAID = "book: "  # begins the line that `run` looks for in nbval's report
DRAWN = re.compile(
    r"[\u2580-\u259f][\s\u2580-\u259f]*|[-\u2500-\u257f]{3,}"
)  # block pictures; rules as wide as a column
NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?", re.IGNORECASE)


def near(text: str, reference: str) -> bool:
    """Equal apart from spaces, drawings, and one unit in the last place of a number with two decimals or more.

    >>> near("loss 0.431", "loss 0.432"), near("loss 0.431", "loss 0.439"), near("head 1.5", "head 1.6")
    (True, False, False)
    """
    text, reference = DRAWN.sub("#", text), DRAWN.sub("#", reference)
    if _words(text) != _words(reference):
        return False
    return all(_close(a, b) for a, b in zip(NUMBER.findall(text), NUMBER.findall(reference), strict=True))


def forgive(outputs: list, reference: list) -> list:
    """`outputs`, with every text that is near the one stored at its place replaced by it."""
    forgiven = copy.deepcopy(outputs)
    for mine, theirs in zip(forgiven, reference, strict=False):
        if mine.get("output_type") != theirs.get("output_type") or mine.get("name") != theirs.get("name"):
            continue
        _take(mine, theirs, "text")
        _take(mine.get("data", {}), theirs.get("data", {}), "text/plain")
    return forgiven


def difference(now: object, stored: object) -> str:
    """The first line of two outputs that is not near the other's.

    >>> difference("a\\n0.25\\nc", "a\\n0.26\\nd")
    "now 'c', stored 'd'"
    """
    for mine, theirs in zip_longest(str(now).split("\n"), str(stored).split("\n"), fillvalue=""):
        if not near(mine, theirs):
            return f"now {_short(mine)!r}, stored {_short(theirs)!r}"
    return "the lines are near and their number or kind is not"


def pytest_collectstart(collector) -> None:
    """nbval's own place for adding to what is not compared."""
    if hasattr(collector, "skip_compare"):
        collector.skip_compare += PICTURES


def pytest_itemcollected(item) -> None:
    """Compare with the rules above in place of equality, and say in one line what differs."""
    if hasattr(item, "cell_num"):
        strict = item.compare_outputs
        item.compare_outputs = lambda test, ref, skip_compare=None: strict(forgive(test, ref), ref, skip_compare)
        item.format_output_compare = lambda key, left, right: item.comparison_traceback.append(
            f"{SAID}its {key} is not what is stored: {difference(right, left)}."
        )


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


def _short(line: str) -> str:
    return line if len(line) <= 100 else line[:99] + "…"


def _take(mine: dict, theirs: dict, name: str) -> None:
    if isinstance(mine.get(name), str) and isinstance(theirs.get(name), str) and near(mine[name], theirs[name]):
        mine[name] = theirs[name]


def _words(text: str) -> str:
    return "".join(NUMBER.sub("0", text).split())


def _close(number: str, reference: str) -> bool:
    places = max(_places(number), _places(reference))
    if places < 2:
        return float(number) == float(reference)
    return abs(float(number) - float(reference)) <= 1.001 * 10.0**-places


def _places(number: str) -> int:
    """How many decimals a number shows: "0.431" → 3, "1.25e-05" → 7, "12" → 0."""
    mantissa, _, exponent = number.lower().partition("e")
    return len(mantissa.partition(".")[2]) - int(exponent or 0)
