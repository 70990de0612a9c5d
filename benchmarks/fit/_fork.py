"""The record of a bicycle's fork that swings on a knife edge, as an identification."""

import importlib.resources
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp

import jaxspark
from jaxspark import fit
from jaxspark._main._identify import LENGTH, MASS
from jaxspark._main._model import arm, Body, body, Parameters, PENDULUM
from jaxspark._main._record import load_record
from jaxspark._main._start import fit_damped_sine, starting_values


UNITS = {"frequency": "rad/s", "friction": "m", "damping": "1/s", "gain": "V s/rad", "bias": "V"}


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


def _body(args: dict[str, Any]) -> Body:
    """Of the main job, from `args`."""
    friction = args.get("friction", jnp.zeros_like(args["frequency"]))
    zero = jnp.zeros_like(friction)
    parameters = Parameters(
        frequency=args["frequency"], friction=friction, damping=args["damping"], gain=zero,
        bias=zero, angle=zero, rate=zero, length=args["length"],
    )  # fmt: skip
    return body(parameters, args["mass"])


def system(dry: bool) -> jaxspark.LagrangianSystem:
    """The fork in Cartesian coordinates, its knife edge a constraint on velocities.

    **Arguments:**

    - `dry`: whether there is dry friction, in proportion to the force at the edge.
    """
    own, options = PENDULUM, {}
    assert own.nonholonomic is not None and own.force is not None and own.nonideal is not None
    edge, viscous, dry_law = own.nonholonomic, own.force, own.nonideal
    if dry:
        options = {"nonideal": lambda t, y, z, psi, args: dry_law(t, y, z, psi, _body(args))}
    return jaxspark.LagrangianSystem(
        lambda t, y, z, args: own.lagrangian(t, y, z, _body(args)),
        nonholonomic=lambda t, y, z, args: edge(t, y, z, _body(args)),
        force=lambda t, y, z, args: viscous(t, y, z, _body(args)),
        **options,
    )


def observe(t, y, z, lam, psi, args):
    """The voltage of the gyroscope (V)."""
    del t, y, lam, psi
    return {"gyro_volt": args["bias"] + args["gain"] * z[2]}


def state(start, args):
    """Of the angle and its rate, with the edge at the origin."""
    x, y = arm(start[0], args["length"])
    return jnp.stack([x, y, start[0]]), jnp.stack([-y * start[1], x * start[1], start[1]])


def fork(dry: bool = True) -> Fork:
    """The model with dry and viscous friction, or with viscous friction alone.

    It starts from a damped sine, as the main job does.

    **Arguments:**

    - `dry`: whether there is dry friction.
    """
    sine = fit_damped_sine(load_record())
    values = Parameters(*starting_values(sine, LENGTH).tolist())
    damping = values.damping if dry else 2 * sine.decay
    specs = {
        "frequency": fit.positive(values.frequency, UNITS["frequency"]),
        "damping": fit.positive(damping, UNITS["damping"]),
        "gain": fit.positive(values.gain, UNITS["gain"]),
        "bias": fit.real(values.bias, UNITS["bias"]),
        "length": fit.fixed(LENGTH, "m"),
        "mass": fit.fixed(MASS, "kg"),
    }
    if dry:
        specs["friction"] = fit.positive(values.friction, UNITS["friction"])
    return Fork(
        name="dry and viscous" if dry else "viscous alone",
        system=system(dry),
        observe=observe,
        specs=specs,
        state=state,
        guess=(float(values.angle), float(values.rate)),
        record=fork_record(),
    )
