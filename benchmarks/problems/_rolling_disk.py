"""An upright disk that rolls on a plane without slipping."""

import jax.numpy as jnp
import numpy as np

import jaxspark

from ._problem import Problem, reference_loader


def lagrangian(t, q, v, args):
    """The kinetic energy (J)."""
    del t, q
    translation = args["m"] * jnp.sum(v[:2] ** 2)
    return 0.5 * (translation + args["J"] * v[2] ** 2 + args["I"] * v[3] ** 2)


def nonholonomic(t, q, v, args):
    """No slip: `(x' - R cos(phi) th', y' - R sin(phi) th')`, shape `(2,)`."""
    del t
    heading = jnp.stack([jnp.cos(q[2]), jnp.sin(q[2])])
    return v[:2] - args["R"] * v[3] * heading


def rolling_disk() -> Problem:
    """`y = (x, y, heading phi, roll th)`, 20 s; the disk runs on a circle.

    Source: A. M. Bloch, *Nonholonomic Mechanics and Control*, section 1.4. Exact, with
    `rho = R th' / phi'`: `x = 1 + rho (sin phi - sin 0.3)`, `y = -rho (cos phi - cos 0.3)`.
    """
    heading, turn, roll, radius = 0.3, 0.8, 3.0, 0.5
    along = radius * roll * np.array([np.cos(heading), np.sin(heading)])
    return Problem(
        name="rolling_disk",
        system=jaxspark.LagrangianSystem(lagrangian, nonholonomic=nonholonomic),
        t0=0.0,
        t_end=20.0,
        y0=np.array([1.0, 0.0, heading, 0.0]),
        z0=np.array([*along, turn, roll]),
        args={"m": 2.0, "R": radius, "I": 0.25, "J": 0.125},
        reference=reference_loader("rolling_disk"),
    )
