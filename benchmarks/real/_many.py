"""Ten thousand records of pendulums, fitted one by one by two processes of which one is lost."""

import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator

import jax
import jax.numpy as jnp
import numpy as np

import jaxspark
from jaxspark import fit

from .._figures import at_most, Figure, note


RECORDS, CHUNK, SECONDS = 10_000, 250, 180
TIMES = np.linspace(0.0, 4.0, 101)
NOISE, GRAVITY = 0.005, 9.81

SYSTEM = jaxspark.LagrangianSystem(
    lambda t, q, v, args: 0.5 * jnp.sum(v**2) - GRAVITY * q[1],
    holonomic=lambda t, q, args: jnp.linalg.norm(q) - args["length"],
    force=lambda t, q, v, args: -args["drag"] * v,
)


def _model() -> fit.Model:
    return fit.Model(
        SYSTEM,
        lambda t, y, z, lam, psi, args: {"angle": jnp.arctan2(y[0], -y[1])},
        {"length": fit.positive(0.8, "m"), "drag": fit.positive(0.1, "1/s")},
        fit.Start.from_channels(jnp.array([0.0, -0.8]), jnp.zeros(2)),
        step=0.04,
    )


class Swings:
    """Records that are made when they are asked for: of a length, a drag, an angle each."""

    def __init__(self, count: int):
        rng = np.random.default_rng(0)
        self.truth = np.stack([rng.uniform(0.05, 0.3, count), rng.uniform(0.7, 1.2, count)], 1)
        self.angles = rng.uniform(0.3, 1.2, count)

    def __len__(self) -> int:
        return len(self.angles)

    def __getitem__(self, k: int) -> fit.Record:
        (drag, length), angle = self.truth[k], self.angles[k]
        noise = NOISE * np.random.default_rng(k).standard_normal(TIMES.size)
        swing = np.asarray(_angle(drag, length, angle))
        return fit.record(TIMES, {"angle": swing + noise}, name=f"swing {k}")


@jax.jit
def _angle(drag, length, angle):
    def rate(x):
        return jnp.stack([x[1], -GRAVITY / length * jnp.sin(x[0]) - drag * x[1]])

    def step(x, _):
        h = (TIMES[1] - TIMES[0]) / 4
        for _ in range(4):
            a = rate(x)
            b = rate(x + h / 2 * a)
            c = rate(x + h / 2 * b)
            x = x + h / 6 * (a + 2 * b + 2 * c + rate(x + h * c))
        return x, x[0]

    start = jnp.stack([angle, jnp.zeros_like(angle)])
    return jnp.append(angle, jax.lax.scan(step, start, length=TIMES.size - 1)[1])


def many(tiny: bool = False) -> Iterator[Figure]:
    """Two processes share the chunks; one is killed on its way; a last call finds all."""
    count, chunk = (8, 4) if tiny else (RECORDS, CHUNK)
    cores = range(os.cpu_count() or 1)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        begun = time.perf_counter()
        words = [sys.executable, "-m", "benchmarks.real._many", name, str(count), str(chunk)]
        first, second = (subprocess.Popen([*words, str(k), *map(str, cores)]) for k in range(2))
        lost = False
        while not tiny and second.poll() is None and not lost:
            time.sleep(0.2)
            own = [path for path in folder.glob("chunk-*.npz") if int(path.stem[6:]) % 2]
            if len(own) >= count // chunk // 4:
                second.kill()
                lost = True
        second.wait()
        done = sum(1 for _ in folder.glob("chunk-*.npz"))
        # What was lost another process takes over, beside the one that goes on.
        third = subprocess.Popen([*words, "1", *map(str, cores)])
        codes = first.wait(), third.wait()
        table = fit.each(_model(), Swings(count), chunk=chunk, folder=folder, progress=False)
        seconds = time.perf_counter() - begun
    good = int(np.sum(table.codes == 0))
    what = f"{count} records of pendulums"
    yield Figure(f"{what}, a process lost: converged", f"{count}", f"{good}", good == count)
    yield Figure(
        f"{what}: exit codes of the others", "0, 0", f"{codes[0]}, {codes[1]}", codes == (0, 0)
    )
    yield note(f"{what}: chunks there when one was lost", f"{done} of {-(-count // chunk)}")
    if tiny:
        return
    yield at_most(
        f"{what}: s on two cores, compiling and the last call included", seconds, SECONDS, ".0f"
    )
    scores = (table.values - Swings(count).truth) / table.errors
    covered = float(np.mean(np.abs(scores) < 1.96))
    yield note(f"{what}: within 1.96 standard errors", f"{covered:.4f}")
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    yield note(f"{what}: memory of a process, at most (MiB), chunks of {chunk}", f"{peak:.0f}")


def _part(argv: list[str]) -> None:
    folder, count, chunk, own, *cores = argv
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {int(core) for core in cores})
    jax.config.update("jax_enable_x64", True)
    records, part = Swings(int(count)), (int(own), 2)
    fit.each(
        _model(), records, chunk=int(chunk), folder=folder, part=part, workers=1, progress=False
    )


if __name__ == "__main__":
    _part(sys.argv[1:])
