import jax
import jax.numpy as jnp

import jaxspark


jax.config.update("jax_enable_x64", True)

pendulum = jaxspark.LagrangianSystem(
    lambda t, q, v, args: 0.5 * jnp.sum(v**2) - 9.81 * q[1],
    holonomic=lambda t, q, args: jnp.linalg.norm(q) - 1.0,
)
q, v = jnp.array([0.0, -1.0]), jnp.array([2.0, 0.0])
found = jaxspark.multipliers(pendulum, 0.0, q, v)
print(found.lam, found.zdot)
assert jnp.allclose(found.lam, 9.81 + 4.0) and jnp.allclose(found.zdot, jnp.array([0.0, 4.0]))
