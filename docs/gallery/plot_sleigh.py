"""
Chaplygin's sleigh
==================

A blade cannot slip sideways, and the centre of mass is ahead of it. Pushed backward, the sleigh
turns round until its mass leads.
"""

import jax
import jax.numpy as jnp

import jaxspark
from jaxspark import pictures


jax.config.update("jax_enable_x64", True)

AHEAD = 0.4  # how far the centre of mass is ahead of the blade (m)


def direction(angle):
    return jnp.stack([jnp.cos(angle), jnp.sin(angle)])


def lagrangian(t, q, v, args):  # of 1 kg and 0.2 kg m^2
    centre = lambda q: q[:2] + AHEAD * direction(q[2])
    speed = jax.jvp(centre, (q,), (v,))[1]
    return 0.5 * (jnp.sum(speed**2) + 0.2 * v[2] ** 2)


def blade(t, q, v, args):
    return v[0] * jnp.sin(q[2]) - v[1] * jnp.cos(q[2])


sleigh = jaxspark.LagrangianSystem(lagrangian, nonholonomic=blade)
push = jnp.array([-1.0, 0.0, 0.3])  # backward, which is not stable
motion = jaxspark.solve(sleigh, jnp.zeros(3), push, t1=7.0, ts=jnp.linspace(0, 7, 281))


def shape(t, q):
    along, aside = direction(q[2]), direction(q[2] + jnp.pi / 2)
    corners = jnp.array([[0.5, 0.0], [-0.1, 0.2], [-0.1, -0.2], [0.5, 0.0]])
    return {
        "blade": q[:2] + jnp.array([[0.15], [-0.15]]) * along,
        "body": q[:2] + corners[:, :1] * along + corners[:, 1:] * aside,
        "contact": q[:2][None],
    }


film = pictures.animate(motion, shape, trace="contact", seconds=5)
