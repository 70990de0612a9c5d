import jax
import jax.numpy as jnp

import jaxspark


jax.config.update("jax_enable_x64", True)

door = jaxspark.MechanicalSystem(
    lambda t, y, args: jnp.eye(2),
    lambda t, y, z, args: jnp.array([1.0, 2.0]),
    holonomic=lambda t, y, args: jnp.stack([y[0], y[0]]),  # two hinges that say the same
)
resolved = jaxspark.linear.redundant(door)
found = jaxspark.multipliers(resolved, 0.0, jnp.zeros(2), jnp.zeros(2))
print(found.lam, found.zdot)
assert jnp.allclose(found.lam, jnp.array([0.5, 0.5]))  # the load is shared
assert jnp.allclose(found.zdot, jnp.array([0.0, 2.0]), atol=1e-12)
