"""What importing the package costs, and how large it is."""

import pathlib
import subprocess
import sys
from collections.abc import Iterator

from .._figures import at_most, Figure


TIMES = 5
LINES, SECONDS = 24_000, 0.3
PROGRAM = "import time; import {before}; t = time.process_time(); import jaxspark; \
print(time.process_time() - t)"


def package(tiny: bool) -> Iterator[Figure]:
    """CPU seconds of the import beyond that of JAX and equinox; lines of code."""
    command = [sys.executable, "-c", PROGRAM.format(before="jax, equinox")]
    seconds = []
    for _ in range(1 if tiny else TIMES):
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        seconds.append(float(done.stdout))
    yield at_most("import jaxspark beyond import jax, equinox: CPU s", min(seconds), SECONDS, ".2f")
    import jaxspark

    files = pathlib.Path(jaxspark.__file__).parent.rglob("*.py")
    lines = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in files)
    yield at_most("lines in the package", lines, LINES, "d")
