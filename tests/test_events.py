"""Events: found to rounding error, with resets that respect the constraints."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxspark
from helpers import pendulum, PENDULUM_ARGS, pendulum_start
from jaxspark import Event, Gauss


GRAVITY, FLOOR = 9.81, 0.2


def ball():
    """A ball on a vertical guide: `q = (x, y)` with `x = 0`; it falls freely."""

    def lagrangian(t, q, v, args):
        del t
        return 0.5 * jnp.sum(v**2) - args["g"] * q[1]

    return jaxspark.LagrangianSystem(lagrangian, holonomic=lambda t, q, args: q[0])


def gap(t, q, args):
    del t
    return q[1] - args["floor"]


def falling(args):
    return Event(
        lambda t, q, v, args: gap(t, q, args),
        direction=False,
        reset=jaxspark.impact(ball(), gap, lambda args: args["restitution"]),
    )


def bounce(args, **options):
    start = {"t1": 2.0, "rtol": 1e-8, "max_events": 8, **options}
    return jaxspark.solve(
        ball(),
        jnp.array([0.0, 1.2]),
        jnp.zeros(2),
        args,
        method=Gauss(2),
        events=falling(args),
        **start,
    )


ARGS = {"g": GRAVITY, "floor": FLOOR, "restitution": 0.8}


def impacts(args, count):
    """Times of the impacts from a height of 1 above the floor, and the speeds before them."""
    first, speed = np.sqrt(2 / args["g"]), np.sqrt(2 * args["g"])
    times, speeds = [first], [speed]
    for _ in range(count - 1):
        speed = speed * args["restitution"]
        times.append(times[-1] + 2 * speed / args["g"])
        speeds.append(speed)
    return np.array(times), np.array(speeds)


def test_bouncing_ball():
    ts = np.linspace(0.0, 2.0, 41)
    solution = bounce(ARGS, ts=ts, dense=True)
    times, speeds = impacts(ARGS, 3)
    events = solution.events
    assert int(events.count) == 3
    assert np.max(np.abs(events.ts[:3] - times)) <= 1e-13
    assert np.all(np.isnan(events.ts[3:])) and np.all(events.which[3:] == -1)
    assert np.max(np.abs(events.ys[:3, 1] - FLOOR)) <= 1e-14
    assert np.max(np.abs(events.zs[:3, 1] + speeds)) <= 1e-12
    assert np.max(np.abs(events.zs_after[:3, 1] - 0.8 * speeds)) <= 1e-12
    # Parabolas are exact: between the impacts, and in dense output.
    starts = np.concatenate([[0.0], times])
    k = np.searchsorted(times, ts)
    upward = np.concatenate([[0.0], 0.8 * speeds])[k]
    height = np.where(k == 0, 1.2, FLOOR)
    exact = height + upward * (ts - starts[k]) - GRAVITY / 2 * (ts - starts[k]) ** 2
    assert np.max(np.abs(solution.ys[:, 1] - exact)) <= 1e-12
    assert np.max(np.abs(solution.evaluate(ts)[0] - solution.ys)) <= 1e-13
    assert float(solution.stats.max_g) <= 1e-14


def test_every_step_through_the_impacts():
    solution = bounce(ARGS, save_every=1, max_steps=64)
    rows = int(solution.stats.num_steps) + 1
    assert np.all(np.diff(solution.ts) >= 0) and float(solution.ts[-1]) == 2.0
    assert np.min(solution.ys[:, 1]) >= FLOOR - 1e-12
    # After each of three impacts a row of the state there, in place of the step beyond it.
    assert np.sum(np.diff(solution.ts) > 0) in range(rows - 4, rows + 4)


def test_impacts_that_accumulate():
    plastic = {**ARGS, "restitution": 0.3}
    solution = bounce(plastic, throw=False)
    assert bool(solution.result == jaxspark.RESULTS.max_events_reached)
    assert int(solution.events.count) == 9 and float(solution.t1) < 2.0
    times, _ = impacts(plastic, 9)
    assert np.max(np.abs(solution.events.ts - times)) <= 1e-12


def balls():
    """Two balls on parallel guides."""
    return jaxspark.LagrangianSystem(
        lambda t, q, v, args: 0.5 * jnp.sum(v**2) - GRAVITY * jnp.sum(q[1:]),
        holonomic=lambda t, q, args: q[0],
    )


def hits(i, restitution):
    reset = jaxspark.impact(balls(), lambda t, q, args: q[i], restitution)
    return Event(lambda t, q, v, args: q[i], direction=False, reset=reset)


def test_nothing_falls_through_the_floor():
    @jax.jit
    @jax.vmap
    def run(height, restitution):
        return jaxspark.solve(
            balls(), jnp.stack([0.0, height, 20.0]), jnp.zeros(3), method=Gauss(2), t1=1.0,
            events=hits(1, restitution), max_events=10, throw=False,
        )  # fmt: skip

    solution = run(*map(jnp.ravel, jnp.meshgrid(jnp.linspace(0.1, 1.0, 40), jnp.array([0, 0.3]))))
    assert np.min(np.asarray(solution.y1)[:, 1]) >= -1e-12
    assert np.all(solution.result == jaxspark.RESULTS.max_events_reached)


def test_two_at_the_same_time():
    height = 0.5385
    start = jnp.array([0.0, height, height])
    solution = jaxspark.solve(
        balls(), start, jnp.zeros(3), method=Gauss(2), t1=0.6, save_every=1, max_steps=30,
        events=[hits(1, 0.9), hits(2, 0.9)],
    )  # fmt: skip
    assert int(solution.events.count) == 2
    assert np.ptp(solution.events.ts[:2]) <= 1e-15
    steps = int(solution.stats.num_steps)
    ts, ys = np.asarray(solution.ts)[: steps + 1], np.asarray(solution.ys)[: steps + 1]
    assert ts[-1] == 0.6
    assert np.min(ys[:, 1:]) >= -1e-12 and np.max(np.abs(ys[:, 1] - ys[:, 2])) <= 1e-12
    assert np.sum(ts > float(solution.events.ts[0])) >= 2


def test_rows_after_the_end_repeat_it():
    end = Event(lambda t, q, v, args: q[2] - 0.3, direction=False)
    solution = jaxspark.solve(
        balls(), jnp.array([0.0, 1.0, 1.0]), jnp.zeros(3), method=Gauss(2), t1=1.0,
        ts=np.linspace(0.0, 1.0, 6), events=[hits(1, 0.9), end],
    )  # fmt: skip
    assert float(solution.t1) < 0.4
    assert np.all(solution.ts[2:] == solution.t1) and np.all(solution.ts[:2] <= 0.2)
    assert np.all(np.asarray(solution.ys)[2:] == np.asarray(solution.y1))


def test_impact_on_a_constrained_mechanism():
    system, args = pendulum(), PENDULUM_ARGS
    y0, z0 = pendulum_start(angle=-1.2, rate=0.0)

    def wall(t, q, args):
        del t, args
        return 0.3 - q[0]

    hit = Event(lambda t, q, v, args: wall(t, q, args), False, jaxspark.impact(system, wall, 0.6))
    solution = jaxspark.solve(
        system, y0, z0, args, method=Gauss(3), t1=1.5, rtol=1e-9, events=hit, max_events=3
    )
    events = solution.events
    before, after, at = events.zs[0], events.zs_after[0], events.ys[0]
    assert abs(float(at[0]) - 0.3) <= 1e-14
    assert np.max(np.abs(after + 0.6 * before)) <= 1e-13  # one degree of freedom
    found = jaxspark.diagnostics.constraint_residuals(system, events.ts[0], at, after, args)
    assert float(jnp.max(jnp.abs(found.gdot))) <= 1e-14
    # The time, from the energy integral of the pendulum.
    length, end = args["l"], np.arcsin(0.3 / args["l"])
    nodes, weights = np.polynomial.legendre.leggauss(80)
    # angle = -1.2 + s^2 removes the singularity at the turning point.
    top = np.sqrt(end + 1.2)
    s = top * (nodes + 1) / 2
    speed = np.sqrt(2 * args["g"] / length * (np.cos(-1.2 + s**2) - np.cos(-1.2)))
    exact = np.sum(weights * top / 2 * 2 * s / speed)
    assert abs(float(events.ts[0]) - exact) <= 1e-8


def test_first_of_two_events_in_a_step_ends_the_motion():
    def at_height(height):
        return Event(lambda t, q, v, args: q[1] - height)

    start = jnp.array([0.0, 1.2])
    solution = jaxspark.solve(
        ball(), start, jnp.zeros(2), ARGS, method=Gauss(2), t1=2.0, first_step=2.0, rtol=1.0,
        events=[at_height(0.3), at_height(0.7)],
    )  # fmt: skip
    assert bool(solution.successful) and int(solution.events.which[0]) == 1
    assert abs(float(solution.y1[1]) - 0.7) <= 1e-14
    assert abs(float(solution.t1) - np.sqrt(2 * 0.5 / GRAVITY)) <= 1e-13


def test_backward_in_time():
    rise = Event(lambda t, q, v, args: t - 0.5)
    back = jaxspark.solve(
        ball(), jnp.array([0.0, 1.0]), jnp.array([0.0, -3.0]), ARGS, method=Gauss(2),
        t0=1.0, t1=0.0, events=rise,
    )  # fmt: skip
    assert abs(float(back.t1) - 0.5) <= 1e-15
    assert abs(float(back.y1[1]) - (1.0 + 1.5 - GRAVITY / 8)) <= 1e-13


def end_height(theta):
    args = dict(zip(("g", "floor", "restitution"), theta))
    return bounce(args, throw=False, max_steps=64, max_events=3).y1[1]


def test_derivatives_through_events():
    def exact(theta):
        g, floor, e = theta
        first, speed = jnp.sqrt(2 * (1.2 - floor) / g), jnp.sqrt(2 * g * (1.2 - floor))
        since = 2.0 - first - 2 * e * speed / g - 2 * e**2 * speed / g
        return floor + e**3 * speed * since - g / 2 * since**2

    theta = jnp.array([9.81, 0.2, 0.8])
    assert abs(float(end_height(theta) - exact(theta))) <= 1e-12
    reverse = jax.jit(jax.grad(end_height))(theta)
    assert np.max(np.abs(reverse - jax.grad(exact)(theta))) <= 1e-10


def test_misuse():
    with pytest.raises(ValueError, match="needs direction"):
        Event(lambda t, q, v, args: q[1], reset=lambda t, q, v, args: (q, v))
    with pytest.raises((ValueError, TypeError), match="direction"):
        Event(lambda t, q, v, args: q[1], direction="down")
    short = Event(
        lambda t, q, v, args: q[1], direction=False, reset=lambda t, q, v, args: (q, v[1])
    )
    with pytest.raises(ValueError, match="reset"):
        jaxspark.solve(
            ball(), jnp.array([0.0, 1.2]), jnp.zeros(2), ARGS, method=Gauss(2), t1=1.0, events=short
        )
    with pytest.raises(TypeError, match="condition"):
        Event(3.0)
    options = {"t1": 1.0, "events": 3}
    with pytest.raises(TypeError, match="events must be"):
        jaxspark.solve(
            ball(), jnp.array([0.0, 1.2]), jnp.zeros(2), ARGS, method=Gauss(2), **options
        )
    vector = Event(lambda t, q, v, args: q)
    with pytest.raises(ValueError, match="must return a real scalar"):
        jaxspark.solve(
            ball(),
            jnp.array([0.0, 1.2]),
            jnp.zeros(2),
            ARGS,
            method=Gauss(2),
            t1=1.0,
            events=vector,
        )
