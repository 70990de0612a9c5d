"""
Andrews' squeezing mechanism
============================

Seven links in three loops, a motor and a spring: the classical test for constrained mechanisms,
here with masses in the joints. The motion lasts 30 ms.
"""

import jax
import jax.numpy as jnp

import jaxspark
from jaxspark import pictures


jax.config.update("jax_enable_x64", True)

A, B, C = jnp.array([[-69.34, -2.27], [-36.35, 32.73], [14.0, 72.0]])  # fixed (mm)
# A bar has a length (mm); a joint a mass (g); force is in N, time in ms.
LENGTHS = jnp.array([7.0, 28.0, 35.0, 40.0, 20.0, 40.0, 20.0])
MASS = jnp.array([45.0, 30.0, 20.0, 20.0])[:, None]


def hook(q):  # of the spring, on the plate that turns about B
    along = (q[1] - B) / 35.0
    return B + 18.0 * along + 20.0 * jnp.stack([-along[1], along[0]])


def lagrangian(t, q, v, args):
    stretch = jnp.linalg.norm(hook(q) - C) - 77.85
    return 0.5 * jnp.sum(MASS * v**2) - 0.5 * 4.53 * stretch**2


def motor(t, q, v, args):  # 33 N mm
    push = 33.0 * jnp.stack([-q[0, 1], q[0, 0]]) / 7.0**2
    return jnp.zeros_like(q).at[0].set(push)


def bars(t, q, args):
    crank, middle, upper, lower = q
    ends = [crank, middle - crank, middle - B, upper - A, middle - upper, lower - A, middle - lower]
    return jnp.linalg.norm(jnp.stack(ends), axis=1) - LENGTHS


squeezer = jaxspark.LagrangianSystem(lagrangian, holonomic=bars, force=motor)
guess = jnp.array([[6.99, -0.43], [-20.96, 1.3], [-34.0, 16.5], [-31.6, -15.6]])
start = jaxspark.project(squeezer, 0.0, guess, jnp.zeros((4, 2)))
motion = jaxspark.solve(squeezer, start.y, start.z, t1=30.0, ts=jnp.linspace(0, 30, 301))


def shape(t, q):
    crank, middle, upper, lower = q
    return {
        "crank": jnp.stack([0 * crank, crank, middle]),
        "plate": jnp.stack([B, middle, hook(q), B]),
        "rhombus": jnp.stack([A, upper, middle, lower, A]),
        "spring": jnp.stack([hook(q), C]),
    }


film = pictures.animate(motion, shape, seconds=4, pixels=256)
