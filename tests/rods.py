"""Chains, trees and loops of planar rods as block matrices, and how well they are solved."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from jaxspark._blocks import BlockMatrix, dense, multiply, Pattern


def tip_first(count):
    """The parent of each body of a chain; -1 is the ground."""
    return [*range(1, count), -1]


def root_first(count):
    return [*range(-1, count - 1)]


def rods(parents, angles, dofs="xyt", closing=()):
    """Planar rods, each with one end hinged to the far end of its parent, or to the ground.

    The first row of a hinge has entries for `x` and the angle `t`, the second for `y` and `t`.
    The far ends of the bodies `closing` are hinged to the ground, too.
    """
    joints = [(body, parent, -1) for body, parent in enumerate(parents)]
    joints += [(body, -1, 1) for body in closing]
    index, rows, B = {name: dofs.index(name) for name in dofs}, [], []
    for body, parent, end in joints:
        for name in "xy":
            values = np.zeros((2, 3))
            for side, (one, sign, arm) in enumerate([(body, 1, end), (parent, -1, 1)]):
                if one >= 0:
                    angle = angles[one]
                    turn = -np.sin(angle) if name == "x" else np.cos(angle)
                    values[side, index[name]] = sign
                    values[side, index["t"]] = sign * arm * 0.5 * turn
            rows.append((body, parent))
            B.append(values)
    entries = np.zeros((len(rows), 2, 3), bool)
    for row, name in enumerate("xy" * len(joints)):
        entries[row, :, [index[name], index["t"]]] = True
    pattern = Pattern([3] * len(parents), rows, entries)
    return pattern, np.array(B) * (pattern.rows >= 0)[..., None]


def random_tree(count, seed=0):
    rng = np.random.default_rng(seed)
    return [-1, *(int(rng.integers(i)) for i in range(1, count))]


def ragged(count, seed=0):
    """A random tree of blocks of different sizes; rows have entries in all their unknowns."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 6, count)
    parents = random_tree(count, seed)
    rows = [(i, parents[i]) for i in range(count) for _ in range(rng.integers(1, sizes[i]))]
    pattern = Pattern(sizes, rows)
    return pattern, rng.normal(size=pattern.entries.shape) * pattern.entries


def with_values(pattern, B, symmetric=True, seed=0, dtype=float):
    """Random diagonal blocks, definite if the forces are ideal, and forces."""
    rng = np.random.default_rng(seed)
    nb, q = pattern.num_blocks, pattern.width
    real = np.arange(q) < pattern.sizes[:, None]
    K = 0.3 * rng.normal(size=(nb, q, q)) * real[:, :, None] * real[:, None, :]
    K = (K @ K.swapaxes(1, 2) if symmetric else K) + np.eye(q)
    C = None if symmetric else B * (1 + 0.2 * rng.normal(size=B.shape))
    return BlockMatrix(*jax.tree.map(lambda x: jnp.asarray(x, dtype), (K, B, C)))


def right_hand_sides(pattern, k=3, dtype=float):
    rng = np.random.default_rng(5)
    f = np.zeros((pattern.num_blocks * pattern.width, k))
    f[pattern.unknowns] = rng.normal(size=(pattern.size, k))
    g = rng.normal(size=(pattern.num_rows, k))
    return jnp.asarray(f.reshape(pattern.num_blocks, -1, k), dtype), jnp.asarray(g, dtype)


@eqx.filter_jit
def solve(solver, pattern, matrix, f, g):
    factors = solver.factor_blocks(pattern, matrix)
    return solver.solve_blocks(pattern, factors, f, g), solver.regular_blocks(pattern, factors)


@eqx.filter_jit
def solve_both(solver, pattern, matrix, f, g):
    """The solution, that of the transposed system, and whether they are to be trusted."""
    factors = solver.factor_blocks(pattern, matrix)
    return (
        solver.solve_blocks(pattern, factors, f, g),
        solver.solve_blocks_transposed(pattern, factors, f, g),
        solver.regular_blocks(pattern, factors),
    )


def flat(pattern, x, lam):
    return np.concatenate([np.asarray(x).reshape(-1, x.shape[2])[pattern.unknowns], lam])


def relative(a, b):
    return np.max(np.abs(a - b), initial=0) / np.max(np.abs(b), initial=1e-300)


def backward_error(solver, pattern, matrix):
    """Of the whole system, normwise; and whether the solver trusts it."""
    f, g = right_hand_sides(pattern, 1)
    (x, lam), regular = solve(solver, pattern, matrix, f, g)
    residual = flat(pattern, *multiply(pattern, matrix, x, lam)) - flat(pattern, f, g)
    size = np.linalg.norm(dense(pattern, matrix), 2) * np.linalg.norm(flat(pattern, x, lam))
    return np.linalg.norm(residual) / (size + np.linalg.norm(flat(pattern, f, g))), bool(regular)
