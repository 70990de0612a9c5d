"""
Falling chain
=============

A chain of forty links, held at one end, is released from the horizontal: near the lowest point the
free end whips.
"""

import jax
import jax.numpy as jnp

import jaxspark
from jaxspark import pictures


jax.config.update("jax_enable_x64", True)

COUNT, LENGTH = 40, 0.05  # links, of 0.05 kg and this length (m)


def weight(t, y, z, own, args):  # a point mass at the end of each link
    return jnp.array([0.0, -9.81 * 0.05])


def link(t, y_a, y_b, own, args):
    return jnp.linalg.norm(y_a - y_b, keepdims=True) - LENGTH


chain = jaxspark.MultibodySystem(
    mass=lambda t, y, own, args: jnp.full(2, 0.05),
    force=weight,
    joints=jaxspark.Joint(link, [(0, -1)] + [(i, i + 1) for i in range(COUNT - 1)]),
)
y0 = jnp.stack([LENGTH * (jnp.arange(COUNT) + 1.0), jnp.zeros(COUNT)], 1)
motion = jaxspark.solve(
    chain, y0, jnp.zeros((COUNT, 2)), t1=1.2, rtol=1e-4, ts=jnp.linspace(0, 1.2, 241)
)
film = pictures.animate(
    motion,
    lambda t, y: {"chain": jnp.concatenate([jnp.zeros((1, 2)), y])},
    trace="chain",
    seconds=5,
)
