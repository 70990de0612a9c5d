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
start = jnp.array([1.0, 0.0]), jnp.zeros(2)
motion = jaxspark.solve(pendulum, *start, t1=21 * quarter, rtol=1e-5, global_error=True)
true = motion.y1 - jnp.array([0.0, -1.0])
print(motion.error.y1, true, motion.error.tolerances)
assert abs(motion.error.y1[0] - true[0]) < 0.3 * abs(true[0])
assert jnp.isnan(motion.error.lost_from)  # below 100 tolerances everywhere
