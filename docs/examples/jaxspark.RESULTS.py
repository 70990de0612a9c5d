import jax
import jax.numpy as jnp

import jaxspark


jax.config.update("jax_enable_x64", True)

pendulum = jaxspark.LagrangianSystem(
    lambda t, q, v, args: 0.5 * jnp.sum(v**2) - 9.81 * q[1],
    holonomic=lambda t, q, args: jnp.linalg.norm(q) - 1.0,
)
motion = jaxspark.solve(
    pendulum, jnp.array([1.0, 0.0]), jnp.zeros(2), t1=10.0, max_steps=3, throw=False
)
print(jaxspark.RESULTS[motion.result])  # the reason and the cure, in words
assert motion.result == jaxspark.RESULTS.max_steps_reached and motion.t1 < 10.0
