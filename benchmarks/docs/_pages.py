"""Pages in a browser, at phone and desk width: no error, readable for all, and small."""

import contextlib
import functools
import http.server
import importlib.util
import json
import pathlib
import threading
import time
from collections.abc import Iterator
from typing import Any

from .._figures import at_most, Figure, note
from ._site import ROOT, site


WIDTHS = {"phone": 390, "desk": 1280}
OPENED = {
    "front": "index.html",
    "start": "start.html",
    "tutorial": "learn/notebooks/closed_loop.html",
    "gallery": "mechanisms/index.html",
    "mechanism": "mechanisms/plot_jansen.html",
    "reference": "reference/names/jaxspark.solve.html",
    "errors": "errors/results.html",
    "search": "search.html?q=impact",
}
MEGABYTES = 1.5
# Rules of WCAG 2, levels A and AA, of axe-core: alternative texts and contrast among them.
RULES = {"runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa"]}}


def pages(tiny: bool) -> Iterator[Figure]:
    """What the console, axe-core and the network say of each page at each width."""
    chromium = _chromium()
    browser = chromium.found()
    if browser is None or importlib.util.find_spec("axe_core_python") is None:
        lacking = "a Chromium" if browser is None else "axe-core (pip install axe-core-python)"
        yield Figure("pages in a browser", "opened", f"there is no {lacking}", tiny)
        return
    made = site(not tiny)
    with _served(made.folder) as address, chromium.browser(browser) as page:
        for name, path in list(OPENED.items())[: 1 if tiny else None]:
            for width in WIDTHS:
                yield from _looked_at(page, f"{name}, {width}", f"{address}/{path}", WIDTHS[width])
        if not tiny:
            yield from _found(page, f"{address}/{OPENED['search']}")


def _looked_at(page: Any, what: str, url: str, width: int) -> Iterator[Figure]:
    problems, size = _open(page, url, width)
    faults = _axe(page)
    wide = page.run("document.documentElement.scrollWidth") - width
    words = f"{len(problems)}{': ' + str(problems[0])[:150] if problems else ''}"
    yield Figure(f"{what}: errors of the console", "<= 0", words, not problems)
    words = f"{len(faults)}{': ' + '; '.join(faults) if faults else ''}"
    yield Figure(f"{what}: faults by axe-core", "<= 0", words, not faults)
    yield at_most(f"{what}: megabytes", size / 1e6, MEGABYTES, ".2f")
    yield at_most(f"{what}: pixels beyond the window", max(wide, 0), 0, "d")


def _open(page: Any, url: str, width: int) -> tuple[list[Any], int]:
    """Load a page; its problems, and the bytes that came."""
    page.problems.clear()
    page("Network.setCacheDisabled", cacheDisabled=True)
    page(
        "Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1,
        mobile=width < 600,
    )  # fmt: skip
    page("Page.navigate", url="about:blank")
    page("Page.navigate", url=url)
    deadline = time.monotonic() + 30
    while page.run("document.readyState") != "complete" or page.run("location.href") != url:
        if time.monotonic() > deadline:
            return [f"{url} does not load"], 0
        time.sleep(0.1)
    time.sleep(1.0)
    entries = "performance.getEntriesByType('resource')"
    first = "performance.getEntriesByType('navigation')[0].transferSize"
    size = page.run(f"{entries}.reduce((sum, e) => sum + e.transferSize, {first})")
    problems = [x for x in page.problems if not (isinstance(x, str) and "127.0.0.1" in x)]
    return problems, int(size)


def _axe(page: Any) -> list[str]:
    """What axe-core finds wrong: the rule, and the first element that breaks it."""
    import axe_core_python

    script = pathlib.Path(axe_core_python.__file__).with_name("axe.min.js")
    page.run(script.read_text(encoding="utf-8") + "; 0")
    result = page(
        "Runtime.evaluate",
        expression=f"axe.run({json.dumps(RULES)}).then(r => JSON.stringify(r.violations.map("
        "v => `${v.id} (${v.nodes.length}) ${v.nodes[0].target}`)))",
        awaitPromise=True, returnByValue=True,
    )  # fmt: skip
    return json.loads(result["result"]["value"])


def _found(page: Any, url: str) -> Iterator[Figure]:
    """The search finds what there is, without a server's help."""
    _open(page, url, WIDTHS["desk"])
    deadline = time.monotonic() + 20
    script = "document.querySelectorAll('#search-results li').length"
    while not page.run(script) and time.monotonic() < deadline:
        time.sleep(0.2)
    found = page.run(script)
    yield Figure("the search for impact finds pages", ">= 1", str(found), bool(found))
    yield note(
        "the first of them",
        str(page.run("document.querySelector('#search-results li a')?.textContent")),
    )


def _chromium() -> Any:
    """The browser that the tests drive, too."""
    spec = importlib.util.spec_from_file_location("chromium", ROOT / "tests" / "chromium.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        pass


@contextlib.contextmanager
def _served(folder: pathlib.Path) -> Iterator[str]:
    """The address of a folder, on this machine alone."""
    handler = functools.partial(_Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
