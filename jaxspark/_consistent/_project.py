"""Projection of a state onto the constraints."""

from collections.abc import Callable
from typing import Any, Literal

import equinox as eqx
import jax
import jax.core
import jax.flatten_util
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool

from .._custom_types import Args, RealScalarLike, State
from .._implicit import newton_root, stop_gradient
from .._results import RESULTS
from .._system import AbstractConstrainedSystem, as_state, flatten
from ._residuals import (
    constraint_rank,
    ConstraintRank,
    ConstraintResiduals,
    flat_residuals,
    velocity_constraints,
)


class Projection(eqx.Module):
    """A consistent state and how it was reached.

    - `y`, `z`: the projected state (on failure, the state given).
    - `result`: `RESULTS.successful` or `RESULTS.projection_failed`.
    - `residuals`: of the constraints after projection, or as far as it came: which is still
        violated, and by how much.
    - `rank`: rank and null direction of the constraint Jacobian there.
    """

    y: State
    z: State
    result: RESULTS
    residuals: ConstraintResiduals
    rank: ConstraintRank

    def violation(self) -> str:
        """The worst residual and the rank in words, for concrete values."""
        return describe(self.residuals, self.rank)


def describe(residuals: ConstraintResiduals, rank: ConstraintRank | None = None) -> str:
    """The worst constraint residual in words and, if deficient, the rank."""
    names = {
        "g": "holonomic constraint g",
        "gdot": "velocity of the holonomic constraint, g_t + g_y v,",
        "k": "nonholonomic constraint k",
    }
    worst, text = -1.0, "There are no constraints."
    for field, name in names.items():
        flat = np.abs(jax.flatten_util.ravel_pytree(getattr(residuals, field))[0])
        for index, value in enumerate(flat):
            if not value <= worst:
                worst = value if np.isfinite(value) else np.inf
                text = f"The largest residual is {value:.3e}, of the {name} number {index}."
    if rank is not None and int(rank.rank) < rank.size:
        text += " " + describe_rank(rank)
    return text


def describe_rank(rank: ConstraintRank) -> str:
    """The rank of the constraint Jacobian in words and, if deficient, which combination."""
    text = f"The constraint Jacobian has rank {int(rank.rank)} of {rank.size}"
    if int(rank.rank) == rank.size:
        return text + "."
    direction = np.asarray(jax.flatten_util.ravel_pytree(rank.null_direction)[0])
    return f"{text}; this combination of the constraints is redundant: {np.round(direction, 6)}."


def _directions(state: State, size: int, hold: Any) -> np.ndarray | None:
    """The free coordinates as the columns of a static matrix, or `None` if all are."""
    if hold is None:
        return None
    masks = jax.tree.map(
        lambda leaf, mask: np.broadcast_to(np.asarray(mask, bool), jnp.shape(leaf)),
        state, hold,
    )  # fmt: skip
    held = np.concatenate([np.ravel(mask) for mask in jax.tree.leaves(masks)])
    return np.eye(size)[:, ~held]


