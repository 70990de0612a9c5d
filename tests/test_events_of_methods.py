"""Events with every kind of method: times, jumps, derivatives to the second order, batches."""

import functools

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxspark
from helpers import largest_difference, pendulum, PENDULUM_ARGS, pendulum_start, thorough
from jaxspark import DOP853, Event, Gauss, GGL, RadauIIA


SYSTEM = pendulum()
KINDS = {"explicit": DOP853(), "SPARK": Gauss(4), "stiff": GGL(RadauIIA(3))}
TOLERANCE = {"explicit": 1e-10, "SPARK": 1e-10, "stiff": 1e-7}
ACCURACY = {"explicit": 1e-8, "SPARK": 1e-8, "stiff": 1e-4}
AT = {"angle": 0.2, "rate": 3.0, "l": 0.8, "e": 0.7, "wall": 0.5, "t1": 2.0}
TIMES = jnp.array([0.0, 0.1, 0.9, 1.8])


def gap(t, q, args):
    """To a wall that moves towards the pendulum."""
    return args["wall"] * (1 - 0.2 * t) - q[0]


def swing(p, kind, **options):
    """A pendulum that is hit by the wall twice before the end; on the other side it is free."""
    args = {**PENDULUM_ARGS, **p}
    y0, z0 = pendulum_start(p["angle"], p["rate"], args["l"])
    law = jaxspark.impact(SYSTEM, gap, lambda args: args["e"])
    hit = Event(lambda t, q, v, args: gap(t, q, args), direction=False, reset=law)
    given = {"t1": p["t1"], "rtol": TOLERANCE[kind], "max_steps": 256, "max_events": 3, **options}
    return jaxspark.solve(SYSTEM, y0, z0, args, method=KINDS[kind], events=hit, **given)


def as_arrays():
    return {name: jnp.asarray(value) for name, value in AT.items()}


@functools.cache
def exact():
    """By another method, at a tighter tolerance."""
    return swing(AT, "explicit", rtol=1e-13, ts=TIMES, max_steps=1024)


@pytest.mark.parametrize("kind", ["explicit", "SPARK", thorough("stiff")])
def test_impacts(kind):
    found = swing(AT, kind, ts=TIMES, dense=True)
    assert int(found.events.count) == int(exact().events.count) == 2
    allowed = ACCURACY[kind]
    np.testing.assert_allclose(found.events.ts[:2], exact().events.ts[:2], atol=allowed)
    np.testing.assert_allclose(found.events.zs_after[:2], exact().events.zs_after[:2], atol=allowed)
    np.testing.assert_allclose(found.ys, exact().ys, atol=allowed)
    args = {**PENDULUM_ARGS, **AT}
    for i in range(2):
        t, y = found.events.ts[i], found.events.ys[i]
        assert abs(float(gap(t, y, args))) <= 2e-15
        residual = jaxspark.diagnostics.constraint_residuals(
            SYSTEM, t, y, found.events.zs_after[i], args
        )
        assert float(jnp.max(jnp.abs(residual.gdot))) <= 1e-14
        # Dense output is the state before, a moment later that after.
        before, after = found.evaluate(t)[1], found.evaluate(t + 1e-12)[1]
        assert np.max(np.abs(before - found.events.zs[i])) <= 1e-12
        assert np.max(np.abs(after - found.events.zs_after[i])) <= 1e-10
    np.testing.assert_allclose(found.evaluate(TIMES)[0], found.ys, atol=1e-13)
    assert float(found.stats.max_g) <= 1e-15


@pytest.mark.parametrize("kind", [thorough("explicit"), "SPARK", thorough("stiff")])
def test_every_row_is_a_state_of_the_motion(kind):
    found = swing(AT, kind, save_every=1)
    rows = int(found.stats.num_steps) + 1
    ts = np.asarray(found.ts)
    assert np.all(np.diff(ts) >= 0) and ts[-1] == AT["t1"]
    args = {**PENDULUM_ARGS, **AT}
    gaps = jax.vmap(lambda t, q: gap(t, q, args))(found.ts, found.ys)
    assert float(jnp.min(gaps)) >= -1e-14
    for t, after in zip(found.events.ts[:2], found.events.zs_after[:2]):
        # One row of each impact: the state after it.
        (row,) = np.flatnonzero(ts[:rows] == float(t))
        np.testing.assert_array_equal(found.zs[row], after)


def motion(p, kind, **options):
    """All that a motion with impacts comes to, smoothly."""
    found = swing(p, kind, ts=TIMES[1:], throw=False, **options)
    first = found.events
    return {
        "end": jnp.concatenate([found.y1, found.z1]), "rows": found.ys,
        "times": first.ts[:2], "before": first.zs[:2], "after": first.zs_after[:2],
    }  # fmt: skip


@functools.cache
def jacobians(kind):
    function = functools.partial(motion, kind=kind)
    return tuple(jax.jit(mode(function))(as_arrays()) for mode in (jax.jacfwd, jax.jacrev))


