import jax
import jax.numpy as jnp

import jaxspark


jax.config.update("jax_enable_x64", True)

pendulum = jaxspark.LagrangianSystem(
    lambda t, q, v, args: 0.5 * jnp.sum(v**2) - 9.81 * q[1],
    holonomic=lambda t, q, args: jnp.linalg.norm(q) - 1.0,
)
start = jnp.array([1.0, 0.0]), jnp.zeros(2)
coarse, fine = (
    jaxspark.stiff.bdf(pendulum, *start, t1=0.2, rtol=rtol, max_steps=500).stats
    for rtol in (1e-3, 1e-5)
)
print(coarse.num_steps, fine.num_steps, fine.matrix_evaluations, fine.residual_evaluations)
assert fine.num_steps > 1.5 * coarse.num_steps and fine.max_g < 1e-5
assert fine.residual_evaluations >= fine.num_steps + fine.error_test_failures
