"""The command line of identification: what it finds, writes, and says to wrong input."""

import contextlib
import io
import json
import os
import re
import subprocess
import sys
import textwrap

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental.compilation_cache import compilation_cache

import jaxspark
from jaxspark import fit
from jaxspark._command import main
from jaxspark._command._config import load_config
from jaxspark._command._load_model import model_path
from jaxspark._command._records import Columns, read_records
from jaxspark.fit._report import from_json
from swings import PENDULUM, swing


TRUTH = {"length": 0.8, "drag": 0.3, "offset": 0.03}
STARTS = {"a": (0.7, 0.0), "b": (-0.2, 2.0), "c": (0.4, -1.0)}
TIMES = 0.05 * np.arange(81)


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


def run(*argv):
    """Exit status, output and error output of a command."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            status = main([str(word) for word in argv])
        except SystemExit as stop:
            status = stop.code
    return status, out.getvalue(), err.getvalue()


def block(text, heading):
    """The indented lines that follow a line which starts with the heading."""
    after = text[re.search(rf"^{re.escape(heading)}.*:$", text, re.MULTILINE).end() :]
    return textwrap.dedent(re.match(r"\n+((?: {4}.*\n|\n)+)", after)[1])


def write_csv(path, times, values, header="t,encoder"):
    rows = [f"{t:.4f},{x:.8f}" for t, x in zip(times, values, strict=True)]
    path.write_text("\n".join([header, *rows]) + "\n")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The example of `fit --help`, and measurements for it."""
    path = tmp_path_factory.mktemp("example")
    status, text, _ = run("fit", "--help")
    assert status == 0
    (path / "pendulum.py").write_text(block(text, "pendulum.py"))
    (path / "channels.toml").write_text(block(text, "channels.toml"))
    rng = np.random.default_rng(5)
    for name, start in STARTS.items():
        angle = swing(TIMES, *start, length=TRUTH["length"], drag=TRUTH["drag"])["angle"]
        angle = angle + TRUTH["offset"] + 0.01 * rng.standard_normal(TIMES.size)
        write_csv(path / f"{name}.csv", TIMES, angle)
    return path


def fit_example(folder, *more):
    files = [folder / name for name in ("pendulum.py", "a.csv", "b.csv")]
    common = ["--config", folder / "channels.toml", "--checkpoint", folder / "fit.npz"]
    return run("fit", *files, *common, *more)


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
    assert not list((folder / "other").iterdir())


def table(text):
    header, *rows = text.splitlines()
    values = np.array([[float(cell) for cell in row.split(",")] for row in rows])
    return dict(zip(header.split(","), values.T, strict=True))


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
        PENDULUM, jaxspark.Gauss(2), jnp.asarray(y0), jnp.zeros(2), {"length": 0.5, "drag": 0.2},
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


def test_failing_simulation_says_when(tmp_path):
    stopping = 'jnp.where(t > 0.42, jnp.nan, 1.0) * args["inputs"]["pull"](t)[None]'
    (tmp_path / "sled.py").write_text(SLED.replace('args["inputs"]["pull"](t)[None]', stopping))
    (tmp_path / "columns.toml").write_text('[inputs]\npull = "F"\n')
    write_csv(tmp_path / "pull.csv", [0.0, 0.4, 0.8, 1.2], [1.0, 1.0, 1.0, 1.0], "time_s,F")
    options = ["--inputs", tmp_path / "pull.csv", "--config", tmp_path / "columns.toml"]
    status, _, err = run("simulate", f"{tmp_path / 'sled.py'}:sleds", *options)
    assert status == 1
    assert "jaxspark simulate: error: simulation: " in err
    assert re.search(r"It stopped at t = 0\.4 ", err)


def test_several_trials_in_one_file(tmp_path):
    lines = ["t;run;w", "0;x;1", "1;x;2", "0;y;3", "1;y;", "2;y;5"]
    (tmp_path / "both.csv").write_text("\n".join(lines))
    text = 'trial = "run"\ndelimiter = ";"\nmissing = "allow"\n[time]\ncolumn = "t"\n'
    (tmp_path / "c.toml").write_text(text + '[units]\nrate = "rad/s"\n')
    config = load_config(tmp_path / "c.toml")
    first, second = read_records([tmp_path / "both.csv"], Columns({"rate": "w"}, {}), config)
    assert (first.name, second.name) == ("both, run x", "both, run y")
    np.testing.assert_array_equal(second.channels["rate"], [3, np.nan, 5])
    assert first.units == {"rate": "rad/s"}


