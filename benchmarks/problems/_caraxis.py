"""The car axis: an axle on springs on a bumpy road."""

import jax.numpy as jnp
import numpy as np

import jaxspark

from ._problem import Problem, reference_loader


def _road(t, args):
    """The right wheel's contact point, shape `(2,)` (m); the left one's is the origin."""
    height = args["r"] * jnp.sin(args["w"] * t)
    return jnp.stack([jnp.sqrt(args["L"] ** 2 - height**2), height])


def lagrangian(t, q, v, args):
    """Kinetic energy minus that of two unit springs and of gravity."""
    inertia = 0.5 * args["eps"] ** 2 * args["m"]
    left = jnp.sqrt(jnp.sum(q[:2] ** 2))
    right = jnp.sqrt(jnp.sum((q[2:] - _road(t, args)) ** 2))
    springs = 0.5 * ((left - args["L0"]) ** 2 + (right - args["L0"]) ** 2)
    return inertia * (0.5 * jnp.sum(v**2) - args["gr"] * (q[1] + q[3])) - springs


def holonomic(t, q, args):
    """The left spring is perpendicular to the chassis; the axle's length; shape `(2,)`."""
    perpendicular = jnp.sum(q[:2] * _road(t, args))
    length = jnp.sum((q[:2] - q[2:]) ** 2) - args["L"] ** 2
    return jnp.stack([perpendicular, length])


def caraxis() -> Problem:
    """`y = (xl, yl, xr, yr)`, three seconds; dimensionless, as in the test set.

    Source: F. Mazzia & C. Magherini, *Test Set for IVP Solvers*, problem car axis.
    """
    parameters = {"L": 1.0, "L0": 0.5, "eps": 0.01, "m": 10.0, "r": 0.1, "w": 10.0}
    return Problem(
        name="caraxis",
        system=jaxspark.LagrangianSystem(lagrangian, holonomic=holonomic),
        t0=0.0,
        t_end=3.0,
        y0=np.array([0.0, 0.5, 1.0, 0.5]),
        z0=np.array([-0.5, 0.0, -0.5, 0.0]),
        args={**parameters, "gr": 1.0},
        reference=reference_loader("caraxis"),
    )
