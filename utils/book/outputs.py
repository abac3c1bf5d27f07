"""Makes stored outputs say nothing about the machine or the moment, and refuses those that do.

What can be normalized is (counts, how a stream was cut into messages). What cannot is named: a warning on stderr, a
path, an address in memory, a duration or a date would make two builds differ, and tells the reader nothing.
"""

import re
import sys
import tempfile
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

from nbformat import NotebookNode

WIDGET = "application/vnd.jupyter.widget-view+json"
COLORS = re.compile(r"\x1b\[[0-9;]*m")  # a terminal's, in tracebacks
ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{6,}\b")
FOLDERS = "home|root|Users|tmp|var|usr|opt|private|mnt|work|workspace"
PATH = re.compile(rf"(?<![\w.:/])/(?:{FOLDERS})/[\w.-]+|\b[A-Za-z]:\\\w+")
TIMING = re.compile(  # whole seconds in words are left to prose: a story may last "10 seconds"
    r"\b\d+(?:\.\d+)?\s?(?:ns|µs|μs|ms)\b|\b\d+\.\d+\s?(?:us|s|secs?|seconds?)(?!\w|\.\w)"
    r"|it/s\b|s/it\b|\b(?:Wall time|CPU times)\b|\b\d{1,2}:\d\d:\d\d\b|\b20\d\d-\d\d-\d\d\b"
)
REFUSED = {"a path of this machine": PATH, "an address in memory": ADDRESS, "a time or a date": TIMING}


def normalize(notebook: NotebookNode) -> None:
    """In place: the kernel's additions to the metadata go, counts run from 1, each stream is one piece.

    A live widget goes too: its id is another at each run, and a page that cannot reach its kernel shows an error in
    its place. What it has beside it, HTML or text, stays and is shown instead.
    """
    notebook.metadata["language_info"] = {"name": "python"}
    notebook.metadata.pop("widgets", None)
    count = 0
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        if cell.cell_type != "code":
            continue
        count += 1
        cell.execution_count = count
        cell.outputs = _whole_streams(cell.outputs)
        for output in cell.outputs:
            output.get("data", {}).pop(WIDGET, None)
            if output.output_type == "execute_result":
                output.execution_count = count


def _whole_streams(outputs: list[NotebookNode]) -> list[NotebookNode]:
    """Neighboring pieces of one stream as one, and of a line that was written over its last state.

    nbclient can do this too (`coalesce_streams`), in time that grows with the square of a line's length.
    """
    whole: list[NotebookNode] = []
    for output in outputs:
        last = whole[-1] if whole else {}
        if output.output_type == "stream" and output.name == last.get("name"):
            last.text += output.text
        else:
            whole.append(output)
    for output in whole:
        if output.output_type == "stream":
            lines = output.text.replace("\r\n", "\n").split("\n")
            output.text = "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in lines)
    return whole


def output_problems(notebook: NotebookNode) -> Iterator[tuple[str, str]]:
    """(cell key, sentence) for every stored output that must not be kept."""
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            for sentence in _judge(cell, output):
                yield cell.metadata.get("book", {}).get("key", cell.id), sentence


def _judge(cell: NotebookNode, output: NotebookNode) -> Iterator[str]:
    if output.output_type == "error" and "raises-exception" not in cell.metadata.get("tags", ()):
        yield f"an error is stored in its outputs ({output.ename}): mend the cell and build."
        return
    if output.output_type == "stream" and output.name == "stderr":
        yield f"it writes to stderr ({_first(output.text)!r}): avoid the warning or progress bar, or print to stdout."
        return
    everything = str({name: output.get(name) for name in ("text", "data", "evalue", "traceback")})
    for name, folder in _folders():
        if folder in everything:
            yield f"its output holds the path of {name}: show a relative path instead."
    seen = _seen(output)
    for what, pattern in REFUSED.items():
        match = pattern.search(seen)
        if match:
            yield f"its output holds {what} ({match.group()!r}), which differs from run to run: leave it out."


def _folders() -> list[tuple[str, str]]:
    named = [("the home folder", Path.home()), ("this checkout", Path(__file__).resolve().parents[2])]
    named += [("the environment", Path(sys.prefix)), ("the temporary folder", Path(tempfile.gettempdir()))]
    return [(name, f"{folder}/") for name, folder in named if folder != Path("/")]


def _seen(output: NotebookNode) -> str:
    """What a reader sees of an output; scripts, styles and figures' data are not read as prose."""
    data = output.get("data", {})
    text = [output.get("text", ""), output.get("evalue", "")]
    text += [COLORS.sub("", line) for line in output.get("traceback", ())]
    text += [data.get("text/plain", ""), data.get("text/markdown", "")]
    parser = _Visible()
    parser.feed(data.get("text/html", ""))
    return "\n".join([*text, *parser.pieces])


class _Visible(HTMLParser):
    """The text of an HTML output outside <script> and <style>."""

    def __init__(self) -> None:
        super().__init__()
        self.pieces: list[str] = []
        self._hidden = 0

    def handle_starttag(self, tag: str, attrs) -> None:
        self._hidden += tag in ("script", "style")

    def handle_endtag(self, tag: str) -> None:
        self._hidden -= tag in ("script", "style") and self._hidden > 0

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.pieces.append(data)


def _first(text: str) -> str:
    line = (text.strip().splitlines() or [""])[0]
    return line if len(line) <= 80 else line[:79] + "…"
