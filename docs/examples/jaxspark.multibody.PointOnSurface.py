import jax
import jax.numpy as jnp

import jaxspark
from jaxspark import multibody


jax.config.update("jax_enable_x64", True)


def ring(x, args):  # a circle of 1 m in a vertical plane: two equations
    return jnp.stack([x[0] ** 2 + x[2] ** 2 - 1.0, x[1]])


mass, speed = 0.5, 3.0
bead = multibody.Mechanism(
    [multibody.Body("bead", mass, inertia=1e-3)],
    [multibody.Free("free", "ground", "bead")],
    constraints=[multibody.PointOnSurface("ring", "ground", "bead", ring)],
    guess={"free": [0, 0, -1, 1, 0, 0, 0]},
)
y0, z0 = bead.state(velocities={"free": [speed, 0, 0, 0, 0, 0]})
motion = jaxspark.solve(bead.system, y0, z0, bead.parameters, t1=1.0, rtol=1e-9)
x, v = bead.position("bead", motion.y1), bead.velocities(motion.z1)["free"][:3]
print(x, motion.stats.max_g)
assert motion.stats.max_g < 1e-13
assert abs(0.5 * jnp.sum(v**2) + 9.81 * (x[2] + 1.0) - 0.5 * speed**2) < 1e-6
