"""
Newton's cradle
===============

Two of five balls fall, and two rise on the other side. Balls that touch repel each other by Hertz's
law.
"""

import jax
import jax.numpy as jnp

import jaxspark
from jaxspark import pictures


jax.config.update("jax_enable_x64", True)

COUNT, RADIUS, LENGTH = 5, 0.1, 1.0  # balls of 1 kg, strings (m)
TOPS = jnp.stack([2.002 * RADIUS * jnp.arange(COUNT), jnp.zeros(COUNT)], 1)


def lagrangian(t, q, v, args):
    gaps = jnp.linalg.norm(jnp.diff(q, axis=0), axis=1) - 2 * RADIUS
    pressed = 0.4 * 1e7 * jnp.maximum(-gaps, 0.0) ** 2.5
    return 0.5 * jnp.sum(v**2) - 9.81 * jnp.sum(q[:, 1]) - jnp.sum(pressed)


def strings(t, q, args):
    return jnp.linalg.norm(q - TOPS, axis=1) - LENGTH


cradle = jaxspark.LagrangianSystem(lagrangian, holonomic=strings)
angle = jnp.array([-0.6, -0.6, 0.0, 0.0, 0.0])
y0 = TOPS + LENGTH * jnp.stack([jnp.sin(angle), -jnp.cos(angle)], 1)
motion = jaxspark.solve(
    cradle, y0, jnp.zeros((COUNT, 2)), t1=4.0, max_step=0.01, ts=jnp.linspace(0, 4, 401)
)
turn = jnp.linspace(0, 2 * jnp.pi, 37)
ring = RADIUS * jnp.stack([jnp.sin(turn), jnp.cos(turn)], 1)


def shape(t, q):
    balls = {f"ball {i}": q[i] + ring for i in range(COUNT)}
    return {f"string {i}": jnp.stack([TOPS[i], q[i]]) for i in range(COUNT)} | balls


film = pictures.animate(motion, shape, seconds=4, pixels=280)
