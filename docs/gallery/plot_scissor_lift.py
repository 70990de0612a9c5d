"""
Scissor lift
============

A screw pulls the lowest ends together, and three crossed pairs of bars rise with their load.
"""

import jax
import jax.numpy as jnp

import jaxspark
from jaxspark import pictures


jax.config.update("jax_enable_x64", True)

STAGES, ROD = 3, 1.0  # crosses, and the length of their rods (m)


def ends(t, q):
    """Left and right ends of all rods; those of the lowest are where the screw holds them."""
    width = 0.6 + 0.3 * jnp.cos(jnp.pi / 2 * t)
    right = jnp.stack([width, 0.0 * width])
    return jnp.concatenate([jnp.stack([0.0 * right, right])[None], q])


def constraints(t, q, args):
    left, right = jnp.moveaxis(ends(t, q), 1, 0)
    rising, falling = right[1:] - left[:-1], left[1:] - right[:-1]
    lengths = jnp.linalg.norm(jnp.stack([rising, falling]), axis=2) - ROD
    middles = left[:-1] + right[1:] - right[:-1] - left[1:]
    return lengths, middles


def lagrangian(t, q, v, args):  # joints of 1 kg
    return 0.5 * jnp.sum(v**2) - 9.81 * jnp.sum(q[..., 1])


lift = jaxspark.LagrangianSystem(lagrangian, holonomic=constraints)
height = jnp.sqrt(ROD**2 - 0.9**2) * (jnp.arange(STAGES) + 1)
q0 = jnp.stack([jnp.stack([0 * height + x, height], 1) for x in (0.0, 0.9)], 1)
motion = jaxspark.solve(lift, q0, jnp.zeros_like(q0), t1=4.0, ts=jnp.linspace(0, 4, 101))
box = jnp.array([[0.0, 0.0], [0.0, 0.3], [0.9, 0.3], [0.9, 0.0], [0.0, 0.0]])


def shape(t, q):
    points, row = ends(t, q), jnp.arange(STAGES + 1)
    return {
        "falling": points[row, 1 - row % 2],
        "load": points[-1, 0] + box,
        "rising": points[row, row % 2],
    }


film = pictures.animate(motion, shape, seconds=4)
