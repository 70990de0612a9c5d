"""Fekete points: repelling, damped particles on the unit sphere."""

import jax.numpy as jnp
import numpy as np

import jaxspark

from ._problem import Problem, reference_loader


def lagrangian(t, q, v, args):
    """Kinetic energy minus the logarithmic potential of all pairs."""
    del t, args
    points = q.reshape(-1, 3)
    difference = points[:, None, :] - points[None, :, :]
    # A one on the diagonal, where the distance is zero, adds log(1) = 0, and no NaN to the
    # derivatives.
    distance = jnp.sum(difference**2, axis=2) + jnp.eye(points.shape[0], dtype=q.dtype)
    return 0.5 * jnp.sum(v**2) + 0.25 * jnp.sum(jnp.log(distance))


def damping(t, q, v, args):
    """Linear damping, shape `(60,)`."""
    del t, q
    return -args["alpha"] * v


def holonomic(t, q, args):
    """The sphere, `|p_i|^2 - 1`, shape `(20,)`."""
    del t, args
    return jnp.sum(q.reshape(-1, 3) ** 2, axis=1) - 1


def _rings():
    """Longitude and latitude (rad) of the 20 particles, on four circles of latitude."""
    rings = [
        (range(1, 4), np.pi / 13, 3 * np.pi / 8),
        (range(1, 8), np.pi / 29, np.pi / 8),
        (range(1, 7), np.pi / 7, -2 * np.pi / 15),
        (range(0, 4), np.pi / 17, -3 * np.pi / 10),
    ]
    for ring, offset, latitude in rings:
        for i in ring:
            yield 2 * np.pi * i / len(ring) + offset, latitude


def fekete() -> Problem:
    """20 particles, `y = (p_1, ..., p_20)` in space; dimensionless, as in the test set.

    At the equilibrium that is approached every multiplier is `19/4`.

    Source: F. Mazzia & C. Magherini, *Test Set for IVP Solvers*, Fekete problem (J. D.
    Pinter, W. J. H. Stortelder & J. J. B. de Swart, 1999).
    """
    a, b = np.array(list(_rings())).T
    points = np.stack([np.cos(a) * np.cos(b), np.sin(a) * np.cos(b), np.sin(b)], axis=1)
    return Problem(
        name="fekete",
        system=jaxspark.LagrangianSystem(lagrangian, holonomic=holonomic, force=damping),
        t0=0.0,
        t_end=1000.0,
        y0=points.reshape(-1),
        z0=np.zeros(60),
        args={"alpha": 0.5},
        reference=reference_loader("fekete"),
    )
