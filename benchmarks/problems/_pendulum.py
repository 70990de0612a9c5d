"""A mathematical pendulum in Cartesian coordinates."""

import jax.numpy as jnp
import numpy as np

import jaxspark

from ._problem import Problem, reference_loader


def lagrangian(t, q, v, args):
    """Kinetic minus potential energy (J)."""
    del t
    return args["m"] * (0.5 * jnp.sum(v**2) - args["g"] * q[1])


def holonomic(t, q, args):
    """The rod, `(x^2 + y^2 - l^2) / 2`, shape `(1,)`."""
    del t
    return 0.5 * (jnp.sum(q**2, keepdims=True) - args["l"] ** 2)


def pendulum() -> Problem:
    """Released at rest from the horizontal; `y = (x, y)`, ten seconds.

    Source: IFToMM library of computational benchmark problems, A01. The exact solution is
    an elliptic function of modulus `k^2 = 1/2`.
    """
    return Problem(
        name="pendulum",
        system=jaxspark.LagrangianSystem(lagrangian, holonomic=holonomic),
        t0=0.0,
        t_end=10.0,
        y0=np.array([-1.0, 0.0]),
        z0=np.zeros(2),
        args={"m": 1.0, "l": 1.0, "g": 9.81},
        reference=reference_loader("pendulum"),
    )
