import jax
import jax.numpy as jnp

import jaxspark


jax.config.update("jax_enable_x64", True)

ball = jaxspark.LagrangianSystem(lambda t, q, v, args: 0.5 * jnp.sum(v**2) - 9.81 * q[0])
floor = jaxspark.Event(
    lambda t, q, v, args: q[0], direction=False, reset=lambda t, q, v, args: (q, -v)
)
motion = jaxspark.solve(ball, jnp.ones(1), jnp.zeros(1), t1=2.0, events=floor, rtol=1e-9)
events = motion.events
impacts = events.ts[: events.count]
print(impacts, events.zs[0], events.zs_after[0])
assert jnp.allclose(impacts, jnp.sqrt(2 / 9.81) * jnp.array([1.0, 3.0]))
