"""A Sphinx extension: formulas as MathML, which browsers draw by themselves, without scripts and without the network.

docutils translates LaTeX; what it does not know and the book uses is put into its words first. A formula that cannot be
translated stops the build with its text, so that no page shows a hole.
"""

import re

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.errors import SphinxError

# LaTeX that docutils has under another name, or reads otherwise than TeX does: (pattern, replacement) in order.
SAME = (
    (r"\\(big|Big)(?![a-zA-Z])", r"\\\1l"),
    (r"\\dots(?![a-zA-Z])", r"\\ldots"),
    (r"\\texttt(?![a-zA-Z])", r"\\text"),
    (r"\\operatorname\*", r"\\operatorname"),
    (r"\\\\\[[^\]]*\]", r"\\\\"),  # the height of a row
    (r"\\([dt]?frac)\s*(\d)\s*(\d|[a-z])", r"\\\1{\2}{\3}"),  # TeX takes one digit: \tfrac12 is ½
    # An accent with an index: docutils would set the index right below the letter.
    (r"\\(hat|bar|tilde|overline)\s*(\{(?:[^{}]|\{[^{}]*\})*\}|[a-zA-Z])(?=\s*[_^])", r"\\\1{\2}{}"),
)
# What TeX does between atoms and docutils does not: (pattern in the MathML, replacement) in order.
SPACING = (
    (
        r"(</(?:mi|mn|msub|msup|msubsup|mfrac)>)(?=<mi>(?:log|ln|cos|sin|tanh)</mi>)",
        r'\1<mspace width="0.17em"></mspace>',
    ),
    (r"(<mo>&ApplyFunction;</mo>)(?!<mo[^>]*>\()", r'\1<mspace width="0.17em"></mspace>'),  # log p, but log(p)
    (
        r"(<msub><mi[^>]*>[a-zA-Z ]{2,}</mi>(?:<m[in]>[^<]*</m[in]>|<mrow>(?:(?!</?mrow>).)*</mrow>)</msub>)"
        r"(?=<(?:mi|mn|msub|msup|mfrac|msqrt)[ >])",
        r'\1<mspace width="0.17em"></mspace>',
    ),
    (r"<mo>(min|max)</mo>", r"<mi>\1</mi>"),  # a name, not a sign with room on both sides
    (r'<mo(?: class="[a-z]+")?>‖</mo>', '<mo stretchy="false">‖</mo>'),  # else as tall as the whole line
)
_WORDS = re.compile(r"\\(text|operatorname)\{([^{}]*)\}")


def mathml(tex: str, block: bool = False) -> str:
    r"""The formula as a `<math>` element, on one line.

    Raises:
        MathError: docutils does not know a command in it.

    >>> mathml(r"x_\text{in}")
    '<math xmlns="http://www.w3.org/1998/Math/MathML"><msub><mi>x</mi><mtext>in</mtext></msub></math>'
    """
    for pattern, replacement in SAME:
        tex = re.sub(pattern, replacement, tex)
    tex = _WORDS.sub(_plain_words, tex)
    drawn = tex2mathml(tex.strip(), as_block=block)
    drawn = re.sub(r">\s+<", "><", drawn.strip())
    for pattern, replacement in SPACING:
        drawn = re.sub(pattern, replacement, drawn)
    return drawn


def _plain_words(found: re.Match) -> str:
    words = found[2].replace(r"\_", "_").replace(r"\,", " ")
    return f"\\{found[1]}{{{words}}}"


def _inline(translator, node) -> None:
    translator.body.append(f'<span class="math">{_drawn(node)}</span>')
    raise nodes.SkipNode


def _block(translator, node) -> None:
    translator.body.append(f'<div class="math">{_drawn(node, block=True)}</div>\n')
    raise nodes.SkipNode


def _drawn(node, block: bool = False) -> str:
    tex = node.astext()
    try:
        return mathml(tex, block)
    except MathError as reason:
        raise SphinxError(f"The formula {tex.strip()!r} cannot be drawn ({reason}): write it differently.") from reason


def setup(app) -> dict:
    """Called by Sphinx."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
