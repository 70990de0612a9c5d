"""
Snakeboard
==========

A rider swings the upper body and turns both axles in step: the board moves forward without a push.
"""

import jax
import jax.numpy as jnp

import jaxspark
from jaxspark import pictures


jax.config.update("jax_enable_x64", True)

HALF = 0.5  # from the centre to either axle (m)


def direction(angle):
    return jnp.stack([jnp.cos(angle), jnp.sin(angle)], -1)


def ends(q):
    along = HALF * direction(q[2])
    return q[:2] + jnp.stack([along, -along])


def lagrangian(t, q, v, args):  # board of 2 kg and 0.2 kg m^2, rider of 0.5 kg m^2
    body = v[0] ** 2 + v[1] ** 2 + 0.1 * v[2] ** 2 + 0.25 * (v[2] + v[3]) ** 2
    return body + 0.01 * (v[2] + v[4]) ** 2 + 0.01 * (v[2] - v[4]) ** 2


def rider(t, q, args):  # angles against the board: upper body, front axle
    return q[3:] - jnp.stack([0.9 * jnp.sin(4.0 * t), 0.3 * jnp.sin(4.0 * t)])


def wheels(t, q, v, args):
    speeds = jax.jvp(ends, (q,), (v,))[1]
    across = direction(q[2] + q[4] * jnp.array([1, -1]) + jnp.pi / 2)
    return jnp.sum(across * speeds, axis=1)


board = jaxspark.LagrangianSystem(lagrangian, holonomic=rider, nonholonomic=wheels)
rates = jnp.array([0.0, 0.0, 0.0, 3.6, 1.2])  # of the rider; the board is at rest
motion = jaxspark.solve(board, jnp.zeros(5), rates, t1=4.0, ts=jnp.linspace(0, 4, 161))


def shape(t, q):
    axle = 0.2 * direction(q[2] + q[4] * jnp.array([1, -1]) + jnp.pi / 2)
    arms = 0.4 * direction(q[2] + q[3] + jnp.pi / 2)
    sides, (front, back) = jnp.array([[1.0], [-1.0]]), ends(q)
    return {
        "board": ends(q),
        "centre": q[:2][None],
        "front": front + sides * axle[0],
        "rear": back + sides * axle[1],
        "rider": q[:2] + sides * arms,
    }


film = pictures.animate(motion, shape, trace="centre", seconds=5)
