import jax
import jax.numpy as jnp

import jaxspark
from jaxspark import multibody


jax.config.update("jax_enable_x64", True)

slope, mass, damping = 0.5, 2.0, 3.0
down = (jnp.cos(slope), 0.0, -jnp.sin(slope))
sledge = multibody.Mechanism(
    [multibody.Body("sledge", mass)],
    [multibody.Prismatic("track", "ground", "sledge", axis=down, damping=damping)],
)
y0, z0 = sledge.state()
motion = jaxspark.solve(sledge.system, y0, z0, sledge.parameters, t1=2.0, rtol=1e-9)
print(motion.z1)
final = mass * 9.81 * jnp.sin(slope) / damping
assert abs(motion.z1[0] - final * (1 - jnp.exp(-damping / mass * 2.0))) < 1e-8
assert jnp.allclose(sledge.position("sledge", motion.y1), motion.y1[0] * jnp.array(down))
