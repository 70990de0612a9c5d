"""
Stewart platform
================

Six legs of prescribed lengths carry a platform: each is a universal joint, a slide and a spherical
joint. The pose of the platform follows.
"""

import jax
import jax.numpy as jnp
import numpy as np

import jaxspark
from jaxspark import multibody as mb, pictures


jax.config.update("jax_enable_x64", True)

PHASES, UP = np.arange(6) * np.pi / 3, np.array([0.0, 0.0, 1.2])


def hexagon(radius, spread):
    angle = PHASES + spread * np.array([1, -1, 1, -1, 1, -1])
    return np.stack([radius * np.cos(angle), radius * np.sin(angle), 0 * angle], 1)


def stroke(k):  # m, from the middle of its way
    return lambda t, args: 0.12 * jnp.sin(2.0 * t + 2 * PHASES[k] * (1 + (k // 2 == 1)))


FEET, CORNERS = hexagon(1.0, 0.35), hexagon(0.6, -0.35)
rim = CORNERS[np.arange(7) % 6]
bodies, joints, drives = [mb.Body("platform", 10.0, inertia=(0.9, 0.9, 1.8), lines=[rim])], [], []
for k in range(6):
    leg = CORNERS[k] + UP - FEET[k]
    half, along = leg / 2, leg / np.linalg.norm(leg)
    inertia = 0.005 * (np.eye(3) - np.outer(along, along))
    for name in (f"lower {k}", f"upper {k}"):
        bodies.append(mb.Body(name, 0.2, com=half / 2, inertia=inertia, lines=[[0 * half, half]]))
    low, up, across = f"lower {k}", f"upper {k}", np.cross(along, UP)
    at = {"position": FEET[k], "axis": across, "second": np.cross(along, across)}
    joints.append(mb.Universal(f"foot {k}", "ground", low, **at))
    joints.append(mb.Prismatic(f"leg {k}", low, up, position=half, axis=along))
    end = {"position": half, "child_position": CORNERS[k]}
    joints.append(mb.Spherical(f"top {k}", up, "platform", **end))
    drives.append(mb.Prescribed(f"drive {k}", f"leg {k}", stroke(k)))
platform = mb.Mechanism(bodies, joints, constraints=drives)
y0, z0 = platform.state()
times = np.linspace(0, np.pi, 121)
motion = jaxspark.solve(platform.system, y0, z0, platform.parameters, t1=np.pi, ts=times)
film = pictures.animate(motion, platform.shape(), seconds=4, fps=15, pixels=280)
