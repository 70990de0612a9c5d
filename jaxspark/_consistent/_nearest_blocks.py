"""The nearest consistent state of a system of many blocks."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from .._blocks import BlockMatrix, BlockValues, factor_saddle
from .._custom_types import BoolScalar, FloatScalar
from .._implicit import differentiable_root, iterate, preconditioned_solve, stop_gradient
from .._kkt import BlockDiagonal, BlockLinearSolver, Saddle
from .._system import FlatSystem
from ._residuals import velocity_constraints


MAX_ITERATIONS = 30

Held = tuple[bool, ...] | None


def nearest_state_blocks(
    flat: FlatSystem,
    solver: BlockLinearSolver,
    t: FloatScalar,
    y0: Float[Array, " ny"],
    z0: Float[Array, " nz"],
    metric: str,
    hold_y: Held,
    hold_z: Held,
) -> tuple[Float[Array, " ny"], Float[Array, " nz"], BoolScalar]:
    """First `y` onto `g = 0`, then `z` onto `gdot = k = 0`, as [`jaxspark.project`][] does.

    Newton's iteration; its linear systems, in which the curvature of the constraints couples
    bodies, are solved iteratively with those of K2 as a preconditioner.
    """
    holonomic = flat.structure is not None and flat.structure.holonomic
    assert holonomic and flat.blocks is not None
    rows = holonomic.num_rows

    def y_matrix(y, parameters):
        flat, t, y0, z0 = parameters
        there, start = flat.blocks(t, y, z0), flat.blocks(t, y0, z0)
        # Coordinates that are held move along themselves, and not along velocities.
        v_z = None if hold_y is not None else there.v_z
        return _weighted(solver, start.matrix.K, there.holonomic(rows).B, v_z, metric, hold_y)

    def y_constraints(y, parameters):
        return parameters[0].holonomic(parameters[1], y)

    at = (flat, t, y0, z0)
    y1, good_y = _nearest(solver, y_constraints, at, 2, y_matrix, rows, hold_y)

    def z_matrix(z, parameters):
        flat, t, y1, z0 = parameters
        there, start = flat.blocks(t, y1, z), flat.blocks(t, y1, z0)
        return _weighted(solver, start.matrix.K, there.matrix.B, None, metric, hold_z)

    def z_constraints(z, parameters):
        flat, t, y1, _ = parameters
        return velocity_constraints(flat, t, y1, z)

    at = (flat, t, y1, z0)
    z1, good_z = _nearest(solver, z_constraints, at, 3, z_matrix, flat.nlam + flat.npsi, hold_z)
    return y1, z1, good_y & good_z


def _weighted(
    solver: BlockLinearSolver, K: Array, B: Array, v_z: Array | None, metric: str, held: Held
) -> BlockValues:
    """The metric, or unit weights; what is held has no constraint on it."""
    diagonal = False
    if metric == "identity" or held is not None:
        K = jnp.broadcast_to(jnp.eye(K.shape[1], dtype=K.dtype), K.shape)
        diagonal = True
    if held is not None:
        free = np.append(~np.asarray(held), False)[solver.structure.z.index]
        outside = np.zeros((1, free.shape[1]), bool)
        rows = np.concatenate([free, outside])[solver.structure.pattern.rows[: B.shape[0]]]
        B = jnp.where(rows, B, 0)
    return BlockValues(BlockMatrix(K, B, diagonal=diagonal), v_z)


def _nearest(
    solver: BlockLinearSolver,
    constraints: Callable[[Array, Any], Array],
    parameters: Any,
    place: int,
    matrix_at: Callable[[Array, Any], BlockValues],
    rows: int,
    held: Held,
) -> tuple[Array, Bool[Array, ""]]:
    """Minimise `x^T K x / 2` subject to `constraints(start + v_z x) = 0`.

    **Arguments:**

    - `constraints`, `parameters`: a function of the point and the parameters.
    - `place`: which of these is the point to start from.
    - `matrix_at`: the matrix of the iteration at a point, whose `K` is the metric.
    - `rows`: the number of constraints.
    - `held`: which entries stay as they are.
    """
    start = parameters[place]
    if rows == 0:
        return start, jnp.asarray(True)
    structure = solver.structure
    pattern = structure.pattern if rows == structure.pattern.num_rows else structure.holonomic
    epsilon, nz = jnp.finfo(start.dtype).eps, structure.z.size

    def along(values, x):
        x = x if held is None else jnp.where(np.asarray(held), 0, x)
        if values.v_z is None:
            return x
        return BlockDiagonal(values.v_z, structure.y, structure.z).times(x[None, :])[0]

    def moved(u, parameters):
        values = matrix_at(parameters[place], parameters)
        return parameters[place] + along(values, u[:nz])

    def residual(u, parameters):
        values = matrix_at(parameters[place], parameters)

        def at(x):
            return constraints(parameters[place] + along(values, x), parameters)

        value, pull = jax.vjp(at, u[:nz])
        metric = BlockDiagonal(values.matrix.K, structure.z, structure.z)
        return jnp.concatenate([metric.times(u[None, :nz])[0] + pull(u[nz:])[0], value])

    def inverse(u, parameters):
        values = matrix_at(moved(u, parameters), parameters)
        factors = factor_saddle(solver.solver, pattern, values.matrix, fast=False)
        saddle = Saddle(solver, values, factors, pattern)
        return lambda r: jnp.concatenate(saddle.solve(r[:nz], r[nz:]))

    frozen = stop_gradient(parameters)

    def linear_solve(matvec, rhs, at, parameters):
        solve = inverse(stop_gradient(at), stop_gradient(parameters))
        return preconditioned_solve(matvec, solve, solve, rhs, (1.0,))

    def update(u):
        value, matvec = jax.linearize(lambda u: residual(u, frozen), u)
        return linear_solve(matvec, value, u, frozen)

    u, converged = _iterate(update, frozen[place], nz, rows)
    u = differentiable_root(residual, parameters, u, linear_solve)
    end = moved(u, parameters)
    left = jnp.max(jnp.abs(stop_gradient(constraints(end, parameters))), initial=0)
    extent = 1 + jnp.max(jnp.abs(stop_gradient(end)), initial=0)
    return end, converged & (left <= jnp.sqrt(epsilon) * extent)


def _iterate(
    update: Callable[[Array], Array], start: Array, nz: int, rows: int
) -> tuple[Float[Array, " n"], BoolScalar]:
    """`u <- u - update(u)` from zero, until its first `nz` entries are as good as they get."""
    epsilon = jnp.finfo(start.dtype).eps
    scale = 1 + jnp.max(jnp.abs(start), initial=0)

    def changed(i):
        change = update(i.x)
        return i.x - change, jnp.max(jnp.abs(change[:nz]), initial=0)

    def verdict(i):
        done = i.size <= 4 * epsilon * scale
        done = done | ((i.size <= 1e5 * epsilon * scale) & (i.size > 0.5 * i.previous))
        return done, ~jnp.isfinite(i.size)

    first = jnp.zeros(nz + rows, start.dtype)
    end = iterate(changed, verdict, first, start, MAX_ITERATIONS)
    return jnp.where(end.converged, end.x, first), end.converged
