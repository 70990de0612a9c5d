"""
Jansen's leg
============

A leg of Theo Jansen's beach animals: eleven bars and a crank that turns at constant speed.
"""

import jax
import jax.numpy as jnp

import jaxspark
from jaxspark import pictures


jax.config.update("jax_enable_x64", True)

PIVOT = jnp.array([-38.0, -7.8])  # fixed; the crank turns about the origin (mm)
# Points: 0 pivot, 1 crank, 2 top, 3 knee, 4 back, 5 ankle, 6 foot.
BARS = jnp.array([[1, 2], [1, 3], [0, 2], [0, 3], [2, 4], [0, 4], [4, 5], [3, 5], [3, 6], [5, 6]])
LENGTHS = jnp.array([50.0, 61.9, 41.5, 39.3, 55.8, 40.1, 39.4, 36.7, 49.0, 65.7])


def constraints(t, q, args):
    points = jnp.concatenate([PIVOT[None], q])
    bars = jnp.linalg.norm(points[BARS[:, 0]] - points[BARS[:, 1]], axis=1) - LENGTHS
    crank = 15.0 * jnp.stack([jnp.cos(4.0 * t), -jnp.sin(4.0 * t)])
    return jnp.concatenate([q[0] - crank, bars])


leg = jaxspark.LagrangianSystem(lambda t, q, v, args: 0.5 * jnp.sum(v**2), holonomic=constraints)
guess = jnp.array([[15, 0], [-26, 32], [-28, -46], [-75, 8], [-64, -31], [-39, -93]], float)
start = jaxspark.project(leg, 0.0, guess, jnp.zeros((6, 2)))
motion = jaxspark.solve(leg, start.y, start.z, t1=jnp.pi / 2, ts=jnp.linspace(0, jnp.pi / 2, 101))


def shape(t, q):
    crank, top, knee, back, ankle, foot = q
    return {
        "crank": jnp.stack([0 * crank, crank]),
        "lower": jnp.stack([knee, ankle, foot, knee]),
        "rods": jnp.stack([top, crank, knee, PIVOT]),
        "shank": jnp.stack([back, ankle]),
        "upper": jnp.stack([PIVOT, top, back, PIVOT]),
        "foot": foot[None],
    }


film = pictures.animate(motion, shape, trace="foot", seconds=3, fps=16, pixels=280)
