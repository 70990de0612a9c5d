import jax
import jax.numpy as jnp

import jaxspark


jax.config.update("jax_enable_x64", True)

free = jaxspark.MechanicalSystem(
    lambda t, q, args: jnp.eye(2), lambda t, q, v, args: jnp.array([0.0, -9.81])
)
spring = jaxspark.stiff.Elongated(free, lambda t, q, args: jnp.linalg.norm(q) - 1.0, 1e8)
(y, e), (z, e_rate) = jaxspark.stiff.elongate(
    spring, 0.0, jnp.array([3.0, -4.0]), jnp.array([0.0, 2.0])
)
print(e, e_rate)
assert jnp.allclose(e, 5.0 - 1.0) and jnp.allclose(e_rate, -4.0 / 5.0 * 2.0)
