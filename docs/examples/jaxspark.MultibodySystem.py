import jax
import jax.numpy as jnp

import jaxspark


jax.config.update("jax_enable_x64", True)

rope = jaxspark.MultibodySystem(
    mass=lambda t, y, own, args: jnp.ones(2),
    force=lambda t, y, z, own, args: jnp.array([0.0, -9.81]),
    joints=jaxspark.Joint(
        lambda t, y_a, y_b, own, args: jnp.linalg.norm(y_a - y_b, keepdims=True) - 0.1,
        [(0, -1), (1, 0), (2, 1)],
    ),
)
y0 = jnp.array([[0.0, -0.1], [0.0, -0.2], [0.0, -0.3]])  # a row for each body
found = jaxspark.multipliers(rope, 0.0, y0, jnp.zeros((3, 2)))
(tension,) = found.lam
print(tension)
assert jnp.allclose(tension[:, 0], 9.81 * jnp.array([3.0, 2.0, 1.0]))
