"""
Planar robot with three arms
============================

Three arms of two links each move and turn a triangle along a given path.
"""

import jax
import jax.numpy as jnp

import jaxspark
from jaxspark import pictures


jax.config.update("jax_enable_x64", True)

BASE = 1.2 * jnp.array([[-0.866, -0.5], [0.866, -0.5], [0.0, 1.0]])  # motors (m)
CORNERS = 0.35 * jnp.array([[-0.866, -0.5], [0.866, -0.5], [0.0, 1.0]])
ARM, ROD = 0.7, 0.6  # lengths (m)


def direction(angle):
    return jnp.stack([jnp.cos(angle), jnp.sin(angle)], -1)


def elbows(arms):
    return BASE + ARM * direction(arms)


def corners(pose):
    along, across = direction(pose[2]), direction(pose[2] + jnp.pi / 2)
    return pose[:2] + CORNERS[:, :1] * along + CORNERS[:, 1:] * across


def path(t):
    return jnp.stack([0.25 * jnp.sin(t), 0.15 * jnp.sin(2 * t), 0.3 * jnp.sin(t)])


def constraints(t, q, args):
    rods = corners(q["pose"]) - elbows(q["arms"])
    return q["pose"] - path(t), jnp.linalg.norm(rods, axis=1) - ROD


def lagrangian(t, q, v, args):  # in a horizontal plane
    return 0.5 * jnp.sum(v["pose"] ** 2) + 0.1 * jnp.sum(v["arms"] ** 2)


robot = jaxspark.LagrangianSystem(lagrangian, holonomic=constraints)
guess = {"arms": jnp.array([1.3, 3.4, 5.5]), "pose": jnp.zeros(3)}
start = jaxspark.project(robot, 0.0, guess, jax.tree.map(jnp.zeros_like, guess))
times = jnp.linspace(0, 2 * jnp.pi, 161)
motion = jaxspark.solve(robot, start.y, start.z, t1=2 * jnp.pi, ts=times)


def shape(t, q):
    joints, tips = elbows(q["arms"]), corners(q["pose"])
    arms = {f"arm {i}": jnp.stack([BASE[i], joints[i], tips[i]]) for i in range(3)}
    return {"path": q["pose"][None, :2], "triangle": tips[jnp.arange(4) % 3], **arms}


film = pictures.animate(motion, shape, trace="path", seconds=4, fps=16)
