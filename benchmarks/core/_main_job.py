"""The main job from a cold start: the fork pendulum's record."""

import pathlib
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator

from .._figures import Figure


def main_job(tiny: bool) -> Iterator[Figure]:
    """Runs `python -m jaxspark` in a process of its own."""
    del tiny
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        run = subprocess.run(
            [sys.executable, "-m", "jaxspark", "--out", folder],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        seconds = time.perf_counter() - start
        pictures = list(pathlib.Path(folder).glob("*.png"))
    yield Figure("main job: wall seconds, cold", "< 60", f"{seconds:.1f}", seconds < 60)
    yield Figure("main job: picture written", "1", str(len(pictures)), len(pictures) == 1)
    for line in run.stdout.splitlines():
        if re.search(r"R\^2|rms|residual", line):
            yield Figure("main job: " + " ".join(line.split()), "see text", "-", True)
    yield Figure("main job: exit status", "0", str(run.returncode), run.returncode == 0)
