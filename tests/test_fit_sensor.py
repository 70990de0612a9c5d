"""Sensors with zero, gain and lag, inputs that act late, and angles that wrap."""

import jax.numpy as jnp
import numpy as np
import pytest

import jaxspark
import swings
from jaxspark import fit
from jaxspark.fit._shooting import shooting_problem


TRUE = {"length": 0.8, "drag": 0.3, "zero": 0.03, "gain": 1.05, "lag": 0.021, "late": 0.043}
TIMES = np.linspace(0, 6, 301)


def angle(t, y, z, lam, psi, args):
    return jnp.arctan2(y[0], -y[1])


def rate(t, y, z, lam, psi, args):
    return (y[0] * z[1] - y[1] * z[0]) / jnp.sum(y**2)


def push(t, y, z, args):
    return jnp.stack([args["inputs"]["wind"](t), jnp.zeros_like(t)]) - args["drag"] * z


PUSHED = jaxspark.LagrangianSystem(swings.lagrangian, holonomic=swings.rod, force=push)


def wind(t):
    return 2 * np.sin(3 * t) + np.cos(7 * t)


@pytest.fixture(scope="module")
def record():
    """By scipy. The wind is logged before it acts; the sensor of the angle is late and wrong."""
    still = lambda t: (0.0, 0.0)
    start = swings.driven(np.array([-0.5, 0.0]), 1.0, 0.0, still, wind, 0.8, 0.3)[:, -1]
    late = np.concatenate([[-0.5], TIMES - TRUE["lag"]])
    shown = swings.driven(late, 1.0, 0.0, still, wind, 0.8, 0.3)[0, 1:]
    rates = swings.driven(TIMES, *start, still, wind, 0.8, 0.3)[1]
    channels = {"angle": TRUE["gain"] * shown + TRUE["zero"], "rate": rates}
    inputs = {"wind": wind(TIMES + TRUE["late"])}
    return fit.record(TIMES, channels, inputs, name="wind")


def made(sensors=None, inputs=None, own=False, **options):
    parameters = swings.specs() | {
        "zero": fit.real(0.0, "rad", scale=0.1, per_trial=own),
        "gain": fit.positive(1.0),
        "lag": fit.real(0.0, "s", scale=0.01),
        "late": fit.real(0.0, "s", scale=0.01),
    }
    sensors = (
        sensors
        if sensors is not None
        else {
            "angle": fit.Sensor(angle, zero="zero", gain=lambda args: args["gain"], lag="lag"),
            "rate": rate,
        }
    )
    return swings.model(
        (1.0, 0.0), system=PUSHED, parameters=parameters, observe=sensors, step=0.02,
        inputs=inputs or {"wind": fit.Input(delay="late")}, **options,
    )  # fmt: skip


@pytest.mark.parametrize("late", ["cubic", "linear"])
def test_parts_are_what_is_written_by_hand(record, late):
    def observe(t, y, z, lam, psi, args):
        shown = args["gain"] * angle(t, y, z, lam, psi, args) + args["zero"]
        return {"angle": shown, "rate": rate(t, y, z, lam, psi, args)}

    def delays(args):
        return {"angle": args["lag"]}

    def force(t, y, z, args):
        return push(t - args["late"], y, z, args)

    system = jaxspark.LagrangianSystem(swings.lagrangian, holonomic=swings.rod, force=force)
    numbers = swings.specs() | {k: TRUE[k] for k in ("zero", "gain", "lag", "late")}
    by_hand = swings.model(
        (1.0, 0.0), system=system, parameters=numbers, observe=observe, step=0.02,
        inputs={"wind": late}, delays=delays,
    )  # fmt: skip
    values = {k: TRUE[k] for k in ("zero", "gain", "lag", "late")}
    ours = made(inputs={"wind": fit.Input(late, delay="late")})
    found, expected = fit.simulate(ours, record, values), fit.simulate(by_hand, record)
    for name in ("angle", "rate"):
        np.testing.assert_allclose(found.channels[name], expected.channels[name], rtol=1e-12)
    plain = fit.simulate(made(), record)
    assert np.abs(plain.channels["angle"] - found.channels["angle"]).max() > 0.03


def test_zero_gain_lag_and_delay_are_found(record):
    found = fit.estimate(made(), record, progress=False)
    assert found.converged
    for name, value in TRUE.items():
        np.testing.assert_allclose(found.values[name], value, rtol=2e-3, err_msg=name)


@pytest.fixture(scope="module")
def apart(record):
    rng = np.random.default_rng(4)
    noisy = {k: x + 0.01 * rng.standard_normal(TIMES.size) for k, x in record.channels.items()}
    records = [fit.record(TIMES, noisy, record.inputs, name=name) for name in ("one", "two")]
    model = made(start=fit.Start(*swings.state(1.0, 0.0)), own=True)
    return fit.estimate(model, records, window=0.75, joined=False, progress=False)


