"""What the test suite measures: run here, and its verdict reported."""

import pathlib
import subprocess
import sys
from collections.abc import Iterator

from .._figures import Figure


def _suite(what: str, target: str, *files: str) -> Iterator[Figure]:
    root = pathlib.Path(__file__).parents[2]
    command = [sys.executable, "-m", "pytest", "-q", *(f"tests/{file}" for file in files)]
    run = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    lines = run.stdout.strip().splitlines() or [run.stderr.strip()]
    yield Figure(what, target, lines[-1], run.returncode == 0)


def bad_input(tiny: bool) -> Iterator[Figure]:
    """Bad input gives the promised error or result code: a test for each kind."""
    del tiny
    files = ("bad_start", "bad_times", "failing_steps", "misuse", "failing_lanes")
    names = (f"test_{name}.py" for name in files)
    yield from _suite("bad input, one test each", "all pass", *names)


def original_form(tiny: bool) -> Iterator[Figure]:
    """The reformulated step against the original form, solved densely."""
    del tiny
    what = "reformulated step against the original form, random systems: relative"
    yield from _suite(what, "<= 1e-13 in every test", "test_original_form.py")