def _nearest(
    constraints: Callable[[Array, Any], Array],
    parameters: Any,
    start: Callable[[Any], Array],
    directions: Callable[[Any], Array],
    weight: Callable[[Any], Array],
    free: int,
    size: int,
    dtype: Any,
) -> tuple[Array, Bool[Array, ""]]:
    """Minimise `x^T W x / 2` subject to `constraints(start + S x) = 0`."""

    def moved(x, parameters):
        return start(parameters) + directions(parameters) @ x

    smallest = jnp.finfo(dtype).tiny

    def residual(unknowns, parameters):
        x, mu = unknowns[:free], unknowns[free:]
        value, pull = jax.vjp(lambda x: constraints(moved(x, parameters), parameters), x)
        # In units of the largest mass: of these only the direction of x depends.
        metric = weight(parameters)
        metric = metric / jnp.maximum(jnp.max(jnp.abs(metric), initial=0), smallest)
        return jnp.concatenate([metric @ x + pull(mu)[0], value])

    root = newton_root(residual, parameters, jnp.zeros(free + size, dtype), jnp.linalg.pinv)
    end = moved(root.value[:free], parameters)
    left = jnp.max(jnp.abs(stop_gradient(constraints(end, parameters))), initial=0)
    extent = 1 + jnp.max(jnp.abs(stop_gradient(end)), initial=0)
    small = left <= jnp.sqrt(jnp.finfo(dtype).eps) * extent
    return end, root.converged & small


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
    throw: bool = True,
) -> Projection:
    r"""The nearest consistent state: first `y` onto `g = 0`, then `z` onto `gdot = k = 0`.

    Coordinates move along `v_z`, so that they remain reachable; distance is measured in the
    mass metric `p_z`, or with unit weights. Or chosen coordinates are held fixed, and the
    others move as little as possible. Differentiable with respect to `y`, `z`, `t`, `args`.

    **Arguments:**

    - `system`: the constrained system.
    - `t`, `y`, `z`, `args`: the state to project.
    - `metric`: `"mass"` (the kinetic energy of the change) or `"identity"`.
    - `hold_y`, `hold_z`: booleans structured as `y`, `z` (or a prefix that broadcasts):
        true where the value must stay. Unit weights are used for the others.
    - `throw`: whether to raise an error if it fails, rather than return the result.

    **Returns:** a [`jaxspark.Projection`][].

    **Raises:** `RuntimeError` with the violated constraint, if `throw` and it fails.

    Source: E. Hairer, Ch. Lubich & G. Wanner, *Geometric Numerical Integration*, IV.4
    (4.2), in the metric of VII.1.
    """
    if metric not in ("mass", "identity"):
        raise ValueError(f'metric must be "mass" or "identity"; got {metric!r}.')
    y, z = as_state("y", y), as_state("z", z)
    dtype = jnp.result_type(*jax.tree.leaves(y))
    t = jnp.asarray(t, dtype)
    flat, y0, z0 = flatten(system, t, y, z, args)
    parameters = (flat, t, y0, z0)
    use_mass = metric == "mass"

    def mass(parameters):
        flat, t, y0, z0 = parameters
        identity = jnp.eye(flat.nz, dtype=dtype)
        return identity if flat.p is None else jax.jacfwd(flat.p, 2)(t, y0, z0)

    def velocity_jacobian(parameters):
        flat, t, y0, z0 = parameters
        identity = jnp.eye(flat.nz, dtype=dtype)
        return identity if flat.v is None else jax.jacfwd(flat.v, 2)(t, y0, z0)

    def choice(hold, state, size, in_mass_metric, directions):
        """`(directions, weight, number of them)`."""
        static = _directions(state, size, hold)
        if static is not None:
            columns = jnp.asarray(static, dtype)
            free = static.shape[1]
            return (lambda _: columns), (lambda _: jnp.eye(free, dtype=dtype)), free
        if in_mass_metric:
            return directions, mass, flat.nz
        identity = jnp.eye(size, dtype=dtype)
        return (lambda _: identity), (lambda _: identity), size

    y1, good_y = _nearest(
        lambda y, p: p[0].holonomic(p[1], y),
        parameters,
        lambda parameters: parameters[2],
        *choice(hold_y, y, flat.ny, use_mass, velocity_jacobian),
        flat.nlam,
        dtype,
    )
    parameters = (flat, t, y1, z0)
    z1, good_z = _nearest(
        lambda z, p: velocity_constraints(p[0], p[1], p[2], z),
        parameters,
        lambda parameters: parameters[3],
        *choice(hold_z, z, flat.nz, use_mass, lambda _: jnp.eye(flat.nz, dtype=dtype)),
        flat.nlam + flat.npsi,
        dtype,
    )
    good = good_y & good_z
    g, gdot, k = flat_residuals(flat, t, y1, z1)
    residuals = ConstraintResiduals(
        flat.unravel_lam(g), flat.unravel_lam(gdot), flat.unravel_psi(k)
    )
    y_out = flat.unravel_y(jnp.where(good, y1, y0))
    z_out = flat.unravel_z(jnp.where(good, z1, z0))
    result = RESULTS.where(good, RESULTS.successful, RESULTS.projection_failed)
    rank = constraint_rank(system, t, y_out, z_out, args)
    projection = Projection(y_out, z_out, result, residuals, rank)
    return _raise(projection) if throw else projection


def _raise(projection: Projection) -> Projection:
    failed = projection.result != RESULTS.successful
    if isinstance(failed, jax.core.Tracer):
        return projection.result.error_if(projection, failed)
    if failed:
        raise RuntimeError(f"{RESULTS[RESULTS.projection_failed]} {projection.violation()}")
    return projection
