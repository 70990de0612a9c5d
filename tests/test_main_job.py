"""The main job: what it finds, how well, and what it says to wrong input."""

import importlib.metadata
import subprocess
import sys

import numpy as np
import pytest
import scipy.integrate
import scipy.optimize

import jaxspark
from jaxspark import fit
from jaxspark._main import main
from jaxspark._main._identifiability import identifiability
from jaxspark._main._identify import identify, LENGTH, MASS
from jaxspark._main._model import GRAVITY, model, NAMES, SIGN_WIDTH
from jaxspark._main._picture import FILE_NAME, peaks
from jaxspark._main._record import load_record, Record, RecordError
from jaxspark._main._report import report
from jaxspark._main._start import fit_damped_sine
from jaxspark._main._statistics import estimates, goodness


@pytest.fixture(scope="module")
def found():
    return identify(load_record(), quiet=True)


def reduced_swing(values, times):
    """The voltages of the reduced equation for the angle, by an explicit method (V).

    The force at the edge contains the acceleration, which friction changes: a fixed point.
    """
    frequency, friction, damping, gain, bias, angle, rate, length = values
    inertia = MASS * GRAVITY * length / frequency**2

    def acceleration(theta, omega):
        radial = MASS * (length * omega**2 + GRAVITY * np.cos(theta))
        guess = -(frequency**2) * np.sin(theta)
        for _ in range(50):
            tangential = MASS * (length * guess + GRAVITY * np.sin(theta))
            load = np.sqrt(radial**2 + tangential**2 + (0.01 * MASS * GRAVITY) ** 2)
            moment = -MASS * GRAVITY * length * np.sin(theta) - damping * inertia * omega
            moment -= friction * load * np.tanh(omega / SIGN_WIDTH)
            guess, last = moment / inertia, guess
            if abs(guess - last) < 1e-15:
                break
        return guess

    solution = scipy.integrate.solve_ivp(
        lambda _, x: [x[1], acceleration(*x)], (times[0], times[-1]), [angle, rate],
        method="DOP853", t_eval=times, rtol=1e-9, atol=1e-11, max_step=0.01,
    )  # fmt: skip
    return bias + gain * solution.y[1]


def test_dry_friction_fits_to_the_noise(found):
    fitted = goodness(found.dry)
    assert round(fitted.r_squared, 4) >= 0.9999
    assert fitted.rms < 0.0051
    # Directly from the voltages, without the statistics under test.
    residual = found.dry.fitted - found.record.volts
    assert np.sqrt(np.mean(residual**2)) == pytest.approx(fitted.rms, rel=1e-12)
    variance = np.mean((found.record.volts - found.record.volts.mean()) ** 2)
    assert 1 - np.mean(residual**2) / variance == pytest.approx(fitted.r_squared, abs=1e-12)


def test_viscous_friction_alone_does_not(found):
    dry, viscous = goodness(found.dry), goodness(found.viscous)
    assert abs(found.viscous.value("friction")) < 1e-12
    assert 0.998 < viscous.r_squared < 0.9992
    assert 3 * dry.rms < viscous.rms < 0.0197
    assert dry.aic < viscous.aic - 5000
    assert dry.bic < viscous.bic - 5000


def test_period_agrees_with_a_damped_sine(found):
    def sine(t, bias, decay, frequency, a, b):
        phase = frequency * t
        return bias + np.exp(-decay * t) * (a * np.cos(phase) + b * np.sin(phase))

    times, volts = found.record.times, found.record.volts
    shape, _ = scipy.optimize.curve_fit(sine, times, volts, p0=(1.36, 0.03, 3.95, -1.0, 0.1))
    period = 2 * np.pi / found.dry.value("frequency")
    assert 2 * np.pi / shape[2] == pytest.approx(1.5903, abs=2e-4)
    assert period == pytest.approx(2 * np.pi / shape[2], rel=0.01)
    # A swing of amplitude A takes 1 + A^2/16 times the time of a small one, on average here
    # for amplitudes from 15 to 5 degrees.
    assert period < 2 * np.pi / shape[2] < period * (1 + 0.27**2 / 16)
    assert found.sine.frequency == pytest.approx(shape[2], rel=1e-5)


def test_parameters_are_plausible(found):
    value = found.dry.value
    # Both kinds of friction take energy; dry friction takes the larger part.
    assert 0.5e-3 < value("friction") < 1.5e-3
    assert 0 < value("damping") < 0.5 * found.viscous.value("damping")
    assert 0.5 < value("gain") < 2
    assert value("bias") == pytest.approx(found.record.volts.mean(), abs=0.01)
    first = value("bias") + value("gain") * value("rate")
    assert first == pytest.approx(found.record.volts[0], abs=0.02)
    assert value("length") == LENGTH


def test_constraint_holds(found):
    for swing in (found.dry, found.viscous):
        assert swing.worst_residual <= 1e-12
        assert swing.drift <= 1e-9


def test_explicit_method_on_the_reduced_equation_agrees(found):
    volts = reduced_swing(found.dry.values, found.record.times)
    # The steps of 10 ms are as long as the friction's change of sign takes.
    np.testing.assert_allclose(found.dry.fitted, volts, rtol=0, atol=5e-6)


