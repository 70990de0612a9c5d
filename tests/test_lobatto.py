"""The Lobatto families against 50 digits, and what SPARK tableaux of them amount to.

Definitions and published values: E. Hairer & G. Wanner, *Solving Ordinary Differential
Equations II*, section IV.5; IIIC* and IIID, L. O. Jay, *Lagrange-d'Alembert SPARK integrators
for nonholonomic Lagrangian systems*, section 7.
"""

import itertools
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest

from exact import largest, lobatto_families, pade, to_mp
from jaxspark import Lobatto


FAMILIES = ("A", "B", "C", "C*", "D")
STAGES = range(2, 9)
each_s = pytest.mark.parametrize("s", STAGES)
each_family = pytest.mark.parametrize("family", FAMILIES)
# As coefficients of the coordinates: IIIB with two stages has A 1 != c.
each_y = pytest.mark.parametrize(
    "y, s", [(y, s) for y in FAMILIES for s in STAGES if (y, s) != ("B", 2)]
)

PUBLISHED = {
    "A2": "0 0, 1/2 1/2",
    "B2": "1/2 0, 1/2 0",
    "C2": "1/2 -1/2, 1/2 1/2",
    "C*2": "0 0, 1 0",
    "D2": "1/4 -1/4, 3/4 1/4",
    "A3": "0 0 0, 5/24 1/3 -1/24, 1/6 2/3 1/6",
    "B3": "1/6 -1/6 0, 1/6 1/3 0, 1/6 5/6 0",
    "C3": "1/6 -1/3 1/6, 1/6 5/12 -1/12, 1/6 2/3 1/6",
    "C*3": "0 0 0, 1/4 1/4 0, 0 1 0",
    "D3": "1/12 -1/6 1/12, 5/24 1/3 -1/24, 1/12 5/6 1/12",
}


def coefficients(s, family):
    """The library's matrix of a family: that of the forces `f` may be any."""
    return Lobatto(s, f=family).tableau.A_hat


@each_s
@pytest.mark.parametrize("shift", range(5))
def test_coefficients(s, shift):
    """Each family in each of the three places."""
    y, f, psi = (FAMILIES[(shift + i) % 5] for i in range(3))
    y, psi = "D" if (y, s) == ("B", 2) else y, "D" if psi == "A" else psi
    tableau = Lobatto(s, y, f, psi).tableau
    c, b, families = lobatto_families(s)
    expected = dict(
        c=c, b=b, b_hat=b, b_psi=b, c_tilde=c, b_tilde=b, A=families[y], A_hat=families[f],
        A_psi=families[psi], A_bar=families["A"], A_tilde=families["B"],
    )  # fmt: skip
    for name, value in expected.items():
        # Rounded once: half a unit in the last place of numbers up to 2.
        assert largest(to_mp(getattr(tableau, name)) - value) <= 4e-16, name
    assert tableau.nodes_are_stages and tableau.same_psi == (psi == f)
    assert (tableau.stages, tableau.constraint_nodes) == (s, s)
    assert (tableau.order, tableau.name) == (2 * s - 2, f"Lobatto III{y}-III{f}-III{psi}")


@each_family
@pytest.mark.parametrize("s", [2, 3])
def test_published_values(family, s):
    rows = [row.split() for row in PUBLISHED[f"{family}{s}"].split(",")]
    published = np.array([[float(Fraction(x)) for x in row] for row in rows])
    assert np.max(np.abs(coefficients(s, family) - published)) <= 1.2e-16


@each_s
def test_what_is_zero_is_zero(s):
    """The first or last stage is known, or a force not felt: no rounding errors there."""
    A, B, C, star, _ = (coefficients(s, family) for family in FAMILIES)
    tableau = Lobatto(s).tableau
    assert not np.any(A[0]) and not np.any(star[0]) and not np.any(tableau.A_bar[0])
    for matrix in (B, star, tableau.A_tilde):
        assert not np.any(matrix[:, -1])
    assert np.array_equal(A[-1], tableau.b) and np.array_equal(C[-1], tableau.b)
    for matrix in (B, C, tableau.A_tilde):
        assert np.array_equal(matrix[:, 0], np.full(s, tableau.b[0]))


def moment_defects(b, c, highest):
    """B: `sum_j b_j c_j^{k-1} - 1/k`, for `k = 1..highest`."""
    s = len(c)
    return [
        sum(b[j] * c[j] ** (k - 1) for j in range(s)) - mp.mpf(1) / k for k in range(1, highest + 1)
    ]


def stage_defects(A, c, highest):
    """C: `sum_j a_ij c_j^{k-1} - c_i^k / k`, the largest of each `k = 1..highest`."""
    s = len(c)
    return [
        max(abs(sum(A[i, j] * c[j] ** (k - 1) for j in range(s)) - c[i] ** k / k) for i in range(s))
        for k in range(1, highest + 1)
    ]


def adjoint_defects(A, b, c, highest):
    """D: `sum_i b_i c_i^{k-1} a_ij - b_j (1 - c_j^k) / k`, the largest of each `k`."""
    s = len(c)

    def defect(j, k):
        return sum(b[i] * c[i] ** (k - 1) * A[i, j] for i in range(s)) - b[j] * (1 - c[j] ** k) / k

    return [max(abs(defect(j, k)) for j in range(s)) for k in range(1, highest + 1)]


