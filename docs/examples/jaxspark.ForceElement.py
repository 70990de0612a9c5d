import jax
import jax.numpy as jnp

import jaxspark


jax.config.update("jax_enable_x64", True)


def spring(t, y_a, z_a, y_b, z_b, own, args):
    pull = args["stiffness"] * (y_b - y_a - 1.0)
    return pull, -pull


masses = jaxspark.MultibodySystem(
    mass=lambda t, y, own, args: jnp.ones(1),
    force=lambda t, y, z, own, args: jnp.zeros(1),
    elements=jaxspark.ForceElement(spring, [(0, 1)]),
)
y0, z0 = jnp.array([[0.0], [1.5]]), jnp.zeros((2, 1))
motion = jaxspark.solve(masses, y0, z0, {"stiffness": 8.0}, t1=1.0, rtol=1e-9)
print(motion.y1)
stretch = motion.y1[1, 0] - motion.y1[0, 0] - 1.0
assert abs(stretch - 0.5 * jnp.cos(4.0)) < 1e-7  # the reduced mass is one half
