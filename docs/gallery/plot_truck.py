"""
Truck with two trailers
=======================

Four axles roll without slipping sideways. The truck drives a slalom; its trailers cut the curves.
"""

import jax
import jax.numpy as jnp

import jaxspark
from jaxspark import pictures


jax.config.update("jax_enable_x64", True)

GAPS = jnp.array([0.8, 1.2, 1.2])  # from axle to axle: truck, first and second trailer (m)


def direction(angle):
    return jnp.stack([jnp.cos(angle), jnp.sin(angle)], -1)


def axles(q):
    """Front axle, and the rear ones of truck and trailers."""
    steps = GAPS[:, None] * direction(q[3:])
    return jnp.concatenate([q[None, :2], q[:2] - jnp.cumsum(steps, 0)])


def constraints(t, q, v, args):
    speeds = jax.jvp(axles, (q,), (v,))[1]
    across = direction(jnp.append(q[2] + q[3], q[3:]) + jnp.pi / 2)
    return jnp.sum(across * speeds, axis=1)


def lagrangian(t, q, v, args):
    speeds = jax.jvp(axles, (q,), (v,))[1]
    return 0.5 * (jnp.sum(speeds**2) + 0.1 * jnp.sum(v[2:] ** 2))


def steering(t, q, args):
    return q[2] - 0.7 * jnp.sin(1.2 * t)


truck = jaxspark.LagrangianSystem(lagrangian, holonomic=steering, nonholonomic=constraints)
push = jnp.array([2.0, 0.0, 0.84, 0.0, 0.0, 0.0])  # ahead, while the steering turns
motion = jaxspark.solve(truck, jnp.zeros(6), push, t1=8.0, ts=jnp.linspace(0, 8, 201))


def shape(t, q):
    points = axles(q)
    angles = jnp.append(q[2] + q[3], q[3:]) + jnp.pi / 2
    across = 0.3 * direction(angles)
    wheels = {f"axle {i}": points[i] + jnp.array([[1], [-1]]) * across[i] for i in range(4)}
    return {"frame": points, "path": points[:1], "last": points[3:], **wheels}


film = pictures.animate(motion, shape, trace=("path", "last"), seconds=5)
