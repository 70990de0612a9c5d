import jax
import jax.numpy as jnp

import jaxspark
from jaxspark import multibody


jax.config.update("jax_enable_x64", True)


class Gravitation(multibody.Force):
    # Between two bodies in space.

    def __init__(self, name, first, second, constant):
        self.name, self.bodies, self.constant = name, (first, second), constant

    @property
    def parameters(self):
        return {"constant": jnp.asarray(self.constant)}

    def wrenches(self, t, at, motion, own, args):
        x, y = at[0][:3, 3], at[1][:3, 3]
        pull = own["constant"] * (y - x) / jnp.linalg.norm(y - x) ** 3
        # A force f at a point x is the matrix f [x, 1]^T.
        return jnp.outer(pull, jnp.append(x, 1.0)), jnp.outer(-pull, jnp.append(y, 1.0))

    def energy(self, at, own):
        return -own["constant"] / jnp.linalg.norm(at[1][:3, 3] - at[0][:3, 3])


planet = multibody.Mechanism(
    [multibody.Body("planet", 1.0, inertia=0.1)],
    [multibody.Free("free", "ground", "planet")],
    forces=[Gravitation("sun", "ground", "planet", 4.0)],
    gravity=(0, 0, 0),
)
y0, z0 = planet.state({"free": [1, 0, 0, 1, 0, 0, 0]}, {"free": [0, 2, 0, 0, 0, 0]})
motion = jaxspark.solve(planet.system, y0, z0, planet.parameters, t1=jnp.pi, rtol=1e-10)
print(motion.y1)
assert jnp.max(jnp.abs(motion.y1 - y0)) < 1e-7  # once around on a circle
assert abs(sum(planet.energy(motion.y1, motion.z1)) + 2.0) < 1e-8
