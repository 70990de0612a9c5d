"""
Cardan joint
============

Two shafts meet at an angle. The first turns at nearly constant speed; the second speeds up and
slows down twice per turn.
"""

import jax
import jax.numpy as jnp

import jaxspark
from jaxspark import pictures


jax.config.update("jax_enable_x64", True)

BEND = 0.8  # between the shafts (rad)
FIRST, SECOND = jnp.array([1.0, 0.0, 0.0]), jnp.array([jnp.cos(BEND), jnp.sin(BEND), 0.0])
ASIDE = jnp.array([-jnp.sin(BEND), jnp.cos(BEND), 0.0])


def arms(q):
    """The two arms of the cross, each fixed to a shaft."""
    first = jnp.stack([0.0 * q[0], jnp.cos(q[0]), jnp.sin(q[0])])
    return first, jnp.cos(q[1]) * jnp.array([0.0, 0.0, 1.0]) - jnp.sin(q[1]) * ASIDE


joint = jaxspark.LagrangianSystem(
    lambda t, q, v, args: 0.5 * (100.0 * v[0] ** 2 + v[1] ** 2),  # a heavy flywheel drives
    holonomic=lambda t, q, args: jnp.dot(*arms(q)),
)
rates = jnp.array([jnp.pi, jnp.pi / jnp.cos(BEND)])  # here the second turns fastest
motion = jaxspark.solve(joint, jnp.zeros(2), rates, t1=2.0, ts=jnp.linspace(0, 2, 161))


def fork(shaft, arm):
    bends = jnp.array([[2, 0], [0.8, 0], [0.8, 0.5], [0, 0.5], [0.8, 0.5], [0.8, -0.5], [0, -0.5]])
    return bends[:, :1] * shaft + bends[:, 1:] * arm


def shape(t, q):
    first, second = arms(q)
    ends = jnp.stack([first, -first, 0 * first, second, -second]) / 2
    return {"cross": ends, "driven": fork(SECOND, second), "driving": fork(-FIRST, first)}


limits = ((-2.0, 1.5), (-0.8, 1.5), (-0.7, 0.7))
film = pictures.animate(motion, shape, seconds=4, fps=15, limits=limits, pixels=300)
