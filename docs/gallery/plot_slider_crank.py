"""
Slider-crank
============

Gas pushes a piston down, and a flywheel brings it up again: a single-cylinder engine starts.
"""

import jax
import jax.numpy as jnp

import jaxspark
from jaxspark import pictures


jax.config.update("jax_enable_x64", True)

CRANK, ROD = 0.05, 0.13  # lengths (m)


def lagrangian(t, q, v, args):  # angle of a flywheel of 0.2 kg m^2; height of 0.5 kg
    return 0.5 * (0.2 * v[0] ** 2 + 0.5 * v[1] ** 2) - 0.5 * 9.81 * q[1]


def gas(t, q, v, args):  # burns every other turn, while the piston goes down
    space = 0.19 - q[1]
    burning = jnp.maximum(jnp.sin(q[0]), 0.0) * (1.0 + jnp.cos(q[0] / 2)) / 2
    return jnp.stack([-0.05 * v[0], -120.0 * burning * (0.01 / space)])


def rod(t, q, args):
    tip = CRANK * jnp.stack([jnp.sin(q[0]), jnp.cos(q[0])])
    return jnp.linalg.norm(tip - jnp.stack([0.0 * q[1], q[1]])) - ROD


engine = jaxspark.LagrangianSystem(lagrangian, holonomic=rod, force=gas)
q0, v0 = jnp.array([0.0, CRANK + ROD]), jnp.array([5.0, 0.0])
motion = jaxspark.solve(engine, q0, v0, t1=4.0, ts=jnp.linspace(0, 4, 401))
turn = jnp.linspace(0, 2 * jnp.pi, 49)[:, None]
box = 0.025 * jnp.array([[-1, 0], [-1, 1.2], [1, 1.2], [1, 0], [-1, 0.0]])


def shape(t, q):
    tip = CRANK * jnp.stack([jnp.sin(q[0]), jnp.cos(q[0])])
    piston = jnp.stack([0.0 * q[1], q[1]])
    return {
        "crank": jnp.stack([0 * tip, tip, piston]),
        "flywheel": 0.07 * jnp.concatenate([jnp.sin(turn), jnp.cos(turn)], 1),
        "piston": piston + box,
    }


film = pictures.animate(motion, shape, seconds=4)
