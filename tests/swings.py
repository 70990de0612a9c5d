"""A pendulum on a rod, and swings of it from the equation of its angle, by SciPy."""

import jax.numpy as jnp
import numpy as np
import scipy.integrate

import jaxspark
from jaxspark import fit


GRAVITY = 9.81
TRUTH = {"length": 0.8, "drag": 0.3}
NOISE = {"angle": 0.01, "rate": 0.05}
UNITS = {"angle": "rad", "rate": "rad/s"}


def lagrangian(t, y, z, args):
    """Of a bob of 1 kg."""
    del t, args
    return 0.5 * jnp.sum(z**2) - GRAVITY * y[1]


def rod(t, y, args):
    del t
    return jnp.linalg.norm(y) - args["length"]


def drag(t, y, z, args):
    del t, y
    return -args["drag"] * z


def observe(t, y, z, lam, psi, args):
    del t, lam, psi, args
    return {"angle": jnp.arctan2(y[0], -y[1]), "rate": (y[0] * z[1] - y[1] * z[0]) / jnp.sum(y**2)}


PENDULUM = jaxspark.LagrangianSystem(lagrangian, holonomic=rod, force=drag)


def specs():
    return {"length": fit.positive(0.9, "m"), "drag": fit.positive(0.2, "N s/m")}


def state(angle, rate, length=0.9):
    """Coordinates and velocities."""
    along = np.array([np.sin(angle), -np.cos(angle)])
    return length * along, length * rate * np.array([-along[1], along[0]])


def model(*starts, parameters=None, step=0.05, method=jaxspark.Gauss(2), **options):
    """A model whose trials start from guesses of angle and rate."""
    states = [state(*start) for start in starts]
    start = fit.Start([y for y, _ in states], [z for _, z in states])
    options = {"system": PENDULUM, "observe": observe, "start": start, **options}
    return fit.Model(parameters=parameters or specs(), step=step, method=method, **options)


def swing(times, angle, rate, length=0.8, drag=0.3):
    """Angle and rate at times."""

    def derivative(_, x):
        return [x[1], -GRAVITY / length * np.sin(x[0]) - drag * x[1]]

    solution = scipy.integrate.solve_ivp(
        derivative, (times[0], times[-1]), [angle, rate], method="DOP853", t_eval=times,
        rtol=1e-12, atol=1e-13,
    )  # fmt: skip
    return {"angle": solution.y[0], "rate": solution.y[1]}


def record(times, angle, rate, seed=None, name="swing", missing=(), **truth):
    """A record of a swing, with noise if there is a seed."""
    channels = swing(times, angle, rate, **truth)
    if seed is not None:
        rng = np.random.default_rng(seed)
        channels = {k: x + NOISE[k] * rng.standard_normal(x.size) for k, x in channels.items()}
    for key, where in missing:
        channels[key][where] = np.nan
    allowed = "allow" if missing else "error"
    return fit.record(times, channels, name=name, units=UNITS, missing=allowed)


def pivot(t, y, args):
    """The rod hangs from a pivot that moves along x, which is measured."""
    return jnp.linalg.norm(y - hung(t, args)) - args["length"]


def hung(t, args):
    return jnp.stack([args["inputs"]["pivot"](t), jnp.zeros_like(t)])


def wind(t, y, z, args):
    return jnp.stack([args["inputs"]["wind"](t), jnp.zeros_like(t)]) - args["drag"] * z


DRIVEN = jaxspark.LagrangianSystem(lagrangian, holonomic=pivot, force=wind)


def from_pivot(t, y, z, lam, psi, args):
    arm = y - hung(t, args)
    return {"angle": jnp.arctan2(arm[0], -arm[1])}


def driven(times, angle, rate, motion, wind, length=0.9, drag=0.2):
    """Angle and rate from the equation of motion in the frame of the pivot.

    The drag is that in the frame at rest. `motion` has the speed and the acceleration of the pivot.
    """

    def derivative(t, x):
        speed, acceleration = motion(t)
        push = wind(t) - acceleration - drag * speed
        turn = (push * np.cos(x[0]) - GRAVITY * np.sin(x[0])) / length - drag * x[1]
        return [x[1], turn]

    return scipy.integrate.solve_ivp(
        derivative, (times[0], times[-1]), [angle, rate], method="DOP853", t_eval=times,
        rtol=1e-12, atol=1e-13,
    ).y  # fmt: skip
