import jax
import jax.numpy as jnp

import jaxspark


jax.config.update("jax_enable_x64", True)

spring = jaxspark.LagrangianSystem(lambda t, q, v, args: 0.5 * jnp.sum(v**2 - q**2))
method = jaxspark.Composition(jaxspark.Lobatto(2), 4)


def error(number):
    steps = jaxspark.EqualSteps(number)
    end = jaxspark.solve(spring, jnp.ones(1), jnp.zeros(1), t1=2.0, method=method, steps=steps)
    return abs(end.y1[0] - jnp.cos(2.0))


ratio = error(20) / error(40)
print(ratio)
assert 15 < ratio < 17  # two to the fourth power
