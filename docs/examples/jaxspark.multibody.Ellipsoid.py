import jax
import jax.numpy as jnp

import jaxspark
from jaxspark import multibody


jax.config.update("jax_enable_x64", True)

mass, a, b = 1.0, 0.12, 0.08
egg = multibody.Mechanism(
    [
        multibody.Body(
            "egg", mass, inertia=mass / 5 * jnp.array([2 * b**2, a**2 + b**2, a**2 + b**2])
        )
    ],
    [multibody.Free("free", "ground", "egg")],
    constraints=[multibody.Rolling("rolls", "ground", "egg", multibody.Ellipsoid((a, b, b)))],
    guess={"free": [0, 0, b, 1, 0, 0, 0]},
)
small = 1e-4  # rad/s, about the short axis: it rocks
y0, z0 = egg.state(velocities={"free": [small * b, 0, 0, 0, small, 0]})
motion = jaxspark.solve(egg.system, y0, z0, egg.parameters, t1=0.5, rtol=1e-10, atol=1e-13)
angle = 2 * motion.y1[5]
print(angle)
about = mass * (a**2 + b**2) / 5 + mass * b**2
rate = jnp.sqrt(mass * 9.81 * (a**2 / b - b) / about)  # a^2 / b: its radius of curvature there
assert abs(angle - small * jnp.sin(0.5 * rate) / rate) < 1e-9