def test_files_of_a_configuration_are_beside_it(tmp_path):
    (tmp_path / "c.toml").write_text('[fit]\nheld_out = ["c.csv"]\nwindow = 2\n')
    config = load_config(tmp_path / "c.toml")
    assert config.held_out == (tmp_path / "c.csv",)
    assert config.window == 2.0


def test_names_of_models():
    assert [str(part) for part in model_path("a/m.py")] == ["a/m.py", "model"]
    assert [str(part) for part in model_path("a/m.py:arm")] == ["a/m.py", "arm"]
    assert str(model_path(r"C:\m.py")[0]) == r"C:\m.py"


# Of the model's text what is replaced, by what, and what is said of it.
WRONG_MODELS = {
    "syntax": ("def rod(", "def rod((", "pendulum.py, line {line}: SyntaxError"),
    "import": ("import jaxspark\n", "import jaxsparkle\n", "line {line}: ModuleNotFoundError"),
    "library": ("fit.positive(0.9", "fit.positive(-0.9", "fit.positive: the start value is -0.9"),
    "line of library": ("fit.positive(0.9", "fit.positive(-0.9", "pendulum.py, line {line}: Value"),
    "other name": ("model = ", "modell = ", 'no model "model". Did you mean "modell"?'),
    "no model": ("model = fit.Model(", "other = dict(", "no model is defined"),
    "exit": ("import jaxspark\n", "import sys; sys.exit(3)\n", "it ends the program, with 3"),
    "key": ('args["offset"]', 'args["ofset"]', "line {line}, in observe: KeyError: 'ofset'"),
    "source": ('args["offset"]', 'args["ofset"]', '-q[1]) + args["ofset"]}'),
    "guess": ('- args["length"]', '+ args["length"]', "guess of the start of a"),
}


@pytest.mark.parametrize("name", WRONG_MODELS)
def test_wrong_model_is_told_by_its_line(name, folder, tmp_path):
    old, new, reason = WRONG_MODELS[name]
    text = (folder / "pendulum.py").read_text()
    assert text.count(old) == 1
    (tmp_path / "pendulum.py").write_text(text.replace(old, new))
    options = ["--config", folder / "channels.toml", "--out", tmp_path, "--quiet"]
    status, _, err = run("fit", tmp_path / "pendulum.py", folder / "a.csv", *options)
    assert status == 2
    assert reason.replace("{line}", str(text[: text.index(old)].count("\n") + 1)) in err
    assert len(err.splitlines()) <= 4


WRONG_CONFIGS = {
    "toml": ("[time\n", "line 1"),
    "key": ("[chanels]\n", 'no key "chanels". Did you mean "channels"?'),
    "key of fit": ("[fit]\nmax_iteration = 3\n", 'Did you mean "max_iterations"?'),
    "kind": ("[fit]\nwindow = true\n", "fit.window must be a positive number; it is True"),
    "table": ('channels = "t"\n', "channels must be a table, [channels]; it is 't'"),
    "missing": ('missing = "ok"\n', 'missing must be "error" or "allow"; it is \'ok\''),
    "channel": ('[channels]\nangel = "encoder"\n', 'no channel "angel". Did you mean "angle"?'),
    "noise": ("[noise]\nangle = -1\n", "noise.angle must be a positive number; it is -1"),
    "column": ('[channels]\nangle = "encodr"\n[time]\ncolumn = "t"\n', 'Did you mean "encoder"?'),
    "held out": ('[fit]\nheld_out = ["gone.csv"]\n[time]\ncolumn = "t"\n', "gone.csv"),
    "profile": ('[fit]\nprofiles = ["lenght"]\n[time]\ncolumn = "t"\n', 'mean "length"?'),
}


@pytest.mark.parametrize("name", WRONG_CONFIGS)
def test_wrong_configuration_is_refused(name, folder, tmp_path):
    text, reason = WRONG_CONFIGS[name]
    if name in ("held out", "profile"):
        text += '[channels]\nangle = "encoder"\n'
    (tmp_path / "c.toml").write_text(text)
    files = [folder / "pendulum.py", folder / "a.csv"]
    status, _, err = run("fit", *files, "--config", tmp_path / "c.toml", "--out", tmp_path / "r")
    assert status == 2
    assert reason in err
    assert len(err.splitlines()) <= 3


