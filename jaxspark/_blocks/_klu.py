"""Sparse LU of the whole matrix by KLU, where klujax is installed: any structure, CPU only."""

import concurrent.futures
import functools
import importlib
import sys
import types
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import scipy
from jaxtyping import Array, Bool, Float, Int

from ._base import AbstractBlockSolver
from ._pattern import BlockMatrix, Pattern


class Coordinates:
    """Where the entries of the whole matrix are, without padding: unknowns first, then rows.

    Compared by identity: there is one for each pattern.

    - `rows`, `columns`: of each entry.
    - `own`, `touched`: which entries of `K`, and of `B` and `C`, are meant, raveled. The values
        are those of `K`, of `B` and of `C`, in this order.
    - `position`: of each unknown; -1 where blocks are padded.
    - `size`: of the matrix.
    """

    rows: Int[np.ndarray, " nnz"]
    columns: Int[np.ndarray, " nnz"]
    own: Int[np.ndarray, " _own"]
    touched: Int[np.ndarray, " _touched"]
    position: Int[np.ndarray, "nb q"]
    size: int

    def __init__(self, pattern: Pattern):
        nb, q, n, m = pattern.num_blocks, pattern.width, pattern.size, pattern.num_rows
        self.size = n + m
        inside = np.arange(q) < pattern.sizes[:, None]
        position = np.where(inside, np.cumsum(inside).reshape(nb, q) - 1, -1)
        pairs = inside[:, :, None] & inside[:, None, :]
        block, i, j = np.nonzero(pairs)
        row, side, k = np.nonzero(pattern.entries)
        multiplier, unknown = n + row, position[pattern.rows[row, side], k]
        rows = position[block, i], multiplier, unknown
        columns = position[block, j], unknown, multiplier
        self.rows = np.concatenate(rows).astype(np.int32)
        self.columns = np.concatenate(columns).astype(np.int32)
        self.own = np.flatnonzero(pairs)
        self.touched = np.flatnonzero(pattern.entries)
        self.position = position

    def values(self, matrix: BlockMatrix) -> Float[Array, " nnz"]:
        """The values of all entries."""
        touched = [part.reshape(-1)[self.touched] for part in (matrix.B, matrix.forces)]
        return jnp.concatenate([matrix.K.reshape(-1)[self.own], *touched])

    def multiply(
        self, values: Float[Array, " nnz"], x: Float[Array, "size k"]
    ) -> Float[Array, "size k"]:
        """The product of the matrix with `x`."""
        return jnp.zeros_like(x).at[self.rows].add(values[:, None] * x[self.columns])


@functools.lru_cache(maxsize=64)
def coordinates(pattern: Pattern) -> Coordinates:
    """The entries of a pattern's matrix."""
    return Coordinates(pattern)


def import_klujax() -> types.ModuleType:
    """klujax, without what it does to JAX's configuration.

    **Raises:** `ImportError`, with words of how to get it, where it is not installed.
    """
    if sys.modules.get("klujax") is not None:
        return sys.modules["klujax"]
    # In a thread of its own no `with jax.enable_x64(...)` hides what holds for everybody.
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        try:
            return pool.submit(_import_and_restore).result()
        except ImportError as error:
            raise ImportError(
                "KLU needs klujax, which is not installed: `pip install jaxspark[klu]`, or "
                "choose another linear solver."
            ) from error


def _import_and_restore() -> types.ModuleType:
    """On import klujax switches to double precision and to the CPU, for everybody."""
    names = "jax_enable_x64", "jax_platform_name"
    before = {name: jax.config.values[name] for name in names}
    try:
        return importlib.import_module("klujax")
    finally:
        for name, value in before.items():
            jax.config.update(name, value)


# How much values are changed to see whether the solution depends on it, and how much it may.
# Without the change a singular matrix could have a pivot that is exactly zero.
_CHANGE, _RESPONSE = 1e-12, 0.1


