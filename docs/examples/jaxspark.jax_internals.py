import jax
import jax.numpy as jnp

import jaxspark


jax.config.update("jax_enable_x64", True)

pendulum = jaxspark.LagrangianSystem(
    lambda t, q, v, args: 0.5 * jnp.sum(v**2) - 9.81 * q[1],
    holonomic=lambda t, q, args: jnp.linalg.norm(q) - 1.0,
)
bottom = jnp.array([0.0, -1.0]), jnp.array([2.0, 0.0])
with jaxspark.jax_internals(False):
    plain = jaxspark.multipliers(pendulum, 0.0, *bottom)
jax.clear_caches()  # what was traced stays as it was traced
usual = jaxspark.multipliers(pendulum, 0.0, *bottom)
print(plain.lam, usual.lam)
assert jnp.allclose(plain.lam, 9.81 + 4.0) and jnp.allclose(usual.lam, plain.lam)
