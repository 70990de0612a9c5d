"""Jacobians whose structure is known, by few directional derivatives.

Source: A. Curtis, M. Powell and J. Reid, *On the estimation of sparse Jacobian matrices*,
J. Inst. Maths Applics 13 (1974), 117-119; A. Griewank and A. Walther, *Evaluating Derivatives*,
2nd edition, SIAM 2008, chapter 8.
"""

from collections.abc import Callable, Iterable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import scipy
from jaxtyping import Array, Float, Int


Vector = Float[Array, " n"]


def colour_columns(pattern: "scipy.sparse.csr_matrix") -> Int[np.ndarray, " n"]:
    """A colour for each column, such that columns that share a row have different ones.

    Greedy, in the order of the columns; or, if that gives more colours than some row needs and
    this gives fewer, the fullest columns first.
    """
    columns: Any = pattern.tocsc()
    colours = _greedy(columns, range(len(columns.indptr) - 1))
    if num_colours(colours) > np.diff(pattern.indptr).max(initial=0):
        fullest_first = np.argsort(-np.diff(columns.indptr), kind="stable").tolist()
        others = _greedy(columns, fullest_first)
        if num_colours(others) < num_colours(colours):
            return others
    return colours


def colour_rows(pattern: "scipy.sparse.csr_matrix") -> Int[np.ndarray, " m"]:
    """A colour for each row, such that rows that share a column have different ones."""
    return colour_columns(pattern.T.tocsr())


def num_colours(colours: Int[np.ndarray, " n"]) -> int:
    """How many there are."""
    return int(colours.max(initial=-1)) + 1


def _greedy(columns: Any, order: Iterable[int]) -> Int[np.ndarray, " n"]:
    indptr, indices = columns.indptr.tolist(), columns.indices.tolist()
    # The colours of a row are the bits of an integer.
    num_rows, num_columns = columns.shape
    used = [0] * num_rows
    colours = np.zeros(num_columns, np.int64)
    for column in order:
        rows = indices[indptr[column] : indptr[column + 1]]
        taken = 0
        for row in rows:
            taken |= used[row]
        free = ~taken & (taken + 1)
        for row in rows:
            used[row] |= free
        colours[column] = free.bit_length() - 1
    return colours


def compressed_jacobian(
    function: Callable[[Array], Array],
    x: Vector,
    pattern: "scipy.sparse.csr_matrix",
    colours: Int[np.ndarray, " n"],
) -> Float[Array, " nnz"]:
    """The values of the Jacobian of `function` at the entries of a pattern, row by row.

    One forward derivative for each colour.

    **Arguments:**

    - `function`: from vectors to vectors.
    - `x`: where.
    - `pattern`: a superset of where the Jacobian is nonzero.
    - `colours`: from [`colour_columns`][].
    """
    if not pattern.nnz:
        return jnp.zeros(0, x.dtype)
    rows, columns = _coordinates(pattern)
    push = jax.linearize(function, x)[1]
    products = jax.vmap(push)(_seeds(colours, x.dtype))
    return products[colours[columns], rows]


def compressed_transposed(
    function: Callable[[Array], Array],
    x: Vector,
    pattern: "scipy.sparse.csr_matrix",
    colours: Int[np.ndarray, " m"],
) -> Float[Array, " nnz"]:
    """The same values by one reverse derivative for each colour, from [`colour_rows`][]."""
    if not pattern.nnz:
        return jnp.zeros(0, x.dtype)
    rows, columns = _coordinates(pattern)
    value, pull = jax.vjp(function, x)
    products = jax.vmap(lambda seed: pull(seed)[0])(_seeds(colours, value.dtype))
    return products[colours[rows], columns]


def _coordinates(pattern: "scipy.sparse.csr_matrix") -> tuple[np.ndarray, np.ndarray]:
    return np.repeat(np.arange(len(pattern.indptr) - 1), np.diff(pattern.indptr)), pattern.indices


def _seeds(colours: np.ndarray, dtype: jnp.dtype) -> Float[Array, "colours n"]:
    every = jnp.arange(num_colours(colours))[:, None]
    return (jnp.asarray(colours)[None] == every).astype(dtype)
