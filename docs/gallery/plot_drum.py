"""
Balls in a drum
===============

Two balls fall in a round drum, with an impact whenever one meets the wall or the other.
"""

import jax
import jax.numpy as jnp

import jaxspark
from jaxspark import pictures


jax.config.update("jax_enable_x64", True)

DRUM, RADIUS = 1.0, 0.15  # radii of the drum and of balls of 1 kg (m)

balls = jaxspark.LagrangianSystem(
    lambda t, q, v, args: 0.5 * jnp.sum(v**2) - 9.81 * jnp.sum(q[:, 1])
)


def wall(i):
    return lambda t, q, args: DRUM - RADIUS - jnp.linalg.norm(q[i])


def pair(i, j):
    return lambda t, q, args: jnp.linalg.norm(q[i] - q[j]) - 2 * RADIUS


def bounce(gap):
    law = jaxspark.impact(balls, gap, 0.97)
    return jaxspark.Event(lambda t, q, v, args: gap(t, q, args), direction=False, reset=law)


gaps = [wall(0), wall(1), pair(0, 1)]
q0 = jnp.array([[-0.5, 0.4], [0.5, -0.1]])
v0 = jnp.array([[1.0, 0.0], [-1.0, 0.5]])
motion = jaxspark.solve(
    balls, q0, v0, t1=3.0, ts=jnp.linspace(0, 3, 301), max_step=0.02,
    events=[bounce(gap) for gap in gaps], max_events=200,
)  # fmt: skip
turn = jnp.linspace(0, 2 * jnp.pi, 61)
ring = jnp.stack([jnp.cos(turn), jnp.sin(turn)], 1)


def shape(t, q):
    return {"drum": DRUM * ring} | {f"ball {i}": q[i] + RADIUS * ring for i in range(2)}


film = pictures.animate(motion, shape, seconds=4)
