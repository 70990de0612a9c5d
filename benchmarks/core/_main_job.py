"""The main job from a cold start: the fork pendulum's record."""

import pathlib
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator

from .._figures import at_least, at_most, Figure, note


def main_job(tiny: bool) -> Iterator[Figure]:
    """Runs `python -m jaxspark` in a process of its own."""
    del tiny
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        run = subprocess.run(
            [sys.executable, "-m", "jaxspark", "--quiet", "--out", folder],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        seconds = time.perf_counter() - start
        pictures = len(list(pathlib.Path(folder).glob("*.png")))
    yield Figure("main job: exit status", "0", str(run.returncode), run.returncode == 0)
    yield at_most("main job: wall seconds, cold", seconds, 60, ".1f")
    yield Figure("main job: picture written", "1", str(pictures), pictures == 1)
    # What the ordinary differential equation of the pendulum, fitted by other means, reaches.
    reached = {"dry friction": (0.9999, 0.0051), "viscous alone": (0.9984, 0.0196)}
    for model, (r_squared, rms) in reached.items():
        pattern = rf"{model}: R\^2 ([\d.]+), rms ([\d.]+) V"
        found = [float(x) for x in re.search(pattern, run.stdout).groups()]
        yield note(f"main job: {model}, R^2 unrounded", f"{found[0]:.6f}")
        yield at_least(f"main job: {model}, R^2 to 4 digits", round(found[0], 4), r_squared, ".4f")
        yield at_most(f"main job: {model}, rms residual in V", found[1], rms, ".5f")
