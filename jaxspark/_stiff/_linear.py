"""The linear system of Newton's iteration, reduced to the independent coordinates."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .._custom_types import FloatScalar
from .._jax_internals import mix
from .._kkt import invert_definite, solve_augmented
from .._system import FlatSystem
from ._coefficients import GGLCoefficients
from ._independent import eliminate, Elimination
from ._residual import drift, GGLStages


class StageBlocks(eqx.Module):
    """Derivatives of the terms of the stage equations, each of its own stage alone.

    With `x = (y, z)` of `n = ny + nz` entries and `m = nlam + npsi` velocity constraints:

    - `inertia`: of `(y, p)` by `x`; shape `(s, n, n)`.
    - `motion`: of `(v, force)` by `x`; shape `(s, n, n)`.
    - `drift`: of `v` by `mu`; shape `(s, ny, nlam)`.
    - `reaction`: of the force by `(lam, psi)`; shape `(s, nz, m)`.
    - `position`: of `g` by `y`; shape `(s, nlam, ny)`.
    - `velocity`: of `(gdot, k)` by `x`; shape `(s, m, n)`.
    """

    inertia: Float[Array, "s n n"]
    motion: Float[Array, "s n n"]
    drift: Float[Array, "s ny nlam"]
    reaction: Float[Array, "s nz m"]
    position: Float[Array, "s nlam ny"]
    velocity: Float[Array, "s m n"]


def stage_blocks(
    system: FlatSystem,
    coefficients: GGLCoefficients,
    t0: FloatScalar,
    h: FloatScalar,
    at: GGLStages,
) -> StageBlocks:
    """The derivatives at given stages, by one forward mode for each stage."""
    ny, n = system.ny, system.ny + system.nz

    def terms(t, x, forces, mu):
        y, z = x[:ny], x[ny:]
        lam, psi = forces[: system.nlam], forces[system.nlam :]
        constraints = system.holonomic_rate(t, y, z), system.nonholonomic(t, y, z)
        return (
            system.momentum(t, y, z),
            jnp.concatenate([drift(system, t, y, z, mu), system.force(t, y, z, lam, psi)]),
            jnp.concatenate(constraints),
            system.holonomic(t, y),
        )

    def one(t, x, forces, mu):
        def on_vector(u):
            return terms(t, *jnp.split(u, [n, n + forces.size]))

        return jax.jacfwd(on_vector)(jnp.concatenate([x, forces, mu]))

    T = t0 + jnp.asarray(coefficients.c, h.dtype) * h
    x, forces = jnp.concatenate([at.y, at.z], 1), jnp.concatenate([at.lam, at.psi], 1)
    momentum, motion, velocity, position = jax.vmap(one)(T, x, forces, at.mu)
    identity = jnp.broadcast_to(jnp.eye(ny, n, dtype=h.dtype)[None], (x.shape[0], ny, n))
    return StageBlocks(
        inertia=jnp.concatenate([identity, momentum[:, :, :n]], 1),
        motion=motion[:, :, :n],
        drift=motion[:, :ny, n + forces.shape[1] :],
        reaction=motion[:, ny:, n : n + forces.shape[1]],
        position=position[:, :, :ny],
        velocity=velocity[:, :, :n],
    )


def reduced_solve(
    system: FlatSystem,
    coefficients: GGLCoefficients,
    h: FloatScalar,
    blocks: StageBlocks,
    r: GGLStages,
) -> GGLStages:
    r"""Solve the linearised stage equations with the right-hand side `r`.

    The constraints determine `x_i = B_i c_i + U_i a_i`, and the annihilators `P_i` of what the
    multipliers do leave, for the `s p` unknowns `a`, `p = ny + nz - 2 nlam - npsi`,

        sum_j W_ij / h  P_i E_j U_j a_j - P_i K_i U_i a_i = P_i (r_i - ...)

    with `E` the inertia and `K` the motion of `blocks`, in place of `s (ny + nz + 2 nlam + npsi)`.
    The multipliers follow from the dependent entries.

    With `v = z` and no nonholonomic constraints there are only the `s (ny - nlam)` unknowns of
    the coordinates: with `D` the derivative of the drift by `y`, and `C`, `C'` those of `gdot` by
    `z` and `y`, the equations for `y` and `gdot` determine

        z_i = rate_i - C_i^T (C_i C_i^T)^{-1} (C_i rate_i + C'_i y_i - r_lam,i),
        rate_i = sum_j W_ij / h  y_j - D_i y_i - r_y,i

    Source: J. Yen & L. Petzold, *An efficient Newton-type iteration for the numerical solution of
    highly oscillatory constrained multibody dynamic systems*, equations (2.19)-(2.24), of one
    stage and a constant mass, as corrected for a variable one.
    """
    ny, W = system.ny, coefficients.W
    right, left = _eliminations(system, blocks, h)
    if system.v is None and system.npsi == 0:
        x, first, rows = _by_coordinates(blocks, right[0], r, W, h), ny, left[1].tangent.mT
    else:
        x, first = _by_both(blocks, right, r, ny), 0
        rows = _block_diagonal(left[0].tangent.mT, left[1].tangent.mT)
    terms = jnp.concatenate([blocks.inertia[:, first:], blocks.motion[:, first:]], 1) @ x
    moved, forced = jnp.split(terms, 2, 1)
    rhs = jnp.concatenate([r.y, r.z], 1)[:, first:]
    balance = (mix(W, moved) / h - forced).at[:, :, -1].add(-rhs)
    matrix = rows @ balance
    a = -solve_augmented(matrix.reshape(matrix.shape[2] - 1, matrix.shape[2]))

    x = x[:, :, -1] + jnp.sum(x[:, :, :-1] * a[None, None, :], 2)
    moved, forced = ((block @ x[:, :, None])[:, :, 0] for block in (blocks.inertia, blocks.motion))
    balance = mix(W, moved) / h - forced - jnp.concatenate([r.y, r.z], 1)
    mu = (left[0].normal.mT @ balance[:, :ny, None])[:, :, 0]
    forces = (left[1].normal.mT @ balance[:, ny:, None])[:, :, 0]
    lam, psi = forces[:, : system.nlam], forces[:, system.nlam :]
    return GGLStages(x[:, :ny], x[:, ny:], lam, psi, mu)


def _by_coordinates(
    blocks: StageBlocks,
    coordinates: Elimination,
    r: GGLStages,
    W: np.ndarray,
    h: FloatScalar,
) -> Float[Array, "s n a1"]:
    """`x = X [a; 1]`, with `a` the independent coordinates of all stages, as `reduced_solve` says.

    The right-hand sides are `r.mu`, of `g`, `r.y` and `r.lam`, of `gdot`. In the last column of
    `X` is what `x` is without `a`.
    """
    s, ny = r.y.shape
    C = blocks.velocity[:, :, ny:]
    T, moved = coordinates.tangent, coordinates.normal @ r.mu[:, :, None]
    own = jnp.eye(s, dtype=h.dtype)[:, None, :, None] * T[:, :, None, :]
    y = jnp.concatenate([own.reshape(s, ny, -1), moved], 2)
    rate = mix(W, y) / h - blocks.motion[:, :ny, :ny] @ y
    rate = rate.at[:, :, -1].add(-r.y)
    if C.shape[1] == 0:
        return jnp.concatenate([y, rate], 1)
    off = (blocks.velocity @ jnp.concatenate([y, rate], 1)).at[:, :, -1].add(-r.lam)
    pull = jax.vmap(invert_definite)(C @ C.mT) @ off
    return jnp.concatenate([y, rate - C.mT @ pull], 1)


def _by_both(
    blocks: StageBlocks, right: tuple[Elimination, Elimination], r: GGLStages, ny: int
) -> Float[Array, "s n a1"]:
    """`x = X [a; 1]`, with `a` the independent coordinates and velocities of all stages."""
    s = r.y.shape[0]
    basis, shift = _tangents(blocks, right, r, ny)
    own = jnp.eye(s, dtype=shift.dtype)[:, None, :, None] * basis[:, :, None, :]
    return jnp.concatenate([own.reshape(*shift.shape, -1), shift[:, :, None]], 2)


def _eliminations(
    system: FlatSystem, blocks: StageBlocks, h: FloatScalar
) -> tuple[tuple[Elimination, Elimination], tuple[Elimination, Elimination]]:
    """Of coordinates and velocities by the constraints; and of the multipliers' directions.

    With `v = z` and ideal forces, these are the same but for the sign of the multipliers.
    """
    each, ny = jax.vmap(eliminate), system.ny
    by_y, by_z, rows = _preferences(blocks, h, ny)
    velocities = each(blocks.velocity[:, :, ny:], by_z)
    if system.v is not None or not system.ideal:
        right = each(blocks.position, by_y), velocities
        return right, (each(blocks.drift.mT, by_y), each(blocks.reaction.mT, rows))
    coordinates = each(blocks.position, by_y) if system.npsi else velocities

    def negated(x: Elimination) -> Elimination:
        return Elimination(x.free, x.tangent, -x.normal)

    return (coordinates, velocities), (negated(coordinates), negated(velocities))


def _preferences(
    blocks: StageBlocks, h: FloatScalar, ny: int
) -> tuple[Float[Array, "s ny"], Float[Array, "s nz"], Float[Array, "s nz"]]:
    """Weights of coordinates, velocities and forces: small for what is stiff.

    It has to stay independent. What is expressed by others brings its stiffness among them,
    where it drowns all the rest in rounding errors.
    """
    force, inertia = blocks.motion[:, ny:], blocks.inertia[:, ny:, ny:]
    stiffness = h**2 * force[:, :, :ny]
    felt = jnp.abs(h * force[:, :, ny:] + stiffness @ blocks.motion[:, :ny, ny:])
    light = jnp.max(jnp.abs(inertia), (1, 2))[:, None]

    def weights(x: Float[Array, "s n"]) -> Float[Array, "s n"]:
        return 1 / (jnp.where(light > 0, light, 1) + x)

    return (
        weights(jnp.max(jnp.abs(stiffness), 1)),
        weights(jnp.max(felt, 1)),
        weights(jnp.max(felt, 2)),
    )


def _tangents(
    blocks: StageBlocks, right: tuple[Elimination, Elimination], r: GGLStages, ny: int
) -> tuple[Float[Array, "s n p"], Float[Array, "s n"]]:
    """The directions that the constraints admit, and the displacement that they ask for."""
    coordinates, velocities = right
    by_y = blocks.velocity[:, :, :ny]
    y = coordinates.normal @ r.mu[:, :, None]
    rates = jnp.concatenate([r.lam, r.psi], 1)[:, :, None] - by_y @ y
    shift = jnp.concatenate([y, velocities.normal @ rates], 1)[:, :, 0]
    basis = _block_diagonal(coordinates.tangent, velocities.tangent)
    follow = -velocities.normal @ (by_y @ coordinates.tangent)
    return basis.at[:, ny:, : follow.shape[2]].set(follow), shift


def _block_diagonal(a: Float[Array, "s i j"], b: Float[Array, "s k l"]) -> Array:
    upper = jnp.pad(a, ((0, 0), (0, 0), (0, b.shape[2])))
    lower = jnp.pad(b, ((0, 0), (0, 0), (a.shape[2], 0)))
    return jnp.concatenate([upper, lower], 1)
