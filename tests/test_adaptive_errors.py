"""Adaptive solutions that fail say why; input that can never be right is refused."""

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxspark
from helpers import pendulum, PENDULUM_ARGS, pendulum_start
from jaxspark import Gauss, RESULTS
from jaxspark.diffrax import ConstrainedTerm, DiffraxSolver


def solve(y0=None, z0=None, system=None, **options):
    y, z = pendulum_start()
    y, z = y if y0 is None else y0, z if z0 is None else z0
    system = pendulum() if system is None else system
    options = {"t1": 1.0, **options}
    return jaxspark.solve(
        system, y, z, PENDULUM_ARGS, method=options.pop("method", Gauss(2)), **options
    )


REFUSED = {
    "t1 must be finite": dict(t1=np.inf),
    "order of time": dict(ts=np.array([0.5, 0.2])),
    "between t0 and t1": dict(ts=np.array([0.5, 1.2])),
    "must be a vector": dict(ts=np.ones((2, 2))),
    "either ts or save_every": dict(ts=np.array([0.5]), save_every=1),
    "rtol must be a number": dict(rtol=-1e-3),
    "atol must be a number": dict(atol=np.nan),
    "rounding errors": dict(rtol=1e-17),
    "max_steps must be a positive": dict(max_steps=0),
    "max_events must be a positive": dict(max_events=0),
    "first_step must be a positive": dict(first_step=-0.1),
    "max_step must be a positive": dict(max_step=0.0),
    "no times in it": dict(ts=np.zeros(0)),
    "room for all steps": dict(save_every=1, max_steps=None),
    "consistency_tol": dict(consistency_tol=-1.0),
}


@pytest.mark.parametrize("words", REFUSED)
def test_refused(words):
    with pytest.raises(ValueError, match=words):
        solve(**REFUSED[words])


def test_refused_types():
    with pytest.raises((TypeError, ValueError), match="t1"):
        solve(t1=np.ones(2))
    with pytest.raises(TypeError):
        solve(method=diffrax.Kvaerno5())
    with pytest.raises(TypeError):
        solve(y0=np.array([1, 0]))
    with pytest.raises(TypeError, match="EqualSteps"):
        solve(steps=1e-6)
    with pytest.raises(TypeError, match="ConstrainedTerm"):
        diffrax.diffeqsolve(
            diffrax.ODETerm(lambda t, y, args: y), DiffraxSolver(Gauss(2)),
            0.0, 1.0, 0.1, pendulum_start(),
        )  # fmt: skip
    with pytest.raises(ValueError, match="pair"):
        diffrax.diffeqsolve(
            ConstrainedTerm(pendulum()), DiffraxSolver(Gauss(2)),
            0.0, 1.0, 0.1, jnp.zeros(2), PENDULUM_ARGS,
        )  # fmt: skip


def test_inconsistent_start():
    y, _ = pendulum_start()
    with pytest.raises(jaxspark.SolveError, match="jaxspark.project") as caught:
        solve(y0=1.1 * y)
    solution = caught.value.solution
    assert int(solution.stats.num_steps) == 0 and float(solution.t1) == 0.0
    assert np.all(solution.y1 == 1.1 * y)


def test_too_few_steps():
    with pytest.raises(jaxspark.SolveError, match="Raise max_steps"):
        solve(max_steps=5)
    solution = solve(max_steps=5, ts=np.linspace(0, 1, 11), throw=False)
    whole = solve(ts=np.linspace(0, 1, 11))
    reached = int(np.sum(np.asarray(whole.ts) <= float(solution.t1)))
    assert 0 < reached < 11
    # Rows before the end are as they were, those after it repeat it.
    ys, ts = np.asarray(solution.ys), np.asarray(solution.ts)
    assert np.all(ys[:reached] == np.asarray(whole.ys)[:reached])
    assert np.all(ys[reached:] == np.asarray(solution.y1)) and np.all(ts[reached:] < 1.0)


def wall(t, y, z, args):
    """A force that is not defined beyond a position."""
    del t, z, args
    return jnp.stack([jnp.sqrt(0.1 - y[0]), jnp.zeros(())])


def test_times_that_are_known_too_late():
    def at(ts):
        solution = solve(ts=ts, throw=False)
        return solution.result, solution.ys

    result, ys = jax.jit(at)(np.array([-0.5, 0.5, 1.5]))
    assert result == RESULTS.time_outside
    unordered, _ = jax.jit(at)(np.array([0.0, 1.0, 0.5]))
    assert unordered == RESULTS.time_outside
    result, inside = jax.jit(at)(np.array([0.0, 0.5, 1.0]))
    assert result == RESULTS.successful and np.array_equal(inside[1], ys[1])


