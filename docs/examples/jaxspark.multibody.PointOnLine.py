import jax
import jax.numpy as jnp

import jaxspark
from jaxspark import multibody


jax.config.update("jax_enable_x64", True)

crank = multibody.Body("crank", 1.0, com=(0.15, 0, 0), inertia=0.01)
rod = multibody.Body("rod", 0.5, com=(0.4, 0, 0), inertia=0.03)
engine = multibody.Mechanism(
    [crank, rod],
    [
        multibody.Revolute("A", "ground", "crank"),
        multibody.Revolute("B", "crank", "rod", position=(0.3, 0)),
        multibody.PointOnLine("slider", "ground", "rod", child_position=(0.8, 0), axis=(1, 0, 0)),
    ],
    gravity=(0, -9.81, 0), guess={"A": 0.7, "B": -1.0},
)  # fmt: skip
y0, z0 = engine.state({"A": 0.7}, {"A": 3.0})
motion = jaxspark.solve(engine.system, y0, z0, engine.parameters, t1=1.0)
x, y, _ = engine.position("rod", motion.y1, (0.8, 0, 0))
angle = engine.coordinates(motion.y1)["A"][0]
print(angle, x, y)
expected = 0.3 * jnp.cos(angle) + jnp.sqrt(0.8**2 - (0.3 * jnp.sin(angle)) ** 2)
assert abs(y) < 1e-13 and abs(x - expected) < 1e-13
