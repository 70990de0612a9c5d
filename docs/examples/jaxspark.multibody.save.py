import pathlib
import tempfile

import jax

from jaxspark import multibody


jax.config.update("jax_enable_x64", True)

file = """<mujoco><worldbody>
  <body name="arm">  <!-- from the catalogue -->
    <joint name="hinge" axis="0 1 0" damping=".1"/>
    <inertial pos=".15 0 0" mass="1" diaginertia=".01 .01 .01"/>
  </body>
</worldbody></mujoco>"""
robot = multibody.load(file)  # or a path
identified = jax.tree.map(lambda x: x, robot.parameters)
identified["bodies"]["arm"]["mass"] = 1.0 / 3
identified["joints"]["hinge"]["damping"] = jax.numpy.array([0.07])
with tempfile.TemporaryDirectory() as folder:
    copy = pathlib.Path(folder, "identified.xml")
    multibody.save(copy, file, identified)
    print(copy.read_text())
    again = multibody.load(copy)
    assert again.parameters["bodies"]["arm"]["mass"] == 1.0 / 3
    assert "<!-- from the catalogue -->" in copy.read_text()
