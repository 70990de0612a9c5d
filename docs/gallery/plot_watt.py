"""
Watt's linkage
==============

Two arms and a coupler, whose middle traces a figure of eight. James Watt used the part of it that
is nearly straight.
"""

import jax
import jax.numpy as jnp

import jaxspark
from jaxspark import pictures


jax.config.update("jax_enable_x64", True)

PIVOTS = jnp.array([[-1.0, 0.35], [1.0, -0.35]])  # of the arms (m)
ARM, COUPLER = 1.0, 0.7  # lengths (m)


def lagrangian(t, q, v, args):  # 1 kg at each end of the coupler, in a horizontal plane
    return 0.5 * jnp.sum(v**2)


def constraints(t, q, args):
    arms = jnp.linalg.norm(q - PIVOTS, axis=1) - ARM
    return jnp.append(arms, jnp.linalg.norm(q[0] - q[1]) - COUPLER)


linkage = jaxspark.LagrangianSystem(lagrangian, holonomic=constraints)
guess, push = jnp.array([[0.0, 0.35], [0.0, -0.35]]), jnp.array([[0.0, 2.0], [0.0, 2.0]])
start = jaxspark.project(linkage, 0.0, guess, push)
motion = jaxspark.solve(linkage, start.y, start.z, t1=5.0, ts=jnp.linspace(0, 5, 251))
film = pictures.animate(
    motion,
    lambda t, q: {
        "links": jnp.stack([PIVOTS[0], q[0], q[1], PIVOTS[1]]),
        "middle": q.mean(0)[None],
    },
    trace="middle",
    seconds=5,
)
