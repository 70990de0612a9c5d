import jax
import jax.numpy as jnp

import jaxspark
from jaxspark import multibody


jax.config.update("jax_enable_x64", True)


def rod(name, mass, length):
    return multibody.Body(name, mass, com=(length / 2, 0, 0), inertia=mass * length**2 / 12)


four_bar = multibody.Mechanism(
    [rod("crank", 1.0, 0.3), rod("coupler", 1.5, 1.0), rod("rocker", 2.0, 0.8)],
    [
        multibody.Revolute("A", "ground", "crank"),
        multibody.Revolute("B", "crank", "coupler", position=(0.3, 0)),
        multibody.Revolute("C", "coupler", "rocker", position=(1, 0), child_position=(0.8, 0)),
        multibody.Revolute("D", "ground", "rocker", position=(1, 0)),
    ],
    gravity=(0, -9.81, 0), guess={"A": 1.0, "D": 1.5},
)  # fmt: skip
print(four_bar)
y0, z0 = four_bar.state({"A": 0.5}, {"A": 2.0})
motion = jaxspark.solve(four_bar.system, y0, z0, four_bar.parameters, t1=1.0, rtol=1e-9)
ends = [four_bar.position("coupler", motion.y1, (1, 0, 0)),
        four_bar.position("rocker", motion.y1, (0.8, 0, 0))]  # fmt: skip
assert jnp.max(jnp.abs(ends[0] - ends[1])) < 1e-13 and four_bar.loops.count == 2
assert abs(sum(four_bar.energy(motion.y1, motion.z1)) - sum(four_bar.energy(y0, z0))) < 1e-7
