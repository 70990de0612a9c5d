"""The sparse operations of the explicit null-space method: structure by NumPy, values by JAX.

P. Areias, *A dimensional reduction algorithm and software for acyclically dependent constraints*,
needs seven of them. Five are standard: (1) the sum of two matrices, (2) the permutation of rows
and columns, (3) the transpose, (4) the product with a vector, also of the transpose, (5) the
triangular solve with dense right-hand sides. Two are not: (6) the triangular solve in which the
matrix, the right-hand sides and the solution are all sparse, with the identity appended, and (7)
the product of three sparse matrices `Z^T K Z`.

The structure is a [`Sparsity`][], found once; the values are vectors in its order. Permutations
and transposes only reorder values: for these the functions of the structure return where each
value comes from.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import scipy
from jaxtyping import Array, Bool, Float, Int


class Sparsity:
    """Where a matrix has entries, in row-major order. Static, hashable, compared by value.

    **Arguments:**

    - `shape`: the numbers of rows and columns.
    - `rows`, `columns`: of each entry, sorted by rows, then by columns; each entry once.

    **Raises:** `ValueError` if they are not in this order, or outside of the matrix.
    """

    shape: tuple[int, int]
    rows: Int[np.ndarray, " nnz"]
    columns: Int[np.ndarray, " nnz"]

    def __init__(
        self,
        shape: tuple[int, int],
        rows: Int[np.ndarray, " nnz"],
        columns: Int[np.ndarray, " nnz"],
    ):
        self.shape = (int(shape[0]), int(shape[1]))
        self.rows, self.columns = np.asarray(rows, np.int64), np.asarray(columns, np.int64)
        for index, bound in zip((self.rows, self.columns), self.shape, strict=True):
            if np.any((index < 0) | (index >= bound)):
                raise ValueError(f"Entries outside of a matrix of shape {self.shape}.")
        if np.any(np.diff(self.flat) <= 0):
            raise ValueError("The entries must be in row-major order, each of them once.")
        self._key = (self.shape, self.rows.tobytes(), self.columns.tobytes())
        self._hash = hash(self._key)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sparsity) and self._key == other._key

    def __repr__(self) -> str:
        return f"Sparsity({self.shape[0]} x {self.shape[1]}, {self.size} entries)"

    @classmethod
    def of(cls, mask: Bool[np.ndarray, "rows columns"]) -> "Sparsity":
        """The entries of a dense matrix of booleans."""
        return cls((mask.shape[0], mask.shape[1]), *np.nonzero(mask))

    @property
    def size(self) -> int:
        """The number of entries."""
        return len(self.rows)

    @property
    def flat(self) -> Int[np.ndarray, " nnz"]:
        """The positions of the entries in the flattened dense matrix."""
        return self.rows * self.shape[1] + self.columns

    @property
    def mask(self) -> Bool[np.ndarray, "rows columns"]:
        """The structure as a dense matrix of booleans."""
        mask = np.zeros(self.shape, bool)
        mask[self.rows, self.columns] = True
        return mask

    @property
    def ones(self) -> "scipy.sparse.csr_array":
        """The structure as a matrix of ones."""
        return scipy.sparse.csr_array((np.ones(self.size), (self.rows, self.columns)), self.shape)

    def dense(self, values: Float[Array, " nnz"]) -> Float[Array, "rows columns"]:
        """The dense matrix with these values."""
        zeros = jnp.zeros(self.shape, values.dtype)
        return zeros.at[self.rows, self.columns].set(values)

    def gather(self, matrix: Float[Array, "rows columns"]) -> Float[Array, " nnz"]:
        """The values of a dense matrix at the entries."""
        return matrix[self.rows, self.columns]


def add_symbolic(
    a: Sparsity, b: Sparsity
) -> tuple[Sparsity, Int[np.ndarray, " nnz_a"], Int[np.ndarray, " nnz_b"]]:
    """(1) The structure of `A + B`, and where in it the values of `A` and of `B` go."""
    flat = np.union1d(a.flat, b.flat)
    width = max(a.shape[1], 1)
    total = Sparsity(a.shape, flat // width, flat % width)
    return total, np.searchsorted(flat, a.flat), np.searchsorted(flat, b.flat)


def add(
    total: Sparsity,
    places_a: Int[np.ndarray, " nnz_a"],
    places_b: Int[np.ndarray, " nnz_b"],
    a: Float[Array, " nnz_a"],
    b: Float[Array, " nnz_b"],
) -> Float[Array, " nnz"]:
    """(1) The values of `A + B`."""
    return jnp.zeros(total.size, a.dtype).at[places_a].add(a).at[places_b].add(b)


def permute_symbolic(
    a: Sparsity, rows: Int[np.ndarray, " rows"], columns: Int[np.ndarray, " columns"]
) -> tuple[Sparsity, Int[np.ndarray, " nnz"]]:
    """(2) The structure of `A[rows][:, columns]`, and where its values are among those of `A`."""
    return _sorted(a.shape, np.argsort(rows)[a.rows], np.argsort(columns)[a.columns])


def transpose_symbolic(a: Sparsity) -> tuple[Sparsity, Int[np.ndarray, " nnz"]]:
    """(3) The structure of `A^T`, and where its values are among those of `A`."""
    return _sorted((a.shape[1], a.shape[0]), a.columns, a.rows)


def _sorted(
    shape: tuple[int, int], rows: Int[np.ndarray, " nnz"], columns: Int[np.ndarray, " nnz"]
) -> tuple[Sparsity, Int[np.ndarray, " nnz"]]:
    order = np.lexsort((columns, rows))
    return Sparsity(shape, rows[order], columns[order]), order


def columns_symbolic(a: Sparsity, start: int, stop: int) -> tuple[Sparsity, Int[np.ndarray, " n"]]:
    """The structure of `A[:, start:stop]`, and where its values are among those of `A`."""
    kept = np.flatnonzero((a.columns >= start) & (a.columns < stop))
    shape = (a.shape[0], stop - start)
    return Sparsity(shape, a.rows[kept], a.columns[kept] - start), kept


def multiply(
    a: Sparsity, values: Float[Array, " nnz"], x: Float[Array, "columns k"]
) -> Float[Array, "rows k"]:
    """(4) `A x`."""
    zeros = jnp.zeros((a.shape[0], x.shape[1]), x.dtype)
    return zeros.at[a.rows].add(values[:, None] * x[a.columns], indices_are_sorted=True)


def multiply_transposed(
    a: Sparsity, values: Float[Array, " nnz"], x: Float[Array, "rows k"]
) -> Float[Array, "columns k"]:
    """(4) `A^T x`."""
    zeros = jnp.zeros((a.shape[1], x.shape[1]), x.dtype)
    return zeros.at[a.columns].add(values[:, None] * x[a.rows])


class Factors(eqx.Module):
    """A square matrix whose rows and columns are scaled: lower triangular, or its LU factors."""

    matrix: Float[Array, "n n"]
    exchanges: Int[Array, " n"] | None
    rows: Float[Array, " n"]
    columns: Float[Array, " n"]

    def pivots(self) -> Float[Array, " n"]:
        """The sizes of the pivots of the scaled matrix."""
        return jnp.abs(jnp.diagonal(self.matrix))

    def solve(self, rhs: Float[Array, "n k"], transposed: bool = False) -> Float[Array, "n k"]:
        """(5) The solution for dense right-hand sides, also of the transpose.

        The whole triangle is kept as a dense matrix: for as many unknowns as the explicit method
        is good for this is faster than solving level by level.
        """
        if rhs.size == 0:
            return rhs
        before, after = (self.columns, self.rows) if transposed else (self.rows, self.columns)
        scaled, trans = before[:, None] * rhs, int(transposed)
        if self.exchanges is None:
            x = jax.scipy.linalg.solve_triangular(self.matrix, scaled, trans=trans, lower=True)
        else:
            x = jax.scipy.linalg.lu_solve((self.matrix, self.exchanges), scaled, trans=trans)
        return after[:, None] * x


def factorise(
    matrix: Float[Array, "n n"],
    rows: Float[Array, " n"],
    columns: Float[Array, " n"],
    triangular: bool,
) -> Factors:
    """The factors of `diag(rows) matrix diag(columns)`: itself, if it is lower triangular."""
    rows, columns = jax.lax.stop_gradient((rows, columns))
    scaled = rows[:, None] * matrix * columns[None, :]
    if triangular or scaled.size == 0:
        return Factors(scaled, None, rows, columns)
    matrix, exchanges = jax.scipy.linalg.lu_factor(scaled)
    return Factors(matrix, exchanges, rows, columns)


def null_basis_symbolic(
    lower: Sparsity, right: Sparsity, clusters: Int[np.ndarray, " m"]
) -> Sparsity:
    """(6) The structure of `Z`, the solution of equation (11).

    A row of `L1^-1 B2` has the entries of this row of `B2`, and of all rows of the solution that
    this row of `L1` refers to.

    **Arguments:**

    - `lower`: the structure of `L1`, lower triangular, or block lower triangular.
    - `right`: the structure of `B2`.
    - `clusters`: for each row its diagonal block, ascending. Rows of one block share their
        entries.
    """
    top, starts = right.mask, np.searchsorted(lower.rows, np.arange(lower.shape[0] + 1))
    count = int(clusters.max(initial=-1)) + 1
    limits = np.searchsorted(clusters, np.arange(count + 1))
    for first, last in zip(limits[:-1], limits[1:], strict=True):
        referred = lower.columns[starts[first] : starts[last]]
        earlier = top[referred[referred < first]].any(0)
        top[first:last] = top[first:last].any(0) | earlier
    return Sparsity.of(np.concatenate([top, np.eye(right.shape[1], dtype=bool)]))


def null_basis(
    basis: Sparsity, lower: Factors, right: Sparsity, values: Float[Array, " nnz"]
) -> Float[Array, " nnz_z"]:
    """(6) The values of `Z`: `L1 Z_t = -B2`, equation (10), and the identity beneath."""
    top = lower.solve(-right.dense(values))
    return basis.gather(jnp.concatenate([top, jnp.eye(right.shape[1], dtype=values.dtype)]))


def triple_symbolic(basis: Sparsity, middle: Sparsity) -> Sparsity:
    """(7) The structure of `Z^T K Z`."""
    transposed, _ = transpose_symbolic(basis)
    return Sparsity.of((transposed.ones @ middle.ones @ basis.ones).toarray() > 0)


def triple(
    product: Sparsity,
    basis: Sparsity,
    middle: Sparsity,
    left: Float[Array, " nnz_z"],
    values: Float[Array, " nnz"],
    right: Float[Array, " nnz_z"],
) -> Float[Array, " nnz_product"]:
    """(7) The values of `Z_L^T K Z`, where `Z_L` has the structure of `Z`.

    Of a chain `Z` is half full and the product dense. So only `K` is multiplied as a sparse
    matrix.
    """
    moved = multiply(middle, values, basis.dense(right))
    return product.gather(jnp.matmul(basis.dense(left).T, moved, precision="highest"))
