"""How the flat vectors of a system fall into blocks."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from ._gather import take
from ._pattern import BlockMatrix, Pattern


class Positions:
    """Where the entries of each block are in a vector, and the way back; static, hashable.

    **Arguments:**

    - `index`: shape `(nb, q)`; the size of the vector where a block is padded.
    - `size`: of the vector.
    """

    def __init__(self, index: Int[np.ndarray, "nb q"], size: int):
        self.index, self.size = index, size
        back = np.zeros(size, int)
        inside = index.ravel() < size
        back[index.ravel()[inside]] = np.flatnonzero(inside)
        self.back = back
        self._key = (index.shape, index.tobytes(), size)

    def __hash__(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Positions) and self._key == other._key

    def gather(self, x: Float[Array, "m n"]) -> Float[Array, "nb q m"]:
        """Vectors, one in each row, block by block."""
        x = x.T
        if self.index.max(initial=0) >= self.size:
            x = jnp.concatenate([x, jnp.zeros((1, x.shape[1]), x.dtype)])
        return take(x, self.index)

    def scatter(self, x: Float[Array, "nb q m"]) -> Float[Array, "m n"]:
        """The way back."""
        return take(x.reshape(-1, x.shape[2]), self.back).T


class Structure:
    """Which entries of the flat state and of the multipliers belong to which block.

    Static and hashable: compared by value.

    **Arguments:**

    - `pattern`: of K2: the blocks are those of `p_z`, the rows those of `g_y v_z`, in the order
        of the multipliers, and then those of `k_z`.
    - `holonomic`: that of K3, without the rows of `k_z`.
    - `z_index`: where the unknowns of each block are in the flat velocities, shape `(nb, q)`;
        their number where it is padded.
    - `y_index`: the same for coordinates, shape `(nb, qy)`.
    - `ny`: the number of coordinates.
    """

    pattern: Pattern
    holonomic: Pattern
    z: Positions
    y: Positions

    def __init__(
        self,
        pattern: Pattern,
        holonomic: Pattern,
        z_index: Int[np.ndarray, "nb q"],
        y_index: Int[np.ndarray, "nb qy"],
        ny: int,
    ):
        self.pattern, self.holonomic = pattern, holonomic
        self.z = Positions(z_index, int(pattern.sizes.sum()))
        self.y = Positions(y_index, ny)
        self._key = (pattern, holonomic, self.z, self.y)

    def __hash__(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Structure) and self._key == other._key

    def __repr__(self) -> str:
        return f"Structure({self.pattern})"


class BlockValues(eqx.Module):
    """The derivatives of a system at one point, block by block.

    - `matrix`: `K = p_z`, `B = [g_y v_z; k_z]` and `C = -[r_lam, f_psi]^T`, of K2.
    - `v_z`: how the coordinates of each block follow from its velocities; `None` where `v = z`.
    - `bias`: what the time derivatives of `[gdot; k]` have besides `B z'`; `None` if it is not
        known.
    """

    matrix: BlockMatrix
    v_z: Float[Array, "nb qy q"] | None
    bias: Float[Array, " m"] | None = None

    def holonomic(self, count: int) -> BlockMatrix:
        """The matrix without all rows but the first `count`."""
        K, B, C = self.matrix.K, self.matrix.B, self.matrix.C
        return BlockMatrix(K, B[:count], None if C is None else C[:count], self.matrix.diagonal)
