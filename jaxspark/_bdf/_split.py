"""Coordinate splitting: which coordinates the constraints determine, and how."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int


class Split(eqx.Module):
    """The splitting of the coordinates by a constraint Jacobian `G`, `m` rows and `n` columns.

    - `order`: the coordinates, the `m` dependent ones (`Y`) before the `p = n - m` independent
        ones (`X`); no derivative flows through the choice.
    - `GY`: the columns of `G` that belong to the dependent coordinates.
    - `Q`: `GY^{-1} GX`.

    The annihilator `P = X^T - Q^T Y^T` has `P G^T = 0`, its transpose `T` spans the tangent space,
    `G T = 0`. It is not orthonormal: `P P^T = I + Q^T Q`.

    Source: J. Yen & L. Petzold, *An efficient Newton-type iteration for the numerical solution of
    highly oscillatory constrained multibody dynamic systems*, equations (2.1)-(2.3).
    """

    order: Int[Array, " n"]
    GY: Float[Array, "m m"]
    Q: Float[Array, "m p"]

    @property
    def dependent(self) -> Int[Array, " m"]:
        """`Y`, as indices."""
        return self.order[: self.GY.shape[0]]

    @property
    def independent(self) -> Int[Array, " p"]:
        """`X`, as indices."""
        return self.order[self.GY.shape[0] :]

    def annihilate(self, r: Float[Array, " n"]) -> Float[Array, " p"]:
        """`P r`."""
        return r[self.independent] - self.Q.T @ r[self.dependent]

    def lift(self, a: Float[Array, " p"]) -> Float[Array, " n"]:
        """The vector with `a` at the independent coordinates, so that `P lift(a) = a`."""
        zeros = jnp.zeros(self.order.shape[0], a.dtype)
        return zeros.at[self.independent].set(a)

    def multipliers(self, r: Float[Array, " n"]) -> Float[Array, " m"]:
        """`s = -GY^{-T} Y^T r`, with which `r + G^T s` vanishes at the dependent coordinates.

        Source: as above, Lemma 2.2.
        """
        return -_solve(self.GY.T, r[self.dependent])

    def tangent(self) -> Float[Array, "n p"]:
        """`T = P^T`, a basis of the directions that the constraints admit."""
        m, p = self.Q.shape
        columns = jnp.concatenate([-self.Q, jnp.eye(p, dtype=self.Q.dtype)])
        return jnp.zeros((m + p, p), self.Q.dtype).at[self.order].set(columns)

    def normal(self) -> Float[Array, "n m"]:
        """`B = Y GY^{-1}`, with `G B = I`."""
        m, p = self.Q.shape
        inverse = _solve(self.GY, jnp.eye(m, dtype=self.Q.dtype))
        return jnp.zeros((m + p, m), self.Q.dtype).at[self.dependent].set(inverse)

    def is_independent(self):
        """Which coordinates are independent, as an array of truth values."""
        return jnp.ones(self.order.shape[0], bool).at[self.dependent].set(False)


def _solve(matrix: Float[Array, "m m"], rhs: Array) -> Array:
    return rhs if matrix.shape[0] == 0 else jnp.linalg.solve(matrix, rhs)


def split(G: Float[Array, "m n"]) -> Split:
    """The splitting by the rows that an LU factorisation of `G^T` takes for pivots.

    Source: as for [`Split`][], equations (2.2) and (2.3).
    """
    m, n = G.shape
    if m == 0:
        return split_as(jnp.arange(n, dtype=jnp.int32), G)
    _, _, order = jax.lax.linalg.lu(jax.lax.stop_gradient(G).T)
    return split_as(order, G)


def split_as(order: Int[Array, " n"], G: Float[Array, "m n"]) -> Split:
    """The splitting with a choice of coordinates made before."""
    m = G.shape[0]
    GY = G[:, order[:m]]
    return Split(order, GY, _solve(GY, G[:, order[m:]]))