class KLU(AbstractBlockSolver):
    """Factorises the whole matrix by KLU, a sparse LU with pivoting: any structure of loops.

    It works in double precision, on CPUs only, and with the extra that
    `pip install "jaxspark[klu]"` installs. There are no factors that could be kept: every solve
    factorises anew. A matrix with a pivot that is exactly zero raises an error at run time, in a
    batch for all lanes.

    **Raises:** `ImportError` if the extra is not installed; `TypeError`, where it meets a matrix,
    in single precision.
    """

    def __check_init__(self):
        import_klujax()

    def symbolic(self, pattern: Pattern) -> Coordinates:
        _check_rank(pattern)
        return coordinates(pattern)

    def factor_blocks(self, pattern: Pattern, matrix: BlockMatrix) -> Float[Array, " nnz"]:
        leaves = jax.tree.leaves(matrix)
        if any(leaf.dtype != jnp.float64 for leaf in leaves):
            raise TypeError(
                f"KLU works in double precision, but the matrix is {leaves[0].dtype}. Set "
                "`jax_enable_x64`, or choose another linear solver."
            )
        return self.symbolic(pattern).values(matrix)

    def solve_blocks(
        self, pattern: Pattern, factors: Any, f: Float[Array, "nb q k"], g: Float[Array, "m k"]
    ) -> tuple[Float[Array, "nb q k"], Float[Array, "m k"]]:
        nb, q, k = f.shape
        if f.dtype != jnp.float64:
            raise TypeError(f"KLU works in double precision, but the right-hand side is {f.dtype}.")
        rhs = jnp.concatenate([f.reshape(nb * q, k)[pattern.unknowns], g])
        x = _solve(self.symbolic(pattern), factors, rhs)
        # Index -1, where blocks are padded, is the zero that is appended.
        padded = jnp.concatenate([x[: pattern.size], jnp.zeros((1, k), x.dtype)])
        return padded[self.symbolic(pattern).position], x[pattern.size :]

    def regular_blocks(self, pattern: Pattern, factors: Any) -> Bool[Array, ""]:
        entries, values = self.symbolic(pattern), jax.lax.stop_gradient(factors)
        rng = np.random.default_rng(0)
        units = _units(entries, pattern, values)
        known = jnp.asarray(rng.uniform(0.5, 1.5, entries.size)) * units
        changes = jnp.asarray(1 + _CHANGE * rng.uniform(-1, 1, len(entries.rows)))
        rhs = entries.multiply(values, known[:, None])
        found = _solve(entries, values * changes, rhs)[:, 0]
        return jnp.max(jnp.abs(found - known) / units, initial=0.0) < _RESPONSE

    def explain_blocks(self, pattern: Pattern) -> str:
        entries = self.symbolic(pattern)
        return (
            f"KLU: sparse LU of the whole matrix, {entries.size} x {entries.size} with "
            f"{len(entries.rows)} entries,\nfactorised anew at every solve; loops of any kind."
        )


def _solve(
    entries: Coordinates, values: Float[Array, " nnz"], rhs: Float[Array, "size k"]
) -> Float[Array, "size k"]:
    """Linear in `rhs`, and differentiable by `values` through the product alone."""
    if rhs.size == 0:
        return rhs
    klu, fixed = import_klujax(), jax.lax.stop_gradient(values)
    return jax.lax.custom_linear_solve(
        lambda x: entries.multiply(values, x),
        rhs,
        lambda _, b: klu.solve(entries.rows, entries.columns, fixed, b),
        lambda _, b: klu.solve(entries.columns, entries.rows, fixed, b),
    )


def _units(
    entries: Coordinates, pattern: Pattern, values: Float[Array, " nnz"]
) -> Float[Array, " size"]:
    """Of unknowns and multipliers, such that in these all rows of `K` and `C^T` are alike."""
    num_own, num_rows = len(entries.own), pattern.num_rows
    size, rows, forces = jnp.abs(values), entries.rows, entries.columns[-len(entries.touched) :]
    largest = jnp.zeros(pattern.size).at[rows[:num_own]].max(size[:num_own])
    unknowns = 1 / jnp.sqrt(jnp.where(largest > 0, largest, 1))
    if num_rows == 0:
        return unknowns
    touched = size[-len(forces) :] * unknowns[rows[-len(forces) :]]
    largest = jnp.zeros(num_rows).at[forces - pattern.size].max(touched)
    return jnp.concatenate([unknowns, 1 / jnp.where(largest > 0, largest, 1)])


@functools.lru_cache(maxsize=64)
def _check_rank(pattern: Pattern) -> None:
    """Every row needs an unknown of its own, whatever the values."""
    entries = coordinates(pattern)
    there = (entries.rows >= pattern.size) & (entries.columns < pattern.size)
    rows, columns = entries.rows[there] - pattern.size, entries.columns[there]
    shape = pattern.num_rows, pattern.size
    touched = scipy.sparse.csr_matrix((np.ones(len(rows)), (rows, columns)), shape)
    alone = np.flatnonzero(
        scipy.sparse.csgraph.maximum_bipartite_matching(touched, perm_type="column") < 0
    )
    if alone.size:
        names = ", ".join(pattern.labels[i] for i in alone[:8])
        raise ValueError(
            f"The matrix is singular whatever its values: {names} "
            f"{'are' if alone.size > 1 else 'is'} redundant, or without entries."
        )
