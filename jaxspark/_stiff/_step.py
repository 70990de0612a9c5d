"""One step of a stiff method, as a pure function."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.ad_checkpoint import checkpoint_name
from jaxtyping import Array, Float, Int

from .._consistent import project_nearby
from .._custom_types import BoolScalar, FloatScalar
from .._implicit import (
    CHECKPOINT_NAME,
    differentiable_root,
    stop_gradient,
)
from .._kkt import dense_linear_solve
from .._results import RESULTS
from .._step import differentiated_if
from .._system import FlatSystem
from ._coefficients import GGLCoefficients
from ._newton import newton, Weights
from ._predict import start_stages
from ._residual import GGLStages, stage_equations


# Inertia less than this part of the largest is none.
MASSLESS = 1e-6


class GGLStep(eqx.Module):
    """The end of a step and what is known about it.

    - `y`, `z`: the end, on the constraints; on failure, the start.
    - `stages`: those that the iteration found.
    - `iterations`, `result`: of Newton's method.
    """

    y: Float[Array, " ny"]
    z: Float[Array, " nz"]
    stages: GGLStages
    iterations: Int[Array, ""]
    result: RESULTS


def ggl_step(
    system: FlatSystem,
    coefficients: GGLCoefficients,
    t0: FloatScalar,
    y0: Float[Array, " ny"],
    z0: Float[Array, " nz"],
    h: FloatScalar,
    weights: Weights,
    mode: str,
    multipliers: tuple[Array, Array] | None = None,
    expected: tuple[Float[Array, "s ny"], Float[Array, "s nz"]] | None = None,
) -> GGLStep:
    """One step from `(t0, y0, z0)` to `t0 + h`; with `h = 0` the state unchanged.

    The stages are those of a method that damps, in the stabilised index-2 form; its end is moved
    onto the constraints, which it satisfies to the tolerance, to rounding error. Differentiable
    with respect to everything but the weights, and the multipliers and `expected`, coordinates and
    velocities at the stages, which are starting values.
    """
    idle = h == 0
    h = jnp.where(idle, jnp.ones_like(h), h)
    frozen = stop_gradient((system, t0, y0, z0, h))
    s = len(coefficients.c)
    guess = start_stages(frozen[0], s, frozen[2], frozen[3], stop_gradient(multipliers))
    if expected is not None:
        guess = eqx.tree_at(lambda x: (x.y, x.z), guess, stop_gradient(expected))
    found = newton(frozen[0], coefficients, *frozen[1:], guess, stop_gradient(weights), idle, mode)
    good = checkpoint_name(found.result == RESULTS.successful, CHECKPOINT_NAME)
    finite = start_stages(frozen[0], s, frozen[2], frozen[3])
    root = jax.tree.map(lambda a, b: jnp.where(good, a, b), found.stages, finite)
    moved = good & ~idle

    operands = differentiated_if(moved, (system, t0, y0, z0, h))
    end_y, end_z, near = ggl_end(coefficients, *operands, root)
    result = RESULTS.where(near | ~good | idle, found.result, RESULTS.projection_failed)
    moved = moved & near
    y1, z1 = jnp.where(moved, end_y, y0), jnp.where(moved, end_z, z0)
    return GGLStep(y1, z1, stop_gradient(root), found.iterations, result)


def ggl_end(
    coefficients: GGLCoefficients,
    system: FlatSystem,
    t0: FloatScalar,
    y0: Float[Array, " ny"],
    z0: Float[Array, " nz"],
    h: FloatScalar,
    stages: GGLStages,
) -> tuple[Float[Array, " ny"], Float[Array, " nz"], BoolScalar]:
    """The end of a step whose stages are known, and whether it is on the constraints.

    Differentiable with respect to all that determines the stages.
    """
    residual, linear_solve = _equations(coefficients)
    stages = differentiable_root(residual, (system, t0, y0, z0, h), stages, linear_solve)
    held = stop_gradient(_stiffness(system, t0 + h, h, stages))
    return project_nearby(system, t0 + h, stages.y[-1], stages.z[-1], held)


def _stiffness(
    system: FlatSystem, t: FloatScalar, h: FloatScalar, stages: GGLStages
) -> Float[Array, " nz"] | None:
    """How stiff the coordinates are that have no inertia, in its place; `None` if all have.

    A projection in the mass metric would move what has no mass, the elongations of springs, by
    all that Newton's iteration left, and so their tensions by that times the stiffness.
    """
    y, z, lam, psi, _ = (x[-1] for x in jax.tree.leaves(stages))
    M = system.mass(t, y, z)
    if M is None:
        return None
    force = jax.jacfwd(lambda y: system.force(t, y, z, lam, psi))(y)
    if system.v is not None:
        force = force @ jax.jacfwd(system.v, 2)(t, y, z)
    inertia = jnp.abs(jnp.diagonal(M))
    massless = inertia <= MASSLESS * jnp.max(inertia)
    return jnp.where(massless, h**2 * jnp.abs(jnp.diagonal(force)), 0)


def _equations(coefficients: GGLCoefficients) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The residual and the solver for its derivative, as functions of all operands."""

    def residual(x, operands):
        system, t0, y0, z0, h = operands
        return stage_equations(system, coefficients, t0, y0, z0, h, x)

    # Rounding errors of multipliers are those of the coordinates over h^2.
    return residual, dense_linear_solve(residual, (1.0, 1.0, 1e-6, 1e-6, 1e-6))
