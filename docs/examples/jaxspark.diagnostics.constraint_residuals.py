import jax
import jax.numpy as jnp

import jaxspark


jax.config.update("jax_enable_x64", True)

pendulum = jaxspark.LagrangianSystem(
    lambda t, q, v, args: 0.5 * jnp.sum(v**2) - 9.81 * q[1],
    holonomic=lambda t, q, args: jnp.linalg.norm(q) - 1.0,
)
y, z = jnp.array([3.0, 4.0]), jnp.array([1.0, 0.0])
found = jaxspark.diagnostics.constraint_residuals(pendulum, 0.0, y, z)
print(found.g, found.gdot)
assert jnp.allclose(found.g, 4.0) and jnp.allclose(found.gdot, 3.0 / 5.0)
