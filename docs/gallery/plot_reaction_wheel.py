"""
Reaction wheels
===============

A satellite turns without touching anything: three wheels spin up and down again, one after the
other. Angular momentum remains zero.
"""

import jax
import jax.numpy as jnp
import numpy as np

import jaxspark
from jaxspark import multibody as mb, pictures


jax.config.update("jax_enable_x64", True)

turn = np.linspace(0.0, 2 * np.pi, 33)
circle = 0.3 * np.stack([np.cos(turn), np.sin(turn), 0 * turn], 1)
corners = 0.4 * np.array([[1, 1, 1], [1, -1, 1], [-1, -1, 1], [-1, 1, 1], [1, 1, 1.0]])
panel = np.array([[0.4, 0.3, 0], [1.4, 0.3, 0], [1.4, -0.3, 0], [0.4, -0.3, 0], [0.4, 0.3, 0]])
upside = np.array([1, 1, -1])
edges = [np.stack([corner, corner * upside]) for corner in corners[:4]]
lines = [corners, corners * upside, *edges, panel, panel * np.array([-1, 1, 1])]
bodies = [mb.Body("satellite", 50.0, inertia=(4.0, 9.0, 10.0), lines=lines)]
joints, motors = [mb.Free("float", "ground", "satellite")], []


def bump(first, torque):  # N m; up and down in one second and a half
    def law(t, q, z, args):
        phase = (t - first) / 1.5
        on = (phase > 0) & (phase < 1)
        return jnp.where(on, torque * jnp.sin(2 * jnp.pi * phase), 0.0) * jnp.ones_like(q)

    return law


for k, torque in enumerate((20.0, 30.0, -35.0)):
    axis = np.eye(3)[k]
    rim = np.roll(circle, k + 1, axis=1)
    bodies.append(mb.Body(f"wheel {k}", 2.0, inertia=0.1 + 0.05 * axis, lines=[rim]))
    joints.append(mb.Revolute(f"axle {k}", "satellite", f"wheel {k}", axis=axis))
    motors.append(mb.Motor(f"motor {k}", f"axle {k}", bump(1.5 * k, torque)))
satellite = mb.Mechanism(bodies, joints, forces=motors, gravity=(0, 0, 0))
y0, z0 = satellite.state()
times = np.linspace(0.0, 5.0, 76)
motion = jaxspark.solve(satellite.system, y0, z0, satellite.parameters, t1=5.0, ts=times)
film = pictures.animate(motion, satellite.shape(), pixels=256)
