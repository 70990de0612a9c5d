"""The record of a bicycle's fork that swings on a knife edge, as an identification."""

import importlib.resources
from dataclasses import dataclass
from typing import Any

import jaxspark
from jaxspark import fit
from jaxspark._main._identify import LENGTH, MASS
from jaxspark._main._model import observe, PENDULUM, position, UNITS, velocity
from jaxspark._main._record import load_record
from jaxspark._main._start import fit_damped_sine, starting_values


@dataclass(frozen=True, eq=False)
class Fork:
    """A real record, of which no truth is known, and a model of it.

    - `name`: of the model.
    - `system`: the pendulum of the main job; its functions take `args` as `specs` make them.
    - `observe`: `observe(t, y, z, lam, psi, args)`, the voltage of the gyroscope (V).
    - `specs`: `args` in which specifications stand for what is unknown.
    - `state`: `state(start, args)`, consistent `(y0, z0)` of angle and rate; traceable.
    - `guess`: of angle (rad) and rate (rad/s) at the first sample.
    - `record`: the measurement, 100 Hz.
    """

    name: str
    system: jaxspark.LagrangianSystem
    observe: Any
    specs: dict[str, Any]
    state: Any
    guess: tuple[float, float]
    record: fit.Record


def fork_record() -> fit.Record:
    """The built-in record."""
    folder = importlib.resources.files("jaxspark._main") / "data"
    with importlib.resources.as_file(folder / "fork_pendulum_gyro.csv") as path:
        return fit.read_csv(path, channels=["gyro_volt"], units={"gyro_volt": "V"})


def system(dry: bool) -> jaxspark.LagrangianSystem:
    """The fork in Cartesian coordinates, its knife edge a constraint on velocities.

    **Arguments:**

    - `dry`: whether there is dry friction, in proportion to the force at the edge.
    """
    if dry:
        return PENDULUM
    return jaxspark.LagrangianSystem(
        PENDULUM.lagrangian, nonholonomic=PENDULUM.nonholonomic, force=PENDULUM.force
    )


def state(start, args):
    """Of the angle and its rate, with the edge at the origin."""
    swinging = {**args, "angle": start[0], "rate": start[1]}
    return position(swinging), velocity(swinging)


def fork(dry: bool = True) -> Fork:
    """The model with dry and viscous friction, or with viscous friction alone.

    It starts from a damped sine, as the main job does.

    **Arguments:**

    - `dry`: whether there is dry friction.
    """
    sine = fit_damped_sine(load_record())
    values = starting_values(sine, LENGTH)
    damping = values["damping"] if dry else 2 * sine.decay
    specs = {
        "frequency": fit.positive(values["frequency"], UNITS["frequency"]),
        "damping": fit.positive(damping, UNITS["damping"]),
        "gain": fit.positive(values["gain"], UNITS["gain"]),
        "bias": fit.real(values["bias"], UNITS["bias"]),
        "length": fit.fixed(LENGTH, "m"),
        "mass": fit.fixed(MASS, "kg"),
    }
    if dry:
        specs["friction"] = fit.positive(values["friction"], UNITS["friction"])
    return Fork(
        name="dry and viscous" if dry else "viscous alone",
        system=system(dry),
        observe=observe,
        specs=specs,
        state=state,
        guess=(values["angle"], values["rate"]),
        record=fork_record(),
    )