# Arguments after MODEL.py, in the folder of the example.
WRONG_ARGUMENTS = {
    "no record": (["gone.csv"], "gone.csv: there is no such file"),
    "twice": (["a.csv", "a.csv"], "a.csv: this file is given twice"),
    "both": (["a.csv", "--held-out", "a.csv"], "both fitted and held out"),
    "profile": (["a.csv", "--profile", "drg"], 'no free parameter "drg". Did you mean "drag"?'),
    "level": (["a.csv", "--level", "95"], "is not between 0 and 1"),
    "window": (["a.csv", "--window", "0"], "is not a positive number"),
    "iterations": (["a.csv", "--max-iterations", "1.5"], "is not a whole number"),
    "out": (["a.csv", "--out", "a.csv"], "--out a.csv: it cannot be made a folder"),
    "checkpoint": (["a.csv", "--checkpoint", "no/f.npz"], "in a folder that exists"),
    "option": (["a.csv", "--held", "c.csv"], "unrecognized arguments"),
    "nothing": ([], "the following arguments are required"),
}


@pytest.mark.parametrize("name", WRONG_ARGUMENTS)
def test_wrong_arguments_are_refused(name, folder, monkeypatch):
    monkeypatch.chdir(folder)
    arguments, reason = WRONG_ARGUMENTS[name]
    status, out, err = run("fit", "pendulum.py", *arguments, "--config", "channels.toml")
    assert status == 2
    assert reason in err
    assert "Report" not in out


WRONG_SIMULATIONS = {
    "times": ([], "give one of --t1, --data and --inputs; none of them is given"),
    "both": (["--t1", "1", "--data", "a.csv"], "--t1 and --data is given"),
    "dt": (["--data", "a.csv", "--dt", "1"], "--dt goes with --t1"),
    "order": (["--t1", "1", "--t0", "2"], "must be later than --t0"),
    "no step": (["--t1", "1", "--dt", "2"], "there are 0 steps"),
    "name": (["--t1", "1", "--set", "lenght=1"], 'no parameter "lenght". Did you mean "length"?'),
    "value": (["--t1", "1", "--set", "length=-1"], "length = -1 is not possible"),
    "number": (["--t1", "1", "--set", "length=long"], "is not a finite number"),
    "form": (["--t1", "1", "--set", "length"], "is not of the form name=value"),
    "no inputs": (["--inputs", "a.csv"], "the model has no inputs"),
    "report": (["--t1", "1", "--report", "a.csv"], "a.csv: This is not JSON"),
    "no report": (["--t1", "1", "--report", "gone.json"], "gone.json: cannot be read: No such"),
    "no model": (["--t1", "1", "--config", "gone.toml"], "gone.toml: there is no such file"),
}


@pytest.mark.parametrize("name", WRONG_SIMULATIONS)
def test_wrong_simulations_are_refused(name, folder, monkeypatch):
    monkeypatch.chdir(folder)
    arguments, reason = WRONG_SIMULATIONS[name]
    status, out, err = run("simulate", "pendulum.py", *arguments)
    assert status == 2
    assert reason in err
    assert not out


def test_start_that_cannot_be_simulated(folder, monkeypatch, tmp_path):
    def fail(*_, **__):
        raise fit.FitError("The model cannot be simulated from the start.")

    def explain(model, record, **_):
        raise fit_simulation.SimulationError(f"{record.name}: it stopped at t = 0.4.")

    from jaxspark._command import _fit
    from jaxspark.fit import _simulation as fit_simulation

    monkeypatch.setattr(_fit, "estimate", fail)
    monkeypatch.setattr(_fit, "simulate", explain)
    status, _, err = fit_example(folder, "--out", tmp_path)
    assert status == 1
    assert "cannot be simulated from the start.\na: it stopped at t = 0.4." in err


def test_interruption_says_how_to_go_on(folder, monkeypatch, tmp_path):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    from jaxspark._command import _fit

    monkeypatch.setattr(_fit, "estimate", interrupt)
    status, _, err = fit_example(folder, "--out", tmp_path)
    assert status == 130
    assert f"interrupted. The same command goes on from {folder / 'fit.npz'}." in err


def test_faults_of_the_library_keep_their_traceback(folder, monkeypatch, tmp_path):
    def fail(*_, **__):
        raise AssertionError("of ours")

    from jaxspark._command import _fit

    monkeypatch.setattr(_fit, "estimate", fail)
    with pytest.raises(AssertionError, match="of ours"):
        fit_example(folder, "--out", tmp_path)


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
