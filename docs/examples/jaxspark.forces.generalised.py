import jax
import jax.numpy as jnp

import jaxspark


jax.config.update("jax_enable_x64", True)


def tips(rates, angles=jnp.array([0.3, 0.5]), lengths=jnp.array([1.0, 0.8])):
    steps = lengths * rates
    return jnp.cumsum(jnp.stack([-jnp.sin(angles) * steps, jnp.cos(angles) * steps], 1), axis=0)


def law(velocities):
    return jaxspark.forces.drag(velocities, jnp.array([0.1, 0.2]))


rates = jnp.array([1.0, -3.0])
forces = jaxspark.forces.generalised(tips, rates, law)
print(forces)
assert jnp.allclose(forces @ rates, jnp.sum(law(tips(rates)) * tips(rates)))  # equal in power
