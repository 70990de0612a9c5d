import jax
import jax.numpy as jnp

import jaxspark


jax.config.update("jax_enable_x64", True)

ball = jaxspark.LagrangianSystem(lambda t, q, v, gravity: 0.5 * jnp.sum(v**2) - gravity * q[0])


def height(speed, gravity):
    start = jnp.zeros(1), speed * jnp.ones(1)
    return jaxspark.solve(ball, *start, gravity, t1=1.0, throw=False).y1[0]


everywhere = jaxspark.batch.over_devices(height, in_axes=(0, None))
speeds = jnp.linspace(0.0, 10.0, 25)
heights = everywhere(speeds, 9.81)
slope = jax.grad(lambda gravity: jnp.mean(everywhere(speeds, gravity)))(9.81)
print(heights, slope)
assert jnp.allclose(heights, speeds - 9.81 / 2) and jnp.allclose(slope, -0.5)
