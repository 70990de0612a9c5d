"""A Chaplygin sleigh on an incline that tows a bob: both kinds of constraint."""

import jax.numpy as jnp
import numpy as np

import jaxspark

from . import _chaplygin_sleigh as sleigh
from ._problem import Problem, reference_loader


def mass(t, q, args):
    """The mass matrix: sleigh and bob, shape `(5, 5)`."""
    bob = args["mb"] * jnp.eye(2, dtype=q.dtype)
    coupling = jnp.zeros((3, 2), q.dtype)
    return jnp.block([[sleigh.mass(t, q[:3], args), coupling], [coupling.T, bob]])


def force(t, q, v, args):
    """Centrifugal force and gravity along `+x` (N, N, N m, N, N), shape `(5,)`."""
    del t
    m, mb, gs = args["m"], args["mb"], args["gs"]
    zero = jnp.zeros_like(q[2])
    gravity = jnp.stack([m * gs + zero, zero, -m * args["a"] * gs * jnp.sin(q[2])])
    on_sleigh = sleigh.centrifugal(q[:3], v[:3], args) + gravity
    return jnp.concatenate([on_sleigh, jnp.stack([mb * gs + zero, zero])])


def holonomic(t, q, args):
    """The rod from the hitch to the bob, `(|d|^2 - ell^2) / 2`, shape `(1,)`."""
    del t
    heading = jnp.stack([jnp.cos(q[2]), jnp.sin(q[2])])
    rod = q[3:] - q[:2] + args["b"] * heading
    return 0.5 * (jnp.sum(rod**2, keepdims=True) - args["ell"] ** 2)


def sleigh_tow() -> Problem:
    """Sleigh with `y = (x, y, phi, X, Y)`, the bob at `(X, Y)`; eight seconds.

    The hitch is `b` behind the blade, the rod of length `ell` has no mass, `gs` is the
    acceleration of gravity along the incline.

    Source: the sleigh of `chaplygin_sleigh` with an added bob; the equations are derived in
    the usual way, and checked against a reduction to quasi-velocities.
    """
    heading, rod, speed, turn, swing = 0.3, np.pi + 0.8, 1.0, 0.4, -0.2
    b, ell = 0.3, 0.8
    forward = np.array([np.cos(heading), np.sin(heading)])
    across = np.array([-np.sin(heading), np.cos(heading)])
    bob = -b * forward + ell * np.array([np.cos(rod), np.sin(rod)])
    bob_velocity = (
        speed * forward - b * turn * across + ell * swing * np.array([-np.sin(rod), np.cos(rod)])
    )
    return Problem(
        name="sleigh_tow",
        system=jaxspark.MechanicalSystem(mass, force, holonomic, sleigh.nonholonomic),
        t0=0.0,
        t_end=8.0,
        y0=np.array([0.0, 0.0, heading, *bob]),
        z0=np.array([*(speed * forward), turn, *bob_velocity]),
        args={"m": 1.0, "I": 0.3, "a": 0.2, "b": b, "ell": ell, "mb": 0.5, "gs": 2.0},
        reference=reference_loader("sleigh_tow"),
    )
