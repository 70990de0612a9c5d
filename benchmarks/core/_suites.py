"""What the test suite measures: run here, and its verdict reported."""

import pathlib
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from xml.etree import ElementTree

from .._figures import at_most, Figure


def _suite(*files: str) -> tuple[str, bool, list[float]]:
    """The last line of pytest, whether all passed, and the differences that tests recorded."""
    root = pathlib.Path(__file__).parents[2]
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder) / "report.xml"
        names = [f"tests/test_{file}.py" for file in files]
        command = [sys.executable, "-m", "pytest", "-q", f"--junitxml={report}", *names]
        run = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
        properties = ElementTree.parse(report).iter("property") if report.exists() else ()
        recorded = [float(x.get("value")) for x in properties if x.get("name") == "difference"]
    lines = run.stdout.strip().splitlines() or [run.stderr.strip()]
    return lines[-1], run.returncode == 0, recorded


def bad_input(tiny: bool) -> Iterator[Figure]:
    """Bad input gives the promised error or result code: a test for each kind."""
    del tiny
    line, passed, _ = _suite("bad_start", "bad_times", "failing_steps", "misuse", "failing_lanes")
    yield Figure("bad input, one test each", "all pass", line, passed)


def original_form(tiny: bool) -> Iterator[Figure]:
    """The reformulated step against the original form, solved densely."""
    del tiny
    what = "reformulated step against the original form, random systems"
    line, passed, differences = _suite("original_form")
    yield Figure(f"{what}: tests", "all pass", line, passed)
    worst = max(differences, default=float("inf"))
    yield at_most(f"{what}: largest of {len(differences)} differences", worst, 1e-13)
