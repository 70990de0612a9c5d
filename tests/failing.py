"""A pendulum that may go wrong, and what must hold when it did."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np

import jaxspark
from helpers import pendulum_start, rod
from jaxspark import ConstrainedSystem, Gauss, RESULTS


STEPS = 6
METHOD = Gauss(1)
START = tuple(np.asarray(x) for x in pendulum_start())


def bob():
    """A pendulum whose friction and weight may go wrong.

    It is undefined after `t_bad`; `stiff` makes the equations as hard as one likes.
    """

    def f(t, y, z, args):
        weight = jnp.stack([jnp.zeros_like(t), -args["g"] + 0 * t])
        hard = jnp.sin(args["stiff"] * jnp.sum(z * jnp.asarray([1.0, 2.0])))
        undefined = jnp.where(t > args["t_bad"], jnp.nan, 0.0)
        return weight + (hard + undefined)[None] * jnp.ones(2)

    return ConstrainedSystem(f, g=rod)


ARGS = {"l": 0.8, "g": 9.81, "stiff": 0.0, "t_bad": 1e9}
SYSTEM = bob()


def simulate(y, z, h=0.05, **changes):
    args = {key: jnp.asarray(value, float) for key, value in {**ARGS, **changes}.items()}
    return jaxspark.rollout(
        SYSTEM, y, z, args, method=METHOD, h=h, num_steps=STEPS, multipliers=False, throw=False
    )


jitted = eqx.filter_jit(simulate)


def simulate_traced(y, z, h=0.05, **changes):
    """`simulate`, compiled once with everything traced."""
    traced = {key: jnp.asarray({**ARGS, **changes}[key], float) for key in ARGS}
    return jitted(jnp.asarray(y), jnp.asarray(z), jnp.asarray(h), **traced)


def fails_with(solution, member):
    assert bool(solution.result == member), RESULTS[solution.result]
    return solution


def assert_stayed(solution, y, z, t0=0.0):
    """Nothing moved: every row is the initial state at the initial time."""
    rows = STEPS + 1
    assert np.array_equal(solution.ts, np.full(rows, t0))
    assert np.array_equal(solution.ys, np.tile(y, (rows, 1)), equal_nan=True)
    assert np.array_equal(solution.zs, np.tile(z, (rows, 1)), equal_nan=True)
    assert np.array_equal(solution.y1, y, equal_nan=True) and float(solution.t1) == t0
    assert np.array_equal(solution.z1, z, equal_nan=True)
    assert int(solution.stats.num_steps) == 0
