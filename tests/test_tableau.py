"""Coefficients, against 50 digits; the algebra of the decoupling; a tableau as static data."""

import dataclasses

import jax
import jax.numpy as jnp
import mpmath as mp
import numpy as np
import pytest

from exact import (
    gauss_nodes,
    integrals,
    largest,
    lobatto_nodes,
    null_of_conditions,
    pade,
    partner,
    radau_nodes,
    to_mp,
)
from helpers import counted
from jaxspark import Gauss, RadauIIA
from jaxspark.methods import AbstractSparkMethod


POINTS = (-0.7 + 0j, 0.3 + 1.1j, -2 + 3j, -5j, -40 + 25j)
METHODS = [(family, s) for family in (Gauss, RadauIIA) for s in range(1, 9)]
each_method = pytest.mark.parametrize(
    "family, s", METHODS, ids=[f"{family.__name__}{s}" for family, s in METHODS]
)


class Exact:
    """The coefficients of L. O. Jay, section 2, in 50 digits."""

    def __init__(self, family, s):
        c = gauss_nodes(s) if family is Gauss else radau_nodes(s)
        c_tilde = lobatto_nodes(s + 1)
        A, A_bar = integrals(c, c), integrals(c, c_tilde)
        b = integrals(c, [mp.mpf(1)])
        b_tilde = integrals(c_tilde, [mp.mpf(1)])
        self.s, self.c, self.b, self.A = s, mp.matrix([c]), b, A
        self.c_tilde, self.b_tilde = mp.matrix([c_tilde]), b_tilde
        self.A_bar, self.A_tilde = A_bar, partner(A_bar, b, b_tilde)


EXACT = {}


def exact(family, s):
    if (family, s) not in EXACT:
        EXACT[family, s] = Exact(family, s)
    return EXACT[family, s]


@each_method
def test_coefficients(family, s):
    tableau, oracle = family(s).tableau, exact(family, s)
    for name in ("c", "b", "A", "c_tilde", "b_tilde", "A_bar", "A_tilde"):
        error = largest(to_mp(getattr(tableau, name)) - getattr(oracle, name))
        # Rounded once: half a unit in the last place of numbers up to 1, and a little.
        assert error <= 4e-16, name
    for name in ("A_hat", "A_psi"):
        assert np.array_equal(getattr(tableau, name), tableau.A), name
    for name in ("b_hat", "b_psi"):
        assert np.array_equal(getattr(tableau, name), tableau.b), name
    assert tableau.same_psi and not tableau.nodes_are_stages
    assert (tableau.stages, tableau.constraint_nodes) == (s, s + 1)


@each_method
def test_order_conditions(family, s):
    """B, C and D of the library's own numbers, summed in 50 digits."""
    tableau = family(s).tableau
    order_b, order_d = (2 * s, s) if family is Gauss else (2 * s - 1, s - 1)
    c, b, A = (to_mp(x) for x in (tableau.c, tableau.b, tableau.A))
    c_tilde, b_tilde = to_mp(tableau.c_tilde), to_mp(tableau.b_tilde)
    A_bar, A_tilde = to_mp(tableau.A_bar), to_mp(tableau.A_tilde)
    defects = []
    for k in range(1, order_b + 1):  # B(p)
        defects.append(sum(b[j] * c[j] ** (k - 1) for j in range(s)) - mp.mpf(1) / k)
    for k in range(1, 2 * s + 1):  # B(2s) of the constraint nodes
        moment = sum(b_tilde[j] * c_tilde[j] ** (k - 1) for j in range(s + 1))
        defects.append(moment - mp.mpf(1) / k)
    for k in range(1, s + 1):  # C(s), of A and of A_bar
        for i in range(s):
            row = sum(A[i, j] * c[j] ** (k - 1) for j in range(s))
            defects.append(row - c[i] ** k / k)
        for i in range(s + 1):
            row = sum(A_bar[i, j] * c[j] ** (k - 1) for j in range(s))
            defects.append(row - c_tilde[i] ** k / k)
    for k in range(1, order_d + 1):  # D, and C of A_tilde, which follows from it
        for j in range(s):
            column = sum(b[i] * c[i] ** (k - 1) * A[i, j] for i in range(s))
            defects.append(column - b[j] * (1 - c[j] ** k) / k)
        for i in range(s):
            row = sum(A_tilde[i, j] * c_tilde[j] ** (k - 1) for j in range(s + 1))
            defects.append(row - c[i] ** k / k)
    assert largest(defects) <= 1e-15


