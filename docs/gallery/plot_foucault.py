"""
Foucault's pendulum
===================

A long pendulum on an earth that rotates far too fast: the plane of the swing turns the other way.
"""

import jax
import jax.numpy as jnp
import numpy as np

import jaxspark
from jaxspark import pictures


jax.config.update("jax_enable_x64", True)

TURN = jnp.array([0.0, 0.0, 0.12])  # angular velocity of the ground (rad/s)
LENGTH = 10.0


def lagrangian(t, q, v, args):  # q is seen from the ground
    speed = v + jnp.cross(TURN, q)
    return 0.5 * jnp.sum(speed**2) - 9.81 * q[2]


pendulum = jaxspark.LagrangianSystem(
    lagrangian, holonomic=lambda t, q, args: jnp.linalg.norm(q) - LENGTH
)
start = jnp.array([4.0, 0.0, -np.sqrt(LENGTH**2 - 4.0**2)])
motion = jaxspark.solve(pendulum, start, jnp.zeros(3), t1=26.0, ts=jnp.linspace(0, 26, 521))
film = pictures.animate(
    motion,
    lambda t, q: {"wire": jnp.stack([0 * q, q])},
    trace="wire",
    seconds=6,
    fps=16,
    pixels=280,
    limits=((-5, 5), (-5, 5), (-11, 0)),
    view=(35.0, -60.0),
)
