import jax
import jax.numpy as jnp

import jaxspark


jax.config.update("jax_enable_x64", True)

pendulum = jaxspark.LagrangianSystem(
    lambda t, q, v, args: 0.5 * jnp.sum(v**2) - 9.81 * q[1],
    holonomic=lambda t, q, args: jnp.linalg.norm(q) - 1.0,
)
start = jnp.array([1.0, 0.0]), jnp.zeros(2)
motion = jaxspark.stiff.bdf(pendulum, *start, t1=0.5, rtol=1e-5, max_steps=1000)
energy = 0.5 * jnp.sum(motion.z1**2) + 9.81 * motion.y1[1]
print(motion.y1, energy, motion.stats.num_steps, motion.stats.max_g)
assert motion.successful and abs(energy) < 0.05 and motion.stats.max_g < 1e-5
