"""A knife edge on an inclined plane."""

import jax.numpy as jnp
import numpy as np

import jaxspark

from ._problem import Problem, reference_loader


def lagrangian(t, q, v, args):
    """Kinetic minus potential energy (J); `x` points downhill."""
    del t
    kinetic = 0.5 * (args["m"] * jnp.sum(v[:2] ** 2) + args["J"] * v[2] ** 2)
    return kinetic + args["m"] * args["g"] * args["sin_alpha"] * q[0]


def nonholonomic(t, q, v, args):
    """No motion across the edge, `x' sin(phi) - y' cos(phi)`, shape `(1,)`."""
    del t, args
    return v[:1] * jnp.sin(q[2]) - v[1:2] * jnp.cos(q[2])


def skate_incline() -> Problem:
    """Spinning at 1.5 rad/s, otherwise at rest; `y = (x, y, phi)`, 20 s.

    Source: A. M. Bloch, *Nonholonomic Mechanics and Control*, section 1.6. Exact, with
    `A = g / (4 Om^2)`: `x = A sin^2(Om t)`, `y = A (Om t - sin(2 Om t) / 2)`, so that on
    the average it does not slide down.
    """
    return Problem(
        name="skate_incline",
        system=jaxspark.LagrangianSystem(lagrangian, nonholonomic=nonholonomic),
        t0=0.0,
        t_end=20.0,
        y0=np.zeros(3),
        z0=np.array([0.0, 0.0, 1.5]),
        args={"m": 1.25, "J": 0.13, "g": 9.81, "sin_alpha": 0.5},
        reference=reference_loader("skate_incline"),
    )
