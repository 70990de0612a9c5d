import jax
import jax.numpy as jnp

import jaxspark
from jaxspark import multibody


jax.config.update("jax_enable_x64", True)

bead = multibody.Mechanism(
    [multibody.Body("bead", 0.1, inertia=1e-4)],
    [multibody.Cylindrical("rod", "ground", "bead", axis=(0.6, 0, 0.8))],
)
y0, z0 = bead.state({"rod": [0.0, 0.2]}, {"rod": [1.0, 5.0]})  # m, rad and their rates
motion = jaxspark.solve(bead.system, y0, z0, bead.parameters, t1=0.7)
shift, angle = bead.coordinates(motion.y1)["rod"]
print(shift, angle)
assert abs(shift - (0.7 - 0.5 * 9.81 * 0.8 * 0.7**2)) < 1e-10
assert abs(angle - (0.2 + 5.0 * 0.7)) < 1e-10
assert jnp.allclose(bead.position("bead", motion.y1), shift * jnp.array([0.6, 0, 0.8]))
