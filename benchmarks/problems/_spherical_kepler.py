"""Kepler's problem on a sphere: eccentric orbits of a constrained particle."""

import jax.numpy as jnp
import numpy as np

import jaxspark

from ._problem import Problem


def lagrangian(t, q, v, args):
    """Kinetic minus potential energy (J) of a unit mass; `V = -mu cot(angle to the pole)`."""
    del t
    distance = jnp.sqrt(q[0] ** 2 + q[1] ** 2)
    return 0.5 * jnp.sum(v**2) + args["mu"] * q[2] / distance


def holonomic(t, q, args):
    """The unit sphere, `(|q|^2 - 1) / 2`, shape `(1,)`."""
    del t, args
    return 0.5 * (jnp.sum(q**2, keepdims=True) - 1)


def scale(t, q, args):
    """A step size in proportion to the distance from the centre, to the power 3/2."""
    del t, args
    return (q[0] ** 2 + q[1] ** 2) ** 0.75


def spherical_kepler() -> Problem:
    """`y = (x, y, z)`: closed orbits about the north pole; started where farthest from it.

    All bounded orbits are closed, as in the plane; this one passes the pole at a tenth of its
    largest distance. Integrable and reversible.

    Source: V. V. Kozlov & A. O. Harin, *Kepler's problem in constant curvature spaces*,
    Celestial Mechanics 54 (1992).
    """
    angle = 0.4
    return Problem(
        name="spherical_kepler",
        system=jaxspark.LagrangianSystem(lagrangian, holonomic=holonomic),
        t0=0.0,
        t_end=10.0,
        y0=np.array([np.sin(angle), 0.0, np.cos(angle)]),
        z0=np.array([0.0, 0.7, 0.0]),
        args={"mu": 1.0},
        reference=None,
    )
