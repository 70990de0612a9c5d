"""Adaptive solutions: their accuracy, their constraints, what they save."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxspark
from benchmarks import problems
from helpers import largest_difference, mixed, order
from jaxspark import Gauss, Lobatto, RadauIIA


@functools.cache
def truth(name, t_end, saved=1):
    problem = getattr(problems, name)()
    solution = jaxspark.rollout(
        problem.system, problem.y0, problem.z0, problem.args, method=Gauss(5), t0=problem.t0,
        t1=problem.t0 + t_end, num_steps=4000, save_every=4000 // saved,
    )  # fmt: skip
    return solution


def errors(name, method, t_end, tolerances):
    """The errors at the end for several tolerances, compiled once."""
    problem = getattr(problems, name)()
    exact = truth(name, t_end)

    @jax.jit
    def run(tolerance):
        return jaxspark.solve(
            problem.system, problem.y0, problem.z0, problem.args, method=method, t0=problem.t0,
            t1=problem.t0 + t_end, rtol=tolerance, throw=False,
        )  # fmt: skip

    out = []
    for tolerance in tolerances:
        solution = run(tolerance)
        assert bool(solution.successful)
        worst = max(float(getattr(solution.stats, name)) for name in ("max_g", "max_gdot", "max_k"))
        assert worst <= 1e-12
        pairs = ((solution.y1, exact.y1), (solution.z1, exact.z1))
        out.append(max(float(np.max(np.abs(a - b) / (1 + np.abs(b)))) for a, b in pairs))
    return np.array(out)


@pytest.mark.parametrize(
    "name, method, t_end",
    [
        ("pendulum", Gauss(2), 5.0),
        ("pendulum", Lobatto(4), 5.0),
        ("caraxis", Gauss(3), 1.0),
        ("chaplygin_sleigh", Gauss(2), 5.0),
    ],
)
def test_error_is_proportional_to_the_tolerance(name, method, t_end):
    tolerances = np.array([1e-4, 1e-5, 1e-6, 1e-7, 1e-8])
    found = errors(name, method, t_end, tolerances)
    assert abs(order(tolerances, found) - 1) <= 0.2
    # Neither optimistic nor wasteful by more than a factor of about a hundred.
    assert np.all(found <= 100 * tolerances) and np.all(found >= 1e-3 * tolerances)


@pytest.mark.parametrize("method", [Gauss(1), Lobatto(2), RadauIIA(2)])
def test_error_of_low_orders_follows_the_tolerance(method):
    tolerances = np.array([1e-3, 1e-4, 1e-5])
    found = errors("pendulum", method, 0.5, tolerances)
    assert np.all(found <= 10 * tolerances) and order(tolerances, found) >= 0.8


TIMES = np.linspace(0.0, 2.0, 9)


def solve(method=Gauss(3), **options):
    problem = mixed()
    return jaxspark.solve(
        problem.system,
        problem.y0,
        problem.z0,
        problem.args,
        method=method,
        **{"t1": 2.0, **options},
    )


def residuals(solution):
    problem = mixed()
    found = jaxspark.diagnostics.constraint_residuals(
        problem.system, solution.ts, solution.ys, solution.zs, problem.args
    )
    return max(float(jnp.max(jnp.abs(x))) for x in jax.tree.leaves(found))


def test_saved_times_are_of_full_order_and_on_the_constraints():
    problem = mixed()
    exact = jaxspark.rollout(
        problem.system, problem.y0, problem.z0, problem.args, method=Gauss(5),
        t1=2.0, num_steps=800, save_every=100, multipliers=True,
    )  # fmt: skip
    differences = []
    for tolerance in (1e-4, 1e-8):
        solution = solve(rtol=tolerance, ts=TIMES, multipliers=True)
        # Few steps, so that most times lie inside one.
        assert residuals(solution) <= 1e-12
        differences.append(
            [
                float(np.max(np.abs(a - b)))
                for a, b in (
                    (solution.ys, exact.ys),
                    (solution.zs, exact.zs),
                    (solution.multipliers.lam, exact.multipliers.lam),
                    (solution.multipliers.psi, exact.multipliers.psi),
                )
            ]
        )
    loose, tight = np.array(differences)
    assert np.all(loose <= 1e-2) and np.all(tight <= 1e-6) and np.all(tight <= 1e-2 * loose)


def test_dense_output_is_what_is_saved():
    saved, dense = solve(ts=TIMES), solve(dense=True)
    ys, zs = dense.evaluate(TIMES)
    assert largest_difference(ys, saved.ys) <= 1e-14
    assert largest_difference(zs, saved.zs) <= 1e-14
    assert np.all(np.isnan(dense.evaluate(2.1)[0]))
    with pytest.raises(ValueError, match="dense=True"):
        saved.evaluate(1.0)


def test_every_step_saved():
    solution = solve(save_every=1, max_steps=100)
    steps = int(solution.stats.num_steps)
    assert solution.ts.shape == (101,) and 0 < steps < 100
    assert np.all(np.diff(solution.ts[: steps + 1]) > 0)
    assert float(solution.ts[steps]) == 2.0 and np.all(solution.ts[steps:] == 2.0)
    assert np.all(solution.ys[steps:] == solution.y1[None, :])
    assert residuals(solution) <= 1e-12


def test_backward_in_time():
    forward = solve(rtol=1e-9, ts=TIMES)
    problem = mixed()
    back = jaxspark.solve(
        problem.system, forward.y1, forward.z1, problem.args, method=Gauss(3),
        t0=2.0, t1=0.0, rtol=1e-9, ts=TIMES[::-1], dense=True,
    )  # fmt: skip
    assert np.max(np.abs(back.ys[::-1] - forward.ys)) <= 1e-7
    assert np.max(np.abs(back.y1 - problem.y0)) <= 1e-7
    assert largest_difference(back.evaluate(TIMES[3])[0], back.ys[5]) <= 1e-13


def test_a_batch_is_a_loop():
    problem = mixed()
    tolerances = jnp.array([1e-3, 1e-5, 1e-7, 1e-9])

    def run(rate, tolerance):
        y0 = jnp.asarray(problem.y0)
        start = jaxspark.project(
            problem.system, 0.0, y0, rate * jnp.asarray(problem.z0), problem.args
        )
        return jaxspark.solve(
            problem.system, start.y, start.z, problem.args, method=Gauss(3),
            t1=2.0, ts=TIMES, rtol=tolerance, throw=False,
        )  # fmt: skip

    rates = jnp.array([0.5, 0.8, 1.0, 1.3])
    batch = jax.jit(jax.vmap(run))(rates, tolerances)
    single = jax.jit(run)
    assert np.all(batch.successful) and len(set(batch.stats.num_steps.tolist())) == 4
    for lane in range(4):
        alone = single(rates[lane], tolerances[lane])
        assert largest_difference(batch.ys[lane], alone.ys) <= 1e-12
        assert int(batch.stats.num_steps[lane]) == int(alone.stats.num_steps)


def test_single_precision():
    problem = mixed()
    y0, z0 = np.float32(problem.y0), np.float32(problem.z0)
    solution = jaxspark.solve(
        problem.system, y0, z0, problem.args, method=Gauss(3), t1=2.0, ts=np.float32(TIMES)
    )
    assert solution.ys.dtype == np.float32 and bool(solution.successful)
    assert (
        np.max(np.abs(np.asarray(solution.ys) - np.asarray(solve(rtol=1e-8, ts=TIMES).ys))) <= 1e-2
    )
    assert float(solution.stats.max_g) <= 1e-6 and float(solution.stats.max_k) <= 1e-6


def steps(solution):
    return int(solution.stats.num_steps + solution.stats.num_rejected_steps)


def test_the_first_step_in_single_precision_is_that_in_double():
    # Differences of stages of a very short trial are all rounding errors.
    problem = mixed()
    y0, z0 = np.float32(problem.y0), np.float32(problem.z0)
    options = {"method": Gauss(3), "t1": 2.0, "rtol": 1e-3, "atol": 1e-3, "save_every": 1}
    single = jaxspark.solve(problem.system, y0, z0, problem.args, **options)
    double = jaxspark.solve(problem.system, problem.y0, problem.z0, problem.args, **options)
    assert float(single.ts[1]) == pytest.approx(float(double.ts[1]), rel=0.1)


@pytest.mark.parametrize("method", [Gauss(3), jaxspark.DOP853()], ids=["Gauss", "DOP853"])
def test_the_first_step_does_not_depend_on_the_interval(method):
    # A trial of a hundred-thousandth of the longer one lasts several swings.
    def end(t1):
        problem = problems.pendulum()
        crossing = jaxspark.Event(lambda t, q, v, args: q[0])
        return jaxspark.solve(
            problem.system, problem.y0, problem.z0, problem.args, method=method, t1=t1,
            rtol=1e-6, atol=1e-6, events=crossing,
        )  # fmt: skip

    long, short = end(1e6), end(10.0)
    assert float(long.t1) == pytest.approx(float(short.t1), abs=1e-5) and float(long.t1) < 10.0
    assert steps(long) <= steps(short) + 15


def test_lowering_for_every_platform():
    def end(y):
        return solve(max_steps=64, throw=False).y1 * 0 + y

    exported = jax.export.export(jax.jit(end), platforms=("cpu", "cuda", "tpu"))(mixed().y0)
    assert exported.platforms == ("cpu", "cuda", "tpu")
