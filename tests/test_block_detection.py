"""The blocks found in the structure of a saddle point matrix."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.sparse

import helpers
from jaxspark._blocks._detect import detect_blocks
from jaxspark._jax_internals import jacobian_pattern
from jaxspark._system import flatten


def chain(y):
    """Rods between points in the plane."""
    q = jnp.concatenate([jnp.zeros((1, 2), y.dtype), y.reshape(-1, 2)])
    return jnp.sum(jnp.diff(q, axis=0) ** 2, 1) - 1


def body(i, k):
    return 3 * i + k


def matrix(joints, position, bodies):
    """Pins of planar bodies (x, y, angle): two rows for each joint `(i, j)`, -1 is the ground."""
    rows, columns = [], []
    for joint, pair in enumerate(joints):
        for i in pair:
            if i >= 0:
                rows += [2 * joint, 2 * joint, 2 * joint + 1, 2 * joint + 1]
                columns += [position(i, k) for k in (0, 2, 1, 2)]
    shape = (2 * len(joints), 3 * bodies)
    return scipy.sparse.csr_matrix((np.ones(len(rows), bool), (rows, columns)), shape)


CHAIN = [(i, i - 1) for i in range(12)]
STAR = [(0, -1), *((i, 0) for i in range(1, 12))]
TREE = [(i, (i + 1) // 2 - 1) for i in range(12)]
LOOP = [*CHAIN, (11, -1)]
PERMUTED = np.random.default_rng(0).permutation(36)
NUMBERINGS = {
    "body-major": body,
    "leaf-major": lambda i, k: 12 * k + i,
    "angles first": lambda i, k: i if k == 2 else 12 + 2 * i + k,
    "permuted": lambda i, k: int(PERMUTED[body(i, k)]),
}


@pytest.mark.parametrize("numbering", NUMBERINGS)
@pytest.mark.parametrize("joints", [CHAIN, STAR, TREE, LOOP])
def test_blocks(joints, numbering):
    position = NUMBERINGS[numbering]
    rows = matrix(joints, position, 12)
    blocks = None
    if numbering == "permuted":
        nothing, reason = detect_blocks(None, rows)
        assert nothing is None and "blocks=" in reason
        blocks = np.zeros(36, int)
        for i in range(12):
            blocks[[position(i, k) for k in range(3)]] = i
    found, _ = detect_blocks(None, rows, blocks)
    assert found is not None
    np.testing.assert_array_equal(found.pattern.sizes, [3] * 12)
    for i in range(12):
        assert set(found.unknowns[i]) == {position(i, k) for k in range(3)}
    expected = [sorted(pair, key=lambda i: i if i >= 0 else 12) for pair in joints]
    np.testing.assert_array_equal(found.pattern.rows, np.repeat(expected, 2, 0))
    # The entries say where the scalar ones are.
    row, side, slot = np.nonzero(found.pattern.entries)
    columns = found.unknowns[found.pattern.rows[row, side], slot]
    again = scipy.sparse.csr_matrix((np.ones(len(row), bool), (row, columns)), rows.shape)
    assert (again != rows).nnz == 0
    same, _ = detect_blocks(None, rows, blocks)
    assert same == found and hash(same) == hash(found)


def test_blocks_of_functions():
    """From a constraint to its blocks: points in the plane, each a block of two."""
    rows = jacobian_pattern(chain, jnp.ones(10)).entries
    found, _ = detect_blocks(None, rows)
    assert found is not None
    np.testing.assert_array_equal(found.unknowns, np.arange(10).reshape(5, 2))
    mixed = np.random.default_rng(1).permutation(10)
    found, how = detect_blocks(None, rows[:, mixed])
    assert found is not None and "same rows" in how
    assert set(found.pattern.sizes) == {2}


def test_small_blocks_are_not_too_small():
    """One row of two unknowns is no joint of two of them: either may have entry zero."""
    for n in (2, 3):
        found, _ = detect_blocks(None, scipy.sparse.csr_matrix(np.arange(n)[None] < 2))
        assert found is not None and found.unknowns[0, 1] == 1


def test_bodies_are_not_split():
    """Points on spheres: with blocks of two, two points would share every third block."""
    one = scipy.sparse.csr_matrix(np.ones((1, 3), bool))
    rows = scipy.sparse.csr_matrix(scipy.sparse.block_diag([one] * 20))
    found, _ = detect_blocks(None, rows)
    assert found is not None
    np.testing.assert_array_equal(found.unknowns, np.arange(60).reshape(20, 3))


def test_blocks_of_a_mass_matrix():
    """Unequal blocks, with padding; those without constraints are blocks too."""
    full = [scipy.sparse.csr_matrix(np.ones((n, n))) for n in (2, 3, 1)]
    mass = scipy.sparse.block_diag(full)
    row = scipy.sparse.csr_matrix(np.array([[1, 1, 1, 1, 0, 0]], bool))
    found, how = detect_blocks(mass.tocsr(), row)
    assert found is not None and how == "connected components of p_z"
    np.testing.assert_array_equal(found.unknowns, [[0, 1, 6], [2, 3, 4], [5, 6, 6]])
    np.testing.assert_array_equal(found.pattern.rows, [[0, 1]])
    np.testing.assert_array_equal(found.pattern.entries[0], [[1, 1, 0], [1, 1, 0]])
    # One triangle is enough.
    upper = scipy.sparse.csr_matrix(scipy.sparse.triu(mass))
    assert detect_blocks(upper, row)[0] == found


def test_no_rows_or_no_unknowns():
    found, _ = detect_blocks(None, scipy.sparse.csr_matrix((0, 4), dtype=bool))
    assert found is not None and found.pattern.num_rows == 0
    assert found.pattern.num_blocks == 4


def test_blocks_errors():
    rows = matrix(CHAIN, body, 12)
    mass = scipy.sparse.csr_matrix(scipy.sparse.eye(36, k=2) > 0)
    right = np.repeat(np.arange(12), 3)
    empty = scipy.sparse.csr_matrix(np.array([[1, 0], [0, 0]], bool))
    with pytest.raises(ValueError, match="row 1 does not depend on any unknown"):
        detect_blocks(None, empty)
    with pytest.raises(ValueError, match="the latch does not depend"):
        detect_blocks(None, empty, labels=["the pin", "the latch"])
    with pytest.raises(ValueError, match="row 2 touches blocks 0, 2, 3, 5: more than two"):
        detect_blocks(None, rows, np.arange(36))
    with pytest.raises(ValueError, match="p_z couples unknown 1, of block 0, and unknown 3"):
        detect_blocks(mass, rows, right)
    with pytest.raises(ValueError, match="an integer for each of the 36 unknowns"):
        detect_blocks(None, rows, right[:-1])
    with pytest.raises(ValueError, match="without gaps"):
        detect_blocks(None, rows, 2 * right)


def test_blocks_of_systems():
    """Functions of vectors that are made while tracing, as the solvers have them."""
    system, q, v = helpers.knife_edge(), *helpers.knife_edge_start()
    found = []

    @jax.jit
    def look(q, v, args):
        flat, y, z = flatten(system, jnp.zeros(()), q, v, args)
        found.append(jacobian_pattern(lambda z: flat.momentum(0 * y[0], y, z), z).entries)
        found.append(jacobian_pattern(flat.k, jnp.zeros(()), y, z, argnum=2).entries)
        return y

    look(q, v, helpers.KNIFE_EDGE_ARGS)
    mass, rows = found
    np.testing.assert_array_equal(mass.toarray(), np.eye(3) > 0)
    np.testing.assert_array_equal(rows.toarray(), [[1, 1, 0]])
    blocks, _ = detect_blocks(mass, rows)
    assert blocks is not None and 0 in blocks.unknowns[0] and 1 in blocks.unknowns[0]
