"""How well a state satisfies the constraints, and whether they are independent."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from .._blocks import weakest
from .._custom_types import Args, FloatScalar, RealScalarLike, State
from .._system import (
    AbstractConstrainedSystem,
    as_state,
    FlatSystem,
    flatten,
    over_times,
    value_and_jacobian,
)
from ._rank_blocks import weakest_combination


# Beyond this a dense singular value decomposition takes longer than the simulation.
LARGEST_DENSE = 256


class ConstraintResiduals(eqx.Module):
    """The values of the constraint functions, zero at a consistent state.

    - `g`: holonomic constraints, structured as what `g` returns.
    - `gdot`: their time derivatives `g_t + g_y v`.
    - `k`: nonholonomic constraints, structured as what `k` returns.
    """

    g: Any
    gdot: Any
    k: Any


class ConstraintRank(eqx.Module):
    """Whether the constraints at a state are independent.

    - `rank`: of the constraint Jacobian `[g_y v_z; k_z]`.
    - `size`: the number of constraints.
    - `null_direction`: the combination of the constraints, `(lam, psi)` of norm 1, that is
        closest to being redundant; meaningful if `rank < size`.
    - `singular_values`: those of the Jacobian with rows scaled to norm 1, in descending order.
        For systems of blocks with more than 256 constraints only the smallest; `rank` is then
        `size` or, whatever the deficiency is, `size - 1`.
    """

    rank: Int[Array, ""]
    size: int = eqx.field(static=True)
    null_direction: tuple[Any, Any]
    singular_values: Float[Array, " m"]


def flat_residuals(
    system: FlatSystem,
    t: FloatScalar,
    y: Float[Array, " ny"],
    z: Float[Array, " nz"],
) -> tuple[Float[Array, " nlam"], Float[Array, " nlam"], Float[Array, " npsi"]]:
    """`(g, gdot, k)` at a state."""
    if system.accelerations is not None:
        # Without derivatives of kinematics.
        b = system.accelerations(t, y, z, jnp.zeros((), y.dtype)).b
        return system.holonomic(t, y), b[: system.nlam], b[system.nlam :]
    return (
        system.holonomic(t, y),
        system.holonomic_rate(t, y, z),
        system.nonholonomic(t, y, z),
    )


def _prepare(system, t, y, z, args):
    y, z = as_state("y", y), as_state("z", z)
    t = jnp.asarray(t, jnp.result_type(*jax.tree.leaves(y)))
    flat, flat_y, flat_z = flatten(system, t, y, z, args)
    return flat, t, flat_y, flat_z


def constraint_residuals(
    system: AbstractConstrainedSystem,
    t: Any,
    y: State,
    z: State,
    args: Args = None,
) -> ConstraintResiduals:
    """Evaluate the constraints and the time derivative of the holonomic ones.

    **Arguments:**

    - `system`: the constrained system.
    - `t`, `y`, `z`: a time and a state; or a vector of times, and states with a leading axis,
        for instance `solution.ts, solution.ys, solution.zs`.
    - `args`: passed to the system's functions.

    **Returns:** a [`jaxspark.diagnostics.ConstraintResiduals`][], with a leading axis for a vector
    of times.

    **Raises:** `ValueError` if times and states do not match.
    """

    def at(t, y, z):
        flat, flat_y, flat_z = flatten(system, t, y, z, args)
        g, gdot, k = flat_residuals(flat, t, flat_y, flat_z)
        return ConstraintResiduals(flat.unravel_lam(g), flat.unravel_lam(gdot), flat.unravel_psi(k))

    return over_times(at, t, y, z)


def velocity_constraints(
    system: FlatSystem, t: FloatScalar, y: Float[Array, " ny"], z: Float[Array, " nz"]
) -> Float[Array, " m"]:
    """`[gdot; k]`."""
    _, gdot, k = flat_residuals(system, t, y, z)
    return jnp.concatenate([gdot, k])


def constraint_jacobian(
    system: FlatSystem, t: FloatScalar, y: Float[Array, " ny"], z: Float[Array, " nz"]
) -> Float[Array, "m nz"]:
    """`C = [g_y v_z; k_z]`: what all constraints together ask of the accelerations."""
    if system.nlam + system.npsi == 0:
        return jnp.zeros((0, system.nz), z.dtype)
    return value_and_jacobian(lambda z: velocity_constraints(system, t, y, z), z)[1]


def constraint_rank(
    system: AbstractConstrainedSystem,
    t: RealScalarLike,
    y: State,
    z: State,
    args: Args = None,
) -> ConstraintRank:
    """The rank of the constraint Jacobian, and which combination makes it deficient.

    **Arguments:**

    - `system`: the constrained system.
    - `t`, `y`, `z`: a time and a state.
    - `args`: passed to the system's functions.

    **Returns:** a [`jaxspark.diagnostics.ConstraintRank`][]. No gradient flows through it.
    """
    return flat_rank(*_prepare(system, t, y, z, args))


def flat_rank(
    flat: FlatSystem, t: FloatScalar, y: Float[Array, " ny"], z: Float[Array, " nz"]
) -> ConstraintRank:
    """As `constraint_rank`, of a system of vectors."""
    if flat.structure is not None and flat.nlam + flat.npsi > LARGEST_DENSE:
        return _rank_of_blocks(flat, t, y, z)
    jacobian = jax.jacfwd(lambda z: velocity_constraints(flat, t, y, z))(z)
    jacobian = jax.lax.stop_gradient(jacobian)
    size = flat.nlam + flat.npsi
    if size == 0:
        empty = jnp.zeros(0, y.dtype)
        nothing = (flat.unravel_lam(empty), flat.unravel_psi(empty))
        return ConstraintRank(jnp.asarray(0), 0, nothing, empty)
    norms = jnp.linalg.norm(jacobian, axis=1, keepdims=True)
    scaled = jacobian / jnp.where(norms > 0, norms, 1)
    left, values, _ = jnp.linalg.svd(scaled, full_matrices=True)
    values = jnp.concatenate([values, jnp.zeros(size - values.size, values.dtype)])
    threshold = 32 * size * jnp.finfo(values.dtype).eps * jnp.max(values)
    # Back to the unscaled rows: direction^T jacobian = 0.
    direction = left[:, -1] / jnp.where(norms > 0, norms, 1)[:, 0]
    direction = direction / jnp.linalg.norm(direction)
    null = (
        flat.unravel_lam(direction[: flat.nlam]),
        flat.unravel_psi(direction[flat.nlam :]),
    )
    return ConstraintRank(jnp.sum(values > threshold), size, null, values)


def _rank_of_blocks(
    flat: FlatSystem, t: FloatScalar, y: Float[Array, " ny"], z: Float[Array, " nz"]
) -> ConstraintRank:
    assert flat.structure is not None and flat.blocks is not None
    B = jax.lax.stop_gradient(flat.blocks(t, y, z).matrix.B)
    size = B.shape[0]
    norms = jnp.sqrt(jnp.sum(B * B, (1, 2)))
    norms = jnp.where(norms > 0, norms, 1)
    value, direction = weakest_combination(flat.structure.pattern, B / norms[:, None, None])
    direction = direction / norms
    direction = direction / jnp.linalg.norm(direction)
    null = flat.unravel_lam(direction[: flat.nlam]), flat.unravel_psi(direction[flat.nlam :])
    deficient = value <= weakest(value.dtype)
    return ConstraintRank(size - deficient.astype(jnp.int32), size, null, value[None])