def volts(values, record, mass=MASS, dry=True):
    """What the model shows with parameters in the order of `NAMES`."""
    described = model(dict(zip(NAMES, values, strict=True)), mass, record.h, dry)
    return fit.simulate(described, record.times).channels["gyro_volt"]


@pytest.mark.parametrize("dry", [True, False])
def test_jacobian_is_that_of_the_residual(found, dry):
    swing = found.dry if dry else found.viscous
    np.testing.assert_allclose(
        swing.fitted, volts(swing.values, found.record, dry=dry), rtol=0, atol=1e-12
    )
    direction = found.dry.values * np.array([0.1, 1, -1, 1, 0.1, 1, -1, 1])
    step = 1e-5
    ahead, behind = (
        volts(swing.values + sign * step * direction, found.record, dry=dry) for sign in (1, -1)
    )
    expected = (ahead - behind) / (2 * step)
    actual = swing.jacobian @ direction
    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-6 * np.abs(expected).max())


def test_mass_has_no_influence(found):
    heavy = volts(found.dry.values, found.record, mass=7 * MASS)
    np.testing.assert_allclose(heavy, found.dry.fitted, rtol=0, atol=1e-11)


def test_white_errors_are_those_of_the_residuals(found):
    for swing in (found.dry, found.viscous):
        J, count = swing.jacobian[:, swing.free], int(swing.free.sum())
        variance = swing.residual @ swing.residual / (swing.residual.size - count)
        scale = np.linalg.norm(J, axis=0)
        inverse = np.linalg.inv((J / scale).T @ (J / scale))
        errors = np.sqrt(variance * np.diag(inverse)) / scale
        # The priors that hold the others count as data.
        np.testing.assert_allclose(swing.white_errors[swing.free], errors, rtol=1e-3)


def test_known_parameters_are_recovered(found):
    record = found.record
    values = np.array([4.2, 0.6e-3, 0.02, 0.8, -0.3, 0.2, 0.5, LENGTH])
    noise = 0.004 * np.random.default_rng(0).standard_normal(record.volts.size)
    measured = Record("synthetic", record.t0, record.h, reduced_swing(values, record.times) + noise)
    fitted = identify(measured, quiet=True).dry
    assert goodness(fitted).rms == pytest.approx(0.004, rel=0.05)
    for row in estimates(fitted, lags=150):
        true = values[NAMES.index(row.name)]
        assert abs(row.value - true) < 4 * row.error, row.name
        # The noise is white, and the two kinds of standard errors agree.
        assert row.error < 2 * row.white_error
        assert row.low < row.value < row.high
        assert row.high - row.value == pytest.approx(1.961 * row.error, rel=1e-3)


def test_what_cannot_be_identified_is_named(found):
    analysis = identifiability(found.dry)
    weakest = dict(zip(analysis.names, analysis.directions[0], strict=True))
    assert analysis.errors[0] > 1
    assert weakest["friction"] == pytest.approx(weakest["length"], abs=0.05)
    pairs = {(pair.first, pair.second): pair for pair in analysis.pairs}
    length = pairs["friction", "length"]
    assert not length.separable
    assert length.combination == "friction / length"
    assert length.combination_error < 0.05
    gain = pairs["gain", "rate"]
    assert gain.separable
    assert gain.combination == "gain * rate"
    assert gain.combination_error < 0.2 * min(gain.errors)
    assert pairs["gain", "angle"].combination == "gain * angle"


def test_report_says_what_was_found(found):
    text = report(found)
    for word in ("0.999896", "0.004969", "not identifiable", "friction / length", "95 %"):
        assert word in text
    for name in (
        "frequency",
        "dry friction arm",
        "viscous damping",
        "gain",
        "bias",
        "rate",
    ):
        assert name in text
    assert max(len(line) for line in text.splitlines()) <= 110


def test_peaks_are_one_in_each_half_period():
    times = np.linspace(0, 10, 1001)
    swing = np.exp(-0.1 * times) * np.sin(2 * np.pi * times + 0.3)
    indices, heights = peaks(swing, swing)
    assert np.diff(times[indices]) == pytest.approx(0.5, abs=0.011)
    np.testing.assert_allclose(heights, np.exp(-0.1 * times[indices]), rtol=2e-3)


@pytest.mark.parametrize("quiet", [False, True])
def test_command_writes_the_picture(found, monkeypatch, tmp_path, capsys, quiet):
    monkeypatch.setattr("jaxspark._main._cli.identify", lambda *_: found)
    folder = tmp_path / "new" / "folder"
    assert main(["--out", str(folder)] + ["--quiet"] * quiet) == 0
    assert (folder / FILE_NAME).read_bytes().startswith(b"\x89PNG")
    output = capsys.readouterr().out
    assert "0.999896" in output
    assert len(output.splitlines()) == 1 if quiet else len(output.splitlines()) > 20


