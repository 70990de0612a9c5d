"""Everything without JAX's insides: the core of the tests, and what it costs."""

import os
import sys
from collections.abc import Iterator

from .._figures import Figure, note
from ._compared import lines_of, ratio_of, timed
from ._on import last_line, run


def plain(tiny: bool) -> Iterator[Figure]:
    """The core of the tests; the figures of speed, beside those with JAX's insides."""
    if tiny:
        return
    off = {**os.environ, "JAXSPARK_PLAIN": "1"}
    done = run([sys.executable, "-m", "pytest", "--core", "-q"], off)
    what = "the core of the tests, JAX's insides switched off"
    yield Figure(what, "passes", last_line(done), done.status == 0)
    command = [sys.executable, "-m", "benchmarks", "figures", "speed"]
    before, after = (lines_of(run(command, env)) for env in (dict(os.environ), off))
    for name, value in after.items():
        if timed(name):
            usual = before.get(name, "not measured")
            ratio = ratio_of(value, usual)
            words = f"{value} (usually {usual}; {ratio:.2f})"
            yield note(f"switched off: {name}", words)
