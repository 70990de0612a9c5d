import jax
import jax.numpy as jnp

import jaxspark


jax.config.update("jax_enable_x64", True)

deflection = jnp.array([-0.5, 0.0, 0.05, 0.5])
law = {"play": 0.1, "width": 1e-3, "stiffness": 100.0}
moment = jaxspark.forces.backlash(deflection, jnp.zeros(4), **law)
print(moment)
assert jnp.allclose(moment, jnp.array([40.0, 0.0, 0.0, -40.0]), atol=0.01)
