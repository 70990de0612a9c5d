"""Where a block-structured saddle point matrix has entries, and its values there."""

from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from ._small import both_ends, product


class Pattern:
    r"""The structure of `[[K, C^T], [B, 0]]`: blocks of unknowns, rows that touch two of them.

    `K` is block-diagonal. Each row of `B` (a constraint) has entries in the unknowns of at most
    two blocks, and the row of `C` (its force) in the same. Patterns are static and hashable, and
    are compared by value.

    **Arguments:**

    - `sizes`: the number of unknowns of each block, shape `(nb,)`.
    - `rows`: the first and the second block that each row touches, shape `(m, 2)`; -1 where
        there is none (the ground).
    - `entries`: for which unknowns of these blocks a row has entries, whatever the state: booleans
        of shape `(m, 2, q)`, with `q` the largest size. Default: all of them.
    - `labels`: a name for each row, for errors. Default: `row 0`, `row 1`...

    **Raises:** `ValueError` if a row names a block that does not exist, no block, or one twice.
    """

    sizes: Int[np.ndarray, " nb"]
    rows: Int[np.ndarray, "m 2"]
    entries: Bool[np.ndarray, "m 2 q"]
    labels: tuple[str, ...]

    def __init__(
        self,
        sizes: Sequence[int] | np.ndarray,
        rows: Sequence[Sequence[int]] | np.ndarray,
        entries: np.ndarray | None = None,
        labels: Sequence[str] | None = None,
    ):
        self.sizes = np.asarray(sizes, np.int64).reshape(-1)
        self.rows = np.asarray(rows, np.int64).reshape(-1, 2)
        inside = np.arange(self.width) < np.append(self.sizes, 0)[self.rows][..., None]
        self.entries = inside if entries is None else np.asarray(entries, bool) & inside
        count = len(self.rows)
        self.labels = tuple(labels or (f"row {i}" for i in range(count)))
        self._check()
        arrays = (self.sizes, self.rows, self.entries)
        self._key = (*(array.tobytes() for array in arrays), self.labels)
        self._hash = hash(self._key)

    def _check(self) -> None:
        for label, (first, second) in zip(self.labels, self.rows, strict=True):
            if max(first, second) >= self.num_blocks or min(first, second) < -1:
                raise ValueError(
                    f"{label} touches block {max(first, second)}, but there are only "
                    f"{self.num_blocks} blocks."
                )
            if first == second:
                raise ValueError(
                    f"{label} joins block {first} to itself."
                    if first >= 0
                    else f"{label} touches no block."
                )

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Pattern) and self._key == other._key

    def __repr__(self) -> str:
        return f"Pattern({self.num_blocks} blocks, {self.size} unknowns, {self.num_rows} rows)"

    @property
    def num_blocks(self) -> int:
        """The number of blocks, `nb`."""
        return len(self.sizes)

    @property
    def num_rows(self) -> int:
        """The number of rows, `m`."""
        return len(self.rows)

    @property
    def width(self) -> int:
        """The size of the largest block, `q`, to which all are padded."""
        return int(self.sizes.max(initial=0))

    @property
    def size(self) -> int:
        """The number of unknowns without multipliers, `n`."""
        return int(self.sizes.sum())

    @property
    def unknowns(self) -> Int[np.ndarray, " n"]:
        """The positions of the unknowns among the `nb * q` padded ones."""
        return np.flatnonzero(np.arange(self.width) < self.sizes[:, None])


class BlockMatrix(eqx.Module):
    """The values of `[[K, C^T], [B, 0]]`, whose structure is a [`jaxspark.linear.Pattern`][].

    - `K`: the diagonal blocks, shape `(nb, q, q)`, with ones on the diagonal and zeros elsewhere
        where they are padded.
    - `B`: for each row its entries in its first and second block, shape `(m, 2, q)`; zero for the
        ground and where it is padded.
    - `C`: the same for the forces; `None` where they are ideal, `C = B`, and `K` is symmetric.
    - `diagonal`: whether every block of `K` is known to be diagonal.
    """

    K: Float[Array, "nb q q"]
    B: Float[Array, "m 2 q"]
    C: Float[Array, "m 2 q"] | None = None
    diagonal: bool = eqx.field(static=True, default=False)

    @property
    def forces(self) -> Float[Array, "m 2 q"]:
        """`C`, or `B` where they are the same."""
        return self.B if self.C is None else self.C


def multiply(
    pattern: Pattern,
    matrix: BlockMatrix,
    x: Float[Array, "nb q k"],
    lam: Float[Array, "m k"],
) -> tuple[Float[Array, "nb q k"], Float[Array, "m k"]]:
    """`(K x + C^T lam, B x)`."""
    zero = jnp.zeros((1, *x.shape[1:]), x.dtype)
    # Index -1, the ground, is the zero that is appended.
    there = jnp.concatenate([x, zero])[pattern.rows]
    rows = both_ends(matrix.B, there)
    pushes = matrix.forces[..., None] * lam[:, None, None, :]
    forces = jnp.concatenate([x * 0, zero]).at[pattern.rows].add(pushes)[:-1]
    own = product(matrix.K, x)
    return own + forces, rows


def dense(pattern: Pattern, matrix: BlockMatrix) -> Float[Array, "nm nm"]:
    """The whole matrix, without padding: what the solvers are tested against."""
    nb, q, m = pattern.num_blocks, pattern.width, pattern.num_rows

    def column(x):
        blocks, lam = x[: nb * q].reshape(nb, q, 1), x[nb * q :].reshape(m, 1)
        return jnp.concatenate([part.ravel() for part in multiply(pattern, matrix, blocks, lam)])

    everything = jnp.eye(nb * q + m, dtype=matrix.K.dtype)
    full = jax.vmap(column, out_axes=1)(everything)
    kept = np.concatenate([pattern.unknowns, nb * q + np.arange(m)])
    return full[np.ix_(kept, kept)]
