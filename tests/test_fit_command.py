"""The command line of identification: what it finds and writes."""

import dataclasses
import json
import os
import re
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental.compilation_cache import compilation_cache

import jaxspark
from commands import fit_example, run, table, TIMES, TRUTH, write_csv, write_example
from jaxspark import fit
from jaxspark._command import main
from jaxspark.fit._report import from_json
from swings import PENDULUM, swing


@pytest.fixture(scope="module", autouse=True)
def compiled_once(tmp_path_factory):
    """Each command loads its model anew. What compiles to the same program is kept on disk."""
    values = {
        "jax_compilation_cache_dir": str(tmp_path_factory.mktemp("cache")),
        "jax_persistent_cache_min_compile_time_secs": 0.0,
    }
    before = {name: getattr(jax.config, name) for name in values}
    for name, value in values.items():
        jax.config.update(name, value)
    yield
    for name, value in before.items():
        jax.config.update(name, value)
    compilation_cache.reset_cache()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("example")
    write_example(path)
    return path


@pytest.fixture(scope="module")
def stopped(folder):
    """A fit that is given too few iterations, of a model that prints."""
    with (folder / "pendulum.py").open("a") as file:
        file.write('\nprint("read")\n')
    options = ["--max-iterations", 3, "--no-plots", "--json", "--out", folder / "stopped"]
    return fit_example(folder, *options)


@pytest.fixture(scope="module")
def fitted(folder, stopped):
    """The same, resumed. Profiles, which compile for long, are made up."""

    def profile(fitted, name, *, level):
        grid = np.linspace(0.79, 0.81, 5)
        return fit.Profile(name, "m", grid, 1e4 * (grid - 0.8) ** 2, level, 0.795, 0.805)

    options = ["--held-out", folder / "c.csv", "--profile", "length", "--level", 0.9]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("jaxspark._command._fit.profile", profile)
        return fit_example(folder, *options, "--out", folder / "report")


@pytest.fixture(scope="module")
def found(folder, fitted):
    return from_json((folder / "report" / "report.json").read_text())


def test_a_fit_that_stops_early_reports_and_fails(folder, stopped):
    status, out, err = stopped
    assert status == 1
    assert "jaxspark fit: error: Not converged within 3 iterations" in err
    assert json.loads(out) == json.loads((folder / "stopped" / "report.json").read_text())
    assert json.loads(out)["converged"] is False
    # What the model prints is not JSON.
    assert "read" in err
    assert sorted(os.listdir(folder / "stopped")) == ["report.html", "report.json"]
    assert "<figure" not in (folder / "stopped" / "report.html").read_text()


def test_example_of_the_help_finds_the_truth(folder, fitted, found):
    status, out, _ = fitted
    assert status == 0
    assert found.converged
    assert "The fit converged" in out
    assert out.splitlines()[-1] == f"Report: {folder / 'report' / 'report.html'}"
    written = os.listdir(folder / "report")
    assert {"report.html", "report.json", "fit_1.png", "profiles.png"} <= set(written)
    estimates = {each.name: each for each in found.estimates}
    assert set(estimates) == set(TRUTH)
    for name, true in TRUTH.items():
        each = estimates[name]
        assert 0 < each.error < 0.03 * max(true, 0.1), name
        assert abs(each.value - true) < 3 * each.error, name


def test_options_and_configuration_reach_the_fit(found):
    assert found.level == 0.9
    assert [trial.name for trial in found.trials] == ["a", "b", "c"]
    assert [trial.held_out for trial in found.trials] == [False, False, True]
    assert {(c.name, c.unit) for trial in found.trials for c in trial.channels} == {
        ("angle", "rad")
    }
    (profile,) = found.profiles
    assert (profile.name, profile.threshold) == ("length", 0.9)
    # A measurement that was not fitted is explained to the noise.
    held = found.trials[2].channels[0]
    rms = np.sqrt(np.mean((held.measured - held.predicted) ** 2))
    assert rms == pytest.approx(0.01, rel=0.25)


def test_fit_is_resumed(stopped, found):
    before = json.loads(stopped[1])["loss"]
    assert len(before) == 3
    assert list(found.loss[:3]) == before
    assert len(found.loss) > 3


