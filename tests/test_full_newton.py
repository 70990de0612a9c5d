"""Newton's iteration with the full Jacobian: stiff dampers, all methods, all derivatives."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.integrate

import jaxspark
from helpers import knife_edge, KNIFE_EDGE_ARGS, knife_edge_start, largest_difference, result_is
from jaxspark import NewtonOptions, RESULTS


FULL = NewtonOptions(jacobian="full")
H = 0.02


def weight_and_damper(t, q, v, args):
    del t, q
    return jnp.array([0.0, -9.81], v.dtype) - args["c"] * v


def unit_mass(t, q, args):
    del t, args
    return jnp.eye(2, dtype=q.dtype)


def rod(t, q, args):
    del t
    return (jnp.sum(q**2) - args["l"] ** 2)[None]


SYSTEM = jaxspark.MechanicalSystem(unit_mass, weight_and_damper, holonomic=rod)


def swing(method, rate, newton=FULL, steps=20, length=1.0, **options):
    """A pendulum in oil: the damper's rate times the step size is `rate`."""
    length = jnp.asarray(length, float)
    args = {"c": jnp.asarray(rate / H, float), "l": length}
    start = length * jnp.array([1.0, 0.0]), jnp.zeros(2)
    return jaxspark.rollout(
        SYSTEM, *start, args, method=method, h=H, num_steps=steps, newton=newton, save_every=None,
        throw=False, **options,
    )  # fmt: skip


METHODS = [jaxspark.Gauss(2), jaxspark.Lobatto(3), jaxspark.RadauIIA(3)]
NAMES = ["Gauss", "Lobatto", "Radau"]


@pytest.mark.parametrize("method", METHODS, ids=NAMES)
def test_stiff_dampers(method):
    run = jax.jit(lambda rate: swing(method, rate))
    for rate in (0.5, 3.0, 30.0, 1000.0):
        solution = run(rate)
        assert bool(solution.successful)
        assert float(solution.stats.max_g) <= 1e-14 and float(solution.stats.max_gdot) <= 1e-13
        assert int(solution.stats.newton_iterations) <= 4 * 20


@pytest.mark.parametrize("method", METHODS[:2], ids=NAMES[:2])
def test_the_modified_iteration_fails_and_says_what_helps(method):
    run = jax.jit(lambda rate: swing(method, rate, NewtonOptions()))
    assert bool(run(0.5).successful)
    failed = RESULTS.newton_diverged, RESULTS.newton_iteration_limit
    for rate in (3.0, 30.0, 1000.0):
        solution = run(rate)
        assert result_is(solution.result, *failed)
        assert 'jacobian="full"' in RESULTS[solution.result]
        assert "GGL(RadauIIA(3))" in RESULTS[solution.result]


def test_against_scipy():
    """The angle obeys `angle'' = -9.81 sin(angle) - c angle'`; a rate of 3."""
    solution = swing(jaxspark.RadauIIA(3), 3.0)
    c = 3.0 / H

    def motion(t, x):
        return [x[1], -9.81 * np.sin(x[0]) - c * x[1]]

    exact = scipy.integrate.solve_ivp(
        motion, (0, 20 * H), [np.pi / 2, 0.0], method="Radau", rtol=1e-11, atol=1e-13
    )
    angle = exact.y[0, -1]
    assert np.allclose(solution.y1, [np.sin(angle), -np.cos(angle)], rtol=0, atol=1e-4)
    assert not np.allclose(solution.y1, [1.0, 0.0], rtol=0, atol=1e-2)


@pytest.mark.parametrize("method", METHODS, ids=NAMES)
def test_both_find_the_same(method):
    both = [swing(method, 0.3, newton) for newton in (FULL, NewtonOptions())]
    assert largest_difference(*((x.y1, x.z1) for x in both)) <= 1e-13


def test_nonholonomic():
    q, v = map(jnp.asarray, knife_edge_start())
    both = [
        jaxspark.rollout(
            knife_edge(), q, v, KNIFE_EDGE_ARGS, method=jaxspark.Lobatto(3), h=0.05, num_steps=10,
            newton=newton,
        )
        for newton in (FULL, NewtonOptions())
    ]  # fmt: skip
    assert largest_difference(*((x.ys, x.zs) for x in both)) <= 1e-13


def test_derivatives():
    """Of a scan over stiff steps, and the second one, against differences."""

    @jax.jit
    def height(length):
        return swing(jaxspark.Gauss(2), 30.0, steps=10, length=length).y1[1]

    slope, curvature = jax.jit(jax.grad(height)), jax.jit(jax.hessian(height))
    e = 1e-3
    differences = (height(1 + e) - height(1 - e)) / (2 * e)
    assert np.isclose(slope(1.0), differences, rtol=1e-5)
    assert np.isclose(jax.jvp(height, (1.0,), (1.0,))[1], slope(1.0), rtol=1e-11)
    assert np.isclose(curvature(1.0), (slope(1 + e) - slope(1 - e)) / (2 * e), rtol=1e-4, atol=1e-9)


def test_batch_and_kept_factors():
    rates = jnp.array([0.5, 30.0, 1000.0])

    def run(rate):
        return swing(jaxspark.Gauss(2), rate, steps=5, checkpoint="none").y1

    def slope(rate):
        return jax.grad(lambda rate: run(rate)[1])(rate)

    alone = [(run(rate), slope(rate)) for rate in rates]
    batch = jax.vmap(run)(rates), jax.vmap(slope)(rates)
    assert largest_difference(batch, jax.tree.map(lambda *x: jnp.stack(x), *alone)) <= 1e-13


def test_single_precision():
    args = {"c": jnp.float32(30.0 / H), "l": jnp.float32(1.0)}
    start = jnp.array([1.0, 0.0], jnp.float32), jnp.zeros(2, jnp.float32)
    solution = jaxspark.rollout(
        SYSTEM, *start, args, method=jaxspark.Gauss(2), h=H, num_steps=20, newton=FULL
    )
    assert solution.y1.dtype == jnp.float32
    assert float(solution.stats.max_g) <= 1e-6
    assert np.allclose(solution.y1, swing(jaxspark.Gauss(2), 30.0).y1, rtol=0, atol=1e-5)


def test_tolerances():
    args = {"c": jnp.asarray(1e3), "l": jnp.asarray(1.0)}
    start = jnp.array([1.0, 0.0]), jnp.zeros(2)
    options = dict(t1=0.5, first_step=0.05, rtol=1e-4)
    solution = jaxspark.solve(
        SYSTEM, *start, args, method=jaxspark.RadauIIA(3), newton=FULL, **options
    )
    other = jaxspark.solve(
        SYSTEM, *start, args, method=jaxspark.GGL(jaxspark.RadauIIA(3)), **options
    )
    assert np.allclose(solution.y1, other.y1, rtol=0, atol=1e-3)


def test_misuse():
    with pytest.raises(ValueError, match='"modified" or "full"'):
        NewtonOptions(jacobian="exact")
    with pytest.raises(ValueError, match="dense matrix"):
        swing(jaxspark.Gauss(2), 0.3, linear_solver=jaxspark.linear.AcyclicNullSpace())
