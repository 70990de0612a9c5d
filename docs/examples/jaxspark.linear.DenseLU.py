import jax
import jax.numpy as jnp

import jaxspark


jax.config.update("jax_enable_x64", True)

pendulum = jaxspark.LagrangianSystem(
    lambda t, q, v, args: 0.5 * jnp.sum(v**2) - 9.81 * q[1],
    holonomic=lambda t, q, args: jnp.linalg.norm(q) - 1.0,
)
start, options = (jnp.array([1.0, 0.0]), jnp.zeros(2)), {"t1": 1.0, "num_steps": 20}
by_lapack = jaxspark.rollout(pendulum, *start, linear_solver=jaxspark.linear.DenseLU(), **options)
usual = jaxspark.rollout(pendulum, *start, **options)
print(by_lapack.y1, usual.y1)
assert by_lapack.stats.max_g < 1e-14 and jnp.max(jnp.abs(by_lapack.y1 - usual.y1)) < 1e-12
