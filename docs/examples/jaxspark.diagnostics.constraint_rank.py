import jax
import jax.numpy as jnp

import jaxspark


jax.config.update("jax_enable_x64", True)

door = jaxspark.MechanicalSystem(
    lambda t, y, args: jnp.eye(3),
    lambda t, y, z, args: jnp.zeros(3),
    holonomic=lambda t, y, args: jnp.stack([y[0], 2 * y[0], y[1] - y[2]]),
)
found = jaxspark.diagnostics.constraint_rank(door, 0.0, jnp.zeros(3), jnp.zeros(3))
lam, psi = found.null_direction
print(found.rank, found.size, lam)
assert found.rank == 2 and jnp.allclose(lam[0], -2 * lam[1]) and abs(lam[2]) < 1e-12
