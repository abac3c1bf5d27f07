"""Links from the chapters to the glossary, made by the builder from the marks that are there anyway.

In a cell marked `terms="query"` the word leads to its entry where the text sets it in bold, or else where it first
stands; in the table of the cell `glossary` ("Words met") each known word of the first column does. A marked word that
has no link in its chapter by then gets a line under its cell. The source stays free of all this, so a word can be moved
or renamed without a search for links.
"""

import re
from collections.abc import Iterator

from utils.book.glossary import Term, terms
from utils.book.source import Cell, Chapter

TABLE_KEY = "glossary"
# What a link must not be put into: code, formulas, links and pictures, folded titles, tags, headings …
APART = re.compile(
    r"```.*?```|`+[^`]+`+|\$\$.*?\$\$|\$[^$\n]+(?:\n[^$\n]+)?\$|!?\[[^\]]*\]\([^)]*\)|<summary>.*?</summary>|<[^>]+>"
    r"|^\#{1,6}\ [^\n]*$",
    re.DOTALL | re.MULTILINE,
)
# … and, where the word is not set in bold, rows of tables and shapes such as [batch pos d_model].
APART_IF_PLAIN = re.compile(r"^\|[^\n]*$|\[[^\]\n]*\]", re.MULTILINE)
BOLD = re.compile(r"\*\*(?=\S)([^*]+?)(?<=\S)\*\*")
FIRST_COLUMN = re.compile(r"\| (?!term \|)([^|`\[]+?) \|")


def linked(chapter: Chapter, cell: Cell, text: str) -> str:
    """`text`, what a notebook holds of `cell`, with its links to the glossary."""
    if cell.kind != "markdown":
        return text
    if cell.flags.key == TABLE_KEY:
        return _in_table(text)
    left = []
    for term in (terms()[name] for name in cell.flags.terms if name in terms()):
        place = next(_places(text, term), None)
        if place:
            text = f"{text[: place[0]]}[{text[slice(*place)]}]({term.address}){text[place[1] :]}"
        elif term not in _of_table(chapter):
            left.append(f"[{term.name}]({term.address})")
    return f"{text}\n\n*In the glossary: {', '.join(left)}.*" if left else text


def _places(text: str, term: Term) -> Iterator[tuple[int, int]]:
    """Places for the link, the best first: the word alone in bold, within something bold, in the running text."""
    word = _pattern(term)
    apart = [found.span() for found in APART.finditer(text)]
    apart_if_plain = [found.span() for found in APART_IF_PLAIN.finditer(text)]
    bold = list(BOLD.finditer(text))
    alone = [found.span() for found in bold if word.fullmatch(found[1].rstrip(".:"))]
    within = [found.span() for found in bold if word.search(found[1])]
    for start, end in alone + within:
        if _free(start, end, apart):
            yield start, end
    for found in word.finditer(text):
        if _free(*found.span(), apart + apart_if_plain):
            yield found.span()


def _free(start: int, end: int, apart: list[tuple[int, int]]) -> bool:
    return not any(start < last and first < end for first, last in apart)


def _pattern(term: Term) -> re.Pattern:
    forms = sorted((term.name, *term.also), key=len, reverse=True)
    words = "|".join(re.escape(form).replace(r"\ ", r"\s+") for form in forms)
    return re.compile(rf"(?<![\w/-])(?:{words})s?(?![\w-])", re.IGNORECASE)


def _in_table(text: str) -> str:
    def link(word: str) -> str:
        term = _known(word)
        return f"[{word}]({term.address})" if term else word

    def row(found: re.Match) -> str:
        return f"| {', '.join(link(word) for word in found[1].split(', '))} |"

    return "\n".join(
        FIRST_COLUMN.sub(row, line, count=1) if line.startswith("| ") else line for line in text.split("\n")
    )


def _of_table(chapter: Chapter) -> list[Term]:
    """The terms that the chapter's table of words links."""
    texts = [cell.text for cell in chapter.cells if cell.flags.key == TABLE_KEY]
    words = [word for text in texts for found in FIRST_COLUMN.findall(text) for word in found.split(", ")]
    return [term for term in map(_known, words) if term]


def _known(word: str) -> Term | None:
    """The term that a table's word is: `induction heads`, `byte-pair encoding (BPE)`."""
    plain = re.sub(r" \([^)]*\)$", "", word.strip("*")).casefold()
    forms = {form.casefold(): term for term in terms().values() for form in term.also}
    forms |= {name.casefold(): term for name, term in terms().items()}
    return forms.get(plain) or forms.get(plain.removesuffix("s"))
