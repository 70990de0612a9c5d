"""From starts that oscillate onto the slow motion."""

import jax.numpy as jnp
import numpy as np
import pytest

import jaxspark
from benchmarks import problems
from jaxspark import GGL, RadauIIA, RESULTS


def start_of(problem):
    return jnp.asarray(problem.y0), jnp.asarray(problem.z0)


def test_damp_start():
    """Three Euler steps, and then no more than for a start without oscillations."""
    problem = problems.yen_petzold_bushing(1e-6)
    y0, z0 = start_of(problem)
    slowly = GGL(RadauIIA(2), error_norm="slow motion")
    start = jaxspark.stiff.damp_start(problem.system, y0, z0, problem.args, h=1e-2, rtol=1e-4)
    assert bool(start.result == RESULTS.successful) and abs(float(start.t) - 0.03) <= 1e-15
    found = jaxspark.solve(
        problem.system, start.y, start.z, problem.args, method=slowly, t0=start.t, t1=1.0,
        rtol=1e-4, first_step=1e-2,
    )  # fmt: skip
    assert 3 + int(found.stats.num_steps) <= 16
    assert int(start.newton_iterations + found.stats.newton_iterations) <= 31
    # The equilibrium, at the elongation that carries the weight.
    assert abs(float(found.y1[4]) + 9.81e-6) <= 1e-8
    without = jaxspark.solve(
        problem.system,
        y0,
        z0,
        problem.args,
        method=slowly,
        t1=1.0,
        rtol=1e-4,
        first_step=1e-2,
    )
    assert int(without.stats.num_steps) >= 200


def test_damp_start_fails_as_a_value():
    problem = problems.yen_petzold_bushing(1e-6)
    args = {**problem.args, "eps": jnp.nan}
    start = jaxspark.stiff.damp_start(problem.system, *start_of(problem), args, h=1e-2)
    assert not bool(start.result == RESULTS.successful)
    assert float(start.t) == 0.0 and np.array_equal(start.y, problem.y0)


BAD_STARTS = [
    ({"h": 0.0}, "h must be finite"),
    ({"h": 0.1, "rtol": 0.0}, "rtol must be finite"),
    ({"h": 0.1, "num_steps": 0}, "num_steps"),
]


@pytest.mark.parametrize("options, words", BAD_STARTS)
def test_damp_start_refuses(options, words):
    problem = problems.spring_pendulum()
    with pytest.raises(ValueError, match=words):
        jaxspark.stiff.damp_start(problem.system, *start_of(problem), problem.args, **options)


def test_damp_start_refuses_inconsistent_states():
    problem = problems.spring_pendulum()
    y0, z0 = start_of(problem)
    start = jaxspark.stiff.damp_start(problem.system, 1.3 * y0, z0, problem.args, h=0.1)
    assert bool(start.result == RESULTS.inconsistent_initial_values)
