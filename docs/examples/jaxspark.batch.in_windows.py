import jax
import jax.numpy as jnp

import jaxspark


jax.config.update("jax_enable_x64", True)

ball = jaxspark.LagrangianSystem(lambda t, q, v, args: 0.5 * jnp.sum(v**2) - 9.81 * q[0])


def height(speed):
    start = jnp.zeros(1), speed * jnp.ones(1)
    return jaxspark.solve(ball, *start, t1=1.0, throw=False).y1[0]


speeds = jnp.linspace(0.0, 10.0, 25)
heights = jaxspark.batch.in_windows(height, 10)(speeds)
by_cost = jaxspark.batch.in_windows(height, 10, cost=lambda speed: -speed)(speeds)
print(heights)
assert jnp.allclose(heights, speeds - 9.81 / 2) and jnp.allclose(by_cost, heights)
