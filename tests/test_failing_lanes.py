"""Batches: failing lanes leave the others alone, and no lanes at all."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from failing import simulate, START, STEPS
from helpers import arrays, largest_difference, pendulum_start, result_is
from jaxspark import Gauss, MechanicalSystem, RESULTS, rollout


def test_empty_batch():
    empty = np.zeros((0, 2))
    solution = jax.vmap(simulate)(empty, empty)
    assert solution.ys.shape == (0, STEPS + 1, 2) and solution.ts.shape == (0, STEPS + 1)
    assert solution.y1.shape == (0, 2)
    gradient = jax.grad(lambda y: jnp.sum(jax.vmap(simulate)(y, empty).y1))(empty)
    assert gradient.shape == (0, 2)


def lane_loss(y, z, h, stiff, g):
    solution = simulate(y, z, h, stiff=stiff, g=g)
    # Not `ys . zs`, which the constraint makes zero.
    return jnp.sum(solution.ys[:, ::-1] * solution.zs), solution.result


@pytest.fixture(scope="module")
def lanes():
    """Good, inconsistent, zero step, not converging, NaN, good."""
    y, z = START
    other = [np.asarray(x) for x in pendulum_start(-0.7, 2.0)]
    ys = np.stack([y, 1.1 * y, y, y, y, other[0]])
    zs = np.stack([z, z, z, z, z, other[1]])
    hs = np.array([0.05, 0.05, 0.0, 1.0, 0.05, 0.03])
    stiff = np.array([0.0, 0.0, 0.0, 200.0, 0.0, 0.5])
    gravity = np.array([9.81, 9.81, 9.81, 9.81, np.nan, 9.5])
    return arrays(ys, zs, hs, stiff, gravity)


def test_failing_lanes_do_not_touch_the_others(lanes):
    with_gradient = jax.value_and_grad(lane_loss, (0, 1, 2, 3, 4), has_aux=True)
    (values, results), gradients = jax.jit(jax.vmap(with_gradient))(*lanes)
    for lane, *members in (
        (1, RESULTS.inconsistent_initial_values),
        (2, RESULTS.zero_step_size),
        (3, RESULTS.newton_diverged, RESULTS.newton_iteration_limit),
        (4, RESULTS.nonfinite),
    ):
        assert result_is(results, *members)[lane]
    single = jax.jit(with_gradient)
    for lane in (0, 5):
        assert result_is(results, RESULTS.successful)[lane]
        (value, _), gradient = single(*(x[lane] for x in lanes))
        own = [x[lane] for x in gradients]
        assert abs(values[lane] - value) <= 1e-13 * abs(value)
        assert np.all(np.isfinite(np.concatenate([np.ravel(x) for x in own])))
        assert largest_difference(own, list(gradient)) <= 1e-12


def test_a_masked_loss_has_the_gradient_of_the_good_lanes(lanes):
    """A parameter that all lanes share: the failed ones count for nothing, not for NaN."""
    ys, zs, hs, stiff, _ = lanes

    def loss(g, chosen):
        one = lambda y, z, h, stiff: lane_loss(y, z, h, stiff, g)
        losses, results = jax.vmap(one)(*(x[chosen] for x in (ys, zs, hs, stiff)))
        successful = results == RESULTS.successful
        return jnp.sum(jnp.where(successful, losses, 0)), successful

    gradient = jax.jit(jax.grad(loss, has_aux=True))
    masked, successful = gradient(9.81, np.array([0, 1, 2, 3, 5]))
    assert np.array_equal(successful, [True, False, False, False, True])
    # Five lanes again, so as not to compile again: 3 and 2, 4 and 1 of the good ones.
    counted, all_good = gradient(9.81, np.array([0, 0, 0, 5, 5]))
    one_more, _ = gradient(9.81, np.array([0, 0, 0, 0, 5]))
    assert np.all(all_good)
    # 3 a + 2 b and 4 a + b give the two, a and b.
    a, b = np.linalg.solve([[3, 2], [4, 1]], [counted, one_more])
    assert np.isfinite(masked) and abs(masked - (a + b)) <= 1e-12 * abs(masked)


@pytest.mark.parametrize("checkpoint", ["stages", "none"])
def test_functions_undefined_where_failed_lanes_would_go(checkpoint):
    """The force has no real value after 0.45; an inconsistent lane and one that gets there."""
    system = MechanicalSystem(
        mass=lambda t, q, a: jnp.eye(2),
        force=lambda t, q, v, a: -a * q * jnp.sqrt(0.45 - t),
        holonomic=lambda t, q, a: jnp.sum(q**2) - 1,
    )

    def loss(a, radii, ends):
        def lane(radius, end):
            y, z = radius * jnp.array([1.0, 0.0]), jnp.array([0.0, 1.0])
            solution = rollout(
                system, y, z, a, method=Gauss(2), t1=end, num_steps=4, throw=False,
                checkpoint=checkpoint,
            )  # fmt: skip
            good = solution.result == RESULTS.successful
            return jnp.where(good, solution.y1[1], 0.0), good

        heights, good = jax.vmap(lane)(radii, ends)
        return jnp.sum(heights), good

    gradient = jax.jit(jax.grad(loss, has_aux=True))
    alone, good = gradient(2.0, jnp.array([1.0, 1.0, 1.0]), jnp.array([0.4, 0.4, 0.4]))
    assert np.all(good)
    masked, good = gradient(2.0, jnp.array([1.0, 1.1, 1.0]), jnp.array([0.4, 0.4, 0.6]))
    assert np.array_equal(good, [True, False, False])
    assert abs(masked - alone / 3) <= 1e-14 * abs(alone)
