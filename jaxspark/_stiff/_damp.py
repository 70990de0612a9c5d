"""From a start with oscillations onto the slow motion."""

from typing import Literal

import equinox as eqx
import jax
import jax.core
import jax.numpy as jnp
import numpy as np

from .._consistent import ConstraintResiduals, flat_residuals
from .._custom_types import Args, FloatScalar, IntScalar, RealScalarLike, State
from .._implicit import stop_gradient
from .._results import RESULTS
from .._rollout import consistency_tolerance, initial_result
from .._system import AbstractConstrainedSystem, as_args, as_state, flatten
from .._tableau import RadauIIA
from ._coefficients import ggl_coefficients
from ._newton import Weights
from ._step import ggl_step


class DampedStart(eqx.Module):
    """A consistent state of the slow motion.

    - `t`, `y`, `z`: the time after the last step, and the state; on failure, those of the last good
        state.
    - `result`: `RESULTS.successful`, or why the start or a step failed.
    - `newton_iterations`: of all steps together.
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
    num_steps: int = 3,
    rtol: RealScalarLike = 1e-6,
    atol: RealScalarLike | None = None,
    consistency_tol: float | Literal["auto"] | None = "auto",
) -> DampedStart:
    """Make a few steps of the implicit Euler method, whatever their error, to damp oscillations.

    Stiff springs that do not start at rest oscillate, and an oscillation larger than the
    tolerance has to be resolved, by thousands of steps if need be. Where it does not matter,

        start = jaxspark.stiff.damp_start(system, y0, z0, args, h=1e-2)
        jaxspark.solve(
            system, start.y, start.z, args, method=method, t0=start.t, t1=t1, first_step=1e-2
        )

    continues with the slow motion. Every step divides the amplitude of an oscillation of
    frequency `omega` by about `omega h`. The first leaves velocities of the displaced springs, the
    second the forces that stopped these, `m d / h^2` for a displacement `d`: hence three. The slow
    motion gets an error of size `h^2`. The result is differentiable as that of
    [`jaxspark.solve`][] is.

    **Arguments:**

    - `system`: the constrained system; best with its stiff springs as coordinates,
        [`jaxspark.stiff.Elongated`][].
    - `y0`, `z0`, `t0`, `args`: a consistent state, its time and the parameters.
    - `h`: the size of each step (s): long for the oscillations, short for the slow motion.
    - `num_steps`: how many steps.
    - `rtol`, `atol`: tolerances at which Newton's iteration ends. Default: `atol = rtol`.
    - `consistency_tol`: as for [`jaxspark.solve`][].

    **Returns:** a [`jaxspark.stiff.DampedStart`][].

    **Raises:** `ValueError` and `TypeError` for invalid input. A step that fails raises no error:
    `result` tells.

    Source: E. Hairer & G. Wanner, *Solving Ordinary Differential Equations II*, IV.8, on the first
    steps of stiff methods; the choice of Euler steps is this project's.
    """
    y0, z0 = as_state("y0", y0), as_state("z0", z0)
    dtype = jnp.result_type(*jax.tree.leaves(y0))
    t0, h, rtol = (jnp.asarray(x, dtype) for x in (t0, h, rtol))
    atol = rtol if atol is None else jnp.asarray(atol, dtype)
    for name, value in (("h", h), ("rtol", rtol), ("atol", atol)):
        if value.ndim:
            raise ValueError(f"{name} must be a scalar; use jax.vmap for a batch of them.")
        if not isinstance(value, jax.core.Tracer) and (value == 0 or not jnp.isfinite(value)):
            raise ValueError(f"{name} must be finite and not zero; got {value}.")
    whole = isinstance(num_steps, int | np.integer) and not isinstance(num_steps, bool)
    if not whole or num_steps < 1:
        raise ValueError(f"num_steps must be a positive Python integer; got {num_steps!r}.")
    tolerance = consistency_tolerance(consistency_tol, dtype)
    return _damp(system, y0, z0, as_args(args, dtype), (t0, h), (rtol, atol), num_steps, tolerance)


@eqx.filter_jit
def _damp(
    system: AbstractConstrainedSystem,
    y0: State,
    z0: State,
    args: Args,
    times: tuple[FloatScalar, FloatScalar],
    tolerances: tuple[FloatScalar, FloatScalar],
    num_steps: int,
    consistency_tol: float | None,
) -> DampedStart:
    (t, h), (rtol, atol) = times, tolerances
    flat, y, z = flatten(system, t, y0, z0, args)
    euler = ggl_coefficients(RadauIIA(1).tableau)
    initial = ConstraintResiduals(*stop_gradient(flat_residuals(flat, t, y, z)))
    result = initial_result(flat, t, y, z, initial, consistency_tol)
    iterations = jnp.zeros((), jnp.int32)
    for _ in range(num_steps):
        weights = Weights(atol + rtol * jnp.abs(y), atol + rtol * jnp.abs(z))
        good = result == RESULTS.successful
        end = ggl_step(flat, euler, t, y, z, jnp.where(good, h, 0), weights, "g0")
        result = RESULTS.where(good, end.result, result)
        t = jnp.where(result == RESULTS.successful, t + h, t)
        y, z, iterations = end.y, end.z, iterations + jnp.where(good, end.iterations, 0)
    return DampedStart(t, flat.unravel_y(y), flat.unravel_z(z), result, iterations)
