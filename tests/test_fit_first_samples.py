"""Starts that follow from the first samples of records."""

import jax.numpy as jnp
import numpy as np
import pytest

import swings
from jaxspark import fit
from jaxspark.fit._problem import make_problem


TIMES = np.linspace(0.0, 0.5, 51)
ANGLES = (2.2, -1.5), (-0.7, 3.0), (0.0, 0.1)


def model(**options):
    hanging = swings.state(0.0, 0.0)
    start = fit.Start.from_channels(*hanging)
    return swings.model((0.0, 0.0), start=start, step=0.01, **options)


def records(noise=0.0, drop=()):
    made = []
    for k, (angle, rate) in enumerate(ANGLES):
        record = swings.record(TIMES, angle, rate, seed=k)
        truth = swings.swing(TIMES, angle, rate)
        channels = dict(truth)
        if noise:
            channels = dict(record.channels)
        channels = {name: values for name, values in channels.items() if name not in drop}
        made.append(fit.record(TIMES, channels, name=f"swing {k}"))
    return made


@pytest.mark.parametrize("drop", [(), ("rate",)])
def test_starts_show_the_first_samples_and_are_consistent(drop):
    problem = make_problem(model(), records(drop=drop))
    for k, (angle, rate) in enumerate(ANGLES):
        y, z = np.asarray(problem.tangents.y[k]), np.asarray(problem.tangents.z[k])
        np.testing.assert_allclose(np.hypot(*y), 0.9, rtol=1e-12)
        assert abs(y @ z) <= 1e-12
        np.testing.assert_allclose(np.arctan2(y[0], -y[1]), angle, atol=2e-3)
        # Without a sensor of the rate it is the slope of the angle.
        np.testing.assert_allclose((y[0] * z[1] - y[1] * z[0]) / (y @ y), rate, atol=0.05)


def test_fits_from_them_are_those_from_good_guesses():
    noisy = records(noise=1.0)
    found = fit.estimate(model(), noisy, progress=False)
    guessed = swings.model(*ANGLES, step=0.01)
    expected = fit.estimate(guessed, noisy, progress=False)
    for name, value in expected.values.items():
        assert abs(found.values[name] - value) <= 1e-3 * expected.errors[name]


def test_what_no_sensor_shows_stays():
    # A second bob that nothing measures.
    def observe(t, y, z, lam, psi, args):
        return {"angle": jnp.arctan2(y["seen"][0], -y["seen"][1])}

    system = swings.jaxspark.LagrangianSystem(
        lambda t, y, z, args: sum(swings.lagrangian(t, y[k], z[k], args) for k in y),
        lambda t, y, args: jnp.stack([swings.rod(t, y[k], args) for k in ("seen", "unseen")]),
    )
    y, z = swings.state(0.3, 0.0)
    other = swings.state(1.0, 0.5)
    start = fit.Start.from_channels(
        {"seen": y, "unseen": other[0]}, {"seen": z, "unseen": other[1]}
    )
    made = swings.model((0.0, 0.0), system=system, observe=observe, start=start)
    of_angle = [fit.record(TIMES, {"angle": swings.swing(TIMES, 1.2, 0.4)["angle"]})]
    at = make_problem(made, of_angle).tangents
    np.testing.assert_allclose(at.y[0][2:], other[0], atol=1e-12)
    np.testing.assert_allclose(np.arctan2(at.y[0][0], -at.y[0][1]), 1.2, atol=1e-3)


def test_simulations_of_a_record_begin_there():
    record = records()[0]
    shown = fit.simulate(model(), record)
    assert abs(shown.channels["angle"][0] - ANGLES[0][0]) <= 2e-3
    # Without a record, at the guess.
    assert abs(fit.simulate(model(), TIMES).channels["angle"][0]) <= 1e-12


def test_inputs_may_be_of_different_lengths():
    driven = [
        fit.record(t, {"angle": np.sin(t)}, {"pivot": 0.1 * t, "wind": np.cos(t)})
        for t in (TIMES, TIMES[:30])
    ]
    start = fit.Start.from_channels(*swings.state(0.0, 0.0))
    made = swings.model(
        (0.0, 0.0), system=swings.DRIVEN, observe=swings.from_pivot, start=start, step=0.01
    )
    problem = make_problem(made, driven)
    assert problem.tangents.y.shape[0] == 2 and np.isfinite(problem.tangents.z).all()
    alone = make_problem(made, driven[1:])
    np.testing.assert_allclose(problem.tangents.y[1], alone.tangents.y[0], atol=1e-12)


def test_errors():
    with pytest.raises(TypeError, match="a state, not functions"):
        fit.Start.from_channels(lambda args: jnp.zeros(2), jnp.zeros(2))
    far = fit.record(TIMES, {"angle": 9.0 + 0.1 * TIMES, "rate": np.linspace(0, 1, 51)})
    with pytest.raises(fit.DataError, match="no consistent state near the guess.*misses by"):
        make_problem(model(), [far])
    late = np.where(np.arange(51) < 30, np.nan, 1.0) * np.linspace(0, 1, 51)
    bare = fit.record(TIMES, {"angle": late}, missing="allow")
    with pytest.raises(fit.DataError, match="none of the channels.*among its first 7"):
        make_problem(model(), [bare])
