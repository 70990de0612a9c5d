"""Newton's iteration where constraints amplify rounding errors: it ends at what these allow."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxspark
from benchmarks.audit._gripper import ARM, start
from helpers import result_is
from jaxspark import RESULTS


@jax.jit
def fall(y, z, args, h):
    return jaxspark.rollout(
        ARM, y, z, args, method=jaxspark.Gauss(2), h=h, num_steps=50, save_every=None, throw=False
    )


@pytest.fixture(scope="module")
def near():
    return fall(*start(0.0), 1e-3)


@pytest.mark.parametrize("offset", [0.0, 1.0, 100.0, 1000.0])
def test_far_from_the_origin(offset, near):
    """Levers of 1.5 cm close loops of world positions; levers amplify some 90 times."""
    solution = fall(*start(offset), 1e-3)
    assert bool(solution.successful), RESULTS[solution.result]
    assert float(solution.stats.max_g) <= 1e-15 * (1 + offset)
    assert np.max(np.abs(solution.y1 - near.y1)) <= 1e-12 * (1 + offset)


def test_single_precision(near):
    solution = fall(*start(1.0, jnp.float32), jnp.float32(1e-3))
    assert bool(solution.successful), RESULTS[solution.result]
    assert float(solution.stats.max_g) <= 1e-6
    assert np.max(np.abs(np.asarray(solution.y1) - np.asarray(near.y1))) <= 1e-2


def test_what_fails_still_fails():
    """Steps of half a second, and a lane beside one that goes well."""
    y, z, args = start(100.0)
    failed = RESULTS.newton_diverged, RESULTS.newton_iteration_limit, RESULTS.singular
    lanes = jax.vmap(lambda h: fall(y, z, args, h))(jnp.array([1e-3, 0.5]))
    assert result_is(lanes.result, RESULTS.successful).tolist() == [True, False]
    assert result_is(lanes.result, *failed).tolist() == [False, True]
    alone = fall(y, z, args, 1e-3)
    assert np.max(np.abs(lanes.y1[0] - alone.y1)) <= 1e-10


def test_slow_convergence_is_no_noise():
    """Linear equations whose iteration neither converges nor diverges: the updates stay small."""

    def f(t, y, z, args):
        del t
        return -args["c"] * z

    def end(scale):
        # For one stage the modified iteration contracts by `h c / 2`.
        args, z = {"c": jnp.asarray(2.0)}, scale * jnp.ones(2)
        return jaxspark.rollout(
            jaxspark.ConstrainedSystem(f), jnp.zeros(2), z, args, method=jaxspark.Gauss(1),
            h=1.0, num_steps=1, throw=False,
        )  # fmt: skip

    for scale in (1.0, 1e-7, 1e-10):
        assert result_is(end(scale).result, RESULTS.newton_diverged, RESULTS.newton_iteration_limit)


def test_constraints_that_cannot_hold():
    """A second constraint contradicts the first by 1e-9: no rounding error explains that."""

    def g(t, q, args):
        del t
        return jnp.stack([q[0], q[0] * (1 + args["tilt"] * q[1]) - args["apart"]])

    system = jaxspark.MechanicalSystem(
        lambda t, q, args: jnp.eye(3), lambda t, q, v, args: jnp.array([0.0, 1.0, 0.0]),
        holonomic=g,
    )  # fmt: skip
    args = {"tilt": jnp.asarray(1e-6), "apart": jnp.asarray(1e-9)}
    solution = jaxspark.rollout(
        system, jnp.zeros(3), jnp.zeros(3), args, method=jaxspark.Gauss(2), h=0.01, num_steps=5,
        throw=False,
    )  # fmt: skip
    assert not bool(solution.successful)


def test_projection():
    for offset in (1.0, 100.0):
        y, z, args = start(offset)
        moved = y + 1e-3 * jnp.sin(jnp.arange(10.0))
        found = jaxspark.project(ARM, 0.0, moved, z + 1.0, args)
        assert np.max(np.abs(found.residuals.g)) <= 1e-15 * (1 + offset)


def test_gradients():
    """Forward, reverse, differences."""
    y, z, args = start(100.0)

    @jax.jit
    def angle(turn):
        solution = jaxspark.rollout(
            ARM, y.at[0].add(turn[0]), z.at[1].add(0 * turn[0]), args, method=jaxspark.Gauss(2),
            h=1e-3,
            num_steps=5, save_every=None, throw=False,
        )  # fmt: skip
        return solution.y1[3] + solution.y1[0]

    at, e = jnp.zeros(1), 1e-4
    slope = jax.jit(jax.grad(angle))(at)[0]
    forward = jax.jvp(angle, (at,), (jnp.ones(1),))[1]
    assert np.isclose(slope, forward, rtol=1e-8)
    assert np.isclose(slope, (angle(at + e) - angle(at - e)) / (2 * e), rtol=1e-5)
