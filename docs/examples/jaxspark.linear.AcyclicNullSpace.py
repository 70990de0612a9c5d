import jax
import jax.numpy as jnp

import jaxspark


jax.config.update("jax_enable_x64", True)

count = 30
rope = jaxspark.MultibodySystem(
    mass=lambda t, y, own, args: jnp.ones(2),
    force=lambda t, y, z, own, args: jnp.array([0.0, -9.81]),
    joints=jaxspark.Joint(
        lambda t, y_a, y_b, own, args: jnp.linalg.norm(y_a - y_b, keepdims=True) - 0.1,
        [(i, i - 1) for i in range(count)],  # -1 is the ground
    ),
)
y0 = jnp.stack([jnp.zeros(count), -0.1 * (jnp.arange(count) + 1.0)], axis=1)
solver = jaxspark.linear.AcyclicNullSpace()
found = jaxspark.multipliers(rope, 0.0, y0, jnp.zeros((count, 2)), linear_solver=solver)
print(found.lam[0][:, 0])
assert jnp.allclose(found.lam[0][:, 0], 9.81 * jnp.arange(count, 0.0, -1.0))  # the weights below
