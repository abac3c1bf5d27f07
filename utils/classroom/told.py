"""What of a verdict its student may read: nothing that could hold the hidden inputs, and nothing of others.

An answer chooses the words of its errors, the names of its classes and every number that it gives, on inputs that
nobody is to know; what it has kept from one exercise it can say in the next. So a page holds no text that was made
while the answer ran, unless it stands in the student's own cell or in the book, or is what Python or torch says about
shapes, dtypes and names. Of fresh inputs it also holds no value: places, counts, lengths, and where a result is right.
On inputs that are in the notebook for all to see it holds one value, or 40 characters of a text. So what is left for
an answer to choose is a few small numbers and places, too little to hold the inputs.
"""

import functools
import re
from dataclasses import replace

from utils.classroom.forms import TYPES, is_known, is_made_by
from utils.classroom.marks import ON_REFERENCE, ExerciseMark, verdict_from_json
from utils.classroom.raised import known_names
from utils.grading.raised import LONGEST_LINE, REMEDIES
from utils.grading.text import cut_short, one_line
from utils.grading.verdict import Mismatch, Verdict
from utils.paths import package_dir

LEFT_OUT = "What it says could hold hidden inputs and is left out here; `grade` in the notebook tells it."
WHERE_TO_WRITE = " Write it in the cell above, run that cell, then this one."  # said in a notebook, where cells are
MOST_AXES, LONGEST_AXIS, LONGEST_TEXT, MOST_NUMBERS = 8, 99, 40, 2
# Before these words a cell has failed by itself, in a process that had not met any input.
OWN_CELL = "The cell with the answer "
_COUNT = re.compile(r"\d{1,3}(,\d{3})+")
_HEAD = re.compile(
    r"(?:^|.*?\s)(?:answer raised|yours raised|Not everything is written yet:|used as it should:|cannot be read:"
    r"|more memory than there is \() ?"
)
_TAILS = (*(f" {help}" for _, help in REMEDIES), "). How large is what it makes?")
_LINE = ", in the line `"
_TOKEN = re.compile(r"""(?<!\w)'[^']*'|"[^"]*"|\d+(?:[.,]\d+)*(?:e[+-]?\d+)?|(?<=\d)x(?=\d)|[^\W\d]\w*""")
_LENGTHS = re.compile(r"\[-?\d{1,2}(, -?\d{1,2}){0,7}\]")
_RIGHT_RAISES = re.compile(r"^(Here a right answer raises \w+) \((.*?)\)(?=; yours)")
# Sentences of the grader's that tell a value, and what they are without it.
_VALUES = (
    (re.compile(r"(They part at \[\d+\]): .* is right\."), r"\1."),
    (re.compile(r"^The value( at \S+)? is .*; .* is right\.$"), r"The value\1 is not right."),
    (re.compile(r"stands .* belongs there.*"), "stands another than the right one."),
)


def told(mark: ExerciseMark) -> Verdict | None:
    """The verdict of an exercise as its student may read it; None where there is none, as of a process that ended."""
    if not mark.verdict or mark.status == "crashed":
        return None
    verdict = verdict_from_json(mark.exercise, mark.verdict)
    if verdict.stage == "there":
        return replace(verdict, message=verdict.message.removesuffix(WHERE_TO_WRITE))
    return verdict if verdict.passed else _Teller(mark, verdict).verdict()


