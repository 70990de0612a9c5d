"""
Cable with a moving support
===========================

The support moves to and fro at the frequency of the second mode, and the cable takes on the shape
of that mode.
"""

import jax
import jax.numpy as jnp

import jaxspark
from jaxspark import pictures


jax.config.update("jax_enable_x64", True)

COUNT, LENGTH = 12, 0.125  # pieces of 0.1 kg (m)
RATE = 5.52 / 2 * (9.81 / 1.5) ** 0.5  # of the second mode of 1.5 m (rad/s)


def support(t):
    return jnp.stack([0.06 * jnp.sin(RATE * t), 0.0 * t])


def cable(t, q):
    return jnp.concatenate([support(t)[None], q])


def lagrangian(t, q, v, args):
    return 0.1 * (0.5 * jnp.sum(v**2) - 9.81 * jnp.sum(q[:, 1]))


system = jaxspark.LagrangianSystem(
    lagrangian,
    holonomic=lambda t, q, args: jnp.linalg.norm(jnp.diff(cable(t, q), axis=0), axis=1) - LENGTH,
    force=lambda t, q, v, args: -0.05 * v,
)
q0 = -LENGTH * jnp.stack([jnp.zeros(COUNT), jnp.arange(COUNT) + 1.0], 1)
motion = jaxspark.solve(system, q0, jnp.zeros((COUNT, 2)), t1=6.0, ts=jnp.linspace(0, 6, 301))
film = pictures.animate(
    motion,
    lambda t, q: {"cable": cable(t, q), "support": support(t)[None]},
    seconds=6,
)
