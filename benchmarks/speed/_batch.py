"""Trajectories per second of a batch of pendulums."""

from collections.abc import Iterator

import jax
import jax.numpy as jnp
import numpy as np

import jaxspark

from .. import peers
from .._figures import at_least, at_most, Figure, note
from ._pendulums import cartesian, END, reduced, starts, system


LANES = 1024
ERROR = 1e-8
TARGET = 10_000  # per second
ORDER, COUNTS = 8, (60, 80, 100, 120, 140, 160)


def batch(tiny: bool) -> Iterator[Figure]:
    """1024 pendulums for 10 s at a median error of 1e-8, ours and the hand-reduced equation."""
    given = [jnp.asarray(x) for x in starts(8 if tiny else LANES)]
    lanes = given[0].size
    exact = [np.asarray(x) for x in reduced(1e-13)(*given)]
    y0, z0 = cartesian(*given)
    method = jaxspark.Composition(jaxspark.Lobatto(2), ORDER)
    what = f"{lanes} pendulums, {END:g} s"
    rates = []
    for steps in COUNTS[:1] if tiny else COUNTS:

        def run(y, z, length, steps=steps):
            solution = jaxspark.rollout(
                system(), method, y, z, length, t1=END, num_steps=steps, save_every=None,
                throw=False,
            )  # fmt: skip
            worst = jnp.maximum(solution.stats.max_g, solution.stats.max_gdot)
            return solution.y1, solution.z1, worst

        compiled = jax.jit(jax.vmap(run)).lower(y0, z0, given[2]).compile()
        (y1, z1, worst), seconds = peers.least_seconds(
            lambda f=compiled: jax.block_until_ready(f(y0, z0, given[2]))
        )
        error = float(np.median(_errors((y1, z1), exact)))
        rates.append((error, lanes / seconds, float(jnp.max(worst))))
        words = f"{steps} steps: {lanes / seconds:.0f} at {error:.1e}"
        yield note(f"{what}, RATTLE composed to order {ORDER}: trajectories per CPU s", words)
    good = [rate for error, rate, _ in rates if error <= ERROR]
    ours = max(good, default=0.0)
    yield at_least(f"{what}: trajectories per CPU s, median error 1e-8", ours, TARGET, ".0f")
    yield at_most(f"{what}: greatest residual of a constraint", max(r[2] for r in rates), 1e-13)
    rival = reduced(1e-9)
    jax.block_until_ready(rival(*given))  # compiled before it is timed
    end, seconds = peers.least_seconds(lambda: jax.block_until_ready(rival(*given)))
    error = float(np.median(_errors(end, exact)))
    words = f"{lanes / seconds:.0f} at {error:.1e}"
    yield note(f"{what}, reduced by hand, diffrax Dopri8: trajectories per CPU s", words)
    yield note(f"{what}: ours over those of the reduced equation", f"{ours * seconds / lanes:.2f}")


def _errors(end, exact) -> np.ndarray:
    """The greatest relative error of each trajectory."""
    parts = [np.abs(np.asarray(a) - b) / (1 + np.abs(b)) for a, b in zip(end, exact, strict=True)]
    return np.max(np.concatenate(parts, 1), 1)
