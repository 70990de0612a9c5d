"""The BDF: its systems, transformations, failures and errors."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxspark
from benchmarks.problems import spring_pendulum, stiff_spring_double_pendulum_elongated
from helpers import (
    counted,
    knife_edge,
    KNIFE_EDGE_ARGS,
    knife_edge_start,
    largest_difference,
    pendulum,
    PENDULUM_ARGS,
    pendulum_start,
    pendulum_tension,
    result_is,
)
from jaxspark import ConstrainedSystem, MechanicalSystem, RESULTS, SolveError
from jaxspark.stiff import bdf


def moving_rod():
    """A pendulum whose length and support move, in three dimensions and with a variable mass."""

    def mass(t, q, args):
        return jnp.diag(jnp.stack([1 + q[0] ** 2, 2 + jnp.sin(t), jnp.asarray(1.5, q.dtype)]))

    def force(t, q, v, args):
        return jnp.array([0.0, 0.0, -9.81], q.dtype) - 0.1 * v

    def rod(t, q, args):
        support = jnp.stack([0.1 * jnp.sin(3 * t), jnp.zeros_like(t), jnp.zeros_like(t)])
        return (jnp.sum((q - support) ** 2, keepdims=True) - (1 + 0.1 * t) ** 2) / 2

    def slope(t, q, v, args):
        return (v[1] - 0.3 * q[2] * v[0])[None]

    start = jaxspark.project(
        MechanicalSystem(mass, force, rod, slope), 0.0, np.array([0.6, 0.1, -0.8]),
        np.array([0.2, 0.1, 0.3]),
    )  # fmt: skip
    return MechanicalSystem(mass, force, rod, slope), start.y, start.z


@pytest.mark.parametrize("formulation", ["ggl", "cs"])
def test_rheonomic_and_nonholonomic_constraints(formulation):
    system, y0, z0 = moving_rod()
    exact = jaxspark.rollout(
        system, y0, z0, method=jaxspark.Gauss(3), t1=0.4, num_steps=40, multipliers=True
    )
    solve = "reduced" if formulation == "cs" else "bordered"
    found = bdf(
        system, y0, z0, t1=0.4, rtol=1e-7, formulation=formulation, solve=solve, max_steps=600
    )
    assert jnp.max(jnp.abs(found.y1 - exact.y1)) <= 1e-4
    assert jnp.max(jnp.abs(found.z1 - exact.z1)) <= 1e-3
    assert exact.multipliers is not None
    assert jnp.max(jnp.abs(found.lam[-1] - exact.multipliers.lam[-1])) <= 2e-2
    assert jnp.max(jnp.abs(found.psi[-1] - exact.multipliers.psi[-1])) <= 2e-2
    for kept in (found.stats.max_g, found.stats.max_gdot, found.stats.max_k):
        assert kept <= 1e-6


def test_only_nonholonomic_constraints():
    y0, z0 = knife_edge_start()
    exact = jaxspark.rollout(
        knife_edge(), y0, z0, KNIFE_EDGE_ARGS, method=jaxspark.Gauss(3), t1=0.5, num_steps=50
    )
    found = bdf(knife_edge(), y0, z0, KNIFE_EDGE_ARGS, t1=0.5, rtol=1e-7, max_steps=600)
    assert jnp.max(jnp.abs(found.y1 - exact.y1)) <= 1e-4 and found.stats.max_k <= 1e-6


def test_without_constraints():
    system = ConstrainedSystem(lambda t, y, z, args: -y)
    y0, z0 = jnp.array([1.0]), jnp.array([0.0])
    found = bdf(system, y0, z0, t1=1.0, rtol=1e-8, max_order=5, max_steps=600)
    assert abs(found.y1[0] - np.cos(1)) <= 1e-6


def test_rows():
    y0, z0 = pendulum_start()
    found = bdf(pendulum(), y0, z0, PENDULUM_ARGS, t1=0.5, rtol=1e-7, max_steps=600)
    n = int(found.stats.num_steps)
    assert len(found) == 601 and n < 600 and bool(found.successful)
    assert found.ts[0] == 0 and found.t1 == 0.5 and jnp.all(jnp.diff(found.ts[: n + 1]) > 0)
    assert jnp.all(found.ys[n:] == found.y1[None]) and jnp.all(found.ts[n:] == 0.5)
    tension = pendulum_tension(np.asarray(found.ys), np.asarray(found.zs))
    # The discrete acceleration of the first steps is of first order only.
    assert jnp.max(jnp.abs(found.lam[:, 0] - tension)[20:]) <= 1e-2
    assert "num_steps" in repr(found.stats)


# Steps at 1e-8, and the largest error of the end.
ORDERS = {2: (301, 2.5e-5), 3: (135, 2e-6), 4: (92, 1e-6), 5: (78, 5e-7)}


@pytest.mark.parametrize("max_order", list(ORDERS))
def test_orders(max_order):
    """More accurate, with fewer steps, the higher the order."""
    steps, error = ORDERS[max_order]
    y0, z0 = pendulum_start()
    exact = jaxspark.rollout(
        pendulum(), y0, z0, PENDULUM_ARGS, method=jaxspark.Gauss(3), t1=0.5, num_steps=50
    )
    found = bdf(
        pendulum(), y0, z0, PENDULUM_ARGS, t1=0.5, rtol=1e-8, max_order=max_order, max_steps=600
    )
    assert abs(found.stats.num_steps / steps - 1) <= 0.1
    assert jnp.max(jnp.abs(found.y1 - exact.y1)) <= error


def test_backward():
    y0, z0 = pendulum_start()
    there = bdf(pendulum(), y0, z0, PENDULUM_ARGS, t1=0.3, rtol=1e-8, max_steps=900)
    back = bdf(
        pendulum(), there.y1, there.z1, PENDULUM_ARGS, t0=0.3, t1=0.0, rtol=1e-8, max_steps=900
    )
    assert back.t1 == 0 and jnp.max(jnp.abs(back.y1 - y0)) <= 1e-4
    still = bdf(pendulum(), y0, z0, PENDULUM_ARGS, t1=0.0, max_steps=5)
    assert still.stats.num_steps == 0 and jnp.all(still.y1 == y0)


def test_trees_and_single_precision():
    problem = stiff_spring_double_pendulum_elongated(1e4)
    y0, z0, args = jax.tree.map(
        lambda x: jnp.asarray(x, jnp.float32), (problem.y0, problem.z0, problem.args)
    )
    found = bdf(problem.system, y0, z0, args, t1=0.1, max_steps=200, throw=False)
    assert jax.tree.structure(found.y1) == jax.tree.structure(y0)
    assert found.ts.dtype == jnp.float32 and bool(found.successful)
    double = bdf(
        problem.system, problem.y0, problem.z0, problem.args, t1=0.1, rtol=1e-5, max_steps=600
    )
    assert np.max(np.abs(np.asarray(found.y1[0]) - np.asarray(double.y1[0]))) <= 2e-2


def test_one_compilation_and_lanes_as_alone():
    """All stiffnesses, tolerances and first steps share a program; lanes do not disturb lanes."""
    system = spring_pendulum().system

    def run(eps, rtol, y0):
        return bdf(
            system, y0, jnp.zeros(3), {"eps": eps}, t1=1.0, rtol=rtol, first_step=rtol,
            max_steps=150, throw=False, consistency_tol=None,
        )  # fmt: skip

    alone, traces = counted(run)
    eps = jnp.array([1e-3, 1e-4, 1e-5, 1e-6, 1e-3])
    rtols = jnp.array([1e-3, 1e-4, 1e-3, 1e-4, 1e-3])
    starts = jnp.stack([spring_pendulum(float(e)).y0 for e in eps]).at[4].set(jnp.nan)
    together = jax.jit(jax.vmap(run))(eps, rtols, starts)
    for i in range(5):
        single = alone(eps[i], rtols[i], starts[i])
        lane = jax.tree.map(lambda leaf: leaf[i], together)
        assert bool(single.result == lane.result)
        for name in ("num_steps", "residual_evaluations", "matrix_evaluations"):
            assert abs(int(getattr(single.stats, name) - getattr(lane.stats, name))) <= 1
        if i < 4:
            assert largest_difference(lane.y1, single.y1) <= 1e-6
    assert len(traces) == 1
    assert result_is(together.result, RESULTS.successful).tolist() == [True] * 4 + [False]
    assert result_is(together.result, RESULTS.nonfinite).tolist() == [False] * 4 + [True]


def test_frozen_annihilators_warn():
    y0, z0 = pendulum_start()
    with pytest.warns(UserWarning, match="does not converge to the DAE's solution"):
        bdf(pendulum(), y0, z0, PENDULUM_ARGS, t1=0.1, rtol=1e-2, formulation="cm_frozen")


def test_failures():
    y0, z0 = pendulum_start()
    with pytest.raises(SolveError, match="max_steps steps were not enough.*after 3 steps") as error:
        bdf(pendulum(), y0, z0, PENDULUM_ARGS, t1=5.0, max_steps=3)
    assert int(error.value.solution.stats.num_steps) == 3
    assert error.value.solution.t1 == error.value.solution.ts[-1]
    with pytest.raises(SolveError, match="violate the constraints"):
        bdf(pendulum(), 1.1 * y0, z0, PENDULUM_ARGS, t1=5.0, max_steps=3)
    found = bdf(
        pendulum(), y0, z0, {**PENDULUM_ARGS, "g": np.nan}, t1=1.0, max_steps=3, throw=False
    )
    assert bool(found.result != RESULTS.successful)

    with pytest.raises(Exception, match="max_steps steps were not enough"):
        jax.jit(lambda y0: bdf(pendulum(), y0, z0, PENDULUM_ARGS, t1=5.0, max_steps=3).y1)(y0)

    def twice(t, q, args):
        return jnp.concatenate([q[:1], q[:1]])

    redundant = MechanicalSystem(lambda t, q, a: jnp.eye(2), lambda t, q, v, a: -q, twice)
    with pytest.raises(SolveError, match="redundant"):
        bdf(redundant, np.array([0.0, 1.0]), np.zeros(2), t1=1.0, max_steps=3)


def test_failure_of_the_forces():
    """A force that is not defined beyond a point: the steps up to it are returned."""
    system = ConstrainedSystem(lambda t, y, z, args: jnp.sqrt(0.5 - y) - jnp.sqrt(0.5 - y) + 1)
    found = bdf(system, jnp.zeros(1), jnp.ones(1), t1=2.0, rtol=1e-4, throw=False, max_steps=500)
    assert result_is(
        found.result, RESULTS.newton_diverged, RESULTS.step_size_too_small
    ).all() and jnp.all(jnp.isfinite(found.ys))
    assert 0 < found.t1 < 1


BAD = [
    ({"formulation": "gll"}, ValueError, "formulation must be one of"),
    ({"error_norm": "q"}, ValueError, "error_norm must be one of"),
    ({"solve": "dense"}, ValueError, "solve must be one of"),
    ({"solve": "reduced", "formulation": "ggl"}, ValueError, "multipliers among its unknowns"),
    ({"max_order": 6}, ValueError, "max_order must be a Python integer, from 1 to 5"),
    ({"max_order": 2.0}, ValueError, "max_order must be a Python integer"),
    ({"max_steps": 0}, ValueError, "max_steps must be a Python integer, at least 1"),
    ({"rtol": -1.0}, ValueError, "rtol must be a number >= 0"),
    ({"rtol": 1e-3, "atol": 0.0}, ValueError, "atol must be positive"),
    ({"rtol": 1e-17}, ValueError, "below the rounding errors"),
    ({"t1": np.inf}, ValueError, "t1 must be finite"),
    ({"t1": np.ones(2)}, ValueError, "use jax.vmap"),
    ({"first_step": -0.1}, ValueError, "first_step must be positive"),
]


@pytest.mark.parametrize("options, error, words", BAD)
def test_bad_input(options, error, words):
    y0, z0 = pendulum_start()
    with pytest.raises(error, match=words):
        # Annotations are not checked here: users do not run with them.
        bdf.__wrapped__(pendulum(), y0, z0, PENDULUM_ARGS, **{"t1": 1.0, **options})


def test_bad_systems():
    y0, z0 = jnp.array([1.0, 0.0]), jnp.zeros(2)

    def f(t, y, z, args):
        return -y

    def g(t, y, args):
        return y[1:]

    with pytest.raises(ValueError, match="this one has a function v"):
        bdf(ConstrainedSystem(f, v=lambda t, y, z, args: 2 * z), y0, z0, t1=1.0)
    own = ConstrainedSystem(f, g=g, r=lambda t, y, lam, args: jnp.append(0.0, -lam))
    with pytest.raises(ValueError, match="must be the ideal ones"):
        bdf(own, y0, z0, t1=1.0)
    with pytest.raises(TypeError, match="real floating point"):
        bdf(ConstrainedSystem(f, g=g), np.array([1, 0]), z0, t1=1.0)
