"""Finds what jupytext makes of a comment that looks like a magic, and refuses what would not work for every reader.

In the percent form a magic is a comment, and jupytext turns it back, along with innocent ones: `# cat is an animal` and
`# %d holes` become commands. nbval does not notice a magic that does not exist. So every line that jupytext changed is
looked at: a magic has to be one that a fresh kernel knows; shell lines and `?` help are refused outright, because
their result depends on the machine.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import cache

from utils.book.problems import BuildProblem
from utils.book.source import Cell, Chapter

MAGIC = re.compile(r"(?:[\w.,\s]+=\s*)?(?P<signs>%+)(?P<name>\w*)")
ASK = (
    "import json; from ipykernel.zmqshell import ZMQInteractiveShell as Shell; "
    "known = Shell.instance().magics_manager.lsmagic(); "
    "print(json.dumps({kind: sorted(known[kind]) for kind in known}))"
)
# They run a shell or another language, so what they do depends on the machine.
OF_THE_MACHINE = frozenset("bash cmd conda javascript js perl pip python2 ruby script sh sx system uv".split())


def magic_problems(chapter: Chapter, cell: Cell) -> Iterator[tuple[int, str]]:
    """(line, sentence) for each line of a code cell that is a command and should not be."""
    for index, line in enumerate(cell.lines):
        raw = chapter.raw[cell.line - 1 + index]
        if line != raw:
            sentence = _judge(line.strip(), index)
            if sentence:
                yield cell.line + index, sentence


def _judge(line: str, index: int) -> str | None:
    match = MAGIC.match(line)
    if not match:
        return (
            f"jupytext takes the comment `# {line}` for a shell command or a help request: word a comment differently, "
            "and write shell commands in Python."
        )
    signs, name = match["signs"], match["name"]
    if len(signs) > 2:
        return f"`{signs}{name}` is not a magic: write `%{name}`, or word the comment differently."
    kind = "cell" if len(signs) == 2 else "line"
    if kind == "cell" and index:
        return f"the cell magic `%%{name}` works on the first line of a cell only: move it there."
    if name in OF_THE_MACHINE:
        return f"`{signs}{name}` does what the reader's machine happens to do: write it in Python."
    if name not in known_magics()[kind]:
        return f"`{signs}{name}` is no {kind} magic of a fresh kernel: correct it, or word a comment differently."
    return None


@cache
def known_magics() -> dict[str, frozenset[str]]:
    """The "line" and "cell" magics of a fresh IPython kernel, asked of one in a process and a profile of its own.

    Raises:
        BuildProblem: IPython did not start.
    """
    with tempfile.TemporaryDirectory() as profile:
        asked = subprocess.run(
            [sys.executable, "-c", ASK], capture_output=True, text=True, env={**os.environ, "IPYTHONDIR": profile}
        )
    if asked.returncode:
        last = (asked.stderr.strip().splitlines() or ["no output"])[-1]
        raise BuildProblem(
            f"IPython cannot say which magics there are ({last}): run `make env` to mend the environment."
        )
    return {kind: frozenset(names) for kind, names in json.loads(asked.stdout.splitlines()[-1]).items()}
