import jax
import jax.numpy as jnp

import jaxspark


jax.config.update("jax_enable_x64", True)

law = {"coulomb": 0.2, "viscous": 0.05, "static": 0.3, "stribeck_rate": 0.1}
rates = jnp.array([-2.0, 0.0, 0.01, 2.0])
moments = jaxspark.forces.friction(rates, width=1e-4, **law)
print(moments)
assert jnp.allclose(moments, jnp.array([0.3, 0.0, -0.2995, -0.3]), atol=1e-3)
