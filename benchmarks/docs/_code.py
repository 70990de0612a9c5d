"""All code on the site, in the README and in examples of the reference runs."""

import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator

from .._figures import at_least, at_most, Figure, note
from ._site import on_all_cores, ROOT


TESTS = ("test_readme.py", "test_tour.py", "test_site.py", "test_notebooks.py")


def code(tiny: bool) -> Iterator[Figure]:
    """How many blocks there are; how many of the tests that run them pass."""
    docs = ROOT / "docs"
    made = {"_build", "learn", "mechanisms", "reference"}
    own = [path for path in docs.rglob("*.md") if not made & {*path.relative_to(docs).parts}]
    blocks = sum(
        len(re.findall("^```python$", path.read_text(encoding="utf-8"), re.MULTILINE))
        for path in [ROOT / "README.md", *own]
    )
    docstrings = sum(
        len(re.findall(r"```python|^\s*>>> ", path.read_text(encoding="utf-8"), re.MULTILINE))
        for path in (ROOT / "jaxspark").rglob("*.py")
    )
    yield note("blocks of code on pages and in the README", str(blocks))
    yield at_most("blocks of code in docstrings, which would not run", docstrings, 0, "d")
    examples = len(list((ROOT / "docs" / "examples").glob("*.py")))
    yield note("examples of public names, of which none lacks one (tested)", str(examples))
    if tiny:
        return
    with tempfile.NamedTemporaryFile(suffix=".xml") as file:
        command = [sys.executable, "-m", "pytest", "-q", "-m", "thorough or not thorough"]
        tests = [f"tests/{name}" for name in TESTS]
        subprocess.run(
            [*command, f"--junitxml={file.name}", *tests],
            cwd=ROOT, capture_output=True, check=False,
            preexec_fn=on_all_cores,
        )  # fmt: skip
        suite = ElementTree.parse(file.name).getroot()[0]
    failed = int(suite.get("failures", 0)) + int(suite.get("errors", 0))
    yield at_least("tests that run code of the site", int(suite.get("tests", 0)), 300, "d")
    yield at_most("of these failed", failed, 0, "d")
    yield at_most("of these left out", int(suite.get("skipped", 0)), 0, "d")
