import jax
import jax.numpy as jnp

import jaxspark


jax.config.update("jax_enable_x64", True)

spring = jaxspark.LagrangianSystem(lambda t, q, v, args: 0.5 * jnp.sum(v**2 - q**2))
method = jaxspark.methods.Bosh3()


def error(number):
    steps = jaxspark.EqualSteps(number)
    end = jaxspark.solve(spring, jnp.ones(1), jnp.zeros(1), t1=2.0, method=method, steps=steps)
    return jnp.hypot(end.y1[0] - jnp.cos(2.0), end.z1[0] + jnp.sin(2.0))


ratio = error(50) / error(100)
print(ratio)
assert 7.5 < ratio < 8.5  # two to the third power
