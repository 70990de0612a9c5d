"""Linear maps between velocities, coordinates and multipliers, dense or block by block."""

import abc

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .._blocks import both_ends, Positions, product, transpose
from .._custom_types import FloatScalar


class AbstractMap(eqx.Module):
    """A matrix that is applied to the rows of an array."""

    @abc.abstractmethod
    def times(self, x: Float[Array, "m j"]) -> Float[Array, "m i"]:
        """The matrix times each row."""

    @abc.abstractmethod
    def transposed_times(self, x: Float[Array, "m i"]) -> Float[Array, "m j"]:
        """Its transpose times each row."""

    @abc.abstractmethod
    def largest(self) -> FloatScalar:
        """Its largest entry."""


class Matrix(AbstractMap):
    """A dense matrix."""

    entries: Float[Array, "i j"]

    def times(self, x: Float[Array, "m j"]) -> Float[Array, "m i"]:
        return jnp.sum(self.entries[None, :, :] * x[:, None, :], 2)

    def transposed_times(self, x: Float[Array, "m i"]) -> Float[Array, "m j"]:
        return jnp.sum(self.entries[None, :, :] * x[:, :, None], 1)

    def largest(self) -> FloatScalar:
        return jnp.max(jnp.abs(self.entries), initial=0)


class BlockDiagonal(AbstractMap):
    """Blocks on the diagonal.

    - `blocks`: padded ones; what is padded is ignored.
    - `rows`, `columns`: where they belong.
    """

    blocks: Float[Array, "nb i j"]
    rows: Positions = eqx.field(static=True)
    columns: Positions = eqx.field(static=True)

    def times(self, x: Float[Array, "m j"]) -> Float[Array, "m i"]:
        parts = self.columns.gather(x)
        return self.rows.scatter(product(self.blocks, parts))

    def transposed_times(self, x: Float[Array, "m i"]) -> Float[Array, "m j"]:
        parts = self.rows.gather(x)
        return self.columns.scatter(product(transpose(self.blocks), parts))

    def largest(self) -> FloatScalar:
        inside = (self.rows.index < self.rows.size)[:, :, None]
        inside = inside & (self.columns.index < self.columns.size)[:, None, :]
        return jnp.max(jnp.where(inside, jnp.abs(self.blocks), 0), initial=0)


class RowsTransposed(AbstractMap):
    """`-C^T` for rows `C` that touch two blocks each.

    - `entries`: of each row for its two blocks.
    - `bodies`: which blocks these are, -1 for none: a static tuple of pairs.
    """

    entries: Float[Array, "n 2 q"]
    bodies: tuple[tuple[int, int], ...] = eqx.field(static=True)
    columns: Positions = eqx.field(static=True)

    def times(self, x: Float[Array, "m j"]) -> Float[Array, "m i"]:
        nb, q = self.columns.index.shape
        pushes = self.entries[..., None] * x.T[:, None, None, :]
        total = jnp.zeros((nb + 1, q, x.shape[0]), x.dtype)
        total = total.at[np.asarray(self.bodies, int).reshape(-1, 2)].add(-pushes)
        return self.columns.scatter(total[:-1])

    def transposed_times(self, x: Float[Array, "m i"]) -> Float[Array, "m j"]:
        parts = self.columns.gather(x)
        parts = jnp.concatenate([parts, jnp.zeros((1, *parts.shape[1:]), parts.dtype)])
        there = parts[np.asarray(self.bodies, int).reshape(-1, 2)]
        return -both_ends(self.entries, there).T

    def largest(self) -> FloatScalar:
        return jnp.max(jnp.abs(self.entries), initial=0)
