"""Formulas as MathML, which browsers and screen readers know: no script, nothing from elsewhere."""

import html

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.writers.html5 import HTML5Translator


LOG = logging.getLogger(__name__)


def of_line(translator: HTML5Translator, node: nodes.math) -> None:
    """A formula in a line."""
    translator.body.append(_mathml(node, "inline"))
    raise nodes.SkipNode


def of_block(translator: HTML5Translator, node: nodes.math_block) -> None:
    """A formula of its own, with its number if it has one."""
    translator.body.append(translator.starttag(node, "div", CLASS="math notranslate nohighlight"))
    if node["number"]:
        translator.body.append(f'<span class="eqno">({node["number"]})</span>')
    translator.body.append(_mathml(node, "block") + "</div>\n")
    raise nodes.SkipNode


def _mathml(node: nodes.math | nodes.math_block, display: str) -> str:
    try:
        return convert(node.astext(), display=display)
    except Exception as error:
        # It has no class of errors of its own.
        LOG.warning("a formula that latex2mathml does not know: %r", error, location=node)
        return f"<code>{html.escape(node.astext())}</code>"


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_html_math_renderer("mathml", (of_line, None), (of_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
