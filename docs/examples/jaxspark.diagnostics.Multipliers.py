import jax
import jax.numpy as jnp

import jaxspark


jax.config.update("jax_enable_x64", True)

# A skate that turns at 3 rad/s and moves at 2 m/s; g has no rows, k has one.
skate = jaxspark.LagrangianSystem(
    lambda t, q, v, args: 0.5 * jnp.sum(v**2),
    nonholonomic=lambda t, q, v, args: v[0] * jnp.sin(q[2]) - v[1] * jnp.cos(q[2]),
)
found = jaxspark.multipliers(skate, 0.0, jnp.zeros(3), jnp.array([2.0, 0.0, 3.0]))
print(found.lam, found.psi, found.zdot)
assert found.converged and jnp.allclose(found.psi, 2.0 * 3.0)  # the centripetal force
assert jnp.allclose(found.zdot, jnp.array([0.0, 6.0, 0.0]))
