import jax
import jax.numpy as jnp

import jaxspark


jax.config.update("jax_enable_x64", True)

ball = jaxspark.LagrangianSystem(lambda t, q, v, args: 0.5 * jnp.sum(v**2) - 9.81 * q[0])
action = jaxspark.diagnostics.discrete_action(
    ball, jaxspark.Gauss(2), 0.0, jnp.zeros(1), 0.2, jnp.array([0.1])
)
print(action.v0, action.v1, action.L_d)
assert action.converged and jnp.allclose(action.v1 - action.v0, -9.81 * 0.2)
assert jnp.allclose(action.D2, -action.v0) and jnp.allclose(action.D4, action.v1)
