"""Orders of convergence on a problem with every feature, by regression."""

import functools

import jax
import numpy as np
import pytest

import jaxspark
from benchmarks import problems
from benchmarks._orders import integrator, slopes
from benchmarks.dalembert._families import lobatto
from helpers import largest_difference, mixed, thorough
from jaxspark import Gauss, Lobatto, RadauIIA


T_END = 1.0


@functools.cache
def driven():
    """The mixed problem without its holonomic constraint."""
    return problems.mixed(holonomic_too=False)


@functools.cache
def reference(build, t_end=T_END):
    return integrator(build(), Gauss(6), t_end)(40)


def test_the_reference_is_exact_to_rounding():
    # Multipliers are ten times the size of the state, and have second derivatives in them.
    coarser = integrator(mixed(), Gauss(6), T_END)(24)
    for a, b, bound in zip(coarser, reference(mixed), (1e-14, 1e-14, 1e-13)):
        assert np.max(np.abs(a - b)) <= bound


@pytest.mark.parametrize(
    "method, steps",
    [
        (Gauss(1), (80, 120, 180)),
        (Gauss(2), (20, 30, 45)),
        thorough(Gauss(3), (14, 18, 22)),
        (Gauss(4), (6, 7, 8)),
        (RadauIIA(2), (80, 120, 180)),
        (RadauIIA(3), (20, 30, 45)),
        thorough(RadauIIA(4), (8, 10, 12)),
        (Lobatto(2), (80, 120, 180)),
        (Lobatto(3), (20, 30, 45)),
        (Lobatto(4), (10, 12, 15)),
        (Lobatto(2, psi="C"), (80, 120, 180)),
        thorough(Lobatto(3, psi="C*"), (20, 30, 45)),
        (Lobatto(3, psi="D"), (20, 30, 45)),
        (lobatto("C-C*-C", 3), (20, 30, 45)),
        (lobatto("D-D-D", 4), (10, 12, 15)),
    ],
    ids=str,
)
def test_order(method, steps):
    """Of y, z and the multipliers."""
    measured = slopes(mixed(), method, T_END, steps, reference(mixed))
    assert np.max(np.abs(measured - method.order)) <= 0.15, measured


@pytest.mark.parametrize(
    "method, t_end, steps",
    [
        thorough(Lobatto(2), 1.0, (80, 120, 180)),
        (Lobatto(3, psi="C"), 1.0, (20, 30, 45)),
        (Lobatto(4), 1.0, (10, 12, 15)),
        (Lobatto(5), 2.0, (14, 16, 18)),
        (lobatto("C-C*-C", 3), 1.0, (20, 30, 45)),
        thorough(lobatto("D-D-D", 4), 1.0, (10, 12, 15)),
    ],
    ids=str,
)
def test_order_without_holonomic_constraints(method, t_end, steps):
    measured = slopes(driven(), method, t_end, steps, reference(driven, t_end))[:2]
    assert np.max(np.abs(measured - method.order)) <= 0.15, measured


def test_rollout_reports_these_multipliers():
    """What is measured above is what a rollout returns, at every saved time."""
    problem = mixed()
    system, args = problem.system, problem.args
    multipliers = jax.jit(lambda t, y, z: jaxspark.multipliers(system, t, y, z, args))
    solution = jaxspark.rollout(
        system, problem.y0, problem.z0, args, method=Gauss(2),
        t1=T_END, num_steps=8, save_every=4, multipliers=True,
    )  # fmt: skip
    assert np.array_equal(solution.ts, [0.0, 0.5, 1.0])
    for i, (t, y, z) in enumerate(zip(solution.ts, solution.ys, solution.zs)):
        expected = multipliers(t, y, z)
        got = jax.tree.map(lambda x: x[i], solution.multipliers)
        assert bool(got.converged)
        for name in ("lam", "psi", "zdot"):
            assert largest_difference(getattr(got, name), getattr(expected, name)) <= 1e-12
