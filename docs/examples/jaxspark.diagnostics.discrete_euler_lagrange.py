import jax
import jax.numpy as jnp

import jaxspark


jax.config.update("jax_enable_x64", True)

spring = jaxspark.LagrangianSystem(lambda t, q, v, args: 0.5 * jnp.sum(v**2 - q**2))
ts, verlet = 0.2 * jnp.arange(4), jaxspark.Lobatto(2)
qs = jnp.cos(jnp.arccos(1 - 0.2**2 / 2) * jnp.arange(4))[:, None]  # its motion, in closed form
found = jaxspark.diagnostics.discrete_euler_lagrange(spring, verlet, ts, qs)
exact = jaxspark.diagnostics.discrete_euler_lagrange(spring, verlet, ts, jnp.cos(ts)[:, None])
print(found.residual[:, 0], exact.residual[:, 0])
assert verlet.tableau.lagrange_dalembert and jnp.max(jnp.abs(found.residual)) < 1e-13
assert jnp.min(jnp.abs(exact.residual)) > 1e-6  # that of the spring is no motion of the method
