"""The two ways in which mechanisms are integrated: explicitly, and by SPARK methods."""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import jaxspark

from ._chains import Model


class End(NamedTuple):
    """The state at the end, the steps that were tried, and whether they got there."""

    y: Any
    z: Any
    steps: Any
    good: Any


@functools.lru_cache(maxsize=2)
def explicit_run(model: Model, t_end: float) -> Callable[[float], End]:
    """A compiled function of the tolerance, absolute and relative; parameters are constants."""
    args = model.args

    def function(start, tolerance):
        solution = jaxspark.solve(
            model.system, *start, args, method=jaxspark.DOP853(), t1=t_end, rtol=tolerance,
            max_steps=None, throw=False,
        )  # fmt: skip
        stats = solution.stats
        tried = stats.num_steps + stats.num_rejected_steps + stats.num_failed_steps
        return End(solution.y1, solution.z1, tried, solution.successful)

    run, (start, _) = jax.jit(function), _arrays(model)
    return lambda tolerance: run(start, jnp.asarray(tolerance))


def integrate(model: Model, tolerance: float, t_end: float = 1.0) -> End:
    """The best explicit method at this tolerance."""
    return jax.block_until_ready(explicit_run(model, t_end)(tolerance))


def spark_run(
    model: Model,
    method: jaxspark.methods.AbstractSparkMethod,
    h: float,
    steps: int,
    linear_solver: Any = None,
) -> Callable[[], jaxspark.Solution]:
    """A compiled function that takes so many equal steps (s)."""

    def function(start, args):
        return jaxspark.rollout(
            model.system, *start, args, method=method, h=h, num_steps=steps, save_every=None,
            linear_solver=linear_solver, throw=False,
        )  # fmt: skip

    run, (start, args) = jax.jit(function), _arrays(model)
    return lambda: jax.block_until_ready(run(start, args))


def small_step(n: int) -> float:
    """A step (s) as accuracy asks for: waves along the chain pass a rod in about `1 / n`."""
    return 0.4 / (28 * n)


def residuals(model: Model, y: Any, z: Any) -> tuple[float, float]:
    """The greatest of the constraints and of their derivatives."""
    found = jaxspark.diagnostics.constraint_residuals(model.system, 0.0, y, z, model.args)
    return greatest(found.g), greatest(found.gdot)


def greatest(tree: Any) -> float:
    """The greatest magnitude of all arrays."""
    return max(float(np.max(np.abs(x))) for x in jax.tree.leaves(tree))


def _arrays(model: Model) -> Any:
    start = jnp.asarray(model.y0), jnp.asarray(model.z0)
    return start, jax.tree.map(jnp.asarray, model.args)
