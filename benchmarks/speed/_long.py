"""A pendulum over 500 periods."""

from collections.abc import Iterator

import jax
import jax.numpy as jnp
import numpy as np

import jaxspark

from .. import peers
from .._figures import at_most, Figure, note
from ._pendulums import GRAVITY, system


ORDER, STEP = 8, 0.05


def long(tiny: bool) -> Iterator[Figure]:
    """1000 s: CPU time, and an energy error that stays bounded."""
    end = 10.0 if tiny else 1000.0
    steps = round(end / STEP)
    method = jaxspark.Composition(jaxspark.Lobatto(2), ORDER)
    y0, z0, length = jnp.array([1.0, 0.0]), jnp.zeros(2), jnp.ones(())

    def run(y, z, length, every):
        return jaxspark.rollout(
            system(), method, y, z, length, h=STEP, num_steps=steps, save_every=every
        )

    timed = jax.jit(lambda *start: run(*start, None)).lower(y0, z0, length).compile()
    _, seconds = peers.least_seconds(lambda: jax.block_until_ready(timed(y0, z0, length)))
    what = f"pendulum, {end:g} s in {steps} steps of RATTLE composed to order {ORDER}"
    yield at_most(f"{what}: CPU s", seconds, 0.06, ".4f")
    solution = run(y0, z0, length, 1)
    energy = 0.5 * jnp.sum(solution.zs**2, 1) + GRAVITY * solution.ys[:, 1]
    wrong = np.abs(np.asarray(energy)) / GRAVITY
    yield at_most(f"{what}: energy error, of m g L", wrong.max(), 1e-9)
    half = len(wrong) // 2
    words = f"{wrong[:half].max():.2e}, {wrong[half:].max():.2e}"
    yield note(f"{what}: energy error, first half, second half", words)
    worst = max(float(solution.stats.max_g), float(solution.stats.max_gdot))
    yield at_most(f"{what}: greatest residual of a constraint", worst, 1e-13)
