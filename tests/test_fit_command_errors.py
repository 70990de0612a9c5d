"""The command line of identification: what it says to wrong input, and how it ends."""

import numpy as np
import pytest

from commands import fit_example, run, write_example
from jaxspark import fit
from jaxspark._command import _fit
from jaxspark._command._config import load_config
from jaxspark._command._load_model import model_path
from jaxspark._command._records import Columns, read_records
from jaxspark.fit._simulation import SimulationError


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("example")
    write_example(path)
    return path


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
    # What fails leaves no folder behind.
    assert not (folder / "report").exists()


WRONG_SIMULATIONS = {
    "times": ([], "give one of --t1, --data and --inputs; got none"),
    "both": (["--t1", "1", "--data", "a.csv"], "got --t1 and --data"),
    "dt": (["--data", "a.csv", "--dt", "1"], "--dt goes with --t1"),
    "order": (["--t1", "1", "--t0", "2"], "must be later than --t0"),
    "no step": (["--t1", "1", "--dt", "2"], "there are 0 steps"),
    "name": (["--t1", "1", "--set", "lenght=1"], 'no parameter "lenght". Did you mean "length"?'),
    "value": (
        ["--t1", "1", "--set", "length=-1"],
        "length = -1 is not possible: it must be above 0.\n",
    ),
    "number": (["--t1", "1", "--set", "length=long"], "is not a finite number"),
    "form": (["--t1", "1", "--set", "length"], "is not of the form name=value"),
    "no inputs": (["--inputs", "a.csv"], "the model has no inputs"),
    "trial": (["--t1", "1", "--trial", "3"], "--trial 3: the model has one trial"),
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


def test_folders_are_no_files_to_be_meant(folder, monkeypatch):
    monkeypatch.chdir(folder)
    (folder / "r_gonefiles").mkdir()
    _, _, err = run("fit", "pendulum.py", "r_gonefile", "--config", "channels.toml")
    assert "r_gonefile: there is no such file. Correct the path." in err


# Of a file's content what the error says: words that suit a configuration, too.
CURES = {
    "delimiter": ("t;encoder\n0;1\n1;2\n", 'Or set delimiter to ";".'),
    "trials": ("t,encoder\n0,1\n1,2\n0,3\n", "say by `trial` which column tells them apart"),
    "missing": ("t,encoder\n0,1\n1,\n", 'set missing to "allow" to fit'),
    "infinite": ("t,encoder\n0,1\n1,inf\n", 'or set missing to "allow" and give NaN'),
}


@pytest.mark.parametrize("name", CURES)
def test_cures_suit_the_command_line(name, folder, tmp_path):
    content, cure = CURES[name]
    (tmp_path / "d.csv").write_text(content)
    options = ["--config", folder / "channels.toml", "--out", tmp_path / "r"]
    status, _, err = run("fit", folder / "pendulum.py", tmp_path / "d.csv", *options)
    assert status == 2
    assert cure in err
    assert not any(words in err for words in ("missing=", "delimiter=", "trial="))
    assert not (tmp_path / "r").exists()


def test_start_that_cannot_be_simulated(folder, monkeypatch, tmp_path):
    def fail(*_, **__):
        raise fit.FitError("The model cannot be simulated from the start.")

    def explain(model, record, **_):
        raise SimulationError(f"{record.name}: it stopped at t = 0.4.")

    monkeypatch.setattr(_fit, "estimate", fail)
    monkeypatch.setattr(_fit, "simulate", explain)
    status, _, err = fit_example(folder, "--out", tmp_path)
    assert status == 1
    assert "cannot be simulated from the start.\na: it stopped at t = 0.4." in err


def test_interruption_says_how_to_go_on(folder, monkeypatch, tmp_path):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(_fit, "estimate", interrupt)
    status, _, err = fit_example(folder, "--out", tmp_path)
    assert status == 130
    assert f"interrupted. The same command goes on from {folder / 'fit.npz'}." in err


def test_faults_of_the_library_keep_their_traceback(folder, monkeypatch, tmp_path):
    def fail(*_, **__):
        raise AssertionError("of ours")

    monkeypatch.setattr(_fit, "estimate", fail)
    with pytest.raises(AssertionError, match="of ours"):
        fit_example(folder, "--out", tmp_path)
