"""
Whip
====

The links of a chain become lighter towards its end. The hand moves forward and stops; the end of
the chain becomes many times as fast.
"""

import jax
import jax.numpy as jnp

import jaxspark
from jaxspark import pictures


jax.config.update("jax_enable_x64", True)

COUNT, LENGTH = 25, 0.08  # links (m)


def hand(t):
    reach = 0.5 * (1.0 + jnp.tanh(14.0 * (t - 0.25)))
    return jnp.stack([1.2 * reach, 1.4 * reach * (1.0 - reach)])


def mass(i):
    return 0.05 * 0.87**i


def held(t, y_a, y_ground, own, args):
    return jnp.linalg.norm(y_a - hand(t), keepdims=True) - LENGTH


def link(t, y_a, y_b, own, args):
    return jnp.linalg.norm(y_a - y_b, keepdims=True) - LENGTH


whip = jaxspark.MultibodySystem(
    mass=lambda t, y, own, args: jnp.full(2, mass(own)),
    force=lambda t, y, z, own, args: jnp.array([0.0, -9.81]) * mass(own) - 0.0005 * z,
    joints=[
        jaxspark.Joint(held, [(0, -1)]),
        jaxspark.Joint(link, [(i, i + 1) for i in range(COUNT - 1)]),
    ],
)
y0 = hand(0.0) - LENGTH * jnp.stack([jnp.arange(COUNT) + 1.0, jnp.zeros(COUNT)], 1)
z0 = jnp.tile(jax.jacfwd(hand)(0.0), (COUNT, 1))
motion = jaxspark.solve(whip, y0, z0, t1=0.5, rtol=1e-4, ts=jnp.linspace(0, 0.5, 201))
film = pictures.animate(
    motion,
    lambda t, y: {"whip": jnp.concatenate([hand(t)[None], y])},
    trace="whip",
    seconds=5,
)
