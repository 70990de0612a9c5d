"""The check before a fit: what is wrong is found, what is right is left alone."""

import json
import re

import jax.numpy as jnp
import numpy as np
import pytest

import swings
from jaxspark import fit
from jaxspark.fit._data_remarks import data_remarks


TIMES = np.linspace(0.0, 4.0, 401)


@pytest.fixture(scope="module")
def model():
    start = fit.Start.from_channels(*swings.state(0.0, 0.0))
    return swings.model((0.0, 0.0), start=start, step=0.01)


def swing(**changes):
    record = swings.record(TIMES, 1.0, 0.5, seed=0)
    channels = dict(record.channels)
    for name, change in changes.items():
        channels[name] = change(np.array(channels[name]))
    return fit.record(TIMES, channels, name="swing", missing="allow")


def words(found):
    return [str(remark) for remark in found.remarks]


def test_nothing_is_said_of_good_data(model):
    found = fit.check(model, swing())
    assert found.remarks == () and found.good and (found.told, found.parameters) == (2, 2)
    assert "Nothing is in doubt" in repr(found)


def spiked(x):
    x[120] += 3.0
    return x


def hung(x):
    x[200:260] = x[200]
    return x


@pytest.mark.parametrize(
    "change, expected",
    [
        ({"rate": lambda x: -x}, "rate: the derivative of angle is -1.* The sign of one"),
        ({"rate": np.rad2deg}, "times rate, and should equal it. Their units.*perhaps rad for deg"),
        ({"angle": np.rad2deg}, "perhaps degrees for rad"),
        (
            {"rate": lambda x: np.clip(x, -1.0, 1.0)},
            "largest value, 1: the sensor may be saturated",
        ),
        ({"angle": spiked}, r"angle: 1 sample lies far off, the worst at 1.2 s by"),
        ({"angle": hung}, "does not change in 59 samples, from 2 s to 2.59 s"),
        ({"rate": lambda x: 2 * x}, "A gain differs"),
    ],
)
@pytest.mark.filterwarnings("ignore::jaxspark.fit.DataWarning")
def test_what_is_wrong_is_said(model, change, expected):
    found = fit.check(model, swing(**change))

    assert any(re.search(expected, text) for text in words(found)), words(found)


def test_wraps_and_gaps():
    turning = np.mod(3 * TIMES + np.pi, 2 * np.pi) - np.pi
    remarks = list(data_remarks(fit.record(TIMES, {"angle": turning})))
    assert len(remarks) == 1 and "jumps by a turn (rad) 2 times" in remarks[0].words
    late = np.where(TIMES > 2, TIMES + 0.7, TIMES)
    remarks = list(data_remarks(fit.record(late, {"x": np.sin(late)})))
    assert len(remarks) == 1 and "longest is 0.71 s, after 2 s" in remarks[0].words


@pytest.mark.parametrize(
    "signal",
    [
        lambda t: np.exp(-((t - 2) ** 2) / 2e-3),
        lambda t: np.sign(np.sin(7 * t)) * (1 + 0.1 * t),
        lambda t: np.round(20 * np.sin(2 * t)) / 20,
        lambda t: np.random.default_rng(0).standard_normal(t.size),
        lambda t: np.abs(np.sin(5 * t)),
    ],
    ids=["pulse", "square wave", "quantised", "noise", "bounces"],
)
def test_unusual_signals_are_not_wrong(signal):
    remarks = list(data_remarks(fit.record(TIMES, {"x": signal(TIMES)})))
    assert [remark for remark in remarks if remark.weight == "wrong"] == []


def test_what_cannot_be_told_is_named_with_what_to_hold(model):
    # The mass of the bob acts with the drag alone.
    parameters = {"length": fit.positive(0.9), "drag": fit.positive(0.2), "mass": fit.positive(1.3)}
    parameters["colour"] = fit.real(1.0)

    def drag(t, y, z, args):
        return -args["drag"] / args["mass"] * z

    system = swings.jaxspark.LagrangianSystem(swings.lagrangian, holonomic=swings.rod, force=drag)
    made = swings.model((1.0, 0.5), parameters=parameters, system=system, step=0.01)
    found = fit.check(made, swing())
    assert not found.good and (found.told, found.parameters) == (2, 4)
    text = " ".join(words(found))
    assert "colour: it has no influence" in text
    assert "drag, mass: the data do not tell one combination" in text
    assert "Hold one of drag, mass" in text
    content = json.loads(found.to_json())
    assert content["told"] == 2 and content["good"] is False and len(content["remarks"]) == 2
    fitted = fit.estimate(made, swing(), progress=False)
    assert fitted.checked == found
    assert fitted.message.endswith("the data tell 2 of 4 combinations.")
    assert fit.estimate(made, swing(), progress=False, check=False).checked is None


def test_long_records_of_motions_that_grow():
    # An inverted pendulum falls away from any start: errors grow by exp(3.5 t).
    system = swings.jaxspark.ConstrainedSystem(lambda t, y, z, args: args["k"] * jnp.sin(y))
    start = fit.Start(np.array([0.01]), np.zeros(1))
    made = fit.Model(
        system, lambda t, y, z, lam, psi, args: {"x": y[0]}, {"k": fit.positive(12.0)}, start, 0.01
    )
    times = np.linspace(0, 3, 301)
    x = fit.simulate(made, times).channels["x"] + 0.01 * np.random.default_rng(0).standard_normal(
        301
    )
    (remark,) = fit.check(made, fit.record(times, {"x": x})).remarks
    assert remark.about == "horizon" and "window=" in remark.cure


def test_what_only_the_start_hides_is_not_without_influence():
    system = swings.jaxspark.ConstrainedSystem(lambda t, y, z, args: -args["drag"] * z)
    parameters = {"drag": fit.positive(0.5), "bias": fit.real(0.1)}
    start = fit.Start(np.array([0.3]), np.ones(1))
    made = fit.Model(
        system, lambda t, y, z, lam, psi, args: {"x": y[0] + args["bias"]}, parameters, start, 0.05
    )
    record = fit.simulate(made, np.linspace(0, 2, 41))
    (remark,) = [each for each in fit.check(made, record).remarks if each.kind == "told"]
    assert remark.about == "bias" and "starts that are not known change as well" in remark.words


def test_a_start_that_cannot_be_simulated_is_said(model):
    system = swings.jaxspark.ConstrainedSystem(lambda t, y, z, args: jnp.sqrt(args["k"] - t) * y)
    start = fit.Start(np.array([1.0]), np.zeros(1))
    made = fit.Model(
        system, lambda t, y, z, lam, psi, args: {"x": y[0]}, {"k": fit.real(1.0)}, start, 0.05
    )
    times = np.linspace(0, 2, 41)
    found = fit.check(made, fit.record(times, {"x": np.cos(times)}))
    assert found.told == -1 and not found.good and "cannot be simulated" in repr(found)
