"""Projection of a state onto the constraints."""

from collections.abc import Callable
from typing import Any, Literal

import equinox as eqx
import jax
import jax.core
import jax.numpy as jnp
from jaxtyping import Array

from .._custom_types import Args, BoolScalar, FloatScalar, RealScalarLike, State
from .._kkt import BlockLinearSolver, inverse, LinearSolver, select_linear_solver
from .._results import RESULTS
from .._system import AbstractConstrainedSystem, as_args, as_state, FlatSystem, flatten
from ._nearest import Freedom, marked, nearest, unit_weights
from ._nearest_blocks import nearest_state_blocks
from ._residuals import (
    ConstraintRank,
    ConstraintResiduals,
    flat_rank,
    flat_residuals,
    velocity_constraints,
)
from ._words import describe


class Projection(eqx.Module):
    """A consistent state and how it was reached.

    - `y`, `z`: the projected state (on failure, the state given).
    - `result`: `RESULTS.successful` or `RESULTS.projection_failed`.
    - `residuals`: those of the constraints after the projection; on failure, where it stopped:
        they tell which constraint is still violated, and by how much.
    - `rank`: rank and null direction of the constraint Jacobian there.
    """

    y: State
    z: State
    result: RESULTS
    residuals: ConstraintResiduals
    rank: ConstraintRank

    def violation(self) -> str:
        """The worst residual and the rank in words. Values must be concrete, not traced."""
        return describe(self.residuals, self.rank)


def project(
    system: AbstractConstrainedSystem,
    t: RealScalarLike,
    y: State,
    z: State,
    args: Args = None,
    *,
    metric: Literal["mass", "identity"] = "mass",
    hold_y: Any = None,
    hold_z: Any = None,
    linear_solver: LinearSolver | None = None,
    throw: bool = True,
) -> Projection:
    r"""The nearest consistent state: first `y` onto `g = 0`, then `z` onto `gdot = k = 0`.

    Distance is measured in the mass metric `p_z`, or with unit weights. In the mass metric
    coordinates move along `v_z`, so that they remain reachable. Chosen entries can be held fixed;
    the others then move as little as possible. The result is differentiable with respect to `y`,
    `z`, `t` and `args`; where it fails it returns the state given, so that its derivatives are the
    identity with respect to that, and zero with respect to `t` and `args`.

    **Arguments:**

    - `system`: the constrained system.
    - `t`, `y`, `z`: a time, and the state to project.
    - `args`: passed to the system's functions.
    - `metric`: `"mass"` (the kinetic energy of the change) or `"identity"` (unit weights).
    - `hold_y`, `hold_z`: booleans structured as `y`, `z` (or a prefix that broadcasts):
        true where the value must stay. Unit weights are used for the others.
    - `linear_solver`: for systems of many blocks, as for [`jaxspark.solve`][].
    - `throw`: whether to raise an error if the projection fails, rather than return the result.

    **Returns:** a [`jaxspark.diagnostics.Projection`][].

    **Raises:** `RuntimeError` with the violated constraint, if `throw` and it fails;
    `ValueError` and `TypeError` for invalid input.

    Source: E. Hairer, Ch. Lubich & G. Wanner, *Geometric Numerical Integration*, IV.4
    (4.2), in the metric of VII.1.
    """
    if metric not in ("mass", "identity"):
        raise ValueError(f'metric must be "mass" or "identity"; got {metric!r}.')
    y, z = as_state("y", y), as_state("z", z)
    dtype = jnp.result_type(*jax.tree.leaves(y))
    t = jnp.asarray(t, dtype)
    hold_y = None if hold_y is None else marked("hold_y", y, hold_y)
    hold_z = None if hold_z is None else marked("hold_z", z, hold_z)
    projection = _project(
        system, t, y, z, as_args(args, dtype), metric, hold_y, hold_z, linear_solver
    )
    return _raise(projection) if throw else projection


