import jax
import jax.numpy as jnp

import jaxspark


jax.config.update("jax_enable_x64", True)

weight = jaxspark.MechanicalSystem(
    lambda t, q, args: jnp.eye(1), lambda t, q, v, args: jnp.array([9.81])
)
spring = jaxspark.stiff.Elongated(weight, lambda t, q, args: q[0], stiffness=1e8)
# It hangs 1 mm too low, and so would oscillate.
y0, z0 = jaxspark.stiff.elongate(spring, 0.0, jnp.array([1e-3]), jnp.zeros(1))
start = jaxspark.stiff.damp_start(spring, y0, z0, h=1e-2)
print(start.t, start.y, start.z)
assert abs(start.y[0][0] - 9.81e-8) < 1e-9 and jnp.allclose(start.t, 0.03)
