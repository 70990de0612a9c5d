"""One command builds the site, without a warning and without a link that leads nowhere."""

import html.parser
import pathlib
import urllib.parse
from collections.abc import Iterator

from .._figures import at_least, at_most, Figure
from ._site import site


MINUTES, SCRIPTS = 5, 24


class _Page(html.parser.HTMLParser):
    """The links of a page, and the names in it to which links may lead."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.names: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("href", "src") and value and tag != "base":
                self.links.append(value)
            if name in ("id", "name") and value:
                self.names.add(value)


def build(tiny: bool) -> Iterator[Figure]:
    """The time, warnings, links within the site, and mechanisms in motion."""
    made = site(not tiny)
    verdict = f"exit status {made.status} {made.words}".strip()
    yield Figure("the site builds without a warning", "exit status 0", verdict, not made.status)
    if not tiny:
        yield at_most("the site builds, wall minutes", made.seconds / 60, MINUTES, ".1f")
    broken = broken_links(made.folder)
    words = f"{len(broken)}{': ' + ', '.join(broken[:3]) if broken else ''}"
    yield Figure("links within the site that lead nowhere", "<= 0", words, not broken)
    scripts = list((made.folder / "mechanisms").glob("plot_*.html"))
    moving = [path for path in scripts if ".webp" in path.read_text(encoding="utf-8")]
    count = len(scripts if tiny else moving)
    what = "of the gallery" if tiny else "of the gallery with an animation"
    yield at_least(f"mechanisms {what}", count, SCRIPTS, "d")


def broken_links(folder: pathlib.Path) -> list[str]:
    """All links from page to page, file or place in a page that lead nowhere."""
    pages = {}
    for path in folder.rglob("*.html"):
        if "_static" in path.relative_to(folder).parts:
            continue  # a template of the theme
        pages[path.resolve()] = page = _Page()
        page.feed(path.read_text(encoding="utf-8"))
    broken = set()
    for path, page in pages.items():
        for link in page.links:
            parts = urllib.parse.urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = path.parent / urllib.parse.unquote(parts.path) if parts.path else path
            target = target.resolve()
            place = urllib.parse.unquote(parts.fragment)
            known = pages.get(target)
            inside = target.is_relative_to(folder.resolve()) and target.exists()
            if not inside or (place and known and place not in known.names):
                broken.add(f"{path.relative_to(folder.resolve())} -> {link}")
    return sorted(broken)
