"""Lanes of a batch that go on together, as on GPUs and TPUs, against each by itself."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxspark
from helpers import largest_difference, pendulum, PENDULUM_ARGS, pendulum_start, result_is, thorough
from jaxspark import DOP853, EqualSteps, Event, Gauss, RESULTS
from jaxspark._driver._lockstep import loop_with_rows
from jaxspark._driver._rows import SEGMENT
from jaxspark.methods import Tsit5


ROOM = 97
CASES = {
    "the end alone": dict(method=DOP853()),
    "saved times": dict(method=DOP853(), times=5),
    "stages": dict(method=Gauss(3), times=3),
    "equal steps": dict(method=Tsit5(), steps=EqualSteps(20), times=5),
    "events": dict(method=Tsit5(), event=True),
}


def run(rate, gravity, span, *, times=0, event=False, **options):
    """States and the result; `span` is the length of the motion, backward if it is negative."""
    y0, z0 = pendulum_start(-0.5, rate)
    if times:
        options["ts"] = span * jnp.linspace(0.0, 1.0, times)
    if event:
        gap = lambda t, q, args: 0.3 - q[:1]
        law = jaxspark.impact(pendulum(), gap, lambda args: 0.7)
        hit = lambda t, q, v, args: 0.3 - q[0]
        options |= dict(events=Event(hit, direction=False, reset=law), max_events=4)
    if "steps" not in options:
        options |= dict(rtol=1e-6, atol=1e-6, max_steps=ROOM)
    solution = jaxspark.solve(
        pendulum(), y0, z0, PENDULUM_ARGS | {"g": gravity}, t1=span, throw=False, **options
    )
    states = [solution.y1, solution.z1]
    if times:
        states += [solution.ys, solution.zs]
    if event:
        states += [jnp.nan_to_num(solution.events.ts), jnp.nan_to_num(solution.events.ys)]
    return states, solution.result


@pytest.fixture
def together(monkeypatch):
    """What is lowered for other platforms than CPUs, here."""
    choose = lambda *operands, cpu, default: default(*operands)
    monkeypatch.setattr(jax.lax, "platform_dependent", choose)


def lanes():
    """Of unlike numbers of steps; one fails at the start, and one goes backward."""
    rates, gravity = jnp.array([0.5, 6.0, 2.0, 1.0]), jnp.array([9.81, 20.0, jnp.nan, 1.6])
    return rates, gravity, jnp.array([1.0, 2.0, 1.0, -0.5])


# Compiling all takes minutes; what is below tests the end alone, too.
SOME = [CASES[name] if name == "saved times" else thorough(CASES[name]) for name in CASES]


@pytest.mark.parametrize("options", SOME, ids=CASES)
def test_lanes_are_as_each_by_itself(options, together):
    """Values, and derivatives forward and in reverse."""

    def total(*operands):
        states, result = run(*operands, **options)
        return sum(jnp.sum(jnp.sin(x)) for x in states), (states, result)

    every = jax.value_and_grad(total, (0, 1, 2), has_aux=True)
    (_, (states, results)), gradients = jax.jit(jax.vmap(every))(*lanes())
    assert not result_is(results, RESULTS.successful)[2]

    def along(*operands):
        return jax.jvp(lambda *x: total(*x)[0], operands, (1.0, -0.7, 0.3))[1]

    slopes = jax.jit(jax.vmap(along))(*lanes())
    alone = jax.jit(every)
    for lane in (0, 1, 3):
        assert result_is(results, RESULTS.successful)[lane]
        (_, (own, _)), gradient = alone(*(x[lane] for x in lanes()))
        assert largest_difference([x[lane] for x in states], own) <= 1e-12
        assert largest_difference([x[lane] for x in gradients], list(gradient)) <= 1e-10
        slope = gradient[0] - 0.7 * gradient[1] + 0.3 * gradient[2]
        assert abs(slopes[lane] - slope) <= 1e-9 * (1 + abs(slope))


def second(function):
    return jax.jacfwd(jax.grad(function))


@pytest.mark.parametrize("place", ["on a CPU", "elsewhere"])
@pytest.mark.parametrize("times", [thorough(0), 4])
@pytest.mark.parametrize("derivative", [jax.grad, thorough(second)], ids=lambda f: f.__name__)
def test_lanes_that_fail_leave_what_is_shared(place, times, derivative, request):
    """Derivatives by what all lanes share, of which one does not start, and one stops early."""
    if place == "elsewhere":
        request.getfixturevalue("together")

    def brake(t, q, v, args):  # not a number after a while
        return -0.1 * v * jnp.sqrt(args["until"] - t)

    def lane(y0, z0, until, gravity):
        ts = jnp.linspace(0.0, 1.0, times)
        solution = jaxspark.solve(
            pendulum(brake), y0, z0, PENDULUM_ARGS | {"g": gravity, "until": until}, t1=1.0,
            method=Tsit5(), rtol=1e-6, atol=1e-6, max_steps=ROOM, ts=ts if times else None,
            throw=False,
        )  # fmt: skip
        good = solution.result == RESULTS.successful
        return jnp.where(good, jnp.sum(solution.ys if times else solution.y1), 0.0)

    y0, z0 = pendulum_start()
    ys, zs = jnp.stack([y0, y0, y0]), jnp.stack([z0, jnp.ones(2), z0])
    untils = jnp.array([2.0, 2.0, 0.45])

    def total(gravity):
        return jnp.sum(jax.vmap(lane, (0, 0, 0, None))(ys, zs, untils, gravity))

    found = jax.jit(derivative(total))(9.81)
    expected = jax.jit(derivative(lambda g: lane(y0, z0, 2.0, g)))(9.81)
    assert abs(expected) > 1e-3 and abs(found - expected) <= 1e-12


def test_segments(together):
    """Lanes of as many steps as fill segments of the end alone, or nearly."""
    spans = 1e-3 * jnp.array([5.0, SEGMENT - 1, SEGMENT, SEGMENT + 1, 2 * SEGMENT + 1])

    def end(span):
        y0, z0 = pendulum_start()
        solution = jaxspark.solve(
            pendulum(), y0, z0, PENDULUM_ARGS, t1=span, method=Tsit5(), rtol=1e-2, atol=1e-2,
            first_step=1e-3, max_step=1e-3, max_steps=3 * SEGMENT,
        )  # fmt: skip
        return jnp.sum(solution.y1), solution.stats.num_steps

    slope = jax.value_and_grad(end, has_aux=True)
    (values, numbers), slopes = jax.jit(jax.vmap(slope))(spans)
    alone = jax.jit(slope)
    for i, span in enumerate(spans):
        (value, number), own = alone(span)
        assert numbers[i] == number and abs(int(number) - round(float(span) * 1e3)) <= 1
        assert largest_difference([values[i], slopes[i]], [value, own]) <= 1e-12


@pytest.mark.inside
@pytest.mark.parametrize("name", ["the end alone", "saved times", "stages"])
def test_no_trip_selects_rows(name, together):
    """A selection is a copy of the room for all steps, in every trip."""
    gradient = jax.grad(lambda *x: jnp.sum(run(*x, **CASES[name])[0][0]))
    program = jax.jit(jax.vmap(gradient)).lower(*lanes()).as_text()
    rows = r"tensor<4x(?:9[789]|10[0-9])(?:x\w+)+>"
    assert re.search(rows, program)
    assert not re.search(rf"stablehlo\.select.*{rows}", program)


@pytest.mark.parametrize("nested", [False, True])
def test_loop_with_rows(nested):
    """Against a loop in Python; `given` is shared by some lanes, and a lane may have no trip."""

    def squares(limit, first):
        def trip(limit, state, rows):
            row = jnp.where(state < limit, state, rows.shape[0] - 1)
            return state + 1, rows.at[row].set(state**2)

        going = lambda limit, state: state < limit
        return loop_with_rows(going, trip, limit, first, jnp.zeros(9, int))

    of_limits = jax.vmap(squares, (0, None))
    limits, firsts = jnp.array([3, 0, 7]), jnp.array([1, 2])
    if nested:
        ends, rows = jax.vmap(of_limits, (None, 0))(limits, firsts)
    else:
        ends, rows = of_limits(limits, firsts[0])
        ends, rows, firsts = ends[None], rows[None], firsts[:1]
    for i, first in enumerate(firsts):
        for j, limit in enumerate(limits):
            expected = np.zeros(8)
            expected[first:limit] = np.arange(first, limit) ** 2
            assert ends[i, j] == max(first, limit)
            np.testing.assert_array_equal(rows[i, j, :8], expected)
