"""Symmetric compositions: their order conditions, and what they amount to on mechanisms."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxspark
from jaxspark._tableau import composition_fractions


ORDERS = (4, 6, 8, 10)


def words(weight: int) -> list[tuple[int, ...]]:
    """All words in letters of odd weights whose weights add up to at most this."""
    found, last = [()], [()]
    while last:
        longer = [(*word, k) for word in last for k in range(1, weight + 1, 2)]
        last = [word for word in longer if sum(word) <= weight]
        found += last
    return found


def product(a: dict, b: dict, weight: int) -> dict:
    """Of two formal series in letters that do not commute, up to a weight."""
    result: dict = {}
    for (v, x) in a.items():
        for (w, y) in b.items():
            if sum(v) + sum(w) <= weight:
                result[v + w] = result.get(v + w, 0) + x * y
    return result


def exponential(series: dict, weight: int) -> dict:
    result, power = {(): np.longdouble(1)}, {(): np.longdouble(1)}
    for k in range(1, weight + 1):
        power = {w: x / k for w, x in product(power, series, weight).items()}
        result = {w: result.get(w, 0) + power.get(w, 0) for w in {*result, *power}}
    return result


@pytest.mark.parametrize("order", ORDERS)
def test_order_conditions(order):
    # A symmetric method of order 2 is the exponential of h X_1 + h^3 X_3 + h^5 X_5 + ..., whatever
    # these are: so the product of its steps agrees with exp(h X_1) up to h^order, for all systems.
    whole = {(): np.longdouble(1)}
    for fraction in composition_fractions(order):
        h = np.longdouble(fraction)
        letters = {(k,): h**k for k in range(1, order + 1, 2)}
        whole = product(whole, exponential(letters, order), order)
    exact = exponential({(1,): np.longdouble(1)}, order)
    wrong = max(abs(whole.get(w, 0) - exact.get(w, 0)) for w in words(order))
    assert wrong < 5e-15


@pytest.mark.parametrize("order", ORDERS)
def test_fractions_are_symmetric_and_of_no_higher_order(order):
    fractions = np.array(composition_fractions(order))
    np.testing.assert_array_equal(fractions, fractions[::-1])
    assert fractions.sum() == pytest.approx(1, abs=1e-15)
    # Were they of the next order, too, a test of slopes could not tell.
    assert abs(np.sum(fractions ** (order + 1))) > 1e-6
