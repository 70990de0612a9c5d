"""Every assumption on the coefficients, broken alone; what is asked of which coefficients."""

import dataclasses
import re

import numpy as np
import pytest

from jaxspark import Gauss, Lobatto
from jaxspark.methods import SparkTableau


GAUSS, GAUSS3, LOBATTO = Gauss(2).tableau, Gauss(3).tableau, Lobatto(3).tableau
ARRAYS = [field.name for field in dataclasses.fields(SparkTableau)][2:]
TINY = 1e-12  # ten times what passes for a rounding error


def changed(array, *index, by):
    """A copy with some entries changed."""
    array = np.array(array)
    array[index] += by
    return array


def fails(words, tableau, **changes):
    with pytest.raises(ValueError, match=re.escape(words)):
        dataclasses.replace(tableau, **changes)


# One of these is broken, by little, and all that are checked before it hold.


@pytest.mark.parametrize("tableau", [GAUSS, LOBATTO], ids=["Gauss", "Lobatto"])
@pytest.mark.parametrize("name", ["b", "b_hat", "b_psi", "b_tilde"])
def test_sums_of_weights(tableau, name):
    weights = changed(getattr(tableau, name), 0, by=TINY)
    words = "breaks the assumption sum(b) = sum(b_hat) = sum(b_psi) = sum(b_tilde) = 1."
    fails(words, tableau, **{name: weights})


@pytest.mark.parametrize("tableau", [GAUSS, LOBATTO], ids=["Gauss", "Lobatto"])
def test_sums_of_rows(tableau):
    words = "breaks the assumption A 1 = c (stages at their times)."
    fails(words, tableau, A=changed(tableau.A, 1, 0, by=TINY))
    fails(words, tableau, c=changed(tableau.c, 1, by=TINY))
    words = "breaks the assumption A_bar 1 = c_tilde."
    fails(words, tableau, A_bar=changed(tableau.A_bar, 1, 0, by=TINY))
    fails(words, tableau, c_tilde=changed(tableau.c_tilde, 1, by=TINY))


@pytest.mark.parametrize("tableau", [GAUSS, LOBATTO], ids=["Gauss", "Lobatto"])
def test_first_and_last_constraint_node(tableau):
    # The sums of the rows stay what they are.
    words = "breaks the assumption A_bar[0] = 0 (the first constraint node is the start)."
    # This one holds exactly.
    fails(words, tableau, A_bar=changed(tableau.A_bar, 0, slice(2), by=[1e-16, -1e-16]))
    words = "breaks the assumption A_bar[-1] = b (the last constraint node is the end)."
    fails(words, tableau, A_bar=changed(tableau.A_bar, -1, slice(2), by=[TINY, -TINY]))


@pytest.mark.parametrize(
    "method", [Gauss(1), Gauss(2), Gauss(8), Lobatto(2), Lobatto(3), Lobatto(8)], ids=str
)
def test_order_above_that_of_the_quadrature(method):
    order = method.order + 1
    words = f"breaks the assumption sum(b c^(i-1)) = 1/i up to i = order = {order}."
    fails(words, method.tableau, order=order)


@pytest.mark.parametrize(
    "changes",
    [dict(b=np.array([1.0, 0.0])), dict(c=np.array([0.5, 0.5]))],
    ids=["b", "c"],
)
def test_zero_weights_and_equal_nodes(changes):
    words = "A SPARK tableau needs nonzero weights b and distinct c."
    fails(words, GAUSS, **changes)
    coefficients = dict(c=GAUSS.c, b=GAUSS.b, A=GAUSS.A) | changes
    with pytest.raises(ValueError, match=words):
        SparkTableau.build("own", 1, **coefficients)


# Multipliers that are not determined.


