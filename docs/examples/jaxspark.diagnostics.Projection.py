import jax
import jax.numpy as jnp

import jaxspark


jax.config.update("jax_enable_x64", True)

pendulum = jaxspark.LagrangianSystem(
    lambda t, q, v, args: 0.5 * jnp.sum(v**2) - 9.81 * q[1],
    holonomic=lambda t, q, args: jnp.linalg.norm(q) - 1.0,
)
found = jaxspark.project(pendulum, 0.0, jnp.array([0.0, 0.5]), jnp.array([1.0, 1.0]))
print(found.y, found.z, found.residuals.g, found.rank.rank)
assert found.result == jaxspark.RESULTS.successful
assert jnp.allclose(found.y, jnp.array([0.0, 1.0])) and jnp.allclose(found.z, jnp.array([1.0, 0.0]))

hold = jnp.array([True, False])
failed = jaxspark.project(
    pendulum, 0.0, jnp.array([2.0, 0.5]), jnp.zeros(2), hold_y=hold, throw=False
)
print(failed.violation())
assert failed.result == jaxspark.RESULTS.projection_failed
