"""What does not suit is told before a fit: records, models, options, and too few samples."""

import jax.numpy as jnp
import numpy as np
import pytest

import swings
from jaxspark import fit
from jaxspark.fit._check import DataError
from jaxspark.fit._suitable import as_records


TIMES = np.linspace(0, 1, 21)
FIXED = {"length": fit.fixed(0.8), "drag": 0.3}


def record(name="one", channels=("angle", "rate"), unit="rad", count=21):
    wave = np.sin(5 * TIMES[:count])
    units = {"angle": unit} if "angle" in channels else {}
    return fit.record(TIMES[:count], {key: wave for key in channels}, name=name, units=units)


def estimate(records, **options):
    model = options.pop("model", swings.model((0.5, 0.0)))
    return fit.estimate(model, records, progress=False, **options)


def test_records_that_are_none():
    for call in (
        estimate,
        lambda records: fit.multistart(swings.model((0.5, 0.0)), records),
        lambda records: fit.stochastic(swings.model((0.5, 0.0)), records, window=0.5, steps=1),
    ):
        with pytest.raises(DataError, match="nothing to fit: give at least one record"):
            call([])
    with pytest.raises(TypeError, match="list of them; got str. Make them by fit.record"):
        as_records(["angle"])
    with pytest.raises(TypeError, match="must be a fit.Record or a list of them; got dict"):
        as_records({"angle": TIMES})
    with pytest.raises(TypeError, match="got int"):
        as_records(3)
    one = record()
    assert as_records(one) == as_records((one,)) == as_records(iter([one])) == [one]


def test_units_that_differ():
    one, two = record(), record("two", unit="deg")
    with pytest.raises(DataError, match='"two": "angle" is in deg, but in rad in record "one"'):
        estimate([one, two])
    for unit in ("", "rad", "radians"):
        with pytest.raises(ValueError, match="max_iterations"):
            estimate([one, record("two", unit=unit)], max_iterations=0)


def test_options_and_losses():
    for value in (0, -1, True):
        with pytest.raises(ValueError, match="max_iterations must be a whole number, at least 1"):
            estimate(record(), max_iterations=value)
    for loss in (fit.Huber(-1.0), fit.Huber(0.0), fit.Cauchy(float("nan"))):
        with pytest.raises(ValueError, match=f"threshold of {type(loss).__name__} must be pos"):
            swings.model((0.5, 0.0), loss=loss)


def test_channels_that_are_nowhere():
    with pytest.raises(DataError, match='one: there is no channel "rate".*There are: "angle"'):
        estimate([record(channels=("angle",))])
    model = swings.model((0.5, 0.0), (0.5, 0.0))
    with pytest.raises(DataError, match='two: there is no channel "angle".*There are: "other"'):
        estimate([record(), record("two", channels=("other",))], model=model)
    with pytest.raises(DataError, match='two: there is no channel "angle". Did you mean "angel"'):
        estimate([record(), record("two", channels=("angel", "rate"))], model=model)


def test_sensors_that_are_no_dictionary():
    array = swings.model((0.5, 0.0), observe=lambda *at: at[1])
    words = r"must return a dictionary.*it returned an array of shape \(2,\)"
    with pytest.raises(TypeError, match=words):
        estimate(record(), model=array)
    with pytest.raises(TypeError, match=words):
        fit.simulate(array, TIMES)


def test_inputs_that_are_missing():
    driven = swings.model((0.5, 0.0), system=swings.DRIVEN, observe=lambda *at: {"angle": at[1][0]})
    words = r'uses args\["inputs"\], but the records have no inputs. Name them in `inputs`'
    for call in (estimate, fit.multistart):
        with pytest.raises(DataError, match=words):
            if call is estimate:
                estimate(record(), model=driven)
            else:
                fit.multistart(driven, record())
    with pytest.raises(DataError, match=words):
        fit.simulate(driven, TIMES)
    # Other keys are the model's own affair.
    other = swings.model((0.5, 0.0), observe=lambda *at: {"angle": at[5]["gain"]})
    with pytest.raises(KeyError, match="gain"):
        estimate(record(), model=other)


def test_too_few_samples():
    words = r"2 samples for 4 unknowns \(2 of parameters and 2 of starts\): nothing is left"
    one = swings.model((0.5, 0.0), observe=lambda *at: {"angle": jnp.arctan2(at[1][0], -at[1][1])})
    with pytest.raises(DataError, match=words):
        estimate(record(count=2), model=one)


def test_nothing_to_estimate():
    still = fit.Start(jnp.array([0.0, -0.8]), jnp.zeros(2), unknown="nothing")
    model = swings.model((0.5, 0.0), parameters=FIXED, start=still)
    for call in (estimate, lambda r, model: fit.multistart(model, r)):
        with pytest.raises(ValueError, match="nothing to estimate: .*drag, length, all constant"):
            call(record(), model=model)
