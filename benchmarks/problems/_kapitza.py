"""Kapitza's pendulum: upright on a fast vibrating pivot."""

import jax.numpy as jnp
import numpy as np

import jaxspark

from ._pendulum import lagrangian
from ._problem import Problem, reference_loader


def holonomic(t, q, args):
    """The rod from the pivot at height `A cos(W t)`, shape `(1,)`."""
    pivot = args["A"] * jnp.cos(args["W"] * t)
    return 0.5 * (q[:1] ** 2 + (q[1:] - pivot) ** 2 - args["l"] ** 2)


def kapitza() -> Problem:
    """Released at rest 0.1 rad off the vertical; `y = (x, y)`, 80 periods of the drive.

    Source: P. L. Kapitza, *Pendulum with a vibrating suspension*, Usp. Fiz. Nauk 44 (1951).
    """
    return Problem(
        name="kapitza",
        system=jaxspark.LagrangianSystem(lagrangian, holonomic=holonomic),
        t0=0.0,
        t_end=5.0,
        y0=np.array([np.sin(0.1), np.cos(0.1) + 0.1]),
        z0=np.zeros(2),
        args={"m": 1.0, "l": 1.0, "g": 9.81, "A": 0.1, "W": 100.0},
        reference=reference_loader("kapitza"),
    )
