"""A charged nonholonomic particle in a magnetic field."""

import jax.numpy as jnp
import numpy as np

import jaxspark

from ._nonholonomic_particle import nonholonomic
from ._problem import Problem


def lagrangian(t, q, v, args):
    """Unit mass in `V = (x^2 + y^2 + z^2) / 2` and a vector potential `A` (J)."""
    del t
    x, y, z = q
    potential = jnp.stack([-y * (1 + 0.5 * x), x * jnp.cos(z), jnp.zeros_like(x)])
    return 0.5 * (jnp.sum(v**2) - jnp.sum(q**2)) + args["charge"] * jnp.sum(potential * v)


def magnetic_particle() -> Problem:
    """`y = (x, y, z)` with `z' = y x'`, 100 s.

    Energy is conserved, but motion backward in time is another. The field, which is not
    homogeneous, turns the velocity and does no work. Without the symmetry `v -> -v` nothing is
    known to bound the energy error of a symmetric method.

    Source: made up, after K. Modin & O. Verdier, *What makes nonholonomic integrators work?*,
    Numer. Math. 145 (2020), who perturb reversible systems.
    """
    return Problem(
        name="magnetic_particle",
        system=jaxspark.LagrangianSystem(lagrangian, nonholonomic=nonholonomic),
        t0=0.0,
        t_end=100.0,
        y0=np.array([1.0, 0.5, 0.0]),
        z0=np.array([0.2, 1.0, 0.1]),
        args={"charge": 0.5},
        reference=None,
    )
