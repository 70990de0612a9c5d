import jax
import jax.numpy as jnp

import jaxspark


jax.config.update("jax_enable_x64", True)

# A damper whose rate, 1000, is far above one over the step size, 10.
damped = jaxspark.LagrangianSystem(
    lambda t, q, v, args: 0.5 * jnp.sum(v**2),
    force=lambda t, q, v, args: -1e3 * v,
)
options = {"method": jaxspark.RadauIIA(2), "num_steps": 10, "throw": False}
full = jaxspark.NewtonOptions(jacobian="full")
plain = jaxspark.rollout(damped, jnp.zeros(1), jnp.ones(1), t1=1.0, **options)
slow = jaxspark.rollout(damped, jnp.zeros(1), jnp.ones(1), t1=1.0, newton=full, **options)
print(plain.successful, slow.successful, slow.y1)
assert not plain.successful and slow.successful
assert abs(slow.y1[0] - 1e-3) < 1e-4
