"""What symmetric and Lagrange-d'Alembert methods are for: reversal, symplecticity, energy."""

import jax
import numpy as np
import pytest

import jaxspark
from benchmarks.dalembert._conditioning import conditions
from benchmarks.dalembert._energy import energy_errors
from benchmarks.dalembert._families import lobatto
from benchmarks.dalembert._loop import anchored_chain, closed_curve, drift, loop_integral
from benchmarks.dalembert._reversal import return_error
from benchmarks.problems import nonholonomic_particle, skate_incline
from helpers import mixed, thorough
from jaxspark import Gauss, Lobatto, RadauIIA, RESULTS


CCC = dict(y="C", f="C", psi="C")


@pytest.mark.parametrize(
    "method",
    [Gauss(2), Lobatto(2), lobatto("A-B-D", 3), lobatto("D-D-D", 3), thorough(Lobatto(5))],
    ids=str,
)
def test_a_step_back_undoes_a_step(method):
    assert method.tableau.symmetric
    assert return_error(mixed(), method) <= 1e-15


@pytest.mark.parametrize(
    "method", [RadauIIA(2), Lobatto(2, **CCC), lobatto("A-B-C", 2), lobatto("C-C*-C", 2)], ids=str
)
def test_a_step_back_of_an_unsymmetric_method(method):
    assert not method.tableau.symmetric
    assert return_error(mixed(), method) >= 1e-9


def test_the_loop_integral_is_an_area():
    theta = 2 * np.pi * np.arange(16) / 16
    q, p = np.cos(theta)[:, None], np.sin(theta)[:, None]
    assert abs(loop_integral(p, q) + np.pi) <= 1e-14
    # The curve of the test below encloses an area, and its states are consistent.
    y, z = closed_curve(16)
    assert abs(loop_integral(z, y)) > 0.01
    system, args = anchored_chain().system, anchored_chain().args
    residuals = jaxspark.diagnostics.constraint_residuals(system, np.zeros(16), y, z, args)
    assert max(np.max(np.abs(residuals.g)), np.max(np.abs(residuals.gdot))) <= 1e-15


@pytest.mark.parametrize(
    "method", [Gauss(2), Lobatto(2), lobatto("C-C*-C", 3), lobatto("D-D-D", 3)], ids=str
)
def test_symplectic_methods_keep_the_loop_integral(method):
    assert drift(anchored_chain(), method, 300, 48) <= 1e-13


def test_others_do_not_keep_the_loop_integral():
    assert drift(anchored_chain(), RadauIIA(2), 300, 48) >= 1e-9
    assert drift(anchored_chain(), Lobatto(2, **CCC), 300, 48) >= 1e-9


@pytest.mark.parametrize("build, h", [(nonholonomic_particle, 0.1), (skate_incline, 0.05)])
def test_energy_error_of_reversible_systems_does_not_grow(build, h):
    growth = {}
    for method in (Gauss(2), Lobatto(3), RadauIIA(2)):
        error = np.abs(energy_errors(build(), method, h, 10_000)[1])
        growth[str(method)] = np.max(error[-100:]) / np.max(error[:100])
    *symmetric, radau = growth.values()
    assert max(symmetric) <= 2.0, growth
    assert radau >= 5.0, growth


@pytest.mark.parametrize("family", ["A-B-C*"])
def test_no_accidental_singularity(family):
    sizes = np.append(np.logspace(-3, 0, 20, endpoint=False), 1.0)
    for s in (2, 5, 8):
        assert np.max(conditions(mixed(), lobatto(family, s), sizes)) <= 100


def test_the_singularity_of_c_and_c_star():
    """At `omega h = sqrt(2)`: the particle oscillates with `sqrt(2)` rad/s."""
    method = lobatto("C-C*-C", 2)
    assert np.allclose(method.tableau.resonances, np.sqrt(2), rtol=1e-14)
    found = conditions(nonholonomic_particle(), method, np.array([0.7, 1.0, 1.3]))
    assert found[1] >= 1e12 and max(found[0], found[2]) <= 1e3
    assert all(m.tableau.resonances == () for m in (Gauss(4), RadauIIA(4), Lobatto(4)))
    # Such a step fails, and says so.
    problem = nonholonomic_particle()
    solution = jaxspark.rollout(
        problem.system, problem.y0, problem.z0, problem.args, method=method, h=1.0, num_steps=3,
        throw=False,
    )  # fmt: skip
    assert not bool(solution.successful)
    assert bool(solution.result != RESULTS.nonfinite) and np.all(np.isfinite(solution.y1))


def test_rattle():
    """Two Lobatto stages and holonomic constraints: the RATTLE step, written out.

    Source: H. C. Andersen, *Rattle*, J. Comput. Phys. 52 (1983).
    """
    problem, h = anchored_chain(), 0.05
    system, args = problem.system, problem.args
    (y0,), (z0,) = closed_curve(1)
    y1, z1, _, info = jaxspark.step(system, Lobatto(2), 0.0, y0, z0, h, None, args)
    assert bool(info.result == RESULTS.successful)
    force = jax.jit(lambda y: system.f(0.0, y, jax.numpy.zeros(4), args))
    G = jax.jit(jax.jacfwd(lambda y: system.holonomic(0.0, y, args)))
    # Position: y1 = y0 + h w, w = z0 + h/2 (f(y0) - G(y0)^T lam); velocity at the end.
    w = (np.asarray(y1) - y0) / h
    lam = np.linalg.lstsq(np.asarray(G(y0)).T, 2 / h * (z0 - w) + force(y0), rcond=None)[0]
    assert np.max(np.abs(w - z0 - h / 2 * (force(y0) - G(y0).T @ lam))) <= 1e-14
    mu = np.linalg.lstsq(np.asarray(G(y1)).T, 2 / h * (w - z1) + force(y1), rcond=None)[0]
    assert np.max(np.abs(z1 - w - h / 2 * (force(y1) - G(y1).T @ mu))) <= 1e-14
    assert np.max(np.abs(G(y1) @ z1)) <= 1e-15
