"""
Heavy top
=========

A fast top on a fixed point precesses and nutates. A quaternion is its orientation; the equations
preserve the norm of the quaternion.
"""

import jax
import jax.numpy as jnp

import jaxspark
from jaxspark import pictures


jax.config.update("jax_enable_x64", True)

INERTIA, ARM = jnp.array([0.8, 0.8, 0.3]), jnp.array([0.0, 0.0, 1.0])  # 1 kg at 1 m


def rotate(q, x):  # from the body's frame
    a, u = q[0], q[1:]
    return x + 2 * jnp.cross(u, jnp.cross(u, x) + a * x)


def velocity(t, q, w, args):
    a, u = q[0], q[1:]
    return 0.5 * jnp.append(-jnp.dot(u, w), a * w + jnp.cross(u, w))


def torque(t, q, w, args):
    weight = rotate(q * jnp.array([1, -1, -1, -1]), jnp.array([0.0, 0.0, -9.81]))
    return jnp.cross(INERTIA * w, w) + jnp.cross(ARM, weight)


top = jaxspark.ConstrainedSystem(torque, v=velocity, p=lambda t, q, w, args: INERTIA * w)
q0 = jnp.array([jnp.cos(0.45), jnp.sin(0.45), 0.0, 0.0])  # 0.9 rad from upright
w0 = jnp.array([0.0, 0.0, 26.0])
motion = jaxspark.solve(top, q0, w0, t1=3.0, rtol=1e-8, ts=jnp.linspace(0, 3, 601))
turn = jnp.linspace(0, 2 * jnp.pi, 37)
ring = jnp.stack([0.4 * jnp.cos(turn), 0.4 * jnp.sin(turn), 0 * turn + 0.7], 1)


def shape(t, q):
    turned = jax.vmap(rotate, (None, 0))
    spoke = jnp.array([[0.0, 0.0, 0.7], [0.4, 0.0, 0.7]])
    axle = jnp.array([[0.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    return {"axle": turned(q, axle), "disc": turned(q, ring), "spoke": turned(q, spoke)}


film = pictures.animate(motion, shape, trace="axle", seconds=5, fps=16, pixels=280)
