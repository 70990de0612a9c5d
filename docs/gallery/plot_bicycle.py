"""
Bicycle
=======

The benchmark bicycle of J. P. Meijaard et al. (2007), with a rigid rider, at 5 m/s: pushed to the
side, it steers into the fall and rights itself. Its bodies are the rear wheel, the frame with the
rider, the fork and the front wheel; both wheels roll without slipping.
"""

import jax
import numpy as np

import jaxspark
from jaxspark import multibody as mb, pictures


jax.config.update("jax_enable_x64", True)

REAR, FRONT, STEER, HEAD, RIDER = np.array(  # m, of the bicycle upright
    [[0, 0, 0.3], [1.02, 0, 0.35], [1.1, 0, 0], [0.817, 0, 0.87], [0.3, 0, 0.9]]
)
ANGLE = np.linspace(0, 2 * np.pi, 33)
CIRCLE = np.stack([np.cos(ANGLE), 0 * ANGLE, np.sin(ANGLE)], 1)


def body(name, mass, com, xx, yy, zz, xz, *points):  # kg, m, kg m^2
    inertia = [[xx, 0, xz], [0, yy, 0], [xz, 0, zz]]
    return mb.Body(name, mass, com=com, inertia=inertia, lines=[points])


def hinge(name, parent, child, at, axis=(0.0, 1.0, 0.0)):
    return mb.Revolute(name, parent, child, position=at, child_position=at, axis=axis)


def rolls(name, at):
    disk = mb.Disk(at[2], axis=(0, 1, 0))
    return mb.Rolling(f"{name} rolls", "ground", name, disk, child_position=at)


bodies = [
    body("frame", 85.0, RIDER, 9.2, 11.0, 2.8, -2.4, REAR, RIDER, HEAD, REAR),
    body("fork", 4.0, (0.9, 0, 0.7), 0.05892, 0.06, 0.00708, 0.00756, FRONT, HEAD),
    body("rear", 2.0, REAR, 0.0603, 0.12, 0.0603, 0, REAR, *(REAR + REAR[2] * CIRCLE)),
    body("front", 3.0, FRONT, 0.1405, 0.28, 0.1405, 0, FRONT, *(FRONT + FRONT[2] * CIRCLE)),
]
axes = hinge("rear hub", "frame", "rear", REAR), hinge("front hub", "fork", "front", FRONT)
tilted = hinge("steer", "frame", "fork", STEER, (-np.sin(np.pi / 10), 0, np.cos(np.pi / 10)))
wheels = rolls("rear", REAR), rolls("front", FRONT)
joints = [mb.Free("free", "ground", "frame"), tilted, *axes]
bicycle = mb.Mechanism(bodies, joints, constraints=wheels)
push = [5.0, 0, 0, 0.5, 0, 0]  # m/s, rad/s, the fourth of which is the rate of lean
y0, z0 = bicycle.state(velocities={"free": push, "rear hub": 5.0 / REAR[2]})
times = np.linspace(0, 5, 121)
motion = jaxspark.solve(bicycle.system, y0, z0, bicycle.parameters, t1=5.0, ts=times)
lines = bicycle.shape()


def shape(t, y):  # as seen by one who rides beside it
    at = bicycle.position("frame", y) * np.array([1, 1, 0])
    return {name: points - at for name, points in lines(t, y).items()}


film = pictures.animate(motion, shape, seconds=5, fps=16, pixels=280, view=(10, -120))
