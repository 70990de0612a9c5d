"""The structure of Jacobians, and their values by colours."""

import time

import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.sparse

from benchmarks._array_sizes import array_sizes
from jaxspark._blocks._colours import (
    colour_columns,
    colour_rows,
    compressed_jacobian,
    compressed_transposed,
    num_colours,
)
from jaxspark._jax_internals import depends_on, jacobian_pattern


pytestmark = pytest.mark.inside

N = 5
BODIES = np.arange(N)
BANDED = np.eye(2 * N) + np.eye(2 * N, k=3)


@jax.custom_jvp
def straight_through(x):
    return jnp.round(x)


@straight_through.defjvp
def straight_through_jvp(primals, tangents):
    return straight_through(*primals), tangents[0]


def by_slices(y):
    rows = []
    for i in range(N):
        here = y[2 * i : 2 * i + 2]
        rows.append(jnp.sum((here - y[2 * i - 2 : 2 * i]) ** 2) if i else jnp.sum(here**2))
    return jnp.stack(rows)


def by_vmap(y):
    q = y.reshape(N, 2)
    return jax.vmap(lambda i: jnp.sin(q[i + 1, 0]) * q[i, 1])(jnp.arange(N - 1))


def by_gathers(y):
    q = y.reshape(N, 2)
    ends = np.array([[0, 1], [0, 3], [3, 4]])
    return jnp.sum((q[ends[:, 0]] - q[ends[:, 1]]) ** 2, 1)


def by_concatenation(y):
    q = jnp.concatenate([jnp.zeros((1, 2)), y.reshape(N, 2)])
    return jnp.linalg.norm(jnp.diff(q, axis=0) + 3, axis=1)


def by_scan(y):
    def body(last, q):
        return q, jnp.sum((q - last) ** 2)

    return jax.lax.scan(body, jnp.zeros(2), y.reshape(N, 2))[1]


def by_loop(y):
    def body(i, rows):
        return rows.at[i].set(y[2 * i] * y[2 * i + 1] ** 2)

    return jax.lax.fori_loop(0, N, body, jnp.zeros(N))


def by_scatters(y):
    forces = jnp.zeros(2 * N).at[2 * BODIES].add(y[:N] ** 2)
    return forces.at[np.array([1, 3])].set(jnp.sin(y[:2])).at[0].multiply(y[-1])


def by_tree(y):
    tree = {"angle": jnp.zeros(2), "x": jnp.zeros((2, 3)), "y": jnp.zeros(2)}
    q = jax.flatten_util.ravel_pytree(tree)[1](y)
    new = {"a": q["x"][:, ::2] * jnp.cos(q["angle"])[:, None], "b": q["y"] - q["x"][:, 1]}
    return jax.flatten_util.ravel_pytree(new)[0]


def by_rotations(y):
    angles, ends = y[:N], y[N:]
    c, s = jnp.cos(angles), jnp.sin(angles)
    R = jnp.moveaxis(jnp.array([[c, -s], [s, c]]), -1, 0)
    arms = jnp.stack([ends, 2 * jnp.ones(N)], 1)
    return jnp.einsum("nij,nj->ni", R, arms).ravel()


def by_nested_jit(y):
    half = jax.jit(lambda x: jax.checkpoint(jnp.sin)(x[::2]) * x[1::2])
    return jax.jit(lambda x: jnp.tile(half(x), 2))(y)