@each_method
def test_the_order_is_not_higher_than_said(family, s):
    tableau = family(s).tableau
    p = tableau.order
    assert p == (2 * s if family is Gauss else 2 * s - 1)
    c, b = to_mp(tableau.c), to_mp(tableau.b)
    moment = sum(b[j] * c[j] ** p for j in range(s))
    # The error constant of the quadrature is above 1e-11 up to s = 8.
    assert abs(moment - mp.mpf(1) / (p + 1)) > 1e-12


@each_method
def test_symplectic_partner_and_symmetry(family, s):
    tableau = family(s).tableau
    b, b_tilde = tableau.b, tableau.b_tilde
    defect = (
        b[:, None] * tableau.A_tilde
        + b_tilde[None, :] * tableau.A_bar.T
        - b[:, None] * b_tilde[None, :]
    )
    assert np.max(np.abs(defect)) <= 2e-16
    own = b[:, None] * tableau.A + (b[:, None] * tableau.A).T - b[:, None] * b[None, :]
    reflected = tableau.A + tableau.A[::-1, ::-1] - b[None, :]
    # Gauss is symplectic and symmetric; Radau IIA is neither.
    assert (np.max(np.abs(own)) <= 1e-15) == (family is Gauss) == tableau.lagrange_dalembert
    assert (np.max(np.abs(reflected)) <= 1e-15) == (family is Gauss) == tableau.symmetric


@each_method
def test_papers_form_of_q_tilde(family, s):
    oracle = exact(family, s)
    b, A = oracle.b, oracle.A
    C = mp.diag(list(oracle.c))
    rows = [list(b)]
    for i in range(1, s):
        rows.append(list(b - i * b * C ** (i - 1) * A))
    M = mp.matrix(rows)
    ones = mp.matrix([1] * s)
    b_A = mp.lu_solve(A.T, b.T).T
    gamma = mp.matrix([[-x for x in b_A] + [mp.mpf(1)]])
    left = mp.zeros(s, s + 1)
    for i in range(s):
        left[i, i] = 1
    Q_tilde = left + (A * mp.lu_solve(M, ones)) * gamma
    tableau = family(s).tableau
    decoupling = tableau.decoupling
    # The paper's rows are combined by A; the library's are such that Q_tilde alpha = I.
    assert largest(A * to_mp(decoupling.Q_tilde) - Q_tilde) <= 1e-13
    assert largest(to_mp(decoupling.gamma) - gamma) <= 1e-13


@each_method
def test_decoupling(family, s):
    tableau = family(s).tableau
    decoupling = tableau.decoupling
    Q_tilde, Q, gamma = decoupling.Q_tilde, decoupling.Q, decoupling.gamma
    identity = np.eye(s + 1)
    assert np.max(np.abs(Q_tilde @ tableau.alpha_psi - identity[:s, :s])) <= 1e-13
    assert np.max(np.abs(tableau.A @ Q_tilde @ tableau.alpha - tableau.A)) <= 1e-14
    assert np.max(np.abs(gamma @ tableau.alpha)) <= 1e-13
    assert np.array_equal(Q, np.vstack([Q_tilde, gamma]))
    assert np.max(np.abs(decoupling.Q_inverse @ Q - identity)) <= 1e-13
    recovered = decoupling.lam_recovery @ Q @ tableau.alpha_tilde
    assert np.max(np.abs(recovered - identity)) <= 1e-13
    ring = np.zeros((s + 1, s + 1))
    ring[:s, :s], ring[s, s] = tableau.A_bar[1:], 1
    assert np.array_equal(decoupling.holonomic_conditions, ring)
    assert np.max(np.abs(decoupling.Q_check @ ring - Q)) <= 1e-14 * np.max(np.abs(Q))
    assert decoupling.coupling is None


