import jax
import jax.numpy as jnp

import jaxspark


jax.config.update("jax_enable_x64", True)

pendulum = jaxspark.LagrangianSystem(
    lambda t, q, v, args: 0.5 * jnp.sum(v**2) - 9.81 * q[1],
    holonomic=lambda t, q, args: jnp.linalg.norm(q) - 1.0,
)
start = jnp.array([1.0, 0.0]), jnp.zeros(2)
_, _, _, info = jaxspark.step(pendulum, jaxspark.Gauss(2), 0.0, *start, 0.01)
print(info.iterations, jaxspark.RESULTS[info.result])
assert info.result == jaxspark.RESULTS.successful
q, _, _, info = jaxspark.step(pendulum, jaxspark.Gauss(2), 0.0, *start, 5.0)
print(info.iterations, jaxspark.RESULTS[info.result])
assert info.result != jaxspark.RESULTS.successful and jnp.array_equal(q, start[0])
