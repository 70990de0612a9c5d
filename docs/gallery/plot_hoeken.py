"""
Hoeken's linkage
================

A crank drives a point at almost constant speed along an almost straight line, and back quickly
above it. This is Chebyshev's lambda linkage.
"""

import jax
import jax.numpy as jnp

import jaxspark
from jaxspark import pictures


jax.config.update("jax_enable_x64", True)

FOOT = jnp.array([2.0, 0.0])  # of the rocker; the crank turns about the origin (m)


def lagrangian(t, q, v, args):  # a flywheel of 10 kg on the crank, 0.1 kg elsewhere
    return 0.5 * jnp.sum(jnp.array([[10.0], [0.1], [0.1]]) * v**2)


def constraints(t, q, args):
    crank, knee, end = q
    lengths = jnp.stack([crank, knee - crank, knee - FOOT])
    bars = jnp.linalg.norm(lengths, axis=1) - jnp.array([1.0, 2.5, 2.5])
    return jnp.concatenate([bars, end + crank - 2 * knee])  # the coupler is a straight bar


linkage = jaxspark.LagrangianSystem(lagrangian, holonomic=constraints)
guess = jnp.array([[1.0, 0.0], [2.0, 2.4], [3.0, 4.8]])
push = jnp.array([[0.0, 3.0], [0.0, 0.0], [0.0, 0.0]])
start = jaxspark.project(linkage, 0.0, guess, push)
motion = jaxspark.solve(linkage, start.y, start.z, t1=4.0, ts=jnp.linspace(0, 4, 201))
film = pictures.animate(
    motion,
    lambda t, q: {
        "coupler": q,
        "crank": jnp.stack([0 * q[0], q[0]]),
        "rocker": jnp.stack([FOOT, q[1]]),
    },
    trace="coupler",
    seconds=4,
)
