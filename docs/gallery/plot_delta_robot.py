"""
Delta robot
===========

Three arms carry a tool along a given path. Rods of equal length in pairs keep it level.
"""

import jax
import jax.numpy as jnp

import jaxspark
from jaxspark import pictures


jax.config.update("jax_enable_x64", True)

BASE, TOOL, ARM, ROD = 0.2, 0.06, 0.3, 0.7  # radii and lengths (m)
TURN = jnp.arange(3) * 2 * jnp.pi / 3
OUT = jnp.stack([jnp.cos(TURN), jnp.sin(TURN), 0 * TURN], 1)
SIDE = jnp.stack([-jnp.sin(TURN), jnp.cos(TURN), 0 * TURN], 1)


def elbows(angles):
    reach = BASE + ARM * jnp.cos(angles)
    return reach[:, None] * OUT - ARM * jnp.sin(angles)[:, None] * jnp.array([0.0, 0.0, 1.0])


def path(t):
    flower = 0.15 + 0.08 * jnp.cos(10.0 * t)
    return jnp.stack([flower * jnp.cos(2.0 * t), flower * jnp.sin(2.0 * t), -0.65 + 0.0 * t])


def constraints(t, q, args):
    rods = q["tool"] + TOOL * OUT - elbows(q["arms"])
    return q["tool"] - path(t), jnp.linalg.norm(rods, axis=1) - ROD


def lagrangian(t, q, v, args):  # a tool of 1 kg, arms of 0.03 kg m^2
    energy = 0.5 * jnp.sum(v["tool"] ** 2) + 0.015 * jnp.sum(v["arms"] ** 2)
    return energy - 9.81 * q["tool"][2]


robot = jaxspark.LagrangianSystem(lagrangian, holonomic=constraints)
guess = {"arms": jnp.array([0.3, 0.3, 0.3]), "tool": path(0.0)}
start = jaxspark.project(robot, 0.0, guess, jax.tree.map(jnp.zeros_like, guess))
motion = jaxspark.solve(robot, start.y, start.z, t1=jnp.pi, ts=jnp.linspace(0, jnp.pi, 161))


def shape(t, q):
    lines, joints = {"tool": q["tool"][None]}, elbows(q["arms"])
    for i in range(3):
        top, end, w = joints[i], q["tool"] + TOOL * OUT[i], 0.05 * SIDE[i]
        lines[f"rods {i}"] = jnp.stack([top + w, end + w, end - w, top - w, top + w])
        lines[f"arm {i}"] = jnp.stack([BASE * OUT[i], top])
    return lines


film = pictures.animate(motion, shape, trace="tool", seconds=4, fps=15, pixels=256)
