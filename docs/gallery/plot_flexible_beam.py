"""
Flexible beam
=============

Twelve rigid links with springs and dampers in their joints form a beam that is clamped at one end
and swings under its weight.
"""

import jax
import jax.numpy as jnp

import jaxspark
from jaxspark import pictures


jax.config.update("jax_enable_x64", True)

COUNT, LENGTH, MASS = 12, 0.1, 0.1  # of each link (m, kg)


def half(y):
    return LENGTH / 2 * jnp.stack([jnp.cos(y[2]), jnp.sin(y[2])])


def ends_meet(t, y_a, y_b, own, args):
    return y_a[:2] + half(y_a) - y_b[:2] + half(y_b)


def clamped(t, y_a, y_ground, own, args):
    return jnp.append(y_a[:2] - half(y_a), y_a[2] - 0.6)


def bending(t, y_a, z_a, y_b, z_b, own, args):
    torque = 30.0 * (y_b[2] - y_a[2]) + 0.02 * (z_b[2] - z_a[2])
    return jnp.array([0.0, 0.0, 1.0]) * torque, jnp.array([0.0, 0.0, -1.0]) * torque


pairs = [(i, i + 1) for i in range(COUNT - 1)]
beam = jaxspark.MultibodySystem(
    mass=lambda t, y, own, args: MASS * jnp.array([1.0, 1.0, LENGTH**2 / 12]),
    force=lambda t, y, z, own, args: jnp.array([0.0, -9.81 * MASS, 0.0]),
    joints=[jaxspark.Joint(clamped, [(0, -1)]), jaxspark.Joint(ends_meet, pairs)],
    elements=jaxspark.ForceElement(bending, pairs),
)
along = LENGTH * (jnp.arange(COUNT) + 0.5)
y0 = jnp.stack([along * jnp.cos(0.6), along * jnp.sin(0.6), 0 * along + 0.6], 1)
motion = jaxspark.solve(
    beam, y0, jnp.zeros((COUNT, 3)), t1=3.0, rtol=1e-4, ts=jnp.linspace(0, 3, 241)
)


def shape(t, y):
    tips = y[:, :2] + jax.vmap(half)(y)
    return {"beam": jnp.concatenate([jnp.zeros((1, 2)), tips])}


film = pictures.animate(motion, shape, trace="beam", seconds=5)