class _Teller:
    """One verdict, with the cell that it is about."""

    def __init__(self, mark: ExerciseMark, verdict: Verdict):
        self.given, self.source = verdict, mark.source
        self.hidden = verdict.stage != "reference" and not verdict.where.startswith(ON_REFERENCE)
        self.own = set(re.findall(r"\w+", mark.source))
        self.static = {wrong.message for wrong in _wrongs(mark.exercise)}

    def verdict(self) -> Verdict:
        given = self.given
        if given.stage == "runs" and given.message.startswith(OWN_CELL):
            return given
        readings = tuple(map(self.sentence, given.readings))
        wanted, got = given.wanted_shape, given.got_shape
        if got is not None and (len(got) > MOST_AXES or self.hidden and any(n > LONGEST_AXIS for _, n in got)):
            wanted = got = None
        return replace(
            given,
            message=" Or: ".join(readings) or self.sentence(given.message),
            readings=readings,
            evidence=self.sentence(given.evidence),
            wanted_shape=wanted,
            got_shape=got,
            mismatch=given.mismatch and self.mismatch(given.mismatch),
            printed="",
        )

    def mismatch(self, found: Mismatch) -> Mismatch:
        """Where values differ; of fresh inputs not by how much."""
        path = self.words(found.path)
        if not self.hidden:
            return replace(found, path=path, got=_short(found.got))
        told_map = tuple(tuple(min(share, 0.0) or float(share > 0) for share in row) for row in found.map)
        return replace(found, path=path, got=None, want=None, worst=0.0, tolerance=0.0, map=told_map)

    def sentence(self, text: str) -> str:
        """A sentence of the grader's, without what an answer could have put into it."""
        if text in self.static or not text:
            return text
        if self.hidden:
            for pattern, without in _VALUES:
                text = pattern.sub(without, text)
        text = _RIGHT_RAISES.sub(lambda found: found[1] if "tensor" in found[2] else found[0], text)
        head = _HEAD.match(text)
        return self.words(head[0]) + self.error(text[head.end() :]) if head else self.words(text)

    def error(self, text: str) -> str:
        """ "KIND: TEXT, in the line `LINE`." of an error: each part only if it is known or the student's own."""
        tail = next((tail for tail in _TAILS if text.endswith(tail)), "")
        text = text.removesuffix(tail).removesuffix(".")
        said, found, line = text.rpartition(_LINE)
        said, line = (said, line.removesuffix("`")) if found else (text, "")
        kind, _, words = said.partition(": ")
        if not (kind in known_names() or self.may(kind)):
            kind = "an error of its own kind"
        known = is_known(words)
        may_say = known or self.is_own_text(words)
        told = self.words(words, counts=False)
        numbers = [number for number in re.findall(r"\d+", told) if number not in self.own]
        if self.hidden and not known and len(numbers) > MOST_NUMBERS:  # the student's own sentence could hold any
            told = re.sub(r"\d+", "…", told)
        shown = f": {told}" if words and may_say else ""
        place = f"{_LINE}{line}`" if line and self.is_own_line(line) else ""
        end = tail if tail.startswith(")") else f".{tail}"
        return f"{kind}{shown}{place}{end}" + (f" {LEFT_OUT}" if words and not may_say else "")

    def is_own_text(self, text: str) -> bool:
        """Whether a text stands in the cell, or is a key or a name that may be told."""
        quoted = text[:1] in tuple("\"'") and _TOKEN.fullmatch(text) is not None and self.may(text)
        return quoted or stands_in(text, one_line(self.source)) or is_made_by(text, self.source)

    def is_own_line(self, line: str) -> bool:
        """Whether a line of code, cut short perhaps, is one of the cell's."""
        return line in (cut_short(one_line(own), LONGEST_LINE) for own in self.source.splitlines())

    def words(self, text: str, counts: bool = True) -> str:
        """Text in which … stands for each word that is neither the book's nor the student's, and for values.

        Args:
            counts: whether numbers with commas are told: the grader writes what it counts in that way.
        """

        def shown(found: re.Match) -> str:
            return found[0] if self.may(found[0]) or counts and _COUNT.fullmatch(found[0]) else "…"

        return re.sub("…(?:[ ,.-]*…)+", "…", _TOKEN.sub(shown, text))

    def may(self, token: str) -> bool:
        """Whether a word, a number or something in quotation marks may be told."""
        if token[0] in "'\"":
            inner = token[1:-1]
            known = inner in self.own or inner in TYPES or inner in book_words() or stands_in(inner, book_text())
            short = not self.hidden and len(inner) <= LONGEST_TEXT
            return known or short or stands_in(inner, self.source) or _LENGTHS.fullmatch(inner) is not None
        if token[0].isdecimal():
            return not self.hidden or token.isdecimal() and int(token) <= LONGEST_AXIS or token in book_words()
        return token == "x" or token in TYPES or token in book_words() or token in self.own


def _short(value):
    return cut_short(value, LONGEST_TEXT) if isinstance(value, str) else value


def _wrongs(exercise: str):
    from utils.exercises import exercise as find

    return find(exercise).wrongs


def stands_in(text: str, code: str) -> bool:
    """Whether a text is the beginning of a string in some code, or a string with its quotation marks."""
    quoted = text.lstrip("b")[:1] in tuple("\"'") and text in code
    return bool(text.strip()) and (quoted or f'"{text}' in code or f"'{text}" in code)


@functools.cache
def book_text() -> str:
    """The book's exercises and grader, whose sentences verdicts are made of."""
    folder = package_dir()
    files = [*(folder / "exercises").glob("*.py"), *(folder / "grading").glob("*.py"), folder / "classroom/forms.py"]
    return "\n".join(path.read_text(encoding="utf-8") for path in files)


@functools.cache
def book_words() -> frozenset[str]:
    """Every word and number in it."""
    return frozenset(re.findall(r"\d+(?:[.,]\d+)*|[^\W\d]\w*", book_text()))
