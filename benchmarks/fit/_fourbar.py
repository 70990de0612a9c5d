"""A four-bar linkage with spring and damper: eight parameters, two of them inside constraints."""

import math
from typing import Any

import jax.numpy as jnp
import numpy as np

import jaxspark
from jaxspark import fit

from ._fourbar_motion import acceleration, GRAVITY, GROUND, loop, slopes
from ._problem import Channels, FitProblem, integrate, Numbers, Trial


KNOWN = {"crank": 0.35, "crank_mass": 1.0}
TRUTH = {
    "coupler": 0.9,
    "rocker": 0.75,
    "coupler_mass": 1.2,
    "rocker_mass": 1.6,
    "crank_inertia": 0.08,
    "stiffness": 4.0,
    "rest": 1.2,
    "damping": 0.12,
}
"""Lengths (m), masses (kg), moment of inertia about the centre of mass (kg m^2), stiffness
(N m/rad), rest angle (rad) and damping (N m s) at the crank's pivot."""

GUESS = {
    "coupler": 0.99,
    "rocker": 0.68,
    "coupler_mass": 1.6,
    "rocker_mass": 1.1,
    "crank_inertia": 0.12,
    "stiffness": 5.2,
    "rest": 1.4,
    "damping": 0.18,
}
UNITS = {
    "coupler": "m",
    "rocker": "m",
    "coupler_mass": "kg",
    "rocker_mass": "kg",
    "crank_inertia": "kg m^2",
    "stiffness": "N m/rad",
    "rest": "rad",
    "damping": "N m s",
}


def _along(angle, length):
    return length * jnp.stack([jnp.cos(angle), jnp.sin(angle)])


def mass(t, y, args):
    """Masses and moments of inertia about the centres, shape `(9, 9)`."""
    del t, y
    m2, m3 = args["coupler_mass"], args["rocker_mass"]
    j2, j3 = m2 * args["coupler"] ** 2 / 12, m3 * args["rocker"] ** 2 / 12
    m1 = args["crank_mass"]
    return jnp.diag(jnp.stack([m1, m1, args["crank_inertia"], m2, m2, j2, m3, m3, j3]))


def force(t, y, z, args):
    """Weights (N), and the moment of spring and damper on the crank (N m), shape `(9,)`."""
    del t
    moment = -args["stiffness"] * (y[2] - args["rest"]) - args["damping"] * z[2]
    zero = jnp.zeros_like(moment)
    weights = [-GRAVITY * args[name] for name in ("crank_mass", "coupler_mass", "rocker_mass")]
    return jnp.stack([zero, weights[0], moment, zero, weights[1], zero, zero, weights[2], zero])


def joints(t, y, args):
    """Four revolute joints, shape `(8,)` (m)."""
    del t
    crank = _along(y[2], args["crank"] / 2)
    coupler = _along(y[5], args["coupler"] / 2)
    rocker = _along(y[8], args["rocker"] / 2)
    pivot = jnp.array([GROUND, 0.0], y.dtype)
    return jnp.concatenate(
        [
            y[0:2] - crank,
            y[0:2] + crank - y[3:5] + coupler,
            y[3:5] + coupler - y[6:8] - rocker,
            y[6:8] - rocker - pivot,
        ]
    )


def observe(t, y, z, lam, psi, args):
    """The angles of crank and rocker (rad)."""
    del t, z, lam, psi, args
    return {"crank": y[2], "rocker": y[8]}


def state(start, args):
    """Positions and velocities of the three bodies at an angle and a rate of the crank."""
    angle, rate = start[0], start[1]
    two, three = loop(jnp, angle, args)
    (two_1, three_1), _ = slopes(jnp, (angle, two, three), args)
    pivot = jnp.array([GROUND, 0.0], angle.dtype)
    y, z = [], []
    end, end_rate = jnp.zeros_like(pivot), jnp.zeros_like(pivot)
    links = (
        (angle, rate, args["crank"]),
        (two, two_1 * rate, args["coupler"]),
        (three, three_1 * rate, args["rocker"]),
    )
    for number, (own, own_rate, length) in enumerate(links):
        half = _along(own, length / 2)
        half_rate = own_rate * jnp.stack([-half[1], half[0]])
        if number == 2:
            end, end_rate = pivot, jnp.zeros_like(pivot)
        y += [end + half, own[None]]
        z += [end_rate + half_rate, own_rate[None]]
        end, end_rate = end + 2 * half, end_rate + 2 * half_rate
    return jnp.concatenate(y), jnp.concatenate(z)


def reduced(trial: Trial, start: Numbers, args: dict[str, Any]) -> Channels:
    """The channels from the equation of motion of the crank angle."""

    def derivative(_, x):
        angle, rate = float(x[0]), float(x[1])
        return [rate, acceleration(math, angle, rate, args)]

    angle = integrate(derivative, start, trial.times)[0]
    return {"crank": angle, "rocker": loop(np, angle, args)[1]}


def specs() -> dict[str, Any]:
    """The eight parameters as positive numbers; length and mass of the crank are known."""
    return {**KNOWN, **{name: fit.positive(x, UNITS[name]) for name, x in GUESS.items()}}


def _trial(name: str, start: list[float], guess: list[float]) -> Trial:
    return Trial(name, np.linspace(0.0, 3.0, 301), np.array(start), np.array(guess))


def four_bar() -> FitProblem:
    """Three bodies, nine coordinates, eight constraints; three trials of 3 s at 100 Hz."""
    return FitProblem(
        name="four-bar",
        system=jaxspark.MechanicalSystem(mass, force, holonomic=joints),
        observe=observe,
        truth={**KNOWN, **TRUTH},
        guess=GUESS,
        specs=specs,
        trials=(
            _trial("released", [-1.0, 0.0], [-0.9, 0.2]),
            _trial("pushed", [0.6, 9.0], [0.7, 8.1]),
            _trial("pushed back", [3.0, -6.0], [2.8, -6.6]),
        ),
        state=state,
        reduced=reduced,
        units={"crank": "rad", "rocker": "rad"},
        method=jaxspark.Gauss(3),
        steps=1,
    )
