"""The spanning forest of blocks, and the clusters that its loops make of them."""

import heapq
from collections import deque
from typing import NamedTuple

import numpy as np

from ._pattern import Pattern


GROUND = -1


class Spanning(NamedTuple):
    """A breadth-first forest over the blocks. The ground, having no unknowns, joins none.

    - `parent`: the parent of each block; -1 for the first one of each tree.
    - `depth`: its depth.
    - `loop_rows`: the rows that join two blocks neither of which is the other's parent.
    """

    parent: np.ndarray
    depth: np.ndarray
    loop_rows: np.ndarray


def spanning_forest(pattern: Pattern) -> Spanning:
    """Breadth first from a block that the ground holds, or from the first of those that float."""
    nb = pattern.num_blocks
    neighbours: list[list[int]] = [[] for _ in range(nb)]
    held = []
    for a, b in np.unique(pattern.rows, axis=0).tolist():
        if a >= 0 and b >= 0:
            neighbours[a].append(b)
            neighbours[b].append(a)
        else:
            held.append(max(a, b))
    parent, depth = np.full(nb, GROUND), np.full(nb, -1)
    for start in (*held, *range(nb)):
        if depth[start] >= 0:
            continue
        depth[start] = 0
        queue = deque([start])
        while queue:
            block = queue.popleft()
            for other in neighbours[block]:
                if depth[other] < 0:
                    depth[other], parent[other] = depth[block] + 1, block
                    queue.append(other)
    a, b = pattern.rows.T
    tree = (a < 0) | (b < 0)
    tree |= (parent[a] == b) | (parent[b] == a)
    return Spanning(parent, depth, np.flatnonzero(~tree))


class Clusters(NamedTuple):
    """Blocks merged so that every row lies in one cluster, or in one and its parent.

    - `of_block`: the cluster of each block.
    - `parent`: the parent of each cluster; -1 for the ground.
    - `of_row`: the cluster that each row belongs to.
    - `rows_left`: rows that belong to none, in the order of the pattern: they close loops.
    """

    of_block: np.ndarray
    parent: np.ndarray
    of_row: np.ndarray
    rows_left: np.ndarray


def loops_merged(pattern: Pattern, redundant: bool) -> Clusters:
    """Every row that closes a loop merges the blocks of that loop; so do rows in excess.

    Blocks with more rows than unknowns merge with their parent.

    **Raises:** `ValueError` if a root has more rows than unknowns, unless they may be redundant.
    """
    spanning = spanning_forest(pattern)
    leader = np.arange(pattern.num_blocks)

    def find(x: int) -> int:
        while leader[x] != x:
            leader[x] = leader[leader[x]]
            x = int(leader[x])
        return x

    for row in spanning.loop_rows:
        ends = [int(x) for x in pattern.rows[row]]
        path = _loop(ends, spanning)
        for block in path[1:]:
            leader[find(block)] = find(path[0])
    roots = np.array([find(x) for x in range(pattern.num_blocks)], int)
    return _without_excess(pattern, spanning, roots, redundant)


def _loop(ends: list[int], spanning: Spanning) -> list[int]:
    """The blocks on the way between two blocks, without their lowest common ancestor."""
    a, b = ends
    path = []
    while a != b:
        a, b = (a, b) if spanning.depth[a] >= spanning.depth[b] else (b, a)
        path.append(a)
        a = int(spanning.parent[a])
    return path


def _without_excess(
    pattern: Pattern, spanning: Spanning, leader: np.ndarray, redundant: bool
) -> Clusters:
    """Merge clusters with more rows than unknowns into their parents, deepest first."""
    unknowns, rows = np.zeros(pattern.num_blocks, int), np.zeros(pattern.num_blocks, int)
    np.add.at(unknowns, leader, pattern.sizes)
    above = np.full(pattern.num_blocks, GROUND)
    # The lowest depth of a cluster is that of the children of its parent.
    level = np.full(pattern.num_blocks, np.iinfo(np.int64).max)
    np.minimum.at(level, leader, spanning.depth)
    for block, parent in enumerate(spanning.parent):
        if parent >= 0 and leader[parent] != leader[block]:
            above[leader[block]] = leader[parent]
    owner = _owners(pattern, leader, above)
    np.add.at(rows, owner, 1)

    merged = {int(x): int(x) for x in np.unique(leader)}

    def find(x: int) -> int:
        while merged[x] != x:
            merged[x] = merged[merged[x]]
            x = merged[x]
        return x

    heap = [(-int(level[x]), x) for x in merged if rows[x] > unknowns[x]]
    heapq.heapify(heap)
    while heap:
        _, cluster = heapq.heappop(heap)
        if find(cluster) != cluster or rows[cluster] <= unknowns[cluster]:
            continue
        if above[cluster] == GROUND:
            if not redundant:
                raise ValueError(_overconstrained(pattern, owner, find, cluster, unknowns))
            continue
        parent = find(int(above[cluster]))
        merged[cluster] = parent
        unknowns[parent] += unknowns[cluster]
        rows[parent] += rows[cluster]
        heapq.heappush(heap, (-int(level[parent]), parent))
    final = np.array([find(int(x)) for x in leader], int)
    names, of_block = np.unique(final, return_inverse=True)
    number = {int(name): i for i, name in enumerate(names)}
    parents = [int(above[name]) for name in names]
    parent = np.array([p if p == GROUND else number[find(p)] for p in parents], int)
    of_row = np.array([number[find(int(x))] for x in owner], int)
    return Clusters(of_block, parent, of_row, np.zeros(0, int))


def _owners(pattern: Pattern, leader: np.ndarray, above: np.ndarray) -> np.ndarray:
    """The cluster of each row: of the two that it touches, the child."""
    a, b = pattern.rows.T
    in_a = np.where(a >= 0, leader[a], GROUND)
    in_b = np.where(b >= 0, leader[b], GROUND)
    first = (in_b == GROUND) | (in_a == in_b) | ((in_a != GROUND) & (above[in_a] == in_b))
    return np.where(first, in_a, in_b)


def _overconstrained(pattern: Pattern, owner, find, cluster: int, unknowns: np.ndarray) -> str:
    rows = [pattern.labels[i] for i, x in enumerate(owner) if find(int(x)) == cluster]
    return (
        f"The mechanism is overconstrained: {named(rows)} are {len(rows)} constraints for "
        f"{unknowns[cluster]} unknowns. If some of them are redundant, say so: "
        "AcyclicNullSpace(redundant=True)."
    )


def loops_cut(pattern: Pattern) -> Clusters:
    """No blocks are merged: rows that close loops, and those in excess, are left over."""
    spanning = spanning_forest(pattern)
    leader = np.arange(pattern.num_blocks)
    owner = _owners(pattern, leader, spanning.parent)
    left = np.zeros(pattern.num_rows, bool)
    left[spanning.loop_rows] = True
    room = pattern.sizes.copy()
    for row, block in enumerate(owner):
        if not left[row]:
            left[row] = room[block] == 0
            room[block] -= not left[row]
    owner = np.where(left, GROUND, owner)
    return Clusters(leader, spanning.parent, owner, np.flatnonzero(left))


def named(labels: list[str], most: int = 8) -> str:
    """Some names, and how many more there are."""
    more = f" and {len(labels) - most} more" if len(labels) > most else ""
    return ", ".join(labels[:most]) + more