def test_checkpoint_of_another_fit_is_refused(folder, fitted):
    files = [folder / "pendulum.py", folder / "b.csv"]
    options = ["--config", folder / "channels.toml", "--checkpoint", folder / "fit.npz"]
    status, _, err = run("fit", *files, *options, "--out", folder / "other", "--quiet")
    assert status == 2
    assert "fit.npz: this checkpoint belongs to another fit" in err
    assert not (folder / "other").exists()


def test_simulation_is_a_rollout(folder):
    options = ["--t1", 1, "--dt", 0.1, "--set", "length=0.5", "--set", "offset=-0.1"]
    out = folder / "sim.csv"
    status, _, _ = run("simulate", folder / "pendulum.py", *options, "--out", out)
    assert status == 0
    shown = table(out.read_text())
    assert list(shown) == ["time_s", "angle"]
    np.testing.assert_allclose(shown["time_s"], 0.1 * np.arange(11), rtol=1e-15)
    # The guess, on the rod: its nearest point.
    y0 = 0.5 * np.array([0.4, -0.8]) / np.hypot(0.4, 0.8)
    solution = jaxspark.rollout(
        PENDULUM, jnp.asarray(y0), jnp.zeros(2), {"length": 0.5, "drag": 0.2},
        method=jaxspark.Gauss(2),
        t1=1.0, num_steps=20, save_every=2,
    )  # fmt: skip
    angle = np.arctan2(solution.ys[:, 0], -solution.ys[:, 1]) - 0.1
    np.testing.assert_allclose(shown["angle"], angle, rtol=0, atol=1e-12)
    exact = swing(shown["time_s"], np.arctan2(0.4, 0.8), 0.0, length=0.5, drag=0.2)["angle"]
    np.testing.assert_allclose(shown["angle"], exact - 0.1, rtol=0, atol=2e-5)


def test_simulation_from_a_report_is_its_prediction(folder, found):
    command = ["simulate", folder / "pendulum.py", "--report", folder / "report" / "report.json"]
    status, out, _ = run(*command, "--t1", 4, "--trial", 1)
    assert status == 0
    # What the model prints is not in the table.
    shown = table(out)
    np.testing.assert_allclose(shown["time_s"], TIMES, rtol=0, atol=1e-12)
    expected = found.trials[1].channels[0].predicted
    np.testing.assert_allclose(shown["angle"], expected, rtol=0, atol=1e-10)


def test_simulation_from_a_report_begins_where_the_record_did(folder, found, tmp_path):
    later = tuple(
        dataclasses.replace(trial, times=trial.times + 7.0) if at == 1 else trial
        for at, trial in enumerate(found.trials)
    )
    text = fit.to_json(dataclasses.replace(found, trials=later))
    (tmp_path / "later.json").write_text(text)
    command = ["simulate", folder / "pendulum.py", "--report", tmp_path / "later.json"]
    status, out, _ = run(*command, "--t1", 11, "--trial", 1)
    assert status == 0
    shown = table(out)
    np.testing.assert_allclose(shown["time_s"], 7.0 + TIMES, rtol=0, atol=1e-12)
    expected = found.trials[1].channels[0].predicted
    np.testing.assert_allclose(shown["angle"], expected, rtol=0, atol=1e-10)
    status, _, err = run(*command, "--t1", 11, "--trial", 2)
    assert status == 2
    assert "--trial 2: the report and the model have 2 trials, numbered from 0." in err


def test_prediction_of_a_measurement(folder, found):
    command = ["simulate", folder / "pendulum.py", "--report", folder / "report" / "report.json"]
    data = ["--data", folder / "c.csv", "--config", folder / "channels.toml"]
    status, out, err = run(*command, *data)
    assert status == 0
    shown, held = table(out), found.trials[2].channels[0]
    assert list(shown) == ["t", "angle", "angle_measured"]
    np.testing.assert_allclose(shown["angle_measured"], held.measured, rtol=0, atol=0)
    np.testing.assert_allclose(shown["angle"], held.predicted, rtol=0, atol=1e-5)
    assert f"c: angle: R^2 = {held.r_squared:.5f}" in err


