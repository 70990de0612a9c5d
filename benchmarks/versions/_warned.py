"""Warnings of JAX about what will go."""

import re
from collections.abc import Iterator

from .._figures import at_most, Figure, note
from ._on import last_line, NEWEST, run_on, words


# As errors while everything is imported and the main job runs, which tests do not import alone.
EVERYTHING = """
import importlib, pkgutil, runpy, sys, tempfile, warnings
for package in ("jaxspark", "benchmarks"):
    module = importlib.import_module(package)
    for found in pkgutil.walk_packages(module.__path__, package + "."):
        if not found.name.endswith("__main__"):
            importlib.import_module(found.name)
sys.argv = ["jaxspark", "--quiet", "--out", tempfile.mkdtemp()]
try:
    runpy.run_module("jaxspark", run_name="__main__")
except SystemExit as end:
    assert not end.code, end.code
"""
OF_JAX = re.compile(r"(Deprecation|PendingDeprecation|Future)Warning.*", re.IGNORECASE)


def warned(tiny: bool) -> Iterator[Figure]:
    """Of all imports, the main job and the core of the tests, on the newest of everything."""
    if tiny:
        return
    what = f"{words(NEWEST)}: warnings of what will go"
    done = run_on(NEWEST, "python", "-W", "always", "-c", EVERYTHING)
    found = [line for line in done.output.splitlines() if OF_JAX.search(line)]
    yield Figure("all imports, the main job", "exit status 0", str(done.status), not done.status)
    yield at_most(f"{what}, all imports and the main job", len(found), 0, "d")
    done = run_on(NEWEST, "python", "-m", "pytest", "--core", "-q", "-W", "always")
    found = [line for line in done.output.splitlines() if OF_JAX.search(line)]
    yield at_most(f"{what}, the core of the tests", len(found), 0, "d")
    yield note("the core of the tests", last_line(done))
