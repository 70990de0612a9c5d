"""Fits that are stopped, or killed, and go on as if nothing had happened."""

import functools
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import jax
import numpy as np
import pytest

import swings
from jaxspark import fit
from jaxspark._described import described


TIMES = np.linspace(0, 2, 41)


def specs(**changes):
    """Everything that a parameter can have."""
    return {
        "length": fit.positive(0.9, "m", prior=fit.Normal(0.8, 0.05)),
        "drag": fit.bounded(0.2, 0.0, 2.0),
        "gravity": fit.fixed(swings.GRAVITY),
        "other": 1.5,
        **changes,
    }


def model(**options):
    return swings.model((1.1, 0.3), **{"parameters": specs(), **options})


def record(seed=1):
    return swings.record(TIMES, 1.0, 0.0, seed)


def estimate(path, data=None, made=None, **options):
    return fit.estimate(
        made or model(), data or record(), checkpoint=path, progress=False, **options
    )


def same(one, other):
    a, b = jax.tree.leaves(one.state), jax.tree.leaves(other.state)
    assert len(a) == len(b)
    for x, y in zip(a, b):
        assert x.dtype == y.dtype
        np.testing.assert_array_equal(x, y)
    assert one.history == other.history


@pytest.fixture(scope="module")
def whole():
    return estimate(None)


@pytest.mark.parametrize("count", [1, 3, 5])
def test_interrupted_fits_are_the_same_bit_by_bit(whole, tmp_path, count):
    path = tmp_path / "fit.npz"
    assert count < int(whole.state.iteration)
    part = estimate(path, max_iterations=count, throw=False)
    # Each iteration that has a value leaves a loss.
    assert int(part.state.iteration) == len(part.history) == count
    assert part.history == whole.history[: len(part.history)]
    same(estimate(path), whole)
    # A fit that has converged stays as it is.
    written = path.stat().st_mtime_ns
    same(estimate(path), whole)
    assert path.stat().st_mtime_ns == written
    assert os.listdir(tmp_path) == ["fit.npz"]


def louder(gain):
    """The sensors with another gain of one of them."""

    def observe(t, y, z, lam, psi, args):
        shown = swings.observe(t, y, z, lam, psi, args)
        return {**shown, "angle": gain * shown["angle"]}

    return observe


FACTOR = 2.0


def test_functions_are_known_by_what_they_do(monkeypatch):
    def digest(value):
        return b"|".join(described(value))

    def twice(x):
        return 2 * x

    def thrice(x):
        return 3 * x

    same, other = twice, thrice
    other.__name__ = same.__name__
    other.__qualname__ = same.__qualname__
    assert digest(same) != digest(other)
    # What it holds, its defaults, and what it is a part of.
    assert digest(louder(1.1)) == digest(louder(1.1)) != digest(louder(1.2))
    assert digest(functools.partial(twice, 1)) != digest(functools.partial(twice, 2))
    assert digest([twice, thrice, twice]) != digest([twice, thrice, thrice])

    def calls(x):
        return in_module(x)

    before = digest(calls)
    assert digest(calls) == before and b"0x" not in before
    monkeypatch.setitem(globals(), "FACTOR", 3.0)
    assert digest(calls) != before


def in_module(x):
    return FACTOR * x


@pytest.fixture(scope="module")
def begun(tmp_path_factory):
    """The bytes of a checkpoint after two iterations."""
    path = tmp_path_factory.mktemp("begun") / "fit.npz"
    estimate(path, max_iterations=2, throw=False)
    return path.read_bytes()


