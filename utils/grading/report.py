"""Verdicts as a page and as text: the same facts in both, in the same order.

The verdict, the sentence that helps most, shapes, where values differ, evidence, what to try, what was printed. The
page takes JupyterLab's colors where there are some; signs, words and hatching say whatever color says. Its styles are
in report.css.
"""

import functools
import re
import textwrap
from html import escape
from importlib.resources import files

from utils.grading import picture
from utils.grading.facts import Facts, facts_of, harmless
from utils.grading.verdict import Verdict

SIGNS = {"passed": "✓", "unwritten": "…", "not yet": "✗"}
SEVERAL = "More than one mistake gives exactly these values:"
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
        _wrapped("Checked: " + "; ".join(facts.checked) + ".") if facts.checked else "",
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
    label = escape(facts.headline)
    sign = f'<span class="sign" aria-hidden="true">{SIGNS[facts.state]}</span>'
    body = "".join(
        [
            f'<p class="verdict">{sign}{_words(facts.headline)}</p>',
            _sentences_html(facts),
            _shapes_html(facts),
            _differ_html(facts),
            _paragraph(facts.evidence),
            _paragraph("Checked: " + "; ".join(facts.checked) + "." if facts.checked else "", small=True),
            _paragraph(" ".join(filter(None, [facts.where, facts.advice])), small=True),
            _printed_html(facts),
        ]
    )
    state = facts.state.replace(" ", "-")
    report = f'<div class="book-report {state}" role="group" aria-label="{label}">{body}</div>'
    return f"<style>{_styles()}</style>{harmless(report)}"


def _sentences_html(facts: Facts) -> str:
    if not facts.several:
        return _paragraph(facts.sentences[0])
    items = "".join(f"<li>{_words(sentence)}</li>" for sentence in facts.sentences)
    return f"<p>{SEVERAL}</p><ul>{items}</ul>"


def _shapes_html(facts: Facts) -> str:
    if not facts.columns:
        return _paragraph(facts.shape, small=True)
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
    first = f" The first: <strong>{_words(facts.first)}</strong>." if facts.first else ""
    text = f"<p>{facts.differ}{first}</p>"
    if not facts.picture:
        return text
    note = (
        f"A dot is right, hatching is off, denser is further; the ring is the first. {picture.caption(facts.picture)}"
    )
    return (
        f'{text}<figure>{picture.as_svg(facts.picture)}<figcaption class="small">{escape(note)}</figcaption></figure>'
    )


def _printed_html(facts: Facts) -> str:
    if not facts.printed:
        return ""
    lines = escape("\n".join(facts.printed))
    return f'<details><summary class="small">What the answer printed</summary><pre>{lines}</pre></details>'


def _paragraph(text: str, small: bool = False) -> str:
    return f"<p{' class=small' if small else ''}>{_words(text)}</p>" if text else ""


def _words(text: str) -> str:
    """Escaped text; what stands between backticks, and calls of hint, are set as code."""
    return re.sub(r"`([^`]+)`|(hint\(&quot;[\d.]+&quot;\))", lambda m: f"<code>{m[1] or m[2]}</code>", escape(text))


@functools.cache
def _styles() -> str:
    """report.css on one line."""
    return " ".join(files("utils.grading").joinpath("report.css").read_text(encoding="utf-8").split())
