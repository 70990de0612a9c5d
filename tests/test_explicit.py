"""Explicit methods of `solve`: accuracy, constraints, what is saved, failures."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.integrate

import jaxspark
from helpers import (
    knife_edge,
    KNIFE_EDGE_ARGS,
    knife_edge_reaction,
    knife_edge_start,
    mixed,
    oscillator,
    pendulum,
    PENDULUM_ARGS,
    pendulum_start,
    pendulum_tension,
    result_is,
)


METHODS = [jaxspark.DOP853(), jaxspark.Tsit5()]


def swing(method=METHODS[0], tolerance=1e-8, t0=0.0, t1=3.0, start=None, **options):
    y0, z0 = pendulum_start() if start is None else start
    return jaxspark.solve(
        pendulum(), y0, z0, PENDULUM_ARGS, method=method, t0=t0, t1=t1, rtol=tolerance, **options
    )


def angle_of_pendulum(times):
    """Angle and rate by SciPy, from the equation in one coordinate."""
    ratio = PENDULUM_ARGS["g"] / PENDULUM_ARGS["l"]
    exact = scipy.integrate.solve_ivp(
        lambda t, x: [x[1], -ratio * np.sin(x[0])], (0.0, times[-1]), [0.5, 1.0],
        method="DOP853", t_eval=times, rtol=1e-13, atol=1e-13,
    )  # fmt: skip
    return exact.y


@pytest.mark.parametrize("method", METHODS, ids=["DOP853", "Tsit5"])
def test_states_at_saved_times_are_those_of_scipy(method):
    ts = np.array([0.0, 0.7, 0.70001, 2.0, 3.0])
    solution = swing(method, ts=ts, multipliers=True)
    angle, rate = angle_of_pendulum(ts[1:])
    y, z = (np.stack(x) for x in zip(*[pendulum_start(a, r) for a, r in zip(angle, rate)]))
    np.testing.assert_allclose(solution.ys[1:], y, atol=1e-6)
    np.testing.assert_allclose(solution.zs[1:], z, atol=1e-6)
    np.testing.assert_allclose(solution.multipliers.lam[1:, 0], pendulum_tension(y, z), atol=1e-5)
    np.testing.assert_array_equal(solution.ts, ts)
    np.testing.assert_allclose(solution.ys[-1], solution.y1, atol=1e-15)
    residuals = jaxspark.diagnostics.constraint_residuals(
        pendulum(), solution.ts, solution.ys, solution.zs, PENDULUM_ARGS
    )
    assert max(jnp.max(jnp.abs(x), initial=0) for x in jax.tree.leaves(residuals)) <= 1e-14
    assert solution.stats.max_g <= 1e-15 and solution.stats.max_gdot <= 1e-14


@pytest.mark.parametrize("method", METHODS, ids=["DOP853", "Tsit5"])
def test_errors_are_proportional_to_tolerances(method):
    tolerances = 10.0 ** -np.arange(4, 10)
    angle, rate = angle_of_pendulum(np.array([0.0, 3.0]))[:, -1]
    exact = np.concatenate(pendulum_start(angle, rate))
    ends = [swing(method, tolerance) for tolerance in tolerances]
    errors = [np.max(np.abs(np.concatenate([e.y1, e.z1]) - exact)) for e in ends]
    slope = np.polyfit(np.log(tolerances), np.log(errors), 1)[0]
    assert 0.8 <= slope <= 1.2
    assert np.all(np.array(errors) / tolerances < 10)


def test_all_kinds_of_constraints_at_once():
    problem = mixed()
    exact = jaxspark.solve(
        problem.system,
        problem.y0,
        problem.z0,
        problem.args,
        method=jaxspark.Gauss(5),
        t1=2.0,
        rtol=1e-12,
    )
    found = jaxspark.solve(
        problem.system, problem.y0, problem.z0, problem.args, method=METHODS[0], t1=2.0, rtol=1e-9,
        multipliers=True,
    )  # fmt: skip
    np.testing.assert_allclose(found.y1, exact.y1, atol=1e-8)
    np.testing.assert_allclose(found.z1, exact.z1, atol=1e-8)
    assert max(found.stats.max_g, found.stats.max_gdot, found.stats.max_k) <= 1e-13


def test_backward_in_time():
    there = swing()
    back = swing(t0=3.0, t1=0.0, start=(there.y1, there.z1), ts=np.array([2.0, 0.5]))
    np.testing.assert_allclose(back.y1, pendulum_start()[0], atol=1e-7)
    np.testing.assert_allclose(back.ys, swing(ts=np.array([0.5, 2.0])).ys[::-1], atol=1e-7)


def test_every_step_saved():
    solution = swing(save_every=1, max_steps=64)
    count = int(solution.stats.num_steps)
    assert solution.ts.shape == (65,) and count < 60
    assert np.all(np.diff(solution.ts[: count + 1]) > 0)
    assert solution.ts[count] == 3.0 and np.all(solution.ts[count:] == 3.0)
    np.testing.assert_array_equal(solution.ys[count:], np.tile(solution.y1, (65 - count, 1)))
    again = swing(ts=solution.ts[1:count])
    np.testing.assert_allclose(again.ys, solution.ys[1:count], atol=1e-14)


def test_dense_output():
    """At any time of the motion the state that would have been saved there."""
    times = np.array([0.0, 0.3, 1.234, 2.999, 3.0])
    solution = swing(dense=True, max_steps=64)
    ys, zs = solution.evaluate(times)
    saved = swing(ts=times)
    np.testing.assert_allclose(ys, saved.ys, atol=1e-14)
    np.testing.assert_allclose(zs, saved.zs, atol=1e-14)
    assert np.all(np.isnan(solution.evaluate(np.array([-0.1, 3.1]))[0]))
    back = swing(t0=3.0, t1=0.0, start=(solution.y1, solution.z1), dense=True, max_steps=64)
    np.testing.assert_allclose(back.evaluate(times[1:4])[0], ys[1:4], atol=1e-7)


def test_nothing_to_project():
    """Two oscillators without constraints, by SciPy."""
    args = {"k": 4.0}
    y0, z0 = np.array([1.0, -0.5]), np.array([0.0, 0.3])

    def field(t, x):
        y, z = x[:2], x[2:]
        return [*z, *(-args["k"] * y - 0.3 * y[::-1] ** 3 - 0.1 * z + np.cos(t))]

    exact = scipy.integrate.solve_ivp(
        field, (0.0, 4.0), [*y0, *z0], method="DOP853", rtol=1e-12, atol=1e-12
    ).y[:, -1]
    found = jaxspark.solve(oscillator(), y0, z0, args, method=METHODS[0], t1=4.0, rtol=1e-9)
    np.testing.assert_allclose([*found.y1, *found.z1], exact, atol=1e-8)
    assert found.stats.newton_iterations == 0


def test_a_coordinate_without_mass():
    """The mass matrix is singular, the matrix of the saddle point is not: rows are exchanged."""

    def mass(t, q, args):
        return jnp.diag(jnp.array([1.0, 0.0]))

    def force(t, q, v, args):
        return jnp.array([-4.0, 0.0]) * q

    def tied(t, q, args):
        return q[1:] - jnp.sin(q[:1])

    system = jaxspark.MechanicalSystem(mass, force, holonomic=tied)
    y0, z0 = np.array([0.5, np.sin(0.5)]), np.zeros(2)
    end = jaxspark.solve(system, y0, z0, method=METHODS[0], t1=2.0, rtol=1e-10)
    np.testing.assert_allclose(end.y1[0], 0.5 * np.cos(4.0), atol=1e-9)
    np.testing.assert_allclose(end.y1[1], np.sin(end.y1[0]), atol=1e-14)


def test_reactions_of_a_skate():
    y0, z0 = knife_edge_start()
    solution = jaxspark.solve(
        knife_edge(),
        y0,
        z0,
        KNIFE_EDGE_ARGS,
        method=METHODS[0],
        t1=1.0,
        rtol=1e-9,
        multipliers=True,
    )
    expected = knife_edge_reaction(solution.ys, solution.zs)
    np.testing.assert_allclose(solution.multipliers.psi[:, 0], expected, rtol=1e-9)
    assert solution.stats.max_k <= 1e-14


def test_single_precision():
    y0, z0 = (x.astype(jnp.float32) for x in pendulum_start())
    args = jax.tree.map(lambda x: jnp.asarray(x, jnp.float32), PENDULUM_ARGS)
    end = jaxspark.solve(pendulum(), y0, z0, args, method=METHODS[0], t1=3.0)
    assert end.y1.dtype == jnp.float32 and end.stats.max_g <= 1e-6
    np.testing.assert_allclose(end.y1, swing().y1, atol=3e-3)


def test_tolerances_and_times_need_no_compilation():
    traces = []

    @jax.jit
    def run(tolerance, t1, first_step):
        traces.append(0)
        end = swing(tolerance=tolerance, t1=t1, first_step=first_step, throw=False)
        return end.y1, end.stats.num_steps

    fine, coarse = run(1e-10, 3.0, 0.1), run(1e-5, 3.0, 1e-3)
    assert len(traces) == 1 and fine[1] > coarse[1]
    np.testing.assert_allclose(fine[0], coarse[0], atol=1e-4)


def test_batches_are_loops():
    angles = jnp.array([0.1, 0.5, 1.5])

    def run(angle, t1):
        end = swing(start=pendulum_start(angle), t1=t1, throw=False)
        return end.y1, end.z1, end.stats.num_steps, end.successful

    t1s = jnp.array([3.0, 2.0, 4.0])
    batch = jax.jit(jax.vmap(run))(angles, t1s)
    loop = [run(angle, t1) for angle, t1 in zip(angles, t1s)]
    for found, expected in zip(batch, zip(*loop)):
        np.testing.assert_array_equal(found, np.stack(expected))


def test_too_few_steps():
    solution = swing(max_steps=5, throw=False, ts=np.array([0.01, 2.9]))
    assert result_is(solution.result, jaxspark.RESULTS.max_steps_reached)
    assert 0 < solution.t1 < 2.9 and solution.stats.num_steps <= 5
    np.testing.assert_array_equal(solution.ys[1], solution.y1)
    assert solution.ts[1] == solution.t1
    with pytest.raises(jaxspark.SolveError, match="max_steps"):
        swing(max_steps=5)


def test_start_off_the_constraints():
    y0, z0 = pendulum_start()
    solution = swing(start=(1.1 * y0, z0), throw=False)
    assert result_is(solution.result, jaxspark.RESULTS.inconsistent_initial_values)
    assert solution.t1 == 0 and solution.stats.num_steps == 0


def test_dependent_constraints():
    def twice(t, q, args):
        rod = 0.5 * (jnp.sum(q**2) - args["l"] ** 2)
        return jnp.stack([rod, 2 * rod])

    system = jaxspark.LagrangianSystem(
        lambda t, q, v, args: 0.5 * jnp.sum(v**2) - args["g"] * q[1], holonomic=twice
    )
    y0, z0 = pendulum_start()
    run = lambda **options: jaxspark.solve(
        system, y0, z0, PENDULUM_ARGS, method=METHODS[0], t1=1.0, **options
    )
    assert result_is(run(throw=False).result, jaxspark.RESULTS.singular)
    with pytest.raises(jaxspark.SolveError, match="redundant"):
        run()


def test_a_force_that_is_no_number_at_a_time():
    def force(t, q, v, args):
        return jnp.where(t < 1.0, 0.0, jnp.nan) * q

    y0, z0 = pendulum_start()
    solution = jaxspark.solve(
        pendulum(force), y0, z0, PENDULUM_ARGS, method=METHODS[0], t1=2.0, rtol=1e-6, throw=False
    )
    assert result_is(solution.result, jaxspark.RESULTS.nonfinite)
    assert 0.9 <= solution.t1 <= 1.0 and np.all(np.isfinite(solution.y1))


@pytest.mark.parametrize(
    "options, words",
    [
        ({"newton": jaxspark.NewtonOptions()}, "newton"),
        ({"steps": jaxspark.StepDensity(lambda t, q, args: 1.0), "tolerance": None}, "EqualSteps"),
        ({"save_every": 1, "max_steps": None}, "max_steps"),
        ({"tolerance": 1e-30}, "rounding"),
    ],
)
def test_what_explicit_methods_do_not_have(options, words):
    with pytest.raises((ValueError, TypeError), match=words):
        swing(**options)


def test_forces_of_friction_are_refused():
    def friction(t, q, v, lam, args):
        return -0.1 * jnp.abs(lam[0]) * v

    system = jaxspark.LagrangianSystem(
        lambda t, q, v, args: 0.5 * jnp.sum(v**2) - args["g"] * q[1],
        holonomic=lambda t, q, args: 0.5 * (jnp.sum(q**2, keepdims=True) - args["l"] ** 2),
        friction=friction,
    )
    y0, z0 = pendulum_start()
    with pytest.raises(ValueError, match="Lobatto"):
        jaxspark.solve(system, y0, z0, PENDULUM_ARGS, method=METHODS[0], t1=1.0)


HEUN = {"name": "Heun", "order": 2, "A": [[1.0]], "b": [0.5, 0.5], "estimate": [0.5, -0.5]}


@pytest.mark.parametrize(
    "given, words",
    [
        ({"A": [[1.0, 0.0]]}, "row for each of 2 stages"),
        ({"A": []}, "row for each of 2 stages"),
        ({"A": [[np.nan]]}, "Each row of A must be a vector of finite numbers"),
        ({"A": [1.0]}, "Each row of A must be a vector"),
        ({"b": [0.5, 0.4]}, "must add up to 1"),
        ({"b": [[0.5, 0.5]]}, "b must be a vector"),
        ({"b": 1.0}, "b must be a vector"),
        ({"estimate": [0.5]}, "needs 2 weights"),
        ({"estimate": [0.0, 0.0]}, "not all of them zero"),
        ({"estimate": [np.inf, -1.0]}, "estimate must be a vector of finite numbers"),
        ({"order": 0}, "order must be at least 1"),
    ],
)
def test_wrong_coefficients(given, words):
    with pytest.raises(ValueError, match=words):
        jaxspark.methods.ExplicitMethod(**{**HEUN, **given})


def test_methods_with_the_same_coefficients_are_the_same():
    """So nothing is compiled for another time."""
    make = jaxspark.methods.ExplicitMethod
    again = make(**{**HEUN, "A": (np.ones(1),), "b": np.array([0.5, 0.5])})
    assert make(**HEUN) == again and hash(make(**HEUN)) == hash(again)
    assert make(**HEUN) != make(**{**HEUN, "estimate": [0.25, -0.25]})