OTHERS = {
    "data": lambda: (record(2), model()),
    "name": lambda: (swings.record(TIMES, 1.0, 0.0, 1, "other"), model()),
    "length of the record": lambda: (swings.record(TIMES[:-1], 1.0, 0.0, 1), model()),
    "start of a parameter": lambda: (record(), model(parameters=specs(length=fit.positive(0.8)))),
    "prior": lambda: (
        record(),
        model(parameters=specs(length=fit.positive(0.9, "m", prior=fit.Normal(0.81, 0.05)))),
    ),
    "kind of prior": lambda: (
        record(),
        model(parameters=specs(length=fit.positive(0.9, "m", prior=fit.LogNormal(0.8, 1.05)))),
    ),
    "sensor": lambda: (record(), model(observe=louder(1.1))),
    "bound": lambda: (record(), model(parameters=specs(drag=fit.bounded(0.2, 0.0, 2.1)))),
    "held value": lambda: (record(), model(parameters=specs(gravity=fit.fixed(9.8)))),
    "constant": lambda: (record(), model(parameters=specs(other=1.6))),
    "start": lambda: (record(), swings.model((1.2, 0.3), parameters=specs())),
    "step": lambda: (record(), model(step=0.06)),
    "noise": lambda: (record(), model(noise={"angle": 0.01})),
    "loss": lambda: (record(), model(loss=fit.Huber())),
    "threshold": lambda: (record(), model(loss=fit.Huber(1.4))),
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_fits_are_refused(begun, tmp_path, name):
    path = tmp_path / "fit.npz"
    path.write_bytes(begun)
    data, made = OTHERS[name]()
    if name == "name":
        # Of a name nothing depends.
        estimate(path, data, made, max_iterations=2, throw=False)
        return
    with pytest.raises(fit.CheckpointError, match="fit.npz: this checkpoint belongs to another"):
        estimate(path, data, made, max_iterations=2, throw=False)
    assert path.read_bytes() == begun


def test_windows_are_another_fit(begun, tmp_path):
    path = tmp_path / "fit.npz"
    path.write_bytes(begun)
    with pytest.raises(fit.CheckpointError, match="belongs to another fit"):
        estimate(path, window=1.0, max_iterations=2, throw=False)


def broken(begun):
    half = bytearray(begun)
    # In the numbers of the first array, behind its header.
    half[begun.index(b"NUMPY") + 130] ^= 0xFF
    return {
        "nothing": b"",
        "text": b"{}",
        "cut off": begun[:-100],
        "begun": begun[:1000],
        "flipped": bytes(half),
    }


@pytest.mark.parametrize(
    "name", ["nothing", "text", "cut off", "begun", "flipped", "array", "other"]
)
def test_broken_files_are_refused(begun, tmp_path, name):
    path = tmp_path / "fit.npz"
    if name == "array":
        with path.open("wb") as stream:
            np.save(stream, np.arange(3.0))
    elif name == "other":
        np.savez(path, a=np.arange(3.0))
    else:
        path.write_bytes(broken(begun)[name])
    with pytest.raises(fit.CheckpointError, match="fit.npz: this is no checkpoint.*Delete it"):
        estimate(path, max_iterations=2, throw=False)


def test_files_of_other_versions_are_refused(begun, tmp_path):
    path = tmp_path / "fit.npz"
    path.write_bytes(begun)
    with np.load(path) as file:
        content = dict(file)
    described = json.loads(str(content["described"]))
    content["described"] = np.array(json.dumps({**described, "schema": described["schema"] - 1}))
    with path.open("wb") as stream:
        np.savez(stream, **content)
    with pytest.raises(fit.CheckpointError, match="fit.npz: .*another version of jaxspark. Delete"):
        estimate(path, max_iterations=2, throw=False)


def test_folder_that_is_not_there(tmp_path):
    with pytest.raises(OSError, match="missing"):
        estimate(tmp_path / "missing" / "fit.npz", max_iterations=1, throw=False)


SCRIPT = """
import json, sys, time
import jax
jax.config.update("jax_enable_x64", True)
import test_fit_checkpoint as case
from jaxspark import fit
from jaxspark.fit import _estimate
kept = _estimate.save
def slow(*at):
    kept(*at)
    time.sleep(float(sys.argv[2]))
_estimate.save = slow
found = case.estimate(sys.argv[1])
print(json.dumps([found.vector.tolist(), found.uncertainty.errors.tolist(), found.history]))
"""


def start(path, pause):
    folders = [str(Path(__file__).parent), str(Path(__file__).parent.parent)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(folders)}
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(path), str(pause)], env=environment,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def finish(process):
    out, err = process.communicate(timeout=900)
    assert process.returncode == 0, err
    return json.loads(out.splitlines()[-1])


def test_killed_fits_go_on(whole, tmp_path):
    path = tmp_path / "fit.npz"
    process = start(path, 3.0)
    try:
        deadline = time.monotonic() + 300
        while not path.exists() and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.05)
        # Somewhere in the second or third iteration.
        time.sleep(4.0)
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate()
    assert process.returncode == -signal.SIGKILL
    with np.load(path) as saved:
        assert 1 <= saved["history"].size < len(whole.history)
    resumed = finish(start(path, 0.0))
    assert resumed == [
        whole.vector.tolist(), whole.uncertainty.errors.tolist(), list(whole.history)
    ]  # fmt: skip
