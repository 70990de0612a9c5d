"""
Double pendulums
================

Seven double pendulums start a ten-thousandth of a radian apart: first they move together, then each
goes its own way.
"""

import jax
import jax.numpy as jnp

import jaxspark
from jaxspark import pictures


jax.config.update("jax_enable_x64", True)

COUNT = 7


def lagrangian(t, q, v, args):  # two bobs each, of 1 kg
    return 0.5 * jnp.sum(v**2) - 9.81 * jnp.sum(q[..., 1])


def rods(t, q, args):  # of 1 m
    return jnp.linalg.norm(jnp.diff(q, axis=1, prepend=0.0), axis=2) - 1.0


pendulums = jaxspark.LagrangianSystem(lagrangian, holonomic=rods)
angle = 2.3 + 1e-4 * jnp.arange(COUNT)
upper = jnp.stack([jnp.sin(angle), -jnp.cos(angle)], 1)
start = jnp.stack([upper, upper + jnp.array([0.6, 0.8])], 1)
times = jnp.linspace(0, 10, 601)
motion = jaxspark.solve(pendulums, start, jnp.zeros((COUNT, 2, 2)), t1=10.0, rtol=1e-8, ts=times)


def shape(t, q):
    return {f"pendulum {i}": jnp.concatenate([jnp.zeros((1, 2)), q[i]]) for i in range(COUNT)}


film = pictures.animate(motion, shape, seconds=5, pixels=280)
