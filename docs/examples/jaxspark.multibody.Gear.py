import jax

import jaxspark
from jaxspark import multibody


jax.config.update("jax_enable_x64", True)

teeth = 12, 48
gears = multibody.Mechanism(
    [multibody.Body("pinion", 0.2, inertia=1e-3), multibody.Body("wheel", 3.0, inertia=0.2)],
    [
        multibody.Revolute("a", "ground", "pinion", position=(0.06, 0)),
        multibody.Revolute("b", "ground", "wheel", position=(0.36, 0)),
    ],
    constraints=[multibody.Gear("teeth", "a", "b", ratio=teeth[1] / teeth[0])],
    forces=[multibody.Motor("motor", "a", lambda t, q, z, args: 0.5)],
)
y0, z0 = gears.state()
motion = jaxspark.solve(gears.system, y0, z0, gears.parameters, t1=1.0)
turned = gears.coordinates(motion.y1)
print(turned["a"], turned["b"])
assert abs(turned["a"][0] + 4 * turned["b"][0]) < 1e-12
assert abs(turned["a"][0] - 0.5 * 0.5 / (1e-3 + 0.2 / 4**2)) < 1e-7
