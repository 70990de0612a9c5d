"""A particle kept at constant speed: a constraint nonlinear in the velocity."""

import jax.numpy as jnp
import numpy as np

import jaxspark

from ._pendulum import lagrangian
from ._problem import Problem, reference_loader


def nonholonomic(t, q, v, args):
    """Constant speed, `(|v|^2 - c^2) / 2`, shape `(1,)`."""
    del t, q
    return 0.5 * (jnp.sum(v**2, keepdims=True) - args["c"] ** 2)


def isokinetic() -> Problem:
    """Thrown upward at 60 degrees under gravity; `y = (x, y)`, two seconds.

    Source: the isokinetic (Gaussian) thermostat of molecular dynamics, D. J. Evans & G. P.
    Morriss, *Statistical Mechanics of Nonequilibrium Liquids*, section 5.2, for a single
    particle. Exact, with `s = artanh(sin(pi/3)) - g t / c`: `z = c (sech s, tanh s)`.
    """
    angle = np.pi / 3
    return Problem(
        name="isokinetic",
        system=jaxspark.LagrangianSystem(lagrangian, nonholonomic=nonholonomic),
        t0=0.0,
        t_end=2.0,
        y0=np.zeros(2),
        z0=3.0 * np.array([np.cos(angle), np.sin(angle)]),
        args={"m": 1.0, "g": 9.81, "c": 3.0},
        reference=reference_loader("isokinetic"),
    )
