"""The nonholonomic particle in a harmonic potential."""

import jax.numpy as jnp
import numpy as np

import jaxspark

from ._problem import Problem, reference_loader


def lagrangian(t, q, v, args):
    """Kinetic minus potential energy (J); the potential is `stiffness (x^2 + y^2)`."""
    del t
    potential = args["stiffness"] * jnp.sum(q[:2] ** 2)
    return 0.5 * args["m"] * jnp.sum(v**2) - potential


def nonholonomic(t, q, v, args):
    """`z' - y x'`, shape `(1,)`."""
    del t, args
    return v[2:] - q[1] * v[:1]


def nonholonomic_particle() -> Problem:
    """Unit mass in `V = x^2 + y^2` with `z' = y x'`; `y = (x, y, z)`, 100 s.

    Source: L. Bates & J. Sniatycki, *Nonholonomic reduction*, Rep. Math. Phys. 32 (1993);
    the potential as in R. McLachlan & M. Perlmutter, *Integrators for nonholonomic
    mechanical systems*, J. Nonlinear Sci. 16 (2006).
    """
    return Problem(
        name="nonholonomic_particle",
        system=jaxspark.LagrangianSystem(lagrangian, nonholonomic=nonholonomic),
        t0=0.0,
        t_end=100.0,
        y0=np.array([1.0, 0.5, 0.0]),
        z0=np.array([0.2, 1.0, 0.1]),
        args={"m": 1.0, "stiffness": 1.0},
        reference=reference_loader("nonholonomic_particle"),
    )
