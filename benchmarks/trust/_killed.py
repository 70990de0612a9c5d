"""A large batch in chunks, killed and resumed: its bits, and its memory.

`python -m benchmarks.trust._killed LANES FOLDER` runs one and prints its peak memory and a name of
its results.
"""

import hashlib
import json
import os
import pathlib
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import jaxspark

from .._figures import at_least, at_most, Figure, note


LANES, CHUNK, SAVED = 100_000, 2000, 101


def swing(angle: Any, rate: Any) -> Any:
    """A pendulum of length 1 m in Cartesian coordinates, at times over a second."""
    system = jaxspark.MechanicalSystem(
        lambda t, y, args: jnp.eye(2), lambda t, y, z, args: jnp.asarray([0.0, -9.81]),
        holonomic=lambda t, y, args: y @ y - 1,
    )  # fmt: skip
    y0 = jnp.stack([jnp.sin(angle), -jnp.cos(angle)])
    z0 = rate * jnp.stack([jnp.cos(angle), jnp.sin(angle)])
    end = jaxspark.solve(
        system, y0, z0, t1=1.0, ts=jnp.linspace(0.0, 1.0, SAVED), rtol=1e-6, throw=False
    )  # fmt: skip
    return end.ys, end.zs


def starts(lanes: int) -> tuple[np.ndarray, np.ndarray]:
    """Angles (rad) and rates (rad/s)."""
    rng = np.random.default_rng(0)
    return rng.uniform(-2, 2, lanes), rng.uniform(-3, 3, lanes)


def main(lanes: int, folder: str) -> dict[str, Any]:
    """The batch of one process."""
    jax.config.update("jax_enable_x64", True)
    results = jaxspark.batch.in_chunks(swing, CHUNK, folder=folder)(*starts(lanes))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    digest = hashlib.sha256()
    for leaf in results:
        digest.update(leaf)
    return {"peak": peak, "name": digest.hexdigest(), "bytes": sum(x.nbytes for x in results)}


def _process(lanes: int, folder: pathlib.Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "benchmarks.trust._killed", str(lanes), str(folder)]
    root = str(pathlib.Path(__file__).parents[2])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([root, *sys.path])}
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment, cwd=root)


def _result(lanes: int, folder: pathlib.Path) -> dict[str, Any]:
    process = _process(lanes, folder)
    out, _ = process.communicate(timeout=1800)
    if process.returncode:
        raise RuntimeError(f"A batch of {lanes} lanes ended with {process.returncode}.")
    return json.loads(out.splitlines()[-1])


def _killed(lanes: int, folder: pathlib.Path, chunks: int) -> int:
    """How many chunks are done when a process is killed after some of them."""
    process, until = _process(lanes, folder), time.monotonic() + 1800
    while process.poll() is None and time.monotonic() < until:
        if folder.exists() and len(list(folder.glob("*.npz"))) >= chunks:
            # In the middle of the next one, or of its file.
            time.sleep(0.05)
            break
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    return len(list(folder.glob("*.npz")))


def killed(tiny: bool) -> Iterator[Figure]:
    """Bits of a batch that was killed twice; peak memory against what the documentation says."""
    lanes = 3 * CHUNK if tiny else LANES
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        one = _result(CHUNK, folder / "one")
        whole = _result(lanes, folder / "whole")
        count = lanes // CHUNK
        done = [_killed(lanes, folder / "killed", max(1, count // 4)), 0]
        if not tiny:
            done[1] = _killed(lanes, folder / "killed", count // 2)
        if not all(0 < k < count for k in done[: 1 if tiny else 2]):
            raise RuntimeError(f"The batch was to be killed on its way: {done} of {count} chunks.")
        resumed = _result(lanes, folder / "killed")
    yield note("lanes, and chunks done when the batch was killed", f"{lanes}, {done} of {count}")
    same = float(whole["name"] != resumed["name"])
    yield at_most("a batch that was killed and resumed: results with other bits", same, 0, ".0f")
    arguments = 16 * (lanes - CHUNK)
    stated = whole["bytes"] - one["bytes"] + arguments
    share = (whole["peak"] - one["peak"]) / stated
    words = "peak memory of the batch over that of one chunk, of what the documentation says"
    yield note("what the documentation says (MB)", f"{stated / 1e6:.0f}")
    if not tiny:
        yield at_least(words, share, 0.8)
        yield at_most(words, share, 1.2, ".2f")


if __name__ == "__main__":
    print(json.dumps(main(int(sys.argv[1]), sys.argv[2])))
