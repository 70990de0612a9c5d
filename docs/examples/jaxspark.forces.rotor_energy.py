import jax
import jax.numpy as jnp

import jaxspark


jax.config.update("jax_enable_x64", True)

drive = jaxspark.LagrangianSystem(
    lambda t, q, v, args: (
        0.5 * 0.1 * v[0] ** 2 + jaxspark.forces.rotor_energy(1e-4, 50.0, 0.0, v[0])
    ),
    force=lambda t, q, v, args: jnp.array([0.7]),
)
acceleration = jaxspark.multipliers(drive, 0.0, jnp.zeros(1), jnp.zeros(1)).zdot
print(acceleration)
assert jnp.allclose(acceleration, 0.7 / (0.1 + 50.0**2 * 1e-4))  # the inertia behind the gear
