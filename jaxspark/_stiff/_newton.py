"""Newton's iteration for the stage equations, with a fresh matrix every time."""

from typing import Any, Literal

import equinox as eqx
import jax
import jax.flatten_util
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from .._custom_types import BoolScalar, FloatScalar
from .._implicit import iterate, newton_result
from .._results import RESULTS
from .._system import FlatSystem
from ._coefficients import GGLCoefficients
from ._linear import reduced_solve, stage_blocks
from ._residual import GGLStages, stage_equations


# Every iteration has its own matrix: where ten are not enough, the step was too long.
MAX_ITERATIONS = 10
# What is left of velocities adds up over all steps: it must be small next to the error of a step.
CONVERGED, AT_ONCE, NEGLIGIBLE = 1e-2, 5e-5, 1e-9
# So many units of rounding error may be left of anything.
ROUNDING = 10.0

NewtonMode = Literal["g0", "gl", "fcm"]


class Converged(eqx.Module):
    """The stages, how many iterations they took, and how it ended."""

    stages: GGLStages
    iterations: Int[Array, ""]
    result: RESULTS


class Weights(eqx.Module):
    """What errors are measured by: `atol + rtol |x|` for every coordinate and velocity."""

    y: Float[Array, " ny"]
    z: Float[Array, " nz"]


def newton(
    system: FlatSystem,
    coefficients: GGLCoefficients,
    t0: FloatScalar,
    y0: Float[Array, " ny"],
    z0: Float[Array, " nz"],
    h: FloatScalar,
    guess: GGLStages,
    weights: Weights,
    idle: BoolScalar,
    mode: str,
) -> Converged:
    """Iterate to convergence.

    The mode says at which multipliers the matrix is taken. A raw residual at a guess off the
    constraints, multiplied by the stiffness that it meets, is no force; a matrix that holds it
    makes the iteration converge slowly, or stop at what is not a solution.

    - `"g0"`: 0 in the first iteration, those just found afterwards.
    - `"gl"`: those of the guess in the first.
    - `"fcm"`: 0 always: linear convergence.

    Source: J. Yen & L. Petzold, *An efficient Newton-type iteration for the numerical solution of
    highly oscillatory constrained multibody dynamic systems*, section 3, for the matrix without
    the geometric stiffness of the residual; the test for convergence is that of E. Hairer & G.
    Wanner, *Solving Ordinary Differential Equations II*, IV.8 (8.10).
    """
    start, unravel = jax.flatten_util.ravel_pytree(guess)

    def residual(x):
        stages = stage_equations(system, coefficients, t0, y0, z0, h, unravel(x))
        return jax.flatten_util.ravel_pytree(stages)[0]

    def at(x):
        if mode != "fcm":
            return x
        stages = unravel(x)
        none = jax.tree.map(jnp.zeros_like, (stages.lam, stages.psi, stages.mu))
        return jax.flatten_util.ravel_pytree(GGLStages(stages.y, stages.z, *none))[0]

    def size(change: GGLStages, of_velocities: Any = 1.0) -> FloatScalar:
        velocities = of_velocities * change.z / weights.z[None, :]
        parts = [change.y / weights.y[None, :], velocities]
        return jnp.sqrt(jnp.mean(jnp.concatenate([jnp.ravel(part) for part in parts]) ** 2))

    epsilon = jnp.finfo(y0.dtype).eps
    # Velocities are differences of positions, whose errors they have over the step size.
    position, speed = jnp.max(jnp.abs(y0)), jnp.max(jnp.abs(z0))
    in_velocities = (position / jnp.abs(h) + speed) / jnp.min(weights.z)
    rounding = jnp.maximum(position / jnp.min(weights.y), in_velocities)
    negligible = jnp.maximum(NEGLIGIBLE, ROUNDING * epsilon * rounding)
    # Friction by a load that is not known yet is seen by no iteration but the second.
    settled = 1 if system.friction is None else 2

    def update(i):
        x, _ = i.x
        blocks = stage_blocks(system, coefficients, t0, h, unravel(at(x)))
        found = reduced_solve(system, coefficients, h, blocks, unravel(residual(x)))
        return (x - jax.flatten_util.ravel_pytree(found)[0], size(found, h)), size(found)

    def verdict(i):
        change, rate, first = i.size, i.size / i.previous, i.count <= settled
        converged = ~first & (rate < 1) & (rate * change <= CONVERGED * (1 - rate))
        at_once = jnp.maximum(AT_ONCE, negligible)
        small = change <= jnp.where(first, at_once, negligible)
        converged = converged | (small & (i.count >= settled))
        # Rounding errors of stiff forces are seen in velocities first.
        stalled = (i.count > settled + 1) & (rate >= 0.5) & (i.x[1] <= CONVERGED)
        return converged | stalled, ~jnp.isfinite(change) | (~first & (rate >= 2))

    begin = start, jnp.zeros((), y0.dtype)
    end = iterate(update, verdict, begin, y0, MAX_ITERATIONS, idle)
    limited = end.count >= MAX_ITERATIONS
    result = newton_result(end.converged, end.nonfinite_at_once, limited)
    return Converged(unravel(end.x[0]), end.count, result)