def test_command_without_picture(found, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr("jaxspark._main._cli.identify", lambda *_: found)
    assert main(["--no-plot", "--out", str(tmp_path)]) == 0
    assert not list(tmp_path.iterdir())
    assert "Picture" not in capsys.readouterr().out


def test_unwritable_folder_is_an_error(found, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr("jaxspark._main._cli.identify", lambda *_: found)
    (tmp_path / "file").write_text("in the way")
    assert main(["--quiet", "--out", str(tmp_path / "file")]) == 1
    assert "the picture cannot be written" in capsys.readouterr().err


def test_module_is_a_program():
    command = [sys.executable, "-m", "jaxspark", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == f"jaxspark {jaxspark.__version__}\n"


def test_source_runs_without_being_installed(monkeypatch):
    def lacking(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", lacking)
    assert jaxspark.__version__ == "not installed"


def rows(times, volts):
    lines = [f"{t:.6f},{v:.6f}" for t, v in zip(times, volts, strict=True)]
    return "\n".join(["time_s,gyro_volt", *lines]) + "\n"


TIMES = 0.01 * np.arange(400)
SWING = np.exp(-0.1 * TIMES) * np.sin(4 * TIMES)
GOOD = rows(TIMES, SWING).splitlines()


def with_line(number, text):
    """The good record with another text in one line, numbered from 1."""
    return "\n".join([*GOOD[: number - 1], text, *GOOD[number:]])


BAD = {
    "empty": ("", "the first line must be time_s,gyro_volt; it is nothing"),
    "columns": ("t,u\n0,1\n", "the first line must be time_s,gyro_volt; it is t,u"),
    "third value": (with_line(5, "0.03,1,2"), "line 5: 3 values"),
    "text": (with_line(7, "0.05,volt"), "line 7: 0.05,volt are no numbers"),
    "nan": (with_line(9, "0.07,nan"), "line 9: gyro_volt is nan"),
    "infinity": (with_line(9, "inf,1.0"), "line 9: time_s is inf"),
    "unsorted": (with_line(11, "0.01,0.1"), "line 11: time_s goes from 0.08 to 0.01"),
    "repeated": (with_line(11, "0.08,0.1"), "line 11: time_s goes from 0.08 to 0.08"),
    "uneven": (with_line(11, "0.087,0.1"), "line 11: the times are not equally spaced"),
    "few rows": ("\n".join(GOOD[:50]), "49 rows of data; at least 100 are needed"),
    "constant": (rows(TIMES, 0 * TIMES + 1.5), "the voltage never changes: 1.5 V"),
    "binary": ("\x00\udcff\udcfe", "not a text file of comma-separated values"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_record_is_refused_with_the_reason(name, tmp_path, capsys):
    text, reason = BAD[name]
    path = tmp_path / "record.csv"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(RecordError, match=reason):
        load_record(path)
    assert main([str(path)]) == 2
    assert f"jaxspark: error: {path}" in capsys.readouterr().err


def test_missing_record_is_named(tmp_path, capsys):
    assert main([str(tmp_path / "nowhere.csv")]) == 2
    assert "nowhere.csv: there is no such file" in capsys.readouterr().err
    with pytest.raises(RecordError, match="cannot be read"):
        load_record(tmp_path)


def test_record_with_byte_order_mark_and_blank_lines(tmp_path):
    path = tmp_path / "record.csv"
    path.write_text("\ufeff" + "\r\n".join(GOOD) + "\r\n\r\n", encoding="utf-8", newline="")
    record = load_record(path)
    assert record.t0 == 0
    assert record.h == pytest.approx(0.01)
    np.testing.assert_allclose(record.volts, SWING, rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    ("volts", "h", "reason"),
    [
        (
            np.random.default_rng(0).standard_normal(400),
            0.01,
            "does not look like a decaying",
        ),
        (TIMES, 0.01, "not two whole oscillations"),
        (SWING[::10], 0.1, "about 16 samples in a period; at least 21"),
    ],
    ids=["noise", "ramp", "coarse"],
)
def test_record_of_something_else_is_refused(volts, h, reason):
    with pytest.raises(RecordError, match=reason):
        fit_damped_sine(Record("test", 0.0, h, volts))


def test_fit_that_fails_is_told(found, monkeypatch, capsys):
    def fail(*_, **__):
        raise fit.FitError("Not converged within 100 iterations: allow more (max_iterations).")

    monkeypatch.setattr(fit, "estimate", fail)
    assert main(["--no-plot"]) == 1
    error = capsys.readouterr().err
    assert error.endswith(
        "The model with dry friction does not fit. Is this the record of a pendulum?\n"
    )


def test_impossible_length_is_refused():
    with pytest.raises(fit.FitError, match="centre of mass less than 0.62"):
        identify(load_record(), length=0.7, quiet=True)


@pytest.mark.parametrize("option", ["--mass", "--length"])
@pytest.mark.parametrize("value", ["0", "-1", "nan", "inf", "heavy"])
def test_impossible_option_is_refused(option, value, capsys):
    with pytest.raises(SystemExit) as stop:
        main([f"{option}={value}"])
    assert stop.value.code == 2
    assert "is not a positive number" in capsys.readouterr().err