@pytest.mark.parametrize(
    "tableau, changes",
    [
        # Impulses of all stages in the ratio of b, whatever the multipliers.
        (GAUSS, dict(A_psi=np.full((2, 2), 0.25))),
        (GAUSS, dict(A_psi=np.zeros((2, 2)))),
        (LOBATTO, dict(A_psi=LOBATTO.A)),
        (LOBATTO, dict(A_psi=np.tile(LOBATTO.b, (3, 1)))),
    ],
)
def test_singular_nonholonomic_conditions(tableau, changes):
    words = (
        "With these A_psi and b_psi the conditions on the nonholonomic constraints do not "
        "determine their multipliers: the matrix N [A_psi; b_psi] is singular. So it is for "
        "Lobatto IIIA; IIIB, IIIC, IIIC* and IIID are regular."
    )
    fails(words, tableau, **changes)


@pytest.mark.parametrize("tableau", [GAUSS, LOBATTO], ids=["Gauss", "Lobatto"])
def test_dependent_holonomic_conditions(tableau):
    words = (
        "The holonomic constraint nodes do not give independent conditions: A_bar without its "
        "first row must have full rank."
    )
    half = np.array(tableau.A_bar)
    half[1] = tableau.b / 2
    fails(words, tableau, A_bar=half)


def test_holonomic_conditions_of_another_space():
    """`b c^2`, where `b` and `b c` are asked for; combinations of these are welcome."""
    words = (
        "With as many constraint nodes as stages, A_bar must impose the same combinations of "
        "the velocities as the conditions on k, sum_j b_j c_j^{i-1} k_j = 0: the rows of A_bar "
        "must span the polynomials of degree s - 2 in c, times b."
    )
    square, line = np.array(LOBATTO.A_bar), np.array(LOBATTO.A_bar)
    square[1] = 1.5 * LOBATTO.b * LOBATTO.c**2
    fails(words, LOBATTO, A_bar=square)
    line[1] = LOBATTO.b * LOBATTO.c
    decoupling = dataclasses.replace(LOBATTO, A_bar=line).decoupling
    conditions = decoupling.Q_check @ decoupling.holonomic_conditions
    assert np.max(np.abs(conditions - decoupling.Q[:3])) <= 1e-13


@pytest.mark.parametrize("tableau", [GAUSS, LOBATTO], ids=["Gauss", "Lobatto"])
def test_singular_holonomic_forces(tableau):
    """All multipliers push all stages alike."""
    words = (
        "With these A_tilde and b_tilde the holonomic constraints do not determine their "
        "multipliers: the matrix Q [A_tilde; b_tilde] is singular."
    )
    fails(words, tableau, A_tilde=np.tile(tableau.b_tilde, (tableau.stages, 1)))


# No arrays, or of the wrong shape.


@pytest.mark.parametrize("name", ARRAYS)
def test_wrong_shape(name):
    array = getattr(GAUSS, name)
    wrong = array[None]
    fails(f"{name} must have shape {array.shape}; got {wrong.shape}.", GAUSS, **{name: wrong})


@pytest.mark.parametrize("tableau", [GAUSS, LOBATTO], ids=["Gauss", "Lobatto"])
def test_number_of_holonomic_multipliers(tableau):
    s = tableau.stages
    for n in (1, s - 1, s + 2):
        words = (
            f"b_tilde must have s = {s} entries, or one more: as many holonomic constraint "
            f"forces as conditions; got {n}."
        )
        fails(words, tableau, b_tilde=np.full(n, 1 / n))


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", ARRAYS)
def test_not_finite(name, number):
    array = np.array(getattr(GAUSS, name))
    array.flat[-1] = number
    fails(f"{name} holds a number that is not finite.", GAUSS, **{name: array})


@pytest.mark.parametrize("wrong", ["one", "0.5 + 1j", 1j, [0.5], {}], ids=repr)
@pytest.mark.parametrize("name", ARRAYS)
def test_no_numbers(name, wrong):
    array = np.array(getattr(GAUSS, name), object)
    array.flat[-1] = wrong
    fails(f"{name} must be an array of real numbers.", GAUSS, **{name: array})


