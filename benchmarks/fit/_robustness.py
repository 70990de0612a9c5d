"""Fits that are killed, and data that are bad."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator

import jax.numpy as jnp
import numpy as np

import jaxspark
from jaxspark import fit

from .._figures import at_most, Figure, note


FIT = """
import sys, json
import jax
jax.config.update("jax_enable_x64", True)
import jaxspark
from jaxspark import fit
from benchmarks.fit import four_bar
from benchmarks.fit._models import model_of
problem = four_bar()
model = model_of(problem, method=jaxspark.Gauss(2))
found = fit.estimate(model, problem.data(0), checkpoint=sys.argv[1], progress=False)
print(json.dumps([found.vector.tolist(), list(found.history), int(found.state.iteration)]))
"""

READ = """
import sys, time
from jaxspark import fit

def most():
    # Kilobytes; what the module resource says includes the process that started this one.
    with open("/proc/self/status") as stream:
        return next(int(line.split()[1]) for line in stream if line.startswith("VmHWM"))

base = most()
begun = time.perf_counter()
record = fit.read_csv(sys.argv[1], channels=["a", "b"])
peak = most()
print(record.num_samples, time.perf_counter() - begun, (peak - base) / 1024)
"""


def resume(tiny: bool) -> Iterator[Figure]:
    """Killed in the middle, resumed, and compared with a fit that was left alone."""
    if tiny:
        return
    with tempfile.TemporaryDirectory() as folder:
        alone, killed = (pathlib.Path(folder) / f"{name}.npz" for name in ("alone", "killed"))
        whole = json.loads(_run(FIT, alone).splitlines()[-1])
        process = subprocess.Popen([sys.executable, "-c", FIT, str(killed)], stdout=subprocess.PIPE)
        while _iterations(killed) < whole[2] // 2 and process.poll() is None:
            time.sleep(0.02)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        left = _iterations(killed)
        resumed = json.loads(_run(FIT, killed).splitlines()[-1])
    what = f"four-bar, killed after {left} of {whole[2]} iterations and resumed"
    yield Figure(f"{what}: was killed midway", "True", str(left < whole[2]), left < whole[2])
    apart = float(np.max(np.abs(np.array(resumed[0]) - np.array(whole[0]))))
    yield at_most(f"{what}: estimates from those of a fit left alone", apart, 0.0)
    same = resumed[1] == whole[1]
    yield Figure(f"{what}: the same history", "True", str(same), same)


def _run(code: str, path: pathlib.Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True
    )  # fmt: skip
    return done.stdout


def _iterations(path: pathlib.Path) -> int:
    try:
        with np.load(path) as file:
            return len(file["history"])
    except (OSError, ValueError, KeyError):
        return 0


def data(tiny: bool) -> Iterator[Figure]:
    """Each kind of bad data, and what is said about it."""
    good = "time_s,a\n" + "".join(f"{0.01 * i:.2f},{np.sin(0.1 * i):.6f}\n" for i in range(20))
    lines = good.splitlines()
    cases: dict[str, tuple[bytes, str, str]] = {
        "NaN": ("\n".join([*lines[:5], "0.04,nan", *lines[6:]]).encode(), "a", "line 6"),
        "times that go back": (
            "\n".join([*lines[:5], "0.01,0.5", *lines[6:]]).encode(), "a", "line 6",
        ),
        "a time twice": ("\n".join([*lines[:5], "0.03,0.5", *lines[6:]]).encode(), "a", "line 6"),
        "an unknown channel": (good.encode(), "aa", 'there is no column "aa"'),
        "one sample": ("\n".join(lines[:2]).encode(), "a", "sample"),
        "an empty file": (b"", "a", "empty"),
        "a file that is not UTF-8": (good.encode("utf-16"), "a", "UTF-8"),
    }  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "data.csv"
        for name, (content, channel, words) in cases.items():
            path.write_bytes(content)
            yield _refused(name, lambda c=channel: fit.read_csv(path, channels=[c]), words)
        times = np.arange(200) * 10.0
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            fit.record(times, {"a": np.sin(times)})
        said = " ".join(str(w.message) for w in caught)
        yield Figure("data, times in milliseconds: warned", "warning", said[:90], "milli" in said)
        if not tiny:
            yield from _large(path)
    if not tiny:
        yield from _at_rest()


def _refused(name: str, read: Callable[[], object], words: str) -> Figure:
    try:
        read()
    except fit.DataError as error:
        said = str(error).split("/")[-1].replace("|", "/")
        return Figure(f"data, {name}: refused", words, said[:110], words in str(error))
    return Figure(f"data, {name}: refused", words, "accepted", False)


def _large(path: pathlib.Path) -> Iterator[Figure]:
    """Ten million rows."""
    rows = 10_000_000
    with path.open("w", encoding="utf-8") as stream:
        stream.write("time_s,a,b\n")
        for begin in range(0, rows, 200_000):
            t = 1e-3 * np.arange(begin, begin + 200_000)
            table = np.stack([t, np.sin(t), np.cos(t)], 1)
            np.savetxt(stream, table, fmt="%.3f,%.6f,%.6f")
    count, seconds, megabytes = map(float, _run(READ, path).split())
    ok = count == rows
    yield Figure("data, CSV of 10 million rows: all read", str(rows), f"{count:g}", ok)
    yield note("data, CSV of 10 million rows: seconds", f"{seconds:.1f}")
    arrays = 3 * rows * 8 / 2**20
    what = "data, CSV of 10 million rows: peak memory over the arrays' own"
    yield at_most(what, megabytes / arrays, 2.5, ".2f")


def _at_rest() -> Iterator[Figure]:
    """A pendulum that hangs still: parameters are reported as not identifiable."""
    times = np.linspace(0.0, 1.0, 51)
    flat = {"x": np.zeros(51), "rate": np.zeros(51)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        record = fit.record(times, flat, name="at rest")
    hanging = fit.Model(
        jaxspark.LagrangianSystem(
            lambda t, q, v, args: 0.5 * jnp.sum(v**2) - 9.81 * q[1],
            holonomic=lambda t, q, args: jnp.sum(q**2) - args["length"] ** 2,
            force=lambda t, q, v, args: -args["damping"] * v,
        ),
        lambda t, y, z, lam, psi, args: {"x": y[0], "rate": z[0]},
        {"length": fit.positive(1.1, "m"), "damping": fit.positive(0.3, "N s/m")},
        fit.Start(jnp.array([0.0, -1.1]), jnp.zeros(2)),
        step=0.02,
        noise={"x": 0.01, "rate": 0.01},
    )
    found = fit.estimate(hanging, record, progress=False, throw=False)
    words = "; ".join(found.findings().unidentifiable).replace("|", "/")
    told = list(found.uncertainty.identifiable)
    ok = not any(told) and bool(words)
    yield Figure("data, no excitation: reported", "not identifiable", words[:160], ok)
