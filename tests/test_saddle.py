"""The saddle-point problem of explicit methods, by every path that it may take."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxspark._kkt import saddle_in_loops
from jaxspark._kkt._saddle import LARGEST_SCHUR


NZ, ROWS = 5, 2
RNG = np.random.default_rng(3)
C = RNG.normal(size=(ROWS, NZ))
RHS = RNG.normal(size=(NZ + ROWS, 3))


def matrix(M):
    return np.block([[M, C.T], [C, np.zeros((ROWS, ROWS))]])


def spd():
    a = RNG.normal(size=(NZ, NZ))
    return a @ a.T + np.eye(NZ)


MASSES = {
    "diagonal": np.diag([1.0, 2.0, 0.5, 3.0, 1e-3]),
    "full": spd(),
    "one entry beside the diagonal": np.diag([1.0, 2.0, 0.5, 3.0, 1.0]) + 0.1 * np.eye(5, k=1),
    # Regular with the constraints, but for pivoting.
    "diagonal, a massless coordinate": np.diag([1.0, 2.0, 0.0, 3.0, 1.0]),
    "diagonal, a negative entry": np.diag([1.0, 2.0, -0.5, 3.0, 1.0]),
    "full, indefinite": spd() - 3.0 * np.eye(NZ),
}


@pytest.mark.parametrize("name", MASSES)
def test_solutions_are_those_of_lapack(name):
    M = MASSES[name]
    found, regular = jax.jit(saddle_in_loops)(jnp.asarray(M), jnp.asarray(C), jnp.asarray(RHS))
    exact = np.linalg.solve(matrix(M), RHS)
    assert bool(regular)
    np.testing.assert_allclose(found, exact, rtol=1e-9, atol=1e-10 * np.max(np.abs(exact)))


@pytest.mark.parametrize("kind", ["diagonal", "full", "unsymmetric", "massless", "indefinite"])
@pytest.mark.parametrize("rows", [LARGEST_SCHUR, LARGEST_SCHUR + 1])
def test_many_constraints(kind, rows):
    """Beyond some, by factors of Cholesky: where these cannot be, by pivoting."""
    rng, nz = np.random.default_rng(5), rows + 4
    J, rhs, a = (rng.normal(size=size) for size in ((rows, nz), (nz + rows, 2), (nz, nz)))
    M = {
        "diagonal": np.diag(np.linspace(0.1, 3.0, nz)),
        "full": a @ a.T + np.eye(nz),
        "unsymmetric": a @ a.T + np.eye(nz) + np.triu(a, 1),
        "massless": np.diag(np.linspace(0.0, 3.0, nz)),
        "indefinite": np.diag(np.linspace(-1.0, 1.3, nz)),
    }[kind]
    found, regular = jax.jit(saddle_in_loops)(jnp.asarray(M), jnp.asarray(J), jnp.asarray(rhs))
    exact = np.linalg.solve(np.block([[M, J.T], [J, np.zeros((rows, rows))]]), rhs)
    assert bool(regular)
    np.testing.assert_allclose(found, exact, rtol=1e-8, atol=1e-9 * np.max(np.abs(exact)))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_unsymmetric_masses_with_small_constraints(dtype):
    """What Cholesky factors of one triangle would miss, since these constraints are so small."""
    rng, m, nz = np.random.default_rng(8), LARGEST_SCHUR + 1, LARGEST_SCHUR + 7
    half, rest = nz // 2, nz - nz // 2
    M, J = np.eye(nz), rng.normal(size=(m, nz))
    M[half:, half:] += 0.1 * np.triu(np.ones((rest, rest)))
    J[: m // 2, half:] = J[m // 2 :, :half] = 0
    J[m // 2 :] *= 1e-12 if dtype == "float64" else 1e-6
    rhs = np.concatenate([rng.normal(size=(nz, 1)), np.zeros((m, 1))])
    operands = (jnp.asarray(x, dtype) for x in (M, J, rhs))
    found, regular = jax.jit(saddle_in_loops)(*operands)
    rows = np.where(np.arange(m) < m // 2, 1, 1 / np.abs(J[-1]).max())[:, None]
    exact = np.linalg.solve(np.block([[M, (rows * J).T], [rows * J, np.zeros((m, m))]]), rhs)
    if bool(regular):
        tolerance = 1e-9 if dtype == "float64" else 1e-3
        np.testing.assert_allclose(found[:nz], exact[:nz], atol=tolerance)
    else:
        assert np.all(np.isnan(found))


def test_many_dependent_constraints_are_told():
    J = np.random.default_rng(6).normal(size=(LARGEST_SCHUR + 2, LARGEST_SCHUR + 6))
    J[-1] = J[0] - J[3]
    rhs = jnp.ones((sum(J.shape), 1))
    assert not bool(jax.jit(saddle_in_loops)(None, jnp.asarray(J), rhs)[1])


def test_batches_of_diagonal_and_full_masses():
    many = np.stack(list(MASSES.values()))
    found, regular = jax.jit(jax.vmap(saddle_in_loops, (0, None, None)))(
        jnp.asarray(many), jnp.asarray(C), jnp.asarray(RHS)
    )
    assert np.all(regular)
    for M, one in zip(many, found, strict=True):
        exact = np.linalg.solve(matrix(M), RHS)
        np.testing.assert_allclose(one, exact, rtol=1e-9, atol=1e-10 * np.max(np.abs(exact)))


def test_without_masses_or_constraints():
    M = MASSES["diagonal"]
    found, regular = saddle_in_loops(jnp.asarray(M), jnp.zeros((0, NZ)), jnp.asarray(RHS[:NZ]))
    assert bool(regular)
    np.testing.assert_allclose(found, RHS[:NZ] / np.diag(M)[:, None], rtol=1e-15)
    found, regular = saddle_in_loops(None, jnp.asarray(C), jnp.asarray(RHS))
    assert bool(regular)
    np.testing.assert_allclose(found, np.linalg.solve(matrix(np.eye(NZ)), RHS), rtol=1e-11)


@pytest.mark.parametrize("M", [np.zeros((NZ, NZ)), np.full((NZ, NZ), np.nan)], ids=["zero", "nan"])
def test_singular_matrices_are_told(M):
    found, regular = saddle_in_loops(jnp.asarray(M), jnp.asarray(C), jnp.asarray(RHS))
    assert not bool(regular)
