import jax
import jax.numpy as jnp

import jaxspark


jax.config.update("jax_enable_x64", True)

pendulum = jaxspark.LagrangianSystem(
    lambda t, q, v, args: 0.5 * jnp.sum(v**2) - 9.81 * q[1],
    holonomic=lambda t, q, args: jnp.linalg.norm(q) - 1.0,
)
q0, v0 = jnp.array([1.0, 0.0]), jnp.zeros(2)
motion = jaxspark.rollout(pendulum, q0, v0, method=jaxspark.Gauss(3), t1=2.0, num_steps=40)
print(motion.ys.shape)
energy = 0.5 * jnp.sum(motion.zs**2, axis=1) + 9.81 * motion.ys[:, 1]
assert jnp.allclose(motion.ts, jnp.linspace(0.0, 2.0, 41)) and jnp.max(jnp.abs(energy)) < 1e-4
