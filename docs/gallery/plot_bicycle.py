"""
Bicycle
=======

A bicycle like the benchmark of J. P. Meijaard et al. (2007), with a rigid rider, at 5 m/s: pushed
to the side, it steers into the fall and rights itself. Its bodies are the rear wheel, the frame
with the rider, the fork and the front wheel, with their masses (kg) and moments of inertia (kg
m^2).
"""

import jax
import jax.numpy as jnp

import jaxspark


jax.config.update("jax_enable_x64", True)

RADII, ENDS, MASSES = jnp.array([[0.3], [0.35]]), jnp.array([0, 3]), jnp.array([2.0, 85, 4, 3])
X, Y, Z, TILT = *jnp.eye(3), jnp.array([-jnp.sin(jnp.pi / 10), 0.0, jnp.cos(jnp.pi / 10)])
MOMENTS = jnp.array([[0.06, 0, 0.06], [2.3, 0.5, 8.7], [0, 0, 0.06], [0.14, 0, 0.14]])


def turn(axis, angle):
    cross = jnp.cross(jnp.eye(3), axis)
    return jnp.eye(3) + jnp.sin(angle) * cross + (1 - jnp.cos(angle)) * cross @ cross


def bodies(q):  # rear wheel's centre, yaw, roll, pitch, steer, spins; all centres and turns
    frame = turn(Z, q[3]) @ turn(X, q[4]) @ turn(Y, q[5])
    fork = frame @ turn(TILT, q[6])
    low = q[:3] + frame @ jnp.array([1.1, 0.0, -0.3])
    ends = low + jnp.array([[-0.2, 0, 0.7], [-0.08, 0, 0.35]]) @ fork.T
    centres = jnp.stack([q[:3], q[:3] + frame @ jnp.array([0.3, 0, 0.6]), *ends])
    return centres, jnp.stack([frame @ turn(Y, q[7]), frame, fork, fork @ turn(Y, q[8])])


def contacts(centres, turns):
    down = turns[ENDS, :, 1] * turns[ENDS, 2:, 1] - Z
    return centres[ENDS] + RADII * down / jnp.linalg.norm(down, axis=1, keepdims=True)


def lagrangian(t, q, v, args):
    (centres, _), (speeds, spins) = jax.jvp(bodies, (q,), (v,))
    kinetic = jnp.sum(MASSES @ speeds**2) + jnp.sum(MOMENTS[:, None] * spins**2)
    return 0.5 * kinetic - 9.81 * MASSES @ centres[:, 2]


def rolling(t, q, v, args):
    (centres, turns), (speeds, spins) = jax.jvp(bodies, (q,), (v,))
    arms = contacts(centres, turns) - centres[ENDS]
    return (speeds[ENDS] + jnp.einsum("bij,bkj,bk->bi", spins[ENDS], turns[ENDS], arms))[:, :2]


ground = lambda t, q, args: contacts(*bodies(q))[:, 2]
bicycle = jaxspark.LagrangianSystem(lagrangian, holonomic=ground, nonholonomic=rolling)
push = jnp.array([5.0, 0.0, 0.0, 0.0, 0.5, 0.0, 0.0, 5.0 / 0.3, 5.0 / 0.35])
start = jaxspark.project(bicycle, 0.0, jnp.zeros(9).at[2].set(0.3), push)
motion = jaxspark.solve(bicycle, start.y, start.z, t1=5.0, ts=jnp.linspace(0, 5, 121))


def shape(t, q):
    centres, turns = bodies(q)
    angle = jnp.linspace(0, 2 * jnp.pi, 25)
    circle = jnp.stack([jnp.cos(angle), 0 * angle, jnp.sin(angle)])
    rear, front = centres[ENDS, None] + (RADII[:, None] * (turns[ENDS] @ circle)).mT
    return {"rear": rear, "front": front, "frame": centres, "track": contacts(centres, turns)[:1]}


film = jaxspark.pictures.animate(motion, shape, trace="track", seconds=5, fps=16, pixels=280)
