import jax
import jax.numpy as jnp

import jaxspark


jax.config.update("jax_enable_x64", True)

pendulum = jaxspark.LagrangianSystem(
    lambda t, q, v, args: 0.5 * jnp.sum(v**2) - 9.81 * q[1],
    holonomic=lambda t, q, args: jnp.linalg.norm(q) - 1.0,
)
q0, v0 = jnp.array([1.0, 0.0]), jnp.zeros(2)
there = jaxspark.solve(pendulum, q0, v0, t1=2.0, steps=jaxspark.EqualSteps(100))
steps = jaxspark.EqualSteps(100, h=-0.02)
back = jaxspark.solve(pendulum, there.y1, there.z1, t0=2.0, steps=steps)
print(back.t1, back.y1 - q0)
assert jnp.max(jnp.abs(back.y1 - q0)) < 1e-11  # the default method is symmetric
