import jax
import jax.numpy as jnp

import jaxspark


jax.config.update("jax_enable_x64", True)

pendulum = jaxspark.LagrangianSystem(
    lambda t, q, v, args: 0.5 * jnp.sum(v**2) - 9.81 * q[1],
    holonomic=lambda t, q, args: jnp.linalg.norm(q) - 1.0,
)
field = jaxspark.underlying_ode(pendulum)
velocity, acceleration = field(0.0, (jnp.array([0.0, -1.0]), jnp.array([2.0, 0.0])), None)
print(velocity, acceleration)
assert jnp.allclose(acceleration, jnp.array([0.0, 4.0]))  # centripetal: the speed squared