def test_windows_that_need_not_join_have_errors_by_clusters(apart):
    """Against the formula, written as sums over windows of both channels.

    Of a zero that each record has for itself eight windows say little: it has none.
    """
    assert apart.converged and not apart.problem.links and apart.problem.num_trials == 16
    for at, name in enumerate(apart.names):
        off = apart.values[name] - TRUE[name.split(" ")[0]]
        assert abs(off) <= 4 * apart.uncertainty.errors[at], name
    r, J, _, windows = apart.rows
    inverse = np.linalg.inv(J.T @ J)
    sums = np.stack([J[windows == k].T @ r[windows == k] for k in range(16)])
    few = 16 / 15 * (r.size - 1) / (r.size - J.shape[1])
    covariance = few * inverse @ sums.T @ sums @ inverse
    slopes = apart.uncertainty.dphysical
    expected = np.sqrt(np.diag(slopes @ covariance[: len(slopes), : len(slopes)] @ slopes.T))
    own = np.array([name.startswith("zero") for name in apart.names])
    errors = np.array([one.correlated_error for one in apart.findings().estimates])
    assert own.sum() == 2 and np.isnan(errors[own]).all()
    np.testing.assert_allclose(errors[~own], expected[~own], rtol=1e-6)


def test_windows_keep_what_was_logged_beside_them(record):
    """An input that acts late is in each window that of the whole record."""
    problem = shooting_problem(made(), [record], 0.75, np.array([0.01, 0.01]))
    wholes = fit.Signal.cubic(TIMES, record.inputs["wind"])
    signals = problem.data.inputs["wind"]
    for k in (2, 5):
        one = fit.Signal(signals.times[k], signals.coefficients[k], signals.kind, signals.uniform)
        for t in 0.75 * k + np.array([-1.4, -0.15, 0.0, 0.3, 0.75, 2.1]):
            np.testing.assert_allclose(one(t), wholes(t), rtol=1e-12)


def test_unwrapped():
    true = np.linspace(0, 20, 201) ** 1.2
    wrapped = (true + np.pi) % (2 * np.pi) - np.pi
    wrapped[[7, 30, 31]] = np.nan
    other = np.rad2deg(wrapped)
    given = fit.record(
        np.linspace(0, 1, 201), {"a": wrapped, "b": other, "c": 100 * wrapped}, missing="allow"
    )
    found = given.unwrapped("a").unwrapped("b", period=360)
    there = np.isfinite(wrapped)
    np.testing.assert_allclose(found.channels["a"][there], true[there], rtol=1e-12)
    np.testing.assert_allclose(found.channels["b"][there], np.rad2deg(true[there]), rtol=1e-12)
    assert np.isnan(found.channels["a"][~there]).all()
    np.testing.assert_array_equal(found.channels["c"], given.channels["c"])
    np.testing.assert_array_equal(given.channels["a"], wrapped)


def test_errors(record):
    with pytest.raises(TypeError, match="the quantity must be a function"):
        fit.Sensor("angle")
    of_numpy = fit.Sensor(lambda *_: 2.0, zero=np.float32(0.5), gain=np.int64(3))
    assert of_numpy(0.0, None, None, None, None, {}) == 6.5
    with pytest.raises(TypeError, match="Sensor: lag must be a finite number.*got nan"):
        fit.Sensor(angle, lag=np.nan)
    with pytest.raises(TypeError, match=r"Sensor: gain must be a finite number.*got \[1\]"):
        fit.Sensor(angle, gain=[1])
    with pytest.raises(ValueError, match="do not call it"):
        fit.Sensor(angle, lag=0.01)(0.0, np.zeros(2), np.zeros(2), None, None, {})
    with pytest.raises(ValueError, match="observe has no channel"):
        made(sensors={})
    with pytest.raises(TypeError, match="inputs must be a dictionary by the name of the input"):
        made(inputs="linear")
    with pytest.raises(
        ValueError, match="Input: kind must be one of cubic, linear, previous; got 'step'"
    ):
        fit.Input("step")
    with pytest.raises(ValueError, match="a delay cannot be estimated where samples are held"):
        fit.Input("previous", delay="late")
    with pytest.raises(
        ValueError, match="no parameter 'offset'; the parameters are: drag, gain, lag"
    ):
        fit.simulate(made(sensors={"angle": fit.Sensor(angle, zero="offset")}), record)
    twice = made(delays=lambda args: {"angle": args["lag"]})
    with pytest.raises(
        ValueError, match="angle has a delay, in delays.args., and its sensor a lag"
    ):
        fit.simulate(twice, record)
    with pytest.raises(ValueError, match='there is no channel "b"; there are angle, rate'):
        record.unwrapped("b")
    with pytest.raises(ValueError, match="name the channels"):
        record.unwrapped()
    for period in (0, -1.0, np.nan):
        with pytest.raises(ValueError, match="period must be positive and finite"):
            record.unwrapped("angle", period=period)
