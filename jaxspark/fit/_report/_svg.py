"""Figures as parts of a page."""

import io
import re
from html import escape

import matplotlib
from matplotlib.figure import Figure

from ._look import look


_NOTHING = {"Creator": None, "Date": None, "Format": None, "Type": None}
_DROPPED = re.compile(r"<metadata>.*?</metadata>|<!--.*?-->|<style.*?</style>", re.DOTALL)
_FONT = re.compile(r"font-family: [^;\"]*(?:; )?")
_TAG = re.compile(r"<[^>]*>")
_REFERRED = re.compile(r'(\sid="|url\(#|href="#)')
_GEOMETRY = re.compile(r'\s(?:d|x|y|width|height|points|transform)="[^"]*"')
_DECIMALS = re.compile(r"-?\d+\.\d{3,}")
# Of a page of usual size, for a point of matplotlib.
PIXELS_PER_POINT = 1.42


def to_svg(figure: Figure, name: str, alternative: str) -> str:
    """A figure as an `svg` element that takes font and colour of text from the page around it.

    **Arguments:**

    - `figure`: to draw; it is not changed.
    - `name`: a prefix of all identifiers in it, one for each figure of a page.
    - `alternative`: what it shows, in words, for those who do not see it.

    **Returns:** the element. It refers to nothing outside, not even to namespaces.
    """
    stream = io.StringIO()
    with look(), matplotlib.rc_context({"svg.hashsalt": name}):
        figure.savefig(stream, format="svg", transparent=True, metadata=_NOTHING)
    _, _, text = stream.getvalue().partition("<svg")
    _, _, text = _DROPPED.sub("", text).partition(">")
    text = re.sub(r'<g id="[^"]*">', "<g>", text)
    text = _TAG.sub(lambda tag: _shortened(tag[0], name), text)
    width, height = 72 * figure.get_size_inches()
    return (
        f'<svg role="img" aria-label="{escape(alternative)}" '
        f'viewBox="0 0 {width:.2f} {height:.2f}" '
        f'style="max-width:{PIXELS_PER_POINT * width:.0f}px">'
        + re.sub(r">\s+<", "><", text).strip()
    )


def _shortened(tag: str, name: str) -> str:
    """Two decimals, colours of the page, identifiers of its own."""
    tag = tag.replace("xlink:href=", "href=").replace("#000000", "currentColor")
    tag = _FONT.sub("", tag)
    tag = _REFERRED.sub(lambda found: f"{found[1]}{name}-", tag)
    return _GEOMETRY.sub(
        lambda found: _DECIMALS.sub(lambda digits: f"{float(digits[0]):.2f}", found[0]), tag
    )
