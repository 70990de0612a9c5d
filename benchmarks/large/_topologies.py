"""Matrices of planar mechanisms of any size: chains, trees, stars, loops; random 3D blocks.

A rod has the unknowns `(x, y, theta)` of its centre. A revolute joint of two rods has two rows,
one along `x`, which does not contain `y`, and one along `y`, which does not contain `x`. Bodies
are numbered from the root, where it is not said otherwise.
"""

from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np

from jaxspark._blocks._pattern import BlockMatrix, Pattern

from ._case import Case


# The first and the second body of a joint, -1 for the ground, and where along each rod it is,
# measured from the centre.
Joint = tuple[int, int, float, float]


def chain(n: int, **options) -> Case:
    """Each rod begins where the one before ends, the first at the ground; see [`rods`][]."""
    return _tree("chain", np.arange(n) - 1, **options)


def binary_tree(n: int, **options) -> Case:
    """Two rods begin where each one ends."""
    return _tree("binary tree", (np.arange(n) + 1) // 2 - 1, **options)


def random_tree(n: int, seed: int = 0, **options) -> Case:
    """Each rod begins on any of those before it, all equally likely."""
    rng = np.random.default_rng(seed)
    parents = np.floor(rng.uniform(size=n) * np.arange(n)).astype(int)
    parents[0] = -1
    return _tree("random tree", parents, seed=seed, **options)


def star(n: int, **options) -> Case:
    """All rods begin on the first, which begins at the ground."""
    return _tree("star", np.where(np.arange(n) == 0, -1, 0), **options)


def pinned_chain(n: int, **options) -> Case:
    """A chain whose last end is at the ground, too: one loop through all bodies."""
    joints = [*_begins(np.arange(n) - 1), (n - 1, -1, 0.5, 0.0)]
    return rods("closed loop", n, joints, **options)


def ring(n: int, **options) -> Case:
    """A chain whose last end is the first's beginning, free of the ground."""
    return rods("ring", n, [(i, (i - 1) % n, -0.5, 0.5) for i in range(n)], **options)


def four_bars(n: int, angle: float = 1.0, **options) -> Case:
    """`n` parallelograms side by side: `n + 1` cranks on the ground and `n` couplers."""
    joints: list[Joint] = [(0, -1, -0.5, 0.0)]
    for i in range(n):
        left, coupler, right = 2 * i, 2 * i + 1, 2 * i + 2
        joints += [(coupler, left, -0.5, 0.5), (right, -1, -0.5, 0.0), (right, coupler, 0.5, 0.5)]
    angles = np.where(np.arange(2 * n + 1) % 2 == 0, angle, 0.0)
    return rods("four-bar linkages", 2 * n + 1, joints, geometry=angles, **options)


def rods(
    name: str,
    n: int,
    joints: Sequence[Joint],
    *,
    geometry: str | np.ndarray = "random",
    eps: float = 0.0,
    ratio: float | None = None,
    tip_first: bool = False,
    order: str = "xyt",
    seed: int = 0,
) -> Case:
    """Rods of length 1 with any revolute joints.

    - `geometry`: their angles, or `"random"`; `"straight"`: all the same; `"folded"`: forth
        and back; `"bent"`: all at 90 degrees less `eps` radians.
    - `ratio`: masses are 1 and this in turn; random, about 1, if `None`.
    - `tip_first`: number bodies and joints from the tip.
    - `order`: of the unknowns of a rod, `t` its angle.
    """
    if tip_first:
        flip = lambda body: body if body < 0 else n - 1 - body
        joints = [(flip(i), flip(k), a, b) for i, k, a, b in reversed(joints)]
    angles = _angles(geometry, n, eps, seed)
    first, second = np.array([joint[:2] for joint in joints]).T
    a, b = np.array([joint[2:] for joint in joints]).T
    sine, cosine = np.append(np.sin(angles), 0), np.append(np.cos(angles), 0)
    B = np.zeros((len(joints), 2, 2, 3))
    for side, (body, place, sign) in enumerate(((first, a, 1.0), (second, b, -1.0))):
        B[:, 0, side, 0] = B[:, 1, side, 1] = sign * (body >= 0)
        B[:, 0, side, 2] = -sign * place * sine[body]
        B[:, 1, side, 2] = sign * place * cosine[body]
    entries = np.broadcast_to([[[1, 0, 1]], [[0, 1, 1]]], B.shape).astype(bool)
    mass = np.random.default_rng(seed + 1).uniform(0.5, 1.5, n)
    if ratio is not None:
        mass = np.where(np.arange(n) % 2 == 0, 1.0, ratio)
    diagonal = np.stack([mass, mass, mass / 12], 1)
    where = ["xyt".index(letter) for letter in order]
    shape = 2 * len(joints), 2, 3
    pattern = Pattern(
        np.full(n, 3),
        np.repeat(np.stack([first, second], 1), 2, 0),
        entries[..., where].reshape(shape),
        [f"joint {i} along {axis}" for i in range(len(joints)) for axis in "xy"],
    )
    return _case(name, pattern, diagonal[:, where, None] * np.eye(3), B[..., where].reshape(shape))


def hanging_points(n: int, eps: float, tip_first: bool = False) -> Case:
    """Points at unit distances, the first from the ground, each link at `eps` from hanging."""
    parents = _reversed(np.arange(n) - 1, tip_first)
    link = np.array([np.sin(eps), -np.cos(eps)])
    B = np.stack([np.tile(link, (n, 1)), np.where(parents[:, None] >= 0, -link, 0)], 1)
    pattern = Pattern(np.full(n, 2), np.stack([np.arange(n), parents], 1))
    return _case("hanging points", pattern, np.tile(np.eye(2), (n, 1, 1)), B)


def random_blocks(n: int, size: int, rows: int, tree: str = "chain", seed: int = 0) -> Case:
    """A chain or a binary tree of `n` bodies of the size of 3D ones, `rows` in each joint."""
    rng = np.random.default_rng(seed)
    parents = np.arange(n) - 1 if tree == "chain" else (np.arange(n) + 1) // 2 - 1
    root = rng.normal(size=(n, size, size))
    K = root @ root.transpose(0, 2, 1) / size + np.eye(size)
    sides = np.linalg.qr(rng.normal(size=(n, 2, size, rows)))[0]
    B = sides.transpose(0, 3, 1, 2)
    B[parents < 0, :, 1] = 0
    where = np.repeat(np.stack([np.arange(n), parents], 1), rows, 0)
    pattern = Pattern(np.full(n, size), where)
    return _case(f"{tree} of ({size}, {rows}) blocks", pattern, K, B.reshape(-1, 2, size))


def _tree(name: str, parents: np.ndarray, **options) -> Case:
    return rods(name, len(parents), _begins(parents), **options)


def _begins(parents: np.ndarray) -> list[Joint]:
    """The joints at which each rod begins: at the end of its parent."""
    return [(i, int(k), -0.5, 0.5) for i, k in enumerate(parents)]


def _reversed(parents: np.ndarray, tip_first: bool) -> np.ndarray:
    """The parents, with the bodies numbered from the other end."""
    if not tip_first:
        return parents
    return np.where(parents >= 0, len(parents) - 1 - parents, -1)[::-1]


def _angles(geometry: str | np.ndarray, n: int, eps: float, seed: int) -> np.ndarray:
    if not isinstance(geometry, str):
        return np.asarray(geometry)
    index = np.arange(n)
    angles = {
        "random": np.random.default_rng(seed).uniform(-np.pi, np.pi, n),
        "straight": np.full(n, 0.3),
        "folded": 0.3 + np.pi * (index % 2),
        "bent": np.full(n, np.pi / 2 - eps),
    }
    if geometry not in angles:
        raise ValueError(f"There is no geometry {geometry!r}; there are {', '.join(angles)}.")
    return angles[geometry]


def _case(name: str, pattern: Pattern, K: np.ndarray, B: np.ndarray) -> Case:
    return Case(name, pattern, BlockMatrix(jnp.asarray(K), jnp.asarray(B)))
