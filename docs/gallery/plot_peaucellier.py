"""
Peaucellier's linkage
=====================

Seven bars turn a circle into an exact straight line. The angle of the crank is prescribed.
"""

import jax
import jax.numpy as jnp

import jaxspark
from jaxspark import pictures


jax.config.update("jax_enable_x64", True)

CENTRE, CRANK, LONG, SIDE = jnp.array([1.0, 0.0]), 1.0, 3.0, 1.3  # bars from the origin (m)


def distances(q):
    a, b, inner, outer = q  # of a rhombus, on the circle and on the line
    pairs = [(a, 0 * a), (b, 0 * b), (a, inner), (b, inner), (a, outer), (b, outer)]
    return jnp.stack([jnp.linalg.norm(x - y) for x, y in pairs])


def constraints(t, q, args):
    angle = 0.6 * jnp.sin(2.0 * t)
    tip = CENTRE + CRANK * jnp.stack([jnp.cos(angle), jnp.sin(angle)])
    bars = distances(q) - jnp.array([LONG, LONG, SIDE, SIDE, SIDE, SIDE])
    return jnp.concatenate([q[2] - tip, bars])


system = jaxspark.LagrangianSystem(lambda t, q, v, args: 0.5 * jnp.sum(v**2), holonomic=constraints)
guess = jnp.array([[2.8, 1.0], [2.8, -1.0], [2.0, 0.0], [3.6, 0.0]])
start = jaxspark.project(system, 0.0, guess, jnp.zeros((4, 2)))
motion = jaxspark.solve(system, start.y, start.z, t1=jnp.pi, ts=jnp.linspace(0, jnp.pi, 101))


def shape(t, q):
    a, b, inner, outer = q
    return {
        "arms": jnp.stack([a, 0 * a, b]),
        "crank": jnp.stack([CENTRE, inner]),
        "rhombus": jnp.stack([outer, a, inner, b, outer]),
    }


film = pictures.animate(motion, shape, trace=("crank", "rhombus"), seconds=3, pixels=280)