@each_method
def test_row_space_of_q_tilde(family, s):
    """Q_tilde imposes `sum_j b_j c_j^{i-1} k_j = 0`, `i < s`, and `k(t1, y1, z1) = 0`.

    Both matrices have rank `s` and `s + 1` columns, so that their row spaces agree if they
    have the same null vector.
    """
    oracle = exact(family, s)
    null = null_of_conditions(list(oracle.c), list(oracle.b))
    tableau = family(s).tableau
    Q_tilde = tableau.decoupling.Q_tilde
    assert largest(to_mp(tableau.A) * to_mp(Q_tilde) * null) <= 1e-14
    assert np.linalg.matrix_rank(Q_tilde) == s


@each_method
def test_stability_function(family, s):
    """Pade approximants of the exponential: (s, s) for Gauss, (s - 1, s) for Radau IIA."""
    tableau = family(s).tableau
    for x in POINTS:
        expected = complex(pade(s if family is Gauss else s - 1, s, x))
        assert abs(tableau.R(x) - expected) <= 3e-14 * max(1, abs(expected))
    assert abs(tableau.R_infinity - ((-1) ** s if family is Gauss else 0)) <= 1e-13


@pytest.mark.parametrize("family", [Gauss, RadauIIA])
@pytest.mark.parametrize("stages", [0, 9, -1])
def test_number_of_stages_out_of_range(family, stages):
    with pytest.raises(ValueError, match=f"from 1 to 8; got {stages}"):
        family(stages)


@pytest.mark.parametrize("family", [Gauss, RadauIIA])
@pytest.mark.parametrize("stages", [2.0, True, "2", None])
def test_number_of_stages_is_no_integer(family, stages):
    with pytest.raises(TypeError, match="stages"):
        family(stages)


def test_a_tableau_is_static():
    assert Gauss(2).tableau is Gauss(2).tableau
    assert Gauss(2) == Gauss(2) and hash(Gauss(2)) == hash(Gauss(2))
    assert Gauss(2) != RadauIIA(2) and Gauss(2).tableau != RadauIIA(2).tableau
    copy = dataclasses.replace(Gauss(2).tableau)
    assert copy != Gauss(2).tableau and len({copy, Gauss(2).tableau, Gauss(2).tableau}) == 2

    traces = []

    def weigh(tableau, x):
        traces.append(None)
        return jnp.asarray(tableau.A) @ x

    weigh_static = jax.jit(weigh, static_argnums=0)
    x = jnp.ones(2)
    for _ in range(2):
        weigh_static(Gauss(2).tableau, x)
    assert len(traces) == 1
    weigh_static(copy, x)
    assert len(traces) == 2

    function, traces = counted(lambda method, x: jnp.asarray(method.tableau.A) @ x)
    first, second = function(Gauss(2), x), function(Gauss(2), 2 * x)
    assert len(traces) == 1
    assert np.array_equal(2 * first, second)
    assert not np.allclose(function(RadauIIA(2), x), first)
    assert len(traces) == 2


@pytest.mark.parametrize("family", [Gauss, RadauIIA])
def test_methods_are_small_static_objects(family):
    method = family(3)
    assert isinstance(method, AbstractSparkMethod)
    assert jax.tree.leaves(method) == []
    assert (method.stages, method.order) == (3, method.tableau.order)
    assert repr(method) == f"{family.__name__}(stages=3)"