SLED = """
import jax.numpy as jnp
import jaxspark
from jaxspark import fit

sled = jaxspark.MechanicalSystem(
    lambda t, q, args: args["mass"] * jnp.eye(1),
    lambda t, q, v, args: args["inputs"]["pull"](t)[None],
)
sleds = fit.Model(
    system=sled,
    observe=lambda t, q, v, lam, psi, args: {"place": q[0]},
    parameters={"mass": fit.positive(2.0, "kg"), "unused": 1.0},
    start=fit.Start(y=[jnp.zeros(1), jnp.ones(1)], z=jnp.zeros(1), unknown="nothing"),
    step=0.1,
)
"""


def test_simulation_with_inputs(tmp_path):
    (tmp_path / "sled.py").write_text(SLED)
    (tmp_path / "columns.toml").write_text('[inputs]\npull = "F"\n')
    times = np.linspace(0.0, 2.0, 11)
    write_csv(tmp_path / "pull.csv", times, 3.0 * times, "time_s,F")
    model = f"{tmp_path / 'sled.py'}:sleds"
    options = ["--inputs", tmp_path / "pull.csv", "--config", tmp_path / "columns.toml"]
    status, out, _ = run("simulate", model, *options, "--set", "mass=6", "--trial", 1)
    assert status == 0
    # m x'' = 3 t from x = 1 at rest.
    np.testing.assert_allclose(table(out)["place"], 1 + times**3 / 12, rtol=0, atol=1e-12)
    status, _, err = run("simulate", model, "--t1", 1)
    assert status == 2
    assert "[inputs]" in err
    assert "args" in err
    assert "--inputs or --data" in err
    options = ["--config", tmp_path / "columns.toml"]
    status, _, err = run("simulate", model, "--t1", 1, *options)
    assert status == 2
    assert "--t1: the model has inputs, pull: give their samples by --inputs FILE.csv" in err


def test_failing_simulation_says_when(tmp_path):
    stopping = 'jnp.where(t > 0.42, jnp.nan, 1.0) * args["inputs"]["pull"](t)[None]'
    (tmp_path / "sled.py").write_text(SLED.replace('args["inputs"]["pull"](t)[None]', stopping))
    (tmp_path / "columns.toml").write_text('[inputs]\npull = "F"\n')
    write_csv(tmp_path / "pull.csv", [0.0, 0.4, 0.8, 1.2], [1.0, 1.1, 1.2, 1.3], "time_s,F")
    options = ["--inputs", tmp_path / "pull.csv", "--config", tmp_path / "columns.toml"]
    status, _, err = run("simulate", f"{tmp_path / 'sled.py'}:sleds", *options)
    assert status == 1
    assert "jaxspark simulate: error: simulation: " in err
    assert re.search(r"It stopped at t = 0\.4 ", err)


def test_main_job_is_as_it_was(monkeypatch, tmp_path):
    from jaxspark._command import _program

    given = []
    monkeypatch.setattr(_program, "main_job", lambda argv: given.append(argv) or 0)
    for argv in ([], ["swing.csv", "--quiet"], ["./fit"], ["--version"]):
        assert main(argv) == 0
    assert given == [[], ["swing.csv", "--quiet"], ["./fit"], ["--version"]]


def test_program_has_the_commands(tmp_path):
    command = [sys.executable, "-m", "jaxspark", "fit", "gone.py", "a.csv"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == "jaxspark fit: error: gone.py: there is no such file.\n"


def test_check(tmp_path):
    """Measurements of the example are good; with a sensor that saturates they are not."""
    write_example(tmp_path)
    files = [tmp_path / name for name in ("pendulum.py", "a.csv", "b.csv", "channels.toml")]
    status, text, _ = run("check", *files[:3], "--config", files[3])
    assert status == 0 and text.startswith("Data and priors tell 3 of 3") and "in doubt" in text
    rows = [line.split(",") for line in (tmp_path / "b.csv").read_text().splitlines()[1:]]
    t, x = np.array(rows, float).T
    write_csv(tmp_path / "saturated.csv", t, np.minimum(x, 0.4 * x.max()))
    words = ["check", files[0], files[1], tmp_path / "saturated.csv", "--config", files[3]]
    status, text, _ = run(*words)
    assert status == 1 and "saturated, angle:" in text and "the sensor may be saturated" in text
    status, text, _ = run(*words, "--json")
    found = json.loads(text)
    assert status == 1 and found["good"] is False and found["remarks"][0]["weight"] == "wrong"
