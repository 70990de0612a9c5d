"""Which unknown each constraint determines, and in which order."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
import scipy
from jaxtyping import Float, Int

from ._pattern import Pattern


class Order(NamedTuple):
    """The rows in an order in which each depends on earlier ones only, or on its own cluster.

    - `rows`: the rows in this order.
    - `clusters`: for each of them the number of its cluster, ascending from 0. Rows that depend
        on each other in a cycle are one cluster.
    - `levels`: the length of the longest chain of clusters, each depending on the one before.
    """

    rows: Int[np.ndarray, " m"]
    clusters: Int[np.ndarray, " m"]
    levels: int


def scalar_entries(
    pattern: Pattern, side: int
) -> tuple[Int[np.ndarray, " nnz"], Int[np.ndarray, " nnz"], Int[np.ndarray, " nnz"]]:
    """The entries of the rows in their first (0) or second (1) block.

    **Returns:** the row of each, its column among the unknowns without padding, and its position
    in the flattened `B[:, side]`. Sorted by rows, then by columns.
    """
    rows, local = np.nonzero(pattern.entries[:, side])
    columns = _offsets(pattern)[pattern.rows[rows, side]] + local
    return rows, columns, rows * pattern.width + local


def choose_pivots(pattern: Pattern, how: str | Sequence[int] | np.ndarray) -> Int[np.ndarray, " m"]:
    """The pivot of each row: the column, among the unknowns without padding, that it determines.

    **Arguments:**

    - `how`: `"first_active"`, the first column in which a row has an entry, as the paper of
        Areias does; `"matching"`, a maximum matching of rows with columns, in which rows get
        columns of their own block (of the two, the one farther from the ground) wherever
        possible; or the columns themselves.

    **Raises:** `ValueError` if a row is empty, two rows have the same pivot, the rows cannot be
    independent, or a given pivot is not an entry of its row.
    """
    matrix = _scalar_matrix(pattern)
    empty = np.flatnonzero(np.diff(matrix.indptr) == 0)
    if len(empty):
        raise ValueError(f"No unknown is constrained by {_names(pattern, empty)}.")
    if not isinstance(how, str):
        return _given(pattern, matrix, how)
    if how == "first_active":
        pivots = np.minimum.reduceat(matrix.indices, matrix.indptr[:-1]) if matrix.nnz else []
        pivots = np.asarray(pivots, np.int64)
        remedy = "Number children first, or use pivots='matching'."
        _check_different(pattern, pivots, remedy)
        return pivots
    if how == "matching":
        return _matching(pattern, matrix)
    raise ValueError(f"pivots must be 'first_active', 'matching' or columns, but are {how!r}.")


def order_rows(
    pattern: Pattern,
    pivots: Int[np.ndarray, " m"],
    loops: Literal["cluster", "error"] = "cluster",
) -> Order:
    """Topological order of the rows: a row depends on another if it has an entry in its pivot.

    Rows that depend on each other are strongly connected components of this graph. The order is
    that of Kahn, of the components.

    **Raises:** `ValueError` if some depend on each other and `loops="error"`.
    """
    m = pattern.num_rows
    if m == 0:
        return Order(np.zeros(0, np.int64), np.zeros(0, np.int64), 0)
    depends = scipy.sparse.csr_array(_scalar_matrix(pattern)[:, pivots])
    count, component = scipy.sparse.csgraph.connected_components(depends, connection="strong")
    if loops == "error" and count < m:
        cycle = np.flatnonzero(component == np.argmax(np.bincount(component)))
        raise ValueError(
            f"A cycle: {_names(pattern, cycle)} depend on each other. Use loops='cluster', or "
            "other pivots."
        )
    coo = depends.tocoo()
    edges = np.stack([component[coo.coords[1]], component[coo.coords[0]]], 1)
    edges = np.unique(edges[edges[:, 0] != edges[:, 1]], axis=0)
    sequence, levels = _kahn(count, edges)
    place = np.argsort(sequence)[component]
    rows = np.argsort(place, kind="stable")
    return Order(rows, place[rows], levels)


def _kahn(count: int, edges: Int[np.ndarray, "e 2"]) -> tuple[Int[np.ndarray, " count"], int]:
    """The vertices of an acyclic graph, each after all that have an edge to it; the levels."""
    starts = np.searchsorted(edges[:, 0], np.arange(count + 1))
    waiting = np.bincount(edges[:, 1], minlength=count)
    level = np.ones(count, np.int64)
    sequence = list(np.flatnonzero(waiting == 0))
    for vertex in sequence:
        for after in edges[starts[vertex] : starts[vertex + 1], 1]:
            level[after] = max(level[after], level[vertex] + 1)
            waiting[after] -= 1
            if waiting[after] == 0:
                sequence.append(after)
    return np.asarray(sequence, np.int64), int(level.max())


def _matching(pattern: Pattern, matrix: "scipy.sparse.csr_array") -> Int[np.ndarray, " m"]:
    """The matching with the fewest columns of foreign blocks, then the emptiest columns."""
    m = pattern.num_rows
    matched = scipy.sparse.csgraph.maximum_bipartite_matching(matrix, perm_type="column")
    missing = np.flatnonzero(matched < 0)
    if len(missing):
        raise ValueError(
            f"Only {m - len(missing)} of the {m} rows can be independent: no unknown is left for "
            f"{_names(pattern, missing)}. Are constraints redundant?"
        )
    entries = matrix.tocoo()
    rows, columns = entries.coords
    block = np.repeat(np.arange(pattern.num_blocks), pattern.sizes)[columns]
    # Emptier columns make fewer rows depend on this one. Few enough not to outweigh a block.
    crowd = np.bincount(columns, minlength=pattern.size)[columns]
    weights = crowd + np.where(block == _own_blocks(pattern)[rows], 0.0, 1.0 + matrix.nnz * m)
    weighted = scipy.sparse.csr_array((weights, (rows, columns)), matrix.shape)
    row, column = scipy.sparse.csgraph.min_weight_full_bipartite_matching(weighted)
    return column[np.argsort(row)].astype(np.int64)


def _own_blocks(pattern: Pattern) -> Int[np.ndarray, " m"]:
    """Of the two blocks of each row the one farther from the ground, or else the first."""
    depth = _depths(pattern)[pattern.rows]
    return pattern.rows[np.arange(pattern.num_rows), (depth[:, 1] > depth[:, 0]).astype(int)]


def _depths(pattern: Pattern) -> Float[np.ndarray, " nb_plus_1"]:
    """The number of joints between each block and the ground, which is the last of them.

    Where nothing joins to the ground, the block that is the first one of the fewest rows takes
    its place.
    """
    nb = pattern.num_blocks
    rows = np.where(pattern.rows < 0, nb, pattern.rows)
    joined = scipy.sparse.csr_array(
        (np.ones(len(rows)), (rows[:, 0], rows[:, 1])), (nb + 1, nb + 1)
    )
    count, component = scipy.sparse.csgraph.connected_components(joined, directed=False)
    firsts = np.bincount(rows[:, 0], minlength=nb + 1)
    firsts[nb] = -1
    by_firsts = np.argsort(firsts, kind="stable")
    roots = by_firsts[np.unique(component[by_firsts], return_index=True)[1]]
    distance = scipy.sparse.csgraph.dijkstra(
        joined, False, indices=roots, unweighted=True, min_only=True
    )
    return np.asarray(distance)


def _given(
    pattern: Pattern, matrix: "scipy.sparse.csr_array", columns: Sequence[int] | np.ndarray
) -> Int[np.ndarray, " m"]:
    """Pivots that the user chose, checked."""
    pivots = np.asarray(columns, np.int64).reshape(-1)
    m, n = pattern.num_rows, pattern.size
    if len(pivots) != m:
        raise ValueError(f"There are {m} rows, but {len(pivots)} pivots.")
    for row, pivot in enumerate(pivots):
        entries = matrix.indices[matrix.indptr[row] : matrix.indptr[row + 1]]
        if pivot not in entries:
            raise ValueError(
                f"The pivot of {pattern.labels[row]} is column {pivot} of {n}, but it has "
                f"entries only in columns {sorted(entries.tolist())}."
            )
    _check_different(pattern, pivots, "Each row needs its own.")
    return pivots


def _check_different(pattern: Pattern, pivots: Int[np.ndarray, " m"], remedy: str) -> None:
    columns, counts = np.unique(pivots, return_counts=True)
    for column in columns[counts > 1]:
        rows = np.flatnonzero(pivots == column)
        block = int(np.searchsorted(np.cumsum(pattern.sizes), column, side="right"))
        raise ValueError(
            f"{_names(pattern, rows)} {'both' if len(rows) == 2 else 'all'} pick column {column}, "
            f"unknown {column - _offsets(pattern)[block]} of block {block}. {remedy}"
        )


def _names(pattern: Pattern, rows: Sequence[int] | np.ndarray) -> str:
    """`row 0, row 3 and row 4`."""
    names = [pattern.labels[row] for row in rows]
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _offsets(pattern: Pattern) -> Int[np.ndarray, " nb"]:
    """The first unknown of each block."""
    return np.cumsum(pattern.sizes) - pattern.sizes


def _scalar_matrix(pattern: Pattern) -> "scipy.sparse.csr_array":
    """The structure of `B` without padding, as a matrix of ones."""
    parts = [scalar_entries(pattern, side)[:2] for side in (0, 1)]
    rows, columns = (np.concatenate(both) for both in zip(*parts, strict=True))
    return scipy.sparse.csr_array(
        (np.ones(len(rows)), (rows, columns)), (pattern.num_rows, pattern.size)
    )
