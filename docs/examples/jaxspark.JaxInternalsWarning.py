import warnings

import jax
import jax.numpy as jnp

import jaxspark


jax.config.update("jax_enable_x64", True)

pendulum = jaxspark.LagrangianSystem(
    lambda t, q, v, args: 0.5 * jnp.sum(v**2) - 9.81 * q[1],
    holonomic=lambda t, q, args: jnp.linalg.norm(q) - 1.0,
)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always", jaxspark.JaxInternalsWarning)
    bottom = jnp.array([0.0, -1.0]), jnp.zeros(2)
    tension = jaxspark.multipliers(pendulum, 0.0, *bottom).lam

slower = [each for each in caught if issubclass(each.category, jaxspark.JaxInternalsWarning)]
print(len(slower), "of JAX's insides not understood")
assert jnp.allclose(tension, 9.81)  # right in any case
