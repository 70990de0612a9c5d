import jax
import jax.numpy as jnp

import jaxspark


jax.config.update("jax_enable_x64", True)

mass = jaxspark.MechanicalSystem(lambda t, q, args: jnp.eye(1), lambda t, q, v, args: jnp.ones(1))
spring = jaxspark.stiff.Elongated(mass, lambda t, q, args: q[0], stiffness=1e6)
y0, z0 = jaxspark.stiff.elongate(spring, 0.0, jnp.array([1e-3]), jnp.zeros(1))
start = jaxspark.stiff.damp_start(spring, y0, z0, h=0.1, num_steps=1)
print(start.t, start.y, start.newton_iterations, jaxspark.RESULTS[start.result])
by_hand = (1e-3 + 0.1**2) / (1 + 0.1**2 * 1e6)  # one step of the implicit Euler method
assert start.result == jaxspark.RESULTS.successful and jnp.allclose(start.y[0], by_hand, rtol=1e-3)
