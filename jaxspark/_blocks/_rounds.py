"""In which order joints are eliminated, many at a time."""

import functools
from typing import NamedTuple

import numpy as np

from ._pattern import Pattern
from ._sweep import path_order


class Slot(NamedTuple):
    """One neighbour of each node that a round eliminates.

    Numbers one beyond an array stand for a zero.

    - `edge`: the edge to the neighbour; `flipped`: whether it is stored from the other side.
    - `neighbour`: its number among the nodes that are left.
    - `gifts`: for each node that is left, the eliminated nodes that see it in this slot, a list
        of index arrays.
    """

    edge: np.ndarray
    flipped: np.ndarray
    neighbour: np.ndarray
    gifts: tuple[np.ndarray, ...]


class Fill(NamedTuple):
    """What two slots add to the edges that are left.

    - `first`, `second`: the slots; the edge leads from the neighbour in the first to that in the
        second.
    - `gifts`: for each edge that is left, the eliminated nodes, a list of index arrays; and
        whether the edge is stored from the other side.
    """

    first: int
    second: int
    gifts: tuple[tuple[np.ndarray, np.ndarray], ...]


class Round(NamedTuple):
    """Independent nodes that are eliminated together.

    - `gone`, `kept`: their numbers, and those of the others.
    - `slots`, `fills`: their neighbours, and what they leave between these.
    - `kept_edges`: for each edge that is left, the one that it was before.
    - `merge`: how the solutions of `gone` and `kept`, one after the other, become those of all.
    """

    gone: np.ndarray
    kept: np.ndarray
    slots: tuple[Slot, ...]
    fills: tuple[Fill, ...]
    kept_edges: np.ndarray
    merge: np.ndarray


class Rounds:
    """The elimination of the joints of a pattern; static, compared by identity.

    - `nodes`: the two blocks of each node, shape `(n, 2)`; -1 for the ground.
    - `row_index`, `row_back`: the rows of each node, padded to `R` with the number of rows; and
        the way back.
    - `padded`: which rows of a node are none.
    - `edges`, `shared`: which nodes share a block, and which.
    - `path`: the nodes one after the other, if they form paths; else `None`.
    """

    def __init__(self, pattern: Pattern):
        pairs, owner = np.unique(np.sort(pattern.rows, 1), axis=0, return_inverse=True)
        owner = owner.reshape(-1)
        # In the order of the rows, so that neighbours stay close.
        first = np.full(len(pairs), len(owner))
        np.minimum.at(first, owner, np.arange(len(owner)))
        order = np.argsort(first, kind="stable")
        number = np.argsort(order, kind="stable")
        owner, self.nodes = number[owner] if len(owner) else owner, pairs[order]
        count = len(self.nodes)
        sizes = np.bincount(owner, minlength=count)
        self.R = int(sizes.max(initial=0))
        self.row_index = np.full((count, self.R), pattern.num_rows)
        self.row_back = np.zeros(pattern.num_rows, int)
        filled = np.zeros(count, int)
        for row, node in enumerate(owner):
            self.row_index[node, filled[node]] = row
            self.row_back[row] = node * self.R + filled[node]
            filled[node] += 1
        self.padded = self.row_index == pattern.num_rows
        self.edges, self.shared = _sharing(self.nodes, pattern.num_blocks)
        self.path = path_order(count, self.edges)

    @functools.cached_property
    def _elimination(self) -> tuple[tuple[Round, ...], int, np.ndarray]:
        return _eliminate(len(self.nodes), self.edges)

    @property
    def rounds(self) -> tuple[Round, ...]:
        """The elimination."""
        return self._elimination[0]

    @property
    def tail(self) -> int:
        """The number of nodes that it leaves for a dense matrix."""
        return self._elimination[1]

    @property
    def tail_edges(self) -> np.ndarray:
        """What connects these."""
        return self._elimination[2]


@functools.lru_cache(maxsize=64)
def make_rounds(pattern: Pattern) -> Rounds:
    """The rounds for a pattern, made once."""
    return Rounds(pattern)


