"""A bicycle on a treadmill, hit sideways: eigenvalues, and what its motions tell of inertias."""

import csv
import pathlib
import time
import warnings
from collections.abc import Iterator
from typing import Any

import jax.numpy as jnp
import numpy as np

import jaxspark
from jaxspark import fit

from .._figures import at_most, Figure, note
from ._bicycle import AT_5, BENCHMARK, COUNT, eigenvalues, SYSTEM, upright


# Measured Whipple parameters of the steer-by-wire bicycle (SI).
MEASURED = {
    "w": 1.036, "c": 0.0803, "lam": np.deg2rad(18.2), "g": 9.81,
    "rR": 0.3498, "mR": 10.12, "IRxx": 0.1040, "IRyy": 0.1641,
    "xB": 0.462, "zB": -0.698, "mB": 20.9, "IBxx": 1.64, "IByy": 1.94, "IBzz": 1.94, "IBxz": 0.654,
    "xH": 0.944, "zH": -0.595, "mH": 0.6, "IHxx": 0.0098, "IHyy": 0.0098, "IHzz": 0.00396,
    "IHxz": -0.00044, "rF": 0.3498, "mF": 1.780, "IFxx": 0.0644, "IFyy": 0.1289,
}  # fmt: skip
# What the authors found to fit better.
BETTER = {**MEASURED, "IBxx": 2.0, "IBzz": 2.7, "IFyy": 0.1189}
# Real and imaginary parts of the weave by damped sines laid through the rate of lean (1/s).
WEAVE = {2: (-2.98, 7.03), 3: (-2.64, 7.89), 4: (-2.28, 8.39), 5: (-1.96, 7.91)}
TARGET = (0.06, 0.34)
STEP = 0.02


def _gain(speed: float) -> float:
    """Torque of the controller by the rate of lean (N m s)."""
    return 2 * (6.5 - speed)


def _weave(args: dict[str, float], speed: float) -> tuple[float, float]:
    found = eigenvalues({**args, "gain": _gain(speed)}, float(speed))
    oscillating = found[found.imag > 1e-6]
    return float(oscillating[0].real), float(oscillating[0].imag)


def _read(folder: pathlib.Path, seconds: float) -> list[fit.Record]:
    """Responses from where the bicycle was hit."""
    with (folder / "impulse_responses.csv").open() as file:
        rows = list(csv.DictReader(file))
    found = []
    for start in sorted({int(row["start"]) for row in rows}):
        own = [row for row in rows if int(row["start"]) == start]
        columns = {key: np.array([float(row[key]) for row in own]) for key in own[0]}
        inside = (columns["time_s"] > 0.05) & (columns["time_s"] <= seconds)
        times, nominal = columns["time_s"][inside], columns["nominal_speed_m_per_s"][0]
        channels = {key: columns[key][inside] for key in ("lean_rate", "fork_angle", "speed")}
        inputs = {"gain": np.full(times.size, _gain(nominal))}
        inputs["nominal"] = np.full(times.size, nominal)
        with warnings.catch_warnings():
            # These never change within a record.
            warnings.simplefilter("ignore", fit.DataWarning)
            name = f"{nominal:g} m/s, row {start}"
            found.append(fit.record(times, channels, inputs, name=name))
    return found


def _steering(t, q, v, args):
    return jnp.zeros(COUNT).at[5].set(args["inputs"]["gain"](t) * v[3])


def _observe(t, q, v, lam, psi, args):
    along = jnp.cos(q[2]) * v[0] + jnp.sin(q[2]) * v[1]
    return {"lean_rate": v[3], "fork_angle": q[5] + args["zero"], "speed": along}


def _moved(args, x):
    """Coordinates or velocities of a bicycle that is about upright."""
    return jnp.zeros(COUNT).at[jnp.array([3, 5])].set(jnp.stack([x("lean"), x("steer")]))


def _start_y(args):
    return _moved(args, lambda name: args[name])


def _start_z(args):
    """With the rates that were estimated; the constraints give the rest."""
    speed = args["inputs"]["nominal"](0.0) + args["faster"]
    return upright(args, speed)[1] + _moved(args, lambda name: args[f"{name}_rate"])


def _model(free: dict[str, Any]) -> fit.Model:
    system = jaxspark.LagrangianSystem(
        SYSTEM.lagrangian, SYSTEM.holonomic, SYSTEM.nonholonomic, _steering
    )
    # What no sensor tells, where the bicycle is and heads for, is no unknown.
    start = fit.Start(_start_y, _start_z, unknown="nothing")
    own = {"lean": "rad", "steer": "rad", "lean_rate": "rad/s", "steer_rate": "rad/s"}
    own |= {"faster": "m/s", "zero": "rad"}
    starts = {
        name: fit.real(0.0, unit, scale=0.01 if unit == "rad" else 0.1, per_trial=True)
        for name, unit in own.items()
    }
    kinds = {"gain": "linear", "nominal": "linear"}
    return fit.Model(system, _observe, {**MEASURED, **starts, **free}, start, STEP, inputs=kinds)


def bicycle(folder: pathlib.Path, tiny: bool = False) -> Iterator[Figure]:
    """The linearised model against the benchmark and the records; inertias from the records."""
    own = eigenvalues({**BENCHMARK, "gain": 0.0}, 5.0)
    wrong = max(min(abs(value - given) / abs(given) for value in own) for given in AT_5)
    yield at_most("bicycle: eigenvalues at 5 m/s, off Meijaard's benchmark", wrong, 1e-10)
    for name, args, targets in (("measured", MEASURED, None), ("better", BETTER, TARGET)):
        speeds = [5] if tiny else list(WEAVE)
        found = np.array([_weave(args, speed) for speed in speeds])
        off = np.mean(np.abs(found - np.array([WEAVE[speed] for speed in speeds])), 0)
        for i, part in enumerate(("real", "imaginary")):
            what = f"bicycle, {name} inertias: weave, {part} part, mean error at 2 to 5 m/s (1/s)"
            if targets is None or tiny:
                yield note(what, f"{off[i]:.3f}")
            else:
                # The authors' own values are rounded to two digits.
                yield at_most(what, float(off[i]), targets[i], ".3f")
    if tiny:
        return
    yield from _inertias(folder)


def _inertias(folder: pathlib.Path) -> Iterator[Figure]:
    """From the rate of lean and the angle of the fork, over a second."""
    records = _read(folder, 1.05)
    free = {name: fit.positive(MEASURED[name], "kg m2") for name in ("IBxx", "IBzz", "IFyy")}
    begun = time.perf_counter()
    found = fit.estimate(_model(free), records, progress=False, throw=False)
    yield note("bicycle: how the fit of inertias ended", found.message)
    ours = [one for one in found.findings().estimates if one.name in free]
    told = sum(one.identifiable for one in ours)
    yield note("bicycle: how many of the inertias the records tell", f"{told} of {len(free)}")
    for one in ours:
        half = 1.96 * one.correlated_error
        words = (
            f"{one.value:.4g}; {one.value - half:.4g} to {one.value + half:.4g}; {one.error:.2g}"
        )
        what = f"bicycle: {one.name}; 95 %, for correlated residuals; standard error for white ones"
        yield note(what, words)
    yield note("bicycle: s, cold, to the findings", f"{time.perf_counter() - begun:.0f}")
    weave = np.array([_weave({**MEASURED, **{k: found.values[k] for k in free}}, v) for v in WEAVE])
    off = np.mean(np.abs(weave - np.array(list(WEAVE.values()))), 0)
    yield note("bicycle, fitted inertias: weave, mean errors (1/s)", f"{off[0]:.3f}, {off[1]:.3f}")
