"""A double pendulum with a motor in each joint, driven by measured torques.

Records: design C.0 of dfki-ric-underactuated-lab/double_pendulum. Angles from hanging, the second
relative to the first; the plant of its `plant.py`, with rotors behind gears.
"""

import csv
import pathlib
import time
from collections.abc import Iterator
from typing import Any

import jax.numpy as jnp
import numpy as np
import scipy.stats

import jaxspark
from jaxspark import fit, forces

from .._figures import at_most, Figure, note


# Published: model 3.0. Inertia about joints (kg m^2), to centres (m), friction of joints.
PUBLISHED = {
    "m1": 0.6417, "m2": 0.5639, "I1": 0.02671, "I2": 0.05388, "r1": 0.2, "r2": 0.32127,
    "l1": 0.2, "Ir": 9.94e-5, "c1": 0.146, "c2": 0.123, "k1": 0.001, "k2": 0.001, "g": 9.81,
}  # fmt: skip
RATIO = 6.0
# Rate over which dry friction changes sign (rad/s), as of the published law arctan(100 w).
WIDTH = 0.02
LATE = 0.005
WINDOW, STEP = 0.5, 0.0025
TARGET, THEIRS = (0.0072, 0.0175), (0.0060, 0.0148)


def _centres(q, args):
    """Where the centres of mass are, from the first joint."""
    a, b = q[0], q[0] + q[1]
    down = lambda angle: jnp.stack([jnp.sin(angle), -jnp.cos(angle)])
    return args["r1"] * down(a), args["l1"] * down(a) + args["r2"] * down(b)


def _lagrangian(t, q, v, args):
    a, b = v[0], v[0] + v[1]
    first, second = _centres(q, args)
    across = jnp.cos(q[1]) * args["m2"] * args["l1"] * args["r2"] * a * b
    energy = 0.5 * (args["I1"] + args["m2"] * args["l1"] ** 2) * a**2 + across
    energy = energy + 0.5 * args["I2"] * b**2
    rotors = forces.rotor_energy(args["Ir"], RATIO, 0.0 * a, a)
    rotors = rotors + forces.rotor_energy(args["Ir"], -RATIO, a, v[1])
    height = args["m1"] * first[1] + args["m2"] * second[1]
    return energy + rotors - args["g"] * height


def _torque(t, q, v, args):
    pair = lambda name: jnp.stack([jnp.asarray(args[f"{name}{i}"]) for i in (1, 2)])
    dry = forces.friction(v, coulomb=pair("c"), viscous=pair("k"), width=WIDTH)
    driven = [args["inputs"][f"tau_meas{i}"](t) for i in (1, 2)]
    return dry + jnp.stack([driven[0], args["gain2"] * driven[1]])


SYSTEM = jaxspark.LagrangianSystem(_lagrangian, force=_torque)


# The torques are logged late: those at work now are found further on in the record.
INPUTS = {f"tau_meas{i}": fit.Input("linear", delay=lambda args: -args["late"]) for i in (1, 2)}


def _sensors() -> dict[str, fit.Sensor]:
    """Angles that do not begin at zero, and rates that are late."""
    found = {}
    for i in (0, 1):
        angle, rate = (lambda t, q, *_, i=i: q[i]), (lambda t, q, v, *_, i=i: v[i])
        found[f"pos_meas{i + 1}"] = fit.Sensor(angle, zero=f"zero{i + 1}")
        found[f"vel_meas{i + 1}"] = fit.Sensor(rate, lag="lag")
    return found


SENSORS = _sensors()


def _read(folder: pathlib.Path, number: int, until: float) -> fit.Record:
    with (folder / f"trajectory_{number:02d}.csv").open() as file:
        rows = list(csv.DictReader(file))
    columns = {key: np.array([float(row[key]) for row in rows]) for key in rows[0]}
    inside = columns["time"] <= until
    columns = {key: values[inside] for key, values in columns.items()}
    channels = {key: values for key, values in columns.items() if key[:3] in ("pos", "vel")}
    inputs = {key: values for key, values in columns.items() if key.startswith("tau_meas")}
    return fit.record(columns["time"], channels, inputs, name=f"trajectory {number:02d}")


def _model(parameters: dict[str, Any]) -> fit.Model:
    none = {"zero1": 0.0, "zero2": 0.0, "late": LATE, "lag": 0.0, "gain2": 1.0}
    start = fit.Start.from_channels(np.zeros(2), np.zeros(2))
    numbers = {**PUBLISHED, **none, **parameters}
    return fit.Model(SYSTEM, SENSORS, numbers, start, STEP, inputs=INPUTS)


def _zeros() -> dict[str, Any]:
    """Zeros of angles, other ones in each record."""
    return {f"zero{i}": fit.real(0.0, "rad", scale=0.01, per_trial=True) for i in (1, 2)}


def drives(folder: pathlib.Path, tiny: bool = False) -> Iterator[Figure]:
    """Fitted on two records, tested on the third; the published numbers beside."""
    until = 1.0 if tiny else 10.0
    first, test, second = (_read(folder, k, until) for k in range(3))
    free = {
        "I1": fit.positive(PUBLISHED["I1"], "kg m2"),
        "I2": fit.positive(PUBLISHED["I2"], "kg m2"),
        "m2": fit.positive(PUBLISHED["m2"], "kg"),
        "r2": fit.positive(PUBLISHED["r2"], "m"),
        "Ir": fit.positive(PUBLISHED["Ir"], "kg m2"),
        "l1": fit.positive(PUBLISHED["l1"], "m"),
        "gain2": fit.positive(1.0),
        "late": fit.real(LATE, "s", scale=0.005),
        "lag": fit.real(0.0, "s", scale=0.001),
    }
    free |= {f"k{i}": fit.real(0.001, "N m s", scale=0.001) for i in (1, 2)}
    free |= {f"c{i}": fit.real(PUBLISHED[f"c{i}"], "N m", scale=0.1) for i in (1, 2)}
    options = {"window": WINDOW, "joined": False, "progress": False, "throw": False}
    if tiny:
        options["max_iterations"] = 2
    begun = time.perf_counter()
    ours = fit.estimate(_model(free | _zeros()), [first, second], **options)
    yield note("two drives: how it ended", ours.message)
    left = fit.rms_of(ours.predict([test]))
    seconds = time.perf_counter() - begun
    for i, target in enumerate(TARGET, 1):
        what = f"two drives, fitted on 00 and 02, tested on 01: rms of angle {i} (rad)"
        yield at_most(what, left[f"pos_meas{i}"], target, ".5f")
    yield note(
        "two drives: iterations; s, cold, fit and test", f"{len(ours.history)}; {seconds:.0f}"
    )
    windows = len(ours.problem.owners)
    for one in ours.findings().estimates:
        if one.name in ("Ir", "c1", "c2", "k1", "k2", "late"):
            half = float(scipy.stats.t.ppf(0.975, windows - 1)) * one.correlated_error
            words = f"{one.value:.4g}; {one.value - half:.4g} to {one.value + half:.4g}"
            what = f"two drives: {one.name}; 95 %, clustered by {windows} windows"
            yield note(what, f"{words}; standard error of white residuals {one.error:.2g}")
    theirs = fit.estimate(_model(_zeros()), [test], **options)
    own = fit.rms_of(theirs.findings().trials)
    for i, known in enumerate(THEIRS, 1):
        what = f"two drives, published numbers, zeros free, on 01: rms of angle {i} (rad)"
        yield note(what, f"{own[f'pos_meas{i}']:.5f} (by others {known})")
