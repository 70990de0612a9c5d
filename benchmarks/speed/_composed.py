"""Compositions of RATTLE as solvers of a mechanism, by their number of steps."""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import jaxspark

from .. import peers
from ..adaptive._work_precision import Point
from ..peers._arrays import Arrays


def composed(mechanism: peers.Mechanism, order: int, steps: int) -> Callable[[], jaxspark.Solution]:
    """A compiled rollout of so many steps."""
    system, (y0, z0) = peers.constrained_system(mechanism), Arrays(mechanism).state()
    method = jaxspark.Composition(jaxspark.Lobatto(2), order)

    def run(y0: Any, z0: Any) -> jaxspark.Solution:
        return jaxspark.rollout(
            system, y0, z0, method=method, t1=mechanism.t_end, num_steps=steps, save_every=None,
            throw=False,
        )  # fmt: skip

    compiled = jax.jit(run).lower(y0, z0).compile()
    return lambda: jax.block_until_ready(compiled(y0, z0))


def points(mechanism: peers.Mechanism, order: int, counts: Sequence[int]) -> list[Point]:
    """Runs with ever more steps: error, CPU seconds, greatest residual of a constraint."""
    found = []
    for steps in counts:
        solution, seconds = peers.least_seconds(composed(mechanism, order, steps))
        if not bool(solution.result == jaxspark.RESULTS.successful):
            continue
        end = np.asarray(jnp.concatenate([solution.y1, solution.z1]))
        worst = float(jnp.maximum(solution.stats.max_g, solution.stats.max_gdot))
        found.append(Point(1 / steps, peers.end_error(mechanism, end), seconds, worst))
    return found
