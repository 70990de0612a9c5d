import jax
import jax.numpy as jnp

import jaxspark


jax.config.update("jax_enable_x64", True)

door = jaxspark.MechanicalSystem(
    lambda t, y, args: jnp.eye(3),
    lambda t, y, z, args: jnp.zeros(3),
    holonomic=lambda t, y, args: jnp.stack([y[0], y[0], y[1] - y[2]]),
)
text = jaxspark.diagnostics.summary(door, jnp.zeros(3), jnp.zeros(3))
print(text)
assert "1 degree of freedom" in text
