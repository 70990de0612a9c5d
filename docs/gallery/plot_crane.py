"""
Tower crane
===========

The jib turns while the trolley goes out; the load sways on its rope, here a massless rod.
"""

import jax
import jax.numpy as jnp

import jaxspark
from jaxspark import multibody as mb, pictures


jax.config.update("jax_enable_x64", True)

TOP, ROPE = 30.0, 15.0  # m
peak, tip, tail = (0, 0, 4), (25, 0, 0), (-8, 0, 0)
bodies = [
    mb.Body("tower", lines=[[(0, 0, 0), (0, 0, TOP)]]),
    mb.Body("jib", 4000.0, com=(8, 0, 0), inertia=(1e3, 2e5, 2e5), lines=[[tail, tip, peak, tail]]),
    mb.Body("trolley", 200.0, lines=[[[-1, 0, 0], [1, 0, 0]]]),
    mb.Body("load", 1000.0, com=(0, 0, -ROPE), inertia=200.0, lines=[[[0, 0, 0], [0, 0, -ROPE]]]),
]
joints = [
    mb.Weld("foot", "ground", "tower"),
    mb.Revolute("slew", "ground", "jib", position=(0, 0, TOP)),
    mb.Prismatic("travel", "jib", "trolley", axis=(1, 0, 0)),
    mb.Spherical("rope", "trolley", "load", damping=500.0),
]


def towards(final, stiffness, damping):  # a smooth step of 8 s, followed by a controller
    def law(t, q, z, args):
        s = jnp.clip(t / 8.0, 0.0, 1.0)
        start = 6.0 if final > 3 else 0.0
        goal = start + (final - start) * s**3 * (10 - 15 * s + 6 * s**2)
        return stiffness * (goal - q) - damping * z

    return law


slewing = mb.Motor("slewing", "slew", towards(2.5, 4e6, 2e6))
travelling = mb.Motor("travelling", "travel", towards(20.0, 4e4, 1.5e4))
crane = mb.Mechanism(bodies, joints, forces=[slewing, travelling])
y0, z0 = crane.state({"travel": 6.0})
times = jnp.linspace(0.0, 16.0, 97)
motion = jaxspark.solve(crane.system, y0, z0, crane.parameters, t1=16.0, ts=times, rtol=1e-5)
lines = crane.shape()
film = pictures.animate(
    motion, lambda t, y: lines(t, y) | {"hook": lines(t, y)["load"][1:]}, trace="hook",
    seconds=6, pixels=256,
)  # fmt: skip