def _sharing(nodes: np.ndarray, num_blocks: int) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of nodes that share a block, and these blocks (the second -1 if there is but one)."""
    at: list[list[int]] = [[] for _ in range(num_blocks)]
    for node, blocks in enumerate(nodes):
        for block in blocks:
            if block >= 0:
                at[block].append(node)
    shared: dict[tuple[int, int], list[int]] = {}
    for block, members in enumerate(at):
        for i, a in enumerate(members):
            for b in members[i + 1 :]:
                shared.setdefault((a, b), []).append(block)
    edges = sorted(shared)
    blocks = [[*shared[edge], -1][:2] for edge in edges]
    return np.array(edges, int).reshape(-1, 2), np.array(blocks, int).reshape(-1, 2)


def _eliminate(count: int, edges: np.ndarray) -> tuple[tuple[Round, ...], int, np.ndarray]:
    rounds = []
    current = [tuple(edge) for edge in edges.tolist()]
    while count > 1:
        neighbours: list[dict[int, int]] = [{} for _ in range(count)]
        for number, (a, b) in enumerate(current):
            neighbours[a][b] = number
            neighbours[b][a] = number
        gone = _independent(neighbours)
        if not _worthwhile(count, neighbours, gone):
            break
        done, current = _round(count, neighbours, current, gone)
        rounds.append(done)
        count = len(done.kept)
    return tuple(rounds), count, np.array(current, int).reshape(-1, 2)


def _independent(neighbours: list[dict[int, int]]) -> list[int]:
    """Nodes of low degree, no two of them neighbours."""
    degree = [len(x) for x in neighbours]
    bound = max(2, min(degree))
    taken = np.zeros(len(neighbours), bool)
    gone = []
    for node, near in enumerate(neighbours):
        if degree[node] <= bound and not any(taken[x] for x in near):
            taken[node] = True
            gone.append(node)
    return gone


def _worthwhile(count: int, neighbours: list[dict[int, int]], gone: list[int]) -> bool:
    """Whether a round is cheaper than a dense matrix for all that is left."""
    return count > 16 or max(len(neighbours[node]) for node in gone) <= 2


def _round(
    count: int,
    neighbours: list[dict[int, int]],
    edges: list[tuple[int, int]],
    gone: list[int],
) -> tuple[Round, list[tuple[int, int]]]:
    out = np.zeros(count, bool)
    out[gone] = True
    kept = np.flatnonzero(~out)
    number = np.cumsum(~out) - 1
    near = [sorted(neighbours[node]) for node in gone]
    # Neighbours before and after a node are told apart: along a chain indices stay regular.
    slots_of = [_arranged(node, others) for node, others in zip(gone, near, strict=True)]
    width = max((max(places, default=-1) for places in slots_of), default=-1) + 1
    left = {edge: i for i, edge in enumerate(edges) if not (out[edge[0]] or out[edge[1]])}
    old = {(int(number[a]), int(number[b])): i for (a, b), i in left.items()}
    slots, fill = [], {}
    for slot in range(width):
        edge, flipped = np.full(len(gone), len(edges)), np.zeros(len(gone), bool)
        neighbour = np.full(len(gone), len(kept))
        for i, node in enumerate(gone):
            other = slots_of[i].get(slot)
            if other is not None:
                edge[i] = neighbours[node][other]
                flipped[i] = edges[edge[i]][0] != node
                neighbour[i] = number[other]
        slots.append((edge, flipped, neighbour))
    for i, places in enumerate(slots_of):
        for s, a in places.items():
            for t, b in places.items():
                if number[a] < number[b]:
                    key = (int(number[a]), int(number[b]))
                    fill.setdefault(key, []).append((min(s, t), max(s, t), i, s > t))
    following = sorted({*old, *fill})
    kept_edges = np.array([old.get(edge, len(edges)) for edge in following], int)
    fills = _fills(following, fill, len(gone))
    merge = np.empty(count, int)
    merge[gone] = np.arange(len(gone))
    merge[kept] = len(gone) + np.arange(len(kept))
    made = tuple(
        Slot(edge, flipped, neighbour, _gifts(neighbour, len(kept)))
        for edge, flipped, neighbour in slots
    )
    return Round(np.array(gone), kept, made, fills, kept_edges, merge), following


def _arranged(node: int, others: list[int]) -> dict[int, int]:
    """Slots for the neighbours of a node: even ones for those after it, odd for those before."""
    before, after = [x for x in others if x < node], [x for x in others if x > node]
    return {
        **{2 * i: x for i, x in enumerate(after)},
        **{2 * i + 1: x for i, x in enumerate(reversed(before))},
    }


def _gifts(neighbour: np.ndarray, kept: int) -> tuple[np.ndarray, ...]:
    """For each node that is left, who sees it: as few index arrays as possible."""
    seen: list[list[int]] = [[] for _ in range(kept)]
    for i, other in enumerate(neighbour):
        if other < kept:
            seen[other].append(i)
    return tuple(
        np.array([x[j] if j < len(x) else len(neighbour) for x in seen], int)
        for j in range(max((len(x) for x in seen), default=0))
    )


def _fills(following, fill, gone: int) -> tuple[Fill, ...]:
    """Grouped by pairs of slots."""
    groups: dict[tuple[int, int], list[list[tuple[int, bool]]]] = {}
    for position, edge in enumerate(following):
        for s, t, node, flipped in fill.get(edge, ()):
            lists = groups.setdefault((s, t), [[] for _ in following])
            lists[position].append((node, flipped))
    fills = []
    for (s, t), lists in sorted(groups.items()):
        gifts = []
        for j in range(max(len(x) for x in lists)):
            node = np.array([x[j][0] if j < len(x) else gone for x in lists], int)
            flipped = np.array([j < len(x) and x[j][1] for x in lists], bool)
            gifts.append((node, flipped))
        fills.append(Fill(s, t, tuple(gifts)))
    return tuple(fills)
