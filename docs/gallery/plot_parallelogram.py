"""
Swinging platform
=================

Three parallel arms carry a platform, one more than it needs. `linear.redundant` shares the load.
"""

import jax
import jax.numpy as jnp

import jaxspark
from jaxspark import pictures


jax.config.update("jax_enable_x64", True)

ROOTS = jnp.array([[-1.0, 0.0], [0.0, 0.0], [1.0, 0.0]])  # of the arms (m)
ARM, MASS = 1.5, jnp.array([5.0, 5.0, 5.0 / 3])  # length; kg and kg m^2


def tips(q):  # where the arms carry the platform, at x, y, angle
    along = jnp.stack([jnp.cos(q[2]), jnp.sin(q[2])])
    return q[:2] + ROOTS[:, :1] * along


def lagrangian(t, q, v, args):
    return 0.5 * jnp.sum(MASS * v**2) - 9.81 * MASS[0] * q[1]


swing = jaxspark.LagrangianSystem(
    lagrangian,
    holonomic=lambda t, q, args: jnp.linalg.norm(tips(q) - ROOTS, axis=1) - ARM,
)
system = jaxspark.linear.redundant(swing)
q0 = jnp.array([ARM * jnp.sin(1.2), -ARM * jnp.cos(1.2), 0.0])
motion = jaxspark.solve(system, q0, jnp.zeros(3), t1=5.0, ts=jnp.linspace(0, 5, 201))


def shape(t, q):
    ends = tips(q)
    arms = {f"arm {i}": jnp.stack([ROOTS[i], ends[i]]) for i in range(3)}
    return {"platform": ends, **arms}


film = pictures.animate(motion, shape, seconds=5)
