"""
Kapitza's pendulum
==================

The pivot shakes up and down so fast that the pendulum swings about the upright position.
"""

import jax
import jax.numpy as jnp
import numpy as np

import jaxspark
from jaxspark import pictures


jax.config.update("jax_enable_x64", True)

LENGTH, SHAKE, RATE = 1.0, 0.1, 60.0  # m, m, rad/s


def pivot(t):
    return jnp.stack([0.0 * t, SHAKE * jnp.cos(RATE * t)])


pendulum = jaxspark.LagrangianSystem(
    lambda t, q, v, args: 0.5 * jnp.sum(v**2) - 9.81 * q[1],
    holonomic=lambda t, q, args: jnp.linalg.norm(q - pivot(t)) - LENGTH,
)
start = jnp.array([np.sin(0.8), SHAKE + np.cos(0.8)])
motion = jaxspark.solve(pendulum, start, jnp.zeros(2), t1=1.6, ts=jnp.linspace(0, 1.6, 641))


def shape(t, q):
    slot = jnp.array([[0.0, -SHAKE], [0.0, SHAKE]])
    return {"rod": jnp.stack([pivot(t), q]), "slot": slot}


film = pictures.animate(motion, shape, trace="rod", seconds=5, fps=25)
