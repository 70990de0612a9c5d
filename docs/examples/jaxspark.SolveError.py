import jax
import jax.numpy as jnp

import jaxspark


jax.config.update("jax_enable_x64", True)

falling = jaxspark.LagrangianSystem(
    lambda t, q, v, args: 0.5 * jnp.sum(v**2) - 9.81 * q[0],
    force=lambda t, q, v, args: -jnp.sqrt(q) * v,  # NaN below the ground
)
try:
    jaxspark.solve(falling, jnp.ones(1), jnp.zeros(1), t1=5.0)
except jaxspark.SolveError as error:
    message, last = str(error), error.solution
print(message)
assert "force" in message and 0 < last.t1 < 5.0 and 0 <= last.y1[0] < 0.1
