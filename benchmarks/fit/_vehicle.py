"""A robot on two driven wheels that roll without slip: torques known, radii and offset not."""

import math
from typing import Any

import jax.numpy as jnp
import numpy as np

import jaxspark
from jaxspark import fit

from ._problem import Channels, FitProblem, integrate, Numbers, Trial


KNOWN = {"mass": 12.0, "half_track": 0.25, "wheel_inertia": 0.01}
"""Mass (kg), half the distance of the wheels (m), moment of inertia of each (kg m^2)."""

TRUTH = {
    "radius_left": 0.1,
    "radius_right": 0.104,
    "offset": 0.08,
    "inertia": 0.6,
    "resistance": 0.03,
}
"""Radii of the wheels (m), distance of the centre of mass in front of the axle (m), moment of
inertia about it (kg m^2), resistance to rolling of each wheel (N m s)."""

GUESS = {
    "radius_left": 0.115,
    "radius_right": 0.09,
    "offset": 0.05,
    "inertia": 0.8,
    "resistance": 0.04,
}
UNITS = {
    "radius_left": "m",
    "radius_right": "m",
    "offset": "m",
    "inertia": "kg m^2",
    "resistance": "N m s",
}


def lagrangian(t, y, z, args):
    """`y` is the centre of mass, the heading, and the angles of both wheels (J)."""
    del t, y
    body = args["mass"] * (z[0] ** 2 + z[1] ** 2) + args["inertia"] * z[2] ** 2
    return 0.5 * (body + args["wheel_inertia"] * (z[3] ** 2 + z[4] ** 2))


def rolling(t, y, z, args):
    """The axle does not slide sideways, and the wheels do not slip; shape `(3,)` (m/s)."""
    del t
    cosine, sine = jnp.cos(y[2]), jnp.sin(y[2])
    ahead, aside = cosine * z[0] + sine * z[1], cosine * z[1] - sine * z[0]
    turning = args["half_track"] * z[2]
    return jnp.stack(
        [
            aside - args["offset"] * z[2],
            ahead - turning - args["radius_left"] * z[3],
            ahead + turning - args["radius_right"] * z[4],
        ]
    )


def drive(t, y, z, args):
    """Torques of the motors and resistance to rolling, on the wheels (N m)."""
    del y
    torques = [args["inputs"][name](t) for name in ("left", "right")]
    wheels = jnp.stack(torques) - args["resistance"] * z[3:]
    return jnp.concatenate([jnp.zeros_like(z[:3]), wheels])


def observe(t, y, z, lam, psi, args):
    """Position of the antenna above the centre of mass (m), heading (rad), gyroscope (rad/s)."""
    del t, lam, psi, args
    return {"x": y[0], "y": y[1], "heading": y[2], "gyro": z[2]}


def state(start, args):
    """Of the antenna's position, the heading, the axle's speed (m/s) and the yaw rate (rad/s)."""
    heading, speed, rate = start[2], start[3], start[4]
    cosine, sine = jnp.cos(heading), jnp.sin(heading)
    aside, turning = args["offset"] * rate, args["half_track"] * rate
    left, right = speed - turning, speed + turning
    wheels = jnp.stack([left / args["radius_left"], right / args["radius_right"]])
    moving = jnp.stack([cosine * speed - sine * aside, sine * speed + cosine * aside, rate])
    return jnp.concatenate([start[:3], jnp.zeros_like(wheels)]), jnp.concatenate([moving, wheels])


def reduced(trial: Trial, start: Numbers, args: dict[str, Any]) -> Channels:
    """The channels from speed and yaw rate, by Newton's law for thrusts and the side force."""
    m, w, j_wheel = args["mass"], args["half_track"], args["wheel_inertia"]
    left, right, d = args["radius_left"], args["radius_right"], args["offset"]
    # The inertia of the wheels, as seen by the speed and the yaw rate.
    m11 = m + j_wheel * (1 / left**2 + 1 / right**2)
    m12 = j_wheel * w * (1 / right**2 - 1 / left**2)
    m22 = args["inertia"] + m * d * d + j_wheel * w * w * (1 / left**2 + 1 / right**2)

    def derivative(t, state):
        _, _, heading, u, r = (float(entry) for entry in state)
        rate_left, rate_right = (u - w * r) / left, (u + w * r) / right
        thrust_left = (trial.inputs["left"](t) - args["resistance"] * rate_left) / left
        thrust_right = (trial.inputs["right"](t) - args["resistance"] * rate_right) / right
        f1 = m * d * r * r + thrust_left + thrust_right
        f2 = -m * d * u * r + w * (thrust_right - thrust_left)
        determinant = m11 * m22 - m12 * m12
        cosine, sine = math.cos(heading), math.sin(heading)
        return [
            u * cosine - d * r * sine, u * sine + d * r * cosine, r,
            (m22 * f1 - m12 * f2) / determinant, (m11 * f2 - m12 * f1) / determinant,
        ]  # fmt: skip

    x, y, heading, _, gyro = integrate(derivative, start, trial.times)
    return {"x": x, "y": y, "heading": heading, "gyro": gyro}


def specs() -> dict[str, Any]:
    """Five positive numbers; mass, track and inertia of the wheels are known."""
    return {**KNOWN, **{name: fit.positive(x, UNITS[name]) for name, x in GUESS.items()}}


def _torque(mean: float, waves: list[tuple[float, float, float]]):
    """A sum of sines (N m): amplitude, angular frequency, phase."""

    def torque(t):
        return mean + sum(size * np.sin(rate * t + phase) for size, rate, phase in waves)

    return torque


def vehicle() -> FitProblem:
    """Five coordinates and three constraints on velocities; two drives of 10 s at 50 Hz."""
    times = np.linspace(0.0, 10.0, 501)
    slalom = {
        "left": _torque(0.25, [(0.5, 1.3, 0.0), (0.2, 2.9, 0.4)]),
        "right": _torque(0.3, [(0.5, 1.3, 2.4), (0.2, 3.4, 1.0)]),
    }
    circle = {
        "left": _torque(0.1, [(0.3, 0.8, 0.5), (0.25, 2.1, 0.0)]),
        "right": _torque(0.35, [(0.3, 1.1, 0.0), (0.25, 2.6, 2.0)]),
    }
    return FitProblem(
        name="vehicle",
        system=jaxspark.LagrangianSystem(lagrangian, nonholonomic=rolling, force=drive),
        observe=observe,
        truth={**KNOWN, **TRUTH},
        guess=GUESS,
        specs=specs,
        trials=(
            Trial("slalom", times, np.zeros(5), np.zeros(5), slalom),
            Trial(
                "circle", times, np.array([1.0, -0.5, 0.7, 0.4, -0.2]),
                np.array([1.0, -0.5, 0.6, 0.3, 0.0]), circle,
            ),
        ),
        state=state,
        reduced=reduced,
        units={
            "x": "m", "y": "m", "heading": "rad", "gyro": "rad/s", "left": "N m", "right": "N m",
        },
        method=jaxspark.Gauss(3),
    )  # fmt: skip
