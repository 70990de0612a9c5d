import jax

import jaxspark
from jaxspark import multibody


jax.config.update("jax_enable_x64", True)

belt = multibody.Mechanism(
    [multibody.Body("small", 0.2, inertia=2e-3), multibody.Body("large", 1.0, inertia=0.03)],
    [
        multibody.Revolute("a", "ground", "small"),
        multibody.Revolute("b", "ground", "large", position=(0.5, 0)),
    ],
    constraints=[multibody.Belt("belt", "a", "b", ratio=3.0)],  # radii 15 cm over 5 cm
    forces=[multibody.Motor("motor", "a", lambda t, q, z, args: 0.2)],
)
y0, z0 = belt.state()
motion = jaxspark.solve(belt.system, y0, z0, belt.parameters, t1=1.0)
turned = belt.coordinates(motion.y1)
print(turned["a"], turned["b"])
assert abs(turned["a"][0] - 3.0 * turned["b"][0]) < 1e-12
assert abs(turned["a"][0] - 0.5 * 0.2 / (2e-3 + 0.03 / 3.0**2)) < 1e-7
