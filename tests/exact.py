"""Nodes, integrals and Pade approximants in 50 digits, and products of matrices with them."""

import functools

import mpmath as mp
import numpy as np


mp.mp.dps = 50


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


def partner(A, b, weights):
    """`A*` with `b_i A*_ij + w_j A_ji = b_i w_j`."""
    rows, columns = A.cols, A.rows
    result = mp.matrix(rows, columns)
    for i in range(rows):
        for j in range(columns):
            result[i, j] = weights[j] * (1 - A[j, i] / b[i])
    return result


@functools.cache
def lobatto_families(s):
    """The nodes, the weights and the five families, by their definitions."""
    c = lobatto_nodes(s)
    b, A, C = integrals(c, [mp.mpf(1)]), integrals(c, c), mp.matrix(s, s)
    powers = mp.matrix([[c[j] ** k for j in range(1, s)] for k in range(s - 1)])
    for i in range(s):  # a_i1 = b_1, and sum_j a_ij c_j^k = c_i^(k+1) / (k+1) for k < s - 1
        moments = mp.matrix([c[i] ** (k + 1) / (k + 1) for k in range(s - 1)])
        moments[0] -= b[0]
        C[i, :] = mp.matrix([[b[0], *mp.lu_solve(powers, moments)]])
    B, star = partner(A, b, b), partner(C, b, b)
    return mp.matrix([c]), b, {"A": A, "B": B, "C": C, "C*": star, "D": (C + star) / 2}


def null_of_conditions(c, b):
    """`x` with `sum_j b_j c_j^{i-1} x_j = 0`, `i < s`, and `x_{s+1} = 0`: a divided difference."""
    s = len(c)
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
    return null


def pade(k, j, x):
    """The approximant of `exp(x)` with a numerator of degree `k`, a denominator of degree `j`.

    Source: E. Hairer & G. Wanner, *Solving Ordinary Differential Equations II*, Theorem IV.3.11.
    """

    def numerator(k, j, x):
        ratios = (mp.ff(k, m) / mp.ff(j + k, m) * x**m / mp.factorial(m) for m in range(k + 1))
        return mp.fsum(ratios)

    return numerator(k, j, x) / numerator(j, k, -x)


def to_mp(array):
    return mp.matrix(np.atleast_2d(np.asarray(array, float)).tolist())


def largest(matrix):
    return float(max(abs(x) for x in matrix))
