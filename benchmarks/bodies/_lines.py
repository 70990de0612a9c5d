"""What a new user writes: load a file, close a loop, simulate, animate."""

import contextlib
import os
import pathlib
import tempfile
from collections.abc import Iterator

from .._figures import at_least, at_most, Figure


ROBOT = """<mujoco><worldbody>
<body name="crank"><joint name="crank" axis="0 1 0"/>
<inertial pos=".15 0 0" mass="1" diaginertia=".01 .01 .01"/>
<body name="coupler" pos=".3 0 0"><joint name="elbow" axis="0 1 0"/>
<inertial pos=".5 0 0" mass="1.5" diaginertia=".12 .12 .12"/></body></body>
<body name="rocker" pos="1 0 0"><joint name="rocker" axis="0 1 0"/>
<inertial pos=".4 0 0" mass="2" diaginertia=".1 .1 .1"/></body></worldbody></mujoco>"""
PROGRAM = """
import jax.numpy as jnp
import jaxspark
from jaxspark import multibody, pictures
ends = {"position": (1, 0, 0), "child_position": (0.8, 0, 0)}
pin = multibody.Revolute("pin", "coupler", "rocker", axis=(0, 1, 0), **ends)
robot = multibody.load("robot.xml", loops=[pin], guess={"crank": -1, "rocker": -1.5})
y, z = robot.state({"crank": -0.5}, {"crank": -2.0})
motion = jaxspark.solve(robot.system, y, z, robot.parameters, t1=2.0, ts=jnp.linspace(0, 2, 61))
pictures.animate(motion, robot.shape()).save("robot.webp")
"""
LINES, RESIDUAL = 10, 1e-13


def lines(tiny: bool) -> Iterator[Figure]:
    """Their number, and that they do what they say."""
    program = PROGRAM.replace("61", "5") if tiny else PROGRAM
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        pathlib.Path("robot.xml").write_text(ROBOT)
        found: dict = {}
        exec(program, found)
        size = os.path.getsize("robot.webp")
    yield at_most("lines to load, close, simulate and animate", PROGRAM.count("\n") - 1, LINES, "d")
    yield at_most("residual of the loop", float(found["motion"].stats.max_g), RESIDUAL)
    yield at_least("bytes of the animation", size, 1000, ".0f")
