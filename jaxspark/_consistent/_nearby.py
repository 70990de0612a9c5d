"""Back onto the constraints from nearby: the projection that ends a step of a stiff method."""

import jax
import jax.numpy as jnp
from jax.ad_checkpoint import checkpoint_name
from jaxtyping import Array, Float

from .._custom_types import BoolScalar, FloatScalar
from .._implicit import (
    CHECKPOINT_NAME,
    differentiable_root,
    is_noise,
    iterate,
    preconditioned_solve,
    stop_gradient,
)
from .._kkt import inverse, saddle_solve
from .._system import FlatSystem
from ._residuals import constraint_jacobian


# From nearby three or four are enough; where ten are not, the step was too long.
MAX_ITERATIONS = 10
# In units of the machine epsilon: changes that no longer shrink below this are rounding error.
FLOOR = 1e3


def project_nearby(
    system: FlatSystem,
    t: FloatScalar,
    y: Float[Array, " ny"],
    z: Float[Array, " nz"],
    stiffness: Float[Array, " nz"] | None = None,
) -> tuple[Float[Array, " ny"], Float[Array, " nz"], BoolScalar]:
    """A consistent state, along the normal directions of where the projection starts.

    With `C D = I`, the columns of `D` orthogonal in the mass metric to all motions that the
    constraints admit, it is

        y = y0 - v_z D [mu; 0],   z = z0 - D nu,   g(y) = 0,   gdot(y, z) = k(y, z) = 0,

    by `mu <- mu + g`, `nu <- nu + [gdot; k]`: Newton's method with the Jacobian of the start.
    One factorisation, where [`jaxspark.project`][], which finds the nearest state from
    anywhere, needs one in every iteration.

    **Arguments:**

    - `system`: whose constraints are independent.
    - `t`, `y`, `z`: a state that is nearly consistent.
    - `stiffness`: added to the diagonal of the mass matrix, so that what is stiff stays where it
        is.

    **Returns:** `y`, `z`, and whether they satisfy the constraints to rounding error.

    Source: E. Hairer, Ch. Lubich & G. Wanner, *Geometric Numerical Integration*, IV.4 (4.4),
    in the mass metric.
    """
    size = system.nlam + system.npsi
    if size == 0:
        return y, z, jnp.asarray(True)
    operands = (system, t, y, z, *_normal_directions(system, t, y, z, stiffness))
    x, good = _iterate(stop_gradient(operands))
    good = checkpoint_name(good, CHECKPOINT_NAME)
    return *_moved(differentiable_root(_residual, operands, x, _linear_solve), operands), good


def _normal_directions(
    system: FlatSystem,
    t: FloatScalar,
    y: Float[Array, " ny"],
    z: Float[Array, " nz"],
    stiffness: Float[Array, " nz"] | None,
) -> tuple[Float[Array, "ny nlam"], Float[Array, "nz m"]]:
    """`v_z D` for the holonomic constraints, and `D`."""
    size = system.nlam + system.npsi
    M, C = system.mass(t, y, z), constraint_jacobian(system, t, y, z)
    if stiffness is not None:
        M = jnp.diag(stiffness) + (jnp.eye(system.nz, dtype=z.dtype) if M is None else M)
    none, units = jnp.zeros((system.nz, size), z.dtype), jnp.eye(size, dtype=z.dtype)
    D, _ = saddle_solve(M, C, none, units)
    along = D[:, : system.nlam]
    if system.v is not None:
        along = jax.jacfwd(system.v, 2)(t, y, z) @ along
    return along, D


def _moved(x: Float[Array, " m"], operands) -> tuple[Float[Array, " ny"], Float[Array, " nz"]]:
    """The state that belongs to `x = [mu; nu]`."""
    system, _, y, z, along, D = operands
    mu, nu = x[: system.nlam], x[system.nlam :]
    return y - jnp.sum(along * mu[None, :], 1), z - jnp.sum(D * nu[None, :], 1)


def _residual(x: Float[Array, " m"], operands) -> Float[Array, " m"]:
    """`-[g; gdot; k]`, whose Jacobian is nearly the identity."""
    system, t = operands[:2]
    y, z = _moved(x, operands)
    parts = []
    if system.g is not None:
        parts += jax.jvp(system.g, (t, y), (jnp.ones_like(t), system.velocity(t, y, z)))
    if system.k is not None:
        parts.append(system.k(t, y, z))
    return -jnp.concatenate(parts)


def _iterate(operands) -> tuple[Float[Array, " m"], BoolScalar]:
    """`x <- x - residual(x)`, from zero; whether what is left of it is rounding error."""
    system, t, y, z, along, D = operands
    nothing = jnp.zeros(system.nlam + D.shape[1], y.dtype)
    unmoved = (system, t, jnp.zeros_like(y), jnp.zeros_like(z), along, D)
    # Levers of long chains are short: rounding errors of their angles grow with their number.
    floor = FLOOR * max(1.0, z.size / 500)

    def update(x):
        wrong = _residual(x, operands)
        return x - wrong, _moved(wrong, unmoved)

    def moved(i):
        before, _ = i.x
        x, changes = update(before)
        return (x, before), _relative_size(changes, (y, z))

    def verdict(i):
        return _as_good_as_it_gets(i.size, i.previous, floor), ~(i.size < jnp.inf)

    end = iterate(moved, verdict, (nothing, nothing), y, MAX_ITERATIONS)
    (x, before), done = end.x, end.converged
    # As small as that, updates are linear.
    unknown = ~done & (end.size <= jnp.finfo(y.dtype).eps ** (1 / 3))
    noise = is_noise(
        lambda x: update(x)[1], lambda change: _relative_size(change, (y, z)), x, x - before,
        unknown,
    )  # fmt: skip
    good = done | noise
    return jnp.where(good, x, nothing), good


def _relative_size(
    changes: tuple[Float[Array, " ny"], Float[Array, " nz"]],
    state: tuple[Float[Array, " ny"], Float[Array, " nz"]],
) -> FloatScalar:
    """The larger of the changes of coordinates and velocities, by 1 plus the largest of them."""

    def relative(change, part):
        largest = [jnp.max(jnp.abs(x), initial=0) for x in (change, part)]
        return largest[0] / (1 + largest[1])

    return jnp.maximum(*map(relative, changes, state))


def _as_good_as_it_gets(size: FloatScalar, previous: FloatScalar, floor: float) -> BoolScalar:
    """Whether what is left of changes is rounding error.

    - `size`, `previous`: of the last change, and of the one before (infinite, if there is none).
    - `floor`: of changes that no longer shrink, in units of the machine epsilon.
    """
    epsilon = jnp.finfo(size.dtype).eps
    rate = size / previous
    converged = (previous < jnp.inf) & (rate < 1) & (rate * size <= epsilon * (1 - rate))
    stalled = (rate >= 0.9) & (size <= floor * epsilon)
    return converged | stalled | (size <= epsilon)


def _linear_solve(matvec, rhs, at, operands):
    inverted = inverse(jax.jacfwd(_residual)(*stop_gradient((at, operands))))
    return preconditioned_solve(
        matvec, lambda b: inverted @ b, lambda b: inverted.T @ b, rhs, (1.0,), exact=True
    )
