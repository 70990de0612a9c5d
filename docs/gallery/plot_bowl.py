"""
Ball in a bowl
==============

A point slides in a round bowl without friction and draws a rosette.
"""

import jax
import jax.numpy as jnp

import jaxspark
from jaxspark import pictures


jax.config.update("jax_enable_x64", True)

RADIUS = 1.0  # of the bowl (m)


def lagrangian(t, q, v, args):  # of 1 kg
    return 0.5 * jnp.sum(v**2) - 9.81 * q[2]


ball = jaxspark.LagrangianSystem(
    lagrangian, holonomic=lambda t, q, args: jnp.linalg.norm(q) - RADIUS
)
start, push = jnp.array([0.8, 0.0, -0.6]), jnp.array([0.0, 1.0, 0.0])
motion = jaxspark.solve(ball, start, push, t1=6.0, ts=jnp.linspace(0, 6, 301))
turn = jnp.linspace(0, 2 * jnp.pi, 61)


def ring(depth):
    radius = jnp.sqrt(RADIUS**2 - depth**2)
    return jnp.stack([radius * jnp.cos(turn), radius * jnp.sin(turn), 0 * turn - depth], 1)


bowl = {f"ring {i}": ring(depth) for i, depth in enumerate((0.3, 0.7, 0.95))}
film = pictures.animate(
    motion,
    lambda t, q: {"ball": q[None], **bowl},
    trace="ball",
    seconds=5,
    fps=16,
    pixels=280,
    view=(40.0, -60.0),
)
