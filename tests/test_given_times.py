"""Rollouts between given times."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxspark


LENGTH = 1.3


def rod(t, q, length):
    return jnp.sum(q**2) - length**2


PENDULUM = jaxspark.MechanicalSystem(
    lambda t, q, length: jnp.eye(2, dtype=q.dtype),
    lambda t, q, v, length: jnp.stack([0 * t, -9.81 * jnp.cos(t)]) * jnp.ones(2, q.dtype),
    holonomic=rod,
)


def swing(ts, length=LENGTH, method=jaxspark.Gauss(3), **options):
    y0, z0 = jnp.stack([length, 0 * length]), jnp.array([0.0, 0.4])
    return jaxspark.rollout(PENDULUM, y0, z0, length, method=method, ts=ts, **options)


def uneven(count, seed=0):
    parts = np.random.default_rng(seed).uniform(0.5, 1.5, count)
    return np.concatenate([[0.2], 0.2 + 1.5 * np.cumsum(parts) / parts.sum()])


def test_equal_times_give_equal_steps():
    ts = np.linspace(0.5, 2.0, 31)
    y0, z0 = jnp.array([LENGTH, 0.0]), jnp.array([0.0, 0.4])
    equal = jaxspark.rollout(
        PENDULUM, y0, z0, LENGTH, method=jaxspark.Gauss(3), t0=0.5, t1=2.0, num_steps=30
    )
    given = swing(ts)
    assert np.allclose(given.ts, ts, rtol=0, atol=0)
    assert np.allclose(given.ys, equal.ys, rtol=0, atol=1e-13)
    assert np.allclose(given.zs, equal.zs, rtol=0, atol=1e-13)
    assert int(given.stats.num_steps) == 30


def test_order_and_constraints_on_uneven_times():
    def refined(ts, parts):
        inner = [np.linspace(a, b, parts, endpoint=False) for a, b in zip(ts[:-1], ts[1:])]
        return np.concatenate([*inner, ts[-1:]])

    coarse = uneven(12)
    exact = swing(refined(coarse, 32), save_every=None).y1
    errors = [
        float(jnp.max(jnp.abs(swing(refined(coarse, n), method=jaxspark.Gauss(2)).y1 - exact)))
        for n in (1, 2, 4)
    ]
    slopes = -np.diff(np.log2(errors))
    assert np.all(np.abs(slopes - 4) < 0.25)
    assert float(swing(coarse).stats.max_g) < 1e-14


def test_nothing_happens_between_equal_times():
    ts = uneven(9)
    padded = np.concatenate([ts[:4], [ts[3]] * 2, ts[4:], [ts[-1]] * 3])
    plain, with_pauses = swing(ts), swing(padded)
    kept = np.array([0, 1, 2, 3, 6, 7, 8, 9, 10, 11])
    assert np.allclose(with_pauses.ys[kept], plain.ys, rtol=0, atol=1e-13)
    assert int(with_pauses.stats.num_steps) == 9
    assert np.array_equal(with_pauses.ys[-1], with_pauses.ys[-4])
    assert with_pauses.t1 == ts[-1]


def test_derivatives_of_padded_batches():
    grids = np.stack([np.concatenate([uneven(6, 1), np.full(3, uneven(6, 1)[-1])]), uneven(9, 2)])

    def end(length, ts):
        return swing(ts, length, save_every=None, throw=False).y1

    batch = jax.vmap(jax.jacrev(end), (None, 0))(LENGTH, grids)
    forward = jax.vmap(jax.jacfwd(end), (None, 0))(LENGTH, grids)
    alone = jnp.stack([jax.jacrev(end)(LENGTH, uneven(6, 1)), jax.jacrev(end)(LENGTH, grids[1])])
    assert np.allclose(batch, alone, rtol=1e-11) and np.allclose(forward, alone, rtol=1e-11)
    step = 1e-5
    difference = (end(LENGTH + step, grids[0]) - end(LENGTH - step, grids[0])) / (2 * step)
    assert np.allclose(batch[0], difference, rtol=1e-8)


def test_derivative_by_the_times():
    ts = jnp.asarray(uneven(25))
    by_last = jax.jacfwd(lambda ts: swing(ts, save_every=None, throw=False).y1)(ts)[:, -1]
    # The end moves with its velocity, to the order of the method.
    assert np.allclose(by_last, swing(ts).z1, rtol=1e-6)


@pytest.mark.parametrize(
    "ts, options, words",
    [
        ([0.0, 1.0], {"t1": 1.0}, "leave out t1"),
        ([0.0, 1.0], {"num_steps": 3}, "leave out num_steps"),
        ([0.0, 1.0, 0.5], {}, "must increase"),
        ([0.0, np.nan], {}, "finite"),
        ([[0.0, 1.0]], {}, "vector of times"),
    ],
)
def test_errors(ts, options, words):
    with pytest.raises(ValueError, match=words):
        swing(np.array(ts), **options)


def test_neither_times_nor_steps():
    with pytest.raises(ValueError, match="num_steps must be"):
        jaxspark.rollout(
            PENDULUM, jnp.array([1.0, 0.0]), jnp.zeros(2), 1.0, method=jaxspark.Gauss(2)
        )
