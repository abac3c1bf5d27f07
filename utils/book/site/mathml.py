"""A Sphinx extension: formulas as MathML, which browsers draw by themselves, without scripts and without the network.

docutils translates LaTeX; what it does not know and the book uses is put into its words first. A formula that cannot be
translated stops the build with its text, so that no page shows a hole.
"""

import re

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.errors import SphinxError

# LaTeX of the chapters that docutils has under another name.
SAME = {
    r"\big": r"\bigl",
    r"\Big": r"\Bigl",
    r"\dots": r"\ldots",
    r"\texttt": r"\mathtt",
}
_NAME = re.compile(r"\\[a-zA-Z]+")


def mathml(tex: str, block: bool = False) -> str:
    r"""The formula as a `<math>` element, on one line.

    Raises:
        MathError: docutils does not know a command in it.

    >>> mathml(r"x_\text{in}")
    '<math xmlns="http://www.w3.org/1998/Math/MathML"><msub><mi>x</mi><mtext>in</mtext></msub></math>'
    """
    known = _NAME.sub(lambda found: SAME.get(found[0], found[0]), tex)
    known = re.sub(r"\\mathtt\{([^}]*)\}", lambda found: f"\\mathtt{{{found[1].replace('_', '_')}}}", known)
    drawn = tex2mathml(known.strip(), as_block=block)
    return re.sub(r">\s+<", "><", drawn.strip())


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
