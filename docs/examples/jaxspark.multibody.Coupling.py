import jax

import jaxspark
from jaxspark import multibody


jax.config.update("jax_enable_x64", True)

small, large = multibody.Body("small", 0.5, inertia=0.01), multibody.Body("large", 4.0, inertia=0.9)
ratio = -3.0  # outer gears turn against each other
gears = multibody.Mechanism(
    [small, large],
    [
        multibody.Revolute("a", "ground", "small"),
        multibody.Revolute("b", "ground", "large", position=(0.4, 0)),
    ],
    constraints=[multibody.Coupling("teeth", "a", "b", polynomial=(0.0, ratio))],
    forces=[multibody.Motor("motor", "a", lambda t, q, z, args: 2.0)],
)
y0, z0 = gears.state()
motion = jaxspark.solve(gears.system, y0, z0, gears.parameters, t1=1.0)
turned = gears.coordinates(motion.y1)
print(turned["a"], turned["b"])
assert abs(turned["a"][0] - ratio * turned["b"][0]) < 1e-12
assert abs(turned["a"][0] - 0.5 * 2.0 / (0.01 + 0.9 / ratio**2)) < 1e-7
