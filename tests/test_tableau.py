"""Coefficients, against 50 digits; the algebra of the decoupling; a tableau as static data."""

import dataclasses

import jax
import jax.numpy as jnp
import mpmath as mp
import numpy as np
import pytest

from helpers import counted
from jaxspark import AbstractSparkMethod, Gauss, RadauIIA


mp.mp.dps = 50

METHODS = [(family, s) for family in (Gauss, RadauIIA) for s in range(1, 9)]
each_method = pytest.mark.parametrize(
    "family, s", METHODS, ids=[f"{family.__name__}{s}" for family, s in METHODS]
)


def roots(function, estimates):
    """The zeros of a function on [-1, 1] to 50 digits, moved to [0, 1]."""
    return [(1 + mp.findroot(function, mp.mpf(float(x)))) / 2 for x in estimates]


def legendre_series_roots(**degrees):
    """Estimates, in double precision."""
    series = np.zeros(12)
    for name, value in degrees.items():
        series[int(name[1:])] = value
    return np.sort(np.polynomial.legendre.legroots(np.trim_zeros(series, "b")).real)


def gauss_nodes(s):
    return roots(lambda x: mp.legendre(s, x), legendre_series_roots(**{f"p{s}": 1}))


def radau_nodes(s):
    estimates = legendre_series_roots(**{f"p{s}": 1, f"p{s - 1}": -1})[:-1]
    function = lambda x: mp.legendre(s, x) - mp.legendre(s - 1, x)
    return [*roots(function, estimates), mp.mpf(1)]


def lobatto_nodes(s):
    inner = []
    if s > 2:
        estimates = legendre_series_roots(**{f"p{s}": 1, f"p{s - 2}": -1})[1:-1]
        function = lambda x: mp.legendre(s, x) - mp.legendre(s - 2, x)
        inner = roots(function, estimates)
    return [mp.mpf(0), *inner, mp.mpf(1)]


def integrals(nodes, ends):
    """Weights `w_ij` with `sum_j w_ij c_j^(k-1) = x_i^k / k` for `k = 1..len(nodes)`."""
    n = len(nodes)
    powers = mp.matrix(n, n)
    for k in range(n):
        for j in range(n):
            powers[k, j] = nodes[j] ** k
    rows = []
    for x in ends:
        moments = mp.matrix([x ** (k + 1) / (k + 1) for k in range(n)])
        rows.append(list(mp.lu_solve(powers, moments)))
    return mp.matrix(rows)


class Exact:
    """The coefficients of SPARK.md, section 2, in 50 digits."""

    def __init__(self, family, s):
        c = gauss_nodes(s) if family is Gauss else radau_nodes(s)
        c_tilde = lobatto_nodes(s + 1)
        A, A_bar = integrals(c, c), integrals(c, c_tilde)
        b = integrals(c, [mp.mpf(1)])
        b_tilde = integrals(c_tilde, [mp.mpf(1)])
        A_tilde = mp.matrix(s, s + 1)
        for i in range(s):
            for j in range(s + 1):
                A_tilde[i, j] = b_tilde[j] * (1 - A_bar[j, i] / b[i])
        self.s, self.c, self.b, self.A = s, mp.matrix([c]), b, A
        self.c_tilde, self.b_tilde = mp.matrix([c_tilde]), b_tilde
        self.A_bar, self.A_tilde = A_bar, A_tilde


EXACT = {}


def exact(family, s):
    if (family, s) not in EXACT:
        EXACT[family, s] = Exact(family, s)
    return EXACT[family, s]


def to_mp(array):
    return mp.matrix(np.atleast_2d(np.asarray(array, float)).tolist())


def largest(matrix):
    return float(max(abs(x) for x in matrix))


@each_method
def test_coefficients(family, s):
    tableau, oracle = family(s).tableau, exact(family, s)
    for name in ("c", "b", "A", "c_tilde", "b_tilde", "A_bar", "A_tilde"):
        error = largest(to_mp(getattr(tableau, name)) - getattr(oracle, name))
        # Rounded once: half a unit in the last place of numbers up to 1, and a little.
        assert error <= 4e-16, name
    assert np.array_equal(tableau.A_hat, tableau.A)
    assert np.array_equal(tableau.b_hat, tableau.b)


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
    assert (np.max(np.abs(own)) <= 1e-15) == (family is Gauss)
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
    assert largest(to_mp(tableau.Q_tilde) - Q_tilde) <= 1e-13
    assert largest(to_mp(tableau.gamma) - gamma) <= 1e-13


