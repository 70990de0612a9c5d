"""
Stewart platform
================

Six legs of prescribed lengths carry a platform. Its pose, with a quaternion, follows from them.
"""

import jax
import jax.numpy as jnp

import jaxspark
from jaxspark import pictures


jax.config.update("jax_enable_x64", True)

INERTIA = jnp.array([0.1, 0.1, 0.2])  # of a platform of 1 kg
PHASES = jnp.arange(6) * jnp.pi / 3


def hexagon(radius, spread):
    angle = PHASES + spread * jnp.array([1, -1, 1, -1, 1, -1])
    return jnp.stack([radius * jnp.cos(angle), radius * jnp.sin(angle), 0 * angle], 1)


FEET, CORNERS = hexagon(1.0, 0.35), hexagon(0.6, -0.35)


def rotate(q, x):  # from the platform's frame
    a, u = q[0], q[1:]
    return x + 2 * jnp.cross(u, jnp.cross(u, x) + a * x)


def ends(y):
    return y[:3] + jax.vmap(rotate, (None, 0))(y[3:], CORNERS)


def velocity(t, y, z, args):
    a, u, w = y[3], y[4:], z[3:]
    return jnp.concatenate([z[:3], 0.5 * jnp.append(-jnp.dot(u, w), a * w + jnp.cross(u, w))])


def legs(t, y, args):
    lengths = 1.3 + 0.15 * jnp.sin(2.0 * t + 2 * PHASES * jnp.array([1, 1, 2, 2, 1, 1]))
    return jnp.linalg.norm(ends(y) - FEET, axis=1) - lengths


def force(t, y, z, args):
    return jnp.append(jnp.array([0.0, 0.0, -9.81]), jnp.cross(INERTIA * z[3:], z[3:]))


def momenta(t, y, z, args):
    return jnp.append(z[:3], INERTIA * z[3:])


platform = jaxspark.ConstrainedSystem(force, v=velocity, p=momenta, g=legs)
start = jaxspark.project(
    platform, 0.0, jnp.array([0.0, 0.0, 1.2, 1.0, 0.0, 0.0, 0.0]), jnp.zeros(6)
)
motion = jaxspark.solve(platform, start.y, start.z, t1=jnp.pi, ts=jnp.linspace(0, jnp.pi, 121))


def shape(t, y):
    tops = ends(y)
    legs = {f"leg {i}": jnp.stack([FEET[i], tops[i]]) for i in range(6)}
    return {"platform": tops[jnp.arange(7) % 6], **legs}


film = pictures.animate(motion, shape, seconds=4, fps=15, pixels=280)
