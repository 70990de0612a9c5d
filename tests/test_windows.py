"""Batches in windows: the numbers of `vmap`, in its order."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxspark


def lowest(start, length):
    weight = jaxspark.LagrangianSystem(
        lambda t, q, v, args: 0.5 * jnp.sum(v**2) - 9.81 * q[1],
        holonomic=lambda t, q, args: (jnp.sum(q**2) - args**2) / 2,
    )
    y0 = length * jnp.stack([jnp.cos(start["angle"]), jnp.sin(start["angle"])])
    solution = jaxspark.solve(
        weight, y0, jnp.zeros(2), length, method=jaxspark.Tsit5(), t1=0.5, max_steps=128,
        throw=False,
    )  # fmt: skip
    return {"end": solution.y1, "steps": solution.stats.num_steps}


ANGLES = jnp.linspace(0.0, 1.5, 7)
LENGTHS = jnp.linspace(2.0, 0.1, 7)


def test_windows_are_vmap():
    expected = jax.jit(jax.vmap(lowest))({"angle": ANGLES}, LENGTHS)
    windows = jaxspark.batch.in_windows(lowest, 3, cost=lambda start, length: -length)
    windows = jax.jit(windows)({"angle": ANGLES}, LENGTHS)
    assert len(set(np.asarray(expected["steps"]))) > 2
    np.testing.assert_array_equal(windows["steps"], expected["steps"])
    np.testing.assert_allclose(windows["end"], expected["end"], rtol=0, atol=1e-14)


def test_lanes_of_a_window_cost_about_the_same():
    @jax.custom_batching.custom_vmap
    def slowest(x):
        return x

    @slowest.def_vmap
    def _(size, batched, x):
        return jnp.broadcast_to(jnp.max(x), x.shape), True

    costs = jnp.array([9, 1, 8, 2, 7, 3])
    found = jaxspark.batch.in_windows(slowest, 2, cost=lambda x: x)(costs)
    np.testing.assert_array_equal(found, [9, 2, 9, 2, 7, 7])


def test_without_costs_lanes_keep_their_order():
    windows = jaxspark.batch.in_windows(lambda x, y: {"a": x * y, "b": jnp.sum(y)}, 3)
    found = windows(LENGTHS, jnp.outer(ANGLES, jnp.ones(2)))
    np.testing.assert_array_equal(found["a"], jnp.outer(LENGTHS * ANGLES, jnp.ones(2)))
    np.testing.assert_array_equal(found["b"], 2 * ANGLES)


@pytest.mark.parametrize("size", [1, 3, 7, 10])
def test_empty_arrays_and_keys_come_back(size):
    """A `Solution` has empty arrays where nothing was saved."""
    keys = jax.random.split(jax.random.key(0), 7)

    def lane(x, key):
        return {"x": x + jax.random.uniform(key), "none": jnp.zeros((0, 2)), "key": key}

    expected = jax.vmap(lane)(LENGTHS, keys)
    for cost in (None, lambda x, key: -x):
        found = jaxspark.batch.in_windows(lane, size, cost=cost)(LENGTHS, keys)
        assert found["none"].shape == (7, 0, 2)
        np.testing.assert_array_equal(found["x"], expected["x"])
        np.testing.assert_array_equal(*(jax.random.key_data(a["key"]) for a in (found, expected)))


def test_derivatives_are_those_of_vmap():
    def loss(lengths, batched):
        return jnp.sum(batched(lambda x: jnp.sin(x) * x)(lengths) * jnp.arange(7.0))

    def windows(function):
        return jaxspark.batch.in_windows(function, 3, cost=lambda x: x**2)

    a, b = (jax.grad(lambda x, f=f: loss(x, f))(LENGTHS) for f in (jax.vmap, windows))
    np.testing.assert_allclose(a, b, rtol=1e-14)


def test_bad_input():
    with pytest.raises(ValueError, match="at least one lane, a whole number; got 0"):
        jaxspark.batch.in_windows(lowest, 0)
    with pytest.raises(ValueError, match="closes over"):
        jaxspark.batch.in_windows(lambda a, b: a + b, 2)(jnp.ones(3), jnp.ones(()))
    with pytest.raises(ValueError, match="lanes of one batch"):
        jaxspark.batch.in_windows(lambda a, b: a + b, 2)(jnp.ones(3), jnp.ones(4))
    for cost in (lambda x: x[None], lambda x: (x, x), lambda x: None):
        with pytest.raises(ValueError, match="cost of a lane must be a number; got shapes"):
            jaxspark.batch.in_windows(jnp.sin, 2, cost=cost)(jnp.ones(3))
    with pytest.raises(ValueError, match="must be a real number; got dtype complex128"):
        jaxspark.batch.in_windows(jnp.sin, 2, cost=lambda x: jax.lax.complex(x, x))(jnp.ones(3))
