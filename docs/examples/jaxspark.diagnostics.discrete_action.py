import jax
import jax.numpy as jnp

import jaxspark


jax.config.update("jax_enable_x64", True)

particle = jaxspark.LagrangianSystem(lambda t, q, v, args: 0.5 * args * jnp.sum(v**2))
q0, q1, mass = jnp.array([0.0, 0.0]), jnp.array([0.3, 0.4]), 2.0
action = jaxspark.diagnostics.discrete_action(particle, jaxspark.Gauss(2), 0.0, q0, 0.1, q1, mass)
print(action.L_d, action.D4)
assert jnp.allclose(action.L_d, 0.5 * mass * 0.5**2 / 0.1)
assert jnp.allclose(action.D4, mass * (q1 - q0) / 0.1)  # the momentum at the end
