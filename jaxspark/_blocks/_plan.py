"""The order in which clusters are eliminated, and where their entries come from."""

import functools
from typing import Literal

import numpy as np

from ._pattern import Pattern
from ._tree import Clusters, GROUND, loops_cut, loops_merged


class Plan:
    """What the recursion needs to know of a pattern; static, compared by identity.

    Clusters are numbered in the order of elimination, children before parents, the child with
    most descendants first. All are padded to `Q` unknowns and `R` rows, `Q - R` of them free.

    - `K_index`, `B_index`, `parent_index`: where the entries of each cluster's `K` and of its
        rows for itself and its parent come from, in the arrays of a `BlockMatrix` raveled, with a
        zero and a one appended.
    - `x_index`, `row_index`: the same for its unknowns and rows, with a zero appended;
        `x_back`, `row_back`: the way back.
    - `slot`, `parent_slot`, `first`: in which accumulator each cluster finds what its children
        leave, where it leaves its own, and whether it is the first to do so there.
    - `num_slots`: how many accumulators there are.
    - `rows_left`: rows of loops that belong to no cluster.
    """

    def __init__(self, pattern: Pattern, clusters: Clusters):
        self.pattern, self.clusters = pattern, clusters
        self.rows_left = clusters.rows_left
        order = _post_order(clusters.parent)
        position = np.empty(len(order), int)
        position[order] = np.arange(len(order))
        parent = clusters.parent[order]
        self.parent = np.where(parent == GROUND, GROUND, position[parent])
        self.of_block, owner = position[clusters.of_block], clusters.of_row
        self.of_row = np.where(owner == GROUND, GROUND, position[owner])
        self.num_clusters = len(order)
        self._sizes()
        self._unknowns()
        self._entries()
        self.slot, self.parent_slot, self.first, self.num_slots = _slots(self.parent)

    def _sizes(self) -> None:
        nc = self.num_clusters
        self.unknowns, self.rows = np.zeros(nc, int), np.zeros(nc, int)
        np.add.at(self.unknowns, self.of_block, self.pattern.sizes)
        np.add.at(self.rows, self.of_row[self.of_row >= 0], 1)
        self.R = int(self.rows.max(initial=0))
        free = int((self.unknowns - self.rows).max(initial=0))
        self.Q = max(int(self.unknowns.max(initial=0)), self.R + free)

    def _unknowns(self) -> None:
        pattern, nc, Q, R = self.pattern, self.num_clusters, self.Q, self.R
        nb, q = pattern.num_blocks, pattern.width
        self.x_index = np.full((nc, Q), nb * q)
        self.x_back = np.full((nb, q), nc * Q)
        self.offset = np.zeros(nb, int)
        filled = np.zeros(nc, int)
        for block, cluster in enumerate(self.of_block):
            size, start = pattern.sizes[block], filled[cluster]
            inside = np.arange(size)
            self.x_index[cluster, start + inside] = block * q + inside
            self.x_back[block, inside] = cluster * Q + start + inside
            self.offset[block] = start
            filled[cluster] += size
        self.row_index = np.full((nc, R), pattern.num_rows)
        self.row_back = np.full(pattern.num_rows, nc * R)
        filled = np.zeros(nc, int)
        for row, cluster in enumerate(self.of_row):
            if cluster >= 0:
                self.row_index[cluster, filled[cluster]] = row
                self.row_back[row] = cluster * R + filled[cluster]
                filled[cluster] += 1

    def _entries(self) -> None:
        """Padded unknowns have a mass of 1; padded rows hold the first of them."""
        pattern, nc, Q, R = self.pattern, self.num_clusters, self.Q, self.R
        nb, q, m = pattern.num_blocks, pattern.width, pattern.num_rows
        zero, one = nb * q * q, nb * q * q + 1
        self.K_index = np.full((nc, Q, Q), zero)
        for block, cluster in enumerate(self.of_block):
            size, start = pattern.sizes[block], self.offset[block]
            entries = (block * q + np.arange(q)[:size, None]) * q + np.arange(size)
            self.K_index[cluster, start : start + size, start : start + size] = entries
        zero_row, one_row = m * 2 * q, m * 2 * q + 1
        self.B_index = np.full((nc, R, Q), zero_row)
        self.parent_index = np.full((nc, R, Q), zero_row)
        for row, (cluster, place) in enumerate(zip(self.of_row, self.row_back, strict=True)):
            for side, block in enumerate(pattern.rows[row]):
                if cluster < 0 or block < 0:
                    continue
                own = self.of_block[block] == cluster
                target = self.B_index if own else self.parent_index
                start, inside = self.offset[block], np.arange(int(pattern.sizes[block]))
                target[cluster, place % R, start + inside] = (row * 2 + side) * q + inside
        for cluster in range(nc):
            padded = np.arange(Q)[self.unknowns[cluster] :]
            self.K_index[cluster, padded, padded] = one
            for i in range(self.rows[cluster], R):
                held = self.unknowns[cluster] + i - self.rows[cluster]
                self.B_index[cluster, i, held] = one_row


@functools.lru_cache(maxsize=256)
def make_plan(pattern: Pattern, loops: Literal["cluster", "border"], redundant: bool) -> Plan:
    """The plan for a pattern, made once."""
    clusters = loops_cut(pattern) if loops == "border" else loops_merged(pattern, redundant)
    return Plan(pattern, clusters)


def _post_order(parent: np.ndarray) -> np.ndarray:
    """Children before parents, the child with most descendants first."""
    children: list[list[int]] = [[] for _ in parent]
    roots = []
    for i, p in enumerate(parent):
        (roots if p == GROUND else children[p]).append(i)
    # Parents before children, by going down from the roots.
    downward = list(roots)
    for node in downward:
        downward.extend(children[node])
    weight = np.ones(len(parent), int)
    for node in reversed(downward):
        if parent[node] != GROUND:
            weight[parent[node]] += weight[node]
    order: list[int] = []
    stack = list(roots)
    while stack:
        node = stack.pop()
        order.append(node)
        # Reversed at the end: what is visited last is eliminated first.
        stack.extend(sorted(children[node], key=lambda child: weight[child]))
    return np.array(order[::-1], int)


def _slots(parent: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Accumulators, as few as there are open sums at a time; the last one stays zero."""
    count = len(parent)
    slot, free, used = np.full(count, -1), [], 0
    first = np.zeros(count, bool)
    for i, p in enumerate(parent):
        if slot[i] >= 0:
            free.append(int(slot[i]))
        if p != GROUND and slot[p] < 0:
            if not free:
                free.append(used)
                used += 1
            slot[p], first[i] = free.pop(), True
    slot = np.where(slot < 0, used, slot)
    parent_slot = np.where(parent == GROUND, used, slot[parent])
    return slot, parent_slot, first, used
