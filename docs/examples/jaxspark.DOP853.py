import jax
import jax.numpy as jnp
import scipy.special

import jaxspark


jax.config.update("jax_enable_x64", True)

pendulum = jaxspark.LagrangianSystem(
    lambda t, q, v, args: 0.5 * jnp.sum(v**2) - 9.81 * q[1],
    holonomic=lambda t, q, args: jnp.linalg.norm(q) - 1.0,
)
quarter = scipy.special.ellipk(0.5) / 9.81**0.5  # of the period, from the horizontal
motion = jaxspark.solve(
    pendulum,
    jnp.array([1.0, 0.0]),
    jnp.zeros(2),
    t1=quarter,
    method=jaxspark.DOP853(),
    rtol=1e-10,
)
print(motion.y1, motion.stats.num_steps)
assert jnp.linalg.norm(motion.y1 - jnp.array([0.0, -1.0])) < 1e-8
