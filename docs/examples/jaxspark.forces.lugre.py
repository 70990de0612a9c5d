import jax
import jax.numpy as jnp

import jaxspark


jax.config.update("jax_enable_x64", True)

law = {"stiffness": 1e3, "damping": 1.0, "coulomb": 0.2, "viscous": 0.05}
stuck, _ = jaxspark.forces.lugre(0.0, 1e-4, **law)  # a spring, as long as it does not slide
sliding, bend_rate = jaxspark.forces.lugre(2.0, 0.2 / 1e3, **law)
print(stuck, sliding, bend_rate)
assert jnp.allclose(stuck, -0.1) and jnp.allclose(bend_rate, 0.0, atol=1e-12)
assert jnp.allclose(sliding, -(0.2 + 0.05 * 2.0))
