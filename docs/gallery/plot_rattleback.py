"""
Rattleback
==========

Half an ellipsoid whose principal axes of inertia are askew to its shape. Spun the wrong way, it
begins to rattle, stops, and reverses its spin (T. R. Kane and D. A. Levinson, 1982).
"""

import jax
import jax.numpy as jnp

import jaxspark
from jaxspark import pictures


jax.config.update("jax_enable_x64", True)

AXES = jnp.array([0.2, 0.03, 0.02])  # of the ellipsoid (m); 1 kg, 1 cm below its centre
INERTIA = jnp.array([[2e-4, -2e-5, 0.0], [-2e-5, 1.6e-3, 0.0], [0.0, 0.0, 1.7e-3]])


def rotate(q, x):
    a, u = q[0], q[1:]
    return x + 2 * jnp.cross(u, jnp.cross(u, x) + a * x)


def lowest(q):
    """The point that touches the table, from the centre of mass, in the body's frame."""
    up = rotate(q * jnp.array([1, -1, -1, -1]), jnp.array([0.0, 0.0, 1.0]))
    return jnp.array([0.0, 0.0, 0.01]) - AXES**2 * up / jnp.linalg.norm(AXES * up)


def velocity(t, y, z, args):
    a, u, w = y[3], y[4:], z[3:]
    return jnp.concatenate([z[:3], 0.5 * jnp.append(-jnp.dot(u, w), a * w + jnp.cross(u, w))])


def rolling(t, y, z, args):  # the lowest point is at rest; its height is a holonomic constraint
    return (z[:3] + rotate(y[3:], jnp.cross(z[3:], lowest(y[3:]))))[:2]


stone = jaxspark.ConstrainedSystem(
    lambda t, y, z, args: jnp.append(
        jnp.array([0.0, 0.0, -9.81]), jnp.cross(INERTIA @ z[3:], z[3:])
    ),
    v=velocity,
    p=lambda t, y, z, args: jnp.append(z[:3], INERTIA @ z[3:]),
    g=lambda t, y, args: y[2] + rotate(y[3:], lowest(y[3:]))[2],
    k=rolling,
)
tilt = jnp.array([jnp.cos(0.005), jnp.sin(0.005), 0.0, 0.0])
guess = jnp.concatenate([jnp.array([0.0, 0.0, 0.01]), tilt])
spin = jnp.array([0.0, 0.0, 0.0, 0.0, 0.0, -5.0])
start = jaxspark.project(stone, 0.0, guess, spin)
motion = jaxspark.solve(stone, start.y, start.z, t1=6.0, ts=jnp.linspace(0, 6, 241))
turn = jnp.linspace(0, 2 * jnp.pi, 41)
rim = AXES * jnp.stack([jnp.cos(turn), jnp.sin(turn), 0 * turn + 0.5], 1)
keel = AXES * jnp.stack([jnp.cos(turn / 2), 0 * turn, 0.5 - jnp.sin(turn / 2)], 1)


def shape(t, y):
    turned = jax.vmap(rotate, (None, 0))
    return {"keel": y[:3] + turned(y[3:], keel), "rim": y[:3] + turned(y[3:], rim)}


film = pictures.animate(motion, shape, seconds=6, fps=16, pixels=280)