@pytest.mark.parametrize("kind", ["explicit", thorough("SPARK"), thorough("stiff")])
def test_forward_is_reverse_is_differences(kind):
    forward, reverse = jacobians(kind)
    assert largest_difference(forward, reverse) <= 1e-11
    run = jax.jit(lambda p: motion(p, "explicit", rtol=1e-13, max_steps=1024))

    def moved(name, by):
        return run({**as_arrays(), name: AT[name] + by})

    for name in AT:
        wide, narrow = (
            jax.tree.map(lambda a, b: (a - b) / (2 * h), moved(name, h), moved(name, -h))
            for h in (2e-4, 1e-4)
        )
        for part, found in forward.items():
            expected = (4 * narrow[part] - wide[part]) / 3
            np.testing.assert_allclose(found[name], expected, atol=20 * ACCURACY[kind] + 2e-8)


@pytest.mark.parametrize("kind", [thorough("explicit"), thorough("SPARK")])
def test_second_derivatives(kind):
    def value(e, length):
        found = swing({**AT, "e": e, "l": length}, kind, throw=False)
        return found.y1[0] + found.z1[1]

    e, length, h = AT["e"], AT["l"], 1e-4
    slope = jax.jit(jax.grad(value, (0, 1)))
    found = jax.jit(jax.jacfwd(jax.grad(value, (0, 1)), (0, 1)))(e, length)
    for i, (de, dl) in enumerate(((1, 0), (0, 1))):
        ends = (slope(e + s * h * de, length + s * h * dl) for s in (1, -1, 0.5, -0.5))
        a, b, c, d = (np.array(x) for x in ends)
        expected = (4 * (c - d) / h - (a - b) / (2 * h)) / 3
        np.testing.assert_allclose([row[i] for row in found], expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kind", ["explicit", thorough("SPARK")])
def test_batches_are_loops(kind):
    """Of motions with none, one and two impacts."""
    rates = jnp.array([0.5, 2.2, 3.0])

    def value(rate):
        found = swing({**AT, "rate": rate}, kind, throw=False)
        return found.y1[0] + found.z1[1], found.events.count

    one = jax.jit(jax.value_and_grad(value, has_aux=True))
    (values, counts), slopes = jax.jit(jax.vmap(one))(rates)
    assert len(set(counts.tolist())) > 1
    for i, rate in enumerate(rates):
        (alone, count), slope = one(rate)
        assert int(count) == int(counts[i])
        np.testing.assert_allclose([values[i], slopes[i]], [alone, slope], rtol=1e-11)


@pytest.mark.parametrize("kind", ["explicit", thorough("SPARK"), "stiff"])
def test_saved_times_at_the_start_move_as_the_ode_says(kind):
    y0, z0 = pendulum_start(0.2, 3.0)

    def saved(time):
        found = jaxspark.solve(
            SYSTEM, y0, z0, PENDULUM_ARGS, method=KINDS[kind], t1=0.5, max_steps=128,
            ts=jnp.stack([time, jnp.asarray(0.3)]), throw=False,
        )  # fmt: skip
        return found.ys[0], found.zs[0]

    expected = jaxspark.underlying_ode(SYSTEM)(0.0, (y0, z0), PENDULUM_ARGS)
    for mode in (jax.jacfwd, jax.jacrev):
        assert largest_difference(jax.jit(mode(saved))(jnp.zeros(())), expected) <= 1e-12


def test_a_bar_ends_where_the_motion_does(monkeypatch, capfd):
    from jaxspark._driver import _progress_bar

    monkeypatch.setattr(_progress_bar, "DELAY", 0.0)
    whole = swing(AT, "explicit", progress_meter=True)
    plain = swing(AT, "explicit", progress_meter=False)
    jax.effects_barrier()
    assert "100%" in capfd.readouterr().err and not _progress_bar._bars
    assert largest_difference(whole.y1, plain.y1) <= 1e-14
    part = swing(AT, "explicit", progress_meter=True, max_steps=40, throw=False)
    jax.effects_barrier()
    reached = round(100 * float(part.ts[-1]) / AT["t1"])
    assert f"{reached}%" in capfd.readouterr().err and 0 < reached < 100
    lanes = jax.vmap(lambda e: swing({**AT, "e": e}, "explicit", progress_meter=True).y1)
    assert largest_difference(lanes(jnp.array([AT["e"], 0.5]))[0], plain.y1) <= 1e-14
    jax.effects_barrier()
    assert capfd.readouterr().err.count("100%") >= 2 and not _progress_bar._bars


def test_what_is_no_meter_is_refused():
    for meter in (3, "bar", diffrax.TextProgressMeter):
        with pytest.raises(TypeError, match="progress_meter must be True"):
            swing(AT, "explicit", progress_meter=meter)


@pytest.mark.parametrize("kind", ["explicit", thorough("SPARK"), thorough("stiff")])
def test_progress_is_shown(kind, capfd):
    swing(AT, kind, progress_meter=diffrax.TextProgressMeter())
    jax.effects_barrier()
    shown = capfd.readouterr().out.split()
    assert shown[0] == "0.00%" and shown[-1] == "100.00%" and len(shown) > 5