@pytest.mark.parametrize(
    "c, b", [([0, 1], [1]), ([0.5], [0.5, 0.5]), ([[0, 1]], [[0.5, 0.5]]), (0.5, 1), ([], [])]
)
def test_build_needs_two_vectors(c, b):
    shapes = f"{np.shape(c)} and {np.shape(b)}"
    words = f"c and b must be vectors of one length; got {shapes}."
    with pytest.raises(ValueError, match=re.escape(words)):
        SparkTableau.build("own", 1, c, b, [[0.5]])


# What the properties ask of which coefficients.


def partner_of_other_weights():
    """All but the first of the conditions (6.2)."""
    b_hat = changed(GAUSS3.b, slice(2), by=[TINY, -TINY])
    return dict(b_hat=b_hat, A_hat=b_hat[None, :] * (1 - GAUSS3.A.T / GAUSS3.b[:, None]))


@pytest.mark.parametrize(
    "changes, symmetric, lagrange_dalembert",
    [
        (dict(A=changed(GAUSS3.A, 0, slice(2), by=[TINY, -TINY])), False, False),
        (dict(A_hat=changed(GAUSS3.A, 0, 1, by=TINY)), False, False),
        (dict(b_hat=changed(GAUSS3.b, slice(2), by=[TINY, -TINY])), False, False),
        (dict(A_psi=changed(GAUSS3.A, 0, 1, by=TINY)), False, True),
        (dict(b_psi=changed(GAUSS3.b, slice(2), by=[TINY, -TINY])), False, True),
        (dict(A_bar=changed(GAUSS3.A_bar, 1, slice(2), by=[TINY, -TINY])), False, False),
        (dict(A_tilde=changed(GAUSS3.A_tilde, 0, 1, by=TINY)), False, False),
        (dict(b_tilde=changed(GAUSS3.b_tilde, slice(2), by=[TINY, -TINY])), False, False),
        (partner_of_other_weights(), False, False),
        (dict(A=changed(GAUSS3.A, 0, 1, by=1e-15)), True, True),
        # A change that the adjoint method undergoes, too.
        (dict(A_hat=changed(GAUSS3.A, [0, 2], [0, 2], by=[TINY, -TINY])), True, False),
        (dict(A_psi=changed(GAUSS3.A, [0, 2], [0, 2], by=[TINY, -TINY])), True, True),
    ],
)
def test_properties_of_changed_coefficients(changes, symmetric, lagrange_dalembert):
    # Of order 1: nothing more is asked of coefficients that are changed.
    tableau = dataclasses.replace(GAUSS3, order=1, **changes)
    assert tableau.symmetric is symmetric
    assert tableau.lagrange_dalembert is lagrange_dalembert
    assert tableau.same_psi == changes.keys().isdisjoint({"A_hat", "b_hat", "A_psi", "b_psi"})


@pytest.mark.parametrize("name", ["A_hat", "A_psi", "A_tilde"])
def test_claimed_order_against_the_coupled_conditions(name):
    """`b^T X 1 = 1/2` is asked for order 2, `b^T X c = 1/6` for order 3."""
    X = getattr(GAUSS3, name)
    nodes = GAUSS3.c_tilde if name == "A_tilde" else GAUSS3.c
    with pytest.raises(ValueError, match=rf"not of order 2: b\^T {name} 1 must be 0\.5"):
        dataclasses.replace(GAUSS3, order=2, **{name: 1.01 * X})
    # Orthogonal to 1, not to c.
    away = np.ones((3, 1)) * (nodes - np.mean(nodes))[None, :]
    changes = {name: X + 1e-3 * away}
    with pytest.raises(ValueError, match=rf"not of order 3: b\^T {name} c must be 0\.16"):
        dataclasses.replace(GAUSS3, order=3, **changes)
    assert dataclasses.replace(GAUSS3, order=2, **changes).order == 2
    assert dataclasses.replace(GAUSS3, order=1, **{name: 1.01 * X}).order == 1