EXACT = {
    "slices": by_slices,
    "vmap": by_vmap,
    "gathers": by_gathers,
    "index arithmetic": lambda y: y[jnp.arange(10) // 2] * y[(jnp.arange(10) - 1) % 10],
    "concatenation": by_concatenation,
    "where": lambda y: jnp.where(np.arange(10) % 2 == 0, jnp.cos(y), jnp.roll(y, 1) ** 2),
    "scan": by_scan,
    "reversed scan": lambda y: jax.lax.scan(lambda c, x: (c + x**2, c), y[0], y, reverse=True)[1],
    "loop": by_loop,
    "scatters": by_scatters,
    "tree": by_tree,
    "rotations": by_rotations,
    "nested jit": by_nested_jit,
    "padding": lambda y: jax.lax.pad(y**2, 0.0, [(-1, 2, 1)]),
    "roll": lambda y: jnp.roll(y, 2) * y,
    "cumsum": lambda y: jnp.cumsum(y.reshape(N, 2), 0).ravel(),
    "cumprod": lambda y: jnp.cumprod(y + 2),
    "constant matrix": lambda y: jnp.asarray(np.full((3, 4), 0.5)) @ y[2:6],
    "identity matrix": lambda y: jnp.eye(2 * N, k=1) @ y,
    "banded": lambda y: BANDED @ y + y @ jnp.tril(np.ones((10, 10)), -8),
    "constant zeros": lambda y: jnp.asarray(np.array([0.0, 1.0])) * y[:2],
    "diagonal": lambda y: jnp.diag(jnp.cos(y[:3])) @ y[3:6],
    "small matrices": lambda y: (
        jnp.array([[jnp.cos(y[0]), 0.0], [0.0, y[1]]]) @ y[2:4] * jnp.ones(2)
    ),
    "energy": lambda y: jax.grad(lambda v: 0.5 * v @ (jnp.diag(y[2:]) @ v))(y[:8]),
    "relu": lambda y: jax.nn.relu(y + 9),
    "custom rule": lambda y: straight_through(y) * y[::-1],
    "no derivative": lambda y: jnp.floor(y) * jax.lax.stop_gradient(y) + y[0],
    "integers": lambda y: jnp.sign(y) + (y > 0).astype(y.dtype),
    "cross": lambda y: jnp.cross(y[:3], y[3:6]),
    "both branches": lambda y: jax.lax.cond(True, lambda x: x, lambda x: x[::-1], y),
    "unknown branch": lambda y: jax.lax.cond(y[0] > 0, lambda x: x, lambda x: x[::-1], y),
    "unknown where": lambda y: jnp.where(y > 0, y, y[::-1]),
    "known branch": lambda y: jax.lax.switch(jnp.arange(2)[1], [jnp.flip, jnp.sin], y),
    "jvp": lambda y: jax.jvp(by_slices, (y,), (jnp.arange(1.0, 11.0) ** 2,))[1],
    "reverse mode": lambda y: jax.grad(lambda y: jnp.sum(by_slices(y) ** 2))(y),
    "solve": lambda y: jnp.linalg.solve(jnp.outer(y[:2], y[2:4]) + jnp.eye(2), y[4:6]),
    "batched solve": lambda y: jax.vmap(
        lambda a: jnp.linalg.solve(jnp.outer(a, a) + jnp.array([[9.0, 1.0], [2.0, 9.0]]), a)
    )(y.reshape(N, 2)).ravel(),
    "constant": lambda y: jnp.ones(3),
    "scalar output": lambda y: y[3] ** 2,
}

LARGER = {
    "unknown index": lambda y: y[jnp.argsort(y)[:3]],
    "unknown slice": lambda y: jax.lax.dynamic_slice(y, (jnp.argmax(y),), (2,)),
    "unknown scatter": lambda y: y.at[jnp.argmax(y)].set(3.0),
    "sort": jnp.sort,
    "max": lambda y: jnp.max(y.reshape(N, 2), 1),
    "while": lambda y: jax.lax.while_loop(lambda x: x[0] < 3, lambda x: jnp.roll(x, 1) + 1, y),
    "fourier": lambda y: jnp.fft.fft(y).real,
    "eigenvalues": lambda y: jnp.linalg.eigvalsh(jnp.outer(y[:3], y[:3])),
    "iterative solve": lambda y: jax.lax.custom_linear_solve(
        lambda x: 2 * x, y[::-1], lambda matvec, b: b / 2
    ),
}


def dense(function, y):
    return np.asarray(jax.jit(jax.jacfwd(function))(y)).reshape(-1, y.size)


def points(n=2 * N):
    return [jax.random.normal(jax.random.key(i), (n,)) for i in range(9)]


def chain(y):
    """Rods between points in the plane."""
    q = jnp.concatenate([jnp.zeros((1, 2), y.dtype), y.reshape(-1, 2)])
    return jnp.sum(jnp.diff(q, axis=0) ** 2, 1) - 1


@pytest.mark.parametrize("name", EXACT)
def test_exact_patterns(name):
    """The union of what is nonzero at several points, on both sides of every branch."""
    pattern = jacobian_pattern(EXACT[name], points()[0]).entries
    jacobian = jax.jit(jax.jacfwd(EXACT[name]))
    true = sum(np.asarray(jacobian(y)).reshape(pattern.shape) != 0 for y in points()) > 0
    assert pattern.dtype == bool and pattern.has_sorted_indices
    np.testing.assert_array_equal(pattern.toarray(), true)


@pytest.mark.parametrize("name", LARGER)
def test_patterns_contain_all_entries(name):
    pattern = jacobian_pattern(LARGER[name], points()[0]).entries.toarray()
    for y in points():
        assert np.all(pattern >= (dense(LARGER[name], y) != 0))


def test_zeros_of_constants_and_of_parameters():
    """Traced values may be anything: the pattern serves for other parameters too."""
    counts = []

    def look(matrix):
        counts.append(jacobian_pattern(lambda y: matrix @ y, points()[0]).entries.nnz)
        counts.append(jacobian_pattern(lambda y: jnp.diag(matrix[0]) @ y, points()[0]).entries.nnz)
        return matrix

    look(jnp.asarray(BANDED))
    jax.eval_shape(look, BANDED)
    assert counts == [17, 2, 100, 10]


@pytest.mark.parametrize("limits", [(0, 50), (0, 1)])
def test_long_loops(monkeypatch, limits):
    """Not unrolled, they are iterated; or given up."""
    monkeypatch.setattr("jaxspark._jax_internals._sparsity._control.UNROLLED", limits[0])
    monkeypatch.setattr("jaxspark._jax_internals._sparsity._control.ROUNDS", limits[1])
    for function in (by_scan, by_loop, EXACT["reversed scan"]):
        pattern = jacobian_pattern(function, points()[0]).entries.toarray()
        assert np.all(pattern >= (dense(function, points()[0]) != 0))
        assert pattern.shape == dense(function, points()[0]).shape


def test_operands_and_shapes():
    def function(t, y, z):
        return t * y[:2] * z[1:]

    shapes = [jax.ShapeDtypeStruct(s, jnp.float32) for s in ((), (4,), (3,))]
    by_y = jacobian_pattern(function, *shapes, argnum=1).entries.toarray()
    by_z = jacobian_pattern(function, *shapes, argnum=2).entries.toarray()
    np.testing.assert_array_equal(by_y, np.eye(2, 4) > 0)
    np.testing.assert_array_equal(by_z, np.eye(2, 3, k=1) > 0)
    for n, m in ((0, 2), (3, 0)):
        empty = jacobian_pattern(lambda y, m=m: jnp.zeros(m) + jnp.sum(y), jnp.zeros(n)).entries
        assert empty.shape == (m, n) and empty.nnz == 0


@pytest.mark.parametrize("transform", [jax.jit, jax.vmap, jax.jacfwd, jax.grad])
def test_while_tracing(transform):
    """Only shapes and the program are looked at, never values."""
    found = []

    def solve(args):
        def constraint(y):
            return args * chain(y) + jnp.where(args > 0, args, 0)

        x = jnp.stack([args, args, args, args])
        pattern = jacobian_pattern(constraint, x).entries
        found.append(pattern.toarray())
        return jnp.sum(compressed_jacobian(constraint, x, pattern, colour_columns(pattern)))

    transform(solve)(jnp.ones(3) if transform is jax.vmap else jnp.ones(()))
    np.testing.assert_array_equal(found[0], [[1, 1, 0, 0], [1, 1, 1, 1]])


def test_long_chain_is_fast_and_sparse():
    start = time.process_time()
    pattern = jacobian_pattern(chain, jax.ShapeDtypeStruct((1000,), jnp.float64)).entries
    colours = colour_columns(pattern)
    assert time.process_time() - start < 2
    assert pattern.nnz == 4 * 500 - 2 and num_colours(colours) == 4
    y = points(1000)[0]

    def compressed(y):
        return compressed_jacobian(chain, y, pattern, colours)

    assert max(array_sizes(jax.make_jaxpr(compressed)(y))) <= 8 * 1000
    assert compressed(y).shape == (pattern.nnz,)


@pytest.mark.parametrize("name", EXACT)
def test_compressed_values(name):
    function, y = lambda y: jnp.atleast_1d(EXACT[name](y)), points()[0]
    pattern = jacobian_pattern(function, y).entries
    true = dense(function, y)[pattern.nonzero()]
    columns, rows = colour_columns(pattern), colour_rows(pattern)
    for lines, colours in ((pattern, columns), (pattern.T.tocsr(), rows)):
        for line in lines:
            assert len(np.unique(colours[line.indices])) == line.nnz
    forward = jax.jit(lambda y: compressed_jacobian(function, y, pattern, columns))(y)
    np.testing.assert_allclose(forward, true, rtol=1e-13, atol=1e-14)
    if name not in ("loop", "custom rule"):
        reverse = jax.jit(lambda y: compressed_transposed(function, y, pattern, rows))(y)
        np.testing.assert_allclose(reverse, true, rtol=1e-13, atol=1e-14)


def test_single_precision():
    y = points()[0].astype(jnp.float32)
    pattern = jacobian_pattern(chain, y).entries
    for compressed, colours in (
        (compressed_jacobian, colour_columns(pattern)),
        (compressed_transposed, colour_rows(pattern)),
    ):
        values = compressed(chain, y, pattern, colours)
        assert values.dtype == jnp.float32
        np.testing.assert_allclose(values, dense(chain, y)[pattern.nonzero()], rtol=1e-6)


def test_fewer_colours_by_another_order():
    """A path whose ends come first: in their own order its columns need a third colour."""
    rows = np.array([[0, 2], [2, 3], [3, 1]])
    pattern = scipy.sparse.csr_matrix(
        (np.ones(6, bool), (np.repeat(np.arange(3), 2), rows.ravel())), (3, 4)
    )
    assert num_colours(colour_columns(pattern)) == 2


def test_dependence_of_values():
    def function(x, y, z):
        return x[0] * y + 0.0 * z, jnp.zeros(2) * z[0]

    x = jnp.array([0.3, -0.4])
    assert depends_on(function, x, 2 * x, 3 * x, which=(0,))
    assert depends_on(function, x, 2 * x, 3 * x, which=(1,))
    assert not depends_on(function, x, 2 * x, 3 * x, which=(2,))
    assert depends_on(lambda x: jax.lax.cond(x[0] > 0, jnp.sin, jnp.cos, 2.0), x, which=(0,))
    # A derivative that is zero is no independence.
    assert depends_on(jnp.sign, x, which=(0,))
    assert depends_on(lambda x: jnp.where(x > 0, 1.0, 2.0), x, which=(0,))
