import jax
import jax.numpy as jnp

import jaxspark


jax.config.update("jax_enable_x64", True)

pendulum = jaxspark.LagrangianSystem(
    lambda t, q, v, args: 0.5 * jnp.sum(v**2) - 9.81 * q[1],
    holonomic=lambda t, q, args: jnp.linalg.norm(q) - 1.0,
)
q, v = jnp.array([0.6, -0.8]), jnp.array([0.8, 0.6])
total = jaxspark.diagnostics.energy(pendulum, 0.0, q, v)
block = jaxspark.MechanicalSystem(
    lambda t, q, args: 2.0 * jnp.eye(2), lambda t, q, v, args: jnp.zeros(2)
)
other = jaxspark.diagnostics.energy(block, 0.0, q, v, potential=lambda t, q, args: 5.0 * q[1])
print(total, other)
assert jnp.allclose(total, 0.5 - 9.81 * 0.8) and jnp.allclose(other, 1.0 - 4.0)