@each_s
@each_family
def test_simplifying_assumptions(family, s):
    """B, C and D of the library's own numbers, summed in 50 digits, and none beyond."""
    tableau = Lobatto(s, f=family).tableau
    b, c, A = (to_mp(x) for x in (tableau.b, tableau.c, tableau.A_hat))
    orders = {"A": (s, s - 2), "B": (s - 2, s)}
    order_c, order_d = orders.get(family, (s - 1, s - 1))
    *moments, beyond = moment_defects(b, c, 2 * s - 1)
    *of_stages, beyond_c = stage_defects(A, c, order_c + 1)
    *of_adjoint, beyond_d = adjoint_defects(A, b, c, order_d + 1)
    assert largest([0, *moments, *of_stages, *of_adjoint]) <= 1e-15
    # The smallest of these, at s = 8: 6e-9, 3e-6 for IIIA, 6e-7 for IIIB.
    assert abs(beyond) > 1e-9
    assert beyond_c > 1e-6 and beyond_d > 1e-7


def own_adjoint(tableau):
    """The conditions (6.3), and those for the holonomic coefficients, in 1e-14."""
    t = tableau
    defects = [t.c + t.c[::-1] - 1, t.c_tilde + t.c_tilde[::-1] - 1]
    for A, b in (
        (t.A, t.b), (t.A_hat, t.b_hat), (t.A_psi, t.b_psi), (t.A_bar, t.b), (t.A_tilde, t.b_tilde),
    ):  # fmt: skip
        rows, columns = A.shape
        for i, j in itertools.product(range(rows), range(columns)):
            defects.append(A[rows - 1 - i, columns - 1 - j] + A[i, j] - b[j])
            defects.append(b[columns - 1 - j] - b[j])
    return max(np.max(np.abs(defect)) for defect in defects) <= 1e-14


def variational(tableau):
    """The conditions (6.2), and those of the holonomic partners, in 1e-14."""
    t = tableau
    defects = [t.b_hat - t.b]
    for i, j in itertools.product(range(t.stages), range(t.stages)):
        pair = t.b_hat[i] * t.A[i, j] + t.b[j] * t.A_hat[j, i]
        defects.append(pair - t.b_hat[i] * t.b[j])
    for i, j in itertools.product(range(t.stages), range(t.constraint_nodes)):
        pair = t.b[i] * t.A_tilde[i, j] + t.b_tilde[j] * t.A_bar[j, i]
        defects.append(pair - t.b[i] * t.b_tilde[j])
    return max(np.max(np.abs(defect)) for defect in defects) <= 1e-14


SYMMETRIC = {"A", "B", "D"}
PARTNERS = {("A", "B"), ("B", "A"), ("C", "C*"), ("C*", "C"), ("D", "D")}


@pytest.mark.parametrize(
    "y, s", [(y, s) for y in FAMILIES for s in (2, 3, 8) if (y, s) != ("B", 2)]
)
def test_symmetry_and_the_principle(y, s):
    """Twenty combinations each, against the definitions and what is known of the families."""
    for f, psi in itertools.product(FAMILIES, FAMILIES[1:]):
        tableau = Lobatto(s, y, f, psi).tableau
        assert tableau.symmetric == own_adjoint(tableau) == ({y, f, psi} <= SYMMETRIC), (f, psi)
        assert tableau.lagrange_dalembert == variational(tableau) == ((y, f) in PARTNERS), (f, psi)


POINTS = (-0.7 + 0j, 0.3 + 1.1j, -2 + 3j, -5j, -40 + 25j)


def stability_of_iiid(s, x):
    """`(1 + w/2) / (1 - w/2)`, `w = x / (1 + x^2 / 12 / (1 + x^2 / 60 / (1 + ...)))`.

    That of the (s, s) Pade approximant, but the last term is `(2s - 1) / (s - 1)` times as large,
    the weight of the last of the orthogonal polynomials in Lobatto quadrature. Source: E.
    Hairer & G. Wanner, *Solving Ordinary Differential Equations II*, IV.5, W-transformation.
    """
    below = mp.mpf(1)
    for k in range(s - 1, 0, -1):
        weight = mp.mpf(2 * s - 1) / (s - 1) if k == s - 1 else 1
        below = 1 + weight * mp.mpmathify(x) ** 2 / (4 * (4 * k * k - 1)) / below
    w = x / below
    return (1 + w / 2) / (1 - w / 2)


@each_y
def test_stability_function(y, s):
    """Pade approximants of the exponential, but for IIID."""
    tableau = Lobatto(s, y=y).tableau
    degrees = {"A": (s - 1, s - 1), "B": (s - 1, s - 1), "C": (s - 2, s), "C*": (s, s - 2)}
    for x in POINTS:
        expected = complex(stability_of_iiid(s, x) if y == "D" else pade(*degrees[y], x))
        assert abs(tableau.R(x) - expected) <= 3e-14 * max(1, abs(expected))
    even = 1 if s % 2 == 0 else -1
    limit = {"A": -even, "B": -even, "C": 0, "C*": np.inf, "D": even}[y]
    assert tableau.R_infinity == limit or abs(tableau.R_infinity - limit) <= 1e-13