@each_method
def test_decoupling(family, s):
    tableau = family(s).tableau
    assert np.max(np.abs(tableau.Q_tilde @ tableau.alpha - tableau.A)) <= 1e-14
    assert np.max(np.abs(tableau.gamma @ tableau.alpha)) <= 1e-13
    identity = np.eye(s + 1)
    assert np.max(np.abs(tableau.Q_inverse @ tableau.Q - identity)) <= 1e-13
    recovered = tableau.lam_recovery @ tableau.Q @ tableau.alpha_tilde
    assert np.max(np.abs(recovered - identity)) <= 1e-12
    recovered = tableau.psi_recovery @ tableau.Q_tilde @ tableau.alpha_hat
    assert np.max(np.abs(recovered - identity[:s, :s])) <= 1e-12
    ring = np.zeros((s + 1, s + 1))
    ring[:s, :s], ring[s, s] = tableau.A_bar[1:], 1
    assert np.max(np.abs(tableau.Q_check @ ring - tableau.Q)) <= 1e-13


@each_method
def test_row_space_of_q_tilde(family, s):
    """Q_tilde imposes `sum_j b_j c_j^{i-1} k_j = 0`, `i < s`, and `k(t1, y1, z1) = 0`.

    Both matrices have rank `s` and `s + 1` columns, so that their row spaces agree if they
    have the same null vector; that of the monomials is a divided difference.
    """
    oracle = exact(family, s)
    c, b = list(oracle.c), list(oracle.b)
    null = []
    for j in range(s):
        product = mp.mpf(1)
        for i in range(s):
            product *= c[j] - c[i] if i != j else 1
        null.append(1 / (b[j] * product))
    size = max(abs(x) for x in null)
    null = mp.matrix([x / size for x in null] + [mp.mpf(0)])
    for i in range(s - 1):
        assert abs(sum(b[j] * c[j] ** i * null[j] for j in range(s))) <= 1e-40
    Q_tilde = family(s).tableau.Q_tilde
    assert largest(to_mp(Q_tilde) * null) <= 1e-14
    assert np.linalg.matrix_rank(Q_tilde) == s


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


def broken(**changes):
    return lambda: dataclasses.replace(Gauss(2).tableau, **changes)


GAUSS = Gauss(2).tableau


@pytest.mark.parametrize(
    "build, words",
    [
        (broken(A_bar=GAUSS.A_bar + 1e-3), r"A_bar\[0\] = 0"),
        (broken(A_bar=GAUSS.A_bar * np.array([[1], [1], [1.1]])), r"A_bar\[s\] = b"),
        (broken(A_hat=GAUSS.A.T), "A_hat = A and b_hat = b"),
        (broken(b_hat=GAUSS.b[::-1] + 1e-3), "A_hat = A and b_hat = b"),
        (broken(A=GAUSS.A * 0, A_hat=GAUSS.A * 0), "A invertible"),
        (broken(b=np.array([1.0, 0.0])), "nonzero weights b and distinct c"),
        (broken(c=np.array([0.5, 0.5])), "nonzero weights b and distinct c"),
        (broken(A_tilde=GAUSS.A_tilde.T), r"A_tilde must have shape \(2, 3\)"),
    ],
)
def test_broken_assumption(build, words):
    with pytest.raises(ValueError, match=words):
        build()


def test_a_tableau_is_static():
    assert Gauss(2).tableau is Gauss(2).tableau
    assert Gauss(2) == Gauss(2) and hash(Gauss(2)) == hash(Gauss(2))
    assert Gauss(2) != RadauIIA(2) and Gauss(2).tableau != RadauIIA(2).tableau
    copy = dataclasses.replace(GAUSS)
    assert copy != GAUSS and len({copy, GAUSS, Gauss(2).tableau}) == 2

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
