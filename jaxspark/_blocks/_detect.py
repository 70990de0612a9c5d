"""Blocks of unknowns, found in the structure of a saddle point matrix."""

import dataclasses
import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import scipy
from jaxtyping import Int

from ._pattern import Pattern


Labels = Int[np.ndarray, " nz"]

# The largest number of unknowns of a body that is looked for, and the largest for which they
# may lie in several arrays of unequal width.
LARGEST = 12
LARGEST_MIXED = 7


@dataclasses.dataclass(frozen=True, eq=False)
class Blocks:
    """A partition of unknowns into blocks, of which each row touches one or two.

    Static and hashable: compared by value.

    - `pattern`: the structure in terms of the blocks.
    - `unknowns`: where in `z` the unknowns of each block are, padded with the length of `z`.
    """

    pattern: Pattern
    unknowns: Int[np.ndarray, "nb q"]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Blocks) or self.pattern != other.pattern:
            return False
        return np.array_equal(self.unknowns, other.unknowns)

    def __hash__(self) -> int:
        return hash((self.pattern, self.unknowns.tobytes()))


def detect_blocks(
    p_pattern: "scipy.sparse.csr_matrix | None",
    b_pattern: "scipy.sparse.csr_matrix",
    blocks: np.ndarray | None = None,
    labels: Sequence[str] | None = None,
) -> tuple[Blocks | None, str]:
    """Partition the unknowns so that `p_z` is block-diagonal and rows touch at most two blocks.

    Tried are the connected components of `p_z`, alone and joined where unknowns appear in the
    very same rows; and bodies with equally many unknowns, numbered one after another or as
    PyTrees of arrays are: all the `x`, then all the `y`... Of those that fit, the smallest
    blocks are taken for which a joint of two blocks has fewer rows than it touches unknowns of
    either: with as many a block could be singular while the whole matrix is not.

    **Arguments:**

    - `p_pattern`: the structure of `p_z`, `None` for the identity.
    - `b_pattern`: the structure of the constraints' derivatives by `z`.
    - `blocks`: for each unknown the number of its block, if it is known.
    - `labels`: a name for each row.

    **Returns:** the blocks, or `None` if there are none; and how they were found, or why not.

    **Raises:** `ValueError` if a row has no entries, or if `blocks` do not fit.
    """
    rows: Any = b_pattern.tocsr()
    count, size = rows.shape
    names = tuple(labels or (f"row {i}" for i in range(count)))
    empty = np.flatnonzero(np.diff(rows.indptr) == 0)
    if len(empty):
        raise ValueError(f"{names[empty[0]]} does not depend on any unknown.")
    if p_pattern is None:
        coupled = scipy.sparse.coo_matrix((size, size), dtype=bool)
    else:
        coupled = p_pattern.tocoo()
    if blocks is not None:
        given = _given(np.asarray(blocks), coupled, rows, names)
        return _blocks(given, rows, labels), "given by the user"
    components = _components(coupled)
    best, found, how = None, None, ""
    for way, candidate in _candidates(components, rows):
        fits = np.array_equal(candidate[coupled.row], candidate[coupled.col])
        if fits and _too_many(candidate, rows) is None:
            quality = (_tight_joints(candidate, rows), int(np.bincount(candidate).max(initial=0)))
            if best is None or quality < best:
                best, found, how = quality, candidate, way
    if found is not None:
        return _blocks(found, rows, labels), how
    row = _too_many(components, rows)
    assert row is not None
    return None, (
        f"{names[row]} touches more than two independent groups of unknowns, and no numbering "
        f"of equal bodies was recognised, of up to {LARGEST} unknowns each; say which unknowns "
        "form a body by blocks=."
    )


def _numbered(keys: np.ndarray) -> Labels:
    """Numbers of equal keys, in the order of their first appearance."""
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    order = np.empty(len(first), np.int64)
    order[np.argsort(first)] = np.arange(len(first))
    return order[inverse.reshape(-1)]


def _components(graph: Any) -> Labels:
    return _numbered(scipy.sparse.csgraph.connected_components(graph, directed=False)[1])


def _candidates(components: Labels, rows: Any) -> Iterator[tuple[str, Labels]]:
    size = len(components)
    yield "connected components of p_z", components
    twins = _twins(components, rows)
    if np.bincount(twins).max(initial=0) <= LARGEST:
        yield "unknowns that appear in the same rows", twins
    for width in range(1, min(LARGEST, size) + 1):
        if size % width == 0:
            for widths in _compositions(width):
                count = size // width
                leaves = [np.repeat(np.arange(count), part) for part in widths]
                parts = "+".join(map(str, widths))
                yield f"bodies of {parts} unknowns", np.concatenate(leaves)


