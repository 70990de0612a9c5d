import jax
import jax.numpy as jnp

import jaxspark


jax.config.update("jax_enable_x64", True)

pendulum = jaxspark.LagrangianSystem(
    lambda t, q, v, args: 0.5 * jnp.sum(v**2) - 9.81 * q[1],
    holonomic=lambda t, q, args: jnp.linalg.norm(q) - 1.0,
)
ts = 2.0 * jnp.linspace(0.0, 1.0, 101) ** 2
motion = jaxspark.solve(
    pendulum,
    jnp.array([1.0, 0.0]),
    jnp.zeros(2),
    steps=jaxspark.GivenSteps(ts),
    save_every=1,
)
print(motion.ys[-1])
assert jnp.array_equal(motion.ts, ts) and motion.stats.num_steps == 100
