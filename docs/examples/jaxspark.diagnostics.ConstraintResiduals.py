import jax
import jax.numpy as jnp

import jaxspark


jax.config.update("jax_enable_x64", True)

skate = jaxspark.LagrangianSystem(
    lambda t, q, v, args: 0.5 * jnp.sum(v**2) - 2.0 * q[0],
    nonholonomic=lambda t, q, v, args: v[0] * jnp.sin(q[2]) - v[1] * jnp.cos(q[2]),
)
start = jnp.zeros(3), jnp.array([1.0, 0.0, 3.0])
motion = jaxspark.solve(skate, *start, t1=1.0, ts=jnp.linspace(0.0, 1.0, 5))
found = jaxspark.diagnostics.constraint_residuals(skate, motion.ts, motion.ys, motion.zs)
print(found.g, found.k)  # nothing holonomic
assert found.k.shape == (5,) and jnp.max(jnp.abs(found.k)) < 1e-13
