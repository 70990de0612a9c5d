"""A chaotic double pendulum in Cartesian coordinates, watched for 20 s."""

import math
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

import jaxspark
from jaxspark import fit

from ._problem import Channels, FitProblem, integrate, Numbers, Trial


TRUTH = {"mass_ratio": 0.6, "length1": 1.0, "length2": 0.8, "gravity": 9.81, "drag": 0.02}
"""Mass of the outer bob over that of the inner, which is 1 kg; lengths of the rods (m);
gravity (m/s^2); drag of each bob (N s/m)."""

GUESS = {"mass_ratio": 0.7, "length1": 1.12, "length2": 0.7, "gravity": 11.0, "drag": 0.024}
UNITS = {"mass_ratio": "", "length1": "m", "length2": "m", "gravity": "m/s^2", "drag": "N s/m"}
START = np.array([1.9, 1.9, 0.0, 0.0])
TIMES = np.linspace(0.0, 20.0, 1001)


def lagrangian(t, y, z, args):
    """Two bobs under gravity along -y (J)."""
    del t
    inner = 0.5 * jnp.sum(z[:2] ** 2) - args["gravity"] * y[1]
    outer = 0.5 * jnp.sum(z[2:] ** 2) - args["gravity"] * y[3]
    return inner + args["mass_ratio"] * outer


def rods(t, y, args):
    """Both rods, shape `(2,)` (m)."""
    del t
    inner, outer = jnp.linalg.norm(y[:2]), jnp.linalg.norm(y[2:] - y[:2])
    return jnp.stack([inner - args["length1"], outer - args["length2"]])


def drag(t, y, z, args):
    """On both bobs, against their velocities (N)."""
    del t, y
    return -args["drag"] * z


def observe(t, y, z, lam, psi, args):
    """The positions of both bobs (m)."""
    del t, z, lam, psi, args
    return {"x1": y[0], "y1": y[1], "x2": y[2], "y2": y[3]}


def state(start, args):
    """Of the angles of the rods from hanging down (rad), and their rates (rad/s)."""
    y, z = [], []
    end = end_rate = jnp.zeros(2, start.dtype)
    for angle, rate, name in ((start[0], start[2], "length1"), (start[1], start[3], "length2")):
        length = args[name]
        end = end + length * jnp.stack([jnp.sin(angle), -jnp.cos(angle)])
        end_rate = end_rate + length * rate * jnp.stack([jnp.cos(angle), jnp.sin(angle)])
        y, z = [*y, end], [*z, end_rate]
    return jnp.concatenate(y), jnp.concatenate(z)


def derivative(_, x, args: dict[str, Any]) -> list[float]:
    """Of both angles and rates, by Lagrange's equations in angles."""
    one, two, rate1, rate2 = (float(entry) for entry in x)
    a, b, ratio = args["length1"], args["length2"], args["mass_ratio"]
    gravity, c = args["gravity"], args["drag"]
    cosine, sine = math.cos(one - two), math.sin(one - two)
    m11, m12, m22 = (1 + ratio) * a * a, ratio * a * b * cosine, ratio * b * b
    f1 = -ratio * a * b * sine * rate2**2 - (1 + ratio) * gravity * a * math.sin(one)
    f2 = ratio * a * b * sine * rate1**2 - ratio * gravity * b * math.sin(two)
    f1 -= c * (2 * a * a * rate1 + a * b * cosine * rate2)
    f2 -= c * (b * b * rate2 + a * b * cosine * rate1)
    determinant = m11 * m22 - m12 * m12
    return [rate1, rate2, (m22 * f1 - m12 * f2) / determinant, (m11 * f2 - m12 * f1) / determinant]


def reduced(trial: Trial, start: Numbers, args: dict[str, Any]) -> Channels:
    """The channels from the two angles; at 1e-13, for errors grow by chaos."""
    one, two, *_ = integrate(lambda t, x: derivative(t, x, args), start, trial.times, 1e-13)
    x1, y1 = args["length1"] * np.sin(one), -args["length1"] * np.cos(one)
    x2, y2 = x1 + args["length2"] * np.sin(two), y1 - args["length2"] * np.cos(two)
    return {"x1": x1, "y1": y1, "x2": x2, "y2": y2}


def start_from(record: fit.Record, samples: int = 16) -> Float[np.ndarray, " 4"]:
    """Angles and rates at the first sample, from parabolas through the first samples.

    **Arguments:**

    - `record`: with the channels `x1`, `y1`, `x2`, `y2`.
    - `samples`: how many of its first samples are used. With noise of 1 % of each channel's
        deviation 16 are best: angles to 0.01 rad, rates to 0.1 rad/s (root mean square).
    """
    times = record.times[:samples] - record.times[0]
    x1, y1, x2, y2 = (record.channels[name][:samples] for name in ("x1", "y1", "x2", "y2"))
    angles = [np.unwrap(np.arctan2(*pair)) for pair in ((x1, -y1), (x2 - x1, y1 - y2))]
    fitted = [np.polynomial.polynomial.polyfit(times, angle, 2) for angle in angles]
    return np.array([fitted[0][0], fitted[1][0], fitted[0][1], fitted[1][1]])


def growth(duration: float = 20.0, apart: float = 1e-8) -> Float[np.ndarray, "n 2"]:
    """How fast two motions separate that start `apart` (rad): times, and distance over `apart`.

    The distance is between angles and rates. As long as it is small, it grows like that of
    infinitely near motions.
    """
    times = np.linspace(0.0, duration, round(10 * duration) + 1)

    def motion(start):
        return integrate(lambda t, x: derivative(t, x, TRUTH), start, times, 1e-13)

    difference = motion(START + apart * np.eye(4)[0]) - motion(START)
    return np.stack([times, np.linalg.norm(difference, axis=0) / apart], 1)


def lyapunov(duration: float = 200.0, apart: float = 1e-8, drag: float = 0.0) -> float:
    """The largest Lyapunov exponent (1/s), by default of the motion without drag.

    The nearby motion is brought back to the distance `apart` every half second.

    Source: G. Benettin, L. Galgani & J.-M. Strelcyn, *Kolmogorov entropy and numerical
    experiments*.
    """
    args, total, count = {**TRUTH, "drag": drag}, 0.0, round(2 * duration)
    times = np.array([0.0, 0.5])

    def advance(x):
        return integrate(lambda t, x: derivative(t, x, args), x, times, 1e-11)[:, -1]

    main, near = START, START + apart * np.eye(4)[0]
    for _ in range(count):
        main, near = advance(main), advance(near)
        distance = float(np.linalg.norm(near - main))
        total += math.log(distance / apart)
        near = main + (near - main) * apart / distance
    return total / (0.5 * count)


def specs() -> dict[str, Any]:
    """Five positive numbers."""
    return {name: fit.positive(x, UNITS[name]) for name, x in GUESS.items()}


def double_pendulum() -> FitProblem:
    """Two bobs, four coordinates, two rods; 20 s at 50 Hz, released at rest from high up.

    The guess of the start is about as good as what `start_from` finds in a record.
    """
    return FitProblem(
        name="double pendulum",
        system=jaxspark.LagrangianSystem(lagrangian, holonomic=rods, force=drag),
        observe=observe,
        truth=TRUTH,
        guess=GUESS,
        specs=specs,
        trials=(Trial("released", TIMES, START, START + np.array([0.02, -0.02, -0.1, 0.1])),),
        state=state,
        reduced=reduced,
        units={"x1": "m", "y1": "m", "x2": "m", "y2": "m"},
        method=jaxspark.Gauss(5),
    )
