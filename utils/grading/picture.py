"""The small picture of where values differ: two named axes, a cell for each pair of places, the first bad one ringed.

It reads without color: a right cell is a dot, a wrong one is hatched the denser the further it is off, and one that is
not compared stays empty. The same cells as letters are for terminals; a screen reader gets one sentence.
"""

from html import escape

from utils.grading.facts import SINGULAR, place
from utils.grading.verdict import Mismatch

CELL = 17
LETTERS = "·░▒▓█"
LEGEND = "· right, ░ ▒ ▓ █ off by little to most"


def level(share: float) -> int | None:
    """0 right, 1 to 4 wrong by a little to the most, None where nothing is compared."""
    if share < 0:
        return None
    return 0 if share == 0 else 1 + (share > 0.25) + (share > 0.5) + (share > 0.75)


def caption(mismatch: Mismatch) -> str:
    """What a cell is, and that some were left out; "" where there is nothing to say."""
    others = [SINGULAR.get(name, name) for name, _ in mismatch.index if name and name not in mismatch.map_axes]
    over = [f"each cell is the worst over {' and '.join(others)}"] * bool(others)
    cut = [f"a part of {len(mismatch.map)} × {len(mismatch.map[0])} is shown"] * mismatch.map_cut
    text = ", ".join(over + cut)
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def as_letters(mismatch: Mismatch) -> list[str]:
    """The picture as lines of text."""
    row_name, column_name = mismatch.map_axes
    left = len(row_name) + 4 if row_name else 0
    down, across = mismatch.map_start
    columns = range(across, across + len(mismatch.map[0]))
    lines = [" " * left + column_name + " →"]
    if columns.stop > 10:
        lines.append(" " * left + " ".join(f"{j // 10 or ' '}" for j in columns))
    lines.append(" " * left + " ".join(f"{j % 10}" for j in columns))
    for i, row in enumerate(mismatch.map):
        label = f"{row_name if i == 0 else ''} {down + i:>2}".rjust(left - 1) if row_name else ""
        lines.append(
            f"{label} " * bool(row_name)
            + " ".join(" " if (n := level(v)) is None else LETTERS[n] for v in row).rstrip()
        )
    return list(filter(None, [*lines, f"{LEGEND}.", caption(mismatch)]))


def as_svg(mismatch: Mismatch) -> str:
    """The picture as inline SVG, in the colors of the report's stylesheet."""
    row_name, column_name = mismatch.map_axes
    left = 12 + round(6.6 * len(row_name)) + 18 if row_name else 6
    top = 36
    rows, columns = len(mismatch.map), len(mismatch.map[0])
    width, height = max(left + CELL * columns + 6, left + round(6.6 * len(column_name)) + 16), top + CELL * rows + 6
    parts = []
    for i, row in enumerate(mismatch.map):
        for j, share in enumerate(row):
            parts.append(_cell(left + CELL * j, top + CELL * i, level(share)))
    parts += [
        f'<text x="{left + CELL * j + CELL / 2}" y="{top - 5}" class="n m">{j + mismatch.map_start[1]}</text>'
        for j in range(columns)
    ]
    parts += [f'<text x="{left}" y="12">{escape(column_name)} →</text>']
    if row_name:
        parts += [
            f'<text x="{left - 5}" y="{top + CELL * i + 12}" class="n e">{i + mismatch.map_start[0]}</text>'
            for i in range(rows)
        ]
        parts += [f'<text x="2" y="{top + 12}">{escape(row_name)} ↓</text>']
    i, j = (at - start for at, start in zip(mismatch.map_first, mismatch.map_start, strict=True))
    ring = f'x="{left + CELL * j - 1}" y="{top + CELL * i - 1}" width="{CELL + 1}" height="{CELL + 1}"'
    parts.append(f'<rect class="first" {ring} rx="3"/>')
    return (
        f'<svg role="img" viewBox="0 0 {width} {height}" width="{width}" height="{height}">'
        f"<title>Where the values differ.</title> <desc>{escape(describe(mismatch))}</desc> {' '.join(parts)}</svg>"
    )


def describe(mismatch: Mismatch) -> str:
    """The picture in words, for a screen reader: which rows and columns hold wrong cells."""
    row_name, column_name = mismatch.map_axes
    wrong = [(i, j) for i, row in enumerate(mismatch.map) for j, v in enumerate(row) if v > 0]
    cells = sum(v >= 0 for row in mismatch.map for v in row)
    words = [
        f"{len(wrong)} of the {cells} cells shown are wrong"
        if len(wrong) < cells
        else f"all {cells} cells shown are wrong"
    ]
    down, across = mismatch.map_start
    if row_name:
        words.append(_span(row_name, {down + i for i, _ in wrong}, len(mismatch.map)))
    words.append(_span(column_name, {across + j for _, j in wrong}, len(mismatch.map[0])))
    axes = f"{row_name} down, {column_name} across" if row_name else f"along {column_name}"
    counts = f"{'; '.join(words)}. The first wrong value is at {place(mismatch.index)}."
    return " ".join(filter(None, [f"A map, {axes}.", caption(mismatch), counts[:1].upper() + counts[1:]]))


def _span(name: str, found: set[int], of: int) -> str:
    if len(found) == of:
        return f"in every {SINGULAR.get(name, name)}"
    return f"in {SINGULAR.get(name, name)} {', '.join(map(str, sorted(found)))}"


def _cell(x: int, y: int, how: int | None) -> str:
    if how is None:
        return ""
    middle = CELL / 2
    if how == 0:
        return f'<circle cx="{x + middle}" cy="{y + middle}" r="1.6" class="ok"/>'
    a, b = CELL - 3, CELL - 1
    lines = {
        1: f"M{x + 2} {y + a}L{x + a} {y + 2}",
        2: f"M{x + 2} {y + a}L{x + a} {y + 2}M{x + 2} {y + 2}L{x + a} {y + a}",
        3: f"M{x + 2} {y + 8}l6-6M{x + 2} {y + a}L{x + a} {y + 2}M{x + 8} {y + a}l6-6",
        4: "",
    }[how]
    return f'<rect x="{x + 1}" y="{y + 1}" width="{b - 1}" height="{b - 1}" class="b{how}"/>' + (
        f'<path d="{lines}"/>' if lines else ""
    )
