import jax
import jax.numpy as jnp

import jaxspark
from jaxspark import multibody


jax.config.update("jax_enable_x64", True)

file = """<mujoco><worldbody>
  <body name="crank"><joint name="a" axis="0 -1 0"/>
    <inertial pos=".15 0 0" mass="1" diaginertia=".01 .01 .01"/>
    <body name="coupler" pos=".3 0 0"><joint name="b" axis="0 -1 0"/><site name="s" pos="1 0 0"/>
      <inertial pos=".5 0 0" mass="1.5" diaginertia=".02 .12 .12"/></body></body>
  <body name="rocker" pos="1 0 0"><joint name="d" axis="0 -1 0"/><site name="t" pos=".8 0 0"/>
    <inertial pos=".4 0 0" mass="2" diaginertia=".02 .1 .1"/></body>
</worldbody><equality><connect name="c" site1="s" site2="t"/></equality></mujoco>"""
four_bar = multibody.load(file, guess={"a": 1.0, "d": 1.5})  # or a path
print(four_bar)
y0, z0 = four_bar.state({"a": 0.5}, {"a": 2.0})
motion = jaxspark.solve(four_bar.system, y0, z0, four_bar.parameters, t1=1.0, rtol=1e-9)
ends = [four_bar.position("coupler", motion.y1, (1, 0, 0)),
        four_bar.position("rocker", motion.y1, (0.8, 0, 0))]  # fmt: skip
assert jnp.max(jnp.abs(ends[0] - ends[1])) < 1e-13  # the file's `connect` holds exactly
assert abs(sum(four_bar.energy(motion.y1, motion.z1)) - sum(four_bar.energy(y0, z0))) < 1e-7
