import jax
import jax.numpy as jnp

import jaxspark


jax.config.update("jax_enable_x64", True)

heun = jaxspark.methods.ExplicitMethod(
    "Heun", order=2, A=[[1.0]], b=[0.5, 0.5], estimate=[-0.5, 0.5]
)
spring = jaxspark.LagrangianSystem(lambda t, q, v, args: 0.5 * jnp.sum(v**2 - q**2))


def error(number):
    steps = jaxspark.EqualSteps(number)
    end = jaxspark.solve(spring, jnp.ones(1), jnp.zeros(1), t1=2.0, method=heun, steps=steps)
    return jnp.hypot(end.y1[0] - jnp.cos(2.0), end.z1[0] + jnp.sin(2.0))


ratio = error(100) / error(200)
print(ratio)
assert 3.8 < ratio < 4.2
