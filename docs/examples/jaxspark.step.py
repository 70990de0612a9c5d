import jax
import jax.numpy as jnp

import jaxspark


jax.config.update("jax_enable_x64", True)

pendulum = jaxspark.LagrangianSystem(
    lambda t, q, v, args: 0.5 * jnp.sum(v**2) - 9.81 * q[1],
    holonomic=lambda t, q, args: jnp.linalg.norm(q) - 1.0,
)
method = jaxspark.Gauss(2)


def move(state, t):
    q, v, _, info = jaxspark.step(pendulum, method, t, *state, 0.01)
    return (q, v), info.result == jaxspark.RESULTS.successful


start = jnp.array([1.0, 0.0]), jnp.zeros(2)
(q, v), good = jax.lax.scan(move, start, 0.01 * jnp.arange(100))
print(q, v)
assert jnp.all(good) and abs(jnp.linalg.norm(q) - 1.0) < 1e-14 and abs(q @ v) < 1e-12
