import jax
import jax.numpy as jnp

import jaxspark


jax.config.update("jax_enable_x64", True)

pendulum = jaxspark.LagrangianSystem(
    lambda t, q, v, args: 0.5 * jnp.sum(v**2) - 9.81 * q[1],
    holonomic=lambda t, q, args: jnp.linalg.norm(q) - 1.0,
)
motion = jaxspark.solve(pendulum, jnp.array([1.0, 0.0]), jnp.zeros(2), t1=2.0, dense=True)
print(motion.successful, motion.t1, motion.y1, motion.stats.num_steps)
ys, zs = motion.evaluate(jnp.linspace(0.0, 2.0, 7))
assert jnp.allclose(jnp.linalg.norm(ys, axis=1), 1.0, atol=1e-14)
assert jnp.max(jnp.abs(jnp.sum(ys * zs, axis=1))) < 1e-12  # velocities are tangential
