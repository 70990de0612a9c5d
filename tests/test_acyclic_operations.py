"""The sparse operations of the explicit null-space method, each against SciPy."""

import jax.numpy as jnp
import numpy as np
import pytest
import scipy.sparse as sp
from scipy.linalg import solve_triangular

from jaxspark._blocks._operations import (
    add,
    add_symbolic,
    factorise,
    multiply,
    multiply_transposed,
    null_basis,
    null_basis_symbolic,
    permute_symbolic,
    Sparsity,
    transpose_symbolic,
    triple,
    triple_symbolic,
)
from rods import relative


def random_sparse(shape, density, seed):
    """The structure, the values, and the same matrix in SciPy."""
    rng = np.random.default_rng(seed)
    sparsity = Sparsity.of(rng.random(shape) < density)
    values = rng.uniform(0.5, 1.5, sparsity.size)
    matrix = sp.csr_array((values, (sparsity.rows, sparsity.columns)), shape)
    return sparsity, jnp.asarray(values), matrix


def assert_same(sparsity, values, matrix):
    """The same entries, and the same values in the same order."""
    matrix = sp.csr_array(matrix)
    matrix.sort_indices()
    assert sparsity.shape == matrix.shape
    assert np.array_equal(sparsity.rows, matrix.tocoo().coords[0])
    assert np.array_equal(sparsity.columns, matrix.indices)
    assert relative(values, matrix.data) <= 1e-14


def test_sum_permutation_and_transpose():
    a, values_a, A = random_sparse((7, 9), 0.3, 0)
    b, values_b, B = random_sparse((7, 9), 0.3, 1)
    total, *places = add_symbolic(a, b)
    assert total.size < a.size + b.size
    assert_same(total, add(total, *places, values_a, values_b), A + B)
    rng = np.random.default_rng(2)
    rows, columns = rng.permutation(7), rng.permutation(9)
    permuted, sources = permute_symbolic(a, rows, columns)
    assert_same(permuted, values_a[sources], A[rows][:, columns])
    transposed, sources = transpose_symbolic(a)
    assert_same(transposed, values_a[sources], A.T)
    assert transposed != a and hash(transpose_symbolic(transposed)[0]) == hash(a)
    with pytest.raises(ValueError, match="row-major"):
        Sparsity((2, 2), np.array([1, 0]), np.array([0, 0]))
    with pytest.raises(ValueError, match="outside"):
        Sparsity((2, 2), np.array([0, 2]), np.array([0, 0]))


def test_products_with_dense_matrices():
    a, values, A = random_sparse((7, 9), 0.3, 0)
    rng = np.random.default_rng(2)
    x, y = rng.normal(size=(9, 4)), rng.normal(size=(7, 4))
    assert relative(multiply(a, values, jnp.asarray(x)), A @ x) <= 1e-14
    assert relative(multiply_transposed(a, values, jnp.asarray(y)), A.T @ y) <= 1e-14


def lower_triangle(size, seed):
    a, values, A = random_sparse((size, size), 0.2, seed)
    A = sp.csr_array(sp.tril(A, -1) + sp.diags_array(np.linspace(1, 2, size)))
    return Sparsity.of(A.toarray() != 0), A


def test_triangular_solves():
    a, A = lower_triangle(12, 4)
    rng = np.random.default_rng(2)
    rhs, rows, columns = rng.normal(size=(12, 3)), *rng.uniform(0.1, 10, (2, 12))
    factors = factorise(a.dense(jnp.asarray(A.data)), *jnp.asarray([rows, columns]), True)
    found, transposed = factors.solve(jnp.asarray(rhs)), factors.solve(jnp.asarray(rhs), True)
    assert relative(found, solve_triangular(A.toarray(), rhs, lower=True)) <= 1e-13
    assert relative(transposed, solve_triangular(A.toarray().T, rhs)) <= 1e-13


def test_null_basis_and_triple_product():
    a, A = lower_triangle(12, 4)
    b, values_b, B = random_sparse((12, 5), 0.15, 6)
    k, values_k, K = random_sparse((17, 17), 0.1, 7)
    ones = jnp.ones(12)
    factors = factorise(a.dense(jnp.asarray(A.data)), ones, ones, True)
    basis = null_basis_symbolic(a, b, np.arange(12))
    values = null_basis(basis, factors, b, values_b)
    top = sp.csr_array(solve_triangular(A.toarray(), -B.toarray(), lower=True))
    assert basis.size < 17 * 5
    Z = sp.csr_array(sp.vstack([top, sp.eye_array(5)]))
    assert_same(basis, values, Z)
    left = np.random.default_rng(3).uniform(1, 2, basis.size)
    product = triple_symbolic(basis, k)
    assert product.size < 25
    found = triple(product, basis, k, jnp.asarray(left), values_k, jnp.abs(values))
    Z_left = sp.csr_array((left, (basis.rows, basis.columns)), basis.shape)
    assert_same(product, found, Z_left.T @ K @ abs(Z))
