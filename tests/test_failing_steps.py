"""Steps that fail: NaN midway, and Newton's iteration."""

import jax
import numpy as np
import pytest

import jaxspark
from failing import ARGS, assert_stayed, fails_with, METHOD, simulate_traced, START, STEPS, SYSTEM
from helpers import result_is
from jaxspark import NewtonOptions, RESULTS, SolveError


# NaN midway.


@pytest.fixture(scope="module")
def good():
    solution = simulate_traced(*START)
    assert bool(solution.result == RESULTS.successful)
    return solution


def test_nan_midway(good):
    """Steps of 0.05; the functions are undefined after t = 0.16, in the fourth step."""
    solution = simulate_traced(*START, t_bad=0.16)
    fails_with(solution, RESULTS.nonfinite)
    assert int(solution.stats.num_steps) == 3
    last = 3
    for got, expected in ((solution.ys, good.ys), (solution.zs, good.zs)):
        assert np.array_equal(got[: last + 1], expected[: last + 1])
        assert np.array_equal(got[last:], np.tile(expected[last], (STEPS + 1 - last, 1)))
    assert np.array_equal(solution.ts[: last + 1], good.ts[: last + 1])
    assert np.all(solution.ts[last:] == good.ts[last])
    assert np.array_equal(solution.y1, good.ys[last])
    assert np.array_equal(solution.z1, good.zs[last])
    assert float(solution.t1) == float(good.ts[last])
    # Statistics are those of the good steps.
    for name in ("max_g", "max_gdot", "max_k"):
        assert np.isfinite(getattr(solution.stats, name))
        assert getattr(solution.stats, name) <= 1e-14


def test_the_error_says_where_it_stopped():
    args = {**ARGS, "t_bad": 0.16}
    with pytest.raises(SolveError) as caught:
        jaxspark.rollout(SYSTEM, *START, args, method=METHOD, h=0.05, num_steps=STEPS)
    message = str(caught.value)
    assert "NaN or infinity" in message
    assert "stopped at t = 0.15 after 3 steps" in message
    assert int(caught.value.solution.stats.num_steps) == 3


def test_under_jit_the_error_comes_at_run_time():
    @jax.jit
    def end(t_bad):
        args = {**ARGS, "t_bad": t_bad}
        solution = jaxspark.rollout(SYSTEM, *START, args, method=METHOD, h=0.05, num_steps=STEPS)
        return solution.y1

    assert np.all(np.isfinite(end(1e9)))
    with pytest.raises(Exception, match="NaN or infinity"):
        jax.block_until_ready(end(0.16))


# Newton's iteration.


def test_too_few_iterations():
    solution = jaxspark.rollout(
        SYSTEM, *START, ARGS, method=METHOD, h=0.05, num_steps=STEPS,
        newton=NewtonOptions(max_iterations=1), throw=False,
    )  # fmt: skip
    fails_with(solution, RESULTS.newton_iteration_limit)
    assert_stayed(solution, *START)
    # At most one from each of two starting values, and none in the steps after.
    assert int(solution.stats.newton_iterations) <= 2


def test_hard_equations_diverge():
    solution = simulate_traced(*START, h=1.0, stiff=200.0)
    failed = (RESULTS.newton_diverged, RESULTS.newton_iteration_limit)
    assert result_is(solution.result, *failed), RESULTS[solution.result]
    assert_stayed(solution, *START)


def test_huge_step_diverges():
    """No step of a hundred periods gets through as if it were right."""
    solution = simulate_traced(*START, h=300.0)
    failed = (RESULTS.newton_diverged, RESULTS.newton_iteration_limit)
    assert result_is(solution.result, *failed), RESULTS[solution.result]


@pytest.mark.parametrize(
    "options",
    [
        {"rtol": 0.0}, {"atol": -1e-9}, {"rtol": np.nan}, {"rtol": np.inf}, {"max_iterations": 0},
        {"max_iterations": True}, {"jacobian": "exact"},
    ],
)  # fmt: skip
def test_newton_options(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        NewtonOptions(**options)
