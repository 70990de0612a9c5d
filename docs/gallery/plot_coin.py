"""
Rolling coin
============

A disc rolls without slipping and leaves a curved trace. Its contact point obeys two nonholonomic
constraints.
"""

import jax
import jax.numpy as jnp

import jaxspark
from jaxspark import pictures


jax.config.update("jax_enable_x64", True)

RADIUS = 1.0  # and 1 kg


def frame(q):
    """Heading, the direction from contact to centre, both of unit length."""
    sin, cos = jnp.sin(q[2:4]), jnp.cos(q[2:4])  # heading and lean
    forward = jnp.stack([cos[0], sin[0], 0.0 * sin[0]])
    return forward, jnp.stack([-sin[0] * sin[1], cos[0] * sin[1], cos[1]])


def centre(q):
    return jnp.append(q[:2], 0.0) + RADIUS * frame(q)[1]


def lagrangian(t, q, v, args):
    speed = jax.jvp(centre, (q,), (v,))[1]
    turning = 0.25 * (v[3] ** 2 + (v[2] * jnp.cos(q[3])) ** 2)
    rolling = 0.5 * (v[4] - v[2] * jnp.sin(q[3])) ** 2
    return 0.5 * (jnp.sum(speed**2) + turning + rolling) - 9.81 * centre(q)[2]


def no_slip(t, q, v, args):
    return v[:2] - RADIUS * v[4] * frame(q)[0][:2]


coin = jaxspark.LagrangianSystem(lagrangian, nonholonomic=no_slip)
q0, v0 = jnp.array([0.0, 0.0, 0.0, -0.5, 0.0]), jnp.array([2.5 * RADIUS, 0.0, 1.6, 0.0, 2.5])
motion = jaxspark.solve(coin, q0, v0, t1=5.0, ts=jnp.linspace(0, 5, 201))


def shape(t, q):
    forward, up = frame(q)
    angle = q[4] + jnp.linspace(0, 2 * jnp.pi, 41)[:, None]
    ring = centre(q) + RADIUS * (jnp.cos(angle) * up + jnp.sin(angle) * forward)
    spokes = jnp.stack([ring[0], ring[20]])
    return {"coin": ring, "contact": jnp.append(q[:2], 0.0)[None], "spokes": spokes}


film = pictures.animate(motion, shape, trace="contact", seconds=4)
