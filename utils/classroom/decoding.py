"""A file's bytes as the cells of a notebook: other encodings, old formats and what is broken, each said in a sentence.

nbformat would refuse much of what a tool or a student has done to a notebook. Here only what grading needs is read:
of each cell its id, its type, its text and the book's metadata; outputs are dropped as soon as they are parsed.
"""

import codecs
import json
import re
from dataclasses import dataclass
from typing import Any

MOST_CELLS = 5_000
LONGEST_CELL = 1 << 20
_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig", "UTF-8 with a byte order mark"),
    (codecs.BOM_UTF32_LE, "utf-32", "UTF-32"),
    (codecs.BOM_UTF32_BE, "utf-32", "UTF-32"),
    (codecs.BOM_UTF16_LE, "utf-16", "UTF-16"),
    (codecs.BOM_UTF16_BE, "utf-16", "UTF-16"),
)
_SURROGATES = re.compile("[\ud800-\udfff]")


class NoNotebook(Exception):
    """The bytes are no notebook; the message says what they are, to follow a path: "is empty"."""


@dataclass(frozen=True)
class RawCell:
    """A cell as it stands in the file. `key` and `exercise` are from the book's metadata, where a tool has kept it."""

    id: str | None
    kind: str
    source: str
    key: str | None
    exercise: str | None


@dataclass(frozen=True)
class RawNotebook:
    """A notebook as it stands in the file, with what was odd about it."""

    chapter: str | None  # as its metadata says
    cells: tuple[RawCell, ...]
    notes: tuple[str, ...]


def read_cells(data: bytes) -> RawNotebook:
    """All cells of a notebook in the formats 2 to 4 and what comes near to them.

    Raises:
        NoNotebook: there is none in the bytes.
    """
    notes: list[str] = []
    content = _parsed(_text(data, notes))
    listed = _listed_cells(content, notes)
    if len(listed) > MOST_CELLS:
        notes.append(f"It has {len(listed):,} cells, of which the first {MOST_CELLS:,} are read.")
    cells = []
    for number, cell in enumerate(listed[:MOST_CELLS], 1):
        found = _cell(cell)
        if found is None:
            notes.append(f"Cell {number} is not built like a cell, and is left out.")
        elif len(found.source) > LONGEST_CELL:
            notes.append(f"Cell {number} is longer than a million characters, and is left out.")
        else:
            cells.append(found)
    if any(_SURROGATES.search(cell.source) for cell in cells):
        notes.append("It holds halves of characters, which are replaced.")
        cells = [RawCell(c.id, c.kind, _SURROGATES.sub("\ufffd", c.source), c.key, c.exercise) for c in cells]
    of_book = _dict(_dict(content.get("metadata")).get("book"))
    return RawNotebook(_string(of_book.get("chapter")), tuple(cells), tuple(notes))


def _text(data: bytes, notes: list[str]) -> str:
    if not data.strip(b"\0 \t\r\n"):
        raise NoNotebook("is empty")
    for mark, encoding, name in _BOMS:
        if data.startswith(mark):
            if name[:5] != "UTF-8":
                notes.append(f"The file is in {name}; notebooks are in UTF-8.")
            return data.decode(encoding, errors="replace")
    for encoding, zeros in (("utf-16-le", data[1:200:2]), ("utf-16-be", data[0:200:2])):
        if len(data) > 1 and zeros.count(0) * 2 > len(zeros):
            notes.append("The file is in UTF-16; notebooks are in UTF-8.")
            return data.decode(encoding, errors="replace")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        notes.append("The file is not in UTF-8; it is read as Latin-1, so accents in it may be wrong.")
        return data.decode("cp1252", errors="replace")


def _parsed(text: str) -> dict[str, Any]:
    start = text.lstrip()[:200].lower()
    if start.startswith(("<!doctype", "<html", "<?xml")):
        raise NoNotebook("is a web page and not a notebook: it has to be downloaded as .ipynb")
    if not start.startswith("{"):
        raise NoNotebook("is not a notebook")
    if re.search(r"^<{7} ", text, re.MULTILINE):
        raise NoNotebook("holds git's marks of a merge conflict: the conflict has to be resolved")
    try:
        # Numbers mean nothing here: one of a million digits is not worked out.
        content = json.loads(text, parse_int=_number, parse_float=_number, parse_constant=_number)
    except RecursionError:
        raise NoNotebook("is nested too deeply to be a notebook") from None
    except ValueError as reason:
        at = getattr(reason, "pos", 0)
        if at >= len(text.rstrip()) or "Unterminated" in str(reason):
            raise NoNotebook("breaks off in the middle: it has to be saved and handed in again") from None
        raise NoNotebook(f"is broken as JSON at line {text.count(chr(10), 0, at) + 1}") from None
    if not isinstance(content, dict):
        raise NoNotebook("is JSON but not a notebook")
    return content


def _number(text: str) -> int:
    return int(text) if len(text) < 4 and text.isdecimal() else 0


def _listed_cells(content: dict[str, Any], notes: list[str]) -> list:
    worksheets = content.get("worksheets")
    if isinstance(worksheets, list):
        notes.append(f"The notebook is in the old format {content.get('nbformat')!s:.10}.")
        sheets = [_dict(sheet).get("cells") for sheet in worksheets]
        return [cell for sheet in sheets if isinstance(sheet, list) for cell in sheet]
    cells = content.get("cells")
    if not isinstance(cells, list):
        raise NoNotebook("has no cells, so it is no notebook")
    if content.get("nbformat") != 4:
        notes.append("The notebook does not say that it is in format 4; it is read as if it were.")
    return cells


def _cell(cell: Any) -> RawCell | None:
    if not isinstance(cell, dict):
        return None
    source = cell.get("source", cell.get("input", ""))
    if isinstance(source, list) and all(isinstance(line, str) for line in source):
        source = "".join(source)
    if not isinstance(source, str):
        return None
    of_book = _dict(_dict(cell.get("metadata")).get("book"))
    return RawCell(
        _string(cell.get("id")),
        "code" if cell.get("cell_type") == "code" else "markdown",
        source.replace("\r\n", "\n").replace("\r", "\n"),
        _string(of_book.get("key")),
        _string(of_book.get("exercise")),
    )


def _dict(value: Any) -> dict:
    return value if isinstance(value, dict) else {}


def _string(value: Any) -> str | None:
    return value if isinstance(value, str) and 0 < len(value) <= 200 else None
