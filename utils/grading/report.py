"""Verdicts as text and as HTML, the same facts in both."""

from utils.grading.verdict import Verdict


def to_text(verdict: Verdict) -> str:
    """The report for a terminal."""
    head = f"{'PASSED' if verdict.passed else 'NOT YET'}  {verdict.exercise} {verdict.title}"
    return "\n".join(
        filter(None, [head, verdict.message, verdict.evidence, verdict.where, *verdict.checked, verdict.advice])
    )


def to_html(verdict: Verdict) -> str:
    """The report for a notebook."""
    import html

    return "".join(f"<div>{html.escape(line)}</div>" for line in to_text(verdict).splitlines())
