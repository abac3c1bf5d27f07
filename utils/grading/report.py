"""Verdicts as a page and as text: the same facts in both, in the same order.

The verdict, the sentence that helps most, shapes, where values differ, evidence, what to try, what was printed. Signs,
words and hatching say whatever color says. The frame and its colors are in `page`.
"""

import textwrap
from html import escape

from utils.grading import picture
from utils.grading.facts import Facts, facts_of
from utils.grading.page import page, paragraph, words
from utils.grading.text import harmless
from utils.grading.verdict import Verdict

SIGNS = {"passed": "✓", "unwritten": "…", "not yet": "✗"}
SEVERAL = "More than one mistake gives exactly these values:"
UNDRAWN = (
    "This map is letters because the notebook is not trusted yet. To see it drawn, run the cell, or choose Trust "
    "Notebook in the command palette (Ctrl + Shift + C) if you know where the notebook comes from."
)
WIDTH = 88


def to_text(verdict: Verdict) -> str:
    """The report for a terminal."""
    facts = facts_of(verdict)
    blocks = [
        f"{SIGNS[facts.state]} {facts.headline}",
        _sentences_text(facts),
        _shapes_text(facts),
        _differ_text(facts),
    ]
    blocks += [
        _wrapped(facts.evidence),
        _wrapped(_checked(facts)),
    ]
    blocks += ["\n".join(filter(None, [_wrapped(facts.where), _wrapped(facts.advice)]))]
    if facts.printed:
        blocks.append("\n".join(["The answer printed:", *(f"  {line}" for line in facts.printed)]))
    kept = [block for block in blocks if block]
    return harmless(("\n" if facts.state == "passed" else "\n\n").join(kept))


def _sentences_text(facts: Facts) -> str:
    if not facts.several:
        return _wrapped(facts.sentences[0])
    return "\n".join(
        [SEVERAL, *(textwrap.fill(s, WIDTH, initial_indent="  - ", subsequent_indent="    ") for s in facts.sentences)]
    )


def _shapes_text(facts: Facts) -> str:
    if not facts.columns:
        return _wrapped(facts.shape)
    rows = [["axis", "wanted", "yours", ""]]
    rows += [[c.name, c.wanted or "–", c.yours or "–", "≠" if c.differs else ""] for c in facts.columns]
    width = max(len(row[0]) for row in rows)
    return "\n".join(f"  {a.ljust(width)}  {b:>6}  {c:>6}  {d}".rstrip() for a, b, c, d in rows)


def _differ_text(facts: Facts) -> str:
    if not facts.differ:
        return ""
    lines = [_wrapped(f"{facts.differ} The first: {facts.first}." if facts.first else facts.differ)]
    if facts.picture:
        lines += ["  " + line for line in picture.as_letters(facts.picture)]
    return "\n".join(lines)


def _wrapped(text: str) -> str:
    return textwrap.fill(text, WIDTH, break_long_words=False, break_on_hyphens=False) if text else ""


def to_html(verdict: Verdict) -> str:
    """The report for a notebook: one self-contained element."""
    facts = facts_of(verdict)
    body = [
        _sentences_html(facts),
        _shapes_html(facts),
        _differ_html(facts),
        paragraph(facts.evidence),
        paragraph(_checked(facts), small=True),
        paragraph(" ".join(filter(None, [facts.where, facts.advice])), small=True),
        _printed_html(facts),
    ]
    return page(facts.state.replace(" ", "-"), SIGNS[facts.state], facts.headline, "".join(body))


def _checked(facts: Facts) -> str:
    return f"Checked: {'; '.join(facts.checked)}." if facts.checked else ""


def _sentences_html(facts: Facts) -> str:
    if not facts.several:
        return paragraph(facts.sentences[0])
    items = "".join(f"<li>{words(sentence)}</li>" for sentence in facts.sentences)
    return f"<p>{SEVERAL}</p><ul>{items}</ul>"


def _shapes_html(facts: Facts) -> str:
    if not facts.columns:
        return paragraph(facts.shape, small=True)
    rows = "".join(
        f'<tr{" class=off" if c.differs else ""}><th scope="row">{escape(c.name)}</th><td>{c.wanted or "–"}</td>'
        f"<td>{c.yours or '–'}</td><td>{'≠' if c.differs else ''}</td></tr>"
        for c in facts.columns
    )
    head = '<th scope="col">axis</th><th scope="col">wanted</th><th scope="col">yours</th><td></td>'
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _differ_html(facts: Facts) -> str:
    if not facts.differ:
        return ""
    first = f" The first: <strong>{words(facts.first)}</strong>." if facts.first else ""
    text = f"<p>{facts.differ}{first}</p>"
    if not facts.picture:
        return text
    note = (
        f"A dot is right, hatching is off, denser is further; the ring is the first. {picture.caption(facts.picture)}"
    )
    # A notebook that is not trusted loses styles, drawings and empty attributes: then letters are shown, and why.
    drawn = (
        f'<div class="drawn" hidden="hidden">{picture.as_svg(facts.picture)}</div>'
        f'<figcaption class="small drawn" hidden="hidden">{escape(note)}</figcaption>'
    )
    letters = escape("\n".join(picture.as_letters(facts.picture)))
    return f'{text}<figure>{drawn}<div class="undrawn"><pre>{letters}</pre><p>{UNDRAWN}</p></div></figure>'


def _printed_html(facts: Facts) -> str:
    if not facts.printed:
        return ""
    lines = escape("\n".join(facts.printed))
    return f'<details><summary class="small">What the answer printed</summary><pre>{lines}</pre></details>'
