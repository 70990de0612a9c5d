import jax
import jax.numpy as jnp

import jaxspark


jax.config.update("jax_enable_x64", True)

spring = jaxspark.LagrangianSystem(lambda t, q, v, args: 0.5 * jnp.sum(v**2 - q**2))
q0, v0 = jnp.array([1.0]), jnp.zeros(1)
options = {"method": jaxspark.Gauss(2), "steps": jaxspark.EqualSteps(200), "save_every": 1}
motion = jaxspark.solve(spring, q0, v0, t1=200.0, **options)
total = jaxspark.diagnostics.energy(spring, motion.ts, motion.ys, motion.zs)
print(jnp.max(jnp.abs(total - 0.5)))
assert jnp.max(jnp.abs(total - 0.5)) < 1e-12  # what is quadratic is conserved by any step size
