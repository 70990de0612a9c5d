"""Estimates of the error of a whole motion against the true error."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxspark import DOP853, EqualSteps, Gauss, GGL, MechanicalSystem, RadauIIA, solve, Tsit5


TIMES = np.array([1.0, 3.0, 7.0, 9.5])
START = jnp.array([1.0, 0.0]), jnp.zeros(2)


def force(t, q, v, args):
    return jnp.stack([0 * t, -args])


def rod(t, q, args):
    return (jnp.sum(q**2, keepdims=True) - 1) / 2


PENDULUM = MechanicalSystem(lambda t, q, args: jnp.eye(2, dtype=q.dtype), force, rod)


def swing(method=None, g=9.81, rtol=1e-7, **options):
    given = {"ts": TIMES, "global_error": True, **options}
    return solve(PENDULUM, *START, g, t1=10.0, method=method, rtol=rtol, **given)


@pytest.fixture(scope="module")
def exact():
    return swing(DOP853(), rtol=1e-13, multipliers=True, max_steps=10_000, global_error=False)


@pytest.mark.parametrize("method", [DOP853(), Tsit5(), Gauss(3), GGL(RadauIIA(3))], ids=repr)
def test_estimates(method, exact):
    """Of states, the end and multipliers: within a third of the true errors, their signs too."""
    found = swing(method, multipliers=True)
    assert found.error is not None and found.error.multipliers is not None
    pairs = [
        (found.error.ys, found.ys - exact.ys), (found.error.zs, found.zs - exact.zs),
        (found.error.y1, found.y1 - exact.y1), (found.error.z1, found.z1 - exact.z1),
        (found.error.multipliers[0], found.multipliers.lam - exact.multipliers.lam),
    ]  # fmt: skip
    for estimate, true in pairs:
        assert np.max(np.abs(estimate - true)) <= np.max(np.abs(true)) / 3
    sizes = [np.abs(e) / (1 + np.abs(x)) for e, x in ((found.error.ys, found.ys),
             (found.error.zs, found.zs), (found.error.z1, found.z1))]  # fmt: skip
    worst = max(float(np.max(x)) for x in sizes) / 1e-7
    assert abs(float(found.error.tolerances) - worst) <= 1e-9 * worst
    assert np.isnan(found.error.lost_from)
    assert f"Estimated error: up to {worst:g} tolerances." in repr(found)


@pytest.mark.parametrize("method", [DOP853(), Gauss(3)], ids=repr)
def test_steps_that_the_longest_limits(method, exact):
    """All are as long as the longest: no tolerance, however small, would change them."""
    options = {"rtol": 1e-2, "atol": 1e-2, "max_step": 0.05}
    found = swing(method, **options)
    assert found.stats.num_steps <= 202 and found.stats.num_rejected_steps == 0
    true = np.asarray(found.ys - exact.ys)
    assert np.max(np.abs(found.error.ys - true)) <= np.max(np.abs(true)) / 3


def test_every_step_and_the_end():
    """Rows of steps, whose times the second motion gets; rows that repeat the end; and no rows."""
    rows = swing(save_every=1, ts=None, max_steps=256)
    assert rows.error.ys.shape == rows.ys.shape and bool(jnp.all(jnp.isfinite(rows.error.ys)))
    assert np.all(np.asarray(rows.error.ys[0]) == 0)
    alone = swing(ts=None)
    assert np.allclose(rows.error.ys[-1], alone.error.y1, rtol=1e-6, atol=1e-13)
    assert np.allclose(rows.error.y1, alone.error.y1, rtol=1e-6, atol=1e-13)


def double(t, q, v, args):
    return jnp.stack([0 * t, -9.81 + 0 * t, 0 * t, -9.81 + 0 * t])


def rods(t, q, args):
    return jnp.stack([jnp.sum(q[:2] ** 2) - 1, jnp.sum((q[2:] - q[:2]) ** 2) - 1]) / 2


def test_lost():
    """A chaotic motion is told to be lost, from when on, and how many lanes of a batch."""
    system = MechanicalSystem(lambda t, q, args: jnp.eye(4), double, rods)
    y0 = jnp.array([0.0, 1.0, 0.6, 1.8])
    times = np.linspace(1.0, 40.0, 40)

    def run(rtol):
        return solve(
            system, y0, jnp.zeros(4), t1=40.0, ts=times, rtol=rtol, global_error=True,
            max_steps=20_000,
        )  # fmt: skip

    loose, tight = run(1e-5), run(1e-10)
    apart = np.max(np.abs(loose.ys - tight.ys), 1) > 100 * 1e-5 * 2
    true = times[np.argmax(apart)]
    assert apart.any() and abs(float(loose.error.lost_from) - true) <= 3
    assert f"THE SOLUTION IS LOST from t = {float(loose.error.lost_from):g} on" in repr(loose)
    lanes = jax.vmap(run)(jnp.array([1e-5, 1e-7]))
    assert "LOST in 2 of 2 lanes" in repr(lanes)
    early, late = lanes.error.lost_from
    assert early <= late


def test_transformations():
    """Under jit and vmap the same; derivatives of the solution are as without; its own are zero."""
    plain = [swing(g=g).error.tolerances for g in (9.81, 5.0)]
    batch = jax.vmap(lambda g: jax.jit(lambda g: swing(g=g))(g).error.tolerances)(
        jnp.array([9.81, 5.0])
    )
    assert np.allclose(batch, plain, rtol=1e-6)
    own, without = (
        jax.grad(lambda g, estimate=estimate: swing(g=g, global_error=estimate).y1[0])(9.81)
        for estimate in (True, False)
    )
    assert own == without
    assert jax.grad(lambda g: swing(g=g).error.tolerances)(9.81) == 0


def test_where_it_is_not_known():
    """NaN where a motion failed; an error where there are no tolerances."""
    needed = int(swing(ts=None).stats.num_steps)
    just = swing(ts=None, max_steps=needed + 2)
    assert bool(jnp.isfinite(just.error.tolerances))
    failed = swing(max_steps=10, throw=False)
    assert "Estimated error: not known" in repr(failed)
    assert not bool(failed.successful)
    assert bool(jnp.all(jnp.isnan(failed.error.ys))) and bool(jnp.isnan(failed.error.tolerances))
    with pytest.raises(ValueError, match="steps of known sizes, compare two"):
        solve(PENDULUM, *START, 9.81, t1=1.0, steps=EqualSteps(number=10), global_error=True)


def test_single_precision():
    """The tightened tolerance ends at the rounding errors: the estimate takes it as it is."""
    start = tuple(np.asarray(x, np.float32) for x in START)
    exact = swing(DOP853(), rtol=1e-13, max_steps=10_000, ts=None, global_error=False)
    for rtol in (1e-3, 1e-5):
        found = solve(
            PENDULUM, *start, np.float32(9.81), t1=10.0, rtol=rtol, method=DOP853(), ts=None,
            global_error=True,
        )  # fmt: skip
        true = np.max(np.abs(np.asarray(found.y1, float) - exact.y1))
        assert true / 3 <= np.max(np.abs(found.error.y1)) <= 3 * true