@eqx.filter_jit
def _project(
    system: AbstractConstrainedSystem,
    t: FloatScalar,
    y: State,
    z: State,
    args: Args,
    metric: str,
    hold_y: tuple[bool, ...] | None,
    hold_z: tuple[bool, ...] | None,
    linear_solver: LinearSolver | None,
) -> Projection:
    flat, y0, z0 = flatten(system, t, y, z, args)
    in_y = unit_weights(flat.ny, hold_y, y0.dtype)
    in_z = unit_weights(flat.nz, hold_z, y0.dtype)
    if metric == "mass" and hold_y is None:
        in_y = Freedom(_v_z, _p_z, flat.nz)
    if metric == "mass" and hold_z is None:
        in_z = Freedom(in_z.directions, _p_z, flat.nz)

    solver = select_linear_solver(flat, linear_solver)
    if isinstance(solver, BlockLinearSolver):
        y1, z1, good = nearest_state_blocks(flat, solver, t, y0, z0, metric, hold_y, hold_z)
    else:
        y1, z1, good = _nearest_state(flat, t, y0, z0, in_y, in_z)
    g, gdot, k = flat_residuals(flat, t, y1, z1)
    residuals = ConstraintResiduals(
        flat.unravel_lam(g), flat.unravel_lam(gdot), flat.unravel_psi(k)
    )
    y1, z1 = jnp.where(good, y1, y0), jnp.where(good, z1, z0)
    result = RESULTS.where(good, RESULTS.successful, RESULTS.projection_failed)
    rank = flat_rank(flat, t, y1, z1)
    return Projection(flat.unravel_y(y1), flat.unravel_z(z1), result, residuals, rank)


def _nearest_state(
    flat: FlatSystem,
    t: FloatScalar,
    y0: Array,
    z0: Array,
    in_y: Freedom,
    in_z: Freedom,
    invert: Callable[[Array], Array] = jnp.linalg.pinv,
) -> tuple[Array, Array, BoolScalar]:
    """First `y` onto `g = 0`, then `z` onto `gdot = k = 0`; and whether both were reached."""
    y1, good_y = nearest(
        lambda y, p: p[0].holonomic(p[1], y), (flat, t, y0, z0), lambda p: p[2],
        in_y, flat.nlam, invert,
    )  # fmt: skip
    z1, good_z = nearest(
        lambda z, p: velocity_constraints(p[0], p[1], p[2], z), (flat, t, y1, z0),
        lambda p: p[3], in_z, flat.nlam + flat.npsi, invert,
    )  # fmt: skip
    return y1, z1, good_y & good_z


def flat_project(
    flat: FlatSystem, t: FloatScalar, y: Array, z: Array
) -> tuple[Array, Array, BoolScalar]:
    """The nearest consistent state in the mass metric, for constraints that are independent.

    **Returns:** `y`, `z`, and whether they satisfy the constraints.
    """
    solver = select_linear_solver(flat)
    if isinstance(solver, BlockLinearSolver):
        return nearest_state_blocks(flat, solver, t, y, z, "mass", None, None)
    return _nearest_state(
        flat, t, y, z, Freedom(_v_z, _p_z, flat.nz), mass_metric(flat, y.dtype), inverse
    )


def mass_metric(flat: FlatSystem, dtype: Any) -> Freedom:
    """Velocities free to move in every direction, at the price of kinetic energy."""
    return Freedom(unit_weights(flat.nz, None, dtype).directions, _p_z, flat.nz)


def _p_z(parameters: tuple[Any, ...]) -> Array:
    """The mass matrix."""
    flat, t, y0, z0, *_ = parameters
    identity = jnp.eye(flat.nz, dtype=z0.dtype)
    mass = flat.mass(t, y0, z0)
    return identity if mass is None else mass


def _v_z(parameters: tuple[Any, ...]) -> Array:
    """How coordinates follow from velocities."""
    flat, t, y0, z0, *_ = parameters
    identity = jnp.eye(flat.nz, dtype=z0.dtype)
    return identity if flat.v is None else jax.jacfwd(flat.v, 2)(t, y0, z0)


def _raise(projection: Projection) -> Projection:
    failed = projection.result != RESULTS.successful
    if isinstance(failed, jax.core.Tracer):
        return projection.result.error_if(projection, failed)
    if failed:
        raise RuntimeError(f"{RESULTS[RESULTS.projection_failed]} {projection.violation()}")
    return projection
