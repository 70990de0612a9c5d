"""Blocks that were found: where they are among vectors, and the derivatives that fill them."""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from .._blocks import Pattern, Positions, take
from .._blocks._colours import (
    colour_columns,
    colour_rows,
    compressed_jacobian,
    compressed_transposed,
)
from .._blocks._detect import Blocks


# A `scipy.sparse.csr_matrix`: SciPy is not loaded before it is needed.
Sparsity = Any


class Places:
    """The block of each velocity, and which of its unknowns it is."""

    def __init__(self, found: Blocks):
        self.count, self.width = found.unknowns.shape
        back = Positions(found.unknowns, found.pattern.size).back
        self.block, self.place = np.divmod(back, max(self.width, 1))


def _entries(pattern: Sparsity) -> tuple[np.ndarray, np.ndarray]:
    """The row and the column of each entry."""
    counts = np.diff(pattern.indptr)
    return np.repeat(np.arange(len(counts)), counts), pattern.indices


def check_forces(places: Places, B: Sparsity, pattern: Pattern) -> None:
    """Forces may act on no other blocks than those that the constraints touch."""
    row, column = _entries(B)
    touched = np.zeros(pattern.rows.shape, bool)
    touched[row, (places.block[column] != pattern.rows[row, 0]).astype(int)] = True
    beyond = np.argwhere(~touched & (pattern.rows >= 0))
    if len(beyond):
        i, side = beyond[0]
        raise ValueError(
            f"The force of {pattern.labels[i]} acts on block {pattern.rows[i, side]}, which the "
            "constraint does not touch: jaxspark.linear.with_blocks cannot treat it."
        )


def coordinates(v: Sparsity, places: Places) -> Int[np.ndarray, "nb qy"]:
    """The coordinates of each block; those that follow from no velocity are distributed."""
    row, column = _entries(v)
    size = len(v.indptr) - 1
    block = np.full(size, -1)
    block[row] = places.block[column]
    across = np.flatnonzero(block[row] != places.block[column])
    if len(across):
        i, other = row[across[0]], places.block[column[across[0]]]
        raise ValueError(
            f"The derivative v of coordinate {i} depends on velocities of blocks {other} and "
            f"{block[i]}: these have to be in one block."
        )
    free = block < 0
    block[free] = np.arange(np.sum(free)) % places.count
    sizes = np.bincount(block, minlength=places.count)
    order = np.argsort(block, kind="stable")
    index = np.full((places.count, sizes.max(initial=0)), size)
    index[block[order], np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)] = order
    return index


class Compressed:
    """Which entry of a Jacobian is where among padded blocks.

    - `index`: for each place the number of its entry; that of all entries where it is zero, one
        more where it is one.
    - `by_rows`: the Jacobian is found by reverse derivatives.
    """

    def __init__(self, pattern: Sparsity, index: np.ndarray, by_rows: bool = False):
        self.pattern, self.index, self.by_rows = pattern, index, by_rows
        self.colours = colour_rows(pattern) if by_rows else colour_columns(pattern)

    def at(self, function: Callable[[Array], Array], x: Float[Array, " n"]) -> Array:
        """The blocks of the Jacobian of a function."""
        jacobian = compressed_transposed if self.by_rows else compressed_jacobian
        values = jacobian(function, x, self.pattern, self.colours)
        return take(jnp.concatenate([values, jnp.asarray([0, 1], x.dtype)]), self.index)


def block_rows(
    jacobian: Sparsity, pattern: Pattern, places: Places, by_rows: bool = False
) -> Compressed:
    """Constraints by velocities; or, by rows, forces by multipliers."""
    row, column = _entries(jacobian)[:: -1 if by_rows else 1]
    index = np.full((pattern.num_rows, 2, places.width), jacobian.nnz)
    side = (places.block[column] != pattern.rows[row, 0]).astype(int)
    index[row, side, places.place[column]] = np.arange(jacobian.nnz)
    return Compressed(jacobian, index, by_rows)


def diagonal(jacobian: Sparsity, places: Places, rows: Positions, ones: bool = False) -> Compressed:
    """What depends on the velocities of its own block alone; with ones where it is padded."""
    row, column = _entries(jacobian)
    each = rows.index.shape[1]
    index = np.full((*rows.index.shape, places.width), jacobian.nnz)
    if ones:
        block, place = np.nonzero(rows.index == rows.size)
        index[block, place, place] += 1
    place = rows.back[row] % max(each, 1)
    index[places.block[column], place, places.place[column]] = np.arange(jacobian.nnz)
    return Compressed(jacobian, index)
