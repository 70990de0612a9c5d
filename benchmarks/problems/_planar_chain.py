"""A planar chain of point masses on massless rods, of any length."""

import jax.numpy as jnp
import numpy as np

import jaxspark

from ._problem import Problem


def lagrangian(t, q, v, args):
    """Kinetic minus potential energy (J)."""
    del t
    m = jnp.asarray(args["masses"], q.dtype)
    points, velocities = q.reshape(-1, 2), v.reshape(-1, 2)
    kinetic = 0.5 * jnp.sum(m * jnp.sum(velocities**2, axis=1))
    return kinetic - args["gravity"] * jnp.sum(m * points[:, 1])


def holonomic(t, q, args):
    """`(|r_i - r_{i-1}|^2 - l_i^2) / 2` with `r_0 = 0`, shape `(n,)`."""
    del t
    points = q.reshape(-1, 2)
    before = jnp.concatenate([jnp.zeros((1, 2), q.dtype), points[:-1]])
    lengths = jnp.asarray(args["lengths"], q.dtype)
    return 0.5 * (jnp.sum((points - before) ** 2, axis=1) - lengths**2)


def planar_chain(n: int = 4) -> Problem:
    """`n` unit masses on unit rods, `y = (x_1, y_1, ..., x_n, y_n)`, one second.

    Released at rest from the horizontal, slightly bent: the rods alternate between 0.1 rad
    below and above it, so that no rod is without load.

    **Arguments:**

    - `n`: the number of masses.

    Source: the n-link pendulum in Cartesian coordinates, e.g. E. Hairer & G. Wanner,
    *Solving Ordinary Differential Equations II*, VII.1.
    """
    angle = 0.1 * (-1.0) ** np.arange(1, n + 1)
    rods = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return Problem(
        name=f"planar_chain_n{n}",
        system=jaxspark.LagrangianSystem(lagrangian, holonomic=holonomic),
        t0=0.0,
        t_end=1.0,
        y0=np.cumsum(rods, axis=0).reshape(-1),
        z0=np.zeros(2 * n),
        args={"masses": np.ones(n), "lengths": np.ones(n), "gravity": 9.81},
        reference=None,
    )
