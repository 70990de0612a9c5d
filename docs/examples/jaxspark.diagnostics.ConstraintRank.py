import jax
import jax.numpy as jnp

import jaxspark


jax.config.update("jax_enable_x64", True)

# The hinge of two rods whose other ends are pinned: as far apart as they reach, both pull along
# one line.
linkage = jaxspark.MechanicalSystem(
    lambda t, y, args: jnp.eye(2),
    lambda t, y, z, args: jnp.zeros(2),
    holonomic=lambda t, y, span: jnp.stack(
        [jnp.linalg.norm(y) - 1.0, jnp.linalg.norm(y - jnp.stack([span, 0 * span])) - 1.0]
    ),
)
bent = jnp.array([0.5, 0.75**0.5]), jnp.zeros(2), jnp.array(1.0)
stretched = jnp.array([1.0, 0.0]), jnp.zeros(2), jnp.array(2.0)
ranks = [jaxspark.diagnostics.constraint_rank(linkage, 0.0, *at) for at in (bent, stretched)]
print([(found.rank, found.singular_values) for found in ranks])
assert ranks[0].rank == ranks[0].size == 2 and ranks[1].rank == 1
