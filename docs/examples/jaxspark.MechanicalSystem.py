import jax
import jax.numpy as jnp

import jaxspark


jax.config.update("jax_enable_x64", True)

# A free particle in polar coordinates.
particle = jaxspark.MechanicalSystem(
    lambda t, q, args: jnp.diag(jnp.stack([jnp.ones_like(q[0]), q[0] ** 2])),
    lambda t, q, v, args: jnp.stack([q[0] * v[1] ** 2, -2 * q[0] * v[0] * v[1]]),
)
motion = jaxspark.solve(particle, jnp.array([1.0, 0.0]), jnp.array([0.0, 1.0]), t1=1.0, rtol=1e-9)
print(motion.y1)
assert jnp.allclose(motion.y1, jnp.array([jnp.sqrt(2.0), jnp.pi / 4]), atol=1e-7)  # a straight line
