import jax
import jax.numpy as jnp

import jaxspark


jax.config.update("jax_enable_x64", True)

pendulum = jaxspark.LagrangianSystem(
    lambda t, q, v, args: 0.5 * jnp.sum(v**2) - 9.81 * q[1],
    holonomic=lambda t, q, args: jnp.linalg.norm(q) - 1.0,
)
start = jnp.array([1.0, 0.0]), jnp.zeros(2)
motion = jaxspark.stiff.bdf(pendulum, *start, t1=0.2, rtol=1e-4, max_steps=500)
number = motion.stats.num_steps
ts, ys, tensions = motion.ts[: number + 1], motion.ys[: number + 1], motion.lam[: number + 1]
print(ts[-1], ys[-1], tensions[-1])
assert jnp.all(jnp.diff(ts) > 0) and jnp.array_equal(motion.ys[-1], motion.y1)
assert jnp.allclose(tensions[-1], -3 * 9.81 * ys[-1, 1], rtol=0.01)
