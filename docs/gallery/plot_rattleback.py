"""
Rattleback
==========

Half an ellipsoid whose principal axes of inertia are askew to its shape. Spun the wrong way, it
begins to rattle, stops, and reverses its spin (T. R. Kane and D. A. Levinson, 1982).
"""

import jax
import numpy as np

import jaxspark
from jaxspark import multibody as mb, pictures


jax.config.update("jax_enable_x64", True)

AXES = np.array([0.2, 0.03, 0.02])  # of the ellipsoid (m), about the origin of the stone's frame
INERTIA = np.array([[2e-4, -2e-5, 0.0], [-2e-5, 1.6e-3, 0.0], [0.0, 0.0, 1.7e-3]])
TURN = np.linspace(0, 2 * np.pi, 41)
rim = AXES * np.stack([np.cos(TURN), np.sin(TURN), 0 * TURN], 1)
keel = AXES * np.stack([np.cos(TURN / 2), 0 * TURN, -np.sin(TURN / 2)], 1)

stone = mb.Mechanism(
    [mb.Body("stone", 1.0, com=(0, 0, -0.01), inertia=INERTIA, lines=[keel, rim])],
    [mb.Free("free", "ground", "stone")],
    constraints=[mb.Rolling("rolls", "ground", "stone", mb.Ellipsoid(AXES))],
)
tilt = np.array([0.0, 0.0, 0.02, np.cos(0.005), np.sin(0.005), 0.0, 0.0])
spin = [None, None, None, 0.0, 0.0, -5.0]  # rad/s; it must not slip, from which the rest follows
y0, z0 = stone.state(guess={"free": tilt}, velocities={"free": spin})
times = np.linspace(0, 6, 241)
motion = jaxspark.solve(stone.system, y0, z0, stone.parameters, t1=6.0, ts=times)
film = pictures.animate(motion, stone.shape(), seconds=6, fps=16, pixels=280)
