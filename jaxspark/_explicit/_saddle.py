"""The saddle-point problem of an evaluation at a state, by a dense matrix or by blocks."""

import abc
from collections.abc import Callable
from typing import Any, TypeAlias

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from .._kkt import Saddle, saddle_by_parts
from .._system import AbstractMasses


# `(M, C, rhs) -> (solution, regular)`, with right-hand sides in columns.
Eliminate: TypeAlias = Callable[[Any, Any, Any], tuple[Any, Any]]


class AbstractSaddle(eqx.Module):
    """`[[M, C^T], [C, 0]]` at a state, and `v_z`, the Jacobian of the derivative of `y`."""

    @abc.abstractmethod
    def solve(self, rhs: Float[Array, " n2"]) -> tuple[Float[Array, " n2"], Bool[Array, ""]]:
        """The solution, and whether the matrix is regular."""

    @abc.abstractmethod
    def solve_transposed(self, rhs: Float[Array, " n2"]) -> Float[Array, " n2"]:
        """The solution with the transposed matrix."""

    @abc.abstractmethod
    def along(self, u: Float[Array, " nz"]) -> Float[Array, " ny"]:
        """`v_z u`."""

    @abc.abstractmethod
    def back(self, y: Float[Array, " ny"]) -> Float[Array, " nz"]:
        """`v_z^T y`."""

    @property
    @abc.abstractmethod
    def finite(self) -> Bool[Array, ""]:
        """Whether all that the system gave is."""


class DenseSaddle(AbstractSaddle):
    """By a dense matrix.

    - `M`, `C`: shapes `(nz, nz)` and `(m, nz)`; `M` is `None` where it is the identity.
    - `v_z`: shape `(ny, nz)`; `None` where it is the identity.
    - `eliminate`: how the equations are solved.
    """

    M: Float[Array, "nz nz"] | None
    C: Float[Array, "m nz"]
    v_z: Float[Array, "ny nz"] | None
    eliminate: Eliminate = eqx.field(static=True)

    def solve(self, rhs: Float[Array, " n2"]) -> tuple[Float[Array, " n2"], Bool[Array, ""]]:
        """The solution, and whether the matrix is regular."""
        solution, regular = self.eliminate(self.M, self.C, rhs[:, None])
        return solution[:, 0], regular

    def solve_transposed(self, rhs: Float[Array, " n2"]) -> Float[Array, " n2"]:
        """The solution with the transposed matrix."""
        transposed = None if self.M is None else self.M.T
        return self.eliminate(transposed, self.C, rhs[:, None])[0][:, 0]

    def along(self, u: Float[Array, " nz"]) -> Float[Array, " ny"]:
        """`v_z u`."""
        return _along(self.v_z, u)

    def back(self, y: Float[Array, " ny"]) -> Float[Array, " nz"]:
        """`v_z^T y`."""
        return _back(self.v_z, y)

    @property
    def finite(self) -> Bool[Array, ""]:
        """Whether all that the system gave is."""
        finite = jnp.isfinite(jnp.sum(self.C))
        return finite if self.M is None else finite & jnp.isfinite(jnp.sum(self.M))


class PartsSaddle(AbstractSaddle):
    """With a mass matrix by its parts.

    - `masses`: the mass matrix.
    - `C`, `v_z`: as of `DenseSaddle`.
    """

    masses: AbstractMasses
    C: Float[Array, "m nz"]
    v_z: Float[Array, "ny nz"] | None

    def solve(self, rhs: Float[Array, " n2"]) -> tuple[Float[Array, " n2"], Bool[Array, ""]]:
        """The solution, and whether the matrix is regular."""
        solution, regular = saddle_by_parts(self.masses, self.C, rhs[:, None])
        return solution[:, 0], regular

    def solve_transposed(self, rhs: Float[Array, " n2"]) -> Float[Array, " n2"]:
        """The solution with the transposed matrix, which is the same."""
        return self.solve(rhs)[0]

    def along(self, u: Float[Array, " nz"]) -> Float[Array, " ny"]:
        """`v_z u`."""
        return _along(self.v_z, u)

    def back(self, y: Float[Array, " ny"]) -> Float[Array, " nz"]:
        """`v_z^T y`."""
        return _back(self.v_z, y)

    @property
    def finite(self) -> Bool[Array, ""]:
        """Whether all that the system gave is."""
        leaves = [self.C, *jax.tree.leaves(eqx.filter(self.masses, eqx.is_inexact_array))]
        return jnp.isfinite(sum(jnp.sum(x) for x in leaves))


class BlockSaddle(AbstractSaddle):
    """By blocks.

    - `saddle`: with its factors.
    - `nz`: the number of velocities.
    """

    saddle: Saddle
    nz: int = eqx.field(static=True)

    def solve(self, rhs: Float[Array, " n2"]) -> tuple[Float[Array, " n2"], Bool[Array, ""]]:
        """The solution, and whether the matrix is regular."""
        solution = self._solve(rhs)
        return solution, jnp.all(jnp.isfinite(solution)) | ~jnp.isfinite(jnp.sum(rhs))

    def _solve(self, rhs: Float[Array, " n2"]) -> Float[Array, " n2"]:
        return jnp.concatenate(self.saddle.solve(rhs[: self.nz], rhs[self.nz :]))

    def solve_transposed(self, rhs: Float[Array, " n2"]) -> Float[Array, " n2"]:
        """The solution with the transposed matrix."""
        return jax.linear_transpose(self._solve, rhs)(rhs)[0]

    def along(self, u: Float[Array, " nz"]) -> Float[Array, " ny"]:
        """`v_z u`."""
        return self.saddle.along(u[None, :])[0]

    def back(self, y: Float[Array, " ny"]) -> Float[Array, " nz"]:
        """`v_z^T y`."""
        like = jax.ShapeDtypeStruct((self.nz,), y.dtype)
        return jax.linear_transpose(self.along, like)(y)[0]

    @property
    def finite(self) -> Bool[Array, ""]:
        """Whether all that the system gave is."""
        matrix = self.saddle.values.matrix
        return jnp.isfinite(jnp.sum(matrix.K) + jnp.sum(matrix.B))


def _along(v_z: Float[Array, "ny nz"] | None, u: Float[Array, " nz"]) -> Float[Array, " ny"]:
    return u if v_z is None else jnp.sum(v_z * u[None, :], 1)


def _back(v_z: Float[Array, "ny nz"] | None, y: Float[Array, " ny"]) -> Float[Array, " nz"]:
    return y if v_z is None else jnp.sum(v_z * y[:, None], 0)
