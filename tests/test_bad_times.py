"""Times and step sizes: zero, not finite, ambiguous, and no step at all."""

import numpy as np
import pytest

import jaxspark
from failing import ARGS, assert_stayed, fails_with, METHOD, simulate_traced, START, SYSTEM
from jaxspark import RESULTS


@pytest.mark.parametrize("times", [{"h": 0.0}, {"t0": 2.0, "t1": 2.0}, {"h": 0}])
def test_zero_step_size_known(times):
    with pytest.raises(ValueError, match="time cannot advance.*num_steps=0"):
        jaxspark.rollout(SYSTEM, *START, ARGS, method=METHOD, num_steps=3, **times)


@pytest.mark.parametrize(
    "times, name",
    [({"h": np.nan}, "step size h"), ({"t1": np.inf}, "t1"), ({"t0": np.nan, "t1": 1.0}, "t0")],
)
def test_times_not_finite(times, name):
    with pytest.raises(ValueError, match=f"{name} must be finite"):
        jaxspark.rollout(SYSTEM, *START, ARGS, method=METHOD, num_steps=3, **times)


def test_zero_step_size_traced():
    solution = simulate_traced(*START, h=0.0)
    fails_with(solution, RESULTS.zero_step_size)
    assert_stayed(solution, *START)


def test_step_size_traced_and_not_finite():
    solution = simulate_traced(*START, h=np.nan)
    fails_with(solution, RESULTS.nonfinite)
    assert np.array_equal(solution.y1, START[0]) and np.array_equal(solution.z1, START[1])
    assert float(solution.t1) == 0.0


@pytest.mark.parametrize("times", [{}, {"t1": 1.0, "h": 0.1}])
def test_either_t1_or_h(times):
    with pytest.raises(ValueError, match="either the final time t1 or the step size h"):
        jaxspark.rollout(SYSTEM, *START, ARGS, method=METHOD, num_steps=3, **times)


@pytest.mark.parametrize("times", [{"h": np.full(2, 0.1)}, {"t0": np.zeros(1), "h": 0.1}])
def test_times_are_scalars(times):
    with pytest.raises((ValueError, TypeError)):
        jaxspark.rollout(SYSTEM, *START, ARGS, method=METHOD, num_steps=3, **times)


@pytest.mark.parametrize("save_every", [1, 3, None])
def test_no_steps(save_every):
    solution = jaxspark.rollout(
        SYSTEM, *START, ARGS, method=METHOD, t0=0.5, h=0.1, num_steps=0, save_every=save_every
    )
    assert np.array_equal(solution.ts, [0.5])
    assert np.array_equal(solution.ys, START[0][None])
    assert np.array_equal(solution.zs, START[1][None])
    assert np.array_equal(solution.y1, START[0]) and float(solution.t1) == 0.5
    assert bool(solution.result == RESULTS.successful)
