import jax
import jax.numpy as jnp

import jaxspark


jax.config.update("jax_enable_x64", True)

pendulum = jaxspark.LagrangianSystem(
    lambda t, q, v, args: 0.5 * jnp.sum(v**2) - 9.81 * q[1],
    holonomic=lambda t, q, args: jnp.linalg.norm(q) - 1.0,
)
guess, velocity = jnp.array([0.8, 0.7]), jnp.array([1.0, 0.0])
nearest = jaxspark.project(pendulum, 0.0, guess, velocity)
held = jaxspark.project(pendulum, 0.0, guess, velocity, hold_y=jnp.array([True, False]))
print(nearest.y, nearest.z, held.y)
assert jnp.allclose(nearest.y, guess / jnp.linalg.norm(guess))
assert jnp.allclose(held.y, jnp.array([0.8, 0.6])) and abs(held.y @ held.z) < 1e-12
