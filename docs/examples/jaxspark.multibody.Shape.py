import jax
import jax.numpy as jnp

import jaxspark
from jaxspark import multibody


jax.config.update("jax_enable_x64", True)


class Coated(multibody.Shape):
    # An ellipsoid with a coat of the same thickness everywhere.

    def __init__(self, semiaxes, coat):
        self.semiaxes, self.coat = jnp.asarray(semiaxes), jnp.asarray(coat)

    @property
    def parameters(self):
        return {"semiaxes": self.semiaxes, "coat": self.coat}

    def farthest(self, direction, own, args):
        scaled = own["semiaxes"] * direction
        inner = own["semiaxes"] * scaled / jnp.linalg.norm(scaled)
        return inner + own["coat"] * direction


mass, inertia, a, b, coat = 1.0, 5e-3, 0.12, 0.08, 0.01
egg = multibody.Mechanism(
    [multibody.Body("egg", mass, inertia=inertia)],
    [multibody.Free("free", "ground", "egg")],
    constraints=[multibody.Rolling("rolls", "ground", "egg", Coated((a, b, b), coat))],
    guess={"free": [0, 0, b + coat, 1, 0, 0, 0]},
)
small = 1e-4  # rad/s, about a short axis: it rocks
y0, z0 = egg.state(velocities={"free": [small * (b + coat), 0, 0, 0, small, 0]})
motion = jaxspark.solve(egg.system, y0, z0, egg.parameters, t1=0.5, rtol=1e-10, atol=1e-13)
angle = 2 * motion.y1[5]
print(angle)
radius = a**2 / b + coat  # of curvature, below
rate = jnp.sqrt(mass * 9.81 * (radius - b - coat) / (inertia + mass * (b + coat) ** 2))
assert abs(angle - small * jnp.sin(0.5 * rate) / rate) < 1e-9
