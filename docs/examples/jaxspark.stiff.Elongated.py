import jax
import jax.numpy as jnp

import jaxspark


jax.config.update("jax_enable_x64", True)

free = jaxspark.MechanicalSystem(
    lambda t, q, args: jnp.eye(2), lambda t, q, v, args: jnp.array([0.0, -9.81])
)
spring = jaxspark.stiff.Elongated(
    free, lambda t, q, args: jnp.linalg.norm(q) - 1.0, stiffness=lambda args: args["k"]
)
args = {"k": 1e6}
at_rest = jnp.array([0.0, -1.0 - 9.81 / args["k"]])
y, z = jaxspark.stiff.elongate(spring, 0.0, at_rest, jnp.zeros(2), args)
found = jaxspark.multipliers(spring, 0.0, y, z, args)
print(found.lam, found.zdot, spring.stored(y[1], args))
assert jnp.allclose(found.lam, 9.81) and jnp.allclose(found.zdot[0], 0.0, atol=1e-6)
assert jnp.allclose(spring.stored(y[1], args), 0.5 * 9.81**2 / args["k"])
