"""A saddle point matrix to solve with, and what is true of it whoever solves."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from scipy import sparse

from jaxspark._blocks._klu import coordinates
from jaxspark._blocks._pattern import BlockMatrix, Pattern


@dataclass(frozen=True)
class Case:
    """A matrix: its name, its structure and its values."""

    name: str
    pattern: Pattern
    matrix: BlockMatrix

    def right_hand_side(self, seed: int = 1, columns: int = 1) -> tuple[jax.Array, jax.Array]:
        """`(f, g)`, normally distributed."""
        rng, nb, q = np.random.default_rng(seed), self.pattern.num_blocks, self.pattern.width
        inside = np.arange(q) < self.pattern.sizes[:, None]
        f = rng.normal(size=(nb, q, columns)) * inside[..., None]
        return jnp.asarray(f), jnp.asarray(rng.normal(size=(self.pattern.num_rows, columns)))

    def compact(self, x: jax.Array, lam: jax.Array) -> np.ndarray:
        """Unknowns and multipliers, one after the other and without padding."""
        blocks, columns = np.asarray(x), x.shape[-1]
        own = blocks.reshape(-1, columns)[self.pattern.unknowns]
        return np.concatenate([own, np.asarray(lam)])

    def csc(self) -> sparse.csc_matrix:
        """The same matrix for SciPy, without the zeros inside its blocks."""
        entries = coordinates(self.pattern)
        where = entries.rows, entries.columns
        shape = entries.size, entries.size
        matrix = sparse.csc_matrix((np.asarray(entries.values(self.matrix)), where), shape)
        matrix.eliminate_zeros()
        return matrix

    def backward_error(
        self, solution: tuple[jax.Array, jax.Array], rhs: tuple[jax.Array, jax.Array]
    ) -> float:
        """Normwise: `|A x - b| / (|A| |x| + |b|)` in the maximum norm; inf if not finite."""
        A, x, b = self.csc(), self.compact(*solution), self.compact(*rhs)
        if not np.all(np.isfinite(x)):
            return float("inf")
        norm = np.max(abs(A).sum(1))
        scale = norm * np.max(np.abs(x)) + np.max(np.abs(b))
        return float(np.max(np.abs(A @ x - b)) / scale)

    def nonsymmetric(self, by: float = 0.1, seed: int = 3) -> "Case":
        """With forces that are not ideal, and blocks `K` that are not symmetric."""
        rng, B, K = np.random.default_rng(seed), self.matrix.B, self.matrix.K
        inside = np.arange(self.pattern.width) < self.pattern.sizes[:, None]
        pairs = inside[:, :, None] & inside[:, None, :]
        own = K + by * jnp.asarray(rng.normal(size=K.shape) * pairs)
        forces = B + by * jnp.asarray(rng.normal(size=B.shape) * self.pattern.entries)
        name = f"{self.name}, nonsymmetric"
        return Case(name, self.pattern, BlockMatrix(own, B, forces))
