"""
Pendulum on an elliptic slider
==============================

A bead slides on an ellipse without friction, and a pendulum hangs from it.
"""

import jax
import jax.numpy as jnp

import jaxspark
from jaxspark import pictures


jax.config.update("jax_enable_x64", True)

AXES, LENGTH = jnp.array([1.0, 0.5]), 0.8  # of the ellipse, halved, and of the rod (m)


def lagrangian(t, q, v, args):  # bead and bob, of 1 kg each
    return 0.5 * jnp.sum(v**2) - 9.81 * jnp.sum(q[:, 1])


def constraints(t, q, args):
    bead, bob = q
    return jnp.stack([jnp.linalg.norm(bead / AXES) - 1.0, jnp.linalg.norm(bob - bead) - LENGTH])


angle = jnp.linspace(0.0, 2 * jnp.pi, 61)
ellipse = AXES * jnp.stack([jnp.cos(angle), jnp.sin(angle)], 1)

system = jaxspark.LagrangianSystem(lagrangian, holonomic=constraints)
bead = AXES * jnp.array([0.8, 0.6])
q0 = jnp.stack([bead, bead + LENGTH * jnp.array([0.96, 0.28])])
motion = jaxspark.solve(system, q0, jnp.zeros((2, 2)), t1=4.0, ts=jnp.linspace(0, 4, 201))
film = pictures.animate(motion, lambda t, q: {"ellipse": ellipse, "rod": q}, trace="rod", seconds=6)
