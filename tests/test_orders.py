"""Orders of convergence on a problem with every feature, by regression.

The steps are taken in a loop of `jaxspark.step` whose length is not static, so that each
method is compiled once for all step sizes.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxspark
from benchmarks import problems
from benchmarks.dalembert._families import lobatto
from helpers import largest_difference, mixed, order
from jaxspark import Gauss, Lobatto, RadauIIA, RESULTS


T_END = 1.0


@functools.cache
def driven():
    """The mixed problem without its holonomic constraint."""
    return problems.mixed(holonomic_too=False)


def integrator(method, problem):
    @jax.jit
    def integrate(y, z, num_steps):
        h = T_END / num_steps.astype(y.dtype)

        def body(i, carry):
            y, z, good = carry
            t = i.astype(y.dtype) * h
            y, z, _, info = jaxspark.step(problem.system, method, t, y, z, h, None, problem.args)
            return y, z, good & (info.result == RESULTS.successful)

        return jax.lax.fori_loop(0, num_steps, body, (y, z, jnp.asarray(True)))

    return integrate


@pytest.fixture(scope="module")
def multipliers():
    problem = mixed()
    return jax.jit(lambda t, y, z: jaxspark.multipliers(problem.system, t, y, z, problem.args))


def end(integrate, multipliers, num_steps, problem):
    y, z, good = integrate(jnp.asarray(problem.y0), jnp.asarray(problem.z0), jnp.asarray(num_steps))
    assert bool(good)
    reported = multipliers(T_END, y, z)
    assert bool(reported.converged)
    return [np.asarray(x) for x in (y, z, reported.lam, reported.psi)]


@pytest.fixture(scope="module")
def reference(multipliers):
    integrate = integrator(Gauss(6), mixed())
    fine, finer = (end(integrate, multipliers, n, mixed()) for n in (24, 40))
    # Multipliers are ten times the size of the state, and have second derivatives in them.
    for a, b, bound in zip(fine, finer, (1e-14, 1e-14, 1e-13, 1e-13)):
        assert np.max(np.abs(a - b)) <= bound
    return finer


@pytest.mark.parametrize(
    "method, steps",
    [
        (Gauss(1), (80, 120, 180)),
        (Gauss(2), (20, 30, 45)),
        (Gauss(3), (14, 18, 22)),
        (Gauss(4), (6, 7, 8)),
        (RadauIIA(2), (80, 120, 180)),
        (RadauIIA(3), (20, 30, 45)),
        (RadauIIA(4), (8, 10, 12)),
        (Lobatto(2), (80, 120, 180)),
        (Lobatto(3), (20, 30, 45)),
        (Lobatto(4), (8, 10, 12)),
        (Lobatto(2, psi="C"), (80, 120, 180)),
        (Lobatto(3, psi="C*"), (20, 30, 45)),
        (Lobatto(3, psi="D"), (20, 30, 45)),
        (lobatto("C-C*-C", 3), (20, 30, 45)),
        (lobatto("D-D-D", 4), (8, 10, 12)),
    ],
    ids=str,
)
def test_order(method, steps, reference, multipliers):
    integrate = integrator(method, mixed())
    ends = [end(integrate, multipliers, n, mixed()) for n in steps]
    slopes = {}
    for i, name in enumerate(("y", "z", "lam", "psi")):
        errors = np.array([np.max(np.abs(state[i] - reference[i])) for state in ends])
        slopes[name] = order(T_END / np.array(steps), errors)
        assert np.all(errors > 1e-12), "rounding errors would decide"
    for name, slope in slopes.items():
        assert abs(slope - method.order) <= 0.15, (name, slopes)


@pytest.fixture(scope="module")
def driven_multipliers():
    system, args = driven().system, driven().args
    return jax.jit(lambda t, y, z: jaxspark.multipliers(system, t, y, z, args))


@pytest.fixture(scope="module")
def driven_reference(driven_multipliers):
    return end(integrator(Gauss(6), driven()), driven_multipliers, 40, driven())


@pytest.mark.parametrize(
    "method, steps",
    [
        (Lobatto(2), (80, 120, 180)),
        (Lobatto(3, psi="C"), (20, 30, 45)),
        (Lobatto(4), (10, 12, 15)),
        (Lobatto(5), (7, 8, 9)),
        (lobatto("C-C*-C", 3), (20, 30, 45)),
        (lobatto("D-D-D", 4), (10, 12, 15)),
    ],
    ids=str,
)
def test_order_without_holonomic_constraints(method, steps, driven_reference, driven_multipliers):
    integrate = integrator(method, driven())
    ends = [end(integrate, driven_multipliers, n, driven()) for n in steps]
    for i, name in enumerate(("y", "z")):
        errors = np.array([np.max(np.abs(state[i] - driven_reference[i])) for state in ends])
        assert np.all(errors > 7e-13), "rounding errors would decide"
        slope = order(T_END / np.array(steps), errors)
        # With five stages these steps are not yet small enough for less.
        assert abs(slope - method.order) <= (0.25 if method.stages == 5 else 0.15), (name, slope)


def test_rollout_reports_these_multipliers(multipliers):
    """What is measured above is what a rollout returns, at every saved time."""
    problem = mixed()
    solution = jaxspark.rollout(
        problem.system, Gauss(2), problem.y0, problem.z0, problem.args,
        t1=T_END, num_steps=8, save_every=4, multipliers=True,
    )  # fmt: skip
    assert np.array_equal(solution.ts, [0.0, 0.5, 1.0])
    for i, (t, y, z) in enumerate(zip(solution.ts, solution.ys, solution.zs)):
        expected = multipliers(t, y, z)
        got = jax.tree.map(lambda x: x[i], solution.multipliers)
        assert bool(got.converged)
        for name in ("lam", "psi", "zdot"):
            assert largest_difference(getattr(got, name), getattr(expected, name)) <= 1e-12
