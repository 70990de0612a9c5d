"""Programs leave this process: for machines that are not here, and back again."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import export

import jaxspark
from helpers import largest_difference, pendulum, PENDULUM_ARGS, pendulum_start
from jaxspark import Gauss, RESULTS


PLATFORMS = ["cpu", "cuda", "tpu"]


def simulate(y, z, args):
    solution = jaxspark.rollout(
        pendulum(), y, z, args, method=Gauss(1), h=0.1, num_steps=4, throw=False
    )
    return solution.ys, solution.zs, solution.result == RESULTS.successful


def report(y, z, args):
    """The multipliers too."""
    solution = jaxspark.rollout(
        pendulum(), y, z, args, method=Gauss(2), h=0.1, num_steps=4, throw=False, multipliers=True
    )
    return solution.ys, solution.multipliers.lam


def loss(y, z, args):
    ys, zs, _ = simulate(y, z, args)
    return jnp.sum(ys**2 * zs)


def explicitly(y, z, args):
    """By an explicit method, with adaptive steps."""
    end = jaxspark.solve(
        pendulum(), y, z, args, method=jaxspark.DOP853(), t1=0.4, max_steps=16, throw=False
    )
    return end.y1 @ end.z1


def batch_of_gradients(y, z, args):
    return jax.vmap(jax.grad(explicitly), (0, None, None))(jnp.stack([y, y]), z, args)


def inputs():
    y, z = pendulum_start()
    return y, z, {key: jnp.asarray(value) for key, value in PENDULUM_ARGS.items()}


def round_trip(exported):
    """Through bytes."""
    again = export.deserialize(exported.serialize())
    assert again.platforms == exported.platforms
    return again


@pytest.mark.parametrize(
    "function",
    [
        report,
        jax.value_and_grad(loss, argnums=(0, 1, 2)),
        jax.value_and_grad(explicitly, argnums=(0, 1, 2)),
        batch_of_gradients,
    ],
    ids=["rollout", "gradient", "explicit", "batch of gradients"],
)
def test_three_platforms(function):
    function = jax.jit(function)
    exported = export.export(function, platforms=PLATFORMS)(*inputs())
    assert exported.platforms == tuple(PLATFORMS)
    got, expected = exported.call(*inputs()), function(*inputs())
    assert np.all(np.isfinite(np.concatenate([np.ravel(x) for x in jax.tree.leaves(got)])))
    assert largest_difference(got, expected) <= 1e-14
    again = round_trip(exported).call(*inputs())
    assert largest_difference(again, got) == 0


def test_symbolic_batch_size():
    """One program for batches of any size."""
    (size,) = export.symbolic_shape("b")
    y, z, args = inputs()
    batched = jax.jit(jax.vmap(simulate, in_axes=(0, 0, None)))
    shape = jax.ShapeDtypeStruct((size, 2), y.dtype)
    exported = export.export(batched, platforms=PLATFORMS)(shape, shape, args)
    ys, _, good = exported.call(jnp.stack([y, y]), jnp.stack([z, -z]), args)
    assert ys.shape == (2, 5, 2) and np.all(good)
    expected, _, _ = jax.jit(simulate)(y, -z, args)
    assert largest_difference(ys[1], expected) <= 1e-13
