"""From a start with oscillations onto the slow motion."""

import equinox as eqx
import jax
import jax.numpy as jnp

from .._custom_types import Args, FloatScalar, IntScalar, RealScalarLike, State
from .._results import RESULTS
from .._system import AbstractConstrainedSystem, as_args, as_state, flatten
from .._tableau import RadauIIA
from ._coefficients import ggl_coefficients
from ._newton import Weights
from ._step import ggl_step


class DampedStart(eqx.Module):
    """A consistent state of the slow motion.

    - `t`, `y`, `z`: the time, two steps after the start, and the state; on failure, where it
        still was good.
    - `result`: `RESULTS.successful`, or why a step failed.
    - `newton_iterations`: of both steps together.
    """

    t: FloatScalar
    y: State
    z: State
    result: RESULTS
    newton_iterations: IntScalar


def damp_start(
    system: AbstractConstrainedSystem,
    y0: State,
    z0: State,
    args: Args = None,
    *,
    t0: RealScalarLike = 0.0,
    h: RealScalarLike,
    rtol: RealScalarLike = 1e-6,
    atol: RealScalarLike | None = None,
) -> DampedStart:
    """Two steps of the implicit Euler method, whatever their error: oscillations are gone.

    Stiff springs that do not start at rest oscillate, and an oscillation larger than the
    tolerance has to be resolved, by thousands of steps if need be. Where it does not matter,

        start = jaxspark.damp_start(system, y0, z0, args, h=1e-2)
        jaxspark.solve(system, method, start.y, start.z, args, t0=start.t, t1=t1, first_step=1e-2)

    continues with the slow motion. What it takes away is the energy of the oscillations, and an
    error of the slow motion of size `h^2` comes in. Differentiable as [`jaxspark.solve`][] is.

    **Arguments:**

    - `system`: with its stiff springs as coordinates, [`jaxspark.Elongated`][], for the best.
    - `y0`, `z0`, `t0`, `args`: a consistent state.
    - `h`: the size of each of the two steps (s): long for the oscillations, short for the motion.
    - `rtol`, `atol`: tolerances at which Newton's iteration ends; by default `atol = rtol`.

    **Returns:** a [`jaxspark.DampedStart`][].

    **Raises:** `ValueError` and `TypeError` for states that can never be right.

    Source: E. Hairer & G. Wanner, *Solving Ordinary Differential Equations II*, IV.8, on the first
    steps of stiff methods; the choice of two Euler steps is this project's.
    """
    y0, z0 = as_state("y0", y0), as_state("z0", z0)
    dtype = jnp.result_type(*jax.tree.leaves(y0))
    t0, h, rtol = (jnp.asarray(x, dtype) for x in (t0, h, rtol))
    atol = rtol if atol is None else jnp.asarray(atol, dtype)
    return _damp(system, y0, z0, as_args(args, dtype), t0, h, rtol, atol)


@eqx.filter_jit
def _damp(system, y0, z0, args, t0, h, rtol, atol) -> DampedStart:
    flat, y, z = flatten(system, t0, y0, z0, args)
    euler = ggl_coefficients(RadauIIA(1).tableau)
    t, result = t0, RESULTS.successful
    iterations = jnp.zeros((), jnp.int32)
    for _ in range(2):
        weights = Weights(atol + rtol * jnp.abs(y), atol + rtol * jnp.abs(z))
        good = result == RESULTS.successful
        end = ggl_step(flat, euler, t, y, z, jnp.where(good, h, 0), weights, "g0")
        result = RESULTS.where(good, end.result, result)
        t = jnp.where(result == RESULTS.successful, t + h, t)
        y, z, iterations = end.y, end.z, iterations + jnp.where(good, end.iterations, 0)
    return DampedStart(t, flat.unravel_y(y), flat.unravel_z(z), result, iterations)
