"""The estimate of a step's error: exact for the linear oscillator, blind to what is no error."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxspark
from helpers import order
from jaxspark import Gauss, Lobatto, RadauIIA
from jaxspark._adaptive._estimate import derivative_weights, error_constant, polynomial_degree
from jaxspark._adaptive._solver import DiffraxSolver
from jaxspark._adaptive._term import ConstrainedTerm


METHODS = [Gauss(1), Gauss(2), Gauss(4), RadauIIA(2), RadauIIA(3), Lobatto(2), Lobatto(3)]


@pytest.mark.parametrize("method", METHODS, ids=str)
def test_weights_differentiate(method):
    """Of `exp(x t)` on the nodes, the derivatives `x^k`, as `x` tends to zero."""
    tableau = method.tableau
    x = 0.03
    nodes = np.array([0.0, *tableau.c, 1.0])
    # Stages at the ends stand for themselves.
    found = derivative_weights(tableau) @ np.exp(x * (nodes - 0.5))
    degree = polynomial_degree(tableau)
    expected = x ** np.arange(degree + 1 - len(found), degree + 1)
    assert np.max(np.abs(found / expected - 1)) <= 2e-2


@pytest.mark.parametrize("stages", [1, 2, 3, 4])
def test_error_constant_of_gauss(stages):
    """That of the diagonal Pade approximations: Hairer & Wanner, IV.3."""
    factorial = math.factorial
    exact = factorial(stages) ** 2 / (factorial(2 * stages) * factorial(2 * stages + 1))
    assert abs(error_constant(Gauss(stages).tableau) / exact - 1) <= 1e-6


def oscillator(frequency):
    return jaxspark.ConstrainedSystem(lambda t, y, z, args: -(frequency**2) * y)


def estimated(method, phase, h, frequency=1.0, steps=3):
    """The estimate in `z` at the last of a few steps."""
    system, solver = oscillator(frequency), DiffraxSolver(method)
    term = ConstrainedTerm(system)
    angle = frequency * 0.0 + phase
    state = (jnp.sin(angle)[None], frequency * jnp.cos(angle)[None])
    memory = solver.init(term, 0.0, h, state, None)
    error = None
    for i in range(steps):
        state, error, _, memory, _ = solver.step(
            term, i * h, (i + 1) * h, state, None, memory, False
        )
    return float(jnp.hypot(error[0][0], error[1][0] / frequency))


@pytest.mark.parametrize("method", [Gauss(3), Lobatto(3)], ids=str)
def test_of_an_oscillator(method):
    """Ten radians of `C (omega h)^p`, in every phase."""
    h, p = 0.2, method.tableau.order
    exact = 10 * error_constant(method.tableau) * h**p
    for phase in np.linspace(0.0, np.pi, 7):
        assert 0.5 <= estimated(method, jnp.asarray(phase), h) / exact <= 2.5


@pytest.mark.parametrize("method", [Gauss(1), Gauss(3), RadauIIA(2)], ids=str)
def test_order(method):
    hs = np.array([0.2, 0.1, 0.05])
    errors = [estimated(method, jnp.asarray(0.7), h, steps=4) for h in hs]
    assert abs(order(hs, errors) - method.tableau.order) <= 0.35


def test_units_do_not_matter():
    """Time in other units: the same steps, the same estimate."""
    a = estimated(Gauss(3), jnp.asarray(0.7), 0.2)
    b = estimated(Gauss(3), jnp.asarray(0.7), 0.2 / 50.0, frequency=50.0)
    assert abs(a - b) <= 1e-8 * a


def test_what_constraints_determine_is_no_error():
    """A particle driven along `x`, free along `y`, where it moves at constant velocity."""
    system = jaxspark.LagrangianSystem(
        lambda t, q, v, args: 0.5 * jnp.sum(v**2),
        holonomic=lambda t, q, args: (q[0] - jnp.sin(9.0 * t))[None],
    )
    solver, term = DiffraxSolver(Gauss(3)), ConstrainedTerm(system)
    state = (jnp.zeros(2), jnp.array([9.0, 1.0]))
    memory = solver.init(term, 0.0, 0.1, state, None)
    _, error, _, _, _ = solver.step(term, 0.0, 0.1, state, None, memory, False)
    assert max(float(jnp.max(jnp.abs(x))) for x in jax.tree.leaves(error)) <= 1e-12
