import jax
import jax.numpy as jnp

import jaxspark


jax.config.update("jax_enable_x64", True)

pendulum = jaxspark.LagrangianSystem(
    lambda t, q, v, args: 0.5 * jnp.sum(v**2) - 9.81 * q[1],
    holonomic=lambda t, q, args: jnp.linalg.norm(q) - 1.0,
)
motion = jaxspark.solve(
    pendulum, jnp.array([1.0, 0.0]), jnp.zeros(2), t1=2.0, method=jaxspark.Gauss(3)
)
stats = motion.stats
print(stats.num_steps, stats.num_rejected_steps, stats.newton_iterations)
assert stats.max_g < 1e-14 and stats.max_gdot < 1e-13  # worst errors of the rod in any step
assert stats.num_steps <= stats.newton_iterations
