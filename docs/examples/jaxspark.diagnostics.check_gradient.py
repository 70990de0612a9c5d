import jax
import jax.numpy as jnp

import jaxspark


jax.config.update("jax_enable_x64", True)

ball = jaxspark.LagrangianSystem(lambda t, q, v, args: 0.5 * jnp.sum(v**2) - args * q[0])


def height(gravity):
    return jaxspark.solve(ball, jnp.ones(1), jnp.ones(1), gravity, t1=1.0, rtol=1e-9).y1


check = jaxspark.diagnostics.check_gradient(height, 9.81)
print(check)
wrong = jaxspark.diagnostics.check_gradient(lambda x: x * jax.lax.stop_gradient(x), 9.81)
print(wrong)
assert check.good and not wrong.good
