"""
Delta robot
===========

Three arms carry a tool along a given path. Rods in pairs, on universal joints above and spherical
ones below, keep it level: ten bodies, and five loops in space.
"""

import jax
import jax.numpy as jnp
import numpy as np

import jaxspark
from jaxspark import multibody as mb, pictures


jax.config.update("jax_enable_x64", True)

BASE, TOOL, ARM, ROD, HALF = 0.2, 0.06, 0.3, 0.7, 0.05  # radii, lengths, half of a pair (m)
DOWN, TURN = np.array([0.0, 0.0, -1.0]), np.arange(4) * 2 * np.pi / 3
OUT = np.stack([np.cos(TURN), np.sin(TURN), 0 * TURN], 1)


def rod(name, mass, along):
    inertia = mass / 12 * (along @ along * np.eye(3) - np.outer(along, along))
    return mb.Body(name, mass, com=along / 2, inertia=inertia, lines=[[0 * along, along]])


def path(t, at, args):
    flower = 0.15 + 0.08 * jnp.cos(10.0 * t)
    return (
        at[0][:3, 3] - flower * jnp.stack([jnp.cos(2.0 * t), jnp.sin(2.0 * t), 0.0]) - 0.65 * DOWN
    )


bodies, joints, guess = (
    [mb.Body("tool", 1.0, inertia=1e-3, lines=[[[0, 0, 0]], TOOL * OUT])],
    [],
    {},
)
for k in range(3):
    out, side, arm = OUT[k], np.cross(OUT[k], DOWN), f"arm {k}"
    bodies.append(rod(arm, 0.3, ARM * out))
    joints.append(mb.Revolute(arm, "ground", arm, position=BASE * out, axis=side))
    for name, shift in ((f"rod {k}+", HALF * side), (f"rod {k}-", -HALF * side)):
        bodies.append(rod(name, 0.1, ROD * DOWN))
        at, end = ARM * out + shift, {"position": ROD * DOWN, "child_position": TOOL * out + shift}
        joints.append(mb.Universal(name, arm, name, position=at, axis=side, second=out))
        joints.append(mb.Spherical(f"end {name}", name, "tool", **end))
        guess |= {name: (0.3, 0.0), arm: 0.3}
follow = mb.Holonomic("path", ["tool"], path)
robot = mb.Mechanism(bodies, joints, constraints=[follow], guess=guess)
y0, z0 = robot.state()
times = np.linspace(0, np.pi, 161)
motion = jaxspark.solve(robot.system, y0, z0, robot.parameters, t1=np.pi, ts=times)
film = pictures.animate(motion, robot.shape(), trace="tool", seconds=4, fps=15, pixels=256)
