"""Grids of times and predictions: samples, padding, reaction forces, delays, inputs."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import helpers
import jaxspark
import swings
from jaxspark import fit
from jaxspark.fit._grid import grid, stacked
from jaxspark.fit._predict import _delayed, predict
from jaxspark.fit._problem import make_problem
from jaxspark.fit._sensitivities import simulated


# Compiles for minutes in all.
pytestmark = pytest.mark.thorough


def uneven(count, seed, longest=0.09):
    """Times from 0.3 s on."""
    gaps = np.random.default_rng(seed).uniform(0.004, longest, count - 1)
    return 0.3 + np.concatenate([[0.0], np.cumsum(gaps)])


@pytest.mark.parametrize("step", [1e-3, 0.02, 0.05, 1.0])
def test_grid(step):
    times = uneven(40, 0)
    found = grid(times, step)
    np.testing.assert_array_equal(found.ts[found.at], times)
    gaps = np.diff(found.ts)
    assert np.all(gaps > 0) and np.max(gaps) <= step * (1 + 1e-9)
    for first, last in zip(found.at[:-1], found.at[1:]):
        inside = gaps[first:last]
        np.testing.assert_allclose(inside, np.mean(inside), rtol=1e-9)
        # No fewer steps would do.
        if inside.size > 1:
            assert np.sum(inside) > step * (inside.size - 1)


def test_grid_of_multiples_of_the_step():
    # 0.3 / 0.1 is 2.9999999999999996 or more, as it is rounded: three steps in either case.
    for start in (0.0, 0.1, 1.7, 1e3):
        found = grid(start + np.array([0.0, 0.3, 0.6, 0.7]), 0.1)
        np.testing.assert_array_equal(found.at, [0, 3, 6, 7])
    assert grid(np.array([0.0, 0.1, 0.1 + 0.1 * (1 + 1e-7)]), 0.1).ts.size == 4


def test_padded_grids():
    a, b = grid(np.array([0.0, 0.1, 0.4]), 0.1), grid(np.array([1.0, 1.2]), 0.5)
    both = stacked([a, b])
    np.testing.assert_array_equal(both.at, [[0, 1, 4], [0, 1, 1]])
    np.testing.assert_array_equal(both.ts[0], a.ts)
    np.testing.assert_array_equal(both.ts[1], [1.0, 1.2, 1.2, 1.2, 1.2])


# Two trials of different lengths and rates; the first has samples that are missing.
TIMES = uneven(25, 1), np.linspace(-0.2, 0.5, 15)
STARTS = (1.1, 0.3), (0.4, 1.2)


@pytest.fixture(scope="module")
def records():
    missing = [("angle", [3, 4]), ("rate", [0, 24])]
    first = swings.record(TIMES[0], 1.0, 0.0, 3, missing=missing)
    return [first, swings.record(TIMES[1], 0.5, 1.0, 4)]


@pytest.fixture(scope="module")
def problem(records):
    return make_problem(swings.model(*STARTS), records)


U = np.array([0.3, -0.2, 0.05, -0.4, -0.06, 0.3])


def test_prediction_is_a_rollout_seen_by_the_sensors(problem):
    args = problem.shared.args(jnp.asarray(U)[:2])
    found = predict(problem, jnp.asarray(U))
    for k, times in enumerate(TIMES):
        ts = grid(times, 0.05)
        solution = jaxspark.rollout(
            swings.PENDULUM, found.y0[k], found.z0[k], args, method=jaxspark.Gauss(2), ts=ts.ts
        )
        y, z = solution.ys[ts.at], solution.zs[ts.at]
        angle = np.arctan2(y[:, 0], -y[:, 1])
        rate = (y[:, 0] * z[:, 1] - y[:, 1] * z[:, 0]) / args["length"] ** 2
        shown = found.values[k, : times.size]
        np.testing.assert_allclose(shown, np.stack([angle, rate], 1), rtol=0, atol=1e-12)
        np.testing.assert_allclose(found.y1[k], y[-1], rtol=0, atol=1e-12)
        np.testing.assert_allclose(found.z1[k], z[-1], rtol=0, atol=1e-12)
        assert found.good[k] and found.residual[k] <= 1e-12
        # And this is what the equation of the angle says, up to the error of the steps.
        numbers = {key: float(value) for key, value in args.items()}
        exact = swings.swing(times, *np.asarray(shown[0]), **numbers)
        np.testing.assert_allclose(shown[:, 0], exact["angle"], rtol=0, atol=1e-5)
        np.testing.assert_allclose(shown[:, 1], exact["rate"], rtol=0, atol=5e-5)


def test_padding_has_no_influence(problem, records):
    whole = simulated(problem, jnp.asarray(U))
    found, slopes = whole.prediction, whole.jacobian
    local = problem.local()
    np.testing.assert_array_equal(local, [[0, 1, 2, 3], [0, 1, 4, 5]])
    # The second trial is the shorter one.
    alone = make_problem(swings.model(STARTS[1]), records[1:])
    part = simulated(alone, jnp.asarray(U[local[1]]))
    one, slope = part.prediction, part.jacobian
    assert problem.data.ts.shape[1] > alone.data.ts.shape[1]
    np.testing.assert_allclose(found.values[1, :15], one.values[0], rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.y1[1], one.y1[0], rtol=0, atol=1e-12)
    np.testing.assert_allclose(slopes[1, :15], slope[0], rtol=0, atol=1e-11)
    # Padding repeats the last sample.
    last = np.broadcast_to(found.values[1, 14], (10, 2))
    np.testing.assert_array_equal(found.values[1, 15:], last)


def test_what_is_measured(problem, records):
    for k, record in enumerate(records):
        measured = np.full((25, 2), np.nan)
        channels = [record.channels[name] for name in problem.channels]
        measured[: record.num_samples] = np.stack(channels, 1)
        present = np.isfinite(measured)
        np.testing.assert_array_equal(problem.data.present[k], present)
        np.testing.assert_array_equal(problem.data.measured[k][present], measured[present])
        assert not np.any(problem.data.measured[k][~present])
    assert np.sum(problem.data.present) == 2 * (25 + 15) - 4


def test_jacobian_agrees_with_differences(problem):
    slopes = simulated(problem, jnp.asarray(U)).jacobian
    whole = np.zeros((2, 25, 2, 6))
    for k, local in enumerate(problem.local()):
        whole[k][..., local] = slopes[k]
    for i in range(6):
        move = np.zeros(6)
        move[i] = 1e-5
        higher, lower = (predict(problem, jnp.asarray(U + s * move)).values for s in (1, -1))
        np.testing.assert_allclose(whole[..., i], (higher - lower) / 2e-5, rtol=0, atol=2e-8)


def test_an_explicit_method_is_as_exact_as_its_tolerance(records):
    """Of trials of different lengths, against the equation of the angle, and differences."""
    explicit = swings.model(*STARTS, method=jaxspark.DOP853(), rtol=1e-11)
    problem = make_problem(explicit, records)
    args = problem.shared.args(jnp.asarray(U)[:2])
    numbers = {key: float(value) for key, value in args.items()}
    found = simulated(problem, jnp.asarray(U))
    for k, times in enumerate(TIMES):
        shown = found.prediction.values[k, : times.size]
        exact = swings.swing(times, *np.asarray(shown[0]), **numbers)
        np.testing.assert_allclose(shown[:, 0], exact["angle"], rtol=0, atol=1e-9)
        np.testing.assert_allclose(shown[:, 1], exact["rate"], rtol=0, atol=1e-8)
    for column in range(4):
        move = np.zeros(6)
        move[problem.local()[1][column]] = 1e-4
        higher, lower = (predict(problem, jnp.asarray(U + s * move)).values for s in (1, -1))
        difference = (higher - lower)[1] / 2e-4
        np.testing.assert_allclose(found.jacobian[1, ..., column], difference, rtol=0, atol=2e-6)
    finer = explicit.finer(0.5)
    assert finer.step == explicit.step / 2 and finer.rtol == 1e-11 / 16
    with pytest.raises(ValueError, match="rtol must be positive"):
        swings.model(*STARTS, rtol=0.0)


def tension(t, y, z, lam, psi, args):
    return {"tension": lam}


def test_reaction_forces():
    args = {"length": fit.positive(0.9), "drag": fit.positive(0.2)}
    times = np.linspace(0, 0.5, 11)
    record = fit.record(times, {"tension": 9.0 + times})
    model = swings.model((1.1, 0.3), parameters=args, observe=tension, method=jaxspark.Gauss(3))
    problem = make_problem(model, [record])
    assert problem.forces
    found = predict(problem, problem.start).values[0, :, 0]
    exact = swings.swing(times, 1.1, 0.3, 0.9, 0.2)
    # The rod pulls with `lam` along the radius: weight and centripetal acceleration, of 1 kg.
    force = 0.9 * exact["rate"] ** 2 + swings.GRAVITY * np.cos(exact["angle"])
    np.testing.assert_allclose(found, force, rtol=0, atol=1e-6)


def test_which_observations_need_multipliers():
    record = fit.record(np.linspace(0, 0.2, 3), {"a": np.arange(3.0)})

    def needs(observe):
        return make_problem(swings.model((1.1, 0.3), observe=observe), [record]).forces

    assert not needs(lambda t, y, z, lam, psi, args: {"a": y[0] * args["length"] + t})
    assert needs(lambda t, y, z, lam, psi, args: {"a": y[0] + 1e-9 * lam})
    assert needs(lambda t, y, z, lam, psi, args: {"a": jax.jit(lambda x: x)(lam)})


def shown(times, step, function):
    """What a sensor with a delay shows of a function of time."""
    record = fit.record(times, {"late": np.arange(times.size, dtype=float), "now": times + 1.0})
    model = swings.model(
        (1.1, 0.3), step=step,
        observe=lambda t, y, z, lam, psi, args: {"late": y[0], "now": y[1]},
        delays=lambda args: {"late": args["delay"]},
        parameters={**swings.specs(), "delay": fit.positive(0.01, "s")},
    )  # fmt: skip
    problem = make_problem(model, [record])
    data = jax.tree.map(lambda x: x[0], problem.data)
    values = jnp.stack([function(data.ts), function(data.ts)], 1)
    return jax.jit(lambda delay: _delayed(problem, values, {"delay": delay}, data))


def test_delayed_channels_show_the_past():
    times = uneven(30, 2)
    cubic = lambda t: 1.0 - 2 * t + 3 * t**2 - 0.7 * t**3
    delays = [0.0, 1e-3, 0.037, 0.11]
    show = shown(times, 0.05, cubic)
    for delay in delays:
        found = show(delay)
        # Before the first step the past is unknown, and extrapolated.
        np.testing.assert_allclose(found[:, 0], cubic(times - delay), rtol=0, atol=1e-12)
        np.testing.assert_allclose(found[:, 1], cubic(times), rtol=1e-14)
    slope = jax.jit(jax.jacfwd(shown(times, 0.05, cubic)))(0.037)[:, 0]
    rate = -2 + 6 * (times - 0.037) - 2.1 * (times - 0.037) ** 2
    np.testing.assert_allclose(slope, -rate, rtol=0, atol=1e-10)


def test_delays_are_of_order_four():
    errors, slopes, steps = [], [], [0.05, 0.025, 0.0125]
    times = np.linspace(0, 2, 41)
    inside = times >= 0.5
    # All over one step, since the error depends on the place in it.
    delays = jnp.linspace(0.3, 0.35, 21)
    past = 5 * (times[None, inside] - delays[:, None])
    for step in steps:
        show = shown(times, step, lambda t: jnp.sin(5 * t))
        late = jax.jit(jax.vmap(show))(delays)[:, inside, 0]
        slope = jax.jit(jax.vmap(jax.jacfwd(show)))(delays)[:, inside, 0]
        errors.append(np.max(abs(late - np.sin(past))))
        slopes.append(np.max(abs(slope + 5 * np.cos(past))))
    assert abs(helpers.order(steps, errors) - 4) <= 0.15
    assert abs(helpers.order(steps, slopes) - 3) <= 0.15
    # In the middle of its four nodes a cubic is off by 9/16 h^4 / 24 of the fourth derivative.
    bound = 9 / 16 * steps[-1] ** 4 / 24 * 5**4
    assert 0.9 * bound <= errors[-1] <= 1.01 * bound


def test_delay_as_a_parameter():
    times = np.linspace(0, 0.8, 17)
    channels = swings.swing(times, 1.0, 0.0)
    record = fit.record(times, channels)
    model = swings.model(
        (1.1, 0.3), parameters={**swings.specs(), "delay": fit.positive(0.03, "s")},
        delays=lambda args: {"rate": args["delay"]},
    )  # fmt: skip
    problem = make_problem(model, [record])
    u = problem.start
    names = problem.shared.names
    at = names.index("delay")
    found = simulated(problem, u)
    late = found.prediction.values[0]
    # The same motion without a delay, from the equation of its angle.
    exact = swings.swing(np.linspace(0, 0.8, 801), 1.1, 0.3, 0.9, 0.2)
    np.testing.assert_allclose(late[:, 0], exact["angle"][::50], rtol=0, atol=1e-5)
    np.testing.assert_allclose(late[1:, 1], exact["rate"][50 - 30 :: 50], rtol=0, atol=2e-4)
    h = 1e-5
    higher, lower = (predict(problem, u.at[at].add(s * h)).values[0] for s in (1, -1))
    np.testing.assert_allclose(
        found.jacobian[0, :, :, at], (higher - lower) / (2 * h), rtol=0, atol=1e-8
    )
    # u is the logarithm of the delay, and the sensor falls behind by its rate of change.
    acceleration = np.gradient(exact["rate"], exact_step(), edge_order=2)[50 - 30 :: 50]
    np.testing.assert_allclose(
        found.jacobian[0, 1:, 1, at], -0.03 * acceleration, rtol=0, atol=2e-3 * 0.03 * 10
    )


def exact_step():
    return 0.8 / 800


def test_delays_of_unknown_channels():
    record = fit.record(np.linspace(0, 0.4, 9), swings.swing(np.linspace(0, 0.4, 9), 1.0, 0.0))
    model = swings.model((1.1, 0.3), delays=lambda args: {"speed": 0.1})
    with pytest.raises(ValueError, match="has a channel 'speed'; those of observe are angle, rate"):
        problem = make_problem(model, [record])
        predict(problem, problem.start)
    with pytest.raises(fit.DataError, match="at least four steps"):
        short = swings.record(np.array([0.0, 0.1]), 1.0, 0.0)
        make_problem(swings.model((1.1, 0.3), delays=lambda args: {"rate": 0.1}, step=0.1), [short])


# Cubics, which a spline through their samples reproduces.
PIVOTS = np.poly1d([0.4, -0.5, 0.3, 0.1]), np.poly1d([-0.6, 0.2, 0.5, 0.0])
WINDS = np.poly1d([2.0, 1.0, -2.0, 0.5]), np.poly1d([-3.0, 2.0, 1.0, -0.5])


def of_all_kinds(t, y, z, lam, psi, args):
    return {**swings.from_pivot(t, y, z, lam, psi, args), "speed": z[0], "tension": lam}


def test_inputs_of_different_lengths():
    records, starts = [], []
    for k, times in enumerate((np.linspace(0, 1, 41), np.linspace(0.1, 0.8, 19))):
        inputs = {"pivot": PIVOTS[k](times), "wind": WINDS[k](times)}
        channels = {"angle": times + 1.0, "speed": times + 1.0, "tension": times + 1.0}
        records.append(fit.record(times, channels, inputs, name=f"trial {k}"))
        y, z = swings.state(0.5, 1.0 - k)
        y = y + np.array([PIVOTS[k](times[0]), 0.0])
        starts.append((y, z + np.array([PIVOTS[k].deriv()(times[0]), 0.0])))
    start = fit.Start(*map(list, zip(*starts)))
    model = swings.model(
        (0.0, 0.0), system=swings.DRIVEN, observe=of_all_kinds, start=start, step=0.03,
        method=jaxspark.Gauss(3),
    )  # fmt: skip
    problem = make_problem(model, records)
    found = predict(problem, problem.start)
    assert np.all(found.good)
    for k, record in enumerate(records):
        motion = lambda t: (PIVOTS[k].deriv()(t), PIVOTS[k].deriv(2)(t))
        angle, rate = swings.driven(record.times, 0.5, 1.0 - k, motion, WINDS[k])
        speed, acceleration = motion(record.times)
        along = speed + 0.9 * rate * np.cos(angle)
        # Along the rod, of 1 kg: weight, centripetal force, wind and drag, and the pivot's motion.
        push = WINDS[k](record.times) - acceleration - 0.2 * speed
        tension = 0.9 * rate**2 + swings.GRAVITY * np.cos(angle) + push * np.sin(angle)
        values = found.values[k, : record.num_samples]
        exact = np.stack([angle, along, tension], 1)
        np.testing.assert_allclose(values, exact, rtol=0, atol=1e-7)


def test_inputs_that_are_missing_or_unknown():
    times = np.linspace(0, 0.4, 9)
    channels = {"angle": np.sin(times)}
    with_both = fit.record(times, channels, {"pivot": times, "wind": times**2}, name="a")
    with_one = fit.record(times, channels, {"pivot": times}, name="b")
    model = swings.model((0.0, 0.0), system=swings.DRIVEN, observe=swings.from_pivot)
    for records in ([with_both, with_one], [with_one, with_both]):
        with pytest.raises(fit.DataError, match='b: there is no input "wind".*There are: "pivot"'):
            make_problem(model, records)
    wrong = swings.model(
        (0.0, 0.0), system=swings.DRIVEN, observe=swings.from_pivot, inputs={"wnd": "linear"}
    )
    with pytest.raises(fit.DataError, match='no input "wnd". Did you mean "wind"'):
        make_problem(wrong, [with_both])
    taken = swings.model(
        (0.0, 0.0), system=swings.DRIVEN, observe=swings.from_pivot,
        parameters={**swings.specs(), "inputs": 1.0},
    )  # fmt: skip
    with pytest.raises(ValueError, match="args\\['inputs'\\]: the parameters must be a dictionary"):
        make_problem(taken, [with_both])


def test_observations_that_do_not_suit():
    record = swings.record(np.linspace(0, 0.2, 3), 0.5, 0.0, name="short")
    speed = lambda t, y, z, lam, psi, args: {"speed": jnp.linalg.norm(z)}
    with pytest.raises(fit.DataError, match='short: there is no channel "speed".*"angle", "rate"'):
        make_problem(swings.model((1.1, 0.3), observe=speed), [record])
    vector = lambda t, y, z, lam, psi, args: {"angle": y}
    with pytest.raises(ValueError, match=r"angle must be a scalar; it has shape \(2,\)"):
        make_problem(swings.model((1.1, 0.3), observe=vector), [record])
    with pytest.raises(ValueError, match="returned no channel"):
        make_problem(swings.model((1.1, 0.3), observe=lambda *at: {}), [record])
    with pytest.raises(ValueError, match="step must be a positive time"):
        swings.model((1.1, 0.3), step=0.0)