def _compositions(width: int) -> Iterator[tuple[int, ...]]:
    """Ways to distribute the unknowns of a body over arrays: one, all, something between."""
    for parts in range(1, width + 1):
        if parts in (1, width) or width <= LARGEST_MIXED:
            for cuts in itertools.combinations(range(1, width), parts - 1):
                yield tuple(np.diff((0, *cuts, width)).tolist())


def _twins(components: Labels, rows: Any) -> Labels:
    columns = rows.tocsc().sorted_indices()
    groups: dict[bytes, int] = {}
    first, second = [], []
    for i in range(len(components)):
        key = columns.indices[columns.indptr[i] : columns.indptr[i + 1]].tobytes()
        if key:
            first.append(components[i])
            second.append(components[groups.setdefault(key, i)])
    count = int(components.max(initial=-1)) + 1
    links = scipy.sparse.coo_matrix((np.ones(len(first), bool), (first, second)), (count, count))
    return _numbered(_components(links)[components])


def _touched(labels: Labels, rows: Any) -> tuple[np.ndarray, ...]:
    """The block of every entry, and the first and last block of every row."""
    there = labels[rows.indices]
    if not len(there):
        return there, there, there
    starts = rows.indptr[:-1]
    return there, np.minimum.reduceat(there, starts), np.maximum.reduceat(there, starts)


def _too_many(labels: Labels, rows: Any) -> int | None:
    """A row that touches more than two blocks, if there is one."""
    there, first, last = _touched(labels, rows)
    lengths = np.diff(rows.indptr)
    between = (there != np.repeat(first, lengths)) & (there != np.repeat(last, lengths))
    if not np.any(between):
        return None
    return int(np.searchsorted(rows.indptr, np.argmax(between), "right")) - 1


def _tight_joints(labels: Labels, rows: Any) -> int:
    """0 if joints have fewer rows than they touch unknowns of either block, 1 if as many, or 2."""
    there, first, last = _touched(labels, rows)
    if not len(there):
        return 0
    size = len(labels)
    _, joints, counts = np.unique(first * size + last, return_inverse=True, return_counts=True)
    joint = np.repeat(joints, np.diff(rows.indptr))
    distinct, where = np.unique(joint * size + rows.indices, return_index=True)
    second = there[where] != np.repeat(first, np.diff(rows.indptr))[where]
    touched = np.bincount(2 * (distinct // size) + second, minlength=2 * len(counts)).reshape(-1, 2)
    joined = touched[:, 1] > 0
    fewest = np.where(joined, np.min(touched, 1), touched[:, 0])
    return int(np.clip(np.max(np.where(joined, counts + 1, counts) - fewest), 0, 2))


def _given(
    blocks: np.ndarray,
    coupled: Any,
    rows: Any,
    names: Sequence[str],
) -> Labels:
    """Check the user's blocks."""
    size = rows.shape[1]
    if blocks.shape != (size,) or not np.issubdtype(blocks.dtype, np.integer):
        raise ValueError(
            f"blocks should have an integer for each of the {size} unknowns; got shape "
            f"{blocks.shape} and dtype {blocks.dtype}."
        )
    numbers, labels = np.unique(blocks, return_inverse=True)
    if len(numbers) and not np.array_equal(numbers, np.arange(len(numbers))):
        raise ValueError(f"blocks should be numbered from 0 to {len(numbers) - 1} without gaps.")
    across = np.flatnonzero(labels[coupled.row] != labels[coupled.col])
    if len(across):
        i, j = coupled.row[across[0]], coupled.col[across[0]]
        raise ValueError(
            f"p_z couples unknown {i}, of block {labels[i]}, and unknown {j}, of block "
            f"{labels[j]}: they have to be in one block."
        )
    row = _too_many(labels, rows)
    if row is not None:
        touched = np.unique(labels[rows.indices[rows.indptr[row] : rows.indptr[row + 1]]])
        raise ValueError(
            f"{names[row]} touches blocks {', '.join(map(str, touched))}: more than two."
        )
    return labels


def _blocks(labels: Labels, rows: Any, names: Sequence[str] | None) -> Blocks:
    size, count = len(labels), rows.shape[0]
    sizes = np.bincount(labels)
    order = np.argsort(labels, kind="stable")
    place = np.empty(size, np.int64)
    place[order] = np.arange(size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    unknowns = np.full((len(sizes), sizes.max(initial=0)), size)
    unknowns[labels, place] = np.arange(size)
    there, first, last = _touched(labels, rows)
    touched = np.stack([first, np.where(last == first, -1, last)], 1)
    entries = np.zeros((count, 2, unknowns.shape[1]), bool)
    row = np.repeat(np.arange(count), np.diff(rows.indptr))
    entries[row, (there != first[row]).astype(int), place[rows.indices]] = True
    return Blocks(Pattern(sizes, touched, entries, names), unknowns)
