"""Reversible variable steps."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxspark
from benchmarks.problems import spherical_kepler
from benchmarks.problems._spherical_kepler import scale
from helpers import order
from jaxspark import Gauss, RadauIIA, StepDensity


def run(method, num_steps=200, h=0.1, start=None, scale=scale, **options):
    problem = spherical_kepler()
    t0, y0, z0, rho = (0.0, problem.y0, problem.z0, None) if start is None else start
    steps = StepDensity(scale, h, num_steps, rho)
    return jaxspark.solve(
        problem.system, y0, z0, problem.args, method=method, t0=t0, steps=steps, **options
    )


def there_and_back(method):
    end = run(method)
    return run(method, h=-0.1, start=(end.t1, end.y1, end.z1, end.step_density))


def distance_from_start(solution):
    problem = spherical_kepler()
    return max(
        float(np.max(np.abs(solution.y1 - problem.y0))),
        float(np.max(np.abs(solution.z1 - problem.z0))),
        abs(float(solution.t1)),
    )


@pytest.mark.parametrize("method", [Gauss(2), jaxspark.Lobatto(3)], ids=str)
def test_symmetric_methods_return(method):
    assert distance_from_start(there_and_back(method)) <= 1e-12


def test_others_do_not():
    assert distance_from_start(there_and_back(RadauIIA(2))) >= 1e-4


def test_steps_follow_the_scale():
    solution = run(Gauss(2), save_every=1)
    sizes = np.diff(solution.ts)
    middles = (solution.ys[1:] + solution.ys[:-1]) / 2
    wanted = 0.1 * np.array([float(scale(0.0, y, None)) for y in middles])
    assert np.max(sizes) / np.min(sizes) > 20
    assert np.max(np.abs(sizes / wanted - 1)) <= 0.15


def test_order():
    """At the same time: `h = 0.1` counts steps, and times differ between step sizes."""
    problem = spherical_kepler()
    exact = jaxspark.solve(
        problem.system, problem.y0, problem.z0, problem.args, method=Gauss(5),
        t1=1.2, rtol=1e-13, dense=True, max_steps=1024,
    )  # fmt: skip
    hs, errors = [0.1, 0.08, 0.06], []
    for h in hs:
        end = run(Gauss(2), num_steps=round(6 / h), h=h)
        assert float(end.t1) < 1.2
        errors.append(float(np.max(np.abs(end.y1 - exact.evaluate(end.t1)[0]))))
    assert 3.6 <= order(hs, errors) <= 4.6


def test_energy_error_does_not_grow():
    problem = spherical_kepler()
    solution = run(Gauss(2), num_steps=20_000, save_every=1)
    energy = np.asarray(
        jaxspark.diagnostics.energy(
            problem.system, solution.ts, solution.ys, solution.zs, problem.args
        )
    )
    error = np.abs(energy - energy[0])
    assert np.max(error[-2000:]) <= 1.02 * np.max(error[:2000]) <= 1e-3


def test_derivatives():
    problem = spherical_kepler()

    def end(mu):
        by_period = StepDensity(
            lambda t, q, args: scale(t, q, args) / jnp.sqrt(args["mu"]), 0.1, 20
        )
        solution = jaxspark.solve(
            problem.system, problem.y0, problem.z0, {"mu": mu}, steps=by_period, throw=False
        )
        return jnp.sum(solution.y1**3) + solution.t1

    value = jax.jit(end)
    h = 1e-3
    halves = [(value(1.0 + d) - value(1.0 - d)) / (2 * d) for d in (h, h / 2)]
    reverse = jax.jit(jax.grad(end))(1.0)
    assert abs(reverse - jax.jit(jax.jacfwd(end))(1.0)) <= 1e-12
    assert abs(reverse - (4 * halves[1] - halves[0]) / 3) <= 1e-8


def test_density_lost():
    solution = run(Gauss(2), h=3.0, throw=False)
    assert not bool(solution.successful) and np.all(np.isfinite(solution.y1))
    with pytest.raises(jaxspark.SolveError, match="density of the steps"):
        run(Gauss(2), scale=lambda t, q, args: jnp.exp(30 * t))


def test_misuse():
    problem = spherical_kepler()
    start = problem.system, problem.y0, problem.z0, problem.args
    with pytest.raises(TypeError, match="EqualSteps"):
        jaxspark.solve(*start, t1=1.0, steps=scale)
    with pytest.raises(TypeError):
        StepDensity(1.0)
    with pytest.raises(ValueError, match="give h, not t1"):
        jaxspark.solve(*start, t1=1.0, steps=StepDensity(scale, 0.1, 9))
    with pytest.raises(ValueError, match="needs h"):
        jaxspark.solve(*start, steps=StepDensity(scale))
    with pytest.raises(ValueError, match="must return a scalar"):
        run(Gauss(2), scale=lambda t, q, args: q)
