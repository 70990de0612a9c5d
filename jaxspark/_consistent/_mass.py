"""Whether the mass matrix is one: symmetric, and positive on what the constraints leave free."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .._custom_types import Args, BoolScalar, FloatScalar, State
from .._implicit import lazily
from .._system import AbstractConstrainedSystem, FlatSystem, flatten
from ._residuals import constraint_jacobian


# Of a direction, in words.
MOST_ENTRIES = 6


def sound_mass(
    system: FlatSystem, t: FloatScalar, y: Float[Array, " ny"], z: Float[Array, " nz"]
) -> BoolScalar:
    """Whether it is symmetric, and positive semidefinite on velocities that `C` leaves free.

    True where `p_z` need not be a mass matrix, as that of a Lagrangian, which only has to be
    regular; and where it is not finite, which others tell. Of a system of many blocks none may be
    negative.

    Source: P. Finsler's lemma (1937): `M` is positive definite on the kernel of `C` if and only if
    `M + s C^T C` is for large `s`.
    """
    if not system.kinetic or system.p is None:
        return jnp.asarray(True)
    if system.blocks is not None:
        K = jax.lax.stop_gradient(system.blocks(t, y, z).matrix.K)
        return jnp.all(jax.vmap(_sound_block)(K))
    M = system.mass(t, y, z)
    assert M is not None
    M = jax.lax.stop_gradient(M)

    def on_the_free(operands):
        M, y = operands
        C = jax.lax.stop_gradient(constraint_jacobian(system, t, y, z))
        return _semidefinite(_with_constraints(M, C))

    good = _semidefinite(M)
    if system.nlam + system.npsi:
        good = lazily(~good, on_the_free, (M, jax.lax.stop_gradient(y)), good)
    return good & _symmetric(M)


def _sound_block(M: Float[Array, "n n"]) -> BoolScalar:
    """Whether a block is symmetric, and not the negative of a mass matrix."""
    negative = _semidefinite(-M) & jnp.any(jnp.diagonal(M) < 0)
    return _symmetric(M) & ~negative


def _units(diagonal: Float[Array, " n"]) -> Float[Array, " n"]:
    """In which entries of the diagonal are 1, -1 or 0."""
    sizes = jnp.abs(diagonal)
    return jnp.where(sizes > 0, jax.lax.rsqrt(jnp.where(sizes > 0, sizes, 1)), 1)


def _symmetric(M: Float[Array, "n n"]) -> BoolScalar:
    tolerance = jnp.finfo(M.dtype).eps ** 0.5
    units = _units(jnp.diagonal(M))
    scaled = units[:, None] * M * units[None, :]
    wrong = jnp.abs(scaled - scaled.T) > tolerance * (1 + jnp.abs(scaled) + jnp.abs(scaled.T))
    return ~jnp.any(wrong)


def _semidefinite(M: Float[Array, "n n"]) -> BoolScalar:
    """By the pivots of an elimination without exchanges, in units in which the diagonal is 1.

    Of massless coordinates pivot and row are zero.
    """
    n, tolerance = M.shape[0], jnp.finfo(M.dtype).eps ** 0.5
    diagonal = jnp.diagonal(M)
    units = _units(diagonal)
    scaled = units[:, None] * M * units[None, :]
    massless = jnp.abs(jnp.where(diagonal[:, None] == 0, M, 0))
    coupled = jnp.any(massless > tolerance * jnp.max(jnp.abs(M), initial=0))

    def trip(_, carry):
        work, smallest = carry
        pivot = work[0, 0]
        row = jnp.where(pivot > tolerance, work[0, 1:] / jnp.where(pivot == 0, 1, pivot), 0)
        others = work[1:, 1:] - work[1:, :1] * row[None, :]
        return jnp.pad(others, ((0, 1), (0, 1))), jnp.minimum(smallest, pivot)

    start = scaled, jnp.zeros((), M.dtype)
    _, smallest = jax.lax.fori_loop(np.int32(0), np.int32(n), trip, start)
    return ~((smallest < -tolerance) | coupled)


def _with_constraints(M: Float[Array, "n n"], C: Float[Array, "m n"]) -> Float[Array, "n n"]:
    """`M + s Q Q^T` in units of the masses, columns of `Q` being an orthonormal basis of those of
    `C^T`.
    """
    units = _units(jnp.diagonal(M))
    Q, _ = jnp.linalg.qr((C * units[None, :]).T)
    scaled = units[:, None] * M * units[None, :]
    s = jnp.finfo(M.dtype).eps ** -0.25 * jnp.maximum(1, jnp.max(jnp.abs(scaled))) ** 2
    return scaled + s * (Q @ Q.T)


def describe_mass(
    system: AbstractConstrainedSystem, t: FloatScalar, y: State, z: State, args: Args
) -> str:
    """What is wrong with the mass matrix, in words."""
    flat, y, z = flatten(system, t, y, z, args)
    if flat.blocks is not None:
        K = flat.blocks(t, y, z).matrix.K
        block = int(jnp.argmin(jax.vmap(_sound_block)(K)))
        return f"Of block {block}: {_fault(np.asarray(K[block]), np.zeros((0, K.shape[1])))}"
    M = flat.mass(t, y, z)
    assert M is not None
    return _fault(np.asarray(M), np.asarray(constraint_jacobian(flat, t, y, z)))


def _fault(M: Float[np.ndarray, "n n"], C: Float[np.ndarray, "m n"]) -> str:
    if not bool(_symmetric(jnp.asarray(M))):
        i, j = np.unravel_index(np.argmax(np.abs(M - M.T)), M.shape)
        return f"Entry [{i}, {j}] is {M[i, j]:.6g}, but entry [{j}, {i}] is {M[j, i]:.6g}."
    free = np.eye(len(M)) if not len(C) else np.linalg.svd(C)[2][np.linalg.matrix_rank(C) :].T
    values, vectors = np.linalg.eigh(free.T @ M @ free)
    direction = free @ vectors[:, 0]
    greatest = np.sort(np.argsort(-np.abs(direction))[:MOST_ENTRIES])
    entries = ", ".join(f"{direction[i]:.6g} in entry {i}" for i in greatest if direction[i] != 0)
    return f"Its smallest eigenvalue is {values[0]:.6g} there, for the velocity with {entries}."
