"""The linear systems of an iteration, bordered with multipliers or reduced to the tangent space."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from .._kkt import lu_factors
from .._system import FlatSystem
from ._equations import Residuals
from ._split import Split


class Projected(eqx.Module):
    """Residuals of the coordinate-split equations.

    - `kinematic`, `dynamic`: `P r1` and `P r2`.
    - `velocity`, `position`: as in `Residuals`.

    Source: J. Yen & L. Petzold, *An efficient Newton-type iteration for the numerical solution of
    highly oscillatory constrained multibody dynamic systems*, equation (2.12).
    """

    kinematic: Float[Array, " p1"]
    dynamic: Float[Array, " p2"]
    velocity: Float[Array, " m"]
    position: Float[Array, " nlam"]


class Splits(eqx.Module):
    """The splittings of coordinates, by `G`, and of velocities, by `C = [G; k_v]`.

    Without nonholonomic constraints they are the same.
    """

    position: Split
    velocity: Split

    def project(self, found: Residuals) -> Projected:
        """The residuals, multiplied by the annihilators."""
        return Projected(
            self.position.annihilate(found.kinematic),
            self.velocity.annihilate(found.dynamic),
            found.velocity,
            found.position,
        )

    def multipliers(self, found: Residuals) -> Float[Array, " multipliers"]:
        """`[mu; lam]` with which the residuals vanish at the dependent coordinates."""
        mu = self.position.multipliers(found.kinematic)
        return jnp.concatenate([mu, self.velocity.multipliers(found.dynamic)])


class Bordered(eqx.Module):
    """Factors of the matrix with multipliers.

    [A11 A12 G^T 0; A21 A22 0 C^T; (C v)_q C 0 0; G 0 0 0]
    """

    factors: eqx.Module

    def solve_all(self, rhs: Float[Array, " unknowns"]) -> Float[Array, " unknowns"]:
        """With the matrix itself, multipliers included."""
        return self.factors.solve(rhs[None, :])[0]  # pyright: ignore

    def solve(self, splits: Splits, rhs: Projected) -> Float[Array, " states"]:
        """`(dq, dv)` from projected residuals, lifted so that `P` gives them back."""
        kinematic = splits.position.lift(rhs.kinematic)
        dynamic = splits.velocity.lift(rhs.dynamic)
        full = jnp.concatenate([kinematic, dynamic, rhs.velocity, rhs.position])
        return self.solve_all(full)[: 2 * kinematic.size]


class Reduced(eqx.Module):
    """The same, reduced to the tangent space.

    - `upper`: the first `2 n` rows of the matrix, the multipliers' columns left out.
    - `rate_gradient`: `(C v)_q`.
    - `factors`: of the matrix of the independent coordinates and velocities.
    """

    upper: Float[Array, "states states"]
    rate_gradient: Float[Array, "m n"]
    factors: eqx.Module

    def solve(self, splits: Splits, rhs: Projected) -> Float[Array, " states"]:
        """`dq = B g + T a` and `dv = B ([gdot; k] - (C v)_q dq) + T w`, by elimination.

        Source: J. Yen & L. Petzold, as above, equations (2.19)-(2.21) for one block and its two
        parts; the equations for `a` and `w` follow from (2.14).
        """
        n, (T1, T2) = self.rate_gradient.shape[1], _tangents(splits)
        normal = splits.velocity.normal()
        dq = splits.position.normal() @ rhs.position
        dv = normal @ (rhs.velocity - self.rate_gradient @ dq)
        done = self.upper @ jnp.concatenate([dq, dv])
        left = jnp.concatenate([
            rhs.kinematic - T1.T @ done[:n], rhs.dynamic - T2.T @ done[n:]
        ])  # fmt: skip
        a, w = jnp.split(self.factors.solve(left[None, :])[0], [T1.shape[1]])  # pyright: ignore
        along = T1 @ a
        return jnp.concatenate([
            dq + along, dv - normal @ (self.rate_gradient @ along) + T2 @ w
        ])  # fmt: skip


def _tangents(splits: Splits) -> tuple[Array, Array]:
    return splits.position.tangent(), splits.velocity.tangent()


def bordered(matrix: Float[Array, "unknowns unknowns"]) -> Bordered:
    """Factorise the matrix with multipliers."""
    return Bordered(lu_factors(matrix))


def reduced(
    system: FlatSystem, splits: Splits, matrix: Float[Array, "unknowns unknowns"]
) -> Reduced:
    """Reduce the matrix with multipliers to the tangent space, and factorise what is left.

    Both give the same iteration. This one needs `2 p` unknowns, `p = n - m`, the other
    `2 (n + m)`.
    """
    n, m = system.ny, system.nlam + system.npsi
    upper, rates = matrix[: 2 * n, : 2 * n], matrix[2 * n : 2 * n + m, :n]
    T1, T2 = _tangents(splits)
    below = -splits.velocity.normal() @ (rates @ T1)
    columns = jnp.block([[T1, jnp.zeros((n, T2.shape[1]), T1.dtype)], [below, T2]])
    rows = upper @ columns
    small = jnp.concatenate([T1.T @ rows[:n], T2.T @ rows[n:]])
    return Reduced(upper, rates, lu_factors(small))