@pytest.mark.parametrize("method", [jaxspark.DOP853(), Gauss(2)], ids=["explicit", "implicit"])
def test_times_that_are_known_are_checked_inside_of_jit(method):
    """Where JAX traces even arrays made of them."""
    ordered = np.linspace(0.0, 1.0, 5)
    known = lambda ts, t1=1.0: jax.jit(
        lambda scale: solve(z0=scale * pendulum_start()[1], ts=ts, t1=t1, method=method).ys
    )(1.0)
    assert known(ordered).shape == (5, 2)
    for ts in (ordered[::-1], list(ordered[::-1]), ordered + 0.1):
        with pytest.raises(ValueError, match="in the order of time"):
            known(ts)
    with pytest.raises(ValueError, match="must be finite"):
        known(None, np.nan)


def test_a_final_time_that_turns_out_to_be_no_number():
    found = jax.jit(lambda t1: solve(t1=t1, throw=False).result)(jnp.nan)
    assert found == RESULTS.nonfinite


def test_force_out_of_its_domain():
    y0, z0 = pendulum_start(angle=-0.5, rate=3.0)
    solution = solve(y0, z0, pendulum(wall), throw=False)
    assert not bool(solution.successful)
    assert bool(solution.result == RESULTS.nonfinite)
    values = np.concatenate([solution.y1, solution.z1])
    assert np.all(np.isfinite(values)) and 0.09 < float(solution.y1[0]) <= 0.11
    assert int(solution.stats.num_rejected_steps) > 10
    with pytest.raises(jaxspark.SolveError, match="force\\[0\\] is nan"):
        solve(y0, z0, pendulum(wall))


def test_one_bad_lane_of_a_batch():
    y0, z0 = pendulum_start(angle=0.02, rate=3.0)

    @jax.jit
    @jax.vmap
    def run(rate):
        return solve(y0, rate * z0, pendulum(wall), max_steps=256, throw=False)

    solution = run(jnp.array([0.01, 1.0]))
    assert solution.successful.tolist() == [True, False]
    alone = solve(y0, 0.01 * z0, pendulum(wall), max_steps=256)
    assert np.max(np.abs(solution.y1[0] - alone.y1)) <= 1e-13

    def loss(rate):
        out = run(jnp.stack([rate, jnp.ones(())]))
        return jnp.sum(jnp.where(out.successful[:, None], out.y1, 0.0))

    assert np.isfinite(jax.grad(loss)(0.01))


def test_fixed_steps_end_where_newton_fails():
    y0, z0 = pendulum_start(angle=-0.5, rate=3.0)
    with pytest.raises(Exception, match="[Nn]on"):
        jax.block_until_ready(
            diffrax.diffeqsolve(
                ConstrainedTerm(pendulum(wall)), DiffraxSolver(Gauss(2)),
                0.0, 1.0, 0.05, (y0, z0), PENDULUM_ARGS,
            ).ys
        )  # fmt: skip


def test_step_sizes_stay_below_the_largest():
    solution = solve(max_step=0.01, save_every=1, max_steps=256, first_step=0.003)
    sizes = np.diff(solution.ts[: int(solution.stats.num_steps) + 1])
    assert np.max(sizes) <= 0.01 + 1e-12 and abs(sizes[0] - 0.003) <= 1e-12


@pytest.mark.parametrize("max_steps", [4096, None])
def test_dependent_constraints_are_the_reason(max_steps):
    system = jaxspark.LagrangianSystem(
        lambda t, q, v, args: 0.5 * jnp.sum(v**2) - q[1],
        holonomic=lambda t, q, args: jnp.stack([q[0], 2 * q[0]]),
    )
    with pytest.raises(jaxspark.SolveError, match="redundant|rank"):
        jaxspark.solve(
            system, np.zeros(2), np.zeros(2), method=Gauss(2), t1=1.0, max_steps=max_steps
        )


def test_no_degrees_of_freedom():
    """Driven fully by rheonomic constraints, there is nothing to estimate an error of."""
    system = jaxspark.LagrangianSystem(
        lambda t, q, v, args: 0.5 * jnp.sum(v**2),
        holonomic=lambda t, q, args: q - jnp.stack([jnp.sin(t), jnp.cos(t)]),
    )
    solution = jaxspark.solve(
        system, jnp.array([0.0, 1.0]), jnp.array([1.0, 0.0]), method=Gauss(3), t1=2.0
    )
    assert np.max(np.abs(solution.y1 - np.array([np.sin(2.0), np.cos(2.0)]))) <= 1e-14
