"""
Four-bar linkage
================

A crank, a coupler and a rocker swing under gravity. The middle of the coupler traces its curve.
"""

import jax
import jax.numpy as jnp

import jaxspark
from jaxspark import pictures


jax.config.update("jax_enable_x64", True)

LENGTHS = jnp.array([1.0, 2.0, 1.6])  # crank, coupler, rocker (m), of 1 kg each
FOOT = jnp.array([2.0, 0.0])  # of the rocker (m)


def points(q):
    """The four joints, for angles of the three links."""
    arms = LENGTHS[:, None] * jnp.stack([jnp.cos(q), jnp.sin(q)], 1)
    return jnp.stack([jnp.zeros(2), arms[0], arms[0] + arms[1], arms[0] + arms[1] - arms[2]])


def lagrangian(t, q, v, args):
    joints, rates = jax.jvp(points, (q,), (v,))
    centres, speeds = (joints[1:] + joints[:-1]) / 2, (rates[1:] + rates[:-1]) / 2
    turning = LENGTHS**2 / 12 * v**2
    return 0.5 * jnp.sum(speeds**2) + 0.5 * jnp.sum(turning) - 9.81 * jnp.sum(centres[:, 1])


linkage = jaxspark.LagrangianSystem(lagrangian, holonomic=lambda t, q, args: points(q)[3] - FOOT)
guess = jnp.array([1.5, 0.3, 1.9])
start = jaxspark.project(linkage, 0.0, guess, jnp.zeros(3), hold_y=jnp.array([True, False, False]))
motion = jaxspark.solve(linkage, start.y, start.z, t1=6.0, ts=jnp.linspace(0, 6, 181))
film = pictures.animate(
    motion,
    lambda t, q: {"links": points(q), "middle": points(q)[1:3].mean(0)[None]},
    trace="middle",
)
