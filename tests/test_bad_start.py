"""Starts that no step can leave: inconsistent, singular, NaN."""

import jax.numpy as jnp
import numpy as np
import pytest

import jaxspark
from failing import ARGS, assert_stayed, fails_with, METHOD, simulate_traced, START, STEPS
from helpers import pendulum, PENDULUM_ARGS, rod
from jaxspark import ConstrainedSystem, RESULTS, SolveError


# Inconsistent initial values.


def test_inconsistent_position():
    y, z = START[0] * 1.01, START[1]
    solution = simulate_traced(y, z)
    fails_with(solution, RESULTS.inconsistent_initial_values)
    assert_stayed(solution, y, z)
    expected = 0.5 * (np.sum(y**2) - ARGS["l"] ** 2)
    assert np.allclose(solution.initial_residuals.g, expected, rtol=1e-14)


def test_inconsistent_velocity():
    y, z = START[0], START[1] + 1e-5 * START[0]
    solution = simulate_traced(y, z)
    fails_with(solution, RESULTS.inconsistent_initial_values)
    assert_stayed(solution, y, z)


def test_small_inconsistency_is_tolerated():
    solution = simulate_traced(START[0] * (1 + 1e-9), START[1])
    assert bool(solution.result == RESULTS.successful)
    # And the step leads back to the constraint.
    assert float(solution.stats.max_g) <= 1e-15


def test_the_error_names_constraint_residual_and_cure():
    y, z = START[0], START[1] + 0.01 * START[0]
    with pytest.raises(SolveError) as caught:
        jaxspark.rollout(pendulum(), y, z, PENDULUM_ARGS, method=METHOD, h=0.05, num_steps=STEPS)
    message = str(caught.value)
    assert "g_t + g_y v" in message and "jaxspark.project" in message
    assert f"{0.01 * 0.8**2:.3e}" in message
    assert_stayed(caught.value.solution, y, z)
    assert isinstance(caught.value, RuntimeError)


def test_inconsistent_nonholonomic_start():
    system = ConstrainedSystem(lambda t, y, z, args: 0 * z, k=lambda t, y, z, args: z[1:])
    with pytest.raises(SolveError, match=r"2\.500e-01, of the nonholonomic constraint k"):
        jaxspark.rollout(
            system, np.zeros(2), np.array([1.0, 0.25]), method=METHOD, h=0.1, num_steps=1
        )


@pytest.mark.parametrize("tolerance, accepted", [(1e-12, False), (1e-2, True), (None, True)])
def test_consistency_tolerance(tolerance, accepted):
    y = START[0] * 1.001 if tolerance is None or tolerance > 1e-3 else START[0] * (1 + 1e-10)
    solution = jaxspark.rollout(
        pendulum(), y, START[1], PENDULUM_ARGS, method=METHOD, h=0.05, num_steps=2,
        consistency_tol=tolerance, throw=False,
    )  # fmt: skip
    assert bool(solution.result == RESULTS.successful) == accepted
    member = RESULTS.inconsistent_initial_values
    assert bool(solution.result == member) == (not accepted)


# Singular systems.


def test_redundant_constraints():
    def twice(t, y, args):
        return jnp.concatenate([rod(t, y, args), 3 * rod(t, y, args)])

    system = ConstrainedSystem(lambda t, y, z, args: 0 * z, g=twice)
    with pytest.raises(SolveError) as caught:
        jaxspark.rollout(system, *START, PENDULUM_ARGS, method=METHOD, h=0.05, num_steps=STEPS)
    fails_with(caught.value.solution, RESULTS.singular)
    assert_stayed(caught.value.solution, *START)
    assert "rank 1 of 2" in str(caught.value)
    # 3 times the first minus the second.
    direction = np.ravel(caught.value.rank.null_direction[0])
    assert np.allclose(direction / direction[1], [-3, 1], atol=1e-12)


@pytest.mark.parametrize("linear_solver", [None, jaxspark.linear.DenseLU()])
def test_massless_free_direction(linear_solver):
    def p(t, y, z, args):
        return z * jnp.asarray([1.0, 0.0])

    system = ConstrainedSystem(lambda t, y, z, args: -y, p=p)
    y, z = np.array([1.0, 0.5]), np.zeros(2)
    solution = jaxspark.rollout(
        system, y, z, method=METHOD, h=0.05, num_steps=STEPS, throw=False,
        linear_solver=linear_solver,
    )  # fmt: skip
    fails_with(solution, RESULTS.singular)
    assert_stayed(solution, y, z)


# NaN.


@pytest.mark.parametrize("name", ["g", "l"])
def test_nan_in_args(name):
    solution = simulate_traced(*START, **{name: np.nan})
    fails_with(solution, RESULTS.nonfinite)
    assert_stayed(solution, *START)


@pytest.mark.parametrize("which", [0, 1])
def test_nan_in_the_initial_state(which):
    state = [x.copy() for x in START]
    state[which][1] = np.nan
    solution = simulate_traced(*state)
    fails_with(solution, RESULTS.nonfinite)
    assert_stayed(solution, *state)
